//! How much of a text a pattern holds back while the text is still growing.

use super::{Meter, Pattern, Search, TooCostly, Verdict, Window};

impl Pattern {
    /// How many bytes at the end of a text may still become a match, or belong to one.
    pub fn holds_back(&self, text: &str, meter: &mut Meter) -> Result<usize, TooCostly> {
        let mut search = self.search();
        let held = self.held_from(&mut search, &Window::whole(text), meter);
        self.give_back(search);
        held.map(|from| text.len() - from)
    }

    /// From where on a text is held back when all matches in it have fired.
    fn held_from(
        &self,
        search: &mut Search,
        window: &Window<'_>,
        meter: &mut Meter,
    ) -> Result<usize, TooCostly> {
        let mut from = 0;
        while from < window.end() {
            search.start(window, from);
            search.advance(self, window, window.end(), meter)?;
            match search.verdict(self, window, false, meter)? {
                Verdict::Found { start, end } if end < window.end() => {
                    let beyond = window.char_at(start).map_or(0, char::len_utf8);
                    from = end.max(start + beyond);
                }
                Verdict::Found { start, .. } | Verdict::Partial { start } => return Ok(start),
                Verdict::Nothing => break,
            }
        }
        Ok(window.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_still_become_a_match_is_held_back() {
        for (pattern, held) in [
            (".*?<end>", 18),
            (r"[\s\S]*", 18),
            ("(?=.*</x>)", 18),
            (r"\A(?=.*?</x>)", 18),
            ("like.*?</x>", 13),
            (r"\s*</think>", 0),
            (r"\w+:", 3),
            ("<f=[^>]+>", 0),
            (r"(?<=</x>.*)\s+<y>", 0),
            ("t.*?i", 8),
            ("a*", 0),
        ] {
            let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("{error}"));
            let text = "Say, like that too";
            let found = compiled.holds_back(text, &mut Meter::new(text.len()));
            assert_eq!(found, Ok(held), "{pattern}");
        }
    }
}
