//! The program as people run it: what it prints, what it tells, and how it exits.
//!
//! The files it reads are those of `examples/`, and, where something is wrong with them, those of
//! `tests/cli/`. A snapshot holds the standard output, each line of the standard error after a
//! `!`, and the exit code.

// Without the command line there is no program to run.
#![cfg(feature = "cli")]

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;
use unjinja::{Value, json};

/// Far longer than anything here takes: who waits for so long waits in vain.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of running the program.
struct Outcome {
    stdout: String,
    stderr: String,
    status: ExitStatus,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stdout)?;
        for line in self.stderr.lines() {
            writeln!(f, "{}", format!("! {line}").trim_end())?;
        }
        match self.status.code() {
            Some(code) => write!(f, "exit {code}"),
            None => write!(f, "{}", self.status),
        }
    }
}

/// The program in the project's directory, with its arguments, which spaces divide.
fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
    command
        .args(arguments.split_whitespace())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // What clap goes by when it lays out its messages.
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command to its end with this standard input.
fn run(mut command: Command, stdin: &[u8]) -> Outcome {
    let mut child = command.spawn().expect("the program starts");
    let mut pipe = child.stdin.take().expect("the standard input is a pipe");
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            // A program that has had enough reads no further.
            let _ = pipe.write_all(stdin);
        });
        child.wait_with_output().expect("the program ends")
    });
    Outcome {
        stdout: String::from_utf8(output.stdout).expect("it prints UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("it tells UTF-8"),
        status: output.status,
    }
}

fn unjinja(arguments: &str) -> Outcome {
    unjinja_with(arguments, b"")
}

fn unjinja_with(arguments: &str, stdin: impl AsRef<[u8]>) -> Outcome {
    run(command(arguments), stdin.as_ref())
}

/// A directory of its own for the files of one test.
fn scratch(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&directory).expect("the directory can be made");
    directory
}

/// The program at work, for tests that talk with it.
struct Dialogue {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Dialogue {
    fn begin(arguments: &str) -> Dialogue {
        let mut child = command(arguments).spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("the standard output is a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line.expect("it prints UTF-8")).is_err() {
                    return;
                }
            }
        });
        Dialogue {
            stdin: child.stdin.take(),
            child,
            lines,
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("it has not ended");
        stdin.write_all(bytes).expect("the program listens");
        stdin.flush().expect("the program listens");
    }

    /// The next lines that it prints.
    fn hear(&self, lines: usize) -> String {
        let next = |_| {
            let line = self.lines.recv_timeout(PATIENCE);
            line.expect("another line is printed") + "\n"
        };
        (0..lines).map(next).collect()
    }

    /// Closes the standard input: what is printed and told from there on, and the exit code.
    fn end(mut self) -> Outcome {
        drop(self.stdin.take());
        let stdout = self.lines.iter().map(|line| line + "\n").collect();
        let mut stderr = String::new();
        let pipe = self.child.stderr.as_mut();
        pipe.expect("the standard error is a pipe")
            .read_to_string(&mut stderr)
            .expect("it tells UTF-8");
        Outcome {
            stdout,
            stderr,
            status: self.child.wait().expect("the program ends"),
        }
    }
}

impl Drop for Dialogue {
    /// A test that fails leaves no program behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

mod messages {
    use super::*;

    #[test]
    fn an_output_becomes_a_message() {
        let arguments = "parse -t examples/template.json";
        let output = "<think>Easy.</think>Hello!<call name=\"wave\">hands: both</call><|end|>";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {
          "role": "assistant",
          "thinking": "Easy.",
          "content": "Hello!",
          "tool_calls": [
            {
              "type": "function",
              "function": {
                "name": "wave",
                "arguments": {
                  "hands": "both"
                }
              }
            }
          ]
        }
        exit 0
        "#);
    }

