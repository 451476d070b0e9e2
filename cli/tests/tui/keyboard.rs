//! Signs for keys, so that what is pressed can be written as a text.

use crossterm::event::KeyCode;

/// The key that a sign stands for: a letter for itself.
pub fn key(sign: char) -> KeyCode {
    match sign {
        '→' => KeyCode::Right,
        '←' => KeyCode::Left,
        '↑' => KeyCode::Up,
        '↓' => KeyCode::Down,
        '⇞' => KeyCode::PageUp,
        '⇟' => KeyCode::PageDown,
        '⇤' => KeyCode::Home,
        '⇥' => KeyCode::End,
        '⏎' => KeyCode::Enter,
        '⎋' => KeyCode::Esc,
        '↹' => KeyCode::Tab,
        letter => KeyCode::Char(letter),
    }
}
