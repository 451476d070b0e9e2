//! Chance that can be repeated, and the words and markers it makes.

/// A generator of numbers that are the same for the same seed (splitmix64).
pub struct Random(u64);

impl Random {
    /// Each `stream` of a seed has numbers of its own.
    pub fn new(seed: u64, stream: u64) -> Random {
        Random(seed ^ stream.wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// One of several, each as likely as its weight says.
    pub fn weighted<T: Clone>(&mut self, from: &[(usize, T)]) -> T {
        let mut left = self.below(from.iter().map(|(weight, _)| weight).sum());
        let found = from.iter().find(|(weight, _)| match left < *weight {
            true => true,
            false => {
                left -= weight;
                false
            }
        });
        found.expect("weights add up").1.clone()
    }
}

/// What stands around the word of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bracket {
    /// `<word>`
    Angle,
    /// `[WORD]`
    Square,
    /// `<|word|>`
    Pipe,
    /// `<｜word｜>`
    WidePipe,
    /// `◁word▷`
    Triangle,
    /// `<|word>` and `<word|>`
    Half,
    /// `@@WORD@@`
    At,
    /// `==word==`
    Equals,
    /// `%%WORD%%`
    Percent,
    /// `<<word>>`
    Double,
    /// `[[WORD]]`
    DoubleSquare,
    /// `【word】`
    Lenticular,
    /// `<~word~>`
    Tilde,
    /// `WORD:` and `END_WORD`, which need lines of their own
    Colon,
    /// `<|open|>word<|sep|>` and `<|close|>word<|sep|>`, all with the same three parts
    Parts,
    /// `::<word>` and `::</word>`, all with the same sign before them
    Led,
}

impl Bracket {
    /// Whether markers have characters that all of them share.
    pub fn is_shared(self) -> bool {
        matches!(self, Bracket::Parts | Bracket::Led)
    }
}

/// What opens something, and what closes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub open: String,
    pub close: String,
}

impl Pair {
    pub fn new(open: impl Into<String>, close: impl Into<String>) -> Pair {
        Pair {
            open: open.into(),
            close: close.into(),
        }
    }

    /// With another pair within.
    pub fn around(&self, inner: &Pair) -> Pair {
        Pair::new(
            format!("{}{}", self.open, inner.open),
            format!("{}{}", inner.close, self.close),
        )
    }

    /// With white space within the markers.
    pub fn spaced(self, space: &str) -> Pair {
        if space.is_empty() || self.close.starts_with('\n') {
            return self;
        }
        Pair::new(
            format!("{}{space}", self.open),
            format!("{space}{}", self.close),
        )
    }
}

/// Makes up words and markers, none of them twice.
pub struct Inventor {
    pub random: Random,
    used: Vec<String>,
    signs: Signs,
}

/// What markers share that share their characters.
#[derive(Default)]
struct Signs {
    open: String,
    close: String,
    shut: String,
    lead: String,
}

impl Inventor {
    pub fn new(random: Random) -> Inventor {
        let mut inventor = Inventor {
            random,
            used: Vec::new(),
            signs: Signs::default(),
        };
        let bracket = inventor
            .random
            .pick(&[Bracket::Pipe, Bracket::Angle, Bracket::Double]);
        inventor.signs = Signs {
            open: inventor.marker(bracket, &["open", "begin"]),
            close: inventor.marker(bracket, &["close", "done"]),
            shut: inventor.marker(bracket, &["sep", "x"]),
            lead: inventor
                .random
                .pick(&["::", "]<]sign[>[", "~|", "^", "|#|"])
                .to_owned(),
        };
        inventor
    }

    /// What stands before and behind the words of a marker that holds more than one.
    pub fn around_words(&self, bracket: Bracket) -> (String, String) {
        let (open, shut) = match bracket {
            Bracket::Angle => ("<", ">"),
            Bracket::Square => ("[", "]"),
            Bracket::Pipe => ("<|", "|>"),
            Bracket::WidePipe => ("<｜", "｜>"),
            Bracket::Triangle => ("◁", "▷"),
            Bracket::Half => ("<|", ">"),
            Bracket::At => ("@@", "@@"),
            Bracket::Equals => ("==", "=="),
            Bracket::Percent => ("%%", "%%"),
            Bracket::Double => ("<<", ">>"),
            Bracket::DoubleSquare => ("[[", "]]"),
            Bracket::Lenticular => ("【", "】"),
            Bracket::Tilde => ("<~", "~>"),
            Bracket::Colon => ("", ":"),
            Bracket::Parts => return (self.signs.open.clone(), self.signs.shut.clone()),
            Bracket::Led => return (format!("{}<", self.signs.lead), ">".to_owned()),
        };
        (open.to_owned(), shut.to_owned())
    }

