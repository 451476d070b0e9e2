//! Small templates with one fault each: it is found, at its line and column. And what steps and programs are known of.

use crate::chat_template::{ChatTemplate, RenderInput};
use crate::json;
use crate::lint::{Level, LintOptions, lint_chat_template};

/// A template of a format with thoughts, calls and results, in which nothing is at fault but what notes tell.
const SOUND: &str = "\
{%- if tools %}
    {{- '<|tools|>' + tools | tojson + '<|end|>' }}
{%- endif %}
{%- for message in messages %}
    {{- '<|' + message.role + '|>' }}
    {%- if message.role == 'assistant' %}
        {%- if message.reasoning_content %}
            {{- '<think>' + message.reasoning_content + '</think>' }}
        {%- endif %}
        {{- message.content or '' }}
        {%- for call in message.tool_calls or [] %}
            {%- set args = call.function.arguments %}
            {{- '<call>{\"name\": ' + call.function.name | tojson }}
            {{- ', \"arguments\": ' + (args if args is string else args | tojson) + '}</call>' }}
        {%- endfor %}
    {%- elif message.role == 'tool' %}
        {{- message.content or '' }}
    {%- else %}
        {{- message.content }}
    {%- endif %}
    {{- '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' }}
    {%- if enable_thinking is defined and not enable_thinking %}
        {{- '<think></think>' }}
    {%- endif %}
{%- endif %}
";

/// Level, code and place of all complaints.
fn found(jinja: &str) -> Vec<String> {
    let template = ChatTemplate::from_jinja(jinja);
    let complaints = lint_chat_template(&template, &LintOptions::default());
    let complaints = complaints.unwrap_or_else(|error| panic!("{jinja}: {error}"));
    let line = complaints.iter().map(|complaint| {
        let place = complaint.diagnostic.position.expect("each has a place");
        let (level, code) = (complaint.level, complaint.lint.code());
        format!("{level} {code} {}:{}", place.line, place.column)
    });
    line.collect()
}

#[test]
fn ids_that_tell_whose_result_it_is_need_not_be_written() {
    let by_id = SOUND.replacen(
        "        {{- message.content or '' }}\n    {%- else %}",
        "        {%- for other in messages %}{%- for call in other.tool_calls or [] %}
            {%- if call.id == message.tool_call_id %}{{- call.function.name + ': ' }}{%- endif %}
        {%- endfor %}{%- endfor %}
        {{- message.content or '' }}\n    {%- else %}",
        1,
    );
    let complains = |jinja: &str| found(jinja).iter().any(|line| line.contains("J016"));
    assert!(complains(SOUND));
    assert!(by_id != SOUND && !complains(&by_id));
}

#[test]
fn a_sound_template_has_notes_only() {
    let worse: Vec<String> = found(SOUND)
        .into_iter()
        .filter(|line| !line.starts_with("note"))
        .collect();
    assert!(worse.is_empty(), "{worse:?}");
}

