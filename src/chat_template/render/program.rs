//! What stands in a template, statement by statement: what each reads, calls and compares, and the blocks
//! around it.

use std::cmp::Reverse;
use std::ops::Range;

use super::spelling::original_name;
use minijinja::machinery::Span;
use minijinja::machinery::ast::{
    BinOpKind, Call, CallArg, CallType, CompareOpKind, Expr, Macro, Stmt, UnaryOpKind,
};

/// A template's statements, each with what it makes use of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) statements: Vec<Statement>,
    /// What statements make use of, in the order of the statements.
    pub(crate) uses: Vec<Use>,
    pub(crate) blocks: Vec<Block>,
    /// The names of macros.
    pub(crate) macros: Vec<String>,
    /// The names and keys that the template gives to something itself.
    pub(crate) own_names: Vec<String>,
    /// The statements in the order of their places, each with where it and all before it end.
    by_place: Vec<(usize, usize)>,
}

/// A tag, something that is printed, or raw text.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// Its number among all of them.
    pub(crate) number: usize,
    /// Where its expression stands.
    pub(crate) place: Range<usize>,
    /// The number of the block that it stands in.
    pub(crate) block: Option<usize>,
    pub(crate) kind: StatementKind,
    /// What it makes use of.
    uses: Range<usize>,
}

impl Statement {
    /// Whether it writes or keeps something.
    pub(crate) fn makes(&self) -> bool {
        matches!(self.kind, StatementKind::Print | StatementKind::Set(_))
    }
}

/// What a statement does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StatementKind {
    /// It writes text that stands in the template.
    Raw,
    Print,
    /// It sets a name, or an attribute of it.
    Set(String),
    If,
    For,
    /// Any other tag.
    Tag(&'static str),
}

/// A block that statements stand in.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// The number of the statement that opens it.
    pub(crate) opened_by: usize,
    /// Which of several blocks that this statement opens it is.
    pub(crate) branch: usize,
    pub(crate) parent: Option<usize>,
    /// Whether what is written in it becomes a value, and is not what is rendered.
    pub(crate) is_kept: bool,
}

/// Something that a statement makes use of.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    pub(crate) place: Range<usize>,
    pub(crate) what: What,
    /// Whether it stands in an expression of the form `a if b else c`.
    pub(crate) is_chosen: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    Variable(String),
    /// `.name` or `['name']`
    Key(String),
    /// `[0]`, `[-1]`, or what is calculated.
    Part,
    /// `[1:]`
    Slice,
    Filter(String, Arguments),
    Test(String),
    Function(String, Arguments),
    Method(String, Arguments),
    /// A comparison with a text that stands in the template.
    Comparison(Comparison),
}

/// What is written down of the arguments of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Arguments {
    /// The names of those that are given by name.
    pub(crate) named: Vec<String>,
    /// The texts among them.
    pub(crate) texts: Vec<String>,
}

/// Something is compared with texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) texts: Vec<String>,
    /// The variables and keys of what is compared.
    pub(crate) of: Vec<String>,
    /// Whether it is only asked for a part of it.
    pub(crate) is_partial: bool,
    /// Whether it is to be another, as with `!=`.
    pub(crate) is_negated: bool,
}

impl Program {
    pub(super) fn of(template: &Stmt<'_>) -> Program {
        let mut reader = ProgramReader::default();
        reader.statement(template, None);
        reader.program.index();
        reader.program
    }

    /// Notes in which order the statements stand: they are looked for by their places, once for each step of a rendering.
    fn index(&mut self) {
        let mut numbers: Vec<usize> = (0..self.statements.len()).collect();
        // Of several that begin at one place, the innermost comes last.
        numbers.sort_by_key(|number| {
            let place = &self.statements[*number].place;
            (place.start, Reverse(place.end), Reverse(*number))
        });
        let mut reach = 0;
        self.by_place = numbers
            .into_iter()
            .map(|number| {
                reach = reach.max(self.statements[number].place.end);
                (number, reach)
            })
            .collect();
    }

