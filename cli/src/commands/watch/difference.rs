//! How two templates differ: what is read, written, rendered and complained of otherwise.

use std::collections::{BTreeMap, BTreeSet};

use unjinja::check::{Comparison, ComparisonInput, compare, drift_on};
use unjinja::{Object, ResponseTemplate, Tools, Value, json};

use super::super::output;

/// So many turns are shown that are written differently.
const MAX_WRITTEN: usize = 3;

/// How a template differs from another one.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// How both stand, if not alike.
    pub(crate) standing: Option<[String; 2]>,
    /// Why the second one is not derived.
    error: Option<String>,
    /// What has become of markers and fields, in sentences.
    drift: Vec<String>,
    /// On how many texts the response templates were compared, and where they part.
    reading: Option<(usize, Comparison)>,
    /// The conversations whose turns are written differently, with both texts.
    writing: Vec<(String, [String; 2])>,
    /// The same of prompts.
    prompts: Vec<(String, [String; 2])>,
    /// What is rendered, dropped or refused otherwise, and how both prompts end.
    capabilities: Vec<(String, [String; 2])>,
    /// The lints that complain otherwise, with how often.
    lints: Vec<(String, [i64; 2])>,
    /// Whether a conversation shows what a lint complains of in one of them only.
    is_shown_by_lints: bool,
}

/// Something that differs: a sentence, and both texts where there are some.
pub(crate) struct Fact {
    pub(crate) says: String,
    pub(crate) texts: Option<[String; 2]>,
}

impl Difference {
    /// Compares two rows of surveys.
    pub(crate) fn of(old: &Object, new: &Object) -> Difference {
        let both = [old, new];
        let standings = both.map(|row| text(row.get("standing")));
        let mut difference = Difference::default();
        if standings[0] != standings[1] {
            difference.standing = Some(standings);
            difference.error = new.get("error").and_then(Value::as_str).map(str::to_owned);
        }
        difference.capabilities = capabilities(both);
        difference.lints = lints(both);
        let [old_lints, new_lints] = both.map(shown_lints);
        difference.is_shown_by_lints = old_lints != new_lints;
        difference.prompts = prompts(both);
        let templates = both.map(template);
        let proofs = both.map(Proof::of);
        difference.writing = writing(&proofs);
        if let [Some(first), Some(second)] = &templates {
            let mut texts = proofs[0].texts();
            let rendered = proofs[1].texts();
            difference.drift = drift_on(first, second, &rendered);
            texts.extend(rendered);
            // What both have rendered comes before what nobody has, so that a difference is shown on something real.
            let mut comparison = compare(first, second, &texts);
            let mut count = texts.len();
            if comparison.smallest.is_none() {
                let synthetic = ComparisonInput::synthetic(first, second);
                count += synthetic.len();
                comparison = compare(first, second, &synthetic);
            }
            difference.reading = Some((count, comparison));
        }
        difference
    }

    /// Whether anything is read, written or rendered otherwise. What the linter says counts where a conversation shows it; else it
    /// is about the text alone.
    pub(crate) fn is_behavioural(&self) -> bool {
        self.standing.is_some()
            || !self.writing.is_empty()
            || !self.prompts.is_empty()
            || !self.capabilities.is_empty()
            || self.is_shown_by_lints
            || self
                .reading
                .as_ref()
                .is_some_and(|(_, comparison)| comparison.smallest.is_some())
    }

    /// Whether the second stands worse than the first.
    pub(crate) fn is_broken(&self) -> bool {
        self.standing
            .as_ref()
            .is_some_and(|[old, new]| rank(new) > rank(old))
    }

