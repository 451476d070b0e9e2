//! Arguments that are not an object of JSON: those between markers, and those of a Python call.

use crate::analysis::{CallParts, SingleArguments};
use crate::derive::pattern::{
    ANY, ANYTHING, END, NOTHING, Pattern, SOME_SPACE, SPACE, WORD, ahead, any_of, behind,
    char_between, either, exact, ignoring_space, joined, named, no_space_nor, none_of, not_ahead,
    one_of,
};
use crate::format::{Node, Row, ValueType, ValueWriting};
use crate::markers::{
    self, begins_with_rare_sign, closing_bracket, is_word, same_end, same_start, unlikely_in_prose,
};
use crate::value::{Object, Value};

use super::drafter::{Drafter, first_signs, texts};

/// A list or an object of JSON: what stands in its strings ends nothing.
// As in `["x, y=1)"]`.
fn json() -> Pattern {
    in_brackets(any_of([json_string(), none_of("\"")]).few())
}

/// A string of JSON.
fn json_string() -> Pattern {
    quoted_text("\"")
}

/// A text between these quotes, in which backslashes escape.
fn quoted_text(quote: &str) -> Pattern {
    let within = escaped(none_of(quote).nor("\\"));
    exact(quote) + within.many() + quote
}

/// A character, or any that a backslash escapes.
fn escaped(character: Pattern) -> Pattern {
    any_of([character, exact("\\") + ANY])
}

/// How a list or an object begins that Python prints, if a text comes first in it.
fn list_start() -> Pattern {
    one_of("[{").some() + "'"
}

fn in_brackets(within: Pattern) -> Pattern {
    one_of("[{") + within + one_of("]}")
}

