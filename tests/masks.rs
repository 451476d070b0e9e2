//! What of conversations the model writes, and tags in chat templates that tell it.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;

use insta::assert_snapshot;
use proptest::prelude::*;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::conversation::{
    ConversationReader, HeaderSide, Marking, MaskError, MaskPolicy, Masked, Spans, Unmasked,
};
use unjinja::{Object, Value, json};

use crate::synthetic::{conversation, jinja, maker, random};

use crate::root;

fn marking(template: &ChatTemplate) -> Result<Marking, MaskError> {
    Marking::of(template, &RenderInput::default(), MaskPolicy::default())
}

fn tagged(jinja: &str) -> Result<String, String> {
    let marking = marking(&ChatTemplate::from_jinja(jinja));
    let tagged = marking.map(|marking| marking.tagged().to_owned());
    tagged.map_err(|error| error.to_string())
}

fn conversation(messages: &str) -> RenderInput {
    RenderInput {
        messages: json::read(messages).expect("the messages are JSON"),
        ..RenderInput::default()
    }
}

/// The text with its spans between brackets.
fn shown(masked: &Masked) -> String {
    let chars: Vec<char> = masked.text.chars().collect();
    let mut out = String::new();
    let mut copied = 0;
    for span in masked.spans.ranges() {
        out.extend(&chars[copied..span.start]);
        out.push('⟦');
        out.extend(&chars[span.clone()]);
        out.push('⟧');
        copied = span.end;
    }
    out.extend(&chars[copied..]);
    out
}

/// All chat templates of the gallery, by name. They are for tokens of these names.
pub(crate) fn gallery() -> Vec<(String, ChatTemplate)> {
    let folder = root().join("chat_templates");
    let files = fs::read_dir(folder).expect("the gallery is there");
    let files = files.map(|file| file.expect("the gallery can be read").path());
    let mut templates: Vec<(String, ChatTemplate)> = files
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jinja")
        })
        .map(|path| {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let jinja = fs::read_to_string(path).expect("the template can be read");
            let mut template = ChatTemplate::from_jinja(jinja);
            template.bos_token = Some("<s>".to_owned());
            template.eos_token = Some("</s>".to_owned());
            (name, template)
        })
        .collect();
    templates.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(templates.len() > 30);
    templates
}

const TALK: &str = r#"[
    {"role": "user", "content": "Is it late?"},
    {"role": "assistant", "content": "It is noon.", "reasoning_content": "Look at the clock."},
    {"role": "user", "content": "And now?"},
    {"role": "assistant", "content": "Now, too.", "reasoning_content": "Look again."}
]"#;

#[test]
fn of_each_template_of_the_gallery_it_is_known_what_the_model_writes() {
    let mut out = String::new();
    for (name, template) in gallery() {
        let masked = marking(&template).and_then(|marking| {
            let masked = marking.mask(&conversation(TALK))?;
            Ok((marking, masked))
        });
        let _ = match masked {
            Ok((marking, masked)) => {
                let old: Vec<&str> = template.jinja.lines().collect();
                let new = marking.tagged().lines();
                let new: String = new
                    .filter(|line| !old.contains(line))
                    .map(|line| format!("    {}\n", line.trim()))
                    .collect();
                writeln!(out, "{name}\n{}\n{new}", shown(&masked))
            }
            Err(error) => writeln!(out, "{name}: {error}\n"),
        };
    }
    assert_snapshot!("gallery", out);
}

/// The conversation by each template of the gallery that can be marked, with what reads it.
fn talks() -> impl Iterator<Item = (String, Marking, ConversationReader, Masked)> {
    gallery().into_iter().filter_map(|(name, template)| {
        let marking = marking(&template).ok()?;
        let reader = ConversationReader::new(&template, &RenderInput::default());
        let reader = reader.expect("it renders a question");
        let masked = marking.mask(&conversation(TALK)).expect(&name);
        Some((name, marking, reader, masked))
    })
}

#[test]
fn a_text_has_the_mask_of_its_conversation() {
    let mut cut_short = 0;
    for (name, marking, reader, masked) in talks() {
        let read = marking.mask_text(&reader, &masked.text).expect(&name);
        assert_eq!(read.text, masked.text, "{name}");
        assert_eq!(read.spans, masked.spans, "{name}");
        // While the last answer is being written, what is there of it is the model's.
        let Some(at) = masked.text.rfind("w, too.") else {
            continue;
        };
        let cut = &masked.text[..at];
        let read = marking.mask_text(&reader, cut).expect(&name);
        let texts: Vec<&str> = read.spans.texts(cut).collect();
        assert!(
            texts.last().is_some_and(|text| text.ends_with("No")),
            "{name}: {texts:?}"
        );
        cut_short += 1;
    }
    assert!(cut_short > 30, "{cut_short}");
}

