//! Small changes to a template's text that may mend it.

use std::ops::Range;

use crate::chat_template::expressions::{Expression, ExpressionKind, Statement};

/// A change in one place of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
    /// How much of what the template says it overrules: little changes are tried before others, and taken before
    /// others that do as much.
    pub(super) cost: u32,
}

impl Edit {
    pub(super) fn overlaps(&self, other: &Edit) -> bool {
        self.range.start < other.range.end && other.range.start < self.range.end
            || self.range == other.range
    }
}

/// The template with some changes, none of which overlap.
pub(super) fn apply(jinja: &str, edits: &[&Edit]) -> String {
    let mut edits: Vec<&&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.range.start);
    let mut changed = String::with_capacity(jinja.len());
    let mut copied = 0;
    for edit in edits {
        changed.push_str(jinja.get(copied..edit.range.start).unwrap_or_default());
        changed.push_str(&edit.text);
        copied = edit.range.end.max(copied);
    }
    changed.push_str(jinja.get(copied..).unwrap_or_default());
    changed
}

// What a change costs.
/// A switch of the template's own is the other way round where nobody sets it.
const SWITCH: u32 = 1;
/// One of several conditions does not count any more.
const PART: u32 = 2;
/// What is cut off of a text stays.
const WHOLE_TEXT: u32 = 3;
/// A condition always holds, or never does.
const CONDITION: u32 = 4;
/// The same elsewhere than around what is written otherwise: who reads the template has to think about what follows
/// from it.
const ELSEWHERE: u32 = 5;

impl Edit {
    /// Whether it is one of the changes that people make.
    pub(super) fn is_plain(&self) -> bool {
        self.cost <= CONDITION
    }
}

/// The changes that may keep what a template drops from messages that are not the last. `variables` are those that the
/// template is given, and `deciding` are the tags that what is written otherwise hangs on.
pub(super) fn keeping(
    jinja: &str,
    statements: &[Statement],
    variables: &[&str],
    deciding: &[Range<usize>],
) -> Vec<Edit> {
    let mut finder = Finder {
        jinja,
        edits: Vec::new(),
        is_switch: false,
        is_deciding: false,
    };
    for statement in statements {
        finder.is_switch = is_about(statement, variables);
        finder.is_deciding = deciding.contains(&statement.range);
        let is_condition = matches!(statement.keyword.as_str(), "if" | "elif");
        if let Some(expression) = &statement.expression {
            if is_condition && !is_question(expression) {
                finder.settle(expression);
            }
            finder.expression(expression);
            if let Some(target) = &statement.target {
                finder.unset(target, expression);
            }
        }
        if let Some(filter) = &statement.filter {
            if !is_question(filter) {
                finder.settle(filter);
            }
            finder.expression(filter);
        }
    }
    finder.edits.sort_by_key(|edit| edit.cost);
    finder.edits
}

/// The changes that may take arguments in both forms.
pub(super) fn either_form(jinja: &str, statements: &[Statement]) -> Vec<Edit> {
    let text = |range: &Range<usize>| jinja.get(range.clone()).unwrap_or_default();
    of_values(statements, "arguments", |range, value| {
        let (whole, value) = (text(range), text(value));
        let written = match whole == value {
            true => format!("{value} | tojson"),
            false => whole.to_owned(),
        };
        let behind = jinja.get(range.end..).unwrap_or_default();
        let before = jinja.get(..range.start).unwrap_or_default();
        let either = format!("{value} if {value} is string else {written}");
        match before.ends_with('(') && behind.starts_with(')') {
            true => either,
            false => format!("({either})"),
        }
    })
}

/// The changes that may encode less.
pub(super) fn less_json(jinja: &str, statements: &[Statement]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for statement in statements {
        let expressions = statement.expression.iter().chain(&statement.filter);
        for expression in expressions {
            expression.visit(&mut |part| {
                if let ExpressionKind::Filter { of, name, .. } = &part.kind
                    && name == "tojson"
                    && let Some(inner) = jinja.get(of.range.clone())
                {
                    edits.push(Edit {
                        range: part.range.clone(),
                        text: inner.to_owned(),
                        cost: PART,
                    });
                }
            });
        }
    }
    edits
}

