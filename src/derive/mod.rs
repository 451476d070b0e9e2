//! From what is known of a format to the response template that reads it.
//!
//! [`derive()`] works out the response template of a chat template, and proves it: the
//! [`Derivation`] says of every rendering whether it is read back as what was written.
//! [`Derivation::with_candidates`] also gives the other drafts that were tried, for those who want
//! to choose otherwise.
//!
//! ```
//! use unjinja::derive::{DeriveOptions, derive};
//! use unjinja::chat_template::ChatTemplate;
//! use unjinja::{parse, ParserOptions};
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let derivation = derive(&template, &DeriveOptions::default())?;
//! assert!(derivation.is_whole());
//! assert_eq!(derivation.proof[0].name, "an answer");
//!
//! let options = ParserOptions::default();
//! let message = parse(&derivation.template, "<user>Hi<end><assistant>", "Hello!<end>", options)?;
//! assert_eq!(message.get("content").and_then(|text| text.as_str()), Some("Hello!"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Findings leave questions open; each answer makes another
//! draft, and every draft is run, by the real parser, over all renderings of probes and over what
//! models do to such texts.

// In the order in which they build upon each other: no file imports from one of a later group.
mod conversations;
mod options;
mod pattern;
mod stretches;
mod trial;

mod delimiter;

mod choices;
mod surroundings;

mod sample;
mod synthetic;

mod damage;
mod mentions;
mod output;

mod reason;

mod call_kinds;
mod draft;
mod proof;
mod search_input;

mod score;

mod search;

mod thin;

mod joining;

mod candidate;

use crate::analysis::{Findings, MissingToken, advice};
use crate::budget::{Budget, TRYING};
use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError};
use crate::remedy::Remedy;
use crate::response::{Language, ResponseTemplate, TemplateError, Tools};
use crate::value::{Object, Value};

use choices::Choices;
use sample::{Origin, Sample, Sampling};
use search::{Chosen, Search};
use search_input::SearchInput;
use thin::Thinning;

pub use crate::analysis::ModelOutput;
pub use call_kinds::CallKind;
pub use candidate::Candidate;
pub use mentions::MentionText;
pub use options::{DeriveOptions, Lenience};
pub use output::OutputRow;
pub use proof::{DamageRow, DamagedText, ProofRow, Recovery};
pub use reason::Reason;
pub use sample::RefusedConversation;
pub use score::Tally;

/// The version of the language from which on there is a parser for lists of calls as Python writes them.
const PYTHON_LISTS: Language = Language::V5_24;

/// A response template, and how it was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Derivation {
    /// The response template.
    pub template: ResponseTemplate,
    /// The tokens that nobody has given, and that are part of what the model writes: those that show in
    /// turns, and those without which conversations are refused.
    pub missing_tokens: Vec<MissingToken>,
    /// What it was written from.
    pub findings: Findings,
    /// What it makes of the chat template's own renderings.
    pub proof: Vec<ProofRow>,
    /// Its reading of texts in which a thought was written as a model writes it behind the prompt, because the chat template
    /// never writes one there: what is only inferred is not among the renderings, and is counted by itself.
    pub inferred: Vec<ProofRow>,
    /// The conversations that the chat template refuses, and why.
    pub refused: Vec<RefusedConversation>,
    /// What it makes of damaged renderings.
    pub damaged: Vec<DamagedText>,
    /// Answers and thoughts that speak of the format's markers, and whether they come back whole.
    pub mentions: Vec<MentionText>,
    /// What it makes of calls with keys, names and values of all kinds that JSON Schema and tools allow, as far as the chat
    /// template writes them.
    pub call_kinds: Vec<CallKind>,
    /// Why each alternative of what opens and closes fields is there.
    pub reasons: Vec<Reason>,
    /// Which damages it allows for.
    pub lenience: Lenience,
    /// The oldest version of the language that was to take it.
    pub language: Language,
    /// What it makes of the outputs of the model that were [given](DeriveOptions::outputs).
    pub outputs: Vec<OutputRow>,
    /// The tools that the calls in renderings are calls of.
    pub tools: Tools,
    /// How many drafts were tried, each of which is another template.
    pub drafts: usize,
    /// Set if trying drafts took all the work that it may, so that a better one may have been left untried.
    pub ended_early: bool,
    /// How many conversations the chat template has rendered, no two of which are the same.
    pub renderings: usize,
    /// How many texts the drafts have read until one was chosen.
    pub trials: usize,
    /// The field for reasoning.
    pub reasoning_field: String,
}

