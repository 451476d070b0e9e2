//! The header is made of the sources.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"));
    let config = config.expect("cbindgen.toml can be read");
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(folder.join("src/lib.rs"))
        .generate();
    let mut made = Vec::new();
    bindings.expect("a header can be made").write(&mut made);
    let made = String::from_utf8(made).expect("it is text");
    let path = folder.join("include/unjinja.h");
    if std::env::var_os("UNJINJA_UPDATE").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "include/unjinja.h is not that of the sources: UNJINJA_UPDATE=1 writes it anew"
    );
}