/// The stretches up to a character.
fn up_to(end: usize, spans: &Spans) -> Vec<Range<usize>> {
    let spans = spans.ranges().iter();
    let spans = spans.map(|span| span.start..span.end.min(end));
    spans.filter(|span| !span.is_empty()).collect()
}

/// Whose the beginning of a marker is need not show: it may be text, and the marker that of another role.
const LONGEST_HEADER: usize = 48;

#[test]
fn wherever_a_text_is_cut_off_it_has_the_mask_of_its_beginning() {
    let mut wrong = String::new();
    for (name, marking, reader, masked) in talks() {
        let ends = masked.text.char_indices().map(|(at, _)| at);
        for (length, end) in ends.enumerate().skip(1).step_by(5) {
            let cut = &masked.text[..end];
            let sure = length.saturating_sub(LONGEST_HEADER);
            let _ = match marking.mask_text(&reader, cut) {
                Ok(read) if up_to(sure, &read.spans) == up_to(sure, &masked.spans) => continue,
                Ok(read) => writeln!(wrong, "{name}: {:?}: {cut:?}", read.spans),
                Err(error) => writeln!(wrong, "{name}: {error}: {cut:?}"),
            };
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_text_that_the_template_did_not_write_has_no_mask() {
    let template = ChatTemplate::from_jinja(
        "{% for m in messages %}{{ '<' + m.role + '>' + m.content|trim + '<end>' }}{% endfor %}",
    );
    let marking = marking(&template).expect("it can be tagged");
    let reader = ConversationReader::new(&template, &RenderInput::default());
    let reader = reader.expect("it renders a question");
    for (text, why) in [
        (
            "no conversation",
            "character 0: the template does not write \"no conversation\" here; expected `<system>` or `<user>`",
        ),
        (
            "<user>Hi<end><assistant> Ho <end>",
            "character 24: from here on, the template writes what was read differently",
        ),
    ] {
        let error = marking.mask_text(&reader, text).expect_err(text);
        assert_eq!(error.to_string(), why);
    }
}

#[test]
fn tags_stand_where_the_model_begins_and_where_its_turn_ends() {
    let prompt = "{% if add_generation_prompt %}<assistant>{% endif %}";
    for (jinja, expected) in [
        // A branch for the assistant, written as text.
        (
            "{% for m in messages %}{% if m.role == 'assistant' %}<assistant>{{ m.content }}<end>\n\
             {% else %}<user>{{ m.content }}<end>\n{% endif %}{% endfor %}",
            "{% for m in messages %}{% if m.role == 'assistant' %}<assistant>{% generation %}{{ m.content }}<end>\
             {% endgeneration +%}\n\
             {% else %}<user>{{ m.content }}<end>\n{% endif %}{% endfor %}",
        ),
        // One expression for all roles.
        (
            "{% for m in messages %}{{- '<' ~ m.role ~ '>' ~ m.content + '<end>\\n' -}}{% endfor %}",
            "{% for m in messages %}{{- '<' ~ m.role ~ '>' }}\
             {% if m['role'] == 'assistant' %}{% generation %}{{ m.content + '<end>' }}{% endgeneration %}\
             {% else %}{{ m.content + '<end>' }}{% endif %}\
             {{ '\\n' -}}{% endfor %}",
        ),
        // What is set between tags would be lost behind them.
        (
            "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<assistant>' }}{{ m.content }}\
             {% set end = '<end>' %}{{ '.' }}{% else %}{{ '<user>' + m.content }}{% set end = '<end>' %}{% endif %}\
             {{ end }}{% endfor %}",
            "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<assistant>' }}{% generation %}{{ m.content }}\
             {% endgeneration %}{% set end = '<end>' %}{% generation %}{{ '.' }}{% endgeneration %}\
             {% else %}{{ '<user>' + m.content }}{% set end = '<end>' %}{% endif %}\
             {% if m['role'] == 'assistant' %}{% generation %}{{ end }}{% endgeneration %}\
             {% else %}{{ end }}{% endif %}{% endfor %}",
        ),
        // A header that stands before each call: behind the first, the model writes it.
        (
            "{% for m in messages %}{% if m.role == 'assistant' %}{% for c in m.tool_calls or [] %}<assistant>{{ c.function.name }} \
             {{ c.function.arguments | tojson }}{% else %}<assistant> {{ m.content }}{% endfor %}\
             {% else %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}",
            "{% for m in messages %}{% if m.role == 'assistant' %}{% for c in m.tool_calls or [] %}{% generation %}<assistant>{{ c.function.name }} \
             {{ c.function.arguments | tojson }}{% endgeneration %}{% else %}<assistant>{% generation %} {{ m.content }}{% endgeneration %}{% endfor %}\
             {% else %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}",
        ),
        // A value that holds a whole turn.
        (
            "{% for m in messages %}{% set turn = '<' + m.role + '>' + m.content + '<end>' %}{{ turn }}{% endfor %}",
            "{% for m in messages %}{% set turn = '<' + m.role + '>' + m.content + '<end>' %}\
             {% if m['role'] == 'assistant' %}{{ (turn).split('<assistant>', 1)[0] + '<assistant>' }}\
             {% generation %}{{ (turn).split('<assistant>', 1)[1] }}{% endgeneration %}\
             {% else %}{{ turn }}{% endif %}{% endfor %}",
        ),
    ] {
        let found = tagged(&format!("{jinja}{prompt}"));
        assert_eq!(found, Ok(format!("{expected}{prompt}")), "{jinja}");
    }
}

#[test]
fn where_no_tags_can_be_written_it_is_said_where() {
    for (jinja, expected) in [
        (
            "{% set ns = namespace(all='') %}\n{% for m in messages %}\
             {% set ns.all = ns.all + '<' + m.role + '>' + m.content + '<end>' %}{% endfor %}\n\
             {{ ns.all }}{% if add_generation_prompt %}<assistant>{% endif %}",
            "tags can't be written: line 3: what is printed here is partly the model's, and it can't be told which part",
        ),
        (
            "{% raw %}{{ x }}{% endraw %}{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}",
            "tags can't be written: line 1: `{% raw %}` can't be looked into",
        ),
    ] {
        assert_eq!(tagged(jinja), Err(expected.to_owned()), "{jinja}");
    }
}

#[test]
fn a_template_with_tags_is_taken_by_its_word() {
    let jinja = "{% for m in messages %}{{ m.role }}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}";
    assert_eq!(tagged(jinja).as_deref(), Ok(jinja));
}

const PLAIN: &str = "{% for m in messages %}<{{ m.role }}>\n{{ m.content }}<end>\n{% endfor %}\
                     {% if add_generation_prompt %}<assistant>\n<think>{% endif %}";

#[test]
fn what_people_differ_on_is_on_the_side_that_was_asked_for() {
    let template = ChatTemplate::from_jinja(
        "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<assistant>\n<think>' + (m.reasoning_content or '') \
         + '</think>' + m.content + '<end>\n' }}{% else %}{{ '<' + m.role + '>\n' + m.content + '<end>\n' }}\
         {% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<assistant>\n' }}{% if not short %}{{ '<think>' }}\
         {% endif %}{% endif %}",
    );
    let default = MaskPolicy::default;
    let policy = |change: fn(&mut MaskPolicy)| {
        let mut policy = default();
        change(&mut policy);
        policy
    };
    for (policy, expected) in [
        (default(), "</think>B<end>"),
        (policy(|policy| policy.ending = false), "</think>B"),
        (
            policy(|policy| policy.white_space = true),
            "</think>B<end>\n",
        ),
        (
            policy(|policy| policy.prefilled = true),
            "<think></think>B<end>",
        ),
        (
            policy(|policy| policy.header = HeaderSide::In),
            "<assistant>\n<think></think>B<end>",
        ),
    ] {
        let marking = Marking::of(&template, &RenderInput::default(), policy);
        let marking = marking.expect("tags can be written");
        let talk = r#"[{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}]"#;
        let masked = marking.mask(&conversation(talk)).expect("it renders");
        let found: Vec<&str> = masked.spans.texts(&masked.text).collect();
        assert_eq!(found, [expected], "{policy:?}");
    }
}

#[test]
fn a_header_that_no_prompt_leads_to_is_in_unless_it_is_asked_out() {
    // What is said is written without the thought that prompts open, so no turn goes on from its prompt.
    let dropped = "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}\
                   {% if add_generation_prompt %}{{ '<assistant><think>\n' }}{% endif %}";
    // The last turn keeps its thought, and goes on from its prompt.
    let kept = "{% for m in messages %}{{ '<' + m.role + '>' }}\
                {% if m.role == 'assistant' and loop.last %}{{ '<think>\n' + (m.reasoning_content or '') + '</think>' }}{% endif %}\
                {{ m.content + '<end>' }}{% endfor %}\
                {% if add_generation_prompt %}{{ '<assistant><think>\n' }}{% endif %}";
    // Where thinking is switched off, the prompt opens no thought, and turns go on from it. What is so by default counts.
    let switched = dropped.replace(
        "<think>",
        "' + ('' if enable_thinking is false else '<think>') + '",
    );
    let earlier = r#"[{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"},
                      {"role": "user", "content": "C"}]"#;
    for (jinja, header, expected) in [
        (switched.as_str(), HeaderSide::Auto, "<assistant>B<end>"),
        (dropped, HeaderSide::Auto, "<assistant>B<end>"),
        (dropped, HeaderSide::In, "<assistant>B<end>"),
        (dropped, HeaderSide::Out, "B<end>"),
        (kept, HeaderSide::Auto, "B<end>"),
        (kept, HeaderSide::In, "<assistant>B<end>"),
    ] {
        let mut policy = MaskPolicy::default();
        policy.header = header;
        let template = ChatTemplate::from_jinja(jinja);
        let marking = Marking::of(&template, &RenderInput::default(), policy);
        let marking = marking.expect("tags can be written");
        for thinking in [None, Some(false)] {
            let mut conversation = conversation(earlier);
            if let Some(thinking) = thinking {
                conversation.variables.insert("enable_thinking", thinking);
            }
            let masked = marking.mask(&conversation).expect("it renders");
            let found: Vec<&str> = masked.spans.texts(&masked.text).collect();
            assert_eq!(found, [expected], "{header:?}, {thinking:?}: {jinja}");
        }
        assert_eq!(marking.no_header_is_prompted(), jinja != kept);
    }
}

#[test]
fn what_a_training_would_miss_is_told() {
    let template = ChatTemplate::from_jinja(PLAIN);
    let marking = marking(&template).expect("tags can be written");
    for (messages, expected) in [
        (
            r#"[{"role": "user", "content": "A"}]"#,
            vec![Unmasked::Everything],
        ),
        (
            r#"[{"role": "user", "content": "A"}, {"role": "assistant", "content": "B", "tool_calls": [
                {"function": {"name": "f", "arguments": {"a": 1}}}]}]"#,
            vec![Unmasked::CallsDropped(1)],
        ),
        (
            r#"[{"role": "user", "content": "A"}, {"role": "assistant", "content": "A"}]"#,
            vec![],
        ),
        (
            r#"[{"role": "user", "content": "A"}, {"role": "assistant", "reasoning_content": "B", "content": "C"}]"#,
            vec![Unmasked::ThoughtDropped(1)],
        ),
    ] {
        let masked = marking.mask(&conversation(messages)).expect("it renders");
        assert_eq!(masked.unmasked, expected, "{messages}");
    }
}

