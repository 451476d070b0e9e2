//! Patterns taken apart: what stands around a group.

use crate::response::pattern::{Dialect, Look, Node, Syntax, parse_as};

/// What stands around a group.
#[derive(Debug, Default, Clone)]
pub(super) struct GroupContext {
    pub(super) before: Vec<Node>,
    pub(super) after: Vec<Node>,
    /// What may stand in place of the group, and how much of what is before and after belongs to the group
    /// alone.
    pub(super) instead: Option<(Vec<Node>, usize, usize)>,
    /// Whether what comes before, or after, belongs to something else.
    is_closed: (bool, bool),
}

/// Takes a pattern of the module `re` apart. It has been compiled before.
pub(super) fn syntax(pattern: &str) -> Option<Syntax> {
    let syntax = parse_as(Dialect::Re, pattern).ok()?;
    // A reference means nothing apart from its group.
    let refers = syntax
        .node
        .any(&|node| matches!(node, Node::Reference { .. }));
    (!refers).then_some(syntax)
}

/// What stands around a group: up to what another group is in, and up to the bounds of the optional part
/// that the group is in, if there is anything in that.
pub(super) fn around(
    node: &Node,
    group: usize,
    is_other: &dyn Fn(usize) -> bool,
) -> Option<GroupContext> {
    match node {
        Node::Group { index, .. } if *index == group => Some(GroupContext::default()),
        Node::Group { node, .. } | Node::Atomic(node) => around(node, group, is_other),
        Node::Alternation(nodes) => {
            let mut found = nodes
                .iter()
                .find_map(|node| around(node, group, is_other))?;
            let others = nodes.iter().filter(|node| !holds(node, &|_| true));
            let others: Vec<Node> = others.cloned().collect();
            if !others.is_empty() {
                found.instead = Some((others, found.before.len(), found.after.len()));
            }
            Some(found)
        }
        Node::Repeat { node, min, .. } => {
            let mut found = around(node, group, is_other)?;
            found.is_closed.0 |= *min == 0 && !is_optional(&found.before);
            found.is_closed.1 |= *min == 0 && !is_optional(&found.after);
            Some(found)
        }
        Node::Concat(nodes) => {
            let at = nodes.iter().position(|node| holds(node, &|i| i == group))?;
            let mut found = around(&nodes[at], group, is_other)?;
            let belongs = |node: &&Node| !holds(node, is_other);
            let before: Vec<Node> = nodes[..at]
                .iter()
                .rev()
                .take_while(belongs)
                .cloned()
                .collect();
            let after: Vec<Node> = nodes[at + 1..]
                .iter()
                .take_while(belongs)
                .cloned()
                .collect();
            let are_looks = before.iter().all(|node| matches!(node, Node::Look(_)));
            if !found.is_closed.0 || are_looks {
                found.is_closed.0 |= before.len() < at;
                let before = before.into_iter().rev();
                found.before = before.chain(std::mem::take(&mut found.before)).collect();
            }
            if !found.is_closed.1 {
                found.is_closed.1 |= at + 1 + after.len() < nodes.len();
                found.after.extend(after);
            }
            Some(found)
        }
        Node::Empty
        | Node::Class(_)
        | Node::Look(_)
        | Node::Reference { .. }
        | Node::Around { .. } => None,
    }
}

/// What follows all groups of these.
pub(super) fn tail(node: &Node, is_group: &dyn Fn(usize) -> bool) -> Vec<Node> {
    match node {
        Node::Concat(nodes) => match nodes.iter().rposition(|node| holds(node, is_group)) {
            Some(last) => nodes[last + 1..].to_vec(),
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Whether a group of these stands in it.
pub(super) fn holds(node: &Node, is_group: &dyn Fn(usize) -> bool) -> bool {
    match node {
        Node::Group { index, node } => is_group(*index) || holds(node, is_group),
        Node::Concat(nodes) | Node::Alternation(nodes) => {
            nodes.iter().any(|node| holds(node, is_group))
        }
        Node::Repeat { node, .. } | Node::Atomic(node) | Node::Around { node, .. } => {
            holds(node, is_group)
        }
        Node::Empty | Node::Class(_) | Node::Look(_) | Node::Reference { .. } => false,
    }
}

/// The inside of a group.
pub(super) fn inside(node: &Node, group: usize) -> Option<&Node> {
    match node {
        Node::Group { index, node } if *index == group => Some(node),
        Node::Group { node, .. } | Node::Repeat { node, .. } | Node::Atomic(node) => {
            inside(node, group)
        }
        Node::Around { node, .. } => inside(node, group),
        Node::Concat(nodes) | Node::Alternation(nodes) => {
            nodes.iter().find_map(|node| inside(node, group))
        }
        Node::Empty | Node::Class(_) | Node::Look(_) | Node::Reference { .. } => None,
    }
}

/// Whether the nodes can match without taking a character.
pub(super) fn is_optional(nodes: &[Node]) -> bool {
    nodes.iter().all(Node::can_be_empty)
}

/// The nodes without the end of the text as what they may be: a template needs no closer for that.
pub(super) fn without_end(nodes: &[Node]) -> Vec<Node> {
    let mut kept: Vec<Node> = nodes.iter().filter_map(without_end_in).collect();
    // White space that only the end was looked for behind.
    if is_optional(&kept) {
        kept.clear();
    }
    kept
}

fn without_end_in(node: &Node) -> Option<Node> {
    match node {
        Node::Look(Look::TextEnd | Look::TextEndOrFinalNewline) => None,
        Node::Alternation(nodes) => {
            let mut nodes: Vec<Node> = nodes.iter().filter_map(without_end_in).collect();
            match nodes.len() {
                0 => None,
                1 => nodes.pop(),
                _ => Some(Node::Alternation(nodes)),
            }
        }
        Node::Around {
            behind,
            negate: false,
            node,
        } => Some(Node::Around {
            behind: *behind,
            negate: false,
            node: Box::new(without_end_in(node)?),
        }),
        other => Some(other.clone()),
    }
}

/// What a pattern certainly begins with.
pub(super) fn beginning(node: &Node) -> Vec<Node> {
    let nodes = match node {
        Node::Concat(nodes) => nodes.as_slice(),
        other => std::slice::from_ref(other),
    };
    let is_plain = |node: &&Node| match node {
        Node::Class(class) => class.iter().map(|range| range.len()).sum::<usize>() == 1,
        Node::Repeat { node, .. } => {
            matches!(&**node, Node::Class(class) if class.iter().all(|range| range.end() < '!' || range.start().is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&range.start())))
        }
        _ => false,
    };
    let mut plain: Vec<Node> = nodes.iter().take_while(is_plain).cloned().collect();
    while plain.last().is_some_and(Node::can_be_empty) {
        plain.pop();
    }
    plain
}
