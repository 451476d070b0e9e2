//! Where the repository is, whose examples and gallery the tests read.

use std::path::Path;

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package stands in the repository")
}
