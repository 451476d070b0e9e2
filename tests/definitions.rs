//! Definitions of tools that chat templates write in words of their own are read back.
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::conversation::{Conversation, ConversationReader, Proof};
use unjinja::{Value, json};

fn value(text: &str) -> Value {
    json::read(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A template that writes definitions of tools like this, in the system's message.
fn template(definitions: &str) -> ChatTemplate {
    ChatTemplate::from_jinja(format!(
        "{MACROS}{{% if tools %}}<system>You have tools.\n{definitions}\nUse them.<end>{{% endif %}}{{% for m in messages %}}\
         <{{{{ m.role }}}}>{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}<call>{{{{ c.function | tojson }}}}</call>\
         {{% endfor %}}<end>{{% endfor %}}{{% if add_generation_prompt %}}<assistant>{{% endif %}}"
    ))
}

/// How types are written in several formats.
const MACROS: &str = r#"{%- macro script(s) -%}
{%- if s.enum -%}{%- for v in s.enum -%}"{{ v }}"{%- if not loop.last %} | {% endif -%}{%- endfor -%}
{%- elif s.type is not string and s.type is iterable -%}{%- for t in s.type -%}{{ t }}{%- if not loop.last %} | {% endif -%}{%- endfor -%}
{%- elif s.anyOf -%}{%- for t in s.anyOf -%}{{ script(t) }}{%- if not loop.last %} or {% endif -%}{%- endfor -%}
{%- elif s.type == 'array' -%}{% if s.get('items') %}{{ script(s['items']) }}[]{% else %}any[]{% endif %}
{%- elif s.type == 'object' and s.properties -%}{ {{- fields(s, '; ') -}} }
{%- elif s.type == 'integer' -%}number
{%- else -%}{{ s.type or 'any' }}
{%- endif -%}
{%- endmacro -%}
{%- macro fields(s, separator) -%}
{%- for name, p in s.properties.items() -%}
{%- if p.description %}/* {{ p.description }} */ {% endif -%}
{{- name }}{% if name not in (s.required or []) %}?{% endif %}: {{ script(p) }}{% if not loop.last %}{{ separator }}{% endif -%}
{%- endfor -%}
{%- endmacro -%}
{%- macro python(s) -%}
{%- if s.type == 'string' %}str{% elif s.type == 'integer' %}int{% elif s.type == 'number' %}float
{%- elif s.type == 'boolean' %}bool{% elif s.type == 'array' %}list{% elif s.type == 'object' %}dict{% else %}Any{% endif -%}
{%- endmacro -%}
"#;

const XML: &str = "{% for t in tools %}{% set f = t.function %}<function>\n<name>{{ f.name }}</name>\
    {% if f.description is defined %}\n<description>{{ f.description }}</description>{% endif %}\n<parameters>\
    {% for name, p in (f.parameters.properties or {}).items() %}\n<parameter>\n<name>{{ name }}</name>\
    {% if p.type is defined %}\n<type>{{ p.type }}</type>{% endif %}\
    {% if p.description %}\n<description>{{ p.description }}</description>{% endif %}\
    {% for key in p if key not in ['type', 'description'] %}\n<{{ key }}>{{ p[key] | tojson }}</{{ key }}>{% endfor %}\n</parameter>\
    {% endfor %}{% if f.parameters.required is defined %}\n<required>{{ f.parameters.required | tojson }}</required>{% endif %}\n\
    </parameters>\n</function>\n{% endfor %}";

const SCRIPT: &str = "{% for t in tools %}{% set f = t.function %}{% if f.description %}// {{ f.description }}\n{% endif %}\
    type {{ f.name }} = ({% if f.parameters and f.parameters.properties %}_: {\n{{ fields(f.parameters, ',\n') }}\n}{% endif %}) => any;\n\n\
    {% endfor %}";

const PYTHON: &str = "{% for t in tools %}{% set f = t.function %}def {{ f.name }}(\
    {% for name, p in f.parameters.properties.items() %}{{ name }}: {{ python(p) }}\
    {% if name not in (f.parameters.required or []) %} = None{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}):\n    \
    '''{{ f.description or '' }}\n\n{% for name, p in f.parameters.properties.items() %}    {{ name }}: {{ p.description or '' }}\n\
    {% endfor %}    '''\n{% endfor %}";

const LIST: &str = "{% for t in tools %}## {{ t.function.name }}\n{% if t.function.description %}{{ t.function.description }}\n{% endif %}\
    {% for name, p in t.function.parameters.properties.items() %}- `{{ name }}` ({{ script(p) }}\
    {% if name in (t.function.parameters.required or []) %}, required{% endif %}){% if p.description %}: {{ p.description }}{% endif %}\n\
    {% endfor %}{% endfor %}## end";

const JSON_WITHIN: &str = "{% for t in tools %}{{ t.function.name }} does: {{ t.function.description }}\n\
    It takes {{ t.function.parameters | tojson }}\n\n{% endfor %}One of: {% for t in tools %}{{ t.function.name }}{% if not loop.last %}, {% endif %}{% endfor %}.";

/// Values in JSON, with names apart from them.
const NAMES_APART: &str = "{% for t in tools %}{{ t.function.name }}: \n{% endfor %}{% for t in tools %}{{ t.function | tojson }}\n{% endfor %}\
    Names: {% for t in tools %}'{{ t.function.name }}', {% endfor %}'user'.";

/// Values in JSON, each with its name and its description before it.
const TOLD_BEFORE: &str = "{% for t in tools %}Use '{{ t.function.name }}' to '{{ t.function.description }}':\n\
    {{ t.function | tojson }}\n\n{% endfor %}";

/// In JSON whose descriptions are made of several things.
const SIGNATURES: &str = "{% for t in tools %}{% set f = t.function %}{\"name\": \"{{ f.name }}\", \"description\": \"{{ f.name }}(\
    {% for name, p in f.parameters.properties.items() %}{{ name }}: {{ python(p) }}{% if not loop.last %}, {% endif %}{% endfor %}) - \
    {{ f.description }}\", \"parameters\": {{ f.parameters | tojson }}}\n{% endfor %}";

/// In attributes, with the type before the name.
const ATTRIBUTES: &str = "{% for t in tools %}<tool name='{{ t.function.name }}' about='{{ t.function.description }}'>\
    {% for name, p in t.function.parameters.properties.items() %}<{{ script(p) }} {% if name in (t.function.parameters.required or []) %}required {% endif %}\
    {{ name }}{% if p.description %} about '{{ p.description }}'{% endif %}>{% endfor %}</tool>{% endfor %}";

fn tool(name: &str, description: &str, parameters: &str) -> String {
    let description = match description {
        "" => String::new(),
        text => format!(r#""description": {}, "#, json::write(&Value::from(text))),
    };
    format!(
        r#"{{"type": "function", "function": {{"name": "{name}", {description}"parameters": {{"type": "object", {parameters}}}}}}}"#
    )
}

/// Tools of many kinds, without what only some formats tell apart.
fn hard_tools() -> String {
    let tools = [
        tool("ping", "Ping the server", r#""properties": {}"#),
        tool(
            "look_up",
            "Looks \"things\" up.\nIt's quick, isn't it?",
            r#""properties": {"query": {"type": "string", "description": "What to look for:\n- a word\n- or 'two'"},
                "limit": {"type": "number"}, "exact": {"type": "boolean", "description": "Not \"nearly\""},
                "in": {"type": "array", "items": {"type": "string"}}}, "required": ["query", "exact"]"#,
        ),
        tool(
            "choose",
            "",
            r#""properties": {"unit": {"type": "string", "description": "Of what", "enum": ["°C", "miles per hour", "x"]},
                "one": {"type": "string", "enum": ["only"]},
                "grid": {"type": "array", "description": "Rows", "items": {"type": "array", "items": {"type": "number"}}},
                "either": {"type": ["string", "null"], "description": "Or none"}}, "required": ["unit"]"#,
        ),
        tool(
            "send",
            "Sends it",
            r#""properties": {"to": {"type": "object", "description": "Whom", "properties": {
                "name": {"type": "string"}, "age": {"type": "number", "description": "In years"},
                "home": {"type": "object", "properties": {"street": {"type": "string", "description": "And number"},
                    "tags": {"type": "array", "items": {"type": "string"}}}}}, "required": ["name"]},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"text": {"type": "string", "description": "Any"}}}},
                "last": {"type": "boolean"}}, "required": ["to"]"#,
        ),
    ];
    format!("[{}]", tools.join(", "))
}

