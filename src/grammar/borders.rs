//! What begins and ends calls and turns: in an argument, what reads the turn would take it for that.

use indexmap::IndexMap;

use crate::format::{ArgumentView, CallView, Entry, Format, Node, Slot};
use crate::markers;
use crate::markers::lexicon::unmarked;

use super::automaton;
use super::builder::class;
use super::call::text_behind;
use super::expr::{CharClass, Expr};
use super::remainder;

/// What has begun so many characters before a text is looked for.
const MAX_BEGUN: usize = 100;

/// What can't stand in arguments.
pub(super) fn around_calls(format: &Format, calls: &Node) -> Vec<Expr> {
    let mut all = texts_around_calls(format, calls);
    // A marker that consists of several parts is one: what reads the calls may go by each of them.
    let marked = format.marked();
    if let Some(calls) = &marked.calls {
        let texts = texts_around_calls(&marked, calls).into_iter();
        all.extend(texts.map(|text| unmarked(&text)));
    }
    markers::dedup(&mut all);
    let all = all.into_iter().map(Expr::from);
    all.chain(unclear_ends(calls)).collect()
}

fn texts_around_calls(format: &Format, calls: &Node) -> Vec<String> {
    let call = CallView::of(calls);
    let mut all = call.as_ref().map(closers).unwrap_or_default();
    let behind_arguments = call.map(|call| text_behind(call.close, None));
    let behind_arguments = behind_arguments.unwrap_or_default();
    for text in opening_texts(calls) {
        // Each marker before the last may be missing, so what reads calls goes by any of them.
        let (lead, rest) = markers::split_last_marker(&text);
        let parts = [text.as_str(), lead, rest, from_last(&text)];
        all.extend(parts.into_iter().flat_map(unlikely_parts));
    }
    // What a tool's answer begins with ends a turn that nothing else has ended.
    all.extend(format.answer_marker.clone());
    let mut closings = Vec::new();
    for way in &format.ways {
        all.extend(turn_ends(way.end.parts()));
        let nodes = way.node.parts();
        let place = |node: Node| nodes.iter().position(|one| *one == node);
        // What ends an answer may end a turn as well. Where nothing has opened a thought, what closes one anywhere shows
        // that there is one.
        let first = nodes
            .iter()
            .position(|node| !matches!(node, Node::Space(_)));
        let thought = place(Node::Slot(Slot::Reasoning)).filter(|at| Some(*at) == first);
        let texts = place(Node::Slot(Slot::Content)).into_iter().chain(thought);
        for at in texts {
            let is_string =
                matches!(&nodes[at], Node::Slot(slot) if format.json_strings.contains(slot));
            // Behind a backslash, the quote that ends a string may stand in one, and a marker behind that.
            let shows = |end: &String| {
                !is_string || end.starts_with('"') && markers::markers(end).next().is_some()
            };
            for end in turn_ends(&nodes[at + 1..]).filter(shows) {
                all.extend(is_string.then(|| format!("\\{end}")));
                all.push(end);
            }
        }
        let Some(at) = place(Node::Calls) else {
            continue;
        };
        // What ends the turn may be missing.
        closings.push(behind_arguments.clone() + &text_behind(&nodes[at + 1..], None));
        let before = nodes[..at].iter().rev().take_while(|node| node.is_text());
        let behind = nodes[at + 1..].iter().take_while(|node| node.is_text());
        for node in before.chain(behind.clone()) {
            if let Node::Literal(text) = node {
                all.extend(unlikely_parts(text));
            }
        }
        // Of `][/CALLS]`, what reads the calls may go by the marker alone.
        for node in behind {
            if let Node::Literal(text) = node {
                let marked = markers::markers(text).filter(|one| markers::unlikely_in_prose(one));
                all.extend(marked.map(str::to_owned));
            }
        }
    }
    // Without a clear marker, all of it together closes a call, if it is more than a sign.
    let closings = closings.iter().map(|text| text.trim());
    let unclear =
        closings.filter(|text| unlikely_parts(text).is_empty() && text.chars().count() > 1);
    all.extend(unclear.map(str::to_owned));
    // What stands around arguments as well shows nothing.
    let within = texts_of_arguments(calls);
    all.retain(|text| !within.iter().any(|within| within.contains(text.as_str())));
    all
}

