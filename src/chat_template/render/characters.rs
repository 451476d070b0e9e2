//! What Python calls characters: printable, part of a name.

use crate::white_space::is_space;

/// Whether `repr` shows a character as it is.
pub(super) fn is_printable(c: char) -> bool {
    c == ' '
        || !(c.is_control()
            || is_space(c)
            || matches!(u32::from(c),
                0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f
                | 0x2028..=0x202e | 0x2060..=0x206f | 0xd800..=0xf8ff | 0xfeff | 0xfff9..=0xfffb
                | 0xe0001..=0xe007f | 0xf0000..))
}

/// Whether a text can be the name of a variable.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters
        .next()
        .is_some_and(|c| c == '_' || c.is_alphabetic());
    first && characters.all(|c| c == '_' || c.is_alphanumeric())
}
