//! The calls of a format, one for each tool.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::format::{
    CallView, Dialect, Entry, Node, Repetition, Row, Slot, ValueForm, ValueType, ValueWriting,
};
use crate::markers;
use crate::value::{Object, Value};

use super::borders::{self, opener};
use super::builder::{Builder, class, text_without};
use super::escape::within_string;
use super::expr::{CharClass, Expr, Member, Members, SchemaNode, Tag};
use super::limits::{Limit, Path, Place, TooMuch, short_name, shortened};
use super::notation::{LineBreaks, Notation};
use super::other_keys;
use super::schema::{self, Known, SchemaRules};

/// A tool that may be called.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub(super) name: Arc<str>,
    /// The schema of its parameters, which is that of an object.
    parameters: Value,
    /// The rules of what its schemas refer to.
    known: Known,
}

impl Declared {
    /// A tool with the schema of its parameters, as far as that is within the limits.
    pub(super) fn admitted(p: &Builder, name: &str, parameters: Option<&Value>) -> Declared {
        let parameters = parameters.map(|parameters| p.admitted(Some(name), parameters));
        Declared::new(name, parameters)
    }

    fn new(name: &str, parameters: Option<Value>) -> Declared {
        let nothing = || Object::from_iter([("type", Value::from("object"))]);
        let parameters = match parameters {
            Some(Value::Object(schema)) => schema,
            _ => {
                // A tool without a schema takes nothing: empty `properties` say so, since without any, arguments may
                // be anything.
                let mut schema = nothing();
                schema.insert("properties", Object::new());
                schema
            }
        };
        Declared {
            name: name.into(),
            parameters: parameters.into(),
            known: Known::default(),
        }
    }

    /// The schema of the object of its arguments.
    fn schema(&self) -> Option<&Object> {
        schema::follow(&self.parameters, &self.parameters).as_object()
    }

    fn properties(&self) -> Option<&Object> {
        self.schema()?.get("properties")?.as_object()
    }

    fn required(&self) -> Vec<String> {
        self.schema().map(schema::required).unwrap_or_default()
    }

    /// The schema of arguments that are not declared, if there may be any.
    fn others(&self) -> Option<Value> {
        match self.schema()?.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            // Models are offered what is declared, so where properties are, there are no others.
            None if self.properties().is_some() => None,
            None => Some(Value::Bool(true)),
            Some(schema) => Some(schema.clone()),
        }
    }

    /// The arguments that are declared, with their schemas. One that is required and not described is any value.
    fn arguments(&self) -> Vec<(String, Value)> {
        let properties = self.properties().into_iter().flatten();
        let described =
            properties.map(|(key, schema)| (key.to_string_lossy().into_owned(), schema.clone()));
        let mut all: Vec<(String, Value)> = described.collect();
        let is_described =
            |key: &String| self.properties().is_some_and(|all| all.contains_key(key));
        let required = self.required().into_iter();
        for key in required.filter(|key| !is_described(key)) {
            all.push((key, self.others().unwrap_or(Value::Bool(true))));
        }
        all
    }

    fn takes_arguments(&self) -> bool {
        let properties = self.properties().is_some_and(|all| !all.is_empty());
        properties || !self.required().is_empty() || self.others().is_some()
    }
}

/// Writes the calls of a turn.
pub(super) struct CallRules<'a> {
    p: &'a Builder,
    tools: &'a [Declared],
    parallel: bool,
    /// What can't stand in texts of arguments, since it ends or begins another part of the turn.
    outside: &'a Arc<[Expr]>,
}

impl<'a> CallRules<'a> {
    pub(super) fn new(
        p: &'a Builder,
        tools: &'a [Declared],
        parallel: bool,
        outside: &'a Arc<[Expr]>,
    ) -> CallRules<'a> {
        CallRules {
            p,
            tools,
            parallel,
            outside,
        }
    }

    /// All calls of a turn.
    pub(super) fn calls(&self, node: &Node) -> Expr {
        self.calls_before(node, &[])
    }

    /// Calls, behind which these texts may stand.
    fn calls_before(&self, node: &Node, follow: &[String]) -> Expr {
        match node {
            Node::Call(inner) => {
                let usual = &with_telling_space(inner.usual());
                // The other ways are those without arguments, such as `<call read/>`.
                let mut bare: Vec<Node> = inner.alternatives().iter().skip(1).cloned().collect();
                bare.extend(without_lines_of_arguments(usual));
                let calls = Expr::choice(self.tools.iter().map(|tool| {
                    let call = Call {
                        p: self.p,
                        tool,
                        outside: self.outside,
                        ends_with_arguments: usual.parts().last().is_some_and(is_arguments),
                    };
                    // A call without arguments is none of a tool that requires some.
                    let bare = bare.iter().filter(|_| tool.required().is_empty());
                    let bare = bare.map(|way| call.part(way, follow));
                    let mut ways: Vec<Expr> = bare.collect();
                    // Of a tool that takes nothing, the way without arguments is all there is, if one is known.
                    if ways.is_empty() || tool.takes_arguments() {
                        ways.insert(0, call.part(usual, follow));
                    }
                    let expr = Expr::choice(ways);
                    self.p.rule(
                        format!("call-{}", short_name(&tool.name)),
                        expr.tagged(Tag::Tool),
                    )
                }));
                // It stands in several places, and is as long as there are tools.
                match &calls {
                    Expr::Choice(all) if all.len() > 1 => self.p.rule("call", calls),
                    _ => calls,
                }
            }
            Node::Repetition(repetition) => {
                // As the model writes it: nothing but it may tell two calls from each other.
                let separator = match &repetition.separator {
                    Node::Sequence(nodes) if nodes.iter().all(Node::is_text) => {
                        text_behind(nodes, None).into()
                    }
                    separator => texts(separator),
                };
                // A mere `, ` ends no value, since many texts have it: it takes what opens the next call as well.
                let next = text_behind(std::slice::from_ref(&repetition.separator), None)
                    + &opener(&repetition.item).unwrap_or_default();
                self.several(repetition, separator, &[next])
            }
            Node::Array(repetition) => {
                let comma = Expr::sequence([Expr::Space, ",".into(), Expr::Space]);
                let items = self.several(repetition, comma, &[]);
                Expr::sequence(["[".into(), Expr::Space, items, Expr::Space, "]".into()])
            }
            Node::Sequence(nodes) => {
                Expr::sequence(nodes.iter().enumerate().map(|(at, node)| match node {
                    Node::Space(text) if is_told_by(nodes, at) => text.as_str().into(),
                    node => self.calls_before(node, follow),
                }))
            }
            other => texts(other),
        }
    }

    fn several(&self, repetition: &Repetition, separator: Expr, follow: &[String]) -> Expr {
        let each = self.calls_before(&repetition.item, follow);
        match self.parallel && repetition.at_most != Some(1) {
            true => {
                let more = Expr::sequence([separator, each.clone()]);
                Expr::sequence([each, more.repeat(0, None)])
            }
            false => each,
        }
    }

    /// The texts that calls begin with: the same for all, or else those of each tool.
    pub(super) fn openers(&self, node: &Node) -> Vec<String> {
        match opener(node) {
            Some(text) if !text.is_empty() => {
                // Of a marker with a text behind it, the marker is enough.
                let first = match begins_with_marker(&text) {
                    true => markers::first_piece(&text).map(str::to_owned),
                    false => Some(text),
                };
                let all = first.into_iter().chain(borders::unlikely_openers(node));
                let mut all: Vec<String> = all.collect();
                markers::dedup(&mut all);
                all
            }
            _ => {
                let names = self.tools.iter();
                names
                    // With nothing before it, a name is told from a word by what stands behind it: `read{` from
                    // `read`.
                    .map(|tool| match text_behind_name(node) {
                        Some(text) => format!("{}{text}", tool.name),
                        None => tool.name.to_string(),
                    })
                    .collect()
            }
        }
    }
}

