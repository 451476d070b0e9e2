//! Searching delimiters that no text needs less of: each alternative of what opens or closes a field stays only if a text
//! is misread without it.
//!
//! A draft has all that might be needed. From it, and from the plainest draft that the format allows, alternatives are taken away,
//! put in and exchanged, one at a time, as long as that is better. What is better is a matter of [`Lenience`].

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::hash::BuildHasher;
use std::rc::Rc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};
use memchr::memmem;

use crate::markers::lexicon::unmarked;
use crate::response::pattern::{self, Meter};
use crate::response::{Patterns, ResponseTemplate, Tools};

use super::delimiter::{Delimiter, Delimiters, Draft, FieldDraft};
use super::draft::Variants;
use super::options::Lenience;
use super::pattern::START;
use super::reason::Reason;
use super::sample::Origin;
use super::search_input::SearchInput;
use super::stretches::{Side, Stretches};
use super::trial::{self, Cut, Expected, ReadCounter, TrialReader};

/// As how many texts it counts against a draft that a delimiter holds all text back.
// Synthetic texts count at the same rank, and are fewer: a rendering alone is worth a stream that stands still.
const HELD_BACK: isize = 1000;

/// As how many damaged texts it counts against a draft that what a delimiter finds depends on chunks: each of its delimiters.
// Streams come in all chunks, and damages are few. Texts that nobody has damaged may need it all the same.
const DEPENDS_ON_CHUNKS: isize = 1000;

/// How many alternatives may open or close a field of which each is looked for by itself. Formats have nine at most; a chat template
/// that is written to have hundreds has to end, too, and keeps all of them.
const MAX_ALTERNATIVES: usize = 64;

/// Where a text comes from that delimiters are tried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextOrigin {
    Rendered,
    Synthetic,
    Mention,
    Damaged,
}

/// What counts first, second, …, where nothing that counts less makes up for what counts more.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// The ranks of texts that are rendered, put together, with mentions, and damaged.
    kinds: [usize; 4],
    /// The rank at which a delimiter that looks around counts against a draft, and as how many texts: nobody likes to read
    /// such, and few damages are worth it.
    looks: (usize, isize),
}

impl Order {
    fn of(lenience: Lenience) -> Order {
        match lenience {
            // Who asks for no damage wants delimiters that can be read: one more `(?=…)` costs more than any number
            // of mentions gives.
            Lenience::None => Order {
                kinds: [0, 1, 3, 4],
                looks: (2, 1),
            },
            // `Write </call> at the end.` must come back before a `</call` that lost its `>` does, and one look is
            // worth five of those.
            Lenience::Usual => Order {
                kinds: [0, 1, 2, 3],
                looks: (3, 5),
            },
            // An answer with a bare `<call>` in it may be lost here, if a call without its closer is read for that.
            Lenience::All => Order {
                kinds: [0, 1, 3, 2],
                looks: (4, 1),
            },
        }
    }

    fn rank(&self, kind: TextOrigin) -> usize {
        self.kinds[kind as usize]
    }
}

/// A text that delimiters are tried on.
struct Text<'a> {
    kind: TextOrigin,
    /// What it is, in words.
    name: String,
    prefilled: &'a str,
    output: Cow<'a, str>,
    expected: Expected<'a>,
    tools: &'a Tools,
    /// What is read, as one text: a delimiter may begin in the prompt.
    joined: OnceCell<String>,
}

impl Text<'_> {
    /// What is read, as one text.
    fn joined(&self) -> &str {
        match self.prefilled {
            "" => &self.output,
            prefilled => self
                .joined
                .get_or_init(|| format!("{prefilled}{}", self.output)),
        }
    }
}

/// How good delimiters are; more is better: their merits in order, and how little there is to read for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score([isize; 5], Reverse<usize>);

/// A draft whose delimiters all have their reasons.
pub(super) struct Thinned {
    pub(super) template: ResponseTemplate,
    pub(super) reasons: Vec<Reason>,
    /// Of each text that mentions a marker, whether it is recovered.
    pub(super) recovered_mentions: Vec<bool>,
    /// Of each damaged text, whether it is recovered.
    pub(super) recovered_damage: Vec<bool>,
    /// How many texts have been read.
    pub(super) trials: usize,
}

/// Looks for the best delimiters of a draft, which is a valid response template.
pub(super) struct Thinning<'a> {
    search_input: &'a SearchInput,
    texts: Vec<Text<'a>>,
    reasoning_field: &'a str,
    order: Order,
    /// How many texts have been read.
    read: ReadCounter<'a>,
    /// For each text, how many drafts have misread it.
    failures: RefCell<Vec<usize>>,
    /// The texts in which a delimiter may match, for those that were asked for.
    matched: RefCell<HashMap<Delimiter, Rc<Matched>>>,
    /// How a text is read by drafts of which the same may match in it, by the [fingerprint](Self::fingerprints) of that.
    known: RefCell<HashMap<(usize, u64), Reading>>,
}

/// How a text is read.
#[derive(Clone)]
struct Reading {
    /// As what it means.
    is_right: bool,
    /// What was found in it as a whole, unless it was misread in pieces alone.
    stretches: Option<Rc<Stretches>>,
}

/// Where a delimiter may match.
struct Matched {
    /// Each delimiter has its own.
    id: usize,
    texts: Vec<usize>,
}

/// Delimiters that were tried.
struct Tried {
    draft: Draft,
    /// The draft as a template, once it is made into one.
    template: Option<ResponseTemplate>,
    /// For each text, the fingerprint of what may match in it.
    fingerprints: Vec<u64>,
    /// How each text is read, as far as that is known.
    readings: Vec<Option<Reading>>,
    /// The best that is possible, as far as it is known what is read.
    score: Score,
}

impl Tried {
    /// Whether a text is known to be read.
    fn reads(&self, at: usize) -> bool {
        let reading = self.readings[at].as_ref();
        reading.is_some_and(|reading| reading.is_right)
    }

    /// Whether a text is known to be misread.
    fn misreads(&self, at: usize) -> bool {
        let reading = self.readings[at].as_ref();
        reading.is_some_and(|reading| !reading.is_right)
    }
}

