//! Writing a format down as a chat template, the way the author of a model would.

use crate::synthetic::format::{
    Arguments, Body, Calls, Content, Format, Ids, Json, KEY, Kept, Keys, Part, Place, Reasoning,
    Separator, Stands, Tagged,
};
use crate::synthetic::random::Pair;

/// The chat template of a format.
pub fn chat_template(format: &Format) -> String {
    let mut page = Page::default();
    macros(format, &mut page);
    system(format, &mut page);
    if let Some(reasoning) = &format.reasoning {
        last_question(reasoning, &mut page);
    }
    page.tag("for message in messages");
    page.tag("if message.role == 'user'");
    let turns = &format.turns;
    match &turns.system {
        Some(_) => page.print(Text::of(&turns.user.open).and("message.content")),
        None => page.print(
            Text::of(&turns.user.open)
                .and("(system + '\\n\\n' if system and loop.first else '')")
                .and("message.content"),
        ),
    }
    page.print(Text::of(&turns.user.close));
    page.tag("elif message.role == 'tool'");
    page.print(
        Text::of(&turns.tool.open)
            .and("message.content")
            .with(&turns.tool.close),
    );
    page.tag("elif message.role == 'assistant'");
    assistant(format, &mut page);
    page.end("if");
    page.end("for");
    page.tag("if add_generation_prompt");
    prompt(format, &mut page);
    page.end("if");
    page.text
}

/// A text of a chat template, indented as it grows.
#[derive(Default)]
struct Page {
    text: String,
    depth: usize,
}

impl Page {
    fn line(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&"    ".repeat(self.depth));
        self.text.push_str(line);
    }

    /// A tag, which opens a block unless it sets a variable.
    fn tag(&mut self, tag: &str) {
        if tag.starts_with("el") {
            self.depth -= 1;
        }
        self.line(&format!("{{%- {tag} %}}"));
        if !tag.starts_with("set") {
            self.depth += 1;
        }
    }

    fn end(&mut self, block: &str) {
        self.depth -= 1;
        self.line(&format!("{{%- end{block} %}}"));
    }

    /// Prints a text, unless there is nothing in it.
    fn print(&mut self, text: Text) {
        let expression = text.expression();
        if expression != "''" {
            self.line(&format!("{{{{- {expression} }}}}"));
        }
    }
}

/// An expression of strings that are added.
#[derive(Default, Clone)]
struct Text {
    parts: Vec<String>,
    literal: String,
}

impl Text {
    fn of(literal: &str) -> Text {
        Text::default().with(literal)
    }

    fn with(mut self, literal: &str) -> Text {
        self.literal.push_str(literal);
        self
    }

    fn and(mut self, expression: &str) -> Text {
        self.flush();
        self.parts.push(expression.to_owned());
        self
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(quoted(&self.literal));
            self.literal.clear();
        }
    }

    fn expression(mut self) -> String {
        self.flush();
        match self.parts.is_empty() {
            true => "''".to_owned(),
            false => self.parts.join(" + "),
        }
    }
}

/// A string as Jinja writes it.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{}'", text.replace('\n', "\\n"))
}

fn macros(format: &Format, page: &mut Page) {
    let Some(calls) = &format.calls else { return };
    let json = match &calls.body {
        Body::Object { json, .. } => Some(json),
        Body::Named {
            arguments: Arguments::Json(json),
            ..
        } => Some(json),
        _ => None,
    };
    match (&calls.body, json) {
        (_, Some(Json::Dialect(quotes))) => dialect_macro(quotes, page),
        (Body::Python { literals: true }, _) => value_macro(
            page,
            "value | tojson if value is string else value | string",
            ("{", "key | tojson + ': '", ", ", "}"),
            ", ",
        ),
        _ => {}
    }
}

