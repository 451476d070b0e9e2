//! Other ways of opening and closing the fields of a draft, from the plainest on, for those who look for the best.

use crate::analysis::CallParts;
use crate::derive::delimiter::{Delimiter, Delimiters, Draft};
use crate::derive::pattern::{
    ANYTHING, END, NOTHING, Pattern, SOME_SPACE, SPACE, START, ahead, any_of, before_any_of,
    behind, either, exact, ignoring_space, none_of, one_of,
};
use crate::derive::surroundings::TextBounds;
use crate::format::{Dialect, Node, Slot};
use crate::markers::lexicon::unmarked;
use crate::markers::{self, is_slot, is_word, unlikely_in_prose};

use super::arguments::whole_key_class;
use super::call_texts::{
    is_named_behind, json_list_start, literal_open, python_argument, split_last_marker,
};
use super::closing::{behind_bracket, close_behind_bracket, close_behind_line_break};
use super::drafter::Drafter;
use super::opening::{closed_tag, tag_end};

/// The other ways of opening and closing one field.
#[derive(Debug, Default)]
struct FieldVariants {
    name: String,
    /// Ways of opening it.
    opens: Vec<Delimiter>,
    /// Ways of opening it that take along what a prompt has opened before it.
    opens_behind_prompt: Vec<Delimiter>,
    /// Ways of opening it as the format never does, or that look farther ahead.
    opens_ignoring_space: Vec<Delimiter>,
    /// What closes content where none of these opens the field.
    unopened: Vec<Delimiter>,
    /// Ways of closing it.
    closes: Vec<Delimiter>,
    /// What else may close it, where what does is left out.
    also_closes: Vec<Delimiter>,
}

/// The other ways of opening and closing the fields of a draft.
#[derive(Debug, Default)]
pub(in crate::derive) struct Variants {
    fields: Vec<FieldVariants>,
    /// What ends content whatever else does: the ways of each.
    ends: Vec<Vec<Delimiter>>,
    /// The fields that take the white space along that stands behind what closes them.
    spaced: Vec<String>,
}

impl Variants {
    fn field(&self, name: &str) -> Option<&FieldVariants> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The ways of opening a field, or of closing it.
    pub(in crate::derive) fn of(&self, field: &str, opens: bool) -> &[Delimiter] {
        self.field(field).map_or(&[], |field| match opens {
            true => &field.opens,
            false => &field.closes,
        })
    }

    /// Ways of opening a field that take along what a prompt has opened before it.
    pub(in crate::derive) fn opens_behind_prompt(&self, field: &str) -> &[Delimiter] {
        self.field(field)
            .map_or(&[], |field| &field.opens_behind_prompt)
    }

    /// Ways of opening a field as the format never does, or that look far ahead.
    pub(in crate::derive) fn opens_ignoring_space(&self, field: &str) -> &[Delimiter] {
        self.field(field)
            .map_or(&[], |field| &field.opens_ignoring_space)
    }

    /// What closes content where none of these opens a field.
    pub(in crate::derive) fn unopened(&self, field: &str) -> &[Delimiter] {
        self.field(field).map_or(&[], |field| &field.unopened)
    }

    /// What else may close a field, where what does is left out.
    pub(in crate::derive) fn also_closes(&self, field: &str) -> &[Delimiter] {
        self.field(field).map_or(&[], |field| &field.also_closes)
    }

    /// The draft with all that may close its fields.
    pub(in crate::derive) fn whole(&self, draft: &Draft) -> Draft {
        let mut whole = draft.clone();
        for field in &mut whole.fields {
            for close in self.also_closes(&field.name) {
                if !field.close.alternatives.contains(close) {
                    field.close.alternatives.push(close.clone());
                }
            }
        }
        whole
    }

    /// Whether each field of a draft is closed by what the format writes behind it, whatever else closes it: what comes next
    /// may close a call that was broken off, and is none of its own.
    pub(in crate::derive) fn are_kept(&self, draft: &Draft) -> bool {
        draft.fields.iter().all(|field| {
            // White space behind it would be a text, and the last text counts: unless none can have come before.
            let is_first = || {
                let mut opens = field.open.alternatives.iter();
                opens.all(|open| open.expression().without_start(&START).is_some())
            };
            let takes_space = field.close.takes_space || !self.spaced.contains(&field.name);
            if !takes_space && (field.open.alternatives.is_empty() || !is_first()) {
                return false;
            }
            let closes = field.close.alternatives.iter();
            let closes: Vec<Pattern> = closes.map(Delimiter::expression).collect();
            let closes = |own: &Delimiter| closes.contains(&own.expression());
            match field.name.as_str() {
                // Nobody speaks of what ends a turn.
                "content" => self.ends.iter().all(|ways| ways.iter().any(closes)),
                name => {
                    let own = self.of(name, false);
                    own.is_empty() || own.iter().any(closes)
                }
            }
        })
    }

    /// The draft with the plainest way of each: a call ends with what the format writes behind it, and a text with the turn.
    /// Ways of opening calls are tried with all ways of closing them.
    pub(in crate::derive) fn plain(&self, draft: &Draft) -> Vec<Draft> {
        let mut plain = draft.clone();
        for field in &mut plain.fields {
            // A text with markers of its own ends at these, and is plain as it is.
            let is_text = field.name == "content" && field.open.alternatives.is_empty();
            if is_text && !self.ends.is_empty() {
                let ends = self.ends.iter().filter_map(|ways| ways.first());
                field.close.alternatives = ends.cloned().collect();
            }
        }
        let calls = plain.fields.iter().find(|field| field.name == "tool_calls");
        let (Some(calls), Some(others)) = (calls.cloned(), self.field("tool_calls")) else {
            return vec![plain];
        };
        let sides = |own: &Delimiters, others: &[Delimiter]| match others {
            [] => vec![own.clone()],
            others => others.iter().cloned().map(Delimiters::one).collect(),
        };
        let opens = sides(&calls.open, &others.opens);
        let closes = sides(&calls.close, &others.closes);
        let pairs = opens
            .iter()
            .flat_map(|open| closes.iter().map(move |close| (open, close)));
        pairs
            .map(|(open, close)| {
                let mut draft = plain.clone();
                let calls = draft.fields.iter_mut();
                for calls in calls.filter(|field| field.name == "tool_calls") {
                    calls.open = open.clone();
                    calls.close.alternatives = close.alternatives.clone();
                }
                draft
            })
            .collect()
    }
}

