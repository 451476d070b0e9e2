//! How long the workbench takes to open a text of a megabyte, and to answer each key.
//!
//! It is to open within 100 ms, and to answer any key within 16. After some keys a text is read anew, a bit in each
//! frame: what these frames take stands in a table of its own. `cargo bench --bench tui -- keys` says of
//! the keys alone, `-- opening` and `-- memory` of the rest, and `-- keys calls` of those with one text. A
//! figure in **bold** is over the limit.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use unjinja::check::{Case, Expected, Failure};
use unjinja::{Object, ParserOptions, ResponseTemplate, Tools, Value, parse};
use unjinja_cli::tui::{Effect, Loaded, Message, Origin, Sample, Target, Workbench, render};

#[path = "../tests/tui/keyboard.rs"]
mod keyboard;

/// What every text is as long as, in bytes.
const LENGTH: usize = 1_000_000;

const CALLS: usize = 10_000;

/// How many arguments a call has that has very many.
const MEMBERS: usize = 60_000;

const MOST_FOR_OPENING: Duration = Duration::from_millis(100);
const MOST_FOR_A_KEY: Duration = Duration::from_millis(16);

/// What is measured, by names that may be given on the command line.
const PARTS: [&str; 3] = ["memory", "opening", "keys"];

const SIZES: [(u16, u16); 2] = [(80, 24), (200, 60)];

/// Everything is done so often.
const TIMES: usize = 3;

/// No more frames are waited for until nothing happens any more.
const MOST_FRAMES: usize = 200;

/// This word stands once in every text, and that one never.
const RARE: &str = "xylophone";
const NEVER: &str = "quux";

const TEMPLATE: &str = r#"{
    "defaults": {"role": "assistant"},
    "start_anchor": "<|assistant|>\n",
    "fields": {
        "thinking": {"open": "<think>", "close_pattern": "</think>\\s*"},
        "tool_calls": {
            "open_pattern": "<call name=\"(?P<name>\\w+)\">", "close_pattern": "</call>\\s*",
            "repeats": true, "content": "json",
            "transform": {
                "type": "function", "function": {"name": "{name}", "arguments": "{content}"}
            }
        },
        "content": {"close_pattern": "<\\|end\\|>\\s*"}
    }
}"#;

/// The texts, each with a name.
fn texts() -> Vec<(&'static str, String)> {
    let wide = [
        "水位は",
        "正午に",
        "上がる。",
        "e\u{301}te\u{301} ",
        "👩\u{200d}👩\u{200d}👧 ",
        "נהר ",
        "n\u{303}\u{331}o ",
        "ไทย ",
    ];
    let code = [
        "let tide = ",
        "rise(moon);\\n",
        "    if a < b {\\n",
        "\\\"noon\\\"",
        "}\\n",
    ];
    let begin = "<think>Two days should be enough to tell.</think>";
    let call = |arguments: &str| format!("<call name=\"forecast\">{arguments}</call>");
    let calls = (0..CALLS).map(|number| {
        let note = words(&WORDS, LENGTH / CALLS - 70, number);
        let rare = if number == CALLS * 2 / 3 { RARE } else { "" };
        call(&format!(
            "{{\"day\": {number}, \"note\": \"{note}{rare}\"}}"
        ))
    });
    let code = words(&code, LENGTH, 1);
    let members = (0..MEMBERS).map(|number| format!("\"{number}\": {number}, "));
    let members: String = members.collect();
    vec![
        (
            "one line",
            format!("{begin}{}<|end|>", words(&WORDS, LENGTH, 1)),
        ),
        (
            "lines",
            format!("{begin}{}<|end|>", lines(&words(&WORDS, LENGTH, 1))),
        ),
        (
            "one call",
            format!(
                "{begin}{}<|end|>",
                call(&format!("{{\"code\": \"{code}\"}}"))
            ),
        ),
        (
            "calls",
            format!("{begin}{}<|end|>", calls.collect::<String>()),
        ),
        (
            "members",
            format!(
                "{begin}{}<|end|>",
                call(&format!("{{{members}\"{RARE}\": 1}}"))
            ),
        ),
        ("wide", format!("{begin}{}<|end|>", words(&wide, LENGTH, 1))),
    ]
}

const WORDS: [&str; 8] = [
    "the ", "tide ", "would ", "rise ", "again ", "at ", "noon, ", "a < b, ",
];

