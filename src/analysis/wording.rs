//! Lining up definitions of tools that a template writes in words of its own.
//!
//! Tools of all kinds are rendered, each beside others of which it is known how they are written. What stands before the
//! first slot of a member, behind its last, and between two, is cut where all kinds agree.

use crate::format::{
    Holds, Kinds, ParameterKind, ToolParameters, Wording, WordingEntry, WordingList, WordingPiece,
};
use crate::markers::{same_end, same_start};
use crate::value::Value;

use super::turn_prober::TurnProber;
use super::wording_probe::{Defined, Written};

/// Parameters within parameters are looked at down to this depth.
// Each level asks for all kinds of parameters once more, twice each.
const MAX_DEPTH: usize = 2;

/// So many words are in a probe at most.
const MAX_WORDS: usize = 64;

/// Finds out how definitions of tools are written that stand between two texts of a conversation.
pub(super) fn find(
    prober: &mut TurnProber<'_>,
    messages: &[Value],
    (before, after): (&str, &str),
) -> Option<Wording> {
    let offered = prober.tools().to_vec();
    let mut finder = Finder {
        // Made once: a probe that is asked again has the same words, and is not rendered again.
        words: (0..MAX_WORDS).map(|_| prober.word("word")).collect(),
        stem: prober.stem().to_owned(),
        prober,
        messages,
        before,
        after,
        kinds: Kinds::all(),
        lists: Vec::new(),
        is_escaped: false,
    };
    let found = finder.find();
    // What is asked next goes on with the tools that were on offer before.
    finder.prober.offer(offered);
    found
}

struct Finder<'a, 't> {
    prober: &'a mut TurnProber<'t>,
    messages: &'a [Value],
    before: &'a str,
    after: &'a str,
    words: Vec<String>,
    stem: String,
    kinds: Kinds,
    lists: Vec<WordingList>,
    is_escaped: bool,
}

/// What the members of a list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Tools,
    Parameters,
    Values,
}

/// A kind of member, beside references: as the first, and as the last of three.
struct Seen {
    kind: usize,
    first: (String, Vec<ListMembers>),
    last: (String, Vec<ListMembers>),
}

/// The members of a list in a text: for each that is written, its number, where it begins and ends, and its pieces.
struct ListMembers {
    /// Where what stands before the list begins, and where what stands behind it ends.
    outside: (usize, usize),
    members: Vec<(usize, usize, usize, Vec<WordingPiece>)>,
}

impl Finder<'_, '_> {
    fn find(&mut self) -> Option<Wording> {
        let reference = self.reference(Level::Tools)?;
        // One tool does not show what stands between two: `def a(): ...\n\ndef b(): ...`.
        let two = [reference.clone(), reference];
        // `{&#34;type&#34;: ...}` is JSON only when its escapes are taken back. In `{"about": "a &amp; b"}` they are
        // meant, so plain comes first.
        for is_escaped in [false, true] {
            self.is_escaped = is_escaped;
            let (_, parts) = self.rendered(&two)?;
            let is_json = |part: &Written| matches!(part.piece, WordingPiece::Json(_));
            if parts.iter().any(is_json) {
                break;
            }
            // Without any JSON, nothing shows that signs are escaped.
            self.is_escaped = false;
        }
        let lists = self.lists(Level::Tools, &|tools| tools, &[], 0)?;
        let (text, parts) = self.rendered(&two)?;
        let mut count = 0;
        let (mut pieces, end) = self.fold(&text, 0, &parts, 0, &lists, &mut count)?;
        push_text(&mut pieces, &text[end..]);
        let wording = Wording {
            pieces,
            lists: std::mem::take(&mut self.lists),
            is_escaped: self.is_escaped,
        };
        // What does not read the text that it was made of would misread others.
        wording.read(&text)?;
        Some(wording)
    }