/// What stands behind the name where calls begin with it.
fn text_behind_name(calls: &Node) -> Option<String> {
    let call = CallView::of(calls)?;
    let mut row = call.open.iter().chain([call.body]).chain(call.close);
    row.find(|node| **node == Node::Slot(Slot::Name))?;
    match row.next()? {
        Node::Literal(text) | Node::Space(text) => Some(text.clone()),
        _ => None,
    }
}

/// White space in a row of nodes: as models like it beside markers, and as it is written elsewhere, where
/// nothing but it tells two parts from each other.
pub(super) fn space(text: &str, before: Option<&Node>, behind: Option<&Node>) -> Expr {
    let is_marker_behind = || match behind {
        Some(Node::Literal(text)) => begins_with_marker(text),
        Some(_) => false,
        None => true,
    };
    // In `call read`, the blank is all that tells the word from the name.
    let is_word_before = match before {
        Some(Node::Literal(text)) => {
            let pieces = markers::pieces(text);
            pieces
                .last()
                .is_some_and(|piece| !markers::is_marker(piece))
                && text.ends_with(char::is_alphanumeric)
        }
        Some(Node::Slot(Slot::Name | Slot::Key | Slot::Id | Slot::Index)) => true,
        _ => false,
    };
    match is_word_before && !is_marker_behind() {
        true => text.into(),
        false => Expr::Space,
    }
}

pub(super) fn begins_with_marker(text: &str) -> bool {
    markers::first_piece(text).is_some_and(markers::is_marker)
}

/// Texts and white space, in which nothing but the number of a call varies.
fn texts(node: &Node) -> Expr {
    match node {
        Node::Literal(text) => text.as_str().into(),
        Node::Space(_) => Expr::Space,
        // A call or an argument follows.
        Node::Sequence(nodes) => Expr::sequence(nodes.iter().enumerate().map(|(at, node)| {
            let behind = nodes.get(at + 1).unwrap_or(&Node::Calls);
            match node {
                Node::Space(text) => space(text, nodes[..at].last(), Some(behind)),
                node => texts(node),
            }
        })),
        Node::Slot(Slot::Index) => number(),
        _ => Expr::Empty,
    }
}

/// A number by which calls are counted.
fn number() -> Expr {
    class(CharClass::ranges([('0', '9')])).repeat(1, Some(4))
}

/// Writes the call of one tool.
struct Call<'a> {
    p: &'a Builder,
    tool: &'a Declared,
    outside: &'a Arc<[Expr]>,
    /// Whether nothing of a call stands behind the arguments.
    ends_with_arguments: bool,
}

/// Where a value stands.
struct ValueContext {
    /// What may end it.
    close: Vec<String>,
    /// What may follow its argument, as it is written: the white space, and the first word.
    next: Vec<String>,
    /// What is clear of its end before a key that is named there: what reads the arguments may go by that alone.
    before_key: Option<String>,
    /// What stands right before it.
    before: String,
    /// What stands right behind it, as far as it is known.
    behind: String,
    /// Which of its line breaks belong to the markers around it.
    line_breaks: LineBreaks,
    /// Whether values are written in no other place.
    is_only: bool,
}

/// A form of values.
struct Written {
    expr: Expr,
    /// Whether white space around it has to be as the model writes it: what reads the value would take more of
    /// it for a part of the text.
    is_exact: bool,
    /// Whether it is one of some texts of which none is JSON, nor the beginning of JSON.
    is_no_json: bool,
}

/// An argument that is written.
#[derive(Clone, Copy)]
struct Argument<'a> {
    /// Its key; `None` for one that is not declared.
    key: Option<&'a str>,
    /// The keys that are declared.
    declared: &'a [String],
    schema: &'a Value,
    /// Whether arguments with values of other types are written alike.
    is_only_way: bool,
    /// What ends the values of any type, where each type has its own markers.
    ends: &'a [String],
}

impl Argument<'_> {
    /// The place of its schema in that of the parameters.
    fn path(&self) -> Path {
        match self.key {
            Some(key) => Path::default().below("properties").below(key),
            None => Path::default().below("additionalProperties"),
        }
    }
}

