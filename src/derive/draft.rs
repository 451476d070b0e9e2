//! Writing a response template from findings.

use crate::analysis::markers::{self, is_distinctive};
use crate::analysis::{CallBody, CallKeys, CallShape, Dialect, Findings, Slot, Tagged, dedup};
use crate::value::{Object, Value};

use super::DeriveOptions;
use super::regex::{any_of, exact, loose, up_to, up_to_either};

/// What findings leave open, and trials decide.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Choices {
    pub(super) thinking_open: ThinkingOpen,
    pub(super) thinking_end: ThinkingEnd,
    pub(super) content: ContentPlace,
    /// Whether a call that nothing closes ends where the next begins.
    pub(super) next_call_closes: bool,
    /// Whether calls that nothing clear opens may begin within a text.
    pub(super) calls_anywhere: bool,
    /// Whether calls close a text that nothing else has closed.
    pub(super) calls_close_content: bool,
    /// Whether what stands between a name and the arguments may be anything.
    pub(super) loose_header: bool,
    /// Whether the first of several markers that open a call may be left out.
    pub(super) optional_lead: bool,
    /// Whether markers are also known without their beginnings, which a prompt may have taken.
    pub(super) broken_markers: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum ThinkingOpen {
    /// Its marker opens it.
    #[default]
    Marker,
    /// Its marker opens it, if the other one closes it later.
    MarkerIfClosed,
    /// The turn begins with it, if a marker closes it later.
    StartIfClosed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum ThinkingEnd {
    /// Only its marker closes it.
    #[default]
    Marker,
    /// The end of the turn closes it, too.
    OrTurn,
    /// So does a call.
    OrCall,
    /// So does a call, unless its marker closes it later.
    OrCallUnlessClosed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum ContentPlace {
    /// Whatever is nothing else.
    #[default]
    Leftover,
    /// What its markers enclose.
    Marked,
}

/// A response template for findings, with some choices made.
pub(super) fn draft(
    findings: &Findings,
    cut_markers: &[(String, String)],
    choices: &Choices,
    options: &DeriveOptions,
) -> Value {
    let drafter = Drafter {
        findings,
        cut_markers,
        choices,
        options,
    };
    let mut template = Object::new();
    template.insert("version", 1);
    template.insert("defaults", Object::from_iter([("role", "assistant")]));
    let headers = &findings.turn.headers;
    match headers.as_slice() {
        [] => template.insert("start_anchor_pattern", "\\A"),
        [one] => template.insert("start_anchor", one.as_str()),
        several => template.insert("start_anchor", texts(several)),
    };
    let mut fields = Object::new();
    if let Some(thinking) = drafter.thinking() {
        fields.insert(options.reasoning_field.as_str(), thinking);
    }
    if let Some(calls) = drafter.calls() {
        fields.insert("tool_calls", calls);
    }
    fields.insert("content", drafter.content());
    template.insert("fields", fields);
    template.into()
}

fn texts(texts: &[String]) -> Vec<Value> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

/// One literal as itself, several as a list.
fn literals(literals: &[String]) -> Value {
    match literals {
        [one] => one.as_str().into(),
        several => texts(several).into(),
    }
}

struct Drafter<'a> {
    findings: &'a Findings,
    /// Markers, and what is left of them where a prompt ends like they begin.
    cut_markers: &'a [(String, String)],
    choices: &'a Choices,
    options: &'a DeriveOptions,
}

impl Drafter<'_> {
    fn thinking(&self) -> Option<Object> {
        let shape = self.findings.reasoning.as_ref()?;
        let close = shape.close.trim();
        let mut field = Object::new();
        match (
            self.choices.thinking_open,
            shape.open.as_deref().map(str::trim),
        ) {
            (ThinkingOpen::Marker, Some(open)) => {
                field.insert("open", literals(&self.with_broken(open)));
            }
            (ThinkingOpen::MarkerIfClosed, Some(open)) => {
                // The white space makes it as long as what would skip the marker.
                let pattern = format!("{}\\s*(?=.*?{})", exact(open), exact(close));
                field.insert("open_pattern", pattern);
            }
            _ => {
                field.insert("open_pattern", format!("\\A(?=.*?{})", exact(close)));
            }
        }
        let mut closers = vec![close.to_owned()];
        if self.choices.thinking_end != ThinkingEnd::Marker {
            closers.extend(self.turn_ends());
        }
        let ahead = match self.choices.thinking_end {
            ThinkingEnd::Marker | ThinkingEnd::OrTurn => Vec::new(),
            ThinkingEnd::OrCall | ThinkingEnd::OrCallUnlessClosed => self.call_heads(),
        };
        let ahead = (!ahead.is_empty()).then(|| {
            let heads: Vec<String> = ahead.iter().map(|head| exact(head)).collect();
            match self.choices.thinking_end {
                ThinkingEnd::OrCallUnlessClosed => {
                    format!("(?={}(?!.*?{}))", any_of(&heads), exact(close))
                }
                _ => format!("(?={})", any_of(&heads)),
            }
        });
        self.close(&mut field, &closers, ahead);
        Some(field)
    }

    /// Puts in what closes a region: literals where they do, a pattern where white space has to go
    /// with them or something is to be looked for ahead.
    fn close(&self, field: &mut Object, closers: &[String], ahead: Option<String>) {
        let mut closers = closers.to_vec();
        dedup(&mut closers);
        if self.choices.content == ContentPlace::Marked && ahead.is_none() {
            if !closers.is_empty() {
                field.insert("close", literals(&closers));
            }
            return;
        }
        let space = match self.choices.content {
            ContentPlace::Leftover => "\\s*",
            ContentPlace::Marked => "",
        };
        let mut alternatives = Vec::new();
        if !closers.is_empty() {
            let loose: Vec<String> = longest_first(&closers).iter().map(|c| loose(c)).collect();
            alternatives.push(format!("{}{space}", any_of(&loose)));
        }
        alternatives.extend(ahead);
        if !alternatives.is_empty() {
            field.insert("close_pattern", alternatives.join("|"));
        }
    }

    fn content(&self) -> Object {
        let mut field = Object::new();
        let shape = &self.findings.content;
        if let (ContentPlace::Marked, Some(open)) = (self.choices.content, &shape.open) {
            if is_distinctive(open) {
                let mut opens = self.with_broken(open.trim());
                opens.extend(self.sisters(open.trim()));
                field.insert("open", literals(&opens));
            } else {
                field.insert(
                    "open_pattern",
                    format!("{}{}", self.part_start(), exact(open)),
                );
            }
            let mut closers = shape.close.clone();
            closers.extend(self.turn_ends());
            let ahead = self
                .choices
                .calls_close_content
                .then(|| self.calls_ahead())
                .flatten();
            self.close(&mut field, &closers, ahead);
        } else {
            self.close(&mut field, &self.skipped(), None);
        }
        field
    }

    /// Where a part of the turn may begin that nothing clear opens: at its start, or after what
    /// separates parts.
    fn part_start(&self) -> String {
        let separator = self
            .findings
            .calls
            .as_ref()
            .map_or("", |shape| shape.separator.as_str());
        match is_distinctive(separator) {
            true => format!("(?:\\A\\s*|{})", loose(separator)),
            false => "\\A\\s*".to_owned(),
        }
    }

    /// The place before a call.
    fn calls_ahead(&self) -> Option<String> {
        let shape = self.findings.calls.as_ref()?;
        let heads: Vec<String> = match self.call_heads() {
            heads if heads.is_empty() && is_distinctive(&shape.separator) => {
                vec![exact(shape.separator.trim())]
            }
            heads => heads.iter().map(|head| exact(head)).collect(),
        };
        (!heads.is_empty()).then(|| format!("(?={})", any_of(&heads)))
    }

    /// Other texts that open content as well: where a marker names what follows, and calls name
    /// something that is neither content nor reasoning.
    fn sisters(&self, open: &str) -> Vec<String> {
        let pieces = markers::pieces(open);
        let (Some(calls), [marker, word, rest @ ..]) = (&self.findings.calls, pieces.as_slice())
        else {
            return Vec::new();
        };
        if !markers::is_marker(marker)
            || !word.chars().all(char::is_alphanumeric)
            || rest.is_empty()
        {
            return Vec::new();
        }
        let mut sisters = Vec::new();
        for slot in &calls.open {
            let Slot::Text(text) = slot else { continue };
            let pieces = markers::pieces(text);
            for pair in pieces.windows(2) {
                let other = pair[1];
                if pair[0] == *marker && other != *word && other.chars().all(char::is_alphanumeric)
                {
                    sisters.push(format!("{marker}{other}{}", rest.concat()));
                }
            }
        }
        let thinking = self
            .findings
            .reasoning
            .as_ref()
            .and_then(|shape| shape.open.as_deref());
        sisters.retain(|sister| thinking.map(str::trim) != Some(sister.as_str()));
        sisters
    }

    /// The markers that stand between fields and belong to none. What is nothing else ends with
    /// each of them, and they are dropped.
    fn skipped(&self) -> Vec<String> {
        let findings = self.findings;
        let mut skipped = self.turn_ends();
        for header in &findings.turn.headers {
            push(&mut skipped, header);
        }
        if let Some(shape) = &findings.reasoning {
            push(&mut skipped, &shape.close);
            if self.choices.thinking_open != ThinkingOpen::Marker {
                push(&mut skipped, shape.open.as_deref().unwrap_or_default());
            }
        }
        let content = &findings.content;
        for marker in content
            .open
            .iter()
            .chain(&content.close)
            .chain(&content.beside_reasoning)
        {
            push(&mut skipped, marker);
        }
        if let Some(shape) = &findings.calls {
            for text in [&shape.section_open, &shape.section_close, &shape.separator] {
                push(&mut skipped, text);
            }
            push(&mut skipped, self.lead(shape).0);
            push(&mut skipped, split_close(&shape.close).1);
        }
        let whole = skipped.clone();
        for marker in &whole {
            skipped.extend(self.broken(marker));
        }
        dedup(&mut skipped);
        let opens = findings
            .calls
            .as_ref()
            .and_then(|shape| self.literal_open(shape));
        skipped.retain(|marker| opens.as_deref() != Some(marker.as_str()));
        skipped
    }

    fn turn_ends(&self) -> Vec<String> {
        let ends = self
            .findings
            .turn
            .ends
            .iter()
            .map(|end| end.trim().to_owned());
        ends.filter(|end| end.chars().count() > 1).collect()
    }

    /// A marker, and what may be left of it where a prompt ends like it begins.
    fn with_broken(&self, marker: &str) -> Vec<String> {
        let mut all = vec![marker.to_owned()];
        all.extend(self.broken(marker));
        all
    }

    fn broken(&self, marker: &str) -> Vec<String> {
        if !self.choices.broken_markers {
            return Vec::new();
        }
        let cut = self.cut_markers.iter();
        let rests = cut.filter_map(|(whole, rest)| {
            let after = marker.strip_prefix(whole.as_str())?;
            Some(format!("{rest}{after}"))
        });
        rests.collect()
    }

    /// The markers that tell that a call begins.
    fn call_heads(&self) -> Vec<String> {
        let Some(shape) = &self.findings.calls else {
            return Vec::new();
        };
        let mut heads = Vec::new();
        let section = shape.section_open.trim();
        if is_distinctive(section) {
            heads.push(section.to_owned());
        }
        if let Some(Slot::Text(text)) = shape.open.first()
            && is_distinctive(text)
        {
            let (lead, rest) = self.lead(shape);
            heads.extend([lead, rest].map(|text| text.trim().to_owned()));
        }
        heads.retain(|head| !head.is_empty());
        dedup(&mut heads);
        heads
    }

    /// The text that opens a call, cut into the markers that may be left out, and the rest.
    fn lead<'s>(&self, shape: &'s CallShape) -> (&'s str, &'s str) {
        let Some(Slot::Text(text)) = shape.open.first() else {
            return ("", "");
        };
        if shape.open.len() == 1 {
            return ("", text);
        }
        let pieces = markers::pieces(text);
        let is_last = |piece: &&str| markers::is_marker(piece) || piece.starts_with('<');
        let Some(last) = pieces.iter().rposition(is_last) else {
            return ("", text);
        };
        let lead = &pieces[..last];
        let bare = |piece: &&str| markers::is_marker(piece) || piece.trim().is_empty();
        if !lead.iter().all(bare) {
            return ("", text);
        }
        text.split_at(lead.iter().map(|piece| piece.len()).sum())
    }

    /// What opens a call, if it is the same text for all.
    fn literal_open(&self, shape: &CallShape) -> Option<String> {
        match shape.open.as_slice() {
            [Slot::Text(text)] if is_distinctive(text) => Some(text.trim().to_owned()),
            _ => None,
        }
    }

    fn calls(&self) -> Option<Object> {
        let shape = self.findings.calls.as_ref()?;
        let mut field = Object::new();
        match self.literal_open(shape) {
            Some(open) => {
                field.insert("open", literals(&self.with_broken(&open)));
            }
            None => {
                field.insert("open_pattern", self.open_pattern(shape));
            }
        }
        self.close_calls(shape, &mut field);
        let is_array = matches!(shape.body, CallBody::Array(..));
        if !is_array {
            field.insert("repeats", true);
        }
        let with_id = self.options.ids && shape.open.contains(&Slot::Id);
        match &shape.body {
            CallBody::Object(keys, dialect) => {
                json_content(&mut field, dialect);
                if let Some(transform) = self.transform(keys, "content.") {
                    field.insert("transform", transform);
                }
            }
            CallBody::Array(keys, dialect) => {
                json_content(&mut field, dialect);
                if let Some(transform) = self.transform(keys, "") {
                    field.insert("transform", transform);
                    field.insert("transform_each", true);
                }
            }
            CallBody::Arguments(dialect) => {
                json_content(&mut field, dialect);
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
            CallBody::Tagged(tagged) => {
                field.insert("content", "xml-inline");
                field.insert("content_args", self.tagged(tagged));
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
            CallBody::Python => {
                field.insert("content", "xml-inline");
                field.insert("content_args", python_arguments());
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
        }
        Some(field)
    }

    /// The shape of a call whose parts are under keys, unless it is in shape already.
    fn transform(&self, keys: &CallKeys, root: &str) -> Option<Value> {
        let is = |path: &[String], names: &[&str]| {
            path.iter().map(String::as_str).eq(names.iter().copied())
        };
        let has_only = |names: &[&str]| keys.all.iter().all(|key| names.contains(&key.as_str()));
        let nested = is(&keys.name, &["function", "name"])
            && is(&keys.arguments, &["function", "arguments"]);
        let keeps_id = keys.id.as_deref().is_some_and(|id| is(id, &["id"]));
        if nested
            && keys.all.iter().any(|key| key == "type")
            && has_only(&["type", "function", "id"])
            && (self.options.ids || !keeps_id)
        {
            return None;
        }
        let with_id = self.options.ids && keys.id.is_some();
        if !root.is_empty()
            && !with_id
            && is(&keys.name, &["name"])
            && is(&keys.arguments, &["arguments"])
            && has_only(&["name", "arguments"])
        {
            let call = [("type", "function"), ("function", "{content}")];
            return Some(Object::from_iter(call).into());
        }
        let place = |path: &[String]| format!("{{{root}{}}}", path.join("."));
        let function = Object::from_iter([
            ("name", place(&keys.name)),
            ("arguments", place(&keys.arguments)),
        ]);
        let mut call = Object::from_iter([("type", "function")]);
        if let (true, Some(id)) = (self.options.ids, &keys.id) {
            call.insert("id", place(id));
        }
        call.insert("function", function);
        Some(call.into())
    }

    fn tagged(&self, tagged: &Tagged) -> Object {
        let between = variants(&tagged.between);
        let key = up_to(&tagged.between[0]);
        let value = match tagged.close.is_empty() {
            // Nothing but a separator tells where a value ends.
            true => match tagged.separator.trim().chars().next() {
                Some(stop) => format!("(?P<value>[^{}\\n]*)", exact(&stop.to_string())),
                None => "(?P<value>[^\\n]*)".to_owned(),
            },
            false => {
                let slots = tagged.close.iter().enumerate();
                let close = slots.map(|(at, slot)| match slot {
                    Slot::Text(text) if at == 0 => after_value(text.trim_end()),
                    Slot::Text(text) => loose(text.trim_end()),
                    _ => format!("{key}+"),
                });
                format!("(?P<value>.*?){}", close.collect::<String>())
            }
        };
        let pattern = format!(
            "{}(?P<key>{key}+){}{value}",
            loose(tagged.open.trim_start()),
            between,
        );
        let mut arguments = Object::from_iter([("tag_pattern", pattern)]);
        if self.options.guess_types {
            arguments.insert("value_parser", json_or_text());
        }
        arguments
    }

    /// The expression that opens a call whose name stands in it, or that nothing clear opens.
    fn open_pattern(&self, shape: &CallShape) -> String {
        let (lead, rest) = self.lead(shape);
        let mut slots = shape.open.clone();
        if let Some(Slot::Text(text)) = slots.first_mut() {
            rest.clone_into(text);
        }
        let lead_is_skipped = !lead.is_empty();
        let own = self.opening(&slots, true);
        let first_text = match slots.first() {
            Some(Slot::Text(text)) => text.as_str(),
            _ => "",
        };
        let own = match first_text.is_empty() {
            true => own,
            false => self.broken_start(first_text, &own),
        };
        if lead_is_skipped || opens_clearly(shape) {
            return match self.choices.optional_lead {
                true => with_optional_lead(first_text, own),
                false => own,
            };
        }
        self.chained(shape, &slots)
    }

    /// The expression, which begins with a marker, also without what a prompt may have taken of it.
    fn broken_start(&self, first: &str, own: &str) -> String {
        let first = first.trim_start();
        let marker = markers::pieces(first)
            .into_iter()
            .next()
            .unwrap_or_default();
        let rests = self.broken(marker);
        match own.strip_prefix(loose(marker).as_str()) {
            Some(rest) if !rests.is_empty() => {
                let mut starts = vec![exact(marker)];
                starts.extend(rests.iter().map(|rest| exact(rest)));
                format!("{}{rest}", any_of(&starts))
            }
            _ => own.to_owned(),
        }
    }

    /// The expression for slots in a row.
    fn opening(&self, slots: &[Slot], named: bool) -> String {
        let last_name = slots.iter().rposition(|slot| *slot == Slot::Name);
        let mut out = String::new();
        for (at, slot) in slots.iter().enumerate() {
            let next = match slots.get(at + 1) {
                Some(Slot::Text(text)) => text.as_str(),
                _ => "",
            };
            match slot {
                Slot::Text(text) => {
                    let text = if at == 0 {
                        text.trim_start()
                    } else {
                        text.as_str()
                    };
                    let after_name = at > 0 && last_name.is_some_and(|name| name < at);
                    out.push_str(&self.between_name_and_body(text, after_name));
                }
                Slot::Name if Some(at) == last_name && named => {
                    out.push_str(&format!("(?P<name>{}+)", self.name_class(next)));
                }
                Slot::Name => out.push_str(&format!("{}+", self.name_class(next))),
                Slot::Id if self.options.ids && named => {
                    out.push_str(&format!("(?P<id>{}*)", up_to(next)));
                }
                Slot::Id => out.push_str(&format!("{}*", up_to(next))),
                Slot::Index => out.push_str("\\d+"),
                Slot::Key => out.push_str(&format!("{}+", up_to(next))),
            }
        }
        out
    }

    fn name_class(&self, next: &str) -> String {
        let shape = self.findings.calls.as_ref();
        match (
            next.is_empty(),
            shape.map(|shape| (&shape.body, &shape.close)),
        ) {
            // The body follows at once; where there are no arguments, what closes the call.
            (true, Some((CallBody::Tagged(tagged), close))) => {
                up_to_either(&tagged.open, split_close(close).0)
            }
            (true, _) => "[^\\s{<]".to_owned(),
            (false, _) => up_to(next),
        }
    }

    fn between_name_and_body(&self, text: &str, after_name: bool) -> String {
        let pieces = markers::pieces(text);
        let last = pieces.iter().rposition(|piece| markers::is_marker(piece));
        match last {
            Some(last) if after_name && self.choices.loose_header && last > 0 => {
                let marker: String = pieces[last..].concat();
                format!("[^{{]*?{}", loose(&marker))
            }
            _ => loose(text),
        }
    }

    /// The expression for calls that nothing clear opens: the first is told by what opens them
    /// all, or by the start of the turn, and the next by standing behind it.
    fn chained(&self, shape: &CallShape, slots: &[Slot]) -> String {
        let section = shape.section_open.trim();
        let own = match (&shape.body, slots.is_empty()) {
            (CallBody::Object(keys, _) | CallBody::Array(keys, _), _) => {
                format!(
                    "{}(?={})",
                    self.opening(slots, true),
                    json_head(&shape.body, keys)
                )
            }
            (CallBody::Arguments(_), _) => format!("{}(?=\\{{)", self.opening(slots, true)),
            _ => self.opening(slots, true),
        };
        let start = match (section.is_empty(), self.choices.calls_anywhere) {
            (true, true) => String::new(),
            (true, false) => "\\A\\s*".to_owned(),
            (false, _) => format!("{}\\s*", loose(section)),
        };

        if !shape.several || matches!(shape.body, CallBody::Array(..)) {
            return format!("{start}{own}");
        }
        let separator = loose(&shape.separator);
        let next = match (is_distinctive(&shape.separator), section.is_empty()) {
            (true, _) => separator,
            (false, true) => format!("(?<=\\A.*[}})]){separator}"),
            (false, false) => format!("(?<={}.*){separator}", loose(section)),
        };
        // A call that is opened by nothing at all must not begin where another just has.
        let next = match slots.is_empty() && shape.separator.trim().is_empty() {
            true => next.replace("\\s*", "\\s+"),
            false => next,
        };
        format!("(?:{start}|{next}){own}")
    }

    fn close_calls(&self, shape: &CallShape, field: &mut Object) {
        let (close, _) = split_close(&shape.close);
        let close = close.trim();
        let section = shape.section_close.trim();
        let mut closers = Vec::new();
        let mut ahead = Vec::new();
        if is_distinctive(close) {
            closers.push(close.to_owned());
            if is_distinctive(section) {
                push(&mut closers, section);
            }
        } else {
            // What closes a call could as well stand in its arguments: what follows tells.
            let both = [loose(close), loose(section)].join("\\s*");
            if is_distinctive(section) {
                ahead.push(format!("{both}\\s*"));
            } else if !close.is_empty() || !section.is_empty() {
                let ends: Vec<String> = self.turn_ends().iter().map(|end| exact(end)).collect();
                let end = any_of(&[&ends[..], &["\\Z".to_owned()]].concat());
                ahead.push(format!("{both}\\s*(?={end})"));
            }
            ahead.extend(self.next_after(shape, close));
        }
        closers.extend(self.turn_ends());
        closers.extend(markers::markers(&shape.separator).map(str::to_owned));
        if self.choices.next_call_closes {
            let heads: Vec<String> = self.call_heads().iter().map(|head| exact(head)).collect();
            if !heads.is_empty() {
                let separator = shape.separator.trim();
                if !separator.is_empty() && !is_distinctive(separator) {
                    ahead.push(format!("{}\\s*(?={})", loose(separator), any_of(&heads)));
                }
                ahead.push(format!("(?={})", any_of(&heads)));
            }
        }
        let ahead = (!ahead.is_empty()).then(|| ahead.join("|"));
        self.close(field, &closers, ahead);
    }

    /// What closes a call when another follows and nothing clear stands between.
    fn next_after(&self, shape: &CallShape, close: &str) -> Option<String> {
        if !shape.several || matches!(shape.body, CallBody::Array(..)) || opens_clearly(shape) {
            return None;
        }
        let head = match &shape.body {
            CallBody::Object(keys, _) | CallBody::Array(keys, _) => json_head(&shape.body, keys),
            _ => self.opening(&shape.open, false),
        };
        let behind = match close.is_empty() {
            true => "(?<=[}\\])])".to_owned(),
            false => loose(close),
        };
        let separator = match shape.separator.trim().is_empty() {
            true => "\\s+".to_owned(),
            false => loose(&shape.separator),
        };
        Some(format!("{behind}(?={separator}{head})"))
    }
}

/// The expression, which begins with a marker, also without it if another one follows.
fn with_optional_lead(text: &str, own: String) -> String {
    let text = text.trim_start();
    let first = markers::pieces(text).into_iter().next().unwrap_or_default();
    if !markers::is_marker(first) || markers::markers(text).count() < 2 {
        return own;
    }
    let lead = loose(first);
    match own.strip_prefix(lead.as_str()) {
        Some(rest) => format!("(?:{lead})?{rest}"),
        None => own,
    }
}

/// Whether what opens a call can't be taken for anything else.
fn opens_clearly(shape: &CallShape) -> bool {
    let mut texts = shape.open.iter().filter_map(|slot| match slot {
        Slot::Text(text) => Some(text),
        _ => None,
    });
    texts.any(|text| is_distinctive(text))
}

/// How a JSON object begins that is a call.
fn json_head(body: &CallBody, keys: &CallKeys) -> String {
    let (CallBody::Object(_, dialect) | CallBody::Array(_, dialect)) = body else {
        return String::new();
    };
    let quote = match (&dialect.string_delimiters, dialect.unquoted_keys) {
        (_, true) => "",
        (Some((open, _)), false) if open == "'" => "'",
        _ => "\"",
    };
    let key = |key: &str| format!("{quote}{}{quote}\\s*:\\s*", exact(key));
    let mut head = String::new();
    if matches!(body, CallBody::Array(..)) {
        head.push_str("\\[\\s*");
    }
    head.push_str("\\{\\s*");
    let flat = keys.name.len() == 1 && keys.arguments.len() == 1;
    match keys.all.as_slice() {
        [first, second, ..] if flat && *first == keys.name[0] && !quote.is_empty() => {
            head.push_str(&key(first));
            head.push_str(&format!(
                "{quote}[^{quote}]*{quote}\\s*,\\s*{}",
                key(second)
            ));
        }
        [first, ..] => head.push_str(&key(first)),
        [] => {}
    }
    head
}

/// What closes a call, cut into its first marker and the rest.
fn split_close(close: &str) -> (&str, &str) {
    let pieces = markers::pieces(close);
    let first = pieces.iter().position(|piece| markers::is_marker(piece));
    let Some(first) = first else {
        return (close, "");
    };
    let length = pieces[..=first].iter().map(|piece| piece.len()).sum();
    close.split_at(length)
}

/// One of several texts, of which only the middle differs.
fn variants(texts: &[String]) -> String {
    let [first, second] = texts else {
        return texts
            .first()
            .map_or_else(String::new, |text| before_value(text));
    };
    let start = first
        .chars()
        .zip(second.chars())
        .take_while(|(a, b)| a == b);
    let start: usize = start.map(|(a, _)| a.len_utf8()).sum();
    let (a, b) = (&first[start..], &second[start..]);
    let end = a
        .chars()
        .rev()
        .zip(b.chars().rev())
        .take_while(|(a, b)| a == b);
    let end: usize = end.map(|(a, _)| a.len_utf8()).sum();
    let middles = [&a[..a.len() - end], &b[..b.len() - end]].map(exact);
    let (lead, trail) = (loose(&first[..start]), before_value(&a[a.len() - end..]));
    format!("{lead}{}{trail}", any_of(&middles))
}

/// White space after a marker and before a value: what the format writes is not the value's.
fn before_value(text: &str) -> String {
    let marker = text.trim_end();
    let space = &text[marker.len()..];
    format!("{}{}", loose(marker), optional(space))
}

/// White space after a value and before a marker.
fn after_value(text: &str) -> String {
    let marker = text.trim_start();
    let space = &text[..text.len() - marker.len()];
    format!("{}{}", optional(space), loose(marker))
}

fn optional(space: &str) -> String {
    match space.chars().count() {
        0 => String::new(),
        1 => format!("{}?", exact(space)),
        _ => format!("(?:{})?", exact(space)),
    }
}

fn json_content(field: &mut Object, dialect: &Dialect) {
    field.insert("content", "json");
    let mut arguments = Object::new();
    if dialect.unquoted_keys {
        arguments.insert("unquoted_keys", true);
    }
    if let Some((open, close)) = &dialect.string_delimiters {
        let pair: Value = vec![open.as_str().into(), close.as_str().into()].into();
        arguments.insert("string_delims", vec![pair]);
    }
    if !arguments.is_empty() {
        field.insert("content_args", arguments);
    }
}

fn json_or_text() -> Object {
    let mut parser = Object::from_iter([("name", "json")]);
    parser.insert("args", Object::from_iter([("allow_non_json", true)]));
    parser
}

/// Arguments as Python writes them: strings in either quotes, and whatever else goes on to the
/// next key.
fn python_arguments() -> Object {
    let string = r#""(?:[^"\\]|\\.)*""#;
    let single = r"(?<=')(?:[^'\\]|\\.)*(?=')";
    let other = r".*?(?=\s*,\s*\w+\s*=|\s*\Z)";
    let pattern = format!("(?P<key>\\w+)\\s*=\\s*'?(?P<value>{single}|{string}|{other})");
    let mut arguments = Object::from_iter([("tag_pattern", pattern)]);
    arguments.insert("value_parser", json_or_text());
    arguments
}

fn call_of(name: &str, arguments: &str, with_id: bool) -> Object {
    let function = Object::from_iter([("name", name), ("arguments", arguments)]);
    let mut call = Object::from_iter([("type", "function")]);
    if with_id {
        call.insert("id", "{id}");
    }
    call.insert("function", function);
    call
}

/// Adds the markers of a text, or the text itself if it is not markers alone.
fn push(into: &mut Vec<String>, text: &str) {
    let found: Vec<&str> = markers::markers(text).collect();
    if !found.is_empty() && found.concat() == text.split_whitespace().collect::<String>() {
        into.extend(found.into_iter().map(str::to_owned));
    } else if is_distinctive(text) {
        into.push(text.trim().to_owned());
    }
}

fn longest_first(texts: &[String]) -> Vec<String> {
    let mut sorted = texts.to_vec();
    sorted.sort_by_key(|text| std::cmp::Reverse(text.len()));
    sorted
}
