//! The program as people run it: what it prints, what it says, and how it exits.
//!
//! The files it reads are those of `examples/`, and, where something is wrong with them, those of
//! `cli/tests/cli/`. A snapshot holds the standard output, each line of the standard error after a
//! `!`, and the exit code.

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

use crate::support::root::root;

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
        .current_dir(root())
        // What clap goes by when it lays out its messages.
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("GITHUB_WORKSPACE")
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
        stderr: String::from_utf8(output.stderr).expect("it prints UTF-8"),
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

    /// Closes the standard input: what is printed and reported from there on, and the exit code.
    fn end(mut self) -> Outcome {
        drop(self.stdin.take());
        let stdout = self.lines.iter().map(|line| line + "\n").collect();
        let mut stderr = String::new();
        let pipe = self.child.stderr.as_mut();
        pipe.expect("the standard error is a pipe")
            .read_to_string(&mut stderr)
            .expect("it prints UTF-8");
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
        ! warning: the template's anchor, "<|assistant|>\n", is not in the prefix, so all of it is parsed as part of the message
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
        let arguments = "parse -t cli/tests/cli/tokenizer_config.json";
        assert_snapshot!(unjinja_with(arguments, "Hello!<|end|>"), @r#"
        {
          "content": "Hello!"
        }
        exit 0
        "#);
    }

    #[test]
    fn an_empty_output_is_reported() {
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
        let arguments = "parse -t cli/tests/cli/json_calls.json";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        ! error: field `tool_calls`, bytes 6 to 45 of the text since the anchor: this is not JSON: a string that does not end at line 1, column 39, in "{\"name\": \"say\", \"arguments\": {\"text\": \""
        exit 1
        "#);
        let arguments = "parse -t cli/tests/cli/json_calls.json --body-aware-close";
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

/// What `--for` reads a template with.
mod versions {
    use super::*;

    const SPACED: &str = "<x>{ a : 1}</x>";

    fn template(test: &str, field: &str) -> String {
        let path = scratch(test).join("template.json");
        let text =
            format!(r#"{{"start_anchor": "<bot>", "fields": {{{field}, "content": {{}}}}}}"#);
        fs::write(&path, text).expect("it can be written");
        path.to_str().expect("a text").to_owned()
    }

    fn with_free_keys(test: &str) -> String {
        let content = r#""content": "json", "content_args": {"unquoted_keys": true}"#;
        template(
            test,
            &format!(r#""x": {{"open": "<x>", "close": "</x>", {content}}}"#),
        )
    }

    #[test]
    fn a_text_is_read_as_the_version_reads_it_that_is_named() {
        let template = with_free_keys("version_of_parse");
        let read = |target: &str| unjinja_with(&format!("parse -t {template} {target}"), SPACED);
        let newest = read("");
        assert!(newest.status.success(), "{newest}");
        assert!(newest.stdout.contains(r#""a": 1"#), "{newest}");
        assert_eq!(read("--for transformers@5.24").stdout, newest.stdout);
        let older = read("--for transformers@5.23").to_string();
        assert_snapshot!(older, @r#"
        ! error: field `x`, bytes 3 to 11 of the text since the anchor: this is not JSON: expected a key in double quotes at line 1, column 3, in "{ a : 1}"
        exit 1
        "#);
        for engine in ["vllm", "sglang"] {
            assert_eq!(
                read(&format!("--for {engine}")).to_string(),
                older,
                "{engine}"
            );
        }
    }

    #[test]
    fn the_lines_of_a_batch_are_read_by_the_version_too() {
        let template = with_free_keys("version_of_batch");
        let line = format!(r#"{{"id": 1, "text": "{SPACED}"}}"#);
        let read = |target: &str| {
            let arguments = format!("parse -t {template} --jsonl - --no-events {target}");
            unjinja_with(&arguments, &line).stdout
        };
        assert!(read("").contains(r#""x":{"a":1}"#), "{}", read(""));
        let older = read("--for transformers@5.23");
        assert!(older.contains("this is not JSON"), "{older}");
    }

    #[test]
    fn a_template_that_a_version_does_not_have_is_refused() {
        let calls = r#""tool_calls": {"open": "<call>", "close": "</call>", "content": "python-call-list"}"#;
        let template = template("version_of_parser", calls);
        let read = |target: &str| {
            let outcome = unjinja_with(
                &format!("parse -t {template} {target}"),
                "<call>[f(a=1)]</call>",
            );
            outcome.to_string().replace(&template, "template.json")
        };
        assert!(read("").contains(r#""a": 1"#));
        assert_snapshot!(read("--for sglang"), @"
        ! error: template.json: /fields/tool_calls/content: the content parser `python-call-list` is not in version 5.20 of the language: read it with transformers 5.24 or newer, or do without it
        exit 2
        ");
        assert_snapshot!(read("--for vlm"), @"
        ! error: invalid value 'vlm' for '--for <PROFILE>': there is no profile `vlm`: did you mean `vllm`? (`unjinja port --list` lists them all)
        !
        ! For more information, try '--help'.
        exit 2
        ");
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
        {"type":"region_chunk","field":"thinking","text":"Two days should be enough to tell.","dirty":false}
        {"type":"region_close","field":"thinking","value":"Two days should be enough to tell."}
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"Let me look at the sky over Oslo.","dirty":false}
        {"type":"region_close","field":"content","value":"Let me look at the sky over Oslo."}
        {"type":"region_open","field":"tool_calls"}
        {"type":"region_chunk","field":"tool_calls","text":"\ncity: Oslo\ndays: 2\n","dirty":true}
        {"type":"region_close","field":"tool_calls","value":{"type":"function","function":{"name":"forecast","arguments":{"city":"Oslo","days":"2"}}}}
        {"type":"message","message":{"role":"assistant","thinking":"Two days should be enough to tell.","content":"Let me look at the sky over Oslo.","tool_calls":[{"type":"function","function":{"name":"forecast","arguments":{"city":"Oslo","days":"2"}}}]}}
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
        {"type":"region_close","field":"content","value":"ok","at_end":true}
        {"type":"message","message":{"role":"assistant","thinking":"né日本","content":"ok"}}
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
        {"type":"message","message":{"role":"assistant","content":"Well:","tool_calls":[{"type":"function","function":{"name":"wait","arguments":{"s":"1"}}}]}}
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
        // White space may follow, so it takes another character to be sure.
        dialogue.say(b"nk>Y");
        let closed = dialogue.hear(3);
        dialogue.say(b"es.");
        let answer = dialogue.hear(1);
        let heard = format!(
            "{opened}…\n{thought}…\n{closed}…\n{answer}…\n{}",
            dialogue.end()
        );
        assert_snapshot!(heard, @r#"
        {"type":"region_open","field":"thinking"}
        …
        {"type":"region_chunk","field":"thinking","text":"Let me see.","dirty":false}
        …
        {"type":"region_close","field":"thinking","value":"Let me see."}
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"Y","dirty":false}
        …
        {"type":"region_chunk","field":"content","text":"es.","dirty":false}
        …
        {"type":"region_close","field":"content","value":"Yes.","at_end":true}
        {"type":"message","message":{"role":"assistant","thinking":"Let me see.","content":"Yes."}}
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
        {"type":"region_close","field":"content","value":"a日","at_end":true}
        {"type":"message","message":{"role":"assistant","content":"a日"}}
        exit 0
        "#);
    }
}

mod chat_completions {
    use super::*;

    /// What is printed, without what is another in each run: the numbers in ids, and the time.
    fn same_each_time(outcome: &Outcome) -> String {
        let mut shown = outcome.to_string();
        for before in ["chatcmpl-", "call_", "\"created\":", "\"created\": "] {
            let mut parts = shown.split(before);
            let mut out = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                out.push_str(before);
                out.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
            }
            shown = out;
        }
        shown
    }

    #[test]
    fn an_output_becomes_a_completion() {
        let parsed = unjinja(
            "parse -t examples/template.json --prefix examples/prompt.txt --tools examples/tools.json \
             --openai examples/output.txt",
        );
        assert_snapshot!(same_each_time(&parsed), @r##"
        {
          "id": "chatcmpl-",
          "object": "chat.completion",
          "created": ,
          "model": "",
          "choices": [
            {
              "index": 0,
              "message": {
                "role": "assistant",
                "content": "Let me look at the sky over Oslo.",
                "reasoning_content": "Two days should be enough to tell.",
                "tool_calls": [
                  {
                    "id": "call__0",
                    "type": "function",
                    "function": {
                      "name": "forecast",
                      "arguments": "{\"city\":\"Oslo\",\"days\":2}"
                    }
                  }
                ]
              },
              "finish_reason": "tool_calls"
            }
          ]
        }
        exit 0
        "##);
    }

    #[test]
    fn chunks_are_printed_while_a_model_writes() {
        let arguments = "parse -t cli/tests/cli/json_calls.json --openai --events --chunk 25";
        let output =
            "So.<call>{\"name\": \"wave\", \"arguments\": {\"hands\": \"both of them\"}}</call>";
        assert_snapshot!(same_each_time(&unjinja_with(arguments, output)), @r##"
        {"id":"chatcmpl-","object":"chat.completion.chunk","created":,"model":"","choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}
        {"id":"chatcmpl-","object":"chat.completion.chunk","created":,"model":"","choices":[{"index":0,"delta":{"content":"So."},"finish_reason":null}]}
        {"id":"chatcmpl-","object":"chat.completion.chunk","created":,"model":"","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call__0","type":"function","function":{"name":"wave","arguments":""}}]},"finish_reason":null}]}
        {"id":"chatcmpl-","object":"chat.completion.chunk","created":,"model":"","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"hands\": \""}}]},"finish_reason":null}]}
        {"id":"chatcmpl-","object":"chat.completion.chunk","created":,"model":"","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"both of them\"}"}}]},"finish_reason":null}]}
        {"id":"chatcmpl-","object":"chat.completion.chunk","created":,"model":"","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
        {"id":"chatcmpl-","object":"chat.completion","created":,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"So.","tool_calls":[{"id":"call__0","type":"function","function":{"name":"wave","arguments":"{\"hands\": \"both of them\"}"}}]},"finish_reason":"tool_calls"}]}
        exit 0
        "##);
    }

    #[test]
    fn each_line_of_a_batch_has_its_completion() {
        let cases = concat!(
            "{\"id\": \"a\", \"text\": \"So.\"}\n",
            "{\"id\": 2, \"chunks\": [\"<call>{</call>\"], \"finish_reason\": \"length\"}\n",
        );
        let arguments = "parse -t cli/tests/cli/json_calls.json --openai --jsonl -";
        assert_snapshot!(unjinja_with(arguments, cases), @r##"
        {"id":"a","completion":{"id":"a","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"So."},"finish_reason":"stop"}]}}
        {"id":2,"completion":{"id":"2","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"<call>{</call>"},"finish_reason":"length"}]}}
        ! warning: standard input:2: a region of `tool_calls` could not be parsed; `--on-malformed event --events` without `--openai` shows why
        exit 0
        "##);
        let failing = format!("{arguments} --on-malformed fail");
        assert_snapshot!(unjinja_with(&failing, cases), @r##"
        {"id":"a","completion":{"id":"a","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"So."},"finish_reason":"stop"}]}}
        {"id":2,"error":"field `tool_calls`, bytes 6 to 7 of the text since the anchor: this is not JSON: expected a key in double quotes at line 1, column 2, but the text ends there, in \"{\"","error_at":0}
        exit 0
        "##);
        let arguments = format!("{arguments} --on-malformed event");
        assert_snapshot!(unjinja_with(&arguments, cases), @r#"
        {"id":"a","completion":{"id":"a","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"So."},"finish_reason":"stop"}]}}
        {"id":2,"completion":{"id":"2","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":null},"finish_reason":"length"}]}}
        ! warning: standard input:2: a region of `tool_calls` could not be parsed; `--on-malformed event --events` without `--openai` shows why
        exit 0
        "#);
    }

    #[test]
    fn calls_that_cannot_be_read_or_made_become_text() {
        let case = |text: &str| {
            let tools = r#"[{"name": "forecast"}]"#;
            format!(r#"{{"id": "a", "text": "{text}", "tools": {tools}}}"#)
        };
        let misspelt = case("So.<call forecast><city>Oslo</city><days 2</days></call>");
        let unknown = case("So.<call wave></call>");
        for (options, case, expected) in [
            (
                "",
                &misspelt,
                r#""tool_calls":[{"type":"function","function":{"name":"forecast","arguments":{"city":"Oslo"}}}]"#,
            ),
            (
                "--on-unread malformed --on-malformed event",
                &misspelt,
                r#""message":{"role":"assistant","content":"So."}"#,
            ),
            (
                "--openai",
                &misspelt,
                r#""content":"So.<call forecast><city>Oslo</city><days 2</days></call>"},"finish_reason":"stop""#,
            ),
            ("--openai", &unknown, r#""function":{"name":"wave""#),
            (
                "--unknown-tools text",
                &unknown,
                r#""message":{"role":"assistant","content":"So.<call wave></call>"}"#,
            ),
            (
                "--openai --unknown-tools drop",
                &unknown,
                r#""content":"So."},"finish_reason":"stop""#,
            ),
        ] {
            let arguments = format!("parse -t examples/tags.json --jsonl - --no-events {options}");
            let printed = unjinja_with(&arguments, case).stdout;
            assert!(printed.contains(expected), "{options}: {printed}");
        }
    }

    #[test]
    fn a_call_that_is_cut_off_is_left_out_of_completions() {
        let case = r#"{"id": "a", "text": "So.<call>{\"name\": \"wave\", \"arguments\": {\"hands\": \"bo", "finish_reason": "length"}"#;
        let parse = |more: &str| {
            let arguments = format!("parse -t cli/tests/cli/json_calls.json --jsonl - {more}");
            unjinja_with(&arguments, case)
        };
        assert_snapshot!(parse("--openai"), @r##"
        {"id":"a","completion":{"id":"a","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"So."},"finish_reason":"length"}]}}
        ! warning: standard input:1: a call of `wave` is cut off and left out; `--unfinished mark` shows it
        exit 0
        "##);
        assert_snapshot!(parse("--openai --unfinished mark"), @r##"
        {"id":"a","completion":{"id":"a","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"So.","tool_calls":[{"id":"call_a_0","type":"function","function":{"name":"wave","arguments":"{\"hands\": \"bo"},"unfinished":true}]},"finish_reason":"length"}]}}
        exit 0
        "##);
        assert_snapshot!(parse("--unfinished drop"), @r##"
        {"id":"a","initial_events":[],"events":[[{"type":"region_open","field":"content"},{"type":"region_chunk","field":"content","text":"So.","dirty":false},{"type":"region_close","field":"content","value":"So."},{"type":"region_open","field":"tool_calls"},{"type":"region_chunk","field":"tool_calls","text":"{\"name\": \"wave\", \"arguments\": {\"hands\": \"bo","dirty":true}]],"final_events":[{"type":"region_malformed","field":"tool_calls","raw":"{\"name\": \"wave\", \"arguments\": {\"hands\": \"bo","error":"the text ends before this does"}],"message":{"content":"So."}}
        ! warning: standard input:1: a region of `tool_calls` is cut off and left out; `--events` shows it
        exit 0
        "##);
    }

    #[test]
    fn a_response_schema_is_no_template() {
        let arguments = "parse -t examples/response_schema.json --openai examples/output.txt";
        assert_snapshot!(unjinja(arguments), @r##"
        ! error: response schemas read whole texts into messages of any shape: give a response template for `--openai`, which `unjinja convert` makes of a schema
        exit 2
        "##);
    }
}

mod refused_templates {
    use super::*;

    #[test]
    fn broken_json() {
        assert_snapshot!(unjinja("parse -t cli/tests/cli/broken.json"), @"
        ! error: cli/tests/cli/broken.json:5:5: this is not JSON: expected `,` or `}`
        exit 2
        ");
    }

    #[test]
    fn no_object() {
        assert_snapshot!(unjinja("parse -t cli/tests/cli/list.json"), @r#"
        ! error: cli/tests/cli/list.json:1:1: a response template is an object, but this is an array: write `{"start_anchor": …, "fields": {…}}`
        exit 2
        "#);
    }

    #[test]
    fn an_unknown_key() {
        assert_snapshot!(unjinja("parse -t cli/tests/cli/typo.json"), @"
        ! error: cli/tests/cli/typo.json:4:37: /fields/thinking/clsoe: unknown key `clsoe`: did you mean `close`?
        exit 2
        ");
    }

    #[test]
    fn several_faults() {
        assert_snapshot!(unjinja("parse -t cli/tests/cli/faults.json"), @r"
        ! error: cli/tests/cli/faults.json:1:1: there is no `start_anchor`: give the text that begins the assistant's message in a prompt, or a `start_anchor_pattern`
        ! cli/tests/cli/faults.json:2:14: /version: this version of the language is not known: only version 1 is
        ! cli/tests/cli/faults.json:3:3: /feilds: unknown key `feilds`: did you mean `fields`?
        ! cli/tests/cli/faults.json:5:46: /fields/thinking/close: an empty literal would match everywhere: write the text that the model writes
        ! cli/tests/cli/faults.json:7:23: /fields/tool_calls/open_pattern: the pattern can't have a group without its `)`, as at its byte 6: write `\(` for a literal parenthesis
        ! cli/tests/cli/faults.json:9:18: /fields/tool_calls/content: there is no content parser `yaml`: known are `text`, `int`, `float`, `bool`, `json`, `xml-inline`, `kv-lines`, `python-call-list`
        ! cli/tests/cli/faults.json:11:28: /fields/content/repeats: expected true or false, found a string
        exit 2
        ");
    }

    #[test]
    fn faults_in_a_tokenizer_configuration() {
        assert_snapshot!(unjinja("parse -t cli/tests/cli/tokenizer_config_faults.json"), @r"
        ! error: cli/tests/cli/tokenizer_config_faults.json:7:60: /response_template/fields/thinking/strip: unknown key `strip`: it belongs in `content_args`
        ! cli/tests/cli/tokenizer_config_faults.json:8:36: /response_template/fields/content/close_pattern: the pattern can't have a group without its `)`, as at its byte 7: write `\(` for a literal parenthesis
        exit 2
        ");
    }

    #[test]
    fn an_empty_file() {
        assert_snapshot!(unjinja("parse -t cli/tests/cli/empty.json"), @"
        ! error: cli/tests/cli/empty.json: the file is empty, and JSON was expected
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
    fn an_argument_without_effect_is_only_reported() {
        let arguments = "parse -t cli/tests/cli/unused.json";
        assert_snapshot!(unjinja_with(arguments, " Hello! "), @r#"
        {
          "content": "Hello!"
        }
        ! warning: cli/tests/cli/unused.json:4:34: /fields/content/content_args/stirp: `stirp` has no effect on `text`: did you mean `strip`?
        exit 0
        "#);
    }
}

mod failures {
    use super::*;

    /// The words for it are the system's.
    #[test]
    fn a_missing_file() {
        for arguments in [
            "parse -t missing",
            "parse -t examples/template.json --prefix missing",
            "parse -t examples/template.json --tools missing",
            "parse -t examples/template.json missing",
            "parse --jsonl missing",
        ] {
            assert_eq!(
                unjinja(arguments).to_string(),
                "! error: missing: there is no such file: check the path\nexit 2",
                "{arguments}"
            );
        }
    }

    #[test]
    fn tools_that_are_no_list() {
        let arguments = "parse -t examples/template.json --tools examples/template.json";
        assert_snapshot!(unjinja(arguments), @r#"
        ! error: examples/template.json: expected a list of tools, found an object: write each as {"type": "function", "function": {"name": …, "parameters": …}}
        exit 2
        "#);
    }

    #[test]
    fn an_output_that_is_not_utf_8() {
        let arguments = "parse -t examples/template.json";
        assert_snapshot!(unjinja_with(arguments, b"caf\xc3\xa9 caf\xe9"), @r#"
        {
          "role": "assistant",
          "content": "café caf"
        }
        ! error: standard input: byte 9 is not valid UTF-8: save the text as UTF-8, or read on with `--lossy`
        exit 2
        "#);
    }

    #[test]
    fn an_output_that_ends_within_a_character() {
        let arguments = "parse -t examples/template.json --events";
        assert_snapshot!(unjinja_with(arguments, b"caf\xc3"), @r#"
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"caf","dirty":false}
        {"type":"region_close","field":"content","value":"caf","at_end":true}
        {"type":"message","message":{"role":"assistant","content":"caf"}}
        ! error: standard input: byte 3 is not valid UTF-8: save the text as UTF-8, or read on with `--lossy`
        exit 2
        "#);
    }

    #[test]
    fn a_region_that_does_not_parse() {
        let output = "Well:<call>{\"name\": wait}</call>Done.";
        let arguments = "parse -t cli/tests/cli/json_calls.json";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        ! error: field `tool_calls`, bytes 11 to 25 of the text since the anchor: this is not JSON: expected a value at line 1, column 10, in "{\"name\": wait}"
        exit 1
        "#);
        let arguments = "parse -t cli/tests/cli/json_calls.json --events";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"Well:","dirty":false}
        {"type":"region_close","field":"content","value":"Well:"}
        {"type":"region_open","field":"tool_calls"}
        {"type":"region_chunk","field":"tool_calls","text":"{\"name\": wait}","dirty":true}
        ! error: field `tool_calls`, bytes 11 to 25 of the text since the anchor: this is not JSON: expected a value at line 1, column 10, in "{\"name\": wait}"
        exit 1
        "#);
    }

    #[test]
    fn a_region_that_does_not_parse_can_be_an_event() {
        let output = "Well:<call>{\"name\": wait}</call>";
        let arguments = "parse -t cli/tests/cli/json_calls.json --on-malformed event";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {
          "content": "Well:"
        }
        ! warning: a region of `tool_calls` could not be parsed; `--events` shows it
        exit 0
        "#);
        let arguments = "parse -t cli/tests/cli/json_calls.json --on-malformed event --events";
        assert_snapshot!(unjinja_with(arguments, output), @r#"
        {"type":"region_open","field":"content"}
        {"type":"region_chunk","field":"content","text":"Well:","dirty":false}
        {"type":"region_close","field":"content","value":"Well:"}
        {"type":"region_open","field":"tool_calls"}
        {"type":"region_chunk","field":"tool_calls","text":"{\"name\": wait}","dirty":true}
        {"type":"region_malformed","field":"tool_calls","raw":"{\"name\": wait}","error":"this is not JSON: expected a value at line 1, column 10, in \"{\\\"name\\\": wait}\""}
        {"type":"message","message":{"content":"Well:"}}
        exit 0
        "#);
    }

    #[test]
    fn a_region_of_the_prompt_that_does_not_parse() {
        let arguments = "parse -t cli/tests/cli/json_calls.json --prefix-text A:<call>{</call>";
        assert_snapshot!(unjinja_with(arguments, "Done."), @r#"
        ! error: field `tool_calls`, bytes 6 to 7 of the text since the anchor: this is not JSON: expected a key in double quotes at line 1, column 2, but the text ends there, in "{"
        exit 1
        "#);
    }

    #[test]
    fn a_field_that_is_missing() {
        let arguments = "parse -t cli/tests/cli/required.json";
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
        assert_snapshot!(unjinja("parse --events --jsonl -"), @"
        ! error: the argument '--events' cannot be used with:
        !   --jsonl <FILE>
        !   --format <FORMAT>
        !
        ! Usage: unjinja parse --events [OUTPUT]
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
    fn a_command_that_was_left_out() {
        if cfg!(not(feature = "playground")) {
            assert_snapshot!(unjinja("playground --port 8080"), @"
            ! error: this program was built without the command `playground`: build the page with `playground/build`, and then the program with `cargo install --path cli --features playground`
            exit 2
            ");
        }
    }

    #[test]
    fn no_command() {
        let printed = unjinja("");
        assert_eq!(
            (printed.stdout.as_str(), printed.status.code()),
            ("", Some(2))
        );
        assert!(printed.stderr.contains("Exit codes:"), "{printed}");
    }
}

mod batches {
    use super::*;

    #[test]
    fn every_line_has_its_answer() {
        assert_snapshot!(unjinja("parse --jsonl cli/tests/cli/cases.jsonl"), @r#"
        {"id":"message","initial_events":[{"type":"region_open","field":"thinking"}],"events":[[{"type":"region_chunk","field":"thinking","text":"Hm.","dirty":false}],[{"type":"region_close","field":"thinking","value":"Hm."},{"type":"region_open","field":"content"},{"type":"region_chunk","field":"content","text":"Hello","dirty":false}],[{"type":"region_chunk","field":"content","text":"!","dirty":false},{"type":"region_close","field":"content","value":"Hello!"}]],"final_events":[],"message":{"role":"assistant","thinking":"Hm.","content":"Hello!"}}
        {"id":2,"initial_events":[],"events":[[{"type":"region_open","field":"n"},{"type":"region_chunk","field":"n","text":" 42 ","dirty":false}]],"final_events":[{"type":"region_close","field":"n","value":42}],"message":{"n":42}}
        {"id":"refused","load_error":"/fields: there are no fields: name at least one, such as `\"content\": {}`"}
        {"id":"missing","load_error":"there is neither `response_template` nor `response_schema`, and `-t` gives none"}
        {"id":"in the prefix","error":"field `n`, bytes 1 to 4 of the text since the anchor: \"one\" is not a whole number","error_at":"prefix"}
        {"id":"in a chunk","initial_events":[],"events":[[{"type":"region_open","field":"n"},{"type":"region_chunk","field":"n","text":"1","dirty":false},{"type":"region_close","field":"n","value":1}]],"error":"field `n`, bytes 4 to 7 of the text since the anchor: \"two\" is not a whole number","error_at":1}
        {"id":"in the end","initial_events":[],"events":[[{"type":"region_open","field":"n"},{"type":"region_chunk","field":"n","text":"1","dirty":false},{"type":"region_close","field":"n","value":1}],[{"type":"region_open","field":"n"},{"type":"region_chunk","field":"n","text":"two","dirty":false}]],"error":"field `n`, bytes 4 to 7 of the text since the anchor: \"two\" is not a whole number","error_at":"finalize"}
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
        ! warning: standard input:1: a region of `n` could not be parsed; `--events` shows it
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

mod prompts {
    use super::*;

    /// Renders a short template, which comes from the standard input, with a greeting.
    fn render(template: &str, more: &[&str]) -> Outcome {
        let mut command = command("render - --messages cli/tests/cli/greeting.json");
        command.args(more);
        run(command, template.as_bytes())
    }

    #[test]
    fn messages_become_a_prompt() {
        let arguments = "render examples/chat_template.jinja --messages examples/messages.json";
        assert_snapshot!(unjinja(arguments), @"
        <|user|>
        Hello!<|end|>
        <|assistant|>
        Hello! Where are you off to?<|end|>
        <|user|>
        To Oslo. Will I need an umbrella?<|end|>
        exit 0
        ");
        let prompt = format!("{arguments} --add-generation-prompt");
        assert_snapshot!(unjinja(&prompt), @"
        <|user|>
        Hello!<|end|>
        <|assistant|>
        Hello! Where are you off to?<|end|>
        <|user|>
        To Oslo. Will I need an umbrella?<|end|>
        <|assistant|>
        <think>
        exit 0
        ");
    }

    #[test]
    fn tools_are_offered() {
        let rendered = unjinja(
            "render examples/chat_template.jinja --messages examples/messages.json \
             --tools examples/tools.json --add-generation-prompt",
        );
        assert_snapshot!(rendered, @r#"
        <|system|>
        You may call:
        forecast: The weather of the days to come. {"city": {"type": "string"}, "days": {"type": "integer"}}
        <|end|>
        <|user|>
        Hello!<|end|>
        <|assistant|>
        Hello! Where are you off to?<|end|>
        <|user|>
        To Oslo. Will I need an umbrella?<|end|>
        <|assistant|>
        <think>
        exit 0
        "#);
        let prompt = root().join("examples/prompt.txt");
        let prompt = fs::read_to_string(prompt).expect("the file is there");
        assert_eq!(rendered.stdout, prompt, "what `parse` is shown with");
    }

    #[test]
    fn thoughts_and_calls_are_written_after_the_last_question() {
        let arguments =
            "render chat_templates/tagged-json.jinja --messages cli/tests/cli/calls.json";
        assert_snapshot!(unjinja(arguments), @r#"
        <~user~>Be brief.

        Where is it warmer?<~done~>
        <~model~>Let me see.<use>
        {"name": "forecast", "arguments": {"city": "Oslo"}}
        {"name": "forecast", "arguments": {"city": "Rome", "days": 2}}
        </use><~done~>
        <~user~><got>-3</got><~done~>
        <~user~><got>12</got><~done~>
        <~model~><muse>12 is more.</muse>In Rome.<~done~>
        exit 0
        "#);
    }

    #[test]
    fn variables_are_json_or_else_text() {
        let arguments = "render examples/chat_template.jinja -m cli/tests/cli/greeting.json \
                         --add-generation-prompt --var enable_thinking=false";
        assert_snapshot!(unjinja(arguments), @"
        <|user|>
        Hello!<|end|>
        <|assistant|>
        <think>

        </think>

        exit 0
        ");
        let template = "{{ number + 1 }} {{ flag }} {{ list[1] }} {{ text }} {{ quoted }} \
                        {{ equation }} [{{ empty }}]\n\n";
        let given = [
            "number=41",
            "flag=false",
            "list=[1, 2]",
            "text=a few words",
            "quoted=\"7\"",
            "equation=a=b",
            "empty=",
        ];
        let given: Vec<&str> = given.into_iter().flat_map(|v| ["--var", v]).collect();
        assert_snapshot!(render(template, &given), @"
        42 False 2 a few words 7 a=b []
        exit 0
        ");
    }

    #[test]
    fn a_variable_wins_over_what_is_given_anyway() {
        let rendered = render("{{ messages }}\n\n", &["--var", "messages=none at all"]);
        assert_snapshot!(rendered, @"
        none at all
        exit 0
        ");
    }

    #[test]
    fn the_time_can_be_fixed() {
        let template = "{{ strftime_now('%d %b %Y, %H:%M:%S') }}\n\n";
        assert_snapshot!(render(template, &["--now", "2026-01-15T12:34:56"]), @"
        15 Jan 2026, 12:34:56
        exit 0
        ");
        assert_snapshot!(render(template, &["--now", "2026-01-15"]), @"
        15 Jan 2026, 00:00:00
        exit 0
        ");
    }

    #[test]
    fn white_space_can_be_shown() {
        let template = "a b\tc\n\n{{ messages[0].content }}";
        assert_snapshot!(render(template, &["--show-whitespace"]), @"
        a·b→c⏎
        ⏎
        Hello!
        exit 0
        ");
    }

    #[test]
    fn nothing_is_added_to_what_a_template_writes() {
        assert_eq!(render("{{ messages[0].content }}", &[]).stdout, "Hello!");
        assert_eq!(render("{# nothing #}", &[]).to_string(), "exit 0");
    }

    #[test]
    fn tokens_come_from_the_command() {
        let template = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}\n\n";
        assert_snapshot!(render(template, &[]), @"
        Hello!
        exit 0
        ");
        let tokens = ["--bos-token", "<s>", "--eos-token", "</s>"];
        assert_snapshot!(render(template, &tokens), @"
        <s>Hello!</s>
        exit 0
        ");
    }

    #[test]
    fn tokens_come_from_beside_the_template() {
        let arguments =
            "render cli/tests/cli/model/chat_template.jinja --messages cli/tests/cli/greeting.json";
        assert_snapshot!(unjinja(arguments), @"
        <s>user: Hello!</s>
        exit 0
        ");
        let arguments = format!("{arguments} --eos-token <end>");
        assert_snapshot!(unjinja(&arguments), @"
        <s>user: Hello!<end>
        exit 0
        ");
    }

    #[test]
    fn a_folder_may_have_several_templates() {
        let arguments = "render cli/tests/cli/model --messages cli/tests/cli/greeting.json";
        assert_snapshot!(unjinja(arguments), @"
        <s>user: Hello!</s>
        exit 0
        ");
        let arguments = format!("{arguments} --tools examples/tools.json --variant tool_use");
        assert_snapshot!(unjinja(&arguments), @"
        forecast</s>
        exit 0
        ");
    }

    #[test]
    fn a_configuration_may_hold_the_template() {
        let config = r#"{"chat_template": "{{ messages[0].content }}\n\n"}"#;
        assert_snapshot!(render(config, &[]), @"
        Hello!
        exit 0
        ");
    }

    /// As it goes to a server.
    #[test]
    fn a_request_has_messages_and_tools() {
        let rendered = unjinja(
            "render examples/chat_template.jinja --messages cli/tests/cli/request.json \
             --tools cli/tests/cli/request.json",
        );
        assert_snapshot!(rendered, @r#"
        <|system|>
        You may call:
        measure: How far things are. {"to": {"type": "string"}}
        <|end|>
        <|user|>
        How far is the moon?<|end|>
        exit 0
        "#);
    }

    #[test]
    fn what_can_not_be_read() {
        let render = "render examples/chat_template.jinja --messages";
        for (messages, expected) in [
            ("missing", "missing: there is no such file: check the path"),
            (
                "cli/tests/cli/no_messages.json",
                "cli/tests/cli/no_messages.json: messages[1]: expected an object, found a number: \
                 write it as {\"role\": \"user\", \"content\": …}",
            ),
            (
                "examples/template.json",
                "examples/template.json: expected a list of messages, found an object",
            ),
            (
                "cli/tests/cli/broken.json",
                "cli/tests/cli/broken.json:5:5: this is not JSON: expected `,` or `}`: \
                 give a JSON list of messages, or a request with `messages`",
            ),
            (
                "examples/messages.json --tools cli/tests/cli/broken.json",
                "cli/tests/cli/broken.json:5:5: this is not JSON: expected `,` or `}`: \
                 give a JSON list of tools, or a request with `tools`",
            ),
            (
                "cli/tests/cli/empty.json",
                "cli/tests/cli/empty.json: the file is empty, and JSON was expected",
            ),
            (
                "examples/messages.json --tools examples/template.json",
                "examples/template.json: expected a list of tools, found an object",
            ),
        ] {
            let expected = format!("! error: {expected}\nexit 2");
            let printed = unjinja(&format!("{render} {messages}")).to_string();
            assert_eq!(printed, expected, "{messages}");
        }
    }

    #[test]
    fn a_source_that_is_not_there() {
        let arguments = "render missing.jinja --messages examples/messages.json";
        assert_snapshot!(unjinja(arguments), @"
        ! error: missing.jinja: there is no such file or folder, and it can't be a model on the hub, because it has no `/`: give a path that exists, or a model as `org/name`
        exit 2
        ");
    }

    #[test]
    fn a_source_without_a_template() {
        let arguments = "render examples/template.json --messages examples/messages.json";
        assert_snapshot!(unjinja(arguments), @"
        ! error: examples/template.json: there is no chat template in it: it has no `chat_template`, but a file beside it may: give the folder examples
        exit 2
        ");
    }

    #[cfg(not(feature = "hub"))]
    #[test]
    fn models_take_the_hub() {
        let arguments = "render org/name --messages examples/messages.json";
        assert_snapshot!(unjinja(arguments), @"
        ! error: org/name: this unjinja was built without the `hub` feature and can't fetch models: build it with `--features hub`, or download the model and give its folder
        exit 2
        ");
    }

    #[test]
    fn variants_that_are_not_there() {
        let arguments =
            "render cli/tests/cli/model --messages examples/messages.json --variant rag";
        assert_snapshot!(unjinja(arguments), @"
        ! error: cli/tests/cli/model: there is no variant `rag` of the chat template: there are `default` and `tool_use`
        exit 2
        ");
        let arguments =
            "render examples/chat_template.jinja --messages examples/messages.json --variant rag";
        assert_snapshot!(unjinja(arguments), @"
        ! error: examples/chat_template.jinja: there is no variant `rag` of the chat template: there is only one template, and it has no name; leave the variant out
        exit 2
        ");
    }

    #[test]
    fn a_template_that_is_not_valid() {
        assert_snapshot!(render("Well:\n{% if %}", &[]), @"
        ! error: standard input: unexpected end of block (line 2 of the template)
        !    |
        !  2 | {% if %}
        !    |       ^^
        exit 1
        ");
    }

    #[test]
    fn a_template_that_fails() {
        let template = "Well:\n\t{{ messages[0].content + 1 }}";
        assert_snapshot!(render(template, &[]), @"
        ! error: standard input: `+` can't take a string and a number (line 2 of the template)
        !    |
        !  2 |  {{ messages[0].content + 1 }}
        !    |     ^^^^^^^^^^^^^^^^^^^^^^^
        exit 1
        ");
    }

    #[test]
    fn a_template_that_refuses() {
        let template = "{{ raise_exception('no ' + messages[0].role + ', please') }}";
        assert_snapshot!(render(template, &[]), @"
        ! error: standard input: no user, please (line 1 of the template)
        !    |
        !  1 | {{ raise_exception('no ' + messages[0].role + ', please') }}
        !    |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        exit 1
        ");
    }

    #[test]
    fn a_template_without_end() {
        let template = "{{ 'again ' * 1000000000 }}";
        assert_snapshot!(render(template, &[]), @"
        ! error: standard input: up to line 1, the template's constants make more than 16 MiB
        exit 1
        ");
    }

    #[test]
    fn wrong_usage() {
        assert_snapshot!(unjinja("render examples/chat_template.jinja"), @"
        ! error: the following required arguments were not provided:
        !   --messages <FILE>
        !
        ! Usage: unjinja render --messages <FILE> <SOURCE>
        !
        ! For more information, try '--help'.
        exit 2
        ");
        assert_snapshot!(unjinja("render --messages examples/messages.json"), @"
        ! error: the following required arguments were not provided:
        !   <SOURCE>
        !
        ! Usage: unjinja render --messages <FILE> <SOURCE>
        !
        ! For more information, try '--help'.
        exit 2
        ");
        assert_snapshot!(unjinja("render --jsonl - --messages examples/messages.json"), @"
        ! error: the argument '--jsonl <FILE>' cannot be used with '--messages <FILE>'
        !
        ! Usage: unjinja render --jsonl <FILE> [SOURCE]
        !
        ! For more information, try '--help'.
        exit 2
        ");
    }

    #[test]
    fn every_line_of_a_batch_has_its_answer() {
        assert_snapshot!(unjinja("render --jsonl cli/tests/cli/conversations.jsonl"), @r#"
        {"id":"text","text":"Hello!"}
        {"id":2,"text":"<s>2026 5 1…</s>"}
        {"id":"raised","error":"no (line 1 of the template)\n   |\n 1 | {{ raise_exception('no') }}\n   |    ^^^^^^^^^^^^^^^^^^^^^"}
        {"id":"failed","error":"`x` is undefined (line 2 of the template)\n   |\n 2 | {{ x.y }}\n   |    ^^^"}
        {"id":"invalid","error":"unexpected end of block (line 1 of the template)\n   |\n 1 | {% if %}\n   |       ^^"}
        {"id":"without a template","error":"there is no `chat_template`"}
        {"id":"without messages","error":"there is no list of `messages`"}
        {"id":"no time","error":"`now`: this is not a time: write it as 2026-01-15T12:00:00"}
        {"id":null,"text":"nobody's"}
        exit 0
        "#);
    }

    #[test]
    fn a_broken_line_leaves_the_others_alone() {
        let lines = "{\"id\": 1, \"chat_template\": \"one\", \"messages\": []}\n{\"id\": two}\n[3]\n\
                     {\"id\": 4, \"chat_template\": \"four\", \"messages\": []}\n";
        assert_snapshot!(unjinja_with("render --jsonl -", lines), @r#"
        {"id":1,"text":"one"}
        {"id":4,"text":"four"}
        ! error: standard input:2:8: this is not JSON: expected a value
        ! error: standard input:3: expected an object, found an array
        ! error: standard input: 2 lines could not be read
        exit 2
        "#);
    }
}

mod capabilities {
    use super::*;

    #[test]
    fn they_are_a_table_for_people() {
        assert_snapshot!(unjinja("caps examples/chat_template.jinja"), @r#"
        system message              rendered   before the user's turn
        tools                       rendered
        tool calls                  rendered
        parallel calls              rendered
        content beside calls        rendered
        tool results                rendered
        call ids                    dropped
        arguments as an object      rendered
        arguments as text           refused    string has no method named items
        reasoning in the last turn  rendered   as `thinking`
        reasoning in past turns     dropped
        reasoning beside calls      rendered   as `thinking`
        content as a list of parts  rendered   the list is printed as it is, not its text
        user turns in a row         rendered
        {% generation %}            no
        generation prompt           "<|assistant|>\n<think>\n"
        thinking in the prompt      opened
        text kept before a user     no         user, assistant with reasoning, user: "<think>\nThought1\n</think>\n\nAnswer1<|end|" becomes "Answer1<|end|>\n<|user|>\nQuestion2<|end|>"
        text kept before a result   yes
        variable enable_thinking    switches   true: "<|end|>\n<|assistant|>\n<think>\n", false: "<|end|>\n<|assistant|>\n<think>\n\n</think>\n\n"
        exit 0
        "#);
        assert_snapshot!(unjinja("caps chat_templates/tagged-json.jinja"), @r#"
        system message              rendered   within the user's turn
        tools                       rendered
        tool calls                  rendered
        parallel calls              rendered
        content beside calls        rendered
        tool results                rendered
        call ids                    dropped
        arguments as an object      rendered
        arguments as text           rendered   quoted a second time, as a string within JSON
        reasoning in the last turn  rendered   as `reasoning_content`
        reasoning in past turns     dropped
        reasoning beside calls      rendered   as `reasoning_content`
        content as a list of parts  rendered
        user turns in a row         refused    a question has to follow an answer of the assistant
        {% generation %}            yes
        generation prompt           "<~model~>"
        thinking in the prompt      left to the model
        text kept before a user     no         user, assistant with reasoning, user: "<muse>Thought1</muse>Answer1<~done~>\n" becomes "Answer1<~done~>\n<~user~>Question2<~done~"
        text kept before a result   no         user, assistant with reasoning and a call, tool: "<muse>Thought1</muse><use>\n{\"name\": \"loo" becomes "<use>\n{\"name\": \"lookup\", \"arguments\": {\""
        exit 0
        "#);
    }

    #[test]
    fn they_are_json_for_programs() {
        assert_snapshot!(unjinja("caps examples/chat_template.jinja --format json"), @r#"
        {
          "capabilities": {
            "system_message": {
              "outcome": "rendered",
              "note": "before the user's turn"
            },
            "tools": {
              "outcome": "rendered"
            },
            "tool_calls": {
              "outcome": "rendered"
            },
            "parallel_calls": {
              "outcome": "rendered"
            },
            "content_beside_calls": {
              "outcome": "rendered"
            },
            "tool_results": {
              "outcome": "rendered"
            },
            "call_ids": {
              "outcome": "dropped"
            },
            "arguments_as_object": {
              "outcome": "rendered"
            },
            "arguments_as_text": {
              "outcome": "refused",
              "error": "string has no method named items"
            },
            "reasoning_in_last_turn": {
              "outcome": "rendered",
              "note": "as `thinking`"
            },
            "reasoning_in_past_turns": {
              "outcome": "dropped"
            },
            "reasoning_beside_calls": {
              "outcome": "rendered",
              "note": "as `thinking`"
            },
            "content_parts": {
              "outcome": "rendered",
              "note": "the list is printed as it is, not its text"
            },
            "user_turns_in_a_row": {
              "outcome": "rendered"
            }
          },
          "variables": {
            "enable_thinking": {
              "on": "<|end|>\n<|assistant|>\n<think>\n",
              "off": "<|end|>\n<|assistant|>\n<think>\n\n</think>\n\n",
              "absent": "<|end|>\n<|assistant|>\n<think>\n"
            }
          },
          "marks_generation": false,
          "generation_prompt": {
            "text": "<|assistant|>\n<think>\n",
            "thinking": "opened"
          },
          "prefix_kept": {
            "user": {
              "kept": false,
              "counterexample": {
                "messages": [
                  {
                    "role": "user",
                    "content": "Question0"
                  },
                  {
                    "role": "assistant",
                    "content": "Answer1",
                    "reasoning_content": "Thought1"
                  },
                  {
                    "role": "user",
                    "content": "Question2"
                  }
                ],
                "before": "<think>\nThought1\n</think>\n\nAnswer1<|end|",
                "after": "Answer1<|end|>\n<|user|>\nQuestion2<|end|>",
                "mended_by": null
              }
            },
            "tool": {
              "kept": true,
              "counterexample": null
            }
          }
        }
        exit 0
        "#);
        assert_snapshot!(unjinja("caps chat_templates/tagged-json.jinja --format json"), @r#"
        {
          "capabilities": {
            "system_message": {
              "outcome": "rendered",
              "note": "within the user's turn"
            },
            "tools": {
              "outcome": "rendered"
            },
            "tool_calls": {
              "outcome": "rendered"
            },
            "parallel_calls": {
              "outcome": "rendered"
            },
            "content_beside_calls": {
              "outcome": "rendered"
            },
            "tool_results": {
              "outcome": "rendered"
            },
            "call_ids": {
              "outcome": "dropped"
            },
            "arguments_as_object": {
              "outcome": "rendered"
            },
            "arguments_as_text": {
              "outcome": "rendered",
              "note": "quoted a second time, as a string within JSON"
            },
            "reasoning_in_last_turn": {
              "outcome": "rendered",
              "note": "as `reasoning_content`"
            },
            "reasoning_in_past_turns": {
              "outcome": "dropped"
            },
            "reasoning_beside_calls": {
              "outcome": "rendered",
              "note": "as `reasoning_content`"
            },
            "content_parts": {
              "outcome": "rendered"
            },
            "user_turns_in_a_row": {
              "outcome": "refused",
              "error": "a question has to follow an answer of the assistant"
            }
          },
          "variables": {},
          "marks_generation": true,
          "generation_prompt": {
            "text": "<~model~>",
            "thinking": "left to the model"
          },
          "prefix_kept": {
            "user": {
              "kept": false,
              "counterexample": {
                "messages": [
                  {
                    "role": "user",
                    "content": "Question0"
                  },
                  {
                    "role": "assistant",
                    "content": "Answer1",
                    "reasoning_content": "Thought1"
                  },
                  {
                    "role": "user",
                    "content": "Question2"
                  }
                ],
                "before": "<muse>Thought1</muse>Answer1<~done~>\n",
                "after": "Answer1<~done~>\n<~user~>Question2<~done~",
                "mended_by": null
              }
            },
            "tool": {
              "kept": false,
              "counterexample": {
                "messages": [
                  {
                    "role": "user",
                    "content": "Question0"
                  },
                  {
                    "role": "assistant",
                    "content": "",
                    "reasoning_content": "Thought1",
                    "tool_calls": [
                      {
                        "id": "call_1",
                        "type": "function",
                        "function": {
                          "name": "lookup",
                          "arguments": {
                            "key": "Value1"
                          }
                        }
                      }
                    ]
                  },
                  {
                    "role": "tool",
                    "content": "Result2",
                    "tool_call_id": "call_1",
                    "name": "lookup"
                  }
                ],
                "before": "<muse>Thought1</muse><use>\n{\"name\": \"loo",
                "after": "<use>\n{\"name\": \"lookup\", \"arguments\": {\"",
                "mended_by": null
              }
            }
          }
        }
        exit 0
        "#);
    }

    #[test]
    fn tokens_are_those_that_come_with_the_template() {
        let template = "{% if not eos_token %}{{ raise_exception('no token') }}{% endif %}\
                        {{ messages[0].content }}{% if add_generation_prompt %}{{ eos_token }}{% endif %}";
        let printed = unjinja_with("caps - --eos-token <end>", template).to_string();
        let prompt = printed
            .lines()
            .find(|line| line.starts_with("generation prompt"));
        assert_snapshot!(prompt.unwrap_or(&printed), @r#"generation prompt           "<end>""#);
    }

    #[test]
    fn a_template_that_does_not_even_take_a_question() {
        let template = "{{ raise_exception('not today') }}";
        assert_snapshot!(unjinja_with("caps -", template), @"
        ! error: standard input: not even a question can be rendered: not today (line 1 of the template)
        !    |
        !  1 | {{ raise_exception('not today') }}
        !    |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        exit 1
        ");
        assert_snapshot!(unjinja_with("caps - --format json", "{% if %}"), @"
        ! error: standard input: this is not a valid chat template: unexpected end of block (line 1 of the template)
        !    |
        !  1 | {% if %}
        !    |       ^^
        exit 1
        ");
    }

    #[test]
    fn a_source_that_is_not_there() {
        assert_snapshot!(unjinja("caps missing.jinja"), @"
        ! error: missing.jinja: there is no such file or folder, and it can't be a model on the hub, because it has no `/`: give a path that exists, or a model as `org/name`
        exit 2
        ");
    }
}

mod schemas {
    use super::*;

    /// Each with the file that it is printed from.
    const SCHEMAS: &[(&str, &str)] = &[
        (
            "response-template",
            "parser/schema/response-template.schema.json",
        ),
        ("fixture", "schema/fixture.schema.json"),
    ];

    #[test]
    fn each_is_printed_as_it_stands() {
        for (what, file) in SCHEMAS {
            let path = root().join(file);
            let schema = fs::read_to_string(path).expect("the file is there");
            let outcome = unjinja(&format!("schema {what}"));
            assert_eq!(outcome.to_string(), format!("{schema}exit 0"), "{what}");
        }
    }

    #[test]
    fn one_that_is_not_there() {
        assert_snapshot!(unjinja("schema response"), @"
        ! error: invalid value 'response' for '<WHAT>'
        !   [possible values: response-template, fixture, format]
        !
        !   tip: a similar value exists: 'response-template'
        !
        ! For more information, try '--help'.
        exit 2
        ");
    }
}

/// The names of all commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = unjinja("--help").stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = lines.take_while(|line| !line.is_empty());
    // What is indented further goes on with the line above.
    let first = listed.filter(|line| !line.starts_with("   "));
    let names = first.filter_map(|line| line.split_whitespace().next());
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.iter().any(|name| name == "parse"), "{help}");
    names
}

mod completions {
    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let outcome = unjinja(&format!("completions {shell}"));
            assert!(outcome.status.success(), "{shell}: {outcome}");
            for command in commands() {
                assert!(outcome.stdout.contains(&command), "{shell}: {command}");
            }
        }
    }

    #[test]
    fn a_shell_that_is_not_known() {
        assert_snapshot!(unjinja("completions ksh"), @"
        ! error: invalid value 'ksh' for '<SHELL>'
        !   [possible values: bash, elvish, fish, powershell, zsh]
        !
        !   tip: a similar value exists: 'zsh'
        !
        ! For more information, try '--help'.
        exit 2
        ");
    }
}

mod manual_pages {
    use super::*;

    /// The headings of a page, and the lines below each.
    fn sections(page: &str) -> Vec<(&str, Vec<&str>)> {
        let sections = page.split(".SH ").skip(1).map(|section| {
            let mut lines = section.lines();
            let heading = lines.next().unwrap_or_default().trim_matches('"');
            (heading, lines.collect())
        });
        sections.collect()
    }

    #[test]
    fn every_command_has_one_with_examples_and_exit_codes() {
        for command in commands().iter().filter(|command| *command != "help") {
            let outcome = unjinja(&format!("man {command}"));
            assert!(outcome.status.success(), "{command}: {outcome}");
            let sections = sections(&outcome.stdout);
            for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT CODES"] {
                let lines = sections.iter().find(|(name, _)| *name == heading);
                assert!(
                    lines.is_some_and(|(_, lines)| !lines.is_empty()),
                    "{command}: {heading}"
                );
            }
            assert!(
                outcome.stdout.contains(&format!("\nunjinja\\-{command} ")),
                "{outcome}"
            );
        }
    }

    #[test]
    fn the_main_page_names_every_command() {
        let page = unjinja("man").stdout;
        for command in commands().iter().filter(|command| *command != "help") {
            assert!(
                page.contains(&format!("\nunjinja\\-{command}(1)\n")),
                "{command}: {page}"
            );
        }
    }

    /// Lines stay lines, and nothing is taken for a command of roff or for an accent.
    #[test]
    fn examples_stand_as_they_are_typed() {
        let page = unjinja("man completions").stdout;
        let wanted = ["DESCRIPTION", "EXAMPLES", "EXIT CODES"];
        let shown = sections(&page)
            .into_iter()
            .filter(|(heading, _)| wanted.contains(heading));
        let shown = shown.map(|(heading, lines)| format!("{heading}\n{}\n", lines.join("\n")));
        assert_snapshot!(shown.collect::<String>(), @r"
        DESCRIPTION
        Print a script with which a shell completes unjinja\*(Aqs commands and options
        .PP
        They take effect in the next shell. Print them again whenever unjinja is updated.
        EXAMPLES
        .nf
        bash, with the package bash\-completion installed:
          mkdir \-p \(ti/.local/share/bash\-completion/completions
          unjinja completions bash > \(ti/.local/share/bash\-completion/completions/unjinja

        zsh, in a folder that \(ti/.zshrc names before it calls compinit: fpath=(\(ti/.zfunc $fpath)
          mkdir \-p \(ti/.zfunc
          unjinja completions zsh > \(ti/.zfunc/_unjinja

        fish:
          mkdir \-p \(ti/.config/fish/completions
          unjinja completions fish > \(ti/.config/fish/completions/unjinja.fish
        .fi
        EXIT CODES
        .nf
        0  the script is printed
        2  wrong usage: unknown shell
        .fi
        ");
    }

    #[test]
    fn all_are_written_into_a_folder() {
        let scratch = scratch("man");
        fs::remove_dir_all(&scratch).expect("pages of an earlier run go");
        let directory = scratch.join("share/man1");
        let outcome = unjinja(&format!("man -o {}", directory.display()));
        assert_snapshot!(outcome, @"exit 0");
        let mut expected: Vec<String> = commands()
            .iter()
            .filter(|command| *command != "help")
            .map(|command| format!("unjinja-{command}.1"))
            .collect();
        expected.push("unjinja.1".into());
        expected.sort();
        let entries = fs::read_dir(&directory).expect("the folder is made");
        let names = entries.map(|entry| entry.expect("the folder can be read").file_name());
        let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        assert_eq!(names, expected);
        let written = fs::read_to_string(directory.join("unjinja-parse.1"));
        assert_eq!(
            written.expect("the page is there"),
            unjinja("man parse").stdout
        );
    }

    #[test]
    fn what_can_not_be_had_is_reported() {
        for (arguments, printed) in [
            (
                "man prase",
                "error: there is no command `prase`: known are `derive`, ",
            ),
            (
                "man parse -o pages",
                "error: the argument '[COMMAND]' cannot be used with",
            ),
            (
                "man -o examples/template.json",
                "error: examples/template.json/unjinja.1: can't write the file: ",
            ),
        ] {
            let outcome = unjinja(arguments);
            assert!(
                outcome.stderr.starts_with(printed),
                "{arguments}: {outcome}"
            );
            assert_eq!(outcome.status.code(), Some(2), "{arguments}");
        }
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
                stderr: String::from_utf8(output.stderr).expect("it prints UTF-8"),
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
                    {\"content\": {}}}, \"text\": \"a\"}\n";
        assert_snapshot!(leave_after(1, "parse --jsonl -", case), @r#"
        {"id":1,"initial_events":[],"events":[[{"type":"region_open","field":"content"},{"type":"region_chunk","field":"content","text":"a","dirty":false}]],"final_events":[{"type":"region_close","field":"content","value":"a"}],"message":{"content":"a"}}
        exit 0
        "#);
    }
}

/// A text without the seconds that a check has taken, which stand at the end of its last line.
fn without_seconds(text: &str) -> &str {
    let end = text.strip_suffix(" s\n").and_then(|text| text.rfind(", "));
    end.map_or(text, |end| &text[..end])
}

/// The README, the pages of `docs/`, and those about the code, each with its path.
fn pages() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for folder in ["docs", "docs/internals"] {
        let folder = fs::read_dir(root().join(folder)).expect("there are documents");
        let entries = folder.map(|file| file.expect("the folder can be read").path());
        files.extend(
            entries.filter(|file| file.extension().is_some_and(|extension| extension == "md")),
        );
    }
    files.sort();
    for page in ["CONTRIBUTING.md", "ARCHITECTURE.md", "README.md"] {
        files.insert(0, root().join(page));
    }
    let read = |file: &PathBuf| fs::read_to_string(file).expect("the file is there");
    files
        .iter()
        .map(|file| (file.clone(), read(file)))
        .collect()
}

/// The documents show what the program does: each command in a `console` block that anybody can run from a clone prints what
/// stands below it.
#[test]
fn the_documents_tell_the_truth() {
    let mut shown = 0;
    for (path, page) in pages() {
        for block in page.split("```console\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            for example in block.split("$ ").skip(1) {
                let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
                let Some(arguments) = command.strip_prefix("cargo run --release -- ") else {
                    continue;
                };
                let (arguments, stdin) = match arguments.split_once(" < ") {
                    Some((arguments, file)) => (
                        arguments,
                        fs::read_to_string(root().join(file)).expect("the file is there"),
                    ),
                    None => (arguments, String::new()),
                };
                let outcome = unjinja_with(arguments, stdin);
                let place = format!("{}: {command}", path.display());
                assert_eq!(
                    without_seconds(&outcome.stdout),
                    without_seconds(expected),
                    "{place}"
                );
                // Reports are shown as well.
                assert!(
                    page.contains(&outcome.stderr),
                    "{place}: {}",
                    outcome.stderr
                );
                shown += 1;
            }
        }
    }
    assert!(shown > 10, "the documents show what the program does");
}

#[test]
fn the_readme_shows_the_output_that_it_reads() {
    let output = fs::read_to_string(root().join("examples/output.txt")).expect("it is there");
    let (_, readme) = &pages()[0];
    assert!(readme.contains(&format!("```text\n{}\n```", output.trim_end())));
}

#[test]
fn links_lead_somewhere() {
    let mut followed = 0;
    for (path, page) in pages() {
        for link in page.split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            if file.starts_with("http") {
                continue;
            }
            let target = match file {
                "" => path.clone(),
                file => path.parent().expect("a folder").join(file),
            };
            assert!(target.exists(), "{}: {link}", path.display());
            if !heading.is_empty() {
                let page = fs::read_to_string(&target).expect("a page");
                let headings = page.lines().filter(|line| line.starts_with('#'));
                let mut anchors = headings.map(|line| {
                    let title = line.trim_start_matches('#').trim().to_lowercase();
                    let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
                    title
                        .chars()
                        .filter(is_kept)
                        .collect::<String>()
                        .replace(' ', "-")
                });
                assert!(
                    anchors.any(|anchor| anchor == heading),
                    "{}: {link}",
                    path.display()
                );
            }
            followed += 1;
        }
    }
    assert!(followed > 50, "there are links");
}

/// `ARCHITECTURE.md` names a test for each invariant, with the file that has it.
#[test]
fn the_tests_that_hold_invariants_exist() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let mut named = 0;
    for link in page.split("[`").skip(1) {
        let (name, rest) = link.split_once("`](").expect("a name leads to its file");
        let file = rest.split(')').next().unwrap_or_default();
        let text = fs::read_to_string(root().join(file)).expect(file);
        let declaration = format!("fn {name}(");
        let (before, _) = text
            .split_once(&declaration)
            .unwrap_or_else(|| panic!("{file} has no test {name}"));
        let attributes = before.rsplit("}\n").next().unwrap_or_default();
        assert!(attributes.contains("#[test]"), "{name} is no test");
        named += 1;
    }
    assert!(named > 20, "invariants are named");
}

/// What the pages about the code call a file is the end of a path that there is.
#[test]
fn the_pages_about_the_code_name_files_that_exist() {
    fn collect(folder: &Path, paths: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let is_ours = !["target", "node_modules", ".git"].contains(&&*name.to_string_lossy());
            match path.is_dir() {
                true if is_ours => collect(&path, paths),
                true => (),
                false => paths.push(path.to_string_lossy().replace('\\', "/")),
            }
        }
    }
    let mut paths = Vec::new();
    collect(root(), &mut paths);
    let about_code = ["internals", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let mut named = 0;
    for (path, page) in pages() {
        if !about_code
            .iter()
            .any(|part| path.iter().any(|of| of == *part))
        {
            continue;
        }
        for name in page.split('`').skip(1).step_by(2) {
            let is_pattern =
                name.contains(char::is_whitespace) || name.contains(char::is_uppercase);
            let is_source = [".rs", ".py", ".ts"].iter().any(|end| name.ends_with(end));
            if is_source && !is_pattern {
                let end = format!("/{name}");
                let exists = paths.iter().any(|path| path.ends_with(&end));
                assert!(exists, "{}: {name}", path.display());
                named += 1;
            }
        }
    }
    assert!(named > 100, "files are named");
}

mod warnings {
    use super::*;

    #[test]
    fn a_value_that_is_replaced_is_reported() {
        let directory = scratch("replaced");
        let template = directory.join("template.json");
        let json = r#"{"start_anchor": "A:", "fields": {"content": {"close": "<end>"}}}"#;
        std::fs::write(&template, json).expect("the file is written");
        let arguments = format!("parse -t {}", template.display());
        assert_snapshot!(unjinja_with(&arguments, "Good morning!<end>\n"), @"
        {}
        ! warning: `content` was closed more than once, and the last value counts: add `repeats`, or let its close take the white space after it
        exit 0
        ");
        assert_snapshot!(unjinja_with(&arguments, "Good morning!<end>"), @r#"
        {
          "content": "Good morning!"
        }
        exit 0
        "#);
    }

    #[test]
    fn only_one_thing_comes_from_standard_input() {
        for arguments in [
            "parse -t -",
            "parse -t - -",
            "parse -t examples/template.json --prefix -",
        ] {
            let outcome = unjinja(arguments).to_string();
            assert!(
                outcome.contains("only one thing can come from standard input"),
                "{outcome}"
            );
            assert!(outcome.contains("exit 2"), "{outcome}");
        }
    }

    #[test]
    fn a_folder_stands_for_its_configuration() {
        let directory = scratch("folder");
        let config = r#"{"response_template": {"start_anchor": "A:", "fields": {"content": {}}}}"#;
        std::fs::write(
            directory.join("tokenizer_config.json"),
            format!("\u{feff}{config}"),
        )
        .expect("the file is written");
        let arguments = format!("parse -t {}", directory.display());
        assert_snapshot!(unjinja_with(&arguments, "Hello!"), @r#"
        {
          "content": "Hello!"
        }
        exit 0
        "#);
    }

    #[test]
    fn a_chat_template_is_not_taken_for_a_response_template() {
        assert_snapshot!(unjinja("parse -t examples/chat_template.jinja"), @"
        ! error: examples/chat_template.jinja: this looks like a chat template, where a response template was expected: derive one from the chat template in it, with `unjinja derive examples/chat_template.jinja -o response_template.json`
        exit 2
        ");
    }

    #[test]
    fn tools_that_are_none_are_reported() {
        let arguments = "parse -t examples/template.json --tools examples/messages.json";
        assert_snapshot!(unjinja_with(arguments, "Hello!<|end|>"), @r#"
        {
          "role": "assistant",
          "content": "Hello!"
        }
        ! warning: examples/messages.json: /0: this is not a tool: it has no `name`: write each as {"type": "function", "function": {"name": …, "parameters": …}} (and 2 more like that)
        exit 0
        "#);
    }

    #[test]
    fn a_batch_may_have_one_template_for_all() {
        let lines = "{\"id\": 1, \"text\": \"<think>a</think>b<|end|>\"}\n";
        assert_snapshot!(unjinja_with("parse -t examples/template.json --jsonl -", lines), @r#"
        {"id":1,"initial_events":[],"events":[[{"type":"region_open","field":"thinking"},{"type":"region_chunk","field":"thinking","text":"a","dirty":false},{"type":"region_close","field":"thinking","value":"a"},{"type":"region_open","field":"content"},{"type":"region_chunk","field":"content","text":"b","dirty":false}]],"final_events":[{"type":"region_close","field":"content","value":"b"}],"message":{"role":"assistant","thinking":"a","content":"b"}}
        exit 0
        "#);
    }
}