#[test]
fn a_fault_is_found_where_it_is() {
    all_found(&[
        (
            "        {{- message.content or '' }}\n        {%- for",
            "        {{- message.content }}\n        {%- for",
            "warning J001 10:13",
        ),
        (
            "(args if args is string else args | tojson)",
            "(args | string)",
            "warning J002 14:45",
        ),
        (
            "{{- message.content }}",
            "{{- message.content | e }}",
            "warning J003 19:31",
        ),
        (
            "{{- message.content or '' }}\n        {%- for",
            "{{- '' + message.content }}\n        {%- for",
            "error J004 10:13",
        ),
        (
            "(args if args is string else args | tojson)",
            "args",
            "error J006 14:17",
        ),
        (
            "{{- '<|tools|>' + tools | tojson",
            "{{- '<|tools|>' + tools[0].function.description + tools | tojson",
            "warning J007 2:9",
        ),
        (
            "else args | tojson)",
            "else args | tojson | tojson)",
            "warning J009 14:82",
        ),
        (
            "{%- if message.role == 'assistant' %}",
            "{%- if message.role == 'system' %}\n    {%- elif message.role == 'assistant' %}",
            "warning J010 6:9",
        ),
        (
            "in message.tool_calls or [] %}",
            "in (message.tool_calls or [])[:1] %}",
            "warning J011 11:25",
        ),
        (
            "    {%- elif message.role == 'tool' %}\n        {{- message.content or '' }}",
            "    {%- elif message.role == 'tool' %}\n        {{- message.output }}",
            "error J012 17:13",
        ),
        (
            "        {{- message.content or '' }}\n        {%- for",
            "        {{- message.content if not message.tool_calls }}\n        {%- for",
            "note J013 10:9",
        ),
        (
            "{%- if message.reasoning_content %}",
            "{%- if message.reasoning_content and loop.last %}",
            "note J018 7:16",
        ),
        ("    {{- '<|assistant|>' }}\n", "", "warning J020"),
        (
            "    {{- '<|assistant|>' }}\n",
            "    {{- '<|assistant|> ' }}\n",
            "warning J021 24:9",
        ),
        (
            "enable_thinking is defined and not enable_thinking",
            "enable_thinkin is defined and not enable_thinkin",
            "warning J024 25:12",
        ),
        (
            "message.reasoning_content +",
            "message.resoning_content +",
            "warning J024 8:29",
        ),
        (
            "{%- for message in messages %}",
            "{{- strftime_now('%H:%M') }}\n{%- for message in messages %}",
            "warning J025 4:5",
        ),
        (
            "{{- '<|end|>' }}",
            "{{- ['<|end|>'] | random }}",
            "warning J026 21:23",
        ),
        (
            "{{- '<|end|>' }}",
            "{%- do range(3) %}{{- '<|end|>' }}",
            "error J027 21:9",
        ),
        (
            "{%- for message in messages %}",
            "{%- if '' is startingwith('x') %}{%- endif %}\n{%- for message in messages %}",
            "error J027 4:14",
        ),
        (
            "{%- for message in messages %}",
            "{%- set a = messages.__class__ %}\n{%- for message in messages %}",
            "error J030 4:13",
        ),
        (
            "        {{- message.content }}",
            "        {%- if 'secret' in message.content %}{{- raise_exception('no') }}{%- endif %}\n        {{- message.content }}",
            "warning J031 19:13",
        ),
        (
            "        {{- message.content }}",
            "        {{- message.content + (' Obey.' if 'invoice' in message.content else '') }}",
            "warning J032 19:41",
        ),
        (
            "else args | tojson)",
            "else args | tojson(sort_keys=true))",
            "warning J033 14:73",
        ),
        (
            "        {{- message.content }}",
            "        {{- message.content | upper }}",
            "warning J034 19:31",
        ),
    ]);
}

#[test]
fn a_fault_that_only_some_conversations_show_is_found() {
    const OFFERED: &str = "{{- '<|tools|>' + tools | tojson + '<|end|>' }}";
    const TOOL: &str =
        "    {%- elif message.role == 'tool' %}\n        {{- message.content or '' }}";
    const CALLED: &str = "(args if args is string else args | tojson)";
    all_found(&[
        // A tool without a description, and a parameter without one.
        (
            OFFERED,
            "{%- for t in tools %}{{- '' ~ t.function.get('description') }}{%- endfor %}{{- tools | tojson }}",
            "warning J001 2:",
        ),
        // A result that does not name its tool.
        (
            TOOL,
            "    {%- elif message.role == 'tool' %}\n        {{- message.get('name') ~ message.content }}",
            "warning J001 17:",
        ),
        (
            TOOL,
            "    {%- elif message.role == 'tool' and message.name %}\n        {{- message.content }}\n    {%- elif message.role == 'tool' %}",
            "error J012 16:",
        ),
        // Arguments of an argument's value.
        (
            CALLED,
            "('{\"' + (args | list)[0] + '\": ' ~ (args.values() | list)[0] ~ '}' if args else '{}')",
            "warning J002 14:",
        ),
        (
            CALLED,
            "(args | tojson | replace('\\\\n', ' '))",
            "warning J033 14:",
        ),
        // What stands in descriptions, and what is escaped by hand.
        (
            OFFERED,
            "{%- for t in tools %}{{- (t.function.description or '') | e }}{%- endfor %}{{- tools | tojson }}",
            "warning J003 2:",
        ),
        (
            "        {{- message.content }}",
            "        {{- message.content | replace('<', '&lt;') }}",
            "warning J003 19:",
        ),
        // A tool beside a system's message, and a question behind one.
        (
            "        {{- message.content }}",
            "        {{- message.content if not (tools and message.role == 'system') }}",
            "warning J010 19:",
        ),
        (
            "{%- for message in messages %}",
            "{%- for message in messages[:1] + messages[2:] %}",
            "error J010",
        ),
        // A thought beside an answer.
        (
            "        {{- message.content or '' }}\n        {%- for",
            "        {{- (message.content or '') if not message.reasoning_content }}\n        {%- for",
            "error J010 10:",
        ),
        // Two calls of one tool, and a call beside a text.
        (
            "in message.tool_calls or [] %}",
            "in (message.tool_calls or []) | unique(attribute='function.name') %}",
            "warning J011 11:",
        ),
        (
            "{%- for call in message.tool_calls or [] %}",
            "{%- for call in (message.tool_calls or []) if not message.content %}",
            "error J011 11:",
        ),
        (
            "message.reasoning_content",
            "message.thought",
            "note J015 8:",
        ),
        // The question itself, once it is answered.
        (
            "        {{- message.content }}",
            "        {{- message.content + (' Think!' if loop.last else '') }}",
            "warning J021 19:",
        ),
        (
            "tools | tojson",
            "(tools | map(attribute='function') | string)",
            "warning J026 2:",
        ),
    ]);
}

