//! What is derived from small chat templates that have one trait each, and what it makes of texts.
use std::fs;
use std::path::PathBuf;

use unjinja::analysis::{Certainty, Findings};
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::{Derivation, DeriveOptions, Lenience, ModelOutput, Recovery, derive};
use unjinja::lint::{Lint, LintOptions, lint};
use unjinja::profile::{Effect, Target};
use unjinja::response::Language;
use unjinja::{Object, ParserOptions, ResponseTemplate, Value, json, parse};

use crate::root;

/// Each turn has a header and an end; what the assistant's consists of is given.
fn chat_template(assistant: &str) -> ChatTemplate {
    ChatTemplate::from_jinja(format!(
        "{{%- for m in messages -%}}
{{%- if m.role == 'assistant' -%}}
{{{{- '<turn:bot>' }}}}{assistant}{{{{- '<turn:end>\\n' }}}}
{{%- else -%}}
{{{{- '<turn:' + m.role + '>' + m.content + '<turn:end>\\n' }}}}
{{%- endif -%}}
{{%- endfor -%}}
{{%- if add_generation_prompt -%}}{{{{- '<turn:bot>' }}}}{{%- endif -%}}"
    ))
}

/// What the template that is derived makes of an output.
fn message(assistant: &str, output: &str) -> Value {
    let derivation = derive(&chat_template(assistant), &DeriveOptions::default()).unwrap();
    let template = ResponseTemplate::from_value(&derivation.template).unwrap();
    let message = parse(&template, "<turn:bot>", output, ParserOptions::default());
    message.unwrap().into()
}

#[test]
fn words_open_reasoning_at_the_start_and_behind_a_header_and_not_within_an_answer() {
    let assistant = "
{%- if m.reasoning_content -%}
{{- '/ponder\\n' + m.reasoning_content + '<turn:end>\\n<turn:bot>' }}
{%- endif -%}
{{- '\\n' + m.content }}";
    let answer = "\nType /ponder to see more.<turn:end>";
    let expected = r#"{"role": "assistant", "content": "Type /ponder to see more."}"#;
    assert_eq!(message(assistant, answer), json::read(expected).unwrap());
    let both = format!("/ponder\nA command.<turn:end>\n<turn:bot>{answer}");
    let expected = r#"{"role": "assistant", "thinking": "A command.",
        "content": "Type /ponder to see more."}"#;
    assert_eq!(message(assistant, &both), json::read(expected).unwrap());
}

#[test]
fn a_name_may_be_a_part_of_a_string() {
    let call = "'{\"to\": \"tools.' + c.function.name + '\", \"with\": ' + c.function.arguments | tojson + '}'";
    let formats = [
        format!("{{{{- '<call>' + {call} + '</call>' }}}}"),
        format!(
            "{{{{- '<calls>[' if loop.first else ', ' }}}}{{{{- {call} }}}}{{{{- ']</calls>' if loop.last }}}}"
        ),
    ];
    let outputs = [
        r#"So:<call>{"to": "tools.look.up", "with": {"a": [1]}}</call><call>{"to": "tools.ping", "with": {}}</call>"#,
        r#"So:<calls>[{"to": "tools.look.up", "with": {"a": [1]}}, {"to": "tools.ping", "with": {}}]</calls>"#,
    ];
    let expected = r#"{"role": "assistant", "content": "So:", "tool_calls": [
        {"type": "function", "function": {"name": "look.up", "arguments": {"a": [1]}}},
        {"type": "function", "function": {"name": "ping", "arguments": {}}}]}"#;
    for (format, output) in formats.iter().zip(outputs) {
        let assistant = format!(
            "{{{{- m.content }}}}{{%- for c in m.tool_calls or [] -%}}{format}{{%- endfor -%}}"
        );
        let message = message(&assistant, &format!("{output}<turn:end>"));
        assert_eq!(message, json::read(expected).unwrap(), "{output}");
    }
}

/// Arguments of which each stands in `<arg:KEY>…</arg>`; what stands there is given.
fn tagged(value: &str) -> String {
    format!(
        "{{{{- m.content }}}}{{%- for c in m.tool_calls or [] -%}}{{{{- '<call:' + c.function.name + '>' }}}}
{{%- for k, v in c.function.arguments.items() -%}}{{{{- '<arg:' + k + '>' ~ ({value}) ~ '</arg>' }}}}{{%- endfor -%}}
{{{{- '</call>' }}}}{{%- endfor -%}}"
    )
}

