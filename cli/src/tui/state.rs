//! The state of the workbench: all that is shown follows from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unjinja::ResponseTemplate;

use super::chunking::Chunking;
use super::conversation::OpenedConversation;
use super::layout::{Areas, Pane};
use super::loaded::{Format, Loaded, OpenError, TemplatePlace};
use super::message::{Effect, Keep};
use super::replay::{Place, Replay, Waiting};
use super::sample::{Origin, Sample, Verdict};
use super::style::Styles;

/// So much of a text is read at once while a key waits for an answer, in bytes and what feeding takes
/// besides.
pub(crate) const READ_BY_THE_WAY: usize = 1 << 16;

/// And so much where nobody waits.
pub(crate) const READ_AT_ONCE: usize = 1 << 19;

/// So many chunks a second can be played.
pub(crate) const SPEEDS: [u32; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// The workbench: a state that changes by [`update`](Workbench::update), and is shown by
/// [`draw`](super::draw).
#[derive(Debug)]
pub struct Workbench {
    /// The columns and rows of the terminal.
    pub(crate) size: (u16, u16),
    pub(crate) styles: Styles,
    pub(crate) name: String,
    pub(crate) template: ResponseTemplate,
    pub(crate) place: TemplatePlace,
    /// The files of which changes are to be noticed.
    pub(crate) files: Vec<PathBuf>,
    /// A file with a response template that is used in place of the one that was opened.
    pub(crate) adopted: Option<PathBuf>,
    /// The number of the candidate in use, where the template was derived.
    pub(crate) candidate: Option<usize>,
    pub(crate) format: Option<Arc<Format>>,
    pub(crate) conversation: Option<Arc<OpenedConversation>>,
    /// Why the files that were opened can't be loaded any more: what was there before stays in use.
    pub(crate) trouble: Option<OpenError>,

    pub(crate) samples: Vec<Sample>,
    pub(crate) selected: usize,
    /// Which loading of the template the samples are tried with.
    pub(crate) generation: u64,
    /// Which samples passed before that, by name.
    pub(crate) before: Vec<(String, bool)>,

    pub(crate) chunking: Chunking,
    /// How long the pieces are where that can be chosen, and what chance goes by.
    pub(crate) length: usize,
    pub(crate) seed: u64,

    pub(crate) replay: Replay,
    /// The one before, which takes a while to be freed.
    pub(crate) outworn: Option<Replay>,
    pub(crate) at: Place,
    /// Where to go as soon as so much has been read.
    pub(crate) goal: Option<Goal>,
    /// How much had been fed when the text was cut otherwise: cut again, it is still the place.
    pub(crate) stay: Option<usize>,
    /// What the parser waits for at the place.
    pub(crate) waiting: Option<Waiting>,
    pub(crate) playing: bool,
    /// The number of the speed.
    pub(crate) speed: usize,
    /// The time that has gone by since the last step of playing.
    pub(crate) since_step: Duration,

    pub(crate) focus: Pane,
    /// The pane that is shown with the text where there is no room for all.
    pub(crate) other: Pane,
    pub(crate) zoomed: bool,
    /// How far each pane has been scrolled; those that have not show what matters.
    pub(crate) scrolled: [Option<usize>; 6],
    pub(crate) screen: Screen,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) search: Option<String>,
    pub(crate) notice: Option<Notice>,
    /// The fixture that a text was saved in last.
    pub(crate) fixture: Option<PathBuf>,
    /// Whether a notice has said what would be lost by leaving.
    pub(crate) is_leaving: bool,
    /// What wants to be done.
    pub(crate) effects: Vec<Effect>,
}

/// A place that has yet to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Where so many bytes have been fed.
    Byte(usize),
    End,
}

/// What fills the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Replay,
    /// The findings and the candidates: the number of the row that is chosen, and how far its
    /// details have been scrolled.
    Findings {
        row: usize,
        scrolled: usize,
    },
    /// The conversation that was opened: the byte at its top.
    Conversation {
        top: usize,
    },
}

/// What is in front of the screen.
#[derive(Debug, Clone)]
pub(crate) enum Overlay {
    /// The help, scrolled so far.
    Help(usize),
    Ask(Question),
    /// A file is there already.
    Confirm(Confirm),
}

/// Something that is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) about: About,
    pub(crate) text: String,
    /// Where the next letter goes.
    pub(crate) cursor: usize,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Search,
    /// How many bytes a piece has.
    Length,
    /// A text to be replayed.
    Text,
    /// The file for the response template; whether it is to be edited then.
    TemplateFile {
        then_edit: bool,
    },
    /// The fixture for the sample.
    FixtureFile,
}

/// Something that is done only if it is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Confirm {
    pub(crate) question: String,
    pub(crate) keep: Keep,
}

/// Something to be shown at the bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) is_bad: bool,
}

