//! The field for a text that is read by whatever stands around it.

use crate::derive::delimiter::{Delimiter, Delimiters, FieldDraft};
use crate::derive::pattern::{
    ANYTHING, NOTHING, Pattern, SPACE, START, ahead, any_of, behind, exact, ignoring_space,
    no_space_nor, none_of, not_ahead, not_behind,
};
use crate::derive::surroundings::{SharedClose, TextBounds};
use crate::markers::{self, begins_with_rare_sign, same_end, same_start, unlikely_in_prose};

use super::drafter::Drafter;

/// Behind a quote in a string of JSON that no backslash escapes. In `"C:\\"`, the second backslash is escaped
/// itself.
fn behind_quote() -> Pattern {
    behind(none_of("\\") + exact("\\\\").many() + "\"")
}

impl Drafter<'_> {
    /// The field for a text that stands between these others.
    pub(super) fn field_as_rendered(&self, name: &str, around: &TextBounds) -> FieldDraft {
        let mut field = FieldDraft::new(name);
        let mut closes = around.closes.clone();
        // What closes a text may be missing before the end of the turn.
        closes.extend(self.turn_ends());
        // Words behind a marker belong to what follows: `</mull>Plan:` closes what `</mull>` has closed.
        let goes_on = |close: &str, other: &String| {
            let rest = close.strip_prefix(other.as_str());
            rest.is_some_and(markers::reads_like_prose)
        };
        let all = closes.clone();
        closes.retain(|close| !all.iter().any(|other| goes_on(close, other)));
        markers::dedup(&mut closes);
        if around.is_json {
            let open = self.openers(around) + SPACE + ahead(exact("\""));
            field.open = Delimiters::one(Delimiter::Expression(open));
            let closers = any_of(closers(around, &closes));
            // Behind its first quote a text has just begun: `"}" is a brace` starts with what would close it.
            let not_first = not_behind_first_quote(around);
            let close = behind_quote() + not_first + SPACE + closers;
            field.close = Delimiters::one(Delimiter::Expression(close));
            // The quotes stay with the text, so that its escapes are read.
            field.rest.insert("content", "json");
            return field;
        }
        let exact = |texts: &[String]| texts.iter().cloned().map(Delimiter::Exact).collect();
        // A literal takes white space as it stands there, and models write it otherwise.
        field.open.alternatives = match around.opens.iter().all(|open| can_be_literal(open)) {
            true => exact(&around.opens),
            false => vec![Delimiter::Expression(self.openers(around))],
        };
        let is_literal =
            around.ahead.is_empty() && closes.iter().all(|close| can_be_literal(close));
        field.close.alternatives = match is_literal {
            true => exact(&closes),
            false => {
                let closers = closers(around, &closes).into_iter();
                closers.map(Delimiter::Expression).collect()
            }
        };
        field
    }

    fn openers(&self, around: &TextBounds) -> Pattern {
        // Renderings have some values of `<think budget="512">`, and prompts may have any.
        let attribute = around_attribute(&around.opens);
        if let Some((before, behind)) =
            // `<part kind=` may open calls as well, and then the value is what tells them apart.
            attribute.filter(|(before, _)| !self.begins_other(before, &around.opens))
        {
            let value = no_space_nor("").excluding(&behind[..1]).many();
            return ignoring_space(before) + value + ignoring_space(behind);
        }
        let opens = around.opens.iter().map(|open| match open.as_str() {
            "" => self.start(around),
            // An answer may have the same words in it.
            words if !around.is_json && !has_marker(words) && !begins_with_rare_sign(words) => {
                self.before_words(around) + ignoring_space(words)
            }
            open => ignoring_space(open),
        });
        any_of(opens)
    }

    /// The expression for the places where words may open a text: the beginning of a turn, and behind what was seen
    /// before them. Empty if that is nothing.
    fn before_words(&self, around: &TextBounds) -> Pattern {
        let mut before = Vec::new();
        for text in &around.behind {
            // Where words follow upon a blank, there is no place by which to tell them from others.
            match text.trim() {
                "" if !text.contains('\n') => return NOTHING,
                // Where a line break stood before it, `Remark:` amid a line opens nothing.
                "" => before.push(exact("\n")),
                close => before.push(exact(close)),
            }
        }
        markers::dedup(&mut before);
        let mut places = match around.is_first {
            true => self.turn_starts(),
            false => Vec::new(),
        };
        if !before.is_empty() {
            places.push(behind(any_of(before) + SPACE));
        }
        any_of(places) + SPACE
    }

    /// Whether what opens another part begins with a text.
    fn begins_other(&self, text: &str, opens: &[String]) -> bool {
        let around = self.around.iter();
        let parts = around.flat_map(|around| around.reasoning.iter().chain(&around.content));
        let parts = parts.filter(|part| part.opens != opens);
        let others = parts.flat_map(|part| part.opens.iter().cloned());
        let mut others = others.chain(self.call_openers());
        others.any(|other| other.starts_with(text))
    }

    /// The beginning of a turn, if it does not begin with what opens another part, and what closes this one comes.
    fn start(&self, around: &TextBounds) -> Pattern {
        let content = self.around.and_then(|around| around.content.as_ref());
        let mut others = self.call_openers();
        others.extend(
            content
                .iter()
                .flat_map(|content| content.opens.iter().cloned()),
        );
        let shared = around.ahead.iter();
        let shared = shared.map(|ahead| format!("{}{}", ahead.close, ahead.next));
        let closers = around.closes.iter().cloned().chain(shared);
        let closers: Vec<Pattern> = closers.map(|close| ignoring_space(close.trim())).collect();
        let mut start = START;
        if !others.is_empty() {
            let others = others.iter().map(|open| ignoring_space(open));
            start = start + not_ahead(SPACE + any_of(others));
        }
        if !closers.is_empty() {
            // What nothing opens is a thought only if what closes one comes.
            start = start + ahead(ANYTHING + any_of(closers));
        }
        start
    }
}