/// The texts that stand around arguments, each of which has its own.
fn texts_of_arguments(calls: &Node) -> Vec<&str> {
    let mut texts = Vec::new();
    calls.visit(&mut |node| {
        if let Node::Argument(ways) = node {
            ways.visit(&mut |node| texts.extend(node.as_literal()));
        }
    });
    texts
}

/// A text from its last marker on: what reads it may do without those before.
pub(super) fn from_last(text: &str) -> &str {
    markers::from_last_marker(text).unwrap_or(text)
}

/// What ends a turn, and the first marker of it, unless they are signs that may stand anywhere.
fn turn_ends(end: &[Node]) -> impl Iterator<Item = String> {
    let text = end.iter().find_map(Node::as_literal).map(str::trim);
    let last = text.map(from_last);
    // What stands before the last marker may end a turn that goes on without that.
    let before = text.and_then(|text| text.strip_suffix(from_last(text)));
    let before = before
        .map(str::trim)
        .filter(|text| markers::unlikely_in_prose(text));
    let all = text.into_iter().chain(last).chain(before);
    let all = all.map(str::to_owned);
    let all = all.chain(first_marker(end));
    // One sign may stand anywhere, but for those that nobody types.
    all.filter(|text| text.chars().count() > 1 || markers::unlikely_in_prose(text))
}

/// What shows within an argument that it or its call ends, or that another one begins, although none of it is clear by
/// itself.
fn unclear_ends(calls: &Node) -> Vec<Expr> {
    let call = each_call(calls);
    let arguments = call.and_then(|call| between_arguments(call.body));
    let ends = unclear_ends_of_calls(calls).into_iter();
    arguments.into_iter().chain(ends).collect()
}

/// The same of calls alone.
fn unclear_ends_of_calls(calls: &Node) -> Vec<Expr> {
    let Some(call) = each_call(calls) else {
        return Vec::new();
    };
    let close = text_behind(call.close, None);
    let close = close.trim();
    // A close that is clear is kept out as a text, and needs no pattern.
    match unlikely_parts(close).is_empty() {
        true => {
            let ends = behind_bracket(close).into_iter();
            ends.chain(between_calls(&call, close)).collect()
        }
        false => Vec::new(),
    }
}

/// What closes a call, behind the bracket that ends JSON: `}#` where `#` closes calls.
fn behind_bracket(close: &str) -> Option<Expr> {
    // `}}` and `},` are JSON's own within arguments.
    let could_be_json = |c| "{}[]()\"',:".contains(c);
    let is_sign = !close.is_empty() && !close.starts_with(could_be_json);
    let bracket = class(CharClass::of("}]".chars()));
    is_sign.then(|| Expr::sequence([bracket, Expr::Space, ignoring_space(close)]))
}

/// What closes a call, separates it from the next one and opens that: in `[one(), two()]` a bracket, a comma, a name and
/// another bracket.
fn between_calls(call: &CallView<'_>, close: &str) -> Option<Expr> {
    let separator = text_behind(call.separator, None);
    let is_closed = !close.is_empty();
    let close = match close {
        // What ends arguments stands there then, or an object that is the call.
        "" => class(CharClass::of("}])".chars())),
        close => ignoring_space(close),
    };
    // A separator that is clear is kept out by itself.
    let is_clear = !unlikely_parts(&separator).is_empty();
    let before = Expr::sequence([close, ignoring_space(&separator), Expr::Space]);
    // `see (a), (b)` may stand in a string; what reads the calls takes `see (a), any(` for the next one.
    let head = unclear_head(call, &before, is_closed).filter(|_| !is_clear)?;
    Some(Expr::sequence([before, head]))
}

