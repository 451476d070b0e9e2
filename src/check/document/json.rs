//! Reading JSON with the places of its values.

use crate::diagnostic::Diagnostic;
use crate::json::{self, ErrorKind, TreeLimits};
use crate::position::Position;

use super::{Content, Entry, MAX_NODES, Node, key_stands_twice, too_many};

pub(super) fn read(text: &str) -> Result<Node, Diagnostic> {
    let limits = TreeLimits {
        depth: json::MAX_DEPTH,
        nodes: MAX_NODES,
    };
    let (root, first_beyond) = json::read_tree(text, limits).map_err(not_json)?;
    let repeated = first_repeated(&root);
    let repeated_at = repeated.map_or(usize::MAX, |entry| entry.key_span.start);
    match (repeated, first_beyond) {
        (_, Some(beyond)) if beyond < repeated_at => Err(too_many(Position::at(text, beyond))),
        (Some(entry), _) => {
            let key = entry.key.to_string_lossy();
            Err(key_stands_twice(&key, Position::at(text, repeated_at)))
        }
        _ => Ok(root),
    }
}

/// The first key that its map has already.
fn first_repeated(node: &Node) -> Option<&Entry> {
    match &node.content {
        Content::Scalar(_) => None,
        Content::List(nodes) => nodes.iter().find_map(first_repeated),
        Content::Map(map) => {
            let own = map.repeated().min_by_key(|entry| entry.key_span.start);
            let end = own.map_or(usize::MAX, |entry| entry.key_span.start);
            // What stands before it counts first.
            let before = map.entries().iter().take_while(|e| e.key_span.start < end);
            let mut inside = before.filter_map(|entry| first_repeated(&entry.value));
            inside.next().or(own)
        }
    }
}

fn not_json(error: json::Error) -> Diagnostic {
    let mut fault = Diagnostic::new(format!("this is not JSON: {}", error.kind()))
        .at_position(error.position());
    fault.remedy = remedy(error.kind()).map(str::to_owned);
    fault
}

/// What helps against the faults that people make most.
fn remedy(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::InvalidEscape => Some("double the backslash, as in \"\\\\s*\""),
        ErrorKind::ExpectedKey => {
            Some("put keys into double quotes, and no comma before the closing brace")
        }
        ErrorKind::ExpectedValue => Some(
            "put texts into double quotes; JSON has no comments, and no comma before a bracket",
        ),
        ErrorKind::ControlCharacter => Some("write line ends as `\\n` and tabs as `\\t`"),
        _ => None,
    }
}
