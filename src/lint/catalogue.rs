//! All lints, with their codes, names and pages.

use std::str::FromStr;

use thiserror::Error;

use super::Level;

/// A kind of thing that is likely to hurt, about a response template (`U…`) or a chat template (`J…`).
///
/// Codes and names stay what they are: files that people keep have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Lint {
    /// A delimiter takes the beginning of another.
    DelimitersOverlap,
    /// The token that ends a turn stays in the text.
    EndInText,
    /// A pattern holds text back without bound.
    HoldsTextBack,
    /// A pattern can match nothing at any place.
    MatchesNothing,
    /// A pattern takes exponential time in engines that backtrack.
    Exponential,
    /// What closes a region can stand inside of it.
    CloseInBody,
    /// A field can never open.
    NeverOpens,
    /// The chat template never writes the anchor.
    AnchorNotWritten,
    /// A pattern has what other engines lack.
    NotPortable,
    /// Serving engines don't know the field.
    UnknownField,
    /// What a pattern finds depends on how the text is cut into chunks.
    DependsOnChunks,
    /// Something has no effect.
    NoEffect,
    /// White space between regions replaces text.
    WhiteSpaceReplaces,
    /// Nothing fills in a placeholder.
    UnfilledPlaceholder,
    /// A response schema stands where newer readers look for a response template.
    SchemaIgnored,
    /// A pattern can only be matched by backtracking.
    NeedsBacktracking,
    /// Somebody whom the template is for refuses it, or can't make all use of it.
    NotSuited,
    /// `None` is printed where a text belongs.
    NonePrinted,
    /// A list or an object is printed as Python shows it.
    PythonPrinted,
    /// Signs are escaped as for a web page.
    EscapedForHtml,
    /// Messages without content can't be rendered.
    ContentCrashes,
    /// Content that is a list of parts can't be rendered.
    PartsCrash,
    /// Arguments of some form can't be rendered.
    ArgumentsCrash,
    /// Tools that lack something can't be rendered.
    ToolsCrash,
    /// Results that lack something can't be rendered.
    ResultsCrash,
    /// JSON is encoded twice.
    JsonTwice,
    /// A message is not rendered.
    MessageDropped,
    /// A call is not rendered.
    CallDropped,
    /// A tool's result is not rendered.
    ResultDropped,
    /// The text beside a call is not rendered.
    TextBesideCallsDropped,
    /// A thought is not rendered.
    ThoughtDropped,
    /// Thoughts are not seen under all names that are in use.
    ThoughtNameUnseen,
    /// The ids of calls or results are not rendered.
    IdDropped,
    /// A part of a tool's definition is not rendered.
    ToolDropped,
    /// What was said is rendered otherwise once a result follows.
    PrefixBeforeResult,
    /// What was said is rendered otherwise once a question follows.
    PrefixBeforeQuestion,
    /// `add_generation_prompt` is ignored.
    PromptIgnored,
    /// No turn begins with what its prompt ended with.
    PromptNotKept,
    /// Nothing ends the assistant's turn.
    TurnNotEnded,
    /// A variable is read and changes nothing.
    SwitchesNothing,
    /// A name is nearly one that others use.
    NearlyKnownName,
    /// Prompts change with the hour, the minute or the second.
    FinerThanADay,
    /// Prompts differ from call to call.
    DiffersFromCallToCall,
    /// The transformers library refuses the template.
    RefusedByTransformers,
    /// Other engines of Jinja do not have something.
    NotInAllEngines,
    /// A marker in a text comes out as the marker.
    MarkersInTexts,
    /// The template reaches for the insides of Python.
    ReachesInside,
    /// A conversation is refused for its words.
    RaisesOnWords,
    /// What is rendered depends on words of a text.
    TriggeredByWords,
    /// Arguments come out otherwise than they went in.
    ArgumentsRewritten,
    /// A text comes out otherwise than it went in.
    TextRewritten,
    /// Not even a question can be rendered.
    QuestionCrashes,
    /// A text is rendered twice.
    SaidTwice,
    /// Nothing closes a thought.
    ThoughtNotClosed,
    /// A model has two chat templates that differ.
    OtherTemplateBeside,
}

/// What is known of a lint.
struct Entry {
    lint: Lint,
    code: &'static str,
    name: &'static str,
    level: Level,
    summary: &'static str,
    page: &'static str,
}

macro_rules! entry {
    ($lint:ident, $code:literal, $name:literal, $level:ident, $summary:literal) => {
        Entry {
            lint: Lint::$lint,
            code: $code,
            name: $name,
            level: Level::$level,
            summary: $summary,
            page: include_str!(concat!("pages/", $code, ".md")),
        }
    };
}

