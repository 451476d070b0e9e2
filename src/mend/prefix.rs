//! Whether the text of a conversation stays as it is when the conversation goes on.

use std::rc::Rc;

use crate::analysis::conversations::ProbeConversation;
use crate::chat_template::{RenderInput, Renderer};
use crate::value::Value;

use super::case::{Case, Patience, Rendered};

/// Who speaks after a turn of the assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follower {
    Tool,
    User,
}

/// A conversation up to one of its messages.
struct Stop {
    /// How many messages there are.
    count: usize,
    /// The turn of the assistant before what was said last, by its stop.
    turn: Option<usize>,
    /// Whose words stand between that turn and the end.
    follower: Follower,
    is_prompt: bool,
    /// The words of what was said behind that turn, but for a turn that ends it.
    words: Vec<String>,
}

/// The conversation at the ends of turns, and at the prompts for them.
fn stops(conversation: &ProbeConversation) -> Vec<Stop> {
    let messages = &conversation.messages;
    let roles = conversation.input.messages.as_array().into_iter().flatten();
    let roles = roles.map(|message| message.get("role").and_then(Value::as_str));
    let roles: Vec<Option<&str>> = roles.collect();
    let mut stops: Vec<Stop> = Vec::new();
    let mut turn = None;
    let mut follower = Follower::Tool;
    let mut words: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let is_last = index + 1 == messages.len();
        let next = messages.get(index + 1);
        if !message.is_assistant {
            words.extend(message.words.iter().cloned());
            if roles.get(index).copied().flatten() == Some("user") {
                follower = Follower::User;
            }
        }
        if !message.is_assistant && !is_last && next.is_some_and(|next| !next.is_assistant) {
            continue;
        }
        for is_prompt in [false, true] {
            if is_prompt && message.is_assistant {
                continue;
            }
            stops.push(Stop {
                count: index + 1,
                turn,
                follower,
                is_prompt,
                words: words.clone(),
            });
        }
        if message.is_assistant {
            turn = Some(stops.len() - 1);
            follower = Follower::Tool;
            words.clear();
        }
    }
    stops
}

/// The cases of some conversations, if there are followers of this kind.
pub(super) fn case(
    conversation: &ProbeConversation,
    follower: Follower,
    renderer: &Renderer<'_>,
    patience: Patience,
) -> Option<Case> {
    let stops = stops(conversation);
    let inputs = stops
        .iter()
        .map(|stop| conversation.before(stop.count, stop.is_prompt));
    let inputs: Vec<RenderInput> = inputs.collect();
    let texts = inputs.iter().map(|input| patience.render(renderer, input));
    let before: Vec<Rendered> = texts.collect::<Option<_>>()?;
    let growth = Growth {
        stops,
        before: before.clone(),
        follower,
    };
    let growth = Rc::new(growth);
    let departure = growth.departure();
    let is_faulty = departure.is_some();
    let judge = is_faulty.then(|| {
        let judge: Box<dyn Fn(&[Rendered]) -> bool> =
            Box::new(move |after| growth.is_mended(after));
        judge
    });
    Some(Case::new(inputs, before, judge).differing(departure))
}

/// A conversation that grows, and its texts as the template has written them.
struct Growth {
    stops: Vec<Stop>,
    before: Vec<Rendered>,
    follower: Follower,
}

impl Growth {
    /// The stops with the turn before them, where it is to be kept.
    fn kept<'g>(
        &'g self,
        texts: &'g [Rendered],
    ) -> impl Iterator<Item = (&'g Stop, &'g str, &'g str)> {
        self.stops.iter().zip(texts).filter_map(|(stop, text)| {
            let turn = stop.turn.filter(|_| stop.follower == self.follower)?;
            Some((stop, texts[turn].as_deref()?, text.as_deref()?))
        })
    }

    /// The first two stops of which the second does not begin as the first.
    fn departure(&self) -> Option<[usize; 2]> {
        let mut stops = self.stops.iter().enumerate();
        stops.find_map(|(index, stop)| {
            let turn = stop.turn.filter(|_| stop.follower == self.follower)?;
            let (Some(before), Some(after)) = (&self.before[turn], &self.before[index]) else {
                return None;
            };
            (!after.starts_with(before.as_str())).then_some([turn, index])
        })
    }

    /// Whether each text begins with that of the turn before.
    fn keeps(&self, texts: &[Rendered]) -> bool {
        self.kept(texts)
            .all(|(_, turn, text)| text.starts_with(turn))
    }

    /// Whether each text begins with that of the turn before, and is otherwise as it was: up to the end of the first
    /// turn, behind what was said last, and between turns and what is said behind them.
    fn is_mended(&self, after: &[Rendered]) -> bool {
        let stays =
            self.stops
                .iter()
                .zip(&self.before)
                .zip(after)
                .all(|((stop, before), after)| {
                    let (Some(before), Some(after)) = (before, after) else {
                        return before.is_none() && after.is_none();
                    };
                    match stop.turn {
                        None => before == after,
                        Some(_) => {
                            let tail = stop.tail(before);
                            tail.is_some() && tail == stop.tail(after)
                        }
                    }
                });
        stays && self.keeps(after) && self.joints_are_known(after)
    }

    /// Whether what stands between turns and what is said behind them was written there before.
    fn joints_are_known(&self, after: &[Rendered]) -> bool {
        let mut both = self.stops.iter().zip(&self.before).zip(after);
        both.all(|((stop, before), text)| {
            let turn = stop.turn.filter(|_| stop.follower == self.follower);
            let turn = turn.and_then(|turn| after[turn].as_deref());
            let (Some(turn), Some(before), Some(text)) = (turn, before, text) else {
                return true;
            };
            let joint = stop.head(text).and_then(|head| head.strip_prefix(turn));
            match (stop.head(before), joint) {
                (Some(head), Some(joint)) => head.ends_with(joint),
                _ => false,
            }
        })
    }
}

impl Stop {
    /// Where begins what was said behind the turn before.
    fn said(&self, text: &str) -> Option<usize> {
        self.words.iter().filter_map(|word| text.find(word)).min()
    }

    fn head<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(&text[..self.said(text)?])
    }

    fn tail<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(&text[self.said(text)?..])
    }
}