impl Derivation {
    /// What [`derive()`] does, and the drafts that it has tried.
    ///
    /// The one that was chosen comes first, then the others, best first: those of other [leniences](Lenience), and of other
    /// choices, at most 24 in all, and no two of them are the same response template. How good one is is counted as [`derive()`] counts:
    /// texts that are the same are one, renderings come before synthetic texts, and these before
    /// damaged ones.
    ///
    /// Trying all of them to the end takes more work than choosing one, and has a limit, too;
    /// what could not be tried within it is left out.
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{Derivation, DeriveOptions};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>\
    ///      {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
    ///      {{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let options = DeriveOptions::default();
    /// let (derivation, candidates) = Derivation::with_candidates(&template, &options)?;
    /// assert!(candidates[0].is_chosen);
    /// assert_eq!(candidates[0].template, derivation.template);
    ///
    /// let other = &candidates[1];
    /// assert_eq!(other.differences, ["no damage is tolerated"]);
    /// assert!(other.damaged.recovered < candidates[0].damaged.recovered);
    /// # Ok::<(), unjinja::derive::DeriveError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`derive()`].
    pub fn with_candidates(
        template: &ChatTemplate,
        options: &DeriveOptions,
    ) -> Result<(Derivation, Vec<Candidate>), DeriveError> {
        let prepared = template.prepare_within(&Budget::of_question());
        let (mut search_input, mut sampling) = gather(template, &prepared, options)?;
        let chosen = choose(&mut search_input, &mut sampling, options)?;
        search_input.trying = prepared.budget().part(TRYING);
        let search = Search::new(&search_input, options);
        let thin = |choices: &Choices, lenience| {
            let (draft, variants) = draft::draft_with_variants(&search_input, choices, options);
            let thinning = Thinning::new(&search_input, &options.reasoning_field, lenience);
            thinning.template(&draft, &variants)
        };
        let candidates = candidate::candidates(&search, &chosen, options.lenience, thin);
        let derivation = Derivation::of(search_input, sampling, chosen, options);
        Ok((derivation, candidates))
    }

    fn of(
        search_input: SearchInput,
        mut sampling: Sampling<'_>,
        chosen: Chosen,
        options: &DeriveOptions,
    ) -> Derivation {
        let mentions = mentions::texts(&search_input.mentions, &chosen.recovered_mentions);
        let field = options.reasoning_field.as_str();
        let mut rows = |counts: fn(&Sample) -> bool| {
            proof::rows(
                &chosen.template,
                field,
                &search_input,
                &mut sampling,
                counts,
            )
        };
        // What was made up says nothing of the chat template.
        let proof = rows(|sample| sample.origin == Origin::Rendered);
        let inferred = rows(|sample| sample.has_inferred_thought);
        let findings = &search_input.findings;
        let call_kinds = call_kinds::tried(&chosen.template, field, &mut sampling, findings);
        let outputs = search_input.outputs.iter();
        let outputs = outputs
            .map(|case| case.row(&chosen.template, field))
            .collect();
        let damaged = proof::damaged_texts(
            &chosen.template,
            field,
            &search_input,
            &chosen.recovered_damage,
        );
        let samples = search_input.samples;
        Derivation {
            proof,
            inferred,
            outputs,
            mentions,
            call_kinds,
            reasons: chosen.reasons,
            lenience: options.lenience,
            language: options.language,
            reasoning_field: field.to_owned(),
            damaged,
            missing_tokens: missing_tokens(&search_input.findings, &samples.refused),
            tools: samples.tools,
            refused: samples.refused,
            template: chosen.template,
            drafts: chosen.drafts,
            ended_early: chosen.ended_early,
            renderings: sampling.renderings(),
            trials: chosen.trials,
            findings: search_input.findings,
        }
    }