/// What shows where no marker does that calls begin or end: what stands before the first of them or between two.
pub(super) fn unclear_calls(format: &Format, calls: &Node) -> Vec<Expr> {
    let mut all = unclear_ends_of_calls(calls);
    let Some(call) = &each_call(calls) else {
        return all;
    };
    all.extend(object_head(call));
    for way in &format.ways {
        let nodes = way.node.parts();
        let at = nodes.iter().position(|node| *node == Node::Calls);
        let before = &nodes[..at.unwrap_or(0)];
        let count = before
            .iter()
            .rev()
            .take_while(|node| node.is_text())
            .count();
        let text = text_behind(&before[before.len() - count..], None);
        let pieces: Vec<&str> = markers::pieces(&text).collect();
        let marker = pieces.iter().rposition(|piece| markers::is_marker(piece));
        // What reads the calls may do without the marker.
        let text = pieces[marker.map_or(0, |at| at + 1)..].concat();
        let text = text.trim();
        if !text.is_empty() && unlikely_parts(text).is_empty() {
            let before = Expr::sequence([ignoring_space(text), Expr::Space]);
            all.extend(
                unclear_head(call, &before, false).map(|head| Expr::sequence([before, head])),
            );
        }
    }
    all
}

/// What stands around each call; nothing does where one array holds all of them.
fn each_call(calls: &Node) -> Option<CallView<'_>> {
    CallView::of(calls).filter(|call| !matches!(call.body, Node::Array(_)))
}

/// What begins a call that is an object where white space is all that stands between two of them: what reads the calls
/// may do without it.
fn object_head(call: &CallView<'_>) -> Option<Expr> {
    let separator = text_behind(call.separator, None);
    // Behind calls, `So{"do": "read"` in an answer would be read as another call.
    let is_white = !separator.is_empty() && separator.trim().is_empty();
    let key = first_key(call.open.first().unwrap_or(call.body)).filter(|_| is_white)?;
    Some(Expr::sequence(["{".into(), Expr::Space, key]))
}

/// What a call begins with behind something, unless a part of it is clear by itself, or there is nothing.
fn unclear_head(call: &CallView<'_>, before: &Expr, is_closed: bool) -> Option<Expr> {
    let head = call.open;
    let mut texts = head.iter().filter_map(Node::as_literal);
    if texts.any(|text| !unlikely_parts(text).is_empty()) {
        return None;
    }
    // A name does not hold the sign that it all begins with, which would have to be looked for from each such sign.
    let first = before.first_literal().and_then(|text| text.chars().next());
    let first = first.filter(|c| !c.is_alphanumeric());
    let row = |behind| any_of_row(head, behind, first);
    match call.body {
        node @ Node::Object(..) => {
            // Any object begins with `{`: only its first key tells a call.
            let key = first_key(node)?;
            Some(Expr::sequence([row("{"), "{".into(), Expr::Space, key]))
        }
        _ if head.is_empty() => None,
        // Where a text closes calls, what reads them sees to it that arguments follow.
        Node::Arguments(_) if is_closed => {
            Some(Expr::sequence([row("{"), Expr::Space, "{".into()]))
        }
        // Behind a sign, what reads the calls takes more than words for a name.
        Node::Arguments(_) => Some(match last_sign(head) {
            Some(sign) => {
                let begin = any_of_row(&head[..head.len() - 1], "", first);
                let letter = class(!CharClass::of(" \t\r\n{".chars().chain([sign])));
                Expr::sequence([begin, letter])
            }
            None => row(""),
        }),
        _ => Some(row("")),
    }
}

/// The sign right before the slot that ends a head.
fn last_sign(head: &[Node]) -> Option<char> {
    let (Node::Slot(_), before) = head.split_last()? else {
        return None;
    };
    let sign = before.last()?.as_literal()?.chars().last();
    sign.filter(|c| !c.is_alphanumeric() && !c.is_whitespace())
}

