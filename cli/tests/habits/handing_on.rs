//! `unjinja report`: what is handed on to a maintainer, and what is not.

use crate::habits::program::{CHAT_TEMPLATE, Folder, Outcome, finish};

/// Nothing tells what is a thought of it.
const LOSSY: &str = "{#- by marguerite@example.org, in /home/marguerite/models -#}\
    {#- hf_abcdEFGH1234abcdEFGH1234, for Marguerite -#}\
    {%- for m in messages %}{{ '<' + m.role + '>' + (m.reasoning_content or '') + (m.content or '') + '<end>' }}\
    {%- endfor %}{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";

/// Runs the program as somebody with a name, a home and a token.
fn run(place: &Folder, arguments: &str) -> Outcome {
    let mut command = place.command(arguments);
    command
        .env("HOME", "/home/marguerite")
        .env("USER", "marguerite")
        .env("HF_TOKEN", "a-token-of-no-known-kind");
    finish(command, b"")
}

#[test]
fn a_report_has_all_that_a_maintainer_needs() {
    let place = Folder::new();
    place.write("secret-model/chat_template.jinja", LOSSY);
    let outcome = run(
        &place,
        "report secret-model/chat_template.jinja -o report.md",
    );
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let report = place.read("report.md");
    // It was shown before.
    assert_eq!(outcome.stdout, report);
    for part in [
        concat!("- unjinja ", env!("CARGO_PKG_VERSION"), ", "),
        "\n## What was found\n",
        "\n## The response template\n",
        "\n## Not read back: ",
        "\n## The chat template\n\n```jinja\n",
        "{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
    assert_eq!(
        outcome.stderr,
        "report.md: written; 5 places were blacked out; please read it before you share it\n"
    );
}

#[test]
fn what_is_private_is_not_in_it() {
    let place = Folder::new();
    let told = LOSSY.replace("by marg", "a-token-of-no-known-kind, by marg");
    place.write("secret-model/chat_template.jinja", told);
    let path = place.at("secret-model").display().to_string();
    for arguments in [
        format!("report {path} --yes"),
        "report secret-model/chat_template.jinja --yes --force".to_owned(),
    ] {
        let outcome = run(&place, &arguments);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let report = place.read("unjinja-report.md");
        for private in [
            "hf_abcd",
            "arguerite",
            "/home",
            "a-token-of",
            "example.org",
            "secret-model",
            &path,
        ] {
            assert!(!report.contains(private), "{private}\n{report}");
        }
    }
}

#[test]
fn what_cannot_be_derived_is_reported_with_its_reason() {
    let place = Folder::new();
    for (name, template, part) in [
        ("invalid.jinja", "{% if %}", "unexpected end of block"),
        ("turnless.jinja", "constant", "\n## Nothing is derived\n"),
        (
            "fine.jinja",
            CHAT_TEMPLATE,
            "\nAll renderings are read back.\n",
        ),
    ] {
        place.write(name, template);
        let outcome = run(&place, &format!("report {name} -o -"));
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.stdout.contains(part), "{outcome:?}");
        assert!(outcome.stdout.contains(template), "{outcome:?}");
        assert_eq!(outcome.stderr, "");
    }
    assert!(run(&place, "report none.jinja --yes").code == Some(2));
}

/// A text with fences in it does not end the section that it stands in.
#[test]
fn fences_are_longer_than_those_within() {
    let place = Folder::new();
    place.write("fenced.jinja", format!("{CHAT_TEMPLATE}{{# ````` #}}"));
    let report = run(&place, "report fenced.jinja -o -").stdout;
    assert!(report.contains("\n``````jinja\n"), "{report}");
    assert!(report.ends_with("{# ````` #}\n``````\n"), "{report}");
}

#[test]
fn nothing_is_written_unasked() {
    let place = Folder::new();
    let error = place.error("report chat.jinja");
    assert_eq!(
        error,
        "there is no terminal to ask in: write the report to unjinja-report.md with `--yes`, or to \
         another file with `-o FILE`"
    );
    assert!(!place.at("unjinja-report.md").exists());
    for remedy in ["--yes", "-o FILE"] {
        assert_eq!(
            place
                .run(&format!("report chat.jinja {remedy} --quiet"))
                .stdout,
            ""
        );
    }
    assert_eq!(place.read("FILE"), place.read("unjinja-report.md"));
}