/// Delimiters of which most is known, and where others differ from them.
struct Like<'t> {
    tried: &'t Tried,
    template: &'t ResponseTemplate,
    sides: Vec<Side>,
}

impl<'t> Like<'t> {
    fn of(tried: &'t Tried, other: &Draft) -> Option<Like<'t>> {
        Some(Like {
            tried,
            template: tried.template.as_ref()?,
            sides: different_sides(&tried.draft, other)?,
        })
    }

    /// How a text that comes as a whole is read by others, if that is known from how it is read by these.
    fn reading(&self, other: &ResponseTemplate, at: usize, text: &Text<'_>) -> Option<Reading> {
        let reading = self.tried.readings[at].as_ref()?;
        let stretches = reading.stretches.as_ref()?;
        let mut sides = self.sides.iter();
        let are_same = sides.all(|side| {
            let patterns = [self.template, other].map(|template| {
                let field = &template.fields()[side.field];
                let delimiter = match side.opens {
                    true => field.open(),
                    false => field.close(),
                };
                delimiter.map(|delimiter| delimiter.compiled())
            });
            stretches.are_same(text.joined(), *side, patterns)
        });
        are_same.then(|| reading.clone())
    }
}

impl<'a> Thinning<'a> {
    pub(super) fn new(
        search_input: &'a SearchInput,
        reasoning_field: &'a str,
        lenience: Lenience,
    ) -> Thinning<'a> {
        let mut texts = texts(search_input);
        if lenience == Lenience::None {
            // Counted last, they would still decide between drafts that are alike in all else.
            texts.retain(|text| text.kind != TextOrigin::Damaged);
        }
        let order = Order::of(lenience);
        // Many conversations end in the same text, such as `Yes.<end>`: each is read once, and counts once.
        let mut seen = HashSet::default();
        texts.retain(|text| seen.insert((text.prefilled, text.output.clone())));
        texts.sort_by_key(|text| order.rank(text.kind));
        Thinning {
            search_input,
            texts,
            reasoning_field,
            order,
            read: ReadCounter::new(&search_input.trying),
            failures: RefCell::default(),
            matched: RefCell::default(),
            known: RefCell::default(),
        }
    }

    /// The best that is found from a draft, by itself.
    pub(super) fn template(
        mut self,
        draft: &Draft,
        variants: &Variants,
    ) -> Option<ResponseTemplate> {
        let mut patterns = Patterns::default();
        self.best(draft, variants, &mut patterns)?.template
    }

