//! Work, counted: what anything may take that strangers have written.
//!
//! A clock would let the machine decide: a busy one is slower, and would find less. So nothing here is timed. Whatever could
//! take long counts *steps* before it takes them, and a function of the input alone says where it ends. A step is an instruction of
//! a chat template, or what takes about as long: some 50 to 100 ns.
//!
//! A [`Budget`] is made where a question comes in from outside (deriving, linting, a survey), and handed down with the
//! [prepared template](crate::chat_template::PreparedTemplate), so that all that is done for one question draws from one budget.
//! Some of it may only take a [part](Budget::part).
//!
//! | limit | of what | for whom |
//! |---|---|---|
//! | [`QUESTION`] | all that is done for one question to a chat template | `derive`, `analyze`, `lint`, `survey`, `watch`, `mask`, `read`, … |
//! | [`TRYING`] | of this, what trying drafts of response templates may take | `derive` |
//! | [`MENDING`], [`MENDING_ONE`] | rendering with changes, for all faults and for one of them | `mend` |
//! | [`INSTRUCTIONS`], [`BYTES`] | one rendering of a chat template | everybody who renders |
//!
//! What limits the size of a grammar stands in `grammar/`, since a grammar is made of a schema alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Steps for one question. The largest of the templates in use takes a fifth, to be tagged.
pub(crate) const QUESTION: u64 = 40_000_000;
/// Steps of a question that trying drafts may take.
pub(crate) const TRYING: u64 = 20_000_000;
/// Steps for mending a chat template, which renders many changed ones.
pub(crate) const MENDING: u64 = 75_000_000;
/// Steps of these that one fault may take, so that something is left for the others.
pub(crate) const MENDING_ONE: u64 = 30_000_000;
/// Instructions that one rendering may run. Templates in use take some ten thousand.
pub(crate) const INSTRUCTIONS: u64 = 5_000_000;
/// Bytes that one rendering may make, with those that stand for what it reads and looks at.
pub(crate) const BYTES: usize = 256 << 20;
/// Steps beside, for each byte of a conversation that is given from outside.
pub(crate) const STEPS_PER_GIVEN: u64 = 40;
/// So many bytes of a chat template are compiled in the time of a step.
pub(crate) const BYTES_COMPILED_IN_A_STEP: u64 = 2;
/// So many bytes are made in the time of a step.
pub(crate) const BYTES_IN_A_STEP: usize = 64;

/// The work that may still be done, shared by all who hold a copy.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Option<Arc<Account>>);

#[derive(Debug)]
struct Account {
    left: AtomicU64,
    /// The budget that this is a part of.
    whole: Budget,
}

impl Budget {
    /// A budget for one question from outside.
    pub(crate) fn of_question() -> Budget {
        Budget::unlimited().part(QUESTION)
    }

    /// A budget for mending a template.
    pub(crate) fn of_mending() -> Budget {
        Budget::unlimited().part(MENDING)
    }

    /// A budget for one question about a text from outside, which takes more the longer it is.
    pub(crate) fn of_text(text: &str) -> Budget {
        let given = STEPS_PER_GIVEN.saturating_mul(text.len() as u64);
        Budget::unlimited().part(QUESTION.saturating_add(given))
    }

    /// Work without a limit, for those who count it elsewhere.
    pub(crate) fn unlimited() -> Budget {
        Budget(None)
    }

    /// At most so many steps of this budget.
    pub(crate) fn part(&self, steps: u64) -> Budget {
        Budget(Some(Arc::new(Account {
            left: AtomicU64::new(steps),
            whole: self.clone(),
        })))
    }

    /// The steps that are left.
    pub(crate) fn left(&self) -> u64 {
        match &self.0 {
            Some(account) => account
                .left
                .load(Ordering::Relaxed)
                .min(account.whole.left()),
            None => u64::MAX,
        }
    }

    /// Returns `true` if nothing is left.
    pub(crate) fn is_spent(&self) -> bool {
        self.left() == 0
    }

    /// Takes steps that have been done, or are about to be; at most what is left.
    pub(crate) fn spend(&self, steps: u64) {
        let mut budget = self;
        while let Some(account) = &budget.0 {
            // Nothing else depends on it, and of several threads that spend at once each has its turn.
            let _ = account
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    Some(left.saturating_sub(steps))
                });
            budget = &account.whole;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_draws_from_the_whole() {
        let whole = Budget::unlimited().part(100);
        let (one, other) = (whole.part(60), whole.part(60));
        one.spend(50);
        assert_eq!((one.left(), other.left(), whole.left()), (10, 50, 50));
        other.spend(70);
        assert_eq!((one.left(), other.left(), whole.left()), (0, 0, 0));
        assert!(one.is_spent() && whole.is_spent());
    }

    #[test]
    fn what_has_no_limit_is_never_spent() {
        let budget = Budget::unlimited();
        budget.spend(u64::MAX);
        assert!(!budget.is_spent());
    }
}
