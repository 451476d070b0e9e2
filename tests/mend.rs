//! Chat templates that are mended, with what was changed, and with what was not.

use std::fmt::Write as _;

use insta::assert_snapshot;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::mend::{Fault, Mended, Verdict, mend};
use unjinja::{Value, json};

use crate::masks::gallery;

fn mended(jinja: &str, faults: &[Fault]) -> Mended {
    let template = ChatTemplate::from_jinja(jinja);
    mend(&template, &RenderInput::default(), faults).expect("the template renders a question")
}

/// What came of each fault, in a line.
fn verdicts(mended: &Mended) -> String {
    let mut out = String::new();
    for outcome in &mended.outcomes {
        let verdict = match &outcome.verdict {
            Verdict::Absent { .. } => "absent".to_owned(),
            Verdict::Mended { changes, .. } => {
                let changes = changes
                    .iter()
                    .map(|change| format!("{} -> {}", change.before, change.after));
                changes.collect::<Vec<_>>().join("; ")
            }
            Verdict::Left { place, .. } => match place {
                Some(place) => format!("left, line {}", place.line),
                None => "left".to_owned(),
            },
            _ => unreachable!("there are no other verdicts"),
        };
        writeln!(out, "{}: {verdict}", outcome.fault).unwrap();
    }
    out
}

const PREFIX: [Fault; 2] = [Fault::Results, Fault::Questions];

/// A template with turns between markers, whose assistant's turns are written so.
fn turns(assistant: &str) -> String {
    format!(
        "{{%- set ns = namespace(last=-1) %}}\n\
         {{%- for m in messages %}}{{%- if m.role == 'user' %}}{{%- set ns.last = loop.index0 %}}{{%- endif %}}{{%- endfor %}}\n\
         {{%- for m in messages %}}\n\
         {{{{- '<' + m.role + '>' }}}}\n\
         {{%- if m.role == 'assistant' %}}\n\
         {assistant}\n\
         {{%- else %}}\n\
         {{{{- m.content }}}}\n\
         {{%- endif %}}\n\
         {{{{- '<end>' }}}}\n\
         {{%- endfor %}}\n\
         {{%- if add_generation_prompt %}}{{{{- '<assistant>' }}}}{{%- endif %}}"
    )
}

const CALLS: &str = "{%- for c in m.tool_calls or [] %}\n\
    {{- '<call>' + c.function.name + (c.function.arguments | tojson) + '</call>' }}\n\
    {%- endfor %}";

#[test]
fn what_a_template_drops_from_former_turns_is_kept() {
    for (assistant, expected) in [
        // A condition, of several.
        (
            "{%- if m.reasoning_content and loop.index0 > ns.last %}\n\
             {{- '<think>' + m.reasoning_content + '</think>' }}\n\
             {%- endif %}\n\
             {{- m.content or '' }}",
            "{%- if m.reasoning_content and loop.index0 > ns.last %} -> {%- if m.reasoning_content %}",
        ),
        // A condition by itself, with something else where it does not hold.
        (
            "{%- if loop.index0 > ns.last %}\n\
             {{- '<think>' + (m.reasoning_content or '') + '</think>' + (m.content or '') }}\n\
             {%- else %}\n\
             {{- m.content or '' }}\n\
             {%- endif %}",
            "{%- if loop.index0 > ns.last %} -> {%- if true %}",
        ),
        // An expression that chooses.
        (
            "{{- ('<think>' + m.reasoning_content + '</think>' if m.reasoning_content and loop.last else '') }}\n\
             {{- m.content or '' }}",
            "{{- ('<think>' + m.reasoning_content + '</think>' if m.reasoning_content and loop.last else '') }} \
             -> {{- ('<think>' + m.reasoning_content + '</think>' if m.reasoning_content else '') }}",
        ),
        // A switch of the template's own.
        (
            "{%- if m.reasoning_content and (loop.index0 > ns.last or keep_all | default(false)) %}\n\
             {{- '<think>' + m.reasoning_content + '</think>' }}\n\
             {%- endif %}\n\
             {{- m.content or '' }}",
            "{%- if m.reasoning_content and (loop.index0 > ns.last or keep_all | default(false)) %} \
             -> {%- if m.reasoning_content and (loop.index0 > ns.last or keep_all | default(true)) %}",
        ),
    ] {
        let template = turns(&format!("{assistant}\n{CALLS}"));
        let mended = mended(&template, &PREFIX);
        let verdicts = verdicts(&mended);
        // What mends the one may mend the other.
        let mut mending = verdicts.lines().filter_map(|line| line.split_once(": "));
        let mending = mending.find(|(_, verdict)| *verdict != "absent");
        assert_eq!(
            mending.map(|(_, verdict)| verdict),
            Some(expected),
            "{template}\n{verdicts}"
        );
        let again = self::mended(&mended.jinja, &PREFIX);
        assert!(
            again
                .outcomes
                .iter()
                .all(|outcome| matches!(outcome.verdict, Verdict::Absent { .. })),
            "{}",
            mended.jinja
        );
        // Nothing else was changed.
        let changed = template
            .lines()
            .zip(mended.jinja.lines())
            .filter(|(one, other)| one != other);
        assert_eq!(
            (changed.count(), mended.jinja.lines().count()),
            (1, template.lines().count())
        );
    }
}