/// The changes that may take it that there is no content.
pub(super) fn no_content(jinja: &str, statements: &[Statement]) -> Vec<Edit> {
    let mut edits = of_values(statements, "content", |whole, value| {
        let text = |range: &Range<usize>| jinja.get(range.clone()).unwrap_or_default();
        match whole == value {
            true => format!("({} or '')", text(value)),
            // A filter comes behind.
            false => format!(
                "({} or '') {}",
                text(value),
                text(&(value.end..whole.end)).trim_start()
            ),
        }
    });
    edits.retain(|edit| !edit.text.is_empty());
    edits
}

/// Changes where a value is used that stands under a key in messages, or that was set from one: of the value by itself, and
/// with the filter behind it. `change` is given the places of the expression and of the value.
fn of_values(
    statements: &[Statement],
    key: &str,
    change: impl Fn(&Range<usize>, &Range<usize>) -> String,
) -> Vec<Edit> {
    let mut names: Vec<&str> = Vec::new();
    for statement in statements {
        if let (Some(target), Some(value)) = (&statement.target, &statement.expression) {
            let mut reads = false;
            value.visit(&mut |part| reads |= is_value(part, key, &[]));
            if reads {
                names.push(target);
            }
        }
    }
    let mut edits = Vec::new();
    let mut add = |whole: &Range<usize>, value: &Range<usize>, cost: u32| {
        edits.push(Edit {
            range: whole.clone(),
            text: change(whole, value),
            cost,
        });
    };
    for statement in statements {
        let expressions = statement.expression.iter().chain(&statement.filter);
        for expression in expressions {
            expression.visit(&mut |part| match &part.kind {
                ExpressionKind::Filter { of, name, .. }
                    if name == "tojson" && is_value(of, key, &names) =>
                {
                    add(&part.range, &of.range, PART);
                }
                _ if is_value(part, key, &names) => add(&part.range, &part.range, WHOLE_TEXT),
                _ => {}
            });
        }
    }
    edits.sort_by_key(|edit| edit.cost);
    edits
}

/// Whether an expression is what stands under a key, or one of some variables.
fn is_value(expression: &Expression, key: &str, names: &[&str]) -> bool {
    match &expression.kind {
        ExpressionKind::Attribute { name, .. } => name == key,
        ExpressionKind::Item { parts, .. } => {
            matches!(parts.as_slice(), [Expression { kind: ExpressionKind::Text(text), .. }] if text == key)
        }
        ExpressionKind::Name(name) => names.contains(&name.as_str()),
        _ => false,
    }
}

/// The changes that may leave the time of the day out of a date.
pub(super) fn days(statements: &[Statement]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for statement in statements {
        let expressions = statement.expression.iter().chain(&statement.filter);
        for expression in expressions {
            expression.visit(&mut |part| {
                if let ExpressionKind::Text(format) = &part.kind
                    && let Some(day) = without_time(format)
                {
                    edits.push(Edit {
                        range: part.range.clone(),
                        text: format!("'{day}'"),
                        cost: PART,
                    });
                }
            });
        }
    }
    edits
}

/// A format of dates without what it says of the time, if that comes behind the day.
fn without_time(format: &str) -> Option<&str> {
    let is_time = |(at, _): &(usize, &str)| {
        format[at + 1..]
            .trim_start_matches('-')
            .starts_with(['H', 'I', 'M', 'S', 'T', 'X', 'R', 'p', 'c', 'f'])
    };
    let (at, _) = format.match_indices('%').find(is_time)?;
    let day = format[..at].trim_end_matches(|c: char| !c.is_alphanumeric());
    let day = day
        .strip_suffix(" at")
        .or(day.strip_suffix('T'))
        .unwrap_or(day);
    let is_plain = !day.contains(['\'', '\\', '\n']);
    (day.contains('%') && is_plain).then_some(day)
}

/// Whether a tag reads or sets a variable that the template is given.
fn is_about(statement: &Statement, variables: &[&str]) -> bool {
    let mut is_about = statement
        .target
        .as_deref()
        .is_some_and(|name| variables.contains(&name));
    if let Some(expression) = &statement.expression {
        expression.visit(&mut |part| {
            is_about |=
                matches!(&part.kind, ExpressionKind::Name(name) if variables.contains(&name.as_str()));
        });
    }
    is_about
}