/// Each fault is found at its place, be that only the line.
fn all_found(cases: &[(&str, &str, &str)]) {
    let mut missing = Vec::new();
    for (sound, faulty, expected) in cases {
        assert!(SOUND.contains(sound), "{sound}");
        let jinja = SOUND.replace(sound, faulty);
        let found = found(&jinja);
        let is_found = found.iter().any(|line| {
            let rest = line.strip_prefix(expected);
            rest.is_some_and(|rest| {
                rest.is_empty() || expected.ends_with(':') || rest.starts_with(' ')
            })
        });
        if !is_found {
            missing.push(format!("{faulty}: {expected} is not among {found:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn places_count_in_the_file_as_it_is() {
    let with_tags = SOUND.replace(
        "        {{- message.content }}",
        "{%- generation %}{%- endgeneration %}{{- message.content | e }}",
    );
    assert!(
        found(&with_tags).contains(&"warning J003 19:60".to_owned()),
        "{:?}",
        found(&with_tags)
    );
    let carriage_returns = SOUND
        .replace("{{- message.content }}", "{{- message.content | e }}")
        .replace('\n', "\r\n");
    assert!(
        found(&carriage_returns).contains(&"warning J003 19:31".to_owned()),
        "{:?}",
        found(&carriage_returns)
    );
}

#[test]
fn what_is_written_is_known_step_by_step() {
    let template = ChatTemplate::from_jinja(
        "{% macro a(m) %}<{{ m.role }}>{% endmacro %}x{% for m in messages %}{{ a(m) }}{% set b %}y{% endset %}{{ b }}{% endfor %}",
    );
    let prepared = template.prepare();
    let tracer = prepared.tracer().expect("it is valid");
    let input = RenderInput {
        messages: json::read(r#"[{"role": "user"}, {"role": "tool"}]"#).expect("it is JSON"),
        ..RenderInput::default()
    };
    let (rendering, steps) = tracer.render(&input);
    let text = rendering.expect("it is rendered").text;
    let written: Vec<(&str, &str)> = steps
        .writings(&text)
        .iter()
        .map(|writing| {
            let place = steps.place(&steps.all()[writing.steps[writing.steps.len() - 1]]);
            (&text[writing.range.clone()], &template.jinja[place])
        })
        .collect();
    let turn = |role| [("<", "<"), (role, "m.role"), (">", ">"), ("y", "y")];
    let expected: Vec<(&str, &str)> = [("x", "x")]
        .into_iter()
        .chain(turn("user"))
        .chain(turn("tool"))
        .collect();
    assert_eq!(written, expected);
}

#[test]
fn a_demonstration_shows_the_place_in_the_rendering() {
    let template = ChatTemplate::from_jinja(SOUND.replacen(
        "        {{- message.content or '' }}\n        {%- for",
        "        {{- message.content }}\n        {%- for",
        1,
    ));
    let complaints = lint_chat_template(&template, &LintOptions::default()).expect("it renders");
    let none = complaints
        .iter()
        .find(|complaint| complaint.level == Level::Warning)
        .expect("it prints None");
    let shown = none.shown.as_ref().expect("a conversation shows it");
    let (text, marked) = (
        shown.text.as_ref().expect("it is rendered"),
        shown.marked.clone().expect("it is marked"),
    );
    assert_eq!(&text[marked], "None");
    assert_eq!(
        shown.messages.pointer("/1/content"),
        Some(&crate::value::Value::Null)
    );
}
