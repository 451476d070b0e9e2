//! An answer as a row of blocks: thoughts, texts and calls in the order in which they come.

use unjinja::completion::Delta;

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Thought(String),
    Text(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

impl Block {
    /// What more of it is appended to.
    fn text_mut(&mut self) -> &mut String {
        match self {
            Block::Thought(text) | Block::Text(text) => text,
            Block::Call { arguments, .. } => arguments,
        }
    }
}

/// What happens to the blocks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// The block of this index begins.
    Open(usize),
    /// More of it has come.
    More(usize, String),
    /// It is whole, or there is no more of it.
    Close(usize),
}

/// The blocks of an answer while it comes.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    all: Vec<Block>,
    is_open: bool,
}

impl Blocks {
    pub(crate) fn all(&self) -> &[Block] {
        &self.all
    }

    pub(crate) fn add(&mut self, delta: &Delta) -> Vec<Step> {
        let mut steps = Vec::new();
        let text = match delta {
            Delta::Reasoning(text) => {
                self.open(Block::Thought(String::new()), &mut steps);
                text
            }
            Delta::Content(text) => {
                self.open(Block::Text(String::new()), &mut steps);
                text
            }
            Delta::Call { id, name, .. } => {
                let call = Block::Call {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: String::new(),
                };
                self.open(call, &mut steps);
                return steps;
            }
            Delta::Arguments { text, .. } => text,
            // The role is known, and these APIs have no place for fields of a format's own.
            _ => return steps,
        };
        if let Some(index) = self.all.len().checked_sub(1)
            && !text.is_empty()
        {
            self.all[index].text_mut().push_str(text);
            steps.push(Step::More(index, text.clone()));
        }
        steps
    }

    /// Opens a block, unless one of that kind is open. A call is always another one.
    fn open(&mut self, block: Block, steps: &mut Vec<Step>) {
        let is_same = matches!(
            (self.all.last(), &block),
            (Some(Block::Thought(_)), Block::Thought(_)) | (Some(Block::Text(_)), Block::Text(_))
        );
        if is_same && self.is_open {
            return;
        }
        steps.extend(self.close());
        self.all.push(block);
        self.is_open = true;
        steps.push(Step::Open(self.all.len() - 1));
    }

    /// Closes what is open.
    pub(crate) fn close(&mut self) -> Option<Step> {
        let is_open = std::mem::take(&mut self.is_open);
        let last = self.all.len().checked_sub(1)?;
        is_open.then_some(Step::Close(last))
    }

    /// Takes the calls out that were cut off and are not handed out: the last ones.
    pub(crate) fn drop_calls(&mut self, ids: impl Iterator<Item = String>) {
        for id in ids {
            self.all
                .retain(|block| !matches!(block, Block::Call { id: known, .. } if *known == id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_in_kind_is_one_block_and_each_call_is_one() {
        let mut blocks = Blocks::default();
        let call = |index: usize| Delta::Call {
            index,
            id: format!("c{index}"),
            name: "f".into(),
        };
        let mut steps = Vec::new();
        for delta in [
            Delta::Role("assistant".into()),
            Delta::Reasoning("a".into()),
            Delta::Reasoning("b".into()),
            Delta::Content("c".into()),
            call(0),
            Delta::Arguments {
                index: 0,
                text: "{}".into(),
            },
            call(1),
        ] {
            steps.extend(blocks.add(&delta));
        }
        steps.extend(blocks.close());
        assert_eq!(blocks.close(), None, "nothing is open any more");
        use Step::{Close, More, Open};
        assert_eq!(
            steps,
            [
                Open(0),
                More(0, "a".into()),
                More(0, "b".into()),
                Close(0),
                Open(1),
                More(1, "c".into()),
                Close(1),
                Open(2),
                More(2, "{}".into()),
                Close(2),
                Open(3),
                Close(3),
            ]
        );
        blocks.drop_calls(["c1".to_owned()].into_iter());
        assert_eq!(blocks.all().len(), 3);
    }
}
