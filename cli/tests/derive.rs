//! Deriving and analysing on the command line: what is printed, what is written, and how it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use unjinja::{Value, json};

/// A short format: reasoning in tags, calls as JSON in tags.
const PLAIN: &str = "{%- for m in messages %}{{ '<' + m.role + '>' }}\
    {%- if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}\
    {{- m.content or '' }}\
    {%- for c in m.tool_calls or [] %}{{ '<call>' + c.function | tojson + '</call>' }}{% endfor %}\
    {{- '<end>' }}{% endfor %}\
    {%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";

/// Arguments that stand raw between markers, and ids in front of names.
const TAGGED: &str = "{%- for m in messages %}{{ '<' + m.role + '>' + (m.content or '') }}\
    {%- for c in m.tool_calls or [] %}{{ '<call id=\"' + c.id + '\" to=\"' + c.function.name + '\">' }}\
    {%- for k, v in c.function.arguments.items() %}\
    {{- '<arg ' + k + '>' + (v if v is string else v | tojson) + '</arg>' }}{% endfor %}\
    {{- '</call>' }}{% endfor %}{{ '<end>' }}{% endfor %}\
    {%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";

/// A folder of its own for one test, empty.
fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("derive")
        .join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

struct Outcome {
    stdout: String,
    stderr: String,
    code: i32,
}

impl Outcome {
    fn all(&self) -> String {
        format!("{}---\n{}exit {}", self.stdout, self.stderr, self.code)
    }
}

fn unjinja(folder: &Path, arguments: &[&str]) -> Outcome {
    let out = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    Outcome {
        stdout: String::from_utf8(out.stdout).unwrap(),
        stderr: String::from_utf8(out.stderr).unwrap(),
        code: out.status.code().unwrap(),
    }
}

fn with_template(test: &str, template: &str) -> PathBuf {
    let folder = scratch(test);
    fs::write(folder.join("chat.jinja"), template).unwrap();
    folder
}

#[test]
fn the_template_is_printed_and_the_report_beside_it() {
    let folder = with_template("printed", PLAIN);
    assert_snapshot!(unjinja(&folder, &["derive", "chat.jinja"]).all(), @r#"
    {
      "version": 1,
      "defaults": {
        "role": "assistant"
      },
      "start_anchor": "<assistant>",
      "fields": {
        "thinking": {
          "open_pattern": "\\A\\s*<think>",
          "close": [
            "</think>",
            "<end>"
          ]
        },
        "tool_calls": {
          "open_pattern": "<call>\\s*(?=\\{)",
          "close_pattern": "(?<=[}\\]])\\s*(?:</call>|<end>)\\s*",
          "repeats": true,
          "content": "json",
          "transform": {
            "type": "function",
            "function": "{content}"
          }
        },
        "content": {
          "close_pattern": "<end>\\s*"
        }
      }
    }
    ---
    chat.jinja
      turn       begins after `<assistant>`, ends with `<end>`
      reasoning  between `<think>` and `</think>`
                 rendered in the last turn, in past turns, beside calls
                 read from `reasoning_content`
      content    bare
      calls      each a JSON object: name under `name`, arguments under `arguments`
                 a call is `<call>{…}</call>`
                 several calls a turn
      proof      18 of 18 renderings recovered, 1 draft tried
      mentions   45 of 45 texts that mention a marker recovered
      arguments  54 of 54 kinds of keys, names and values recovered
      damaged    72 of 76 damaged texts recovered, 4 refused or left as text, 0 lost in silence
                 0 of 1: reasoning not closed before a call
                 0 of 3: a call's end missing before the next
      taken by   transformers from 5.13.0 on, vLLM from 0.32.0 on, SGLang from 0.5.23 on, TRL from 1.7.1 on
    exit 0
    "#);
}

#[test]
fn nothing_but_the_template_is_printed_on_demand() {
    let folder = with_template("quiet", PLAIN);
    let outcome = unjinja(
        &folder,
        &["derive", "chat.jinja", "-q", "--format", "compact"],
    );
    assert_eq!(outcome.stderr, "");
    assert_eq!(outcome.stdout.lines().count(), 1);
    assert!(json::read(&outcome.stdout).is_ok());
}

#[test]
fn reasoning_may_go_to_another_field() {
    let folder = with_template("field", PLAIN);
    let arguments = [
        "derive",
        "chat.jinja",
        "-q",
        "--reasoning-field",
        "reasoning_content",
    ];
    let template = json::read(&unjinja(&folder, &arguments).stdout).unwrap();
    let fields = template.get("fields").and_then(Value::as_object).unwrap();
    let names: Vec<String> = fields.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["reasoning_content", "tool_calls", "content"]);
}

#[test]
fn ids_and_types_are_kept_on_demand() {
    let folder = with_template("ids", TAGGED);
    let calls = |more: &[&str]| {
        let mut arguments = vec!["derive", "chat.jinja", "-q"];
        arguments.extend(more);
        let template = json::read(&unjinja(&folder, &arguments).stdout).unwrap();
        template.pointer("/fields/tool_calls").cloned().unwrap()
    };
    let plain = calls(&[]);
    assert_eq!(plain.pointer("/transform/id"), None);
    assert_eq!(plain.pointer("/content_args/value_parser"), None);
    let with_ids = calls(&["--ids"]);
    assert_eq!(
        with_ids.pointer("/transform/id").and_then(Value::as_str),
        Some("{id}")
    );
    let guessed = calls(&["--untyped", "guess"]);
    let parser = guessed.pointer("/content_args/value_parser/name");
    assert_eq!(parser.and_then(Value::as_str), Some("json"));
}