impl Call<'_> {
    /// Takes steps for what is to be done for an argument; if there are not so many, that is noted.
    fn may_take(&self, steps: usize, argument: Argument<'_>) -> bool {
        let may = self.p.room.take_steps(steps);
        if !may {
            let place = Place::new(Some(&self.tool.name), argument.path().pointer());
            let limit = Limit::Steps;
            self.p.note(TooMuch { place, limit });
        }
        may
    }

    fn warn(&self, what: &str) {
        self.p
            .warn(format!("{}: {what}", shortened(&self.tool.name)));
    }

    /// A part of a call; `follow` are the texts that may stand behind it.
    fn part(&self, node: &Node, follow: &[String]) -> Expr {
        match node {
            Node::Literal(text) => text.as_str().into(),
            Node::Space(_) => Expr::Space,
            Node::Slot(Slot::Name) => Expr::literal(&*self.tool.name).tagged(Tag::ToolName),
            Node::Slot(Slot::Id) => id(follow).tagged(Tag::ToolId),
            Node::Slot(Slot::Index) => number(),
            Node::Arguments(dialect) => self.arguments(dialect).tagged(Tag::ToolArgs),
            Node::Slot(_) | Node::Value(_) | Node::Calls => Expr::Empty,
            Node::Sequence(nodes) => {
                Expr::sequence(nodes.iter().enumerate().map(|(at, node)| match node {
                    Node::Repetition(repetition) if is_argument(&repetition.item) => {
                        let behind = text_behind(&nodes[at + 1..], None);
                        let behind = match behind.trim().is_empty() {
                            // With nothing behind them in the call, arguments end where the next call begins, or the
                            // turn ends.
                            true if behind.is_empty() => follow.to_vec(),
                            _ => vec![behind],
                        };
                        // White space that is as it is written stands behind none that is free and would take it.
                        let is_exact = matches!(nodes.get(at + 1), Some(Node::Space(_)))
                            && is_told_by(nodes, at + 1);
                        match is_exact {
                            true => self.members(&with_exact_ends(repetition), &behind),
                            false => self.members(repetition, &behind),
                        }
                    }
                    Node::Space(text) if is_told_by(nodes, at) => text.as_str().into(),
                    node @ Node::Slot(_) => self.part(node, &texts_behind(&nodes[at + 1..])),
                    node => self.part(node, follow),
                }))
            }
            Node::Choice(all) => Expr::choice(all.iter().map(|node| self.part(node, follow))),
            Node::Optional(node) => self.part(node, follow).optional(),
            Node::Repetition(repetition) if is_argument(&repetition.item) => {
                self.members(repetition, follow)
            }
            Node::Repetition(repetition) => {
                let item = self.part(&repetition.item, follow);
                let more = Expr::sequence([texts(&repetition.separator), item.clone()]);
                Expr::sequence([item, more.repeat(0, None)])
            }
            Node::Object(entries, dialect) => self.object(entries, dialect),
            Node::Array(repetition) => {
                let item = self.part(&repetition.item, &[]);
                Expr::sequence(["[".into(), Expr::Space, item, Expr::Space, "]".into()])
            }
            Node::JsonString(inner, dialect) => self.string(inner, dialect),
            Node::Constant(value) => self.rules(&Notation::json()).constant(value),
            Node::Call(inner) | Node::Argument(inner) => self.part(inner, follow),
        }
    }

    /// A text up to one of these, in which nothing stands that ends the call or begins another.
    fn text(&self, ends: impl IntoIterator<Item: Into<Expr>>) -> Expr {
        let ends = ends.into_iter().map(Into::into);
        text_without(ends.chain(self.outside.iter().cloned()))
    }

    /// Sees to it that nothing that ends the call or begins another stands where this text ends and a text begins.
    fn not_begun(&self, before: &str) -> Expr {
        borders::none_of(borders::begun(self.outside, before))
    }

    fn notation(&self, dialect: &Dialect) -> Notation {
        Notation::of(dialect).without(Arc::clone(self.outside))
    }

    fn rules(&self, notation: &Notation) -> SchemaRules<'_> {
        self.rules_at(Path::default(), notation)
    }

    /// The same for a part of the parameters.
    fn rules_at(&self, path: Path, notation: &Notation) -> SchemaRules<'_> {
        let tool = self.tool;
        let rules = SchemaRules::new(self.p, &tool.name, &tool.parameters, notation.clone());
        rules.of_tool(&tool.name, path, &tool.known)
    }

    fn arguments(&self, dialect: &Dialect) -> Expr {
        let rules = self.rules(&self.notation(dialect));
        rules.node(&self.tool.parameters)
    }

    fn object(&self, entries: &[Entry], dialect: &Dialect) -> Expr {
        let notation = self.notation(dialect);
        let rules = self.rules(&notation);
        let mut parts = vec![Expr::from("{"), notation.gap()];
        for (at, entry) in entries.iter().enumerate() {
            if at > 0 {
                parts.push(notation.comma());
            }
            let key = match dialect.unquoted_keys {
                true => Expr::literal(&entry.key),
                false => rules.constant(&Value::from(entry.key.as_str())),
            };
            let value = match &entry.value {
                Node::Constant(value) => rules.constant(value),
                node => self.part(node, &[]),
            };
            parts.extend([key, notation.colon(), value]);
        }
        parts.extend([notation.gap(), "}".into()]);
        Expr::sequence(parts)
    }

    fn string(&self, inner: &Node, dialect: &Dialect) -> Expr {
        let notation = Notation::of(dialect);
        let strings = notation.strings.iter().map(|quotes| {
            // In `"arguments": "{\"at\": 1}"` the object has the quotes of a string around it, so its own are
            // escaped.
            let content = self.part(inner, std::slice::from_ref(&quotes.close));
            let content = match quotes.escapes {
                true => within_string(self.p, &content, &quotes.close),
                false => content,
            };
            let (open, close) = (quotes.open.as_str(), quotes.close.as_str());
            Expr::sequence([open.into(), content, close.into()])
        });
        Expr::choice(strings)
    }

    /// The arguments of the call, each by itself.
    fn members(&self, repetition: &Repetition, behind: &[String]) -> Expr {
        let required = self.tool.required();
        // Where all arguments may be left out, there may be no line that is indented.
        if let Some((indent, rest)) = indented(repetition).filter(|_| !required.is_empty()) {
            return Expr::sequence([indent.as_str().into(), self.members(&rest, behind)]);
        }
        let arguments = self.tool.arguments();
        let separator = text_behind(std::slice::from_ref(&repetition.separator), None);
        let mut follow = behind.to_vec();
        // Where nothing separates two arguments, what opens the next one shows that this one is over.
        follow.push(match separator.is_empty() {
            true => first_text(&repetition.item),
            false => separator.clone(),
        });
        follow.retain(|text| !text.is_empty());
        let declared: Vec<String> = arguments.iter().map(|(key, _)| key.clone()).collect();
        let required: HashSet<String> = required.into_iter().collect();
        let mut members = Vec::new();
        for (key, schema) in &arguments {
            let argument = Argument {
                key: Some(key),
                declared: &declared,
                schema,
                is_only_way: true,
                ends: &[],
            };
            let expr = self.argument(&repetition.item, argument, &follow);
            let is_required = required.contains(key);
            if expr.is_never() {
                self.warn(&format!("`{key}` has no value that this format can write"));
            }
            members.push(Member {
                is_required,
                expr: expr.tagged(Tag::ToolArg),
                name: key.clone(),
            });
        }
        let others = self.tool.others();
        let others = others.as_ref().and_then(|schema| {
            let argument = Argument {
                key: None,
                declared: &declared,
                schema,
                is_only_way: true,
                ends: &[],
            };
            // In `<k=a>…</k=a>`, no grammar can see to it that an unknown key is the same both times.
            if names_key_twice(&repetition.item) {
                self.warn("arguments that are not declared are left out: their key comes twice");
                return None;
            }
            let expr = self.argument(&repetition.item, argument, &follow);
            Some(expr.tagged(Tag::ToolArg))
        });
        if members.is_empty() && others.is_none() {
            return Expr::Empty;
        }
        Expr::Members(Box::new(Members {
            members,
            others,
            separator: match separator.trim().is_empty() && !separator.is_empty() {
                // White space ends values that are written as they are.
                true if first_text_behind_value(&repetition.item).is_empty() => separator.into(),
                true => texts(&repetition.separator),
                // What reads the arguments may go by the white space of a separator.
                false => separator.into(),
            },
        }))
    }

    /// An argument in all ways in which values of its types are written.
    fn argument(&self, node: &Node, argument: Argument<'_>, follow: &[String]) -> Expr {
        match node {
            Node::Argument(inner) => self.argument(inner, argument, follow),
            Node::Choice(all) => {
                let ends: Vec<String> = match all.len() {
                    1 => Vec::new(),
                    // What reads a value can't go by the marker before its key.
                    _ => all.iter().map(first_text_behind_value).collect(),
                };
                let ends: Vec<String> = ends.iter().flat_map(|end| delimiters(end, &[])).collect();
                let argument = Argument {
                    is_only_way: argument.is_only_way && all.len() == 1,
                    ends: &ends,
                    ..argument
                };
                let all = all.iter().map(|one| self.argument(one, argument, follow));
                Expr::choice(
                    all.collect::<Vec<_>>()
                        .into_iter()
                        .filter(|one| !one.is_never()),
                )
            }
            Node::Sequence(nodes) => {
                let is_value = |node: &Node| matches!(node, Node::Value(_));
                match nodes.iter().position(is_value) {
                    Some(at) => self.with_value(nodes, at, argument, follow),
                    None => {
                        Expr::sequence(self.argument_parts(nodes, 0..nodes.len(), argument, follow))
                    }
                }
            }
            Node::Slot(Slot::Key) => match argument.key {
                Some(key) => Expr::literal(key).tagged(Tag::ToolArgName),
                None => key(argument.declared).tagged(Tag::ToolArgName),
            },
            Node::Value(forms) => {
                let place = ValueContext {
                    close: delimiters("", follow),
                    next: follow.to_vec(),
                    before_key: None,
                    before: String::new(),
                    behind: String::new(),
                    line_breaks: LineBreaks::default(),
                    is_only: true,
                };
                let ways = self.value(forms, argument, &place);
                Expr::choice(ways.into_iter().map(|way| way.expr))
            }
            other => self.part(other, follow),
        }
    }

    /// Some of a row of nodes of an argument.
    fn argument_parts(
        &self,
        nodes: &[Node],
        range: Range<usize>,
        argument: Argument<'_>,
        follow: &[String],
    ) -> Vec<Expr> {
        let parts = range.map(|at| match &nodes[at] {
            Node::Space(text) if is_told_by(nodes, at) => text.as_str().into(),
            node => self.argument(node, argument, follow),
        });
        parts.collect()
    }

    /// A row of nodes of which this one is the value. What stands behind it is written for each form of values,
    /// since only its end tells which form it is.
    fn with_value(
        &self,
        nodes: &[Node],
        at: usize,
        argument: Argument<'_>,
        follow: &[String],
    ) -> Expr {
        let Node::Value(forms) = &nodes[at] else {
            return Expr::NEVER;
        };
        let white = |node: Option<&Node>| match node {
            Some(Node::Space(text) | Node::Literal(text)) if text.trim().is_empty() => {
                Some(text.clone())
            }
            _ => None,
        };
        let is_literal = |node: Option<&Node>| matches!(node, Some(Node::Literal(_)));
        let (before_value, behind_value) = (nodes[..at].last(), nodes.get(at + 1));
        let (lead, trail) = (white(before_value), white(behind_value));
        let is_exact = [before_value, behind_value].map(is_literal);
        let behind = text_behind(&nodes[at + 1..], argument.key);
        let is_line =
            |white: &Option<String>| white.as_ref().is_some_and(|text| text.contains('\n'));
        let before_key = text_behind(&nodes[at + 1..], None).trim().to_owned();
        // White space alone ends what is written as it is. Where no marker does, what reads the value may go by how it
        // begins.
        let end = text_behind(&nodes[at + 1..], None);
        let ends_by_white = end.trim().is_empty();
        let ends_clearly = markers::unlikely_in_prose(&end);
        // `<at>\nOslo\n</at>` has two line breaks of the format's, and any more of them are the text's.
        let in_lines = is_line(&lead) || is_line(&trail);
        // White space before the next argument is as it is written, and tells it from a part of the text.
        let next: Vec<String> = follow.iter().map(|text| with_first_word(text)).collect();
        let mut close = match ends_with_text(nodes) {
            true => next.clone(),
            false => delimiters(&behind, follow),
        };
        // `</num>` ends a text as well: what reads values takes any closer for that of any type.
        close.extend(
            argument
                .ends
                .iter()
                .filter(|end| markers::unlikely_in_prose(end))
                .cloned(),
        );
        let place = ValueContext {
            close,
            next,
            before_key: Some(before_key).filter(|text| markers::unlikely_in_prose(text)),
            before: text_before(&nodes[..at]),
            // A line break that is written out is no part of the text.
            line_breaks: LineBreaks {
                first: in_lines && (lead.is_none() || ends_clearly),
                last: in_lines && (trail.is_none() || !ends_by_white),
            },
            is_only: is_only_form(nodes, forms),
            behind,
        };
        let before = 0..at - usize::from(lead.is_some());
        let after = at + 1 + usize::from(trail.is_some())..nodes.len();
        let after = self.argument_parts(nodes, after, argument, follow);
        let ways = self.value(forms, argument, &place).into_iter().map(|way| {
            let white = |text: &Option<String>, is_exact: bool| match text {
                Some(text) if is_exact => text.as_str().into(),
                Some(_) => Expr::Space,
                None => Expr::Empty,
            };
            let is_text = matches!(way.expr, Expr::Tag(Tag::ToolArgString, _));
            let not_first = match &lead {
                Some(_) if way.is_exact || !ends_clearly => Expr::Empty,
                _ if is_text => self.not_begun(place.before.trim_end()),
                _ => Expr::Empty,
            };
            let lead = white(&lead, is_exact[0] || way.is_exact || !ends_clearly);
            let trail = white(&trail, is_exact[1] || way.is_exact || ends_by_white);
            let row = [not_first, lead, way.expr, trail];
            Expr::sequence(row.into_iter().chain(after.clone()))
        });
        let ways = Expr::choice(ways.collect::<Vec<_>>());
        let before = self.argument_parts(nodes, before, argument, follow);
        Expr::sequence(before.into_iter().chain([ways]))
    }

    /// A value that is written as it is.
    fn text_value(&self, schema: Value, expr: Expr, line_breaks: LineBreaks) -> Expr {
        let node = Expr::Schema(Box::new(SchemaNode {
            name: short_name(&self.tool.name).to_owned(),
            schema,
            notation: Notation::text(line_breaks),
            expr,
        }));
        node.tagged(Tag::ToolArgString)
    }

    /// The value of an argument up to one of these texts, in these forms.
    fn value(
        &self,
        forms: &[ValueForm],
        argument: Argument<'_>,
        place: &ValueContext,
    ) -> Vec<Written> {
        let close = &place.close;
        let root = &self.tool.parameters;
        let mut all = Vec::new();
        let mut written: Vec<ValueType> = Vec::new();
        for form in forms {
            written.extend(&form.types);
            let types: Vec<&str> = form.types.iter().map(|kind| kind.key()).collect();
            let may_take = |steps| self.may_take(steps, argument);
            let Some(schema) = schema::restricted(root, argument.schema, &types, &may_take) else {
                continue;
            };
            let raw = |text: Expr, line_breaks: LineBreaks| {
                let expr = self
                    .rules_at(argument.path(), &Notation::json())
                    .raw(&schema, text.clone());
                let is_exact = expr != text;
                // Of a text that is listed, or fits a pattern, no line break belongs to the markers.
                let line_breaks = match is_exact {
                    true => LineBreaks::default(),
                    false => line_breaks,
                };
                Written {
                    expr: self.text_value(schema.clone(), expr, line_breaks),
                    is_exact,
                    is_no_json: is_no_json(&schema),
                }
            };
            let as_json = |notation: Notation| {
                let name = match argument.key {
                    Some(key) => format!("{}-{}", short_name(&self.tool.name), short_name(key)),
                    None => self.tool.name.to_string(),
                };
                // What reads the arguments looks for what is clear first.
                let clear = close.iter().filter(|text| markers::unlikely_in_prose(text));
                let clear = clear.chain(&place.before_key).cloned();
                let clear = clear.chain(opening_quotes(forms, &place.before));
                let outside = self.outside.iter().cloned().chain(clear.map(Expr::literal));
                let notation = notation.without(outside.collect());
                let own = schema::defines(&schema);
                let (schema, size) = schema::with_definitions(root, schema.clone());
                let value = match self.may_take(size, argument) {
                    true => {
                        let known = match own {
                            true => Known::default(),
                            false => Rc::clone(&self.tool.known),
                        };
                        let rules = SchemaRules::new(self.p, &name, &schema, notation);
                        rules
                            .of_tool(&self.tool.name, argument.path(), &known)
                            .node(&schema)
                    }
                    false => self.p.json_rules(&notation).value(),
                };
                Written {
                    expr: value.tagged(Tag::ToolArgJson),
                    is_exact: false,
                    is_no_json: false,
                }
            };
            match &form.writing {
                ValueWriting::Raw => {
                    let ends = close.iter().chain(&place.before_key).cloned();
                    all.push(raw(self.text(ends), place.line_breaks));
                }
                ValueWriting::Wrapped {
                    open,
                    close: end,
                    always,
                } => {
                    // A sign may stand in the text as well: what follows it tells more.
                    let mut ends: Vec<Expr> = match (end.chars().count(), place.behind.is_empty()) {
                        (1, true) if !self.ends_with_arguments && !place.next.is_empty() => {
                            let next = place.next.iter();
                            next.map(|next| end_before(end, next)).collect()
                        }
                        (1, false) => vec![format!("{end}{}", without_trail(&place.behind)).into()],
                        _ => vec![end.as_str().into()],
                    };
                    if end.chars().count() == 1 && ends == [Expr::from(end.as_str())] {
                        self.warn(&format!("no text holds `{end}`, which is all that ends it"));
                    }
                    // What reads the arguments looks for what is clear first.
                    let clear = close.iter().filter(|text| markers::unlikely_in_prose(text));
                    ends.extend(clear.map(|text| Expr::from(text.as_str())));
                    let text = raw(self.text(ends), LineBreaks::default()).expr;
                    let before = format!("{}{open}", place.before);
                    // `<![CDATA[` ends as `[CALL]` begins: a text that goes on with `CALL]` would open a call.
                    let not_first = self.not_begun(&before);
                    let parts = [open.as_str().into(), not_first, text, end.as_str().into()];
                    all.push(Written {
                        expr: Expr::sequence(parts),
                        is_exact: true,
                        is_no_json: false,
                    });
                    if !always {
                        // Where only texts with signs in them are wrapped, the others stand bare, and none holds what
                        // opens the wrapping.
                        let bare = close.iter().chain([open]).cloned();
                        all.push(raw(self.text(bare), place.line_breaks));
                    }
                }
                ValueWriting::Json(dialect) => all.push(as_json(Notation::of(dialect))),
                ValueWriting::Python => all.push(as_json(Notation::python())),
            }
        }
        let named = schema::named_types(root, argument.schema);
        let mut unknown = ValueType::ALL.into_iter().filter(|kind| {
            // A whole number is written as any other number is.
            let is_number = *kind == ValueType::Integer && written.contains(&ValueType::Number);
            !written.contains(kind) && !is_number && named.iter().any(|name| name == kind.key())
        });
        if place.is_only
            && argument.is_only_way
            && let Some(kind) = unknown.next()
        {
            let key = argument.key.unwrap_or("any argument");
            self.warn(&format!(
                "it is not known how values of type {} are written: `{key}` may be any text",
                kind.key()
            ));
            all.push(Written {
                expr: self.text_value(
                    argument.schema.clone(),
                    self.text(close.to_vec()),
                    LineBreaks::default(),
                ),
                is_exact: false,
                is_no_json: false,
            });
        }
        if !named.is_empty() {
            // What fits another type is of that, as response templates have it. But `1 or 2` does not go on with what
            // follows the number that it begins with.
            let is_text = |way: &Written| matches!(way.expr, Expr::Tag(Tag::ToolArgString, _));
            all.sort_by_key(|way| is_text(way) && !way.is_no_json);
        }
        all.retain(|way| !way.expr.is_never());
        all
    }
}

