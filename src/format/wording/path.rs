//! The way through definitions in words, from piece to piece.
//!
//! Entries that begin alike share what they begin with, so that no choice is made before the text shows it. A slot ends
//! at the nearest place from where the rest can be read. What follows at a place does not depend on what came
//! before, so none is tried twice.

use std::collections::{HashMap, HashSet};

use crate::format::Dialect;
use crate::value::Value;

use super::{Wording, WordingList, WordingPiece, WordingSlot};

/// So many steps may be taken for each byte of the text, and so many at any rate.
const STEPS_EACH: usize = 200;
const STEPS_FREE: usize = 20_000;

/// What stands on the way.
#[derive(Debug)]
pub(super) enum Event<'w> {
    /// A list begins, and the first of its members.
    Begins(&'w WordingList),
    Slot(WordingSlot, String),
    Json(&'w [String], Value),
    /// A member of one of these kinds ends, and with it the list if `is_last`.
    Ends {
        kinds: &'w [usize],
        is_last: bool,
    },
}

#[derive(Debug)]
enum Node<'w> {
    Text(&'w str, usize),
    Slot(WordingSlot, usize),
    Json(&'w [String], usize),
    /// A list, and where to go on behind it.
    List(usize, usize),
    Choice(Vec<usize>),
    /// A member ends.
    Ends {
        list: usize,
        kinds: &'w [usize],
        is_last: bool,
    },
    End,
}

/// A wording with all ways through it.
pub(super) struct Graph<'w> {
    wording: &'w Wording,
    nodes: Vec<Node<'w>>,
    /// For each list, where its first member begins, and where others do.
    lists: Vec<(usize, usize)>,
    root: usize,
}

/// What a member of a list is made of, with its end.
type MemberPieces<'w> = (Vec<WordingPieceRef<'w>>, &'w [usize], bool);

#[derive(Debug, Clone, Copy, PartialEq)]
enum WordingPieceRef<'w> {
    Text(&'w str),
    Piece(&'w WordingPiece),
}

impl<'w> Graph<'w> {
    pub(super) fn of(wording: &'w Wording) -> Graph<'w> {
        let mut graph = Graph {
            wording,
            nodes: vec![Node::End],
            lists: Vec::new(),
            root: 0,
        };
        for (number, list) in wording.lists.iter().enumerate() {
            let rows = |is_first: bool| -> Vec<MemberPieces<'w>> {
                let rows = list.entries.iter().flat_map(|entry| {
                    [(&entry.tail, false), (&entry.last, true)].map(|(end, is_last)| {
                        let head = match is_first {
                            true => &entry.first,
                            false => &entry.head,
                        };
                        let mut row = vec![WordingPieceRef::Text(head)];
                        row.extend(entry.body.iter().map(WordingPieceRef::Piece));
                        row.push(WordingPieceRef::Text(end));
                        row.retain(|piece| *piece != WordingPieceRef::Text(""));
                        (row, entry.kinds.as_slice(), is_last)
                    })
                });
                rows.collect()
            };
            let first = graph.branch(number, rows(true));
            let other = graph.branch(number, rows(false));
            graph.lists.push((first, other));
        }
        let pieces = wording.pieces.iter().rev();
        graph.root = pieces.fold(0, |then, piece| {
            graph.piece(WordingPieceRef::Piece(piece), then)
        });
        graph
    }

    fn add(&mut self, node: Node<'w>) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn piece(&mut self, piece: WordingPieceRef<'w>, then: usize) -> usize {
        self.add(match piece {
            WordingPieceRef::Text(text) => Node::Text(text, then),
            WordingPieceRef::Piece(WordingPiece::Text(text)) => Node::Text(text, then),
            WordingPieceRef::Piece(WordingPiece::Slot(slot)) => Node::Slot(*slot, then),
            WordingPieceRef::Piece(WordingPiece::Json(keys)) => Node::Json(keys, then),
            WordingPieceRef::Piece(WordingPiece::List(list)) => Node::List(*list, then),
        })
    }

    /// Rows that begin alike share what they begin with.
    fn branch(&mut self, list: usize, rows: Vec<MemberPieces<'w>>) -> usize {
        let mut groups: Vec<(Option<WordingPieceRef<'w>>, Vec<MemberPieces<'w>>)> = Vec::new();
        for (pieces, kinds, is_last) in rows {
            let mut pieces = pieces.into_iter();
            let first = pieces.next();
            let row = (pieces.collect(), kinds, is_last);
            match groups.iter_mut().find(|(known, _)| *known == first) {
                // What ends there ends in ways of its own.
                Some((Some(_), group)) => group.push(row),
                _ => groups.push((first, vec![row])),
            }
        }
        // What says most is tried first: long texts, and free ones last.
        groups.sort_by_key(|(first, _)| match first {
            Some(WordingPieceRef::Text(text)) => (0, usize::MAX - text.len()),
            Some(WordingPieceRef::Piece(WordingPiece::Text(text))) => (0, usize::MAX - text.len()),
            Some(WordingPieceRef::Piece(WordingPiece::Json(_))) => (1, 0),
            Some(WordingPieceRef::Piece(WordingPiece::List(_))) => (2, 0),
            Some(WordingPieceRef::Piece(WordingPiece::Slot(_))) => (3, 0),
            None => (4, 0),
        });
        let nodes: Vec<usize> = groups
            .into_iter()
            .map(|(first, rows)| match first {
                Some(piece) => {
                    let then = self.branch(list, rows);
                    self.piece(piece, then)
                }
                None => {
                    let (_, kinds, is_last) = rows[0];
                    self.add(Node::Ends {
                        list,
                        kinds,
                        is_last,
                    })
                }
            })
            .collect();
        match nodes.as_slice() {
            [one] => *one,
            _ => self.add(Node::Choice(nodes)),
        }
    }

    /// What stands in a text that is written so from its beginning to its end.
    pub(super) fn read(&self, text: &str) -> Option<Vec<Event<'w>>> {
        Run {
            graph: self,
            text,
            plain: self.wording.is_escaped.then(|| Unescaped::of(text)),
            returns: vec![(0, 0)],
            known_returns: HashMap::new(),
            tried: HashSet::new(),
            steps: Vec::new(),
            left: text.len() * STEPS_EACH + STEPS_FREE,
        }
        .read()
    }
}

/// A step on the way.
#[derive(Debug)]
struct Step {
    node: usize,
    at: usize,
    /// Where to go on behind the list that the node stands in.
    returns: usize,
    /// Where the piece ends that was tried last.
    end: usize,
    /// How many ways have been tried.
    tried: usize,
}

struct Run<'g, 'w, 't> {
    graph: &'g Graph<'w>,
    text: &'t str,
    /// The text as it was before it was escaped.
    plain: Option<Unescaped>,
    /// Where to go on behind lists: what stands around them, and the node.
    returns: Vec<(usize, usize)>,
    known_returns: HashMap<(usize, usize), usize>,
    tried: HashSet<(usize, usize, usize)>,
    steps: Vec<Step>,
    left: usize,
}