    /// What is written for tools, and the parts of it.
    fn rendered(&mut self, tools: &[Defined]) -> Option<(String, Vec<Written>)> {
        let definition = self.kinds.definition(tools, &self.words)?;
        self.prober.offer(definition.tools.clone());
        let text = self.prober.plain(self.messages)?;
        // Where what stands around changes with the tools, as `You have 2 tools.` does, nothing can be lined up.
        let text = text.strip_prefix(self.before)?.strip_suffix(self.after)?;
        let parts = definition.written(text, &self.stem, self.is_escaped)?;
        Some((text.to_owned(), parts))
    }

    /// The kind that others are looked at beside.
    fn reference_kind(&self, level: Level) -> Option<usize> {
        match level {
            Level::Tools | Level::Values => Some(0),
            Level::Parameters => {
                let mut kinds = self.kinds.parameters.iter();
                kinds.position(|kind| kind.is_reference())
            }
        }
    }

    fn reference(&self, level: Level) -> Option<Defined> {
        self.defined(level, self.reference_kind(level)?)
    }

    /// One of a kind, with two members if it has any.
    fn defined(&self, level: Level, kind: usize) -> Option<Defined> {
        // With one member that is required, `required` stands there, and the kind would be another.
        let is_optional = match level {
            Level::Tools => self.parameters(kind) == ToolParameters::Optional,
            Level::Parameters => self.kinds.parameters[kind].holds == Holds::OptionalProperties,
            Level::Values => false,
        };
        let members = match self.members(level, kind) {
            Some(_) if is_optional => {
                let mut kinds = self.kinds.parameters.iter();
                let optional = kinds.position(ParameterKind::is_optional_reference)?;
                vec![Defined::of(optional, Vec::new()); 2]
            }
            // Two, so that what stands between members shows: `a: str, b: str`.
            Some(members) => vec![self.reference(members)?; 2],
            None => Vec::new(),
        };
        Some(Defined::of(kind, members))
    }

    fn parameters(&self, tool: usize) -> ToolParameters {
        self.kinds.tools[tool].parameters
    }

    /// What the members of a kind are.
    fn members(&self, level: Level, kind: usize) -> Option<Level> {
        match level {
            Level::Tools => {
                let has = [ToolParameters::Some, ToolParameters::Optional];
                has.contains(&self.parameters(kind))
                    .then_some(Level::Parameters)
            }
            Level::Parameters => match self.kinds.parameters[kind].holds {
                Holds::Nothing => None,
                Holds::Values => Some(Level::Values),
                Holds::Properties | Holds::OptionalProperties => Some(Level::Parameters),
            },
            Level::Values => None,
        }
    }