impl Drafter<'_> {
    /// Arguments between markers.
    pub(super) fn tagged(&self, tagged: &SingleArguments<'_>) -> Object {
        // `['a', 'b']` is a list where the format prints lists so, and a text where its lists are JSON.
        if let Some(arguments) = self.tagged_with_lists(tagged) {
            return arguments;
        }
        // With nothing behind values, only the quotes around texts tell where these end.
        if let Some(quotes) = tagged.quotes().filter(|_| tagged.close().is_empty()) {
            return quoted(tagged, quotes);
        }
        let mut between = match tagged.first_between() {
            // Where nothing else stands before a key and behind it, as in `most\t3`, it has to be there: `3` would be a key.
            space if tagged.open().trim().is_empty() && space.trim().is_empty() => space_of(space),
            // Models leave out the bracket of a head that has a line of its own: no key goes on behind it.
            ">\n" if tagged.between.len() == 1 => {
                any_of([exact(">") + exact("\n").or_nothing(), exact("\n")])
            }
            _ => variants(&tagged.between),
        };
        let nested = tagged.nested_quotes();
        // A value may be wrapped only where its signs ask for it: `<![CDATA[a < b]]>` beside `7`.
        if let Some((open, _)) = tagged.wrapping().filter(|_| nested.is_none()) {
            between = between + optional(open);
        }
        let key = key_class(tagged);
        let value = match tagged.close().is_empty() {
            true => self.open_value(tagged, &key, &between),
            false => closed_value(tagged, &key, &between, self.behind_value(tagged)),
        };
        let key = whole_key_class(tagged).some();
        // No key begins as a closing tag does.
        let is_bracket = matches!(&*tagged.opens, [open] if open.ends_with(['<', '[']));
        let is_tag = tagged.close_names_key() && is_bracket;
        let key = named("key", not_ahead(exact("/")).when(is_tag) + key);
        let pattern = before_key(tagged) + key + between + value;
        match nested {
            Some(quotes) => arguments(pattern, values_in_quotes(tagged, quotes)),
            // What is written as it is may be a text: `75001` is one, unless types are to be guessed.
            None if self.options.guess_types || tagged.has_json_texts() => {
                arguments(pattern, json_or_text(&[]))
            }
            None => Object::from_iter([("tag_pattern", Value::from(pattern))]),
        }
    }

    /// The expression for a sign that begins what may stand behind a value.
    fn behind_value(&self, tagged: &SingleArguments<'_>) -> Pattern {
        let ends = self.turn_ends();
        let calls = self
            .calls
            .map(|calls| [&*calls.close, &*calls.section_close]);
        let texts = tagged.opens.iter().map(|open| &**open);
        let texts = texts.chain(calls.into_iter().flatten());
        first_signs(texts.chain(ends.iter().map(String::as_str)))
    }

    /// A value that nothing closes: what follows shows where it ends.
    fn open_value(
        &self,
        tagged: &SingleArguments<'_>,
        key: &Pattern,
        between: &Pattern,
    ) -> Pattern {
        // A text of JSON says itself where it ends. Other values hold texts, too.
        if tagged.has_json_texts() {
            let next = ignoring_space(&tagged.separator) + ignoring_space(tagged.open());
            let next = next + key.clone().some() + between;
            let end = ahead(either([next, SPACE + END]));
            let forms = [json_string(), json() + &end, ANYTHING + end];
            return named("value", either(forms));
        }
        match tagged.separator.trim().chars().next() {
            Some(stop) => {
                let next = ignoring_space(&tagged.separator) + ignoring_space(tagged.open());
                // The next key has none of the signs before it, so that each sign is looked behind once.
                let key = match is_word(stop) {
                    true => key.clone(),
                    false => key.clone().excluding(stop),
                };
                let behind = self.calls.map(behind_arguments).unwrap_or_default();
                let space = SPACE.when(behind.starts_with(char::is_whitespace));
                let end = ahead(either([next + key.some() + between, space + END]));
                named("value", either([json() + &end, ANYTHING + end]))
            }
            // Nothing but the next key's marker ends a value: it may be of several lines.
            None if next_is_clear(tagged) || self.begin_lines(tagged) => {
                let behind = self.calls.map(behind_arguments).unwrap_or_default();
                let space = &behind[..behind.len() - behind.trim_start().len()];
                let opens = any_of(tagged.opens.iter().map(|open| exact(open)));
                let next = optional(&tagged.separator) + opens + key.clone().some() + between;
                named("value", ANYTHING) + ahead(either([next, optional(space) + END]))
            }
            // Where each argument has a line, a value goes up to its end.
            None if tagged.open().contains('\n') || tagged.open().trim().is_empty() => {
                named("value", none_of("\n").many())
            }
            // A sign that opens arguments may stand in later lines, too, so a value is looked for on its own line
            // only.
            None => {
                let next = exact(tagged.open()) + key.clone().some() + between;
                let end = SPACE + any_of([exact("\n"), END]);
                named("value", none_of("\n").few()) + ahead(either([next, end]))
            }
        }
    }

    /// Whether each argument begins a line with a text, as `⏎- ` does, and what closes calls is no beginning of what opens the next.
    fn begin_lines(&self, tagged: &SingleArguments<'_>) -> bool {
        let is_told =
            |calls: &CallParts<'_>| !calls.first_text().trim().starts_with(calls.close.trim());
        let open = tagged.open();
        open.starts_with('\n') && !open.trim().is_empty() && self.calls.is_some_and(is_told)
    }

    /// The same where lists and objects stand as Python prints them, as in `['a', 'b']`.
    ///
    /// One parser reads all values, and to it `7` is a number. So a text is captured with what stands around
    /// it, which is what the parser knows texts by. `None` if nothing clear stands there.
    fn tagged_with_lists(&self, tagged: &SingleArguments<'_>) -> Option<Object> {
        if !tagged.has_python_lists() || self.options.guess_types {
            return None;
        }
        let ([_], [between], [close]) = (&*tagged.opens, &*tagged.between, &*tagged.closes) else {
            return None;
        };
        let marker = between.trim_end();
        let (head, before) = match marker.rfind(char::is_whitespace) {
            Some(at) => marker.split_at(at + marker[at..].chars().next()?.len_utf8()),
            None => ("", marker),
        };
        let (space, after) = (&between[marker.len()..], close.trim());
        let is_clear = unlikely_in_prose(after) && !after.contains(char::is_whitespace);
        if before.is_empty() || !is_clear || close.has_slots() {
            return None;
        }
        let befores = [format!("{before}{space}"), before.to_owned()];
        let afters = [close.trim_end().to_owned(), after.to_owned()];
        let mut quotes: Vec<[String; 2]> = Vec::new();
        for (open, close) in tagged.wrapping().into_iter().chain([("", "")]) {
            for before in &befores {
                for after in &afters {
                    let pair = [format!("{before}{open}"), format!("{close}{after}")];
                    if !quotes.contains(&pair) {
                        quotes.push(pair);
                    }
                }
            }
        }
        // Texts within a list have Python's quotes, whatever stands around the list.
        quotes.push(["'", "'"].map(str::to_owned));
        let (before, after) = (exact(before), exact(after));
        let end = SPACE + &after;
        // What closes a list must not be taken for what opens the next argument.
        let is_like_opener = close.trim().starts_with(tagged.open().trim());
        let closed = end.clone().or_nothing().when(is_like_opener);
        let list = before.clone() + SPACE + ahead(list_start());
        let value = either([
            before + ANYTHING + after,
            list_start() + ANYTHING + ahead(end),
        ]);
        let key = named("key", whole_key_class(tagged).some());
        let head = before_key(tagged) + key + ignoring_space(head);
        let pattern = head + list.or_nothing() + named("value", value) + closed;
        Some(arguments(pattern, json_or_text(&quotes)))
    }

    /// Arguments as Python writes them.
    ///
    /// A text in single quotes is captured from the sign before it on, as in `='7'`, up to the sign behind
    /// it, which is what the value parser knows texts by: `7` would be a number. One that has such a sign
    /// behind a quote in it goes on to the quote that the next key or the end follows, since models don't escape quotes. Then
    /// there are texts in double quotes, which are JSON, and whatever else goes on to the next key.
    ///
    /// Where lists have single quotes in them, the value parser must not see those in texts with double quotes. Nor must
    /// it where all texts are JSON, as in `="name='Bob'"`: there it knows no text by single quotes, and `'7'` is a number.
    pub(super) fn python(&self, calls: &CallParts<'_>, tagged: &SingleArguments<'_>) -> Object {
        // Where no marker closes calls, the last bracket stays with the arguments, and shows where they end.
        let is_closed = unlikely_in_prose(markers::split_close(&calls.close).0);
        let bracket = exact(")").or_nothing().when(!is_closed);
        let key = python_key(tagged);
        // In a string within a value, a quote has a backslash before it: `="{"a": "1\", b=\"2"}"` has one key.
        let begins = none_of("\\").when(tagged.raw_quote.is_some());
        let next = || SPACE + &key + SPACE + "=" + &begins;
        let is_assigned = SPACE + "=" + SPACE;
        // Models write a comma behind the last argument, too, where each has a line.
        let last = (exact(",") + SPACE).or_nothing() + bracket + SPACE + END;
        let end = SPACE + any_of([exact(",") + next(), last]);
        if let Some(quote) = tagged.raw_quote {
            let raw = RawTexts {
                quote,
                has_lists: tagged.has_python_lists(),
                has_bracket: !is_closed,
            };
            let pattern = named("key", key.clone()) + raw.values(&next, &end);
            return arguments(pattern, json_or_text(&raw.quotes()));
        }
        let is_python = |(open, _): &(&str, &str)| open.contains(['\'', '"']);
        if let Some(quotes) = tagged.quotes().filter(|quotes| !is_python(quotes)) {
            let value = named("value", outside_quotes(quotes));
            let pattern = named("key", key) + is_assigned + value + ahead(end);
            return arguments(pattern, values_in_quotes(tagged, quotes));
        }
        let comma = exact(",") + ahead(next());
        let closed = exact(")") + ahead(SPACE + END);
        let not_ended = not_ahead(exact("'") + one_of(",)")) + ANY;
        let texts = [
            exact("='") + not_ended.many() + "'" + any_of([comma, closed]),
            exact("='") + none_of("'").many() + "'" + ahead(end.clone()),
            // In `=' it's 'so''` there are quotes, and the one that ends it has a key or the end behind it.
            behind(exact("'")) + escaped(none_of("\\")).few() + ahead(exact("'") + &end),
        ];
        // Models take the other quotes where a text has these in it: `="it's 'so'"`.
        let plain = exact("=\"") + none_of("\"\\").many() + "\"" + ahead(end.clone());
        // What stands in the strings of a list ends nothing.
        let within = any_of([json_string(), quoted_text("'"), none_of("\"'")]);
        let list = in_brackets(within.few());
        let others = [
            json_string(),
            any_of([list, not_ahead(exact("=")) + ANYTHING]) + ahead(end),
        ];
        let mut quotes = [("='", "',"), ("='", "')"), ("='", "'")].to_vec();
        let mut forms = texts.to_vec();
        let is_assigned = is_assigned + exact("'").or_nothing();
        let assigned = match tagged.has_python_lists() {
            true => {
                quotes.extend([("=\"", "\""), ("'", "'")]);
                forms.push(plain);
                any_of([ahead(exact("=") + one_of("'\"")), is_assigned])
            }
            false if tagged.has_json_texts() => {
                quotes.clear();
                forms.drain(..2);
                is_assigned
            }
            false => any_of([ahead(exact("='")), is_assigned]),
        };
        forms.extend(others);
        let pattern = named("key", key) + assigned + named("value", either(forms));
        let quotes = quotes.iter();
        let quotes: Vec<[String; 2]> = quotes
            .map(|(open, close)| [*open, *close].map(str::to_owned))
            .collect();
        arguments(pattern, json_or_text(&quotes))
    }
}