/// Whether a schema names texts of which none is JSON, nor the beginning of JSON.
fn is_no_json(schema: &Value) -> bool {
    let begins_json = |text: &str| {
        // `nul` and `12` may yet become JSON, so they do not come before what is.
        let is_of_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let mut literals = ["true", "false", "null"].into_iter();
        text.starts_with(['"', '[', '{'])
            || text.chars().all(is_of_number)
            || literals.any(|literal| literal.starts_with(text))
    };
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let is_clear = |text: &Value| text.as_str().is_some_and(|text| !begins_json(text));
    match (list("enum"), list("anyOf").or_else(|| list("oneOf"))) {
        (Some(texts), _) => texts.iter().all(is_clear),
        (None, Some(schemas)) => schemas.iter().all(is_no_json),
        (None, None) => false,
    }
}

/// Whether no other form of values stands beside these, with another text before it.
fn is_only_form(nodes: &[Node], forms: &[ValueForm]) -> bool {
    let has_text = forms
        .iter()
        .any(|form| form.types.contains(&ValueType::String));
    has_text
        && nodes
            .iter()
            .filter(|node| matches!(node, Node::Value(_)))
            .count()
            == 1
}

/// Whether what reads a call may go by this white space: nothing else ends a name, a key or an id, or separates it from
/// a word before it, and markers that a call begins with may be taken for one.
fn is_told_by(nodes: &[Node], at: usize) -> bool {
    let is_word = |node: &Node| match node {
        Node::Slot(slot) => matches!(slot, Slot::Name | Slot::Id | Slot::Index | Slot::Key),
        _ => false,
    };
    let mut behind_arguments = nodes[..at].iter().rev();
    let behind_arguments = behind_arguments.find(|node| !is_arguments(node));
    match (nodes[..at].last(), nodes.get(at + 1)) {
        // In `read at=1`, nothing but the blank ends the name.
        (Some(before @ Node::Slot(_)), _) => is_word(before),
        // What begins with a name or a key may stand behind another word.
        (None, Some(behind @ Node::Slot(_))) => is_word(behind),
        // `call read` is two words by its blank alone.
        (Some(Node::Literal(text)), Some(behind @ Node::Slot(_))) => {
            text.ends_with(char::is_alphanumeric) && is_word(behind)
        }
        // `<calls>\n<call>` may be one marker for what reads it.
        (Some(Node::Literal(_)), Some(Node::Literal(_))) => {
            let mut before = nodes[..at].iter();
            before.all(Node::is_text)
        }
        // A call may end at the first `[/call]` that stands on a line of its own, as in no argument it does.
        (Some(before), Some(Node::Literal(_)))
            if begins_line(&nodes[at]) && is_arguments(before) && !holds_raw_text(before) =>
        {
            true
        }
        // Without arguments, there is no white space between the two that is free and would take it.
        (_, Some(behind)) if is_arguments(behind) && nodes.get(at + 2).is_some_and(begins_line) => {
            is_told_by(nodes, at + 2)
        }
        // Where there are no arguments, a word is told from a name by nothing else.
        (_, Some(Node::Literal(text))) => {
            text.starts_with(char::is_alphanumeric) && behind_arguments.is_some_and(is_word)
        }
        _ => false,
    }
}

