//! Drawing rooms in frames: above each room stands what imports from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How wide a letter is, and how high a box.
const LETTER: f64 = 8.0;
const BOX: f64 = 30.0;
/// From one row of boxes to the next.
const ROW: f64 = 66.0;
/// How wide the picture is.
const WIDTH: f64 = 1040.0;

/// Rooms that belong together.
pub(super) struct Frame {
    title: &'static str,
    rooms: BTreeSet<String>,
}

impl Frame {
    pub(super) fn new(title: &'static str, rooms: BTreeSet<String>) -> Frame {
        Frame { title, rooms }
    }

    /// The rooms in rows: in the last, those that import from none of the frame, and each other one in the row above the highest of
    /// those that it imports from.
    fn rows(&self, imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut waiting = self.rooms.clone();
        while !waiting.is_empty() {
            let is_ready = |room: &&String| imports[*room].is_disjoint(&waiting);
            let row: Vec<String> = waiting.iter().filter(is_ready).cloned().collect();
            assert!(!row.is_empty(), "{waiting:?} are no circle");
            waiting.retain(|room| !row.contains(room));
            rows.push(row);
        }
        rows.reverse();
        rows
    }
}

/// Where the middle of a box's upper edge is.
#[derive(Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
}

fn width(room: &str) -> f64 {
    room.chars().count() as f64 * LETTER + 20.0
}

/// Spreads a row of boxes over the width of the picture.
fn set(row: &[String], y: f64, spots: &mut BTreeMap<String, Spot>) {
    let boxes: f64 = row.iter().map(|room| width(room)).sum();
    let gap = (WIDTH - boxes) / (row.len() as f64 + 1.0);
    let mut x = gap;
    for room in row {
        let middle = x + width(room) / 2.0;
        spots.insert(room.clone(), Spot { x: middle, y });
        x += width(room) + gap;
    }
}

/// What a room imports from, without what it also reaches by way of another one.
fn nearest(imports: &BTreeMap<String, BTreeSet<String>>, room: &str) -> BTreeSet<String> {
    let is_far = |far: &String| {
        let others = imports[room].iter().filter(|other| *other != far);
        others
            .map(|other| super::reached(imports, other))
            .any(|reached| reached.contains(far))
    };
    let near = imports[room].iter().filter(|name| !is_far(name));
    near.cloned().collect()
}

/// An SVG of the frames, one below the other, with a line from each room to those that it imports from.
pub(super) fn draw(frames: &[Frame], imports: &BTreeMap<String, BTreeSet<String>>) -> String {
    let near: BTreeMap<&String, BTreeSet<String>> = imports
        .keys()
        .map(|room| (room, nearest(imports, room)))
        .collect();

    // Each row is in the order of what stands above it and leads to it, so that few lines cross.
    let mut spots = BTreeMap::new();
    let mut outlines = Vec::new();
    let mut y = 34.0;
    for frame in frames {
        let top = y - 24.0;
        for mut row in frame.rows(imports) {
            let mean = |room: &String| {
                let above: Vec<f64> = spots
                    .iter()
                    .filter(|(other, _)| near[other].contains(room))
                    .map(|(_, spot): (&String, &Spot)| spot.x)
                    .collect();
                match above.len() {
                    0 => WIDTH,
                    count => above.iter().sum::<f64>() / count as f64,
                }
            };
            row.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
            set(&row, y, &mut spots);
            y += ROW;
        }
        outlines.push((frame.title, top, y - ROW + BOX + 12.0 - top));
        y += 18.0;
    }

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>The rooms, and from which others each imports</title>\n\
         <style>text{{font:13px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;text-anchor:middle;fill:#1b2330}}\
         .title{{text-anchor:start;fill:#5a6678}}.frame{{fill:#f4f6f9;stroke:#c3cbd6}}\
         .room{{fill:#fff;stroke:#4a5a70}}path{{fill:none;stroke:#7a8aa0;stroke-width:1.2}}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n",
        height = y - ROW + BOX + 18.0,
    );
    let mut line = |text: String| writeln!(svg, "{text}").expect("a text grows");
    for (title, top, height) in outlines {
        let wide = WIDTH - 20.0;
        line(format!(
            "<rect class=\"frame\" x=\"10\" y=\"{top}\" width=\"{wide}\" height=\"{height}\" rx=\"8\"/>"
        ));
        let y = top + 20.0;
        line(format!(
            "<text class=\"title\" x=\"22\" y=\"{y}\">{title}</text>"
        ));
    }
    for (room, names) in &near {
        for name in names {
            let (from, to) = (spots[*room], spots[name]);
            let (start, middle) = (from.y + BOX, (from.y + BOX + to.y) / 2.0);
            line(format!(
                "<path d=\"M{:.0} {start:.0}C{:.0} {middle:.0} {:.0} {middle:.0} {:.0} {:.0}\"/>",
                from.x, from.x, to.x, to.x, to.y
            ));
        }
    }
    for (room, Spot { x, y }) in &spots {
        let (wide, left) = (width(room), x - width(room) / 2.0);
        line(format!(
            "<rect class=\"room\" x=\"{left:.0}\" y=\"{y:.0}\" width=\"{wide:.0}\" height=\"{BOX}\" rx=\"5\"/>"
        ));
        line(format!(
            "<text x=\"{x:.0}\" y=\"{:.0}\">{room}</text>",
            y + 20.0
        ));
    }
    svg.push_str("</svg>\n");
    svg
}
