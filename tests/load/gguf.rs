//! GGUF files, which these tests write themselves.

use std::fs::OpenOptions;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::load::support::{Folder, load};

const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const TEXT: u32 = 8;
const ARRAY: u32 = 9;

/// Writes a GGUF file, entry by entry.
struct Gguf {
    big_endian: bool,
    version: u32,
    entries: u64,
    body: Vec<u8>,
}

impl Gguf {
    fn new() -> Self {
        Self::with(3, false)
    }

    fn with(version: u32, big_endian: bool) -> Self {
        Self {
            big_endian,
            version,
            entries: 0,
            body: Vec::new(),
        }
    }

    fn put32(&self, out: &mut Vec<u8>, number: u32) {
        let number = if self.big_endian {
            number.to_be()
        } else {
            number.to_le()
        };
        out.extend(number.to_ne_bytes());
    }

    fn put64(&self, out: &mut Vec<u8>, number: u64) {
        let number = if self.big_endian {
            number.to_be()
        } else {
            number.to_le()
        };
        out.extend(number.to_ne_bytes());
    }

    fn put_text(&self, out: &mut Vec<u8>, text: &[u8]) {
        self.put64(out, text.len() as u64);
        out.extend(text);
    }

    fn entry(mut self, key: &str, kind: u32, value: impl FnOnce(&Self, &mut Vec<u8>)) -> Self {
        let mut body = std::mem::take(&mut self.body);
        self.put_text(&mut body, key.as_bytes());
        self.put32(&mut body, kind);
        value(&self, &mut body);
        self.body = body;
        self.entries += 1;
        self
    }

    fn text(self, key: &str, text: &str) -> Self {
        self.entry(key, TEXT, |gguf, out| gguf.put_text(out, text.as_bytes()))
    }

    fn number(self, key: &str, number: u32) -> Self {
        self.entry(key, U32, |gguf, out| gguf.put32(out, number))
    }

    fn texts(self, key: &str, texts: &[&str]) -> Self {
        self.entry(key, ARRAY, |gguf, out| {
            gguf.put32(out, TEXT);
            gguf.put64(out, texts.len() as u64);
            for text in texts {
                gguf.put_text(out, text.as_bytes());
            }
        })
    }

    fn numbers(self, key: &str, kind: u32, numbers: &[u32]) -> Self {
        self.entry(key, ARRAY, |gguf, out| {
            gguf.put32(out, kind);
            gguf.put64(out, numbers.len() as u64);
            for number in numbers {
                gguf.put32(out, *number);
            }
        })
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        self.put32(&mut out, self.version);
        self.put64(&mut out, 7);
        self.put64(&mut out, self.entries);
        out.extend(&self.body);
        out
    }
}

/// As a converted model would have it.
fn model(gguf: Gguf) -> Gguf {
    gguf.text("general.architecture", "llama")
        .entry("general.alignment", F32, |gguf, out| gguf.put32(out, 0))
        .number("tokenizer.ggml.bos_token_id", 1)
        .texts("tokenizer.chat_templates", &["tool_use"])
        .text("tokenizer.chat_template.tool_use", "tools")
        .numbers("tokenizer.ggml.token_type", I32, &[2, 3, 3, 1, 4, 3])
        .texts(
            "tokenizer.ggml.tokens",
            &["<unk>", "<s>", "</s>", "a", "<user>", "<end>"],
        )
        .number("tokenizer.ggml.eos_token_id", 5)
        .entry("nested", ARRAY, |gguf, out| {
            gguf.put32(out, ARRAY);
            gguf.put64(out, 1);
            gguf.put32(out, TEXT);
            gguf.put64(out, 1);
            gguf.put_text(out, b"x");
        })
        .text("tokenizer.chat_template", "{{ messages }}")
}

#[test]
fn template_and_tokens() {
    for (version, big_endian) in [(2, false), (3, false), (3, true)] {
        let folder = Folder::new(&[]);
        // What the file holds counts, not its name.
        for name in ["model.gguf", "sha256-of-ollama"] {
            folder.write(name, model(Gguf::with(version, big_endian)).bytes());
            let template = folder.load(name);
            assert_eq!(template.jinja, "{{ messages }}");
            assert_eq!(template.name, folder.file(name).display().to_string());
            assert_eq!(template.bos_token.as_deref(), Some("<s>"));
            assert_eq!(template.eos_token.as_deref(), Some("<end>"));
            assert_eq!(template.special_tokens, ["<s>", "</s>", "<end>"]);
            assert_eq!(template.variants, ["tool_use", "default"]);
            let origins = template.origins;
            for (origin, key) in [
                (origins.template, "chat_template"),
                (origins.bos_token, "ggml.bos_token_id"),
                (origins.eos_token, "ggml.eos_token_id"),
                (origins.special_tokens, "ggml.token_type"),
            ] {
                assert_eq!(origin, Some(format!("{name}: tokenizer.{key}")));
            }
            let template = folder.load_variant(name, "tool_use");
            assert_eq!(template.jinja, "tools");
            let origin = format!("{name}: tokenizer.chat_template.tool_use");
            assert_eq!(template.origins.template, Some(origin));
        }
    }
}