/// A call whose white space is as it is written, if that tells its parts from each other: where it is closed like its
/// arguments, and where these end with a text that only the white space behind it ends.
fn with_telling_space(call: &Node) -> Node {
    let mut call = call.clone();
    let mut ends_with_text_in_line = false;
    call.visit_mut(&mut |node| {
        let nodes = node.parts();
        let begins_with_space = matches!(nodes.first(), Some(Node::Space(_)));
        ends_with_text_in_line |= begins_with_space && ends_with_text(nodes);
    });
    if ends_with_text_in_line || is_closed_like_arguments(&call) {
        call.visit_mut(&mut |node| {
            if let Node::Space(text) = node {
                *node = Node::Literal(std::mem::take(text));
            }
        });
    }
    call
}

/// A call without arguments, where these stand on lines of their own: there is no empty line in their place.
fn without_lines_of_arguments(call: &Node) -> Option<Node> {
    let nodes = call.parts();
    let at = nodes.iter().position(is_arguments)?;
    let is_line = |at: usize| match nodes.get(at) {
        Some(Node::Space(text)) => text.contains('\n') && is_told_by(nodes, at),
        node => node
            .and_then(white_literal)
            .is_some_and(|text| text.contains('\n')),
    };
    let (before, behind) = (&nodes[..at.checked_sub(1)?], &nodes[at + 1..]);
    let stand_alone = is_line(at - 1) && is_line(at + 1);
    stand_alone.then(|| Node::sequence([before, behind].concat()))
}