/// What stands before and behind the value of an attribute that is all in which texts differ, as in
/// `<think budget="512">`.
fn around_attribute(texts: &[String]) -> Option<(&str, &str)> {
    let (first, others) = texts
        .split_first()
        .filter(|(_, others)| !others.is_empty())?;
    let starts = others.iter().map(|text| same_start(first, text));
    let before = &first[..starts.min()?];
    // A value may end as another does.
    let before = &before[..before.rfind(['=', '"', '\''])? + 1];
    let ends = others.iter().map(|text| same_end(first, text));
    let behind = &first[first.len() - ends.min()?..];
    let behind = &behind[behind.find(['"', '\'', '>', '|', ']'])?..];
    let is_value = |text: &String| {
        // With a blank or `=` in it, it is more than the value of one attribute.
        let value = text[before.len()..].strip_suffix(behind);
        value.is_some_and(|value| !value.contains(|c: char| c.is_whitespace() || c == '='))
    };
    texts.iter().all(is_value).then_some((before, behind))
}

fn has_marker(text: &str) -> bool {
    markers::markers(text).next().is_some()
}

/// Whether a text is one that only stands where it has its meaning, and has no white space in it.
fn can_be_literal(text: &str) -> bool {
    has_marker(text) && !text.contains(char::is_whitespace)
}

/// The expression for all places but that behind the quote with which a string of JSON begins.
fn not_behind_first_quote(around: &TextBounds) -> Pattern {
    let before = around.opens.iter().map(|open| match open.as_str() {
        "" => START,
        open => ignoring_space(open),
    });
    not_behind(any_of(before) + SPACE + "\"")
}