impl<'w> Run<'_, 'w, '_> {
    fn read(mut self) -> Option<Vec<Event<'w>>> {
        self.enter(self.graph.root, 0, 0);
        while let Some(step) = self.steps.last() {
            self.left = self.left.checked_sub(1)?;
            if matches!(self.graph.nodes[step.node], Node::End) && step.at == self.text.len() {
                return self.events();
            }
            match self.next() {
                Some((node, at, returns)) => self.enter(node, at, returns),
                None => {
                    self.steps.pop();
                }
            }
        }
        None
    }

    fn enter(&mut self, node: usize, at: usize, returns: usize) {
        if self.tried.insert((node, at, returns)) {
            self.steps.push(Step {
                node,
                at,
                returns,
                end: at,
                tried: 0,
            });
        }
    }

    /// Where to go on from the last step, in a way that has not been tried.
    fn next(&mut self) -> Option<(usize, usize, usize)> {
        let graph = self.graph;
        let step = self.steps.last_mut()?;
        let (node, at, returns) = (step.node, step.at, step.returns);
        let (tried, tried_end) = (step.tried, step.end);
        step.tried += 1;
        let is_new = tried == 0;
        match &graph.nodes[node] {
            Node::End => None,
            Node::Text(text, then) => {
                let is_there = is_new && self.text[at..].starts_with(text);
                is_there.then_some((*then, at + text.len(), returns))
            }
            Node::Choice(nodes) => Some((*nodes.get(tried)?, at, returns)),
            Node::List(list, then) => {
                if !is_new {
                    return None;
                }
                let key = (returns, *then);
                let known = self.known_returns.entry(key).or_insert_with(|| {
                    self.returns.push(key);
                    self.returns.len() - 1
                });
                Some((graph.lists[*list].0, at, *known))
            }
            Node::Ends { list, is_last, .. } => {
                if !is_new {
                    return None;
                }
                match is_last {
                    true => {
                        let (outside, node) = self.returns[returns];
                        Some((node, at, outside))
                    }
                    false => Some((graph.lists[*list].1, at, returns)),
                }
            }
            Node::Json(_, then) => {
                if !is_new {
                    return None;
                }
                let (_, end) = self.json(at)?;
                self.steps.last_mut()?.end = end;
                Some((*then, end, returns))
            }
            Node::Slot(slot, then) => {
                let (slot, then, mut end) = (*slot, *then, tried_end);
                loop {
                    let c = self.text[end..].chars().next()?;
                    if slot == WordingSlot::Name && !is_of_name(c) {
                        return None;
                    }
                    end += c.len_utf8();
                    self.left = self.left.checked_sub(1)?;
                    if self.can_start(then, end, returns, 0) {
                        self.steps.last_mut()?.end = end;
                        return Some((then, end, returns));
                    }
                }
            }
        }
    }

    /// Whether a node can begin at a place, as far as that is seen at once.
    fn can_start(&self, node: usize, at: usize, returns: usize, depth: usize) -> bool {
        if depth > 8 {
            return true;
        }
        match &self.graph.nodes[node] {
            Node::End => at == self.text.len(),
            Node::Text(text, _) => self.text[at..].starts_with(text),
            Node::Slot(..) => at < self.text.len(),
            Node::Json(..) => self.text[at..].starts_with(['{', '[']),
            Node::List(..) => true,
            Node::Choice(nodes) => nodes
                .iter()
                .any(|node| self.can_start(*node, at, returns, depth + 1)),
            Node::Ends { list, is_last, .. } => match is_last {
                true => {
                    let (outside, node) = self.returns[returns];
                    self.can_start(node, at, outside, depth + 1)
                }
                false => self.can_start(self.graph.lists[*list].1, at, returns, depth + 1),
            },
        }
    }

    /// The value at a place, and where it ends.
    fn json(&self, at: usize) -> Option<(Value, usize)> {
        json_at(self.text, self.plain.as_ref(), at)
    }

    fn events(&self) -> Option<Vec<Event<'w>>> {
        let events = self.steps.iter().filter_map(|step| {
            Some(match &self.graph.nodes[step.node] {
                Node::List(list, _) => Event::Begins(&self.graph.wording.lists[*list]),
                Node::Slot(slot, _) => Event::Slot(*slot, self.text[step.at..step.end].to_owned()),
                Node::Json(keys, _) => Event::Json(keys, self.json(step.at)?.0),
                Node::Ends { kinds, is_last, .. } => Event::Ends {
                    kinds,
                    is_last: *is_last,
                },
                Node::Text(..) | Node::Choice(_) | Node::End => return None,
            })
        });
        Some(events.collect())
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "_-./$".contains(c)
}

