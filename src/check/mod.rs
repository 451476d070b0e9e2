//! Fixtures: files that say what a response template makes of texts, and whether it does.
//!
//! A [`Fixture`] is a file of YAML or JSON that people write in an editor. [`check`] runs all cases
//! of many of them on all cores, each cut into pieces in several ways; [`Fixture::update`] makes one
//! expect what comes out. [`FirstFixture`] is one to begin with, and [`compare`] finds the smallest
//! text that two templates do not read alike.
//! [`check_outputs`] does without fixtures: it says whether outputs that were logged are read well.
//!
//! ```
//! use unjinja::check::{Case, Expected};
//! use unjinja::{ResponseTemplate, Tools};
//!
//! let template = ResponseTemplate::from_json(
//!     r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#)?;
//! let mut expected = Expected::default();
//! expected.message = Some([("content", "Hello!")].into_iter().collect());
//!
//! let case = Case::new("a greeting", "<user>Hi<bot>", "Hello!<end>", Tools::none(), expected);
//! assert!(case.check(&template, 0).is_empty());
//! # Ok::<(), unjinja::TemplateError>(())
//! ```

mod add;
mod case;
mod compare;
mod conversation;
mod cuts;
mod document;
mod drift;
mod files;
mod first;
mod fixture;
mod outputs;
mod prompts;
mod reader;
mod regions;
mod report_value;
mod run;
mod schema_comparison;
mod settings;
mod shrink;
mod stopwatch;
mod synthetic;
mod trace;
mod update;
mod versions;

pub use add::free_name;
pub use case::Failure;
pub use compare::{
    Comparison, ComparisonInput, Divergence, PortTrial, compare, compare_between, compare_for,
};
pub use conversation::{CheckedConversation, ConversationCase, ExpectedConversation};
pub use cuts::{Cut, Pieces};
pub use drift::{drift, drift_on};
pub use files::{find, is_fixture};
pub use first::FirstFixture;
pub use fixture::{Case, Expected, Fixture, FixtureError};
pub use outputs::{OutputReader, check_outputs, outputs};
pub use reader::Reader;
pub use regions::{MarkedText, Region, RegionKind, regions};
pub use run::{CaseReport, CheckOptions, CheckedCases, FileReport, Report, Unreadable, check};
pub use schema_comparison::SchemaComparison;
pub use settings::{Settings, SettingsError};
pub use trace::EventTrace;
pub use update::{Update, Updated};
pub use versions::VersionReading;
