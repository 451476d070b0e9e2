//! Upper case, lower case, and title case.

/// The form that a character has at the beginning of a word.
fn title_case(c: char) -> String {
    match c {
        // The few letters that are two in one.
        'Ǆ' | 'ǅ' | 'ǆ' => "ǅ".to_owned(),
        'Ǉ' | 'ǈ' | 'ǉ' => "ǈ".to_owned(),
        'Ǌ' | 'ǋ' | 'ǌ' => "ǋ".to_owned(),
        'Ǳ' | 'ǲ' | 'ǳ' => "ǲ".to_owned(),
        'ß' => "Ss".to_owned(),
        c => c.to_uppercase().collect(),
    }
}

pub(in crate::chat_template::render) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map_or_else(String::new, title_case);
    first + &characters.as_str().to_lowercase()
}

fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || is_title_case(c)
}

fn is_title_case(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}

pub(super) fn titled(text: &str) -> String {
    let mut within = false;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match within {
            true => out.extend(c.to_lowercase()),
            false => out.push_str(&title_case(c)),
        }
        within = is_cased(c);
    }
    out
}

pub(super) fn swapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_uppercase() => out.extend(c.to_lowercase()),
            c if c.is_lowercase() => out.extend(c.to_uppercase()),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn is_title(text: &str) -> bool {
    let mut cased = false;
    let mut any = false;
    for c in text.chars() {
        let begins = c.is_uppercase() || is_title_case(c);
        if is_cased(c) && begins == cased {
            return false;
        }
        cased = is_cased(c);
        any |= cased;
    }
    any
}
