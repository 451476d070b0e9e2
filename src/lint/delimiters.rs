//! What can be said of a pattern by itself.

use crate::response::pattern::Meter;
use crate::response::{DelimiterKind, Language, Watch};

use super::subject::{PatternRole, Site, Subject};
use super::{Complaints, Level, Lint, quoted};

/// Texts as models write them, in one line and in several.
const PROSE: &[&str] = &[
    "The tide comes in twice a day, a little later each time, and nobody on the quay seems to mind. \
     At 6:40 the first boats leave; by noon most of them are back, with crabs, a few soles and (if \
     they were lucky) a turbot. Is that worth getting up for? Those who do say \"yes\", every time, \
     and then they yawn.",
    "There are three ways to get there:\n\n1. **By bus**, which takes an hour - or two, in winter.\n\
     2. On foot: 12 km along the coast.\n3. By boat; ask at the harbour for `Ada`.\n\n```python\n\
     for way in ways:\n    print(way[0], {\"hours\": 1.5})\n```\n\nTake water, a map & a coat. \
     It often rains,\nand <b>always</b> when you least expect it.\n",
];

/// So many ways through all patterns are followed at the most.
const MAX_WAYS: usize = 2_000_000;

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    let mut ways = MAX_WAYS;
    for site in subject.sites() {
        matches_nothing(&site, complaints);
        explodes(&site, &mut ways, complaints);
        needs_backtracking(&site, complaints);
    }
    for watch in subject.watched() {
        depends_on_chunks(subject, &watch, complaints);
    }
    holds_text_back(subject, complaints);
}

fn matches_nothing(site: &Site<'_>, complaints: &mut Complaints) {
    if !site.pattern.matches_nothing_anywhere() {
        return;
    }
    let (effect, what) = match site.part {
        PatternRole::Anchor => (
            "so it is found at the very end of every prompt",
            "the anchor",
        ),
        PatternRole::Open => (
            "so the field opens at once, wherever the text is",
            "the pattern",
        ),
        PatternRole::Close => (
            "so the region closes at once, or is never begun",
            "the pattern",
        ),
        PatternRole::Tag => ("so there are tags everywhere", "the pattern"),
    };
    complaints.add(
        Lint::MatchesNothing,
        &site.pointer,
        format!("{what} can match nothing at any place, {effect}"),
        "let it match at least one character, or what a lookaround such as `(?=<call>)` asks for",
    );
}

fn explodes(site: &Site<'_>, ways: &mut usize, complaints: &mut Complaints) {
    let explosion = site.spelling.and_then(|_| site.pattern.explosion(ways));
    let Some(explosion) = explosion else {
        return;
    };
    let repeated = quoted(&explosion.repeated);
    let shown = match &explosion.around {
        Some((lead, tail)) if tail.is_empty() => format!(", as after {}", quoted(lead)),
        Some((lead, tail)) => format!(", as between {} and {}", quoted(lead), quoted(tail)),
        None => String::new(),
    };
    complaints.add(
        Lint::Exponential,
        &site.pointer,
        format!(
            "engines that backtrack take exponentially longer, the more often {repeated} is \
             repeated where no match comes of it{shown}"
        ),
        "let no text be matched in two ways by what is repeated: one repeat in another, such as \
         `(a+)+`, can be one, and alternatives should begin with different characters",
    );
}

fn needs_backtracking(site: &Site<'_>, complaints: &mut Complaints) {
    // Anchors and tags are looked for in texts that are complete.
    let streams = matches!(site.part, PatternRole::Open | PatternRole::Close);
    if !streams || site.pattern.never_matches() || !site.pattern.needs_backtracking() {
        return;
    }
    complaints.add(
        Lint::NeedsBacktracking,
        &site.pointer,
        "the pattern can only be matched by backtracking, so what it may match is read again as text \
         comes in",
        "look ahead only at the pattern's end, for what must stand there; leave out groups in what is \
         looked for behind, `(?>…)` and `a*+`",
    );
}

fn depends_on_chunks(subject: &Subject<'_>, watch: &Watch, complaints: &mut Complaints) {
    let delimiter = subject.inner().delimiter(watch);
    let depends_in = |language: Language| match delimiter.is_chunk_dependent_in(language) {
        // While one alternative reads ahead, another may be found in what it reads; no model writes that.
        Some(true) if !delimiter.compiled().looks_ahead() => true,
        None | Some(true) => delimiter.has_chunk_dependent_branch_in(language),
        Some(false) => false,
    };
    // Whoever names nobody wants to be read alike by all. What waits for more text depends on chunks no more than what does not.
    let targets = subject.targets.iter().map(|target| target.language());
    let oldest = targets.min().unwrap_or(Language::V5_13);
    if !depends_in(oldest) {
        return;
    }
    let mut newer = Language::all().filter(|language| *language > oldest);
    let versions = match newer.find(|language| !depends_in(*language)) {
        Some(language) => format!(", before version {language} of the language"),
        None => String::new(),
    };
    complaints.add(
        Lint::DependsOnChunks,
        subject.delimiter_pointer(watch),
        format!(
            "what the pattern finds depends on where chunks end{versions}: it takes a short match, or the end of a chunk, \
             although more text could make it a longer match or none"
        ),
        "write what may come in two lengths as alternatives, `<end>|</s>` and not `<end>(?:</s>)?`; repeats of single \
         characters are fine, as in `<end>\\s*`; leave out `$`; and look ahead for what comes, not for what does not",
    );
}

/// Tries what is on watch while text streams on texts as models write them.
fn holds_text_back(subject: &Subject<'_>, complaints: &mut Complaints) {
    let inner = subject.inner();
    let streams = |field: &usize| inner.fields[*field].content().streams();
    let states = (0..inner.fields.len()).filter(streams);
    let mut watched: Vec<Watch> = states
        .flat_map(|field| inner.watches(Some(field)))
        .copied()
        .collect();
    watched.sort_by_key(|watch| watch.delimiter);
    watched.dedup_by_key(|watch| watch.delimiter);
    let mut meter = Meter::new(1 << 16);
    for watch in watched {
        let delimiter = inner.delimiter(&watch);
        let mut holds = |text: String| {
            let held = delimiter.compiled().holds_back(&text, &mut meter);
            held.is_ok_and(|held| held > text.len() / 2)
        };
        // So long that only what knows no bound holds back half of it.
        let prose = PROSE.iter().map(|text| text.repeat(8));
        // What has matched may go on to take all that follows.
        let examples = subject.examples(&watch).iter();
        let after = examples.map(|example| format!("{}{}", example.matched(), PROSE[0]));
        if delimiter.pattern().is_some() && prose.chain(after).any(&mut holds) {
            let what = match watch.kind {
                DelimiterKind::Open => "opens",
                DelimiterKind::Close => "closes",
            };
            let complaint = complaints.add(
                Lint::HoldsTextBack,
                subject.delimiter_pointer(&watch),
                format!(
                    "any text may belong to what {what} `{}`, so it is held back until that is \
                     decided, and nothing streams",
                    inner.fields[watch.field].name()
                ),
                "begin and end the pattern with what is distinctive, such as a marker, and leave \
                 what stands before and after it to the fields",
            );
            // Where nothing opens a field, what ends it decides whether the message began with it.
            let begins_message = delimiter
                .pattern()
                .is_some_and(|text| text.starts_with("\\A"));
            if watch.kind == DelimiterKind::Open && begins_message {
                complaint.level = Level::Note;
            }
        }
    }
}
