//! Making formats by chance.
//!
//! Every part is drawn by itself, as far as a response template can read what comes of it: what can't
//! be read is never made.

use crate::synthetic::format::{
    Arguments, Body, Calls, Content, Format, Ids, Json, KEY, Kept, Keys, Part, Place, Reasoning,
    Separator, Stands, TYPES, Tagged, Turns, Wrapping, begins_with_word, first_text, has_end,
};
use crate::synthetic::random::{Bracket, Inventor, Pair, Random};

/// Makes up a format.
pub fn make_up(seed: u64, number: u64) -> Format {
    let mut maker = Maker {
        with: Inventor::new(Random::new(seed, number)),
        main: Bracket::Angle,
    };
    maker.main = maker.with.bracket();
    maker.format()
}

struct Maker {
    with: Inventor,
    /// The brackets of most markers.
    main: Bracket,
}

impl Maker {
    fn chance(&mut self, percent: usize) -> bool {
        self.with.random.chance(percent)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        self.with.random.pick(from)
    }

    fn weighted<T: Clone>(&mut self, from: &[(usize, T)]) -> T {
        self.with.random.weighted(from)
    }

    fn bracket(&mut self) -> Bracket {
        // Where markers share their characters, all of them do.
        match self.main.is_shared() || self.chance(65) {
            true => self.main,
            false => loop {
                let bracket = self.with.bracket();
                if !bracket.is_shared() {
                    return bracket;
                }
            },
        }
    }

    /// Brackets that can hold more than a word.
    fn roomy_bracket(&mut self) -> Bracket {
        loop {
            let bracket = self.bracket();
            let is_tight = matches!(
                bracket,
                Bracket::At | Bracket::Equals | Bracket::Percent | Bracket::Colon
            );
            if !is_tight {
                return bracket;
            }
            self.main = self.with.bracket();
        }
    }

    fn pair(&mut self, sensible: &[&str]) -> Pair {
        let bracket = self.bracket();
        let pair = self.with.pair(bracket, sensible);
        match bracket {
            // A word needs some room.
            Bracket::Colon => Pair::new(format!("{} ", pair.open), pair.close),
            _ => pair,
        }
    }