impl Drafter<'_> {
    /// The other ways of opening and closing the fields of a draft.
    pub(super) fn variants(&self, draft: &Draft) -> Variants {
        let thinking = match self.around {
            Some(around) => around
                .reasoning
                .as_ref()
                .and_then(|around| self.at_start(around, draft)),
            None => self.variants_of_thinking(),
        };
        let calls = self
            .calls
            .and_then(|calls| self.variants_of_calls(calls, draft));
        let ends = self.content_ends(draft);
        let signs = self.findings.behind_line_breaks.iter();
        let signs = signs.flat_map(|close| self.closes_behind_line_break(close));
        let closes = self.between_fields(draft).into_iter();
        let own = self.findings.content.close.iter();
        let own = own.filter_map(|close| self.close_before_end(close.trim()));
        let content = FieldVariants {
            name: "content".to_owned(),
            closes: closes
                .chain(signs)
                .chain(own)
                .chain(self.close_before_opener(draft))
                .collect(),
            also_closes: self.other_closes_of_content().into_iter().collect(),
            ..FieldVariants::default()
        };
        let spaced = draft.fields.iter().filter(|field| field.close.takes_space);
        Variants {
            ends,
            spaced: spaced.map(|field| field.name.clone()).collect(),
            fields: thinking.into_iter().chain(calls).chain([content]).collect(),
        }
    }

    /// A thought that was seen at the beginning of turns alone, also where it has to stand there.
    fn at_start(&self, around: &TextBounds, draft: &Draft) -> Option<FieldVariants> {
        let name = &self.options.reasoning_field;
        let field = draft.fields.iter().find(|field| field.name == *name)?;
        let opens = &field.open.alternatives;
        let is_first = around.is_first && around.behind.is_empty();
        let is_text =
            |open: &Delimiter| !open.looks_around() && !open.expression().contains(&START);
        if !is_first || around.is_json || !opens.iter().all(is_text) {
            return None;
        }
        let all = any_of(opens.iter().map(Delimiter::expression));
        let at_start = Delimiter::Expression(START + SPACE + all);
        Some(FieldVariants {
            name: name.clone(),
            opens: opens.iter().cloned().chain([at_start]).collect(),
            ..FieldVariants::default()
        })
    }

    fn variants_of_thinking(&self) -> Option<FieldVariants> {
        let shape = self.findings.reasoning.as_ref()?;
        let close = shape.close.as_deref().map(str::trim);
        let own = shape.closes().into_iter();
        let own = own.filter(|close| !markers::reads_like_prose(close));
        let own = own.map(|close| Delimiter::Exact(close.to_owned()));
        Some(FieldVariants {
            name: self.options.reasoning_field.clone(),
            opens: self.other_opens_of_thinking(shape),
            opens_ignoring_space: self.looking_opens_of_thinking(shape).into_iter().collect(),
            unopened: self.unclosed_thoughts(),
            closes: own.collect(),
            // Without a closer, the draft has all that ends a thought already, but for the place.
            also_closes: match close {
                Some(_) => self.other_closes_of_thinking(),
                None => self.closes_before_lines(),
            },
            ..FieldVariants::default()
        })
    }

    fn variants_of_calls(&self, calls: &CallParts<'_>, draft: &Draft) -> Option<FieldVariants> {
        let own = draft
            .fields
            .iter()
            .find(|field| field.name == "tool_calls")?;
        let own = own.open.alternatives.first()?;
        let closes = call_closes(calls).into_iter();
        let closes = closes.chain(close_behind_bracket(calls));
        let closes = closes.chain(close_behind_line_break(calls));
        let closes = closes.chain(self.closes_behind_argument(calls));
        let closes = closes.chain(self.close_or_end(calls));
        let closes = closes.chain(self.closes_cut_short(calls));
        // What closes calls itself is not to be exchanged for the end of the turn, which closes those that are broken off.
        let ends = self.ends_of_calls(calls).into_iter();
        let is_closed = [&*calls.close, &*calls.section_close].concat();
        let (only, also): (Vec<Delimiter>, Vec<Delimiter>) =
            ends.partition(|_| is_closed.trim().is_empty());
        let mut variants = FieldVariants {
            name: "tool_calls".to_owned(),
            closes: closes.chain(only).collect(),
            also_closes: self
                .other_closes_of_calls(calls)
                .into_iter()
                .chain(also)
                .collect(),
            ..FieldVariants::default()
        };
        // What opens such a call finds its name as well, which nothing else does.
        if is_named_behind(calls) {
            return Some(variants);
        }
        variants.opens = self.call_opens(calls, own);
        for own in self.open_patterns_at_start(calls) {
            let opens = self.call_opens(calls, &Delimiter::Expression(own));
            variants.opens.extend(opens);
        }
        let others = match literal_open(calls) {
            Some(_) => Vec::new(),
            None => self.open_patterns(calls),
        };
        let others: Vec<Delimiter> = others
            .into_iter()
            .skip(1)
            .map(Delimiter::Expression)
            .collect();
        variants.opens_ignoring_space = others
            .iter()
            .flat_map(|own| self.call_opens(calls, own))
            .collect();
        let far = past_first_key(calls).into_iter().flat_map(|follows| {
            let heads = [own].into_iter().chain(&others);
            let heads = heads.flat_map(|own| call_heads(calls, own));
            heads.map(move |head| Delimiter::Expression(looking(&head, &follows)))
        });
        let far: Vec<Delimiter> = far.collect();
        if let Some(begun) = self.begun_thought() {
            let opens = variants.opens.iter().chain(&far);
            let opens = opens.filter(|open| matches!(open, Delimiter::Expression(_)));
            let begun = opens.map(|open| begun.clone().or_nothing() + open.expression());
            variants.opens_behind_prompt = begun.map(Delimiter::Expression).collect();
        }
        variants.opens_ignoring_space.extend(far);
        Some(variants)
    }

    /// What ends content whatever else does: what ends the turn, and what closes texts that have markers of their own.
    fn content_ends(&self, draft: &Draft) -> Vec<Vec<Delimiter>> {
        let mut ends = self.text_ends();
        let content = draft.fields.iter().find(|field| field.name == "content");
        if content.is_some_and(|content| !content.open.alternatives.is_empty()) {
            let own = self.findings.content.close.iter();
            ends.extend(own.map(|close| close.trim().to_owned()));
            markers::dedup(&mut ends);
        }
        let known = content.map_or(&[][..], |content| &content.close.alternatives);
        let known: Vec<Pattern> = known.iter().map(Delimiter::expression).collect();
        ends.retain(|end| known.contains(&ignoring_space(end)));
        // Where `== Stop` ends turns and a call takes the `==` along, `Stop` is left: a word that answers have, too.
        let all = ends.clone();
        let is_rest = |end: &str| {
            let mut others = all.iter().filter(|other| *other != end);
            markers::reads_like_prose(end) && others.any(|other| other.ends_with(end))
        };
        ends.retain(|end| !is_rest(end));
        let ways = ends.into_iter().map(|end| {
            let others = self.closes_behind_line_break(&end).into_iter();
            let others = others.chain(self.close_before_end(&end));
            let others: Vec<Delimiter> = others.collect();
            let own = Delimiter::IgnoringSpace(end);
            [own].into_iter().chain(others).collect()
        });
        ways.collect()
    }

    /// Other ways of closing a text or a turn with a sign that has a line break before it: there, at the start of the turn, or where
    /// something else has taken the line break along.
    fn closes_behind_line_break(&self, sign: &str) -> Vec<Delimiter> {
        if !self.stands_behind_line_break(sign) {
            return Vec::new();
        }
        let line_break = || exact("\n");
        let places = [
            any_of([START, line_break()]),
            any_of([START, line_break(), behind(line_break())]),
        ];
        let ways = places.map(|place| place + SPACE + ignoring_space(sign) + SPACE);
        ways.map(Delimiter::Expression).to_vec()
    }

    /// What closes a text where the turn ends or another begins behind it, or a call does: `Put </say> behind it.` goes on.
    pub(super) fn close_before_end(&self, close: &str) -> Option<Delimiter> {
        let ends = self.text_ends();
        if !unlikely_in_prose(close) || ends.iter().any(|end| end == close) {
            return None;
        }
        let headers = &self.findings.turn.headers;
        let headers = headers.iter().map(|header| header.trim().to_owned());
        let section = self.calls.and_then(CallParts::section_markers);
        let section = section.map(|[open, _]| open.to_owned());
        let calls = section.into_iter().chain(self.call_openers());
        let follows = ends.into_iter().chain(headers).chain(calls);
        // What opens calls behind `</say>` may begin with that: it does not stand there twice.
        let follows = follows.filter(|text| unlikely_in_prose(text) && !text.starts_with(close));
        let mut follows: Vec<Pattern> = follows.map(|text| ignoring_space(&text)).collect();
        markers::dedup(&mut follows);
        let place = before_any_of(follows.into_iter().chain([END]));
        Some(Delimiter::Expression(ignoring_space(close) + SPACE + place))
    }

    /// Other ways of ending calls with what ends turns, or separates two calls. A sign with a line break before it does so there, and behind a bracket, unless
    /// that may stand in a string of JSON, which holds no line break as it is. Anything else does so behind the last bracket of JSON.
    fn ends_of_calls(&self, calls: &CallParts<'_>) -> Vec<Delimiter> {
        let mut ends = self.turn_ends();
        ends.extend(self.markers_between(calls));
        markers::dedup(&mut ends);
        let (signs, ends): (Vec<&String>, Vec<&String>) = ends
            .iter()
            .partition(|end| self.stands_behind_line_break(end));
        let raw = calls.dialect().and_then(Dialect::raw_delimiters);
        let line = match calls.ends_with_bracket() {
            true if raw.is_some() => behind_bracket(),
            true => exact("\n") + SPACE,
            false => any_of([exact("\n"), behind(one_of("}])"))]) + SPACE,
        };
        let ends = ends
            .into_iter()
            .filter(|end| calls.closes_behind_bracket(end));
        let ends: Vec<Pattern> = ends.map(|end| ignoring_space(end)).collect();
        let any = (ends.len() > 1).then(|| any_of(ends.iter().cloned()));
        let ends = any.into_iter().chain(ends);
        let ends = ends.map(|end| behind_bracket() + end + SPACE);
        let signs = signs.into_iter();
        let signs = signs.map(|sign| line.clone() + ignoring_space(sign) + SPACE);
        signs.chain(ends).map(Delimiter::Expression).collect()
    }

    pub(super) fn stands_behind_line_break(&self, sign: &str) -> bool {
        let mut signs = self.findings.behind_line_breaks.iter();
        signs.any(|known| known == sign)
    }

    /// A call's opener with more of what the format writes before it, the longest first, and as the format writes it.
    fn call_opens(&self, calls: &CallParts<'_>, own: &Delimiter) -> Vec<Delimiter> {
        let follows = self.follows_opener(calls);
        // The draft's own may look for arguments already, exactly as they are written.
        let own_ahead = self.arguments_ahead(calls).unwrap_or_default();
        let mut opens: Vec<Pattern> = Vec::new();
        for head in call_heads(calls, own) {
            let bare = head.without_end(&own_ahead);
            let bare = bare.as_ref().unwrap_or(&head);
            let looking = follows.as_ref().map(|follows| looking(bare, follows));
            opens.extend([head].into_iter().chain(looking));
        }
        // What is the same for all calls may be a literal, which is found wherever the text is cut, and is easy to read.
        let literal = literal_open(calls).map(Delimiter::Exact).into_iter();
        let all = literal.chain([own.clone()]);
        distinct(
            all.chain(opens.into_iter().map(Delimiter::Expression))
                .collect(),
        )
    }

    /// What closes a text with markers of its own where a call is opened as a whole: `Write <call> first` only speaks of one.
    fn close_before_opener(&self, draft: &Draft) -> Option<Delimiter> {
        let content = draft.fields.iter().find(|field| field.name == "content")?;
        let is_marked = !content.open.alternatives.is_empty();
        let calls = self.calls.filter(|_| is_marked)?;
        let follows = self.follows_opener(calls)?;
        let head = self.slots_pattern(&calls.open, false);
        let (section, separator) = (calls.section_open.trim(), calls.separator.trim());
        let lead = match unlikely_in_prose(section) {
            true => (ignoring_space(section) + SPACE).or_nothing(),
            // Where nothing but the separator opens calls, it stands before each.
            false if self.call_openers().is_empty() => ignoring_space(separator),
            false => NOTHING,
        };
        // All of it lies ahead, what follows the opener as well.
        let opener = looking(&(lead + head), &follows).without_end(&ahead(follows.clone()))?;
        Some(Delimiter::Expression(ahead(opener + follows)))
    }

    /// The expression for what stands behind a call's opener, if only that is known: a bracket of JSON, or the first argument, or
    /// the call's end.
    fn follows_opener(&self, calls: &CallParts<'_>) -> Option<Pattern> {
        // `<call> opens a call` only speaks of one: behind a real opener stands a bracket.
        if calls.dialect().is_some() || calls.is_array() {
            // An array begins with a call: `Write <calls>[ first` only speaks of one.
            return Some(match (calls.is_array(), calls.keys()) {
                (true, Some(_)) => json_list_start(),
                (true, None) => exact("["),
                (false, _) => exact("{"),
            });
        }
        let arguments = calls.single_arguments()?;
        if arguments.in_python {
            return python_argument(calls);
        }
        // Of what names the call once more, the beginning is known.
        let close = markers::split_close(&calls.close).0.trim();
        let close = close.split(is_slot).next().unwrap_or_default().trim();
        let is_known = |text: &str| unlikely_in_prose(text) && !text.contains(is_slot);
        // Nothing else ends a name before a key that nothing opens.
        let is_behind_name = calls.open.nodes().last() == Some(&Node::Slot(Slot::Name));
        // `<KEY type="text">` and `<KEY type="json">` begin alike.
        let between = arguments.between.iter().map(|text| text.trim_end());
        let between = between.reduce(markers::shared_start).unwrap_or_default();
        let space = arguments.first_between();
        let are_blanks = !space.is_empty() && !space.contains('\n');
        // Up to the first marker, of which a slot is no part: `>⏎  <arg `.
        let begins = |open: &'_ str| {
            let marker = markers::markers(open).next();
            let end = marker.and_then(|marker| Some(open.find(marker)? + marker.len()));
            let text = &open[..end.unwrap_or(open.len())];
            text.split(is_slot).next().unwrap_or_default().to_owned()
        };
        let begins: Vec<String> = arguments.opens.iter().map(|open| begins(open)).collect();
        let are_lines = calls.close.starts_with('\n')
            && begins
                .iter()
                .all(|open| open.contains('\n') && !is_known(open.trim()));
        let key = whole_key_class(&arguments);
        let mut follows: Vec<Pattern> = Vec::new();
        for open in &begins {
            let marker = open.trim();
            // A sign is known by what stands behind the key, as `@` of `@KEY: VALUE` is; so is a key that nothing opens.
            follows.push(match (is_known(marker), marker, between) {
                (true, ..) => ignoring_space(marker),
                // A word and white space on a line of their own are a key and what stands behind it.
                (false, "", "") if are_lines && are_blanks => {
                    key_without(&key, close) + one_of(" \t")
                }
                (false, sign, "") if are_lines && are_blanks => {
                    ignoring_space(sign) + key.clone().some() + one_of(" \t")
                }
                // With nothing clear to look for, any word behind the opener would do.
                (false, _, "") => return None,
                (false, sign, between) => {
                    let key = match sign {
                        "" => key_without(&key, close),
                        _ => key.clone().some(),
                    };
                    let space = SOME_SPACE.when(is_behind_name && sign.is_empty());
                    // Models write `key = 1` for `key=1`.
                    let around = SPACE.when(between == "=");
                    space + ignoring_space(sign) + key + around + ignoring_space(between)
                }
            });
        }
        // A call without arguments ends at once, perhaps with a word on a line of its own.
        let is_line = calls.close.starts_with('\n') && !close.is_empty();
        let is_sign = close.starts_with(|c: char| !is_word(c));
        let close = Some(close).filter(|close| is_line || is_sign || is_known(close))?;
        follows.push(ignoring_space(close));
        markers::dedup(&mut follows);
        let is_spaced = follows.iter().any(Pattern::begins_with_space);
        Some(match close_behind_line_break(calls).is_some() {
            _ if are_lines && between.is_empty() => {
                one_of(" \t\r").many() + "\n" + one_of(" \t").many() + any_of(follows)
            }
            _ if is_spaced => either(follows.into_iter().map(
                |one| match one.begins_with_space() {
                    true => one,
                    false => SPACE + one,
                },
            )),
            // Of a call without arguments, the line break is left for what closes it.
            true => SPACE + any_of(follows),
            false => either(follows),
        })
    }
}