    /// All that differs, what matters most first.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        let mut say = |says: String| facts.push(Fact { says, texts: None });
        if let Some([old, new]) = &self.standing {
            let why = self
                .error
                .as_deref()
                .map_or_else(String::new, |error| format!(": {error}"));
            say(format!("{old} before, {new} now{why}"));
        }
        self.drift.iter().cloned().for_each(&mut say);
        if let Some((count, comparison)) = &self.reading
            && let Some(divergence) = &comparison.smallest
        {
            let input = &divergence.input;
            let prompt = match input.prefix.as_str() {
                "" => String::new(),
                prefix => format!("behind the prompt {prefix:?} "),
            };
            let parted = comparison.diverging.len();
            facts.push(Fact {
                says: format!(
                    "{parted} of {count} texts are read differently; the shortest, reduced from one that is {}, is {prompt}the output {:?}",
                    input.origin, input.output
                ),
                texts: Some([&divergence.first, &divergence.second].map(outcome)),
            });
        }
        for (name, texts) in self.writing.iter().take(MAX_WRITTEN) {
            facts.push(Fact {
                says: format!("the turn is written differently: {name}"),
                texts: Some(texts.each_ref().map(|text| visible(text))),
            });
        }
        let mut say = |says: String| facts.push(Fact { says, texts: None });
        if let Some(more) = self
            .writing
            .len()
            .checked_sub(MAX_WRITTEN)
            .filter(|more| *more > 0)
        {
            say(format!("other turns that are written differently: {more}"));
        }
        for (name, texts) in &self.prompts {
            facts.push(Fact {
                says: format!("the prompt is written differently: {name}"),
                texts: Some(texts.each_ref().map(|text| visible(text))),
            });
        }
        let mut say = |says: String| facts.push(Fact { says, texts: None });
        for (what, [old, new]) in &self.capabilities {
            say(format!("{what}: {old} before, {new} now"));
        }
        for (code, [old, new]) in &self.lints {
            say(format!("the linter says {code}: {old} before, {new} now"));
        }
        facts
    }

    /// For programs.
    pub(crate) fn to_value(&self) -> Value {
        let pair = |[old, new]: &[String; 2]| Value::from_iter([old, new]);
        let named = |pairs: &[(String, [String; 2])]| -> Object {
            pairs
                .iter()
                .map(|(name, texts)| (name.as_str(), pair(texts)))
                .collect()
        };
        let lints = self.lints.iter();
        let lints: Object = lints
            .map(|(code, counts)| (code.as_str(), Value::from_iter(*counts)))
            .collect();
        let reading = self.reading.as_ref().map(|(count, comparison)| {
            let mut reading = Object::from_iter([("texts", *count)]);
            reading.extend(comparison.to_value().into_object());
            reading
        });
        Object::from_iter([
            ("standing", Value::from(self.standing.as_ref().map(pair))),
            ("error", self.error.as_deref().into()),
            ("drift", Value::from_iter(&self.drift)),
            ("reading", reading.into()),
            ("writing", named(&self.writing).into()),
            ("prompts", named(&self.prompts).into()),
            ("capabilities", named(&self.capabilities).into()),
            ("lints", lints.into()),
        ])
        .into()
    }
}

/// How bad it is to stand so.
pub(crate) fn rank(standing: &str) -> usize {
    let known = ["proved", "partly", "failed", "unreadable"];
    known
        .iter()
        .position(|name| *name == standing)
        .unwrap_or(known.len())
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A text with the ends of its lines, of which the last may be none.
fn visible(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.map(|line| line.replace('\n', "⏎") + "\n").collect()
}

fn outcome(outcome: &Result<Value, String>) -> String {
    match outcome {
        Ok(message) => output::pretty(message),
        Err(error) => format!("error: {error}\n"),
    }
}

/// The response template of a row.
pub(crate) fn template(row: &Object) -> Option<ResponseTemplate> {
    let template = row.get("details")?.get("response_template")?;
    ResponseTemplate::from_value(template).ok()
}

/// The renderings of a row.
#[derive(Default)]
pub(crate) struct Proof {
    pub(crate) rows: Vec<Rendered>,
    pub(crate) tools: Tools,
}

/// A turn that was rendered.
pub(crate) struct Rendered {
    pub(crate) name: String,
    pub(crate) prompt: String,
    pub(crate) output: String,
}

impl Proof {
    pub(crate) fn of(row: &Object) -> Proof {
        let proof = row.get("details").and_then(|details| details.get("proof"));
        let Some(proof) = proof else {
            return Proof::default();
        };
        let list = |key: &str| proof.get(key).and_then(Value::as_array).unwrap_or_default();
        let prompts = list("prompts");
        let rows = list("rows").iter().map(|row| {
            let at = row.get("at").map(json::write);
            let at: Option<usize> = at.and_then(|at| at.parse().ok());
            Rendered {
                name: text(row.get("name")),
                prompt: text(at.and_then(|at| prompts.get(at))),
                output: text(row.get("output")),
            }
        });
        let tools = proof.get("tools").map(Tools::from_value);
        Proof {
            rows: rows.collect(),
            tools: tools.unwrap_or_else(Tools::none),
        }
    }

    fn texts(&self) -> Vec<ComparisonInput> {
        let texts = self.rows.iter().map(|row| {
            let origin = format!("rendered: {}", row.name);
            let mut text = ComparisonInput::new(&origin, &row.prompt, &row.output);
            text.tools = self.tools.clone();
            text
        });
        texts.collect()
    }
}

/// The conversations that both have rendered, and otherwise.
fn writing(proofs: &[Proof; 2]) -> Vec<(String, [String; 2])> {
    let by_name = |proof: &Proof| {
        let mut outputs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in &proof.rows {
            outputs
                .entry(row.name.clone())
                .or_default()
                .insert(row.output.clone());
        }
        outputs
    };
    let [old, new] = [&proofs[0], &proofs[1]].map(by_name);
    let mut seen: BTreeSet<[String; 2]> = BTreeSet::new();
    let mut found = Vec::new();
    for (name, before) in &old {
        let Some(now) = new.get(name) else { continue };
        let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
            these.difference(those).next().cloned()
        };
        let texts = match (only(before, now), only(now, before)) {
            (Some(before), Some(now)) => [before, now],
            _ => continue,
        };
        // Several conversations may be written alike.
        if seen.insert(texts.clone()) {
            found.push((name.clone(), texts));
        }
    }
    found
}