#[test]
fn arguments_are_read_as_the_format_quotes_them() {
    let python = "{{- m.content }}
{%- for c in m.tool_calls or [] -%}
{{- ('<do>[' if loop.first else ', ') + c.function.name + '(' }}
{%- for k, v in c.function.arguments.items() -%}
{{- ('' if loop.first else ', ') + k + '=' ~ (\"'\" + v + \"'\" if v is string else v) }}
{%- endfor -%}
{{- ')' + (']</do>' if loop.last else '') }}
{%- endfor -%}";
    let attributes = "{{- m.content }}
{%- for c in m.tool_calls or [] -%}
{{- '<call name=\"' + c.function.name + '\"' }}
{%- for k, v in c.function.arguments.items() -%}{{- ' ' + k + '=\"' ~ v ~ '\"' }}{%- endfor -%}
{{- '/>' }}
{%- endfor -%}";
    for (assistant, output, arguments) in [
        // As Python prints them: lists are lists, and texts stay as they are.
        (
            tagged("v"),
            "<call:see><arg:at>['a', 'b']</arg><arg:with>{'k': ['c']}</arg></call>",
            r#"{"at": ["a", "b"], "with": {"k": ["c"]}}"#,
        ),
        (
            tagged("v"),
            "<call:see><arg:zip>75001</arg><arg:text> it's 'so' \n</arg></call>",
            r#"{"zip": "75001", "text": " it's 'so' \n"}"#,
        ),
        // Where lists are JSON, what Python would print is a text.
        (
            tagged("v if v is string else v | tojson"),
            "<call:see><arg:text>['a', 'b']</arg></call>",
            r#"{"text": "['a', 'b']"}"#,
        ),
        (
            python.to_owned(),
            "<do>[see(zip='75001', text=' it's 'so' \n', at=['a', 'b'], n=7)]</do>",
            r#"{"zip": "75001", "text": " it's 'so' \n", "at": ["a", "b"], "n": 7}"#,
        ),
        (
            python.to_owned(),
            "<do>[see(text='the last\n')]</do>",
            r#"{"text": "the last\n"}"#,
        ),
        (
            python.to_owned(),
            "<do>[see(text=\"it's 'so'\")]</do>",
            r#"{"text": "it's 'so'"}"#,
        ),
        (
            attributes.to_owned(),
            r#"<call name="see" place="by the sea" zip="75001"/>"#,
            r#"{"place": "by the sea", "zip": "75001"}"#,
        ),
    ] {
        let message = message(&assistant, &format!("{output}<turn:end>"));
        let call = message.pointer("/tool_calls/0/function");
        let expected = format!(r#"{{"name": "see", "arguments": {arguments}}}"#);
        let expected = json::read(&expected).unwrap();
        assert_eq!(call, Some(&expected), "{output}");
    }
}

#[test]
fn calls_are_told_apart_whatever_stands_between_them() {
    let formats = [
        // The next call stands further in than the first.
        (
            "'\\n  ' if not loop.first",
            "'Tool_use: ' + c.function.name + '\\nWith: ' + args + '\\n'",
            "",
            "Tool_use: see\nWith: {\"a\": \"}\\n\"}\n\n  Tool_use: ping\nWith: {}\n",
        ),
        // What opens a call begins with the sign with which the end of all calls begins.
        (
            "''",
            "'%CALL% ' + c.function.name + '\\n%%ARGS%: ' + args + '\\n'",
            "%END%",
            "%CALL% see\n%%ARGS%: {\"a\": \"}\\n\"}\n%CALL% ping\n%%ARGS%: {}\n%END%",
        ),
        // Behind all values stand markers, which tell nothing of the quotes before them.
        (
            "'<calls>' if loop.first",
            "c.function.name + ' ' + args + ('<done>' if loop.last else '<next>')",
            "",
            "<calls>see {\"a\": \"}\\n\"}<next>ping {}<done>",
        ),
        // A sign stands around words, also where one word follows the other.
        (
            "'§calls§§use§' if loop.first else '§and§'",
            "c.function.name + '=>' + args",
            "§done§",
            "§calls§§use§see=>{\"a\": \"}\\n\"}§and§ping=>{}§done§",
        ),
        // A fence closes calls, and strings may hold fences.
        (
            "'Use:\\n```json\\n[' if loop.first else ', '",
            "'{\"name\": \"' + c.function.name + '\", \"arguments\": ' + args + '}'",
            "]```",
            "Use:\n```json\n[{\"name\": \"see\", \"arguments\": {\"a\": \"```}\\n\"}}, {\"name\": \"ping\", \"arguments\": {}}]```",
        ),
    ];
    for (before, call, end, output) in formats {
        let assistant = format!(
            "{{{{- m.content }}}}{{%- for c in m.tool_calls or [] -%}}{{%- set args = c.function.arguments | tojson -%}}
{{{{- {before} }}}}{{{{- {call} }}}}{{%- endfor -%}}{{{{- '{end}' if m.tool_calls }}}}"
        );
        let message = message(&assistant, &format!("{output}<turn:end>"));
        let called =
            |at: usize, key: &str| message.pointer(&format!("/tool_calls/{at}/function/{key}"));
        assert_eq!(called(0, "name"), Some(&"see".into()), "{output}");
        assert!(called(0, "arguments/a").is_some(), "{output}");
        assert_eq!(called(1, "name"), Some(&"ping".into()), "{output}");
        assert_eq!(message.get("content"), None, "{output}");
    }
}

#[test]
fn calls_of_lines_and_words_are_told_apart_and_from_the_text_before_them() {
    let assistant = |call: &str| {
        format!(
            "{{{{- m.content }}}}{{%- for c in m.tool_calls or [] -%}}{{{{- '\\n' if m.content or not loop.first }}}}
{{%- set args = c.function.arguments -%}}{call}{{%- endfor -%}}"
        )
    };
    for (call, output) in [
        (
            "{{- '@' + c.function.name }}
{%- for k, v in args.items() -%}{{- '\n:' + k + ' ' + v | tojson }}{%- endfor -%}{{- '\n@end' }}",
            "Ask a@b.\n@see\n:at \"the sea\"\n:n 7\n@end\n@look\n:with {\"a\": [1]}\n@end",
        ),
        (
            "{{- '$ ' + c.function.name }}
{%- for k, v in args.items() -%}{{- ' --' + k + '=' + v | tojson }}{%- endfor -%}",
            "It costs $ 5.\n$ see --at=\"the sea\" --n=7\n$ look --with={\"a\": [1]}",
        ),
    ] {
        let message = message(&assistant(call), &format!("{output}<turn:end>"));
        let text = output.lines().next().unwrap();
        assert_eq!(message.get("content"), Some(&text.into()), "{output}");
        let expected = r#"[
            {"type": "function", "function": {"name": "see", "arguments": {"at": "the sea", "n": 7}}},
            {"type": "function", "function": {"name": "look", "arguments": {"with": {"a": [1]}}}}]"#;
        let expected = json::read(expected).unwrap();
        assert_eq!(message.get("tool_calls"), Some(&expected), "{output}");
    }
}

#[test]
fn keys_and_names_have_what_tools_allow() {
    let each = |call: &str| format!("{{%- for c in m.tool_calls or [] -%}}{call}{{%- endfor -%}}");
    let pairs = |pair: &str| {
        format!("{{%- for k, v in c.function.arguments | items -%}}{pair}{{%- endfor -%}}")
    };
    let quoted = "{{- ', ' if not loop.first }}{{- k + '=' }}{{- \"'\" + v + \"'\" if v is string else v | tojson }}";
    let tagged = "{{- '<arg ' + k + '>' }}{{- v if v is string else v | tojson }}{{- '</arg>' }}";
    let python = format!(
        "{{{{- '<calls>[' if loop.first else ', ' }}}}{{{{- c.function.name + '(' }}}}{}{{{{- ')' }}}}{{{{- ']</calls>' if loop.last }}}}",
        pairs(quoted)
    );
    let elements = format!(
        "{{{{- '<call ' + c.function.name + '>' }}}}{}{{{{- '</call>' }}}}",
        pairs(tagged)
    );
    let numbered = "{{- '<call>tools.' + c.function.name ~ ':' ~ loop.index0 ~ '<with>' }}{{- c.function.arguments | tojson }}{{- '</call>' }}";
    let keys = "user-id filter.name 9lives $ref @type a/b x:y ключ key_with_blanks";
    for key in keys.split(' ').map(|key| key.replace('_', " ")) {
        let outputs = [
            (
                each(&python),
                format!("<calls>[look({key}='u-1', n=3)]</calls>"),
            ),
            (
                each(&elements),
                format!("<call look><arg {key}>u-1</arg><arg n>3</arg></call>"),
            ),
        ];
        for (assistant, output) in outputs {
            let assistant = format!("{{{{- m.content or '' }}}}{assistant}");
            let message = message(&assistant, &format!("{output}<turn:end>"));
            let arguments = message.pointer("/tool_calls/0/function/arguments");
            let arguments = arguments.and_then(Value::as_object).expect("a call");
            let u_1 = arguments.get(key.as_str()).and_then(Value::as_str);
            assert_eq!((u_1, arguments.len()), (Some("u-1"), 2), "{output}");
        }
    }
    for name in ["get-it", "ns.tool", "a/b", "a:b", "9x", "имя"] {
        let assistant = format!("{{{{- m.content or '' }}}}{}", each(numbered));
        let output = format!("<call>tools.{name}:0<with>{{}}</call><turn:end>");
        let message = message(&assistant, &output);
        let read = message.pointer("/tool_calls/0/function/name");
        assert_eq!(read.and_then(Value::as_str), Some(name));
    }
}

#[test]
fn keys_between_quotes_are_matched_in_one_way() {
    let argument = "{{- '<arg key=\"' + k + '\" type=\"string\">' }}{{- v if v is string else v | tojson }}{{- '</arg>' }}";
    let call = format!(
        "{{{{- m.content or '' }}}}{{%- for c in m.tool_calls or [] -%}}{{{{- '<call ' + c.function.name + '>' }}}}\
         {{%- for k, v in c.function.arguments | items -%}}{argument}{{%- endfor -%}}{{{{- '</call>' }}}}{{%- endfor -%}}"
    );
    let derivation = derive(&chat_template(&call), &DeriveOptions::default()).unwrap();
    let complaints = lint(&derivation.template, &LintOptions::default()).unwrap();
    let complaints: Vec<Lint> = complaints.iter().map(|complaint| complaint.lint).collect();
    assert!(!complaints.contains(&Lint::Exponential), "{complaints:?}");
    let output = "<call look><arg key=\"a key\" type=\"string\">x</arg></call><turn:end>";
    let message = message(&call, output);
    let read = message.pointer("/tool_calls/0/function/arguments/a key");
    assert_eq!(read.and_then(Value::as_str), Some("x"));
}

#[test]
fn calls_may_stand_within_reasoning() {
    let assistant = "{{- '<think>' + (m.reasoning_content or '') }}
{%- for c in m.tool_calls or [] -%}
{{- '<call>' + c.function.name + '|' + c.function.arguments | tojson + '</call>' }}
{%- endfor -%}
{{- '</think>' + m.content }}";
    let call = "<call>see|{\"a\": 1}</call>";
    let called = r#""tool_calls": [{"type": "function", "function": {"name": "see", "arguments": {"a": 1}}}]"#;
    for (output, expected) in [
        (
            format!("<think>Look.{call}</think>So."),
            format!(r#"{{"role": "assistant", "thinking": "Look.", {called}, "content": "So."}}"#),
        ),
        (
            format!("<think>{call}</think>"),
            format!(r#"{{"role": "assistant", {called}}}"#),
        ),
    ] {
        let message = message(assistant, &format!("{output}<turn:end>"));
        assert_eq!(message, json::read(&expected).unwrap(), "{output}");
    }
}

#[test]
fn a_variable_whose_value_a_prompt_shows_switches_no_reasoning() {
    let template = ChatTemplate::from_jinja(
        "{%- for m in messages -%}{{- '<role>' + m.role + '</role>' + m.content + '<end>' }}{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<role>assistant' }}
{%- if controls -%}{{- ' ' + controls | tojson }}{%- endif -%}{{- '</role>' }}{%- endif -%}",
    );
    let derivation = derive(&template, &DeriveOptions::default()).unwrap();
    assert!(derivation.findings.reasoning.is_none());
    let mut rows = derivation.proof.iter();
    assert!(rows.all(|row| !matches!(row.recovery, Recovery::NotRecovered(_))));
}

#[test]
fn a_name_begins_behind_the_sign_before_it() {
    let assistant = "{%- if m.reasoning_content -%}{{- '@@IDEA@@' + m.reasoning_content + '@@DONE@@' }}{%- endif -%}
{{- m.content }}
{%- for c in m.tool_calls or [] -%}
{{- ('' if loop.first else '\n') + '@' + c.function.name + c.function.arguments | tojson }}
{%- endfor -%}";
    let output = "@@IDEA@@Look.@@DONE@@@see{\"a\": 1}<turn:end>";
    let expected = r#"{"role": "assistant", "thinking": "Look.", "tool_calls": [
        {"type": "function", "function": {"name": "see", "arguments": {"a": 1}}}]}"#;
    assert_eq!(message(assistant, output), json::read(expected).unwrap());
}

#[test]
fn what_stands_around_a_text_in_some_turns_is_dropped() {
    let assistant = "{{- '<say>' + m.content + '</say>' if m.tool_calls else m.content }}
{%- for c in m.tool_calls or [] -%}
{{- '<call>' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson + '</call>' }}
{%- endfor -%}";
    let call = r#"<call>{"name": "see", "arguments": {}}</call>"#;
    for (output, expected) in [
        ("No markers.<turn:end>".to_owned(), "No markers."),
        (
            format!("<say>One moment.</say>{call}<turn:end>"),
            "One moment.",
        ),
    ] {
        let message = message(assistant, &output);
        assert_eq!(message.get("content"), Some(&expected.into()), "{output}");
    }
}

#[test]
fn no_result_depends_on_what_was_derived_before() {
    let folder = root().join("chat_templates");
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_template = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "jinja");
    let mut paths: Vec<PathBuf> = paths.filter(is_template).collect();
    paths.sort();
    let derived = |path: &PathBuf| {
        let jinja = fs::read_to_string(path).unwrap();
        derive(&ChatTemplate::from_jinja(jinja), &DeriveOptions::default()).unwrap()
    };
    let first: Vec<Derivation> = paths.iter().map(derived).collect();
    for (path, first) in paths.iter().zip(first).rev() {
        assert_eq!(derived(path), first, "{}", path.display());
    }
}

/// What is derived for a chat template that knows nothing but texts, given outputs of its model.
fn derived_with(outputs: &[&str]) -> Derivation {
    let outputs = outputs.iter().map(|line| {
        let value = json::read(line).expect("the line is JSON");
        ModelOutput::from_value(&value).expect("the line is an output")
    });
    let options = DeriveOptions::default().outputs(outputs.collect());
    derive(&chat_template("{{- m.content }}"), &options).expect("a template is derived")
}

#[test]
fn what_is_never_rendered_is_found_in_outputs() {
    let call = |content: &str, arguments: &str| {
        format!(
            r#"{{"role": "assistant"{content}, "tool_calls": [{{"type": "function",
                "function": {{"name": "see", "arguments": {arguments}}}}}]}}"#
        )
    };
    let word = r#"{"word": "ebb"}"#;
    for (outputs, text, expected) in [
        // An array behind a marker, without the message it means.
        (
            &[
                r#"{"output": "<|do|>[{\"name\": \"look\", \"arguments\": {\"n\": 1}}]<|/do|><turn:end>\n"}"#,
            ][..],
            r#"So.<|do|>[{"name": "see", "arguments": {"word": "ebb"}}]<|/do|><turn:end>"#,
            call(r#", "content": "So.""#, word),
        ),
        // A name before the arguments.
        (
            &[r#"{"output": "I look.[DO]look[WITH]{\"n\": 1}<turn:end>\n"}"#],
            r#"[DO]see[WITH]{"word": "ebb"}<turn:end>"#,
            call("", word),
        ),
        // What does not look like a call is known by its message.
        (
            &[
                r#"{"output": "<do:look><k>place</k><v>here</v></do:look><turn:end>\n", "message": {"tool_calls":
                [{"function": {"name": "look", "arguments": {"place": "here"}}}]}}"#,
            ],
            "<do:see><k>word</k><v>ebb</v></do:see><turn:end>",
            call("", word),
        ),
        (
            &[r#"{"output": "<think>Hm.</think>Yes.<turn:end>\n"}"#],
            "<think>So.</think>No.<turn:end>",
            r#"{"role": "assistant", "thinking": "So.", "content": "No."}"#.to_owned(),
        ),
        // Markers without a name that says so, and a thought that is known.
        (
            &[
                r#"{"output": "<|a|>Hm.<|b|>Yes.<turn:end>\n", "message": {"reasoning": "Hm.", "content": "Yes."}}"#,
            ],
            "<|a|>So.<|b|>No.<turn:end>",
            r#"{"role": "assistant", "thinking": "So.", "content": "No."}"#.to_owned(),
        ),
    ] {
        let derivation = derived_with(outputs);
        let rows = derivation.outputs.iter();
        let differences: Vec<&str> = rows.filter_map(|row| row.difference.as_deref()).collect();
        assert!(differences.is_empty(), "{outputs:?}: {differences:?}");
        let message = parse(
            &derivation.template,
            "<turn:bot>",
            text,
            ParserOptions::default(),
        );
        let message = Value::from(message.expect("it is read"));
        assert_eq!(
            message,
            json::read(&expected).expect("a message"),
            "{outputs:?}"
        );
        let statements = derivation.findings.statements();
        let mut certainties = statements.iter().map(|statement| statement.certainty);
        assert!(
            certainties.any(|certainty| certainty == Certainty::Observed),
            "{outputs:?}"
        );
    }
}

