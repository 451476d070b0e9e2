//! Which key does what: one table, from which the help and the line at the bottom are made, too.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::layout::Pane;

/// What a key does while nothing is being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    NextChunk,
    PreviousChunk,
    NextEvent,
    PreviousEvent,
    NextRegion,
    PreviousRegion,
    First,
    Last,
    Play,
    Faster,
    Slower,
    FirstDifference,
    NextChunking,
    PreviousChunking,
    ChunksOfBytes,
    LongerChunks,
    ShorterChunks,
    NewSeed,
    NextSample,
    PreviousSample,
    NextFailure,
    PreviousFailure,
    Top,
    Bottom,
    HalfPageUp,
    HalfPageDown,
    Up,
    Down,
    PageUp,
    PageDown,
    NextPane,
    PreviousPane,
    Show(Pane),
    Zoom,
    Search,
    NextMatch,
    PreviousMatch,
    Findings,
    Choose,
    Type,
    Edit,
    Save,
    Accept,
    Undo,
    Write,
    News,
    Help,
    Back,
    Redraw,
    Suspend,
    Quit,
}

/// A key, and what it does.
pub(crate) struct Binding {
    pub(crate) keys: &'static [KeyCode],
    pub(crate) action: Action,
    /// How the keys are called.
    pub(crate) names: &'static str,
    /// What they do, in a few words.
    pub(crate) words: &'static str,
    /// The same for the line at the bottom, where it stands there.
    pub(crate) short: Option<&'static str>,
}

/// Keys that belong together.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) bindings: &'static [Binding],
}

const fn key(
    keys: &'static [KeyCode],
    action: Action,
    names: &'static str,
    words: &'static str,
    short: Option<&'static str>,
) -> Binding {
    Binding {
        keys,
        action,
        names,
        words,
        short,
    }
}

use Action as A;
use KeyCode::{BackTab, Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};

