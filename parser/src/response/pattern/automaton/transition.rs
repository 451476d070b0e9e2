//! What the automaton does at a character.

use super::state::{Source, StateId};

/// A cell of the table of transitions.
///
/// ```text
/// bit 31           bits 30 to 0
/// 0                the number of the next state: registers stay as they are
/// 1                the number of a move
/// 1                all 1: not worked out yet
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::response::pattern) struct Transition(u32);

/// What a transition does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// It changes the state.
    To(StateId),
    /// It does what the [`Move`] of this number says.
    Move(usize),
}

impl Transition {
    /// Has not been worked out.
    pub(super) const UNKNOWN: Transition = Transition(u32::MAX);

    const MOVE_BIT: u32 = 1 << 31;

    pub(super) fn to(state: StateId) -> Transition {
        assert_eq!(state & Transition::MOVE_BIT, 0);
        Transition(state)
    }

    pub(super) fn with_move(number: usize) -> Transition {
        Transition(number as u32 | Transition::MOVE_BIT)
    }

    #[inline(always)]
    pub(super) fn is_unknown(self) -> bool {
        self == Transition::UNKNOWN
    }

    /// What a transition does that has been worked out.
    #[inline(always)]
    pub(super) fn step(self) -> Step {
        match self.0 & Transition::MOVE_BIT {
            0 => Step::To(self.0),
            _ => Step::Move((self.0 & !Transition::MOVE_BIT) as usize),
        }
    }
}

/// A transition that moves registers, finds something, or ends in a state that needs attention.
#[derive(Debug, Clone)]
pub(super) struct Move {
    pub(super) next: StateId,
    /// For each thread of the next state, where its registers come from.
    pub(super) rows: Box<[Source]>,
    /// The registers of a match that ends before the character.
    pub(super) found: Option<Source>,
    /// Whether the next state is idle or dead.
    pub(super) pause: bool,
}
