//! Lists the files of the playground's page, which go into the program where it is built with them.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_PLAYGROUND").is_none() {
        return;
    }
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let page = Path::new(&root).join("../playground/dist");
    println!("cargo::rerun-if-changed={}", page.display());
    let Ok(page) = page.canonicalize() else {
        println!("cargo::error=the page is not there yet: build it first, with `playground/build`");
        return;
    };
    let mut names: Vec<String> = fs::read_dir(&page)
        .expect("the page is a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    let files = names.iter().map(|name| {
        let path = page.join(name);
        format!("({name:?}, include_bytes!({path:?}).as_slice()),\n")
    });
    let files: String = files.collect();
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&out).join("page.rs"), format!("&[\n{files}]\n"))
        .expect("the list can be written");
}