#[test]
fn an_example_of_a_call_in_an_answer_is_no_evidence_of_calls() {
    let output = r#"{"output": "Write {\"name\": \"look\", \"arguments\": {}} so.<turn:end>\n"}"#;
    let derivation = derived_with(&[output]);
    assert!(derivation.findings.calls.is_none());
    assert!(derivation.is_whole());
}

#[test]
fn outputs_that_are_misread_leave_nothing_whole() {
    let otherwise = r#"{"output": "Yes.<turn:end>\n", "message": {"content": "No."}}"#;
    let derivation = derived_with(&[otherwise]);
    assert!(!derivation.is_whole());
    let difference = derivation.outputs[0].difference.as_deref();
    assert_eq!(difference, Some(r#"content is "Yes.", not "No.""#));
    // Where no message is given, what is known of the format must not be left in one.
    let known = r#"{"output": "<|a|>Hm.<|b|>Yes.<turn:end>\n", "message": {"thinking": "Hm.", "content": "Yes."}}"#;
    let twice = r#"{"output": "<|a|>Hm. <|a|>So.<|b|>Yes.<turn:end>\n"}"#;
    let difference = &derived_with(&[known, twice]).outputs[1].difference;
    assert_eq!(
        difference.as_deref(),
        Some(r#""<|a|>" is left in thinking"#)
    );
}

#[test]
fn lines_that_are_no_outputs_are_refused_with_the_reason() {
    for (line, expected) in [
        (
            "{}",
            "there is no `output`: write the text of the model under it",
        ),
        (r#"{"output": 1}"#, "`output` is a number, not a text"),
        (
            r#"{"text": "", "message": []}"#,
            "`message` is an array, not an object",
        ),
        (
            r#"{"text": "", "prefix": {}}"#,
            "`prefix` is an object, not a text",
        ),
    ] {
        let value = json::read(line).expect("the line is JSON");
        assert_eq!(
            ModelOutput::from_value(&value),
            Err(expected.to_owned()),
            "{line}"
        );
    }
}

/// The turns of the assistant in these formats are read, each the same call twice behind a text.
fn assert_called_twice(formats: &[(&str, &str)]) {
    for (assistant, output) in formats {
        let message = message(assistant, &format!("{output}<turn:end>"));
        let expected = r#"{"role": "assistant", "content": "So:", "tool_calls": [
            {"type": "function", "function": {"name": "see", "arguments": {"at": "a, b", "n": 7}}},
            {"type": "function", "function": {"name": "see", "arguments": {"at": "a, b", "n": 7}}}]}"#;
        assert_eq!(message, json::read(expected).unwrap(), "{output}");
    }
}

#[test]
fn a_blank_may_be_all_that_stands_between_calls() {
    assert_called_twice(&[(
        "{{- m.content + ' ' }}{%- for c in m.tool_calls or [] -%}
{{- '<call> ' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson + ' ' }}{%- endfor -%}",
        "So: <call> {\"name\": \"see\", \"arguments\": {\"at\": \"a, b\", \"n\": 7}} \
         <call> {\"name\": \"see\", \"arguments\": {\"at\": \"a, b\", \"n\": 7}} ",
    )]);
}

#[test]
fn a_longer_word_is_no_word_with_a_name_behind_it() {
    assert_called_twice(&[(
        "{{- m.content }}{%- for c in m.tool_calls or [] -%}
{{- ('<calls>' if loop.first else '') + '<call ' + c.function.name + '>' }}
{%- for k, v in c.function.arguments.items() -%}
{{- '<p ' + k + '>' + v | tojson + '</p>' }}
{%- endfor -%}{{- '</call>' + ('</calls>' if loop.last else '') }}{%- endfor -%}",
        "So:<calls><call see><p at>\"a, b\"</p><p n>7</p></call><call see><p at>\"a, b\"</p><p n>7</p></call></calls>",
    )]);
}

#[test]
fn arguments_that_nothing_opens_are_known_by_what_follows_their_keys() {
    assert_called_twice(&[
        (
            "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<' + c.function.name }}
{%- for k, v in c.function.arguments.items() -%}{{- ' ' + k + '=' + v | tojson }}{%- endfor -%}
{{- ' />' }}{%- endfor -%}",
            "So:<see at=\"a, b\" n=7 /><see at=\"a, b\" n=7 />",
        ),
        (
            "{{- m.content + '\n' if m.content }}{%- for c in m.tool_calls or [] -%}{{- '%do ' + c.function.name + '\n' }}
{%- for k, v in c.function.arguments.items() -%}{{- k + ' = ' + v | tojson + '\n' }}{%- endfor -%}
{{- '%%\n' }}{%- endfor -%}",
            "So:\n%do see\nat = \"a, b\"\nn = 7\n%%\n%do see\nat = \"a, b\"\nn = 7\n%%\n",
        ),
    ]);
}

#[test]
fn keys_without_quotes_may_have_white_space_before_them() {
    assert_called_twice(&[(
        "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '\nawait ' + c.function.name + '({' }}
{%- for k, v in c.function.arguments.items() -%}{{- k + ': ' + v | tojson + (', ' if not loop.last else '') }}
{%- endfor -%}{{- '});' }}{%- endfor -%}",
        "So:\nawait see({at: \"a, b\", n: 7});\nawait see({at: \"a, b\", n: 7});",
    )]);
}

#[test]
fn all_calls_may_be_closed_as_texts_are() {
    assert_called_twice(&[(
        "{{- '<part 1>' + m.content + '</part>' if m.content }}{%- for c in m.tool_calls or [] -%}
{{- ('<part 2>' if loop.first else '') + {'do': c.function.name, 'with': c.function.arguments} | tojson + '\n' }}
{{- '</part>' if loop.last }}{%- endfor -%}",
        "<part 1>So:</part><part 2>{\"do\": \"see\", \"with\": {\"at\": \"a, b\", \"n\": 7}}\n\
         {\"do\": \"see\", \"with\": {\"at\": \"a, b\", \"n\": 7}}\n</part>",
    )]);
}

#[test]
fn what_closes_reasoning_may_open_calls() {
    assert_called_twice(&[(
        "{%- if m.reasoning_content -%}{{- '~~~~idea\n' + m.reasoning_content + '\n~~~~\n' }}{%- endif -%}
{{- m.content + '\n' if m.content }}{%- for c in m.tool_calls or [] -%}
{{- '~~~~do ' + c.function.name + '\n' + c.function.arguments | tojson + '\n~~~~\n' }}{%- endfor -%}",
        "So:\n~~~~do see\n{\"at\": \"a, b\", \"n\": 7}\n~~~~\n~~~~do see\n{\"at\": \"a, b\", \"n\": 7}\n~~~~\n",
    )]);
}

#[test]
fn calls_may_be_numbered_as_a_list_is() {
    assert_called_twice(&[(
        "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<calls>' if loop.first }}
{{- loop.index ~ '. ' ~ c.function.name ~ ' <- ' ~ c.function.arguments | tojson ~ '\n' }}
{{- '</calls>' if loop.last }}{%- endfor -%}",
        "So:<calls>1. see <- {\"at\": \"a, b\", \"n\": 7}\n2. see <- {\"at\": \"a, b\", \"n\": 7}\n</calls>",
    )]);
}

#[test]
fn a_name_may_stand_behind_the_arguments() {
    assert_called_twice(&[(
        "{{- m.content }}{%- for c in m.tool_calls or [] -%}
{{- '<call>' + c.function.arguments | tojson + '@' + c.function.name + '#' + c.id + '</call>' }}{%- endfor -%}",
        "So:<call>{\"at\": \"a, b\", \"n\": 7}@see#abc</call><call>{\"at\": \"a, b\", \"n\": 7}@see#abd</call>",
    )]);
}

#[test]
fn a_header_of_words_that_is_always_written_is_no_part_of_a_turn() {
    let jinja = "{% for m in messages %}{% if m.role == 'assistant' %}## Keeper\n{{ m.content }}<|over|>\n\n\
                 {% else %}## Ship\n{{ m.content }}\n\n{% endif %}{% endfor %}{{ '## Keeper\n' }}";
    let template = ChatTemplate::from_jinja(jinja);
    let derived = derive(&template, &DeriveOptions::default()).expect("it can be derived");
    assert_eq!(derived.recovered(), derived.proof.len());
    assert_eq!(derived.findings.turn.ends, ["<|over|>"]);
    assert_eq!(
        derived.findings.turn.next_header.as_deref(),
        Some("\n\n## Keeper\n")
    );
    let read_by = ResponseTemplate::from_value(&derived.template).unwrap();
    for (output, content) in [
        ("High water is at noon.<|over|>", "High water is at noon."),
        (
            "High water is at noon.<|over|>\n\n## Keeper\n",
            "High water is at noon.",
        ),
        // In a text, the same words are said.
        (
            "Write:\n\n## Keeper\nNoon.<|over|>",
            "Write:\n\n## Keeper\nNoon.",
        ),
    ] {
        let read = parse(&read_by, "## Keeper\n", output, ParserOptions::default());
        let expected = Object::from_iter([("role", "assistant"), ("content", content)]);
        assert_eq!(read.unwrap(), expected, "{output}");
    }
}

#[test]
fn a_turn_begins_behind_its_header_whatever_varies_in_it() {
    for (header, prompts) in [
        (
            "<bot n={{ effort | default('high') }}>",
            &["<bot n=high>", "<bot n=low>"][..],
        ),
        (
            "<bot{{ '_quick' if mode == 'fast' }}>",
            &["<bot>", "<bot_quick>"],
        ),
        (
            "<bot {{ strftime_now('%d %b %Y') }}>",
            &["<bot 03 Mar 2031>", "<bot 30 Nov 1999>"],
        ),
        (
            "<turn {{ loop.index if loop is defined else messages | length + 1 }} bot>",
            &["<turn 2 bot>", "<turn 17 bot>"],
        ),
    ] {
        let jinja = "{% for m in messages %}{% if m.role == 'assistant' %}HEADER{{ m.content }}<end>\
                     {% else %}<{{ m.role }}>{{ m.content }}<end>{% endif %}{% endfor %}\
                     {% if add_generation_prompt %}HEADER{% endif %}";
        let chat = ChatTemplate::from_jinja(jinja.replace("HEADER", header));
        let derivation = derive(&chat, &DeriveOptions::default()).unwrap();
        assert!(derivation.is_whole(), "{header}");
        for prompt in prompts {
            let prefix = format!("<user>Hi<end>{prompt}");
            let options = ParserOptions::default();
            let message = parse(&derivation.template, &prefix, "Yes.<end>", options).unwrap();
            let content = message.get("content").and_then(|text| text.as_str());
            assert_eq!(content, Some("Yes."), "{prefix}");
        }
    }
}

#[test]
fn reasoning_may_stand_behind_what_it_is_about() {
    let assistant = "{%- for c in m.tool_calls or [] -%}
{{- '<do>' + c.function.name + '|' + c.function.arguments | tojson + '</do>' }}{%- endfor -%}
{{- '<say>' + m.content + '</say>' if m.content }}
{{- '<since>' + m.reasoning_content + '</since>' if m.reasoning_content }}";
    for (output, expected) in [
        (
            "<say>So.</say><since>It is.</since><turn:end>",
            r#"{"role": "assistant", "content": "So.", "thinking": "It is."}"#,
        ),
        (
            "<do>see|{}</do><since>It is.</since><turn:end>",
            r#"{"role": "assistant", "thinking": "It is.", "tool_calls": [
                {"type": "function", "function": {"name": "see", "arguments": {}}}]}"#,
        ),
    ] {
        let expected = json::read(expected).unwrap();
        let message = message(assistant, output);
        for key in ["content", "thinking", "tool_calls"] {
            assert_eq!(message.get(key), expected.get(key), "{output}");
        }
    }
}