#[test]
fn the_template_goes_to_a_file_on_demand() {
    let folder = with_template("output", PLAIN);
    let outcome = unjinja(
        &folder,
        &["derive", "chat.jinja", "-q", "-o", "response.json"],
    );
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", 0));
    let written = fs::read_to_string(folder.join("response.json")).unwrap();
    assert_eq!(
        written,
        unjinja(&folder, &["derive", "chat.jinja", "-q"]).stdout
    );
}

#[test]
fn several_sources_end_with_a_table() {
    let folder = with_template("several", PLAIN);
    fs::write(folder.join("tagged.jinja"), TAGGED).unwrap();
    fs::write(folder.join("broken.jinja"), "{% for %}").unwrap();
    let sources = ["derive", "chat.jinja", "tagged.jinja", "broken.jinja"];
    let outcome = unjinja(&folder, &sources);
    assert_snapshot!(outcome.stderr, @"
    error: broken.jinja: this is not a valid chat template: unexpected end of block, expected in (line 1 of the template)
       |
     1 | {% for %}
       |        ^^
    source        reasoning  calls  recovered  damaged
    chat.jinja    seen       seen   18/18      72/76
    tagged.jinja  -          seen   18/18      52/64
    broken.jinja  -          -      failed     -
    ");
    assert_eq!(outcome.code, 2);
    let all = json::read(&outcome.stdout).unwrap();
    let names: Vec<String> = all
        .as_object()
        .unwrap()
        .keys()
        .map(ToString::to_string)
        .collect();
    assert_eq!(names, ["chat.jinja", "tagged.jinja"]);

    fs::create_dir(folder.join("out")).unwrap();
    let outcome = unjinja(
        &folder,
        &["derive", "chat.jinja", "tagged.jinja", "-o", "out"],
    );
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", 0));
    assert!(folder.join("out/chat.json").is_file() && folder.join("out/tagged.json").is_file());
}

#[test]
fn what_can_not_be_recovered_is_reported() {
    // Text beside a call is written as thoughts are.
    let template = PLAIN.replace(
        "{{- m.content or '' }}",
        "{{- ('<think>' + m.content + '</think>' if m.tool_calls else m.content) if m.content }}",
    );
    let folder = with_template("unrecovered", &template);
    let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
    assert_eq!(outcome.code, 1);
    assert!(json::read(&outcome.stdout).is_ok());
    assert_snapshot!(outcome.stderr, @r#"
    chat.jinja
      turn       begins after `<assistant>`, ends with `<end>`
      reasoning  between `<think>` and `</think>`
                 rendered in the last turn, in past turns, beside calls
                 read from `reasoning_content`
      content    bare
      calls      each a JSON object: name under `name`, arguments under `arguments`
                 a call is `<call>{…}</call>`
                 several calls a turn
      proof      15 of 18 renderings recovered, 2 drafts tried
                 not expressible: a text and a call: thinking is "One moment, I look it up.", not ""
                   the prompt ends  "<user>zq012question<end><assistant>"
                   the output is    "<think>One moment, I look it up.</think><call>{\"name\": \"read_tide\", \"arguments\": {\"harbour\": \"Brest\", \"scale\": \"metres\"}}</call><end>"
                   it also stands for {"thinking":"One moment, I look it up.","tool_calls":[{"type":"function","function":{"name":"read_tide","arguments":{"harbour":"Brest","scale":"metres"}}}]}
                 not recovered: a thought, a text and a call: content is "<think>One moment, I look it up.</think>", not "One moment, I look it up."
                   the prompt ends  "<user>zq012question<end><assistant>"
                   the output is    "<think>They ask about the tide.\n\nA table would tell, so I look there.</think><think>One moment, I look it up.</think><call>{\"name\": \"read_tide\", \"arguments\": {\""…
                   no other message was found that the chat template writes like this
                 not expressible: a text and two calls: thinking is "One moment, I look it up.", not ""
                   the prompt ends  "<user>zq012question<end><assistant>"
                   the output is    "<think>One moment, I look it up.</think><call>{\"name\": \"find_pages\", \"arguments\": {\"words\": \"spring tide\", \"most\": 3}}</call><call>{\"name\": \"read_tide\", \"argume"…
                   it also stands for {"thinking":"One moment, I look it up.","tool_calls":[{"type":"function","function":{"name":"find_pages","arguments":{"words":"spring tide","most":3}}},{"type":…
      mentions   45 of 45 texts that mention a marker recovered
      arguments  54 of 54 kinds of keys, names and values recovered
      damaged    66 of 76 damaged texts recovered, 10 refused or left as text, 0 lost in silence
                 15 of 18: the turn's end missing
                 8 of 10: white space added
                 0 of 1: reasoning not closed before a call
                 1 of 2: a call within reasoning
                 0 of 3: a call's end missing before the next
      taken by   transformers from 5.13.0 on, vLLM from 0.32.0 on, SGLang from 0.5.23 on, TRL from 1.7.1 on
    "#);
}

#[test]
fn outputs_of_the_model_show_what_the_chat_template_does_not_write() {
    let plain = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";
    let folder = with_template("outputs", plain);
    let lines = [
        r#"{"output": "<call>{\"name\": \"look\", \"arguments\": {}}</call><end>"}"#,
        "",
        r#"{"output": "Yes.<end>", "message": {"content": "No."}}"#,
    ];
    fs::write(folder.join("outputs.jsonl"), lines.join("\n")).unwrap();
    let outcome = unjinja(
        &folder,
        &["derive", "chat.jinja", "--outputs", "outputs.jsonl"],
    );
    assert_eq!(outcome.code, 1);
    let lines = outcome.stderr.lines();
    let about: Vec<&str> = lines
        .filter(|line| {
            ["calls  ", "outputs", "misread", "output is"]
                .iter()
                .any(|word| line.contains(word))
        })
        .collect();
    assert_snapshot!(about.join("\n"), @r#"
      calls      each a JSON object: name under `name`, arguments under `arguments`  (observed)
      outputs    1 of 2 outputs of the model read
                 misread: content is "Yes.", not "No."
                   the output is    "Yes.<end>"
    "#);

    fs::write(folder.join("outputs.jsonl"), "{}").unwrap();
    let refused = unjinja(
        &folder,
        &["derive", "chat.jinja", "--outputs", "outputs.jsonl"],
    );
    assert_eq!(refused.code, 2);
    assert_snapshot!(refused.stderr, @"error: outputs.jsonl: line 1: there is no `output`: write the text of the model under it");

    let several = [
        "derive",
        "chat.jinja",
        "./chat.jinja",
        "--outputs",
        "outputs.jsonl",
    ];
    let refused = unjinja(&folder, &several);
    assert_eq!(refused.code, 2);
    assert_snapshot!(refused.stderr, @"error: `--outputs` are those of one model: derive from one source at a time");
}

/// A turn that ends with a token of the model.
const WITH_TOKEN: &str = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}\
    {{ eos_token }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

#[test]
fn a_token_that_nobody_gave_is_missed_where_turns_hold_it() {
    let folder = with_template("missing-token", WITH_TOKEN);
    let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
    assert_eq!(outcome.code, 1);
    let lines: Vec<&str> = outcome.stderr.lines().take(2).collect();
    assert_snapshot!(lines.join("\n"), @"
    chat.jinja
      missing    the chat template writes `eos_token` into the assistant's turn, but it is not set, so what is found is not what the model writes: give it with `--eos-token`, or put the model's tokenizer_config.json beside the template
    ");
    let several = unjinja(
        &folder,
        &["derive", "chat.jinja", "chat.jinja", "./chat.jinja"],
    );
    assert_eq!(several.code, 1);
    assert!(
        several
            .stderr
            .contains("chat.jinja: the chat template writes `eos_token`")
    );

    // Each remedy works, and so does a configuration that says that there is none.
    let given = ["derive", "chat.jinja", "--eos-token", "<end>"];
    assert_eq!(unjinja(&folder, &given).code, 0);
    for config in [r#"{"eos_token": "<end>"}"#, r#"{"eos_token": null}"#] {
        fs::write(folder.join("tokenizer_config.json"), config).unwrap();
        let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
        assert_eq!(
            (outcome.code, outcome.stderr.contains("missing")),
            (0, false),
            "{config}"
        );
    }

    // At the beginning of a prompt it makes no difference.
    let before = WITH_TOKEN.replace("{{ eos_token }}", "<end>");
    fs::write(folder.join("before.jinja"), before).unwrap();
    fs::remove_file(folder.join("tokenizer_config.json")).unwrap();
    assert_eq!(unjinja(&folder, &["derive", "before.jinja"]).code, 0);
}

#[test]
fn plain_values_are_tried_for_variables_that_nobody_gave() {
    let needy = format!(
        "{{{{ 'Style: ' + style }}}}{{% if flags['x'] is defined %}}x{{% endif %}}{{{{ 'n' * count }}}}{PLAIN}"
    );
    let folder = with_template("assumed", &needy);
    let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
    assert_eq!(outcome.code, 0);
    let lines: Vec<&str> = outcome.stderr.lines().take(4).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    chat.jinja
      assumed    `style` is not set, so `""` is assumed: set it with `--var NAME=VALUE`
      assumed    `flags` is not set, so `false` is assumed: set it with `--var NAME=VALUE`
      assumed    `count` is not set, so `false` is assumed: set it with `--var NAME=VALUE`
    "#);

    // What begins a prompt may be nothing, also beside others that are missing.
    let begun = format!("{{{{ bos_token + style + date }}}}{PLAIN}");
    let folder = with_template("assumed-token", &begun);
    let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
    assert_eq!(outcome.code, 0);
    let lines: Vec<&str> = outcome.stderr.lines().take(4).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    chat.jinja
      assumed    `bos_token` is not set, so `""` is assumed: set it with `--bos-token`
      assumed    `style` is not set, so `""` is assumed: set it with `--var NAME=VALUE`
      assumed    `date` is not set, so `""` is assumed: set it with `--var NAME=VALUE`
    "#);

    // No plain value has a name with a first part; and there is no plain token that ends turns.
    for (test, template) in [
        ("never", "{{ style.name.first }}"),
        ("token", "{{ 'Today is ' + date + eos_token }}"),
    ] {
        let folder = with_template(test, &format!("{template}{PLAIN}"));
        let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
        assert_eq!(outcome.code, 2);
        assert_snapshot!(
            format!("needs_{test}"),
            outcome.stderr.lines().next().unwrap()
        );
    }
    // Only what is refused needs it.
    let calls = PLAIN.replace("{{ '<call>'", "{{ style.name.first + '<call>'");
    let folder = with_template("refused", &calls);
    let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
    let refused = outcome
        .stderr
        .lines()
        .find(|line| line.starts_with("  refused"))
        .unwrap();
    assert_snapshot!(refused, @"  refused    a call; a text and a call; a thought and a call; a thought, a text and a call; two calls; a text and two calls; three calls; a call with values of all types; a call without arguments; a call with code in it; a call with texts that look like numbers; an answer after a call; a thought and an answer after a call: `style` is undefined: give it with `--var NAME=VALUE`");
}

#[test]
fn what_loses_most_answers_is_handed_out_only_by_force() {
    // An answer that is written twice is one that was said twice.
    let twice = PLAIN.replace(
        "m.content or ''",
        "(m.content or '') + ' ' + (m.content or '')",
    );
    let folder = with_template("loses-most", &twice);
    for given in [
        &["derive", "chat.jinja"][..],
        &["derive", "chat.jinja", "-o", "out.json"],
    ] {
        let outcome = unjinja(&folder, given);
        let error = outcome.stderr.lines().last().unwrap_or_default();
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (2, ""),
            "{given:?}"
        );
        assert!(
            error.contains("loses most") && error.ends_with("`--force`"),
            "{error}"
        );
        assert!(!folder.join("out.json").exists());
        // The report says what is lost.
        assert!(
            outcome
                .stderr
                .contains("not recovered: an answer: content is")
        );

        let forced = unjinja(&folder, &[given, &["--force"]].concat());
        assert_eq!(forced.code, 1, "{given:?}");
    }
    assert!(folder.join("out.json").exists());
}

#[test]
fn content_is_given_as_parts_where_it_has_to_be() {
    let parts = "{% for p in m.content %}{{ p.text }}{% endfor %}";
    let first = "{{ m.content[0].text }}";
    for (test, user, assistant) in [
        ("all", parts, parts),
        ("first", first, first),
        ("user", parts, "{{ m.content }}"),
        ("assistant", "{{ m.content }}", parts),
    ] {
        let template = format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}{assistant}\
             {{% else %}}{user}{{% endif %}}<end>{{% endfor %}}\
             {{% if add_generation_prompt %}}<assistant>{{% endif %}}"
        );
        let folder = with_template(&format!("parts-{test}"), &template);
        let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
        assert_eq!(outcome.code, 0, "{test}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains("ends with `<end>`"),
            "{test}: {}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains("18 of 18 renderings"),
            "{test}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn what_is_there_is_checked_by_what_it_means() {
    let folder = with_template("check", PLAIN);
    let file = folder.join("there.json");
    let run = |more: &[&str]| {
        let arguments = ["derive", "chat.jinja", "-o", "there.json", "-q"];
        unjinja(&folder, &[&arguments, more].concat())
    };
    let check = || run(&["--check"]);
    assert_snapshot!(check().all(), @"
    ---
    chat.jinja: there is no response template yet: write it with `-o there.json`
    exit 1
    ");
    assert_eq!(run(&[]).code, 0);
    assert_snapshot!(check().all(), @"
    ---
    there.json: the existing response template is the same
    exit 0
    ");

    // Other keys' order and another way to say the same are fine; --diff shows what changes.
    let written = fs::read_to_string(&file).unwrap();
    let [closes, turned] = ["</call>|<end>", "<end>|</call>"]
        .map(|either| format!(r"(?<=[}}\\]])\\s*(?:{either})\\s*"));
    assert!(written.contains(&closes), "{written}");
    fs::write(&file, written.replace(&closes, &turned)).unwrap();
    assert_snapshot!(check().all(), @"
    ---
    there.json: the existing response template reads all of 5332 texts as the derived one does
    exit 0
    ");
    let outcome = run(&["--diff"]);
    assert_eq!((outcome.code, outcome.stdout.contains("\n-  ")), (0, true));

    let closes_only = r"(?<=[}\\]])\\s*</call>\\s*";
    fs::write(&file, written.replace(&closes, closes_only)).unwrap();
    assert_snapshot!(check().all(), @r#"
    ---
    there.json: the existing response template reads 6 of 3648 texts differently from the derived one, such as "<call>{\"\":\"\",\"\":{}}<end>": look at the difference with `--diff`, and replace it with `-o there.json --force`
    exit 1
    "#);
    assert_eq!(run(&["--diff"]).code, 1);
    assert_eq!(run(&["--force"]).code, 0);
    assert_eq!(check().code, 0);

    // Where the chat template has changed, that is said.
    fs::write(folder.join("chat.jinja"), PLAIN.replace("<end>", "<stop>")).unwrap();
    let outcome = check();
    assert_eq!(outcome.code, 1);
    for said in [
        "there.json: `<end>` closed `content`, and is in no rendering; `<stop>` closes it now\n",
        "there.json: check first whether this change of the chat template is intended; if it is, replace the response template with `-o there.json --force`\n",
    ] {
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
    fs::write(folder.join("chat.jinja"), PLAIN).unwrap();

    fs::write(&file, "{}").unwrap();
    assert_snapshot!(check().all(), @r#"
    ---
    there.json: the existing response template is refused: there are no `fields`: name at least one, such as `"content": {}`
    there is no `start_anchor`: give the text that begins the assistant's message in a prompt, or a `start_anchor_pattern`: look at the difference with `--diff`, and replace it with `-o there.json --force`
    exit 1
    "#);
}

#[test]
fn what_is_in_the_configuration_may_be_written_again() {
    let folder = scratch("again");
    let path = folder.join("tokenizer_config.json");
    fs::write(&path, config_with(PLAIN)).unwrap();
    let run = |more: &[&str]| {
        let arguments = ["derive", "tokenizer_config.json", "-q"];
        unjinja(&folder, &[&arguments, more].concat())
    };
    assert_snapshot!(run(&["--check"]).all(), @"
    ---
    tokenizer_config.json: there is no response template yet: write it with `--write`
    exit 1
    ");
    assert_eq!(run(&["--write"]).code, 0);
    assert_snapshot!(run(&["--check"]).all(), @"
    ---
    tokenizer_config.json: the existing response template is the same
    exit 0
    ");
    // The order of keys is no difference.
    let written = fs::read_to_string(&path).unwrap();
    let reordered = written
        .replace("\"version\": 1,", "")
        .replace("\"fields\":", "\"version\": 1, \"fields\":");
    assert_ne!(reordered, written);
    fs::write(&path, &reordered).unwrap();
    assert_snapshot!(run(&["--write"]).all(), @"
    ---
    tokenizer_config.json: the existing response template is the same
    exit 0
    ");
    assert_eq!(fs::read_to_string(&path).unwrap(), reordered);
    // Another meaning is one, and the remedy works.
    fs::write(&path, in_response_template(&written, "<call>", "<tool>")).unwrap();
    assert_eq!(run(&["--write"]).code, 2);
    let outcome = run(&["--check"]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains("replace it with `--write --force`"),
        "{}",
        outcome.stderr
    );
    assert_eq!(run(&["--write", "--force"]).code, 0);
    assert_eq!(run(&["--check"]).code, 0);
}

#[test]
fn the_report_is_json_for_programs() {
    let folder = with_template("json-report", WITH_TOKEN);
    let outcome = unjinja(
        &folder,
        &["derive", "chat.jinja", "--format", "json-report"],
    );
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 1));
    let report = json::read(&outcome.stdout).unwrap();
    let keys: Vec<String> = report
        .as_object()
        .unwrap()
        .keys()
        .map(ToString::to_string)
        .collect();
    assert_snapshot!(keys.join(" "), @"name variant beside template is_whole recovered missing_tokens findings proof inferred refused damage mentions call_kinds reasons outputs drafts ended_early renderings trials response_schema for otherwise");
    assert_eq!(
        report.pointer("/missing_tokens/0"),
        Some(&"eos_token".into())
    );
    assert_eq!(report.get("is_whole"), Some(&false.into()));
    let template = unjinja(&folder, &["derive", "chat.jinja", "-q"]).stdout;
    assert_eq!(
        report.get("template"),
        Some(&json::read(&template).unwrap())
    );

    let all = [
        "derive",
        "chat.jinja",
        "no.jinja",
        "-q",
        "--format",
        "json-report",
        "-o",
        "out/",
    ];
    let outcome = unjinja(&folder, &all);
    assert_eq!(outcome.code, 2);
    let reports = json::read(&outcome.stdout).unwrap();
    assert!(reports.pointer("/no.jinja/error").is_some());
    assert!(reports.pointer("/chat.jinja/template").is_some());
    assert!(folder.join("out/chat.json").is_file());
}

#[test]
fn commands_that_take_response_templates_name_what_derives_one() {
    let folder = with_template("remedy", PLAIN);
    fs::create_dir(folder.join("model")).unwrap();
    fs::write(folder.join("model/chat_template.jinja"), PLAIN).unwrap();
    fs::write(folder.join("config.json"), config_with(PLAIN)).unwrap();
    for source in ["chat.jinja", "model", "config.json"] {
        let outcome = unjinja(&folder, &["parse", "-t", source]);
        assert_eq!(outcome.code, 2);
        let said = outcome.all();
        let (_, remedy) = said.split_once("with `unjinja ").unwrap();
        let (remedy, _) = remedy.split_once('`').unwrap();
        let remedy: Vec<&str> = remedy.split(' ').collect();
        assert_eq!(unjinja(&folder, &remedy).code, 0, "{remedy:?}");
        let derived = unjinja(&folder, &["parse", "-t", "response_template.json"]);
        assert_eq!(derived.code, 0, "{}", derived.all());
    }
}

/// A model's configuration with chat templates that have names.
fn variants(templates: &[(&str, &str)]) -> String {
    let items = templates.iter().map(|(name, template)| {
        let pairs = [
            ("name", Value::from(*name)),
            ("template", Value::from(*template)),
        ];
        Value::from(unjinja::Object::from_iter(pairs))
    });
    let list: Vec<Value> = items.collect();
    json::write(&unjinja::Object::from_iter([("chat_template", Value::from(list))]).into())
}

#[test]
fn one_response_template_serves_all_chat_templates_of_a_model_if_it_can() {
    let folder = scratch("siblings");
    let (before, calls) = PLAIN.split_once("{%- for c in").unwrap();
    let plain = before.to_owned() + calls.split_once("{% endfor %}").unwrap().1;
    let config = variants(&[("default", &plain), ("tool_use", PLAIN)]);
    fs::create_dir(folder.join("served")).unwrap();
    fs::write(folder.join("served/tokenizer_config.json"), config).unwrap();
    let outcome = unjinja(&folder, &["derive", "served"]);
    assert_eq!(outcome.code, 0);
    assert!(outcome.stdout.contains("<call>"), "{}", outcome.stdout);
    let lines: Vec<&str> = outcome.stderr.lines().take(2).collect();
    assert_snapshot!(lines.join("\n"), @"
    served/tokenizer_config.json, variant `tool_use`
      beside     the variant `default`: this response template reads all of its 18 renderings, too
    ");
    // Who asks for one of them gets that one.
    let one = unjinja(&folder, &["derive", "served", "--variant", "default"]);
    assert_eq!((one.code, one.stdout.contains("<call>")), (0, false));
    assert!(!one.stderr.contains("beside"));

    let other = PLAIN
        .replace("<call>", "<tool>")
        .replace("</call>", "</tool>");
    fs::create_dir_all(folder.join("misread/additional_chat_templates")).unwrap();
    fs::write(folder.join("misread/chat_template.jinja"), PLAIN).unwrap();
    fs::write(
        folder.join("misread/additional_chat_templates/tools.jinja"),
        &other,
    )
    .unwrap();
    fs::write(
        folder.join("misread/tokenizer_config.json"),
        config_with(&other),
    )
    .unwrap();
    let outcome = unjinja(&folder, &["derive", "misread"]);
    assert_eq!(outcome.code, 1);
    let lines: Vec<&str> = outcome.stderr.lines().take(2).collect();
    assert_snapshot!(lines.join("\n"), @"
    misread/chat_template.jinja, variant `default`
      beside     the variant `tools`: this response template misreads 11 of its 18 renderings (a call; a text and a call; a thought and a call; …), and none that was derived serves both: derive for it with `--variant tools`
    ");
    assert_eq!(
        unjinja(&folder, &["derive", "misread", "--variant", "tools"]).code,
        0
    );

    // A file of the model is not alone, either.
    fs::remove_dir_all(folder.join("misread/additional_chat_templates")).unwrap();
    let outcome = unjinja(&folder, &["derive", "misread/chat_template.jinja"]);
    assert_eq!(outcome.code, 1);
    let line = outcome.stderr.lines().nth(1).unwrap();
    assert_snapshot!(line, @"  beside     misread/tokenizer_config.json: this response template misreads 11 of its 18 renderings (a call; a text and a call; a thought and a call; …), and none that was derived serves both: derive for it with `unjinja derive misread/tokenizer_config.json --variant default`");
    let (_, remedy) = line.split_once("`unjinja ").unwrap();
    let remedy: Vec<&str> = remedy.trim_end_matches('`').split(' ').collect();
    assert_eq!(unjinja(&folder, &remedy).code, 0);
}

/// A configuration with one chat template.
fn config_with(template: &str) -> String {
    json::write(&unjinja::Object::from_iter([("chat_template", Value::from(template))]).into())
}

#[test]
fn what_can_not_be_rendered_is_reported() {
    for (test, template) in [
        ("invalid", "{% for m in messages %}"),
        ("undefined", "{{ messages[0].missing.key }}"),
    ] {
        let folder = with_template(test, template);
        let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
        assert_eq!((outcome.stdout.as_str(), outcome.code), ("", 2));
        assert_snapshot!(test, outcome.stderr);
    }
}

/// A configuration whose layout nobody would choose.
fn config(template: &str) -> String {
    let template = json::write(&template.into());
    format!("{{\n   \"z\" : 1,\n   \"chat_template\": {template},\n\n   \"eos_token\":\"</s>\"\n}}")
}

#[test]
fn the_template_goes_into_the_configuration_it_came_from() {
    let folder = scratch("write");
    let path = folder.join("tokenizer_config.json");
    let before = config(PLAIN);
    fs::write(&path, &before).unwrap();

    let outcome = unjinja(&folder, &["derive", ".", "--write", "-q"]);
    assert_eq!(
        (outcome.stdout.as_str(), outcome.code),
        ("", 0),
        "{}",
        outcome.stderr
    );
    let after = fs::read_to_string(&path).unwrap();
    // All else is as it was.
    assert!(after.starts_with(before.trim_end_matches("\n}")), "{after}");
    let derived = unjinja(&folder, &["derive", ".", "-q"]).stdout;
    let written = json::read(&after).unwrap();
    assert_eq!(
        written.get("response_template"),
        Some(&json::read(&derived).unwrap())
    );

    // Another one stays unless it is replaced by force.
    let other = in_response_template(&after, "<call>", "<tool>");
    fs::write(&path, &other).unwrap();
    let outcome = unjinja(&folder, &["derive", ".", "--write", "-q"]);
    assert_eq!(outcome.code, 2);
    assert_snapshot!(outcome.stderr, @"error: ./tokenizer_config.json: it already has a `response_template`: see the difference with `--diff`, and replace it with `--force`");
    assert_eq!(fs::read_to_string(&path).unwrap(), other);
    let outcome = unjinja(&folder, &["derive", ".", "--write", "--force", "-q"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
}

/// A configuration with something else in its response template, and nowhere else.
fn in_response_template(config: &str, from: &str, to: &str) -> String {
    let (before, template) = config.split_once("\"response_template\"").unwrap();
    assert!(template.contains(from), "{template}");
    format!(
        "{before}\"response_template\"{}",
        template.replace(from, to)
    )
}

#[test]
fn the_difference_to_the_one_that_is_there_can_be_shown() {
    let folder = scratch("difference");
    let path = folder.join("tokenizer_config.json");
    fs::write(&path, config(PLAIN)).unwrap();
    // Where there is none, all of it is new.
    let outcome = unjinja(&folder, &["derive", ".", "--diff", "-q"]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stdout.contains("\n+  \"version\": 1,"),
        "{}",
        outcome.stdout
    );
    unjinja(&folder, &["derive", ".", "--write", "-q"]);
    let outcome = unjinja(&folder, &["derive", ".", "--diff", "-q"]);
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", 0));
    // Another way to say the same.
    let written = fs::read_to_string(&path).unwrap();
    let changed = written.replace("(?:<end>|</s>)", "(?:</s>|<end>)");
    assert_ne!(changed, written);
    fs::write(&path, changed).unwrap();
    assert_snapshot!(unjinja(&folder, &["derive", ".", "--diff", "-q"]).stdout, @r#"
    --- .: there
    +++ .: derived
           }
         },
         "content": {
    -      "close_pattern": "(?:</s>|<end>)\\s*"
    +      "close_pattern": "(?:<end>|</s>)\\s*"
         }
       }
     }
    "#);
}

#[test]
fn what_names_no_turn_is_no_template() {
    for (test, template) in [
        ("empty", ""),
        ("constant", "always the same"),
        (
            "users_only",
            "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
        ),
        (
            "no_token",
            "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}{{ eos_token + 'x' }}{% endif %}{% endfor %}",
        ),
    ] {
        let folder = with_template(test, template);
        let outcome = unjinja(&folder, &["derive", "chat.jinja"]);
        assert_eq!((outcome.stdout.as_str(), outcome.code), ("", 2), "{test}");
        assert_snapshot!(format!("no_turn_{test}"), outcome.stderr);
    }
}

#[test]
fn a_text_that_is_always_the_same_is_no_template_whatever_stands_in_it() {
    // What looks like instructions about calls, from which calls could be guessed.
    let text = "Two days should be enough.\n</think>\n<call name=\"forecast\">\ncity: Oslo\n</call><|end|>";
    let folder = with_template("output", text);
    let nothing = "error: chat.jinja: the assistant's turn is never rendered, not even its text: is this the template of a chat model?\n";
    for (command, code) in [("derive", 2), ("analyze", 1)] {
        let outcome = unjinja(&folder, &[command, "chat.jinja"]);
        let refused = (
            outcome.stdout.as_str(),
            outcome.stderr.as_str(),
            outcome.code,
        );
        assert_eq!(refused, ("", nothing, code), "{command}");
    }
}

#[test]
fn sources_that_would_share_a_file_are_refused() {
    let folder = scratch("shared_file");
    for model in ["a", "b"] {
        fs::create_dir_all(folder.join(model)).unwrap();
        fs::write(folder.join(model).join("one.jinja"), PLAIN).unwrap();
        fs::write(folder.join(model).join("chat_template.jinja"), PLAIN).unwrap();
    }
    fs::create_dir(folder.join("out")).unwrap();
    let outcome = unjinja(
        &folder,
        &["derive", "a/one.jinja", "b/one.jinja", "-o", "out"],
    );
    assert_eq!(outcome.code, 2);
    assert_snapshot!(outcome.stderr, @"error: a/one.jinja and b/one.jinja would both be written to out/one.json: derive them one by one");
    // What every model calls the same is named by its folder.
    let both = [
        "derive",
        "a/chat_template.jinja",
        "b/chat_template.jinja",
        "-o",
        "out",
        "-q",
    ];
    assert_eq!(unjinja(&folder, &both).code, 0);
    assert!(folder.join("out/a.json").is_file() && folder.join("out/b.json").is_file());
}

#[test]
fn a_field_that_is_taken_is_refused() {
    let folder = with_template("taken", PLAIN);
    let outcome = unjinja(
        &folder,
        &["derive", "chat.jinja", "--reasoning-field", "content"],
    );
    assert_eq!(outcome.code, 2);
    assert_snapshot!(outcome.stderr, @"error: chat.jinja: reasoning can't go to the field `content`, which is taken or empty: choose another name, such as `reasoning_content`");
}

#[test]
fn calls_that_only_special_tokens_suggest_are_marked() {
    let folder = scratch("guessed");
    let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}";
    let config = format!(
        "{{\"chat_template\": {}, \"additional_special_tokens\": [\"<|tool_call_start|>\", \"<|tool_call_end|>\"]}}",
        json::write(&template.into())
    );
    fs::write(folder.join("tokenizer_config.json"), config).unwrap();
    let outcome = unjinja(&folder, &["derive", "."]);
    let derived = json::read(&outcome.stdout).unwrap();
    let open = derived.pointer("/fields/tool_calls/open_pattern");
    let open = open.and_then(Value::as_str).unwrap_or_default();
    assert!(open.starts_with("<\\|tool_call_start\\|>"), "{open}");
    assert!(outcome.stderr.contains("(guessed)"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("nothing proves it"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_file_that_can_not_be_written_into_is_reported() {
    let folder = with_template("nowhere", PLAIN);
    let outcome = unjinja(&folder, &["derive", "chat.jinja", "--write", "-q"]);
    assert_eq!(outcome.code, 2);
    assert_snapshot!(outcome.stderr, @"error: tokenizer_config.json: there is no such file to write into: use `-o FILE`");
}

#[test]
fn findings_are_lines_for_people() {
    let folder = with_template("findings", TAGGED);
    assert_snapshot!(unjinja(&folder, &["analyze", "chat.jinja"]).all(), @r#"
    chat.jinja
      turn       begins after `<assistant>`, ends with `<end>`
      reasoning  none
      content    bare
      calls      each argument as `<arg KEY>VALUE</arg>`
                 a call is `<call id="ID" to="NAME">ARGUMENTS</call>`
                 several calls a turn
      ways       CONTENT, `<end>`
                 CALLS, `<end>`
                 CONTENT CALLS, `<end>`
                 CALLS is call(`<call id="` ID `" to="` NAME `">` argument(`<arg` ` ` KEY `>` VALUE[string as it is; integer, number, boolean, null, array, object as JSON] `</arg>`)* `</call>`)+
    ---
    exit 0
    "#);
}

#[test]
fn findings_come_with_their_evidence_on_demand() {
    let folder = with_template("evidence", PLAIN);
    assert_snapshot!(unjinja(&folder, &["analyze", "chat.jinja", "--evidence"]).stdout, @r#"
    chat.jinja
      turn       begins after `<assistant>`, ends with `<end>`
      reasoning  between `<think>` and `</think>`
                 rendered in the last turn, in past turns, beside calls
                 read from `reasoning_content`
      content    bare
      calls      each a JSON object: name under `name`, arguments under `arguments`
                 a call is `<call>{…}</call>`
                 several calls a turn
      ways       CONTENT, `<end>`
                 `<think>` REASONING `</think>` CONTENT, `<end>`
                 CALLS, `<end>`
                 `<think>` REASONING `</think>` CALLS, `<end>`
                 CONTENT CALLS, `<end>`
                 `<think>` REASONING `</think>` CONTENT CALLS, `<end>`
                 CALLS is call(`<call>` {name: string(NAME), arguments: ARGUMENTS} `</call>`)+

      turn
          a question / the same as a prompt
            <user>zq012question<end>{+<assistant>+}
          a question / the same and an answer
            <user>zq012question<end>{+<assistant>An answer.<end>+}

      reasoning
          an answer / the same after a thought
            <user>zq012question<end><assistant>{+<think>A thought.</think>+}An answer.<end>

      content
          an answer / another answer
            <user>zq012question<end><assistant>[-An-]{+Something+} [-answer-]{+else+}.<end>

      calls
          a call / a call of another tool
            <user>zq012question<end><assistant><call>{"name": "[-first-]{+other+}_tool", "arguments": {"key": "value"}}</call><end>
          a call / two calls
            <user>zq012question<end><assistant><call>{"name": "first_tool", "arguments": {"key": "value"}}</call>{+<call>{"name": "other_tool", "arguments": {"key": "value"}}</call>+}<end>
    "#);
}

#[test]
fn findings_are_json_for_programs() {
    let folder = with_template("json", TAGGED);
    let arguments = ["analyze", "chat.jinja", "--format", "json", "--evidence"];
    let printed = json::read(&unjinja(&folder, &arguments).stdout).unwrap();
    let at = |pointer: &str| printed.pointer(pointer).and_then(Value::as_str);
    assert_eq!(at("/findings/turn/headers/0"), Some("<assistant>"));
    assert_eq!(at("/findings/calls/calls/of/is"), Some("call"));
    assert_eq!(at("/findings/calls/section_open"), Some(""));
    assert_eq!(at("/findings/calls/certainty"), Some("seen"));
    assert_eq!(at("/evidence/0/without/conversation"), Some("a question"));
}

/// Calls in a list as Python writes it.
const PYTHON: &str = "{%- for m in messages %}{{ '<' + m.role + '>' + (m.content or '') }}\
    {%- for c in m.tool_calls or [] %}{{ ('<call>[' if loop.first else ', ') + c.function.name + '(' }}\
    {%- for k, v in c.function.arguments.items() %}\
    {{- k + '=' + v | tojson + ('' if loop.last else ', ') }}{% endfor %}\
    {{- ')' + (']</call>' if loop.last else '') }}{% endfor %}{{ '<end>' }}{% endfor %}\
    {%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";

/// The lines of a report about versions.
fn of_versions(report: &str) -> String {
    let lines = report.lines();
    let lines = lines.skip_while(|line| {
        !["  taken by", "  for "]
            .iter()
            .any(|own| line.starts_with(own))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn whom_a_template_is_for_decides_how_a_list_of_calls_in_python_is_read() {
    let folder = scratch("versions");
    fs::write(folder.join("chat.jinja"), PYTHON).unwrap();
    let derive = |more: &[&str]| {
        let arguments = [&["derive", "chat.jinja", "--format", "compact"], more].concat();
        unjinja(&folder, &arguments)
    };
    let served = derive(&[]);
    assert!(served.stdout.contains("xml-inline"), "{}", served.stdout);
    assert_snapshot!(of_versions(&served.stderr), @r#"
    taken by   transformers from 5.13.0 on, vLLM from 0.32.0 on, SGLang from 0.5.23 on, TRL from 1.7.1 on
    otherwise  `--for transformers@5.24` has `tool_calls` by `python-call-list`, `content` by `text`: 18 of 18 renderings recovered
               {"open_pattern":"<call>\\s*(?=\\[)","close_pattern":"(?:</call>|<end>)\\s*","content":"python-call-list","transform":{"type":"function","function":{"name":"{name}","arguments":"{arguments}"}},"transform_each":true}
               {"close_pattern":"<end>\\s*","repeats":true,"join":"\n"}
    "#);
    let newest = derive(&["--for", "transformers@5.24"]);
    assert_snapshot!(newest.stdout, @r#"{"version":1,"defaults":{"role":"assistant"},"start_anchor":"<assistant>","fields":{"tool_calls":{"open_pattern":"<call>\\s*(?=\\[)","close_pattern":"(?:</call>|<end>)\\s*","content":"python-call-list","transform":{"type":"function","function":{"name":"{name}","arguments":"{arguments}"}},"transform_each":true},"content":{"close_pattern":"<end>\\s*","repeats":true,"join":"\n"}}}"#);
    assert_snapshot!(of_versions(&newest.stderr), @"
    for        transformers 5.24.0 takes it, but makes no use of part of it; versions from 5.24.0 on do
               /fields/tool_calls/transform_each: transformers 5.24.0 takes the template, but `transformers serve` ends its streams with an error at every call: a region holds a list of calls: read whole outputs, where the format writes its calls as one list
    otherwise  `--for transformers@5.20` has `tool_calls` by `xml-inline`: 18 of 18 renderings recovered
    ");
    // All have to take it.
    for targets in ["vllm", "transformers,sglang", "all"] {
        let older = derive(&["--for", targets, "--reasoning-field", "thinking"]);
        assert_eq!(older.stdout, served.stdout, "{targets}");
    }
    // Where texts can be joined, they are.
    let joining = r#""close_pattern":"<end>\\s*","repeats":true,"join":"\n""#;
    let older = derive(&["--for", "transformers@5.23"]).stdout;
    assert!(
        older.contains("xml-inline") && older.contains(joining),
        "{older}"
    );

    let report = |name: &str| {
        let arguments = ["derive", name, "--format", "json-report", "-q"];
        json::read(&unjinja(&folder, &arguments).stdout).unwrap()
    };
    let otherwise = report("chat.jinja").get("otherwise").cloned().unwrap();
    assert_eq!(otherwise.get("for"), Some(&"transformers@5.24".into()));
    let template = otherwise.get("template").cloned();
    assert_eq!(template, json::read(&newest.stdout).ok());
    fs::write(folder.join("plain.jinja"), PLAIN).unwrap();
    assert_eq!(report("plain.jinja").get("otherwise"), Some(&Value::Null));
}