pub(crate) const GROUPS: &[Group] = &[
    Group {
        title: "Stepping",
        bindings: &[
            key(
                &[Right, Char('l')],
                A::NextChunk,
                "→ l",
                "one chunk on",
                Some("chunk"),
            ),
            key(
                &[Left, Char('h')],
                A::PreviousChunk,
                "← h",
                "one chunk back",
                None,
            ),
            key(
                &[Char('.')],
                A::NextEvent,
                ".",
                "one event on",
                Some("event"),
            ),
            key(&[Char(',')], A::PreviousEvent, ",", "one event back", None),
            key(
                &[Char(']')],
                A::NextRegion,
                "]",
                "to where the next region opens",
                Some("region"),
            ),
            key(
                &[Char('[')],
                A::PreviousRegion,
                "[",
                "to where the region before opens",
                None,
            ),
            key(&[Home], A::First, "Home", "to the start of the text", None),
            key(&[End], A::Last, "End", "to its end", None),
            key(
                &[Char(' ')],
                A::Play,
                "Space",
                "play, or pause",
                Some("play"),
            ),
            key(&[Char('+'), Char('=')], A::Faster, "+", "play faster", None),
            key(&[Char('-')], A::Slower, "-", "play slower", None),
            key(
                &[Char('d')],
                A::FirstDifference,
                "d",
                "to the first difference from what was expected",
                Some("difference"),
            ),
        ],
    },
    Group {
        title: "Chunks",
        bindings: &[
            key(
                &[Char('c')],
                A::NextChunking,
                "c",
                "cut the text in the next way",
                Some("chunking"),
            ),
            key(
                &[Char('C')],
                A::PreviousChunking,
                "C",
                "cut it in the way before",
                None,
            ),
            key(
                &[Char('b')],
                A::ChunksOfBytes,
                "b",
                "pieces of so many bytes",
                None,
            ),
            key(
                &[Char(')')],
                A::LongerChunks,
                ")",
                "longer pieces: of more bytes, or on the average",
                None,
            ),
            key(&[Char('(')], A::ShorterChunks, "(", "shorter pieces", None),
            key(&[Char('r')], A::NewSeed, "r", "other random pieces", None),
        ],
    },
    Group {
        title: "Looking around",
        bindings: &[
            key(
                &[Char('}')],
                A::NextSample,
                "}",
                "the next sample",
                Some("sample"),
            ),
            key(
                &[Char('{')],
                A::PreviousSample,
                "{",
                "the sample before",
                None,
            ),
            key(
                &[Char('x')],
                A::NextFailure,
                "x",
                "the next sample that fails",
                Some("failing"),
            ),
            key(
                &[Char('X')],
                A::PreviousFailure,
                "X",
                "the one before that fails",
                None,
            ),
            key(
                &[Up, Char('k')],
                A::Up,
                "↑ k",
                "up, in the pane that has the focus",
                None,
            ),
            key(&[Down, Char('j')], A::Down, "↓ j", "down", None),
            key(&[PageUp], A::PageUp, "PgUp", "a page up", None),
            key(&[PageDown], A::PageDown, "PgDn", "a page down", None),
            key(&[], A::HalfPageUp, "Ctrl-U", "half a page up", None),
            key(&[], A::HalfPageDown, "Ctrl-D", "half a page down", None),
            key(&[Char('g')], A::Top, "g", "to the first row", None),
            key(&[Char('G')], A::Bottom, "G", "to the last row", None),
            key(&[Tab], A::NextPane, "Tab", "the next pane", Some("pane")),
            key(
                &[BackTab],
                A::PreviousPane,
                "Shift-Tab",
                "the pane before",
                None,
            ),
            key(&[Char('1')], A::Show(Pane::Samples), "1", "samples", None),
            key(&[Char('2')], A::Show(Pane::Text), "2", "text", None),
            key(
                &[Char('3')],
                A::Show(Pane::Template),
                "3",
                "response template",
                None,
            ),
            key(
                &[Char('4')],
                A::Show(Pane::Why),
                "4",
                "why: what the parser waits for",
                None,
            ),
            key(&[Char('5')], A::Show(Pane::Events), "5", "events", None),
            key(&[Char('6')], A::Show(Pane::Message), "6", "message", None),
            key(
                &[Char('z')],
                A::Zoom,
                "z",
                "the pane alone, or all of them again",
                None,
            ),
            key(
                &[Char('/')],
                A::Search,
                "/",
                "search the text, its events and the names of samples",
                Some("search"),
            ),
            key(&[Char('n')], A::NextMatch, "n", "to the next match", None),
            key(
                &[Char('N')],
                A::PreviousMatch,
                "N",
                "to the match before",
                None,
            ),
            key(
                &[Char('f')],
                A::Findings,
                "f",
                "findings and candidates of a chat template",
                None,
            ),
            key(
                &[Enter],
                A::Choose,
                "Enter",
                "there: take the candidate",
                None,
            ),
        ],
    },
    Group {
        title: "Mending and keeping",
        bindings: &[
            key(
                &[Char('e')],
                A::Edit,
                "e",
                "open the response template in $EDITOR",
                Some("edit"),
            ),
            key(&[Char('t')], A::Type, "t", "type or paste a text", None),
            key(
                &[Char('s')],
                A::Save,
                "s",
                "save the text and its message as a case of a fixture",
                None,
            ),
            key(&[Char('a')], A::Accept, "a", "expect what comes out", None),
            key(&[Char('u')], A::Undo, "u", "take that back", None),
            key(
                &[Char('w')],
                A::Write,
                "w",
                "write the response template to a file",
                None,
            ),
        ],
    },
    Group {
        title: "The rest",
        bindings: &[
            key(&[Char('?')], A::Help, "?", "this help", Some("help")),
            key(&[Char('L')], A::News, "L", "all news", None),
            key(&[Esc], A::Back, "Esc", "back", None),
            key(&[], A::Redraw, "Ctrl-L", "draw the screen anew", None),
            #[cfg(unix)]
            key(
                &[],
                A::Suspend,
                "Ctrl-Z",
                "to the shell; `fg` comes back",
                None,
            ),
            key(&[Char('q')], A::Quit, "q", "quit", Some("quit")),
        ],
    },
];

/// All keys.
pub(crate) fn bindings() -> impl Iterator<Item = &'static Binding> {
    GROUPS.iter().flat_map(|group| group.bindings)
}

/// What a key does.
pub(crate) fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if is_control(key, 'c') {
        return Some(Action::Quit);
    }
    if is_control(key, 'l') {
        return Some(Action::Redraw);
    }
    if is_control(key, 'u') {
        return Some(Action::HalfPageUp);
    }
    if is_control(key, 'd') {
        return Some(Action::HalfPageDown);
    }
    if cfg!(unix) && is_control(key, 'z') {
        return Some(Action::Suspend);
    }
    if key
        .modifiers
        .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    {
        return None;
    }
    let binding = bindings().find(|binding| binding.keys.contains(&key.code));
    binding.map(|binding| binding.action)
}

/// Whether a letter was pressed together with the control key.
pub(crate) fn is_control(key: KeyEvent, letter: char) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let mut all: Vec<String> = bindings()
            .flat_map(|binding| binding.keys)
            .map(|key| format!("{key:?}"))
            .collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