    /// For programs: an object of the `template`; whether it [is whole](Self::is_whole); how many renderings are
    /// [`recovered`](Self::recovered); the names of the `missing_tokens`; the `findings`, as [`Findings::to_value`] gives
    /// them; the `proof`, row by row, as [`ProofRow::to_value`] gives them, and in the same way what is `inferred`; the conversations that are
    /// `refused`; the `damage`, a [`DamageRow`] for each kind; the `outputs` that were given, as
    /// [`OutputRow::to_value`] gives them; and how many `drafts`, `renderings` and
    /// `trials` it took, and whether it [`ended_early`](Self::ended_early).
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{DeriveOptions, derive};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let report = derive(&template, &DeriveOptions::default())?.to_value();
    /// let first = report.pointer("/proof/0").expect("there are renderings");
    /// assert_eq!(first.get("name"), Some(&"an answer".into()));
    /// assert_eq!(first.pointer("/recovery/kind"), Some(&"recovered".into()));
    /// # Ok::<(), unjinja::derive::DeriveError>(())
    /// ```
    pub fn to_value(&self) -> Value {
        let missing_tokens = self.missing_tokens.iter().map(|token| &token.name);
        Object::from_iter([
            ("template", self.template.as_value().clone()),
            ("is_whole", self.is_whole().into()),
            ("recovered", self.recovered().into()),
            ("missing_tokens", missing_tokens.collect()),
            ("findings", self.findings.to_value()),
            ("proof", list(&self.proof, ProofRow::to_value)),
            ("inferred", list(&self.inferred, ProofRow::to_value)),
            (
                "refused",
                list(&self.refused, RefusedConversation::to_value),
            ),
            ("damage", list(&self.damage(), DamageRow::to_value)),
            ("mentions", list(&self.mentions, MentionText::to_value)),
            ("call_kinds", list(&self.call_kinds, CallKind::to_value)),
            ("reasons", list(&self.reasons, Reason::to_value)),
            ("outputs", list(&self.outputs, OutputRow::to_value)),
            ("drafts", self.drafts.into()),
            ("ended_early", self.ended_early.into()),
            ("renderings", self.renderings.into()),
            ("trials", self.trials.into()),
        ])
        .into()
    }

    /// Whether all that the chat template writes is recovered, and all outputs that were given, and no token is
    /// missing that is part of what the model writes.
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{DeriveOptions, derive};
    ///
    /// let mut template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let derivation = derive(&template, &DeriveOptions::default())?;
    /// assert!(!derivation.is_whole());
    /// assert_eq!(derivation.missing_tokens[0].name, "eos_token");
    ///
    /// template.eos_token = Some("<end>".to_owned());
    /// assert!(derive(&template, &DeriveOptions::default())?.is_whole());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_whole(&self) -> bool {
        let mut outputs = self.outputs.iter();
        // What recovers turns without a token that nobody gave proves little.
        self.missing_tokens.is_empty()
            && self.recovered() == self.proof.len()
            && outputs.all(|row| row.difference.is_none())
    }

    /// The version of the language for which another response template may be derived: a newer one that has more for this
    /// format, or an older one that does not take this response template.
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{DeriveOptions, derive};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// // Nothing that came later is of use to plain answers.
    /// assert_eq!(derive(&template, &DeriveOptions::default())?.other_language(), None);
    /// # Ok::<(), unjinja::derive::DeriveError>(())
    /// ```
    pub fn other_language(&self) -> Option<Language> {
        self.findings.call_parts()?.around_python_list()?;
        let served = DeriveOptions::SERVED;
        match self.language < PYTHON_LISTS {
            true => Some(PYTHON_LISTS),
            false => self.template.in_language(served).is_err().then_some(served),
        }
    }

    /// Which of the renderings of another chat template this response template misreads, though the
    /// other one's reads them. None of them, and it serves both chat templates.
    ///
    /// Both have to be derived with the same options.
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::derive::{DeriveOptions, derive};
    ///
    /// let plain = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///              {% if add_generation_prompt %}<assistant>{% endif %}";
    /// let call = "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}";
    /// let with_calls = plain.replace("<end>", &format!("{call}<end>"));
    /// let of = |jinja: &str| derive(&ChatTemplate::from_jinja(jinja), &DeriveOptions::default());
    ///
    /// let (plain, with_calls) = (of(plain)?, of(&with_calls)?);
    /// assert!(with_calls.failures_on(&plain).is_empty());
    /// assert_eq!(plain.failures_on(&with_calls)[0].name, "a call");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failures_on<'o>(&self, other: &'o Derivation) -> Vec<&'o ProofRow> {
        proof::failures_on(
            &self.template,
            &other.reasoning_field,
            &other.tools,
            &other.proof,
        )
    }

    /// How many damaged renderings are recovered, for each kind of damage.
    pub fn damage(&self) -> Vec<DamageRow> {
        proof::damage_rows(&self.damaged)
    }

    /// How many answers and thoughts that speak of markers come back whole.
    pub fn recovered_mentions(&self) -> usize {
        let mentions = self.mentions.iter();
        mentions.filter(|text| text.is_recovered).count()
    }

    /// How many renderings are recovered, as far as they were written.
    pub fn recovered(&self) -> usize {
        recovered(&self.proof)
    }

    /// The number of texts that are recovered, of those whose thoughts are [inferred](Self::inferred).
    pub fn recovered_inferred(&self) -> usize {
        recovered(&self.inferred)
    }

    /// Tells if it loses more of what the chat template writes than it recovers: nobody is served by such a response template.
    pub fn loses_most(&self) -> bool {
        2 * self.recovered() < self.proof.len()
    }
}