/// Values of a Python call that all stand in one quote as they are.
///
/// A text is captured from the sign before it up to the one behind it, as in `="7",` and `="7")`: by these the value parser knows it for a text. A
/// quote alone would end none: `="` stands in JSON, too, as in `{"data": "aGlnaA=="}`.
struct RawTexts {
    quote: char,
    /// Whether lists stand there as Python prints them.
    has_lists: bool,
    /// Whether the bracket that closes the call is the last sign that is read.
    has_bracket: bool,
}

impl RawTexts {
    /// The expression for what stands behind a key: each value up to the quote that the next key or the end follows. Models write the other
    /// quote as well, and none around what is no text.
    fn values(&self, next: &dyn Fn() -> Pattern, end: &Pattern) -> Pattern {
        let quote = || exact(&self.quote.to_string());
        let open = || exact("=") + quote();
        let within = |ends: Pattern| (not_ahead(quote() + ends) + ANY).many();
        let printed = behind(quote()) + list_start() + ANYTHING + ahead(quote() + end);
        let last = match self.has_bracket {
            // The value parser looks for the bracket first, so this may have a quote and a comma in it.
            true => {
                let texts = within(any_of([exact(")"), exact(",") + next()]));
                open() + texts + quote() + ")" + ahead(SPACE + END)
            }
            false => open() + none_of(self.quote).many() + quote() + ahead(end.clone()),
        };
        let other = self.other();
        let nested = any_of([json_string(), quoted_text("'"), none_of("\"'")]);
        let list = in_brackets(nested.few());
        let forms = [
            printed.when(self.has_lists),
            open() + within(one_of(",)")) + quote() + "," + ahead(next()),
            last,
            behind(quote()) + ANYTHING + ahead(quote() + end),
            exact("=") + other + none_of(other).many() + other + ahead(end.clone()),
            any_of([list, not_ahead(exact("=")) + ANYTHING]) + ahead(end.clone()),
        ];
        let begins = [
            (open() + ahead(list_start())).when(self.has_lists),
            ahead(exact("=") + one_of("\"'")),
            SPACE + "=" + SPACE + one_of("\"'").or_nothing(),
        ];
        let some = |pattern: &Pattern| *pattern != NOTHING;
        let value = either(forms.into_iter().filter(some));
        either(begins.into_iter().filter(some)) + named("value", value)
    }

