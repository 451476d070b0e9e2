//! The completion endpoint behind the server: asking it, and reading what it answers.

mod engines;
mod reading;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use unjinja::{Object, Value, json};

use crate::fault::Fault;
use crate::held::Held;
use crate::pieces::Pieces;
use crate::values;
use crate::work::Work;

pub(crate) use engines::Constraint;
use engines::Unlimited;
pub use engines::{ENGINES, Engine};
pub(crate) use reading::{Reading, Used};

/// So much is read of what the upstream says to be wrong, and of what it says about itself.
const MAX_ERROR: usize = 64 << 10;
const MAX_SELF: usize = 16 << 20;

/// How long it may take to reach the upstream.
const TO_CONNECT: Duration = Duration::from_secs(10);
/// How long it may take to say what it is.
const TO_TELL: Duration = Duration::from_secs(5);

/// An engine at an address.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    pub(crate) engine: &'static Engine,
    base: String,
    /// The name of the model there, if it is not the one that clients give.
    pub(crate) model: Option<String>,
    client: reqwest::Client,
    /// Does the reading of large answers.
    work: Arc<Work>,
}

/// What is asked of a model.
#[derive(Debug, Clone)]
pub(crate) struct Asked<'a> {
    pub(crate) model: &'a str,
    pub(crate) prompt: &'a str,
    pub(crate) sampling: Object,
    /// What constrains the output, in the engine's language.
    pub(crate) constraint: Option<Value>,
    /// The special tokens that are to be written out.
    pub(crate) preserved: &'a [String],
    /// Says that several answers are asked for: with the same seed, all would be the same.
    pub(crate) is_one_of_many: bool,
}

/// A question as it is sent to the upstream, written once for all answers.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    text: Bytes,
    /// The seed of the first answer, if each is to have its own, and what closes the objects in which it stands.
    seed: Option<(i64, &'static str)>,
}

impl Written {
    /// The bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        self.text.len()
    }

    /// The text that is sent for one of several answers. All share what they have in common.
    pub(crate) fn of_choice(&self, index: usize) -> Pieces<()> {
        let own = self.seed.map(|(seed, closes)| {
            let index = i64::try_from(index).unwrap_or_default();
            Bytes::from(format!("\"seed\":{}{closes}", seed.wrapping_add(index)))
        });
        Pieces::new([self.text.clone()].into_iter().chain(own), ())
    }
}

/// The address without what the interface appends to it.
fn base(url: &str) -> String {
    let url = url.trim_end_matches('/');
    url.strip_suffix("/v1").unwrap_or(url).to_owned()
}

fn client(silence: Duration) -> Result<reqwest::Client, reqwest::Error> {
    // Where an upstream sends others, it may send what they say.
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(TO_CONNECT)
        // Engines close connections that wait, and a request that meets that is lost; to open one costs nothing beside an answer.
        .pool_max_idle_per_host(0)
        .read_timeout(silence)
        .build()
}

/// Puts a value where dots lead to.
fn put(object: &mut Object, path: &str, value: impl Into<Value>) {
    let Some((first, rest)) = path.split_once('.') else {
        object.insert(path, value);
        return;
    };
    if object.get(first).and_then(Value::as_object).is_none() {
        object.insert(first, Object::new());
    }
    if let Some(inner) = object.get_mut(first).and_then(Value::as_object_mut) {
        put(inner, rest, value);
    }
}

impl Upstream {
    /// The engine at an address, which is asked what it is, unless that is known.
    pub(crate) async fn find(
        url: &str,
        engine: Option<&'static Engine>,
        model: Option<String>,
        silence: Duration,
        work: Arc<Work>,
    ) -> Result<Upstream, String> {
        let is_plain = url.starts_with("http://");
        if !is_plain && !url.starts_with("https://") {
            return Err(format!(
                "{url}: this is not an address: write it as http://127.0.0.1:8080"
            ));
        }
        if !is_plain && !cfg!(feature = "tls") {
            return Err(format!(
                "{url}: this program was built without HTTPS: build it with `--features serve,hub`"
            ));
        }
        let client = client(silence).map_err(|error| error.to_string())?;
        let mut upstream = Upstream {
            engine: &ENGINES[ENGINES.len() - 1],
            base: base(url),
            model,
            client,
            work,
        };
        match engine {
            Some(engine) => upstream.engine = engine,
            None => upstream.engine = upstream.recognize().await?,
        }
        Ok(upstream)
    }

