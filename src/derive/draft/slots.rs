//! The expression for a row of texts and slots, such as what opens a call.

use std::mem;

use crate::analysis::CallParts;
use crate::derive::choices::Choice;
use crate::derive::pattern::{
    NOTHING, NUMBER, Pattern, SOME_SPACE, SPACE, char_between, char_until, ignoring_space,
    is_of_names, named, none_of,
};
use crate::format::{Node, Row, Slot};
use crate::markers::lexicon::unmarked;
use crate::markers::{self, unlikely_in_prose};

use super::call_texts::{opens_unambiguously, split_at_id};
use super::drafter::Drafter;

/// A row of texts and slots.
struct SlotPattern<'r> {
    slots: &'r [Node],
    /// Where the name stands that counts.
    last_name: Option<usize>,
    /// Where the number stands that makes an id together with this name, if it is captured as one.
    number: Option<usize>,
}

impl<'r> SlotPattern<'r> {
    fn new(row: &'r Row, numbers_are_ids: bool) -> SlotPattern<'r> {
        let slots = row.nodes();
        let last_name = slots.iter().rposition(is(Slot::Name));
        // Where ids are kept, `read:0` is one: the name and the number together.
        let number = last_name.filter(|_| numbers_are_ids).and_then(|name| {
            let after = slots[name..].iter().position(is(Slot::Index))?;
            Some(name + after)
        });
        SlotPattern {
            slots,
            last_name,
            number,
        }
    }

    /// The text at a place; nothing, if a slot stands there.
    fn text(&self, at: usize) -> &'r str {
        match self.slots.get(at) {
            Some(Node::Literal(text)) => text,
            _ => "",
        }
    }

    fn is_behind_name(&self, at: usize) -> bool {
        at > 0 && self.last_name.is_some_and(|name| name < at)
    }

    fn is_before_name(&self, at: usize) -> bool {
        self.last_name == Some(at + 1)
    }

    /// Whether a text at a place is the marker of an id, and another marker that begins alike follows upon it.
    fn is_marker_of_id(&self, at: usize) -> bool {
        let slots = self.slots.get(at..).unwrap_or_default();
        let [
            Node::Literal(own),
            Node::Slot(Slot::Id),
            Node::Literal(next),
            ..,
        ] = slots
        else {
            return false;
        };
        let first = |text: &str| text.trim_start().chars().next();
        at > 0 && markers::markers(own).next().is_some() && first(own) == first(next)
    }
}