fn dialect_macro(quotes: &Pair, page: &mut Page) {
    let (open, close) = (quoted(&quotes.open), quoted(&quotes.close));
    value_macro(
        page,
        &format!("{open} + value + {close} if value is string else value | tojson"),
        ("{", "key + ':'", ",", "}"),
        ",",
    );
}

/// A macro that writes a value, and what it holds in the same way.
fn value_macro(
    page: &mut Page,
    scalar: &str,
    (open, key, separator, close): (&str, &str, &str, &str),
    in_lists: &str,
) {
    let text = format!(
        "{{%- macro write(value) -%}}
    {{%- if value is mapping -%}}
        {{{{- '{open}' -}}}}
        {{%- for key, item in value.items() -%}}
            {{{{- {key} + write(item) + ('' if loop.last else '{separator}') -}}}}
        {{%- endfor -%}}
        {{{{- '{close}' -}}}}
    {{%- elif value is sequence and value is not string -%}}
        {{{{- '[' -}}}}
        {{%- for item in value -%}}
            {{{{- write(item) + ('' if loop.last else '{in_lists}') -}}}}
        {{%- endfor -%}}
        {{{{- ']' -}}}}
    {{%- else -%}}
        {{{{- {scalar} -}}}}
    {{%- endif -%}}
{{%- endmacro -%}}"
    );
    page.line(&text);
}

fn system(format: &Format, page: &mut Page) {
    let turns = &format.turns;
    page.tag("set system = ''");
    page.tag("if messages[0].role == 'system'");
    page.tag("set system = messages[0].content");
    page.tag("set messages = messages[1:]");
    page.end("if");
    if format.calls.is_some() {
        page.tag("if tools");
        let mut text = Text::default()
            .and("system")
            .with("\n\nYou can call these tools:\n")
            .with(&turns.tools.open)
            .and("tools | map('tojson') | join('\\n')")
            .with(&turns.tools.close);
        if turns.instructions
            && let Some(calls) = &format.calls
        {
            text = text.with("\n\nThis is how a call is written:\n");
            text = text.with(&example(calls));
        }
        page.tag(&format!("set system = {}", text.expression()));
        page.end("if");
    }
    if let Some(system) = &turns.system {
        page.tag("if system");
        page.print(
            Text::of(&system.open)
                .and("system | trim")
                .with(&system.close),
        );
        page.end("if");
    }
}

/// What instructions show of a call.
fn example(calls: &Calls) -> String {
    let inner = match &calls.body {
        Body::Object { array, .. } => {
            let object = "{\"NAME\": {\"KEY\": \"VALUE\"}}";
            match array {
                true => format!("[{object}]"),
                false => object.to_owned(),
            }
        }
        Body::Named {
            head,
            arguments,
            close,
        } => {
            let head: String = head
                .iter()
                .map(|part| match part {
                    Part::Text(text) => text.as_str(),
                    Part::Name => "NAME",
                    Part::Id => "ID",
                    Part::Index => "0",
                })
                .collect();
            let arguments = match arguments {
                Arguments::Json(_) => "{\"KEY\": \"VALUE\"}".to_owned(),
                Arguments::Tagged(tagged) => format!(
                    "{}KEY{}VALUE{}",
                    tagged.before_key,
                    tagged.between[0],
                    tagged.after_value.replace(KEY, "KEY")
                ),
            };
            format!("{head}{arguments}{close}")
        }
        Body::Python { .. } => "[NAME(KEY=\"VALUE\")]".to_owned(),
    };
    let (section, each) = (&calls.section, &calls.each);
    format!(
        "{}{}{inner}{}{}",
        section.open, each.open, each.close, section.close
    )
}

fn last_question(reasoning: &Reasoning, page: &mut Page) {
    if reasoning.kept != Kept::LastTurn {
        return;
    }
    page.tag("set last = namespace(question=-1)");
    page.tag("for message in messages");
    page.tag("if message.role == 'user'");
    page.tag("set last.question = loop.index0");
    page.end("if");
    page.end("for");
}