/// White space with which all arguments begin, exactly, and the same arguments with it between them: what ends the arguments may
/// begin with less of it, and a lexer can't go back.
fn indented(arguments: &Repetition) -> Option<(String, Repetition)> {
    let Node::Argument(ways) = &arguments.item else {
        return None;
    };
    let indent = white_literal(ways.alternatives().first()?.parts().first()?)?;
    let separator = text_behind(std::slice::from_ref(&arguments.separator), None);
    let ways = ways.alternatives().iter().map(|way| {
        let (first, rest) = way.parts().split_first()?;
        (white_literal(first) == Some(indent)).then(|| Node::sequence(rest.to_vec()))
    });
    let ways = ways.collect::<Option<Vec<Node>>>()?;
    separator.trim().is_empty().then(|| {
        let rest = Repetition {
            item: Node::Argument(Box::new(Node::choice(ways))),
            separator: Node::Literal(separator + indent),
            ..arguments.clone()
        };
        (indent.to_owned(), rest)
    })
}

fn white_literal(node: &Node) -> Option<&str> {
    match node {
        Node::Literal(text) if text.trim().is_empty() => Some(text),
        _ => None,
    }
}

fn is_closed_like_arguments(call: &Node) -> bool {
    let nodes = call.parts();
    let Some(at) = nodes.iter().position(is_arguments) else {
        return false;
    };
    let close = |nodes: &[Node]| Row::of(nodes).trim().replace(markers::is_slot, "*");
    let own = close(&nodes[at + 1..]);
    let mut ways = nodes[at].argument_ways().into_iter().flatten();
    let is_alike = |way: &Node| close(behind_value(way)) == own;
    !own.is_empty() && ways.any(is_alike)
}

/// Arguments whose white space at their ends is as it is written.
fn with_exact_ends(arguments: &Repetition) -> Repetition {
    fn exact(node: &Node) -> Node {
        match node {
            Node::Argument(inner) => Node::Argument(Box::new(exact(inner))),
            Node::Choice(all) => Node::Choice(all.iter().map(exact).collect()),
            Node::Sequence(nodes) => {
                let mut nodes = nodes.clone();
                // In `[/ARG]\n\nEND`, the second line break must not be taken for white space behind the argument.
                if let [.., Node::Literal(_), Node::Space(text)] = &nodes[..] {
                    let text = Node::Literal(text.clone());
                    nodes.pop();
                    nodes.push(text);
                }
                Node::Sequence(nodes)
            }
            node => node.clone(),
        }
    }
    Repetition {
        item: exact(&arguments.item),
        ..arguments.clone()
    }
}

fn is_arguments(node: &Node) -> bool {
    node.argument_ways().is_some()
}

pub(super) fn is_argument(node: &Node) -> bool {
    matches!(node, Node::Argument(_))
}

/// The text that stands right behind something, as far as it is known; keys are known for one argument.
pub(super) fn text_behind(nodes: &[Node], key: Option<&str>) -> String {
    let mut text = String::new();
    for node in nodes {
        match (node, key) {
            (Node::Literal(more) | Node::Space(more), _) => text.push_str(more),
            (Node::Sequence(inner), _) => {
                let more = text_behind(inner, key);
                text.push_str(&more);
                if !inner.iter().all(Node::is_text) {
                    break;
                }
            }
            (Node::Slot(Slot::Key), Some(key)) => text.push_str(key),
            _ => break,
        }
    }
    text
}

/// The texts that may stand right behind something: what begins an argument as well, and what follows where there is none.
fn texts_behind(nodes: &[Node]) -> Vec<String> {
    let text = text_behind(nodes, None);
    let at = nodes.iter().position(|node| !node.is_text());
    let arguments = at.and_then(|at| Some((at, nodes.get(at)?)));
    let Some((at, Node::Repetition(arguments))) = arguments else {
        return vec![text];
    };
    let behind = text_behind(&nodes[at + 1..], None);
    vec![text.clone() + &first_text(&arguments.item), text + &behind]
}

/// The text that ends a row of nodes, as far as it is known.
fn text_before(nodes: &[Node]) -> String {
    let count = nodes.iter().rev().take_while(|node| node.is_text()).count();
    text_behind(&nodes[nodes.len() - count..], None)
}

/// What a text in quotes begins with where one may stand: what reads values looks for it in those that are no text, too,
/// with quotes of both kinds where lists have the other one.
fn opening_quotes(forms: &[ValueForm], before: &str) -> Vec<String> {
    let mut quotes: Vec<&str> = Vec::new();
    for form in forms {
        if let ValueWriting::Wrapped { open, .. } = &form.writing {
            quotes.push(open);
        }
    }
    let has_lists = forms
        .iter()
        .any(|form| form.writing == ValueWriting::Python);
    // In `words=['a=', 'b']`, the first text ends with `='`, as texts in quotes begin.
    if has_lists && !quotes.is_empty() {
        quotes.push("\"");
    }
    let before = before.trim();
    quotes
        .into_iter()
        .filter(|_| !before.is_empty())
        .map(|quote| format!("{before}{quote}"))
        .collect()
}

/// A text without the white space that it ends with, if it is more than that.
fn without_trail(text: &str) -> &str {
    match text.trim_end() {
        "" => text,
        kept => kept,
    }
}

/// What an argument begins with.
fn first_text(node: &Node) -> String {
    text_behind(usual_way(node).parts(), None)
}

/// What stands behind the value of an argument.
fn first_text_behind_value(node: &Node) -> String {
    text_behind(behind_value(usual_way(node)), None)
}

/// The first of the ways in which an argument is written.
fn usual_way(node: &Node) -> &Node {
    match node {
        Node::Argument(ways) => ways.usual(),
        way => way.usual(),
    }
}

/// The nodes of an argument behind its value.
fn behind_value(way: &Node) -> &[Node] {
    let mut row = way.parts().iter();
    row.find(|node| matches!(node, Node::Value(_)));
    row.as_slice()
}

/// Whether calls end with an argument, and this with a text that is written as it is.
pub(super) fn ends_with_argument(calls: &Node) -> bool {
    let last = CallView::of(calls).map(|call| call.close.last().unwrap_or(call.body));
    let last = last.and_then(Node::argument_ways);
    let mut ways = last.into_iter().flatten();
    ways.any(|way| ends_with_text(way.parts()))
}

/// Whether an argument ends with a text that is written as it is, so that only what begins the next ends it.
fn ends_with_text(nodes: &[Node]) -> bool {
    nodes.last().is_some_and(is_raw)
}

/// Whether this is a value that may be a text as it is.
fn is_raw(node: &Node) -> bool {
    let is_raw = |form: &ValueForm| form.writing == ValueWriting::Raw;
    matches!(node, Node::Value(forms) if forms.iter().any(is_raw))
}

fn begins_line(node: &Node) -> bool {
    matches!(node, Node::Space(text) if text.starts_with('\n'))
}

/// Whether texts stand in arguments as they are, with their line breaks.
fn holds_raw_text(arguments: &Node) -> bool {
    let ways = arguments.argument_ways().into_iter().flatten();
    ways.flat_map(Node::parts).any(is_raw)
}

fn names_key_twice(node: &Node) -> bool {
    let Node::Argument(ways) = node else {
        return false;
    };
    let is_key = |node: &&Node| **node == Node::Slot(Slot::Key);
    let mut ways = ways.alternatives().iter().map(Node::parts);
    ways.any(|way| way.iter().filter(is_key).count() > 1)
}

/// The end of a text in quotes before what follows. White space that begins it may be missing, or be other than it is written.
fn end_before(quote: &str, next: &str) -> Expr {
    match next.trim_start() {
        begun if begun.is_empty() || begun.len() == next.len() => format!("{quote}{next}").into(),
        begun => Expr::sequence([quote.into(), Expr::Space, begun.into()]),
    }
}

