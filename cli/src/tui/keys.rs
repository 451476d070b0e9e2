//! Which key does what: one table, from which the help and the line at the bottom are made, too.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::layout::Pane;
use super::state::Screen;

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
    GoToByte,
    NextMatch,
    PreviousMatch,
    Findings,
    Conversation,
    Choose,
    Type,
    EditCopy,
    Copy,
    Unfold,
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
) -> Binding {
    Binding {
        keys,
        action,
        names,
        words,
    }
}

use Action as A;
use KeyCode::{BackTab, Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};

pub(crate) const GROUPS: &[Group] = &[
    Group {
        title: "Stepping",
        bindings: &[
            key(&[Right, Char('l')], A::NextChunk, "→ l", "one chunk on"),
            key(
                &[Left, Char('h')],
                A::PreviousChunk,
                "← h",
                "one chunk back",
            ),
            key(&[Char('.')], A::NextEvent, ".", "one event on"),
            key(&[Char(',')], A::PreviousEvent, ",", "one event back"),
            key(
                &[Char(']')],
                A::NextRegion,
                "]",
                "to where the next region opens",
            ),
            key(
                &[Char('[')],
                A::PreviousRegion,
                "[",
                "to where the region before opens",
            ),
            key(&[Home], A::First, "Home", "to the start of the text"),
            key(&[End], A::Last, "End", "to its end"),
            key(&[Char(' ')], A::Play, "Space", "play, or pause"),
            key(&[Char('+'), Char('=')], A::Faster, "+", "play faster"),
            key(&[Char('-')], A::Slower, "-", "play slower"),
            key(
                &[Char('d')],
                A::FirstDifference,
                "d",
                "to the first difference from what was expected",
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
            ),
            key(
                &[Char('C')],
                A::PreviousChunking,
                "C",
                "cut it in the way before",
            ),
            key(
                &[Char('b')],
                A::ChunksOfBytes,
                "b",
                "pieces of so many bytes",
            ),
            key(
                &[Char(')')],
                A::LongerChunks,
                ")",
                "longer pieces: of more bytes, or on the average",
            ),
            key(&[Char('(')], A::ShorterChunks, "(", "shorter pieces"),
            key(&[Char('r')], A::NewSeed, "r", "other random pieces"),
        ],
    },
    Group {
        title: "Looking around",
        bindings: &[
            key(&[Char('}')], A::NextSample, "}", "the next sample"),
            key(&[Char('{')], A::PreviousSample, "{", "the sample before"),
            key(
                &[Char('x')],
                A::NextFailure,
                "x",
                "the next sample that fails",
            ),
            key(
                &[Char('X')],
                A::PreviousFailure,
                "X",
                "the one before that fails",
            ),
            key(
                &[Up, Char('k')],
                A::Up,
                "↑ k",
                "up, in the pane that has the focus",
            ),
            key(&[Down, Char('j')], A::Down, "↓ j", "down"),
            key(&[PageUp], A::PageUp, "PgUp", "a page up"),
            key(&[PageDown], A::PageDown, "PgDn", "a page down"),
            key(&[], A::HalfPageUp, "Ctrl-U", "half a page up"),
            key(&[], A::HalfPageDown, "Ctrl-D", "half a page down"),
            key(
                &[Char('g')],
                A::Top,
                "g",
                "to the first row; in the text, to its start",
            ),
            key(
                &[Char('G')],
                A::Bottom,
                "G",
                "to the last row; in the text, to its end",
            ),
            key(&[Tab], A::NextPane, "Tab", "the next pane"),
            key(&[BackTab], A::PreviousPane, "Shift-Tab", "the pane before"),
            key(&[Char('1')], A::Show(Pane::Samples), "1", "samples"),
            key(&[Char('2')], A::Show(Pane::Text), "2", "text"),
            key(
                &[Char('3')],
                A::Show(Pane::Template),
                "3",
                "response template",
            ),
            key(
                &[Char('4')],
                A::Show(Pane::Why),
                "4",
                "why: what the parser waits for",
            ),
            key(&[Char('5')], A::Show(Pane::Events), "5", "events"),
            key(&[Char('6')], A::Show(Pane::Message), "6", "message"),
            key(
                &[Char('z')],
                A::Zoom,
                "z",
                "the pane alone, or all of them again",
            ),
            key(
                &[Char('/')],
                A::Search,
                "/",
                "search the text, its events and the names of samples",
            ),
            key(&[Char(':')], A::GoToByte, ":", "to a byte of the text"),
            key(
                &[Char('o')],
                A::Unfold,
                "o",
                "open the chunks of regions that have closed, or fold them",
            ),
            key(&[Char('n')], A::NextMatch, "n", "to the next match"),
            key(&[Char('N')], A::PreviousMatch, "N", "to the match before"),
            key(
                &[Char('f')],
                A::Findings,
                "f",
                "findings and candidates of a chat template",
            ),
            key(
                &[Char('v')],
                A::Conversation,
                "v",
                "the conversations that were opened: who says what",
            ),
            key(
                &[Enter],
                A::Choose,
                "Enter",
                "there: take the candidate, or open the text",
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
            ),
            key(
                &[Char('y')],
                A::Copy,
                "y",
                "copy what the pane shows that has the focus",
            ),
            key(&[Char('E')], A::EditCopy, "E", "change a copy of the text"),
            key(&[Char('t')], A::Type, "t", "type or paste a text"),
            key(
                &[Char('s')],
                A::Save,
                "s",
                "save the text and its message as a case of a fixture",
            ),
            key(&[Char('a')], A::Accept, "a", "expect what comes out"),
            key(&[Char('u')], A::Undo, "u", "take that back"),
            key(
                &[Char('w')],
                A::Write,
                "w",
                "write the response template to a file",
            ),
        ],
    },
    Group {
        title: "The rest",
        bindings: &[
            key(&[Char('?')], A::Help, "?", "this help"),
            key(&[Char('L')], A::News, "L", "all news"),
            key(&[Esc], A::Back, "Esc", "back"),
            key(&[], A::Redraw, "Ctrl-L", "draw the screen anew"),
            #[cfg(unix)]
            key(&[], A::Suspend, "Ctrl-Z", "to the shell; `fg` comes back"),
            key(&[Char('q')], A::Quit, "q", "quit"),
        ],
    },
];