impl Drafter<'_> {
    /// The expression for slots in a row, with groups for name and id if they are to be captured.
    pub(super) fn slots_pattern(&self, row: &Row, captures: bool) -> Pattern {
        let captures_ids = captures && self.options.ids;
        let row = SlotPattern::new(row, captures_ids && !row.has(Slot::Id));
        // Models leave out ids that have a marker of their own.
        let is_before_id = |at: usize| !self.options.ids && row.is_marker_of_id(at);
        // What stands before a group that has begun.
        let mut before = NOTHING;
        let mut out = NOTHING;
        for (at, slot) in row.slots.iter().enumerate() {
            match slot {
                Node::Literal(text) => {
                    let text = self.text_of(at, text);
                    if row.number.is_some() && row.is_before_name(at) {
                        let (marker, own) = split_at_id(&text);
                        before = out + ignoring_space(marker);
                        out = ignoring_space(own);
                    } else {
                        if is_before_id(at) {
                            before = mem::take(&mut out);
                        }
                        out = out + self.text_pattern(&row, at, &text);
                    }
                }
                Node::Slot(Slot::Name) => out = out + self.name_pattern(&row, at, captures),
                Node::Slot(Slot::Id) => {
                    let id = self.id_class(row.text(at + 1)).many();
                    out = match captures_ids {
                        true => out + named("id", id),
                        false => out + id,
                    };
                    if at.checked_sub(1).is_some_and(is_before_id) {
                        out = mem::take(&mut before) + out.or_nothing();
                    }
                }
                Node::Slot(Slot::Index) if Some(at) == row.number => {
                    out = mem::take(&mut before) + named("id", out + NUMBER);
                }
                Node::Slot(Slot::Index) => out = out + NUMBER,
                Node::Slot(_) => out = out + char_until(row.text(at + 1)).some(),
                _ => {}
            }
        }
        out
    }

    /// A text of a row as it may be written.
    fn text_of(&self, at: usize, text: &str) -> String {
        let text = if at == 0 { text.trim_start() } else { text };
        let is_json = self.calls.is_some_and(|calls| calls.dialect().is_some());
        match is_json {
            true => json_spaced(text),
            false => text.to_owned(),
        }
    }

    /// The expression for a text of a row.
    fn text_pattern(&self, row: &SlotPattern<'_>, at: usize, text: &str) -> Pattern {
        // Models put white space between a name and a marker that names don't have.
        let is_marker = |piece: Option<&str>| piece.is_some_and(markers::is_closed);
        let after_name = row.is_behind_name(at);
        let before = SPACE.when(after_name && is_marker(markers::first_piece(text)));
        let behind = match row.is_before_name(at) && is_marker(markers::pieces(text).last()) {
            false => NOTHING,
            true if is_marker(markers::first_piece(row.text(at + 2).trim_start())) => SPACE,
            // A name behind a blank is a word: `The <call> tag opens calls.`
            true => (SPACE + "\n" + SPACE).or_nothing(),
        };
        let own = self.between_name_and_body(text, after_name);
        // Nothing else ends a name before words: `read With: {`.
        let begins_with_word = text.trim_start().starts_with(char::is_alphanumeric);
        let spaced = own.without_start(&SPACE);
        let own = match spaced.filter(|_| after_name && begins_with_word) {
            Some(rest) => SOME_SPACE + rest,
            None => own,
        };
        let pattern = before + own + behind;
        // `@callback` is no call of `back`, and `<calls>` none of `s`.
        let is_word = text.trim_end().ends_with(char::is_alphanumeric);
        let spaced = pattern.without_end(&SPACE);
        match spaced.filter(|_| is_word && row.is_before_name(at)) {
            Some(start) => start + SOME_SPACE,
            None => pattern,
        }
    }

    /// The expression for a name in a row.
    fn name_pattern(&self, row: &SlotPattern<'_>, at: usize, captures: bool) -> Pattern {
        let before = match at.checked_sub(1).map(|before| row.text(before)) {
            None => self.before_name(),
            Some(text) => {
                // What stands in JSON is no part of the marker before it.
                let own = text.rsplit('{').next().unwrap_or_default();
                // Markers may hold the same sign: in `@@end@@@name{`, the name begins behind the last.
                match unlikely_in_prose(own) {
                    true => Vec::new(),
                    false => vec![own],
                }
            }
        };
        // Names may have the sign before a call's number, which goes up to the last of them: `a:b` in `a:b:0`.
        let next = match row.slots.get(at + 2) {
            Some(Node::Slot(Slot::Index)) if unlikely_in_prose(row.text(at + 3)) => {
                row.text(at + 3)
            }
            None => self.end_of_name(row.text(at + 1)),
            _ => row.text(at + 1),
        };
        let name = self.name_class(&before, next).some();
        let is_last = row.last_name == Some(at);
        match is_last && captures {
            true => named("name", name),
            false => name,
        }
    }

    /// What ends a name that has this text behind it, and no slot behind that. Where the text begins with signs that
    /// names have, as in `mcp:read: {…}` or `look-up -> {…}`, the name goes up to the last of them: what follows these ends it.
    fn end_of_name<'t>(&self, text: &'t str) -> &'t str {
        let text = match text.trim_start() {
            // White space ends a name before words.
            trimmed if trimmed.starts_with(char::is_alphanumeric) => text,
            trimmed => trimmed,
        };
        let rest = text.trim_start_matches(|c| is_of_names(c) || c == ':');
        let is_json = self.calls.is_some_and(|calls| calls.dialect().is_some());
        match rest.trim() {
            _ if rest.len() == text.len() => text,
            "" if is_json => "{",
            "" => text,
            _ => rest,
        }
    }

    /// Whether the expression that opens calls captures an id.
    pub(super) fn captures_id(&self, calls: &CallParts<'_>) -> bool {
        let is_numbered = || SlotPattern::new(&calls.open, true).number.is_some();
        self.options.ids && (calls.open.has(Slot::Id) || is_numbered())
    }

    /// What an id consists of, which has this text behind it.
    fn id_class(&self, next: &str) -> Pattern {
        match next.is_empty() {
            true => self.name_class(&[], next),
            false => char_until(next),
        }
    }

    /// What a name consists of, which has texts around it that it must not be taken for.
    fn name_class(&self, before: &[&str], next: &str) -> Pattern {
        let arguments = self.calls.and_then(CallParts::single_arguments);
        match (next.trim().is_empty(), self.calls, arguments) {
            // The body follows at once; where there are no arguments, what closes the call.
            (true, Some(calls), Some(arguments)) => {
                let close = &calls.close;
                let ends = self.turn_ends();
                let mut after = vec![arguments.open(), markers::split_close(close).0];
                if close.trim().is_empty() {
                    let next = [calls.first_text(), &*calls.section_close];
                    let next = next.into_iter().chain(ends.iter().map(String::as_str));
                    // Names have letters, whatever words may follow.
                    after.extend(
                        next.filter(|text| !text.trim_start().starts_with(char::is_alphanumeric)),
                    );
                }
                char_between(before, &after)
            }
            // Where nothing but its name tells a call, `["a"], "b": {…}` in JSON is none, nor is the fence before `{…}`.
            (true, Some(calls), _) if !opens_unambiguously(calls) => {
                let after = ["{", "<", "\"", "'", "(", ")", "]", "}", ",", "`"];
                char_between(before, &after)
            }
            // Of what follows a name nothing is known here: a brace or a tag most likely begins the arguments.
            (true, ..) => char_between(before, &["{", "<"]),
            // Only its name tells a call: it is no part of what stands before it, in quotes or in brackets.
            (false, Some(calls), _) if !opens_unambiguously(calls) => {
                char_between(before, &[next, "\"", "'", "(", ")", "]", "}"])
            }
            (false, ..) => char_between(before, &[next]),
        }
    }

    /// What may stand right before a name that an expression begins with. A match is the leftmost:
    /// it would begin in these texts, and in the word before them.
    fn before_name(&self) -> Vec<&str> {
        let Some(calls) = self.calls else {
            return Vec::new();
        };
        let is_anchored = !calls.separator.trim().is_empty() && !opens_unambiguously(calls);
        match is_anchored {
            // A marker before the calls may begin as what opens them does.
            true => vec![&*calls.section_open],
            false => vec![&*calls.section_open, &calls.separator],
        }
    }

    fn between_name_and_body(&self, text: &str, after_name: bool) -> Pattern {
        // What may stand before the last piece is anything, also where it is one marker with it.
        let unmarked = unmarked(text);
        let pieces: Vec<&str> = markers::pieces(&unmarked).collect();
        let last = pieces.iter().rposition(|piece| markers::is_marker(piece));
        match last {
            Some(last) if after_name && self.chosen(Choice::LooseHeader) && last > 0 => {
                let marker: String = pieces[last..].concat();
                // Over no brace: behind one the arguments have begun.
                none_of("{").few() + ignoring_space(&marker)
            }
            _ => ignoring_space(text),
        }
    }
}

