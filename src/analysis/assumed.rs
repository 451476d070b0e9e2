//! Variables that nobody gave and a template can't do without: plain values are tried for them.

use std::fmt;

use crate::chat_template::RenderError;
use crate::remedy::Remedy;
use crate::value::{Object, Value};

use super::advice;
use super::probe::Prober;
use super::variables::is_given;
use crate::markers::is_word;

/// So many variables may be assumed for one template.
const MAX_ASSUMED: usize = 8;

/// A variable that nobody gave, without which the template renders nothing, and what it was taken to
/// be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssumedVariable {
    /// Its name.
    pub name: String,
    /// The first plain value with which the template goes on.
    pub value: PlainValue,
}

impl AssumedVariable {
    /// The means to give it.
    pub fn remedy(&self) -> Remedy {
        advice::remedy(&self.name)
    }
}

/// A plain value of each kind, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlainValue {
    /// `false`
    False,
    /// `true`
    True,
    /// `""`
    EmptyText,
    /// `0`
    Zero,
    /// `[]`
    EmptyList,
    /// `{}`
    EmptyObject,
}

impl PlainValue {
    /// All of them.
    pub const ALL: [PlainValue; 6] = [
        PlainValue::False,
        PlainValue::True,
        PlainValue::EmptyText,
        PlainValue::Zero,
        PlainValue::EmptyList,
        PlainValue::EmptyObject,
    ];

    /// The value.
    pub fn to_value(self) -> Value {
        match self {
            PlainValue::False => false.into(),
            PlainValue::True => true.into(),
            PlainValue::EmptyText => "".into(),
            PlainValue::Zero => 0.into(),
            PlainValue::EmptyList => Vec::new().into(),
            PlainValue::EmptyObject => Object::new().into(),
        }
    }
}

/// As JSON.
impl fmt::Display for PlainValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::json::write(&self.to_value()))
    }
}

/// Gives the template plain values for the variables without which it can't be asked something, as far
/// as that helps. `names` are the variables that it reads. What ends a turn is not assumed: there is no plain token. What
/// begins a prompt stands before all that anybody says, so it may be nothing.
pub(super) fn assume(
    prober: &mut Prober<'_>,
    names: &[String],
    ask: impl Fn(&Prober<'_>) -> Result<String, RenderError>,
) -> Vec<AssumedVariable> {
    let mut assumed: Vec<AssumedVariable> = Vec::new();
    let open = names.iter().filter(|name| !prober.knows(name));
    let names = &open.cloned().collect::<Vec<String>>();
    let mut needed = needed(names, &ask(prober), &[]);
    while let Some(name) = needed.take()
        && assumed.len() < MAX_ASSUMED
    {
        let known = assumed.iter().map(|variable| variable.name.as_str());
        let tried: Vec<&str> = known.chain([name.as_str()]).collect();
        let beyond = |prober: &mut Prober<'_>, value: PlainValue| {
            prober.give(&name, value.to_value());
            let answer = ask(prober);
            // If another one is missing now, the template has gone on beyond this one.
            let next = self::needed(names, &answer, &tried);
            let is_token = misses_token(&answer);
            (answer.is_ok() || next.is_some() || is_token).then_some((next, is_token))
        };
        let mut values = plain_values(&name).iter();
        let found = values.find_map(|value| Some((*value, beyond(prober, *value)?)));
        let Some((mut value, (next, is_token))) = found else {
            prober.take_back(&name);
            break;
        };
        needed = next;
        // What a token is added to is a text as well.
        if is_token {
            if beyond(prober, PlainValue::EmptyText).is_some() {
                value = PlainValue::EmptyText;
            }
            prober.give(&name, value.to_value());
        }
        assumed.push(AssumedVariable { name, value });
    }
    // Where it can't be asked all the same, nothing has been gained by what was assumed; unless it is a token that is missing
    // now, which is what there is to be said.
    let answer = ask(prober);
    if answer.is_err() && !misses_token(&answer) {
        for variable in assumed.drain(..) {
            prober.take_back(&variable.name);
        }
    }
    assumed
}

