//! Cases that are whole conversations: what is read back of them, and what of them the model writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::chat_template::{ChatTemplate, RenderInput};
use crate::conversation::{Conversation, ConversationReader, Marking, MaskPolicy, Masked};
use crate::json;
use crate::position::Position;
use crate::value::{Object, Value};

use super::case::{Failure, in_order_of};

/// A conversation, and what is expected of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConversationCase {
    /// What it is called. No other case of its file is called so.
    pub name: String,
    /// Where it stands in its file.
    pub position: Position,
    /// Where each key stands under which something is expected.
    pub expectations: Vec<(&'static str, Position)>,
    /// The text of the conversation.
    pub text: String,
    /// What is expected.
    pub expected: ExpectedConversation,
    /// Its number among the cases of the file.
    pub(super) number: usize,
    /// What the chat template has made the text of, if that was given.
    pub(super) given: Option<RenderInput>,
    /// What the chat template is given besides.
    pub(super) variables: Object,
}

/// What a case expects of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ExpectedConversation {
    /// What is read back of its text.
    pub reads: Option<Object>,
    /// What of its text the model writes.
    pub written: Option<Vec<String>>,
    /// What the chat template makes of its messages.
    pub renders: Option<String>,
}

/// The chat template of a fixture, with what is found out of it for conversations.
#[derive(Debug)]
pub(super) struct Chat {
    template: ChatTemplate,
    base: RenderInput,
    /// The readers, by the variables that they were made with.
    readers: Mutex<HashMap<String, Arc<Result<ConversationReader, String>>>>,
    marking: OnceLock<Result<Marking, String>>,
}

impl Chat {
    /// A chat template that is used with this time, these tokens and variables.
    pub(super) fn new(template: ChatTemplate, base: RenderInput) -> Chat {
        Chat {
            template,
            base,
            readers: Mutex::default(),
            marking: OnceLock::new(),
        }
    }

    fn reader(&self, variables: &Object) -> Arc<Result<ConversationReader, String>> {
        let key = json::write(&variables.clone().into());
        // Whoever comes first finds out; the others wait for it.
        let mut known = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = known.entry(key).or_insert_with(|| {
            let base = RenderInput {
                variables: variables.clone(),
                ..self.base.clone()
            };
            let reader = ConversationReader::new(&self.template, &base);
            Arc::new(reader.map_err(|error| error.to_string()))
        });
        Arc::clone(reader)
    }

    fn marking(&self) -> Result<&Marking, String> {
        let marking = self.marking.get_or_init(|| {
            let marking = Marking::of(&self.template, &self.base, MaskPolicy::default());
            marking.map_err(|error| error.to_string())
        });
        marking.as_ref().map_err(Clone::clone)
    }

    /// What the chat template makes of messages.
    fn renders(&self, given: &RenderInput) -> Result<String, String> {
        let rendered = self.template.render(given);
        let rendered = rendered.map_err(|error| error.to_string())?;
        Ok(rendered.text)
    }

    /// A case as it is read.
    fn read(&self, case: &ConversationCase) -> Result<Conversation, String> {
        let reader = self.reader(&case.variables);
        let reader = reader.as_ref().as_ref().map_err(Clone::clone)?;
        reader.read(&case.text).map_err(|error| error.to_string())
    }

    /// What is read of a case.
    fn reads(&self, case: &ConversationCase) -> Result<Object, String> {
        let read = self.read(case)?;
        match read.objection(&case.text) {
            Some(objection) => Err(objection),
            // What is not there need not be written down.
            None => {
                let mut reads = read.to_value();
                reads.retain(|_, value| !value.is_null());
                Ok(reads)
            }
        }
    }

    /// A case, with what of it the model writes.
    fn masked(&self, case: &ConversationCase) -> Result<Masked, String> {
        let marking = self.marking()?;
        let masked = match &case.given {
            Some(given) => marking.mask(given),
            None => {
                let reader = self.reader(&case.variables);
                let reader = reader.as_ref().as_ref().map_err(Clone::clone)?;
                marking.mask_text(reader, &case.text)
            }
        };
        masked.map_err(|error| error.to_string())
    }

    /// What of a case the model writes.
    fn written(&self, case: &ConversationCase) -> Result<Vec<String>, String> {
        let masked = self.masked(case)?;
        let texts = masked.spans.texts(&masked.text);
        Ok(texts.map(str::to_owned).collect())
    }
}

/// A conversation as it stands in a fixture: what is read of it, what of it the model writes, and what is wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckedConversation {
    /// What is read of its text; or why it can't be read.
    pub read: Result<Conversation, String>,
    /// What of it the model writes; or why that can't be told.
    pub masked: Result<Masked, String>,
    /// Everything that is wrong with the case, as [`check`](super::check()) finds it.
    pub failures: Vec<Failure>,
}

impl CheckedConversation {
    pub(super) fn of(case: &ConversationCase, chat: &Chat) -> CheckedConversation {
        CheckedConversation {
            read: chat.read(case),
            masked: chat.masked(case),
            failures: case.check(chat),
        }
    }
}

impl ConversationCase {
    /// Everything that is wrong with the case.
    pub(super) fn check(&self, chat: &Chat) -> Vec<Failure> {
        let expected = &self.expected;
        let mut failures = Vec::new();
        if let Some(expected) = &expected.reads {
            failures.extend(match chat.reads(self) {
                Ok(actual) => {
                    let actual = in_order_of(expected, &actual);
                    (!expected.total_eq(&actual)).then(|| Failure::Reads {
                        expected: expected.clone(),
                        actual,
                    })
                }
                Err(why) => Some(Failure::NotRead(why)),
            });
        }
        if let Some(expected) = &expected.written {
            failures.extend(match chat.written(self) {
                Ok(actual) => (*expected != actual).then(|| Failure::Written {
                    expected: expected.clone(),
                    actual,
                }),
                Err(why) => Some(Failure::NotMasked(why)),
            });
        }
        if let (Some(expected), Some(given)) = (&expected.renders, &self.given) {
            failures.extend(match chat.renders(given) {
                Ok(actual) => (*expected != actual).then(|| Failure::Renders {
                    expected: expected.clone(),
                    actual,
                }),
                Err(why) => Some(Failure::NotRendered(why)),
            });
        }
        if *expected == ExpectedConversation::default() {
            failures.push(self.unexpected(chat));
        }
        failures
    }

    /// What comes out of a case that says nothing of what it expects. Of messages it is known what would be
    /// read.
    fn unexpected(&self, chat: &Chat) -> Failure {
        match &self.given {
            Some(given) if given.add_generation_prompt => match chat.renders(given) {
                Ok(renders) => Failure::NoConversationExpected {
                    key: "renders",
                    actual: renders.into(),
                },
                Err(why) => Failure::NotRendered(why),
            },
            Some(_) => match chat.written(self) {
                Ok(written) => Failure::NoConversationExpected {
                    key: "written",
                    actual: written.into_iter().collect(),
                },
                Err(why) => Failure::NotMasked(why),
            },
            None => match chat.reads(self) {
                Ok(reads) => Failure::NoConversationExpected {
                    key: "reads",
                    actual: reads.into(),
                },
                Err(why) => Failure::NotRead(why),
            },
        }
    }

    /// What was expected under a key.
    pub(super) fn before(&self, key: &str) -> Option<Value> {
        match key {
            "reads" => self.expected.reads.clone().map(Value::from),
            "renders" => self.expected.renders.clone().map(Value::from),
            _ => {
                let written = self.expected.written.clone();
                written.map(|written| written.into_iter().collect())
            }
        }
    }
}
