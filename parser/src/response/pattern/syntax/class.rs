//! Sets of characters: Unicode properties, POSIX names and case folding.

use std::cell::RefCell;
use std::hash::Hash;
use std::thread::LocalKey;

use foldhash::HashMap;
use regex_syntax::ast::{self, Ast, ClassUnicodeKind, ClassUnicodeOpKind, Position, Span};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::Dialect;

pub(super) fn empty() -> ClassUnicode {
    ClassUnicode::empty()
}

/// The class of one code point; empty for a surrogate, which no text contains.
pub(super) fn one(code: u32) -> ClassUnicode {
    range(code, code)
}

/// The class of a range of code points, without the surrogates in it.
pub(super) fn range(low: u32, high: u32) -> ClassUnicode {
    let is_surrogate = |code| (0xD800..=0xDFFF).contains(&code);
    let low = if is_surrogate(low) { 0xE000 } else { low };
    let high = if is_surrogate(high) { 0xD7FF } else { high };
    match (char::from_u32(low), char::from_u32(high)) {
        (Some(low), Some(high)) if low <= high => {
            ClassUnicode::new([ClassUnicodeRange::new(low, high)])
        }
        _ => empty(),
    }
}

pub(super) fn negated(mut class: ClassUnicode) -> ClassUnicode {
    class.negate();
    class
}

/// Adds the other cases of all members.
pub(super) fn fold(class: &mut ClassUnicode, ascii: bool) {
    if ascii {
        let mut letters = range('a'.into(), 'z'.into());
        letters.union(&range('A'.into(), 'Z'.into()));
        letters.intersect(class);
        fold_simple(&mut letters);
        letters.intersect(&range(0, 0x7F));
        class.union(&letters);
        return;
    }
    // The four Turkish i: simple folding only knows `i` and `I`. Each matches
    // itself and the two that share its dot or its case with it.
    let mut turkish = empty();
    for (member, others) in [('i', "İ"), ('I', "ı"), ('İ', "i"), ('ı', "I")] {
        if class
            .iter()
            .any(|r| r.start() <= member && member <= r.end())
        {
            for other in others.chars() {
                turkish.union(&one(other.into()));
            }
        }
    }
    fold_simple(class);
    class.union(&turkish);
}

fn fold_simple(class: &mut ClassUnicode) {
    thread_local! {
        static KNOWN: RefCell<HashMap<Vec<(char, char)>, ClassUnicode>> = RefCell::default();
    }
    let ranges = class.iter().map(|range| (range.start(), range.end()));
    let folded = remembered(&KNOWN, ranges.collect(), |_| {
        let mut folded = class.clone();
        // This fails only without the case tables, and our Cargo.toml asks for them.
        folded.try_case_fold_simple().ok()?;
        Some(folded)
    });
    *class = folded.expect("there are case tables");
}

pub(super) fn digit() -> Option<ClassUnicode> {
    unicode("Nd")
}

/// White space. `re` takes the separators U+001C to U+001F for such, if the text is not only ASCII.
pub(super) fn space(dialect: Dialect, ascii: bool) -> Option<ClassUnicode> {
    let mut class = unicode("White_Space")?;
    if dialect == Dialect::Re && !ascii {
        class.union(&range(0x1C, 0x1F));
    }
    Some(class)
}

/// Horizontal white space.
pub(super) fn blank() -> Option<ClassUnicode> {
    let mut class = unicode("Zs")?;
    class.union(&one('\t'.into()));
    Some(class)
}

pub(super) fn word(dialect: Dialect) -> Option<ClassUnicode> {
    thread_local! {
        static WORD: RefCell<HashMap<bool, ClassUnicode>> = RefCell::default();
    }
    remembered(&WORD, dialect == Dialect::Re, |_| match dialect {
        Dialect::Regex => union_of(&["Alphabetic", "M", "Nd", "Pc", "Join_Control"]),
        // What `str.isalnum` holds for, and the underscore.
        Dialect::Re => {
            let mut class = union_of(&["L", "N"])?;
            class.union(&one('_'.into()));
            Some(class)
        }
    })
}

