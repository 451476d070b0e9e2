//! The state of the workbench: all that is shown follows from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unjinja::check::Case;
use unjinja::{ResponseTemplate, Tools};

use super::conversation::OpenedConversation;
use super::layout::{Areas, Pane};
use super::loaded::{Loaded, LoadedFormat, OpenError, TemplatePlace};
use super::message::{Effect, FileChange, Keep};
use super::sample::{Origin, Sample, Verdict};
use super::style::Styles;
use super::tokens::ModelTokens;
use unjinja_replay::Chunking;
use unjinja_replay::{Position, Replay, Spot, Waiting};

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
    pub(crate) format: Option<Arc<LoadedFormat>>,
    pub(crate) conversations: Vec<Arc<OpenedConversation>>,
    /// Why the files that were opened can't be loaded any more: what was there before stays in use.
    pub(crate) trouble: Option<OpenError>,

    pub(crate) samples: Vec<Sample>,
    pub(crate) selected: usize,
    /// Which loading of the template the samples are tried with.
    pub(crate) generation: u64,
    /// What was known of the samples before that, and why they are tried anew.
    pub(crate) before: Option<Before>,
    /// Whether nobody has done anything yet: then what fails is shown first.
    pub(crate) is_untouched: bool,
    /// The tools that were given for texts that are typed.
    pub(crate) tools: Tools,

    pub(crate) chunking: Chunking,
    /// What stays whole in pieces like those of the model.
    pub(crate) tokens: ModelTokens,
    /// How long the pieces are where that can be chosen, and what chance goes by.
    pub(crate) length: usize,
    pub(crate) seed: u64,

    pub(crate) replay: Replay,
    /// The one before, which takes a while to be freed.
    pub(crate) outworn: Option<Replay>,
    pub(crate) at: Position,
    /// Where to go as soon as so much has been read.
    pub(crate) goal: Option<Goal>,
    /// Where the stream was when the text was cut otherwise: cut again, it is still the place.
    pub(crate) stay: Option<Spot>,
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
    /// Whether the chunks of regions that have closed stand on rows of their own.
    pub(crate) unfolded: bool,
    pub(crate) screen: Screen,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) search: Option<String>,
    /// Where the stream was when the search began that is being typed, and what was searched for.
    pub(crate) before_search: Option<(Position, Option<String>)>,
    /// What has been found of what is being typed.
    pub(crate) found: Found,
    pub(crate) notice: Option<Notice>,
    /// All news, the last of them at the end.
    pub(crate) news: Vec<Notice>,
    /// What can be taken back, the last of it at the end.
    pub(crate) done: Vec<Undo>,
    /// Why what was opened is loaded anew, where that is known.
    pub(crate) why_loaded: Option<String>,
    /// How far that is scrolled which is about to be expected.
    pub(crate) preview_scrolled: usize,
    /// The prompt of the sample of which a copy is being changed.
    pub(crate) copied_from: Option<String>,
    /// The name of the case that is being saved.
    pub(crate) saving_as: String,
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
    Spot(Spot),
    End,
}

/// What a search has found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The places in the text and its events, and the number of the one that is shown, from 1.
    pub(crate) places: usize,
    pub(crate) shown: usize,
    /// The samples of such a name.
    pub(crate) names: usize,
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
    /// A conversation that was opened: its number, and the byte at its top.
    Conversation {
        number: usize,
        top: usize,
    },
}

/// What is in front of the screen.
#[derive(Debug, Clone)]
pub(crate) enum Overlay {
    /// The help, scrolled so far.
    Help(usize),
    /// The news, scrolled so far.
    News(usize),
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
    /// A byte of the text to go to.
    Byte,
    /// A text to be replayed.
    Text,
    /// The file for the response template; whether it is to be edited then.
    TemplateFile {
        then_edit: bool,
    },
    /// What the sample is called when what comes out is expected of it.
    Expectation,
    /// What the sample is called as a case.
    CaseName,
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
    pub(crate) weight: Weight,
}

/// How much news matter. An error stays until a key has been pressed or another comes; that nothing has
/// changed takes the place of nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Nothing has changed.
    Aside,
    /// Something was done.
    News,
    /// Something can't be done like this.
    Warning,
    /// Something has failed.
    Error,
}

/// So many news are kept.
const NEWS: usize = 500;

/// What was known of the samples before they were tried anew.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    /// Why they are tried anew.
    pub(crate) cause: String,
    /// Which of them passed, by name.
    pub(crate) passed: Vec<(String, bool)>,
}

/// Something that can be taken back.
#[derive(Debug, Clone)]
pub(crate) enum Undo {
    /// What is expected of a sample, which has this name now.
    Expectation {
        name: String,
        case: Box<Case>,
        was_unsaved: bool,
    },
    /// A change of a file, and the case that was saved by it.
    File {
        change: FileChange,
        case: Option<Box<Case>>,
    },
}

