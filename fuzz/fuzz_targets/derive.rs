//! Any text is taken for a chat template: what is derived from it is a response template that reads
//! what the proof says, or there is a reason why nothing is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjinja::ResponseTemplate;
use unjinja::analysis::Findings;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::format::Format;

fuzz_target!(|source: &str| {
    let template = ChatTemplate::from_jinja(source);
    if let Ok(derived) = derive(&template, &DeriveOptions::default()) {
        assert!(ResponseTemplate::from_value(&derived.template).is_ok());
        assert!(derived.recovered() <= derived.proof.len());
        assert_eq!(
            derived.is_whole(),
            derived.recovered() == derived.proof.len()
        );
    }
    if let Ok((findings, evidence)) = Findings::with_evidence(&template, &RenderInput::default()) {
        assert!(!findings.statements().is_empty());
        for evidence in evidence {
            assert_ne!(evidence.without.text, evidence.with.text);
        }
    }
    if let Ok(format) = Format::of(&template, &RenderInput::default()) {
        if let Ok(reading) = format.read(source) {
            assert!(reading.way < format.ways.len() && reading.end <= source.len());
        }
    }
});