    /// Asks the upstream what it is.
    async fn recognize(&self) -> Result<&'static Engine, String> {
        let mut told: Vec<(&str, Option<Value>)> = Vec::new();
        for engine in &ENGINES {
            let Some(tells) = &engine.tells else {
                continue;
            };
            if !told.iter().any(|(path, _)| *path == tells.path) {
                told.push((tells.path, self.tell(tells.path).await?));
            }
            let told = told.iter().find(|(path, _)| *path == tells.path);
            let value = told.and_then(|(_, value)| value.as_ref()?.pointer(tells.at));
            let is_it = match tells.is {
                Some(expected) => value.and_then(Value::as_str) == Some(expected),
                None => value.is_some(),
            };
            if is_it {
                return Ok(engine);
            }
        }
        Ok(&ENGINES[ENGINES.len() - 1])
    }

    /// What the upstream says of itself at a path; nothing if it has no such path, or no JSON there.
    async fn tell(&self, path: &str) -> Result<Option<Value>, String> {
        let answer = self.client.get(format!("{}{path}", self.base));
        let failed = |error: reqwest::Error| {
            format!(
                "{}: {}: is the engine running, and is this its address? With `--engine NAME` it is not asked what it is",
                self.base,
                Fault::unreachable(&error).message
            )
        };
        let answer = answer.timeout(TO_TELL).send().await.map_err(failed)?;
        if !answer.status().is_success() {
            return Ok(None);
        }
        let (text, is_whole) = read_up_to(answer, MAX_SELF).await.map_err(failed)?;
        Ok(values::read(&text).ok().filter(|_| is_whole))
    }

    /// The chat template of the upstream's model, with the tokens that begin and end texts, if the engine tells it.
    pub(crate) async fn template(&self) -> Result<Option<[Option<String>; 3]>, String> {
        let Some(template) = &self.engine.template else {
            return Ok(None);
        };
        let told = self.tell(template.path).await?.unwrap_or_default();
        let text = |pointer: &str| {
            let text = told.pointer(pointer).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Ok(Some(
            [template.jinja, template.bos_token, template.eos_token].map(text),
        ))
    }

    /// What is sent for what is asked.
    pub(crate) fn question(&self, mut asked: Asked) -> Written {
        let seed = asked.sampling.get("seed");
        let seed = seed.and_then(|seed| seed.as_number()?.as_i64());
        let Some(seed) = seed.filter(|_| asked.is_one_of_many) else {
            let text = json::write(&self.body(asked).into());
            return Written {
                text: text.into(),
                seed: None,
            };
        };
        // What each answer has for itself comes last.
        asked.sampling.remove("seed");
        let mut body = self.body(asked);
        let options = self.engine.options;
        let mut text = String::new();
        let closes = match options {
            "" => "}",
            _ => {
                let inner = body.remove(options).unwrap_or(Object::new().into());
                open_end(&mut text, &body.into());
                text.push_str(&format!("\"{options}\":"));
                body = inner.into_object();
                "}}"
            }
        };
        open_end(&mut text, &body.into());
        Written {
            text: text.into(),
            seed: Some((seed, closes)),
        }
    }

    fn body(&self, asked: Asked) -> Object {
        let engine = self.engine;
        let mut body = Object::new();
        if engine.names_model {
            body.insert("model", self.model.as_deref().unwrap_or(asked.model));
        }
        put(&mut body, engine.prompt, asked.prompt);
        for (key, value) in engine.says {
            put(&mut body, key, *value);
        }
        let mut sampling = asked.sampling;
        if !sampling.contains_key("max_tokens") {
            let limit = match engine.unlimited {
                Unlimited::Unsaid => None,
                Unlimited::Null => Some(Value::Null),
                Unlimited::Number(most) => Some(most.into()),
            };
            sampling.extend(limit.map(|limit| ("max_tokens", limit)));
        }
        // Some engines take only a list of them.
        if let Some(stop) = sampling
            .get_mut("stop")
            .filter(|stop| stop.as_str().is_some())
        {
            *stop = vec![stop.clone()].into();
        }
        for (key, value) in sampling.iter() {
            let key = key.to_string_lossy();
            let renamed = engine.renamed.iter().find(|(known, _)| *known == key);
            let key = renamed.map_or(&*key, |(_, name)| name);
            // Names are the client's, so that dots in them mean nothing.
            let options = match engine.options {
                "" => Some(&mut body),
                options => {
                    if body.get(options).is_none() {
                        body.insert(options, Object::new());
                    }
                    body.get_mut(options).and_then(Value::as_object_mut)
                }
            };
            // What is sent anyway is not the client's.
            if let Some(options) = options.filter(|options| !options.contains_key(key)) {
                options.insert(key, value.clone());
            }
        }
        if let (Some(constraint), Some((_, path))) = (asked.constraint, engine.constraint) {
            put(&mut body, path, constraint);
        }
        if let Some(path) = engine.preserved.filter(|_| !asked.preserved.is_empty()) {
            let tokens = asked.preserved.iter().map(|token| token.as_str().into());
            put(&mut body, path, tokens.collect::<Vec<Value>>());
        }
        body
    }

    /// Asks the model, with the key of whoever asks.
    pub(crate) async fn ask(
        &self,
        question: Pieces<()>,
        key: Option<&HeaderValue>,
        held: Held,
    ) -> Result<Reading, Fault> {
        let mut post = self
            .client
            .post(format!("{}{}", self.base, self.engine.path))
            .header(header::CONTENT_TYPE, "application/json")
            .body(reqwest::Body::wrap(question));
        if let Some(key) = key {
            post = post.header(header::AUTHORIZATION, key);
        }
        let answer = post
            .send()
            .await
            .map_err(|error| Fault::unreachable(&error))?;
        let status = answer.status();
        if status.is_success() {
            let work = Arc::clone(&self.work);
            return Ok(Reading::new(answer, self.engine, held, work));
        }
        let text = read_up_to(answer, MAX_ERROR).await;
        let (text, _) = text.map_err(|error| Fault::unreachable(&error))?;
        // The client is not to go elsewhere, either.
        match status.is_client_error() || status.is_server_error() {
            true => Err(Fault::of_upstream(status, &text)),
            false => Err(Fault::bad_gateway(format!("the upstream answers {status}"))),
        }
    }

    /// Whether the upstream answers at all.
    pub(crate) async fn is_there(&self) -> bool {
        let asked = self.client.get(format!("{}/health", self.base));
        let answer = asked.timeout(TO_TELL).send().await;
        answer.is_ok_and(|answer| answer.status() != StatusCode::SERVICE_UNAVAILABLE)
    }
}