    /// What the value parser knows such texts by.
    fn quotes(&self) -> Vec<[String; 2]> {
        let (quote, other) = (self.quote, self.other());
        // What the last text ends with may stand in another one, and the other way round; the longer one is looked for first.
        let behind = if self.has_bracket {
            [")", ","]
        } else {
            [",", ""]
        };
        let own = behind.map(|behind| [format!("={quote}"), format!("{quote}{behind}")]);
        let other = [format!("={other}"), other.to_owned()];
        // Within lists, texts have the quotes of Python.
        let nested = ["'", "'"].map(str::to_owned);
        own.into_iter().chain([other, nested]).collect()
    }

    fn other(&self) -> &'static str {
        match self.quote {
            '"' => "'",
            _ => "\"",
        }
    }
}

/// The expression for a key in a Python call. Those of tools may have other signs than Python's names, and blanks, but none of
/// those that stand around values.
fn python_key(tagged: &SingleArguments<'_>) -> Pattern {
    let (open, close) = tagged.quotes().unwrap_or_default();
    let signs = open.chars().next().into_iter().chain(close.chars().next());
    let signs = signs.filter(|sign| !is_word(*sign) && !"'\"".contains(*sign));
    let none_of_these = |own: &str| signs.clone().fold(no_space_nor(own), Pattern::nor);
    let within = none_of_these("=,'\"()");
    // A key may have brackets, as `items[0]`, but a list begins with one.
    let first = none_of_these("=,'\"(){}[]");
    // Blanks stand only between its parts, so that it matches in one way: engines that go back try all there are.
    let part = exact(" ").some() + within.clone().some();
    first + within.many() + part.many()
}

/// Arguments between markers that nothing closes but the quotes around texts, as in `--city 'Paris' --days 3`. A text is
/// captured with its quotes, which is what the value parser knows texts by, unless it has such a quote in it.
fn quoted(tagged: &SingleArguments<'_>, (open, close): (&str, &str)) -> Object {
    let parser = values_in_quotes(tagged, (open, close));
    let list = match tagged.nested_quotes() {
        Some(quotes) => in_brackets(outside_quotes(quotes)),
        None => json(),
    };
    // Nor does one begin as an object does.
    let key = key_class(tagged).excluding("{").some();
    let between = variants(&tagged.between);
    let next = ignoring_space(&tagged.separator) + ignoring_space(tagged.open());
    let end = ahead(either([next + &key + &between, SPACE + END]));
    let opener = optional(open);
    let [open, close] = [open, close].map(exact);
    // With its quotes, `'7'` is a text to the parser of values, and `7` a number.
    let within = (not_ahead(close.clone()) + ANY).many();
    let whole = open.clone() + within + &close + &end;
    let value = either([
        whole.clone(),
        behind(open) + ANYTHING + ahead(close + &end),
        list + &end,
        ANYTHING + end,
    ]);
    let start = before_key(tagged) + named("key", key) + between;
    let pattern = start + any_of([ahead(whole), opener]) + named("value", value);
    arguments(pattern, parser)
}

/// The expression for a value up to what ends it, where texts stand in quotes: what stands within them ends nothing.
fn outside_quotes((open, close): (&str, &str)) -> Pattern {
    let [open, close] = [open, close].map(exact);
    let within = (not_ahead(close.clone()) + ANY).many();
    let text = open.clone() + within + close;
    any_of([text, not_ahead(open) + ANY]).few()
}

/// The parser of values whose texts stand in quotes, also those in lists and objects.
fn values_in_quotes(tagged: &SingleArguments<'_>, (open, close): (&str, &str)) -> Object {
    let mut parser = json_or_text(&[[open, close].map(str::to_owned)]);
    let has_bare_keys = match tagged.written(ValueType::Object) {
        Some(ValueWriting::Json(dialect)) => dialect.unquoted_keys,
        _ => false,
    };
    // `{at: 1}` is no JSON unless the parser is told of such keys.
    if has_bare_keys && let Some(Value::Object(own)) = parser.get_mut("args") {
        own.insert("unquoted_keys", true);
    }
    parser
}

