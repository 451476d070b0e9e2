//! What starts with a parenthesis.

use super::single::Piece;
use super::{
    Construct, Dialect, Flags, NESTING_LIMIT, Node, NumberedGroup, Parser, PatternError, Result,
    class,
};

/// Flags in the spelling `(?im-s)`.
#[derive(Default)]
struct FlagChange {
    on: String,
    off: String,
}

impl Parser<'_> {
    /// Parses a group after its `(`; flags and comments give no node.
    pub(super) fn group(&mut self, offset: usize) -> Result<Option<Piece>> {
        if self.reader.raw_peek() == Some('*') {
            let message = if self.reader.rest()[1..].starts_with(|c: char| c.is_ascii_alphabetic())
            {
                "a verb `(*...)`"
            } else {
                "a quantifier with nothing to repeat"
            };
            return Err(PatternError::new(offset, message)
                .remedy(r"write `\(` or `\*` for a literal character"));
        }
        if !self.reader.raw_eat("?") {
            return match self.dialect {
                Dialect::Regex => self.unnamed(offset).map(Some),
                Dialect::Re => self.kept(offset, String::new()).map(Some),
            };
        }
        let refuse = |message: &str| Err(PatternError::new(offset, message));
        let is_re = self.dialect == Dialect::Re;
        match self.reader.raw_peek() {
            Some('<') => {
                self.reader.raw_next();
                if self.reader.eat('=') {
                    self.around(offset, true, false)
                } else if self.reader.eat('!') {
                    self.around(offset, true, true)
                } else if is_re {
                    Err(PatternError::new(offset, "an unknown group `(?<...)`")
                        .remedy("name a group with `(?P<name>...)`"))
                } else {
                    self.note(Construct::ShortNamedGroup, offset);
                    self.named(offset)
                }
            }
            Some('P') => {
                self.reader.raw_next();
                match self.reader.next() {
                    Some('<') => self.named(offset),
                    Some('=') => self.named_reference(offset).map(Some),
                    Some('>') if !is_re => Err(recursion(offset)),
                    _ => refuse("an unknown group `(?P...)`"),
                }
            }
            Some('=') => {
                self.reader.raw_next();
                self.around(offset, false, false)
            }
            Some('!') => {
                self.reader.raw_next();
                self.around(offset, false, true)
            }
            Some('>') => {
                self.reader.raw_next();
                self.note(Construct::Atomic, offset);
                let node = self.body(offset, self.flags)?.into_node();
                Ok(Some(Node::Atomic(Box::new(node)).into()))
            }
            Some('#') => match self.reader.rest().find(')') {
                Some(length) => {
                    self.reader.go_back(self.reader.at() + length + 1);
                    self.note(Construct::Comment, offset);
                    Ok(None)
                }
                None => refuse("a comment `(?#...` without its `)`"),
            },
            Some('|') => Err(PatternError::new(offset, "a branch reset group `(?|...)`")
                .remedy("write `(?:...)`; a name may be used by more than one group")),
            Some('(') => refuse("a conditional group `(?(...)...)`"),
            Some('R' | '&' | '0'..='9') if !is_re => Err(recursion(offset)),
            Some('+' | '-')
                if !is_re && self.reader.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) =>
            {
                Err(recursion(offset))
            }
            _ => self.flag_group(offset),
        }
    }

    /// Parses the inside of a group and its `)`. Flags end with the group.
    fn body(&mut self, offset: usize, flags: Flags) -> Result<Piece> {
        if self.depth == NESTING_LIMIT {
            let message = format!("groups nested more than {NESTING_LIMIT} levels deep");
            return Err(PatternError::new(offset, message));
        }
        self.depth += 1;
        self.is_beginning = false;
        let outer = self.flags;
        self.set_flags(flags);
        let piece = self.alternation()?;
        if !self.reader.eat(')') {
            return Err(PatternError::new(offset, "a group without its `)`")
                .remedy(r"write `\(` for a literal parenthesis"));
        }
        self.set_flags(outer);
        self.depth -= 1;
        Ok(piece)
    }

    fn set_flags(&mut self, flags: Flags) {
        self.flags = flags;
        self.reader.verbose = flags.verbose;
    }

    fn around(&mut self, offset: usize, behind: bool, negate: bool) -> Result<Option<Piece>> {
        let node = Box::new(self.body(offset, self.flags)?.into_node());
        if behind && node.any(&|node| matches!(node, Node::Reference { .. })) {
            let message = "a reference to a group within a lookbehind";
            return Err(PatternError::new(offset, message));
        }
        if behind && self.dialect == Dialect::Re && node.width().is_none() {
            let message = "lookbehind over texts of several lengths";
            return Err(PatternError::new(offset, message));
        }
        let construct = match (behind, node.width()) {
            (false, _) => Construct::Lookahead,
            (true, Some(_)) => Construct::Lookbehind,
            (true, None) if node.has_fixed_branches() => Construct::BranchedLookbehind,
            (true, None) => Construct::VariableLookbehind,
        };
        self.note(construct, offset);
        let around = Node::Around {
            behind,
            negate,
            node,
        };
        Ok(Some(around.into()))
    }

    /// A named group, after the `<`.
    fn named(&mut self, offset: usize) -> Result<Option<Piece>> {
        let mut name = String::new();
        loop {
            match self.reader.next() {
                Some('>') => break,
                Some(c) => name.push(c),
                None => return Err(PatternError::new(offset, "a group name without its `>`")),
            }
        }
        if !class::is_identifier(&name) {
            let message = format!("a group named `{name}`");
            return Err(PatternError::new(offset, message)
                .remedy("use letters, digits and `_`, not starting with a digit"));
        }
        let index = match self.groups.iter().position(|known| *known == name) {
            Some(_) if self.dialect == Dialect::Re => {
                let message = format!("two groups named `{name}`");
                return Err(PatternError::new(offset, message));
            }
            Some(index) => {
                self.note(Construct::SharedName, offset);
                index
            }
            None => return self.kept(offset, name).map(Some),
        };
        let numbered = self.numbered.iter();
        let number = numbered
            .enumerate()
            .find(|(_, group)| group.kept == Some(index));
        let number = number.map_or(self.numbered.len(), |(number, _)| number);
        self.numbered_body(offset, number, Some(index)).map(Some)
    }

    /// A group without a name, which is kept only if something refers to it.
    fn unnamed(&mut self, offset: usize) -> Result<Piece> {
        let number = self.numbered.len();
        match number < u128::BITS as usize && self.known.referred >> number & 1 == 1 {
            true => self.kept(offset, String::new()),
            false => self.numbered_body(offset, number, None),
        }
    }

    /// The rest of a group that has a number.
    fn numbered_body(
        &mut self,
        offset: usize,
        number: usize,
        kept: Option<usize>,
    ) -> Result<Piece> {
        let open = NumberedGroup {
            kept,
            is_closed: false,
        };
        match self.numbered.get_mut(number) {
            Some(group) => *group = open,
            None => self.numbered.push(open),
        }
        let body = self.body(offset, self.flags)?;
        self.numbered[number].is_closed = true;
        Ok(match kept {
            Some(index) => {
                let node = Box::new(body.into_node());
                Node::Group { index, node }.into()
            }
            None => body,
        })
    }

    /// `(?P=name)`, after the `=`.
    fn named_reference(&mut self, offset: usize) -> Result<Piece> {
        let mut name = String::new();
        loop {
            match self.reader.next() {
                Some(')') => break,
                Some(c) => name.push(c),
                None => return Err(PatternError::new(offset, "a reference without its `)`")),
            }
        }
        self.reference(offset, &name)
    }

    /// The rest of a group that is kept, under its name or none.
    fn kept(&mut self, offset: usize, name: String) -> Result<Piece> {
        let index = self.groups.len();
        self.groups.push(name);
        self.numbered_body(offset, self.numbered.len(), Some(index))
    }

    /// `(?i)`, `(?i:...)`, `(?:...)`, after the question mark.
    fn flag_group(&mut self, offset: usize) -> Result<Option<Piece>> {
        let (change, scoped) = self.flag_change(offset)?;
        self.note_flags(&change, scoped, offset);
        if self.dialect == Dialect::Re {
            self.refuse_flags(&change, scoped, offset)?;
        }
        let mut flags = self.flags;
        for (letters, value) in [(&change.on, true), (&change.off, false)] {
            for letter in letters.chars() {
                match letter {
                    'i' => flags.ignore_case = value,
                    'm' => flags.multi_line = value,
                    's' => flags.dot_all = value,
                    'x' => flags.verbose = value,
                    'a' => flags.ascii = value,
                    'u' => flags.unicode = value,
                    _ => {}
                }
            }
        }
        if scoped {
            // A quirk of the module: such a group, even `(?:...)`, forgets the
            // `a` and `u` flags of the group around it.
            let (ascii, unicode) = (change.on.contains('a'), change.on.contains('u'));
            if self.dialect == Dialect::Regex || ascii || unicode {
                flags.ascii = ascii;
                flags.unicode = unicode;
            }
            let piece = self.body(offset, flags)?;
            // What goes by case and what does not make no set together.
            return Ok(Some(match flags.ignore_case == self.flags.ignore_case {
                true => piece,
                false => piece.into_node().into(),
            }));
        }
        if self.depth == 0 {
            self.ascii_seen |= change.on.contains('a');
            self.global_ascii = change.apply(self.global_ascii, 'a');
            self.global_unicode = change.apply(self.global_unicode, 'u');
        }
        self.set_flags(flags);
        Ok(None)
    }

    /// Refuses flags where `re` does.
    fn refuse_flags(&self, change: &FlagChange, scoped: bool, offset: usize) -> Result<()> {
        let refuse = |message: &str| Err(PatternError::new(offset, message));
        if !scoped && !self.is_beginning {
            let message = "flags for the whole pattern that are not at its start";
            return Err(
                PatternError::new(offset, message).remedy("write `(?i:...)` for a part of it")
            );
        }
        if change.off.contains(['a', 'u']) {
            return refuse("the flags `a` and `u` turned off");
        }
        match scoped && change.on.contains('a') && change.on.contains('u') {
            true => refuse("the flags `a` and `u` exclude each other"),
            false => Ok(()),
        }
    }

    fn note_flags(&mut self, change: &FlagChange, scoped: bool, offset: usize) {
        let changes = !change.on.is_empty() || !change.off.is_empty();
        match scoped {
            true if changes => self.note(Construct::ScopedFlags, offset),
            true => {}
            false if offset == 0 => self.note(Construct::LeadingFlags, offset),
            false => self.note(Construct::FlagsAmid, offset),
        }
        for (letter, construct) in [('a', Construct::AsciiFlag), ('x', Construct::VerboseFlag)] {
            if change.on.contains(letter) {
                self.note(construct, offset);
            }
        }
    }

    /// Reads flags and the `:` (then `true`) or `)` (then `false`) behind them.
    fn flag_change(&mut self, offset: usize) -> Result<(FlagChange, bool)> {
        let mut change = FlagChange::default();
        let mut minus = false;
        let refuse = |message: String| Err(PatternError::new(offset, message));
        loop {
            let start = self.reader.at();
            match self.reader.next() {
                Some('-') if !minus => minus = true,
                Some(c @ ('i' | 'm' | 's' | 'x' | 'a' | 'u')) => {
                    if minus {
                        &mut change.off
                    } else {
                        &mut change.on
                    }
                    .push(c);
                }
                Some('V') if !minus && self.dialect == Dialect::Regex && self.reader.eat('0') => {}
                Some('V') if !minus && self.reader.eat('1') => {
                    return Err(unsupported_flag(start, "V1"));
                }
                Some(c @ ('r' | 'e' | 'b' | 'p' | 'L' | 'w' | 'f')) => {
                    return Err(unsupported_flag(start, c.encode_utf8(&mut [0; 4])));
                }
                Some(end @ (':' | ')')) => {
                    if minus && change.off.is_empty() {
                        return refuse("no flags after the `-` of a flag group".into());
                    }
                    if let Some(c) = change.on.chars().find(|&c| change.off.contains(c)) {
                        return refuse(format!("the flag `{c}` turned both on and off"));
                    }
                    return Ok((change, end == ':'));
                }
                Some(c) => return refuse(format!("an unknown group or flag `(?...{c}`")),
                None => return refuse("a group that ends after `(?`".into()),
            }
        }
    }
}

impl FlagChange {
    fn apply(&self, value: bool, letter: char) -> bool {
        (value || self.on.contains(letter)) && !self.off.contains(letter)
    }
}

fn recursion(offset: usize) -> PatternError {
    PatternError::new(offset, "a recursive pattern, or a call of a group")
        .remedy("repeat the text of the group instead")
}

fn unsupported_flag(offset: usize, flag: &str) -> PatternError {
    let meaning = match flag {
        "V1" => "version 1 behaviour",
        "r" => "searching backwards",
        "e" | "b" => "fuzzy matching",
        "p" => "leftmost-longest matching",
        "L" => "locale dependence",
        "w" => "Unicode word and line boundaries",
        _ => "full case folding",
    };
    let error = PatternError::new(offset, format!("the flag `(?{flag})`, {meaning}"));
    error.remedy("remove the flag")
}
