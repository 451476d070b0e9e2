//! What is said of an output.

use unjinja::chat_template::RenderInput;
use unjinja::conversation::BridgeWriter;
use unjinja::roundtrip::{Departure, Roundtrip, Way};
use unjinja::{Object, Value, json};

use super::super::batch::Reply;
use super::super::render;
use super::super::source::SourceOptions;
use crate::tokenizer::Tokenizer;

/// Finds the ways of outputs.
pub(super) struct Answerer<'a> {
    pub(super) roundtrip: Roundtrip<'a>,
    pub(super) writer: Option<BridgeWriter<'a>>,
    pub(super) tokenizer: Option<&'a Tokenizer>,
    pub(super) options: &'a SourceOptions,
}

/// What was found of an output.
pub(super) enum Found {
    /// It has a way back.
    Way {
        departure: Option<Departure>,
        /// The first token that differs: its number, and its id.
        token: Option<(usize, u32)>,
        append: Option<Append>,
    },
    /// It has none.
    Failed(String),
}

/// What is to be put behind a prompt and its output.
pub(super) struct Append {
    text: String,
    ids: Option<Vec<u32>>,
}

impl Answerer<'_> {
    /// The way of the output in a line of a batch.
    pub(super) fn line(&self, case: &Object) -> Found {
        let read = || {
            let conversation = render::conversation(self.options, case)?;
            let output = case.get("output").and_then(Value::as_str);
            let output =
                output.ok_or("there is no `output`: write the text of the model under it")?;
            let following = match case.get("following") {
                None | Some(Value::Null) => None,
                Some(Value::Array(following)) => Some(following.as_slice()),
                Some(other) => {
                    return Err(format!(
                        "`following`: expected a list, found {}",
                        other.type_name()
                    ));
                }
            };
            Ok((conversation, output, following))
        };
        match read() {
            Ok((conversation, output, following)) => self.of(&conversation, output, following),
            Err(error) => Found::Failed(error),
        }
    }

    /// The way of an output.
    pub(super) fn of(
        &self,
        conversation: &RenderInput,
        output: &str,
        following: Option<&[Value]>,
    ) -> Found {
        let found = self
            .roundtrip
            .of(conversation, output, following)
            .map_err(|error| error.to_string());
        let found = found.and_then(|way| {
            let token = match (&way.departure, self.tokenizer) {
                (Some(_), Some(tokenizer)) => first_token(tokenizer, &way)?,
                _ => None,
            };
            Ok(Found::Way {
                append: self.append(&way)?,
                token,
                departure: way.departure,
            })
        });
        found.unwrap_or_else(Found::Failed)
    }

    fn append(&self, way: &Way) -> Result<Option<Append>, String> {
        let Some(writer) = &self.writer else {
            return Ok(None);
        };
        let text = writer
            .text(&way.next, way.output())
            .map_err(|error| error.to_string())?;
        let ids = self.tokenizer.map(|tokenizer| {
            let tokens = tokenizer.tokens(&text)?;
            Ok::<_, String>(tokens.iter().map(|token| token.id).collect())
        });
        Ok(Some(Append {
            ids: ids.transpose()?,
            text,
        }))
    }
}

/// The first token of what was written that is another one where it is rendered.
fn first_token(tokenizer: &Tokenizer, way: &Way) -> Result<Option<(usize, u32)>, String> {
    let [written, rendered] = [&way.written, &way.rendered].map(|text| tokenizer.tokens(text));
    let (written, rendered) = (written?, rendered?);
    let same = written
        .iter()
        .zip(&rendered)
        .take_while(|(one, other)| one.id == other.id)
        .count();
    Ok(written.get(same).map(|token| (same, token.id)))
}

impl Found {
    pub(super) fn value(&self) -> Object {
        let mut value = Object::new();
        let Found::Way {
            departure,
            token,
            append,
        } = self
        else {
            if let Found::Failed(error) = self {
                value.insert("error", error.as_str());
            }
            return value;
        };
        value.insert("kept", departure.is_none());
        if let Some(departure) = departure {
            value.insert("cause", departure.cause.key());
            value.insert("at", departure.at as u64);
            value.insert("wrote", departure.wrote.as_str());
            value.insert("renders", departure.renders.as_str());
        }
        if let Some((number, id)) = token {
            value.insert("token", *number as u64);
            value.insert("token_id", i64::from(*id));
        }
        if let Some(append) = append {
            value.insert("append", append.text.as_str());
            if let Some(ids) = &append.ids {
                value.insert(
                    "append_ids",
                    ids.iter().map(|id| i64::from(*id)).collect::<Value>(),
                );
            }
        }
        value
    }

    pub(super) fn reply(&self) -> Reply {
        let mut reply = Reply::default();
        reply.answer.extend(self.value());
        reply
    }

    pub(super) fn in_words(&self) -> String {
        match self {
            Found::Failed(error) => format!("no way back: {error}"),
            Found::Way {
                departure: None, ..
            } => "kept".to_owned(),
            Found::Way {
                departure: Some(departure),
                token,
                ..
            } => {
                let [wrote, renders] = [&departure.wrote, &departure.renders]
                    .map(|text| json::write(&text.as_str().into()));
                let token =
                    token.map_or_else(String::new, |(number, _)| format!(", token {number}"));
                format!(
                    "{} from character {}{token}: {wrote} becomes {renders}",
                    departure.cause, departure.at
                )
            }
        }
    }
}
