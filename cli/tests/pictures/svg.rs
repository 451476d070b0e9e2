//! A screen as a picture: an SVG that looks the same wherever it is shown, whatever fonts are there.

use std::collections::BTreeMap;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

/// The size of a cell.
pub const WIDTH: f32 = 8.4;
const HEIGHT: f32 = 18.0;

/// From the top of a cell to the line that letters stand on.
const BASELINE: f32 = 13.3;

/// The room around the screen, and that of the bar above it.
const MARGIN: f32 = 14.0;
const BAR: f32 = 36.0;

/// The sixteen colours of terminals, in their order.
const COLOURS: [(Color, &str); 16] = [
    (Color::Black, "#10151d"),
    (Color::Red, "#f2777a"),
    (Color::Green, "#8fca7c"),
    (Color::Yellow, "#e6c35c"),
    (Color::Blue, "#6ea8fe"),
    (Color::Magenta, "#cf9bee"),
    (Color::Cyan, "#5cc8d7"),
    (Color::Gray, "#b6c0cc"),
    (Color::DarkGray, "#6b778a"),
    (Color::LightRed, "#ff9f7a"),
    (Color::LightGreen, "#a9dd97"),
    (Color::LightYellow, "#f2d67c"),
    (Color::LightBlue, "#93bfff"),
    (Color::LightMagenta, "#dab0f5"),
    (Color::LightCyan, "#83dbe6"),
    (Color::White, "#f4f7fa"),
];

const STYLE: &str = "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\
    \"DejaVu Sans Mono\",monospace;fill:currentColor;white-space:pre}\
    g{color:#d3dae3}g rect{fill:currentColor}\
    path{stroke:currentColor;stroke-width:1.2;fill:none}.heavy{stroke-width:2.8}\
    .bold{font-weight:bold}.dim{opacity:.6}.italic{font-style:italic}\
    .under{text-decoration:underline}.through{text-decoration:line-through}\
    .both{text-decoration:underline line-through}\
    .bar{font-size:13px;fill:#8792a2;text-anchor:middle}";

/// A screen in a window. The title stands in its bar; what it is about is for those who can't see it.
pub fn picture(buffer: &Buffer, title: &str, about: &str) -> String {
    let width = f32::from(buffer.area.width) * WIDTH + 2.0 * MARGIN;
    let height = f32::from(buffer.area.height) * HEIGHT + BAR + MARGIN;
    let (title, about) = (escaped(title), escaped(about));
    let colours = COLOURS.iter().enumerate();
    let colours = colours.map(|(number, (_, colour))| format!(".c{number}{{color:{colour}}}"));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{about}</title>\n\
         <style>{STYLE}{}</style>\n\
         <rect x=\".5\" y=\".5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"9\" fill=\"#10151d\" stroke=\"#3b4454\"/>\n\
         <text class=\"bar\" x=\"{:.0}\" y=\"22\">{title}</text>\n",
        colours.collect::<String>(),
        width - 1.0,
        height - 1.0,
        width / 2.0,
    );
    svg += &format!("<g transform=\"translate({MARGIN} {BAR})\" xml:space=\"preserve\">\n");
    svg += &backgrounds(buffer);
    svg += &strokes(buffer);
    svg += &texts(buffer);
    svg + "</g>\n</svg>\n"
}

/// How a cell looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    letters: Color,
    ground: Color,
    modifier: Modifier,
}

impl Look {
    fn of(cell: &Cell) -> Look {
        let own = |colour, terminal| {
            if colour == Color::Reset {
                terminal
            } else {
                colour
            }
        };
        let (letters, ground) = match cell.modifier.contains(Modifier::REVERSED) {
            true => (own(cell.bg, Color::Black), own(cell.fg, Color::Gray)),
            false => (cell.fg, cell.bg),
        };
        Look {
            letters,
            ground,
            modifier: cell.modifier,
        }
    }