/// Writes an object whose last member has yet to be written.
fn open_end(text: &mut String, object: &Value) {
    text.push_str(&json::write(object));
    text.pop();
    if !text.ends_with('{') {
        text.push(',');
    }
}

/// What an answer says, up to so many bytes, and whether that is all.
async fn read_up_to(
    mut answer: reqwest::Response,
    most: usize,
) -> Result<(String, bool), reqwest::Error> {
    let mut text = Vec::new();
    let mut is_whole = true;
    while let Some(bytes) = answer.chunk().await? {
        let left = most - text.len();
        text.extend(bytes.iter().take(left));
        if bytes.len() > left {
            is_whole = false;
            break;
        }
    }
    Ok((String::from_utf8_lossy(&text).into_owned(), is_whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::object;

    /// The text that an engine of this name is sent for an answer.
    fn written(name: &str, asked: &Asked, index: usize) -> String {
        let upstream = Upstream {
            engine: Engine::named(name).expect("there is such an engine"),
            base: base("http://x/v1/"),
            model: Some("there".to_owned()),
            client: reqwest::Client::new(),
            work: Arc::new(Work::new(1)),
        };
        assert_eq!(upstream.base, "http://x");
        upstream.question(asked.clone()).of_choice(index).text()
    }

    #[test]
    fn each_of_several_answers_has_a_seed_of_its_own() {
        for (name, sampling, expected) in [
            (
                "llama-cpp-python",
                object! {"seed": 7, "max_tokens": 5},
                r#"{"model":"there","prompt":"Hi","stream":true,"max_tokens":5,"seed":8}"#,
            ),
            (
                "ollama",
                object! {"seed": 7, "max_tokens": 5},
                r#"{"model":"there","prompt":"Hi","stream":true,"raw":true,"options":{"num_predict":5,"seed":8}}"#,
            ),
            (
                "ollama",
                object! {"seed": 7},
                r#"{"model":"there","prompt":"Hi","stream":true,"raw":true,"options":{"seed":8}}"#,
            ),
            (
                "ollama",
                object! {"seed": "7"},
                r#"{"model":"there","prompt":"Hi","stream":true,"raw":true,"options":{"seed":"7"}}"#,
            ),
        ] {
            let asked = Asked {
                model: "m",
                prompt: "Hi",
                sampling,
                constraint: None,
                preserved: &[],
                is_one_of_many: true,
            };
            assert_eq!(written(name, &asked, 1), expected, "{name}");
        }
    }

    #[test]
    fn a_request_has_what_each_engine_wants_where_it_wants_it() {
        let asked = Asked {
            model: "m",
            prompt: "Hi",
            sampling: object! {"max_tokens": 5, "top.p": 1, "stop": "x"},
            constraint: Some("c".into()),
            preserved: &["<call>".to_owned()],
            is_one_of_many: false,
        };
        let body = |name: &str| written(name, &asked, 0);
        for (name, expected) in [
            (
                "llama.cpp",
                r#"{"model":"there","prompt":"Hi","stream":true,"cache_prompt":true,"n_predict":5,"top.p":1,"stop":["x"],"grammar":"c","preserved_tokens":["<call>"]}"#,
            ),
            (
                "ollama",
                r#"{"model":"there","prompt":"Hi","stream":true,"raw":true,"options":{"num_predict":5,"top.p":1,"stop":["x"]},"format":"c"}"#,
            ),
            (
                "tgi",
                r#"{"inputs":"Hi","parameters":{"details":true,"max_new_tokens":5,"top.p":1,"stop":["x"],"grammar":"c"}}"#,
            ),
            (
                "vllm",
                r#"{"model":"there","prompt":"Hi","stream":true,"stream_options":{"include_usage":true},"add_special_tokens":false,"skip_special_tokens":false,"spaces_between_special_tokens":false,"max_tokens":5,"top.p":1,"stop":["x"],"structured_outputs":{"structural_tag":"c"}}"#,
            ),
            (
                "mlx-lm",
                r#"{"model":"there","prompt":"Hi","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"top.p":1,"stop":["x"]}"#,
            ),
        ] {
            assert_eq!(body(name), expected, "{name}");
        }
    }
}