/// Some text of a length, another one for each number.
fn words(words: &[&str], length: usize, number: usize) -> String {
    let mut text = String::new();
    let mut at = number;
    let mut is_rare_to_come = length == LENGTH;
    while text.len() < length {
        if is_rare_to_come && text.len() > length / 3 * 2 {
            is_rare_to_come = false;
            text.push_str(RARE);
        }
        at = at.wrapping_mul(31).wrapping_add(7);
        text.push_str(words[(at / 8) % words.len()]);
    }
    text
}

/// The same text in lines.
fn lines(text: &str) -> String {
    let mut column = 0;
    let broken = text.chars().map(|c| {
        column = if c == '\n' { 0 } else { column + 1 };
        match c {
            ' ' if column > 70 => {
                column = 0;
                '\n'
            }
            c => c,
        }
    });
    broken.collect()
}

/// What is expected of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Nothing,
    /// What comes out.
    Same,
    /// Something else close to the end.
    Other,
}

fn case(template: &ResponseTemplate, name: &str, text: &str, expects: Expects) -> Case {
    let mut expected = Expected::default();
    if expects != Expects::Nothing {
        let message = parse(template, "", text, ParserOptions::default());
        let mut message = message.expect("the text can be parsed");
        if expects == Expects::Other {
            differ(&mut message);
        }
        expected.message = Some(message);
    }
    Case::new(name, "", text, Tools::none(), expected)
}

/// Changes the end of what is longest in a message.
fn differ(message: &mut Object) {
    let content = message.get("content").and_then(Value::as_str);
    if let Some(content) = content {
        let changed = format!(
            "{}. Nothing else!",
            &content[..content.floor_char_boundary(LENGTH * 9 / 10)]
        );
        message.insert("content", changed);
        return;
    }
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let mut calls = calls.expect("there are calls").to_vec();
    let at = calls.len() * 9 / 10;
    let function = calls[at]
        .as_object_mut()
        .and_then(|call| call.get_mut("function"));
    let arguments = function.and_then(|function| function.as_object_mut()?.get_mut("arguments"));
    let arguments = arguments
        .and_then(Value::as_object_mut)
        .expect("there are arguments");
    let middle = arguments.keys().nth(arguments.len() * 9 / 10).cloned();
    arguments.insert(middle.unwrap_or_default(), "another");
    message.insert("tool_calls", calls);
}

/// A workbench, and what it is drawn into.
struct Desk {
    workbench: Workbench,
    /// What comes of trying a sample.
    failures: Vec<Failure>,
    shown: Buffer,
    drawn: Buffer,
}

impl Desk {
    fn open(loaded: Loaded, samples: Vec<Sample>, size: (u16, u16)) -> (Desk, Duration) {
        let area = Rect::new(0, 0, size.0, size.1);
        let (shown, drawn) = (Buffer::empty(area), Buffer::empty(area));
        let start = Instant::now();
        let workbench = Workbench::new(loaded, samples, size);
        let mut desk = Desk {
            workbench,
            failures: Vec::new(),
            shown,
            drawn,
        };
        desk.draw();
        (desk, start.elapsed())
    }

    /// Draws a frame, and finds out what of it is new.
    fn draw(&mut self) {
        self.drawn.reset();
        render(&self.workbench, &mut self.drawn);
        let _for_the_terminal = self.shown.diff(&self.drawn).len();
        std::mem::swap(&mut self.shown, &mut self.drawn);
    }

    /// One frame: something happens, and all is drawn. What goes on by itself goes on when time goes by.
    fn frame(&mut self, message: Message) -> Duration {
        let start = Instant::now();
        let effects = self.workbench.update(message);
        self.draw();
        let elapsed = start.elapsed();
        for effect in effects {
            self.perform(effect);
        }
        elapsed
    }

    /// Samples are tried beside the workbench, so this takes none of its time.
    fn perform(&mut self, effect: Effect) {
        let Effect::Judge {
            generation, cases, ..
        } = effect
        else {
            return;
        };
        for (sample, _) in cases {
            self.workbench.update(Message::Judged {
                generation,
                sample,
                failures: self.failures.clone(),
            });
        }
    }

    /// Frames until nothing goes on any more: how long the worst of them took.
    fn settle(&mut self) -> Duration {
        let mut worst = Duration::ZERO;
        for _ in 0..MOST_FRAMES {
            worst = worst.max(self.frame(Message::Tick(Duration::ZERO)));
            if !self.workbench.is_busy() && self.workbench.rest().is_none() {
                break;
            }
        }
        worst
    }

    fn press(&mut self, keys: &str) -> Duration {
        let frames = keys.chars().map(|key| self.frame(pressed(key)));
        frames.max().unwrap_or_default()
    }

