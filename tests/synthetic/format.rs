//! What a format is, and generating one.

use crate::random::{Bracket, Inventor, Pair, Random};

/// A way of writing a model's turn that a careful author could have chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Format {
    pub turns: Turns,
    pub reasoning: Option<Reasoning>,
    pub content: Content,
    /// What stands between a text and the calls after it.
    pub gap: &'static str,
    pub calls: Option<Calls>,
}

/// What stands around the message of each role.
#[derive(Debug, Clone, PartialEq)]
pub struct Turns {
    /// The system's; without it, its text goes before the first question.
    pub system: Option<Pair>,
    pub user: Pair,
    pub tool: Pair,
    pub assistant: Pair,
    /// What ends a turn with calls, if it is not what ends the others.
    pub calls_end: Option<String>,
    /// What stands behind the turn's header, but is no part of a prompt.
    pub lead: &'static str,
    pub tools: Pair,
    /// Whether the system's turn shows what a call looks like.
    pub instructions: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reasoning {
    /// Nothing if the turn just begins with it.
    pub open: Option<String>,
    pub close: String,
    pub after_close: &'static str,
    pub opened_by_prompt: bool,
    /// Whether a prompt closes it at once if thinking is switched off.
    pub closed_when_off: bool,
    /// Whether a turn without thoughts has the empty markers.
    pub empty: bool,
    pub kept: Kept,
    /// The key that the template reads.
    pub key: &'static str,
    /// The variable that switches it.
    pub switch: &'static str,
}

impl Reasoning {
    /// The markers without anything between.
    pub fn nothing(&self) -> String {
        let open = self.open.as_deref().unwrap_or_default();
        format!("{open}{}{}", self.close, self.after_close)
    }
}

/// In which turns thoughts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Always,
    /// Only after the last question.
    LastTurn,
    /// A past turn is written without, even the last.
    Never,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Plain,
    Wrapped(Pair),
    BesideReasoning(Pair),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Calls {
    /// Around all calls of a turn.
    pub section: Pair,
    /// Around each call.
    pub each: Pair,
    pub separator: &'static str,
    pub body: Body,
    pub several: bool,
    pub ids: Ids,
}

/// The ids that the template takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// Nine letters; others are refused.
    Nine,
    Prefixed,
    /// `functions.NAME:INDEX`
    Named,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A JSON object for each call, all of them in one array if `array`.
    Object { keys: Keys, array: bool, json: Json },
    /// The name, and then the arguments.
    Named {
        /// The texts around the name and the id.
        head: Vec<Part>,
        arguments: Arguments,
        close: String,
    },
    /// `[name(key="value"), other()]`
    Python {
        /// Whether True and False are as in Python.
        literals: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Text(String),
    Name,
    Id,
    /// The number of the call in its turn.
    Index,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Keys {
    /// The name is the only key, and the arguments its value.
    NameAsKey,
    Plain {
        name: &'static str,
        arguments: &'static str,
        id: Option<(&'static str, Place)>,
        /// The key of an object that name and arguments stand in.
        nested: Option<&'static str>,
        /// Whether it has `"type": "function"`.
        typed: bool,
        /// Whether the arguments are JSON within a string.
        as_text: bool,
        /// Whether the arguments stand before the name.
        arguments_first: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    First,
    Last,
}

/// How JSON is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Plain,
    Compact,
    Indented,
    Ascii,
    /// Keys without quotes, and strings between markers.
    Dialect(Pair),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    Json(Json),
    Tagged(Tagged),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    pub before_key: String,
    /// What stands between key and value; where two, the first is for texts and the second for JSON.
    pub between: Vec<String>,
    pub after_value: String,
    pub separator: &'static str,
    /// Whether True and False are as in Python.
    pub literals: bool,
    /// Whether texts are JSON, too.
    pub quoted: bool,
}

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
        match self.chance(65) {
            true => self.main,
            false => self.with.bracket(),
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
        Format {
            turns,
            reasoning,
            content,
            gap,
            calls,
        }
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
                    true => "\n",
                    false => self.line(70),
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
                (section, nothing(), ", ", Body::Python { literals })
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
                let each = match in_marker && self.chance(25) {
                    true => self.pair(&["tool_call", "call"]).spaced("\n"),
                    false => nothing(),
                };
                (section, each, self.line(65), body)
            }
        };
        if let (Body::Object { .. }, true) = (&body, self.chance(25)) {
            ids = Ids::Nine;
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
                let (open, shut) = in_marker(bracket);
                let (word, quote) = match bracket {
                    Bracket::Square | Bracket::DoubleSquare => (word.to_uppercase(), ""),
                    Bracket::Angle => (word, self.pick(&["", "", "\""])),
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
                let close = match bracket {
                    Bracket::Half => format!("<{word}|>"),
                    _ => format!("{}/{word}{shut}", &open),
                };
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
            && tagged.separator.is_empty()
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
        let (open, shut) = in_marker(bracket);
        let around = self.line(40);
        let literals = self.chance(40);
        let quoted = !literals && self.chance(8);
        let separator = self.line(65);
        let word = match bracket {
            Bracket::Square | Bracket::DoubleSquare => word.to_uppercase(),
            _ => word,
        };
        let close = match bracket {
            Bracket::Half => format!("{around}<{word}|>"),
            _ => format!("{around}{open}/{word}{shut}"),
        };
        let choice = self.with.random.below(100);
        let (before_key, between) = match choice {
            0..40 => {
                let sign = self.pick(&["=", "=", " ", ":"]);
                (
                    format!("{open}{word}{sign}"),
                    vec![format!("{shut}{around}")],
                )
            }
            40..65 if bracket == Bracket::Angle => {
                let attribute = self.pick(&["name", "key"]);
                let between = match choice {
                    40..46 => vec![
                        format!("\" string=\"true\"{shut}{around}"),
                        format!("\" string=\"false\"{shut}{around}"),
                    ],
                    _ => vec![format!("\"{shut}{around}")],
                };
                (format!("{open}{word} {attribute}=\""), between)
            }
            _ => {
                let key = self.with.pair(bracket, &["k", "arg_key", "key"]);
                let value = self.with.pair(bracket, &["v", "arg_value", "value"]);
                let middle = self.line(50);
                let tagged = Tagged {
                    before_key: key.open,
                    between: vec![format!("{}{middle}{}{around}", key.close, value.open)],
                    after_value: format!("{around}{}", value.close),
                    separator,
                    literals,
                    quoted,
                };
                return tagged;
            }
        };
        Tagged {
            before_key,
            literals: literals && between.len() == 1,
            quoted: quoted && between.len() == 1,
            between,
            after_value: close,
            separator,
        }
    }
}

/// Whether nothing but a word shows where calls begin.
pub fn begins_with_word(calls: &Calls) -> bool {
    let head = match &calls.body {
        Body::Named { head, .. } => match head.first() {
            Some(Part::Text(text)) => text.as_str(),
            _ => "",
        },
        _ => "",
    };
    let texts = [calls.section.open.as_str(), calls.each.open.as_str(), head];
    let first = texts.into_iter().find(|text| !text.is_empty());
    first.is_some_and(|text| text.starts_with(|c: char| c.is_alphabetic() || c == '`'))
}

/// The brackets of a marker that holds more than a word.
fn in_marker(bracket: Bracket) -> (&'static str, &'static str) {
    match bracket {
        Bracket::Angle => ("<", ">"),
        Bracket::Square => ("[", "]"),
        Bracket::Pipe => ("<|", "|>"),
        Bracket::WidePipe => ("<｜", "｜>"),
        Bracket::Triangle => ("◁", "▷"),
        Bracket::Half => ("<|", ">"),
        Bracket::At => ("@@", "@@"),
        Bracket::Equals => ("==", "=="),
        Bracket::Percent => ("%%", "%%"),
        Bracket::Double => ("<<", ">>"),
        Bracket::DoubleSquare => ("[[", "]]"),
        Bracket::Lenticular => ("【", "】"),
        Bracket::Tilde => ("<~", "~>"),
        Bracket::Colon => ("", ":"),
    }
}
