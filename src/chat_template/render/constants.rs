//! What a template's constants take to be calculated.
//!
//! minijinja calculates expressions of constants when it compiles them, whether they are ever run or
//! not, and tries to anew for each expression that they are part of. So it is estimated before what all
//! of this makes, and too much of it is refused.

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Macro, Stmt};
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind};

/// Bytes that the constants of a template may make.
const MAX_BYTES: u64 = 16 << 20;

/// What a number takes where it is written as text.
const NUMBER: u64 = 50;

/// Refuses a template whose constants make too much.
pub(super) fn check(template: &Stmt<'_>) -> Result<(), Error> {
    let mut total = Total {
        bytes: 0,
        line: None,
    };
    total.statement(template);
    match total.bytes <= MAX_BYTES {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::SyntaxError,
            format!(
                "up to line {}, the template's constants make more than {} MiB",
                total.line.unwrap_or(1),
                MAX_BYTES >> 20
            ),
        )),
    }
}

/// The most that a constant may be.
#[derive(Clone, Copy)]
struct Size {
    /// The bytes of its text, or of its items.
    bytes: u64,
    /// How often it repeats what it is multiplied by.
    times: u64,
}

/// What it takes to find out whether an expression is constant, and what constant it is.
struct Attempt {
    constant: Option<Size>,
    made: u64,
}

impl Attempt {
    fn failed(made: u64) -> Attempt {
        Attempt {
            constant: None,
            made,
        }
    }

    fn of(constant: Size, made: u64) -> Attempt {
        Attempt {
            constant: Some(constant),
            made: made.saturating_add(constant.bytes),
        }
    }
}

struct Total {
    bytes: u64,
    /// The line in which there were too many of them.
    line: Option<u16>,
}

impl Total {
    fn statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(s) => self.statements(&s.children),
            Stmt::EmitExpr(s) => {
                self.expression(&s.expr);
            }
            Stmt::ForLoop(s) => {
                self.expression(&s.target);
                self.expression(&s.iter);
                self.all(s.filter_expr.iter());
                self.statements(&s.body);
                self.statements(&s.else_body);
            }
            Stmt::IfCond(s) => {
                self.expression(&s.expr);
                self.statements(&s.true_body);
                self.statements(&s.false_body);
            }
            Stmt::WithBlock(s) => {
                self.all(s.assignments.iter().flat_map(|(name, value)| [name, value]));
                self.statements(&s.body);
            }
            Stmt::Set(s) => self.all([&s.target, &s.expr]),
            Stmt::SetBlock(s) => {
                self.expression(&s.target);
                self.all(s.filter.iter());
                self.statements(&s.body);
            }
            Stmt::AutoEscape(s) => {
                self.expression(&s.enabled);
                self.statements(&s.body);
            }
            Stmt::FilterBlock(s) => {
                self.expression(&s.filter);
                self.statements(&s.body);
            }
            Stmt::Block(s) => self.statements(&s.body),
            Stmt::Import(s) => self.all([&s.expr, &s.name]),
            Stmt::FromImport(s) => {
                self.expression(&s.expr);
                for (name, alias) in &s.names {
                    self.expression(name);
                    self.all(alias.iter());
                }
            }
            Stmt::Extends(s) => {
                self.expression(&s.name);
            }
            Stmt::Include(s) => {
                self.expression(&s.name);
            }
            Stmt::Macro(s) => self.macro_(s),
            Stmt::CallBlock(s) => {
                self.expression(&s.call.expr);
                self.arguments(&s.call.args);
                self.macro_(&s.macro_decl);
            }
            Stmt::Do(s) => {
                self.expression(&s.call.expr);
                self.arguments(&s.call.args);
            }
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
        }
    }

    fn macro_(&mut self, declared: &Macro<'_>) {
        self.all(declared.args.iter().chain(&declared.defaults));
        self.statements(&declared.body);
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) {
        self.all(arguments.iter().map(|argument| match argument {
            CallArg::Pos(value) | CallArg::Kwarg(_, value) => value,
            CallArg::PosSplat(value) | CallArg::KwargSplat(value) => value,
        }));
    }

    fn all<'e, 's: 'e>(&mut self, expressions: impl IntoIterator<Item = &'e Expr<'s>>) {
        for expression in expressions {
            self.expression(expression);
        }
    }

    /// Counts what compiling an expression makes; says what an attempt to calculate it makes.
    fn expression(&mut self, expression: &Expr<'_>) -> Attempt {
        let before = self.bytes;
        let attempt = self.parts(expression);
        // Parts of a constant are not compiled by themselves.
        if attempt.constant.is_some() {
            self.bytes = before;
        }
        self.bytes = self.bytes.saturating_add(attempt.made);
        if self.bytes > MAX_BYTES && self.line.is_none() {
            self.line = Some(expression.span().start_line);
        }
        attempt
    }

    fn parts(&mut self, expression: &Expr<'_>) -> Attempt {
        match expression {
            Expr::Const(constant) => {
                let value = &constant.value;
                let times = match value.kind() {
                    ValueKind::Number => value.as_i64().map_or(u64::MAX, i64::unsigned_abs),
                    _ => 1,
                };
                let bytes = value.as_str().map_or(0, |text| text.len() as u64);
                Attempt {
                    constant: Some(Size { bytes, times }),
                    made: 0,
                }
            }
            Expr::List(list) => self.listed(&list.items),
            Expr::Tuple(tuple) => self.listed(&tuple.items),
            Expr::Map(map) => {
                let keys = self.listed(&map.keys);
                let values = self.listed(&map.values);
                both(&keys, &values, |a, b| Size {
                    bytes: a.bytes.saturating_add(b.bytes),
                    times: 1,
                })
            }
            Expr::UnaryOp(operation) => self.expression(&operation.expr),
            Expr::BinOp(operation) => {
                let left = self.expression(&operation.left);
                let right = self.expression(&operation.right);
                both(&left, &right, |a, b| calculated(operation.op, a, b))
            }
            Expr::Compare(comparison) => {
                let mut all = self.expression(&comparison.expr);
                for operation in &comparison.ops {
                    let right = self.expression(&operation.expr);
                    // What is compared is read.
                    all = both(&all, &right, |a, b| Size {
                        bytes: a.bytes.max(b.bytes),
                        times: 1,
                    });
                }
                all
            }
            Expr::Var(_) => Attempt::failed(0),
            Expr::Slice(slice) => {
                let bounds = [&slice.start, &slice.stop, &slice.step];
                self.expression(&slice.expr);
                self.all(bounds.into_iter().flatten());
                Attempt::failed(0)
            }
            Expr::IfExpr(choice) => {
                self.all([&choice.test_expr, &choice.true_expr]);
                self.all(choice.false_expr.iter());
                Attempt::failed(0)
            }
            Expr::Filter(filter) => {
                self.all(filter.expr.iter());
                self.arguments(&filter.args);
                Attempt::failed(0)
            }
            Expr::Test(test) => {
                self.expression(&test.expr);
                self.arguments(&test.args);
                Attempt::failed(0)
            }
            Expr::GetAttr(attribute) => {
                self.expression(&attribute.expr);
                Attempt::failed(0)
            }
            Expr::GetItem(item) => {
                self.all([&item.expr, &item.subscript_expr]);
                Attempt::failed(0)
            }
            Expr::Call(call) => {
                self.expression(&call.expr);
                self.arguments(&call.args);
                Attempt::failed(0)
            }
        }
    }

    /// A list is constant if its items are written down.
    fn listed(&mut self, items: &[Expr<'_>]) -> Attempt {
        self.all(items.iter());
        match items.iter().all(|item| matches!(item, Expr::Const(_))) {
            true => Attempt::of(
                Size {
                    bytes: (items.len() * size_of::<minijinja::Value>()) as u64,
                    times: 1,
                },
                0,
            ),
            false => Attempt::failed(0),
        }
    }
}

