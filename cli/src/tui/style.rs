//! Colours, and what takes their place where there are none.

use ratatui::style::{Color, Modifier, Style};

use unjinja_replay::SegmentKind;

/// The colours of fields, in their order.
const FIELDS: [Color; 6] = [
    Color::Cyan,
    Color::Magenta,
    Color::Blue,
    Color::LightGreen,
    Color::LightCyan,
    Color::LightMagenta,
];

/// A style as the parameters of the escape sequence that switches it on, for what is printed line by line.
#[cfg(feature = "serve")]
pub(crate) fn escape_code(style: Style) -> String {
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    let modifiers = modifiers.into_iter();
    let mut codes: Vec<String> = modifiers
        .filter(|(modifier, _)| style.add_modifier.contains(*modifier))
        .map(|(_, code)| code.to_owned())
        .collect();
    // The sixteen colours of a terminal, of which the second eight are the light ones.
    let number = |colour: Color| match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        // No style here has another one.
        _ => 9,
    };
    codes.extend(style.fg.map(|colour| (30 + number(colour)).to_string()));
    codes.extend(style.bg.map(|colour| (40 + number(colour)).to_string()));
    codes.join(";")
}

/// How things look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Styles {
    /// Whether there are colours. Without them, everything can be distinguished all the same.
    pub(crate) colours: bool,
}

impl Styles {
    fn coloured(self, style: Style, colour: Color) -> Style {
        match self.colours {
            true => style.fg(colour),
            false => style,
        }
    }

    pub(crate) fn field(self, number: u16) -> Style {
        self.coloured(Style::new(), FIELDS[number as usize % FIELDS.len()])
    }

    /// A piece of the text.
    pub(crate) fn part(self, part: SegmentKind, field: Option<u16>) -> Style {
        let colour = field.map(|number| FIELDS[number as usize % FIELDS.len()]);
        match (part, colour) {
            (SegmentKind::Body, Some(colour)) => self.coloured(Style::new(), colour),
            (SegmentKind::Open | SegmentKind::Close, Some(colour)) if self.colours => Style::new()
                .fg(Color::Black)
                .bg(colour)
                .add_modifier(Modifier::BOLD),
            (SegmentKind::Open | SegmentKind::Close, _) => {
                Style::new().add_modifier(Modifier::BOLD)
            }
            (SegmentKind::Skipped | SegmentKind::Body, _) => {
                let crossed = Modifier::CROSSED_OUT | Modifier::DIM;
                self.coloured(Style::new(), Color::Gray)
                    .add_modifier(crossed)
            }
        }
    }

    /// Text that is held back.
    pub(crate) fn held(self) -> Style {
        let held = Modifier::UNDERLINED | Modifier::BOLD;
        self.coloured(Style::new(), Color::LightYellow)
            .add_modifier(held)
    }

    /// What has yet to come in, or matters less.
    pub(crate) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Where the stream is.
    pub(crate) fn cursor(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What is chosen, in a list.
    pub(crate) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn good(self) -> Style {
        self.coloured(Style::new(), Color::Green)
    }

    pub(crate) fn bad(self) -> Style {
        self.coloured(Style::new(), Color::Red)
            .add_modifier(Modifier::BOLD)
    }

    /// What can't be done like this.
    pub(crate) fn warning(self) -> Style {
        self.coloured(Style::new(), Color::Yellow)
            .add_modifier(Modifier::BOLD)
    }

    /// What was searched for.
    pub(crate) fn hit(self, style: Style) -> Style {
        match self.colours {
            true => style.fg(Color::Black).bg(Color::White),
            false => style.add_modifier(Modifier::UNDERLINED | Modifier::REVERSED),
        }
    }

    /// What one has more than the other.
    pub(crate) fn added(self) -> Style {
        self.coloured(Style::new(), Color::LightBlue)
            .add_modifier(Modifier::BOLD)
    }

    /// What only one of two renderings has, of which none is wrong.
    pub(crate) fn changed(self) -> Style {
        self.added().add_modifier(Modifier::UNDERLINED)
    }

    /// What is not what was expected.
    pub(crate) fn differs(self) -> Style {
        let differs = Modifier::UNDERLINED | Modifier::BOLD;
        self.coloured(Style::new(), Color::Red)
            .add_modifier(differs)
    }

    pub(crate) fn border(self, has_focus: bool) -> Style {
        match has_focus {
            true => self.strong(),
            false => self.faint(),
        }
    }
}
