//! Every exit code that the README's table names.

use crate::habits::program::{CHAT_TEMPLATE, Folder};

#[test]
fn each_means_what_the_table_says() {
    let place = Folder::new();
    place.write("messages.json", r#"[{"role": "user", "content": "Hi"}]"#);
    place.write("broken.json", "{");
    place.write("refused.json", r#"{"start_anchor": "A:"}"#);
    place.write("nothing.json", "{}");
    place.write("invalid.jinja", "{% if %}");
    place.write("failing.jinja", "{{ 1 + '' }}");
    place.write("refusing.jinja", "{{ raise_exception('no') }}");
    place.write("turnless.jinja", "constant");
    let deep = ["{\"items\": ".repeat(200), "{}".to_owned(), "}".repeat(200)].concat();
    let deep = format!("[{{\"name\": \"wait\", \"parameters\": {deep}}}]");
    place.write("deep.json", &deep);
    place.write(
        "other.json",
        r#"{"start_anchor": "<bot>", "fields": {"text": {"close": "<end>"}}}"#,
    );
    let schema = r#"{"type": "object", "x-regex": "PATTERN",
        "properties": {"thinking": {"type": "string"}, "content": {"type": "string"}}}"#;
    place.write(
        "schema.json",
        schema.replace(
            "PATTERN",
            "^(?:<t>(?P<thinking>.*?)</t>)?(?P<content>.*?)(?:<end>|$)",
        ),
    );
    // Where the thoughts are all there is, it takes the end for content, which no template does.
    let odd = r"(?:<t>(?P<thinking>.+?)</t>)?(?P<content>.+?)?(?:<end>|$)";
    place.write("odd.json", schema.replace("PATTERN", odd));
    let lossy = CHAT_TEMPLATE.replace(
        "m.content",
        "(m.reasoning_content or '') + (m.content or '')",
    );
    place.write("lossy.jinja", lossy);
    place.write(
        "bad.fixture.yaml",
        place.read("good.fixture.yaml").replace(": Hi}", ": Ho}"),
    );
    place.write("worse.fixture.yaml", "cases: []");
    place.write("good.jsonl", r#"{"text": "Hi<end>"}"#);
    place.write("bad.jsonl", r#"{"text": "<call>{</call>"}"#);
    place.write(
        "ported.json",
        r#"{"start_anchor": "<bot>", "fields": {"reasoning_content": {"open": "<t>", "close": "</t>"}}}"#,
    );
    std::fs::create_dir(place.at("empty")).unwrap();
    for (code, cases) in [
        (
            0,
            &[
                ("parse -t template.json", "Hi<end>"),
                ("check good.fixture.yaml", ""),
                ("check -t template.json good.jsonl", ""),
                ("lint template.json", ""),
                ("diff template.json template.json", ""),
                ("derive chat.jinja", ""),
                ("derive chat.jinja --for all", ""),
                ("port ported.json --for vllm", ""),
                ("port --list", ""),
                ("report chat.jinja -o -", ""),
                ("convert schema.json --alone", ""),
                ("analyze chat.jinja", ""),
                ("grammar chat.jinja", ""),
                ("caps chat.jinja", ""),
                ("mask chat.jinja --tag", ""),
                ("mask chat.jinja --jsonl -", "{\"messages\": []}"),
                ("new chat.jinja -o -", ""),
                ("render chat.jinja -m messages.json", ""),
                ("read chat.jinja", "<user>Hi<end>"),
                (
                    "read chat.jinja --jsonl -",
                    "{\"text\": \"no conversation\"}",
                ),
                ("schema fixture", ""),
                ("survey chat.jinja", ""),
                // Whatever stands in the table.
                ("survey invalid.jinja", ""),
                ("survey -", "none.jinja\n"),
                ("watch chat.jinja chat.jinja", ""),
                ("completions bash", ""),
                ("man", ""),
                ("--help", ""),
                // What fails in a line has its error in the answer.
                (
                    "parse -t template.json --jsonl -",
                    "{\"text\": \"<call>{</call>\"}",
                ),
            ][..],
        ),
        (
            1,
            &[
                ("parse -t template.json", "<call>{</call>"),
                ("check bad.fixture.yaml", ""),
                ("check -t template.json bad.jsonl", ""),
                ("lint template.json --deny all", ""),
                ("diff template.json other.json", ""),
                ("render invalid.jinja -m messages.json", ""),
                ("render failing.jinja -m messages.json", ""),
                ("render refusing.jinja -m messages.json", ""),
                ("read chat.jinja", "no conversation"),
                ("read refusing.jinja", ""),
                ("analyze refusing.jinja", ""),
                ("grammar refusing.jinja", ""),
                ("grammar chat.jinja --tool-choice required", ""),
                ("caps refusing.jinja", ""),
                ("mask refusing.jinja --tag", ""),
                // Nothing is the model's.
                ("mask chat.jinja -m messages.json", ""),
                ("derive lossy.jinja", ""),
                ("lint template.json --for vllm", ""),
                ("port template.json --for vllm", ""),
                ("convert odd.json --alone", ""),
                ("watch chat.jinja lossy.jinja", ""),
                ("watch chat.jinja invalid.jinja", ""),
            ],
        ),
        (
            2,
            &[
                ("", ""),
                ("no-such-command", ""),
                ("parse -t none.json", ""),
                ("parse -t broken.json", ""),
                ("parse -t refused.json", ""),
                ("parse -t template.json --jsonl -", "no JSON"),
                ("lint refused.json", ""),
                ("diff template.json refused.json", ""),
                ("derive nothing.json", ""),
                ("convert template.json", ""),
                ("convert refused.json", ""),
                ("derive turnless.jinja", ""),
                ("derive invalid.jinja", ""),
                ("new turnless.jinja -o -", ""),
                ("render none.jinja -m messages.json", ""),
                ("grammar chat.jinja --tools deep.json", ""),
                ("read chat.jinja none.txt", ""),
                ("read chat.jinja --jsonl -", "no JSON"),
                ("mask none.jinja -m messages.json", ""),
                ("check worse.fixture.yaml", ""),
                ("check none.fixture.yaml", ""),
                ("check empty", ""),
                ("check bad.jsonl", ""),
                ("check -t template.json broken.json", ""),
                ("check --filter none", ""),
                ("tui chat.jinja", ""),
                ("port template.json", ""),
                ("port refused.json --for trl", ""),
                ("diff template.json template.json --for vllm", ""),
                ("report none.jinja --yes", ""),
                ("report chat.jinja", ""),
                ("schema none", ""),
                ("lint", ""),
                ("survey none.jinja", ""),
                ("survey empty", ""),
                ("survey chat.jinja --html page.html", ""),
                ("survey chat.jinja -o - --html page.html", ""),
                ("watch chat.jinja none.jinja", ""),
                ("completions none", ""),
                ("man none", ""),
            ],
        ),
    ] {
        for (arguments, stdin) in cases {
            let outcome = place.run_with(arguments, stdin);
            assert_eq!(outcome.code, Some(code), "{arguments}: {outcome:?}");
        }
    }
}