/// The expressions for what closes a text: these texts, and the places before what opens the next part. Words
/// and common signs have to stand at the beginning of a line, if that is where they were seen.
fn closers(around: &TextBounds, closes: &[String]) -> Vec<Pattern> {
    let own = closes.iter().map(|close| {
        let is_said = markers::reads_like_prose(close) || !unlikely_in_prose(close);
        // Where `==` on a line of its own closes a thought, `if a == b` does not.
        let is_line = close.starts_with('\n') && is_said;
        (exact("\n") + SPACE).when(is_line) + ignoring_space(close.trim())
    });
    let shared = around.ahead.iter().map(|SharedClose { close, next }| {
        let place = ahead(ignoring_space(next.trim()));
        let is_line = close.starts_with('\n');
        match close.trim() {
            // Nor does anybody write so by chance, where a line break may be missing.
            "" if is_line && begins_with_rare_sign(next.trim()) => SPACE + place,
            "" if !is_line => place,
            close => exact("\n").when(is_line) + ignoring_space(close) + SPACE + place,
        }
    });
    let mut closers = own.chain(shared).collect();
    markers::dedup(&mut closers);
    closers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn bounds(opens: &[&str], closes: &[&str], ahead: &[(&str, &str)]) -> TextBounds {
        let ahead = ahead.iter().map(|(close, next)| SharedClose {
            close: (*close).to_owned(),
            next: (*next).to_owned(),
        });
        TextBounds {
            opens: owned(opens),
            is_first: true,
            closes: owned(closes),
            ahead: ahead.collect(),
            ..TextBounds::default()
        }
    }

    #[test]
    fn a_text_is_read_by_what_was_seen_around_it() {
        let findings = invented::with_calls(["", "<call>NAMEARGUMENTS</call>", "", ""]);
        let json = |around: TextBounds| TextBounds {
            is_json: true,
            ..around
        };
        for (around, open, close) in [
            (bounds(&["<t>"], &["</t>"], &[]), "<t>", "</t>|<end>"),
            // An answer may have the same words in it.
            (
                bounds(&["T:"], &[], &[("\n", "A:")]),
                r"(?:\A|<assistant>)\s*T:",
                r"<end>|\n\s*(?=A:)",
            ),
            // What nothing opens is a thought only if what closes one comes.
            (
                bounds(&[""], &["</t>"], &[]),
                r"\A(?!\s*<call>)(?=.*?</t>)",
                "</t>|<end>",
            ),
            // `</t>Plan:` closes what `</t>` has closed.
            (
                bounds(&["<t>"], &["</t>", "</t>Plan:"], &[]),
                "<t>",
                "</t>|<end>",
            ),
            // Behind its first quote a text has just begun.
            (
                json(bounds(&["{\"t\":"], &["}"], &[])),
                r#"\{"t":\s*(?=")"#,
                r#"(?<=[^\\](?:\\\\)*")(?<!\{"t":\s*")\s*(?:\}|<end>)"#,
            ),
        ] {
            let field = asked(&findings, &[], |drafter| {
                drafter.field_as_rendered("thinking", &around)
            });
            let found = (field.open.shown(), field.close.shown());
            assert_eq!(found, (open.to_owned(), close.to_owned()), "{around:?}");
            assert_eq!(field.rest.contains_key("content"), around.is_json);
        }
    }

    #[test]
    fn the_value_of_an_attribute_may_be_any() {
        for (texts, expected) in [
            (
                vec![r#"<think budget="512">"#, r#"<think budget="1024">"#],
                Some((r#"<think budget=""#, r#"">"#)),
            ),
            (vec!["<t n=1>", "<t n=21>"], Some(("<t n=", ">"))),
            // These differ in more than the value of one attribute.
            (vec!["<t n=1 m=2>", "<t n=3 m=4>"], None),
            (vec!["<one>", "<two>"], None),
            (vec![r#"<think budget="512">"#], None),
        ] {
            assert_eq!(around_attribute(&owned(&texts)), expected, "{texts:?}");
        }
    }

    #[test]
    fn words_open_texts_where_they_were_seen_to() {
        let findings = invented::with_calls([""; 4]);
        for (is_first, behind, expected) in [
            (true, vec![], r"(?:\A|<assistant>)\s*"),
            (true, vec!["</t>"], r"(?:\A|<assistant>|(?<=</t>\s*))\s*"),
            // Where a line break stood before it, `Remark:` amid a line opens nothing.
            (false, vec!["\n"], r"(?<=\n\s*)\s*"),
            // No place tells words behind a blank from others.
            (true, vec![" "], ""),
        ] {
            let around = TextBounds {
                is_first,
                behind: owned(&behind),
                ..TextBounds::default()
            };
            let found = asked(&findings, &[], |drafter| drafter.before_words(&around));
            assert_eq!(found, expected, "{behind:?}");
        }
    }

    #[test]
    fn common_signs_close_texts_at_the_beginning_of_a_line() {
        for (closes, ahead, expected) in [
            (&["</t>"][..], &[][..], r"</t>"),
            (&["\n</t>"], &[], r"</t>"),
            // `if a == b` does not close a thought.
            (&["\n=="], &[], r"\n\s*=="),
            (&["=="], &[], "=="),
            (&[], &[("\n", "A:")], r"\n\s*(?=A:)"),
            // Nobody writes such a sign by chance, so a line break may be missing.
            (&[], &[("\n", "¶say")], r"\s*(?=¶say)"),
            (&[], &[("~~", "A:")], r"~~\s*(?=A:)"),
            (&[], &[("\n~~\n", "A:")], r"\n~~\s*(?=A:)"),
            (&[], &[("", "A:")], "(?=A:)"),
        ] {
            let around = bounds(&[], closes, ahead);
            let found = closers(&around, &around.closes);
            assert_eq!(found, [expected], "{closes:?} {ahead:?}");
        }
    }

    #[test]
    fn a_literal_has_a_marker_and_no_white_space() {
        for (text, can_be) in [
            ("<t>", true),
            ("T: <t>", false),
            ("<t>\n", false),
            ("T:", false),
        ] {
            assert_eq!(can_be_literal(text), can_be, "{text:?}");
        }
    }
}
