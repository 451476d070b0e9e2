//! All that is known of a format, complete enough to write any kind of parser from.

use crate::format::{Node, ValueWriting};

use super::assumed::AssumedVariable;
use super::call_parts::CallParts;
use super::call_shape::CallShape;
use super::content::ContentShape;
use super::missing_tokens::MissingToken;
use super::reasoning::ReasoningShape;
use super::turn::TurnShape;
use crate::markers;
use crate::markers::lexicon::unmarked;

/// How a model writes its turn, as far as its chat template shows.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Findings {
    /// Where a turn begins and ends.
    pub turn: TurnShape,
    /// How reasoning is written.
    pub reasoning: Option<ReasoningShape>,
    /// How text is written.
    pub content: ContentShape,
    /// How calls of tools are written.
    pub calls: Option<CallShape>,
    /// Why no calls were rendered, in the template's words.
    pub calls_refused: Option<String>,
    /// The variables that nobody gave and the template can't do without, and what they were taken to
    /// be: all else holds for these values only.
    pub assumed: Vec<AssumedVariable>,
    /// The tokens that the template writes into a turn or at its end, and that nobody has given: with
    /// any of them, what else was found is not what the model writes.
    pub missing_tokens: Vec<MissingToken>,
    /// The signs and words, as `=====`, that close texts or end turns and have a line break before them. What stands between brackets is
    /// rarely said without being meant, and a model may well write it behind a text in the same line.
    pub(crate) behind_line_breaks: Vec<String>,
    /// What prompts write of the turn itself.
    pub prompt_remainders: Vec<String>,
    /// Whether turns of the assistant are rendered, and nothing of what is said in them, not even their text:
    /// then nothing else that was found is about a model.
    pub drops_all_said: bool,
}

impl Findings {
    /// The same without the brackets around [markers that consist of several parts](crate::markers::lexicon).
    pub(super) fn unmarked(&self) -> Findings {
        let mut findings = self.clone();
        findings.each_text(&mut |text| *text = unmarked(text));
        findings
    }

    /// The parts of a turn's calls.
    pub(crate) fn call_parts(&self) -> Option<CallParts<'_>> {
        self.calls.as_ref()?.parts()
    }

    /// The markers of the format: none of them belongs into a message.
    pub(crate) fn markers(&self) -> Vec<String> {
        let mut findings = self.clone();
        let mut found: Vec<String> = Vec::new();
        findings.each_text(&mut |text| found.extend(markers::markers(text).map(str::to_owned)));
        markers::dedup(&mut found);
        found
    }

    /// Goes through all texts in which markers stand.
    fn each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        let content = &mut self.content;
        let texts = self.turn.headers.iter_mut().chain(&mut self.turn.ends);
        let texts = texts.chain(&mut self.turn.varied_headers);
        let texts = texts.chain(&mut self.turn.next_header);
        let texts = texts.chain(&mut self.turn.before_seams);
        let texts = texts.chain(&mut self.turn.answer_within);
        let texts = texts.chain(&mut self.turn.answer_marker);
        let texts = texts.chain(content.open.iter_mut().chain(&mut content.close));
        let texts = texts.chain(&mut content.beside_reasoning);
        let texts = texts.chain(&mut content.before_calls);
        let texts = texts.chain(&mut self.behind_line_breaks);
        texts
            .chain(&mut self.prompt_remainders)
            .for_each(&mut *visit);
        if let Some(shape) = &mut self.reasoning {
            let around = shape.open.iter_mut().chain(&mut shape.close);
            around.for_each(&mut *visit);
            for variant in &mut shape.variants {
                let around = [&mut variant.open].into_iter().chain(&mut variant.close);
                around.for_each(&mut *visit);
            }
        }
        let Some(shape) = &mut self.calls else { return };
        shape.section_open.each_text(visit);
        shape.section_close.each_text(visit);
        shape.node.visit_mut(&mut |node| match node {
            Node::Literal(text) | Node::Space(text) => visit(text),
            Node::Value(forms) => {
                for form in forms {
                    if let ValueWriting::Wrapped { open, close, .. } = &mut form.writing {
                        visit(open);
                        visit(close);
                    }
                }
            }
            _ => {}
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::{found, template};

    #[test]
    fn markers_stand_in_all_parts_of_a_format_and_words_are_none() {
        for (assistant, expected) in [
            ("{{ m.content }}", "<assistant> <end>"),
            (
                "<say>{{ m.content }}</say>",
                "<assistant> <end> <say> </say>",
            ),
            (
                "{% if m.reasoning_content %}<m>{{ m.reasoning_content }}</m><so>{% endif %}{{ m.content }}",
                "<assistant> <end> <so> <m> </m>",
            ),
            ("Answer: {{ m.content }}", "<assistant> <end>"),
            (
                "{{ m.content }}{% if m.tool_calls %}<calls>{% for c in m.tool_calls %}<call {{ c.function.name }}>\
                 {% for k, v in c.function.arguments.items() %}<{{ k }}>{{ '<q>' + v + '<q>' if v is string else v | tojson }}</arg>\
                 {% endfor %}</call>{% endfor %}</calls>{% endif %}",
                "<assistant> <end> <calls> </calls> <call <q> </arg> </call>",
            ),
        ] {
            assert_eq!(
                found(&template(assistant)).markers().join(" "),
                expected,
                "{assistant}"
            );
        }
    }
}
