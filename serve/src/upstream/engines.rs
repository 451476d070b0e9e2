//! The engines: how each one's completion endpoint is asked, and what it answers. All that is different between them stands in
//! this table.

/// How the completion endpoint of an engine is asked, and what it answers. Where members of a request are named, dots lead into
/// objects; what is in an answer is named by JSON pointers.
#[derive(Debug)]
pub struct Engine {
    /// What `--engine` calls it.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// How it is recognized.
    pub(crate) tells: Option<Tells>,
    /// Where it takes prompts.
    pub(crate) path: &'static str,
    /// The member with the prompt.
    pub(crate) prompt: &'static str,
    /// What each request says.
    pub(crate) says: &'static [(&'static str, bool)],
    /// Whether requests name the model.
    pub(crate) names_model: bool,
    /// The member with the options of sampling, which are in the request itself if this is empty.
    pub(crate) options: &'static str,
    /// The options that it has other names for than OpenAI's interface.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
    /// What it is told where a client sets no limit to the tokens of an answer.
    pub(crate) unlimited: Unlimited,
    /// Whether it puts the token that begins a text before the prompt, where the template has put it already.
    pub(crate) adds_bos: bool,
    /// The member that names special tokens which it is to write out.
    pub(crate) preserved: Option<&'static str>,
    /// What it takes to constrain an output.
    pub(crate) constraint: Option<(Constraint, &'static str)>,
    /// Whether answers come as server-sent events, and not as one JSON object a line.
    pub(crate) sends_events: bool,
    /// Where in what comes everything stands.
    pub(crate) piece: Piece,
    /// Where it tells the chat template of its model.
    pub(crate) template: Option<Template>,
}

/// What an engine is told where there is to be no limit to the tokens of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unlimited {
    /// Nothing: it has none then.
    Unsaid,
    /// Null: else it has one of a few tokens.
    Null,
    /// So many, since nothing is known to mean that there is none.
    Number(i64),
}

/// A `GET` that tells which engine this is: by a value that is there, or that is this one.
#[derive(Debug)]
pub(crate) struct Tells {
    pub(crate) path: &'static str,
    pub(crate) at: &'static str,
    pub(crate) is: Option<&'static str>,
}

/// The language in which an engine takes constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraint {
    Gbnf,
    /// A structural tag, as a text of JSON.
    StructuralTag,
    /// A structural tag, as JSON.
    ResponseFormat,
    /// A regular expression, as TGI has it.
    Regex,
    /// Nothing but the JSON Schema of the whole output.
    Schema,
}

/// Where in a piece of an answer everything stands.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) text: &'static str,
    /// Why it has ended, which only the last piece has.
    pub(crate) reason: &'static str,
    /// What the reason is if there was no room for more.
    pub(crate) full: &'static str,
    /// Which of the texts that stop a model has come.
    pub(crate) stopped_by: Option<&'static str>,
    pub(crate) prompt_tokens: &'static str,
    pub(crate) completion_tokens: &'static str,
}

/// A `GET` that tells the model's chat template.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) path: &'static str,
    pub(crate) jinja: &'static str,
    pub(crate) bos_token: &'static str,
    pub(crate) eos_token: &'static str,
}

/// What vLLM and others took over from OpenAI's interface.
const COMPLETIONS: Engine = Engine {
    name: "openai",
    about: "anything with OpenAI's /v1/completions, without grammars",
    tells: None,
    path: "/v1/completions",
    prompt: "prompt",
    says: &[("stream", true), ("stream_options.include_usage", true)],
    names_model: true,
    options: "",
    renamed: &[],
    unlimited: Unlimited::Number(4096),
    adds_bos: true,
    preserved: None,
    constraint: None,
    sends_events: true,
    piece: Piece {
        text: "/choices/0/text",
        reason: "/choices/0/finish_reason",
        full: "length",
        stopped_by: Some("/choices/0/stop_reason"),
        prompt_tokens: "/usage/prompt_tokens",
        completion_tokens: "/usage/completion_tokens",
    },
    template: None,
};

