//! The engines that constrain models read the grammars of the gallery: they allow what the chat templates
//! render, and refuse what no model should write.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::ApproximateTokEnv;
use llguidance::{Matcher, ParserFactory};
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::check::{Case, Fixture};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::format::Format;
use unjinja::grammar::{Builder, Expr, Grammar, Request, ToolChoice};
use unjinja::json;
use xgrammar::{CompiledGrammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType};

/// An engine, which loads grammars in a language.
trait Engine {
    /// What tells whether a text is allowed, or why the grammar is refused.
    fn load(&self, grammar: &Grammar) -> Result<Loaded, String>;
}

type Loaded = Box<dyn Fn(&str) -> bool>;

/// The token that ends a text, where each byte is a token.
const STOP: i32 = 256;

fn xgrammar() -> GrammarCompiler {
    let tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    let tokens = [tokens, vec![b"</s>".to_vec()]].concat();
    let info =
        TokenizerInfo::new_from_bytes(&tokens, VocabType::RAW, None, Some(vec![STOP]), false);
    GrammarCompiler::with_defaults(info.expect("it is a vocabulary"))
}

fn allows(compiled: CompiledGrammar) -> Loaded {
    Box::new(move |text| {
        let mut matcher = GrammarMatcher::from_compiled_grammar(&compiled, false);
        matcher.accept_string(text) && matcher.accept_token(STOP)
    })
}

struct Gbnf(GrammarCompiler);

impl Engine for Gbnf {
    fn load(&self, grammar: &Grammar) -> Result<Loaded, String> {
        let read = xgrammar::Grammar::from_ebnf(&grammar.to_gbnf().text, "root");
        let read = read.map_err(|error| error.to_string())?;
        let compiled = self.0.compile_grammar(&read);
        compiled.map(allows).map_err(|error| error.to_string())
    }
}

struct StructuralTag(GrammarCompiler);

impl Engine for StructuralTag {
    fn load(&self, grammar: &Grammar) -> Result<Loaded, String> {
        let tag = json::write(&grammar.to_structural_tag().value);
        let compiled = self.0.compile_structural_tag(&tag);
        compiled.map(allows).map_err(|error| error.to_string())
    }
}

struct Lark(ParserFactory);

impl Engine for Lark {
    fn load(&self, grammar: &Grammar) -> Result<Loaded, String> {
        let lark = TopLevelGrammar::from_lark(grammar.to_lark().text);
        let mut matcher = Matcher::new(self.0.create_parser(lark));
        if let Some(error) = matcher.get_error() {
            return Err(error);
        }
        // A grammar that can't be written is found out with the first token.
        matcher.compute_mask().map_err(|error| error.to_string())?;
        Ok(Box::new(move |text| {
            let mut matcher = matcher.deep_clone();
            let tokens: Vec<u32> = text.bytes().map(u32::from).collect();
            let read = matcher.try_consume_tokens(&tokens);
            read.is_ok_and(|read| read == tokens.len()) && matcher.is_accepting().unwrap_or(false)
        }))
    }
}

/// The chat templates in a folder, with their names.
fn templates(folder: &Path) -> Vec<(String, ChatTemplate)> {
    let files = fs::read_dir(folder).expect("the folder is there");
    let files = files.map(|file| file.expect("it can be read").path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "jinja"))
        .collect();
    files.sort();
    let load = |file: PathBuf| {
        let name = file.file_stem().unwrap_or_default();
        let jinja = fs::read_to_string(&file).expect("it can be read");
        let name = name.to_string_lossy().into_owned();
        (name, ChatTemplate::from_jinja(jinja))
    };
    files.into_iter().map(load).collect()
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn gallery() -> Vec<(String, Format, Fixture)> {
    let project = project();
    let load = |(name, template): (String, ChatTemplate)| {
        let format = Format::of(&template, &RenderInput::default()).expect("it has a format");
        let fixture = Fixture::load(&project.join(format!("derived/{name}.fixture.yaml")));
        (
            name,
            format,
            fixture.expect("the gallery has a fixture for it"),
        )
    };
    let all = templates(&project.join("chat_templates"));
    all.into_iter().map(load).collect()
}

/// The name of the tool that a case calls first, if calls are all that it has.
fn called(case: &Case) -> Option<String> {
    let message = case.expected.message.as_ref()?;
    if message.contains_key("content") || message.contains_key("thinking") {
        return None;
    }
    let call = message.get("tool_calls")?.as_array()?.first()?;
    Some(call.get("function")?.get("name")?.as_str()?.to_owned())
}

/// What no model should write where it is asked for a call, made of an output that calls a tool.
fn wrong(case: &Case, name: &str) -> Vec<(&'static str, String)> {
    let output = case.output.as_str();
    let mut all = vec![
        ("no call at all", "I would rather not.".to_owned()),
        ("an unknown tool", output.replace(name, "no_such_tool")),
    ];
    let behind = output.find(name).map_or(0, |at| at + name.len());
    let cut = output.ceil_char_boundary(behind + 4);
    if cut + 4 < output.len() {
        all.push(("a call that is cut", output[..cut].to_owned()));
    }
    if output.contains("harbour") {
        all.push(("an unknown argument", output.replace("harbour", "mooring")));
    }
    all
}

