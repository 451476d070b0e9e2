//! Single characters out of a set, by themselves and in the company of others.
//!
//! Where case is ignored, the module asks a property by itself whether it holds the character, and a set
//! with several members whether it holds any case of the character. So `(?i)\p{Greek}` does not match
//! the micro sign, but `(?i)[\p{Greek}x]` does, because a case of it is a Greek letter. And of single
//! characters that are alternatives of each other, as in `(?i)\p{Greek}|x`, it makes a set.

use super::{Node, class};
use regex_syntax::hir::ClassUnicode;

/// One character out of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Single {
    /// What it matches by itself.
    pub(super) alone: ClassUnicode,
    /// What it adds to a set with other members.
    pub(super) in_set: ClassUnicode,
}

impl Single {
    /// Any of the members. One member by itself makes no set.
    pub(super) fn union(mut members: Vec<Single>) -> Single {
        if members.len() == 1
            && let Some(only) = members.pop()
        {
            return only;
        }
        let ranges = members.iter().flat_map(|member| member.in_set.iter());
        ClassUnicode::new(ranges.copied()).into()
    }

    /// Whatever it does not match.
    pub(super) fn negated(self) -> Single {
        Single {
            alone: class::negated(self.alone),
            in_set: class::negated(self.in_set),
        }
    }
}

/// A class that is the same in any company.
impl From<ClassUnicode> for Single {
    fn from(class: ClassUnicode) -> Single {
        Single {
            alone: class.clone(),
            in_set: class,
        }
    }
}

/// A piece of a pattern, of which it is not yet known what company it is in.
#[derive(Debug)]
pub(super) enum Piece {
    Single(Single),
    Node(Node),
}

impl Piece {
    /// The piece by itself.
    pub(super) fn into_node(self) -> Node {
        match self {
            Piece::Single(single) => Node::Class(single.alone),
            Piece::Node(node) => node,
        }
    }

    /// The first of the branches that leads to a match.
    pub(super) fn any_of(branches: Vec<Piece>) -> Piece {
        let mut merged = Vec::new();
        let mut run = Vec::new();
        for branch in branches {
            match branch {
                Piece::Single(single) => run.push(single),
                Piece::Node(_) => {
                    merge(&mut run, &mut merged);
                    merged.push(branch);
                }
            }
        }
        merge(&mut run, &mut merged);
        match merged.pop() {
            Some(only) if merged.is_empty() => only,
            last => {
                let branches = merged.into_iter().chain(last);
                Node::Alternation(branches.map(Piece::into_node).collect()).into()
            }
        }
    }
}

/// Makes a set of single characters that are alternatives beside each other, where that makes a
/// difference.
fn merge(run: &mut Vec<Single>, merged: &mut Vec<Piece>) {
    if run.iter().all(|single| single.alone == single.in_set) {
        merged.extend(run.drain(..).map(Piece::Single));
    } else {
        run.dedup();
        merged.push(Piece::Single(Single::union(std::mem::take(run))));
    }
}

impl From<Node> for Piece {
    fn from(node: Node) -> Piece {
        Piece::Node(node)
    }
}
