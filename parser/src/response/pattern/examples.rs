//! Short texts that show what a pattern matches.
//!
//! They are made from the pattern's syntax: each alternative once, repeats at their least and once
//! more. What lookaround wants to see stands beside the match. Not all that is made does match,
//! since lookaround may forbid it: whoever uses a text has to search it first.

use regex_syntax::hir::ClassUnicode;

use super::syntax::{self, Node};

/// So many texts are made at the most.
const MAX_TEXTS: usize = 24;

/// No text is longer than so many bytes.
const MAX_LENGTH: usize = 240;

/// What stands for a set that holds one of these, the first that it holds.
const FAMILIAR: &[char] = &['a', '1', ' ', '\n', '_', '-', '.', ',', '"', '<', '{'];

/// A text that a part of a pattern matches, and what has to stand before and after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub behind: String,
    pub text: String,
    pub ahead: String,
}

impl Draft {
    fn of(text: &str) -> Draft {
        Draft {
            text: text.to_owned(),
            ..Draft::default()
        }
    }

    /// The whole text.
    pub fn whole(&self) -> String {
        [self.behind.as_str(), &self.text, &self.ahead].concat()
    }

    fn len(&self) -> usize {
        self.behind.len() + self.text.len() + self.ahead.len()
    }

    /// The draft with another behind it; nothing if that gets too long.
    fn then(&self, next: &Draft) -> Option<Draft> {
        let joined = Draft {
            behind: longer(&self.behind, missing_before(&next.behind, &self.text)),
            text: [self.text.as_str(), &next.text].concat(),
            ahead: longer(missing_after(&self.ahead, &next.text), &next.ahead),
        };
        (joined.len() <= MAX_LENGTH).then_some(joined)
    }
}

/// What of a text wanted ahead is still missing when another text comes.
fn missing_after<'a>(wanted: &'a str, text: &str) -> &'a str {
    wanted.strip_prefix(text).unwrap_or_default()
}

/// What of a text wanted behind is still missing when another text is there.
fn missing_before<'a>(wanted: &'a str, text: &str) -> &'a str {
    wanted.strip_suffix(text).unwrap_or_default()
}

fn longer(a: &str, b: &str) -> String {
    (if b.len() > a.len() { b } else { a }).to_owned()
}

/// Texts that a pattern may match, the plainest first; none if it is not valid.
pub fn drafts(pattern: &str) -> Vec<Draft> {
    match syntax::parse(pattern) {
        Ok(syntax) => of_node(&syntax.node, &mut vec![None; syntax.groups.len()]),
        Err(_) => Vec::new(),
    }
}

/// The texts that references stand for: the first of each group that has been gone through.
type Groups = Vec<Option<Draft>>;

fn of_node(node: &Node, groups: &mut Groups) -> Vec<Draft> {
    match node {
        Node::Empty | Node::Look(_) | Node::Around { negate: true, .. } => vec![Draft::default()],
        Node::Class(class) => {
            let character = member(class).map(|c| Draft::of(c.encode_utf8(&mut [0; 4])));
            character.into_iter().collect()
        }
        Node::Concat(nodes) => one_after_the_other(nodes, groups),
        Node::Alternation(nodes) => each_once(nodes, groups),
        Node::Repeat { node, min, max, .. } => repeated(node, *min, *max, groups),
        Node::Group { index, node } => {
            let drafts = of_node(node, groups);
            groups[*index] = drafts.first().map(|draft| Draft::of(&draft.text));
            drafts
        }
        Node::Reference { index } => groups[*index].clone().into_iter().collect(),
        Node::Atomic(node) => of_node(node, groups),
        Node::Around { behind, node, .. } => {
            let seen = of_node(node, groups).into_iter();
            seen.map(|seen| beside(&seen, *behind)).collect()
        }
    }
}

/// What a look asks for, on the side where it looks.
fn beside(seen: &Draft, behind: bool) -> Draft {
    let text = seen.whole();
    match behind {
        true => Draft {
            behind: text,
            ..Draft::default()
        },
        false => Draft {
            ahead: text,
            ..Draft::default()
        },
    }
}

/// The first text of each part, and then each other text of a part among the first of the others.
fn one_after_the_other(nodes: &[Node], groups: &mut Groups) -> Vec<Draft> {
    let mut parts = Vec::new();
    for node in nodes {
        let drafts = of_node(node, groups);
        if drafts.is_empty() {
            return drafts;
        }
        parts.push(drafts);
    }
    let with = |varied: usize, variant: usize| {
        parts
            .iter()
            .enumerate()
            .try_fold(Draft::default(), |joined, (index, drafts)| {
                joined.then(&drafts[if index == varied { variant } else { 0 }])
            })
    };
    let variants = parts
        .iter()
        .enumerate()
        .flat_map(|(part, drafts)| (1..drafts.len()).map(move |variant| (part, variant)));
    let all = std::iter::once((0, 0)).chain(variants).take(MAX_TEXTS);
    distinct(all.filter_map(|(part, variant)| with(part, variant)))
}