/// The value in JSON at a place of a text, and where it ends; of a text that was escaped, as it was before.
pub(crate) fn json_at(text: &str, plain: Option<&Unescaped>, at: usize) -> Option<(Value, usize)> {
    let Some(plain) = plain else {
        let (value, length) = Dialect::default().read_start(&text[at..])?;
        return Some((value, at + length));
    };
    plain.read(at)
}

/// A text as it was before it was escaped for HTML.
pub(crate) struct Unescaped {
    text: String,
    /// For each byte of it, and for its end, the place in the text that was escaped.
    places: Vec<usize>,
}

const ENTITIES: [(&str, char); 7] = [
    ("&#34;", '"'),
    ("&#39;", '\''),
    ("&quot;", '"'),
    ("&#x27;", '\''),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&amp;", '&'),
];

impl Unescaped {
    pub(crate) fn of(escaped: &str) -> Unescaped {
        let (mut text, mut places) = (String::new(), Vec::new());
        let mut at = 0;
        while let Some(c) = escaped[at..].chars().next() {
            let entity = ENTITIES
                .iter()
                .find(|(entity, _)| c == '&' && escaped[at..].starts_with(entity));
            let (c, length) = match entity {
                Some((entity, c)) => (*c, entity.len()),
                None => (c, c.len_utf8()),
            };
            text.push(c);
            places.resize(text.len(), at);
            at += length;
        }
        places.push(at);
        Unescaped { text, places }
    }

