//! What opens, closes and separates the calls of a turn, or the arguments of a call.

/// The texts around each of several parts that follow each other.
#[derive(Default)]
pub(super) struct Delimiters {
    pub(super) open: String,
    pub(super) close: String,
    pub(super) separator: String,
}

impl Delimiters {
    /// Nothing stands around the parts, and this between them.
    pub(super) fn separator(text: &str) -> Delimiters {
        Delimiters {
            separator: text.to_owned(),
            ..Delimiters::default()
        }
    }

    /// Splits what stands between two parts into what closes the first, what separates them, and
    /// what opens the second. How long the first and the last are is given in bytes.
    pub(super) fn split(between: &str, close: usize, open: usize) -> Delimiters {
        // In this order: `</a>, <a>` closes one, separates both, opens the other.
        let start = between.len() - open;
        Delimiters {
            open: between[start..].to_owned(),
            close: between[..close].to_owned(),
            separator: between[close..start].to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_closes_then_separates_then_opens() {
        for (between, close, open, expected) in [
            ("</a>, <a>", 4, 3, ["<a>", "</a>", ", "]),
            ("</a><a>", 4, 3, ["<a>", "</a>", ""]),
            (", ", 0, 0, ["", "", ", "]),
            ("\n- ", 0, 3, ["\n- ", "", ""]),
        ] {
            let found = Delimiters::split(between, close, open);
            let found = [found.open, found.close, found.separator];
            assert_eq!(found, expected, "{between:?}");
        }
    }
}