    /// The lists in which members of a definition stand. `wrap` puts members where they belong.
    fn lists(
        &mut self,
        level: Level,
        wrap: &dyn Fn(Vec<Defined>) -> Vec<Defined>,
        base: &[usize],
        depth: usize,
    ) -> Option<Vec<usize>> {
        let count = match level {
            Level::Tools => self.kinds.tools.len(),
            Level::Parameters => self.kinds.parameters.len(),
            Level::Values => 1,
        };
        let reference = self.reference(level)?;
        let reference_kind = reference.kind;
        let mut seen: Vec<Seen> = Vec::new();
        let mut inner: Vec<(Option<&str>, Option<Vec<usize>>)> = Vec::new();
        // The reference comes first: it says how many lists there are.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|kind| *kind != reference_kind);
        for kind in order {
            // A template that does not show the plainest kind shows nothing to line others up with.
            if kind != reference_kind && seen.is_empty() {
                return None;
            }
            let inside = match self.members(level, kind) {
                // What stands beside it may have members.
                None => match inner.first() {
                    Some((_, Some(lists))) if level == Level::Tools => lists.clone(),
                    _ => Vec::new(),
                },
                Some(members) if depth <= MAX_DEPTH => {
                    // How members are written does not hang on whether their owner is required.
                    let key = self.key(level, kind);
                    let known = inner.iter().find(|(known, _)| *known == key);
                    let known = known.map(|(_, lists)| lists.clone());
                    let lists = known.unwrap_or_else(|| {
                        let wrap = |members| wrap(vec![Defined::of(kind, members)]);
                        let base = [base, &[0]].concat();
                        let lists = self.lists(members, &wrap, &base, depth + 1);
                        inner.push((key, lists.clone()));
                        lists
                    });
                    // They may stand in a value.
                    lists.unwrap_or_default()
                }
                Some(_) => Vec::new(),
            };
            let Some(one) = self.defined(level, kind) else {
                continue;
            };
            // `(a, b, c)`: first and last have other texts around them. Beside two that are known, all that is new is
            // the kind's own.
            let first = wrap(vec![one.clone(), reference.clone(), reference.clone()]);
            let last = wrap(vec![reference.clone(), reference.clone(), one]);
            let [first, last] = [first, last].map(|tools| self.seen(&tools, base, &inside));
            let (Some(first), Some(last)) = (first, last) else {
                continue;
            };
            let one = Seen { kind, first, last };
            let count = seen.first().map_or(one.first.1.len(), Seen::count);
            // A kind that makes a list come once more or once less can't be lined up: lists are told apart by their
            // order.
            if (one.first.1.len(), one.last.1.len()) == (count, count) {
                seen.push(one);
            }
        }
        if seen.first()?.kind != reference_kind {
            return None;
        }
        let lists: Option<Vec<WordingList>> =
            (0..seen[0].count()).map(|pass| list(&seen, pass)).collect();
        let from = self.lists.len();
        self.lists.extend(lists?);
        Some((from..self.lists.len()).collect())
    }

    /// What is written for tools, and the lists in it.
    fn seen(
        &mut self,
        tools: &[Defined],
        base: &[usize],
        inside: &[usize],
    ) -> Option<(String, Vec<ListMembers>)> {
        let (text, parts) = self.rendered(tools)?;
        let rows = self.rows(&text, &parts, base, inside)?;
        Some((text, rows))
    }