    /// What closes a marker that holds more than a word.
    pub fn closing(&self, bracket: Bracket, word: &str) -> String {
        let (open, shut) = self.around_words(bracket);
        match bracket {
            Bracket::Half => format!("<{word}|>"),
            Bracket::Parts => format!("{}{word}{shut}", self.signs.close),
            _ => format!("{open}/{word}{shut}"),
        }
    }

    /// A new word, sometimes one of those that say what it is for.
    pub fn word(&mut self, sensible: &[&str]) -> String {
        loop {
            let word = match self.random.chance(35) {
                true => self.random.pick(sensible).to_owned(),
                false => self.nonsense(),
            };
            let alike =
                |other: &String| other.starts_with(&word) || word.starts_with(other.as_str());
            if !self.used.iter().any(alike) {
                self.used.push(word.clone());
                return word;
            }
        }
    }

    fn nonsense(&mut self) -> String {
        let mut word = String::new();
        for _ in 0..self.random.below(2) + 2 {
            word.push(self.random.pick(&Vec::from_iter("bdfgklmnprstvz".chars())));
            word.push(self.random.pick(&Vec::from_iter("aeiou".chars())));
        }
        if self.random.chance(50) {
            word.push(self.random.pick(&['l', 'n', 'r', 's', 'x']));
        }
        if self.random.chance(10) {
            word.push_str("_tok");
        }
        word
    }

    pub fn bracket(&mut self) -> Bracket {
        self.random.weighted(&[
            (26, Bracket::Angle),
            (14, Bracket::Square),
            (22, Bracket::Pipe),
            (8, Bracket::WidePipe),
            (8, Bracket::Triangle),
            (8, Bracket::Half),
            (5, Bracket::At),
            (4, Bracket::Equals),
            (2, Bracket::Percent),
            (4, Bracket::Double),
            (3, Bracket::DoubleSquare),
            (3, Bracket::Lenticular),
            (3, Bracket::Tilde),
            (5, Bracket::Colon),
            (4, Bracket::Parts),
            (4, Bracket::Led),
        ])
    }

    /// A marker that ends a turn.
    pub fn end(&mut self, bracket: Bracket, sensible: &[&str]) -> String {
        match bracket {
            Bracket::Colon => format!("\nEND_{}", self.word(sensible).to_uppercase()),
            _ => self.marker(bracket, sensible),
        }
    }

    /// A marker that stands alone.
    pub fn marker(&mut self, bracket: Bracket, sensible: &[&str]) -> String {
        let word = self.word(sensible);
        match bracket {
            Bracket::Half => format!("<|{word}|>"),
            _ => self.wrap(bracket, &word),
        }
    }

    fn wrap(&mut self, bracket: Bracket, word: &str) -> String {
        match bracket {
            Bracket::Angle => format!("<{word}>"),
            Bracket::Square => format!("[{}]", word.to_uppercase()),
            Bracket::Pipe | Bracket::Half => format!("<|{word}|>"),
            Bracket::WidePipe => format!("<｜{}｜>", word.replace('_', "▁")),
            Bracket::Triangle => format!("◁{word}▷"),
            Bracket::At => format!("@@{}@@", word.to_uppercase()),
            Bracket::Equals => format!("=={word}=="),
            Bracket::Percent => format!("%%{}%%", word.to_uppercase()),
            Bracket::Double => format!("<<{word}>>"),
            Bracket::DoubleSquare => format!("[[{}]]", word.to_uppercase()),
            Bracket::Lenticular => format!("【{word}】"),
            Bracket::Tilde => format!("<~{word}~>"),
            Bracket::Colon => format!("{}:", word.to_uppercase()),
            Bracket::Parts => format!("{}{word}{}", self.signs.open, self.signs.shut),
            Bracket::Led => format!("{}<{word}>", self.signs.lead),
        }
    }

    /// A marker that opens, and one that closes.
    pub fn pair(&mut self, bracket: Bracket, sensible: &[&str]) -> Pair {
        let word = self.word(sensible);
        match bracket {
            Bracket::Half => return Pair::new(format!("<|{word}>"), format!("<{word}|>")),
            Bracket::Colon => {
                let word = word.to_uppercase();
                return Pair::new(format!("{word}:"), format!("\nEND_{word}\n"));
            }
            Bracket::Parts | Bracket::Led => {
                return Pair::new(self.wrap(bracket, &word), self.closing(bracket, &word));
            }
            _ => {}
        }
        let slash = match bracket {
            Bracket::Angle | Bracket::Square | Bracket::Triangle | Bracket::Double => 85,
            _ => 35,
        };
        if self.random.chance(slash) {
            let open = self.wrap(bracket, &word);
            let close = self.wrap(bracket, &format!("/{word}"));
            return Pair::new(open, close);
        }
        let (begin, end) = self.random.pick(&[
            ("W_begin", "W_end"),
            ("begin_W", "end_W"),
            ("W_start", "W_end"),
        ]);
        let open = self.wrap(bracket, &begin.replace('W', &word));
        let close = self.wrap(bracket, &end.replace('W', &word));
        Pair::new(open, close)
    }
}
