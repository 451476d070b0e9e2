//! What engines of Jinja have: data, as read in their sources, with the versions and when these came out.
//!
//! Only what chat templates have a use for counts. An engine that has something under conditions, such as a filter of
//! texts only, is taken to have it.

/// An engine that renders chat templates.
pub(super) struct Engine {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// The month in which it came out.
    pub(super) date: &'static str,
    tags: &'static [&'static str],
    filters: &'static [&'static str],
    tests: &'static [&'static str],
    functions: &'static [&'static str],
    /// `None` where an engine has all that Python has.
    methods: Option<&'static [&'static str]>,
    /// What it refuses to call, though it is there.
    refused_methods: &'static [&'static str],
    /// What may be given by name to `tojson`.
    tojson: &'static [&'static str],
    /// What may stand behind `%` in formats of times; `None` where all may.
    time_formats: Option<&'static str>,
}

/// Something that a template makes use of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Feature<'f> {
    Tag(&'f str),
    Filter(&'f str),
    Test(&'f str),
    Function(&'f str),
    Method(&'f str),
    ToJson(&'f str),
    TimeFormat(char),
}

impl Engine {
    pub(super) fn has(&self, feature: Feature<'_>) -> bool {
        match feature {
            Feature::Tag(name) => self.tags.contains(&name),
            Feature::Filter(name) => self.filters.contains(&name),
            Feature::Test(name) => self.tests.contains(&name),
            Feature::Function(name) => self.functions.contains(&name),
            Feature::Method(name) => {
                !self.refused_methods.contains(&name)
                    && self.methods.is_none_or(|methods| methods.contains(&name))
            }
            Feature::ToJson(name) => self.tojson.contains(&name),
            Feature::TimeFormat(letter) => {
                self.time_formats.is_none_or(|known| known.contains(letter))
            }
        }
    }

    /// Its name and version.
    pub(super) fn in_words(&self) -> String {
        format!("{} {} ({})", self.name, self.version, self.date)
    }
}

/// The sandbox in which the transformers library renders: what it refuses is refused where models are trained.
#[rustfmt::skip]
pub(super) const TRANSFORMERS: Engine = Engine {
    name: "transformers",
    version: "5.23",
    date: "2026-11",
    tags: &["set", "if", "for", "macro", "call", "filter", "break", "continue", "with", "autoescape", "block",
        "generation"],
    filters: &["abs", "attr", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "e", "escape",
        "filesizeformat", "first", "float", "forceescape", "format", "groupby", "indent", "int", "items", "join", "last",
        "length", "list", "lower", "map", "max", "min", "pprint", "random", "reject", "rejectattr", "replace", "reverse",
        "round", "safe", "select", "selectattr", "slice", "sort", "string", "striptags", "sum", "title", "tojson", "trim",
        "truncate", "unique", "upper", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr"],
    tests: &["!=", "<", "<=", "==", ">", ">=", "boolean", "callable", "defined", "divisibleby", "eq", "equalto",
        "escaped", "even", "false", "filter", "float", "ge", "greaterthan", "gt", "in", "integer", "iterable", "le",
        "lessthan", "lower", "lt", "mapping", "ne", "none", "number", "odd", "sameas", "sequence", "string", "test",
        "true", "undefined", "upper"],
    functions: &["cycler", "dict", "joiner", "lipsum", "namespace", "range", "raise_exception", "strftime_now", "loop",
        "caller", "super"],
    methods: None,
    refused_methods: &["append", "extend", "insert", "remove", "clear", "update", "setdefault", "popitem", "pop", "add",
        "discard", "sort", "reverse"],
    tojson: &["ensure_ascii", "indent", "separators", "sort_keys"],
    time_formats: None,
};

/// The engines that render chat templates elsewhere.
#[rustfmt::skip]
pub(super) const OTHERS: [Engine; 3] = [
    Engine {
        name: "minijinja",
        version: "3.0",
        date: "2026-10",
        tags: &["set", "if", "for", "macro", "call", "filter", "break", "continue", "with", "autoescape", "block", "do",
            "include", "import", "from", "extends"],
        filters: &["abs", "attr", "batch", "bool", "capitalize", "chain", "count", "d", "default", "dictsort", "e",
            "escape", "first", "float", "format", "groupby", "indent", "int", "items", "join", "last", "length", "lines",
            "list", "lower", "map", "max", "min", "pprint", "reject", "rejectattr", "replace", "reverse", "round", "safe",
            "select", "selectattr", "slice", "sort", "split", "string", "sum", "title", "tojson", "trim", "unique",
            "upper", "urlencode", "zip"],
        tests: &["!=", "<", "<=", "==", ">", ">=", "boolean", "defined", "divisibleby", "endingwith", "eq", "equalto",
            "escaped", "even", "false", "filter", "float", "ge", "greaterthan", "gt", "in", "int", "integer", "iterable",
            "le", "lessthan", "lower", "lt", "mapping", "ne", "none", "number", "odd", "safe", "sameas", "sequence",
            "startingwith", "string", "test", "true", "undefined", "upper"],
        functions: &["range", "dict", "debug", "namespace", "raise_exception", "strftime_now", "loop", "caller", "super"],
        // Those of its contributed package, which all who render chat templates add.
        methods: Some(&["upper", "lower", "islower", "isupper", "isspace", "isdigit", "isnumeric", "isalnum", "isalpha",
            "isascii", "strip", "lstrip", "rstrip", "replace", "title", "split", "splitlines", "capitalize", "count",
            "find", "format", "rfind", "startswith", "endswith", "join", "keys", "values", "items", "get", "cycle",
            "changed"]),
        refused_methods: &[],
        tojson: &["indent"],
        time_formats: None,
    },
    Engine {
        name: "llama.cpp",
        version: "as in llama-cpp-sys-2 0.1.161",
        date: "2026-11",
        tags: &["set", "if", "for", "macro", "call", "filter", "break", "continue", "generation"],
        filters: &["abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "indent",
            "int", "items", "join", "keys", "last", "length", "list", "lower", "lstrip", "map", "max", "min", "reject",
            "rejectattr", "replace", "reverse", "rstrip", "safe", "select", "selectattr", "slice", "sort", "split",
            "string", "strip", "sum", "title", "tojson", "trim", "truncate", "unique", "upper", "values", "wordcount"],
        tests: &["boolean", "callable", "defined", "divisibleby", "eq", "equalto", "escaped", "even", "false", "filter",
            "float", "ge", "greaterthan", "gt", "in", "integer", "iterable", "lessthan", "lower", "lt", "mapping", "ne",
            "none", "number", "odd", "sameas", "sequence", "string", "test", "true", "undefined", "upper", "==", "!="],
        functions: &["dict", "namespace", "range", "raise_exception", "strftime_now", "loop", "caller"],
        methods: Some(&["upper", "lower", "strip", "rstrip", "lstrip", "title", "capitalize", "length", "startswith",
            "endswith", "split", "rsplit", "replace", "append", "pop", "get", "keys", "values", "items", "join",
            "tojson"]),
        refused_methods: &[],
        tojson: &["indent", "ensure_ascii", "separators", "sort_keys"],
        time_formats: None,
    },
    Engine {
        name: "huggingface.js",
        version: "@huggingface/jinja 0.5.11",
        date: "2026-11",
        tags: &["set", "if", "for", "macro", "call", "filter", "break", "continue", "generation"],
        filters: &["abs", "bool", "capitalize", "d", "default", "dictsort", "first", "float", "indent", "int", "items",
            "join", "keys", "last", "length", "list", "lower", "map", "rejectattr", "replace", "reverse", "safe",
            "selectattr", "sort", "string", "title", "tojson", "trim", "unique", "upper", "values"],
        tests: &["boolean", "callable", "defined", "eq", "equalto", "even", "false", "integer", "iterable", "lower",
            "mapping", "none", "number", "odd", "sequence", "string", "true", "undefined", "upper"],
        functions: &["namespace", "range", "raise_exception", "strftime_now", "loop", "caller"],
        methods: Some(&["upper", "lower", "strip", "rstrip", "lstrip", "title", "capitalize", "startswith", "endswith",
            "split", "replace", "get", "items", "keys", "values", "dictsort"]),
        refused_methods: &[],
        tojson: &["indent", "ensure_ascii", "separators", "sort_keys"],
        time_formats: Some("YmdbBHM%"),
    },
];
