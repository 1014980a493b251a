//! `cargo xtask book`: builds the documentation as a book, after checking its links and the names of code in it.

use std::fs;
use std::path::Path;

use crate::process::{Invocation, root, target};
use crate::{install, links, names};

/// Checks all links and names and, unless `check_only` is set, builds the book.
pub fn run(check_only: bool) -> Result<(), String> {
    let pages = links::pages(&root())?;
    links::check(&root(), &pages)?;
    names::check(&root(), &pages)?;
    if check_only {
        return Ok(());
    }
    let (mdbook, folder) = (install::mdbook()?, target().join("book"));
    let build = Invocation::program(mdbook).and("build --dest-dir").argument(folder.to_string_lossy());
    if !build.succeeds() {
        return Err(format!("the book could not be built; run it again with: {build}"));
    }
    let failed = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "html") {
            lead_to_sources(&path).map_err(failed)?;
        }
    }
    println!("{}", folder.join("index.html").display());
    Ok(())
}

/// Adjusts links from `docs` to other files of the repository, since the book is one folder further down.
fn lead_to_sources(page: &Path) -> std::io::Result<()> {
    let text = fs::read_to_string(page)?;
    fs::write(page, text.replace("href=\"../", "href=\"../../"))
}
