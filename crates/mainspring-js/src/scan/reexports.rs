//! The exports of a CommonJS module with those of the modules that it passes on.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::commonjs_exports;
use crate::resolve::{Format, Kind, Resolver, Target};

/// The names that `import` can have of a CommonJS module, beside `default`.
///
/// ```
/// use mainspring_js::{resolve::Resolver, scan::commonjs_names};
/// use std::path::Path;
///
/// let resolver = Resolver::new(|_| false, Vec::new());
/// let names = commonjs_names(&resolver, Path::new("/app/main.cjs"), "exports.a = 1;");
/// assert_eq!(names, ["a"]);
/// ```
#[must_use]
pub fn commonjs_names(resolver: &Resolver, path: &Path, source: &str) -> Vec<String> {
    let mut names = Vec::new();
    collect(resolver, path, source, &mut names, &mut HashSet::new());
    names
}

fn collect(
    resolver: &Resolver,
    path: &Path,
    source: &str,
    names: &mut Vec<String>,
    seen: &mut HashSet<PathBuf>,
) {
    if !seen.insert(path.into()) {
        return;
    }
    let exports = commonjs_exports(source);
    for name in exports.names {
        if name != "default" && !names.contains(&name) {
            names.push(name);
        }
    }
    for specifier in exports.reexports {
        // What cannot be found fails when the module is run.
        let Ok(target) = resolver.resolve(&specifier, &path.to_string_lossy(), Kind::Require)
        else {
            continue;
        };
        let format = resolver.format(&target, Kind::Require);
        if let Target::File { path, .. } = &target
            && matches!(format, Ok(Format::CommonJs | Format::Unsaid))
            && let Ok(source) = std::fs::read_to_string(path)
        {
            collect(resolver, path, &source, names, seen);
        }
    }
}