#[rustfmt::skip]
const ENTRIES: [Entry; 55] = [
    entry!(DelimitersOverlap, "U001", "delimiters-overlap", Warning,
        "a delimiter takes the beginning of another, which is then not found"),
    entry!(EndInText, "U002", "end-in-text", Warning,
        "the token that ends a turn stays in the text"),
    entry!(HoldsTextBack, "U003", "holds-text-back", Warning,
        "a pattern holds text back without bound, so that nothing streams"),
    entry!(MatchesNothing, "U004", "matches-nothing", Error,
        "a pattern can match nothing at any place"),
    entry!(Exponential, "U005", "exponential", Error,
        "a pattern takes exponential time in engines that backtrack"),
    entry!(CloseInBody, "U006", "close-in-body", Note,
        "what closes a region can stand inside of a value in it"),
    entry!(NeverOpens, "U007", "never-opens", Error,
        "a field can never open"),
    entry!(AnchorNotWritten, "U008", "anchor-not-written", Error,
        "the chat template's prompts don't have the anchor"),
    entry!(NotPortable, "U009", "not-portable", Note,
        "a pattern has what other engines of regular expressions lack"),
    entry!(UnknownField, "U010", "unknown-field", Warning,
        "serving engines don't know a field with this name"),
    entry!(DependsOnChunks, "U011", "depends-on-chunks", Warning,
        "what a pattern finds depends on how the text is cut into chunks"),
    entry!(NoEffect, "U012", "no-effect", Warning,
        "something has no effect"),
    entry!(WhiteSpaceReplaces, "U013", "white-space-replaces", Warning,
        "white space after a region replaces the text before it"),
    entry!(UnfilledPlaceholder, "U014", "unfilled-placeholder", Error,
        "nothing fills in a placeholder, so that every match of the field fails"),
    entry!(SchemaIgnored, "U015", "schema-ignored", Warning,
        "newer readers ignore a response schema, and nothing else is there"),
    entry!(NeedsBacktracking, "U016", "needs-backtracking", Note,
        "a pattern that can only be matched by backtracking streams slower"),
    entry!(NotSuited, "U017", "not-suited", Error,
        "a package that the template is for refuses it, or uses only part of it"),
    entry!(NonePrinted, "J001", "none-printed", Warning,
        "`None` is printed where a text belongs"),
    entry!(PythonPrinted, "J002", "python-printed", Warning,
        "a list or an object is printed as Python shows it"),
    entry!(EscapedForHtml, "J003", "escaped-for-html", Warning,
        "characters are escaped as for a web page"),
    entry!(ContentCrashes, "J004", "content-crashes", Error,
        "messages without content can't be rendered"),
    entry!(PartsCrash, "J005", "parts-crash", Note,
        "content that is a list of parts can't be rendered"),
    entry!(ArgumentsCrash, "J006", "arguments-crash", Error,
        "arguments of some form can't be rendered"),
    entry!(ToolsCrash, "J007", "tools-crash", Warning,
        "tools that lack something can't be rendered"),
    entry!(ResultsCrash, "J008", "results-crash", Note,
        "results that lack something can't be rendered"),
    entry!(JsonTwice, "J009", "json-twice", Warning,
        "JSON is encoded twice"),
    entry!(MessageDropped, "J010", "message-dropped", Error,
        "a message is not rendered"),
    entry!(CallDropped, "J011", "call-dropped", Error,
        "a call is not rendered"),
    entry!(ResultDropped, "J012", "result-dropped", Error,
        "a tool's result is not rendered"),
    entry!(TextBesideCallsDropped, "J013", "text-beside-calls-dropped", Note,
        "the text beside a call is not rendered"),
    entry!(ThoughtDropped, "J014", "thought-dropped", Warning,
        "a thought is not rendered"),
    entry!(ThoughtNameUnseen, "J015", "thought-name-unseen", Note,
        "thoughts are not seen under all names that are in use"),
    entry!(IdDropped, "J016", "id-dropped", Note,
        "the ids of calls or results are not rendered"),
    entry!(ToolDropped, "J017", "tool-dropped", Warning,
        "a part of a tool's definition is not rendered"),
    entry!(PrefixBeforeResult, "J018", "prefix-before-result", Note,
        "what was said renders differently once a result follows"),
    entry!(PrefixBeforeQuestion, "J019", "prefix-before-question", Note,
        "what was said renders differently once a question follows"),
    entry!(PromptIgnored, "J020", "prompt-ignored", Warning,
        "`add_generation_prompt` is ignored"),
    entry!(PromptNotKept, "J021", "prompt-not-kept", Warning,
        "no turn begins with what its prompt ended with"),
    entry!(TurnNotEnded, "J022", "turn-not-ended", Warning,
        "nothing ends the assistant's turn"),
    entry!(SwitchesNothing, "J023", "switches-nothing", Warning,
        "a variable is read and changes nothing"),
    entry!(NearlyKnownName, "J024", "nearly-known-name", Warning,
        "a name is nearly one that others use"),
    entry!(FinerThanADay, "J025", "finer-than-a-day", Warning,
        "prompts change with the hour, the minute or the second"),
    entry!(DiffersFromCallToCall, "J026", "differs-from-call-to-call", Warning,
        "prompts differ from call to call"),
    entry!(RefusedByTransformers, "J027", "refused-by-transformers", Error,
        "the transformers library refuses the template"),
    entry!(NotInAllEngines, "J028", "not-in-all-engines", Note,
        "other engines of Jinja do not have something"),
    entry!(MarkersInTexts, "J029", "markers-in-texts", Note,
        "a marker in a text comes out as the marker"),
    entry!(ReachesInside, "J030", "reaches-inside", Error,
        "the template reaches into the internals of Python"),
    entry!(RaisesOnWords, "J031", "raises-on-words", Warning,
        "a conversation is refused for its words"),
    entry!(TriggeredByWords, "J032", "triggered-by-words", Warning,
        "what is rendered depends on words of a text"),
    entry!(ArgumentsRewritten, "J033", "arguments-rewritten", Warning,
        "arguments come out changed"),
    entry!(TextRewritten, "J034", "text-rewritten", Note,
        "a text comes out changed"),
    entry!(QuestionCrashes, "J035", "question-crashes", Error,
        "not even a question can be rendered"),
    entry!(SaidTwice, "J036", "said-twice", Warning,
        "a text is said once, and rendered twice"),
    entry!(ThoughtNotClosed, "J037", "thought-not-closed", Warning,
        "nothing closes a thought"),
    entry!(OtherTemplateBeside, "J038", "other-template-beside", Warning,
        "a model has two chat templates that differ"),
];

