//! Looking for the bytes of a string that can't be copied as they are.

/// Where the next byte stands that cannot be copied as it is: a quote, a
/// backslash or a control character, and all but printable ASCII if `ASCII`
/// is set. The end if there is none.
///
/// Looks at eight bytes at a time, which is where most of the speed of
/// reading and writing comes from.
#[inline]
pub(super) fn special_from<const ASCII: bool>(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let (words, tail) = rest.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = special_marks::<ASCII>(u64::from_le_bytes(*word));
        if marks != 0 {
            return from + index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let before_tail = from + words.len() * 8;
    // Its first and its last four bytes are looked at together; where they overlap that does no harm.
    if let (Some(first), Some(last)) = (tail.first_chunk(), tail.last_chunk()) {
        let halves = [u32::from_le_bytes(*first), u32::from_le_bytes(*last)].map(u64::from);
        if special_marks::<ASCII>(halves[0] | halves[1] << 32) == 0 {
            return bytes.len();
        }
    }
    let special =
        |&byte: &u8| byte == b'"' || byte == b'\\' || byte < 0x20 || (ASCII && byte >= 0x7F);
    let in_tail = tail.iter().position(special).unwrap_or(tail.len());
    before_tail + in_tail
}

/// Sets the top bit of each special byte in a word. The lowest mark is always
/// right; those above it may be wrong, because subtracting borrows from them.
#[inline]
fn special_marks<const ASCII: bool>(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = ONES << 7;
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & TOPS;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let marks = below(word, 0x20) | equal(b'"') | equal(b'\\');
    if ASCII {
        marks | equal(0x7F) | (word & TOPS)
    } else {
        marks
    }
}
