//! Searching delimiters that no text needs less of: each alternative of what opens or closes a field stays only if a text
//! is misread without it.
//!
//! A draft has all that might be needed. From it, and from the plainest draft that the format allows, alternatives are taken away,
//! put in and exchanged, one at a time, as long as that is better. What is better is a matter of [`Lenience`].

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use memchr::memmem;

use crate::markers::lexicon::unmarked;
use crate::response::{Patterns, ResponseTemplate, Tools};
use crate::stopwatch::Stopwatch;

use super::delimiter::{Delimiter, Delimiters, Draft};
use super::draft::Variants;
use super::material::Material;
use super::options::Lenience;
use super::reason::Reason;
use super::sample::Origin;
use super::search::MAX_TRYING;
use super::trial::{self, Cut, Expected, TrialReader};

/// How many drafts may misread a text that none has read yet.
const HOPELESS: usize = 12;

/// Where a text comes from that delimiters are tried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rendered,
    Synthetic,
    Spoken,
    Damaged,
}

/// What counts first, second, …, where nothing that counts less makes up for what counts more.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// The ranks of texts that are rendered, put together, spoken of and damaged.
    kinds: [usize; 4],
    /// The rank at which a delimiter that looks around counts against a draft, and as how many texts: nobody likes to read
    /// such, and few damages are worth it.
    looks: (usize, isize),
}

impl Order {
    fn of(lenience: Lenience) -> Order {
        match lenience {
            Lenience::None => Order {
                kinds: [0, 1, 3, 4],
                looks: (2, 1),
            },
            Lenience::Usual => Order {
                kinds: [0, 1, 2, 3],
                looks: (3, 5),
            },
            Lenience::All => Order {
                kinds: [0, 1, 3, 2],
                looks: (4, 1),
            },
        }
    }

    fn rank(&self, kind: Kind) -> usize {
        self.kinds[kind as usize]
    }
}

/// A text that delimiters are tried on.
struct Text<'a> {
    kind: Kind,
    /// What it is, in words.
    name: String,
    prefilled: &'a str,
    output: Cow<'a, str>,
    expected: Expected<'a>,
    tools: &'a Tools,
}

/// How good delimiters are; more is better: their merits in order, and how little there is to read for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score([isize; 5], Reverse<usize>);

impl Score {
    /// Whether each merit is as good, whatever there is to read.
    fn is_as_good_as(&self, other: &Score) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own >= other)
    }
}

/// A draft whose delimiters all have their reasons.
pub(super) struct Thinned {
    pub(super) template: ResponseTemplate,
    pub(super) reasons: Vec<Reason>,
    /// Of each text that speaks of a marker, whether it is recovered.
    pub(super) recovered_spoken: Vec<bool>,
    /// Of each damaged text, whether it is recovered.
    pub(super) recovered_damage: Vec<bool>,
    /// How many texts have been read.
    pub(super) trials: usize,
}

/// Looks for the best delimiters of a draft, which is a valid response template.
pub(super) struct Thinning<'a> {
    material: &'a Material,
    texts: Vec<Text<'a>>,
    reasoning_field: &'a str,
    order: Order,
    start: Stopwatch,
    /// How many texts have been read.
    read: Cell<usize>,
    /// For each text, whether any draft has read it.
    was_read: RefCell<Vec<bool>>,
    /// For each text, how many drafts have misread it.
    failures: RefCell<Vec<usize>>,
    /// The texts that hold a text, for those that were asked for.
    with_text: RefCell<HashMap<String, Rc<Vec<usize>>>>,
}

/// Delimiters that were tried to the end.
struct Tried {
    draft: Draft,
    /// Of each text, whether it is read as what it means.
    is_read: Vec<bool>,
    score: Score,
}

/// What another draft has otherwise in one place.
#[derive(Debug)]
struct Change {
    /// The alternatives that one of them has alone.
    delimiters: Vec<Delimiter>,
    /// Whether one of them alone takes white space along.
    is_of_space: bool,
}

/// The texts that a change of delimiters can make a difference to.
enum Affected {
    All,
    These(BTreeSet<usize>),
}

