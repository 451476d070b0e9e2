//! The variables that a template reads, and what they do.

use super::probe::{Probe, Prober, message};
use crate::value::Value;

/// A variable that a template reads beside the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it does when it is switched, if that shows in a prompt.
    pub switch: Option<Switch>,
}

/// What the end of a prompt is when a variable is true, and when it is false.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Switch {
    /// What the assistant's turn begins with when it is true.
    pub on: String,
    /// What it begins with when it is false.
    pub off: String,
    /// What it begins with when the variable is not given.
    pub absent: String,
}

/// A variable that switches thinking.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThinkingSwitch {
    pub(crate) name: String,
    /// What it is given as to switch it on; `None` if it is on unless it is switched off.
    pub(crate) on: Option<Value>,
    /// What it is given as to switch it off: `false`, 0, or a word such as `none`.
    pub(crate) off: Value,
}

impl ThinkingSwitch {
    /// The variable with the value that switches thinking on or off, if it needs one.
    pub(crate) fn switched(&self, on: bool) -> Option<(String, Value)> {
        let value = match on {
            true => self.on.clone()?,
            false => self.off.clone(),
        };
        Some((self.name.clone(), value))
    }
}

/// So many variables are tried. Templates have some ten; one that is written to have thousands has to end, too.
const MAX_TRIED: usize = 256;

/// A number that no template writes by itself.
pub(super) const ANY_NUMBER: i64 = 817_263_549;

/// What templates are always given, and what they have in Python.
const GIVEN: &[&str] = &[
    "messages",
    "tools",
    "documents",
    "add_generation_prompt",
    "bos_token",
    "eos_token",
    "raise_exception",
    "strftime_now",
    "namespace",
    "dict",
    "range",
    "joiner",
    "cycler",
    "lipsum",
    "true",
    "false",
    "none",
    "loop",
    "caller",
    "varargs",
    "kwargs",
];

/// Whether a template is given something of this name without being asked.
pub(crate) fn is_given(name: &str) -> bool {
    GIVEN.contains(&name) || name.starts_with("__")
}

/// The variables that a template reads, in alphabetical order, each tried both ways, if they are not too many.
///
/// `names` says of each name whether the template also sets it. Such a name is taken for one of
/// its own, unless giving it from outside changes something.
pub(super) fn find(prober: &Prober<'_>, names: &[(String, bool)]) -> Vec<Variable> {
    let is_own = |(name, _): &&(String, bool)| !is_given(name);
    let mut names: Vec<&(String, bool)> = names.iter().filter(is_own).collect();
    names.sort();
    if names.is_empty() {
        return Vec::new();
    }
    let word = prober.word("asked");
    let variables = names.into_iter().enumerate();
    let variables = variables.filter_map(|(at, (name, is_set))| {
        let switch = (at < MAX_TRIED).then(|| switch(prober, name, &word));
        let switch = switch.flatten();
        let name = name.clone();
        // `{% set thinking = thinking | default(true) %}` sets it and reads it: giving it tells.
        (!is_set || switch.is_some()).then_some(Variable { name, switch })
    });
    variables.collect()
}

fn switch(prober: &Prober<'_>, name: &str, word: &str) -> Option<Switch> {
    let probe = || Probe::of([message("user", word)]).prompt();
    let absent = prober.render(&probe()).ok()?;
    let on = prober.render(&probe().variable(name, true)).ok()?;
    let off = prober.render(&probe().variable(name, false)).ok()?;
    let turn = |text: &str| after_last(text, word);
    let switch = Switch {
        on: turn(&on),
        off: turn(&off),
        absent: turn(&absent),
    };
    // `Budget: {{ budget }}` differs from value to value, and switches nothing.
    (switch.on != switch.off && !is_printed(prober, name)).then_some(switch)
}

/// Whether a prompt shows the value of a variable: then it differs from value to value, and nothing is
/// switched.
pub(super) fn is_printed(prober: &Prober<'_>, name: &str) -> bool {
    let word = prober.word("printed");
    shows(prober, name, word.as_str().into(), &word)
}

/// Whether a prompt shows a number that a variable is given, with which the template may calculate.
pub(super) fn shows_numbers(prober: &Prober<'_>, name: &str) -> bool {
    shows(prober, name, ANY_NUMBER.into(), &ANY_NUMBER.to_string())
}

fn shows(prober: &Prober<'_>, name: &str, value: Value, shown: &str) -> bool {
    let probe = Probe::of([message("user", &prober.word("asked"))]).prompt();
    let text = prober.render(&probe.variable(name, value));
    text.is_ok_and(|text| text.contains(shown))
}

/// What follows a word.
fn after_last(text: &str, word: &str) -> String {
    // Before the question stand instructions. What switches the turn shows behind it.
    let from = text.rfind(word).map_or(0, |at| at + word.len());
    text[from..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::asked;
    use crate::chat_template::ChatTemplate;

    #[test]
    fn what_templates_are_always_given_is_no_variable_of_theirs() {
        for (name, expected) in [
            ("messages", true),
            ("strftime_now", true),
            ("loop", true),
            ("__index", true),
            ("message", false),
            ("enable_thinking", false),
        ] {
            assert_eq!(is_given(name), expected, "{name}");
        }
    }

    #[test]
    fn a_switch_shows_behind_the_question_and_is_not_printed() {
        for (jinja, expected) in [
            (
                "{{ q }}<bot>{% if mull %}<m>{% endif %}",
                "mull: <bot><m> <bot> <bot>",
            ),
            (
                "{{ q }}<bot>{% if mull is not defined or mull %}<m>{% endif %}",
                "mull: <bot><m> <bot> <bot><m>",
            ),
            // It is set, but from what is given.
            (
                "{% set mull = mull | default(true) %}{{ q }}{% if mull %}<m>{% endif %}",
                "mull: <m>  <m>",
            ),
            ("{% set mull = mull | default(true) %}{{ q }}<bot>", ""),
            // Nothing that is given changes what a template sets.
            (
                "{% set mull = true %}{{ q }}{% if mull %}<m>{% endif %}",
                "",
            ),
            // Instructions before the question are no beginning of a turn.
            ("{% if brief %}Be brief.{% endif %}{{ q }}<bot>", "brief"),
            // It shows whatever it is given, and not only true and false.
            ("{{ q }}<bot>{{ budget }}", "budget"),
            (
                "{{ q }}<bot>{% if a %}<a>{% endif %}{% if b %}<b>{% endif %}",
                "a: <bot><a> <bot> <bot>, b: <bot><b> <bot> <bot>",
            ),
            ("{{ q }}<bot>", ""),
        ] {
            let jinja = jinja.replace("{{ q }}", "{{ messages[0].content }}");
            let template = ChatTemplate::from_jinja(jinja.as_str());
            let names = template.prepare().variables().to_vec();
            let variables = asked(&template, |prober| find(prober, &names));
            let variables = variables.into_iter().map(|variable| match variable.switch {
                Some(Switch { on, off, absent }) => {
                    format!("{}: {on} {off} {absent}", variable.name)
                }
                None => variable.name,
            });
            assert_eq!(
                variables.collect::<Vec<_>>().join(", "),
                expected,
                "{jinja}"
            );
        }
    }
}
