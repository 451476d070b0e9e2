//! Models on a hub, which is a server of these tests.

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use unjinja::chat_template::{ChatTemplate, HubSettings, LoadError, LoadOptions, Progress, Source};

use crate::load::server::{MAIN, Server, Shelf};
use crate::load::support::Folder;

const OTHER: &str = "89abcdef0123456789abcdef0123456789abcdef";

/// As models are published, with much that is not needed.
const FILES: [(&str, &str); 7] = [
    (".gitattributes", "x"),
    ("chat_template.jinja", "{{ messages }}"),
    ("config.json", "{}"),
    ("model.safetensors", "weights"),
    ("onnx/model.onnx", "weights"),
    (
        "tokenizer.json",
        r#"{"added_tokens": [{"id": 1, "content": "<t>", "special": true}]}"#,
    ),
    (
        "tokenizer_config.json",
        r#"{"eos_token": "</s>", "added_tokens_decoder": {"1": {"content": "<x>", "special": true}}}"#,
    ),
];

fn settings(server: &Server, cache: &Folder) -> HubSettings {
    let mut settings = HubSettings::new(cache.path());
    settings.endpoint = server.endpoint();
    settings
}

fn load_with(name: &str, options: &LoadOptions<'_>) -> Result<ChatTemplate, LoadError> {
    ChatTemplate::load(&Source::parse(name).expect("a model"), options)
}

fn load(name: &str, settings: &HubSettings) -> Result<ChatTemplate, LoadError> {
    let mut options = LoadOptions::default();
    options.hub = Some(settings.clone());
    load_with(name, &options)
}

/// The message of loading what can't be loaded, with `HUB` for the server.
fn error(name: &str, settings: &HubSettings) -> String {
    let error = load(name, settings).expect_err(name).to_string();
    let cache = settings.cache_dir.display().to_string();
    error
        .replace(&settings.endpoint, "HUB")
        .replace(&cache, "CACHE")
}

#[test]
fn only_small_files_are_fetched_and_only_once() {
    let server = Server::new(Shelf::new(&FILES));
    let cache = Folder::new(&[]);
    let settings = settings(&server, &cache);
    let lines = RefCell::new(Vec::new());
    let listener = |progress: &Progress| lines.borrow_mut().push(progress.to_string());
    let mut options = LoadOptions::default();
    options.hub = Some(settings.clone());
    options.on_progress = Some(&listener);
    let template = load_with("org/name", &options).expect("loads");
    assert_eq!(template.name, "org/name");
    assert_eq!(template.jinja, "{{ messages }}");
    assert_eq!(template.eos_token.as_deref(), Some("</s>"));
    assert_eq!(template.special_tokens, ["<x>", "</s>"]);
    assert_eq!(
        template.origins.template.as_deref(),
        Some("chat_template.jinja")
    );
    assert_eq!(
        template.origins.eos_token.as_deref(),
        Some("tokenizer_config.json")
    );
    assert_eq!(
        server.requests(),
        [
            "GET /api/models/org/name?expand=sha".to_owned(),
            format!("GET /api/models/org/name/tree/{MAIN}"),
            format!("HEAD /org/name/resolve/{MAIN}/chat_template.jinja"),
            format!("GET /org/name/resolve/{MAIN}/chat_template.jinja"),
            format!("HEAD /org/name/resolve/{MAIN}/tokenizer_config.json"),
            format!("GET /org/name/resolve/{MAIN}/tokenizer_config.json"),
        ]
    );
    assert_eq!(
        *lines.borrow(),
        [
            format!("org/name: asking {}", settings.endpoint),
            "org/name: fetching chat_template.jinja (14 bytes)".to_owned(),
            "org/name: fetching tokenizer_config.json (89 bytes)".to_owned(),
        ]
    );

    // The layout is that of Hugging Face's tools.
    let folder = cache.path().join("models--org--name");
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap_or_default();
    assert_eq!(read("refs/main"), MAIN);
    assert_eq!(
        read(&format!("snapshots/{MAIN}/chat_template.jinja")),
        "{{ messages }}"
    );
    assert!(
        folder
            .join(format!(".no_exist/{MAIN}/chat_template.json"))
            .exists()
    );

    lines.borrow_mut().clear();
    assert_eq!(load_with("org/name", &options).expect("cached"), template);
    assert!(server.requests().is_empty() && lines.borrow().is_empty());

    // What is asked for may need to be looked for, even if it is not there.
    let mut variant = options.clone();
    variant.variant = Some("rag".into());
    let missing = load_with("org/name", &variant).expect_err("no variant");
    assert!(matches!(missing, LoadError::NoVariant { .. }), "{missing}");

    drop(server);
    assert_eq!(load("org/name", &settings).expect("cached"), template);
    assert_eq!(
        load(&format!("org/name@{MAIN}"), &settings)
            .expect("cached")
            .jinja,
        template.jinja
    );
    options.offline = true;
    assert_eq!(load_with("org/name", &options).expect("cached"), template);
}