#[test]
fn calls_show_that_what_stands_before_them_is_reasoning() {
    let assistant = "{{- m.reasoning_content + '\n' if m.reasoning_content }}
{%- for c in m.tool_calls or [] -%}
{{- '[CALL ' + c.function.name + ']\n' + c.function.arguments | tojson + '\n[/CALL]\n' }}{%- endfor -%}
{{- '[SAY]\n' + m.content + '\n' if m.content }}";
    let call = "[CALL see]\n{}\n[/CALL]\n";
    let called =
        r#""tool_calls": [{"type": "function", "function": {"name": "see", "arguments": {}}}]"#;
    for (output, expected) in [
        (
            format!("It is.\n{call}"),
            format!(r#"{{"role": "assistant", "thinking": "It is.", {called}}}"#),
        ),
        (
            call.to_owned(),
            format!(r#"{{"role": "assistant", {called}}}"#),
        ),
        (
            "It is.\n[SAY]\nSo.\n".to_owned(),
            r#"{"role": "assistant", "thinking": "It is.", "content": "So."}"#.to_owned(),
        ),
    ] {
        let message = message(assistant, &format!("{output}<turn:end>"));
        assert_eq!(message, json::read(&expected).unwrap(), "{output}");
    }
}

#[test]
fn what_stands_between_calls_opens_none_within_a_text() {
    let assistant = "{{- m.content if not m.tool_calls }}{%- for c in m.tool_calls or [] -%}
{{- ('[' if loop.first else ', ') + c.function.name + '(' }}
{%- for k, v in c.function.arguments.items() -%}{{- k + '=' + v | tojson + (', ' if not loop.last else '') }}{%- endfor -%}
{{- ')' + (']' if loop.last else '') }}{%- endfor -%}";
    for text in [
        "As in [1], sum(a=1) is quick.",
        "In Python, [f(x) for x in xs] is a list.",
    ] {
        let message = message(assistant, &format!("{text}<turn:end>"));
        assert_eq!(message.get("content"), Some(&text.into()));
        assert_eq!(message.get("tool_calls"), None);
    }
    let code = "print(max(1, 2), min(3, 4))";
    let output = format!("[see(code=\"{code}\"), see(code=\"\")]<turn:end>");
    let message = message(assistant, &output);
    let codes = message.pointer("/tool_calls/0/function/arguments/code");
    assert_eq!(codes, Some(&code.into()));
    assert_eq!(message.pointer("/tool_calls/2"), None);
}

/// Each template writes one argument between tags that have parts in common.
#[test]
fn an_argument_ends_where_the_whole_of_its_end_stands() {
    let tagged = |open: &str, close: &str| {
        format!(
            "{{{{- m.content }}}}{{%- for c in m.tool_calls or [] -%}}{{{{- '::<call>' + c.function.name }}}}
{{%- for k, v in c.function.arguments.items() -%}}{{{{- {open} }}}}{{{{- v }}}}{{{{- {close} }}}}{{%- endfor -%}}
{{{{- '::</call>' }}}}{{%- endfor -%}}"
        )
    };
    for (assistant, output, expected) in [
        (
            tagged("'[[' + k + ']]'", "'[[/ARG]]'"),
            "::<call>see[[places]]['a', 'b'][[/ARG]]::</call>",
            r#"{"places": ["a", "b"]}"#,
        ),
        (
            tagged("'::<' + k + '>'", "'::</' + k + '>'"),
            "::<call>see::<at>a::</b::</at>::</call>",
            r#"{"at": "a::</b"}"#,
        ),
    ] {
        let message = message(&assistant, &format!("{output}<turn:end>"));
        let calls = format!(
            r#"[{{"type": "function", "function": {{"name": "see", "arguments": {expected}}}}}]"#
        );
        let expected = json::read(&calls).unwrap();
        assert_eq!(message.get("tool_calls"), Some(&expected), "{output}");
    }
}

/// What is derived reads the texts of all these outputs.
fn assert_read(assistant: &str, outputs: &[(&str, &str)]) {
    for (output, expected) in outputs {
        let message = message(assistant, &format!("{output}<turn:end>"));
        assert_eq!(message, json::read(expected).unwrap(), "{output}");
    }
}

#[test]
fn several_texts_may_open_an_answer() {
    let assistant = "{%- if m.reasoning_content -%}{{- 'Thought: ' + m.reasoning_content + '\\n' }}{%- endif -%}
{%- if m.tool_calls -%}
{%- if m.content -%}{{- 'Remark: ' + m.content + '\\n' }}{%- endif -%}
{%- for c in m.tool_calls -%}
{{- 'Action: ' + c.function.name + '\\nInput: ' + c.function.arguments | tojson + '\\n' }}
{%- endfor -%}
{%- else -%}{{- 'Answer: ' + m.content }}{%- endif -%}";
    assert_read(
        assistant,
        &[
            (
                "Thought: Hm. Remark: no word\nAnswer: Remark: here.",
                r#"{"role": "assistant", "thinking": "Hm. Remark: no word", "content": "Remark: here."}"#,
            ),
            (
                "Thought: Hm.\nRemark: One moment.\nAction: see\nInput: {\"at\": \"a\"}\n",
                r#"{"role": "assistant", "thinking": "Hm.", "content": "One moment.", "tool_calls": [
                    {"type": "function", "function": {"name": "see", "arguments": {"at": "a"}}}]}"#,
            ),
        ],
    );
}

#[test]
fn texts_may_be_strings_of_json() {
    let assistant = "{{- '{\"plan\": ' + (m.reasoning_content or '') | tojson + ', \"say\": ' + (m.content or '') | tojson
    + ', \"do\": [' -}}
{%- for c in m.tool_calls or [] -%}
{{- {'tool': c.function.name, 'with': c.function.arguments} | tojson + (', ' if not loop.last else '') }}
{%- endfor -%}{{- ']}' }}";
    assert_read(
        assistant,
        &[
            (
                r#"{"plan": "A \"quote\",\nand: \", \"say\": \"", "say": "Yes: \", \"do\": [", "do": []}"#,
                r#"{"role": "assistant", "thinking": "A \"quote\",\nand: \", \"say\": \"",
                    "content": "Yes: \", \"do\": ["}"#,
            ),
            (
                r#"{"plan": "In C:\\", "say": "Or D:\\\\", "do": []}"#,
                r#"{"role": "assistant", "thinking": "In C:\\", "content": "Or D:\\\\"}"#,
            ),
            (
                r#"{"plan": ", \"say\": \"", "say": ", \"do\": [", "do": []}"#,
                r#"{"role": "assistant", "thinking": ", \"say\": \"", "content": ", \"do\": ["}"#,
            ),
            (
                r#"{"plan": "", "say": "", "do": [{"tool": "see", "with": {"at": "]}"}}]}"#,
                r#"{"role": "assistant", "tool_calls": [
                    {"type": "function", "function": {"name": "see", "arguments": {"at": "]}"}}}]}"#,
            ),
        ],
    );
}

