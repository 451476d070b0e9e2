//! The rules of a grammar that is being written out: their names, and those that are made on the way.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::expr::Expr;
use super::members::AddRule;

/// So long are names, apart from their numbers: those of tools and of properties may be as long as a request.
const MAX_NAME: usize = 100;

/// Rules on their way into a text.
pub(super) struct NewRules {
    /// The name in the text of each rule that has one.
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// How many rules asked for a name.
    asked: HashMap<String, usize>,
    /// What stands between the words of a name.
    separator: char,
    /// Rules that were made on the way, to be found again by what they look like.
    made: HashMap<u64, Vec<(Expr, String)>>,
    /// Rules that are not written yet.
    waiting: Vec<(String, Expr)>,
    pub(super) warnings: Vec<String>,
}

impl NewRules {
    pub(super) fn new(reserved: &[&str], separator: char, warnings: &[String]) -> NewRules {
        NewRules {
            names: BTreeMap::new(),
            taken: reserved.iter().map(|name| (*name).to_owned()).collect(),
            asked: HashMap::new(),
            separator,
            made: HashMap::new(),
            waiting: Vec::new(),
            warnings: warnings.to_vec(),
        }
    }

    /// A name of small letters, digits and separators that no other rule has.
    pub(super) fn free_name(&mut self, name: &str) -> String {
        let signs = name.chars().take(MAX_NAME);
        let clean = signs.map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_lowercase(),
            false => self.separator,
        });
        let mut clean: String = clean.collect();
        if !clean.starts_with(|c: char| c.is_ascii_alphabetic()) {
            clean.insert(0, 'r');
        }
        // Counted on from the last: of a thousand rules of one name, none has to try all numbers.
        let number = self.asked.entry(clean.clone()).or_default();
        loop {
            *number += 1;
            let free = match *number {
                1 => clean.clone(),
                number => format!("{clean}{}{number}", self.separator),
            };
            if self.taken.insert(free.clone()) {
                return free;
            }
        }
    }

    /// The name of a rule in the text, if it has one.
    pub(super) fn named(&self, rule: &str) -> Option<String> {
        self.names.get(rule).cloned()
    }

    /// Gives a rule a name in the text.
    pub(super) fn name(&mut self, rule: &str) -> String {
        let written = self.free_name(rule);
        self.names.insert(rule.to_owned(), written.clone());
        written
    }

    /// A new rule's name, here and in the text.
    pub(super) fn new_name(&mut self, name: &str) -> String {
        let name = self.free_name(name);
        self.names.insert(name.clone(), name.clone());
        name
    }

    /// Notes that a rule is to be written.
    pub(super) fn wait(&mut self, written: String, expr: Expr) {
        self.waiting.push((written, expr));
    }

    /// The next rule to be written.
    pub(super) fn next_waiting(&mut self) -> Option<(String, Expr)> {
        self.waiting.pop()
    }
}

impl AddRule for NewRules {
    fn add(&mut self, name: &str, expr: Expr) -> Expr {
        if matches!(expr, Expr::Rule(_) | Expr::Empty) {
            return expr;
        }
        // Comparing a rule with all that were made would take longer with each.
        let look = expr.look(usize::MAX);
        let alike = self.made.get(&look).map_or(&[][..], Vec::as_slice);
        if let Some((_, name)) = alike.iter().find(|(made, _)| *made == expr) {
            return Expr::Rule(name.clone());
        }
        let name = self.new_name(name);
        let made = (expr.clone(), name.clone());
        self.made.entry(look).or_default().push(made);
        self.wait(name.clone(), expr);
        Expr::Rule(name)
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_consist_of_what_every_language_takes() {
        let mut rules = NewRules::new(&["root"], '-', &[]);
        for (name, expected) in [
            ("call", "call"),
            ("call", "call-2"),
            ("Call", "call-3"),
            ("call-2", "call-2-2"),
            ("read tide", "read-tide"),
            ("root", "root-2"),
            ("9lives", "r9lives"),
            ("水", "r-"),
            ("", "r"),
        ] {
            assert_eq!(rules.free_name(name), expected, "{name}");
        }
        let mut rules = NewRules::new(&[], '_', &[]);
        assert_eq!(rules.free_name("a-b"), "a_b");
    }

    #[test]
    fn the_same_rule_is_made_once() {
        let mut rules = NewRules::new(&[], '-', &[]);
        let one = rules.add("one", Expr::literal("a"));
        assert_eq!(rules.add("other", Expr::literal("a")), one);
        assert_ne!(rules.add("one", Expr::literal("b")), one);
        // These are short enough as they are.
        assert_eq!(rules.add("rule", one.clone()), one);
        assert_eq!(rules.add("empty", Expr::Empty), Expr::Empty);
        let waiting = std::iter::from_fn(|| rules.next_waiting()).map(|(name, _)| name);
        assert_eq!(waiting.collect::<Vec<_>>(), ["one-2", "one"]);
    }
}