/// The expression for a key that begins otherwise than what closes the call: only one of them can follow.
fn key_without(class: &Pattern, close: &str) -> Pattern {
    match close.chars().next().filter(|c| !is_word(*c)) {
        Some(sign) => class.clone().excluding(sign) + class.clone().many(),
        None => class.clone().some(),
    }
}

/// The expressions for a call's opener with more of what the format writes before it.
fn call_heads(calls: &CallParts<'_>, own: &Delimiter) -> Vec<Pattern> {
    let expression = own.expression();
    let lead = split_last_marker(calls).0.trim();
    let section = calls.section_open.trim();
    let first = unmarked(calls.first_text().trim()).chars().next();
    let with_lead = match lead {
        "" => expression.clone(),
        lead => ignoring_space(lead) + SPACE + &expression,
    };
    let mut heads = vec![expression.clone()];
    if !lead.is_empty() {
        heads.push(with_lead.clone());
        heads.push((ignoring_space(lead) + SPACE).or_nothing() + &expression);
    }
    let opened = ignoring_space(section);
    if unlikely_in_prose(section) && !calls.is_array() && !expression.contains(&opened) {
        // It stands before the first of several calls only. Models put words between the two.
        let words = first.filter(|first| unmarked(section).starts_with(*first));
        let words = words.map(|first| none_of(first).many());
        for between in [SPACE].into_iter().chain(words) {
            let section = (opened.clone() + between).or_nothing();
            heads.push(section.clone() + &expression);
            if !lead.is_empty() {
                heads.push(section + &with_lead);
            }
        }
        // In `tools.read(…)` where no section has been opened, an answer speaks of code. That is looked up last, since it goes back
        // through the whole text.
        let section = (opened.clone() + SPACE).or_nothing();
        heads.push(section + &expression + behind(opened + ANYTHING));
    }
    // Models leave out what stands before each name.
    if let Some(prefix) = calls.name_prefix() {
        let prefix = exact(prefix);
        let loose = |head: &Pattern| {
            let name = head.group("name")?;
            head.replaced(
                &(prefix.clone() + name),
                &(prefix.clone().or_nothing() + name),
            )
        };
        heads.extend(heads.iter().filter_map(loose).collect::<Vec<_>>());
        // White space before it is none of a sentence that speaks of the marker, if another marker follows the name.
        let spaced = |head: &Pattern| {
            let named = prefix.clone().or_nothing() + head.group("name")?;
            head.replaced(&named, &(SPACE + &named))
        };
        if calls.has_marker_behind_name() {
            heads.extend(heads.iter().filter_map(spaced).collect::<Vec<_>>());
        }
    }
    // Models write the type that interfaces give with each call: `{"type": "function", "name": …}`.
    if calls.is_bare_object() {
        let entry = exact("\"type\"") + SPACE + ":" + SPACE + "\"function\"" + SPACE + "," + SPACE;
        let object = |entry: Pattern| exact("{") + SPACE + entry + "\"";
        let (bare, typed) = (object(NOTHING), object(entry.or_nothing()));
        // Before what looks behind, only an engine that backtracks could look ahead for either.
        let ahead = heads.iter().filter(|head| !head.looks_far_back());
        let typed = ahead.filter_map(|head| head.replaced(&bare, &typed));
        heads.extend(typed.collect::<Vec<_>>());
    }
    // In inline code and between quotes, no name stands behind a marker.
    let without_quotes = |head: &Pattern| {
        let name = head.group("name")?;
        head.replaced(name, &name.clone().excluding("`\"'"))
    };
    heads.extend(heads.iter().filter_map(without_quotes).collect::<Vec<_>>());
    heads
}