fn recovered(rows: &[ProofRow]) -> usize {
    let rows = rows.iter();
    rows.filter(|row| row.recovery.is_recovered()).count()
}

fn list<T>(rows: &[T], to_value: fn(&T) -> Value) -> Value {
    rows.iter().map(to_value).collect()
}

/// Works out the response template of a chat template.
///
/// The chat template renders probe conversations, and what comes out shows how the model writes
/// its turn. What that leaves open is decided by trials: every draft is run over all renderings,
/// and over what models do to such texts.
///
/// ```
/// use unjinja::chat_template::ChatTemplate;
/// use unjinja::derive::{DeriveOptions, derive};
/// use unjinja::{parse, ParserOptions};
///
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}<{{ m.role }}>\
///      {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
///      {{ m.content }}<end>{% endfor %}\
///      {% if add_generation_prompt %}<assistant>{% endif %}",
/// );
/// let derived = derive(&template, &DeriveOptions::default())?;
/// assert!(derived.is_whole());
///
/// let output = "<think>Be kind.</think>Hello!<end>";
/// let options = ParserOptions::default();
/// let message = parse(&derived.template, "<user>Hi<end><assistant>", output, options)?;
/// assert_eq!(message.get("thinking").and_then(|t| t.as_str()), Some("Be kind."));
/// assert_eq!(message.get("content").and_then(|t| t.as_str()), Some("Hello!"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the chat template is not valid, does not even render a question, or renders nothing of what
/// the assistant says; and if nothing that could be drafted is a valid response template.
pub fn derive(template: &ChatTemplate, options: &DeriveOptions) -> Result<Derivation, DeriveError> {
    let prepared = template.prepare_within(&Budget::of_question());
    derive_within(template, &prepared, options)
}

/// The same for a template that is prepared, within its budget.
pub(crate) fn derive_within(
    template: &ChatTemplate,
    prepared: &PreparedTemplate,
    options: &DeriveOptions,
) -> Result<Derivation, DeriveError> {
    let (mut search_input, mut sampling) = gather(template, prepared, options)?;
    let chosen = choose(&mut search_input, &mut sampling, options)?;
    Ok(Derivation::of(search_input, sampling, chosen, options))
}

/// Chooses among drafts. What stands around texts in all ways of a format is only looked at where drafts from
/// markers don't recover all that was rendered.
fn choose(
    search_input: &mut SearchInput,
    sampling: &mut Sampling<'_>,
    options: &DeriveOptions,
) -> Result<Chosen, DeriveError> {
    let mut chosen = chosen_draft(search_input, sampling, options)?;
    let dropped = mentions::of_dropped(
        chosen.choices.dropped(),
        &search_input.mentions,
        &search_input.findings,
        &search_input.samples.all,
    );
    search_input.mentions.extend(dropped);
    let (draft, variants) = draft::draft_with_variants(search_input, &chosen.choices, options);
    let field = &options.reasoning_field;
    let thinning = Thinning::new(search_input, field, options.lenience);
    if let Some(thinned) = thinning.thinned(&draft, &variants) {
        chosen.template = thinned.template;
        chosen.reasons = thinned.reasons;
        chosen.recovered_mentions = thinned.recovered_mentions;
        chosen.recovered_damage = thinned.recovered_damage;
        chosen.trials += thinned.trials;
    }
    if options.joins
        && let Some(joining) =
            joining::joining(&chosen.template, search_input, &chosen.recovered_damage)
    {
        chosen.template = joining;
    }
    chosen.ended_early = search_input.trying.is_spent();
    Ok(chosen)
}

/// The draft from which delimiters are searched.
fn chosen_draft(
    search_input: &mut SearchInput,
    sampling: &mut Sampling<'_>,
    options: &DeriveOptions,
) -> Result<Chosen, DeriveError> {
    let first = Search::new(search_input, options).best();
    if first.as_ref().is_ok_and(|first| first.is_whole) {
        return first.map_err(DeriveError::NoDraft);
    }
    search_input.surroundings = sampling.surroundings(&search_input.marked);
    if search_input.surroundings.is_none() {
        return first.map_err(DeriveError::NoDraft);
    }
    let second = Search::new(search_input, options).best();
    let (mut chosen, trials) = match (first, second) {
        // Drafts by markers also read what models do to the texts around theirs, so they stay if both are as good.
        (Ok(first), Ok(second)) if second.score > first.score => (second, first.trials),
        (Ok(first), second) => (first, second.map_or(0, |second| second.trials)),
        (Err(_), second) => (second.map_err(DeriveError::NoDraft)?, 0),
    };
    chosen.trials += trials;
    Ok(chosen)
}

