//! The library, as its users see it: one program, which is linked once and keeps both cores busy.
//!
//! `cargo test --test library render` runs what is in `render.rs`.

use std::path::Path;

mod cuts;
mod engine;
mod rooms;
mod schema;

#[cfg(feature = "response-schema")]
mod convert;
#[cfg(feature = "response-schema")]
mod response_schema;

#[cfg(feature = "check")]
mod adversarial;
#[cfg(feature = "check")]
mod attacks;
#[cfg(feature = "check")]
mod candidates;
#[cfg(feature = "check")]
mod capabilities;
#[cfg(feature = "check")]
mod completion;
#[cfg(feature = "check")]
mod definitions;
#[cfg(feature = "check")]
mod derive;
#[cfg(feature = "check")]
mod fixtures;
#[cfg(feature = "check")]
mod format;
#[cfg(feature = "check")]
mod load;
#[cfg(feature = "check")]
mod render;
#[cfg(all(feature = "check", feature = "serde"))]
mod serde;
#[cfg(feature = "check")]
mod silence;

#[cfg(all(feature = "check", feature = "grammar"))]
mod arguments;
#[cfg(all(feature = "check", feature = "grammar"))]
mod grammar;
#[cfg(all(feature = "check", feature = "grammar"))]
mod invented;
#[cfg(all(feature = "check", feature = "grammar"))]
mod masks;
#[cfg(all(feature = "check", feature = "grammar"))]
mod mend;
#[cfg(all(feature = "check", feature = "grammar"))]
mod planted;
#[cfg(all(feature = "check", feature = "grammar"))]
mod read;
#[cfg(feature = "check")]
mod regressions;
#[cfg(all(feature = "check", feature = "grammar"))]
mod roundtrip;
#[cfg(all(feature = "check", feature = "grammar"))]
mod synthetic;

/// Where the repository is, whose gallery and examples the tests read.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package stands in the repository")
}