fn both(left: &Attempt, right: &Attempt, size: impl Fn(Size, Size) -> Size) -> Attempt {
    let made = left.made.saturating_add(right.made);
    match (left.constant, right.constant) {
        (Some(a), Some(b)) => Attempt::of(size(a, b), made),
        _ => Attempt::failed(made),
    }
}

/// The most that an operator makes of two constants.
fn calculated(operator: BinOpKind, a: Size, b: Size) -> Size {
    let (bytes, times) = match operator {
        BinOpKind::Mul => (
            a.bytes
                .saturating_mul(b.times)
                .saturating_add(b.bytes.saturating_mul(a.times)),
            a.times.saturating_mul(b.times),
        ),
        BinOpKind::Concat => (
            a.bytes.saturating_add(b.bytes).saturating_add(2 * NUMBER),
            1,
        ),
        BinOpKind::Pow => {
            let exponent = u32::try_from(b.times).unwrap_or(u32::MAX);
            (0, a.times.saturating_pow(exponent))
        }
        _ => (
            a.bytes.saturating_add(b.bytes),
            a.times.saturating_add(b.times),
        ),
    };
    Size { bytes, times }
}

#[cfg(test)]
mod tests {
    use minijinja::machinery::parse;

    fn is_refused(jinja: &str) -> bool {
        let template = parse(jinja, "", Default::default()).unwrap();
        super::check(&template).is_err()
    }

    #[test]
    fn constants_are_refused_if_calculating_them_makes_too_much() {
        let long = format!("'{}'", "x".repeat(1_000));
        let texts = |count| vec![long.as_str(); count].join("~");
        for (jinja, expected) in [
            ("{{ 'x' * 40 }}", false),
            ("{{ 1000000 * 1000000 }}", false),
            ("{{ 2 ** 40 }}", false),
            ("{{ '-' * 2 ** 30 }}", true),
            ("{{ '-' * 2 ** 200 }}", true),
            ("{{ '-' * -1 }}", false),
            ("{{ 'x' * n }}", false),
            ("{{ 100000000 * 'x' }}", true),
            ("{% if 0 %}{{ ('x' * 9000) * 9000 }}{% endif %}", true),
            ("{{ [0] * 9000000 }}", true),
            ("{{ f(a, b='x' * 99999999) }}", true),
            ("{{ a | f('x' * 99999999) }}", true),
            ("{% set a = 'x' * 99999999 %}", true),
            ("{% macro m(a='x' * 99999999) %}{% endmacro %}", true),
            ("{% for x in 'x' * 99999999 %}{% endfor %}", true),
            (&format!("{{{{ {} }}}}", texts(100)), false),
            (&format!("{{{{ {} }}}}", texts(1_000)), true),
            // Each addition tries to calculate the whole anew.
            (&format!("{{{{ ({}) ~ x }}}}", texts(100)), false),
            (
                &format!("{{{{ ({}){} }}}}", texts(100), " ~ x".repeat(9)),
                true,
            ),
        ] {
            let short: String = jinja.chars().take(60).collect();
            assert_eq!(is_refused(jinja), expected, "{short}");
        }
    }
}