#[test]
fn words_and_common_signs_around_texts_may_stand_within_them() {
    let calls = "{%- for c in m.tool_calls or [] -%}{{- '<f>' ~ c.function.name ~ ' ' ~ c.function.arguments | tojson ~ '</f>' -}}
{%- endfor -%}";
    // A bracket opens all calls.
    let bracket = format!(
        "{{%- if m.reasoning_content -%}}{{{{- 'T: ' + m.reasoning_content + '\\n' }}}}{{%- endif -%}}
{{%- if m.content -%}}{{{{- '<say>' + m.content + '\\n' }}}}{{%- endif -%}}
{{{{- '(' if m.tool_calls }}}}{calls}{{{{- ')' if m.tool_calls }}}}"
    );
    assert_read(
        &bracket,
        &[(
            "T: (a) or T: b?\n(c)\n<say>Either:\n(a) one\n(b) two\n(<f>see {}</f>)",
            r#"{"role": "assistant", "thinking": "(a) or T: b?\n(c)", "content": "Either:\n(a) one\n(b) two",
                "tool_calls": [{"type": "function", "function": {"name": "see", "arguments": {}}}]}"#,
        )],
    );
    // Lines close a thought, other ones beside calls.
    let lines = format!(
        "{{%- if m.reasoning_content -%}}{{{{- 'Thought: ' + m.reasoning_content + ('\\n~~\\n' if m.tool_calls else '\\n==\\n') }}}}
{{%- endif -%}}{{{{- m.content }}}}{calls}"
    );
    assert_read(
        &lines,
        &[
            (
                "Thought: if a == b.\n==\nYes.",
                r#"{"role": "assistant", "thinking": "if a == b.", "content": "Yes."}"#,
            ),
            (
                "A Thought: one.\n==\nTwo.",
                r#"{"role": "assistant", "content": "A Thought: one.\n==\nTwo."}"#,
            ),
        ],
    );
    // What opens a thought begins as what opens an answer does.
    let alike = format!(
        "{{%- if m.reasoning_content -%}}{{{{- '<a: ' + m.reasoning_content + '\\n' }}}}{{%- endif -%}}
{{%- if m.content -%}}{{{{- ('<a:say: ' if m.tool_calls else '<a:answer: ') + m.content + '\\n' }}}}{{%- endif -%}}{calls}"
    );
    assert_read(
        &alike,
        &[(
            "<a: Is the answer: 5?\n<a:answer: 5\n",
            r#"{"role": "assistant", "thinking": "Is the answer: 5?", "content": "5"}"#,
        )],
    );
}

#[test]
fn nothing_but_the_next_part_may_close_a_text() {
    let assistant =
        "{%- if m.reasoning_content -%}{{- '<part>plan\\n' + m.reasoning_content }}{%- endif -%}
{%- if m.content -%}{{- '<part>text\\n' + m.content }}{%- endif -%}
{%- for c in m.tool_calls or [] -%}
{{- '<part>call ' + c.function.name + '\\n' + c.function.arguments | tojson }}
{%- endfor -%}";
    assert_read(
        assistant,
        &[(
            "<part>plan\nHm.<part>text\nSo:<part>call see\n{}<part>call see\n{\"at\": 1}",
            r#"{"role": "assistant", "thinking": "Hm.", "content": "So:", "tool_calls": [
                {"type": "function", "function": {"name": "see", "arguments": {}}},
                {"type": "function", "function": {"name": "see", "arguments": {"at": 1}}}]}"#,
        )],
    );
}

#[test]
fn calls_and_arguments_may_be_numbered_within_markers() {
    assert_called_twice(&[
        (
            "{{- m.content }}{%- for c in m.tool_calls or [] -%}
{{- '<call_' ~ loop.index0 ~ '>' ~ c.function.name ~ ' ' ~ c.function.arguments | tojson ~ '</call_' ~ loop.index0 ~ '>' }}
{%- endfor -%}",
            "So:<call_0>see {\"at\": \"a, b\", \"n\": 7}</call_0>\
             <call_1>see {\"at\": \"a, b\", \"n\": 7}</call_1>",
        ),
        (
            "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<do name=\"' ~ c.function.name ~ '\">' }}
{%- for k, v in c.function.arguments | items -%}
{{- '<arg' ~ loop.index ~ ' key=\"' ~ k ~ '\">' ~ v | tojson ~ '</arg' ~ loop.index ~ '>' }}
{%- endfor -%}{{- '</do>' }}{%- endfor -%}",
            "So:<do name=\"see\"><arg1 key=\"at\">\"a, b\"</arg1><arg2 key=\"n\">7</arg2></do>\
             <do name=\"see\"><arg1 key=\"at\">\"a, b\"</arg1><arg2 key=\"n\">7</arg2></do>",
        ),
    ]);
}

#[test]
fn what_a_bracket_with_bars_holds_is_a_marker() {
    let assistant = "{%- if m.reasoning_content -%}{{- '[|生각|]' + m.reasoning_content + '[|/生각|]' }}{%- endif -%}
{{- m.content }}{%- for c in m.tool_calls or [] -%}
{{- '[|호출|]' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson + '[|/호출|]' }}
{%- endfor -%}{{- '[|대기|]' if m.tool_calls else '[|끝|]' }}";
    assert_read(
        assistant,
        &[(
            "[|生각|]Hm.[|/生각|]So:[|호출|]{\"name\": \"see\", \"arguments\": {}}[|/호출|][|대기|]",
            r#"{"role": "assistant", "thinking": "Hm.", "content": "So:", "tool_calls": [
                {"type": "function", "function": {"name": "see", "arguments": {}}}]}"#,
        )],
    );
}

#[test]
fn calls_and_their_arguments_may_be_elements_with_names_of_their_own() {
    let elements = |line: &str, indent: &str| {
        format!(
            "{{{{- m.content }}}}{{%- for c in m.tool_calls or [] -%}}{{{{- '<' + c.function.name + '>{line}' }}}}
{{%- for k, v in c.function.arguments | items -%}}
{{{{- '{indent}<' + k + '>' + v | tojson + '</' + k + '>{line}' }}}}
{{%- endfor -%}}{{{{- '</' + c.function.name + '>{line}' }}}}{{%- endfor -%}}"
        )
    };
    let call = "<see><at>\"a, b\"</at><n>7</n></see>";
    let lines = "<see>\n  <at>\"a, b\"</at>\n  <n>7</n>\n</see>\n";
    for (assistant, call) in [(elements("", ""), call), (elements("\\n", "  "), lines)] {
        assert_called_twice(&[(assistant.as_str(), &format!("So:{call}{call}"))]);
    }
}

/// Texts of element formats whose arguments are named by their tags.
#[test]
fn elements_may_hold_markup_or_nothing_and_answers_may_hold_closing_tags() {
    let assistant = "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<tool_call>\\n<' + c.function.name + '>\\n' }}
{%- for k, v in c.function.arguments | items -%}
{{- '<' + k + '>' + (v if v is string else v | tojson) + '</' + k + '>\\n' }}
{%- endfor -%}{{- '</' + c.function.name + '>\\n</tool_call>\\n' }}{%- endfor -%}";
    let call = |argument: &str| {
        format!("<tool_call>\n<see>\n<n>x</n>\n{argument}\n</see>\n</tool_call>\n")
    };
    let called = |at: &str| {
        format!(
            r#"{{"role": "assistant", "content": "So:", "tool_calls": [{{"type": "function",
            "function": {{"name": "see", "arguments": {{"n": "x", "at": "{at}"}}}}}}]}}"#
        )
    };
    let texts = ["", "<b>here</b>", "<ul><li>a</li></ul>", "a < b", "</at"];
    let outputs = texts.map(|text| {
        let output = call(&format!("<at>{text}</at>"));
        (format!("So:{output}"), called(text))
    });
    let outputs = outputs.each_ref();
    assert_read(
        assistant,
        &outputs.map(|(output, message)| (output.as_str(), message.as_str())),
    );
    assert_read(
        assistant,
        &[(
            "A list ends with </li> and </ul>.",
            r#"{"role": "assistant", "content": "A list ends with </li> and </ul>."}"#,
        )],
    );
}

/// What the template that is derived of a chat template makes of an output behind a prompt.
fn read_behind(jinja: &str, prompt: &str, output: &str) -> Value {
    let derivation = derive(&ChatTemplate::from_jinja(jinja), &DeriveOptions::default());
    let template = ResponseTemplate::from_value(&derivation.unwrap().template).unwrap();
    let message = parse(&template, prompt, output, ParserOptions::default());
    message.unwrap().into()
}

#[test]
fn a_turn_that_nothing_ends_is_ended_by_what_the_next_message_begins_with() {
    let jinja = "{% for m in messages %}{% if m.role == 'assistant' %}[[bot]]{{ m.content or '' }}\
                 {% for c in m.tool_calls or [] %}[[do]]{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}\
                 [[/do]]{% endfor %}{% elif m.role == 'tool' %}[[found]]{{ m.content }}\
                 {% else %}[[{{ m.role }}]]{{ m.content }}{% endif %}{% endfor %}\
                 {% if add_generation_prompt %}[[bot]]{% endif %}";
    let call = r#"[[do]]{"name": "see", "arguments": {}}[[/do]]"#;
    let expected = json::read(
        r#"{"role": "assistant", "content": "So:", "tool_calls": [
            {"type": "function", "function": {"name": "see", "arguments": {}}}]}"#,
    );
    for end in ["", "[[found]]", "[[user]]"] {
        let message = read_behind(jinja, "[[bot]]", &format!("So:{call}{end}"));
        assert_eq!(Ok(message), expected, "{end}");
    }
}

/// What a template takes an answer out of in past turns stands around it behind a thought.
#[test]
fn an_answer_stands_between_the_markers_that_past_turns_lose() {
    for (cut, output, expected) in [
        (
            "m.content.split('</t>')[-1].split('<say>')[-1].split('</say>')[0] | trim",
            "Hm.\n</t>\n<say>\nYes.\n</say><end>",
            "Yes.",
        ),
        (
            "m.content.split('</t>')[-1].split('<say>')[-1].split('</say>')[0] | trim",
            "Hm.\n</t>\nPut `</say>` last.<end>",
            "Put `</say>` last.",
        ),
        // What opens the answer may be what closes the thought.
        (
            "m.content.split('[BEGIN ANSWER]')[-1].split('[END ANSWER]')[0] | trim",
            "Hm.\n[BEGIN ANSWER]\nYes.\n[END ANSWER]<end>",
            "Yes.",
        ),
        // Nothing else is cut here.
        (
            "m.content.split('</t>')[-1] | replace('<say>', '') | replace('</say>', '')",
            "Hm.\n</t>\n<say>Yes.</say><end>",
            "<say>Yes.</say>",
        ),
    ] {
        let jinja = format!(
            "{{% for m in messages %}}{{% if m.role == 'assistant' %}}<bot>{{{{ {cut} }}}}<end>{{% else %}}<ask>{{{{ m.content }}}}<end>\
             {{% endif %}}{{% endfor %}}{{{{ '<bot><t>\n' if add_generation_prompt }}}}"
        );
        let message = read_behind(&jinja, "<bot><t>\n", output);
        let content = message.get("content").and_then(Value::as_str);
        assert_eq!(content, Some(expected), "{cut} {output}");
    }
}