    /// The mouse at a part of the timeline, of 100.
    fn point_at(&mut self, percent: u16, kind: MouseEventKind) -> Duration {
        self.mouse(self.drawn.area.width * percent / 100, 1, kind)
    }

    fn mouse(&mut self, column: u16, row: u16, kind: MouseEventKind) -> Duration {
        self.frame(Message::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        }))
    }
}

fn pressed(sign: char) -> Message {
    Message::Key(keyboard::key(sign).into())
}

/// The place where a key is pressed, as a part of the timeline, of 100.
const PLACES: [(&str, u16); 2] = [("the middle", 50), ("the end", 100)];

/// Keys of which the last one is measured; those before bring about what it needs.
#[rustfmt::skip]
const KEYS: &[&str] = &[
    "→", "←", ".", ",", "]", "[", "⇤", "⇥", "d", " ", "+", "-", "1↓", "1⇟", "2↓", "2⇟", "2⇞", "3↓", "3⇟",
    "4↓", "4⇟", "5↑", "5⇞", "5⇟", "6↓", "6⇟", "6⇞", "↹", "1", "2", "3", "4", "5", "6", "1z", "2z", "3z",
    "4z", "5z", "6z", "2z⇟", "5z⇞", "6z⇟", "f", "?", "t", "s", "w", "e", "q", "⎋",
];

/// Keys by which the text is read anew, one after the other, each with what it brings about. They end
/// where they have begun.
const ANEW: &[(char, &str)] = &[
    ('c', "by character"),
    ('c', "by bytes"),
    (')', "longer"),
    ('(', "shorter"),
    ('c', "random"),
    ('r', "other random"),
    ('c', "whole"),
    ('c', "by token"),
    ('C', "whole"),
    ('c', "by token"),
    ('}', "the next sample"),
    ('{', "the one before"),
];

/// Words that are searched for.
const SEARCHES: [(&str, &str); 5] = [
    ("often", "the"),
    ("very often", "e"),
    ("rarely", RARE),
    ("never", NEVER),
    ("an event", "open tool"),
];

/// The figures of each key, by what they were taken of.
#[derive(Default)]
struct Figures {
    /// By key and text: the worst that a setting takes usually, the worst of all, and where that was.
    cells: BTreeMap<(usize, &'static str), (Duration, Duration, String)>,
    keys: Vec<String>,
}

impl Figures {
    fn put(&mut self, key: &str, text: &'static str, place: &str, mut times: Vec<Duration>) {
        times.sort();
        let median = times[times.len() / 2];
        let worst = times.last().copied().unwrap_or_default();
        let number = match self.keys.iter().position(|known| known == key) {
            Some(number) => number,
            None => {
                self.keys.push(key.to_owned());
                self.keys.len() - 1
            }
        };
        let cell = self.cells.entry((number, text)).or_default();
        if median > cell.0 {
            (cell.0, cell.2) = (median, place.to_owned());
        }
        cell.1 = cell.1.max(worst);
    }