/// Errors advise to put a configuration beside the file.
#[test]
fn tokens_that_it_lacks_come_from_beside_it() {
    let config = r#"{"bos_token": "<other>", "eos_token": "<beside>"}"#;
    let folder = Folder::new(&[("tokenizer_config.json", config)]);
    let bare = Gguf::new().text("tokenizer.chat_template", "{{ messages }}");
    folder.write("bare.gguf", bare.bytes());
    let template = folder.load("bare.gguf");
    assert_eq!(template.bos_token.as_deref(), Some("<other>"));
    assert_eq!(template.eos_token.as_deref(), Some("<beside>"));
    let origin = template.origins.eos_token;
    assert_eq!(origin.as_deref(), Some("tokenizer_config.json"));
    // Its own count more.
    folder.write("whole.gguf", model(Gguf::new()).bytes());
    let template = folder.load("whole.gguf");
    assert_eq!(template.bos_token.as_deref(), Some("<s>"));
    assert_eq!(template.eos_token.as_deref(), Some("<end>"));
}

#[test]
fn weights_are_not_read() {
    let folder = Folder::new(&[]);
    let words: Vec<_> = (0..150_000).map(|id| format!("token{id}")).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let mut types = vec![1; words.len()];
    types[words.len() - 1] = 3;
    let gguf = Gguf::new()
        .texts("tokenizer.ggml.tokens", &words)
        .numbers("tokenizer.ggml.scores", F32, &types)
        .numbers("tokenizer.ggml.token_type", I32, &types)
        .texts("tokenizer.ggml.merges", &words)
        .number("tokenizer.ggml.eos_token_id", 149_999)
        .text("tokenizer.chat_template", "x");
    let path = folder.write("model.gguf", gguf.bytes());
    let file = OpenOptions::new().write(true).open(path).expect("opens");
    if file.set_len(40 << 30).is_err() {
        return; // The file system has no sparse files.
    }
    let start = Instant::now();
    let template = folder.load("model.gguf");
    let taken = start.elapsed();
    assert_eq!(template.eos_token.as_deref(), Some("token149999"));
    assert_eq!(template.special_tokens, ["token149999"]);
    assert_eq!((template.variant, template.variants), (None, vec![]));
    // It takes milliseconds. Builds without optimization on busy machines need not prove it.
    eprintln!("loading took {taken:?}");
    assert!(taken < Duration::from_secs(5), "{taken:?}");
}

#[test]
fn models_that_lack_something() {
    let folder = Folder::new(&[]);
    folder.write(
        "a.gguf",
        Gguf::new().text("tokenizer.chat_template", "x").bytes(),
    );
    let template = folder.load("a.gguf");
    assert_eq!((template.bos_token, template.eos_token), (None, None));
    assert_eq!(template.origins.eos_token, None);

    let out_of_range = Gguf::new()
        .text("tokenizer.chat_template", "x")
        .number("tokenizer.ggml.bos_token_id", u32::MAX)
        .number("tokenizer.ggml.eos_token_id", 1)
        .numbers("tokenizer.ggml.token_type", U32, &[3, 1, 3, 3])
        .texts("tokenizer.ggml.tokens", &["a"]);
    folder.write("b.gguf", out_of_range.bytes());
    let template = folder.load("b.gguf");
    assert_eq!((template.bos_token, template.eos_token), (None, None));
    assert_eq!(template.special_tokens, ["a"]);

    for (name, remedy) in [
        (
            "c.gguf",
            "its metadata has no `tokenizer.chat_template`: give the template as a file of its own",
        ),
        (
            "c-00002-of-00003.gguf",
            "this is a later part of a model: give the first part, `…-00001-of-…`",
        ),
    ] {
        folder.write(name, Gguf::new().number("split.no", 1).bytes());
        assert_eq!(
            folder.error(name, None),
            format!("DIR/{name}: there is no chat template in it: {remedy}")
        );
    }
}

