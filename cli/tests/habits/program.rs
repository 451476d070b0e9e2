//! The program in a folder of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub const RESPONSE_TEMPLATE: &str = r#"{
  "start_anchor": "<bot>",
  "fields": {
    "calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json"},
    "content": {"close": "<end>"}
  }
}
"#;

/// All of its turns can be read back.
pub const CHAT_TEMPLATE: &str = "{%- for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}\
    {%- endfor %}{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";

/// A folder with a response template, a chat template, and a fixture that passes.
pub struct Folder(TempDir);

/// What came of running the program.
#[derive(Debug)]
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Folder {
    pub fn new() -> Folder {
        let place = Folder(tempfile::tempdir().unwrap());
        place.write("template.json", RESPONSE_TEMPLATE);
        place.write("chat.jinja", CHAT_TEMPLATE);
        place.write(
            "good.fixture.yaml",
            "response_template: template.json\ncases:\n  - name: one\n    output: Hi<end>\n    \
             message: {content: Hi}\n",
        );
        place
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// A command with its arguments, which spaces divide.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
        command
            .args(arguments.split_whitespace())
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, arguments: &str) -> Outcome {
        self.run_with(arguments, "")
    }

    pub fn run_with(&self, arguments: &str, stdin: impl AsRef<[u8]>) -> Outcome {
        finish(self.command(arguments), stdin.as_ref())
    }

    /// The error that a command ends with. It exits with 2.
    pub fn error(&self, arguments: &str) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}: {outcome:?}");
        let error = outcome.stderr.trim_end().strip_prefix("error: ");
        error.expect("an error").to_owned()
    }
}

/// Runs a command to its end with this standard input.
pub fn finish(mut command: Command, stdin: &[u8]) -> Outcome {
    let mut child = command.spawn().unwrap();
    // A program that has had enough reads no further.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Outcome {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code(),
    }
}