impl Workbench {
    /// A workbench for a terminal of so many columns and rows. Texts that are not in the files
    /// that were opened come along.
    pub fn new(loaded: Loaded, others: Vec<Sample>, size: (u16, u16)) -> Workbench {
        // Who has given texts wants to see those.
        let is_untouched = others.is_empty();
        let mut samples = others;
        samples.extend(loaded.samples);
        if samples.is_empty() {
            samples.push(Sample::stand_in());
        }
        let chunking = chunking_of(&samples[0], Chunking::Tokens);
        let tokens = ModelTokens::new(&loaded.tokens, loaded.tokenizer);
        let replay = samples[0].replay(&loaded.template, chunking, &tokens);
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
            screen: Screen::Replay,
            conversations: loaded.conversations,
            trouble: None,
            samples,
            selected: 0,
            generation: 0,
            before: None,
            is_untouched,
            tools: Tools::none(),
            chunking,
            tokens,
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
            unfolded: false,
            overlay: None,
            search: None,
            before_search: None,
            found: Found::default(),
            notice: None,
            news: Vec::new(),
            done: Vec::new(),
            why_loaded: None,
            preview_scrolled: 0,
            copied_from: None,
            saving_as: String::new(),
            fixture: None,
            is_leaving: false,
            effects: Vec::new(),
        };
        workbench.judge();
        workbench.read_on(true);
        workbench.open_conversations();
        if let Some(trouble) = loaded.tokenizer_trouble {
            workbench.announce(trouble, Weight::Error);
        }
        let comes_beside =
            |(number, sample): (usize, &Sample)| number != workbench.selected && sample.is_live;
        if workbench.samples.iter().enumerate().any(comes_beside) {
            workbench.notify("what comes in by the standard input is a sample of its own: `}`");
        }
        if workbench.sample().is_stand_in() && workbench.conversations.is_empty() {
            workbench.notify(
                "there is no text yet: `t` takes one, and so does a file behind the template",
            );
        }
        workbench
    }

    /// Shows the conversations where they are what was asked for, or all that there is; elsewhere it is said that
    /// they are there.
    fn open_conversations(&mut self) {
        let fails = |conversation: &&Arc<OpenedConversation>| conversation.passed == Some(false);
        let failing = self.conversations.iter().filter(fails).count();
        let are_cases = |conversation: &Arc<OpenedConversation>| conversation.passed.is_some();
        if !self.conversations.iter().any(are_cases) || self.sample().is_stand_in() {
            return self.show_first_conversation();
        }
        let count = self.conversations.len();
        match failing {
            0 => self.notify(format!(
                "the conversations of the fixture, {count}: `v` shows them"
            )),
            _ => self.warn(format!(
                "{failing} of {count} conversations of the fixture: not as expected, `v` shows them"
            )),
        }
    }

    /// Shows the first conversation that fails, or else the first of all, if there is one.
    pub(crate) fn show_first_conversation(&mut self) {
        let mut conversations = self.conversations.iter();
        let failing = conversations.position(|conversation| conversation.passed == Some(false));
        if !self.conversations.is_empty() {
            let number = failing.unwrap_or(0);
            self.screen = Screen::Conversation { number, top: 0 };
        }
    }

    /// The same without colours.
    pub fn without_colours(mut self) -> Workbench {
        self.styles = Styles { colours: false };
        self
    }

    /// The same with tools for texts that are typed.
    pub fn with_tools(mut self, tools: Tools) -> Workbench {
        self.tools = tools;
        self
    }

    /// The same with something at the bottom that one should know.
    pub fn with_warning(mut self, words: impl Into<String>) -> Workbench {
        self.announce(words, Weight::Error);
        self
    }

    /// Where everything stands.
    pub(crate) fn areas(&self) -> Areas {
        self.areas_of(self.size)
    }

    /// Where everything stands on a screen of some size.
    pub(crate) fn areas_of(&self, size: (u16, u16)) -> Areas {
        let zoomed = self.zoomed.then_some(self.focus);
        Areas::of(size, zoomed, self.focus, self.other)
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
            Some(Goal::Spot(spot)) if self.replay.has_unread() => {
                self.replay.chunks_up_to(spot.byte)
            }
            Some(Goal::End) if self.replay.has_unread() => self.replay.chunks() + 1,
            _ => self.at.fed,
        }
    }

    /// The number of the chunk that an event came with, and when that came in, if it was measured.
    pub(crate) fn chunk_of(&self, event: usize) -> (usize, Option<Duration>) {
        let chunk = self.replay.chunk_of_event(event);
        (chunk, self.replay.arrival(chunk))
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

    /// Whether texts are read elsewhere, of which nothing is known yet.
    pub fn is_judging(&self) -> bool {
        self.samples
            .iter()
            .any(|sample| sample.verdict == Verdict::Pending && !sample.is_live)
    }

    pub(crate) fn notify(&mut self, text: impl Into<String>) {
        self.announce(text, Weight::News);
    }

    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.announce(text, Weight::Warning);
    }

    pub(crate) fn announce(&mut self, text: impl Into<String>, weight: Weight) {
        let text = text.into();
        let notice = Notice { text, weight };
        if self.news.len() == NEWS {
            self.news.remove(0);
        }
        self.news.push(notice.clone());
        let shown = self.notice.as_ref().map(|shown| shown.weight);
        let gives_way = |shown| match shown {
            Weight::Aside => true,
            Weight::News | Weight::Warning => weight >= Weight::News,
            Weight::Error => weight == Weight::Error,
        };
        if shown.is_none_or(gives_way) {
            self.notice = Some(notice);
        }
    }
}

/// A live text comes as it comes; others have no such way, and those that do not fail when they are
/// cut have no such cut.
pub(crate) fn chunking_of(sample: &Sample, wanted: Chunking) -> Chunking {
    match wanted {
        _ if sample.is_live => Chunking::AsItCame,
        Chunking::AsItCame if sample.origin != Origin::Live => Chunking::Tokens,
        Chunking::AsItFails if sample.verdict.failing_places().is_none() => Chunking::Tokens,
        wanted => wanted,
    }
}