#[test]
fn thoughts_are_in_the_text_of_a_mended_template() {
    let template = turns(
        "{%- if m.reasoning_content and loop.last %}{{- '<think>' + m.reasoning_content + '</think>' }}{%- endif %}\n\
         {{- m.content or '' }}",
    );
    let messages: Value = json::read(
        r#"[{"role": "user", "content": "A"},
            {"role": "assistant", "reasoning_content": "B", "content": "C"},
            {"role": "user", "content": "D"}]"#,
    )
    .unwrap();
    let text = |jinja: &str| {
        let input = RenderInput {
            messages: messages.clone(),
            ..RenderInput::default()
        };
        ChatTemplate::from_jinja(jinja).render(&input).unwrap().text
    };
    assert_eq!(text(&template), "<user>A<end><assistant>C<end><user>D<end>");
    let mended = mended(&template, &PREFIX);
    assert_eq!(
        text(&mended.jinja),
        "<user>A<end><assistant><think>B</think>C<end><user>D<end>"
    );
}

#[test]
fn what_has_no_fault_is_left_alone() {
    let template = turns("{{- m.content or '' }}");
    let mended = mended(
        &template,
        &[
            Fault::Results,
            Fault::Questions,
            Fault::Content,
            Fault::Dates,
        ],
    );
    assert_eq!(mended.jinja, template);
    assert_eq!(
        verdicts(&mended),
        "results: absent\nquestions: absent\ncontent: absent\ndates: absent\n"
    );
}

#[test]
fn what_can_t_be_mended_is_left_and_named() {
    // What ends the last turn ends no other one, and no change of a condition is a change of a token.
    let template = turns("{{- m.content or '' }}{{- '<stop>' }}")
        .replace(
            "{{- '<end>' }}",
            "{{- '<end>' if not loop.last or m.role != 'assistant' }}",
        )
        .replace("{{- '<stop>' }}", "{{- messages | length if loop.last }}");
    let mended = mended(&template, &[Fault::Questions]);
    assert_eq!(mended.jinja, template);
    assert_eq!(verdicts(&mended), "questions: left, line 6\n");
}

#[test]
fn arguments_are_taken_as_text_and_as_objects() {
    for (written, expected) in [
        (
            "c.function.arguments | tojson",
            "{{- '<call>' + c.function.name + (c.function.arguments if c.function.arguments is string \
             else c.function.arguments | tojson) + '</call>' }}",
        ),
        (
            "c.function.arguments",
            "{{- '<call>' + c.function.name + (c.function.arguments if c.function.arguments is string \
             else c.function.arguments | tojson) + '</call>' }}",
        ),
    ] {
        let calls = format!(
            "{{{{- m.content or '' }}}}\n{{%- for c in m.tool_calls or [] %}}\n\
             {{{{- '<call>' + c.function.name + {written} + '</call>' }}}}\n{{%- endfor %}}"
        );
        let mended = mended(&turns(&calls), &[Fault::Arguments]);
        let line = mended
            .jinja
            .lines()
            .find(|line| line.contains("<call>"))
            .unwrap();
        assert_eq!(
            line.replace("((", "(").replace("))", ")"),
            expected,
            "{written}"
        );
        let again = self::mended(&mended.jinja, &[Fault::Arguments]);
        assert_eq!(verdicts(&again), "arguments: absent\n");
    }
}

