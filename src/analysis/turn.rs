//! Where the assistant's turn begins, and what ends it.

use std::collections::HashSet;

use super::asking::{Asking, Mode, Said, Scene};
use super::markers::{self, common_prefix, common_suffix};

/// How a turn of the assistant begins and ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnShape {
    /// The texts after which the assistant's turn begins: one, or several where it depends on what
    /// came before.
    pub headers: Vec<String>,
    /// The markers that end a turn.
    pub ends: Vec<String>,
}

impl TurnShape {
    /// The part of a prompt that stands after the last header.
    pub(crate) fn begun<'p>(&self, prompt: &'p str) -> &'p str {
        let headers = self.headers.iter();
        let ends = headers.filter_map(|header| Some(prompt.rfind(header)? + header.len()));
        &prompt[ends.max().unwrap_or(0)..]
    }
}

/// What stands between the message before a turn and the turn, in a scene and a mode.
#[derive(Debug, Clone)]
struct Opening {
    scene: Scene,
    mode: Mode,
    /// In a conversation that goes on with the turn.
    header: String,
    /// In a prompt. Some templates say more there.
    in_prompt: String,
}

/// What stands before the turn in all scenes that the template can render.
#[derive(Debug, Clone)]
pub(crate) struct Openings(Vec<Opening>);

const SCENES: [Scene; 3] = [Scene::Question, Scene::SecondQuestion, Scene::AfterTool];
pub(crate) const MODES: [Mode; 3] = [Mode::Unset, Mode::On, Mode::Off];

impl Openings {
    /// Finds what the prompt and the turns of a scene have in common. The first of the turns is
    /// one of text alone, which is the word.
    pub(crate) fn of(asking: &Asking<'_>, turns: &[Said], word: &str) -> Openings {
        let mut openings = Vec::new();
        for scene in SCENES {
            let modes = MODES.iter();
            let mut found: Vec<Opening> = modes
                .filter_map(|&mode| Opening::of(asking, turns, word, scene, mode))
                .collect();
            cut_to_shortest(&mut found);
            openings.extend(found);
        }
        Openings(openings)
    }

    /// What stands before a turn in a scene and a mode.
    pub(crate) fn header(&self, scene: Scene, mode: Mode) -> &str {
        let of_scene = || self.0.iter().filter(|opening| opening.scene == scene);
        let exact = of_scene().find(|opening| opening.mode == mode);
        let found = exact.or_else(|| of_scene().next());
        found.map_or("", |opening| opening.header.as_str())
    }

    /// The turn itself, out of all that follows the message before it.
    pub(crate) fn body<'a>(&self, tail: &'a str, scene: Scene, mode: Mode) -> &'a str {
        &tail[common_prefix(self.header(scene, mode), tail)..]
    }

    /// Whether prompts say more before a turn than conversations do.
    pub(crate) fn differ(&self, scene: Scene, mode: Mode) -> bool {
        let mut of_scene = self.0.iter().filter(|opening| opening.scene == scene);
        of_scene.any(|opening| opening.mode == mode && opening.header != opening.in_prompt)
    }

    /// Takes what opens reasoning out of what stands before turns.
    pub(crate) fn shorten(&mut self, open: &str) {
        for opening in &mut self.0 {
            for header in [&mut opening.header, &mut opening.in_prompt] {
                if let Some(at) = header.rfind(open) {
                    header.truncate(at);
                }
            }
        }
    }

    /// What prompts write of the turn after its header.
    pub(crate) fn prompt_remainders(&self, asking: &Asking<'_>, scenes: &[Scene]) -> Vec<String> {
        let mut remainders = Vec::new();
        for opening in self
            .0
            .iter()
            .filter(|opening| scenes.contains(&opening.scene))
        {
            let Ok(prompt) = asking.prompt(opening.scene, opening.mode) else {
                continue;
            };
            let rest = prompt.tail().strip_prefix(opening.in_prompt.as_str());
            remainders.extend(rest.map(str::to_owned));
        }
        remainders.sort_unstable();
        remainders.dedup();
        remainders
    }

    pub(crate) fn all_prompt_remainders(&self, asking: &Asking<'_>) -> Vec<String> {
        self.prompt_remainders(asking, &SCENES)
    }

    /// The shortest texts that tell where a turn begins, in all scenes.
    pub(crate) fn headers(&self, asking: &Asking<'_>) -> Vec<String> {
        let mut headers: Vec<String> = Vec::new();
        for opening in &self.0 {
            let header = own_header(asking, opening);
            if !header.is_empty() && !headers.contains(&header) {
                headers.push(header);
            }
        }
        // One that ends like another says no more than that.
        let all = headers.clone();
        headers.retain(|header| {
            let shorter = |other: &String| other != header && header.ends_with(other.as_str());
            !all.iter().any(shorter)
        });
        headers
    }
}