/// Whether an expression is a condition wherever it stands.
fn is_question(expression: &Expression) -> bool {
    matches!(
        expression.kind,
        ExpressionKind::Or(_)
            | ExpressionKind::And(_)
            | ExpressionKind::Not(_)
            | ExpressionKind::Question(_)
            | ExpressionKind::Bool(_)
    )
}

struct Finder<'j> {
    jinja: &'j str,
    edits: Vec<Edit>,
    /// Whether the tag is about a variable that the template is given.
    is_switch: bool,
    /// Whether what is written otherwise hangs on the tag.
    is_deciding: bool,
}

impl Finder<'_> {
    fn source(&self, expression: &Expression) -> &str {
        self.jinja.get(expression.range.clone()).unwrap_or_default()
    }

    fn replace(&mut self, range: &Range<usize>, text: impl Into<String>, cost: u32) {
        let is_near = match cost {
            SWITCH => self.is_switch,
            WHOLE_TEXT => true,
            _ => self.is_deciding,
        };
        let edit = Edit {
            range: range.clone(),
            text: text.into(),
            cost: match is_near {
                true => cost,
                false => cost + ELSEWHERE,
            },
        };
        self.edits.push(edit);
    }

    fn expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Bool(value) => {
                self.replace(&expression.range, (!value).to_string(), SWITCH);
            }
            ExpressionKind::Or(all) | ExpressionKind::And(all) => {
                self.settle(expression);
                self.drop_one(all);
            }
            ExpressionKind::Not(_) | ExpressionKind::Question(_) => self.settle(expression),
            ExpressionKind::Choice {
                value,
                condition,
                otherwise,
            } => {
                let kept = self.source(value).to_owned();
                self.replace(&expression.range, kept, CONDITION);
                let other = otherwise.as_ref().map_or("''", |other| self.source(other));
                let other = other.to_owned();
                self.replace(&expression.range, other, CONDITION);
                if !is_question(condition) {
                    self.settle(condition);
                }
            }
            ExpressionKind::Filter { of, name, .. } if name != "tojson" => {
                self.unwrap(expression, of)
            }
            ExpressionKind::Call { of, arguments } => match (&of.kind, arguments.as_slice()) {
                (ExpressionKind::Name(_), [argument]) => self.unwrap(expression, argument),
                (ExpressionKind::Attribute { of, .. }, _) => self.unwrap(expression, of),
                _ => {}
            },
            ExpressionKind::Item { of, .. } => {
                if let ExpressionKind::Call { of: method, .. } = &of.kind
                    && let ExpressionKind::Attribute { of: text, .. } = &method.kind
                {
                    self.unwrap(expression, text);
                }
            }
            ExpressionKind::Group(_)
            | ExpressionKind::Name(_)
            | ExpressionKind::Text(_)
            | ExpressionKind::Filter { .. }
            | ExpressionKind::Attribute { .. }
            | ExpressionKind::Other(_) => {}
        }
        for child in expression.children() {
            self.expression(child);
        }
    }

    /// A condition that always holds, or never does.
    fn settle(&mut self, condition: &Expression) {
        for value in ["true", "false"] {
            self.replace(&condition.range, value, CONDITION);
        }
    }

    /// One of several conditions less.
    fn drop_one(&mut self, all: &[Expression]) {
        for (index, one) in all.iter().enumerate() {
            let range = match (
                index.checked_sub(1).and_then(|before| all.get(before)),
                all.get(index + 1),
            ) {
                (Some(before), _) => before.range.end..one.range.end,
                (None, Some(next)) => one.range.start..next.range.start,
                (None, None) => continue,
            };
            self.replace(&range, "", PART);
        }
    }

    /// What is done to a text is not done.
    fn unwrap(&mut self, whole: &Expression, inner: &Expression) {
        let inner = self.source(inner).to_owned();
        self.replace(&whole.range, inner, WHOLE_TEXT);
    }

    /// What is made of a variable's value does not take its place.
    fn unset(&mut self, target: &str, value: &Expression) {
        let mut reads = false;
        value.visit(&mut |part| {
            reads |= matches!(&part.kind, ExpressionKind::Name(name) if name == target)
        });
        if reads && !matches!(value.kind, ExpressionKind::Name(_)) {
            self.replace(&value.range, target, WHOLE_TEXT);
        }
    }
}