fn union_of(names: &[&str]) -> Option<ClassUnicode> {
    names.iter().try_fold(empty(), |mut all, name| {
        all.union(&unicode(name)?);
        Some(all)
    })
}

/// Whether a group may have this name: an identifier in Python's view.
pub(super) fn is_identifier(name: &str) -> bool {
    let Some(first) = name.chars().next() else {
        return false;
    };
    // Only other scripts need the tables.
    if name.is_ascii() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        return !first.is_ascii_digit() && name.chars().all(word);
    }
    let (Some(start), Some(more)) = (unicode("XID_Start"), unicode("XID_Continue")) else {
        return false;
    };
    let is_in = |class: &ClassUnicode, c| class.iter().any(|r| r.start() <= c && c <= r.end());
    (first == '_' || is_in(&start, first)) && name.chars().all(|c| is_in(&more, c))
}

/// The class of a property such as `Lu`, `Script=Greek`, `IsGreek` or `alpha`.
pub(super) fn property(name: &str, value: Option<&str>, ignore_case: bool) -> Option<ClassUnicode> {
    let name = normalized(name);
    let Some(value) = value.map(normalized) else {
        return plain_property(&name, ignore_case);
    };
    match name.as_str() {
        "gc" | "generalcategory" => category(&value, ignore_case),
        "sc" | "script" => unicode(&format!("sc={value}")),
        "scx" | "scriptextensions" => unicode(&format!("scx={value}")),
        "gcb" | "graphemeclusterbreak" => unicode(&format!("gcb={value}")),
        "wb" | "wordbreak" => unicode(&format!("wb={value}")),
        "sb" | "sentencebreak" => unicode(&format!("sb={value}")),
        _ => {
            let yes = match value.as_str() {
                "y" | "yes" | "t" | "true" => true,
                "n" | "no" | "f" | "false" => false,
                _ => return None,
            };
            let class = binary(&name, ignore_case)?;
            // A quirk: ignoring case, even `Upper=No` is all that has case.
            let folded = ignore_case && is_cased(&name);
            Some(if yes || folded { class } else { negated(class) })
        }
    }
}

/// In `[:alnum:]` and three others the name has its narrower POSIX meaning.
pub(super) fn posix_name(name: String) -> String {
    match normalized(&name).as_str() {
        name @ ("alnum" | "digit" | "punct" | "xdigit") => format!("posix{name}"),
        _ => name,
    }
}

/// What the module drops when it compares names.
fn normalized(name: &str) -> String {
    let mut name: String = name.chars().filter(|c| !" _-".contains(*c)).collect();
    name.make_ascii_lowercase();
    name
}

fn plain_property(name: &str, ignore_case: bool) -> Option<ClassUnicode> {
    // These two are blocks for the module, which we have no tables of.
    if matches!(name, "vs" | "idc") {
        return None;
    }
    let script = |name: &str| unicode(&format!("sc={name}"));
    if let Some(class) = category(name, ignore_case)
        .or_else(|| script(name))
        .or_else(|| binary(name, ignore_case))
    {
        return Some(class);
    }
    let name = name.strip_prefix("is")?;
    script(name).or_else(|| binary(name, ignore_case))
}

fn category(name: &str, ignore_case: bool) -> Option<ClassUnicode> {
    match name {
        "cs" | "surrogate" => Some(empty()),
        // `regex-syntax` takes these for categories.
        "any" | "ascii" => None,
        "lu" | "uppercaseletter" | "ll" | "lowercaseletter" | "lt" | "titlecaseletter"
            if ignore_case =>
        {
            unicode("gc=LC")
        }
        // Another spelling of the general categories of one letter.
        "c&" | "l&" | "m&" | "n&" | "p&" | "s&" | "z&" => category(&name[..1], false),
        _ => unicode(&format!("gc={name}")),
    }
}