    /// What kinds have in common whose members are written alike.
    fn key(&self, level: Level, kind: usize) -> Option<&'static str> {
        match level {
            Level::Parameters => self.kinds.parameters[kind].holds.key(),
            Level::Tools | Level::Values => None,
        }
    }

    /// The lists of a text, each with its members; `inside` are the lists of the members of the one that is looked at.
    fn rows(
        &self,
        text: &str,
        parts: &[Written],
        base: &[usize],
        inside: &[usize],
    ) -> Option<Vec<ListMembers>> {
        let own = base.len() + 1;
        let mut rows: Vec<ListMembers> = Vec::new();
        // Of each member, how many lists have been gone through.
        let mut counts = [0; 3];
        let mut at = 0;
        while at < parts.len() {
            if !is_below(&parts[at], base) {
                at += 1;
                continue;
            }
            let before = at.checked_sub(1).map_or(0, |before| parts[before].end);
            let mut members: Vec<(usize, usize, usize, Vec<WordingPiece>)> = Vec::new();
            let mut end = at;
            while end < parts.len() && is_below(&parts[end], base) {
                let number = parts[end].place.path[base.len()];
                // Numbers that fall begin another list of the same members: `def f(a, b):` and then `a: what it is
                // about`.
                let is_back = members.last().is_some_and(|(last, ..)| *last >= number);
                if is_back {
                    break;
                }
                let length = parts[end..]
                    .iter()
                    .take_while(|part| {
                        is_below(part, base) && part.place.path[base.len()] == number
                    })
                    .count();
                let member = &parts[end..end + length];
                let count = counts.get_mut(number)?;
                let start = member[0].start;
                let (pieces, stop) = self.fold(text, start, member, own, inside, count)?;
                members.push((number, start, stop, pieces));
                end += length;
            }
            let behind = parts.get(end).map_or(text.len(), |part| part.start);
            rows.push(ListMembers {
                outside: (before, behind),
                members,
            });
            at = end;
        }
        (!rows.is_empty()).then_some(rows)
    }

    /// The pieces that parts of a text are, from a place to where the last of them ends. Parts that belong to
    /// members make up lists.
    fn fold(
        &self,
        text: &str,
        start: usize,
        parts: &[Written],
        own: usize,
        lists: &[usize],
        count: &mut usize,
    ) -> Option<(Vec<WordingPiece>, usize)> {
        let mut pieces = Vec::new();
        let (mut at, mut next) = (start, 0);
        while let Some(part) = parts.get(next) {
            if part.place.path.len() == own {
                push_text(&mut pieces, &text[at..part.start]);
                pieces.push(part.piece.clone());
                at = part.end;
                next += 1;
                continue;
            }
            let number = *lists.get(*count)?;
            *count += 1;
            let entry = |part: &Written| {
                let kind = *part.place.kinds.get(own)?;
                let mut entries = self.lists[number].entries.iter();
                entries.find(|entry| entry.kinds.contains(&kind))
            };
            let opens = entry(part)?;
            let mut last = (0, next);
            while let Some(part) = parts.get(next)
                && part.place.path.len() > own
                && part.place.path[own] >= last.0
            {
                if part.place.path[own] > last.0 {
                    last = (part.place.path[own], next);
                }
                next += 1;
            }
            let member = &parts[last.1..next];
            let ends = entry(member.first()?)?;
            let within = ends.body.iter().filter_map(|piece| match piece {
                WordingPiece::List(list) => Some(*list),
                _ => None,
            });
            let within: Vec<usize> = within.collect();
            let (_, end) = self.fold(text, member[0].start, member, own + 1, &within, &mut 0)?;
            // What this kind has before it belongs to the list; what all kinds have there stays a text.
            let before = text[at..part.start].strip_suffix(opens.first.as_str())?;
            push_text(&mut pieces, before);
            pieces.push(WordingPiece::List(number));
            at = end;
            // Likewise behind the last one.
            text[at..].strip_prefix(ends.last.as_str())?;
            at += ends.last.len();
        }
        Some((pieces, at))
    }
}

impl Seen {
    /// How many lists its members stand in.
    fn count(&self) -> usize {
        self.first.1.len()
    }
}

/// What stands around the slots of a member of a list, and its pieces.
struct Sight<'s> {
    kind: usize,
    /// What stands before it if it comes first, and behind it up to the next.
    open: &'s str,
    behind: &'s str,
    /// What stands before it if it comes last, from the one before, and behind it.
    before: &'s str,
    close: &'s str,
    pieces: &'s [WordingPiece],
}

/// One of the lists in which kinds of members have been seen.
fn list(seen: &[Seen], pass: usize) -> Option<WordingList> {
    let mut absent = Vec::new();
    let mut sights = Vec::new();
    for one in seen {
        let (text, rows) = &one.first;
        let row = &rows[pass];
        let first = match row.members.as_slice() {
            [(0, start, end, pieces), (1, next, ..), ..] => {
                let open = &text[row.outside.0..*start];
                Some((open, &text[*end..*next], pieces))
            }
            _ => None,
        };
        let (text, rows) = &one.last;
        let row = &rows[pass];
        let last = match row.members.as_slice() {
            [.., (1, _, before, _), (2, start, end, pieces)] => {
                Some((&text[*before..*start], &text[*end..row.outside.1], pieces))
            }
            _ => None,
        };
        match (first, last) {
            // What is written in one way as the first and in another as the last is not understood.
            (Some((open, behind, pieces)), Some((before, close, same))) if pieces == same => {
                sights.push(Sight {
                    kind: one.kind,
                    open,
                    behind,
                    before,
                    close,
                    pieces,
                });
            }
            // Some lists leave members out: `Required: a, b`. That tells of which kind the others are.
            (None, None) => absent.push(one.kind),
            _ => {}
        }
    }
    Some(WordingList {
        is_again: pass > 0,
        entries: entries(&sights)?,
        absent,
    })
}