    /// Adds a statement, which makes use of what has been noted since `from`, and returns its number.
    fn push(
        &mut self,
        place: Range<usize>,
        block: Option<usize>,
        kind: StatementKind,
        from: usize,
    ) -> usize {
        let number = self.statements.len();
        self.statements.push(Statement {
            number,
            place,
            block,
            kind,
            uses: from..self.uses.len(),
        });
        number
    }

    /// What a statement makes use of.
    pub(crate) fn uses_of(&self, statement: &Statement) -> &[Use] {
        &self.uses[statement.uses.clone()]
    }

    /// The blocks around a statement, the innermost first.
    pub(crate) fn around(&self, statement: &Statement) -> impl Iterator<Item = &Block> {
        let mut next = statement.block;
        std::iter::from_fn(move || {
            let block = &self.blocks[next?];
            next = block.parent;
            Some(block)
        })
    }

    /// The statements in a block that a statement opens, however deep.
    pub(crate) fn within(&self, opener: &Statement, branch: usize) -> Vec<&Statement> {
        // They all stand behind it, one after the other.
        let opening = |statement: &Statement| {
            let mut around = self.around(statement);
            around.find(|block| block.opened_by == opener.number)
        };
        let behind = self.statements[opener.number + 1..].iter();
        let within = behind.map_while(|statement| Some((statement, opening(statement)?.branch)));
        let of_branch = within.filter(|(_, its)| *its == branch);
        of_branch.map(|(statement, _)| statement).collect()
    }

    /// The innermost statement whose expression holds a place.
    pub(crate) fn at(&self, place: &Range<usize>) -> Option<&Statement> {
        let begun =
            |(number, _): &(usize, usize)| self.statements[*number].place.start <= place.start;
        let before = &self.by_place[..self.by_place.partition_point(begun)];
        // Expressions stand within or behind each other, so the last one that has begun and goes so far is the innermost.
        let mut reaching = before
            .iter()
            .rev()
            .take_while(|(_, reach)| *reach >= place.end);
        let holding = reaching.find(|(number, _)| self.statements[*number].place.end >= place.end);
        holding.map(|(number, _)| &self.statements[*number])
    }
}

#[derive(Default)]
struct ProgramReader {
    program: Program,
    /// In how many expressions of the form `a if b else c` the reader is.
    choices: usize,
    /// Whether what is read is the contrary of what holds, as behind `not`.
    is_negated: bool,
}

fn range(span: Span) -> Range<usize> {
    span.start_offset as usize..(span.end_offset as usize).max(span.start_offset as usize)
}