/// What stands behind the last argument of a call.
fn behind_arguments<'a>(calls: &'a CallParts<'_>) -> &'a str {
    let mut texts = [&calls.close, &*calls.section_close, &calls.separator].into_iter();
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}

/// A value with what closes it.
///
/// A value may hold elements, too: the last closer before the next key is its own. So is that of signs which a value may
/// have as well, if what stands around the next key follows.
fn closed_value(
    tagged: &SingleArguments<'_>,
    key: &Pattern,
    between: &Pattern,
    sign_behind: Pattern,
) -> Pattern {
    let close = any_of(tagged.closes.iter().map(|close| after_value(close, key)));
    let separator = SPACE + optional_separator(tagged.separator.trim());
    let open = opening(tagged);
    let is_clear = unlikely_in_prose(tagged.close());
    let next = match (tagged.close_names_key(), is_clear) {
        // In `<at><ul><li>a</li></ul></at>`, only the last closer has another key or the end behind it.
        (true, _) => {
            // No key begins as a closing tag does.
            let key = key.clone().excluding("/") + key.clone().many();
            ahead(separator + any_of([open + key + between, END]))
        }
        // What closes a value of one type may stand in one of another.
        (false, true) if tagged.closes.len() > 1 => ahead(separator + any_of([open, END])),
        // A value may speak of what closes it: behind the real one, another marker or nothing stands.
        (false, true) if may_lack_closer(tagged) => ahead(separator + any_of([sign_behind, END])),
        (false, true) => NOTHING,
        // `place="by "the" sea" zip=`: a quote within the value ends nothing.
        (false, false) => {
            let space = SPACE.when(tagged.open().starts_with(char::is_whitespace));
            let next = ignoring_space(&tagged.separator) + space + open;
            let next = next + whole_key_class(tagged).some() + between;
            ahead(either([next, SPACE + END]))
        }
    };
    let end = close + next;
    if let Some(quotes) = tagged.nested_quotes() {
        return named("value", outside_quotes(quotes)) + end;
    }
    match tagged.wrapping() {
        // What is wrapped may hold what closes an argument: `<![CDATA[</arg>]]></arg>`.
        Some((open, wrapped)) if !open.trim().is_empty() && !wrapped.trim().is_empty() => {
            let within = behind(exact(open)) + ANYTHING + ahead(exact(wrapped) + &end);
            named("value", either([within, ANYTHING])) + optional(wrapped) + end
        }
        wrapping => {
            let end = optional(wrapping.map_or("", |(_, end)| end)) + end;
            // Models leave out what closes the last value.
            let end = match may_lack_closer(tagged) {
                true => any_of([end, SPACE + END]),
                false => end,
            };
            named("value", ANYTHING) + end
        }
    }
}

/// Whether the end of all arguments shows where a value ends that nothing closes: markers stand around it, and what is read
/// of it does not depend on these.
fn may_lack_closer(tagged: &SingleArguments<'_>) -> bool {
    let is_clear = unlikely_in_prose(tagged.close()) && !tagged.close_names_key();
    let is_space = |(open, close): (&str, &str)| [open, close].concat().trim().is_empty();
    let is_plain = tagged.wrapping().is_none_or(is_space) && tagged.nested_quotes().is_none();
    is_clear && is_plain && begins_unambiguously(tagged.open())
}

/// Whether what begins an argument is hardly a part of a value, with the key in it or without.
fn next_is_clear(tagged: &SingleArguments<'_>) -> bool {
    let open = tagged.open();
    let with_key = [open, "key", tagged.first_between()].concat();
    let with_key = with_key.trim();
    let is_marker =
        markers::first_piece(with_key) == Some(with_key) && markers::is_marker(with_key);
    // In any code stands `[1]`.
    let is_clear = is_marker && open.trim() != "[" && unlikely_in_prose(with_key);
    begins_unambiguously(open) || is_clear
}

/// Whether a text begins an argument and is hardly a part of a value: a marker, the beginning of a line such as people
/// don't write, as `¶arg `, or a tab.
fn begins_unambiguously(text: &str) -> bool {
    let begins_line = text.strip_prefix('\n').is_some_and(begins_with_rare_sign);
    let is_tab = text.contains('\t') && text.trim().is_empty();
    unlikely_in_prose(text) || begins_line || is_tab
}

