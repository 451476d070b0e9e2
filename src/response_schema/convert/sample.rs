//! Texts that a pattern matches.

use crate::response::pattern::Node;

use super::group_context::holds;

/// The name in synthetic calls.
pub(super) const NAME: &str = "go";

/// The arguments of such calls.
pub(super) const ARGUMENTS: [&str; 2] = [r#"{"city": "Ystad", "n": 2}"#, "{}"];

/// Such arguments as pairs of key and value.
pub(super) const PAIRS: [(&str, &str); 2] = [("city", "Ystad"), ("n", "2")];

/// Longer texts are not made of patterns.
const MAX_SAMPLE: usize = 4_000;

/// A text that a pattern matches, given the texts of its groups; `None` if a group that has to match has
/// none, or the text gets too long. What is optional is there if `lavish`, or if a group in it has a text.
pub(super) fn sample(
    node: &Node,
    fill: &dyn Fn(usize) -> Option<String>,
    lavish: bool,
) -> Option<String> {
    match node {
        Node::Empty | Node::Look(_) | Node::Around { .. } => Some(String::new()),
        Node::Reference { index } => fill(*index),
        Node::Class(class) => {
            let holds = |c: &char| class.iter().any(|r| r.start() <= *c && *c <= r.end());
            let familiar = ['a', '1', '\n', ' ', '-', '<'].into_iter().find(holds);
            let first = || class.iter().next().map(|range| range.start());
            familiar.or_else(first).map(String::from)
        }
        Node::Concat(nodes) => {
            let mut text = String::new();
            for node in nodes {
                text.push_str(&sample(node, fill, lavish)?);
                if text.len() > MAX_SAMPLE {
                    return None;
                }
            }
            Some(text)
        }
        Node::Alternation(nodes) => {
            let is_filled = |node: &&Node| holds(node, &|i| fill(i).is_some());
            let (filled, others): (Vec<&Node>, Vec<&Node>) = nodes.iter().partition(is_filled);
            let mut best_first = filled.into_iter().chain(others);
            best_first.find_map(|node| sample(node, fill, lavish))
        }
        Node::Repeat { node, min, .. } => {
            let has_filled = holds(node, &|i| fill(i).is_some());
            let has_groups = holds(node, &|_| true);
            match *min > 0 || has_filled || (lavish && !has_groups) {
                true => {
                    let once = sample(node, fill, lavish)?;
                    let count = (*min).max(1) as usize;
                    (once.len() * count <= MAX_SAMPLE).then(|| once.repeat(count))
                }
                false => Some(String::new()),
            }
        }
        Node::Group { index, .. } => fill(*index),
        Node::Atomic(node) => sample(node, fill, lavish),
    }
}