/// What calls begin with, up to their arguments, where it begins with a text.
pub(super) fn literal_head(calls: &Node) -> Option<Expr> {
    let CallView { open, body, .. } = each_call(calls)?;
    let row = match body {
        Node::Arguments(_) => {
            Expr::sequence([any_of_row(open, "{", None), Expr::Space, "{".into()])
        }
        _ => any_of_row(open, "", None),
    };
    // Where a call begins with its name, `named_head` knows what it begins with.
    open.first()?.as_literal().map(|_| row)
}

/// What is left of these where a text has begun them: behind `[`, `x]` of `[x]`.
pub(super) fn begun(others: &[Expr], before: &str) -> Vec<Expr> {
    let rules = IndexMap::new();
    let places = before.char_indices().rev().take(MAX_BEGUN);
    let places = places.filter(|(_, first)| !first.is_whitespace());
    let places: Vec<(usize, char)> = places.collect();
    let mut all = Vec::new();
    for other in others {
        // Few of them begin with one of these signs, and what is left of a pattern is dear to find out.
        let firsts = automaton::first_characters(std::slice::from_ref(other));
        for (at, _) in places.iter().filter(|(_, first)| firsts.contains(*first)) {
            let left = remainder::behind(other, &before[*at..], &rules);
            // Not to begin with what may be nothing would refuse every text.
            if !left.is_never() && !remainder::is_nullable(&left, &rules) {
                all.push(left);
            }
        }
    }
    all
}

/// Sees to it that what comes next does not begin with any of these.
pub(super) fn none_of(heads: Vec<Expr>) -> Expr {
    match heads.is_empty() {
        true => Expr::Empty,
        false => Expr::Negate(Box::new(Expr::choice(heads))),
    }
}

/// What a text that is no call does not begin with, where nothing opens a call but its name: a name, and what shows behind
/// it that arguments follow, as in `add⏎{`.
pub(super) fn named_head(calls: &Node) -> Option<Expr> {
    let call = each_call(calls)?;
    let (name, rest) = call.open.split_first()?;
    let count = rest.iter().take_while(|node| node.is_text()).count();
    let text = text_behind(&rest[..count], None);
    let sign = text.trim().chars().next();
    let behind = match (rest.get(count).unwrap_or(call.body), sign) {
        (Node::Arguments(_), _) => "{",
        // A name with nothing but white space behind it is a word.
        (_, None) => return None,
        _ => "",
    };
    // No such sign is in a name, for what reads the calls either.
    let signs: Vec<char> = match sign {
        Some(sign) => "\"'()]}".chars().chain([sign]).collect(),
        None => vec!['{', '<'],
    };
    let letters = class(!CharClass::of(" \t\r\n".chars().chain(signs))).repeat(1, None);
    let head = [Expr::Space, letters, ignoring_space(&text), behind.into()];
    (*name == Node::Slot(Slot::Name)).then(|| Expr::sequence(head))
}

/// What a text behind a header does not begin with, since a call that is opened by its name would begin with that header and
/// be longer than it: behind `all⏎`, more white space and a bracket, where `all` may be a name as well.
pub(super) fn longer_head(named_head: &Expr, header: &str) -> Option<Expr> {
    let left = remainder::behind(named_head, header.trim_start(), &IndexMap::new());
    let is_line = header.ends_with(char::is_whitespace) && !left.is_never();
    let white = class(CharClass::of(" \t\r\n".chars()));
    is_line.then(|| Expr::sequence([white, left]))
}

/// What calls begin with where but a sign and a name open them, as in `@add{`.
pub(super) fn signed_head(calls: &Node) -> Option<Expr> {
    let call = each_call(calls)?;
    // `mail me @home, or {not}` may be said, and `@home {}` is read as a call.
    call.open.first()?.as_literal()?;
    unclear_head(&call, &Expr::Empty, true)
}