    /// The best that is found from a draft, with what it recovers, and why.
    pub(super) fn thinned(mut self, draft: &Draft, variants: &Variants) -> Option<Thinned> {
        let mut patterns = Patterns::default();
        let best = self.best(draft, variants, &mut patterns)?;
        let template = best.template.clone()?;
        let reasons = self.reasons(&best, &mut patterns);
        let recovered = |kind| {
            let texts = texts(self.search_input).into_iter();
            let texts = texts.filter(|text| text.kind == kind);
            // What is passed over is lost, whoever reads with the template.
            let is_read = |text: Text<'_>| {
                self.read.note(text.prefilled, &text.output);
                let reader = TrialReader::new(&template, self.reasoning_field, text.tools);
                let difference = reader.difference(text.prefilled, &text.output, text.expected);
                difference.is_none()
            };
            texts.map(is_read).collect()
        };
        Some(Thinned {
            recovered_mentions: recovered(TextOrigin::Mention),
            recovered_damage: recovered(TextOrigin::Damaged),
            trials: self.read.texts(),
            reasons,
            template,
        })
    }

    fn best(
        &mut self,
        draft: &Draft,
        variants: &Variants,
        patterns: &mut Patterns,
    ) -> Option<Tried> {
        // `<call>{"a": 1}<call>{"a": 2}` has nothing of its own that closes the first: the next opener must be there
        // to be kept.
        let draft = &variants.whole(draft);
        self.texts
            .extend(opened_otherwise(self.search_input, draft));
        self.failures = RefCell::new(vec![0; self.texts.len()]);
        // What stands before the anchor is nothing that a parser sees: behind it, `\A` matches.
        let whole = ResponseTemplate::with_patterns(&draft.to_value(), patterns).ok()?;
        for text in &mut self.texts {
            if let Ok(Some(seen)) = whole.after_anchor(text.prefilled) {
                text.prefilled = seen;
            }
        }
        let all: Vec<usize> = (0..self.texts.len()).collect();
        if is_large(draft) {
            return self.tried(draft.clone(), &all, None, None, patterns);
        }
        let plain = self.plainest(draft, variants, patterns);
        let from_plain = plain.map(|start| self.climbed(start, draft, variants, patterns));
        // Where the whole draft does nothing better, nothing is to be found from there, however short it is.
        let to_beat = from_plain.as_ref();
        let to_beat = to_beat.map(|best| Score(best.score.0, Reverse(0)));
        let from_whole = self.tried(draft.clone(), &all, from_plain.as_ref(), to_beat, patterns);
        let from_whole = from_whole.map(|start| self.climbed(start, draft, variants, patterns));
        let best = from_plain.into_iter().chain(from_whole);
        best.max_by_key(|tried| tried.score)
    }

    /// The best of the plainest drafts as far as texts go that are not damaged: what these need is put in later.
    fn plainest(
        &self,
        draft: &Draft,
        variants: &Variants,
        patterns: &mut Patterns,
    ) -> Option<Tried> {
        let all = 0..self.texts.len();
        let (damaged, undamaged): (Vec<usize>, Vec<usize>) =
            all.partition(|at| self.texts[*at].kind == TextOrigin::Damaged);
        let mut starts = variants.plain(draft);
        // The cheapest comes first: one that costs more and reads no more is given up before any text is read to the
        // end.
        starts.sort_by_cached_key(cost);
        let mut best: Option<Tried> = None;
        for start in starts {
            // Something has to come out, however late it is.
            if best.is_some() && self.is_late() {
                break;
            }
            let to_beat = best.as_ref().map(|best| best.score);
            let tried = self.tried(start, &undamaged, best.as_ref(), to_beat, patterns);
            best = tried.or(best);
        }
        let mut best = best?;
        let template = best.template.clone()?;
        self.read(&mut best, &template, &damaged, None, None);
        Some(best)
    }

    /// Goes on from delimiters to better ones until none is. What did not help is not tried again before something else did.
    fn climbed(
        &self,
        mut best: Tried,
        whole: &Draft,
        variants: &Variants,
        patterns: &mut Patterns,
    ) -> Tried {
        let mut next = 0;
        let all: Vec<usize> = (0..self.texts.len()).collect();
        loop {
            let moves = moves(&best.draft, whole, variants);
            let tried = (0..moves.len()).map(|tried| (next + tried) % moves.len());
            let better = tried.into_iter().find_map(|at| {
                if self.is_late() {
                    return None;
                }
                let draft = moves[at].of(&best.draft);
                // What only follows, as `<end>` does, may be enough for all these texts: `</call>` has to close a
                // call all the same.
                let is_one = draft != best.draft && variants.are_kept(&draft);
                if !is_one {
                    return None;
                }
                let better = self.tried(draft, &all, Some(&best), Some(best.score), patterns);
                better.map(|better| (at, better))
            });
            match better {
                Some((at, better)) => (next, best) = (at, better),
                None => return best,
            }
        }
    }

    fn is_late(&self) -> bool {
        self.read.is_spent()
    }

    /// How delimiters read some texts, if that beats a score, which may be that of other delimiters.
    fn tried(
        &self,
        draft: Draft,
        texts: &[usize],
        best: Option<&Tried>,
        to_beat: Option<Score>,
        patterns: &mut Patterns,
    ) -> Option<Tried> {
        let beats = |tried: &Tried| to_beat.is_none_or(|to_beat| tried.score > to_beat);
        let mut tried = Tried {
            score: self.best_possible(&draft),
            template: None,
            readings: vec![None; self.texts.len()],
            fingerprints: Vec::new(),
            draft,
        };
        // Its looks and its length may be too much already, or what others misread: nothing needs to be read then.
        if !beats(&tried) {
            return None;
        }
        self.learn(&mut tried);
        if !beats(&tried) {
            return None;
        }
        let template = ResponseTemplate::with_patterns(&tried.draft.to_value(), patterns).ok()?;
        let unknown = texts.iter().copied();
        let mut order: Vec<usize> = unknown.filter(|at| tried.readings[*at].is_none()).collect();
        // Those first that most drafts have failed at; but where there is more to read for a person, what is misread now: if that
        // stays so, nothing is gained.
        let is_dearer = to_beat.is_some_and(|to_beat| tried.score.1 < to_beat.1);
        let failures = self.failures.borrow();
        order.sort_by_cached_key(|at| {
            let is_next = is_dearer && best.is_some_and(|best| best.misreads(*at));
            (!is_next, Reverse(failures[*at]))
        });
        drop(failures);
        tried.template = Some(template.clone());
        let like = best.and_then(|best| Like::of(best, &tried.draft));
        if !self.read(&mut tried, &template, &order, to_beat, like.as_ref()) {
            return None;
        }
        // Each counts, so that of several one after the other is exchanged.
        let delimiters = trial::delimiters(&template);
        let dependent = delimiters.filter(|delimiter| delimiter.is_chunk_dependent() == Some(true));
        let rank = self.order.rank(TextOrigin::Damaged);
        tried.score.0[rank] -= DEPENDS_ON_CHUNKS * dependent.count() as isize;
        beats(&tried).then_some(tried)
    }

    /// Takes over what is known of texts in which the same may match: `<call>` still opens calls where `</call>` no longer closes a
    /// thought.
    fn learn(&self, tried: &mut Tried) {
        tried.fingerprints = self.fingerprints(&tried.draft);
        let known = self.known.borrow();
        for at in 0..self.texts.len() {
            if let Some(reading) = known.get(&(at, tried.fingerprints[at])) {
                self.put(tried, at, reading.clone());
            }
        }
    }

    /// For each text a fingerprint of what may match in it of a draft. A text without `</call>` is read in the same way however
    /// `</call>` is matched; so is one in which no `<call>` opens the field.
    fn fingerprints(&self, draft: &Draft) -> Vec<u64> {
        let mut fingerprints = vec![0; self.texts.len()];
        for (at, field) in draft.fields.iter().enumerate() {
            // Of a field that nothing opens, as text that is left over, any text may be a part.
            let mut is_opened = vec![field.open.alternatives.is_empty(); self.texts.len()];
            for (opens, side) in [(true, &field.open), (false, &field.close)] {
                for delimiter in &side.alternatives {
                    let matched = self.matched(delimiter);
                    let own = (at, opens, side.takes_space, matched.id);
                    for text in matched
                        .texts
                        .iter()
                        .filter(|text| opens || is_opened[**text])
                    {
                        fingerprints[*text] =
                            FixedState::default().hash_one((fingerprints[*text], own));
                    }
                    if opens {
                        matched
                            .texts
                            .iter()
                            .for_each(|text| is_opened[*text] = true);
                    }
                }
            }
        }
        fingerprints
    }

    /// Puts down how a text is read, of which that was not known of any draft.
    fn set(&self, tried: &mut Tried, at: usize, reading: Reading) {
        self.failures.borrow_mut()[at] += usize::from(!reading.is_right);
        let mut known = self.known.borrow_mut();
        known.insert((at, tried.fingerprints[at]), reading.clone());
        self.put(tried, at, reading);
    }

    /// Puts down how a text is read, of which that was not known of this draft.
    fn put(&self, tried: &mut Tried, at: usize, reading: Reading) {
        tried.score.0[self.order.rank(self.texts[at].kind)] -= isize::from(!reading.is_right);
        tried.readings[at] = Some(reading);
    }

    /// Reads texts of which it is not known how they are read, until a score can't be beaten any more. Whether it is. `like` are
    /// other delimiters, of which most is known.
    fn read(
        &self,
        tried: &mut Tried,
        template: &ResponseTemplate,
        texts: &[usize],
        to_beat: Option<Score>,
        like: Option<&Like<'_>>,
    ) -> bool {
        let beats = |score: Score| to_beat.is_none_or(|to_beat| score > to_beat);
        let mut right = Vec::new();
        for at in texts {
            let as_like = like.and_then(|like| like.reading(template, *at, &self.texts[*at]));
            let reading = as_like.unwrap_or_else(|| self.reading(template, *at));
            if reading.is_right {
                right.push((*at, reading));
                continue;
            }
            self.set(tried, *at, reading);
            if !beats(tried.score) {
                return false;
            }
        }
        // Most drafts fail before it matters how texts are cut, which takes longer to find out. Until then, a text with a prefix, which
        // is a piece of its own, counts as one that comes whole.
        let depends_on_pieces = trial::depends_on_pieces(template);
        for (at, mut reading) in right {
            if depends_on_pieces && !self.reads_when(Cut::Pieces, template, &self.texts[at]) {
                reading = Reading {
                    is_right: false,
                    stretches: None,
                };
            }
            self.set(tried, at, reading);
            if tried.misreads(at) && !beats(tried.score) {
                return false;
            }
        }
        beats(tried.score)
    }

    /// What reads texts. Whether all is read that stands in a call depends on more of a draft than what matches, by which it is known what needs
    /// no reading again.
    fn reader<'t>(&'t self, template: &'t ResponseTemplate, text: &Text<'t>) -> TrialReader<'t> {
        TrialReader::new(template, self.reasoning_field, text.tools).passing_over()
    }

    /// How a text is read that comes as a whole.
    fn reading(&self, template: &ResponseTemplate, at: usize) -> Reading {
        let text = &self.texts[at];
        self.read.note(text.prefilled, &text.output);
        let reader = self.reader(template, text);
        let (is_right, stretches) =
            reader.is_read_noting(text.prefilled, &text.output, text.expected);
        Reading {
            is_right,
            stretches: stretches.map(Rc::new),
        }
    }

    /// The texts in which a delimiter may match.
    fn matched(&self, delimiter: &Delimiter) -> Rc<Matched> {
        if let Some(known) = self.matched.borrow().get(delimiter) {
            return Rc::clone(known);
        }
        let needed = delimiter.needed_text();
        let needed = needed.as_deref().map(memmem::Finder::new);
        let texts = self.texts.iter().enumerate();
        let holding = texts.filter(|(_, text)| {
            let needed = needed.as_ref();
            needed.is_none_or(|needed| needed.find(text.joined().as_bytes()).is_some())
        });
        let mut holding: Vec<usize> = holding.map(|(at, _)| at).collect();
        if let Some(pattern) = self.finder(delimiter, &holding) {
            holding.retain(|at| {
                let text = self.texts[*at].joined();
                let found = pattern.find(text, 0, &mut Meter::new(text.len()));
                // Where it takes too long to say, it may.
                !matches!(found, Ok(None))
            });
        }
        let mut known = self.matched.borrow_mut();
        let id = known.len();
        let matched = Rc::new(Matched { id, texts: holding });
        known.insert(delimiter.clone(), Rc::clone(&matched));
        matched
    }

    /// What finds a delimiter wherever it matches, in texts that have what it needs, if there are any.
    fn finder(&self, delimiter: &Delimiter, texts: &[usize]) -> Option<pattern::Pattern> {
        let is_literal = !matches!(delimiter, Delimiter::Expression(_));
        if is_literal || texts.is_empty() {
            return None;
        }
        let expression = unmarked(&delimiter.expression().to_string());
        let pattern = pattern::Pattern::new(&expression).ok()?;
        // `<end>(?!x)` matches in a piece that ends before the `x`, and not in the whole; without such a look, what matches
        // in a piece matches in the whole.
        let is_in_whole =
            !delimiter.looks_at_end() || pattern.is_chunk_dependent(false) == Some(false);
        is_in_whole.then_some(pattern)
    }

    /// The score of a draft that reads all texts.
    fn best_possible(&self, draft: &Draft) -> Score {
        let mut score = Score([0; 5], Reverse(cost(draft)));
        let (rank, weight) = self.order.looks;
        score.0[rank] = -weight * looks_around(draft);
        // What looks as far as it has to holds all text back: renderings alone are worth that.
        score.0[1] -= HELD_BACK * sides(draft).filter(|side| looks_far(side)).count() as isize;
        for text in &self.texts {
            score.0[self.order.rank(text.kind)] += 1;
        }
        score
    }

    /// Whether a text is read as what it means, as a whole and in pieces.
    fn reads(&self, template: &ResponseTemplate, text: &Text<'_>) -> bool {
        let is_read = |cut| self.reads_when(cut, template, text);
        is_read(Cut::Whole) && (!trial::depends_on_pieces(template) || is_read(Cut::Pieces))
    }

    /// Whether a text that comes in this way is read as what it means.
    fn reads_when(&self, cut: Cut, template: &ResponseTemplate, text: &Text<'_>) -> bool {
        self.read.note(text.prefilled, &text.output);
        let reader = self.reader(template, text);
        reader.is_read(cut, text.prefilled, &text.output, text.expected)
    }

    /// Why each alternative is there.
    fn reasons(&self, best: &Tried, patterns: &mut Patterns) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if is_large(&best.draft) {
            return reasons;
        }
        for (field, opens, at) in places(&best.draft) {
            let mut without = best.draft.clone();
            let own = side_mut(&mut without, field, opens);
            let taken = own.alternatives.remove(at);
            let fingerprints = self.fingerprints(&without);
            let template = ResponseTemplate::with_patterns(&without.to_value(), patterns);
            let like = Like::of(best, &without);
            // Without some, this is no response template.
            let is_needed = |at: &usize| {
                template.as_ref().ok().is_none_or(|template| {
                    let text = &self.texts[*at];
                    let like = like.as_ref();
                    let like = like.filter(|_| !trial::depends_on_pieces(template));
                    let as_like = like.and_then(|like| like.reading(template, *at, text));
                    let is_right = as_like.map(|reading| reading.is_right);
                    !is_right.unwrap_or_else(|| self.reads(template, text))
                })
            };
            // A text that is misread with it is no reason for it, nor one in which it matches nothing.
            let matched = self.matched(&taken);
            let texts = matched.texts.iter().copied();
            let read =
                texts.filter(|at| fingerprints[*at] != best.fingerprints[*at] && best.reads(*at));
            let needing: Vec<usize> = read.filter(is_needed).collect();
            let mut texts: Vec<String> = needing
                .iter()
                .map(|at| self.texts[*at].name.clone())
                .collect();
            crate::markers::dedup(&mut texts);
            reasons.push(Reason {
                field: best.draft.fields[field].name.clone(),
                opens,
                delimiter: Delimiters::one(taken).shown(),
                count: needing.len(),
                texts,
            });
        }
        reasons
    }
}