/// A call's opener before what has to follow it.
fn looking(head: &Pattern, follows: &Pattern) -> Pattern {
    let head = head.trim_end();
    // It looks for a bracket already.
    let bare = head.without_end(&(SPACE + ahead(exact("{"))));
    let head = bare.unwrap_or(head);
    // What looks past white space takes none along.
    let look = SPACE.when(!follows.begins_with_space()) + ahead(follows.clone());
    match head.without_end(&tag_end()) {
        // Of a tag that closes itself, nothing more is asked.
        Some(tag) => tag + any_of([exact(">") + look, closed_tag()]),
        None => head + look,
    }
}

/// How JSON begins whose first key has a text or an object: where a prompt shows how calls are written, `{"name": <name>}`, a
/// placeholder stands there.
pub(super) fn past_first_key(calls: &CallParts<'_>) -> Option<Pattern> {
    calls.keys().filter(|_| !calls.is_array())?;
    let key = exact("\"") + none_of("\"").many() + "\"";
    Some(exact("{") + SPACE + key + SPACE + ":" + SPACE + one_of("\"{"))
}

/// What closes a call, with more and with less of what the format writes there.
fn call_closes(calls: &CallParts<'_>) -> Vec<Delimiter> {
    let close = calls.close.trim();
    // White space may stand before a bracket of JSON, as only the draft has it.
    let is_clear = unlikely_in_prose(close) && !close.starts_with(['}', ']', ')']);
    if calls.close.has_slots() || !is_clear {
        return Vec::new();
    }
    let (first, rest) = markers::split_close(close);
    // White space may stand between what a call ends with, as between the bracket of its JSON and a marker.
    let mut closes = vec![Delimiter::IgnoringSpace(
        markers::markers_or_whole(close).join(" "),
    )];
    let section = calls.section_close.trim();
    if unlikely_in_prose(section) {
        // With `</calls>` taken along, nothing of the calls is left for the text.
        closes.push(Delimiter::IgnoringSpace(format!("{close} {section}")));
    }
    // Of `</args></call>`, either may stand alone where the other was left out.
    if !rest.trim().is_empty() {
        closes.push(Delimiter::IgnoringSpace(first.to_owned()));
        closes.push(Delimiter::IgnoringSpace(rest.trim().to_owned()));
    }
    distinct(closes)
}