/// What ends a value that is written as it is: the text behind it up to white space. Where that is but a
/// sign, which may stand in the value as well, what follows it tells more.
fn delimiters(behind: &str, follow: &[String]) -> Vec<String> {
    let first_word = |text: &str| with_first_word(text.trim_start());
    let word = first_word(behind);
    let follow = || {
        let words = follow.iter().map(|text| match first_word(text) {
            word if word.is_empty() => text.clone(),
            word => word,
        });
        words.collect::<Vec<String>>()
    };
    match word.chars().count() {
        0 if behind.is_empty() => follow(),
        0 => vec![behind.to_owned()],
        1 if follow().is_empty() => vec![word],
        1 => follow()
            .iter()
            .map(|next| format!("{word}{next}"))
            .collect(),
        _ => vec![word],
    }
}

/// A text up to the end of its first word.
fn with_first_word(text: &str) -> String {
    let lead = text.len() - text.trim_start().len();
    let end = text[lead..].find(char::is_whitespace);
    text[..end.map_or(text.len(), |end| lead + end)].to_owned()
}

/// An id of a call, with no sign in it with which what stands behind it begins.
fn id(follow: &[String]) -> Expr {
    let class = "[a-zA-Z0-9_.:/+-]"
        .parse()
        .unwrap_or_else(|_| CharClass::any());
    // White space before it may be missing.
    // In `c:1::args::`, the first colon may end the id for what reads it.
    let signs = follow
        .iter()
        .filter_map(|text| text.trim_start().chars().next());
    // Whatever word follows an id, ids have its letters.
    let signs = signs.filter(|sign| !sign.is_alphanumeric());
    super::builder::class(class.without(&CharClass::of(signs))).repeat(1, Some(128))
}

/// A key that is not declared: a name as it stands in calls of Python, with dots and dashes between its parts.
fn key(declared: &[String]) -> Expr {
    other_keys::named(declared)
}

#[cfg(test)]
mod tests {
    use super::super::{Grammar, takes};
    use super::*;
    use crate::json;
    use crate::response::Tools;

    fn row(text: &str) -> Vec<Node> {
        Node::row(text).parts().to_vec()
    }

    fn tool(parameters: &str) -> Declared {
        let parameters = json::read(parameters).expect("it is JSON");
        Declared::new("read", Some(parameters))
    }

