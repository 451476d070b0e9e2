//! What chat templates are found to do.
use unjinja::analysis::{Capabilities, Follower, Outcome, Thinking, Topic};
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::json;

/// Turns between markers; reasoning only in the last turn; calls as JSON; a switch for thinking.
const MARKED: &str = r#"
{%- if tools %}<sys>{% for t in tools %}{{ t | tojson }}{% endfor %}</sys>{% endif %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}<bot>
{%- if loop.last and m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{%- if m.content is string %}{{ m.content }}{% endif %}
{%- for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>{% endfor %}<end>
{%- elif m.role == 'tool' %}<res>{{ m.content }}<end>
{%- elif m.content is string %}<{{ m.role }}>{{ m.content }}<end>
{%- else %}<{{ m.role }}>{% for p in m.content %}{{ p.text }}{% endfor %}<end>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<bot>{% if thinking_on %}<think>{% endif %}{% endif %}"#;

/// Roles have to alternate, there is no system and there are no tools.
const STRICT: &str = r#"
{%- for m in messages %}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{%- set role = m.role %}[{{ role }}]{{ m.content + '' }}
{%- endfor %}"#;

/// The system goes into the first question, ids have nine letters, the turn is marked for training.
const MERGED: &str = r#"
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}
{%- for m in rest %}
{%- if m.role == 'user' %}[Q] {{ system if loop.first }} {{ m.content }} [/Q]
{%- elif m.role == 'tool' %}[R]{{ m.content }}[/R]
{%- else %}{% generation %}{{ m.content }}{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}{{ raise_exception('ids have nine letters') }}{% endif %}[C]{{ c.id }}:{{ c.function.name }}({{ c.function.arguments }}){% endfor %}</s>{% endgeneration %}
{%- endif %}
{%- endfor %}"#;

fn ask(source: &str) -> Capabilities {
    let template = ChatTemplate::from_jinja(source);
    Capabilities::of(&template, &RenderInput::default()).expect("the template renders")
}

#[test]
fn answers_are_found_by_rendering() {
    use Topic::*;
    let rendered = [
        (
            MARKED,
            &[
                SystemMessage,
                Tools,
                ToolCalls,
                ParallelCalls,
                ContentBesideCalls,
            ][..],
        ),
        (
            MARKED,
            &[
                ToolResults,
                ArgumentsAsObject,
                ReasoningInLastTurn,
                ContentParts,
            ],
        ),
        (MARKED, &[ReasoningBesideCalls, UserTurnsInARow]),
        (
            MERGED,
            &[
                SystemMessage,
                ToolCalls,
                CallIds,
                ToolResults,
                ContentBesideCalls,
            ],
        ),
    ];
    for (source, topics) in rendered {
        let found = ask(source);
        for topic in topics {
            assert_eq!(
                found.outcome(*topic),
                Some(&Outcome::Rendered),
                "{topic:?} of {source}"
            );
        }
    }
    let dropped = [
        (MARKED, &[CallIds, ReasoningInPastTurns][..]),
        (STRICT, &[Tools, ToolCalls, ReasoningInLastTurn]),
        (MERGED, &[Tools, ReasoningInLastTurn]),
    ];
    for (source, topics) in dropped {
        let found = ask(source);
        for topic in topics {
            assert_eq!(
                found.outcome(*topic),
                Some(&Outcome::Dropped),
                "{topic:?} of {source}"
            );
        }
    }
    for topic in [SystemMessage, UserTurnsInARow] {
        let refused = Outcome::Refused("roles must alternate".into());
        assert_eq!(ask(STRICT).outcome(topic), Some(&refused), "{topic:?}");
    }
    let found = ask(STRICT);
    assert!(matches!(
        found.outcome(ContentParts),
        Some(Outcome::Refused(_))
    ));
}

#[test]
fn notes_tell_where_things_come_out() {
    let note = |source: &str, topic: Topic| {
        let found = ask(source);
        let answer = found
            .answers
            .into_iter()
            .find(|answer| answer.topic == topic);
        answer.and_then(|answer| answer.note)
    };
    for (source, topic, expected) in [
        (MARKED, Topic::SystemMessage, Some("before the user's turn")),
        (MERGED, Topic::SystemMessage, Some("within the user's turn")),
        (
            MARKED,
            Topic::ReasoningInLastTurn,
            Some("as `reasoning_content`"),
        ),
        (
            MARKED,
            Topic::ArgumentsAsText,
            Some("quoted a second time, as a string within JSON"),
        ),
        (MARKED, Topic::ArgumentsAsObject, None),
    ] {
        assert_eq!(note(source, topic).as_deref(), expected, "{topic:?}");
    }
    let parts = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let printed = Some("the list is printed as it is, not its text");
    assert_eq!(note(parts, Topic::ContentParts).as_deref(), printed);
}

#[test]
fn variables_are_tried_both_ways() {
    let found = ask(MARKED);
    let [variable] = found.variables.as_slice() else {
        panic!("{:?}", found.variables);
    };
    let switch = variable.switch.as_ref().expect("it switches thinking");
    assert_eq!(variable.name, "thinking_on");
    assert_eq!(
        (switch.on.as_str(), switch.off.as_str()),
        ("<end><bot><think>", "<end><bot>")
    );
    assert_eq!(switch.absent, switch.off);
    assert!(
        ask(STRICT).variables.is_empty(),
        "what a template sets itself is not asked for"
    );
}

#[test]
fn prompts_tell_whether_they_begin_the_thinking() {
    let with_prompt =
        |prompt: &str| MARKED.replace("<bot>{% if thinking_on %}<think>{% endif %}", prompt);
    for (prompt, expected) in [
        ("<bot>", Thinking::LeftToTheModel),
        ("<bot><think>", Thinking::Opened),
        ("<bot><think>\n", Thinking::Opened),
        ("<bot><think></think>", Thinking::Closed),
    ] {
        let found = ask(&with_prompt(prompt))
            .generation_prompt
            .expect("there is a prompt");
        assert_eq!(found.text.trim_end(), prompt.trim_end());
        assert_eq!(found.thinking, Some(expected), "{prompt:?}");
    }
    let none = ask(STRICT).generation_prompt.expect("it renders");
    assert_eq!((none.text.as_str(), none.thinking), ("", None));
}

#[test]
fn the_tag_for_training_is_told() {
    assert!(ask(MERGED).marks_generation);
    assert!(!ask(MARKED).marks_generation);
}

#[test]
fn whether_texts_are_kept_is_told_with_the_smallest_conversation_in_which_they_are_not() {
    let roles = |template: &str| -> Vec<(Follower, Option<(String, String)>)> {
        let kept = ask(template).prefix_kept.into_iter();
        let kept = kept.map(|kept| {
            let departure = kept.counterexample.map(|departure| {
                let messages = departure.messages.as_array().unwrap_or_default().to_vec();
                let roles = messages
                    .iter()
                    .filter_map(|message| message.get("role")?.as_str());
                let roles: Vec<&str> = roles.collect();
                (roles.join(" "), departure.before)
            });
            (kept.follower, departure)
        });
        kept.collect()
    };
    let departs = |roles: &str, before: &str| Some((roles.to_owned(), before.to_owned()));
    // Only the last turn has its thoughts.
    assert_eq!(
        roles(MARKED),
        [
            (
                Follower::User,
                departs("user assistant user", "<think>Thought1</think>Answer1<end>")
            ),
            (
                Follower::Tool,
                departs(
                    "user assistant tool",
                    "<think>Thought1</think><call>lookup {\"ke"
                )
            ),
        ]
    );
    assert_eq!(roles(STRICT), [(Follower::User, None)]);
    assert_eq!(
        roles(MERGED),
        [(Follower::User, None), (Follower::Tool, None)]
    );
}

#[test]
fn programs_get_all_of_it() {
    let answer = ask(STRICT).to_value();
    for (pointer, expected) in [
        ("/capabilities/tools/outcome", r#""dropped""#),
        ("/capabilities/system_message/outcome", r#""refused""#),
        (
            "/capabilities/system_message/error",
            r#""roles must alternate""#,
        ),
        ("/marks_generation", "false"),
        ("/generation_prompt/text", r#""""#),
        ("/variables", "{}"),
        ("/prefix_kept/user/kept", "true"),
    ] {
        let found = answer.pointer(pointer).map(json::write);
        assert_eq!(found.as_deref(), Some(expected), "{pointer}");
    }
}

#[test]
fn templates_that_want_a_list_of_tools_are_given_an_empty_one() {
    let wants_tools = "{% for t in tools %}{{ t.function.name }}{% endfor %}\
                       {% for m in messages %}{{ m.content }}{% endfor %}";
    let found = ask(wants_tools);
    assert_eq!(
        found.outcome(Topic::Tools),
        Some(&Outcome::Dropped),
        "the description is not there"
    );
    assert_eq!(
        found.outcome(Topic::SystemMessage),
        Some(&Outcome::Rendered)
    );
}

#[test]
fn what_does_not_even_render_a_question_is_an_error() {
    for source in ["{% for %}", "{{ raise_exception('never') }}"] {
        let template = ChatTemplate::from_jinja(source);
        assert!(
            Capabilities::of(&template, &RenderInput::default()).is_err(),
            "{source}"
        );
    }
}
