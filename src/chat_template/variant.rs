//! Choosing one of several templates.

use super::error::LoadError;

/// The variant that counts if none is asked for.
const DEFAULT: &str = "default";

/// The templates that stand in one place, each with its name if it has one.
#[derive(Default)]
pub(super) struct Templates(Vec<Named>);

struct Named {
    name: Option<String>,
    jinja: String,
    origin: String,
}

/// The template that was chosen, or one of the others.
pub(super) struct Chosen {
    pub(super) jinja: String,
    pub(super) origin: String,
    pub(super) variant: Option<String>,
    pub(super) variants: Vec<String>,
}

impl Templates {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a template. Of equal names the last one counts.
    pub(super) fn add(&mut self, name: Option<String>, jinja: String, origin: String) {
        let template = Named {
            name,
            jinja,
            origin,
        };
        match self
            .0
            .iter_mut()
            .find(|other| other.name() == template.name())
        {
            Some(other) => *other = template,
            None => self.0.push(template),
        }
    }

    /// All of them. First comes the one to be used: the variant asked for, or else the default, or
    /// else the only one. The advice is for where there are none.
    pub(super) fn choose(
        mut self,
        wanted: Option<&str>,
        place: &str,
        advice: impl FnOnce() -> String,
    ) -> Result<Vec<Chosen>, LoadError> {
        let variants = self.variants();
        let found = self
            .0
            .iter()
            .position(|one| one.name() == wanted.unwrap_or(DEFAULT));
        let index = match (found, wanted) {
            (Some(index), _) => index,
            (None, _) if self.is_empty() => {
                return Err(LoadError::NoTemplate {
                    name: place.to_owned(),
                    advice: advice(),
                    only_cached: false,
                });
            }
            (None, Some(wanted)) => {
                return Err(LoadError::NoVariant {
                    name: place.to_owned(),
                    variant: wanted.to_owned(),
                    variants,
                });
            }
            (None, None) if self.0.len() == 1 => 0,
            (None, None) => {
                return Err(LoadError::ChooseVariant {
                    name: place.to_owned(),
                    variants,
                });
            }
        };
        self.0[..=index].rotate_right(1);
        let all = self.0.into_iter().map(|template| Chosen {
            variant: (!variants.is_empty()).then(|| template.name().to_owned()),
            jinja: template.jinja,
            origin: template.origin,
            variants: variants.clone(),
        });
        Ok(all.collect())
    }

    fn variants(&self) -> Vec<String> {
        match self.0.as_slice() {
            [Named { name: None, .. }] => Vec::new(),
            all => all.iter().map(|one| one.name().to_owned()).collect(),
        }
    }
}

impl Named {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT)
    }
}