/// The prompts of the same conversations that are written differently.
fn prompts(both: [&Object; 2]) -> Vec<(String, [String; 2])> {
    let whole = both.map(|row| row.get("details")?.pointer("/proof/whole")?.as_object());
    let [Some(old), Some(new)] = whole else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, before) in old {
        let name = name.to_string_lossy();
        let Some(now) = new.get(&name) else { continue };
        let texts = [text(Some(before)), text(Some(now))];
        if texts[0] != texts[1] {
            found.push((name.into_owned(), texts));
        }
    }
    found
}

fn capabilities(both: [&Object; 2]) -> Vec<(String, [String; 2])> {
    let mut found = Vec::new();
    let [old, new] = both.map(|row| row.get("capabilities").and_then(Value::as_object));
    if let (Some(old), Some(new)) = (old, new) {
        for (topic, before) in old {
            let topic = topic.to_string_lossy();
            let texts = [text(Some(before)), text(new.get(&topic))];
            if texts[0] != texts[1] {
                found.push((topic.replace('_', " "), texts));
            }
        }
    }
    let all = both.map(|row| {
        row.get("details")
            .and_then(|details| details.get("capabilities"))
    });
    if let [Some(old), Some(new)] = all.map(|all| all.filter(|all| !all.is_null())) {
        let prompt = |all: &Value| match all.pointer("/generation_prompt/text") {
            Some(text) => json::write(text),
            None => "none".to_owned(),
        };
        let texts = [prompt(old), prompt(new)];
        if texts[0] != texts[1] {
            found.push(("the end of prompts".to_owned(), texts));
        }
        let switches = |all: &Value| -> BTreeMap<String, String> {
            let variables = all.get("variables").and_then(Value::as_object);
            let variables = variables.into_iter().flatten();
            let switching = variables.filter(|(_, switch)| !switch.is_null());
            switching
                .map(|(name, switch)| (name.to_string_lossy().into_owned(), json::write(switch)))
                .collect()
        };
        let [old, new] = [switches(old), switches(new)];
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let texts =
                [&old, &new].map(|all| all.get(name).map_or("none", String::as_str).to_owned());
            if texts[0] != texts[1] {
                found.push((format!("what the variable `{name}` switches"), texts));
            }
        }
    }
    found
}

/// What the linter says of what a conversation shows, each with its code.
fn shown_lints(row: &Object) -> BTreeSet<[String; 2]> {
    let complaints = row
        .get("details")
        .and_then(|details| details.get("complaints"));
    let complaints = complaints
        .and_then(Value::as_array)
        .unwrap_or_default()
        .iter();
    let shown = complaints
        .filter(|complaint| complaint.get("is_shown").and_then(Value::as_bool) == Some(true));
    let said = shown.map(|complaint| ["code", "message"].map(|key| text(complaint.get(key))));
    said.collect()
}

fn lints(both: [&Object; 2]) -> Vec<(String, [i64; 2])> {
    let counts = both.map(|row| {
        let lints = row.get("lints").and_then(Value::as_object);
        let lints = lints.into_iter().flatten();
        let counts = lints.filter_map(|(code, count)| {
            Some((
                code.to_string_lossy().into_owned(),
                json::write(count).parse().ok()?,
            ))
        });
        counts.collect::<BTreeMap<String, i64>>()
    });
    let [old, new] = &counts;
    let codes: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let codes = codes.into_iter();
    let counted = codes.map(|code| {
        let count = |counts: &BTreeMap<String, i64>| counts.get(code).copied().unwrap_or_default();
        (code.clone(), [count(old), count(new)])
    });
    counted.filter(|(_, [old, new])| old != new).collect()
}