    fn line(&mut self, percent: usize) -> &'static str {
        match self.chance(percent) {
            true => "\n",
            false => "",
        }
    }

    fn format(&mut self) -> Format {
        let mut turns = self.turns();
        let calls = self.chance(92).then(|| self.calls());
        let reasoning = self.chance(62).then(|| self.reasoning());
        let content = match (self.with.random.below(100), &reasoning) {
            (0..12, _) => {
                let mut pair = self.pair(&["response", "answer", "final", "reply"]);
                let space = self.line(30);
                pair = pair.spaced(space);
                // The turn's end may be all that closes it.
                if self.chance(15) && !turns.assistant.close.trim().is_empty() {
                    pair.close = String::new();
                }
                Content::Wrapped(pair)
            }
            (12..20, Some(reasoning)) if reasoning.kept != Kept::Never => {
                let space = self.line(30);
                Content::BesideReasoning(self.pair(&["response", "answer", "final"]).spaced(space))
            }
            (20..25, _) if calls.is_some() => {
                let space = self.line(30);
                match self.pair(&["say", "note", "remark"]).spaced(space) {
                    // Words may as well be said.
                    pair if pair.open.contains(": ") => Content::Plain,
                    pair => Content::BesideCalls(pair),
                }
            }
            (25..30, _) if calls.is_some() => {
                let bracket = self.bracket();
                let beside = self.with.pair(bracket, &["say", "note", "remark"]);
                let alone = self.with.pair(bracket, &["response", "answer", "final"]);
                Content::Either(beside, alone)
            }
            (30..33, _) => Content::Json(self.pair(&["response", "answer", "final"])),
            _ => Content::Plain,
        };
        let opened = reasoning.as_ref().is_some_and(|r| r.opened_by_prompt);
        let closed = reasoning.as_ref().is_some_and(|r| r.closed_when_off);
        if turns.lead.is_empty() && !opened && !closed && self.chance(6) {
            turns.lead = self.pick(&["\n", " "]);
        }
        if opened || closed {
            turns.lead = "";
        }
        let mut gap = self.weighted(&[(45, ""), (40, "\n"), (15, "\n\n")]);
        if calls.as_ref().is_some_and(begins_with_word) {
            gap = "\n";
        }
        let mut format = Format {
            turns,
            reasoning,
            content,
            gap,
            calls,
            calls_first: false,
            joint: None,
        };
        match self.with.random.below(100) {
            0..7 => self.give_headers_to_parts(&mut format),
            7..12 => self.leave_reasoning_open(&mut format),
            12..17 => format.calls_first = can_stand_first(&format),
            _ => {}
        }
        if self.chance(10) {
            self.write_calls_with_few_signs(&mut format);
        }
        format
    }

    /// Calls of which little can be known by its signs alone.
    fn write_calls_with_few_signs(&mut self, format: &mut Format) {
        let reasoning = format.reasoning.as_ref();
        let is_open = reasoning.is_some_and(|reasoning| reasoning.close.trim().is_empty());
        let old = format
            .calls
            .as_ref()
            .map(|calls| (calls.several, calls.ids));
        let (Some((several, ids)), None, false) = (old, &format.joint, is_open) else {
            return;
        };
        let json = Arguments::Json(self.pick(&[Json::Plain, Json::Plain, Json::Compact]));
        let line = self.line(60);
        let text = |text: String| Part::Text(text);
        let kind = self.with.random.below(5);
        let nothing = || Pair::new("", "");
        let bracket = self.roomy_bracket();
        let mut section = self.with.pair(bracket, &["tool_calls", "calls"]);
        let mut separator = Separator::between(line);
        let mut word = |sensible: &[&str]| self.with.word(sensible).to_uppercase();
        let (head, arguments, close) = match kind {
            // `<calls>name({…})</calls>`
            0 => (vec![Part::Name, text("(".into())], json, ")".to_owned()),
            // `#CALL# name` and `#ARGS# {…}` on lines of their own
            1 => {
                let (call, args, end) = (word(&["call"]), word(&["args"]), word(&["done"]));
                let sign = self.pick(&["#", "%", "✿", "§", "$"]);
                section = Pair::new("", format!("{sign}{end}{sign}"));
                separator = Separator {
                    text: "\n".into(),
                    stands: Stands::BehindEach,
                };
                let head = vec![
                    text(format!("{sign}{call}{sign} ")),
                    Part::Name,
                    text(format!("\n{sign}{args}{sign}: ")),
                ];
                (head, json, String::new())
            }
            // `@name{…}` or `{{CALL:name|{…}}}`
            2 => {
                let call = word(&["call"]);
                section = nothing();
                let (open, behind, close) = self.pick(&[
                    ("@".to_owned(), "", ""),
                    ("🔧".to_owned(), "➡", "🔚"),
                    (format!("{{{{{call}:"), "|", "}}"),
                ]);
                let mut head = vec![text(open), Part::Name];
                head.extend((!behind.is_empty()).then(|| text(behind.into())));
                (head, json, close.to_owned())
            }
            // `<calls>name(key="value", other="7")</calls>`
            3 => {
                let tagged = Tagged {
                    before_key: String::new(),
                    between: vec!["=\"".into()],
                    after_value: "\"".into(),
                    separator: Separator::between(", "),
                    wrapping: None,
                    literals: false,
                    quoted: false,
                };
                let head = vec![Part::Name, text("(".into())];
                (head, Arguments::Tagged(tagged), ")".to_owned())
            }
            // `[name(key="value")]`, and then a text
            _ => {
                format.calls_first = format.turns.calls_end.is_none();
                if !format.calls_first {
                    return;
                }
                format.calls = Some(Calls {
                    section: nothing(),
                    each: nothing(),
                    separator: Separator::between(", "),
                    body: Body::Python { literals: true },
                    several,
                    ids,
                });
                return;
            }
        };
        format.calls_first = false;
        format.calls = Some(Calls {
            section,
            each: nothing(),
            separator,
            body: Body::Named {
                head,
                arguments,
                close,
            },
            several,
            ids,
        });
    }

    /// Each part of a turn gets a header and an end of its own.
    fn give_headers_to_parts(&mut self, format: &mut Format) {
        let bracket = match self.roomy_bracket() {
            Bracket::Colon => Bracket::Pipe,
            other => other,
        };
        let mut marker = |sensible: &[&str]| self.with.marker(bracket, sensible);
        let (start, channel) = (marker(&["start"]), marker(&["channel"]));
        let (message, end) = (marker(&["message"]), marker(&["end"]));
        let turn = |role: &str| Pair::new(format!("{start}{role}{message}"), end.clone());
        let own_ends = self.chance(50);
        let mut part = |sensible: &[&str]| {
            let name = self.with.word(sensible);
            let end = match own_ends {
                true => self.with.marker(bracket, sensible),
                false => end.clone(),
            };
            Pair::new(format!("{channel}{name}{message}"), end)
        };
        let (thought, answer) = (part(&["analysis"]), part(&["final"]));
        let action = part(&["commentary"]);
        let header = format!("{start}assistant");
        format.turns = Turns {
            system: Some(turn("system")),
            user: turn("user"),
            tool: turn("tool"),
            assistant: Pair::new(header.clone(), ""),
            calls_end: None,
            lead: "",
            ..format.turns.clone()
        };
        if let Some(reasoning) = &mut format.reasoning {
            reasoning.open = Some(thought.open);
            reasoning.close = thought.close;
            reasoning.after_close = "";
            reasoning.opened_by_prompt = false;
            reasoning.closed_when_off = false;
            reasoning.empty = false;
            if reasoning.kept == Kept::Never {
                reasoning.kept = Kept::Always;
            }
        }
        format.content = Content::Wrapped(answer);
        format.gap = "";
        if let Some(calls) = &mut format.calls {
            if begins_with_word(calls) {
                format.calls = None;
            } else {
                calls.section = action.around(&calls.section);
            }
        }
        format.joint = Some(header);
    }

    /// Reasoning ends where the next part begins, and all parts have a beginning.
    fn leave_reasoning_open(&mut self, format: &mut Format) {
        let Some(reasoning) = &mut format.reasoning else {
            return;
        };
        let is_bare = reasoning.open.is_none() || reasoning.kept == Kept::Never;
        let calls_begin = |calls: &Calls| !first_text(calls).trim().is_empty();
        if is_bare || !format.calls.as_ref().is_none_or(calls_begin) {
            return;
        }
        reasoning.close = self.with.random.pick(&["", "\n"]).to_owned();
        reasoning.after_close = "";
        // An empty thought would need an end.
        reasoning.closed_when_off = false;
        reasoning.opened_by_prompt = false;
        reasoning.empty = false;
        if let Some(open) = &mut reasoning.open {
            open.truncate(open.trim_end().len());
        }
        let space = self.line(40);
        let mut pair = self.pair(&["response", "answer", "final"]).spaced(space);
        if self.chance(50) && !format.turns.assistant.close.trim().is_empty() {
            pair.close = String::new();
        }
        format.content = Content::Wrapped(pair);
    }

    fn turns(&mut self) -> Turns {
        let bot = self.pick(&["assistant", "model", "bot", "ai"]);
        let human = self.pick(&["user", "human"]);
        let before_end = self.line(6);
        let tools_space = self.line(50);
        let bracket = self.bracket();
        let after_end = match bracket {
            Bracket::Colon => "\n",
            _ => self.line(60),
        };
        let mut lead = "";
        let (system, user, tool, assistant) = match self.with.random.below(100) {
            0..36 => {
                // One marker begins all turns, and the role follows.
                let pair = self.with.pair(bracket, &["im", "turn", "message"]);
                let behind = self.pick(&["\n", "\n", "\n", ": ", "\n\n"]);
                let colon = if bracket == Bracket::Colon { " " } else { "" };
                let turn = |role: &str| {
                    let open = format!("{}{colon}{role}{behind}", pair.open);
                    Pair::new(open, format!("{before_end}{}{after_end}", pair.close))
                };
                (Some(turn("system")), turn(human), turn("tool"), turn(bot))
            }
            36..64 => {
                // Each role has a marker, and one may end all turns.
                let space = self.pick(&["", "\n", "\n", " "]);
                let end = match self.chance(80) {
                    true => self.with.end(bracket, &["end", "eot", "eos", "done"]),
                    false => String::new(),
                };
                let mut turn = |role: &str| {
                    let marker = self.with.marker(bracket, &[role]);
                    Pair::new(format!("{marker}{space}"), format!("{end}{after_end}"))
                };
                let system = turn("system");
                (Some(system), turn(human), turn("tool"), turn(bot))
            }
            64..74 => {
                // Each role has a pair of its own.
                let space = self.line(40);
                let mut turn = |role: &str| {
                    let pair = self.with.pair(bracket, &[role]).spaced(space);
                    Pair::new(pair.open, format!("{}{after_end}", pair.close))
                };
                let system = turn("system");
                (Some(system), turn(human), turn("tool"), turn(bot))
            }
            74..88 => {
                // Only questions have markers, and answers end.
                let bracket = match bracket {
                    Bracket::Colon => Bracket::Square,
                    other => other,
                };
                let inner = self.pick(&["", " "]);
                let question = self.with.pair(bracket, &["inst", "ask"]).spaced(inner);
                let tool = self.with.pair(bracket, &["tool_results", "result"]);
                let system = self.with.pair(bracket, &["system_prompt", "sys"]);
                let end = self.pick(&[Bracket::Angle, Bracket::Pipe, bracket]);
                let end = match end {
                    Bracket::Angle => "</s>".to_owned(),
                    end => self.with.marker(end, &["eos", "done"]),
                };
                if self.chance(35) {
                    lead = " ";
                }
                let system = self.chance(60).then_some(system);
                (system, question, tool, Pair::new("", end))
            }
            _ => {
                // Names and colons.
                let mut name = |given: &str| {
                    let mut word = match self.chance(60) {
                        true => given.to_owned(),
                        false => self.with.word(&[given]),
                    };
                    word[..1].make_ascii_uppercase();
                    word
                };
                let names = [name("system"), name(human), name("tool"), name(bot)];
                let bracket = match bracket {
                    Bracket::Colon => Bracket::Pipe,
                    other => other,
                };
                let end = self.with.marker(bracket, &["end", "eot", "over"]);
                let space = self.pick(&[" ", "\n", ""]);
                let turn = |name: &String| {
                    let open = format!("{name}:{space}");
                    Pair::new(open, format!("{end}\n"))
                };
                let [system, user, tool, mut assistant] = names.each_ref().map(turn);
                if space == " " {
                    // A prompt does not end in a space.
                    assistant.open.truncate(assistant.open.len() - 1);
                    lead = " ";
                }
                (Some(system), user, tool, assistant)
            }
        };
        let calls_end = self.chance(4) && !assistant.close.is_empty();
        let calls_end = calls_end.then(|| {
            let marker = self.with.end(bracket, &["eom", "await"]);
            format!("{marker}{after_end}")
        });
        Turns {
            tools: self.pair(&["tools", "functions"]).spaced(tools_space),
            instructions: self.chance(30),
            system,
            user,
            tool,
            assistant,
            calls_end,
            lead,
        }
    }

    fn reasoning(&mut self) -> Reasoning {
        let pair = self.pair(&["think", "thought", "reasoning", "muse"]);
        let (mut open, close) = (pair.open, pair.close);
        if self.chance(8) {
            // What opens it may say nothing of what closes it.
            let bracket = self.bracket();
            open = self.with.marker(bracket, &["think", "inner"]);
        }
        let space = self.line(55);
        let is_word = close.starts_with(char::is_whitespace);
        let space = if is_word { "\n" } else { space };
        let close = format!("{space}{}", close.trim());
        let open = format!("{}{space}", open.trim_end());
        let after_close = match is_word {
            true => "\n",
            false => self.weighted(&[(35, ""), (25, "\n"), (40, "\n\n")]),
        };
        let kind = self.with.random.below(100);
        let opened_by_prompt = matches!(kind, 0..35);
        let kept = match kind {
            0..6 if !is_word => Kept::Never,
            _ => self.pick(&[Kept::Always, Kept::LastTurn]),
        };
        let closed_when_off = match kind {
            90.. => self.chance(20),
            _ => self.chance(50),
        };
        let is_bare = matches!(kind, 90..);
        Reasoning {
            open: (!is_bare).then_some(open),
            close,
            after_close,
            opened_by_prompt,
            closed_when_off,
            empty: match (kept, opened_by_prompt) {
                (Kept::Never, _) => false,
                (_, true) => true,
                (_, false) => !is_bare && self.chance(40),
            },
            kept,
            key: self.pick(&[
                "reasoning_content",
                "reasoning_content",
                "reasoning",
                "thinking",
            ]),
            switch: self.pick(&["enable_thinking", "enable_thinking", "thinking"]),
        }
    }

    fn json(&mut self) -> Json {
        self.weighted(&[
            (75, Json::Plain),
            (12, Json::Compact),
            (7, Json::Indented),
            (6, Json::Ascii),
        ])
    }

    fn dialect(&mut self) -> Json {
        let quotes = [
            Pair::new("<|\"|>", "<|\"|>"),
            Pair::new("<|q|>", "<|q|>"),
            Pair::new("«", "»"),
            Pair::new("<str>", "</str>"),
        ];
        Json::Dialect(self.pick(&quotes))
    }

    fn section(&mut self) -> Pair {
        let space = self.line(50);
        self.pair(&["tool_calls", "calls", "actions"]).spaced(space)
    }

    /// A section that may be left without anything that closes it.
    fn open_section(&mut self) -> Pair {
        let mut section = self.section();
        if self.chance(15) {
            section.close = String::new();
        }
        section
    }

    fn calls(&mut self) -> Calls {
        let several = self.chance(93);
        let nothing = || Pair::new("", "");
        let mut ids = Ids::Prefixed;
        let kind = self.with.random.below(100);
        let (section, each, separator, body) = match kind {
            0..35 => {
                // An object in tags, or on lines of a section.
                let json = match self.chance(7) {
                    true => self.dialect(),
                    false => self.json(),
                };
                let keys = self.keys(matches!(json, Json::Dialect(_)));
                let space = self.line(60);
                let (section, each) = match self.with.random.below(100) {
                    0..6 => {
                        // A fence, as Markdown has it.
                        let word = self.with.word(&["tool_call", "call"]);
                        (nothing(), Pair::new(format!("```{word}\n"), "\n```"))
                    }
                    6..60 => (nothing(), self.pair(&["tool_call", "call"]).spaced(space)),
                    60..82 => (
                        self.section(),
                        self.pair(&["tool_call", "call"]).spaced(space),
                    ),
                    _ => (self.pair(&["tool_calls", "calls"]).spaced("\n"), nothing()),
                };
                let separator = match each.open.is_empty() || each.open.starts_with('`') {
                    true => Separator::between("\n"),
                    false => self.separator(70),
                };
                let array = false;
                (section, each, separator, Body::Object { keys, array, json })
            }
            35..49 => {
                let json = match self.chance(7) {
                    true => self.dialect(),
                    false => self.json(),
                };
                let keys = self.keys(matches!(json, Json::Dialect(_)));
                let section = self.open_section();
                let separator = match json {
                    Json::Compact | Json::Dialect(_) => ",",
                    _ => self.pick(&[", ", ", ", ",\n"]),
                };
                let array = true;
                let separator = Separator::between(separator);
                (
                    section,
                    nothing(),
                    separator,
                    Body::Object { keys, array, json },
                )
            }
            49..57 => {
                let section = self.section();
                let literals = self.chance(50);
                let separator = Separator::between(", ");
                (section, nothing(), separator, Body::Python { literals })
            }
            _ => {
                let (body, with_ids) = self.named(kind);
                if let Some(with_ids) = with_ids {
                    ids = with_ids;
                }
                let section = match self.chance(30) {
                    true => self.section(),
                    false => nothing(),
                };
                let in_marker = matches!(&body, Body::Named { close, .. } if !close.is_empty());
                let mut each = match in_marker && self.chance(25) {
                    true => self.pair(&["tool_call", "call"]).spaced("\n"),
                    false => nothing(),
                };
                if !each.open.is_empty() && self.chance(15) {
                    let space = self.line(50);
                    let inner = self.pair(&["request", "use"]).spaced(space);
                    each = each.around(&inner);
                }
                (section, each, self.separator(65), body)
            }
        };
        if let (Body::Object { .. }, true) = (&body, self.chance(25)) {
            ids = Ids::Nine;
        }
        let mut section = section;
        if !section.close.is_empty() && self.chance(10) {
            // Another level around it.
            let space = self.line(50);
            section = self
                .pair(&["turn_calls", "plan"])
                .spaced(space)
                .around(&section);
        }
        Calls {
            section,
            each,
            separator,
            body,
            several,
            ids,
        }
    }

    /// What stands between calls or arguments: white space, most often.
    fn separator(&mut self, percent: usize) -> Separator {
        let text = match self.with.random.below(100) {
            0..8 => format!("\n{}", self.pick(&["  ", "    ", "\t"])),
            8..12 => {
                let bracket = self.roomy_bracket();
                self.with.marker(bracket, &["sep", "next"])
            }
            12..15 => "\n\n".to_owned(),
            _ => self.line(percent).to_owned(),
        };
        let stands = self.weighted(&[
            (84, Stands::Between),
            (8, Stands::BeforeEach),
            (8, Stands::BehindEach),
        ]);
        Separator { text, stands }
    }

    fn keys(&mut self, is_dialect: bool) -> Keys {
        if self.chance(14) {
            return Keys::NameAsKey;
        }
        let (name, arguments) = self.weighted(&[
            (50, ("name", "arguments")),
            (15, ("tool_name", "parameters")),
            (10, ("name", "parameters")),
            (10, ("function", "args")),
            (10, ("tool", "input")),
            (5, ("action", "action_input")),
        ]);
        let nested = self.chance(12);
        let as_text = self.chance(4) && !is_dialect;
        let id = self.chance(30).then(|| {
            let key = self.pick(&["id", "id", "call_id", "tool_call_id"]);
            (key, self.pick(&[Place::First, Place::Last]))
        });
        Keys::Plain {
            name: if name == "function" && nested {
                "name"
            } else {
                name
            },
            arguments,
            id,
            nested: nested.then_some("function"),
            typed: nested && self.chance(60),
            as_text,
            arguments_first: self.chance(4),
        }
    }

    /// The name and the arguments.
    fn named(&mut self, kind: usize) -> (Body, Option<Ids>) {
        let is_json = matches!(kind, 57..77);
        let bracket = self.roomy_bracket();
        let arguments = match (is_json, kind) {
            (true, 57..70) => Arguments::Json(self.json()),
            (true, _) => Arguments::Json(self.dialect()),
            _ => Arguments::Tagged(self.tagged()),
        };
        let mut ids = None;
        let (head, mut close) = match self.with.random.below(100) {
            0..42 => {
                // The name stands in the marker.
                let word = self.with.word(&["function", "invoke", "tool", "call"]);
                let (open, shut) = self.with.around_words(bracket);
                let (word, quote) = match bracket {
                    Bracket::Square | Bracket::DoubleSquare => (word.to_uppercase(), ""),
                    Bracket::Angle | Bracket::Parts | Bracket::Led => {
                        (word, self.pick(&["", "", "\""]))
                    }
                    _ => (word, ""),
                };
                let mut parts = match quote {
                    "" => {
                        let sign = self.pick(&["=", "=", ":", " "]);
                        vec![Part::Text(format!("{open}{word}{sign}")), Part::Name]
                    }
                    _ => vec![Part::Text(format!("{open}{word} name=\"")), Part::Name],
                };
                if quote == "\"" && self.chance(20) {
                    parts.push(Part::Text("\" id=\"".into()));
                    parts.push(Part::Id);
                }
                let behind = self.line(50);
                parts.push(Part::Text(format!("{quote}{shut}{behind}")));
                let close = self.with.closing(bracket, &word);
                let before = match is_json {
                    true => behind,
                    false => "",
                };
                (parts, format!("{before}{close}"))
            }
            42..52 => {
                // The name has markers of its own.
                let bracket = self.roomy_bracket();
                let pair = self.with.pair(bracket, &["tool_call", "call", "invoke"]);
                let name = self.with.pair(bracket, &["name", "tool_name", "function"]);
                let args = self
                    .with
                    .pair(bracket, &["args", "arguments", "parameters"]);
                let space = self.line(50);
                let parts = vec![
                    Part::Text(format!("{}{space}{}", pair.open, name.open)),
                    Part::Name,
                    Part::Text(format!("{}{space}{}", name.close, args.open)),
                ];
                (parts, format!("{}{space}{}", args.close, pair.close))
            }
            52..58 if is_json && arguments != Arguments::Json(Json::Indented) => {
                // Nothing but words on lines of their own.
                let mut word = |sensible: &[&str]| {
                    let mut word = self.with.word(sensible);
                    word[..1].make_ascii_uppercase();
                    word
                };
                let (name, args) = (word(&["action", "tool"]), word(&["input", "arguments"]));
                let parts = vec![
                    Part::Text(format!("{name}: ")),
                    Part::Name,
                    Part::Text(format!("\n{args}: ")),
                ];
                (parts, "\n".to_owned())
            }
            _ => {
                // The name stands behind it.
                let pair = self.pair(&["tool_call", "call", "action"]);
                let inner = self.line(20);
                let sort = self.pick(&["", "", "", "call:", "function: "]);
                let first = Part::Text(format!("{}{inner}{sort}", pair.open));
                let mut parts = vec![first];
                if self.chance(12) {
                    ids = Some(Ids::Named);
                    match self.chance(50) {
                        true => parts.push(Part::Id),
                        false => parts.extend([
                            Part::Text("functions.".into()),
                            Part::Name,
                            Part::Text(":".into()),
                            Part::Index,
                        ]),
                    }
                    if let Some(Part::Text(first)) = parts.first_mut() {
                        *first = format!("{}{inner}", pair.open);
                    }
                } else {
                    parts.push(Part::Name);
                    if self.chance(12) {
                        let bracket = self.roomy_bracket();
                        let marker = self.with.marker(bracket, &["id", "call_id"]);
                        parts.extend([Part::Text(marker), Part::Id]);
                    }
                }
                let must_part = !matches!(parts.last(), Some(Part::Name));
                let (after, before_close) = self.after_name(is_json, must_part);
                parts.push(Part::Text(after));
                let mut close = pair.close;
                let closes = before_close.trim().is_empty();
                if is_json && closes && self.chance(18) {
                    close = String::new();
                }
                (parts, format!("{before_close}{close}"))
            }
        };
        if let Arguments::Tagged(tagged) = &arguments
            && tagged.separator.text.is_empty()
            && self.chance(50)
        {
            close.insert(0, '\n');
        }
        let body = Body::Named {
            head,
            arguments,
            close,
        };
        (body, ids)
    }

    /// What stands between the name and the arguments, and what closes that.
    fn after_name(&mut self, is_json: bool, must_part: bool) -> (String, String) {
        let bracket = self.roomy_bracket();
        let choice = self.with.random.below(100);
        match (is_json, choice) {
            (true, 0..20) if !must_part => ("\n".into(), self.line(50).into()),
            (true, 20..35) if !must_part => (String::new(), String::new()),
            (true, 35..45) if !must_part => (" ".into(), String::new()),
            (true, 45..52) => ("\n```json\n".into(), "\n```".into()),
            (true, 52..75) => {
                let space = self.line(30);
                let pair = self
                    .with
                    .pair(bracket, &["args", "arguments"])
                    .spaced(space);
                (pair.open, pair.close)
            }
            (true, _) => (self.with.marker(bracket, &["args", "sep"]), String::new()),
            (false, 0..60) => ("\n".into(), String::new()),
            (false, 60..80) if !must_part => (String::new(), String::new()),
            (false, _) => (self.with.marker(bracket, &["args", "sep"]), String::new()),
        }
    }

    fn tagged(&mut self) -> Tagged {
        let bracket = self.roomy_bracket();
        let word = self.with.word(&["parameter", "arg", "param"]);
        let (open, shut) = self.with.around_words(bracket);
        let around = self.line(40);
        let literals = self.chance(40);
        let quoted = !literals && self.chance(8);
        let separator = self.separator(65);
        let wrapping = (!quoted && self.chance(10)).then(|| {
            let quotes = [
                Pair::new("<![CDATA[", "]]>"),
                Pair::new("<text>", "</text>"),
                Pair::new("\"\"\"", "\"\"\""),
                Pair::new("`", "`"),
            ];
            Wrapping {
                pair: self.pick(&quotes),
                only_markup: self.chance(60),
            }
        });
        let word = match bracket {
            Bracket::Square | Bracket::DoubleSquare => word.to_uppercase(),
            _ => word,
        };
        let close = format!("{around}{}", self.with.closing(bracket, &word));
        let choice = self.with.random.below(100);
        let (before_key, between) = match choice {
            0..40 => {
                let sign = self.pick(&["=", "=", " ", ":"]);
                (
                    format!("{open}{word}{sign}"),
                    vec![format!("{shut}{around}")],
                )
            }
            40..70 if matches!(bracket, Bracket::Angle | Bracket::Parts | Bracket::Led) => {
                let attribute = self.pick(&["name", "key"]);
                let between = match choice {
                    46..52 => self.typed(&format!("{shut}{around}")),
                    40..46 => vec![
                        format!("\" string=\"true\"{shut}{around}"),
                        format!("\" string=\"false\"{shut}{around}"),
                    ],
                    _ => vec![format!("\"{shut}{around}")],
                };
                (format!("{open}{word} {attribute}=\""), between)
            }
            70..78 if matches!(bracket, Bracket::Angle | Bracket::Led) => {
                // The key is the name of the element.
                let (open, between) = (open.clone(), vec![format!("{shut}{around}")]);
                let tagged = Tagged {
                    after_value: format!("{around}{open}/{KEY}{shut}"),
                    before_key: open,
                    between,
                    separator,
                    literals,
                    quoted,
                    wrapping: None,
                };
                return tagged;
            }
            _ => {
                let key = self.with.pair(bracket, &["k", "arg_key", "key"]);
                let value = self.with.pair(bracket, &["v", "arg_value", "value"]);
                let middle = self.line(50);
                let between = format!("{}{middle}{}{around}", key.close, value.open);
                let tagged = Tagged {
                    before_key: key.open,
                    between: vec![between],
                    after_value: format!("{around}{}", value.close),
                    separator,
                    literals,
                    quoted,
                    wrapping,
                };
                return tagged;
            }
        };
        Tagged {
            before_key,
            literals: literals && between.len() == 1,
            quoted: quoted && between.len() == 1,
            wrapping: wrapping.filter(|_| between.len() == 1),
            between,
            after_value: close,
            separator,
        }
    }

    /// Attributes that say which type a value has.
    fn typed(&mut self, behind: &str) -> Vec<String> {
        let attribute = self.pick(&["type", "kind"]);
        let names = match self.chance(70) {
            true => TYPES,
            false => ["str", "int", "float", "bool", "list", "dict"],
        };
        let names = names.into_iter();
        names
            .map(|name| format!("\" {attribute}=\"{name}\"{behind}"))
            .collect()
    }
}

/// Whether calls can stand before the text: something has to show where they begin and end.
fn can_stand_first(format: &Format) -> bool {
    let calls = format.calls.as_ref();
    calls.is_some_and(|calls| has_end(calls) && !begins_with_word(calls))
        && format.turns.calls_end.is_none()
}