/// All keys.
pub(crate) fn bindings() -> impl Iterator<Item = &'static Binding> {
    GROUPS.iter().flat_map(|group| group.bindings)
}

/// What matters most in a pane, in few words, for the line at the bottom.
pub(crate) fn of_pane(pane: Pane) -> &'static [(Action, &'static str)] {
    match pane {
        Pane::Samples => &[
            (A::Down, "next"),
            (A::NextFailure, "failing"),
            (A::FirstDifference, "difference"),
            (A::Accept, "expect"),
            (A::Save, "save"),
            (A::Type, "type"),
            (A::EditCopy, "change a copy"),
            (A::Search, "search"),
            (A::Edit, "edit"),
            (A::NextPane, "pane"),
        ],
        Pane::Text => &[
            (A::NextChunk, "chunk"),
            (A::NextEvent, "event"),
            (A::NextRegion, "region"),
            (A::Play, "play"),
            (A::FirstDifference, "difference"),
            (A::NextChunking, "chunking"),
            (A::NextSample, "sample"),
            (A::NextFailure, "failing"),
            (A::NextPane, "pane"),
            (A::Search, "search"),
            (A::GoToByte, "byte"),
            (A::Edit, "edit"),
        ],
        Pane::Template => &[
            (A::Edit, "edit"),
            (A::Write, "write to a file"),
            (A::Findings, "findings"),
            (A::Down, "down"),
            (A::Copy, "copy"),
            (A::NextPane, "pane"),
            (A::Zoom, "alone"),
        ],
        Pane::Why => &[
            (A::NextChunk, "chunk"),
            (A::NextEvent, "event"),
            (A::NextRegion, "region"),
            (A::NextChunking, "chunking"),
            (A::Down, "down"),
            (A::Copy, "copy"),
            (A::NextPane, "pane"),
            (A::Zoom, "alone"),
        ],
        Pane::Events => &[
            (A::NextEvent, "event"),
            (A::NextRegion, "region"),
            (A::Unfold, "unfold"),
            (A::Copy, "copy"),
            (A::Search, "search"),
            (A::Up, "up"),
            (A::NextPane, "pane"),
            (A::Zoom, "alone"),
        ],
        Pane::Message => &[
            (A::FirstDifference, "difference"),
            (A::Accept, "expect"),
            (A::Copy, "copy"),
            (A::Save, "save"),
            (A::Undo, "undo"),
            (A::NextPane, "pane"),
            (A::Zoom, "alone"),
        ],
    }
}

/// The key for an action, as it is called.
pub(crate) fn name(action: Action) -> &'static str {
    let binding = bindings().find(|binding| binding.action == action);
    let names = binding.map_or("", |binding| binding.names);
    names.split(' ').next().unwrap_or_default()
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

/// Whether a key is known where a screen is at the front: other keys would act on what is behind it.
pub(crate) fn is_known(action: Action, screen: Screen) -> bool {
    let moves = [
        A::Up,
        A::Down,
        A::PageUp,
        A::PageDown,
        A::HalfPageUp,
        A::HalfPageDown,
        A::Top,
        A::Bottom,
    ];
    let leads = [
        A::Help,
        A::News,
        A::Back,
        A::Quit,
        A::Findings,
        A::Conversation,
    ];
    let is_general = moves.contains(&action)
        || leads.contains(&action)
        || matches!(action, A::Show(_) | A::Copy);
    match screen {
        Screen::Replay => true,
        Screen::Findings { .. } => is_general || matches!(action, A::Choose | A::Write),
        Screen::Conversation { .. } => {
            is_general || matches!(action, A::NextSample | A::PreviousSample)
        }
    }
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