    /// The text as it was before.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The value in JSON at a place of the text that was escaped, and where it ends there.
    pub(crate) fn read(&self, at: usize) -> Option<(Value, usize)> {
        let start = self.places.binary_search(&at).ok()?;
        let (value, length) = Dialect::default().read_start(self.text.get(start..)?)?;
        Some((value, *self.places.get(start + length)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::wording::WordingEntry;

    fn entry(
        kinds: &[usize],
        [first, head, tail, last]: [&str; 4],
        body: Vec<WordingPiece>,
    ) -> WordingEntry {
        WordingEntry {
            kinds: kinds.to_vec(),
            first: first.to_owned(),
            head: head.to_owned(),
            body,
            tail: tail.to_owned(),
            last: last.to_owned(),
        }
    }

    /// Tools as `name: what it is about` and `name!`, each on a line, or as `name = JSON`.
    fn wording(is_escaped: bool) -> Wording {
        let name = || WordingPiece::Slot(WordingSlot::Name);
        let text = |text: &str| WordingPiece::Text(text.to_owned());
        let about = WordingPiece::Slot(WordingSlot::Description);
        let json = WordingPiece::Json(vec!["parameters".to_owned()]);
        let list = WordingList {
            is_again: false,
            entries: vec![
                entry(&[8], ["", "", "\n", ""], vec![name(), text(": "), about]),
                entry(&[9], ["", "", "!\n", "!"], vec![name()]),
                entry(&[0], ["", "", "\n", ""], vec![name(), text(" = "), json]),
            ],
            absent: Vec::new(),
        };
        Wording {
            pieces: vec![text("Tools:\n"), WordingPiece::List(0), text("\n--")],
            lists: vec![list],
            is_escaped,
        }
    }

    #[test]
    fn a_text_is_gone_through_from_piece_to_piece() {
        for (text, is_escaped, expected) in [
            ("Tools:\nsee: Looks.\n--", false, Some("( see Looks. [8])")),
            (
                "Tools:\nsee: Looks.\nhear!\n--",
                false,
                Some("( see Looks. [8] hear [9])"),
            ),
            // A description goes on to where the rest can be read.
            (
                "Tools:\nsee: Looks: far.\nhear: It\nlistens\n--",
                false,
                Some("( see Looks: far. [8] hear It\nlistens [8])"),
            ),
            (
                "Tools:\nsee = {\"a\": 1}\n--",
                false,
                Some("( see {\"a\":1} [0])"),
            ),
            (
                "Tools:\nsee = {&#34;a&#34;: 1}\n--",
                true,
                Some("( see {\"a\":1} [0])"),
            ),
            ("Tools:\nsee = {&#34;a&#34;: 1}\n--", false, None),
            // No name has a blank in it.
            ("Tools:\nto see!\n--", false, None),
            ("Tools:\nsee!\n", false, None),
            ("Tools:\n\n--", false, None),
        ] {
            let wording = wording(is_escaped);
            let graph = Graph::of(&wording);
            let found = graph.read(text).map(|events| {
                let events = events.iter().map(|event| match event {
                    Event::Begins(_) => "(".to_owned(),
                    Event::Slot(_, text) => format!(" {text}"),
                    Event::Json(_, value) => format!(" {}", crate::json::write(value)),
                    Event::Ends { kinds, is_last } => {
                        format!(" {kinds:?}{}", if *is_last { ")" } else { "" })
                    }
                });
                events.collect::<String>()
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn entities_are_taken_back_and_nothing_else() {
        for (escaped, expected) in [
            (
                "&lt;a&gt; &amp; &#34;b&quot; &#39;c&#x27;",
                "<a> & \"b\" 'c'",
            ),
            // What was escaped twice is taken back once.
            ("&amp;lt;", "&lt;"),
            ("& &nbsp; &lt", "& &nbsp; &lt"),
        ] {
            assert_eq!(Unescaped::of(escaped).text(), expected, "{escaped}");
        }
    }

    #[test]
    fn values_are_read_at_places_of_the_text_that_was_escaped() {
        let escaped = "é: {&#34;a&#34;: 1} so";
        for (at, expected) in [
            (4, Some(("{\"a\":1}", 20))),
            (5, Some(("\"a\"", 16))),
            // It lies within an entity, or nothing begins there.
            (6, None),
            (0, None),
            (99, None),
        ] {
            let found = Unescaped::of(escaped).read(at);
            let found = found.map(|(value, end)| (crate::json::write(&value), end));
            let found = found.as_ref().map(|(value, end)| (value.as_str(), *end));
            assert_eq!(found, expected, "{at}");
        }
    }
}
