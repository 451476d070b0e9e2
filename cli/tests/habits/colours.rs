//! Colours: where people look, and where they are asked for.

use crate::habits::program::{Folder, finish};

#[test]
fn they_are_there_on_demand_only() {
    let place = Folder::new();
    place.write(
        "worse.json",
        r#"{"start_anchor": "<bot>", "fields": {"content": {"close_pattern": "x*"}}}"#,
    );
    for (arguments, parts) in [
        (
            "parse -t none.json",
            &["\u{1b}[31merror\u{1b}[0m: none.json: "][..],
        ),
        (
            "parse -t template.json",
            &["\u{1b}[33mwarning\u{1b}[0m: the output is empty"],
        ),
        (
            "lint worse.json",
            &["\u{1b}[31merror\u{1b}[0m: U", "  \u{1b}[36mhelp\u{1b}[0m: "],
        ),
        (
            "lint none.json",
            &["\u{1b}[31merror\u{1b}[0m: can't be used"],
        ),
        (
            "derive chat.jinja",
            &[
                "\u{1b}[1mchat.jinja\u{1b}[0m\n",
                "  \u{1b}[36mproof\u{1b}[0m      ",
            ],
        ),
        ("check", &[]),
    ] {
        let run = |variables: &[(&str, &str)]| {
            let mut command = place.command(arguments);
            command.envs(variables.iter().copied());
            let outcome = finish(command, b"");
            outcome.stdout + &outcome.stderr
        };
        let coloured = run(&[("CLICOLOR_FORCE", "1")]);
        for part in parts {
            assert!(coloured.contains(part), "{arguments}: {coloured:?}");
        }
        for variables in [
            &[][..],
            &[("CLICOLOR_FORCE", "0")],
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
        ] {
            let plain = run(variables);
            assert!(!plain.contains('\u{1b}'), "{arguments}: {plain:?}");
        }
    }
}