/// The values that a variable may be assumed to have: a token is a text.
fn plain_values(name: &str) -> &'static [PlainValue] {
    match is_token(name) {
        true => &[PlainValue::EmptyText],
        false => &PlainValue::ALL,
    }
}

/// Tells if nothing is wrong but that a token is missing.
fn misses_token(answer: &Result<String, RenderError>) -> bool {
    let error = answer.as_ref().err();
    error.is_some_and(|error| error.undefined().is_some_and(is_token))
}

fn is_token(name: &str) -> bool {
    name.ends_with("_token")
}

/// The variable that a template has missed, or that it names where it refuses to go on, apart from some that have been tried.
fn needed(
    names: &[String],
    answer: &Result<String, RenderError>,
    tried: &[&str],
) -> Option<String> {
    let error = answer.as_ref().err()?;
    // `m.name` is undefined as well, and no variable that anybody could give.
    let is_open = |name: &&str| {
        let may_be_plain = !is_token(name) || *name == "bos_token";
        let is_variable = names.iter().any(|one| one == name) && may_be_plain;
        is_variable && !tried.contains(name)
    };
    let missing = match error.undefined() {
        Some(undefined) => Some(undefined).filter(is_open),
        None if !error.is_raised() => None,
        // `raise_exception('persona is required')`
        None => {
            let mut words = error.message().split(|c| !is_word(c));
            words.find(|word| is_open(word) && !is_given(word))
        }
    };
    missing.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::{found, template};

    #[test]
    fn the_first_plain_value_is_assumed_with_which_a_template_goes_on() {
        for (assistant, expected) in [
            ("{{ m.content + suffix }}", "suffix=\"\""),
            ("{{ m.content * (2 - brief) }}", "brief=false"),
            ("{{ m.content }}{{ extras.a }}", "extras=false"),
            (
                "{{ m.content }}{{ n + 1 }}{{ raise_exception('no number') if n is not integer }}",
                "n=0",
            ),
            ("{{ m.content }}{{ notes + ['x'] }}", "notes=[]"),
            ("{{ m.content }}{{ options.items() }}", "options={}"),
            // One at a time: the second is missed only where the first is there.
            ("{{ m.content + one + two }}", "one=\"\", two=\"\""),
            // A template may refuse by itself to go on without one, and then it says which.
            (
                "{{ raise_exception('no persona!') if persona is not defined }}{{ m.content }}",
                "persona=false",
            ),
            (
                "{{ raise_exception('persona is empty') if not persona }}{{ m.content }}{{ persona }}",
                "persona=true",
            ),
            (
                "{{ raise_exception('no tools') if not tools }}{{ m.content }}{{ persona }}",
                "",
            ),
            (
                "{{ raise_exception('lang and persona!') if lang is not defined or persona is not defined }}\
                 {{ m.content }}",
                "lang=false, persona=false",
            ),
            // Nothing is assumed that a template does without, or sets itself.
            ("{{ m.content }}{{ suffix }}", ""),
            ("{% set suffix = 'x' %}{{ m.content + suffix }}", ""),
            // No plain value stands for what ends a turn, and nobody can give a key of a message.
            ("{{ m.content + eos_token }}", ""),
            // What begins a prompt may be nothing, beside others that are missing.
            ("{{ bos_token + m.content }}", "bos_token=\"\""),
            (
                "{{ one + bos_token + two + m.content }}",
                "one=\"\", bos_token=\"\", two=\"\"",
            ),
            // The token is what there is to be said, and not what would be missing without it.
            ("{{ one + eos_token + m.content }}", "one=\"\""),
            ("{{ m.content + m.name }}", ""),
            // Nothing is gained where the next variable is one that no value helps with.
            ("{{ m.content + one }}{{ two.a.b }}", ""),
            // What helps with no value is not assumed to be the last that was tried.
            ("{{ m.content + suffix }}{{ suffix.a.b.c }}", ""),
        ] {
            let assumed = found(&template(assistant)).assumed;
            let assumed = assumed
                .iter()
                .map(|one| format!("{}={}", one.name, one.value));
            let assumed: Vec<String> = assumed.collect();
            assert_eq!(assumed.join(", "), expected, "{assistant}");
        }
    }
}