    /// Prints a row for each key: what it takes with each text in the setting that is slowest for it.
    /// Gives the longest time of all.
    fn print(&self, title: &str, texts: &[&'static str]) -> String {
        println!("| {title} | {} | worst | slowest |", texts.join(" | "));
        println!("|---|{}---:|---|", "---:|".repeat(texts.len()));
        let mut all = Duration::ZERO;
        for (number, key) in self.keys.iter().enumerate() {
            let cells = texts
                .iter()
                .filter_map(|text| self.cells.get(&(number, text)).map(|cell| (text, cell)));
            let cells: Vec<_> = cells.collect();
            let mut row = format!("| {} |", key.replace('|', "\\|"));
            for (_, cell) in &cells {
                let _never_fails = write!(row, " {} |", shown(cell.0, MOST_FOR_A_KEY));
            }
            let worst = cells
                .iter()
                .map(|(_, cell)| cell.1)
                .max()
                .unwrap_or_default();
            let slowest = cells.iter().max_by_key(|(_, cell)| cell.0);
            all = all.max(slowest.map_or(Duration::ZERO, |(_, cell)| cell.0));
            let place = slowest.map_or(String::new(), |(text, cell)| format!("{text}, {}", cell.2));
            println!("{row} {} | {place} |", shown(worst, MOST_FOR_A_KEY));
        }
        shown(all, MOST_FOR_A_KEY)
    }
}

/// Milliseconds, bold where they are too many.
fn shown(time: Duration, most: Duration) -> String {
    let milliseconds = format!("{:.1}", time.as_secs_f64() * 1e3);
    match time > most {
        true => format!("**{milliseconds}**"),
        false => milliseconds,
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn opening(loaded: &Loaded, texts: &[(&'static str, String)]) {
    println!(
        "| opening | median, ms | worst, ms | first frame of it, ms | other frames until it is read, ms |"
    );
    println!("|---|---:|---:|---:|---:|");
    for (name, text) in texts {
        for expects in [Expects::Nothing, Expects::Same] {
            let case = case(&loaded.template, name, text, expects);
            let (mut whole, mut frames, mut draws) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..TIMES {
                let sample = Sample::new(Origin::Given, case.clone());
                let (mut desk, elapsed) = Desk::open(loaded.clone(), vec![sample], SIZES[1]);
                let start = Instant::now();
                desk.draw();
                draws.push(start.elapsed());
                whole.push(elapsed);
                frames.push(desk.settle());
            }
            let worst = whole.iter().max().copied().unwrap_or_default();
            println!(
                "| {name}, {} | {} | {} | {} | {} |",
                format!("{expects:?} expected").to_lowercase(),
                shown(median(whole), MOST_FOR_OPENING),
                shown(worst, MOST_FOR_OPENING),
                shown(median(draws), MOST_FOR_A_KEY),
                shown(median(frames), MOST_FOR_A_KEY),
            );
        }
    }
    println!();
}

fn keys(loaded: &Loaded, texts: &[(&'static str, String)]) {
    let mut figures = Figures::default();
    let mut beside = Figures::default();
    for (name, text) in texts {
        eprintln!("{name}...");
        for expects in [Expects::Same, Expects::Other] {
            let case = case(&loaded.template, name, text, expects);
            let failures = case.check(&loaded.template, 0);
            for size in SIZES {
                for chunking in ["", "c"] {
                    let other = Case::new("another", "", text, Tools::none(), Expected::default());
                    let samples =
                        [case.clone(), other].map(|case| Sample::new(Origin::Given, case));
                    let (mut desk, _) = Desk::open(loaded.clone(), samples.to_vec(), size);
                    desk.failures.clone_from(&failures);
                    desk.settle();
                    desk.press(chunking);
                    desk.settle();
                    let cut = if chunking.is_empty() {
                        "tokens"
                    } else {
                        "characters"
                    };
                    let setting = format!("{}x{}, {cut}, {expects:?}", size.0, size.1);
                    press_all(&mut desk, name, &setting, &mut figures);
                    play(&mut desk, name, &setting, &mut figures);
                    if chunking.is_empty() && size == SIZES[1] {
                        read_anew(&mut desk, name, &setting, &mut figures, &mut beside);
                    }
                    // From here on something else is expected.
                    let accepted = desk.press("a");
                    figures.put("a", name, &setting, vec![accepted]);
                    beside.put("a", name, &setting, vec![desk.settle()]);
                }
            }
        }
    }
    let names: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
    let slowest = figures.print("key", &names);
    println!("\nThe slowest key is answered within {slowest} ms.\n");
    let slowest = beside.print("what goes on after", &names);
    println!("\nNo frame of what goes on takes longer than {slowest} ms.\n");
}

/// Presses every key at every place.
fn press_all(desk: &mut Desk, text: &'static str, setting: &str, figures: &mut Figures) {
    let left = MouseButton::Left;
    for (place, percent) in PLACES {
        let place = format!("{setting}, at {place}");
        for keys in KEYS {
            let (before, key) =
                keys.split_at(keys.char_indices().next_back().map_or(0, |(at, _)| at));
            let times = (0..TIMES).map(|_| {
                desk.point_at(percent, MouseEventKind::Down(left));
                desk.press(before);
                desk.settle();
                let time = desk.press(key).max(desk.settle());
                put_back(desk, keys);
                time
            });
            let times = times.collect();
            figures.put(keys, text, &place, times);
        }
        for (how, words) in SEARCHES {
            let mut times = [Vec::new(), Vec::new(), Vec::new()];
            for _ in 0..TIMES {
                desk.point_at(percent, MouseEventKind::Down(left));
                desk.press(&format!("/{words}"));
                times[0].push(desk.press("⏎"));
                times[1].push(desk.press("n"));
                times[2].push(desk.press("N"));
                desk.press("⎋⎋");
            }
            for (key, times) in ["⏎", "n", "N"].iter().zip(times) {
                figures.put(&format!("/ {how} {key}"), text, &place, times);
            }
        }
        let ways = [
            ("drag", MouseEventKind::Drag(left)),
            ("click on the timeline", MouseEventKind::Down(left)),
        ];
        for (name, kind) in ways {
            let times = (0..20).map(|step| desk.point_at(percent / 2 + step * 2, kind));
            let times = times.collect();
            figures.put(name, text, &place, times);
        }
        // Across what closes the last region, of which the value takes long to be made.
        desk.press("⇥");
        desk.settle();
        for key in ["←", "→"] {
            let times = (0..15).map(|_| desk.press(key)).collect();
            figures.put(&format!("{key} at the very end"), text, &place, times);
        }
        let wheel = (0..TIMES)
            .map(|_| desk.mouse(desk.drawn.area.width / 2, 6, MouseEventKind::ScrollDown));
        let wheel = wheel.collect();
        figures.put("wheel", text, &place, wheel);
        let click = (0..TIMES).map(|_| {
            desk.point_at(percent, MouseEventKind::Down(left));
            desk.mouse(desk.drawn.area.width / 2, 6, MouseEventKind::Down(left))
        });
        let click = click.collect();
        figures.put("click on the text", text, &place, click);
    }
}

/// Undoes what keys have done, but for the place.
fn put_back(desk: &mut Desk, keys: &str) {
    let undo = match keys {
        " " | "f" => keys,
        keys if keys.contains('z') => "z",
        "?" | "t" | "s" | "w" | "e" => "⎋",
        _ => "",
    };
    desk.press(undo);
    desk.press("2");
}

/// Presses the keys by which the text is read anew.
fn read_anew(
    desk: &mut Desk,
    text: &'static str,
    setting: &str,
    figures: &mut Figures,
    beside: &mut Figures,
) {
    for (place, percent) in PLACES {
        for (key, what) in ANEW {
            desk.point_at(percent, MouseEventKind::Down(MouseButton::Left));
            let place = format!("{setting}, at {place}");
            let key = format!("{key} {what}");
            figures.put(&key, text, &place, vec![desk.press(&key[..1])]);
            beside.put(&key, text, &place, vec![desk.settle()]);
        }
    }
}

/// Plays at the highest speed, from the middle on.
fn play(desk: &mut Desk, text: &'static str, setting: &str, figures: &mut Figures) {
    for (place, percent) in PLACES {
        desk.point_at(percent.min(90), MouseEventKind::Down(MouseButton::Left));
        desk.press("+++++++++ ");
        let frames = (0..20).map(|_| desk.frame(Message::Tick(Duration::from_millis(16))));
        let frames = frames.collect();
        figures.put("playing", text, &format!("{setting}, at {place}"), frames);
        desk.press(" ");
    }
}

/// The most memory that the process has had, in MiB, where the system says.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 10)
}

/// The memory that is needed when everything has been read character by character. This has to come
/// first, since the peak is that of the process.
fn memory(loaded: &Loaded, texts: &[(&'static str, String)]) {
    let resident = || peak().map_or_else(|| "?".to_owned(), |mib| mib.to_string());
    println!("| memory at the most | MiB |");
    println!("|---|---:|");
    println!("| the texts alone | {} |", resident());
    let calls = texts.iter().find(|(name, _)| *name == "calls");
    let (name, text) = calls.expect("a text of calls");
    let case = Case::new(*name, "", text, Tools::none(), Expected::default());
    let sample = Sample::new(Origin::Given, case);
    let workbench = Workbench::new(loaded.clone(), vec![sample], SIZES[1]);
    let mut workbench = workbench;
    let mut read = |message: Message| {
        workbench.update(message);
        for _ in 0..MOST_FRAMES {
            workbench.update(Message::Tick(Duration::ZERO));
        }
    };
    read(Message::Tick(Duration::ZERO));
    println!("| {name}, by token | {} |", resident());
    read(pressed('c'));
    println!("| {name}, by character | {} |\n", resident());
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.json");
    fs::write(&path, TEMPLATE).expect("is written");
    let loaded = Target::new(path.display().to_string()).load(None);
    let loaded = loaded.expect("the template is valid");
    let mut texts = texts();
    let wanted: Vec<String> = env::args().skip(1).collect();
    let is_named = |word: &str| wanted.iter().any(|wanted| wanted == word);
    let wants = |part: &str| is_named(part) || !PARTS.iter().any(|part| is_named(part));
    if wants("memory") {
        memory(&loaded, &texts);
    }
    if texts.iter().any(|(name, _)| is_named(name)) {
        texts.retain(|(name, _)| is_named(name));
    }
    if wants("opening") {
        opening(&loaded, &texts);
    }
    if wants("keys") {
        keys(&loaded, &texts);
    }
}