    /// The classes of the style sheet, as an attribute.
    fn class(self) -> String {
        let has = |modifier| self.modifier.contains(modifier);
        let decoration = match (has(Modifier::UNDERLINED), has(Modifier::CROSSED_OUT)) {
            (true, true) => Some("both"),
            (true, false) => Some("under"),
            (false, true) => Some("through"),
            (false, false) => None,
        };
        let classes = [
            colour(self.letters),
            has(Modifier::BOLD).then(|| "bold".to_owned()),
            has(Modifier::DIM).then(|| "dim".to_owned()),
            has(Modifier::ITALIC).then(|| "italic".to_owned()),
            decoration.map(str::to_owned),
        ];
        let classes: Vec<String> = classes.into_iter().flatten().collect();
        match classes.is_empty() {
            true => String::new(),
            false => format!(" class=\"{}\"", classes.join(" ")),
        }
    }

    /// Whether a blank shows.
    fn has_line(self) -> bool {
        self.modifier
            .intersects(Modifier::UNDERLINED | Modifier::CROSSED_OUT)
    }
}

/// The class of a colour; none for that of the terminal.
fn colour(colour: Color) -> Option<String> {
    let number = COLOURS.iter().position(|(known, _)| *known == colour);
    assert!(
        number.is_some() || colour == Color::Reset,
        "pictures have sixteen colours, and no {colour}"
    );
    number.map(|number| format!("c{number}"))
}

/// What stands behind the letters, and what fills a cell.
fn backgrounds(buffer: &Buffer) -> String {
    let mut svg = String::new();
    for y in 0..buffer.area.height {
        let fill = |x: u16| {
            let cell = &buffer[(x, y)];
            let look = Look::of(cell);
            match cell.symbol() {
                "█" => colour(look.letters).or(Some("full".into())),
                _ => colour(look.ground),
            }
        };
        let mut x = 0;
        while x < buffer.area.width {
            let start = x;
            let known = fill(x);
            while x < buffer.area.width && fill(x) == known {
                x += 1;
            }
            if let Some(class) = known {
                svg += &format!(
                    "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                    short(f32::from(start) * WIDTH),
                    short(f32::from(y) * HEIGHT),
                    short(f32::from(x - start) * WIDTH),
                    short(HEIGHT),
                );
            }
        }
    }
    svg
}

/// How heavy the lines are that go from the middle of a cell up, right, down and left.
fn arms(symbol: &str) -> Option<[u8; 4]> {
    Some(match symbol {
        "─" => [0, 1, 0, 1],
        "│" => [1, 0, 1, 0],
        "┌" => [0, 1, 1, 0],
        "┐" => [0, 0, 1, 1],
        "└" => [1, 1, 0, 0],
        "┘" => [1, 0, 0, 1],
        "━" => [0, 2, 0, 2],
        "┃" => [2, 0, 2, 0],
        "┏" => [0, 2, 2, 0],
        "┓" => [0, 0, 2, 2],
        "┗" => [2, 2, 0, 0],
        "┛" => [2, 0, 0, 2],
        "╋" => [2, 2, 2, 2],
        _ => return None,
    })
}

/// Frames, drawn as lines, since those of fonts have gaps between rows. What is one line is drawn as
/// one. Places are counted in halves of cells.
fn strokes(buffer: &Buffer) -> String {
    let mut across = Vec::new();
    let mut down = Vec::new();
    for (x, y) in places(buffer) {
        let cell = &buffer[(x, y)];
        let Some([up, right, below, left]) = arms(cell.symbol()) else {
            continue;
        };
        let class = Look::of(cell).class();
        let (x, y) = (2 * x, 2 * y);
        across.push((class.clone(), left, y + 1, x));
        across.push((class.clone(), right, y + 1, x + 1));
        down.push((class.clone(), up, x + 1, y));
        down.push((class, below, x + 1, y + 1));
    }
    let mut paths: BTreeMap<(String, u8), String> = BTreeMap::new();
    let (half_width, half_height) = (WIDTH / 2.0, HEIGHT / 2.0);
    for (class, weight, y, x, length) in merged(across) {
        *paths.entry((class, weight)).or_default() += &format!(
            "M{} {}h{}",
            short(f32::from(x) * half_width),
            short(f32::from(y) * half_height),
            short(f32::from(length) * half_width)
        );
    }
    for (class, weight, x, y, length) in merged(down) {
        *paths.entry((class, weight)).or_default() += &format!(
            "M{} {}v{}",
            short(f32::from(x) * half_width),
            short(f32::from(y) * half_height),
            short(f32::from(length) * half_height)
        );
    }
    let drawn = paths.into_iter().map(|((class, weight), path)| {
        let class = match (weight, class.strip_suffix('"')) {
            (1, _) => class,
            (_, Some(class)) => format!("{class} heavy\""),
            (_, None) => " class=\"heavy\"".to_owned(),
        };
        format!("<path{class} d=\"{path}\"/>\n")
    });
    drawn.collect()
}