fn is_cased(name: &str) -> bool {
    matches!(name, "lower" | "lowercase" | "upper" | "uppercase")
}

/// Properties that a character has or has not, Unicode's and POSIX's.
fn binary(name: &str, ignore_case: bool) -> Option<ClassUnicode> {
    let without = |names: &[&str], others: &[&str]| {
        let mut class = union_of(names)?;
        class.difference(&union_of(others)?);
        Some(class)
    };
    let digits = || Some(range('0'.into(), '9'.into()));
    let with_digits = |name| {
        let mut class: ClassUnicode = unicode(name)?;
        class.union(&digits()?);
        Some(class)
    };
    match name {
        "any" => Some(range(0, char::MAX.into())),
        "alnum" => union_of(&["Alphabetic", "Nd"]),
        "posixalnum" => with_digits("Alphabetic"),
        "blank" => blank(),
        "posixdigit" => digits(),
        "posixxdigit" => unicode("ASCII_Hex_Digit"),
        "posixpunct" => {
            let mut symbols = without(&["S"], &["Alphabetic"])?;
            symbols.union(&unicode("P")?);
            Some(symbols)
        }
        "graph" => without(&["Any"], &["White_Space", "Cc", "Cn"]),
        "print" => {
            let mut class = without(&["Any"], &["White_Space", "Cc", "Cn"])?;
            class.union(&unicode("Zs")?);
            Some(class)
        }
        "word" => word(Dialect::Regex),
        "xdigit" => union_of(&["Nd", "Hex_Digit"]),
        _ if ignore_case && is_cased(name) => union_of(&["Lowercase", "Uppercase", "Lt"]),
        // `regex-syntax` would also find categories and scripts under this name.
        _ if unicode(&format!("gc={name}")).is_some() => None,
        _ if unicode(&format!("sc={name}")).is_some() => None,
        _ => unicode(name),
    }
}

/// What was made of a key before, or else what `make` makes of it. The tables are large, and patterns
/// ask for the same over and over.
fn remembered<K: Hash + Eq + 'static>(
    known: &'static LocalKey<RefCell<HashMap<K, ClassUnicode>>>,
    key: K,
    make: impl FnOnce(&K) -> Option<ClassUnicode>,
) -> Option<ClassUnicode> {
    const MOST: usize = 256;
    if let Some(class) = known.with_borrow(|known| known.get(&key).cloned()) {
        return Some(class);
    }
    let class = make(&key)?;
    known.with_borrow_mut(|known| {
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, class.clone());
    });
    Some(class)
}

/// Asks the tables of `regex-syntax`.
fn unicode(query: &str) -> Option<ClassUnicode> {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, ClassUnicode>> = RefCell::default();
    }
    remembered(&KNOWN, query.to_owned(), |query| looked_up(query))
}

fn looked_up(query: &str) -> Option<ClassUnicode> {
    let (_, value) = query.split_once('=').unwrap_or(("", query));
    if value.starts_with("is") {
        // The crate would drop the prefix, which the module doesn't always allow.
        return None;
    }
    let hir = translated(query)?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class.clone()),
        HirKind::Class(Class::Bytes(class)) => class.to_unicode_class(),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let code = text.chars().next()?;
            Some(one(code.into()))
        }
        _ => None,
    }
}

/// What the crate makes of `\p{query}`. Its parser of patterns is not needed for that.
fn translated(query: &str) -> Option<Hir> {
    let kind = match query.split_once('=') {
        None => ClassUnicodeKind::Named(query.into()),
        Some((name, value)) => ClassUnicodeKind::NamedValue {
            op: ClassUnicodeOpKind::Equal,
            name: name.into(),
            value: value.into(),
        },
    };
    let class = ast::ClassUnicode {
        span: Span::splat(Position::new(0, 1, 1)),
        negated: false,
        kind,
    };
    let class = Ast::class_unicode(class);
    Translator::new().translate(query, &class).ok()
}
