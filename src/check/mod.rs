//! Fixtures: files that say what a response template makes of texts, and whether it does.
//!
//! A [`Fixture`] is a file of YAML or JSON that people write in an editor. [`check`] runs all cases
//! of many of them on all cores, each cut into pieces in several ways; [`Fixture::update`] makes one
//! expect what comes out, and [`compare`] tells whether two templates read alike.

mod add;
mod case;
mod compare;
mod cuts;
mod document;
mod files;
mod first;
mod fixture;
mod regions;
mod run;
mod settings;
mod shrink;
mod story;
mod synthetic;
mod update;

pub use add::free_name;
pub use case::Failure;
pub use compare::{Comparison, ComparisonInput, Divergence, compare};
pub use cuts::Cut;
pub use files::{find, is_fixture};
pub use first::FirstFixture;
pub use fixture::{Case, Expected, Fixture, FixtureError};
pub use regions::{MarkedText, Region, RegionKind, regions};
pub use run::{CaseReport, FileReport, Options, Report, check};
pub use settings::{Settings, SettingsError};
pub use story::Story;
pub use update::{Update, Updated};