impl Opening {
    fn of(
        asking: &Asking<'_>,
        turns: &[Said],
        word: &str,
        scene: Scene,
        mode: Mode,
    ) -> Option<Opening> {
        let prompt = asking.prompt(scene, mode).ok()?;
        let mut header = prompt.tail().to_owned();
        // After a tool's answer some templates begin one kind of turn and go on with another: the
        // text says where the turn begins.
        let turns = match scene {
            Scene::AfterTool => &turns[..1],
            Scene::Question | Scene::SecondQuestion => turns,
        };
        let tails = turns.iter().map(|said| asking.turn(scene, said, mode).ok());
        let tails: Vec<_> = tails.collect();
        for turn in tails.iter().flatten() {
            header.truncate(common_prefix(&header, turn.tail()));
        }
        let same = |header: String| Opening {
            scene,
            mode,
            in_prompt: header.clone(),
            header,
        };
        // A prompt that says something else before the turn has only the end in common.
        let text = tails
            .first()?
            .as_ref()
            .and_then(|turn| turn.tail().split_once(word));
        let Some((ahead, _)) = text else {
            return Some(same(header));
        };
        let end = shared_end(ahead, prompt.tail());
        let begins_alike = prompt.tail().len() - header.len() <= end.len();
        if begins_alike || markers::markers(end).next().is_none() {
            return Some(same(header));
        }
        Some(Opening {
            scene,
            mode,
            header: ahead.to_owned(),
            in_prompt: prompt.tail().to_owned(),
        })
    }
}

/// Cuts the headers of one scene to what they have in common: where thinking is off, all turns may
/// begin with reasoning that is closed at once.
fn cut_to_shortest(openings: &mut [Opening]) {
    let shortest = openings.iter().map(|opening| opening.header.as_str());
    let Some(shortest) = shortest
        .min_by_key(|header| header.len())
        .map(str::to_owned)
    else {
        return;
    };
    if shortest.trim().is_empty() {
        return;
    }
    for opening in openings {
        for header in [&mut opening.header, &mut opening.in_prompt] {
            if let Some(at) = header.rfind(&shortest) {
                header.truncate(at + shortest.len());
            }
        }
    }
}

/// The part of what stands before a turn that belongs to the turn and not to the message before.
fn own_header(asking: &Asking<'_>, opening: &Opening) -> String {
    let header = opening.in_prompt.as_str();
    let before = asking
        .no_prompt(opening.scene, opening.mode)
        .map(|turn| turn.tail().to_owned())
        .unwrap_or_default();
    let own = header.strip_prefix(before.as_str());
    if let Some(own) = own.filter(|own| !own.trim().is_empty() && own.len() < header.len()) {
        return own.trim_start().to_owned();
    }
    // The turn begins where the message before it ends: its last marker tells.
    let pieces = markers::pieces(header);
    match pieces.iter().rposition(|piece| markers::is_marker(piece)) {
        Some(last) => pieces[last..].concat(),
        None => header.trim_start().to_owned(),
    }
}

/// The markers that end a turn, from the turn that comes last and from one in the past.
pub(crate) fn ends(
    asking: &Asking<'_>,
    said: &Said,
    word: &str,
    content_close: &[String],
) -> Vec<String> {
    let mut ends = Vec::new();
    let after = |text: &str| {
        text.rfind(word)
            .map(|at| text[at + word.len()..].to_owned())
    };
    let last = asking.turn(Scene::Question, said, Mode::Unset).ok();
    let last = last.and_then(|turn| after(turn.tail())).unwrap_or_default();
    let past = asking.past_turn(Scene::Question, said, Mode::Unset).ok();
    let past = past.and_then(|turn| after(turn.tail())).unwrap_or_default();
    // What closes the content comes before what ends the turn, if anything else ends it.
    let close = content_close.iter().find(|close| {
        let rest = last.trim_start().strip_prefix(close.as_str());
        rest.is_some_and(|rest| !rest.trim().is_empty())
    });
    let beyond = |text: String| {
        let rest = close.and_then(|close| text.trim_start().strip_prefix(close.as_str()));
        rest.map_or_else(|| text.clone(), str::to_owned)
    };
    let (last, past) = (beyond(last), beyond(past));
    let shared = shared_start(&last, &past);
    if shared.trim().is_empty() {
        // Each ends in its own way; the past one perhaps where the next message begins.
        for tail in [&last, &past] {
            ends.extend(markers::markers(tail).next().map(str::to_owned));
        }
        if ends.is_empty() {
            ends.extend(markers::units(&last).into_iter().map(str::to_owned));
        }
    } else {
        ends.extend(markers::units(shared).into_iter().map(str::to_owned));
    }
    dedup(&mut ends);
    ends
}

/// Drops what is empty, and what is there already.
pub(crate) fn dedup(texts: &mut Vec<String>) {
    let mut seen = HashSet::new();
    texts.retain(|text| !text.is_empty() && seen.insert(text.clone()));
}

/// What two texts have in common at their ends, in whole pieces.
pub(crate) fn shared_end<'a>(a: &'a str, b: &str) -> &'a str {
    &a[a.len() - common_suffix(a, b)..]
}

/// What two texts have in common at their beginnings, in whole pieces.
pub(crate) fn shared_start<'a>(a: &'a str, b: &str) -> &'a str {
    &a[..common_prefix(a, b)]
}