impl Lint {
    /// All of them, in the order of their codes.
    pub fn all() -> &'static [Lint] {
        static ALL: [Lint; ENTRIES.len()] = {
            let mut all = [Lint::DelimitersOverlap; ENTRIES.len()];
            let mut index = 0;
            while index < all.len() {
                all[index] = ENTRIES[index].lint;
                index += 1;
            }
            all
        };
        &ALL
    }

    fn entry(self) -> &'static Entry {
        // The entries stand in the order of the variants, as a test makes sure.
        &ENTRIES[self as usize]
    }

    /// Its code, such as `U001`.
    pub fn code(self) -> &'static str {
        self.entry().code
    }

    /// Its name, such as `delimiters-overlap`.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// What it complains of, in one line.
    pub fn summary(self) -> &'static str {
        self.entry().summary
    }

    /// How bad it is, if nothing else is ruled.
    pub fn level(self) -> Level {
        self.entry().level
    }

    /// Whether it is about chat templates, and not about response templates.
    pub fn is_of_chat_templates(self) -> bool {
        self.code().starts_with('J')
    }

    /// The page that explains it, in Markdown, with an example of what is reported and one of what
    /// is not.
    pub fn page(self) -> &'static str {
        self.entry().page
    }
}

/// The lint of a code or a name, in capitals or not.
///
/// ```
/// use unjinja::lint::{Lint, UnknownLint};
///
/// assert_eq!("U006".parse(), Ok(Lint::CloseInBody));
/// assert_eq!("close-in-body".parse(), Ok(Lint::CloseInBody));
/// assert_eq!("U999".parse::<Lint>(), Err(UnknownLint("U999".into())));
/// ```
impl FromStr for Lint {
    type Err = UnknownLint;

    fn from_str(text: &str) -> Result<Lint, UnknownLint> {
        let named = |entry: &&Entry| {
            entry.code.eq_ignore_ascii_case(text) || entry.name.eq_ignore_ascii_case(text)
        };
        let found = ENTRIES.iter().find(named);
        found
            .map(|entry| entry.lint)
            .ok_or_else(|| UnknownLint(text.to_owned()))
    }
}

/// There is no lint of this code or name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no lint `{0}`: write a code such as U001, or its name")]
pub struct UnknownLint(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lint_is_found_under_its_code_and_its_name() {
        // Those about response templates come first.
        let of_response_templates = Lint::all()
            .iter()
            .filter(|lint| lint.code().starts_with('U'))
            .count();
        for (index, lint) in Lint::all().iter().copied().enumerate() {
            assert_eq!(lint as usize, index);
            let numbers = match index.checked_sub(of_response_templates) {
                None => format!("U{:03}", index + 1),
                Some(index) => format!("J{:03}", index + 1),
            };
            assert_eq!(lint.code(), numbers);
            assert_eq!(lint.code().parse(), Ok(lint));
            assert_eq!(lint.name().parse(), Ok(lint));
        }
    }

    #[test]
    fn names_and_summaries_are_plain() {
        for &lint in Lint::all() {
            let name = lint.name();
            assert!(
                name.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
                "{name}"
            );
            assert!(lint.summary().len() <= 75, "{name}");
            let title = format!("# {} {name}\n", lint.code());
            assert!(lint.page().starts_with(&title), "{name}");
        }
    }
}