/// All texts, those first that count most.
fn texts(search_input: &SearchInput) -> Vec<Text<'_>> {
    let tools = &search_input.samples.tools;
    let samples = search_input.samples.all.iter().map(|sample| Text {
        kind: match sample.origin {
            Origin::Rendered => TextOrigin::Rendered,
            Origin::Synthetic => TextOrigin::Synthetic,
        },
        name: sample.name.to_string(),
        prefilled: &sample.prefilled,
        output: Cow::from(&sample.output),
        expected: Expected::Turn(&sample.written),
        tools,
        joined: OnceCell::new(),
    });
    // What the chat template writes behind a turn is no part of it.
    let tails = search_input.samples.all.iter();
    let tails = tails.filter(|sample| !sample.tail.trim().is_empty());
    let tails = tails.map(|sample| Text {
        kind: TextOrigin::Rendered,
        name: format!("{}, and what is written behind it", sample.name),
        prefilled: &sample.prefilled,
        output: Cow::from(format!("{}{}", sample.output, sample.tail)),
        expected: Expected::Turn(&sample.written),
        tools,
        joined: OnceCell::new(),
    });
    let outputs = search_input.outputs.iter().map(|output| Text {
        kind: match output.said {
            // A model's own text counts as a rendering where it is known what was said.
            Some(_) => TextOrigin::Rendered,
            // Else a draft that finds nothing in it and leaves nothing does as well as a good one.
            None => TextOrigin::Synthetic,
        },
        name: "an output".to_owned(),
        prefilled: &output.prefix,
        output: Cow::from(&output.text),
        expected: output.expected(),
        tools: &output.tools,
        joined: OnceCell::new(),
    });
    let mentions = search_input.mentions.iter().map(|mention| Text {
        kind: TextOrigin::Mention,
        name: format!("`{}` mentioned {}", mention.marker, mention.manner),
        prefilled: &mention.prefilled,
        output: Cow::from(&mention.output),
        expected: Expected::Turn(&mention.expected),
        tools,
        joined: OnceCell::new(),
    });
    let damaged = search_input.damaged.iter().map(|damaged| Text {
        kind: TextOrigin::Damaged,
        name: damaged.damage.to_owned(),
        prefilled: &damaged.prefilled,
        output: Cow::from(&damaged.output),
        expected: Expected::Turn(&damaged.expected),
        tools,
        joined: OnceCell::new(),
    });
    samples
        .chain(tails)
        .chain(outputs)
        .chain(mentions)
        .chain(damaged)
        .collect()
}