/// Tools whose parameters are plain and described.
fn plain_tools() -> String {
    let tools = [
        tool(
            "weather",
            "The weather of a city",
            r#""properties": {"city": {"type": "string", "description": "Where"},
                "days": {"type": "integer", "description": "How many (at most 7)"},
                "exact": {"type": "boolean", "description": "Whether \"nearly\" will not do"}}, "required": ["city", "exact"]"#,
        ),
        tool(
            "ring",
            "Rings a bell: ding",
            r#""properties": {"bell": {"type": "array", "description": "Which ones"}}"#,
        ),
    ];
    format!("[{}]", tools.join(", "))
}

const MESSAGES: &str = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefghi",
    "type": "function", "function": {"name": "ping", "arguments": {}}}]}, {"role": "tool", "tool_call_id": "abcdefghi",
    "name": "ping", "content": "pong"}, {"role": "assistant", "content": "Done."}]"#;

fn read_back(definitions: &str, tools: &str) -> (String, Conversation) {
    let template = template(definitions);
    let base = RenderInput::default();
    let input = RenderInput {
        messages: value(MESSAGES),
        tools: value(tools),
        ..base.clone()
    };
    let text = template.render(&input).expect("it renders").text;
    let reader = ConversationReader::new(&template, &base).expect("it renders a question");
    let read = reader
        .read(&text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    (text, read)
}

#[test]
fn definitions_in_words_are_read_as_they_were() {
    let (hard, plain) = (hard_tools(), plain_tools());
    let cases = [
        ("XML", XML, &hard),
        ("a script", SCRIPT, &hard),
        ("a list", LIST, &hard),
        ("XML", XML, &plain),
        ("Python", PYTHON, &plain),
        ("JSON within", JSON_WITHIN, &plain),
        ("names apart", NAMES_APART, &plain),
        ("names apart", NAMES_APART, &hard),
        ("told before", TOLD_BEFORE, &plain),
        ("signatures", SIGNATURES, &plain),
    ];
    for (name, definitions, tools) in cases {
        let (text, read) = read_back(definitions, tools);
        assert_eq!(read.proof, Proof::Same, "{name}:\n{text}");
        assert_eq!(read.tools, value(tools), "{name}:\n{text}");
    }
}

/// Where a format writes several kinds alike, what is read renders to the same text.
#[test]
fn what_definitions_in_words_leave_open_is_told() {
    for (name, definitions, told) in [
        ("a script", SCRIPT, "`days`"),
        ("attributes", ATTRIBUTES, "`days`"),
    ] {
        let (text, read) = read_back(definitions, &plain_tools());
        assert_eq!(read.proof, Proof::Same, "{name}:\n{text}");
        assert!(
            read.remarks.iter().any(|remark| remark.contains(told)),
            "{name}: {:?}",
            read.remarks
        );
    }
}
