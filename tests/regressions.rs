//! What changes in a chat template is seen by the fixture that was begun for it, in a case whose name and complaint tell what it is.

use std::fmt::Write as _;
use std::fs;

use insta::assert_snapshot;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::check::{CheckOptions, FirstFixture, check};
use unjinja::derive::{DeriveOptions, derive};

use crate::root;

/// What is changed, and into what.
const CHANGES: [(&str, &str, &str); 14] = [
    (
        "results are dropped",
        "'\\n<tool_response>\\n' + message.content + '\\n</tool_response>'",
        "''",
    ),
    (
        "thinking can't be switched off any more",
        "'<think>\\n\\n</think>\\n\\n'",
        "''",
    ),
    (
        "a turn ends with another token",
        "{{- '<|im_end|>\\n' }}\n    {%- elif message.role == 'tool'",
        "{{- '<|eot|>\\n' }}\n    {%- elif message.role == 'tool'",
    ),
    (
        "a call has another marker",
        "'<tool_call>\\n{\"name\": ' +",
        "'<call>\\n{\"name\": ' +",
    ),
    (
        "arguments are encoded twice",
        "args if args is string else args | tojson",
        "(args if args is string else args | tojson) | tojson",
    ),
    (
        "thoughts are kept in earlier turns",
        "loop.index0 > last.question and (loop.last or message.reasoning_content)",
        "(loop.last or message.reasoning_content)",
    ),
    (
        "thoughts are dropped",
        "(message.reasoning_content or '')",
        "''",
    ),
    (
        "the system message is dropped beside tools",
        "messages[0].content + '\\n\\n' if messages[0].role == 'system' else ''",
        "''",
    ),
    (
        "tools are not listed",
        "tools | map('tojson') | join('\\n')",
        "''",
    ),
    (
        "a variable has another name",
        "enable_thinking is defined and not enable_thinking",
        "thinking is defined and not thinking",
    ),
    (
        "the header lacks its line end",
        "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}",
        "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant' }}",
    ),
    (
        "only the last question is left",
        "{%- elif message.role == 'user' or",
        "{%- elif (message.role == 'user' and loop.index0 >= last.question) or",
    ),
    (
        "a text beside a call is required",
        "{{- message.content or '' }}",
        "{{- message.content if message.content else raise_exception('no content') }}",
    ),
    (
        "a system message is refused",
        "{%- for message in messages %}\n    {%- if message.role == 'assistant' %}",
        "{%- for message in messages %}\n    {%- if message.role == 'system' %}{{ raise_exception('no system message') }}{%- endif %}\n    {%- if message.role == 'assistant' %}",
    ),
];

#[test]
fn each_change_of_a_chat_template_is_seen_by_its_first_fixture() {
    let jinja = fs::read_to_string(root().join("chat_templates/chatml-think-json-calls.jinja"));
    let jinja = jinja.expect("the template is there");
    let template = ChatTemplate::from_jinja(&jinja);
    let derived = derive(&template, &DeriveOptions::default()).expect("it is derived");
    let fixture = FirstFixture::new(&derived);
    let fixture = fixture.with_prompts(&template, &RenderInput::default(), &derived);
    let mut fixture = fixture.expect("it renders a question");
    fixture.head.insert("chat_template", "chat_template.jinja");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("it.fixture.yaml");
    fs::write(&path, fixture.to_yaml("")).expect("it is written");
    let failures = |jinja: &str| {
        fs::write(folder.path().join("chat_template.jinja"), jinja).expect("it is written");
        let report = check(std::slice::from_ref(&path), &CheckOptions::default());
        let cases = report
            .files
            .into_iter()
            .flat_map(|file| file.cases.expect("it can be read"));
        let failed = cases.filter(|case| !case.passed());
        failed
            .map(|case| format!("{}: {}", case.name, case.failures[0]))
            .collect::<Vec<String>>()
    };
    assert_eq!(failures(&jinja), Vec::<String>::new());
    let mut seen = String::new();
    for (what, before, after) in CHANGES {
        assert!(jinja.contains(before), "{what}");
        let failures = failures(&jinja.replacen(before, after, 1));
        let first = failures.first().map_or("nothing", String::as_str);
        writeln!(seen, "{what}: {} cases fail\n  {first}", failures.len()).unwrap();
    }
    assert_snapshot!(seen, @r#"
    results are dropped: 3 cases fail
      the prompt after a result: the chat template does not render "\n<tool_response>\n12:04\n</tool_response>" any more, at character 678
    thinking can't be switched off any more: 1 cases fail
      the prompt for a question, with enable_thinking=false: the chat template does not render "<think>\n\n</think>\n\n" any more, at character 69
    a turn ends with another token: 7 cases fail
      the prompt for a second question: the chat template rendered "<|im_end|>", and renders "<|eot|>" now, at character 77
    a call has another marker: 3 cases fail
      the prompt after a result: the chat template rendered "<tool_call>", and renders "<call>" now, at character 570
    arguments are encoded twice: 3 cases fail
      the prompt after a result: the chat template rendered "{\"harbour\": \"Brest\"}", and renders "\"{\\\"harbour\\\": \\\"Brest\\\"}\"" now, at character 617
    thoughts are kept in earlier turns: 2 cases fail
      the prompt for a question after a thought: the chat template renders "<think>\nThe table of the tides tells.\n</think>\n\n", which is new, at character 69
    thoughts are dropped: 2 cases fail
      a whole conversation with thoughts: the chat template does not render "The table of the tides tells." any more, at character 159
    the system message is dropped beside tools: 1 cases fail
      a whole conversation with a call: the chat template does not render "You know the harbour.\n\n" any more, at character 19
    tools are not listed: 4 cases fail
      the prompt for a question, with tools: the chat template does not render "{\"type\": \"function\", \"function\": {\"name\": \"read_tide\", \"description\": \"Tells the"… any more, at character 51
    a variable has another name: 1 cases fail
      the prompt for a question, with enable_thinking=false: the chat template does not render "<think>\n\n</think>\n\n" any more, at character 69
    the header lacks its line end: 9 cases fail
      the prompt for a question: the chat template does not render "\n" any more, at character 68
    only the last question is left: 1 cases fail
      the prompt for a question after a result: the chat template does not render "user\nWhen is high water?<|im_end|>\n<|im_start|>" any more, at character 513
    a text beside a call is required: 3 cases fail
      the prompt after a result: the chat template does not render this: no content (line 25 of the template)
        |
     25 |         {{- message.content if message.content else raise_exception('no content') }}
        |                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    a system message is refused: 2 cases fail
      the prompt for a question below a system message: the chat template does not render this: no system message (line 20 of the template)
        |
     20 |     {%- if message.role == 'system' %}{{ raise_exception('no system message') }}{%- endif %}
        |                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#);
}