/// Answers that open as the draft says they may, and the chat template never does.
fn opened_otherwise<'a>(search_input: &'a SearchInput, draft: &Draft) -> Vec<Text<'a>> {
    let content = draft.fields.iter().find(|field| field.name == "content");
    let opens = content.map_or(&[][..], |content| &content.open.alternatives);
    let opens: Vec<&str> = opens.iter().filter_map(Delimiter::literal).collect();
    let [own, others @ ..] = opens.as_slice() else {
        return Vec::new();
    };
    let own = unmarked(own);
    let samples = search_input.samples.all.iter();
    let sample = samples
        .filter(|sample| sample.written.calls.is_empty())
        // Twice in a text, as in `<say>Put <say> first.`, it would be exchanged in what was said, too.
        .find(|sample| sample.output.matches(&own).count() == 1);
    let texts = others.iter().zip(sample.into_iter().cycle());
    texts
        .map(|(other, sample)| Text {
            // The chat template writes none of them, so no rendering may be lost for one.
            kind: TextOrigin::Damaged,
            name: "a text opened otherwise".to_owned(),
            prefilled: &sample.prefilled,
            output: Cow::from(sample.output.replace(&own, &unmarked(other))),
            expected: Expected::Turn(&sample.written),
            tools: &search_input.samples.tools,
            joined: OnceCell::new(),
        })
        .collect()
}

/// Where two drafts are opened or closed by other delimiters, if they differ in nothing else.
fn different_sides(one: &Draft, other: &Draft) -> Option<Vec<Side>> {
    if one.head != other.head || one.fields.len() != other.fields.len() {
        return None;
    }
    let mut sides = Vec::new();
    for (field, (one, other)) in one.fields.iter().zip(&other.fields).enumerate() {
        // What nothing opens is the text that is left over.
        let is_left_over = |field: &FieldDraft| field.open.alternatives.is_empty();
        let are_alike = one.name == other.name && one.rest == other.rest;
        if !are_alike || is_left_over(one) != is_left_over(other) {
            return None;
        }
        let opens = (one.open != other.open).then_some(true);
        let closes = (one.close != other.close).then_some(false);
        let opens = opens.into_iter().chain(closes);
        sides.extend(opens.map(|opens| Side { field, opens }));
    }
    Some(sides)
}

/// The places of all alternatives: the field, whether it is opened, and the number there.
fn places(draft: &Draft) -> Vec<(usize, bool, usize)> {
    let fields = draft.fields.iter().enumerate();
    fields
        .flat_map(|(at, field)| {
            let opens = (0..field.open.alternatives.len()).map(move |one| (at, true, one));
            let closes = (0..field.close.alternatives.len()).map(move |one| (at, false, one));
            opens.chain(closes)
        })
        .collect()
}