/// The first key of an object, as it is written.
fn first_key(node: &Node) -> Option<Expr> {
    let Node::Object(entries, dialect) = node else {
        return None;
    };
    let key = entries.first()?.key.as_str();
    Some(match dialect.unquoted_keys {
        true => key.into(),
        false => format!("\"{key}\"").into(),
    })
}

/// What closes an argument of any key and begins the next one, such as `</one><t`, where no marker closes them all.
fn between_arguments(node: &Node) -> Option<Expr> {
    let (Node::Repetition(repetition), [way]) = (node, node.argument_ways()?) else {
        return None;
    };
    let argument = ArgumentView::of(way)?;
    let text = text_behind(argument.close, None);
    if text.trim().is_empty() || !unlikely_parts(&text).is_empty() {
        return None;
    }
    // A key shows that another argument begins by what stands before it, or else behind it.
    let is_bare = text_behind(argument.open, None).trim().is_empty();
    let behind_key = if is_bare { argument.between.len() } else { 0 };
    let head = &way.parts()[..argument.open.len() + 1 + behind_key];
    let separator = text_behind(std::slice::from_ref(&repetition.separator), None);
    // What reads the arguments may do without the separator.
    Some(Expr::sequence([
        any_of_row(argument.close, "", None),
        ignoring_space(&separator).optional(),
        Expr::Space,
        any_of_row(head, "", None),
    ]))
}

/// Any text that a row of texts and slots may be, with this text behind it. Of a slot with nothing known behind it, the first letter
/// is enough.
fn any_of_row(nodes: &[Node], behind: &str, not_in_names: Option<char>) -> Expr {
    Expr::sequence(nodes.iter().enumerate().map(|(at, node)| match node {
        Node::Literal(text) | Node::Space(text) => ignoring_space(text),
        _ if at + 1 == nodes.len() && behind.is_empty() => class(word()),
        _ => {
            let sign = |at: usize| nodes.get(at).and_then(Node::as_literal);
            let next = sign(at + 1).or(Some(behind));
            let next = next.and_then(|text| text.trim().chars().next());
            let before = at.checked_sub(1).and_then(sign);
            let before = before.and_then(|text| text.trim().chars().last());
            let ends = " \t\r\n\"'()]}".chars().chain(next).chain(before);
            class(!CharClass::of(ends.chain(not_in_names))).repeat(1, None)
        }
    }))
}

/// The letters of which words consist.
fn word() -> CharClass {
    let letters = CharClass::ranges([('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_')]);
    letters.or(&CharClass::ranges([('\u{80}', char::MAX)]))
}

/// A text with any white space where it has some.
fn ignoring_space(text: &str) -> Expr {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(char::is_whitespace) {
        all.push(Expr::literal(&rest[..at]));
        all.push(Expr::Space);
        rest = rest[at..].trim_start();
    }
    all.push(Expr::literal(rest));
    Expr::sequence(all)
}

/// The first marker of a row of nodes that begins with a literal. Where that begins with words or signs, such as
/// those of `/think`, they are one together: each by itself may stand in any text.
pub(super) fn first_marker(nodes: &[Node]) -> Option<String> {
    let first = nodes.iter().find(|node| !matches!(node, Node::Space(_)))?;
    let text = first.as_literal()?;
    let pieces: Vec<&str> = markers::pieces(text).collect();
    let words = pieces.iter().take_while(|piece| !markers::is_marker(piece));
    let count = words.count();
    match pieces[..count].concat() {
        words if markers::unlikely_in_prose(&words) || count == pieces.len() => Some(words),
        // A sign alone says nothing.
        _ => Some(pieces[..=count].concat()),
    }
}

/// What ends calls, if it is clear that it does.
fn closers(call: &CallView<'_>) -> Vec<String> {
    let behind = call.close.iter().filter_map(Node::as_literal);
    let behind = behind.flat_map(|text| {
        // Of `</args></call>`, the first marker alone may close the call.
        let first = unlikely_parts(markers::split_close(text).0);
        [unlikely_parts(text), first].concat()
    });
    let between = call.separator.iter().filter_map(Node::as_literal);
    let between = between.flat_map(|text| {
        // Each of its markers shows that another call begins.
        let markers = markers::markers(text).map(str::to_owned);
        unlikely_parts(text).into_iter().chain(markers)
    });
    behind.chain(between).collect()
}

