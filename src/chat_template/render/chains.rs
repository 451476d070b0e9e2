//! Long chains such as `a.b.c…`, `1 + 1 + …` and `{% elif %}` after `{% elif %}`.
//!
//! minijinja sees to it that nothing nests too deeply, but for these, which it goes through with a
//! function that calls itself: too many of them would exhaust the stack.

use minijinja::machinery::{
    CodeGenerator, CompiledTemplate, TemplateConfig, Token, ast::Stmt, parse, tokenize,
};
use minijinja::{Error, ErrorKind};

use super::{IS_BARE, constants};

/// Chains longer than this are refused.
const MAX_LENGTH: usize = 2_000;
/// Chains up to this length need no larger stack.
const SHORT: usize = 100;
/// The stack for the others: enough for the longest, where nothing is optimized.
const STACK: usize = 256 << 20;

/// Templates longer than this are refused; compiled, each byte of theirs takes some sixty.
pub(super) const MAX_TEMPLATE: usize = 2 << 20;

/// Compiles a template.
pub(super) fn compiled<'t>(
    name: &'t str,
    jinja: &'t str,
    config: &TemplateConfig,
) -> Result<CompiledTemplate<'t>, Error> {
    if jinja.len() > MAX_TEMPLATE {
        let most = MAX_TEMPLATE >> 20;
        let detail = format!("the chat template is longer than {most} MiB");
        return Err(Error::new(ErrorKind::SyntaxError, detail));
    }
    guarded(jinja, config, || {
        let template = parse(jinja, name, config.syntax_config.clone())?;
        constants::check(&template)?;
        let mut generator = CodeGenerator::new(name, jinja);
        generator.compile_stmt(&template);
        let buffer_size_hint = generator.buffer_size_hint();
        let (instructions, blocks) = generator.finish();
        Ok(CompiledTemplate {
            instructions,
            blocks,
            buffer_size_hint,
            syntax_config: config.syntax_config.clone(),
            initial_auto_escape: (config.default_auto_escape)(name),
        })
    })
}

/// Parses a template, and looks at its tree.
pub(super) fn parsed<T: Send>(
    name: &str,
    jinja: &str,
    config: &TemplateConfig,
    look: impl Fn(&Stmt<'_>) -> T + Sync,
) -> Result<T, Error> {
    guarded(jinja, config, || {
        Ok(look(&parse(jinja, name, config.syntax_config.clone())?))
    })
}

/// Goes through a template's tree, with a stack that is large enough for its longest chain.
pub(super) fn guarded<T: Send>(
    jinja: &str,
    config: &TemplateConfig,
    go_through: impl Fn() -> Result<T, Error> + Sync,
) -> Result<T, Error> {
    match longest(jinja, config) {
        0..=SHORT => go_through(),
        // Without threads, the stack is what it is.
        length if IS_BARE && length <= MAX_LENGTH => go_through(),
        length if length <= MAX_LENGTH => std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let thread = thread.spawn_scoped(scope, &go_through);
            let failed = || invalid("the template can't be compiled");
            let compiled = thread.map_err(|_| failed())?.join();
            compiled.unwrap_or_else(|_| Err(failed()))
        }),
        _ => Err(invalid("the template has too long an expression")),
    }
}

fn invalid(detail: &'static str) -> Error {
    Error::new(ErrorKind::SyntaxError, detail)
}

/// How many tokens the longest chain has, at most.
fn longest(jinja: &str, config: &TemplateConfig) -> usize {
    let (mut longest, mut length, mut branches) = (0, 0, 0);
    for token in tokenize(jinja, false, config.syntax_config.clone()) {
        match token {
            // A chain ends where a tag or an item of a list does.
            Ok((Token::Comma | Token::VariableEnd | Token::BlockEnd, _)) => length = 0,
            Ok((Token::Ident("elif"), _)) => branches += 1,
            Ok(_) => length += 1,
            // This is an error when the template is compiled.
            Err(_) => break,
        }
        longest = longest.max(length).max(branches);
    }
    longest
}