fn side_mut(draft: &mut Draft, field: usize, opens: bool) -> &mut Delimiters {
    let field = &mut draft.fields[field];
    match opens {
        true => &mut field.open,
        false => &mut field.close,
    }
}

/// One thing that another draft has otherwise.
#[derive(Debug)]
struct Move<'v> {
    field: usize,
    opens: bool,
    step: Step<'v>,
}

/// What is done to what opens or closes a field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step<'v> {
    /// An alternative is taken away.
    Without(usize),
    /// All are exchanged for one, which takes along an alternative that closes another field.
    Alone(&'v Delimiter, Option<(usize, usize)>),
    /// All are exchanged for one, and a text is closed by what stood behind it.
    Split(&'v Delimiter, usize, &'v Delimiter),
    /// An alternative is exchanged.
    Exchanged(usize, &'v Delimiter),
    /// An alternative is put in.
    With(&'v Delimiter),
    /// White space goes along, or does no more.
    Space,
}

impl Move<'_> {
    /// What comes of a draft.
    fn of(&self, draft: &Draft) -> Draft {
        let mut draft = draft.clone();
        let own = side_mut(&mut draft, self.field, self.opens);
        match &self.step {
            Step::Without(at) => drop(own.alternatives.remove(*at)),
            Step::Exchanged(at, other) => own.alternatives[*at] = (*other).clone(),
            Step::With(other) => own.alternatives.push((*other).clone()),
            Step::Space => own.takes_space = !own.takes_space,
            Step::Split(other, text, behind) => {
                own.alternatives = vec![(*other).clone()];
                let close = &mut draft.fields[*text].close;
                close.alternatives.push((*behind).clone());
            }
            Step::Alone(other, along) => {
                own.alternatives = vec![(*other).clone()];
                if let Some((field, at)) = *along {
                    draft.fields[field].close.alternatives.remove(at);
                }
            }
        }
        draft
    }
}

/// All moves to drafts that differ in one thing from one: in an alternative that is taken away, exchanged or put in, or in
/// whether white space goes along.
fn moves<'v>(from: &Draft, whole: &'v Draft, variants: &'v Variants) -> Vec<Move<'v>> {
    let mut moves = Vec::new();
    for (at, field) in from.fields.iter().enumerate() {
        // Before what ends a thought elsewhere: it reads the same without looking around.
        let others = variants.opens_behind_prompt(&field.name).iter();
        let new = others.filter(|other| !field.open.alternatives.contains(other));
        moves.extend(new.map(|other| Move {
            field: at,
            opens: true,
            step: Step::Alone(other, None),
        }));
    }
    for (at, field) in from.fields.iter().enumerate() {
        for opens in [true, false] {
            let own = if opens { &field.open } else { &field.close };
            let count = own.alternatives.len();
            let mut put = |step| {
                moves.push(Move {
                    field: at,
                    opens,
                    step,
                });
            };
            // Without its last opener, a field is another one: text that is left over.
            if count > 1 {
                (0..count).for_each(|one| put(Step::Without(one)));
            }
            let others = variants.of(&field.name, opens).iter();
            // What nothing opens, as text that is left over, is opened by none of the others either.
            for other in others.filter(|other| count > 0 && !own.alternatives.contains(other)) {
                put(Step::Alone(other, None));
                // Where `<calls>\s*<call>` opens a call, `<calls>` need not close the text before it any more, and
                // neither step may help alone.
                let along = taken_along(from, at, other).into_iter();
                along.for_each(|along| put(Step::Alone(other, Some(along))));
                // Of one alternative alone, that is the step above.
                if count > 1 {
                    (0..count).for_each(|one| put(Step::Exchanged(one, other)));
                }
                let text = from.fields.iter().position(|field| field.name == "content");
                // If `</call>` alone closes a call, `</calls>` is left for the text, so it has to close that in the
                // same step.
                if let (Some(text), false) = (text.filter(|text| *text != at), opens) {
                    let known = &from.fields[text].close.alternatives;
                    let behind = variants.of("content", false).iter();
                    let behind = behind.filter(|behind| !known.contains(behind));
                    // All closers of a text with each of a call are many trials, and most of them say nothing of what
                    // is left there.
                    let behind = behind.filter(|behind| may_stand_behind(behind, other, at));
                    behind.for_each(|behind| put(Step::Split(other, text, behind)));
                }
            }
        }
    }
    for (at, field) in from.fields.iter().enumerate() {
        let own = &field.close;
        let all = whole.fields.iter().filter(|other| other.name == field.name);
        let all = all.flat_map(|other| &other.close.alternatives);
        let all = all.chain(variants.of(&field.name, false));
        let new: Vec<&Delimiter> = all
            .filter(|other| !own.alternatives.contains(other))
            .collect();
        let looking = own.alternatives.iter().enumerate();
        let looking = looking.filter(|(_, own)| own.looks_around());
        // What looks around may have come before what does without.
        let exchanged = looking.flat_map(|(one, _)| {
            let plain = new.iter().filter(|other| !other.looks_around());
            plain.map(move |other| Step::Exchanged(one, other))
        });
        let steps = exchanged.chain(new.iter().copied().map(Step::With));
        let steps = steps.chain([Step::Space]);
        moves.extend(steps.map(|step| Move {
            field: at,
            opens: false,
            step,
        }));
    }
    for (at, field) in from.fields.iter().enumerate() {
        // Ways that the format never takes come last: they may read what is damaged, and nothing that is rendered
        // needs them.
        let others = variants.opens_ignoring_space(&field.name).iter();
        let new = others.filter(|other| !field.open.alternatives.contains(other));
        let text = from.fields.iter().position(|field| field.name == "content");
        let dropped = text.map(|text| (text, variants.unopened(&field.name)));
        for other in new {
            // What opens a field only if something follows is no part of a text where nothing does.
            let dropped = dropped.iter().flat_map(|(text, all)| {
                let all = all.iter();
                all.map(|behind| Step::Split(other, *text, behind))
            });
            let steps = [Step::Alone(other, None)].into_iter().chain(dropped);
            moves.extend(steps.map(|step| Move {
                field: at,
                opens: true,
                step,
            }));
        }
    }
    moves
}

/// Whether a text's closer is about what is left where a field is closed: behind what closes it, or at the start of the turn, where the
/// first field alone may have left nothing before it.
fn may_stand_behind(closer: &Delimiter, closes: &Delimiter, field: usize) -> bool {
    let expression = closer.expression();
    expression.contains(&closes.expression()) || field == 0 && expression.contains(&START)
}

/// What closes other fields and stands in a delimiter of this one: that takes it along.
fn taken_along(draft: &Draft, own: usize, delimiter: &Delimiter) -> Vec<(usize, usize)> {
    let expression = delimiter.expression();
    let fields = draft.fields.iter().enumerate();
    // The only closer of a field is not for another one to take.
    let fields = fields.filter(|(at, field)| *at != own && field.close.alternatives.len() > 1);
    let closes = fields.flat_map(|(at, field)| {
        let closes = field.close.alternatives.iter().enumerate();
        closes.map(move |(one, close)| (at, one, close))
    });
    let taken = closes.filter(|(_, _, close)| expression.contains(&close.expression()));
    taken.map(|(at, one, _)| (at, one)).collect()
}

/// Whether a draft has more alternatives than are looked for one by one.
fn is_large(draft: &Draft) -> bool {
    sides(draft).any(|side| side.alternatives.len() > MAX_ALTERNATIVES)
}

/// How many times something is written that looks around: where one alternative does, another makes it little worse.
fn looks_around(draft: &Draft) -> isize {
    let looking = sides(draft).filter(|side| side.alternatives.iter().any(Delimiter::looks_around));
    isize::try_from(looking.count()).unwrap_or(isize::MAX)
}

/// Whether an alternative looks ahead as far as it has to.
fn looks_far(side: &Delimiters) -> bool {
    // `<think>(?=.*?</think>)` hands out nothing until the whole thought is there.
    let mut alternatives = side.alternatives.iter();
    alternatives
        .any(|one| matches!(one, Delimiter::Expression(expression) if expression.looks_far()))
}

/// How much there is to read for a person, and how much a parser has to hold back.
fn cost(draft: &Draft) -> usize {
    let costs = sides(draft).map(|side| {
        // A look around is worst: the reader has two places to keep in mind, and the parser waits with the text.
        let looking = side.alternatives.iter().filter(|one| one.looks_around());
        let is_expression = !side.alternatives.is_empty() && !side.is_literal();
        60 * side.alternatives.len()
            + side.shown().len()
            + 20 * usize::from(is_expression)
            + 120 * looking.count()
    });
    costs.sum()
}

fn sides(draft: &Draft) -> impl Iterator<Item = &Delimiters> {
    let fields = draft.fields.iter();
    fields.flat_map(|field| [&field.open, &field.close])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::choices::Choices;
    use crate::derive::options::DeriveOptions;
    use crate::derive::pattern::exact as text;
    use crate::derive::pattern::{ANYTHING, Pattern, SPACE, ahead, behind, not_behind};
    use crate::derive::{draft, invented};
    use crate::response::{ParserOptions, parse};
    use crate::value::Object;

    fn exact(text: &str) -> Delimiter {
        Delimiter::Exact(text.to_owned())
    }

    fn expression(pattern: Pattern) -> Delimiter {
        Delimiter::Expression(pattern)
    }

    fn draft<const N: usize>(fields: [(&str, Vec<Delimiter>, Vec<Delimiter>); N]) -> Draft {
        let fields = fields.map(|(name, opens, closes)| {
            let mut field = FieldDraft::new(name);
            field.open.alternatives = opens;
            field.close.alternatives = closes;
            field
        });
        Draft {
            head: Object::new(),
            fields: fields.to_vec(),
        }
    }

    #[test]
    fn what_is_longer_or_looks_around_costs_more() {
        let closed = |closes| draft([("content", vec![], closes)]);
        let costs: Vec<usize> = [
            vec![],
            vec![exact("<end>")],
            vec![exact("<ends>")],
            vec![expression(text("<end") + text(">").some())],
            vec![exact("<end>"), exact("<stop>")],
            vec![expression(ahead(text("<end>")))],
        ]
        .into_iter()
        .map(|closes| cost(&closed(closes)))
        .collect();
        assert_eq!(costs, [0, 65, 66, 86, 132, 209]);
    }

    #[test]
    fn looks_are_counted_by_what_they_are_in() {
        for (opens, closes, looking, far) in [
            (vec![exact("<a>")], vec![exact("</a>")], 0, 0),
            // Where one alternative looks around, another makes it little worse.
            (
                vec![],
                vec![
                    expression(ahead(text("<b>"))),
                    expression(not_behind(text(" ")) + "<c>"),
                ],
                1,
                0,
            ),
            (
                vec![expression(text("<a>") + ahead(ANYTHING + "</a>"))],
                vec![expression(ahead(text("<b>")))],
                2,
                1,
            ),
        ] {
            let draft = draft([("content", opens, closes)]);
            assert_eq!(looks_around(&draft), looking, "{draft:?}");
            let holding = sides(&draft).filter(|side| looks_far(side));
            assert_eq!(holding.count(), far, "{draft:?}");
        }
    }

    #[test]
    fn a_lenience_says_what_an_answer_is_worth() {
        use TextOrigin::{Damaged, Mention, Rendered, Synthetic};
        for (lenience, before) in [
            (Lenience::None, Mention),
            (Lenience::Usual, Mention),
            (Lenience::All, Damaged),
        ] {
            let order = Order::of(lenience);
            let behind = if before == Mention { Damaged } else { Mention };
            let ranks = [Rendered, Synthetic, before, behind].map(|kind| order.rank(kind));
            assert!(ranks.is_sorted_by(|one, other| one < other), "{lenience:?}");
            // Whoever asks for no damage wants delimiters that can be read.
            let mention = order.rank(Mention);
            assert_eq!(order.looks.0 < mention, lenience == Lenience::None);
        }
    }

    #[test]
    fn a_text_is_closed_by_what_is_left_behind_a_field() {
        for (closer, closes, field, may) in [
            (
                behind(text("</call>") + SPACE) + "</calls>",
                "</call>",
                0,
                true,
            ),
            (behind(text("</t>") + SPACE) + "<say>", "</call>", 1, false),
            // Only the first field may have left nothing before it.
            (START + SPACE + "<say>", "</t>", 0, true),
            (START + SPACE + "<say>", "</call>", 1, false),
        ] {
            let closer = expression(closer);
            let found = may_stand_behind(&closer, &exact(closes), field);
            assert_eq!(found, may, "{closer:?} {closes}");
        }
    }

    #[test]
    fn a_delimiter_takes_closers_of_other_fields_along() {
        let calls = (vec![exact("<call>")], vec![exact("</call>")]);
        let closed = |closes| {
            draft([
                ("tool_calls", calls.0.clone(), calls.1.clone()),
                ("content", vec![], closes),
            ])
        };
        let opener = text("<calls>") + SPACE + "<call>";
        for (closes, delimiter, expected) in [
            (
                vec![exact("<end>"), exact("<calls>")],
                opener.clone(),
                vec![(1, 1)],
            ),
            (vec![exact("<end>"), exact("<sep>")], opener.clone(), vec![]),
            // The only closer of a field is not for another one to take.
            (vec![exact("<calls>")], opener, vec![]),
            (vec![exact("<end>"), exact("<x>")], text("</call>"), vec![]),
        ] {
            let draft = closed(closes);
            let found = taken_along(&draft, 0, &expression(delimiter));
            assert_eq!(found, expected, "{draft:?}");
        }
    }

    #[test]
    fn drafts_of_which_the_same_may_match_in_a_text_have_one_fingerprint_for_it() {
        let input = invented::search_input("{{ m.content }}");
        let thinning = Thinning::new(&input, "thinking", Lenience::Usual);
        let of = |thoughts: &[&str], closes: &[&str], takes_space| {
            let thoughts = thoughts.iter().map(|close| exact(close)).collect();
            let closes = closes.iter().map(|close| exact(close)).collect();
            let mut draft = draft([
                ("thinking", vec![exact("<t>")], thoughts),
                ("content", vec![], closes),
            ]);
            draft.fields[1].close.takes_space = takes_space;
            thinning.fingerprints(&draft)
        };
        let one = of(&["</t>"], &["<end>", "High"], false);
        for (other, is_same) in [
            (of(&["</t>"], &["<end>", "High"], false), true),
            // It stands nowhere.
            (of(&["</t>"], &["<end>", "<stop>", "High"], false), true),
            // No text has what opens a thought.
            (of(&["<end>"], &["<end>", "High"], false), true),
            (of(&["</t>"], &["<end>"], false), false),
            (of(&["</t>"], &["High", "<end>"], false), false),
            // With `\s*` behind it, it matches another stretch.
            (of(&["</t>"], &["<end>", "High"], true), false),
        ] {
            assert_eq!(other == one, is_same);
        }
    }

    /// What comes of a text, as one piece.
    fn message(template: &ResponseTemplate, text: &Text<'_>) -> Result<Object, String> {
        let options = ParserOptions::default().tools(text.tools.clone());
        let message = parse(template, text.prefilled, &text.output, options);
        message.map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_found_as_before_is_read_as_before() {
        let thought = "{% if m.reasoning_content %}<t>{{ m.reasoning_content }}</t>\n{% endif %}";
        let call = "<call={{ c.function.name }}>\n{{ c.function.arguments | tojson }}\n</call>";
        for assistant in [
            format!(
                "{thought}{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}\n{call}{{% endfor %}}"
            ),
            format!(
                "{{% for c in m.tool_calls or [] %}}{call}\n{{% endfor %}}<say>{{{{ m.content }}}}</say>"
            ),
        ] {
            let input = invented::search_input(&assistant);
            let (options, choices) = (DeriveOptions::default(), Choices::default());
            let (whole, variants) = draft::draft_with_variants(&input, &choices, &options);
            let mut thinning = Thinning::new(&input, "thinking", Lenience::Usual);
            thinning.failures = RefCell::new(vec![0; thinning.texts.len()]);
            let mut patterns = Patterns::default();
            let all: Vec<usize> = (0..thinning.texts.len()).collect();
            let mut as_before = 0;
            for draft in variants.plain(&whole).into_iter().chain([whole.clone()]) {
                let before = thinning.tried(draft, &all, None, None, &mut patterns);
                let before = before.expect("nothing is to be beaten");
                let template = before.template.as_ref().expect("it has been tried");
                for (number, one) in moves(&before.draft, &whole, &variants).iter().enumerate() {
                    let draft = one.of(&before.draft);
                    let other = ResponseTemplate::with_patterns(&draft.to_value(), &mut patterns);
                    let like = Like::of(&before, &draft);
                    let (Some(like), Ok(other)) = (like, other) else {
                        continue;
                    };
                    for at in all.iter().filter(|at| *at % 7 == number % 7) {
                        let text = &thinning.texts[*at];
                        if like.reading(&other, *at, text).is_some() {
                            let [before, now] = [template, &other].map(|one| message(one, text));
                            assert_eq!(now, before, "{one:?}: {}", text.output);
                            as_before += 1;
                        }
                    }
                }
            }
            assert!(as_before > 300, "only {as_before} in {assistant}");
        }
    }

    #[test]
    fn the_last_opener_of_a_field_stays() {
        for (opens, expected) in [
            (vec![exact("<t>")], vec![]),
            (
                vec![exact("<t>"), exact("<u>")],
                vec![Step::Without(0), Step::Without(1)],
            ),
        ] {
            let draft = draft([("why", opens, vec![exact("</t>")])]);
            let variants = Variants::default();
            let moves = moves(&draft, &draft, &variants);
            let opening = moves.iter().filter(|one| one.opens);
            let steps: Vec<Step<'_>> = opening.map(|one| one.step.clone()).collect();
            assert_eq!(steps, expected);
            for one in &moves {
                assert_ne!(one.of(&draft), draft, "{one:?}");
            }
        }
    }
}