#[test]
fn files_that_are_broken() {
    let too_deep = |depth: u32| {
        Gguf::new().entry("x", ARRAY, |gguf, out| {
            for _ in 1..depth {
                gguf.put32(out, ARRAY);
                gguf.put64(out, 1);
            }
            gguf.put32(out, U32);
            gguf.put64(out, 0);
        })
    };
    let list_of = |kind, count| {
        Gguf::new().entry("x", ARRAY, move |gguf, out| {
            gguf.put32(out, kind);
            gguf.put64(out, count);
        })
    };
    let text_of =
        |length: u64| Gguf::new().entry("x", TEXT, move |gguf, out| gguf.put64(out, length));
    let entries = |entries| Gguf {
        entries,
        ..Gguf::new()
    };
    let key = "tokenizer.chat_template";
    for (bytes, error) in [
        (vec![], "0: this is not a GGUF file"),
        (b"GG".to_vec(), "0: this is not a GGUF file"),
        (b"ggjt123456789".to_vec(), "0: this is not a GGUF file"),
        (b"GGUF".to_vec(), "4: 4 bytes should follow, but only 0 do"),
        (
            Gguf::with(1, false).bytes(),
            "4: this is GGUF version 1, which is too old",
        ),
        (
            Gguf::with(1, true).bytes(),
            "4: this is GGUF version 1, which is too old",
        ),
        (Gguf::with(0, false).bytes(), "4: this is GGUF version 0,"),
        (Gguf::with(4, false).bytes(), "4: this is GGUF version 4,"),
        (
            Gguf::new().bytes()[..20].to_vec(),
            "16: 8 bytes should follow, but only 4 do",
        ),
        (
            entries(1).bytes(),
            "24: 8 bytes should follow, but only 0 do",
        ),
        (
            entries(u64::MAX).bytes(),
            "16: a number of entries of 18446744073709551615 is more",
        ),
        (
            text_of(1).bytes(),
            "45: 1 bytes should follow, but only 0 do",
        ),
        (
            text_of(u64::MAX).bytes(),
            "45: 18446744073709551615 bytes should follow",
        ),
        (
            list_of(TEXT, u64::MAX).bytes(),
            "49: 18446744073709551615 bytes should follow",
        ),
        (
            list_of(U32, 1 << 62).bytes(),
            "49: 18446744073709551615 bytes should follow",
        ),
        (list_of(13, 1).bytes(), "37: there is no type of value 13"),
        (
            too_deep(5).bytes(),
            "85: a nesting of arrays of 5 is more than the 4",
        ),
        (
            Gguf::new().number(key, 1).bytes(),
            "55: `tokenizer.chat_template` should be a text",
        ),
        (
            Gguf::new().text("tokenizer.ggml.tokens", "x").bytes(),
            "53: `tokenizer.ggml.tokens` should be a list of texts",
        ),
        (
            Gguf::new()
                .texts("tokenizer.ggml.token_type", &["x"])
                .bytes(),
            "57: `tokenizer.ggml.token_type` should be a list of whole numbers",
        ),
        (
            Gguf::new().text("tokenizer.ggml.eos_token_id", "x").bytes(),
            "59: `tokenizer.ggml.eos_token_id` should be a whole number",
        ),
        (
            Gguf::new()
                .entry(key, TEXT, |gguf, out| gguf.put_text(out, b"ab\xff"))
                .bytes(),
            "69: this is not valid UTF-8",
        ),
    ] {
        let folder = Folder::new(&[]);
        folder.write("x.gguf", bytes);
        let found = folder.error("x.gguf", None);
        let expected = format!("DIR/x.gguf: byte {error}");
        assert!(found.starts_with(&expected), "{found}\nis not\n{expected}");
    }
    let folder = Folder::new(&[]);
    folder.write("x.gguf", too_deep(4).bytes());
    assert!(
        folder
            .error("x.gguf", None)
            .contains("there is no chat template")
    );
}

#[test]
fn holes_do_not_count() {
    // All of these would go through gigabytes if they were believed.
    let folder = Folder::new(&[]);
    for (name, gguf) in [
        (
            "text",
            Gguf::new().entry("tokenizer.chat_template", TEXT, |gguf, out| {
                gguf.put64(out, 1 << 33)
            }),
        ),
        (
            "list",
            Gguf::new().entry("x", ARRAY, |gguf, out| {
                gguf.put32(out, TEXT);
                gguf.put64(out, 1 << 31);
            }),
        ),
        (
            "key",
            Gguf {
                entries: 1,
                body: (1_u64 << 33).to_le_bytes().to_vec(),
                ..Gguf::new()
            },
        ),
    ] {
        let path = folder.write(name, gguf.bytes());
        let file = OpenOptions::new().write(true).open(path).expect("opens");
        if file.set_len(40 << 30).is_ok() {
            let error = folder.error(name, None);
            assert!(
                error.contains("that are allowed: the file is damaged"),
                "{error}"
            );
        }
    }
}

/// Loads bytes, and only wants that to end.
fn attempt(bytes: &[u8]) {
    let folder = Folder::new(&[]);
    let path = folder.write("x.gguf", bytes);
    if let Err(error) = load(&path, None) {
        assert!(error.contains("x.gguf"), "{error}");
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), magic: bool) {
        let mut file = if magic { b"GGUF\x03\0\0\0".to_vec() } else { Vec::new() };
        file.extend(bytes);
        attempt(&file);
    }

    #[test]
    fn files_with_changes(
        big_endian: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = model(Gguf::with(3, big_endian)).bytes();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        attempt(&bytes);
    }
}