/// Pieces of lines, each of a length of one, as lines: class, weight, which line, start, length.
fn merged(mut pieces: Vec<(String, u8, u16, u16)>) -> Vec<(String, u8, u16, u16, u16)> {
    pieces.retain(|(_, weight, ..)| *weight > 0);
    pieces.sort();
    let mut lines: Vec<(String, u8, u16, u16, u16)> = Vec::new();
    for (class, weight, line, start) in pieces {
        match lines.last_mut() {
            Some((known, heavy, on, from, length))
                if (&*known, *heavy, *on, *from + *length) == (&class, weight, line, start) =>
            {
                *length += 1;
            }
            _ => lines.push((class, weight, line, start, 1)),
        }
    }
    lines
}

fn places(buffer: &Buffer) -> impl Iterator<Item = (u16, u16)> {
    let width = buffer.area.width;
    (0..buffer.area.height).flat_map(move |y| (0..width).map(move |x| (x, y)))
}

/// Letters of one look that follow each other.
struct Run {
    look: Look,
    x: u16,
    y: u16,
    cells: u16,
    text: String,
}

/// The letters. Each run begins at its cell and is as long as its cells, however wide a font's letters
/// are; what may come from another font is a run of its own.
fn texts(buffer: &Buffer) -> String {
    let mut runs: Vec<Run> = Vec::new();
    let mut next = (0, 0);
    for (x, y) in places(buffer) {
        if (x, y) < next && next.1 == y {
            continue;
        }
        let cell = &buffer[(x, y)];
        let (symbol, look) = (cell.symbol(), Look::of(cell));
        let cells = symbol.width().max(1) as u16;
        next = (x + cells, y);
        let is_drawn = arms(symbol).is_some() || symbol == "█";
        if is_drawn || (symbol.trim().is_empty() && !look.has_line() && !is_between(buffer, x, y)) {
            continue;
        }
        match runs.last_mut() {
            Some(run)
                if run.look == look
                    && (run.x + run.cells, run.y) == (x, y)
                    && symbol.is_ascii()
                    && run.text.is_ascii() =>
            {
                run.text += symbol;
                run.cells += cells;
            }
            _ => runs.push(Run {
                look,
                x,
                y,
                cells,
                text: symbol.to_owned(),
            }),
        }
    }
    runs.iter().map(Run::drawn).collect()
}

/// Whether a blank stands between two words of one look.
fn is_between(buffer: &Buffer, x: u16, y: u16) -> bool {
    let look = Look::of(&buffer[(x, y)]);
    let is_word = |x: u16| {
        x < buffer.area.width && {
            let cell = &buffer[(x, y)];
            Look::of(cell) == look && !cell.symbol().trim().is_empty() && cell.symbol().is_ascii()
        }
    };
    x > 0 && is_word(x - 1) && is_word(x + 1)
}

impl Run {
    fn drawn(&self) -> String {
        format!(
            "<text{} x=\"{}\" y=\"{}\" textLength=\"{}\">{}</text>\n",
            self.look.class(),
            short(f32::from(self.x) * WIDTH),
            short(f32::from(self.y) * HEIGHT + BASELINE),
            short(f32::from(self.cells) * WIDTH),
            escaped(&self.text),
        )
    }
}

/// A number with one digit behind the point at the most.
fn short(number: f32) -> String {
    let number = format!("{number:.1}");
    number.strip_suffix(".0").unwrap_or(&number).to_owned()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
