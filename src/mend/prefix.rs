//! Whether the text of a conversation stays as it is when the conversation goes on.

use crate::analysis::conversations::ProbeConversation;
use crate::chat_template::{RenderInput, Renderer};
use crate::value::Value;

use super::case::{Case, Judge, Rendered, rendered};

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

/// A conversation that grows, and what is asked of it where this one speaks after turns.
pub(super) fn case(
    conversation: &ProbeConversation,
    follower: Follower,
    renderer: &Renderer<'_>,
) -> Option<Case> {
    let stops = stops(conversation);
    let inputs = stops
        .iter()
        .map(|stop| conversation.before(stop.count, stop.is_prompt));
    let inputs: Vec<RenderInput> = inputs.collect();
    let texts = inputs.iter().map(|input| rendered(renderer, input));
    let before: Vec<Rendered> = texts.collect::<Option<_>>()?;
    let growth = Growth {
        stops,
        before: before.clone(),
    };
    let other = match follower {
        Follower::Tool => Follower::User,
        Follower::User => Follower::Tool,
    };
    let case = |judge: Judge| Case::new(inputs.clone(), before.clone()).judged(judge);
    Some(
        match (growth.departure(follower), growth.departure(other)) {
            (Some(pair), _) => {
                case(Box::new(move |after| growth.is_mended(follower, after))).faulty(pair)
            }
            // What mends one may mend the other, too.
            (None, Some(_)) => case(Box::new(move |after| {
                growth.before == after || growth.is_mended(other, after)
            })),
            (None, None) => Case::new(inputs, before),
        },
    )
}

/// A conversation that grows, and its texts as the template has written them.
struct Growth {
    stops: Vec<Stop>,
    before: Vec<Rendered>,
}

impl Growth {
    /// The stops where this one speaks after a turn, by number; with that turn's.
    fn followed(&self, follower: Follower) -> impl Iterator<Item = (usize, usize)> {
        let stops = self.stops.iter().enumerate();
        stops.filter_map(move |(number, stop)| {
            let turn = stop.turn.filter(|_| stop.follower == follower)?;
            Some((turn, number))
        })
    }

    /// The first two stops of which the second does not begin as the first.
    fn departure(&self, follower: Follower) -> Option<[usize; 2]> {
        let mut followed = self.followed(follower);
        let (turn, stop) = followed.find(|&(turn, stop)| !begins(&self.before, turn, stop))?;
        Some([turn, stop])
    }

    /// Whether each text begins with that of the turn before, and is otherwise as it was: up to the end of the first
    /// turn, behind what was said last, and between turns and what is said behind them.
    fn is_mended(&self, follower: Follower, after: &[Rendered]) -> bool {
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
        let mut followed = self.followed(follower);
        stays
            && followed
                .all(|(turn, stop)| begins(after, turn, stop) && self.joins(after, turn, stop))
    }

    /// Whether what stands between a turn and what is said behind it was written there before.
    fn joins(&self, after: &[Rendered], turn: usize, stop: usize) -> bool {
        let (Some(before), Some(text)) = (&self.before[stop], &after[stop]) else {
            return true;
        };
        let stop = &self.stops[stop];
        let turn = after[turn].as_deref().unwrap_or_default();
        let joint = stop.head(text).and_then(|head| head.strip_prefix(turn));
        match (stop.head(before), joint) {
            (Some(head), Some(joint)) => head.ends_with(joint),
            _ => false,
        }
    }
}

/// Whether one text begins with another, as far as both are rendered.
fn begins(texts: &[Rendered], turn: usize, stop: usize) -> bool {
    match (&texts[turn], &texts[stop]) {
        (Some(turn), Some(text)) => text.starts_with(turn.as_str()),
        _ => true,
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
