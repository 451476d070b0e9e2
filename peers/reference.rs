//! The reference implementation, which reads by the same templates.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use unjinja::ResponseTemplate;

use crate::reading::{Figures, in_fours, in_tokens};

/// Reads a request, and answers with the seconds that a message takes in each of its cuts.
const PROGRAM: &str = include_str!("reference.py");

/// How fast it reads a message; or why it is not at hand.
pub(crate) fn figures(
    template: &ResponseTemplate,
    prefix: &str,
    text: &str,
) -> Result<Figures, String> {
    let python = std::env::var("UNJINJA_REFERENCE_PYTHON").unwrap_or("python3".into());
    let template = unjinja::json::write(template.as_value());
    let template: Value = serde_json::from_str(&template).expect("a template is JSON");
    let (fours, tokens) = (in_fours(text), in_tokens(text));
    let request = json!({"template": template, "prefix": prefix, "cuts": [fours, tokens, [text]]});
    let answer = ask(&python, &request).map_err(|error| format!("{python}: {error}"))?;
    let [in_fours, in_tokens, whole]: [f64; 3] = serde_json::from_slice(&answer)
        .map_err(|_| format!("{python} has no transformers library that reads responses"))?;
    Ok(Figures {
        four_bytes: in_fours * 1e9 / fours.len() as f64,
        token: in_tokens * 1e9 / tokens.len() as f64,
        whole: text.len() as f64 / whole / 1e6,
    })
}

fn ask(python: &str, request: &Value) -> std::io::Result<Vec<u8>> {
    let mut child = Command::new(python)
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // One that fails at once leaves its input; it then has no answer either.
        let _ = input.write_all(request.to_string().as_bytes());
    }
    Ok(child.wait_with_output()?.stdout)
}