fn check(engine: &dyn Engine) -> String {
    let (mut faults, mut allowed, mut refused) = (Vec::new(), 0, 0);
    for (name, format, fixture) in gallery() {
        let mut loaded: BTreeMap<(String, bool), Option<Loaded>> = BTreeMap::new();
        for case in fixture.cases() {
            if case.expected.message.is_none() || case.output.is_empty() {
                continue;
            }
            for is_required in [false, true] {
                let called = called(case).filter(|_| is_required);
                if is_required && called.is_none() {
                    continue;
                }
                let key = (case.prefix.clone(), is_required);
                let loaded = loaded.entry(key).or_insert_with(|| {
                    let choice = match is_required {
                        true => ToolChoice::Required,
                        false => ToolChoice::Auto,
                    };
                    let request = Request::new()
                        .prompt(case.prefix.as_str())
                        .tool_choice(choice);
                    let grammar = Grammar::of(&format, fixture.tools(), &request);
                    let read = grammar
                        .map_err(|error| error.to_string())
                        .and_then(|grammar| engine.load(&grammar));
                    read.map_err(|error| faults.push(format!("{name}: {error}")))
                        .ok()
                });
                let Some(allows) = loaded else {
                    continue;
                };
                allowed += 1;
                if !allows(&case.output) {
                    faults.push(format!("{name}, {}: refuses {:?}", case.name, case.output));
                }
                for (what, text) in called.iter().flat_map(|called| wrong(case, called)) {
                    refused += 1;
                    if allows(&text) {
                        faults.push(format!("{name}, {}: allows {what}: {text:?}", case.name));
                    }
                }
            }
        }
    }
    assert!(
        allowed > 300 && refused > 300,
        "{allowed} outputs, {refused} wrong ones only"
    );
    faults.join("\n")
}

/// The renderings of the formats in `tests/invented` that an engine does not allow, of those that the grammar allows when the
/// library reads it.
fn refused_of_invented(engine: &dyn Engine) -> Vec<String> {
    let (mut faults, mut allowed) = (Vec::new(), 0);
    for (name, mut template) in templates(&project().join("tests/invented")) {
        template.bos_token = Some("<s>".to_owned());
        template.eos_token = Some("</s>".to_owned());
        let format = Format::of(&template, &RenderInput::default());
        let derived = derive(&template, &DeriveOptions::default());
        let (Ok(format), Ok(derived)) = (format, derived) else {
            continue;
        };
        let mut loaded: BTreeMap<&str, Option<(Grammar, Loaded)>> = BTreeMap::new();
        for row in derived.proof.iter().filter(|row| !row.output.is_empty()) {
            let load = || {
                let request = Request::new().prompt(row.prefix.as_str());
                let grammar = Grammar::of(&format, &derived.tools, &request).ok()?;
                let read = engine.load(&grammar);
                let read = read.map_err(|error| faults.push(format!("{name}: {error}")));
                Some((grammar, read.ok()?))
            };
            let Some((grammar, allows)) = loaded.entry(&row.prefix).or_insert_with(load) else {
                continue;
            };
            if grammar.parse(&row.output).is_err() {
                continue;
            }
            allowed += 1;
            if !allows(&row.output) {
                faults.push(format!("{name}: {}", row.name));
            }
        }
    }
    assert!(allowed > 1000, "{allowed} outputs only");
    faults
}

/// What stands in texts and what does not, with whether an engine of lexemes can say so.
fn check_texts(engine: &dyn Engine, has_lexemes: bool) -> String {
    type Build = fn(&Builder) -> Expr;
    let until: Build = |p| "[[" + p.until("]]") + "]]";
    let string: Build = |p| {
        let sign = p.chars("[^']", 1, 1).expect("a class");
        "'" + sign.without(["='".into(), ";" + p.space() + "a"]) + "'"
    };
    let negate: Build = |p| p.negate(p.space() + "no") + p.until("!") + "!";
    let mut faults = Vec::new();
    for (build, lexemes_say, text, expected) in [
        (until, true, "[[a]]", true),
        (until, true, "[[a]b]]", true),
        (until, true, "[[a]]]", false),
        (until, true, "[[a]]b]]", false),
        (string, true, "'a=b'", true),
        (string, true, "'; b'", true),
        (string, true, "';  a'", false),
        (string, false, "'a='", false),
        (negate, true, "yes!", true),
        (negate, true, "say no!", true),
        (negate, false, " no!", false),
    ] {
        if has_lexemes && !lexemes_say {
            continue;
        }
        match engine.load(&Grammar::build(build)) {
            Ok(allows) if allows(text) == expected => {}
            Ok(_) => faults.push(format!("{text:?} is to be {expected}")),
            Err(error) => faults.push(format!("{text:?}: {error}")),
        }
    }
    faults.join("\n")
}

const NONE: [&str; 0] = [];

#[test]
fn xgrammar_reads_gbnf() {
    assert_eq!(check(&Gbnf(xgrammar())), "");
    assert_eq!(refused_of_invented(&Gbnf(xgrammar())), NONE);
    assert_eq!(check_texts(&Gbnf(xgrammar()), false), "");
}

#[test]
fn xgrammar_reads_structural_tags() {
    assert_eq!(check(&StructuralTag(xgrammar())), "");
    assert_eq!(refused_of_invented(&StructuralTag(xgrammar())), NONE);
    assert_eq!(check_texts(&StructuralTag(xgrammar()), false), "");
}

#[test]
fn llguidance_reads_lark() {
    let factory = ParserFactory::new_simple(&ApproximateTokEnv::single_byte_env());
    let mut factory = factory.expect("it is a vocabulary");
    factory.quiet();
    let engine = Lark(factory);
    assert_eq!(check(&engine), "");
    // Nothing closes these values, and of the markers behind them the first signs stand in them. Warnings say so.
    let known = [
        "sexpr: a call with values of all types",
        "tab_fields: a call with code in it",
        "toml_calls: a call with values of all types",
    ];
    assert_eq!(refused_of_invented(&engine), known);
    assert_eq!(check_texts(&engine, true), "");
}