impl Workbench {
    /// A workbench for a terminal of so many columns and rows. Texts that are not in the files
    /// that were opened come along.
    pub fn new(loaded: Loaded, others: Vec<Sample>, size: (u16, u16)) -> Workbench {
        let mut samples = others;
        samples.extend(loaded.samples);
        if samples.is_empty() {
            samples.push(Sample::stand_in());
        }
        let chunking = chunking_of(&samples[0], Chunking::Tokens);
        let replay = samples[0].replay(&loaded.template, chunking);
        let mut workbench = Workbench {
            size,
            styles: Styles { colours: true },
            name: loaded.name,
            candidate: (loaded.place == TemplatePlace::Derived).then_some(0),
            template: loaded.template,
            place: loaded.place,
            files: loaded.files,
            adopted: None,
            format: loaded.format,
            screen: match &loaded.conversation {
                Some(_) => Screen::Conversation { top: 0 },
                None => Screen::Replay,
            },
            conversation: loaded.conversation,
            trouble: None,
            samples,
            selected: 0,
            generation: 0,
            before: Vec::new(),
            chunking,
            length: 4,
            seed: 0,
            at: replay.first(),
            replay,
            outworn: None,
            goal: Some(Goal::End),
            stay: None,
            waiting: None,
            playing: false,
            speed: 4,
            since_step: Duration::ZERO,
            focus: Pane::Text,
            other: Pane::Message,
            zoomed: false,
            scrolled: [None; 6],
            overlay: None,
            search: None,
            notice: None,
            fixture: None,
            is_leaving: false,
            effects: Vec::new(),
        };
        workbench.judge();
        workbench.read_on(true);
        workbench
    }

    /// The same without colours.
    pub fn without_colours(mut self) -> Workbench {
        self.styles = Styles { colours: false };
        self
    }

    /// Where everything stands.
    pub(crate) fn areas(&self) -> Areas {
        self.areas_of(self.size)
    }

    /// Where everything stands on a screen of some size.
    pub(crate) fn areas_of(&self, size: (u16, u16)) -> Areas {
        Areas::of(size, self.zoomed.then_some(self.focus), self.other)
    }

    pub(crate) fn sample(&self) -> &Sample {
        &self.samples[self.selected]
    }

    /// How many chunks a second are played.
    pub(crate) fn chunks_a_second(&self) -> u32 {
        SPEEDS[self.speed]
    }

    /// How many chunks have been fed at the place, or will have been where it is to go.
    pub(crate) fn fed(&self) -> usize {
        match self.goal {
            Some(Goal::Byte(byte)) if self.replay.has_unread() => self.replay.chunks_up_to(byte),
            Some(Goal::End) if self.replay.has_unread() => self.replay.chunks() + 1,
            _ => self.at.fed,
        }
    }

    /// When an event came: as it was measured, or at the speed at which the text is played.
    pub(crate) fn time_of(&self, event: usize) -> Duration {
        let chunk = self.replay.chunk_of_event(event);
        let played = Duration::from_secs(1) / self.chunks_a_second() * chunk as u32;
        self.replay.arrival(chunk).unwrap_or(played)
    }

    /// Whether something goes on without any key.
    pub fn is_busy(&self) -> bool {
        self.playing || self.goal.is_some() || self.replay.is_live() || self.is_judging()
    }

    /// How long nothing changes by itself; nothing, if that never happens unless a message comes.
    pub fn rest(&self) -> Option<Duration> {
        if self.is_reading() || self.outworn.is_some() {
            return Some(Duration::ZERO);
        }
        let pause = Duration::from_secs(1) / self.chunks_a_second();
        self.playing.then(|| pause.saturating_sub(self.since_step))
    }

    /// Whether some of the text has yet to be read.
    pub(crate) fn is_reading(&self) -> bool {
        self.replay.has_unread()
    }

    /// The file with the response template that is used in place of the one that was opened.
    pub fn adopted(&self) -> Option<&Path> {
        self.adopted.as_deref()
    }

    /// The files that were opened, and those that they name: when one of them changes, all is to be
    /// loaded anew.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Where the response template in use comes from.
    pub fn template_place(&self) -> &TemplatePlace {
        &self.place
    }

    pub(crate) fn is_judging(&self) -> bool {
        self.samples
            .iter()
            .any(|sample| sample.verdict == Verdict::Pending && !sample.is_live)
    }

    pub(crate) fn notify(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            is_bad: false,
        });
    }

    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            is_bad: true,
        });
    }
}

/// A live text comes as it comes; others have no such way.
pub(crate) fn chunking_of(sample: &Sample, wanted: Chunking) -> Chunking {
    match (sample.is_live, wanted) {
        (true, _) => Chunking::AsItCame,
        (false, Chunking::AsItCame) if sample.origin != Origin::Live => Chunking::Tokens,
        (false, wanted) => wanted,
    }
}