/// Each delimiter once, as the first of those that match the same has it.
fn distinct(mut delimiters: Vec<Delimiter>) -> Vec<Delimiter> {
    let mut seen = Vec::new();
    delimiters.retain(|delimiter| {
        let expression = delimiter.expression();
        let is_new = !seen.contains(&expression);
        seen.push(expression);
        is_new
    });
    delimiters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::delimiter::FieldDraft;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;
    use crate::derive::pattern::{exact, named};
    use crate::value::Object;

    fn as_it_is(text: &str) -> Delimiter {
        Delimiter::Exact(text.to_owned())
    }

    fn spaced(text: &str) -> Delimiter {
        Delimiter::IgnoringSpace(text.to_owned())
    }

    #[test]
    fn a_thought_that_was_seen_at_the_start_alone_may_have_to_stand_there() {
        let bounds = |behind: &[&str]| TextBounds {
            is_first: true,
            behind: behind.iter().map(|text| (*text).to_owned()).collect(),
            ..TextBounds::default()
        };
        let at_start = any_of([START, exact("<assistant>")]) + SPACE + "Hm:";
        let at_start = Delimiter::Expression(at_start);
        for (opens, behind, expected) in [
            (
                vec![as_it_is("<plan>"), as_it_is("<mull>")],
                &[][..],
                Some(r"\A\s*(?:<plan>|<mull>)"),
            ),
            (vec![as_it_is("<mull>")], &[], Some(r"\A\s*<mull>")),
            // It stands behind a text as well, or has to stand at the start already.
            (vec![as_it_is("<mull>")], &["</say>"], None),
            (vec![at_start], &[], None),
        ] {
            let mut field = FieldDraft::new("thinking");
            field.open.alternatives = opens.clone();
            let draft = Draft {
                head: Object::new(),
                fields: vec![field],
            };
            let findings = invented::with_calls([""; 4]);
            let found = asked(&findings, &[], |drafter| {
                drafter.at_start(&bounds(behind), &draft)
            });
            let found = found.map(|found| found.opens);
            let written = |all: &[Delimiter]| -> Vec<String> {
                let all = all.iter().map(Delimiter::expression);
                all.map(|one| one.to_string()).collect()
            };
            let found = found.map(|found| written(&found));
            let own = written(&opens).into_iter();
            let expected = expected.map(|open| own.chain([open.to_owned()]).collect());
            assert_eq!(found, expected, "{opens:?}");
        }
    }

    /// A draft of calls and what is left over, which are closed by these.
    fn draft(calls: Vec<Delimiter>, content: Vec<Delimiter>) -> Draft {
        let mut fields = [FieldDraft::new("tool_calls"), FieldDraft::new("content")];
        fields[0].open.alternatives = vec![as_it_is("<call>")];
        fields[0].close.alternatives = calls;
        fields[1].close.alternatives = content;
        Draft {
            head: Object::new(),
            fields: fields.to_vec(),
        }
    }

    /// A text behind a place.
    fn at(place: Pattern, text: &str) -> Delimiter {
        Delimiter::Expression(place + SPACE + text + SPACE)
    }

    fn variants() -> Variants {
        Variants {
            fields: vec![FieldVariants {
                name: "tool_calls".to_owned(),
                opens: vec![as_it_is("<call>"), as_it_is("<do><call>")],
                closes: vec![as_it_is("</call>")],
                also_closes: vec![as_it_is("<call>")],
                ..FieldVariants::default()
            }],
            ends: vec![vec![as_it_is("<end>")], vec![as_it_is("<stop>")]],
            spaced: Vec::new(),
        }
    }

    #[test]
    fn each_field_keeps_what_the_format_closes_it_with() {
        let (own, next) = (|| as_it_is("</call>"), || as_it_is("<call>"));
        let ends = || vec![as_it_is("<end>"), as_it_is("<stop>")];
        for (calls, content, spaced, expected) in [
            (vec![own(), next()], ends(), false, true),
            // `</call>` has to close a call, whatever else does.
            (vec![next()], ends(), false, false),
            // Nobody speaks of what ends a turn.
            (vec![own()], vec![as_it_is("<end>"), own()], false, false),
            // White space behind a call would be a text.
            (vec![own()], ends(), true, false),
        ] {
            let draft = draft(calls, content);
            let mut variants = variants();
            variants
                .spaced
                .extend(spaced.then(|| "tool_calls".to_owned()));
            assert_eq!(variants.are_kept(&draft), expected, "{draft:?}");
        }
    }

    #[test]
    fn the_plainest_drafts_have_one_way_of_each() {
        let whole = variants().whole(&draft(vec![as_it_is("</call>")], vec![as_it_is("<end>")]));
        let closes = &whole.fields[0].close.alternatives;
        assert_eq!(closes, &[as_it_is("</call>"), as_it_is("<call>")]);
        let given = draft(
            vec![as_it_is("</call>"), as_it_is("<call>")],
            vec![as_it_is("<end>"), as_it_is("</call>")],
        );
        let plain = variants().plain(&given);
        let found: Vec<_> = plain
            .iter()
            .map(|draft| {
                let [calls, content] = &draft.fields[..] else {
                    panic!("there are two fields");
                };
                (
                    calls.open.shown(),
                    calls.close.shown(),
                    content.close.shown(),
                )
            })
            .collect();
        let of = |open: &str| {
            (
                open.to_owned(),
                "</call>".to_owned(),
                "<end>|<stop>".to_owned(),
            )
        };
        assert_eq!(found, [of("<call>"), of("<do><call>")]);
    }

    #[test]
    fn a_call_is_closed_with_more_and_with_less_of_what_stands_behind_it() {
        for (call, section, expected) in [
            ("<call>NAMEARGUMENTS</call>", "", vec![spaced("</call>")]),
            (
                "<call>NAMEARGUMENTS</call>",
                "\n</calls>",
                vec![spaced("</call>"), spaced("</call> </calls>")],
            ),
            // Either may stand alone where the other was left out.
            (
                "<call>NAMEARGUMENTS</args></call>",
                "",
                vec![
                    spaced("</args> </call>"),
                    spaced("</args>"),
                    spaced("</call>"),
                ],
            ),
            ("<call>NAMEARGUMENTS}</call>", "", vec![]),
            ("<call>NAMEARGUMENTS</NAME>", "", vec![]),
            ("<call>NAMEARGUMENTS;", "", vec![]),
        ] {
            let findings = invented::with_calls(["", call, "", section]);
            let calls = findings.call_parts().expect("there are calls");
            assert_eq!(call_closes(&calls), expected, "{call}");
        }
    }

    #[test]
    fn behind_a_real_opener_stands_what_it_opens() {
        for (call, expected) in [
            ("<call>NAMEARGUMENTS</call>", Some(r"(?=\{)")),
            // A list begins with a call.
            ("LIST", Some(r"(?=\[\s*[{\]])")),
            (
                "<call=NAME>«<arg=KEY>RAW</arg>»</call>",
                Some("(?=<arg=|</call>)"),
            ),
            // A sign is known by what stands behind the key.
            (
                "<call=NAME>«@KEY: RAW·\n»</call>",
                Some(r"(?=@[^\s:]+:|</call>)"),
            ),
            (
                "<call=NAME>«KEY: RAW·\n»</call>",
                Some(r"(?=[^<\s:][^\s:]*:|</call>)"),
            ),
            // The white space behind a key is part of what stands there.
            (
                "<call=NAME>«<KEY type=\"text\">RAW</KEY>»</call>",
                Some(r#"(?=<[^\s<>]+\s*type="text">|</call>)"#),
            ),
            // What closes a call may name it once more, or be a word on a line of its own.
            (
                "<call=NAME>«<arg=KEY>RAW</arg>»</call=NAME>",
                Some("(?=<arg=|</call=)"),
            ),
            (
                "call NAME«\nKEY: RAW»\nend",
                Some(r"(?=\s+[^\s:]+:|\s*end)"),
            ),
            // Of a call without arguments, the line break is left for what closes it.
            (
                "[[call NAME]]«\nKEY = JSON»\n[[/call]]",
                Some(r#"(?=\s*(?:[^\[\s="][^\s="]*\s*=|\[\[/call\]\]))"#),
            ),
            (
                "call NAME«\nKEY\tRAW»\n</call>",
                Some(r"(?=[ \t\r]*\n[ \t]*(?:[^<\s][^\s]*[ \t]|</call>))"),
            ),
            // So is a sign that begins a line, before a key and a blank.
            (
                "<call=NAME>«\n@KEY JSON»\n</call>",
                Some(r#"(?=[ \t\r]*\n[ \t]*(?:@[^\s"]+[ \t]|</call>))"#),
            ),
            // What opens a call may end where the first argument begins.
            (
                "<call n=\"NAME\"«>\n  <arg=KEY>RAW/»>\n</call>",
                Some(r"(?=>\s*<arg=|>\s*</call>)"),
            ),
            // Behind an opener, a mere sign shows that it is closed.
            ("<call=NAME>«<arg=KEY>RAW</arg>»}", Some(r"(?=<arg=|\})")),
            (
                "<call>NAME(«KEY=JSON·, »)",
                Some(r#"(?=\s*(?:\)|[^\s=(),"']+\s*=))"#),
            ),
            // With nothing clear to look for, any word would do.
            ("<call=NAME>«KEY RAW·\n»</call>", None),
            ("call NAME: «<arg=KEY>RAW</arg>»end", None),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let found = asked(&findings, &[], |drafter| {
                drafter.follows_opener(drafter.calls.expect("there are calls"))
            });
            let found = found.map(|follows| ahead(follows).to_string());
            assert_eq!(found.as_deref(), expected, "{call}");
        }
    }

    #[test]
    fn a_text_with_markers_of_its_own_is_closed_before_a_whole_opener() {
        for (open, calls, expected) in [
            (
                "<say>",
                ["", "<call>NAMEARGUMENTS</call>", "", ""],
                Some(r"(?=<call>(?:\s*\n\s*)?[^\s{<]+\s*\{)"),
            ),
            (
                "<say>",
                [
                    "<calls>",
                    "<call=NAME>«<arg=KEY>RAW</arg>»</call>",
                    "",
                    "</calls>",
                ],
                Some(r"(?=(?:<calls>\s*)?<call=[^\s>]+>\s*(?:<arg=|</call>))"),
            ),
            // Where nothing opens a text, no call is a part of it.
            ("", ["", "<call>NAMEARGUMENTS</call>", "", ""], None),
        ] {
            let findings = invented::findings([""; 2], [open, "</say>"], calls);
            let mut content = FieldDraft::new("content");
            content.open.alternatives = match open {
                "" => vec![],
                open => vec![as_it_is(open)],
            };
            let draft = Draft {
                head: Object::new(),
                fields: vec![content],
            };
            let found = asked(&findings, &[], |drafter| {
                drafter.close_before_opener(&draft)
            });
            let found = found.map(|close| close.expression().to_string());
            assert_eq!(found.as_deref(), expected, "{calls:?}");
        }
    }

    #[test]
    fn an_opener_may_look_past_the_first_key() {
        for (call, expected) in [
            (
                "<call>OBJECT</call>",
                Some(r#"<call>\s*(?=\{\s*"[^"]*"\s*:\s*["{])"#),
            ),
            // Arguments begin with values of any type.
            ("<call>NAMEARGUMENTS</call>", None),
            ("LIST", None),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let calls = findings.call_parts().expect("there are calls");
            let head = exact("<call>") + SPACE;
            let found = past_first_key(&calls).map(|follows| looking(&head, &follows));
            let found = found.map(|open| open.to_string());
            assert_eq!(found.as_deref(), expected, "{call}");
        }
    }

    #[test]
    fn of_a_tag_that_closes_itself_nothing_more_is_asked() {
        for (head, expected) in [
            (exact("<call>") + SPACE, r"<call>\s*(?=\{)"),
            (exact("call") + SPACE + ahead(exact("{")), r"call\s*(?=\{)"),
            (
                exact("n=\"x\"") + tag_end(),
                r#"n="x"(?:>\s*(?=\{)|(?=\s*/>))"#,
            ),
        ] {
            assert_eq!(looking(&head, &exact("{")), expected);
        }
    }

    /// The name of a call, which has none of these signs.
    fn name(signs: &str) -> Pattern {
        named("name", none_of(signs).some())
    }

    #[test]
    fn an_opener_may_have_more_before_it_and_no_quotes_in_its_name() {
        let findings =
            invented::with_calls(["<calls>", "<do><with>NAMEARGUMENTS</do>", "", "</calls>"]);
        let own = Delimiter::Expression(exact("<with>") + name("<"));
        let found = asked(&findings, &[], |drafter| {
            drafter.call_opens(drafter.calls.expect("there are calls"), &own)
        });
        let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
        assert_eq!(found[0], own.expression());
        for (expected, is_there) in [
            (r"<do>\s*<with>(?P<name>[^<]+)", true),
            (r"(?:<do>\s*)?<with>(?P<name>[^<]+)", true),
            (r"(?:<calls>[^<]*)?<do>\s*<with>(?P<name>[^<]+)", true),
            (r"(?:<calls>\s*)?<do>\s*<with>(?P<name>[^<]+)", true),
            // In inline code and between quotes, no name stands behind a marker.
            (r#"<with>(?P<name>[^`"'<]+)"#, true),
            (r"<with>(?P<name>[^<]+)\s*(?=\{)", true),
            // It stands before the first of several calls only.
            (r"<calls>\s*<with>(?P<name>[^<]+)", false),
        ] {
            assert_eq!(
                found.iter().any(|one| *one == expected),
                is_there,
                "{expected}"
            );
        }
    }

    #[test]
    fn a_call_may_have_to_stand_behind_what_opens_its_section() {
        let findings = invented::with_calls(["<code>", "tools.NAME(ARGUMENTS)", "\n", "</code>"]);
        let calls = findings.call_parts().expect("there are calls");
        let own = Delimiter::Expression(exact("tools.") + name("(") + "(");
        let expected = r"(?:<code>\s*)?tools\.(?P<name>[^(]+)\((?<=<code>.*?)";
        assert!(
            call_heads(&calls, &own)
                .iter()
                .any(|head| *head == expected)
        );
    }

    #[test]
    fn a_sign_with_a_line_break_before_it_may_close_there() {
        let mut findings = invented::findings([""; 2], ["", "=="], [""; 4]);
        findings.turn.ends = vec!["==".to_owned(), "<end>".to_owned()];
        findings.behind_line_breaks = vec!["==".to_owned()];
        let mut draft = draft(vec![], vec![spaced("=="), spaced("<end>")]);
        draft.fields.remove(0);
        let variants = asked(&findings, &[], |drafter| drafter.variants(&draft));
        let line = || any_of([START, exact("\n")]);
        for (closes, expected) in [
            (vec![spaced("=="), spaced("<end>")], true),
            (vec![at(line(), "=="), spaced("<end>")], true),
            (vec![at(line(), "=="), at(line(), "<end>")], false),
            (vec![spaced("<end>")], false),
        ] {
            draft.fields[0].close.alternatives = closes;
            draft.fields[0].close.takes_space = true;
            assert_eq!(variants.are_kept(&draft), expected, "{draft:?}");
        }
    }

    #[test]
    fn what_ends_turns_ends_calls_behind_a_line_break_or_a_bracket() {
        let line_break = || exact("\n");
        let line = at(line_break(), "==");
        let line_or_bracket = any_of([line_break(), behind(one_of("}])"))]);
        let line_or_bracket = at(line_or_bracket, "==");
        let bracket = at(behind(one_of("}]")), "<end>");
        let tagged = "<call=NAME>«<arg=KEY>RAW</arg>»</call>";
        // What closes a call stays, and the end of the turn may be put in; where nothing does, they may be exchanged.
        for (call, end, expected, is_exchanged, is_put_in) in [
            ("NAMEARGUMENTS", "==", &line, true, false),
            ("<call>NAMEARGUMENTS</call>", "==", &line, false, true),
            ("NAMEARGUMENTS", "<end>", &bracket, true, false),
            ("<call>NAMEARGUMENTS</call>", "<end>", &bracket, false, true),
            (tagged, "==", &line_or_bracket, false, true),
            // Only JSON ends with a bracket.
            (tagged, "<end>", &bracket, false, false),
        ] {
            let mut findings = invented::with_calls(["", call, "", ""]);
            findings.turn.ends = vec![end.to_owned()];
            findings.behind_line_breaks = vec!["==".to_owned()];
            let mut draft = draft(vec![spaced(end)], vec![spaced(end)]);
            draft.fields[0].open.alternatives = vec![as_it_is("<call>")];
            let variants = asked(&findings, &[], |drafter| drafter.variants(&draft));
            let exchanged = variants.of("tool_calls", false).contains(expected);
            let put_in = variants.also_closes("tool_calls").contains(expected);
            assert_eq!(
                (exchanged, put_in),
                (is_exchanged, is_put_in),
                "{call} {end}"
            );
        }
    }

    #[test]
    fn all_that_ends_turns_or_separates_calls_ends_them_together_or_alone() {
        let mut findings = invented::with_calls(["", "<call>NAMEARGUMENTS", "<next>", ""]);
        findings.turn.answer_marker = Some("<result>".to_owned());
        let found = asked(&findings, &[], |drafter| {
            drafter.ends_of_calls(drafter.calls.expect("there are calls"))
        });
        let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
        let behind = |ends: &str| format!(r"(?<=[}}\]])\s*{ends}\s*");
        let together = behind("(?:<end>|<result>|<next>)");
        let alone = ["<end>", "<result>", "<next>"].map(behind);
        assert_eq!(found, [&[together], &alone[..]].concat());
    }

    #[test]
    fn a_text_is_closed_where_the_turn_ends_or_a_call_follows() {
        let findings = invented::with_calls(["<calls>", "<call>NAMEARGUMENTS</call>", "", ""]);
        for (close, expected) in [
            (
                "</say>",
                Some(r"</say>\s*(?=<end>|<assistant>|<calls>|<call>|\Z)"),
            ),
            // That is the turn's end itself, or no marker.
            ("<end>", None),
            (".", None),
        ] {
            let found = asked(&findings, &[], |drafter| drafter.close_before_end(close));
            let found = found.map(|one| one.expression().to_string());
            assert_eq!(found.as_deref(), expected, "{close}");
        }
    }

    #[test]
    fn of_two_ends_a_word_that_another_ends_with_may_go() {
        let mut findings = invented::with_calls([""; 4]);
        findings.turn.ends = ["== Stop", "Stop", "<end>"].map(str::to_owned).to_vec();
        let all = ["== Stop", "Stop", "<end>"].map(spaced).to_vec();
        let mut draft = draft(vec![], all);
        draft.fields.remove(0);
        let ends = asked(&findings, &[], |drafter| drafter.content_ends(&draft));
        assert_eq!(ends, [vec![spaced("== Stop")], vec![spaced("<end>")]]);
    }

    #[test]
    fn an_object_that_is_a_call_may_begin_with_its_type() {
        let typed = r#"(?=\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"name"\s*:\s*)"#;
        for (call, is_there) in [("OBJECT", true), ("<call>OBJECT</call>", false)] {
            let findings = invented::with_calls(["", call, "", ""]);
            let calls = findings.call_parts().expect("there are calls");
            let own = exact("{") + SPACE + "\"name\"" + SPACE + ":" + SPACE;
            let own = Delimiter::Expression(ahead(own));
            let heads = call_heads(&calls, &own);
            assert_eq!(heads.iter().any(|head| *head == typed), is_there, "{call}");
        }
    }

    #[test]
    fn what_stands_before_each_name_may_be_left_out() {
        for (call, own, expected) in [
            (
                "<do>tools.NAMEARGUMENTS</do>",
                exact("<do>tools.") + name("{"),
                Some(r"<do>(?:tools\.)?(?P<name>[^{]+)"),
            ),
            ("<do>NAMEARGUMENTS</do>", exact("<do>") + name("{"), None),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let calls = findings.call_parts().expect("there are calls");
            let heads = call_heads(&calls, &Delimiter::Expression(own));
            let heads: Vec<String> = heads.iter().map(Pattern::to_string).collect();
            let loose = heads.iter().find(|head| head.contains(")?(?P<name>"));
            assert_eq!(loose.map(String::as_str), expected, "{call}");
        }
    }

    #[test]
    fn what_a_prompt_has_begun_goes_along_with_a_call() {
        let named = || exact("<call>") + name("{");
        for (call, own, opened_by_prompt, expected) in [
            (
                "<call>NAMEARGUMENTS</call>",
                named(),
                true,
                r"(?:\A<t>\s*)?<call>(?P<name>[^{]+)",
            ),
            ("<call>NAMEARGUMENTS</call>", named(), false, "none"),
            // It looks as far ahead as without the prompt's thought.
            (
                "<call>OBJECT</call>",
                exact("<call>") + SPACE,
                true,
                r#"(?:\A<t>\s*)?<call>\s*(?=\{\s*"[^"]*"\s*:\s*["{])"#,
            ),
        ] {
            let calls = ["", call, "", ""];
            let mut findings = invented::findings(["<t>", "</t>"], [""; 2], calls);
            let shape = findings.reasoning.as_mut().expect("it thinks");
            shape.opened_by_prompt = opened_by_prompt;
            let mut draft = draft(vec![as_it_is("</call>")], vec![as_it_is("<end>")]);
            let own = Delimiter::Expression(own);
            draft.fields[0].open.alternatives = vec![own];
            let variants = asked(&findings, &[], |drafter| drafter.variants(&draft));
            let found = variants.opens_behind_prompt("tool_calls").iter();
            let mut found = found.map(Delimiter::expression);
            assert_eq!(
                found.any(|open| open == expected),
                opened_by_prompt,
                "{call}"
            );
        }
    }

    #[test]
    fn what_matches_the_same_is_there_once() {
        let all = vec![
            as_it_is("<a>"),
            spaced("<a>"),
            spaced("<a>\n"),
            as_it_is("<b>"),
        ];
        let expected = [as_it_is("<a>"), spaced("<a>\n"), as_it_is("<b>")];
        assert_eq!(distinct(all), expected);
    }
}