/// Where tools are offered, a prompt may say nothing of thoughts.
#[test]
fn instructions_without_tools_tell_of_reasoning_and_of_what_stands_around_the_answer() {
    let jinja = "{% if tools %}Tools: {{ tools | tojson }}{% else %}Put the thought in <thought>..</thought>, and the rest in <reply>..</reply>.\
                 {% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for t in m.tool_calls or [] %}<call>{{ t.function | tojson }}</call>\
                 {% endfor %}<end>{% endfor %}{{ '<assistant>' if add_generation_prompt }}";
    let output = "<thought>\nHm.\n</thought>\n\n<reply>\nYes.\n</reply><end>";
    let expected = json::read(r#"{"role": "assistant", "thinking": "Hm.", "content": "Yes."}"#);
    assert_eq!(Ok(read_behind(jinja, "<assistant>", output)), expected);
}

/// A conversation may end a tool's answer otherwise than a prompt does, so that the turn begins with that. An answer may speak of the
/// header, and of what stands behind calls, all the same.
#[test]
fn a_header_is_dropped_where_a_conversation_writes_it() {
    let jinja = "{% for m in messages %}{% if m.role == 'tool' %}<got>{{ m.content }}</got>{{ '<end>' if loop.last else '\n<end>' }}\
                 {% elif m.role == 'assistant' %}<bot>\n{{ m.content }}{% for t in m.tool_calls or [] %}<call>{{ t.function | tojson }}</call>\
                 {% endfor %}{{ '<wait>' if m.tool_calls }}<end>{% else %}<ask>{{ m.content }}<end>{% endif %}{% endfor %}\
                 {{ '<bot>\n' if add_generation_prompt }}";
    let call = r#"<call>{"name": "read_tide", "arguments": {}}</call>"#;
    for (prompt, output, expected) in [
        ("<got>4</got>", "\n<end><bot>\nFour.<end>", "Four."),
        ("<got>4</got><end><bot>\n", "Four.<end>", "Four."),
        ("<bot>\n", "<bot>\nFour.<end>", "Four."),
        ("<bot>\n", "Put `<bot>` first.<end>", "Put `<bot>` first."),
        ("<bot>\n", "Put `<wait>` last.<end>", "Put `<wait>` last."),
        ("<bot>\n", &format!("Hm.{call}<wait><end>"), "Hm."),
    ] {
        let message = read_behind(jinja, prompt, output);
        let content = message.get("content").and_then(Value::as_str);
        assert_eq!(content, Some(expected), "{output}");
    }
}

/// A prompt and a conversation may have other white space before a thought, which is the same thought all the same: an answer may speak
/// of what opens it.
#[test]
fn a_thought_is_the_same_behind_other_white_space() {
    let turns = |before: &str, in_prompt: &str, thought: &str| {
        format!(
            "{{% for m in messages %}}{{% if m.role == 'assistant' %}}<bot>{before}{thought}{{{{ m.content }}}}<end>\
             {{% else %}}<ask>{{{{ m.content }}}}<end>{{% endif %}}{{% endfor %}}\
             {{% if add_generation_prompt %}}{{{{ '<bot>{in_prompt}<t>' }}}}\
             {{{{ '</t>' if enable_thinking is defined and not enable_thinking }}}}{{% endif %}}"
        )
    };
    let own = "<t>{{ m.reasoning_content or '' }}</t>";
    for (before, in_prompt, thought) in [
        ("", "\n", own),
        ("\n", "", own),
        ("\n", " ", own),
        ("", "\n", "<t></t>"),
        ("\n", "", "<t></t>"),
    ] {
        let jinja = turns(before, in_prompt, thought);
        let derivation =
            derive(&ChatTemplate::from_jinja(&jinja), &DeriveOptions::default()).unwrap();
        assert!(derivation.is_whole(), "{jinja}");
        for (prompt, output, content) in [
            ("<t>", "Hm.</t>Put `<t>` first.<end>", "Put `<t>` first."),
            ("<t></t>", "Put `<t>` first.<end>", "Put `<t>` first."),
        ] {
            let message = read_behind(&jinja, &format!("<bot>{in_prompt}{prompt}"), output);
            let found = message.get("content").and_then(Value::as_str);
            assert_eq!(found, Some(content), "{jinja}");
        }
    }
}

/// A prompt and a conversation may have other white space between the markers that stand before a text, which open no thought.
#[test]
fn a_header_of_several_markers_is_the_same_with_other_white_space_in_it() {
    let jinja = "{% for m in messages %}{% if m.role == 'assistant' %}<bot><say>{{ m.content }}</say><end>\
                 {% else %}<ask>{{ m.content }}<end>{% endif %}{% endfor %}{{ '<bot>\n<say>' if add_generation_prompt }}";
    let derivation = derive(&ChatTemplate::from_jinja(jinja), &DeriveOptions::default()).unwrap();
    assert!(derivation.is_whole());
    let message = read_behind(jinja, "<bot>\n<say>", "Put `<say>` first.</say><end>");
    let expected = r#"{"role": "assistant", "content": "Put `<say>` first."}"#;
    assert_eq!(Ok(message), json::read(expected));
}

/// The template writes a header around no text at all, and a model that has nothing to say does not.
#[test]
fn a_call_may_stand_at_once_where_an_empty_text_has_a_header() {
    let jinja = "{% for m in messages %}{% if m.role == 'assistant' %}\
                 {% if m.content is not none %}<:from:>bot<:to:>all<:say:>{{ m.content }}{% endif %}\
                 {% for c in m.tool_calls or [] %}<:from:>bot<:to:>{{ c.function.name }}<:say:>{{ c.function.arguments | tojson }}\
                 {% endfor %}<:end:>{% else %}<:from:>{{ m.role }}<:to:>all<:say:>{{ m.content }}{% endif %}{% endfor %}\
                 {% if add_generation_prompt %}<:from:>bot<:to:>{% endif %}";
    let call = r#"see<:say:>{"at": "here"}<:end:>"#;
    let calls = r#""tool_calls": [{"type": "function",
        "function": {"name": "see", "arguments": {"at": "here"}}}]"#;
    for (said, content) in [
        ("", ""),
        ("all<:say:><:from:>bot<:to:>", ""),
        ("all<:say:>So:<:from:>bot<:to:>", r#""content": "So:","#),
    ] {
        let message = read_behind(jinja, "<:from:>bot<:to:>", &format!("{said}{call}"));
        let expected = json::read(&format!(r#"{{"role": "assistant", {content} {calls}}}"#));
        assert_eq!(Ok(message), expected, "{said}");
    }
}

#[test]
fn a_word_opens_calls_before_json_alone_and_white_space_may_stand_before_markers() {
    assert_read(
        "{{- m.content }}{%- if m.tool_calls -%}{{- 'toolbox[' }}{%- for c in m.tool_calls -%}
{{- {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}{{- ', ' if not loop.last }}{%- endfor -%}{{- ']' }}{%- endif -%}",
        &[
            (
                "In toolbox.open(f, [1]) a list stands.",
                r#"{"role": "assistant", "content": "In toolbox.open(f, [1]) a list stands."}"#,
            ),
            (
                r#"So:toolbox[{"name": "see", "arguments": {}}]"#,
                r#"{"role": "assistant", "content": "So:", "tool_calls": [
                    {"type": "function", "function": {"name": "see", "arguments": {}}}]}"#,
            ),
        ],
    );
    assert_read(
        "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<|do|>' + c.function.name + '<|with|>' + c.function.arguments | tojson + '<|done|>' }}
{%- endfor -%}",
        &[(
            r#"So: <|do|> see <|with|> {"at": "here"} <|done|>"#,
            r#"{"role": "assistant", "content": "So:", "tool_calls": [
                {"type": "function", "function": {"name": "see", "arguments": {"at": "here"}}}]}"#,
        )],
    );
}