#[test]
fn the_tokenizer_is_fetched_if_tokens_are_missing() {
    let mut shelf = Shelf::new(&FILES);
    shelf.put(MAIN, "tokenizer_config.json", r#"{"eos_token": "</s>"}"#);
    shelf.put(MAIN, "special_tokens_map.json", r#"{"bos_token": "<s>"}"#);
    let server = Server::new(shelf);
    let cache = Folder::new(&[]);
    let template = load("org/name", &settings(&server, &cache)).expect("loads");
    assert_eq!(template.special_tokens, ["</s>", "<s>", "<t>"]);
    let fetched = server.requests().concat();
    assert!(
        fetched.contains("/tokenizer.json") && !fetched.contains("model."),
        "{fetched}"
    );
    load("org/name", &settings(&server, &cache)).expect("cached");
    assert!(server.requests().is_empty());

    // If there is none, that is known too.
    server.change(|shelf| drop(shelf.files.remove(&(MAIN.into(), "tokenizer.json".into()))));
    let cache = Folder::new(&[]);
    for asked in [true, false] {
        let template = load("org/name", &settings(&server, &cache)).expect("loads");
        assert_eq!(template.special_tokens, ["</s>", "<s>"]);
        assert_eq!(!server.requests().is_empty(), asked);
    }
}

#[test]
fn revisions_and_tokens() {
    let mut shelf = Shelf::new(&FILES);
    shelf.revisions.insert("refs/pr/1".into(), OTHER.into());
    shelf.revisions.insert(OTHER.into(), OTHER.into());
    shelf.put(OTHER, "chat_template.jinja", "other");
    let server = Server::new(shelf);
    let cache = Folder::new(&[]);
    let mut settings = settings(&server, &cache);
    settings.token = Some("hf_secret".into());
    let template = load("org/name@refs/pr/1", &settings).expect("loads");
    assert_eq!(
        (template.jinja.as_str(), template.name.as_str()),
        ("other", "org/name@refs/pr/1")
    );
    let requests = server.requests();
    assert_eq!(
        requests[0],
        "GET /api/models/org/name/revision/refs%2Fpr%2F1?expand=sha Bearer hf_secret"
    );
    assert!(
        requests
            .iter()
            .all(|request| request.ends_with(" Bearer hf_secret")),
        "{requests:?}"
    );

    assert_eq!(
        load("org/name", &settings).expect("loads").jinja,
        "{{ messages }}"
    );
    assert!(!server.requests().is_empty());
    for name in [format!("org/name@{OTHER}"), "org/name@refs/pr/1".to_owned()] {
        assert_eq!(load(&name, &settings).expect("cached").jinja, "other");
    }
    assert!(server.requests().is_empty());

    let cache = Folder::new(&[]);
    settings.cache_dir = cache.path().to_owned();
    load(&format!("org/name@{OTHER}"), &settings).expect("loads");
    assert!(!cache.file("models--org--name/refs").exists());
}

#[test]
fn further_templates_are_found_in_the_listing() {
    let mut shelf = Shelf::new(&FILES);
    shelf.put(MAIN, "additional_chat_templates/rag.jinja", "rag");
    shelf.lies = vec![
        "additional_chat_templates/../../../../x.jinja",
        "additional_chat_templates/a/b.jinja",
        "additional_chat_templates/readme.md",
    ];
    let server = Server::new(shelf);
    let cache = Folder::new(&[]);
    let mut options = LoadOptions::default();
    options.hub = Some(settings(&server, &cache));
    options.variant = Some("rag".into());
    for asked in [true, false] {
        let template = load_with("org/name", &options).expect("loads");
        assert_eq!(template.jinja, "rag");
        assert_eq!(template.variants, ["default", "rag"]);
        assert_eq!(!server.requests().is_empty(), asked);
    }
}

#[test]
fn what_others_put_into_the_cache_is_used() {
    let server = Server::new(Shelf::new(&FILES));
    let snapshot = |file: &str| format!("models--org--name/snapshots/{MAIN}/{file}");
    let cache = Folder::new(&[("models--org--name/refs/main", &format!("{MAIN}\n"))]);
    cache.write(&snapshot("chat_template.jinja"), "theirs");
    cache.write(
        &snapshot("tokenizer_config.json"),
        r#"{"added_tokens_decoder": {}}"#,
    );
    let mut settings = settings(&server, &cache);
    assert_eq!(load("org/name", &settings).expect("cached").jinja, "theirs");
    assert!(server.requests().is_empty());

    // This may not be all there is, so it is used only if there is no more to be had.
    std::fs::remove_file(cache.file(&snapshot("chat_template.jinja"))).expect("removed");
    cache.write(
        &snapshot("tokenizer_config.json"),
        r#"{"chat_template": "old"}"#,
    );
    let mut offline = settings.clone();
    offline.offline = true;
    assert_eq!(load("org/name", &offline).expect("cached").jinja, "old");
    assert!(server.requests().is_empty());
    server.change(|shelf| shelf.refusal = Some((503, "")));
    let last = RefCell::new(String::new());
    let listener = |progress: &Progress| last.replace(progress.to_string()).clear();
    let mut options = LoadOptions::default();
    options.hub = Some(settings.clone());
    options.on_progress = Some(&listener);
    assert_eq!(
        load_with("org/name", &options).expect("cached").jinja,
        "old"
    );
    assert!(
        last.borrow().ends_with("; taking what the cache has"),
        "{last:?}"
    );
    settings.endpoint = "http://127.0.0.1:1".into();
    assert_eq!(load("org/name", &settings).expect("cached").jinja, "old");

    settings.endpoint = server.endpoint();
    server.change(|shelf| shelf.refusal = None);
    assert_eq!(
        load("org/name", &settings).expect("loads").jinja,
        "{{ messages }}"
    );

    // A commit that can't be one leads nowhere.
    cache.write("models--org--name/refs/main", "../../..");
    assert!(error("org/name", &{ offline }).contains("is not in the cache"));
}

#[test]
fn offline_needs_the_cache() {
    let server = Server::new(Shelf::new(&FILES));
    let cache = Folder::new(&[]);
    let mut settings = settings(&server, &cache);
    settings.offline = true;
    assert_eq!(
        error("org/name@v2", &settings),
        "org/name@v2: the model is not in the cache CACHE, and unjinja is offline: \
         load it once without `offline` or HF_HUB_OFFLINE"
    );
    cache.write(&format!("models--org--name/snapshots/{MAIN}/x"), "");
    cache.write("models--org--name/refs/main", MAIN);
    let error = error("org/name", &settings);
    assert!(
        error.starts_with("org/name: there is no chat template in it: "),
        "{error}"
    );
    assert!(
        error.ends_with("try again without `offline` or HF_HUB_OFFLINE"),
        "{error}"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn refusals_are_explained() {
    let server = Server::new(Shelf::new(&FILES));
    let cache = Folder::new(&[]);
    let mut settings = settings(&server, &cache);
    assert_eq!(
        error("org/other", &settings),
        "org/other: HUB has no such model: check the spelling"
    );
    assert_eq!(
        error("org/name@v2", &settings),
        "org/name@v2: HUB has no revision `v2` of it: name a branch, tag or commit the model has"
    );
    assert_eq!(
        error("org/other@v2", &settings),
        "org/other@v2: HUB has no such model: check the spelling"
    );
    for (status, message) in [
        (
            401,
            "HUB has no such model, or it is a private one: check the spelling, \
             or set HF_TOKEN to a token that may read it",
        ),
        (
            403,
            "HUB does not let you have it: accept the model's conditions on its page, \
             and make sure that HF_TOKEN may read it",
        ),
        (404, "HUB has no such model: check the spelling"),
        (
            429,
            "HUB was asked too often: try again later, or set HF_TOKEN",
        ),
        (
            502,
            "HUB can't be reached (502 Bad Gateway): check the network, HF_ENDPOINT and the proxy, \
             or use `offline` with a model that was loaded before",
        ),
        (418, "HUB: HTTP error: 418 I'm a teapot"),
        (
            200,
            "HUB: this does not answer like a hub, so check HF_ENDPOINT (missing field",
        ),
    ] {
        server.change(|shelf| shelf.refusal = Some((status, "")));
        let message = format!("org/name: {message}");
        let found = error("org/name", &settings);
        assert!(found.starts_with(&message), "{found}");
    }
    server.change(|shelf| shelf.refusal = Some((401, "")));
    settings.token = Some("hf_old".into());
    assert_eq!(
        error("org/name", &settings),
        "org/name: HUB does not accept the token: make sure that HF_TOKEN is right and not expired"
    );
    settings.endpoint = "http://127.0.0.1:1".into();
    let found = error("org/name", &settings);
    assert!(
        found.starts_with("org/name: HUB can't be reached (Connection refused"),
        "{found}"
    );
    settings.endpoint = "no address".into();
    assert!(error("org/name", &settings).starts_with("org/name: HUB: "));
    let left = Path::new(&settings.cache_dir)
        .read_dir()
        .map(Iterator::count);
    assert_eq!(left.ok(), Some(0), "nothing is kept of what failed");
}

#[test]
fn a_hub_that_does_not_answer() {
    let mut shelf = Shelf::new(&FILES);
    shelf.is_silent = true;
    let server = Server::new(shelf);
    let cache = Folder::new(&[]);
    let mut settings = settings(&server, &cache);
    settings.timeout = Duration::from_secs(1);
    let start = Instant::now();
    assert_eq!(
        error("org/name", &settings),
        "org/name: HUB has not answered for 1 seconds: try again later"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_is_fetched_must_be_complete() {
    let mut shelf = Shelf::new(&FILES);
    shelf.garbage = Some("<html>an error</html>");
    let server = Server::new(shelf);
    let cache = Folder::new(&[]);
    let settings = settings(&server, &cache);
    assert_eq!(
        error("org/name", &settings),
        "org/name: HUB: chat_template.jinja should have 14 bytes, but 21 came: \
         try again, or download the model and give its folder"
    );
    server.change(|shelf| shelf.garbage = None);
    assert_eq!(
        load("org/name", &settings).expect("loads").jinja,
        "{{ messages }}"
    );

    // Names that lead out of the cache.
    server.change(|shelf| drop(shelf.revisions.insert("main".into(), "../../../x".into())));
    let cache = Folder::new(&[]);
    let mut settings = settings.clone();
    settings.cache_dir = cache.path().to_owned();
    assert!(error("org/name", &settings).contains("does not say which commit"));
}

#[test]
fn models_without_a_template() {
    let server = Server::new(Shelf::new(&[("config.json", "{}")]));
    let cache = Folder::new(&[]);
    let settings = settings(&server, &cache);
    for asked in [true, false] {
        let found = error("org/name", &settings);
        assert!(
            found.starts_with("org/name: there is no chat template in it: "),
            "{found}"
        );
        assert_eq!(!server.requests().is_empty(), asked);
    }
}