/// A text with JSON in it, with a blank where JSON may have white space: before a key, and between a marker and
/// the bracket that JSON begins with.
fn json_spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut is_behind_marker = false;
    for piece in markers::pieces(text) {
        if is_behind_marker && piece.starts_with(['{', '[']) {
            out.push(' ');
        }
        is_behind_marker = markers::is_closed(piece);
        out.push_str(piece);
    }
    out.replace("{\"", "{ \"")
}

/// Whether a node is this slot.
fn is(slot: Slot) -> impl Fn(&Node) -> bool {
    move |node| *node == Node::Slot(slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;
    use crate::derive::options::DeriveOptions;

    #[test]
    fn a_row_of_texts_and_slots_is_an_expression() {
        let loose = &[Choice::LooseHeader][..];
        for (calls, chosen, expected) in [
            // A name behind a blank is a word: `The <call> tag opens calls.`
            (
                ["", "<call>NAMEARGUMENTS</call>", "", ""],
                &[][..],
                r"<call>(?:\s*\n\s*)?(?P<name>[^\s{<]+)",
            ),
            (
                ["", "<call>NAME<args>ARGUMENTS</call>", "", ""],
                &[],
                r"<call>\s*(?P<name>[^\s<]+)\s*<args>",
            ),
            (
                ["", "<call=NAME>ARGUMENTS</call>", "", ""],
                &[],
                r"<call=(?P<name>[^\s>]+)>",
            ),
            (
                ["", "call NAME\nARGUMENTS", "", ""],
                &[],
                r"call\s+(?P<name>[^\s{<]+)\s*",
            ),
            // Nothing but its name tells a call: in `["a"], "b": {…}` of JSON, none begins.
            (
                ["<calls>", "NAME\nARGUMENTS", "\n", "</calls>"],
                &[],
                r#"(?P<name>[^\s{<"'()\]},`>]+)\s*"#,
            ),
            // Without its blank, `<calls>` would be a call named `s`.
            (
                ["<calls>", "<call NAME>ARGUMENTS</call>", "", "</calls>"],
                &[],
                r"<call\s+(?P<name>[^\s>]+)>",
            ),
            (
                ["", "<c>NAME<to><args>ARGUMENTS</c>", "", ""],
                &[],
                r"<c>\s*(?P<name>[^\s<]+)\s*<to><args>",
            ),
            (
                ["", "<c>NAME<to><args>ARGUMENTS</c>", "", ""],
                loose,
                r"<c>\s*(?P<name>[^\s<]+)\s*[^{]*?<args>",
            ),
            // A name is no part of what stands in brackets and quotes before it.
            (
                ["[", "NAME(«KEY=QUOTED·, »)", ", ", "]"],
                &[],
                r#"(?P<name>[^\s("')\]}\[]+)\("#,
            ),
            // `mcp:read` and `read->all` are names, too.
            (
                ["", "<call>NAME: ARGUMENTS</call>", "", ""],
                &[],
                r"<call>(?:\s*\n\s*)?(?P<name>[^\s{]+):\s*",
            ),
            (
                ["", "<call>NAME-><args>ARGUMENTS</call>", "", ""],
                &[],
                r"<call>(?:\s*\n\s*)?(?P<name>[^\s>]+)-><args>",
            ),
            (
                ["", "<call>NAME -> ARGUMENTS</call>", "", ""],
                &[],
                r"<call>(?:\s*\n\s*)?(?P<name>[^\s>]+)\s*->\s*",
            ),
            // White space ends a name before words.
            (
                ["", "<call>NAME with ARGUMENTS</call>", "", ""],
                &[],
                r"<call>(?:\s*\n\s*)?(?P<name>[^\s]+)\s+with\s*",
            ),
            // The body follows at once: a name holds no sign that opens it.
            (
                ["", "<call>NAME«@KEY: RAW·\n»</call>", "", ""],
                &[],
                r"<call>(?:\s*\n\s*)?(?P<name>[^\s@<]+)",
            ),
        ] {
            let findings = invented::with_calls(calls);
            let found = asked(&findings, chosen, |drafter| {
                drafter.slots_pattern(&drafter.calls.expect("there are calls").open, true)
            });
            assert_eq!(found, expected, "{calls:?}");
        }
    }

    #[test]
    fn ids_are_captured_or_may_be_left_out() {
        for (call, ids, named, expected) in [
            (
                "<c>NAME<id>ID<args>ARGUMENTS</c>",
                false,
                true,
                r"<c>\s*(?P<name>[^\s<]+)(?:\s*<id>[^\s<]*)?\s*<args>",
            ),
            (
                "<c>NAME<id>ID<args>ARGUMENTS</c>",
                true,
                true,
                r"<c>\s*(?P<name>[^\s<]+)\s*<id>(?P<id>[^\s<]*)\s*<args>",
            ),
            (
                "<c>NAME<id>ID<args>ARGUMENTS</c>",
                true,
                false,
                r"<c>\s*[^\s<]+\s*<id>[^\s<]*\s*<args>",
            ),
            // Nothing but a sign stands before this one, which has to be there.
            (
                "<c>NAME#ID<args>ARGUMENTS</c>",
                false,
                true,
                r"<c>(?:\s*\n\s*)?(?P<name>[^\s#]+)#[^\s<]*\s*<args>",
            ),
            // The name goes up to the last of its signs: `a:b` in `a:b:0`.
            (
                "<c>NAME:INDEX<args>ARGUMENTS</c>",
                false,
                true,
                r"<c>(?:\s*\n\s*)?(?P<name>[^\s<]+):\d+\s*<args>",
            ),
            (
                "<c>NAME:INDEX<args>ARGUMENTS</c>",
                true,
                true,
                r"<c>(?P<id>(?P<name>[^\s<]+):\d+)\s*<args>",
            ),
            (
                "<c>fn.NAME:INDEX<args>ARGUMENTS</c>",
                true,
                true,
                r"<c>(?P<id>fn\.(?P<name>[^\s<]+):\d+)\s*<args>",
            ),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let options = DeriveOptions::default().ids(ids);
            let found = asked(&findings, &[], |drafter| {
                let drafter = Drafter {
                    options: &options,
                    ..*drafter
                };
                let calls = drafter.calls.expect("there are calls");
                assert_eq!(drafter.captures_id(calls), ids, "{call}");
                drafter.slots_pattern(&calls.open, named)
            });
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn json_may_have_white_space_behind_markers_and_before_keys() {
        for (text, expected) in [
            ("<call>{\"name\"", "<call> { \"name\""),
            ("<call>[{\"name\"", "<call> [{ \"name\""),
            ("{\"a\"", "{ \"a\""),
            // Behind words, nothing shows that JSON begins.
            ("call{", "call{"),
        ] {
            assert_eq!(json_spaced(text), expected, "{text}");
        }
    }
}