fn assistant(format: &Format, page: &mut Page) {
    let turns = &format.turns;
    page.print(Text::of(&turns.assistant.open).with(turns.lead));
    page.tag("set content = message.content or ''");
    if let Some(reasoning) = &format.reasoning {
        thoughts(reasoning, page);
    }
    if format.calls_first {
        calls_of_turn(format, page);
        content_of_turn(format, page);
    } else {
        content_of_turn(format, page);
        calls_of_turn(format, page);
    }
    match &turns.calls_end {
        Some(end) => {
            page.tag("if message.tool_calls");
            page.print(Text::of(end));
            page.tag("else");
            page.print(Text::of(&turns.assistant.close));
            page.end("if");
        }
        None => page.print(Text::of(&turns.assistant.close)),
    }
}

fn wrapped(pair: &Pair) -> Text {
    Text::of(&pair.open).and("content").with(&pair.close)
}

/// Content that is wrapped only in some company.
fn in_company(company: &str, pair: &Pair, page: &mut Page) {
    page.tag(&format!("if content and {company}"));
    page.print(wrapped(pair));
    page.tag("else");
    page.print(Text::default().and("content"));
    page.end("if");
}

fn content_of_turn(format: &Format, page: &mut Page) {
    if let (Some(joint), Some(_)) = (&format.joint, &format.reasoning) {
        page.tag("if thought and content");
        page.print(Text::of(joint));
        page.end("if");
    }
    match &format.content {
        Content::Plain => page.print(Text::default().and("content")),
        Content::Wrapped(pair) => {
            page.tag("if content");
            page.print(wrapped(pair));
            page.end("if");
        }
        Content::BesideReasoning(pair) => in_company("thought", pair, page),
        Content::BesideCalls(pair) => in_company("message.tool_calls", pair, page),
        Content::Either(beside, alone) => {
            page.tag("if content and message.tool_calls");
            page.print(wrapped(beside));
            page.tag("elif content");
            page.print(wrapped(alone));
            page.end("if");
        }
        Content::Json(pair) => {
            page.tag("if content");
            let text = Text::of(&pair.open).and("content | tojson");
            page.print(text.with(&pair.close));
            page.end("if");
        }
    }
}

fn calls_of_turn(format: &Format, page: &mut Page) {
    let Some(calls) = &format.calls else { return };
    page.tag("if message.tool_calls");
    if let Some(joint) = &format.joint {
        page.tag(match format.reasoning {
            Some(_) => "if thought or content",
            None => "if content",
        });
        page.print(Text::of(joint));
        page.end("if");
    }
    if !format.calls_first {
        gap(format, page);
    }
    section(calls, page);
    if format.calls_first {
        gap(format, page);
    }
    page.end("if");
}

/// Prints what stands between text and calls.
fn gap(format: &Format, page: &mut Page) {
    if !format.gap.is_empty() {
        page.tag("if content");
        page.print(Text::of(format.gap));
        page.end("if");
    }
}

fn thoughts(reasoning: &Reasoning, page: &mut Page) {
    if reasoning.kept == Kept::Never {
        let close = quoted(reasoning.close.trim());
        page.tag(&format!("if {close} in content"));
        page.tag(&format!(
            "set content = content.split({close})[-1].lstrip('\\n')"
        ));
        page.end("if");
        return;
    }
    let is_last = match reasoning.kept {
        Kept::LastTurn => " if loop.index0 > last.question else ''",
        _ => "",
    };
    let key = reasoning.key;
    page.tag(&format!("set thought = (message.{key} or ''){is_last}"));
    page.tag("if thought");
    let open = reasoning.open.as_deref().unwrap_or_default();
    page.print(
        Text::of(open)
            .and("thought")
            .with(&reasoning.close)
            .with(reasoning.after_close),
    );
    if reasoning.empty {
        match reasoning.kept {
            Kept::LastTurn => page.tag("elif loop.index0 > last.question"),
            _ => page.tag("else"),
        }
        page.print(Text::of(&reasoning.nothing()));
    }
    page.end("if");
}