/// The markers of a text that has nothing else, or the text as one, unless it could as well be prose or JSON.
fn unlikely_parts(text: &str) -> Vec<String> {
    let parts = markers::markers_or_whole(text).into_iter();
    parts
        .filter(|part| markers::unlikely_in_prose(part))
        .map(str::to_owned)
        .collect()
}

/// What shows that a call begins, if it is clear: each of its markers, since those before it may be missing.
pub(super) fn unlikely_openers(node: &Node) -> Vec<String> {
    let mut all = Vec::new();
    for text in opening_texts(node) {
        all.extend(unlikely_parts(markers::split_last_marker(&text).1));
        all.extend(markers::markers(&text).map(str::to_owned));
    }
    all
}

/// The texts with which a call begins before anything varies.
fn opening_texts(calls: &Node) -> Vec<String> {
    let open = CallView::of(calls).map_or(&[][..], |call| call.open);
    let texts = open.iter().take_while(|node| node.is_text());
    let texts = texts.filter_map(Node::as_literal).map(str::to_owned);
    opener(calls).into_iter().chain(texts).collect()
}

/// The text that a node begins with before anything varies; nothing if it varies from the start.
pub(super) fn opener(node: &Node) -> Option<String> {
    match node {
        Node::Literal(text) => Some(text.clone()),
        Node::Sequence(nodes) => {
            let mut nodes = nodes.iter();
            let first = nodes.find(|node| !matches!(node, Node::Space(_)))?;
            let text = opener(first)?;
            // A sign by itself tells too little.
            match (text.chars().count(), nodes.next()) {
                (1, Some(Node::Literal(more))) => Some(text + more),
                _ => Some(text),
            }
        }
        Node::Call(inner) | Node::Argument(inner) => opener(inner.usual()),
        Node::Repetition(repetition) => opener(&repetition.item),
        Node::Array(repetition) => Some(format!("[{}", opener(&repetition.item)?)),
        Node::Object(entries, dialect) => {
            // A brace opens any object, so the first key belongs to what opens this one.
            let Entry { key, .. } = entries.first()?;
            Some(match dialect.unquoted_keys {
                true => format!("{{{key}"),
                false => format!("{{\"{key}\""),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::takes;
    use super::*;

    const PYTHON: &str = "NAME(«KEY=QUOTED·, »)";

    fn row(text: &str) -> Vec<Node> {
        Node::row(text).parts().to_vec()
    }

    #[test]
    fn what_reads_a_turn_may_do_without_markers_before_the_last() {
        for (text, expected) in [
            ("<a><b>", "<b>"),
            ("<a>\n<b>so", "<b>so"),
            ("so <a>", "<a>"),
            ("so", "so"),
            ("", ""),
        ] {
            assert_eq!(from_last(text), expected, "{text:?}");
        }
    }

    #[test]
    fn turns_end_at_their_markers_and_at_no_mere_sign() {
        for (end, expected) in [
            ("<end>", vec!["<end>", "<end>"]),
            ("</say>\n<end>", vec!["</say>", "</say>", "</say>"]),
            (
                "</say><end>",
                vec!["</say><end>", "<end>", "</say>", "</say>"],
            ),
            ("END", vec!["END", "END", "END"]),
            ("#", vec![]),
        ] {
            let found: Vec<String> = turn_ends(&row(end)).collect();
            let mut found = found;
            let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            markers::dedup(&mut found);
            markers::dedup(&mut expected);
            assert_eq!(found, expected, "{end:?}");
        }
    }

    #[test]
    fn words_are_one_with_the_marker_behind_them_if_they_say_little() {
        for (text, expected) in [
            ("<a><b>", Some("<a>")),
            // Each by itself may stand in any text.
            ("/think", Some("/think")),
            ("So <a>", Some("So <a>")),
            ("Final Answer: <a>", Some("Final Answer: ")),
            ("\n<a>", Some("<a>")),
            ("CONTENT<a>", None),
            ("", None),
        ] {
            assert_eq!(first_marker(&row(text)).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_call_begins_with_what_tells_it_from_any_text() {
        for (call, expected, openers) in [
            ("<call>NAMEARGUMENTS</call>", Some("<call>"), vec!["<call>"]),
            (
                "\n<do><with>NAMEARGUMENTS",
                Some("<do><with>"),
                vec!["<with>", "<do>"],
            ),
            // A brace opens any object.
            ("OBJECT", Some("{\"name\""), vec![]),
            ("LIST", Some("[{\"name\""), vec![]),
            ("NAME: ARGUMENTS", None, vec![]),
            (PYTHON, None, vec![]),
            ("call NAME ARGUMENTS", Some("call"), vec!["call"]),
        ] {
            let calls = Node::calls(call, "");
            assert_eq!(opener(&calls).as_deref(), expected, "{call}");
            let mut found = unlikely_openers(&calls);
            markers::dedup(&mut found);
            assert_eq!(found, openers, "{call}");
        }
    }

    #[test]
    fn calls_end_at_their_own_markers_and_at_those_between_them() {
        for (call, separator, expected) in [
            ("<call>NAMEARGUMENTS</call>", "", vec!["</call>"]),
            // The first marker alone may close the call.
            (
                "<call>NAMEARGUMENTS\n</args></call>",
                "",
                vec!["</args>", "</call>"],
            ),
            (
                "<call>NAMEARGUMENTS</call>",
                "<sep>",
                vec!["</call>", "<sep>"],
            ),
            ("<call>NAMEARGUMENTS}", ", ", vec![]),
            ("<c=NAME>«<k=KEY>RAW</k>»</c>", "", vec!["</c>"]),
            (PYTHON, ", ", vec![]),
        ] {
            let calls = Node::calls(call, separator);
            let mut found = closers(&CallView::of(&calls).expect("it has a body"));
            markers::dedup(&mut found);
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn patterns_show_where_no_marker_does_that_a_call_ends() {
        for (call, separator, kept_out, may_stand) in [
            // `#` closes calls behind the bracket that ends their JSON.
            (
                "<call>NAMEARGUMENTS#",
                "",
                vec!["}#", "] \n#"],
                vec!["#", "} -#", "a#"],
            ),
            (
                PYTHON,
                ", ",
                vec!["), knock(", "),\nk("],
                vec!["), (", "knock("],
            ),
            ("<call>NAMEARGUMENTS}", "", vec![], vec!["}", "}}"]),
            // A close that is clear is kept out as a text.
            ("<call>NAMEARGUMENTS</call>", "", vec![], vec!["}</call>"]),
        ] {
            let patterns = unclear_ends_of_calls(&Node::calls(call, separator));
            let is_found = |text: &str| automaton::stands_in(text, &patterns) == Some(true);
            for text in kept_out {
                assert!(is_found(text), "{text:?} in {call}");
            }
            for text in may_stand {
                assert!(!is_found(text), "{text:?} in {call}");
            }
        }
    }

    #[test]
    fn arguments_end_where_another_one_begins() {
        for (arguments, kept_out, may_stand) in [
            (
                "«<KEY>RAW::/»",
                vec!["::/<at", "::/ <to>"],
                vec!["::/", "<at>", "::/< at"],
            ),
            ("«KEY=RAW;»", vec![";at=", "; to="], vec![";", "at="]),
            // A marker closes all of these.
            ("«<k=KEY>RAW</k>»", vec![], vec!["</k><k=a>"]),
        ] {
            let pattern = between_arguments(&Node::row(arguments));
            let patterns: Vec<Expr> = pattern.into_iter().collect();
            let is_found = |text: &str| automaton::stands_in(text, &patterns) == Some(true);
            for text in kept_out {
                assert!(is_found(text), "{text:?} in {arguments}");
            }
            for text in may_stand {
                assert!(!is_found(text), "{text:?} in {arguments}");
            }
        }
    }

    #[test]
    fn heads_tell_calls_from_texts_that_begin_as_they_do() {
        let head = |call: &str, find: fn(&Node) -> Option<Expr>| find(&Node::calls(call, ""));
        for (call, find, fits, fails) in [
            // A name, and what shows behind it that arguments follow.
            (
                "NAME\nARGUMENTS",
                named_head as fn(&Node) -> Option<Expr>,
                vec!["read{", "read \n{"],
                vec!["read", "{", "so it is{"],
            ),
            (
                PYTHON,
                named_head,
                vec!["read("],
                vec!["read", "(", "say \"("],
            ),
            (
                "@NAMEARGUMENTS",
                signed_head,
                vec!["@read{", "@read {"],
                vec!["@read", "@ {"],
            ),
            (
                "<c>NAME: ARGUMENTS",
                literal_head,
                vec!["<c>read: {"],
                vec!["<c>read", "read: {"],
            ),
        ] {
            let head = head(call, find).expect(call);
            for text in fits {
                assert!(takes(&head, text), "{text:?} of {call}");
            }
            for text in fails {
                assert!(!takes(&head, text), "{text:?} of {call}");
            }
        }
        for (call, find) in [
            (
                "<call>NAMEARGUMENTS",
                named_head as fn(&Node) -> Option<Expr>,
            ),
            // A name with nothing but white space behind it is a word.
            ("NAME\n«KEY=RAW·\n»", named_head),
            ("NAMEARGUMENTS", signed_head),
            ("<call>NAMEARGUMENTS", signed_head),
            (PYTHON, literal_head),
        ] {
            assert_eq!(head(call, find), None, "{call}");
        }
    }

    #[test]
    fn what_a_text_has_begun_goes_on_behind_it() {
        let others = || vec!["[x]".into(), "<a>".into()];
        for (before, expected) in [
            ("so [", vec!["x]"]),
            ("[x", vec!["]"]),
            // White space begins nothing.
            ("[x] ", vec![]),
            ("so", vec![]),
            ("<[", vec!["x]"]),
        ] {
            let found = begun(&others(), before);
            let expected: Vec<Expr> = expected.into_iter().map(Expr::from).collect();
            assert_eq!(found, expected, "{before:?}");
        }
        assert_eq!(none_of(Vec::new()), Expr::Empty);
        assert!(matches!(none_of(others()), Expr::Negate(_)));
    }

    #[test]
    fn a_header_may_be_a_name_that_opens_a_call() {
        let head = named_head(&Node::calls("NAME\nARGUMENTS", "")).expect("a name opens it");
        for (header, is_longer) in [("all\n", true), ("all", false), ("<all>\n", false)] {
            let found = longer_head(&head, header);
            let is_open = found.is_some_and(|longer| takes(&longer, "\n{"));
            assert_eq!(is_open, is_longer, "{header:?}");
        }
    }

    #[test]
    fn only_white_space_stands_between_some_objects() {
        for (call, separator, expected) in [
            ("OBJECT", "\n", true),
            // Something else tells where the next one begins.
            ("OBJECT", ", ", false),
            ("OBJECT", "", false),
            ("<call>OBJECT</call>", "\n", false),
        ] {
            let calls = Node::calls(call, separator);
            let found = object_head(&CallView::of(&calls).expect("it has a body"));
            assert_eq!(found.is_some(), expected, "{separator:?}");
            if let Some(head) = found {
                assert!(takes(&head, "{ \"name\"") && !takes(&head, "{\"at\""));
            }
        }
    }

    #[test]
    fn texts_around_arguments_show_nothing() {
        let call = Node::calls("<c=NAME>«<k=KEY>RAW</c>»</c>", "");
        assert_eq!(texts_of_arguments(&call), ["<k=", ">", "</c>"]);
    }
}
