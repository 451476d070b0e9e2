//! Members in any order as rules, for languages that have nothing like it.

use super::expr::{Expr, Member, Members};

/// Of so many members each order is written out. Of more, only the one in which they are declared.
const MAX_ANY_ORDER: usize = 6;

/// A collector of rules, which gives a reference to each.
pub(super) trait AddRule {
    /// Adds a rule of about this name.
    fn add(&mut self, name: &str, expr: Expr) -> Expr;

    fn warn(&mut self, warning: String);
}

/// The same texts without [`Expr::Members`]; `name` is what rules are named after.
pub(super) fn lowered(members: &Members, name: &str, rules: &mut impl AddRule) -> Expr {
    let Members {
        members: all,
        others,
        separator,
    } = members;
    if all.iter().any(|one| one.is_required && one.expr.is_never()) {
        return Expr::NEVER;
    }
    let all: Vec<&Member> = all.iter().filter(|one| !one.expr.is_never()).collect();
    // Each stands in several places.
    let exprs: Vec<Expr> = all
        .iter()
        .map(|one| rules.add(&format!("{name}-{}", one.name), one.expr.clone()))
        .collect();
    let others = others
        .as_ref()
        .map(|others| rules.add(&format!("{name}-other"), others.clone()));
    let writer = Writer {
        name,
        required: all.iter().map(|one| one.is_required).collect(),
        exprs,
        others,
        separator,
    };
    // Each set of members that have come is a rule of its own: of ten members there are 1024 sets.
    if all.len() <= MAX_ANY_ORDER {
        return writer.any_order(rules);
    }
    rules.warn(format!(
        "{name}: there are more than {MAX_ANY_ORDER} members, which have to come in the order in \
         which they are declared"
    ));
    writer.in_order(rules)
}

struct Writer<'m> {
    name: &'m str,
    required: Vec<bool>,
    exprs: Vec<Expr>,
    others: Option<Expr>,
    separator: &'m Expr,
}

impl Writer<'_> {
    fn any_order(&self, rules: &mut impl AddRule) -> Expr {
        let count = self.exprs.len();
        // What may follow once the members of a set have come, from the full set down.
        let mut tails = vec![Expr::Empty; 1 << count];
        for done in (0..1_usize << count).rev() {
            let mut all = self.next(done, &tails, true);
            if let Some(others) = &self.others {
                all.push(Expr::sequence([self.separator.clone(), others.clone()]));
            }
            let tail = match (self.is_done(done), all.is_empty()) {
                (true, true) => Expr::Empty,
                (true, false) => Expr::choice(all).optional(),
                (false, _) => Expr::choice(all),
            };
            tails[done] = match (&self.others, done == 0, tail) {
                // The start is no tail.
                (_, true, tail) => tail,
                (_, _, Expr::Empty) => Expr::Empty,
                (Some(others), _, _) => self.with_others(done, &tails, others, rules),
                (None, _, tail) => rules.add(&format!("{}-then", self.name), tail),
            };
        }
        let mut all = self.next(0, &tails, false);
        if let Some(others) = &self.others {
            let others_first = self.with_others(0, &tails, others, rules);
            all.push(Expr::sequence([others.clone(), others_first]));
        }
        match self.is_done(0) {
            true => Expr::choice(all).optional(),
            false => Expr::choice(all),
        }
    }

    /// What may follow, with any number of others before it.
    fn with_others(
        &self,
        done: usize,
        tails: &[Expr],
        others: &Expr,
        rules: &mut impl AddRule,
    ) -> Expr {
        let other = Expr::sequence([self.separator.clone(), others.clone()]).repeat(0, None);
        let next = self.next(done, tails, true);
        let next = match (self.is_done(done), next.is_empty()) {
            (_, true) => Expr::Empty,
            (true, _) => Expr::choice(next).optional(),
            (false, _) => Expr::choice(next),
        };
        rules.add(
            &format!("{}-then", self.name),
            Expr::sequence([other, next]),
        )
    }

    fn is_done(&self, done: usize) -> bool {
        let required = self.required.iter().enumerate();
        required.fold(true, |all, (at, is)| all && (!is || done & (1 << at) != 0))
    }

    /// Each member that may come next, with what may follow it.
    fn next(&self, done: usize, tails: &[Expr], is_separated: bool) -> Vec<Expr> {
        let left = (0..self.exprs.len()).filter(|at| done & (1 << at) == 0);
        left.map(|at| {
            let separator = match is_separated {
                true => self.separator.clone(),
                false => Expr::Empty,
            };
            let tail = tails[done | (1 << at)].clone();
            Expr::sequence([separator, self.exprs[at].clone(), tail])
        })
        .collect()
    }

    fn in_order(&self, rules: &mut impl AddRule) -> Expr {
        let behind = |at: usize| {
            let behind = Expr::sequence([self.separator.clone(), self.exprs[at].clone()]);
            match self.required[at] {
                true => behind,
                false => behind.optional(),
            }
        };
        let count = self.exprs.len();
        let others = self.others.as_ref().map_or(Expr::Empty, |others| {
            Expr::sequence([self.separator.clone(), others.clone()]).repeat(0, None)
        });
        let first_required = self.required.iter().position(|is_required| *is_required);
        // Behind the first member that is always there, each has its separator.
        let mut tail = match first_required {
            Some(first) => Expr::sequence((first + 1..count).map(behind).chain([others])),
            None => others,
        };
        // The ways in which it may begin, the last one first: with that member, or with one before it.
        let mut firsts = match (first_required, &self.others) {
            (Some(first), _) => {
                let way = Expr::sequence([self.exprs[first].clone(), tail.clone()]);
                tail = Expr::sequence([behind(first), tail]);
                vec![way]
            }
            (None, Some(others)) => {
                vec![Expr::sequence([others.clone(), tail.clone()]).optional()]
            }
            (None, None) => vec![Expr::Empty],
        };
        for at in (0..first_required.unwrap_or(count)).rev() {
            // What follows stands in two places.
            tail = rules.add(&format!("{}-then", self.name), tail);
            firsts.push(Expr::sequence([self.exprs[at].clone(), tail.clone()]));
            tail = Expr::sequence([behind(at), tail]);
        }
        firsts.reverse();
        Expr::choice(firsts)
    }
}
