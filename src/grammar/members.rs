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

#[cfg(test)]
mod tests {
    use super::super::takes;
    use super::*;

    fn members(count: usize, required: &[usize], others: Option<Expr>) -> Members {
        let members = (0..count).map(|at| {
            let name = char::from(b'a' + at as u8).to_string();
            Member {
                expr: name.as_str().into(),
                is_required: required.contains(&at),
                name,
            }
        });
        Members {
            members: members.collect(),
            others,
            separator: ",".into(),
        }
    }

    /// Rules that are put in at once.
    #[derive(Default)]
    struct Rules {
        warnings: Vec<String>,
    }

    impl AddRule for Rules {
        fn add(&mut self, _: &str, expr: Expr) -> Expr {
            expr
        }

        fn warn(&mut self, warning: String) {
            self.warnings.push(warning);
        }
    }

    #[test]
    fn few_members_come_in_any_order_and_many_as_they_are_declared() {
        let others = || Some(Expr::from("x"));
        for (members, fits, fails) in [
            (
                members(2, &[0], None),
                vec!["a", "a,b", "b,a"],
                vec!["", "b", "a,a", "a,", "ab"],
            ),
            (
                members(2, &[], None),
                vec!["", "a", "b", "b,a"],
                vec![",", "a,b,a"],
            ),
            (members(0, &[], others()), vec!["", "x", "x,x"], vec!["a"]),
            (
                members(2, &[1], others()),
                vec!["b", "x,b", "a,x,b,x", "b,x,x,a"],
                vec!["", "x", "a,x", "b,x,b"],
            ),
            (
                members(7, &[2], None),
                vec!["c", "a,c", "a,b,c,d,e,f,g", "b,c,g"],
                vec!["", "a,b", "c,a", "c,c"],
            ),
            (
                members(7, &[], None),
                vec!["", "g", "a,g", "b,c"],
                vec!["g,a", "a,"],
            ),
            (
                members(7, &[0, 6], others()),
                vec!["a,g", "a,b,g,x,x"],
                vec!["a", "g", "x,a,g"],
            ),
            (
                members(7, &[], others()),
                vec!["", "x,x", "c,x"],
                vec!["x,c"],
            ),
        ] {
            let mut rules = Rules::default();
            let lowered = lowered(&members, "of", &mut rules);
            for text in fits {
                assert!(takes(&lowered, text), "{text:?}");
            }
            for text in fails {
                assert!(!takes(&lowered, text), "{text:?}");
            }
            let is_many = members.members.len() > MAX_ANY_ORDER;
            assert_eq!(rules.warnings.len(), usize::from(is_many));
        }
    }

    #[test]
    fn what_can_not_be_written_is_left_out_or_leaves_nothing() {
        for (required, expected) in [(&[0][..], [true, false, false]), (&[], [true, true, false])] {
            let mut members = members(2, required, None);
            members.members[1].expr = Expr::NEVER;
            let lowered = lowered(&members, "of", &mut Rules::default());
            let found = ["a", "", "b"].map(|text| takes(&lowered, text));
            assert_eq!(found, expected, "{required:?}");
        }
        let mut members = members(2, &[1], None);
        members.members[1].expr = Expr::NEVER;
        assert!(lowered(&members, "of", &mut Rules::default()).is_never());
    }
}