#[test]
fn no_content_is_no_text() {
    let mended = mended(
        &turns(&format!("{{{{- m.content }}}}\n{CALLS}")),
        &[Fault::Content],
    );
    assert_eq!(
        verdicts(&mended),
        "content: {{- m.content }} -> {{- (m.content or '') }}\n"
    );
}

#[test]
fn json_is_encoded_once() {
    let calls = CALLS.replace("| tojson", "| tojson | tojson");
    let template = turns(&format!("{{{{- m.content or '' }}}}\n{calls}"));
    let mended = mended(&template, &[Fault::Json]);
    assert_eq!(
        mended.jinja,
        turns(&format!("{{{{- m.content or '' }}}}\n{CALLS}"))
    );
}

#[test]
fn dates_are_those_of_a_day() {
    let template = format!(
        "{{{{- '<system>It is ' + strftime_now('%d %B %Y, %H:%M') + '<end>' }}}}\n{}",
        turns("{{- m.content or '' }}")
    );
    let mended = mended(&template, &[Fault::Dates]);
    assert_eq!(
        verdicts(&mended),
        "dates: {{- '<system>It is ' + strftime_now('%d %B %Y, %H:%M') + '<end>' }} \
         -> {{- '<system>It is ' + strftime_now('%d %B %Y') + '<end>' }}\n"
    );
}

#[test]
fn several_faults_are_mended_one_after_the_other() {
    let template = turns(&format!(
        "{{%- if m.reasoning_content and loop.last %}}{{{{- '<think>' + m.reasoning_content + '</think>' }}}}{{%- endif %}}\n\
         {{{{- m.content }}}}\n{CALLS}"
    ));
    let mended = mended(&template, &Fault::ALL);
    assert_snapshot!(mended.jinja);
    let again = self::mended(&mended.jinja, &Fault::ALL);
    assert!(
        verdicts(&again)
            .lines()
            .all(|line| line.ends_with("absent")),
        "{}",
        verdicts(&again)
    );
}

#[test]
fn the_gallery_is_mended() {
    let mut out = String::new();
    for (name, template) in gallery() {
        let mended = mend(&template, &RenderInput::default(), &Fault::ALL[..6]).unwrap();
        let found = verdicts(&mended);
        let found = found.lines().filter(|line| !line.ends_with("absent"));
        let found: Vec<&str> = found.collect();
        if !found.is_empty() {
            writeln!(out, "{name}\n  {}", found.join("\n  ")).unwrap();
        }
        if mended.jinja == template.jinja {
            continue;
        }
        let mut again = template.clone();
        again.jinja.clone_from(&mended.jinja);
        let again = mend(&again, &RenderInput::default(), &Fault::ALL[..6]).unwrap();
        let now: Vec<Fault> = mended.outcomes.iter().filter_map(was_mended).collect();
        for outcome in again
            .outcomes
            .iter()
            .filter(|outcome| now.contains(&outcome.fault))
        {
            assert!(
                matches!(outcome.verdict, Verdict::Absent { .. }),
                "{name}: {outcome:?}"
            );
        }
    }
    assert_snapshot!(out);
}

fn was_mended(outcome: &unjinja::mend::Outcome) -> Option<Fault> {
    matches!(outcome.verdict, Verdict::Mended { .. }).then_some(outcome.fault)
}

#[test]
fn names_stand_for_faults() {
    assert_eq!(Fault::named("prefix"), Ok(PREFIX.to_vec()));
    for fault in Fault::ALL {
        assert_eq!(Fault::named(fault.key()), Ok(vec![fault]));
    }
    assert_eq!(
        Fault::named("thoughts").unwrap_err().to_string(),
        "there is no fault `thoughts`: known are prefix, results, questions, json, arguments, content, dates, generation"
    );
}