/// All of them. One that is recognized by less comes later.
pub static ENGINES: [Engine; 8] = [
    Engine {
        name: "llama.cpp",
        about: "llama-server's /completion, with GBNF",
        tells: Some(Tells {
            path: "/props",
            at: "/default_generation_settings",
            is: None,
        }),
        path: "/completion",
        says: &[("stream", true), ("cache_prompt", true)],
        renamed: &[("max_tokens", "n_predict")],
        unlimited: Unlimited::Unsaid,
        preserved: Some("preserved_tokens"),
        constraint: Some((Constraint::Gbnf, "grammar")),
        piece: Piece {
            text: "/content",
            reason: "/stop_type",
            full: "limit",
            stopped_by: Some("/stopping_word"),
            prompt_tokens: "/tokens_evaluated",
            completion_tokens: "/tokens_predicted",
        },
        template: Some(Template {
            path: "/props",
            jinja: "/chat_template",
            bos_token: "/bos_token",
            eos_token: "/eos_token",
        }),
        ..COMPLETIONS
    },
    Engine {
        name: "ollama",
        about: "Ollama's /api/generate in its raw mode, with JSON Schemas",
        tells: Some(Tells {
            path: "/api/version",
            at: "/version",
            is: None,
        }),
        path: "/api/generate",
        says: &[("stream", true), ("raw", true)],
        options: "options",
        renamed: &[("max_tokens", "num_predict")],
        unlimited: Unlimited::Unsaid,
        constraint: Some((Constraint::Schema, "format")),
        sends_events: false,
        piece: Piece {
            text: "/response",
            reason: "/done_reason",
            full: "length",
            stopped_by: None,
            prompt_tokens: "/prompt_eval_count",
            completion_tokens: "/eval_count",
        },
        ..COMPLETIONS
    },
    Engine {
        name: "tgi",
        about: "TGI's /generate_stream, with regular expressions",
        tells: Some(Tells {
            path: "/info",
            at: "/model_id",
            is: None,
        }),
        path: "/generate_stream",
        prompt: "inputs",
        says: &[("parameters.details", true)],
        names_model: false,
        options: "parameters",
        renamed: &[("max_tokens", "max_new_tokens")],
        unlimited: Unlimited::Unsaid,
        constraint: Some((Constraint::Regex, "parameters.grammar")),
        piece: Piece {
            text: "/token/text",
            reason: "/details/finish_reason",
            full: "length",
            stopped_by: None,
            prompt_tokens: "/details/input_length",
            completion_tokens: "/details/generated_tokens",
        },
        ..COMPLETIONS
    },
    Engine {
        name: "sglang",
        about: "SGLang's /v1/completions, with structural tags",
        tells: Some(Tells {
            path: "/get_model_info",
            at: "/model_path",
            is: None,
        }),
        says: &[
            ("stream", true),
            ("stream_options.include_usage", true),
            ("skip_special_tokens", false),
        ],
        constraint: Some((Constraint::ResponseFormat, "response_format")),
        ..COMPLETIONS
    },
    Engine {
        name: "vllm",
        about: "vLLM's /v1/completions, with structural tags",
        tells: Some(Tells {
            path: "/v1/models",
            at: "/data/0/owned_by",
            is: Some("vllm"),
        }),
        says: &[
            ("stream", true),
            ("stream_options.include_usage", true),
            ("add_special_tokens", false),
            ("skip_special_tokens", false),
            ("spaces_between_special_tokens", false),
        ],
        unlimited: Unlimited::Null,
        adds_bos: false,
        constraint: Some((
            Constraint::StructuralTag,
            "structured_outputs.structural_tag",
        )),
        ..COMPLETIONS
    },
    Engine {
        name: "llama-cpp-python",
        about: "the server of llama-cpp-python, with GBNF",
        tells: Some(Tells {
            path: "/v1/models",
            at: "/data/0/owned_by",
            is: Some("me"),
        }),
        says: &[("stream", true)],
        unlimited: Unlimited::Null,
        constraint: Some((Constraint::Gbnf, "grammar")),
        ..COMPLETIONS
    },
    Engine {
        name: "mlx-lm",
        about: "mlx_lm.server's /v1/completions, without grammars",
        ..COMPLETIONS
    },
    COMPLETIONS,
];

impl Engine {
    /// The engine of this name.
    pub fn named(name: &str) -> Option<&'static Engine> {
        ENGINES.iter().find(|engine| engine.name == name)
    }
}