impl ProgramReader {
    /// Adds a statement, with what its expressions make use of.
    fn add<'e, 's: 'e>(
        &mut self,
        place: Range<usize>,
        block: Option<usize>,
        kind: StatementKind,
        expressions: impl IntoIterator<Item = &'e Expr<'s>>,
    ) -> usize {
        let from = self.program.uses.len();
        for expression in expressions {
            self.expression(expression);
        }
        // The place of some expressions is that of their last part.
        let uses = &self.program.uses[from..];
        let start = uses.iter().map(|used| used.place.start).min();
        let end = uses.iter().map(|used| used.place.end).max();
        let place = start.map_or(place.start, |start| start.min(place.start))
            ..end.map_or(place.end, |end| end.max(place.end));
        self.program.push(place, block, kind, from)
    }

    fn block(
        &mut self,
        opened_by: usize,
        branch: usize,
        parent: Option<usize>,
        is_kept: bool,
        body: &[Stmt<'_>],
    ) {
        let is_kept = is_kept || parent.is_some_and(|parent| self.program.blocks[parent].is_kept);
        self.program.blocks.push(Block {
            opened_by,
            branch,
            parent,
            is_kept,
        });
        let number = self.program.blocks.len() - 1;
        for statement in body {
            self.statement(statement, Some(number));
        }
    }

    fn statement(&mut self, statement: &Stmt<'_>, block: Option<usize>) {
        match statement {
            Stmt::Template(s) => s.children.iter().for_each(|s| self.statement(s, block)),
            Stmt::EmitRaw(s) => {
                self.add(range(s.span()), block, StatementKind::Raw, []);
            }
            Stmt::EmitExpr(s) => {
                self.add(range(s.expr.span()), block, StatementKind::Print, [&s.expr]);
            }
            Stmt::ForLoop(s) => {
                self.own(&s.target);
                let read = std::iter::once(&s.iter).chain(&s.filter_expr);
                let own = self.add(range(s.iter.span()), block, StatementKind::For, read);
                self.block(own, 0, block, false, &s.body);
                self.block(own, 1, block, false, &s.else_body);
            }
            Stmt::IfCond(s) => {
                let own = self.add(range(s.expr.span()), block, StatementKind::If, [&s.expr]);
                self.block(own, 0, block, false, &s.true_body);
                self.block(own, 1, block, false, &s.false_body);
            }
            Stmt::WithBlock(s) => {
                s.assignments.iter().for_each(|(name, _)| self.own(name));
                let read = s.assignments.iter().map(|(_, value)| value);
                let own = self.add(range(s.span()), block, StatementKind::Tag("with"), read);
                self.block(own, 0, block, false, &s.body);
            }
            Stmt::Set(s) => {
                self.own(&s.target);
                let name = target(&s.target);
                self.add(
                    range(s.expr.span()),
                    block,
                    StatementKind::Set(name),
                    [&s.expr],
                );
            }
            Stmt::SetBlock(s) => {
                self.own(&s.target);
                let kind = StatementKind::Set(target(&s.target));
                let own = self.add(range(s.span()), block, kind, s.filter.iter());
                self.block(own, 0, block, true, &s.body);
            }
            Stmt::AutoEscape(s) => {
                let own = self.add(
                    range(s.span()),
                    block,
                    StatementKind::Tag("autoescape"),
                    [&s.enabled],
                );
                self.block(own, 0, block, false, &s.body);
            }
            Stmt::FilterBlock(s) => {
                let own = self.add(
                    range(s.span()),
                    block,
                    StatementKind::Tag("filter"),
                    [&s.filter],
                );
                self.block(own, 0, block, true, &s.body);
            }
            Stmt::Block(s) => {
                let own = self.add(range(s.span()), block, StatementKind::Tag("block"), []);
                self.block(own, 0, block, false, &s.body);
            }
            Stmt::Import(s) => {
                self.add(
                    range(s.span()),
                    block,
                    StatementKind::Tag("import"),
                    [&s.expr],
                );
            }
            Stmt::FromImport(s) => {
                self.add(
                    range(s.span()),
                    block,
                    StatementKind::Tag("from"),
                    [&s.expr],
                );
            }
            Stmt::Extends(s) => {
                self.add(
                    range(s.span()),
                    block,
                    StatementKind::Tag("extends"),
                    [&s.name],
                );
            }
            Stmt::Include(s) => {
                self.add(
                    range(s.span()),
                    block,
                    StatementKind::Tag("include"),
                    [&s.name],
                );
            }
            Stmt::Macro(s) => self.macro_(range(s.span()), block, "macro", s),
            Stmt::CallBlock(s) => {
                let from = self.program.uses.len();
                self.call(&s.call, range(s.call.span()));
                let kind = StatementKind::Tag("call");
                self.program.push(range(s.call.span()), block, kind, from);
                self.macro_(range(s.span()), block, "call", &s.macro_decl);
            }
            Stmt::Do(s) => {
                let from = self.program.uses.len();
                self.call(&s.call, range(s.call.span()));
                let kind = StatementKind::Tag("do");
                self.program.push(range(s.span()), block, kind, from);
            }
            Stmt::Continue(s) => {
                self.add(range(s.span()), block, StatementKind::Tag("continue"), []);
            }
            Stmt::Break(s) => {
                self.add(range(s.span()), block, StatementKind::Tag("break"), []);
            }
        }
    }

    fn macro_(
        &mut self,
        place: Range<usize>,
        block: Option<usize>,
        tag: &'static str,
        s: &Macro<'_>,
    ) {
        self.program.macros.push(s.name.to_owned());
        s.args.iter().for_each(|name| self.own(name));
        let own = self.add(place, block, StatementKind::Tag(tag), s.defaults.iter());
        self.block(own, 0, block, true, &s.body);
    }

    /// Notes names that are set.
    fn own(&mut self, target: &Expr<'_>) {
        match target {
            Expr::Var(variable) => {
                let name = original_name(variable.id);
                self.program.own_names.push(name.to_owned());
            }
            Expr::GetAttr(attribute) => self.program.own_names.push(attribute.name.to_owned()),
            Expr::List(list) => list.items.iter().for_each(|item| self.own(item)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.own(item)),
            _ => {}
        }
    }

    fn note(&mut self, span: Span, what: What) {
        self.note_at(range(span), what);
    }

    fn note_at(&mut self, place: Range<usize>, what: What) {
        let is_chosen = self.choices > 0;
        self.program.uses.push(Use {
            place,
            what,
            is_chosen,
        });
    }

    fn all<'e, 's: 'e>(&mut self, expressions: impl IntoIterator<Item = &'e Expr<'s>>) {
        for expression in expressions {
            self.expression(expression);
        }
    }

    fn expression(&mut self, expression: &Expr<'_>) {
        match expression {
            Expr::Var(e) => self.note(e.span(), What::Variable(e.id.to_owned())),
            Expr::Const(_) => {}
            Expr::Slice(e) => {
                self.expression(&e.expr);
                self.all([&e.start, &e.stop, &e.step].into_iter().flatten());
                self.note(e.span(), What::Slice);
            }
            Expr::UnaryOp(e) => match e.op {
                UnaryOpKind::Not => self.negated(true, |reader| reader.expression(&e.expr)),
                UnaryOpKind::Neg => self.expression(&e.expr),
            },
            Expr::BinOp(e) => {
                self.all([&e.left, &e.right]);
                match e.op {
                    BinOpKind::Eq | BinOpKind::Ne => {
                        self.negated(matches!(e.op, BinOpKind::Ne), |reader| {
                            reader.compared(e.span(), &e.left, &e.right, false);
                        });
                    }
                    BinOpKind::In => self.contained(e.span(), &e.left, &e.right),
                    _ => {}
                }
            }
            Expr::Compare(e) => {
                self.expression(&e.expr);
                let mut left = &e.expr;
                for operation in &e.ops {
                    self.expression(&operation.expr);
                    let is_negated =
                        matches!(operation.op, CompareOpKind::Ne | CompareOpKind::NotIn);
                    self.negated(is_negated, |reader| match operation.op {
                        CompareOpKind::Eq | CompareOpKind::Ne => {
                            reader.compared(e.span(), left, &operation.expr, false);
                        }
                        CompareOpKind::In | CompareOpKind::NotIn => {
                            reader.contained(e.span(), left, &operation.expr);
                        }
                        _ => {}
                    });
                    left = &operation.expr;
                }
            }
            Expr::IfExpr(e) => {
                self.choices += 1;
                self.all([&e.test_expr, &e.true_expr]);
                self.all(e.false_expr.iter());
                self.choices -= 1;
            }
            Expr::Filter(e) => {
                self.all(e.expr.iter());
                let arguments = self.arguments(&e.args);
                self.note(e.span(), What::Filter(e.name.to_owned(), arguments));
            }
            Expr::Test(e) => {
                self.expression(&e.expr);
                let arguments = self.arguments(&e.args);
                self.note(e.span(), What::Test(e.name.to_owned()));
                let is_partial = matches!(e.name, "startingwith" | "endingwith");
                if is_partial || matches!(e.name, "eq" | "equalto" | "==" | "ne" | "!=" | "in") {
                    let is_negated = matches!(e.name, "ne" | "!=");
                    self.negated(is_negated, |reader| {
                        reader.comparison(e.span(), arguments.texts, &e.expr, is_partial);
                    });
                }
            }
            Expr::GetAttr(e) => {
                self.expression(&e.expr);
                self.note(e.span(), What::Key(e.name.to_owned()));
            }
            Expr::GetItem(e) => {
                self.all([&e.expr, &e.subscript_expr]);
                let key = texts(&e.subscript_expr).pop();
                self.note(e.span(), key.map_or(What::Part, What::Key));
            }
            Expr::Call(e) => self.call(e, range(e.span())),
            Expr::List(e) => self.all(&e.items),
            Expr::Tuple(e) => self.all(&e.items),
            Expr::Map(e) => {
                self.program.own_names.extend(e.keys.iter().flat_map(texts));
                self.all(e.keys.iter().chain(&e.values));
            }
        }
    }

    /// Reads something of which the contrary holds, if it does.
    fn negated(&mut self, is_negated: bool, read: impl FnOnce(&mut ProgramReader)) {
        self.is_negated ^= is_negated;
        read(self);
        self.is_negated ^= is_negated;
    }

    fn call(&mut self, call: &Call<'_>, place: Range<usize>) {
        let what = match call.identify_call() {
            CallType::Function(name) => {
                let arguments = self.arguments(&call.args);
                if matches!(name, "namespace" | "dict") {
                    self.program
                        .own_names
                        .extend(arguments.named.iter().cloned());
                }
                What::Function(name.to_owned(), arguments)
            }
            CallType::Method(of, name) => {
                self.expression(of);
                let arguments = self.arguments(&call.args);
                if matches!(name, "get" | "pop" | "setdefault")
                    && let Some(key) = arguments.texts.first()
                {
                    self.note_at(place.clone(), What::Key(key.clone()));
                }
                let is_search = matches!(
                    name,
                    "startswith"
                        | "endswith"
                        | "find"
                        | "rfind"
                        | "index"
                        | "rindex"
                        | "count"
                        | "__contains__"
                );
                if is_search {
                    let of = mentioned(of);
                    let comparison = Comparison {
                        texts: arguments.texts.clone(),
                        of,
                        is_partial: true,
                        is_negated: self.is_negated,
                    };
                    self.note_at(place.clone(), What::Comparison(comparison));
                }
                What::Method(name.to_owned(), arguments)
            }
            CallType::Block(_) | CallType::Object(_) => {
                self.expression(&call.expr);
                self.arguments(&call.args);
                return;
            }
        };
        self.note_at(place, what);
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> Arguments {
        let mut written = Arguments::default();
        for argument in arguments {
            let value = match argument {
                CallArg::Pos(value) | CallArg::PosSplat(value) | CallArg::KwargSplat(value) => {
                    value
                }
                CallArg::Kwarg(name, value) => {
                    written.named.push((*name).to_owned());
                    value
                }
            };
            written.texts.extend(texts(value));
            self.expression(value);
        }
        written
    }

    /// One of two sides may be written down.
    fn compared(&mut self, span: Span, left: &Expr<'_>, right: &Expr<'_>, is_partial: bool) {
        for (text, other) in [(left, right), (right, left)] {
            self.comparison(span, texts(text), other, is_partial);
        }
    }

    /// `left in right`: a text that holds another, or one of several texts.
    fn contained(&mut self, span: Span, left: &Expr<'_>, right: &Expr<'_>) {
        self.comparison(span, texts(left), right, true);
        self.comparison(span, texts(right), left, false);
    }

    fn comparison(&mut self, span: Span, texts: Vec<String>, of: &Expr<'_>, is_partial: bool) {
        let of = mentioned(of);
        if !texts.is_empty() && !of.is_empty() {
            let comparison = Comparison {
                texts,
                of,
                is_partial,
                is_negated: self.is_negated,
            };
            self.note(span, What::Comparison(comparison));
        }
    }
}

/// The name that is set, or of which an attribute is.
fn target(expression: &Expr<'_>) -> String {
    match expression {
        Expr::Var(variable) => original_name(variable.id).to_owned(),
        Expr::GetAttr(attribute) => format!("{}.{}", target(&attribute.expr), attribute.name),
        _ => String::new(),
    }
}

/// The text that an expression is, or those that it lists.
fn texts(expression: &Expr<'_>) -> Vec<String> {
    match expression {
        Expr::Const(constant) => constant
            .value
            .as_str()
            .map(str::to_owned)
            .into_iter()
            .collect(),
        Expr::List(list) => list.items.iter().flat_map(texts).collect(),
        Expr::Tuple(tuple) => tuple.items.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// The names of the variables and keys in an expression.
fn mentioned(expression: &Expr<'_>) -> Vec<String> {
    let mut reader = ProgramReader::default();
    reader.expression(expression);
    let uses = reader.program.uses.into_iter();
    let names = uses.filter_map(|used| match used.what {
        What::Variable(name) | What::Key(name) => Some(name),
        _ => None,
    });
    names.collect()
}
