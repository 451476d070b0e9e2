//! Escapes and bracketed sets.

use super::single::{Piece, Single};
use super::{Construct, Dialect, Look, Node, Parser, PatternError, Result, class};
use regex_syntax::hir::ClassUnicode;

/// A member of a bracketed set.
enum Member {
    /// One code point, which may start or end a range. Can be a surrogate.
    Code(u32),
    Property(Single),
}

impl Parser<'_> {
    /// An escape outside a set, after its backslash.
    pub(super) fn escape(&mut self, offset: usize) -> Result<Piece> {
        let refuse = |message: &str| Err(PatternError::new(offset, message));
        let Some(c) = self.reader.raw_next() else {
            return refuse("a backslash at the end of the pattern");
        };
        if self.dialect == Dialect::Re && "zmMRGKXLg".contains(c) {
            return Err(unknown_escape(offset, c));
        }
        self.note_escape(offset, c);
        let look = match c {
            'A' => Look::TextStart,
            'Z' | 'z' => Look::TextEnd,
            'b' => self.word_look(offset, Look::WordBoundary)?,
            'B' => self.word_look(offset, Look::NotWordBoundary)?,
            'm' => self.word_look(offset, Look::WordStart)?,
            'M' => self.word_look(offset, Look::WordEnd)?,
            'R' => return Ok(line_break().into()),
            'G' => return refuse(r"the search anchor `\G`"),
            'K' => return refuse(r"the keep marker `\K`"),
            'X' => return refuse(r"the grapheme cluster `\X`"),
            'L' => return refuse(r"a named list `\L<...>`"),
            'g' => {
                if let Some(name) = self.group_reference() {
                    return self.reference(offset, &name);
                }
                return Ok(self.literal_piece('g'.into()));
            }
            '0' => {
                let code = octal(&self.reader.digits(8, 2));
                return Ok(self.literal_piece(code));
            }
            '1'..='9' => return self.octal_or_reference(offset, c),
            _ => {
                return Ok(match self.common_escape(offset, c)? {
                    Member::Code(code) => self.literal_piece(code),
                    // The module takes these for the same with case and without.
                    Member::Property(property) if "dDsSwWh".contains(c) => {
                        Node::Class(property.alone).into()
                    }
                    Member::Property(property) => Piece::Single(property),
                });
            }
        };
        Ok(Node::Look(look).into())
    }

    /// Notes an escape that other engines lack, outside of sets.
    fn note_escape(&mut self, offset: usize, c: char) {
        let construct = match c {
            'A' => Construct::TextStart,
            'Z' => Construct::TextEnd,
            'z' => Construct::SmallTextEnd,
            'm' | 'M' => Construct::WordEdge,
            'R' => Construct::LineBreak,
            // Other digits name a group.
            '0' => Construct::Octal,
            '<' | '>' => Construct::EscapedAngle,
            // What means something needs it, and `/` where patterns stand between slashes.
            c if c.is_ascii_punctuation() && !r"^$\.*+?()[]{}|/".contains(c) => {
                Construct::NeedlessEscape
            }
            ' ' => Construct::NeedlessEscape,
            _ => return,
        };
        self.note(construct, offset);
    }

    /// `\101` is a character, fewer or other digits name a group.
    fn octal_or_reference(&mut self, offset: usize, first: char) -> Result<Piece> {
        let digits = format!("{first}{}", self.reader.digits(8, 2));
        if digits.len() == 3 && first < '8' {
            self.note(Construct::Octal, offset);
            return Ok(self.literal_piece(octal(&digits)));
        }
        self.reader.go_back(offset + 2);
        let digits = format!("{first}{}", self.reader.digits(10, 1));
        self.reference(offset, &digits)
    }

    /// A reference to what a group has matched, given its name or its number.
    pub(super) fn reference(&mut self, offset: usize, name: &str) -> Result<Piece> {
        self.note(Construct::Backreference, offset);
        let refuse =
            |message: String, remedy: &str| Err(PatternError::new(offset, message).remedy(remedy));
        let number = match name.parse::<usize>() {
            Ok(number) => number.checked_sub(1),
            Err(_) => {
                let known = self.groups.iter().position(|known| known == name);
                let mut numbered = self.numbered.iter();
                known.and_then(|known| numbered.position(|group| group.kept == Some(known)))
            }
        };
        let group = number.and_then(|number| Some((number, *self.numbered.get(number)?)));
        let Some((number, group)) = group.filter(|(_, group)| group.is_closed) else {
            return refuse(
                format!("a reference to the group `{name}`, which is not closed before it"),
                "refer to a group that stands before it as a whole",
            );
        };
        if self.flags.ignore_case {
            return refuse(
                format!("a reference to the group `{name}` where case is ignored"),
                "write `(?-i:…)` around it",
            );
        }
        Ok(match group.kept {
            Some(index) => Node::Reference { index }.into(),
            // It will be kept when the pattern is read again.
            None if number < u128::BITS as usize => {
                self.referred |= 1 << number;
                Node::Empty.into()
            }
            None => {
                return refuse(
                    format!("a reference to the group `{name}`, which has no name"),
                    "name the group with `(?P<name>…)`, and refer to it with `(?P=name)`",
                );
            }
        })
    }

    /// Reads `<name>` or `<1>` if that follows; else `\g` is just the letter.
    fn group_reference(&mut self) -> Option<String> {
        let mut ahead = self.reader.clone();
        if !ahead.eat('<') {
            return None;
        }
        let name: String = std::iter::from_fn(|| ahead.next().filter(|&c| c != '>')).collect();
        let is_closed = self.reader.rest().contains('>');
        let is_number = !name.is_empty() && name.chars().all(|c| c.is_numeric());
        if !is_closed || !(class::is_identifier(&name) || is_number) {
            return None;
        }
        self.reader = ahead;
        Some(name)
    }

    /// The escapes that mean the same inside and outside a set.
    fn common_escape(&mut self, offset: usize, c: char) -> Result<Member> {
        if self.dialect == Dialect::Re && "hpP".contains(c) {
            return Err(unknown_escape(offset, c));
        }
        let code = match c {
            'a' => 7,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            'x' => self.hex(offset, 2)?,
            'u' => {
                self.note(Construct::ShortCodePoint, offset);
                self.hex(offset, 4)?
            }
            'U' => {
                self.note(Construct::LongCodePoint, offset);
                self.hex(offset, 8)?
            }
            'd' | 'D' => return self.shorthand(c == 'D', class::digit()),
            's' | 'S' => {
                return self.shorthand(c == 'S', class::space(self.dialect, self.ascii_here()));
            }
            'w' | 'W' => return self.shorthand(c == 'W', class::word(self.dialect)),
            'h' => {
                self.note(Construct::Blank, offset);
                return self.shorthand(false, class::blank());
            }
            'p' | 'P' => return self.property(offset, c),
            'N' if self.is_named_character() => {
                return Err(PatternError::new(offset, r"a named character `\N{...}`")
                    .remedy(r"write its code point instead: `\uXXXX` or `\UXXXXXXXX`"));
            }
            'N' if self.dialect == Dialect::Regex => 'N'.into(),
            c if c.is_ascii_alphabetic() => return Err(unknown_escape(offset, c)),
            c => c.into(),
        };
        Ok(Member::Code(code))
    }

    fn hex(&mut self, offset: usize, length: usize) -> Result<u32> {
        let digits = self.reader.digits(16, length);
        if digits.len() < length {
            let message = format!("an escape that needs {length} hexadecimal digits");
            return Err(PatternError::new(offset, message));
        }
        match u32::from_str_radix(&digits, 16) {
            Ok(code) if code <= 0x10_FFFF => Ok(code),
            _ => Err(PatternError::new(offset, "a code point above 10FFFF")),
        }
    }

    fn shorthand(&self, negate: bool, class: Option<ClassUnicode>) -> Result<Member> {
        match class {
            Some(class) => {
                let ascii = self.ascii_here();
                Ok(Member::Property(self.single(
                    class.clone(),
                    class,
                    negate,
                    ascii,
                )))
            }
            None => {
                let message = "a class whose Unicode tables were not built in";
                Err(PatternError::new(self.reader.at(), message))
            }
        }
    }

    /// Whether `{NAME}` follows, known or not; else `\N` is just the letter.
    fn is_named_character(&self) -> bool {
        let name = |c: char| c.is_ascii_alphanumeric() || c == ' ' || c == '-';
        self.reader
            .rest()
            .strip_prefix('{')
            .is_some_and(|rest| rest.trim_start_matches(name).starts_with('}'))
    }

    /// `\p{...}` and `\pL`, after the letter; if it isn't one, just the letter.
    fn property(&mut self, offset: usize, letter: char) -> Result<Member> {
        let before = self.reader.at();
        let ascii = self.ascii_here();
        match self.reader.next() {
            Some(c @ ('C' | 'L' | 'M' | 'N' | 'P' | 'S' | 'Z')) => {
                self.note(Construct::Property, offset);
                return self.find_property(offset, (letter == 'P', ascii), &c.to_string(), None);
            }
            Some('{') => {
                let negate = self.reader.eat('^');
                let (name, value) = self.property_name();
                if self.reader.eat('}') {
                    self.note(Construct::Property, offset);
                    let negate = negate != (letter == 'P');
                    return self.find_property(offset, (negate, ascii), &name, value.as_deref());
                }
            }
            _ => {}
        }
        self.reader.go_back(before);
        Ok(Member::Code(letter.into()))
    }

    /// A name as in `[:alpha:]`, after the `[:`; `None` if it isn't one.
    fn posix(&mut self, offset: usize) -> Result<Option<Member>> {
        let before = self.reader.at();
        let negate = self.reader.eat('^');
        let (name, value) = self.property_name();
        if self.reader.raw_eat(":]") {
            self.note(Construct::PosixClass, offset);
            let name = class::posix_name(name);
            // Unlike `\p`, these don't listen to the flags of their group.
            return self
                .find_property(offset, (negate, self.known.ascii), &name, value.as_deref())
                .map(Some);
        }
        self.reader.go_back(before);
        Ok(None)
    }

    /// `name`, `name=value` or `name:value`.
    fn property_name(&mut self) -> (String, Option<String>) {
        let name = self.property_word("&_-. ");
        let before = self.reader.at();
        if self.reader.eat('=') || self.reader.eat(':') {
            let value = self.property_word("&_-. /");
            if !value.is_empty() {
                return (name, Some(value));
            }
        }
        self.reader.go_back(before);
        (name, None)
    }

    fn property_word(&mut self, extra: &str) -> String {
        let mut word = String::new();
        loop {
            let before = self.reader.at();
            match self.reader.next() {
                Some(c) if c.is_ascii_alphanumeric() || extra.contains(c) => word.push(c),
                _ => {
                    self.reader.go_back(before);
                    return word;
                }
            }
        }
    }

    fn find_property(
        &self,
        offset: usize,
        (negate, ascii): (bool, bool),
        name: &str,
        value: Option<&str>,
    ) -> Result<Member> {
        // By itself, it is what has case at all; under ASCII rules the module mostly leaves it as it is.
        let ignore_case = self.flags.ignore_case && !ascii;
        let found =
            class::property(name, value, ignore_case).zip(class::property(name, value, false));
        match found {
            Some((alone, plain)) => Ok(Member::Property(self.single(alone, plain, negate, ascii))),
            None => {
                let value = value.map(|value| format!("={value}")).unwrap_or_default();
                let message = format!("the unknown property `{name}{value}`");
                Err(PatternError::new(offset, message).remedy(
                    "use a general category, a script or a yes/no property of Unicode, \
                     or write a set of ranges `[...]`",
                ))
            }
        }
    }

    /// What a property is by itself, and what it is in a set, given all that it holds.
    fn single(
        &self,
        mut alone: ClassUnicode,
        mut plain: ClassUnicode,
        negate: bool,
        ascii: bool,
    ) -> Single {
        // What holds for any character does so under ASCII rules, too.
        if ascii && alone != class::range(0, char::MAX.into()) {
            alone.intersect(&class::range(0, 0x7F));
            plain.intersect(&class::range(0, 0x7F));
        }
        self.fold(&mut plain);
        let single = Single {
            alone,
            in_set: plain,
        };
        if negate { single.negated() } else { single }
    }

    /// A set, after its `[`. White space counts here, even in verbose mode.
    pub(super) fn set(&mut self, offset: usize) -> Result<Piece> {
        self.reader.verbose = false;
        let set = self.set_members(offset);
        self.reader.verbose = self.flags.verbose;
        set
    }

    fn set_members(&mut self, offset: usize) -> Result<Piece> {
        let negate = self.reader.eat('^');
        let mut members = Vec::new();
        let mut is_range = false;
        while members.is_empty() || self.reader.peek() != Some(']') {
            is_range = self.set_item(offset, &mut members)?;
            // Many members are put together now and then, since each may be large.
            if members.len() > 64 {
                members = vec![Single::union(members)];
            }
        }
        self.reader.next();
        is_range &= members.len() == 1;
        let mut set = Single::union(members);
        if negate {
            set = set.negated();
        }
        // The module makes no set of a range and its neighbours.
        Ok(match is_range {
            true => Node::Class(set.alone).into(),
            false => Piece::Single(set),
        })
    }

    /// One member, or three of what only looks like a range; says whether it is a range.
    fn set_item(&mut self, offset: usize, set: &mut Vec<Single>) -> Result<bool> {
        self.count_item()?;
        let start = self.reader.at();
        let low = match self.member(offset)? {
            Member::Code(code) => code,
            Member::Property(property) => {
                set.push(property);
                if self.dialect == Dialect::Re && self.begins_range() {
                    return Err(class_in_range(start));
                }
                return Ok(false);
            }
        };
        let minus = self.reader.at();
        if !self.reader.eat('-') {
            set.push(self.literal(low).into());
            return Ok(false);
        }
        if self.reader.peek() == Some(']') {
            self.reader.go_back(minus);
            set.push(self.literal(low).into());
            return Ok(false);
        }
        match self.member(offset)? {
            Member::Code(high) if high < low => Err(PatternError::new(
                start,
                "a range whose end is before its start",
            )
            .remedy(r"write `\-` for a literal dash")),
            Member::Code(high) => {
                let mut range = class::range(low, high);
                self.fold(&mut range);
                set.push(range.into());
                Ok(low < high)
            }
            Member::Property(_) if self.dialect == Dialect::Re => Err(class_in_range(start)),
            Member::Property(property) => {
                set.push(self.literal(low).into());
                set.push(self.literal('-'.into()).into());
                set.push(property);
                Ok(false)
            }
        }
    }

    /// Whether a dash follows that is not the last of the set.
    fn begins_range(&self) -> bool {
        let rest = self.reader.rest();
        rest.starts_with('-') && !rest.starts_with("-]")
    }

    fn member(&mut self, set_offset: usize) -> Result<Member> {
        let offset = self.reader.at();
        match self.reader.next() {
            None => Err(
                PatternError::new(set_offset, "a set `[...` without its `]`")
                    .remedy(r"write `\[` for a literal bracket"),
            ),
            Some('[') if self.dialect == Dialect::Regex && self.reader.eat(':') => {
                match self.posix(offset)? {
                    Some(member) => Ok(member),
                    None => {
                        self.reader.go_back(offset + 1);
                        self.note(Construct::SetOperator, offset);
                        Ok(Member::Code('['.into()))
                    }
                }
            }
            Some('\\') => self.set_escape(offset),
            Some(c) => {
                if c == '[' || (matches!(c, '&' | '~') && self.reader.rest().starts_with(c)) {
                    self.note(Construct::SetOperator, offset);
                }
                Ok(Member::Code(c.into()))
            }
        }
    }

    fn set_escape(&mut self, offset: usize) -> Result<Member> {
        match self.reader.next() {
            None => {
                let message = "a backslash at the end of the pattern";
                Err(PatternError::new(offset, message))
            }
            Some('b') => Ok(Member::Code(8)),
            Some(first @ '0'..='7') => {
                self.note(Construct::Octal, offset);
                let digits = format!("{first}{}", self.reader.digits(8, 2));
                Ok(Member::Code(octal(&digits)))
            }
            Some(c @ ('8' | '9')) => {
                let message = format!(r"the unknown escape `\{c}` in a set");
                Err(PatternError::new(offset, message))
            }
            Some(c) => self.common_escape(offset, c),
        }
    }
}

fn unknown_escape(offset: usize, c: char) -> PatternError {
    PatternError::new(offset, format!(r"the unknown escape `\{c}`"))
}

fn class_in_range(offset: usize) -> PatternError {
    PatternError::new(
        offset,
        "a range that begins or ends with a class of characters",
    )
    .remedy(r"write `\-` for a literal dash")
}

/// At most three octal digits, so the value is small.
fn octal(digits: &str) -> u32 {
    u32::from_str_radix(digits, 8).unwrap_or(0)
}

/// `\R`: a carriage return with its line feed is one line break, never half of it.
fn line_break() -> Node {
    let pair = Node::Concat(vec![
        Node::Class(class::one('\r'.into())),
        Node::Class(class::one('\n'.into())),
    ]);
    let mut single = class::range(0x0A, 0x0D);
    single.union(&class::one(0x85));
    single.union(&class::range(0x2028, 0x2029));
    Node::Atomic(Box::new(Node::Alternation(vec![pair, Node::Class(single)])))
}