/// What a key consists of.
fn key_class(tagged: &SingleArguments<'_>) -> Pattern {
    let between = tagged.first_between();
    match between.chars().next() {
        // Between quotes a key may have white space in it.
        Some(quote @ ('"' | '\'')) => none_of(quote),
        // Nor is a sign that closes a value: it is that of the argument before.
        _ => {
            let close = tagged.closes.first().map(Row::first_text);
            let close = close.filter(|close| !unlikely_in_prose(close));
            let close = close.unwrap_or_default().trim_start();
            // Where the key stands in what closes its value, none begins with another marker: the
            // text `::</tr` before `::</city>` is no marker `::</tr::</city>`.
            let open = match tagged.close_names_key() {
                true => tagged
                    .open()
                    .trim_end_matches(|c| closing_bracket(c).is_none()),
                false => "",
            };
            // The keys within a value of JSON have quotes.
            let quote = if tagged.has_json_texts() { "\"" } else { "" };
            char_between(&[open], &[between, close, quote])
        }
    }
}

/// What a whole key consists of: with blanks in it where what stands behind one is clear, and no element's name.
pub(super) fn whole_key_class(tagged: &SingleArguments<'_>) -> Pattern {
    let between = tagged.first_between();
    // In `<arg due date>` the sign ends the key; in `due date: 7` the first word might end a value.
    let is_clear = between.starts_with('>') || unlikely_in_prose(between);
    let is_element = tagged.close_names_key();
    // Between quotes the class has blanks.
    let takes_blanks = between.starts_with(|c: char| c.is_whitespace() || "\"'".contains(c));
    match is_clear && !takes_blanks && !is_element {
        true => key_class(tagged).with_blanks(),
        false => key_class(tagged),
    }
}

/// What stands before a key.
fn before_key(tagged: &SingleArguments<'_>) -> Pattern {
    let open = tagged.open().trim();
    let separator = match tagged.separator.trim() {
        // It must not be taken for what opens an argument, or for a part of the key. A word may begin a key.
        separator if separator.starts_with(open) && !separator.starts_with(is_word) => separator,
        _ => "",
    };
    optional_separator(separator) + opening(tagged)
}

/// What separates two arguments, if there is anything, and white space behind it.
fn optional_separator(separator: &str) -> Pattern {
    let own = ignoring_space(separator).or_nothing() + SPACE;
    own.when(!separator.is_empty())
}

/// What opens an argument.
fn opening(tagged: &SingleArguments<'_>) -> Pattern {
    any_of(
        tagged
            .opens
            .iter()
            .map(|open| ignoring_space(open.trim_start())),
    )
}

fn arguments(pattern: Pattern, value_parser: Object) -> Object {
    let mut arguments = Object::from_iter([("tag_pattern", pattern)]);
    arguments.insert("value_parser", value_parser);
    arguments
}

/// JSON, or else a text. What stands between the quotes is a text as it is.
fn json_or_text(quotes: &[[String; 2]]) -> Object {
    let mut own = Object::from_iter([("allow_non_json", true)]);
    if !quotes.is_empty() {
        let pairs = quotes.iter().map(|pair| texts(pair));
        let pairs: Vec<Value> = pairs.map(Value::from).collect();
        own.insert("string_delims", pairs);
    }
    let mut parser = Object::from_iter([("name", "json")]);
    parser.insert("args", own);
    parser
}

/// One of several texts, of which only the middle differs.
fn variants(texts: &[Row]) -> Pattern {
    let [first, others @ ..] = texts else {
        return NOTHING;
    };
    if others.is_empty() {
        return before_value(first);
    }
    // Words are not cut.
    let start = others.iter().map(|other| same_start(first, other));
    let start = first[..start.min().unwrap_or(0)].trim_end_matches(char::is_alphanumeric);
    let rests: Vec<&str> = texts.iter().map(|text| &text[start.len()..]).collect();
    let end = rests.iter().map(|rest| same_end(rests[0], rest));
    let end = rests[0][rests[0].len() - end.min().unwrap_or(0)..]
        .trim_start_matches(char::is_alphanumeric);
    let middles: Vec<&str> = rests
        .iter()
        .map(|rest| &rest[..rest.len() - end.len()])
        .collect();
    let is_word = |text: &&str| !text.is_empty() && text.chars().all(char::is_alphanumeric);
    let is_closed = end.starts_with(|c: char| !c.is_alphanumeric());
    let middle = match is_closed && middles.iter().all(is_word) {
        // A word that names the value's type: there are more types than those that were seen.
        true => WORD,
        false => {
            // The first that matches counts.
            let mut middles = middles;
            middles.sort_by_key(|middle| std::cmp::Reverse(middle.len()));
            any_of(middles.into_iter().map(exact))
        }
    };
    ignoring_space(start) + middle + before_value(end)
}

/// The expression for white space, on one line or not.
pub(super) fn space_of(space: &str) -> Pattern {
    match space {
        "" => NOTHING,
        space if space.contains('\n') => SOME_SPACE,
        _ => one_of(" \t").some(),
    }
}

/// White space after a marker and before a value: what the format writes is not the value's.
fn before_value(text: &str) -> Pattern {
    let marker = text.trim_end();
    let space = &text[marker.len()..];
    // White space may stand between two tags, as in `</key><value>`.
    let marker = match markers::markers_or_whole(marker).as_slice() {
        [] | [_] => ignoring_space(marker),
        tags => {
            let before = SPACE.when(marker.starts_with(char::is_whitespace));
            before + joined(tags.iter().map(|tag| ignoring_space(tag)), &SPACE)
        }
    };
    marker + optional(space)
}