#[test]
fn thoughts_that_are_cut_off_a_text_are_missed() {
    // By the template's own markers, whichever these are.
    for name in ["think", "muse"] {
        let template = "{% for m in messages %}<{{ m.role }}>{{ m.content if loop.last else m.content.split('</think>')[-1] }}<end>\
             {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
        let template = ChatTemplate::from_jinja(template.replace("think", name));
        let marking = marking(&template).expect("tags can be written");
        let messages = r#"[
            {"role": "user", "content": "A"}, {"role": "assistant", "content": "<think>\nWhy?\n</think>B"},
            {"role": "user", "content": "C"}, {"role": "assistant", "content": "<think>\nHow?\n</think>D"}]"#;
        let messages = messages.replace("think", name);
        let masked = marking.mask(&conversation(&messages)).expect("it renders");
        assert_eq!(masked.unmasked, [Unmasked::ThoughtDropped(1)], "{name}");
        assert_eq!(
            masked.unmasked[0].to_string(),
            "the template drops the thought of messages[1]"
        );
    }
}

#[test]
fn formats_made_by_chance_are_tagged() {
    let mut failed = Vec::new();
    for number in 0..60 {
        let format = maker::make_up(11, number);
        let template = ChatTemplate::from_jinja(jinja::chat_template(&format));
        let marking = match marking(&template) {
            Ok(marking) => marking,
            Err(error) => {
                failed.push(format!("{number}: {error}\n{}", template.jinja));
                continue;
            }
        };
        let mut random = random::Random::new(11, number);
        for case in conversation::cases(&format, &mut random) {
            let (mut messages, last) = conversation::messages(&format, &case);
            messages.push(last);
            let input = RenderInput {
                messages: messages.into(),
                tools: conversation::tools(),
                ..RenderInput::default()
            };
            let Ok(masked) = marking.mask(&input) else {
                continue;
            };
            let content = case.content.unwrap_or_default().trim();
            let is_whole = masked
                .spans
                .texts(&masked.text)
                .any(|text| text.contains(content));
            if masked.text.contains(content) && !is_whole {
                failed.push(format!("{number}, {}: {}", case.name, shown(&masked)));
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{} failed\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}

#[test]
fn templates_that_are_no_good_are_errors() {
    for jinja in [
        "",
        "{% if %}",
        "{{ messages }}",
        "{% for m in messages %}x{% endfor %}",
        "{{ raise_exception('no') }}",
        "{% for i in range(100000000) %}x{% endfor %}",
        "{% for m in messages %}{{ m.content * 100000 }}{% endfor %}",
        "\u{fdd2}{% for m in messages %}{{ m.content }}{% endfor %}",
    ] {
        // What matters is that it comes to an end.
        if let Ok(tagged) = tagged(jinja) {
            assert!(!tagged.is_empty() || jinja.is_empty(), "{jinja}");
        }
    }
}

fn message(role: &str, content: &str) -> Value {
    Object::from_iter([("role", role), ("content", content)]).into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is said, the mask holds what the assistant says and nothing that others say, and the text is as
    /// it is without tags.
    #[test]
    fn what_is_said_is_on_its_side(
        which in 0usize..1000,
        said in prop::collection::vec("[ -~\n\u{e4}\u{4e00}<>/|&]{0,20}", 2..6),
    ) {
        thread_local! {
            static MARKINGS: Vec<(ChatTemplate, Marking)> = gallery()
                .into_iter()
                .filter_map(|(_, template)| Some((template.clone(), marking(&template).ok()?)))
                .collect();
        }
        MARKINGS.with(|markings| {
            let (template, marking) = &markings[which % markings.len()];
            let said: Vec<String> = said.iter().enumerate().map(|(at, text)| format!("qa{at}z{text}qe{at}z")).collect();
            let roles = ["user", "assistant"].into_iter().cycle();
            let messages: Vec<Value> = said.iter().zip(roles).map(|(text, role)| message(role, text)).collect();
            let input = RenderInput { messages: messages.into(), ..RenderInput::default() };
            let Ok(rendered) = template.render(&input) else { return Ok(()) };
            let masked = marking.mask(&input).unwrap();
            prop_assert_eq!(&masked.text, &rendered.text);
            let inside: Vec<&str> = masked.spans.texts(&masked.text).collect();
            for at in 0..said.len() {
                for word in [format!("qa{at}z"), format!("qe{at}z")] {
                    let is_inside = inside.iter().any(|text| text.contains(&word));
                    let is_there = masked.text.contains(&word);
                    prop_assert_eq!(is_inside, is_there && at % 2 == 1, "{}\n{}", word, shown(&masked));
                }
            }
            Ok(())
        })?;
    }
}

/// Each rendering of these is within its budget, and there are dozens of them.
#[test]
fn templates_that_take_long_are_given_up() {
    for (what, loops) in [
        (
            "long texts",
            "{% for i in range(90) %}{% for j in range(90) %}{{ 'x' * 99 }}{% endfor %}{% endfor %}",
        ),
        (
            "many pieces",
            "{% for i in range(200) %}{% for j in range(99) %}{{ '' }}{% endfor %}{% endfor %}",
        ),
        (
            "time",
            "{% for i in range(300) %}{% for j in range(300) %}{% endfor %}{% endfor %}",
        ),
    ] {
        let jinja = format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{{{ m.content }}}}{loops}<end>{{% endfor %}}"
        );
        let begun = std::time::Instant::now();
        let template = ChatTemplate::from_jinja(jinja);
        let _refused_or_found =
            Marking::of(&template, &RenderInput::default(), MaskPolicy::default());
        assert!(
            begun.elapsed().as_secs() < 15,
            "{what}: {:?}",
            begun.elapsed()
        );
    }
}