fn prompt(format: &Format, page: &mut Page) {
    page.print(Text::of(&format.turns.assistant.open));
    let Some(reasoning) = &format.reasoning else {
        return;
    };
    let open = reasoning.open.as_deref().unwrap_or_default();
    let switch = reasoning.switch;
    match (reasoning.closed_when_off, reasoning.opened_by_prompt) {
        (true, opened) => {
            page.tag(&format!("if {switch} is defined and not {switch}"));
            page.print(Text::of(&reasoning.nothing()));
            if opened {
                page.tag("else");
                page.print(Text::of(open));
            }
            page.end("if");
        }
        (false, true) => page.print(Text::of(open)),
        (false, false) => {}
    }
}

fn section(calls: &Calls, page: &mut Page) {
    let array = matches!(
        calls.body,
        Body::Object { array: true, .. } | Body::Python { .. }
    );
    let (begin, end) = match array {
        true => ("[", "]"),
        false => ("", ""),
    };
    page.print(Text::of(&calls.section.open).with(begin));
    match calls.several {
        true => page.tag("for call in message.tool_calls"),
        false => page.tag("for call in message.tool_calls[:1]"),
    }
    let sees_id = match &calls.body {
        Body::Object { keys, .. } => matches!(keys, Keys::Plain { id: Some(_), .. }),
        Body::Named { head, .. } => head.contains(&Part::Id),
        Body::Python { .. } => false,
    };
    if sees_id && calls.ids == Ids::Nine {
        page.tag("if call.id | length != 9");
        page.line("{{- raise_exception('ids have nine letters') }}");
        page.end("if");
    }
    page.tag("set name = call.function.name");
    page.tag("set args = call.function.arguments");
    separate(&calls.separator, page);
    let each = &calls.each;
    match &calls.body {
        Body::Object { keys, json, .. } => {
            let object = object(keys, json);
            page.print(Text::of(&each.open).and(&object).with(&each.close));
        }
        Body::Named {
            head,
            arguments,
            close,
        } => {
            let mut text = Text::of(&each.open);
            for part in head {
                text = match part {
                    Part::Text(literal) => text.with(literal),
                    Part::Name => text.and("name"),
                    Part::Id => text.and("call.id"),
                    Part::Index => text.and("loop.index0 | string"),
                };
            }
            match arguments {
                Arguments::Json(json) => {
                    let text = text.and(&written("args", json));
                    page.print(text.with(close).with(&each.close));
                }
                Arguments::Tagged(tagged) => {
                    page.print(text);
                    arguments_in_tags(tagged, page);
                    page.print(Text::of(close).with(&each.close));
                }
            }
        }
        Body::Python { literals } => {
            page.print(Text::of(&each.open).and("name").with("("));
            page.tag("for key, value in args.items()");
            page.print(
                Text::default()
                    .and("('' if loop.first else ', ')")
                    .and("key")
                    .with("=")
                    .and(match literals {
                        true => "write(value)",
                        false => "value | tojson",
                    }),
            );
            page.end("for");
            page.print(Text::of(")").with(&each.close));
        }
    }
    separate_behind(&calls.separator, page);
    page.end("for");
    page.print(Text::of(end).with(&calls.section.close));
}

/// The expression that writes a value as JSON.
fn written(value: &str, json: &Json) -> String {
    let filter = match json {
        Json::Plain => "tojson",
        Json::Compact => "tojson(separators=(',', ':'))",
        Json::Indented => "tojson(indent=2)",
        Json::Ascii => "tojson(ensure_ascii=True)",
        Json::Dialect(_) => return format!("write({value})"),
    };
    format!("({value} | {filter})")
}

