//! What a pattern's program can come to, by its graph alone.

use super::Pattern;
use super::alphabet::Class;
use super::program::{Inst, Pc, Program};

impl Pattern {
    /// Whether it matches the empty text at every place, whatever stands around it.
    pub fn matches_nothing_anywhere(&self) -> bool {
        let program = self.program();
        passes_freely(program, program.start)
    }

    /// Whether there is no text at all that it matches. What looks would forbid is not weighed, so
    /// there may be none although this says that there are some.
    pub fn never_matches(&self) -> bool {
        let program = self.program();
        !can_match(program, program.start)
    }
}

/// Whether a part of a program comes to its end without a character, and without a condition that
/// could fail.
fn passes_freely(program: &Program, start: Pc) -> bool {
    reaches_end(program, start, |inst| match *inst {
        Inst::Set { .. } | Inst::Look { .. } | Inst::Reference { .. } | Inst::Fail => None,
        Inst::Behind { part, negate, next } => {
            let part = program.parts[part];
            (!negate && passes_freely(program, part.start)).then_some(next)
        }
        Inst::Around { negate: true, .. } => None,
        Inst::Around { start, next, .. } | Inst::Atomic { start, next } => {
            passes_freely(program, start).then_some(next)
        }
        Inst::Split { .. } | Inst::Again { .. } | Inst::Save { .. } | Inst::Match => None,
    })
}

/// Whether a part of a program comes to its end with some text.
fn can_match(program: &Program, start: Pc) -> bool {
    reaches_end(program, start, |inst| match *inst {
        Inst::Set { set, next } => {
            let mut classes = 0..program.alphabet.len();
            let is_empty = !classes.any(|class| program.alphabet.holds(set, class as Class));
            (!is_empty).then_some(next)
        }
        Inst::Look { next, .. } | Inst::Reference { next, .. } => Some(next),
        Inst::Fail => None,
        Inst::Behind { part, negate, next } => {
            let part = program.parts[part];
            let can_hold = match negate {
                true => !passes_freely(program, part.start),
                false => can_match(program, part.start),
            };
            can_hold.then_some(next)
        }
        // What may always stand here must not.
        Inst::Around {
            start,
            negate: true,
            next,
            ..
        } => (!passes_freely(program, start)).then_some(next),
        Inst::Around { start, next, .. } | Inst::Atomic { start, next } => {
            can_match(program, start).then_some(next)
        }
        Inst::Split { .. } | Inst::Again { .. } | Inst::Save { .. } | Inst::Match => None,
    })
}

/// Whether the end of a part can be reached; `pass` says where steps that ask for something lead,
/// if they can be passed. It goes as deep as lookaround nests in the pattern.
fn reaches_end(program: &Program, start: Pc, pass: impl Fn(&Inst) -> Option<Pc>) -> bool {
    let mut seen = vec![false; program.insts.len()];
    let mut stack = vec![start];
    while let Some(pc) = stack.pop() {
        if std::mem::replace(&mut seen[pc as usize], true) {
            continue;
        }
        match program.insts[pc as usize] {
            Inst::Match => return true,
            Inst::Split { first, second } => stack.extend([first, second]),
            Inst::Again { split, next } => stack.extend([split, next]),
            Inst::Save { next, .. } => stack.push(next),
            ref inst => stack.extend(pass(inst)),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn distinguishes_what_matches_nothing_from_what_has_a_condition() {
        for (text, expected) in [
            (r"\s*", true),
            ("a?", true),
            ("<end>|", true),
            ("(?:a*)*", true),
            ("(?>a*)", true),
            (r"(?=\s*)", true),
            ("(?P<x>a*)b?", true),
            ("(?=<call>)", false),
            ("(?!x)", false),
            ("<end>|$", false),
            (r"\b", false),
            (r"\s+", false),
            ("a|b", false),
        ] {
            let found = pattern(text).matches_nothing_anywhere();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn finds_what_can_never_match() {
        for (text, expected) in [
            (r"[^\s\S]", true),
            (r"<a>[^\s\S]</a>", true),
            ("(?!)", true),
            ("(?!a*)b", true),
            (r"(?=[^\s\S])", true),
            (r"(?>[^\s\S])", true),
            (r"a|[^\s\S]", false),
            (r"[^\s\S]*", false),
            ("(?!a)b", false),
            ("", false),
        ] {
            assert_eq!(pattern(text).never_matches(), expected, "{text}");
        }
    }
}