impl<'a> Thinning<'a> {
    pub(super) fn new(
        material: &'a Material,
        reasoning_field: &'a str,
        lenience: Lenience,
    ) -> Thinning<'a> {
        let mut texts = texts(material);
        if lenience == Lenience::None {
            texts.retain(|text| text.kind != Kind::Damaged);
        }
        let order = Order::of(lenience);
        let mut seen = HashSet::default();
        texts.retain(|text| seen.insert((text.prefilled, text.output.clone())));
        texts.sort_by_key(|text| order.rank(text.kind));
        Thinning {
            material,
            texts,
            reasoning_field,
            order,
            start: Stopwatch::start(),
            read: Cell::new(0),
            was_read: RefCell::default(),
            failures: RefCell::default(),
            with_text: RefCell::default(),
        }
    }

    /// The best that is found from a draft, by itself.
    pub(super) fn template(
        mut self,
        draft: &Draft,
        variants: &Variants,
    ) -> Option<ResponseTemplate> {
        let mut patterns = Patterns::default();
        let best = self.best(draft, variants, &mut patterns)?;
        ResponseTemplate::with_patterns(&best.draft.to_value(), &mut patterns).ok()
    }

    /// The best that is found from a draft, with what it recovers, and why.
    pub(super) fn thinned(mut self, draft: &Draft, variants: &Variants) -> Option<Thinned> {
        let mut patterns = Patterns::default();
        let best = self.best(draft, variants, &mut patterns)?;
        let value = best.draft.to_value();
        let template = ResponseTemplate::with_patterns(&value, &mut patterns).ok()?;
        let reasons = self.reasons(&best, &mut patterns);
        let recovered = |kind| {
            let texts = texts(self.material).into_iter();
            let texts = texts.filter(|text| text.kind == kind);
            texts.map(|text| self.reads(&template, &text)).collect()
        };
        Some(Thinned {
            recovered_spoken: recovered(Kind::Spoken),
            recovered_damage: recovered(Kind::Damaged),
            trials: self.read.get(),
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
        self.texts.extend(opened_otherwise(self.material, draft));
        self.was_read = RefCell::new(vec![false; self.texts.len()]);
        self.failures = RefCell::new(vec![0; self.texts.len()]);
        // The draft first, which reads what can be read.
        let whole = self.tried(draft.clone(), None, patterns);
        let mut plain: Option<Tried> = None;
        for start in variants.plain(draft) {
            let to_beat = plain.as_ref().map(|best| best.score);
            if let Some(better) = self.tried(start, to_beat, patterns) {
                plain = Some(better);
            }
        }
        let from_plain = plain.map(|start| self.climbed(start, draft, variants, patterns));
        let is_enough = |whole: &Tried| {
            from_plain
                .as_ref()
                .is_some_and(|plain| plain.score.is_as_good_as(&whole.score))
        };
        // Where the whole draft does nothing better, nothing is to be found from there.
        let from_whole = whole
            .filter(|whole| !is_enough(whole))
            .map(|start| self.climbed(start, draft, variants, patterns));
        let best = from_plain.into_iter().chain(from_whole);
        best.max_by_key(|tried| tried.score)
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
        loop {
            let moves = moves(&best.draft, whole, variants);
            let count = moves.len();
            let mut moves: Vec<Option<Draft>> = moves.into_iter().map(Some).collect();
            let better = (0..count).find_map(|tried| {
                let at = (next + tried) % count;
                let draft = moves[at].take()?;
                let goes_on = self.start.elapsed() < MAX_TRYING;
                let better = goes_on.then(|| self.changed(&best, draft, patterns))??;
                Some((at, better))
            });
            match better {
                Some((at, better)) => (next, best) = (at, better),
                None => return best,
            }
        }
    }

    /// Delimiters with their score, if that beats another.
    fn tried(
        &self,
        draft: Draft,
        to_beat: Option<Score>,
        patterns: &mut Patterns,
    ) -> Option<Tried> {
        let mut tried = Tried {
            score: self.best_possible(&draft),
            is_read: vec![true; self.texts.len()],
            draft,
        };
        let template = ResponseTemplate::with_patterns(&tried.draft.to_value(), patterns).ok()?;
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        order.sort_by_key(|at| Reverse(self.failures.borrow()[*at]));
        self.read_again(&mut tried, &template, order, to_beat)?;
        Some(tried)
    }

    /// What comes of another draft that differs in some delimiters, if it is better.
    fn changed(&self, from: &Tried, draft: Draft, patterns: &mut Patterns) -> Option<Tried> {
        let mut order: Vec<usize> = match self.affected(&changes(&from.draft, &draft)) {
            Affected::All => (0..self.texts.len()).collect(),
            Affected::These(these) => these.into_iter().collect(),
        };
        let mut tried = Tried {
            score: self.best_possible(&draft),
            is_read: from.is_read.clone(),
            draft,
        };
        for at in &order {
            tried.is_read[*at] = true;
        }
        for (text, is_read) in self.texts.iter().zip(&tried.is_read) {
            tried.score.0[self.order.rank(text.kind)] -= isize::from(!is_read);
        }
        if tried.score <= from.score {
            return None;
        }
        let template = ResponseTemplate::with_patterns(&tried.draft.to_value(), patterns).ok()?;
        // Those first that most drafts have failed at; but where there is more to read for a person, what is misread now: if
        // that stays so, nothing is gained.
        let is_dearer = tried.score.1 < from.score.1;
        let failures = self.failures.borrow();
        order.sort_by_key(|at| {
            let is_first = is_dearer && !from.is_read[*at];
            (!is_first, Reverse(failures[*at]))
        });
        drop(failures);
        self.read_again(&mut tried, &template, order, Some(from.score))?;
        Some(tried)
    }

    /// Reads texts again that count as read, unless it can't beat a score any more.
    fn read_again(
        &self,
        tried: &mut Tried,
        template: &ResponseTemplate,
        texts: impl IntoIterator<Item = usize>,
        to_beat: Option<Score>,
    ) -> Option<()> {
        let beats = |score: Score| to_beat.is_none_or(|to_beat| score > to_beat);
        for at in texts {
            let text = &self.texts[at];
            let is_read = !self.is_hopeless(at) && self.reads(template, text);
            if is_read {
                self.was_read.borrow_mut()[at] = true;
            } else {
                tried.is_read[at] = false;
                self.failures.borrow_mut()[at] += 1;
                tried.score.0[self.order.rank(text.kind)] -= 1;
                beats(tried.score).then_some(())?;
            }
        }
        beats(tried.score).then_some(())
    }

    /// The texts that a change can make something else of: those that hold what one of its delimiters needs.
    fn affected(&self, change: &[Change]) -> Affected {
        let mut all = BTreeSet::new();
        for delimiter in change.iter().flat_map(|change| &change.delimiters) {
            let Some(text) = delimiter.needed_text() else {
                return Affected::All;
            };
            all.extend(self.with_text(&text).iter());
        }
        match change.iter().any(|change| change.is_of_space) {
            true => Affected::All,
            false => Affected::These(all),
        }
    }

    /// The texts that hold a text.
    fn with_text(&self, text: &str) -> Rc<Vec<usize>> {
        if let Some(known) = self.with_text.borrow().get(text) {
            return Rc::clone(known);
        }
        let finder = memmem::Finder::new(text);
        // What is needed may begin in the prompt.
        let holds = |(_, one): &(usize, &Text<'_>)| {
            finder
                .find(format!("{}{}", one.prefilled, one.output).as_bytes())
                .is_some()
        };
        let texts = self.texts.iter().enumerate().filter(holds);
        let texts: Rc<Vec<usize>> = Rc::new(texts.map(|(at, _)| at).collect());
        let mut known = self.with_text.borrow_mut();
        known.insert(text.to_owned(), Rc::clone(&texts));
        texts
    }

    /// Whether a damaged text was misread by so many drafts, and read by none, that it is not tried again.
    fn is_hopeless(&self, at: usize) -> bool {
        self.texts[at].kind == Kind::Damaged
            && !self.was_read.borrow()[at]
            && self.failures.borrow()[at] >= HOPELESS
    }

    /// The score of a draft that reads all texts.
    fn best_possible(&self, draft: &Draft) -> Score {
        let mut score = Score([0; 5], Reverse(cost(draft)));
        let (rank, weight) = self.order.looks;
        score.0[rank] = -weight * looks_around(draft);
        for text in &self.texts {
            score.0[self.order.rank(text.kind)] += 1;
        }
        score
    }

    /// Whether a text is read as what it means, as a whole and in pieces.
    fn reads(&self, template: &ResponseTemplate, text: &Text<'_>) -> bool {
        self.read.set(self.read.get() + 1);
        let reader = TrialReader::new(template, self.reasoning_field, text.tools);
        let is_read = |cut| reader.is_read(cut, text.prefilled, &text.output, text.expected);
        is_read(Cut::Whole) && (!trial::depends_on_pieces(template) || is_read(Cut::Pieces))
    }

    /// Why each alternative is there.
    fn reasons(&self, best: &Tried, patterns: &mut Patterns) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for (field, opens, at) in places(&best.draft) {
            let mut without = best.draft.clone();
            let own = side_mut(&mut without, field, opens);
            let taken = own.alternatives.remove(at);
            let affected = self.affected(&changes(&best.draft, &without));
            let template = ResponseTemplate::with_patterns(&without.to_value(), patterns);
            let is_needed = |at: &usize| match (&template, &affected) {
                (Ok(_), Affected::These(these)) if !these.contains(at) => false,
                (Ok(template), _) => !self.reads(template, &self.texts[*at]),
                // Without it, this is no response template.
                (Err(_), _) => true,
            };
            let read = (0..self.texts.len()).filter(|at| best.is_read[*at]);
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
fn texts(material: &Material) -> Vec<Text<'_>> {
    let tools = &material.samples.tools;
    let samples = material.samples.all.iter().map(|sample| Text {
        kind: match sample.origin {
            Origin::Rendered => Kind::Rendered,
            Origin::Synthetic => Kind::Synthetic,
        },
        name: sample.name.to_owned(),
        prefilled: &sample.prefilled,
        output: Cow::from(&sample.output),
        expected: Expected::Turn(&sample.written),
        tools,
    });
    // What the chat template writes behind a turn is no part of it.
    let tails = material.samples.all.iter();
    let tails = tails.filter(|sample| !sample.tail.trim().is_empty());
    let tails = tails.map(|sample| Text {
        kind: Kind::Rendered,
        name: format!("{}, and what is written behind it", sample.name),
        prefilled: &sample.prefilled,
        output: Cow::from(format!("{}{}", sample.output, sample.tail)),
        expected: Expected::Turn(&sample.written),
        tools,
    });
    let outputs = material.outputs.iter().map(|output| Text {
        kind: match output.said {
            Some(_) => Kind::Rendered,
            None => Kind::Synthetic,
        },
        name: "an output".to_owned(),
        prefilled: &output.prefix,
        output: Cow::from(&output.text),
        expected: output.expected(),
        tools: &output.tools,
    });
    let spoken = material.spoken.iter().map(|spoken| Text {
        kind: Kind::Spoken,
        name: format!("`{}` spoken of {}", spoken.marker, spoken.manner),
        prefilled: &spoken.prefilled,
        output: Cow::from(&spoken.output),
        expected: Expected::Turn(&spoken.expected),
        tools,
    });
    let damaged = material.damaged.iter().map(|damaged| Text {
        kind: Kind::Damaged,
        name: damaged.damage.to_owned(),
        prefilled: &damaged.prefilled,
        output: Cow::from(&damaged.output),
        expected: Expected::Turn(&damaged.expected),
        tools,
    });
    samples
        .chain(tails)
        .chain(outputs)
        .chain(spoken)
        .chain(damaged)
        .collect()
}

/// Answers that open as the draft says they may, and the chat template never does.
fn opened_otherwise<'a>(material: &'a Material, draft: &Draft) -> Vec<Text<'a>> {
    let content = draft.fields.iter().find(|field| field.name == "content");
    let opens = content.map_or(&[][..], |content| &content.open.alternatives);
    let opens: Vec<&str> = opens.iter().filter_map(Delimiter::literal).collect();
    let [own, others @ ..] = opens.as_slice() else {
        return Vec::new();
    };
    let own = unmarked(own);
    let samples = material.samples.all.iter();
    let sample = samples
        .filter(|sample| sample.written.calls.is_empty())
        .find(|sample| sample.output.matches(&own).count() == 1);
    let texts = others.iter().zip(sample.into_iter().cycle());
    texts
        .map(|(other, sample)| Text {
            kind: Kind::Damaged,
            name: "a text opened otherwise".to_owned(),
            prefilled: &sample.prefilled,
            output: Cow::from(sample.output.replace(&own, &unmarked(other))),
            expected: Expected::Turn(&sample.written),
            tools: &material.samples.tools,
        })
        .collect()
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

/// All drafts that differ in one thing from one: in an alternative that is taken away, exchanged or put in, or in whether white
/// space goes along.
fn moves(from: &Draft, whole: &Draft, variants: &Variants) -> Vec<Draft> {
    let mut moves = Vec::new();
    let mut put = |change: &dyn Fn(&mut Draft)| {
        let mut draft = from.clone();
        change(&mut draft);
        moves.push(draft);
    };
    for (at, field) in from.fields.iter().enumerate() {
        for opens in [true, false] {
            let own = if opens { &field.open } else { &field.close };
            if own.alternatives.is_empty() {
                continue;
            }
            for one in (0..own.alternatives.len()).filter(|_| own.alternatives.len() > 1) {
                put(&|draft| drop(side_mut(draft, at, opens).alternatives.remove(one)));
            }
            let others = variants.of(&field.name, opens);
            for other in others
                .iter()
                .filter(|other| !own.alternatives.contains(other))
            {
                put(&|draft| side_mut(draft, at, opens).alternatives = vec![other.clone()]);
                for (field, one) in taken_along(from, at, other) {
                    put(&|draft| {
                        side_mut(draft, at, opens).alternatives = vec![other.clone()];
                        draft.fields[field].close.alternatives.remove(one);
                    });
                }
                for one in (0..own.alternatives.len()).filter(|_| own.alternatives.len() > 1) {
                    put(&|draft| side_mut(draft, at, opens).alternatives[one] = other.clone());
                }
            }
        }
    }
    for (at, field) in from.fields.iter().enumerate() {
        let own = &field.close;
        let all = whole.fields.iter().filter(|other| other.name == field.name);
        let all = all.flat_map(|other| &other.close.alternatives);
        let variants = variants.of(&field.name, false);
        let all = all.chain(variants);
        for other in all.filter(|other| !own.alternatives.contains(other)) {
            put(&|draft| draft.fields[at].close.alternatives.push(other.clone()));
        }
        put(&|draft| draft.fields[at].close.takes_space = !own.takes_space);
    }
    moves.retain(|draft| draft != from && variants.are_kept(draft));
    moves
}

/// In what delimiters two drafts differ.
fn changes(one: &Draft, other: &Draft) -> Vec<Change> {
    let mut changes = Vec::new();
    for (one, other) in one.fields.iter().zip(&other.fields) {
        for (one, other) in [(&one.open, &other.open), (&one.close, &other.close)] {
            let (these, those) = (&one.alternatives, &other.alternatives);
            let missing = these.iter().filter(|one| !those.contains(one));
            let new = those.iter().filter(|one| !these.contains(one));
            let change = Change {
                delimiters: missing.chain(new).cloned().collect(),
                is_of_space: one.takes_space != other.takes_space,
            };
            if change.is_of_space || !change.delimiters.is_empty() {
                changes.push(change);
            }
        }
    }
    changes
}

/// What closes other fields and stands in a delimiter of this one: that takes it along.
fn taken_along(draft: &Draft, own: usize, delimiter: &Delimiter) -> Vec<(usize, usize)> {
    let expression = delimiter.expression();
    let fields = draft.fields.iter().enumerate();
    let fields = fields.filter(|(at, field)| *at != own && field.close.alternatives.len() > 1);
    let closes = fields.flat_map(|(at, field)| {
        let closes = field.close.alternatives.iter().enumerate();
        closes.map(move |(one, close)| (at, one, close))
    });
    let taken = closes.filter(|(_, _, close)| expression.contains(&close.expression()));
    taken.map(|(at, one, _)| (at, one)).collect()
}

/// How many times something is written that looks around: where one alternative does, another makes it little worse.
fn looks_around(draft: &Draft) -> isize {
    let looking = sides(draft).filter(|side| side.alternatives.iter().any(Delimiter::looks_around));
    isize::try_from(looking.count()).unwrap_or(isize::MAX)
}

/// How much there is to read for a person, and how much a parser has to hold back.
fn cost(draft: &Draft) -> usize {
    let costs = sides(draft).map(|side| {
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