/// Renders what drafts are written from and tried on.
fn gather<'t>(
    template: &ChatTemplate,
    prepared: &'t PreparedTemplate,
    options: &DeriveOptions,
) -> Result<(SearchInput, Sampling<'t>), DeriveError> {
    check_field(&options.reasoning_field)?;
    let (search_input, sampling) = SearchInput::gather(template, prepared, options)?;
    let samples = &search_input.samples;
    match samples.have_written_turn() {
        true => Ok((search_input, sampling)),
        false => Err(DeriveError::NoTurn(samples.refusal().cloned())),
    }
}

/// The tokens that show in turns, and those without which conversations are refused.
fn missing_tokens(findings: &Findings, refused: &[RefusedConversation]) -> Vec<MissingToken> {
    let mut missing = findings.missing_tokens.clone();
    let undefined = refused.iter().filter_map(|one| one.error.undefined());
    // Another undefined name, as `today`, is a variable of the chat template, and nothing that a model writes.
    let tokens = undefined.filter(|name| advice::is_name(name) && name.ends_with("_token"));
    for token in tokens.map(MissingToken::named) {
        if !missing.contains(&token) {
            missing.push(token);
        }
    }
    missing
}

/// Refuses a field for reasoning that is taken by something else.
fn check_field(name: &str) -> Result<(), DeriveError> {
    match name {
        "" | "role" | "content" | "tool_calls" => Err(DeriveError::Field(name.to_owned())),
        _ => Ok(()),
    }
}

/// Why no response template could be derived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// The chat template does not even render a question.
    #[error("{}", no_question(.0, Remedy::name))]
    Render(RenderError),
    /// The chat template renders no turn of the assistant, and how it refuses the first one; or
    /// nothing of what is said in it.
    #[error("{}", no_turn(.0.as_ref(), Remedy::name))]
    NoTurn(Option<RenderError>),
    /// The field for reasoning can't have this name.
    #[error(
        "reasoning can't go to the field `{0}`, which is taken or empty: choose another name, such \
         as `reasoning_content`"
    )]
    Field(String),
    /// Nothing that was drafted is a response template.
    #[error("nothing that was drafted is a response template: {0}")]
    NoDraft(TemplateError),
}

// Each message holds that of the error behind it, so none is given as a source to be printed again.
impl From<RenderError> for DeriveError {
    fn from(error: RenderError) -> DeriveError {
        DeriveError::Render(error)
    }
}

impl DeriveError {
    /// The message, with names of the caller for what it advises to make use of.
    pub fn explain(&self, words: impl Fn(Remedy) -> &'static str) -> String {
        match self {
            Self::Render(error) => no_question(error, words),
            Self::NoTurn(refusal) => no_turn(refusal.as_ref(), words),
            other => other.to_string(),
        }
    }
}

/// Says why no turn is rendered, and what may help.
fn no_turn(refusal: Option<&RenderError>, words: impl Fn(Remedy) -> &'static str) -> String {
    let Some(error) = refusal else {
        return "the assistant's turn is never rendered, not even its text: is this the template \
                of a chat model?"
            .to_owned();
    };
    let advice = advice::advice(error, words).map_or_else(String::new, |how| format!(": {how}"));
    format!(
        "no turn of the assistant can be rendered: {}{advice}",
        error.message()
    )
}

/// Says why no question is rendered, and what may help.
fn no_question(error: &RenderError, words: impl Fn(Remedy) -> &'static str) -> String {
    let advice = advice::advice(error, words).map_or_else(String::new, |how| format!("; {how}"));
    let of_question = error.of_question();
    // The error may end with an excerpt of the template, which has lines of its own.
    let error = error.to_string();
    let (what, excerpt) = error.split_at(error.find('\n').unwrap_or(error.len()));
    format!("{of_question}: {what}{advice}{excerpt}")
}

#[cfg(test)]
mod invented;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_goes_to_a_field_of_its_own() {
        for (name, is_taken) in [
            ("thinking", false),
            ("reasoning_content", false),
            ("contents", false),
            ("", true),
            ("role", true),
            ("content", true),
            ("tool_calls", true),
        ] {
            let refusal = check_field(name).err();
            let expected = is_taken.then(|| DeriveError::Field(name.to_owned()));
            assert_eq!(refusal, expected, "{name}");
        }
    }
}