    #[test]
    fn the_prompt_may_begin_the_message() {
        let parsed = unjinja(
            "parse -t examples/template.json --prefix examples/prompt.txt examples/output.txt",
        );
        assert_snapshot!(parsed, @r#"
        {
          "role": "assistant",
          "thinking": "Two days should be enough to tell.",
          "content": "Let me look at the sky over Oslo.",
          "tool_calls": [
            {
              "type": "function",
              "function": {
                "name": "forecast",
                "arguments": {
                  "city": "Oslo",
                  "days": "2"
                }
              }
            }
          ]
        }
        exit 0
        "#);
    }

    #[test]
    fn a_short_prompt_can_be_given_right_here() {
        let mut command = command("parse -t examples/template.json --prefix-text");
        command.arg("<|assistant|>\n<think>Hm.");
        assert_snapshot!(run(command, b"..</think>Yes."), @r#"
        {
          "role": "assistant",
          "thinking": "Hm...",
          "content": "Yes."
        }
        exit 0
        "#);
    }

    #[test]
    fn a_prompt_without_the_anchor_is_parsed_whole() {
        let arguments = "parse -t examples/template.json --prefix-text <think>Hm.";
        assert_snapshot!(unjinja_with(arguments, "..</think>Yes."), @r#"
        {
          "role": "assistant",
          "thinking": "Hm...",
          "content": "Yes."
        }
        ! warning: the template's anchor is not in the prefix, so all of it is parsed as part of the message
        exit 0
        "#);
    }

    #[test]
    fn an_empty_prompt_is_none() {
        let mut command = command("parse -t examples/template.json --prefix-text");
        command.arg("");
        assert_snapshot!(run(command, b"Yes."), @r#"
        {
          "role": "assistant",
          "content": "Yes."
        }
        exit 0
        "#);
    }

    #[test]
    fn tools_type_the_arguments() {
        let parsed = unjinja(
            "parse -t examples/template.json --prefix examples/prompt.txt \
             --tools examples/tools.json examples/output.txt",
        );
        assert_snapshot!(parsed, @r#"
        {
          "role": "assistant",
          "thinking": "Two days should be enough to tell.",
          "content": "Let me look at the sky over Oslo.",
          "tool_calls": [
            {
              "type": "function",
              "function": {
                "name": "forecast",
                "arguments": {
                  "city": "Oslo",
                  "days": 2
                }
              }
            }
          ]
        }
        exit 0
        "#);
    }

    #[test]
    fn a_tokenizer_configuration_may_hold_the_template() {
        let arguments = "parse -t tests/cli/tokenizer_config.json";
        assert_snapshot!(unjinja_with(arguments, "Hello!<|end|>"), @r#"
        {
          "content": "Hello!"
        }
        exit 0
        "#);
    }

    #[test]
    fn an_empty_output_is_told() {
        assert_snapshot!(unjinja("parse -t examples/template.json"), @r#"
        {
          "role": "assistant"
        }
        ! warning: the output is empty
        exit 0
        "#);
    }

    #[test]
    fn closing_delimiters_in_strings_are_ignored_on_demand() {
        let output = r#"<call>{"name": "say", "arguments": {"text": "</call>"}}</call>Said."#;
        let arguments = "parse -t tests/cli/json_calls.json";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        ! error: field `tool_calls`, bytes 6 to 45 of the message: this is not JSON: a string that does not end at line 1, column 39, in "{\"name\": \"say\", \"arguments\": {\"text\": \""
        exit 1
        "#);
        let arguments = "parse -t tests/cli/json_calls.json --body-aware-close";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {
          "tool_calls": [
            {
              "function": {
                "name": "say",
                "arguments": {
                  "text": "</call>"
                }
              }
            }
          ],
          "content": "Said."
        }
        exit 0
        "#);
    }
}

mod events {
    use super::*;

    #[test]
    fn each_is_a_line() {
        let parsed = unjinja(
            "parse -t examples/template.json --prefix examples/prompt.txt --events \
             examples/output.txt",
        );
        assert_snapshot!(parsed, @r#"
        {"type":"region_open","field":"thinking"}
        {"type":"region_chunk","field":"thinking","text":"\n","dirty":false}
        {"type":"region_chunk","field":"thinking","text":"Two days should be enough to tell.\n","dirty":false}
        {"type":"region_close","field":"thinking","value":"Two days should be enough to tell."}
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"\n\nLet me look at the sky over Oslo.\n","dirty":false}
        {"type":"region_close","field":"content","value":"Let me look at the sky over Oslo."}
        {"type":"region_open","field":"tool_calls"}
        {"type":"region_chunk","field":"tool_calls","text":"\ncity: Oslo\ndays: 2\n","dirty":true}
        {"type":"region_close","field":"tool_calls","value":{"type":"function","function":{"name":"forecast","arguments":{"city":"Oslo","days":"2"}}}}
        exit 0
        "#);
    }

    #[test]
    fn pieces_have_so_many_characters() {
        let arguments = "parse -t examples/template.json --events --chunk 3";
        assert_snapshot!(unjinja_with(arguments, "<think>né日本</think>ok"), @r#"
        {"type":"region_open","field":"thinking"}
        {"type":"region_chunk","field":"thinking","text":"né","dirty":false}
        {"type":"region_chunk","field":"thinking","text":"日本","dirty":false}
        {"type":"region_close","field":"thinking","value":"né日本"}
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"ok","dirty":false}
        {"type":"region_close","field":"content","value":"ok"}
        exit 0
        "#);
    }

    #[test]
    fn spans_tell_where_delimiters_lie() {
        let arguments = "parse -t examples/template.json --events --spans";
        let output = "Well:<call name=\"wait\">s: 1</call><|end|>\n";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {"type":"region_open","field":"content","span":[0,0],"captures":{}}
        {"type":"region_chunk","field":"content","text":"Well:","dirty":false}
        {"type":"region_close","field":"content","value":"Well:","span":[5,5]}
        {"type":"region_open","field":"tool_calls","span":[5,23],"captures":{"name":"wait"}}
        {"type":"region_chunk","field":"tool_calls","text":"s: 1","dirty":true}
        {"type":"region_close","field":"tool_calls","value":{"type":"function","function":{"name":"wait","arguments":{"s":"1"}}},"span":[27,34]}
        exit 0
        "#);
    }

    /// Each line is awaited before more is written: it came out while the input was still open.
    #[test]
    fn they_come_out_while_the_model_writes() {
        let mut dialogue = Dialogue::begin("parse -t examples/template.json --events");
        dialogue.say(b"<think>");
        let opened = dialogue.hear(1);
        dialogue.say(b"Let me see. </thi");
        let thought = dialogue.hear(1);
        dialogue.say(b"nk>");
        let closed = dialogue.hear(1);
        dialogue.say(b"Yes.");
        let answer = dialogue.hear(2);
        let heard = format!(
            "{opened}…\n{thought}…\n{closed}…\n{answer}…\n{}",
            dialogue.end()
        );
        assert_snapshot!(heard, @r#"
        {"type":"region_open","field":"thinking"}
        …
        {"type":"region_chunk","field":"thinking","text":"Let me see. ","dirty":false}
        …
        {"type":"region_close","field":"thinking","value":"Let me see."}
        …
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"Yes.","dirty":false}
        …
        {"type":"region_close","field":"content","value":"Yes."}
        exit 0
        "#);
    }

    /// The text before the cut is awaited, so the cut character's halves do come in two reads.
    #[test]
    fn a_character_cut_in_two_is_put_together() {
        let mut dialogue = Dialogue::begin("parse -t examples/template.json --events");
        let character = "日".as_bytes();
        dialogue.say(&[b"a", &character[..2]].concat());
        let before = dialogue.hear(2);
        dialogue.say(&character[2..]);
        let after = dialogue.hear(1);
        assert_snapshot!(format!("{before}…\n{after}…\n{}", dialogue.end()), @r#"
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"a","dirty":false}
        …
        {"type":"region_chunk","field":"content","text":"日","dirty":false}
        …
        {"type":"region_close","field":"content","value":"a日"}
        exit 0
        "#);
    }
}

mod refused_templates {
    use super::*;

    #[test]
    fn broken_json() {
        assert_snapshot!(unjinja("parse -t tests/cli/broken.json"), @"
        ! error: tests/cli/broken.json:5:5: this is not JSON: expected `,` or `}`
        exit 2
        ");
    }

    #[test]
    fn no_object() {
        assert_snapshot!(unjinja("parse -t tests/cli/list.json"), @r#"
        ! error: tests/cli/list.json:1:1: a response template is an object, and this is an array: write `{"start_anchor": …, "fields": {…}}`
        exit 2
        "#);
    }

    #[test]
    fn an_unknown_key() {
        assert_snapshot!(unjinja("parse -t tests/cli/typo.json"), @"
        ! error: tests/cli/typo.json:4:37: /fields/thinking/clsoe: unknown key `clsoe`: did you mean `close`?
        exit 2
        ");
    }

    #[test]
    fn several_faults() {
        assert_snapshot!(unjinja("parse -t tests/cli/faults.json"), @r"
        ! error: tests/cli/faults.json:1:1: there is no `start_anchor`: give the text that begins the assistant's message in a prompt, or a `start_anchor_pattern`
        ! tests/cli/faults.json:2:14: /version: this version of the language is not known: only version 1 is
        ! tests/cli/faults.json:3:3: /feilds: unknown key `feilds`: did you mean `fields`?
        ! tests/cli/faults.json:5:46: /fields/thinking/close: an empty literal would match everywhere: write the text that the model writes
        ! tests/cli/faults.json:7:23: /fields/tool_calls/open_pattern: the pattern can't have a group without its `)`, as at its byte 6: write `\(` for a literal parenthesis
        ! tests/cli/faults.json:9:18: /fields/tool_calls/content: there is no content parser `yaml`: known are `text`, `int`, `float`, `bool`, `json`, `xml-inline`, `kv-lines`
        ! tests/cli/faults.json:11:28: /fields/content/repeats: expected true or false, found a string
        ! tests/cli/faults.json:12:13: /fields/rest: `rest` and `content` both lack an opening delimiter: only one field can take the text that no other claims: give one of them `open`
        exit 2
        ");
    }

    #[test]
    fn faults_in_a_tokenizer_configuration() {
        assert_snapshot!(unjinja("parse -t tests/cli/tokenizer_config_faults.json"), @r"
        ! error: tests/cli/tokenizer_config_faults.json:7:60: /response_template/fields/thinking/strip: unknown key `strip`: it belongs into `content_args`
        ! tests/cli/tokenizer_config_faults.json:8:36: /response_template/fields/content/close_pattern: the pattern can't have a group without its `)`, as at its byte 7: write `\(` for a literal parenthesis
        exit 2
        ");
    }

    #[test]
    fn an_empty_file() {
        assert_snapshot!(unjinja("parse -t tests/cli/empty.json"), @"
        ! error: tests/cli/empty.json: the file is empty, and JSON was expected
        exit 2
        ");
    }

    #[test]
    fn a_file_that_is_not_utf_8() {
        let directory = scratch("a_file_that_is_not_utf_8");
        fs::write(
            directory.join("latin.json"),
            b"{\"start_anchor\": \"\xe9\"}",
        )
        .expect("written");
        let mut command = command("parse -t latin.json");
        command.current_dir(directory);
        assert_snapshot!(run(command, b""), @"
        ! error: latin.json: byte 18 is not valid UTF-8: save the text as UTF-8
        exit 2
        ");
    }

    #[test]
    fn an_argument_without_effect_is_only_told() {
        let arguments = "parse -t tests/cli/unused.json";
        assert_snapshot!(unjinja_with(arguments, " Hello! "), @r#"
        {
          "content": "Hello!"
        }
        ! warning: tests/cli/unused.json:4:34: /fields/content/content_args/stirp: `stirp` has no effect on `text`: did you mean `strip`?
        exit 0
        "#);
    }
}

mod failures {
    use super::*;

    /// The words for it are the system's.
    #[test]
    fn a_missing_file() {
        let reason = fs::File::open("missing").expect_err("there is no such file");
        for arguments in [
            "parse -t missing",
            "parse -t examples/template.json --prefix missing",
            "parse -t examples/template.json --tools missing",
            "parse -t examples/template.json missing",
            "parse --jsonl missing",
        ] {
            let expected = format!("! error: missing: {reason}\nexit 2");
            assert_eq!(unjinja(arguments).to_string(), expected, "{arguments}");
        }
    }

    #[test]
    fn tools_that_are_no_list() {
        let arguments = "parse -t examples/template.json --tools examples/template.json";
        assert_snapshot!(unjinja(arguments), @"
        ! error: examples/template.json: expected a list of tools, found an object
        exit 2
        ");
    }

    #[test]
    fn an_output_that_is_not_utf_8() {
        let arguments = "parse -t examples/template.json";
        assert_snapshot!(unjinja_with(arguments, b"caf\xc3\xa9 caf\xe9"), @"
        ! error: standard input: byte 9 is not valid UTF-8: save the text as UTF-8
        exit 2
        ");
    }

    #[test]
    fn an_output_that_ends_within_a_character() {
        let arguments = "parse -t examples/template.json --events";
        assert_snapshot!(unjinja_with(arguments, b"caf\xc3"), @r#"
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"caf","dirty":false}
        ! error: standard input: byte 3 is not valid UTF-8: save the text as UTF-8
        exit 2
        "#);
    }

    #[test]
    fn a_region_that_does_not_parse() {
        let output = "Well:<call>{\"name\": wait}</call>Done.";
        let arguments = "parse -t tests/cli/json_calls.json";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        ! error: field `tool_calls`, bytes 11 to 25 of the message: this is not JSON: expected a value at line 1, column 10, in "{\"name\": wait}"
        exit 1
        "#);
        let arguments = "parse -t tests/cli/json_calls.json --events";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"Well:","dirty":false}
        {"type":"region_close","field":"content","value":"Well:"}
        {"type":"region_open","field":"tool_calls"}
        {"type":"region_chunk","field":"tool_calls","text":"{\"name\": wait}","dirty":true}
        ! error: field `tool_calls`, bytes 11 to 25 of the message: this is not JSON: expected a value at line 1, column 10, in "{\"name\": wait}"
        exit 1
        "#);
    }

    #[test]
    fn a_region_that_does_not_parse_can_be_an_event() {
        let output = "Well:<call>{\"name\": wait}</call>";
        let arguments = "parse -t tests/cli/json_calls.json --on-malformed event";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {
          "content": "Well:"
        }
        exit 0
        "#);
        let arguments = "parse -t tests/cli/json_calls.json --on-malformed event --events";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"Well:","dirty":false}
        {"type":"region_close","field":"content","value":"Well:"}
        {"type":"region_open","field":"tool_calls"}
        {"type":"region_chunk","field":"tool_calls","text":"{\"name\": wait}","dirty":true}
        {"type":"region_malformed","field":"tool_calls","raw":"{\"name\": wait}","error":"this is not JSON: expected a value at line 1, column 10, in \"{\\\"name\\\": wait}\""}
        exit 0
        "#);
    }

    #[test]
    fn a_region_of_the_prompt_that_does_not_parse() {
        let arguments = "parse -t tests/cli/json_calls.json --prefix-text A:<call>{</call>";
        assert_snapshot!(unjinja_with(arguments, "Done."), @r#"
        ! error: field `tool_calls`, bytes 6 to 7 of the message: this is not JSON: expected a key in double quotes at line 1, column 2, but the text ends there, in "{"
        exit 1
        "#);
    }

    #[test]
    fn a_field_that_is_missing() {
        let arguments = "parse -t tests/cli/required.json";
        assert_snapshot!(unjinja_with(arguments, "Hello!"), @r#"
        ! error: the output lacks `thinking`: make it `"optional": true` if a message may do without
        exit 1
        "#);
    }

    #[test]
    fn wrong_usage() {
        assert_snapshot!(unjinja("parse"), @"
        ! error: the following required arguments were not provided:
        !   --template <FILE>
        !
        ! Usage: unjinja parse --template <FILE> [OUTPUT]
        !
        ! For more information, try '--help'.
        exit 2
        ");
        assert_snapshot!(unjinja("parse -t examples/template.json --chunk 0"), @"
        ! error: invalid value '0' for '--chunk <N>': 0 is not in 1..=4294967295
        !
        ! For more information, try '--help'.
        exit 2
        ");
        assert_snapshot!(unjinja("parse -t examples/template.json --jsonl -"), @"
        ! error: the argument '--template <FILE>' cannot be used with '--jsonl <FILE>'
        !
        ! Usage: unjinja parse --template <FILE> [OUTPUT]
        !
        ! For more information, try '--help'.
        exit 2
        ");
        assert_snapshot!(unjinja("prase"), @"
        ! error: unrecognized subcommand 'prase'
        !
        !   tip: a similar subcommand exists: 'parse'
        !
        ! Usage: unjinja <COMMAND>
        !
        ! For more information, try '--help'.
        exit 2
        ");
    }

    #[test]
    fn no_command() {
        let told = unjinja("");
        assert_eq!((told.stdout.as_str(), told.status.code()), ("", Some(2)));
        assert!(told.stderr.contains("Exit codes:"), "{told}");
    }
}

mod batches {
    use super::*;

    #[test]
    fn every_line_has_its_answer() {
        assert_snapshot!(unjinja("parse --jsonl tests/cli/cases.jsonl"), @r#"
        {"id":"message","initial_events":[{"type":"region_open","field":"thinking"}],"events":[[{"type":"region_chunk","field":"thinking","text":"Hm.","dirty":false}],[{"type":"region_close","field":"thinking","value":"Hm."},{"type":"region_open","field":"content"},{"type":"region_chunk","field":"content","text":"Hello","dirty":false}],[{"type":"region_chunk","field":"content","text":"!","dirty":false},{"type":"region_close","field":"content","value":"Hello!"}]],"final_events":[],"message":{"role":"assistant","thinking":"Hm.","content":"Hello!"}}
        {"id":2,"initial_events":[],"events":[[{"type":"region_open","field":"n"},{"type":"region_chunk","field":"n","text":" 42 ","dirty":false}]],"final_events":[{"type":"region_close","field":"n","value":42}],"message":{"n":42}}
        {"id":"refused","load_error":"/fields: there are no fields: name at least one, such as `\"content\": {}`"}
        {"id":"missing","load_error":"there is no `response_template`"}
        {"id":"in the prefix","error":"field `n`, bytes 1 to 4 of the message: \"one\" is not a whole number","error_at":"prefix"}
        {"id":"in a chunk","initial_events":[],"events":[[{"type":"region_open","field":"n"},{"type":"region_chunk","field":"n","text":"1","dirty":false},{"type":"region_close","field":"n","value":1}]],"error":"field `n`, bytes 4 to 7 of the message: \"two\" is not a whole number","error_at":1}
        {"id":"in the end","initial_events":[],"events":[[{"type":"region_open","field":"n"},{"type":"region_chunk","field":"n","text":"1","dirty":false},{"type":"region_close","field":"n","value":1}],[{"type":"region_open","field":"n"},{"type":"region_chunk","field":"n","text":"two","dirty":false}]],"error":"field `n`, bytes 4 to 7 of the message: \"two\" is not a whole number","error_at":"finalize"}
        {"id":"without text","initial_events":[],"events":[],"error":"there are neither `chunks` nor `text`","error_at":0}
        {"id":null,"initial_events":[],"events":[[{"type":"region_open","field":"content"},{"type":"region_chunk","field":"content","text":"nobody","dirty":false}]],"final_events":[{"type":"region_close","field":"content","value":"nobody"}],"message":{"content":"nobody"}}
        {"id":"typed","initial_events":[],"events":[[{"type":"region_open","field":"tool_calls"},{"type":"region_chunk","field":"tool_calls","text":"seconds: 3","dirty":true},{"type":"region_close","field":"tool_calls","value":{"function":{"name":"wait","arguments":{"seconds":3}}}}]],"final_events":[],"message":{"tool_calls":{"function":{"name":"wait","arguments":{"seconds":3}}}}}
        exit 0
        "#);
    }

    #[test]
    fn options_hold_for_all_lines() {
        let case = r#"{"id": 1, "response_template": {"start_anchor": "A:",
            "fields": {"n": {"open": "<", "close": ">", "content": "int"}}}, "text": "<one>"}"#;
        let arguments = "parse --jsonl - --on-malformed event --spans";
        assert_snapshot!(unjinja_with(arguments, case.replace('\n', "")), @r#"
        {"id":1,"initial_events":[],"events":[[{"type":"region_open","field":"n","span":[0,1],"captures":{}},{"type":"region_chunk","field":"n","text":"one","dirty":false},{"type":"region_malformed","field":"n","raw":"one","error":"\"one\" is not a whole number","span":[4,5]}]],"final_events":[],"message":{}}
        exit 0
        "#);
    }

    #[test]
    fn a_broken_line_leaves_the_others_alone() {
        let template = r#"{"start_anchor": "A:", "fields": {"content": {}}}"#;
        let case = |id, text| {
            format!("{{\"id\": {id}, \"response_template\": {template}, \"text\": \"{text}\"}}")
        };
        let lines = [
            case(1, "one"),
            r#"{"id": 2, "text": two}"#.into(),
            String::new(),
            "[4]".into(),
            case(5, "five"),
        ];
        assert_snapshot!(unjinja_with("parse --jsonl -", lines.join("\n")), @r#"
        {"id":1,"initial_events":[],"events":[[{"type":"region_open","field":"content"},{"type":"region_chunk","field":"content","text":"one","dirty":false}]],"final_events":[{"type":"region_close","field":"content","value":"one"}],"message":{"content":"one"}}
        {"id":5,"initial_events":[],"events":[[{"type":"region_open","field":"content"},{"type":"region_chunk","field":"content","text":"five","dirty":false}]],"final_events":[{"type":"region_close","field":"content","value":"five"}],"message":{"content":"five"}}
        ! error: standard input:2:19: this is not JSON: expected a value
        ! error: standard input:4: expected an object, found an array
        ! error: standard input: 2 lines could not be read
        exit 2
        "#);
    }

    /// The lines are of very different lengths, and so take very different times on their threads.
    #[test]
    fn answers_keep_the_order_of_the_lines() {
        const LINES: usize = 3_000;
        let line = |id: usize| {
            let text = "word ".repeat(if id.is_multiple_of(97) {
                20_000
            } else {
                id % 7
            });
            format!(
                "{{\"id\": {id}, \"response_template\": {{\"start_anchor\": \"A:\", \"fields\": \
                 {{\"content\": {{}}}}}}, \"chunks\": [\"{text}\", \"{id}\"]}}\n"
            )
        };
        let answered = unjinja_with("parse --jsonl -", (0..LINES).map(line).collect::<String>());
        assert_eq!(answered.stderr, "");
        assert_eq!(answered.status.code(), Some(0));
        let mut ids = 0..LINES;
        for answer in answered.stdout.lines() {
            let answer = json::read(answer).expect("each answer is JSON");
            let id = ids.next().expect("no more answers than lines");
            assert_eq!(answer.get("id"), Some(&Value::from(id)));
            let content = answer.pointer("/message/content").and_then(Value::as_str);
            assert!(content.is_some_and(|text| text.ends_with(&id.to_string())));
        }
        assert_eq!(ids.next(), None, "every line has an answer");
    }
}

/// Whoever reads the output may stop at any time, as `head` does.
mod closed_outputs {
    use super::*;

    /// Runs the program on a long input, reads so many lines of what it prints, and goes away.
    fn leave_after(lines: usize, arguments: &str, line: &str) -> Outcome {
        let mut child = command(arguments).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("the standard input is a pipe");
        let mut stdout = BufReader::new(child.stdout.take().expect("so is the standard output"));
        let input = line.repeat((8 << 20) / line.len());
        thread::scope(|scope| {
            scope.spawn(move || {
                // The program ends before it has read all.
                let _ = stdin.write_all(input.as_bytes());
            });
            let mut read = String::new();
            for _ in 0..lines {
                stdout.read_line(&mut read).expect("it prints UTF-8");
            }
            drop(stdout);
            let output = child.wait_with_output().expect("the program ends");
            Outcome {
                stdout: read,
                stderr: String::from_utf8(output.stderr).expect("it tells UTF-8"),
                status: output.status,
            }
        })
    }

    #[test]
    fn events_end_quietly() {
        let arguments = "parse -t examples/template.json --events --chunk 100";
        assert_snapshot!(leave_after(1, arguments, "On and on. "), @r#"
        {"type":"region_open","field":"content"}
        exit 0
        "#);
    }

    #[test]
    fn batches_end_quietly() {
        let case = "{\"id\": 1, \"response_template\": {\"start_anchor\": \"A:\", \"fields\": \
                    {\"content\": {}}}, \"text\": \"\"}\n";
        assert_snapshot!(leave_after(1, "parse --jsonl -", case), @r#"
        {"id":1,"initial_events":[],"events":[[]],"final_events":[],"message":{}}
        exit 0
        "#);
    }
}

/// The README shows what the program does: each command in a `console` block runs and prints what
/// stands below it.
#[test]
fn the_readme_tells_the_truth() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(project.join(file)).expect("the file is there");
    let readme = read("README.md");
    let mut shown = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for example in block.split("$ ").skip(1) {
            let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
            let Some(arguments) = command.strip_prefix("cargo run --release -- ") else {
                continue;
            };
            let (arguments, stdin) = match arguments.split_once(" < ") {
                Some((arguments, file)) => (arguments, read(file)),
                None => (arguments, String::new()),
            };
            let outcome = unjinja_with(arguments, stdin);
            assert_eq!(outcome.stdout, expected, "{command}");
            shown += 1;
        }
    }
    assert!(shown > 0, "the README shows what the program does");
}
