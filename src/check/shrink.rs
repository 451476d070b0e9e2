//! The smallest part of something that still shows what the whole shows.

/// So often it is asked whether a part shows it.
const MAX_QUESTIONS: usize = 4_000;

/// Leaves out whatever can be left out of a list, so that it still shows what it did: larger parts
/// first, then smaller ones, down to single items.
pub(super) fn smallest<T: Clone>(items: &[T], mut shows_it: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut left = items.to_vec();
    let mut parts = 2;
    let mut questions = 0;
    while !left.is_empty() && questions < MAX_QUESTIONS {
        let size = left.len().div_ceil(parts);
        let mut start = 0;
        let mut has_shrunk = false;
        while start < left.len() && questions < MAX_QUESTIONS {
            let end = (start + size).min(left.len());
            let rest = [&left[..start], &left[end..]].concat();
            questions += 1;
            match shows_it(&rest) {
                true => {
                    left = rest;
                    has_shrunk = true;
                }
                false => start = end,
            }
        }
        match (has_shrunk, size) {
            (false, 1) => break,
            (true, 1) => {}
            _ => parts = (parts * 2).min(left.len().max(2)),
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes() {
        let all: Vec<usize> = (0..1000).collect();
        for wanted in [vec![], vec![0], vec![999], vec![3, 500, 501, 998]] {
            let shows_it = |items: &[usize]| wanted.iter().all(|w| items.contains(w));
            assert_eq!(smallest(&all, shows_it), wanted);
        }
    }

    #[test]
    fn one_that_is_left_may_let_others_go() {
        // Of the odd numbers all or none may stay, and one even number has to.
        let all: Vec<usize> = (0..20).collect();
        let shows_it = |items: &[usize]| {
            let odd = items.iter().filter(|n| *n % 2 == 1).count();
            (odd == 10 || odd == 0) && items.iter().any(|n| n % 2 == 0)
        };
        let left = smallest(&all, shows_it);
        assert!(shows_it(&left) && left.len() <= 11, "{left:?}");
    }

    #[test]
    fn it_ends_soon() {
        let all: Vec<usize> = (0..100_000).collect();
        let mut questions = 0;
        let left = smallest(&all, |items| {
            questions += 1;
            items.len() % 2 == 0
        });
        assert!(questions <= MAX_QUESTIONS && left.len() % 2 == 0);
    }
}
