//! Texts from outside, read whole up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::position::Position;

/// A file that can't be read.
#[derive(Debug, Error)]
#[error("{}: {fault}", path.display())]
#[non_exhaustive]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Why it can't.
    pub fault: ReadFault,
}

/// Why a text can't be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadFault {
    /// The system refuses it.
    #[error("{}", refused(.0))]
    System(io::Error),
    /// It is larger than it may be.
    #[error("the file is larger than {}", size(*limit))]
    TooLarge {
        /// The largest size allowed, in bytes.
        limit: u64,
    },
    /// It is not UTF-8.
    #[error("byte {} is not valid UTF-8: save the text as UTF-8", position.offset)]
    NotUtf8 {
        /// The first byte that is wrong.
        position: Position,
    },
}

impl From<io::Error> for ReadFault {
    fn from(error: io::Error) -> ReadFault {
        ReadFault::System(error)
    }
}

/// What the error of the system means, for people.
pub(crate) fn refused(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file: check the path".to_owned(),
        _ => error.to_string(),
    }
}

fn size(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    match bytes.is_multiple_of(MEBIBYTE) {
        true => format!("{} MiB", bytes / MEBIBYTE),
        false => format!("{bytes} bytes"),
    }
}

/// Reads a file of text, which may have so many bytes. Nothing is read of one that is known to have
/// more.
///
/// ```
/// use unjinja::files::read_text;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("output.txt");
/// std::fs::write(&path, "Hello!")?;
/// assert_eq!(read_text(&path, 1 << 20)?, "Hello!");
///
/// let error = read_text(&path, 5).expect_err("it has six");
/// assert!(error.to_string().ends_with("output.txt: the file is larger than 5 bytes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the system does not let it be read, or it is too large, or not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    let read = || {
        let file = File::open(path)?;
        match file.metadata()?.len() > limit {
            true => Err(ReadFault::TooLarge { limit }),
            false => read_all(file, limit),
        }
    };
    read().map_err(|fault| ReadError {
        path: path.to_owned(),
        fault,
    })
}

/// Reads a text to its end, which may have so many bytes.
///
/// ```
/// use unjinja::files::{ReadFault, read_all};
///
/// assert_eq!(read_all("Hello!".as_bytes(), 6)?, "Hello!");
/// assert!(matches!(read_all("Hello!".as_bytes(), 5), Err(ReadFault::TooLarge { .. })));
/// # Ok::<(), ReadFault>(())
/// ```
///
/// # Errors
///
/// As for [`read_text`].
pub fn read_all(source: impl Read, limit: u64) -> Result<String, ReadFault> {
    let mut bytes = Vec::new();
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(ReadFault::TooLarge { limit });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        ReadFault::NotUtf8 {
            position: Position::START.after(valid),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_up_to_a_limit() {
        for (bytes, limit, expected) in [
            (&b""[..], 0, Ok("")),
            ("é".as_bytes(), 2, Ok("é")),
            ("é".as_bytes(), u64::MAX, Ok("é")),
            ("aé".as_bytes(), 2, Err("the file is larger than 2 bytes")),
            (
                b"a\n\xc3\xa9\xff",
                9,
                Err("byte 4 is not valid UTF-8: save the text as UTF-8"),
            ),
        ] {
            let read = read_all(bytes, limit).map_err(|fault| fault.to_string());
            assert_eq!(read.as_deref().map_err(String::as_str), expected);
        }
        let fault = read_all(&b"a\n\xc3\xa9\xff"[..], 9);
        assert!(
            matches!(
                fault,
                Err(ReadFault::NotUtf8 {
                    position: Position {
                        line: 2,
                        column: 2,
                        ..
                    },
                })
            ),
            "{fault:?}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("none");
        let error = read_text(&missing, 9)
            .expect_err("is not there")
            .to_string();
        let expected = "there is no such file: check the path";
        assert_eq!(error, format!("{}: {expected}", missing.display()));
    }
}
