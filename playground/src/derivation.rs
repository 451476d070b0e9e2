//! From a chat template to a response template, with its proof and what it was found from.

use unjinja::analysis::{Evidence, Findings, Statement};
use unjinja::derive::{DeriveOptions, derive as derived};
use unjinja::{Object, Value};
use unjinja_replay::cases;

use crate::open::printed;
use crate::request::{Request, case_value, page_name};

/// The response template as the program prints it; its proof, row by row; the findings in words; and the texts that
/// can be replayed.
pub(crate) fn derive(request: &Request<'_>) -> Result<Value, String> {
    let template = request
        .chat_template()?
        .ok_or("there is no chat template")?;
    let base = request.base()?;
    let options = DeriveOptions::default().base(base);
    let derivation = derived(&template, &options).map_err(|error| error.explain(page_name))?;
    let missing = derivation.missing_tokens.iter();
    let missing = missing.map(|token| token.explain(page_name));
    let refused = derivation.refused.iter().map(|refused| {
        Object::from_iter([
            ("name", refused.name.clone()),
            ("why", refused.explain(page_name)),
        ])
    });
    let statements = derivation.findings.statements();
    let texts = cases::rendered(&derivation, &derivation.template);
    let mut answer = derivation.to_value().into_object();
    answer.insert("template", printed(&derivation.template));
    answer.insert("missing_tokens", missing.collect::<Value>());
    answer.insert("refused", refused.map(Value::from).collect::<Value>());
    answer.insert("recovered", derivation.recovered());
    answer.insert(
        "statements",
        statements
            .iter()
            .map(Statement::to_value)
            .collect::<Value>(),
    );
    answer.insert(
        "cases",
        texts
            .iter()
            .map(|text| case_value(&text.case))
            .collect::<Value>(),
    );
    answer.remove("findings");
    Ok(answer.into())
}

/// The renderings that show the findings, two and two.
pub(crate) fn evidence(request: &Request<'_>) -> Result<Value, String> {
    let template = request
        .chat_template()?
        .ok_or("there is no chat template")?;
    let found = Findings::with_evidence(&template, &request.base()?);
    let (_, evidence) = found.map_err(|error| error.to_string())?;
    Ok(evidence.iter().map(Evidence::to_value).collect())
}
