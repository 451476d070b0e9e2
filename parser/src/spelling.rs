//! Names that are misspelled.

/// Points to the known name that is nearest, or else to all of them.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (edits(name, candidate), candidate))
        .min_by_key(|(edits, _)| *edits);
    match nearest {
        Some((edits, candidate)) if edits <= 1.max(candidate.len() / 4) => {
            format!("did you mean `{candidate}`?")
        }
        _ => format!("known are `{}`", known.join("`, `")),
    }
}

/// The known name that another one nearly is: a letter or two are wrong, and it is none of them itself.
pub fn nearly<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if known.contains(&name) {
        return None;
    }
    let letters = |name: &str| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.sort_unstable();
        letters
    };
    let allowed = match name.chars().count() {
        ..4 => return None,
        // Short names are near to many others: only letters that have changed places count.
        4 => {
            return known
                .iter()
                .copied()
                .find(|other| letters(other) == letters(name));
        }
        5..10 => 1,
        _ => 2,
    };
    let nearest = known
        .iter()
        .map(|candidate| (edits(name, candidate), *candidate))
        .min()?;
    (nearest.0 <= allowed).then_some(nearest.1)
}

/// How many insertions, deletions, replacements and swaps of neighbours make one name the other.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