/// The ways in which members of a list are written, without what all of them share around them.
fn entries(sights: &[Sight<'_>]) -> Option<Vec<WordingEntry>> {
    let first = sights.first()?;
    let least = |shared: &dyn Fn(&Sight<'_>) -> usize| sights.iter().map(shared).min();
    // `Parameters:\n` stands before whichever member is the first: it is none of the member's.
    let open = least(&|one| same_start(first.open, one.open))?;
    let before = least(&|one| same_start(first.before, one.before))?;
    let close = least(&|one| same_end(first.close, one.close))?;
    let mut entries: Vec<WordingEntry> = Vec::new();
    for one in sights {
        // Behind it stands the plainest kind, whose beginning is known: the rest is its own end.
        let Some(tail) = one.behind.strip_suffix(&first.before[before..]) else {
            continue;
        };
        let entry = WordingEntry {
            kinds: vec![one.kind],
            first: one.open[open..].to_owned(),
            head: one.before[before..].to_owned(),
            body: one.pieces.to_vec(),
            tail: tail.to_owned(),
            last: one.close[..one.close.len() - close].to_owned(),
        };
        // `integer` and `number` may both be written `number`: one entry, which stands for either.
        let same = entries.iter_mut().find(|known| {
            (&known.first, &known.head, &known.tail, &known.last)
                == (&entry.first, &entry.head, &entry.tail, &entry.last)
                && known.body == entry.body
        });
        match same {
            Some(known) => {
                known.kinds.push(one.kind);
                known.kinds.sort_unstable();
            }
            None => entries.push(entry),
        }
    }
    Some(entries)
}

fn push_text(pieces: &mut Vec<WordingPiece>, text: &str) {
    if !text.is_empty() {
        pieces.push(WordingPiece::Text(text.to_owned()));
    }
}

/// Whether a part belongs to a member of what stands at a path.
fn is_below(part: &Written, base: &[usize]) -> bool {
    part.place.path.len() > base.len() && part.place.path.starts_with(base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::asked;
    use crate::analysis::wording_probe::Owner;
    use crate::chat_template::ChatTemplate;
    use crate::format::WordingSlot;

    #[test]
    fn entries_have_what_kinds_of_members_do_not_share_around_them() {
        let pieces = [WordingPiece::Slot(WordingSlot::Name)];
        let sight = |kind, [open, behind, before, close]: [&'static str; 4]| Sight {
            kind,
            open,
            behind,
            before,
            close,
            pieces: &pieces,
        };
        for (texts, expected) in [
            // What stands before whichever is the first, and behind whichever is the last, is the list's.
            (
                [
                    ["Args:\n- ", "\n- ", "\n- ", "\n\n"],
                    ["Args:\n- ", "\n- ", "\n- ", "\n\n"],
                ],
                "[0, 1]: '' '' '\n- ' ''",
            ),
            (
                [["(", ", ", ", ", ")"], ["(*", ", ", ", *", ")"]],
                "[0]: '' '' ', ' ''; [1]: '*' '*' ', ' ''",
            ),
            (
                [["(", ", ", ", ", ")"], ["(", "?, ", ", ", "?)"]],
                "[0]: '' '' ', ' ''; [1]: '' '' '?, ' '?'",
            ),
            // Behind it stands the plainest kind: what does not end so is not understood.
            (
                [["(", ", *", ", *", ")"], ["(", ", ", ", ", ")"]],
                "[0]: '' '*' ', ' ''",
            ),
        ] {
            let [one, other] = texts;
            let found = entries(&[sight(0, one), sight(1, other)]).expect("there are some");
            let found = found.iter().map(|entry| {
                format!(
                    "{:?}: '{}' '{}' '{}' '{}'",
                    entry.kinds, entry.first, entry.head, entry.tail, entry.last
                )
            });
            assert_eq!(found.collect::<Vec<_>>().join("; "), expected, "{texts:?}");
        }
        assert!(entries(&[]).is_none());
    }

    #[test]
    fn parts_are_below_what_they_belong_to() {
        for (path, base, expected) in [
            (&[0, 1][..], &[0][..], true),
            (&[0], &[], true),
            (&[0], &[0], false),
            (&[1, 0], &[0], false),
        ] {
            let part = Written {
                place: Owner {
                    path: path.to_vec(),
                    kinds: Vec::new(),
                },
                piece: WordingPiece::Slot(WordingSlot::Name),
                start: 0,
                end: 0,
            };
            assert_eq!(is_below(&part, base), expected, "{path:?} {base:?}");
        }
    }

    #[test]
    fn definitions_in_words_are_read_back() {
        for (each, text, expected) in [
            (
                "- {{ f.name }}: {{ f.description }}\n",
                "- see: Looks.\n- hear: Listens.\n",
                "see(), hear()",
            ),
            (
                "## {{ f.name }}\n{{ f.description }}\n{{ f.parameters | tojson }}\n",
                "## see\nLooks.\n{\"type\": \"object\", \"properties\": {\"at\": {\"type\": \"string\"}}}\n",
                "see(at?)",
            ),
            // Nothing shows which of them are required.
            (
                "def {{ f.name }}({% for k in f.parameters.properties %}{{ k }}{{ ', ' if not loop.last }}{% endfor %}): {{ f.description }}\n",
                "def see(at, on): Looks.\ndef hear(): Listens.\n",
                "see(at?, on?), hear()",
            ),
            (
                "def {{ f.name }}({% for k in f.parameters.properties %}{{ k }}\
                 {{ '?' if k not in (f.parameters.required or []) }}{{ ', ' if not loop.last }}{% endfor %}): {{ f.description }}\n",
                "def see(at?, on): Looks.\n",
                "see(at?, on)",
            ),
            // The list of those that are required is left out where none is.
            (
                "def {{ f.name }}({{ f.parameters.properties | join(', ') }}){% if f.parameters.required %} \
                 needs {{ f.parameters.required | join(' and ') }}{% endif %}: {{ f.description }}\n",
                "def see(at, on) needs at: Looks.\ndef hear(to): Listens.\n",
                "see(at, on?), hear(to?)",
            ),
            // It is written otherwise.
            (
                "- {{ f.name }}: {{ f.description }}\n",
                "* see: Looks.\n",
                "",
            ),
        ] {
            let each = each.replace("f.description", "f.description | default('none')");
            let jinja = format!(
                "{{% for t in tools or [] %}}{{% set f = t.function %}}{each}{{% endfor %}}<user>{{{{ messages[0].content }}}}"
            );
            let wording = asked(&ChatTemplate::from_jinja(jinja.as_str()), |prober| {
                let messages = [crate::analysis::probe::message("user", "Hi")];
                find(prober, &messages, ("", "<user>Hi"))
            });
            let read = wording.and_then(|wording| wording.read(text));
            let tools = read.map_or_else(Vec::new, |(tools, _)| tools);
            let shown = tools.iter().map(|tool| {
                let name = tool.pointer("/function/name").and_then(Value::as_str);
                let properties = tool.pointer("/function/parameters/properties");
                let required = tool.pointer("/function/parameters/required");
                let required = required.and_then(Value::as_array).unwrap_or_default();
                let is_required = |key: &str| {
                    let mut names = required.iter();
                    names.any(|name| name.as_str() == Some(key))
                };
                let keys = properties.and_then(Value::as_object).map(|properties| {
                    let keys = properties.keys().map(|key| {
                        let key = key.to_string_lossy().into_owned();
                        let sign = if is_required(&key) { "" } else { "?" };
                        key + sign
                    });
                    format!("({})", keys.collect::<Vec<_>>().join(", "))
                });
                name.unwrap_or_default().to_owned() + &keys.unwrap_or_default()
            });
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected, "{each}");
        }
    }
}
