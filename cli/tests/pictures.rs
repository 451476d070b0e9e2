//! The pictures in `docs/pictures`: screens of the workbench, after some keys.
//!
//! `UNJINJA_UPDATE=1 cargo test --test program pictures` draws them anew.

use std::fs;
use std::path::PathBuf;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::support::root::root;
use crate::tui::desk::Desk;

mod svg;

/// What is in a picture.
struct Picture {
    name: &'static str,
    /// What it shows, for those who can't see it.
    about: &'static str,
    source: &'static str,
    size: (u16, u16),
    /// The keys that are pressed before.
    keys: &'static str,
    colours: bool,
}

const PICTURES: &[Picture] = &[
    Picture {
        name: "replay",
        about: "A tool call while it comes in: what has been read is divided into regions, the \
                beginning of a delimiter is held back, and the message has half grown",
        source: "chat_templates/xml-calls-opened-think.jinja",
        size: (140, 42),
        keys: "c}}}}}}}}}}/</fun⏎",
        colours: true,
    },
    Picture {
        name: "difference",
        about: "A sample that is not read as expected, with the first difference marked",
        source: "tests/check/mixed.fixture.yaml",
        size: (90, 26),
        keys: "}d",
        colours: true,
    },
    Picture {
        name: "why",
        about: "In the middle of a delimiter: what is held back, and which delimiters it may become",
        source: "chat_templates/chatml-think-json-calls.jinja",
        size: (90, 26),
        keys: "c}}4/</thi⏎",
        colours: true,
    },
    Picture {
        name: "findings",
        about: "The findings of a chat template, with the two renderings that show one of them \
                side by side",
        source: "chat_templates/xml-calls.jinja",
        size: (140, 42),
        keys: "f↓↓↓↓",
        colours: true,
    },
    Picture {
        name: "no-colours",
        about: "A tool call while it comes in, without colours: regions are distinguished by names and signs",
        source: "chat_templates/xml-calls.jinja",
        size: (90, 26),
        keys: "c}}}}}/</fun⏎n6",
        colours: false,
    },
];

impl Picture {
    fn drawn(&self) -> String {
        let mut desk = Desk::open(self.source).sized(self.size.0, self.size.1);
        if !self.colours {
            desk.workbench = desk.workbench.without_colours();
        }
        desk.press(self.keys);
        desk.settle();
        let title = format!("unjinja tui {}", self.source);
        svg::picture(&desk.buffer(), &title, self.about)
    }

    fn path(&self) -> PathBuf {
        let folder = root().join("docs/pictures");
        folder.join(format!("{}.svg", self.name))
    }
}

#[test]
fn pictures_show_the_workbench_as_it_is() {
    let update = std::env::var_os("UNJINJA_UPDATE").is_some();
    let mut stale = Vec::new();
    for picture in PICTURES {
        let (path, drawn) = (picture.path(), picture.drawn());
        if update {
            fs::write(&path, drawn).unwrap();
        } else if fs::read_to_string(&path).ok().as_deref() != Some(drawn.as_str()) {
            stale.push(path.display().to_string());
        }
    }
    assert!(
        stale.is_empty(),
        "these are not what is seen now, docs/pictures/make draws them anew: {}",
        stale.join(", ")
    );
}

#[test]
fn pictures_are_small_and_well_formed() {
    for picture in PICTURES {
        let text = picture.drawn();
        let name = picture.name;
        assert!(text.len() < 60_000, "{name}: {} bytes", text.len());
        let drawn = roxmltree::Document::parse(&text).unwrap();
        let title = drawn.descendants().find(|node| node.has_tag_name("title"));
        assert_eq!(
            title.and_then(|title| title.text()),
            Some(picture.about),
            "{name}"
        );
    }
}

#[test]
fn what_is_on_the_screen_is_in_the_picture() {
    let mut desk = Desk::open("chat_templates/xml-calls.jinja");
    desk.press("t<wide> & \"水\" e\u{301} \u{1b}[31m⏎");
    let text = svg::picture(&desk.buffer(), "<title>", "<about> & \"more\"");
    let drawn = roxmltree::Document::parse(&text).unwrap();
    let texts = drawn.descendants().filter(|node| node.has_tag_name("text"));
    let written: String = texts.filter_map(|node| node.text()).collect();
    for shown in ["<title>", "<wide>", "&", "\"", "水", "e\u{301}", "␛"] {
        assert!(written.contains(shown), "{shown} is not in {written}");
    }
}

/// Where the letters of a row begin and end, in cells.
fn spans(screen: &Buffer) -> Vec<(f32, f32, String)> {
    let text = svg::picture(screen, "", "");
    let drawn = roxmltree::Document::parse(&text).unwrap();
    let number =
        |node: &roxmltree::Node, name| -> f32 { node.attribute(name).unwrap().parse().unwrap() };
    let runs = drawn
        .descendants()
        .filter(|node| node.attribute("textLength").is_some());
    let spans = runs.map(|node| {
        let (from, length) = (number(&node, "x"), number(&node, "textLength"));
        let text = node.text().unwrap_or_default().to_owned();
        (from / svg::WIDTH, (from + length) / svg::WIDTH, text)
    });
    spans.collect()
}

#[test]
fn letters_keep_to_their_cells() {
    let mut screen = Buffer::empty(Rect::new(0, 0, 20, 1));
    screen.set_string(0, 0, "│ two words   水 a⏎b │", Style::new());
    let shown: Vec<String> = spans(&screen)
        .into_iter()
        .map(|(from, to, text)| format!("{text} {from:.0}-{to:.0}"))
        .collect();
    // The frame is drawn.
    assert_eq!(
        shown,
        [
            "two words 2-11",
            "水 14-16",
            "a 17-18",
            "⏎ 18-19",
            "b 19-20"
        ]
    );
}