    #[test]
    fn a_tool_takes_what_it_declares() {
        for (parameters, arguments, others, takes) in [
            ("null", vec![], false, false),
            ("{}", vec![], true, true),
            (r#"{"properties": {}}"#, vec![], false, false),
            (r#"{"properties": {"at": {}}}"#, vec!["at"], false, true),
            (
                r#"{"properties": {"at": {}}, "additionalProperties": true}"#,
                vec!["at"],
                true,
                true,
            ),
            (
                r#"{"properties": {"at": {}}, "additionalProperties": {"type": "string"}}"#,
                vec!["at"],
                true,
                true,
            ),
            (r#"{"additionalProperties": false}"#, vec![], false, false),
            // What is required and not described is any value.
            (
                r#"{"properties": {"at": {}}, "required": ["to", "at"]}"#,
                vec!["at", "to"],
                false,
                true,
            ),
            (
                r##"{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"at": {}}}}}"##,
                vec!["at"],
                false,
                true,
            ),
        ] {
            let tool = tool(parameters);
            let keys: Vec<String> = tool.arguments().into_iter().map(|(key, _)| key).collect();
            assert_eq!(keys, arguments, "{parameters}");
            assert_eq!(tool.others().is_some(), others, "{parameters}");
            assert_eq!(tool.takes_arguments(), takes, "{parameters}");
        }
    }

    #[test]
    fn white_space_that_tells_words_apart_is_as_it_is_written() {
        for (call, at, is_exact) in [
            // In `call read`, the blank is all that tells the word from the name.
            ("call NAME", 1, true),
            ("<call> NAME", 1, false),
            ("NAME «KEY=RAW· »", 1, true),
            ("NAME <args>ARGUMENTS", 1, false),
        ] {
            let nodes = row(call);
            let Node::Space(text) = &nodes[at] else {
                panic!("{call} has white space there");
            };
            let found = space(text, nodes[..at].last(), nodes.get(at + 1));
            let expected = if is_exact {
                text.as_str().into()
            } else {
                Expr::Space
            };
            assert_eq!(found, expected, "{call}");
        }
        for (call, at, expected) in [
            ("read NAME", 1, true),
            (" NAME«KEY=RAW»", 0, true),
            ("NAME «KEY=RAW· »", 1, true),
            ("<call> NAME", 1, false),
            // It may be one marker for what reads it.
            ("<calls>\n<call>NAME", 1, true),
            ("NAME: RAW\n</call>", 4, false),
            // Where there are no arguments, a word is told from a name by nothing else.
            ("NAME«KEY=RAW»\nEND", 2, true),
            // What reads the call may go by the line on which its end stands, unless texts have lines of their own.
            ("<call=NAME>«\n<arg=KEY>JSON</arg>»\n</call>", 4, true),
            ("<call=NAME>\n«<arg=KEY>JSON</arg>·\n»\n</call>", 3, true),
            ("<call=NAME>«\n<arg=KEY>RAW</arg>»\n</call>", 4, false),
            ("<call=NAME>«<arg=KEY>JSON</arg>» </call>", 4, false),
        ] {
            let nodes = row(call);
            assert!(matches!(nodes[at], Node::Space(_)), "{nodes:?}");
            assert_eq!(is_told_by(&nodes, at), expected, "{call}");
        }
    }

    #[test]
    fn a_value_ends_at_the_first_word_behind_it() {
        let follow = |all: &[&str]| {
            all.iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        for (behind, next, expected) in [
            ("</arg>\n<arg=", &[][..], vec!["</arg>"]),
            ("\n</arg>", &[], vec!["</arg>"]),
            // Nothing closes it, so what follows does.
            ("", &["\n<arg=", "\n"], vec!["<arg=", "\n"]),
            // White space is all that ends it.
            ("\n", &["x"], vec!["\n"]),
            // A sign may stand in the value as well.
            (";", &[" to=", "</c>"], vec![";to=", ";</c>"]),
            (";", &[], vec![";"]),
        ] {
            assert_eq!(delimiters(behind, &follow(next)), expected, "{behind:?}");
        }
        for (text, expected) in [("\n<a> b", "\n<a>"), (" a", " a"), ("", ""), (" ", " ")] {
            assert_eq!(with_first_word(text), expected, "{text:?}");
        }
    }

    #[test]
    fn listed_texts_that_are_no_json_may_come_before_json() {
        for (schema, expected) in [
            (r#"{"enum": ["north", "south"]}"#, true),
            // They may yet become JSON.
            (r#"{"enum": ["north", "12"]}"#, false),
            (r#"{"enum": ["nul"]}"#, false),
            (r#"{"enum": ["{x"]}"#, false),
            (r#"{"enum": ["north", 1]}"#, false),
            (r#"{"anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}"#, true),
            (r#"{"oneOf": [{"enum": ["a"]}, {"type": "string"}]}"#, false),
            (r#"{"type": "string"}"#, false),
        ] {
            let value = json::read(schema).expect("it is JSON");
            assert_eq!(is_no_json(&value), expected, "{schema}");
        }
    }

    #[test]
    fn an_id_has_no_sign_in_it_that_stands_behind_it() {
        for (follow, fits, fails) in [
            (
                vec!["<args>"],
                vec!["x1", "a:b", "c.1-2_3/4+5"],
                vec!["", "a b", "<"],
            ),
            // The first colon may end the id for what reads it.
            (vec!["::args::"], vec!["x1"], vec!["a:b"]),
            // Whatever word follows an id, ids have its letters.
            (vec![" args"], vec!["args"], vec![]),
        ] {
            let follow: Vec<String> = follow.into_iter().map(str::to_owned).collect();
            let id = id(&follow);
            for text in fits {
                assert!(takes(&id, text), "{text}");
            }
            for text in fails {
                assert!(!takes(&id, text), "{text}");
            }
        }
    }

    #[test]
    fn white_space_behind_quotes_may_be_missing() {
        for (next, fits, fails) in [
            ("\nto=", vec!["'to=", "' to="], vec!["to=", "'\n"]),
            (", to=", vec!["', to="], vec!["',to="]),
            ("\n", vec!["'\n"], vec!["'"]),
        ] {
            let end = end_before("'", next);
            for text in fits {
                assert!(takes(&end, text), "{text:?}");
            }
            for text in fails {
                assert!(!takes(&end, text), "{text:?}");
            }
        }
        for (text, expected) in [("</a>\n", "</a>"), ("\n", "\n"), ("a", "a")] {
            assert_eq!(without_trail(text), expected, "{text:?}");
        }
    }

    #[test]
    fn texts_in_quotes_are_looked_for_in_other_values() {
        let forms = |word: &str| match Node::row(word) {
            Node::Value(forms) => forms,
            other => panic!("{other:?} is no value"),
        };
        for (word, before, expected) in [
            ("QUOTED", "KEY=", vec!["KEY='"]),
            // Where lists have the other quotes, these may stand around texts as well.
            ("PYTHON", "=", vec!["='", "=\""]),
            ("QUOTED", " ", vec![]),
            ("RAW", "=", vec![]),
        ] {
            assert_eq!(opening_quotes(&forms(word), before), expected, "{word}");
        }
    }

    #[test]
    fn arguments_that_all_begin_with_white_space_share_it() {
        let repetition = |text: &str| match Node::row(text) {
            Node::Repetition(repetition) => *repetition,
            other => panic!("{other:?} does not repeat"),
        };
        let literal = |text: &str| Node::Literal(text.to_owned());
        let mut arguments = repetition("«<k=KEY>RAW</k>·\n»");
        assert_eq!(indented(&arguments), None);
        let Node::Argument(way) = &arguments.item else {
            panic!("these are arguments");
        };
        let nodes = [vec![literal("  ")], way.parts().to_vec()].concat();
        arguments.item = Node::Argument(Box::new(Node::Sequence(nodes)));
        let (indent, rest) = indented(&arguments).expect("it is indented");
        assert_eq!(indent, "  ");
        assert_eq!(rest.separator, literal("\n  "));
        assert_eq!(first_text(&rest.item), "<k=");
    }

    #[test]
    fn some_calls_are_closed_like_their_arguments() {
        for (call, is_alike, ends_with) in [
            ("<NAME>«<KEY>RAW</KEY>»</NAME>", true, false),
            ("<c=NAME>«<k=KEY>RAW</>»</>", true, false),
            ("<c=NAME>«<k=KEY>RAW</k>»</c>", false, false),
            ("<c=NAME>«<k=KEY>RAW»", false, true),
            ("<c=NAME>«<k=KEY>QUOTED»", false, false),
            ("<c=NAME>ARGUMENTS", false, false),
        ] {
            let node = Node::row(call);
            assert_eq!(is_closed_like_arguments(&node), is_alike, "{call}");
            assert_eq!(ends_with_argument(&node), ends_with, "{call}");
        }
        for (argument, twice) in [("«<KEY>RAW</KEY>»", true), ("«<k=KEY>RAW</k>»", false)] {
            let Node::Repetition(repetition) = Node::row(argument) else {
                panic!("{argument} repeats");
            };
            assert_eq!(names_key_twice(&repetition.item), twice, "{argument}");
        }
    }

    #[test]
    fn texts_behind_a_place_are_known_up_to_what_varies() {
        for (nodes, key, expected) in [
            ("</a>\n<b>CONTENT<c>", None, "</a>\n<b>"),
            ("</KEY>x", None, "</"),
            ("</KEY>x", Some("at"), "</at>x"),
            ("CONTENT", None, ""),
        ] {
            assert_eq!(text_behind(&row(nodes), key), expected, "{nodes}");
        }
        assert_eq!(text_before(&row("CONTENT<a>\n<b>")), "<a>\n<b>");
        // An argument may follow, or what stands behind them all.
        let found = texts_behind(&row(":«<k=KEY>RAW</k>»</c>"));
        assert_eq!(found, [":<k=", ":</c>"]);
    }

    #[test]
    fn a_tool_without_arguments_is_called_without_lines_for_them() {
        let call = Node::sequence(vec![
            Node::Literal("<c>".to_owned()),
            Node::Literal("\n".to_owned()),
            Node::row("«<k=KEY>RAW</k>·\n»"),
            Node::Literal("\n".to_owned()),
            Node::Literal("</c>".to_owned()),
        ]);
        let without = without_lines_of_arguments(&call).expect("they have lines");
        assert_eq!(text_behind(without.parts(), None), "<c>\n</c>");
        let in_line = Node::row("<c>«<k=KEY>RAW</k>»</c>");
        assert_eq!(without_lines_of_arguments(&in_line), None);
    }

    #[test]
    fn calls_are_written_for_each_tool_as_often_as_one_may_call() {
        let tools = Tools::from_json(
            r#"[{"name": "read", "parameters": {"type": "object", "required": ["at"],
                "properties": {"at": {"type": "string"}, "days": {"type": "integer"}}}}, {"name": "knock"}]"#,
        );
        let tools = tools.expect("they are JSON").declared();
        let tools = tools.into_iter();
        let tools: Vec<Declared> = tools
            .map(|(name, parameters)| Declared::new(&name, parameters))
            .collect();
        for (call, separator, parallel, fits, fails) in [
            (
                "<c=NAME>«<k=KEY>VALUE</k>»</c>",
                "\n",
                true,
                vec![
                    "<c=read><k=at>Brest</k></c>",
                    "<c=read><k=days>3</k><k=at>a < b</k></c>",
                    "<c=knock></c>\n<c=read><k=at></k></c>",
                ],
                vec![
                    "<c=read></c>",
                    "<c=read><k=at>a</k><k=days>x</k></c>",
                    "<c=tide></c>",
                    "<c=knock><k=at>a</k></c>",
                ],
            ),
            (
                "<c=NAME>ARGUMENTS</c>",
                "",
                false,
                vec![r#"<c=read>{"at": "Brest"}</c>"#, "<c=knock>{}</c>"],
                vec!["<c=read>{}</c>", "<c=knock>{}</c><c=knock>{}</c>"],
            ),
            (
                "LIST",
                "",
                true,
                vec![
                    r#"[{"name": "knock", "arguments": {}}, {"name": "read", "arguments": {"at": ""}}]"#,
                ],
                vec!["[]", r#"[{"name": "knock"}]"#],
            ),
        ] {
            let calls = Node::calls(call, separator);
            let outside: Arc<[Expr]> = Arc::new([]);
            let grammar = Grammar::build(|p| {
                CallRules::new(p, &tools, parallel, &outside).calls(&calls) + p.end()
            });
            for text in fits {
                assert!(grammar.parse(text).is_ok(), "{text}");
            }
            for text in fails {
                assert!(grammar.parse(text).is_err(), "{text}");
            }
        }
    }
}