/// Nothing but its keys opens a call.
#[test]
fn an_example_of_a_bare_call_in_a_fence_is_none() {
    let assistant = "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '\\n' }}
{{- {'name': c.function.name, 'parameters': c.function.arguments} | tojson }}{%- endfor -%}";
    let call = r#"{"type": "function", "function": {"name": "see", "arguments": {"at": "here"}}}"#;
    let called = format!(r#"{{"role": "assistant", "content": "So:", "tool_calls": [{call}]}}"#);
    let example =
        "Write this:\n```json\n{\"name\": \"see\", \"parameters\": {}}\n```\nThat is all.";
    let said = Object::from_iter([("role", "assistant"), ("content", example)]);
    let code = "Run this:\n```sh\nls\n```";
    let behind_code = called.replace("So:", &code.replace('\n', "\\n"));
    let output = format!("{code}\n\n{{\"name\": \"see\", \"parameters\": {{\"at\": \"here\"}}}}");
    assert_read(
        assistant,
        &[
            (output.as_str(), behind_code.as_str()),
            (
                "So:\n{\"name\": \"see\", \"parameters\": {\"at\": \"here\"}}",
                called.as_str(),
            ),
            (example, json::write(&said.into()).as_str()),
        ],
    );
}

#[test]
fn words_of_the_format_may_stand_within_lines_and_in_strings_of_json() {
    let see = |arguments: &str| {
        format!(
            r#"{{"role": "assistant", "content": "So:", "tool_calls": [{{"type": "function",
            "function": {{"name": "see", "arguments": {arguments}}}}}]}}"#
        )
    };
    // A section of words that has a line of its own.
    let section = "{{- m.content }}{%- if m.tool_calls -%}{{- '\nNow the tools follow\n' }}{%- for c in m.tool_calls -%}
{{- '<do>' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson + '</do>' }}{%- endfor -%}{%- endif -%}";
    assert_read(
        section,
        &[
            (
                "I said: Now the tools follow, and more.",
                r#"{"role": "assistant", "content": "I said: Now the tools follow, and more."}"#,
            ),
            (
                "I said:\nNow the tools follow the user.",
                r#"{"role": "assistant", "content": "I said:\nNow the tools follow the user."}"#,
            ),
            (
                "So:\nNow the tools follow\n<do>{\"name\": \"see\", \"arguments\": {}}</do>",
                &see("{}"),
            ),
            // An answer may have the words on a line of their own, too.
            (
                "I said:\n\n```\nNow the tools follow\n```\n\nThat is all.",
                r#"{"role": "assistant", "content": "I said:\n\n```\nNow the tools follow\n```\n\nThat is all."}"#,
            ),
        ],
    );
    // Behind the calls, they are dropped where all damages are allowed for: such an answer is the price.
    let all = DeriveOptions::default().lenience(Lenience::All);
    let derived = derive(&chat_template(section), &all).unwrap().template;
    let output =
        "So:<do>{\"name\": \"see\", \"arguments\": {}}</do>\nNow the tools follow\n<turn:end>";
    let read = parse(&derived, "<turn:bot>", output, ParserOptions::default()).unwrap();
    assert_eq!(Value::from(read), json::read(&see("{}")).unwrap());
    // Calls that a word opens.
    let words = "{{- m.content }}{%- for c in m.tool_calls or [] -%}
{{- 'toolbox ' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}{%- endfor -%}";
    let arguments = r#"{"toolbox": "a toolbox", "at": "see [1] toolbox"}"#;
    let output = format!(r#"So:toolbox {{"name": "see", "arguments": {arguments}}}"#);
    assert_read(words, &[(&output, &see(arguments))]);
    // The same with the name among the words.
    let named = "{{- m.content }}{%- for c in m.tool_calls or [] -%}
{{- '\nCalling tool ' + c.function.name + ' with ' + c.function.arguments | tojson }}{%- endfor -%}";
    let arguments = r#"{"at": "[x] Calling tool y with care"}"#;
    let output = format!("So:\nCalling tool see with {arguments}");
    let said = "I am Calling tool see with care.";
    let answer = format!(r#"{{"role": "assistant", "content": "{said}"}}"#);
    assert_read(named, &[(&output, &see(arguments)), (said, &answer)]);
}

#[test]
fn markers_that_an_answer_or_a_thought_speaks_of_open_nothing() {
    let pairs = "{%- if m.reasoning_content -%}{{- '<mull>' + m.reasoning_content + '</mull>' }}{%- endif -%}{{- m.content }}
{%- for c in m.tool_calls or [] -%}{{- '<do>' + c.function.name }}
{%- for k, v in c.function.arguments | items -%}{{- '<key>' + k + '</key><val>' + (v if v is string else v | tojson) + '</val>' }}{%- endfor -%}
{{- '</do>' }}{%- endfor -%}";
    let call = r#""tool_calls": [{"type": "function", "function": {"name": "see", "arguments": {"at": "here"}}}]"#;
    let thought = r#"I use the `<do>` format, \"<do>\" first."#;
    let thinking = format!(r#"{{"role": "assistant", "thinking": "{thought}", {call}}}"#);
    let thought = thought.replace('\\', "");
    let output = format!("<mull>{thought}</mull><do>see<key>at</key><val>here</val></do>");
    let bare = format!(r#"{{"role": "assistant", {call}}}"#);
    assert_read(
        pairs,
        &[
            (&output, &thinking),
            // Line breaks stand where the template has none.
            ("<do>\nsee\n<key>at</key>\n<val>here</val>\n</do>", &bare),
            (
                "The <do> tag opens calls.",
                r#"{"role": "assistant", "content": "The <do> tag opens calls."}"#,
            ),
        ],
    );
}

#[test]
fn values_hold_what_looks_like_the_end_of_a_call_or_a_turn() {
    let named_lines = r"{{- m.content }}{%- if m.tool_calls -%}{{- '<asks>' }}
{%- for c in m.tool_calls -%}
{{- c.function.name + '\n' + c.function.arguments | tojson + ('\n' if not loop.last else '') }}
{%- endfor -%}{{- '</asks>' }}{%- endif -%}";
    let lines_if_long = r"{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<run=' + c.function.name + '>' }}
{%- for k, v in c.function.arguments | items -%}
{%- set v = v if v is string else v | tojson -%}{%- set line = '\n' if '\n' in v else '' -%}
{{- '<with=' + k + '>' + line + v + line + '</with>' }}{%- endfor -%}{{- '</run>' }}{%- endfor -%}";
    let text_in_json = r"{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<do>' }}
{%- set text = c.function.arguments if c.function.arguments is string else c.function.arguments | tojson -%}
{{- {'name': c.function.name, 'arguments': text} | tojson + '</do>' }}{%- endfor -%}";
    let json = |value: &str| json::write(&value.into());
    let code = "if (a) { b } else { c }";
    for (assistant, before, behind, values) in [
        (named_lines, "<asks>run\n", "</asks>", [code, "a </asks> b"]),
        (
            lines_if_long,
            "<run=run>",
            "</run>",
            [code, "a\n</with>\nb"],
        ),
        (
            text_in_json,
            r#"<do>{"name": "run", "arguments": "#,
            "}</do>",
            [code, "a\n</do>\nb"],
        ),
    ] {
        for value in values.into_iter().chain(["a\n<turn:end>\nb"]) {
            let object = format!("{{\"code\": {}}}", json(value));
            // Arguments that are written as a text are one.
            let (body, arguments) = match before {
                "<asks>run\n" => (object.clone(), object),
                "<run=run>" => (format!("<with=code>\n{value}\n</with>"), object),
                _ => (json(&object), json(&object)),
            };
            let function = format!(r#"{{"name": "run", "arguments": {arguments}}}"#);
            let expected = format!(
                r#"{{"role": "assistant", "tool_calls": [{{"type": "function", "function": {function}}}]}}"#
            );
            assert_read(
                assistant,
                &[(&format!("{before}{body}{behind}"), &expected)],
            );
        }
    }
}

#[test]
fn what_a_tools_answer_begins_with_is_a_marker_of_the_format_only_if_nobody_else_writes_it() {
    let header = |header: &str| {
        format!(
            "{{% for m in messages %}}{{% if m.role == 'assistant' %}}[[bot]]{{{{ m.content or '' }}}}\
             {{% for c in m.tool_calls or [] %}}[[do]]{{{{ {{'name': c.function.name, 'arguments': c.function.arguments}} | tojson }}}}\
             [[/do]]{{% endfor %}}{{% elif m.role == 'tool' %}}{header}{{{{ m.content }}}}\
             {{% else %}}[[{{{{ m.role }}}}]]{{{{ m.content }}}}{{% endif %}}{{% endfor %}}\
             {{% if add_generation_prompt %}}[[bot]]{{% endif %}}"
        )
    };
    for (answer, expected) in [
        ("[[found]]", Some("[[found]]")),
        ("<|found|> ", Some("<|found|>")),
        ("<found>", None),
        ("[Found] ", None),
        ("The tool says <|found|>", None),
        ("<|found {{ m.name }}|>", None),
        ("[[do]]", None),
    ] {
        let template = ChatTemplate::from_jinja(header(answer));
        let found = Findings::of(&template, &RenderInput::default());
        let marker = found.unwrap().turn.answer_marker;
        assert_eq!(marker.as_deref(), expected, "{answer}");
    }
}

#[test]
fn what_models_leave_out_is_not_missed() {
    let see = r#"{"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "see", "arguments": {"at": "here"}}}]}"#;
    let assert_recovered = |assistant: &str, damage: &str| {
        let derivation = derive(&chat_template(assistant), &DeriveOptions::default()).unwrap();
        let mut texts = derivation
            .damaged
            .iter()
            .filter(|text| text.damage == damage);
        assert!(
            texts.next().is_some_and(|text| text.is_recovered),
            "{damage}"
        );
        assert!(texts.all(|text| text.is_recovered), "{damage}");
    };
    // An id with a marker of its own.
    let with_ids = "{{- m.content }}{%- for c in m.tool_calls or [] -%}
{{- '[DO]' + c.function.name + '[ID]' + c.id + '[WITH]' + c.function.arguments | tojson }}{%- endfor -%}";
    assert_recovered(with_ids, "an id left out");
    assert_read(
        with_ids,
        &[
            (r#"[DO]see[ID]a1b2[WITH]{"at": "here"}"#, see),
            (r#"[DO]see[WITH]{"at": "here"}"#, see),
        ],
    );
    // The tags around an answer.
    let said = r#"{"role": "assistant", "content": "So."}"#;
    let with_tags = "{{- '<reply>' + m.content + '</reply>' if m.content }}{%- for c in m.tool_calls or [] -%}
{{- '<do>' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson + '</do>' }}{%- endfor -%}";
    assert_recovered(with_tags, "a text without its markers");
    assert_read(
        with_tags,
        &[
            ("<reply>So.</reply>", said),
            ("So.", said),
            (
                r#"<do>{"name": "see", "arguments": {"at": "here"}}</do>"#,
                see,
            ),
        ],
    );
}

#[test]
fn keys_of_tags_may_hold_slashes() {
    assert_read(
        "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<do name=' + c.function.name + '>' }}
{%- for k, v in c.function.arguments | items -%}{{- '<' + k + '>' + (v if v is string else v | tojson) + '</' + k + '>' }}{%- endfor -%}
{{- '</do>' }}{%- endfor -%}",
        &[(
            "So:<do name=see><a/b>x</a/b><c>2</c></do>",
            r#"{"role": "assistant", "content": "So:", "tool_calls": [{"type": "function",
                "function": {"name": "see", "arguments": {"a/b": "x", "c": "2"}}}]}"#,
        )],
    );
}

#[test]
fn what_closes_a_value_of_one_type_may_stand_in_one_of_another() {
    let assistant = "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<|do|>' + c.function.name }}
{%- for k, v in c.function.arguments | items -%}
{%- set kind = 'str' if v is string else 'bool' if v is boolean else 'num' if v is number else 'list' if v is sequence and v is not mapping else 'obj' -%}
{{- '<' + kind + ' ' + k + '>' + (v if v is string else v | tojson) + '</' + kind + '>' }}
{%- endfor -%}{{- '<|/do|>' }}{%- endfor -%}";
    assert_read(
        assistant,
        &[(
            "So:<|do|>see<str html><ul><li></list></ul></str><num n>-7</num><|/do|>",
            r#"{"role": "assistant", "content": "So:", "tool_calls": [{"type": "function",
                "function": {"name": "see", "arguments": {"html": "<ul><li></list></ul>", "n": "-7"}}}]}"#,
        )],
    );
}

/// Texts are wrapped only where they hold signs of markers; then they may hold what closes them, too.
#[test]
fn what_is_wrapped_may_hold_what_closes_an_argument() {
    let assistant = "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<use tool=\"' + c.function.name + '\">' }}
{%- for k, v in c.function.arguments | items -%}
{{- '<arg id=\"' + k + '\">' + (v | tojson if v is not string else '<![CDATA[' + v + ']]>' if '<' in v else v) + '</arg>' }}
{%- endfor -%}{{- '</use>' }}{%- endfor -%}";
    assert_read(
        assistant,
        &[(
            "<use tool=\"see\"><arg id=\"html\"><![CDATA[</arg> & <b>]]></arg><arg id=\"at\">here</arg></use>",
            r#"{"role": "assistant", "tool_calls": [{"type": "function",
                "function": {"name": "see", "arguments": {"html": "</arg> & <b>", "at": "here"}}}]}"#,
        )],
    );
}