/// The expression that writes a call as an object.
fn object(keys: &Keys, json: &Json) -> String {
    match keys {
        Keys::NameAsKey => written("{name: args}", json),
        Keys::Plain {
            name,
            arguments,
            id,
            nested,
            typed,
            as_text,
            arguments_first,
        } => {
            let args = match as_text {
                true => "args | tojson",
                false => "args",
            };
            let mut pair = [format!("'{name}': name"), format!("'{arguments}': {args}")];
            if *arguments_first {
                pair.reverse();
            }
            let pair = pair.join(", ");
            let mut entries = Vec::new();
            if *typed {
                entries.push("'type': 'function'".to_owned());
            }
            entries.push(match nested {
                Some(outer) => format!("'{outer}': {{{pair}}}"),
                None => pair,
            });
            match id {
                Some((key, Place::First)) => entries.insert(0, format!("'{key}': call.id")),
                Some((key, Place::Last)) => entries.push(format!("'{key}': call.id")),
                None => {}
            }
            written(&format!("{{{}}}", entries.join(", ")), json)
        }
    }
}

/// Prints a separator where it stands before a part.
fn separate(separator: &Separator, page: &mut Page) {
    match separator.stands {
        _ if separator.text.is_empty() => {}
        Stands::Between => {
            page.tag("if not loop.first");
            page.print(Text::of(&separator.text));
            page.end("if");
        }
        Stands::BeforeEach => page.print(Text::of(&separator.text)),
        Stands::BehindEach => {}
    }
}

fn separate_behind(separator: &Separator, page: &mut Page) {
    if separator.stands == Stands::BehindEach {
        page.print(Text::of(&separator.text));
    }
}

fn arguments_in_tags(tagged: &Tagged, page: &mut Page) {
    let scalar = match tagged.literals {
        true => "value | string",
        false => "value | tojson",
    };
    page.tag("for key, value in args.items()");
    separate(&tagged.separator, page);
    let text = Text::of(&tagged.before_key).and("key");
    let string = match &tagged.wrapping {
        None => "value".to_owned(),
        Some(wrapping) => {
            let wrapped = Text::of(&wrapping.pair.open)
                .and("value")
                .with(&wrapping.pair.close);
            let wrapped = wrapped.expression();
            match wrapping.only_markup {
                true => format!("({wrapped} if '<' in value or '&' in value else value)"),
                false => format!("({wrapped})"),
            }
        }
    };
    let raw = match tagged.literals {
        _ if tagged.quoted => "(value | tojson)".to_owned(),
        true => "(value | tojson if value is mapping or (value is sequence and value is not string) else STRING if value is string else value | string)".replace("STRING", &string),
        false => format!("({string} if value is string else {scalar})"),
    };
    let close = |text: Text| {
        let mut parts = tagged.after_value.split(KEY);
        let text = text.with(parts.next().unwrap_or_default());
        parts.fold(text, |text, part| text.and("key").with(part))
    };
    match tagged.between.as_slice() {
        [of_text, of_json] => {
            page.tag("if value is string");
            page.print(close(text.clone().with(of_text).and("value")));
            page.tag("else");
            page.print(close(text.with(of_json).and("value | tojson")));
            page.end("if");
        }
        [between] => page.print(close(text.with(between).and(&raw))),
        by_type => {
            // In the order of the types.
            let tests = [
                "value is string",
                "value is integer",
                "value is float",
                "value is boolean",
                "value is sequence and value is not mapping",
            ];
            for (at, between) in by_type.iter().enumerate() {
                match (at, tests.get(at)) {
                    (0, Some(test)) => page.tag(&format!("if {test}")),
                    (_, Some(test)) => page.tag(&format!("elif {test}")),
                    (_, None) => page.tag("else"),
                }
                page.print(close(text.clone().with(between).and(&raw)));
            }
            page.end("if");
        }
    }
    separate_behind(&tagged.separator, page);
    page.end("for");
}