/// What stands after a value. White space before a marker is not the value's.
fn after_value(close: &Row, key: &Pattern) -> Pattern {
    let parts = close
        .nodes()
        .iter()
        .enumerate()
        .map(|(at, part)| match part {
            Node::Literal(text) if at == 0 => {
                let text = text.trim_end();
                let marker = text.trim_start();
                let space = &text[..text.len() - marker.len()];
                optional(space) + ignoring_space(marker)
            }
            Node::Literal(text) => ignoring_space(text.trim_end()),
            _ => key.clone().some(),
        });
    parts.collect()
}

/// A text that may be left out.
fn optional(text: &str) -> Pattern {
    exact(text).or_nothing()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;
    use crate::derive::options::DeriveOptions;
    use crate::json;

    /// The arguments of a call as its content parser takes them.
    fn tagged(call: &str, guess_types: bool) -> (String, Option<String>) {
        let findings = invented::with_calls(["", call, "", ""]);
        let options = DeriveOptions::default().guess_types(guess_types);
        let mut arguments = asked(&findings, &[], |drafter| {
            let drafter = Drafter {
                options: &options,
                ..*drafter
            };
            let calls = drafter.calls.expect("there are calls");
            let arguments = calls.single_arguments().expect("they stand by themselves");
            drafter.tagged(&arguments)
        });
        let pattern = arguments.remove("tag_pattern").expect("there is a pattern");
        let pattern = pattern.as_str().map(str::to_owned).unwrap_or_default();
        (pattern, arguments.get("value_parser").map(json::write))
    }

    #[test]
    fn an_argument_is_found_by_what_stands_around_its_key_and_its_value() {
        for (call, expected) in [
            (
                "<call=NAME>«<arg=KEY>RAW</arg>»</call>",
                r"<arg=(?P<key>[^\n>]+)>(?P<value>.*?)(?:</arg>(?=\s*(?:<|\Z))|\s*\Z)",
            ),
            // A line break that the format writes is none of the value.
            (
                "<call=NAME>«<arg=KEY>\nRAW\n</arg>»</call>",
                r"<arg=(?P<key>[^\n>]+)(?:>\n?|\n)(?P<value>.*?)(?:\n?</arg>(?=\s*(?:<|\Z))|\s*\Z)",
            ),
            (
                "<call=NAME>«<k>KEY</k><v>RAW</v>»</call>",
                r"<k>(?P<key>[^\n<]+)</k>\s*<v>(?P<value>.*?)(?:</v>(?=\s*(?:<|\Z))|\s*\Z)",
            ),
            // In `<at><ul><li>a</li></ul></at>`, only the last closer has another key or the end behind it.
            (
                "<call=NAME>«<KEY>RAW</KEY>»</call>",
                r"<(?P<key>(?!/)[^\s><]+)>(?P<value>.*?)</[^\s><]+>(?=\s*(?:<[^/\s><][^\s><]*>|\Z))",
            ),
            // Where each argument has a line, a value goes up to its end.
            (
                "<call=NAME>\n«KEY: RAW·\n»</call>",
                r"(?P<key>[^\s:]+): ?(?P<value>[^\n]*)",
            ),
            // Nothing closes a value but what the next one begins with.
            (
                "<call=NAME>«\n¶arg KEY: RAW»</call>",
                r"¶arg\s*(?P<key>[^\s:]+): ?(?P<value>.*?)(?=\n¶arg [^\s:]+: ?|\Z)",
            ),
            // What stands in the strings of a list ends nothing.
            (
                "<call=NAME>«KEY: RAW·; »</call>",
                r#";?\s*(?P<key>[^\s:]+): ?(?P<value>[\[{](?:"(?:[^"\\]|\\.)*"|[^"])*?[\]}](?=;\s*[^;\s:]+: ?|\Z)|.*?(?=;\s*[^;\s:]+: ?|\Z))"#,
            ),
            // A sign may stand in later lines, too.
            (
                "<call=NAME>«@KEY: RAW»</call>",
                r"@(?P<key>[^\s:]+): ?(?P<value>[^\n]*?)(?=@[^\s:]+: ?|\s*(?:\n|\Z))",
            ),
            // A quote within the value ends nothing.
            (
                "<call=NAME«KEY=\"RAW\"· »></call>",
                r#"(?P<key>[^\s="]+)="(?P<value>.*?)"(?=\s*[^\s="]+="|\s*\Z)"#,
            ),
        ] {
            let (pattern, parser) = tagged(call, false);
            assert_eq!(pattern, expected, "{call}");
            // `75001` may be a text.
            assert_eq!(parser, None, "{call}");
        }
    }

    #[test]
    fn values_are_json_where_they_are_to_be_guessed_or_say_it_themselves() {
        let guessed = r#"{"name":"json","args":{"allow_non_json":true}}"#;
        for (call, guess_types, expected) in [
            ("<c=NAME>«<k=KEY>RAW</k>»</c>", false, None),
            ("<c=NAME>«<k=KEY>RAW</k>»</c>", true, Some(guessed)),
            ("<c=NAME>«<k=KEY>JSON</k>»</c>", false, Some(guessed)),
            ("<c=NAME>«<k=KEY>VALUE</k>»</c>", false, None),
            // Only the quotes tell where texts end.
            (
                "<c=NAME>«--KEY QUOTED· »</c>",
                false,
                Some(
                    r#"{"name":"json","args":{"allow_non_json":true,"string_delims":[["'","'"]]}}"#,
                ),
            ),
        ] {
            let (_, parser) = tagged(call, guess_types);
            assert_eq!(parser.as_deref(), expected, "{call}");
        }
    }

    #[test]
    fn no_key_is_one_within_a_value_of_json() {
        for (call, key) in [
            ("<c=NAME>«KEY: JSON·, »</c>", r#"(?P<key>[^\s:"]+):"#),
            ("<c=NAME>«KEY: RAW·, »</c>", r"(?P<key>[^\s:]+):"),
        ] {
            let (pattern, _) = tagged(call, false);
            assert!(pattern.contains(key), "{pattern}");
        }
    }

    #[test]
    fn texts_of_python_are_captured_with_their_quotes() {
        for (call, quotes) in [
            (
                "NAME(«KEY=QUOTED·, »)",
                Some(r#"[["='","',"],["='","')"],["='","'"]]"#),
            ),
            // A list has single quotes in it, too.
            (
                "NAME(«KEY=PYTHON·, »)",
                Some(r#"[["='","',"],["='","')"],["='","'"],["=\"","\""],["'","'"]]"#),
            ),
            // Texts that are JSON have no other quotes.
            ("NAME(«KEY=JSON·, »)", None),
        ] {
            let findings = invented::with_calls(["[", call, ", ", "]"]);
            let arguments = asked(&findings, &[], |drafter| {
                let calls = drafter.calls.expect("there are calls");
                let arguments = calls.single_arguments().expect("they stand by themselves");
                drafter.python(calls, &arguments)
            });
            let arguments = Value::from(arguments);
            let found = arguments.pointer("/value_parser/args/string_delims");
            assert_eq!(found.map(json::write).as_deref(), quotes, "{call}");
        }
    }

    #[test]
    fn only_what_a_value_hardly_holds_begins_an_argument() {
        for (argument, is_clear) in [
            ("<arg=KEY>RAW", true),
            ("<|KEY|>RAW", true),
            ("\n¶arg KEY RAW", true),
            ("\n@KEY RAW", true),
            ("\tKEY RAW", true),
            ("@KEY RAW", false),
            ("\n- KEY: RAW", false),
            ("--KEY RAW", false),
            ("\nKEY RAW", false),
            ("[KEY] RAW", false),
        ] {
            let call = format!("<call=NAME>«{argument}»</call>");
            let findings = invented::with_calls(["", &call, "", ""]);
            let calls = findings.call_parts().expect("there are calls");
            let arguments = calls.single_arguments().expect("they stand by themselves");
            assert_eq!(next_is_clear(&arguments), is_clear, "{argument:?}");
        }
    }

    #[test]
    fn texts_around_values_are_told_from_these() {
        for (text, before, after) in [
            ("=", "=", "="),
            (">\n", r">\n?", ">"),
            ("</k><v>", r"</k>\s*<v>", "</k><v>"),
            ("\n</arg>\n", r"\s*</arg>\n?", r"\n?</arg>"),
            (" = ", r"\s*= ?", " ?="),
        ] {
            assert_eq!(before_value(text), before, "{text:?}");
            assert_eq!(
                after_value(&text.into(), &no_space_nor(">")),
                after,
                "{text:?}"
            );
        }
        let element = Row::of(Node::row("</KEY>\n").parts());
        assert_eq!(after_value(&element, &no_space_nor(">")), r"</[^\s>]+>");
    }

    #[test]
    fn of_several_texts_only_the_middle_differs() {
        for (texts, expected) in [
            (vec![], ""),
            (vec![">\n"], r">\n?"),
            // There are more types than those that were seen.
            (
                vec![" type=\"str\">", " type=\"num\">"],
                r#"\s*type="\w+">"#,
            ),
            // Words are not cut.
            (
                vec![" type=\"str\">", " type=\"seq\">"],
                r#"\s*type="\w+">"#,
            ),
            (vec![": '", ": "], r":\s*(?:'|)"),
        ] {
            let texts: Vec<Row> = texts.into_iter().map(Row::from).collect();
            assert_eq!(variants(&texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn what_may_be_missing_is_one_sign_or_a_group() {
        for (text, expected) in [("", ""), ("\n", r"\n?"), (".", r"\.?"), ("<a>", "(?:<a>)?")] {
            assert_eq!(optional(text), expected, "{text:?}");
        }
    }
}
