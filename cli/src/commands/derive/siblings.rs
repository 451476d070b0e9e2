//! The chat templates that a model has beside the one that a response template is for.

use unjinja::chat_template::ChatTemplate;
use unjinja::derive::{Derivation, ProofRow};
use unjinja::{Object, Value};

/// So many of the renderings that are misread are named.
const NAMED: usize = 3;

/// A chat template, and the response template that was derived for it.
pub(crate) type Derived = (ChatTemplate, Derivation);

/// Another chat template of the same model, and whether the response template serves it as well.
pub(crate) struct Sibling {
    /// What reports call it.
    name: String,
    /// What to type to derive for it, if there is a way.
    remedy: Option<String>,
    service: Service,
}

/// Whether a response template serves another chat template.
enum Service {
    /// It reads all of its renderings that can be read: so many.
    All(usize),
    /// It misreads some.
    Misreads {
        count: usize,
        names: Vec<String>,
        total: usize,
    },
    /// For that chat template nothing can be derived.
    Unknown(String),
}

/// Chooses among the response templates of a model's chat templates, of which the first is the one
/// in use: the first that serves all of them, or else that of the first. What could not be derived is
/// a text that says why.
pub(crate) fn choose(
    first: Derived,
    mut others: Vec<Derived>,
    failed: Vec<(ChatTemplate, String)>,
) -> (Derived, Vec<Sibling>) {
    let serves_all = |(_, derivation): &Derived| {
        let all = others.iter().chain([&first]);
        all.map(|(_, other)| derivation.failures_on(other))
            .all(|misread| misread.is_empty())
    };
    let (template, derivation) = match others.iter().position(serves_all) {
        Some(better) if !serves_all(&first) => std::mem::replace(&mut others[better], first),
        _ => first,
    };
    let read = others.iter().map(|(other, its)| {
        let total = its.proof.len();
        let service = match derivation.failures_on(its).as_slice() {
            [] => Service::All(total),
            misread => Service::Misreads {
                count: misread.len(),
                names: names(misread),
                total,
            },
        };
        Sibling::new(&template, other, service)
    });
    let unknown = failed
        .into_iter()
        .map(|(other, why)| Sibling::new(&template, &other, Service::Unknown(why)));
    let siblings = read.chain(unknown).collect();
    ((template, derivation), siblings)
}

fn names(rows: &[&ProofRow]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    names.dedup();
    names.truncate(NAMED);
    names
}

impl Sibling {
    fn new(chosen: &ChatTemplate, other: &ChatTemplate, service: Service) -> Sibling {
        let is_variant = !chosen.variants.is_empty() && chosen.variants == other.variants;
        let variant = other.variant.as_deref().unwrap_or("default");
        let (name, remedy) = if is_variant {
            (
                format!("the variant `{variant}`"),
                Some(format!("--variant {variant}")),
            )
        } else if other.name != chosen.name {
            let name = other.name.clone();
            let remedy = format!("unjinja derive {name} --variant {variant}");
            (name, Some(remedy))
        } else {
            (other.origins.template.clone().unwrap_or_default(), None)
        };
        Sibling {
            name,
            remedy,
            service,
        }
    }

    /// Whether it needs another response template.
    pub(crate) fn is_misread(&self) -> bool {
        matches!(self.service, Service::Misreads { .. })
    }

    /// For programs: an object of its `name`, whether it is `served`, which is null where nothing can be
    /// derived for it, and all of that in words, the `statement`.
    pub(crate) fn to_value(&self) -> Value {
        let served = match self.service {
            Service::All(_) => Value::from(true),
            Service::Misreads { .. } => Value::from(false),
            Service::Unknown(_) => Value::Null,
        };
        Object::from_iter([
            ("name", Value::from(&self.name)),
            ("served", served),
            ("statement", self.statement().into()),
        ])
        .into()
    }

    /// What reports say of it.
    pub(crate) fn statement(&self) -> String {
        let name = &self.name;
        match &self.service {
            Service::All(total) => {
                format!("{name}: this response template reads all of its {total} renderings, too")
            }
            Service::Misreads {
                count,
                names,
                total,
            } => {
                let more = if names.len() < *count { "; …" } else { "" };
                let names = names.join("; ") + more;
                let remedy = self.remedy.as_ref();
                let remedy = remedy.map_or_else(String::new, |remedy| {
                    format!(": derive for it with `{remedy}`")
                });
                format!(
                    "{name}: this response template misreads {count} of its {total} renderings \
                     ({names}), and none that was derived serves both{remedy}"
                )
            }
            Service::Unknown(why) => format!("{name}: nothing can be derived: {why}"),
        }
    }
}