/// The first text of each alternative, and then the other ones.
fn each_once(nodes: &[Node], groups: &mut Groups) -> Vec<Draft> {
    let all = nodes.iter().map(|node| of_node(node, groups));
    let all: Vec<Vec<Draft>> = all.collect();
    let first = all.iter().filter_map(|drafts| drafts.first());
    let others = all.iter().flat_map(|drafts| drafts.iter().skip(1));
    distinct(first.chain(others).cloned())
}

fn repeated(node: &Node, min: u32, max: Option<u32>, groups: &mut Groups) -> Vec<Draft> {
    let drafts = of_node(node, groups);
    let Some(first) = drafts.first() else {
        return match min {
            0 => vec![Draft::default()],
            _ => Vec::new(),
        };
    };
    let times = |count: u32| {
        (0..count).try_fold(Draft::default(), |joined, _| match first.len() {
            // However often it is repeated, it is nothing.
            0 => Some(joined),
            _ => joined.then(first),
        })
    };
    let least = times(min);
    let more = times(min + 1).filter(|_| max.is_none_or(|max| max > min));
    let others = drafts.iter().skip(1).filter_map(|other| match (min, max) {
        (0, Some(0)) => None,
        (0, _) => Some(other.clone()),
        _ => times(min - 1)?.then(other),
    });
    distinct(least.clone().into_iter().chain(more).chain(others))
}

fn distinct(drafts: impl Iterator<Item = Draft>) -> Vec<Draft> {
    let mut distinct: Vec<Draft> = Vec::new();
    for draft in drafts {
        if distinct.len() == MAX_TEXTS {
            break;
        }
        if !distinct.contains(&draft) {
            distinct.push(draft);
        }
    }
    distinct
}

/// A character that stands for a set.
fn member(class: &ClassUnicode) -> Option<char> {
    let holds = |c: char| class.iter().any(|r| r.start() <= c && c <= r.end());
    let familiar = FAMILIAR.iter().copied().find(|&c| holds(c));
    let printable = || ('a'..='z').chain('!'..='~').find(|&c| holds(c));
    familiar
        .or_else(printable)
        .or_else(|| class.iter().next().map(|range| range.start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pattern: &str) -> Vec<String> {
        let side = |text: &str, mark: &str| match text {
            "" => String::new(),
            text => format!("{mark}{text}{mark}"),
        };
        let drafts = drafts(pattern).into_iter();
        drafts
            .map(|d| format!("{}{}{}", side(&d.behind, "←"), d.text, side(&d.ahead, "→")))
            .collect()
    }

    #[test]
    fn each_alternative_comes_once_and_repeats_at_their_least_and_once_more() {
        for (pattern, expected) in [
            ("abc", &["abc"][..]),
            ("<(?:a|b|c)>", &["<a>", "<b>", "<c>"]),
            ("(?:a|b)(?:c|d)", &["ac", "bc", "ad"]),
            (r"</x>\s*", &["</x>", "</x> "]),
            ("x+", &["x", "xx"]),
            ("x{2,3}", &["xx", "xxx"]),
            ("x{2}", &["xx"]),
            ("(?:a|b){2}", &["aa", "ab"]),
            ("(?:a|b)*", &["", "a", "b"]),
            ("(?:a|b){0}", &[""]),
            (r"<f=(?P<name>\w+)>", &["<f=a>", "<f=aa>"]),
            (r"<(?P<k>\w)(?P<v>-?)</(?P=k)>", &["<a</a>", "<a-</a>"]),
            ("[^a-z]", &["1"]),
            ("(?i:end)", &["end"]),
            ("[]>]", &[">"]),
            ("(?:a||b)", &["a", "", "b"]),
        ] {
            assert_eq!(shown(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn what_lookaround_wants_stands_beside() {
        for (pattern, expected) in [
            ("(?=<call>)", &["→<call>→"][..]),
            (r"\}(?=,)", &["}→,→"]),
            ("(?<=[>])x", &["←>←x"]),
            ("(?=ab)abc", &["abc"]),
            ("(?=abc)a", &["a→bc→"]),
            ("ab(?<=xab)", &["←x←ab"]),
            ("a(?!b)", &["a"]),
            (r"\bend\b", &["end"]),
        ] {
            assert_eq!(shown(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn what_matches_nothing_or_only_long_texts_has_no_example() {
        for pattern in [r"[^\s\S]", r"a[^\s\S]|[^\s\S]", "x{1000}", "(?:x{30}){30}"] {
            assert_eq!(shown(pattern), [""; 0], "{pattern}");
        }
        assert_eq!(shown(r"a|[^\s\S]"), ["a"]);
    }

    #[test]
    fn there_are_never_many() {
        let wide = (0..500).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(drafts(&wide.join("|")).len(), MAX_TEXTS);
        let deep = "(?:a|b)".repeat(300);
        assert!(drafts(&deep).is_empty() || drafts(&deep).len() <= MAX_TEXTS);
    }
}