/// The name is the one key of an object.
#[test]
fn white_space_may_stand_between_a_marker_and_the_brackets_of_json() {
    assert_read(
        "{{- m.content }}{%- for c in m.tool_calls or [] -%}{{- '<|do|>' + {c.function.name: c.function.arguments} | tojson + '<|/do|>' }}
{%- endfor -%}",
        &[(
            "<|do|>\n{\"see\": {\"at\": {\"x\": 1}}}\n<|/do|>",
            r#"{"role": "assistant", "tool_calls": [{"type": "function",
                "function": {"name": "see", "arguments": {"at": {"x": 1}}}}]}"#,
        )],
    );
}

#[test]
fn what_opens_reasoning_may_be_a_part_of_the_marker_before_a_turn() {
    let jinja = "{% for m in messages %}{% if m.role == 'assistant' %}## Keeper\n\
                 {% if m.reasoning_content %}> {{ m.reasoning_content }}\n~~~\n{% endif %}{{ m.content }}<over>\n\
                 {% else %}## Ship\n{{ m.content }}<over>\n{% endif %}{% endfor %}\
                 {% if add_generation_prompt %}## Keeper\n{% endif %}";
    let derived = derive(&ChatTemplate::from_jinja(jinja), &DeriveOptions::default());
    let derived = derived.expect("it can be derived");
    assert_eq!(derived.findings.turn.headers, ["## Keeper\n"]);
    assert_eq!(derived.recovered(), derived.proof.len());
}

#[test]
fn names_have_the_letter_that_what_opens_calls_begins_with() {
    assert_called_twice(&[(
        "{{- m.content }}{%- if m.tool_calls -%}{{- '=begin\n' }}{%- for c in m.tool_calls -%}{{- 'see :' + c.function.name }}
{%- for k, v in c.function.arguments | items -%}{{- ', ' + k + ': ' + v | tojson }}{%- endfor -%}{{- '\n' }}
{%- endfor -%}{{- '=end\n' }}{%- endif -%}",
        "So:=begin\nsee :see, at: \"a, b\", n: 7\nsee :see, at: \"a, b\", n: 7\n=end\n",
    )]);
}

/// Calls in a list as Python writes it, with texts as `repr` does.
const PYTHON_LIST: &str = "
{{- m.content or '' }}
{%- for c in m.tool_calls or [] -%}
{{- '<call>[' if loop.first else ', ' }}{{- c.function.name + '(' }}
{%- for k, v in c.function.arguments | items -%}
{%- set text = \"'\" + v | string | replace('\\\\', '\\\\\\\\') | replace(\"'\", \"\\\\'\") | replace('\\n', '\\\\n') + \"'\" -%}
{{- k + '=' + (text if v is string else v | tojson if v is iterable else v | string) + ('' if loop.last else ', ') }}
{%- endfor -%}{{- ')' + (']</call>' if loop.last else '') }}
{%- endfor -%}";

/// What older versions imitate with expressions, the newest has a parser for.
#[test]
fn a_list_of_calls_as_python_writes_them_is_read_as_a_whole_where_there_is_a_parser_for_it() {
    let chat = chat_template(PYTHON_LIST);
    let of = |options| derive(&chat, &options).expect("it can be derived");
    let older = of(DeriveOptions::default());
    let newest = of(DeriveOptions::default().language(Language::V5_24));
    let content = |derived: &Derivation| {
        let content = "/fields/tool_calls/content";
        derived.template.as_value().pointer(content).cloned()
    };
    assert_eq!(content(&older), Some("xml-inline".into()));
    assert_eq!(content(&newest), Some("python-call-list".into()));
    assert!(newest.is_whole() && !older.is_whole());
    assert_eq!(older.other_language(), Some(Language::V5_24));
    assert_eq!(newest.other_language(), Some(DeriveOptions::SERVED));

    let read = |derived: &Derivation, calls: &str| {
        let output = format!("So:<call>{calls}</call><turn:end>");
        let options = ParserOptions::default();
        let message = parse(&derived.template, "<turn:bot>", &output, options);
        let message = message
            .map(Value::from)
            .map_err(|error| error.to_string())?;
        let calls = message.get("tool_calls").and_then(Value::as_array);
        let function = |call: &Value| call.get("function").cloned();
        let calls = calls.into_iter().flatten().filter_map(function);
        Ok::<String, String>(json::write(&calls.collect()))
    };
    for (calls, expected) in [
        (
            r"[f(a='it\'s\n', b=7), g()]",
            r#"[{"name":"f","arguments":{"a":"it's\n","b":7}},{"name":"g","arguments":{}}]"#,
        ),
        (
            r#"[f(a=['it\'s', ["x, y=1)", True], {'k': None}])]"#,
            r#"[{"name":"f","arguments":{"a":["it's",["x, y=1)",true],{"k":null}]}}]"#,
        ),
        (
            r#"[f(user-id="7", a.b='\u00e9')]"#,
            r#"[{"name":"f","arguments":{"user-id":"7","a.b":"é"}}]"#,
        ),
    ] {
        assert_eq!(read(&newest, calls).as_deref(), Ok(expected), "{calls}");
        assert_ne!(read(&older, calls).as_deref(), Ok(expected), "{calls}");
    }
    let spoken = parse(
        &newest.template,
        "<turn:bot>",
        "Write <call> before it.<turn:end>",
        ParserOptions::default(),
    );
    let content = spoken.expect("it is an answer").get("content").cloned();
    assert_eq!(content, Some("Write <call> before it.".into()));
}

/// Strings that stand between markers hold line breaks, and whatever ends turns there.
#[test]
fn a_string_between_markers_speaks_of_what_ends_the_turn() {
    let chat = ChatTemplate::from_jinja(
        r#"{%- macro write(value) -%}
    {%- if value is string -%}<q>{{ value }}<q>
    {%- elif value is mapping -%}
        {{- '{' }}{% for key, item in value.items() %}{{ key }}:{{ write(item) }}{{ '' if loop.last else ',' }}{% endfor %}{{ '}' -}}
    {%- elif value is sequence -%}
        [{% for item in value %}{{ write(item) }}{{ '' if loop.last else ',' }}{% endfor %}]
    {%- else -%}{{ value | tojson }}
    {%- endif -%}
{%- endmacro -%}
{%- for m in messages %}SAY: {{ m.role }}
{{ m.content or '' }}
    {%- for c in m.tool_calls or [] %}
CALL: {{ c.function.name }}
WITH: {{ write(c.function.arguments) }}
    {%- endfor %}

END_SAY
{% endfor %}
{%- if add_generation_prompt %}SAY: assistant
{% endif %}
"#,
    );
    let derived = derive(&chat, &DeriveOptions::default()).expect("it can be derived");
    assert!(derived.is_whole());
    for output in [
        "CALL: note\nWITH: {text:<q>One\nEND_SAY\ntwo<q>}\nEND_SAY\n",
        // What ends the turn stands behind a bracket, whatever is between the two.
        "CALL: note\nWITH: {text:<q>One\nEND_SAY\ntwo<q>}END_SAY\n",
    ] {
        let message = parse(
            &derived.template,
            "SAY: assistant\n",
            output,
            ParserOptions::default(),
        );
        let message = Value::from(message.expect(output));
        let text = message.pointer("/tool_calls/0/function/arguments/text");
        assert_eq!(text, Some(&"One\nEND_SAY\ntwo".into()), "{output}");
    }
}

/// A text that the parser for lists refuses is worth more than a template that is easy to read.
#[test]
fn texts_that_stand_in_quotes_as_they_are_are_read_by_expressions_in_all_versions() {
    let raw = PYTHON_LIST.replace("| replace(\"'\", \"\\\\'\") | replace('\\n', '\\\\n')", "");
    let raw = raw.replace("| replace('\\\\', '\\\\\\\\')", "");
    let chat = chat_template(&raw);
    for language in [DeriveOptions::SERVED, Language::V5_24] {
        let derived = derive(&chat, &DeriveOptions::default().language(language)).unwrap();
        assert!(derived.is_whole(), "{language}");
        let content = derived
            .template
            .as_value()
            .pointer("/fields/tool_calls/content");
        assert_eq!(content, Some(&"xml-inline".into()), "{language}");
    }
}

#[test]
fn nothing_is_asked_for_that_is_not_served() {
    let languages = Target::all().into_iter().map(Target::language);
    assert_eq!(languages.min(), Some(DeriveOptions::SERVED));
}

#[test]
fn all_that_is_derived_for_the_gallery_is_taken_by_all_targets() {
    let folder = root().join("derived");
    let files = fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}"));
    let mut looked_at = 0;
    for file in files.flatten() {
        let path = file.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}"));
        let Ok(template) = ResponseTemplate::from_json(&text) else {
            continue;
        };
        looked_at += 1;
        for target in Target::all() {
            let against = target.objections(&template).into_iter();
            let against: Vec<String> = against
                .filter(|found| found.effect != Effect::Limits)
                .map(|found| found.diagnostic.to_string())
                .collect();
            assert_eq!(against, [""; 0], "{}", path.display());
        }
    }
    assert!(looked_at > 30, "{looked_at}");
}
