//! Adversarial chat templates: whatever is in them, deriving comes to an end.
use std::fs;

use unjinja::ResponseTemplate;
use unjinja::analysis::Findings;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::{Derivation, DeriveOptions};

use crate::root;

fn try_on(source: &str) {
    let template = ChatTemplate::from_jinja(source);
    if let Ok((_, all)) = Derivation::with_candidates(&template, &DeriveOptions::default()) {
        assert!(all[0].is_chosen, "{source}");
        for candidate in all {
            let loaded = ResponseTemplate::from_value(&candidate.template);
            assert!(loaded.is_ok(), "{:?}: {source}", loaded.err());
        }
    }
    let _refused_or_found = Findings::with_evidence(&template, &RenderInput::default());
}

/// Templates that do with their words what no author would.
const ODD: &[&str] = &[
    "",
    "always the same",
    "{{ messages }}",
    "{{ messages | tojson }}",
    "{% for m in messages %}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ m }}{% endfor %}",
    "{% for m in messages %}{{ m.content | upper }}<END>{% endfor %}",
    "{% for m in messages %}{{ m.content | reverse }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}",
    "{% for m in messages | reverse %}<{{ m.role }}>{{ m.content }}{% endfor %}",
    "{% for m in messages %}◁{{ m.role }}▷{{ m.content }}{{ m.tool_calls }}é{% endfor %}",
    "{% for m in messages %}é{{ m.role }}é{{ m.content }}é{% for c in m.tool_calls or [] %}é\
     {{ c.function.name }}é{{ c.function.arguments | tojson }}é{% endfor %}é{% endfor %}",
    "{% for m in messages %}<{{ m.content }}{% endfor %}<",
    "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}\
     {{ c.function.name }}{% endfor %}{{ m.content }}|{% endfor %}",
    "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments.values() | list }}\
     {{ c.function.arguments.keys() | list }}{{ c.function.name }}{% endfor %}{{ m.content }}|{% endfor %}",
    "{% for m in messages %}{{ m.reasoning_content }}{{ m.content }}{{ m.reasoning_content }}{% endfor %}",
    "{% for m in messages %}{{ m.content[:1] }}{{ m.role }}{% endfor %}",
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ 'x' * 300000 }}{% endfor %}",
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ '<a>' * 20000 }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ '[' * 3000 }}\
     {{ c.function | tojson }}{{ ']' * 3000 }}{% endfor %}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ '[' * 300 }}\
     {{ c.function | tojson }}{{ ']' * 300 }}{% endfor %}{% endfor %}",
    "{% for m in messages %}{{ m.role }}{{ m.content }}{{ '/-' * 8000 }}{% endfor %}",
    "{% for m in messages %}{{ m.role }}{{ m.content }}{{ '(' * 16000 }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ '{' * 8000 }}\
     {{ c.function | tojson }}{% endfor %}{% endfor %}",
    "{{ '<ab>' * 30000 }}{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}{{ '<ab>' * 4000 }}",
    "{% for m in messages %}{{ '@@' * 4000 }}{{ m.content }}{{ '<<' * 4000 }}{% endfor %}",
    "{% for m in messages %}<{{ m.role }}>{% for i in range(1000) %}{{ m.content }}. {% endfor %}\
     {% for c in m.tool_calls or [] %}({{ c.function | tojson }}){% endfor %}{% endfor %}",
    "{% for i in range(3000000) %}{% endfor %}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}",
    // Each of the markers behind calls may close the last one.
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}<call>\
     {{ c.function | tojson }}</call>{% endfor %}{% for i in range(250) %}</m{{ i }}>{% endfor %}{% endif %}<|end|>\
     {% endfor %}",
    "{% for m in messages %}\u{fdeb}{{ m.role }}\u{fde6}\u{fde7}{{ m.content }}\u{fdec}\u{fde9}{% for c in m.tool_calls or [] %}\
     \u{fde8}{{ c.function.name }}\u{fde6}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}",
];

#[test]
fn odd_templates_come_to_an_end() {
    for source in ODD {
        try_on(source);
    }
}

/// A small generator of numbers that are as good as random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound.max(1) as u64).unwrap()
    }
}

const PUT_IN: &[&str] = &[
    "<",
    ">",
    "|",
    "◁",
    "é",
    "{{ m.content }}",
    "{% if x %}",
    "{% endif %}",
    "\n",
    " ",
    "'",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "<think>",
    "</think>",
    "\u{fde6}",
    "\u{e000}",
    "tool_calls",
    "| tojson",
    "| upper",
    "loop.index",
    "0",
    "function.name",
];

#[test]
fn broken_templates_come_to_an_end() {
    let folder = root().join("chat_templates");
    let mut numbers = Numbers(11);
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "jinja"))
    {
        let source: Vec<char> = fs::read_to_string(path).unwrap().chars().collect();
        for _ in 0..6 {
            let mut broken = source.clone();
            for _ in 0..=numbers.below(4) {
                let at = numbers.below(broken.len());
                match numbers.below(3) {
                    0 => {
                        let end = (at + 1 + numbers.below(12)).min(broken.len());
                        broken.drain(at..end);
                    }
                    1 => {
                        let new = PUT_IN[numbers.below(PUT_IN.len())].chars();
                        broken.splice(at..at, new);
                    }
                    _ => {
                        let end = (at + numbers.below(30)).min(broken.len());
                        let copy = broken[at..end].to_vec();
                        let to = numbers.below(broken.len());
                        broken.splice(to..to, copy);
                    }
                }
            }
            try_on(&broken.into_iter().collect::<String>());
        }
    }
}
