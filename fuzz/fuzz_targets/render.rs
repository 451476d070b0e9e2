//! Any text is taken for a chat template: it renders, or is refused with an error. What takes too
//! much memory, time or stack ends the fuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::json;

fuzz_target!(|source: &str| {
    let template = ChatTemplate::from_jinja(source);
    let messages = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho",
        "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, {"b": null}]}}}]}]"#;
    let Ok(messages) = json::read(messages) else {
        return;
    };
    let input = RenderInput {
        messages,
        ..RenderInput::default()
    };
    let _text_or_error = template.render(&input);
});
