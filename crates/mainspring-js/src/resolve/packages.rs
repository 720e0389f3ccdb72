//! Specifiers that name packages.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::errors::{error, invalid_package, type_error};
use super::exports::Lookup;
use super::package::Package;
use super::paths::{file_url, normalize, percent_decode};
use super::require::with_extensions;
use super::{Kind, Resolver, Target};
use crate::OpError;

impl Resolver {
    /// A specifier that names a package, or something built in. The file need not exist.
    pub(super) fn bare(&self, specifier: &str, from: &str, kind: Kind) -> Result<Target, OpError> {
        if let Some(builtin) = self.builtin(specifier)? {
            return Ok(builtin);
        }
        let Some((name, subpath)) = split_package(specifier) else {
            return Err(type_error(
                "ERR_INVALID_MODULE_SPECIFIER",
                format!(
                    "Invalid module \"{specifier}\" is not a valid package name imported from {from}"
                ),
            ));
        };
        let parent = Path::new(from);
        if let Some((path, _)) = self.own_package(specifier, parent, kind)? {
            return Ok(Target::file(path));
        }
        for modules in self.module_dirs(parent.parent().unwrap_or(parent)) {
            let root = modules.join(name);
            if !root.is_dir() {
                continue;
            }
            let package = self.at(&root, specifier, from, kind)?;
            if let Some(package) = &package
                && let Some(exports) = &package.exports
            {
                let url = file_url(parent);
                let lookup = Lookup::exports(self, package, kind, Some((from, &url)));
                return lookup.subpath(exports, &subpath).map(Target::file);
            }
            if subpath != "." {
                return Ok(Target::file(root.join(percent_decode(&subpath[2..]))));
            }
            return main_file(&root, package.as_deref(), from).map(Target::file);
        }
        Err(self.missing(specifier).unwrap_or_else(|| {
            error(
                "ERR_MODULE_NOT_FOUND",
                format!("Cannot find package '{name}' imported from {from}"),
            )
        }))
    }

    /// A package that refers to itself by its name.
    pub(super) fn own_package(
        &self,
        specifier: &str,
        parent: &Path,
        kind: Kind,
    ) -> Result<Option<(PathBuf, Rc<Package>)>, OpError> {
        let Some((name, subpath)) = split_package(specifier) else { return Ok(None) };
        let Some(package) = self.around(parent, specifier, kind)? else { return Ok(None) };
        let Some(exports) = &package.exports else { return Ok(None) };
        if package.name.as_deref() != Some(name) {
            return Ok(None);
        }
        let from = (&*parent.to_string_lossy(), &*file_url(parent));
        let path = Lookup::exports(self, &package, kind, Some(from)).subpath(exports, &subpath)?;
        Ok(Some((path, package)))
    }

    /// A specifier that begins with `#`.
    pub(super) fn package_import(
        &self,
        name: &str,
        parent: &Path,
        kind: Kind,
    ) -> Result<Target, OpError> {
        let from = parent.to_string_lossy();
        if name == "#" || name.starts_with("#/") || name.ends_with('/') {
            return Err(type_error(
                "ERR_INVALID_MODULE_SPECIFIER",
                format!(
                    "Invalid module \"{name}\" is not a valid internal imports specifier name \
                     imported from {from}"
                ),
            ));
        }
        let package = self.around(parent, name, kind)?;
        if let Some(package) = &package
            && let Some(imports) = &package.imports
            && let Some(target) = Lookup::imports(self, package, kind, (&from, &file_url(parent)))
                .name(imports, name)?
        {
            return Ok(target);
        }
        let place = package
            .map_or(String::new(), |package| format!(" in package {}", package.file.display()));
        Err(type_error(
            "ERR_PACKAGE_IMPORT_NOT_DEFINED",
            format!(
                "Package import specifier \"{name}\" is not defined{place} imported from {from}"
            ),
        ))
    }

    /// The directories that may hold packages for the files of a directory, the nearest first.
    pub(super) fn module_dirs<'a>(&self, dir: &'a Path) -> impl Iterator<Item = PathBuf> + use<'a> {
        dir.ancestors()
            .filter(|dir| dir.file_name().is_none_or(|name| name != "node_modules"))
            .map(|dir| dir.join("node_modules"))
    }

    pub(super) fn at(
        &self,
        dir: &Path,
        specifier: &str,
        from: &str,
        kind: Kind,
    ) -> Result<Option<Rc<Package>>, OpError> {
        self.packages.at(dir).map_err(|invalid| invalid_package(&invalid, specifier, from, kind))
    }

    pub(super) fn around(
        &self,
        file: &Path,
        specifier: &str,
        kind: Kind,
    ) -> Result<Option<Rc<Package>>, OpError> {
        let read = self.packages.around(file);
        read.map_err(|invalid| invalid_package(&invalid, specifier, &file.to_string_lossy(), kind))
    }
}

/// The name of a package and the subpath within it, `.` or with `./` in front.
pub(super) fn split_package(specifier: &str) -> Option<(&str, String)> {
    let slashes = if specifier.starts_with('@') { 2 } else { 1 };
    let end = specifier.match_indices('/').nth(slashes - 1).map_or(specifier.len(), |(at, _)| at);
    let name = &specifier[..end];
    let is_whole = slashes == 1 || name.contains('/');
    if name.is_empty() || name.starts_with('.') || !is_whole || name.contains(['\\', '%']) {
        return None;
    }
    Some((name, format!(".{}", &specifier[end..])))
}

/// The main file of a package without `exports`, for `import`.
fn main_file(root: &Path, package: Option<&Package>, from: &str) -> Result<PathBuf, OpError> {
    let main =
        package.and_then(|package| package.main.as_ref()).map(|main| normalize(&root.join(main)));
    let candidates = main.iter().flat_map(|main| [main.clone(), main.join("index")]);
    for candidate in candidates.chain([root.join("index")]) {
        if let Some(file) = with_extensions(&candidate) {
            return Ok(file);
        }
    }
    let wanted = main.unwrap_or_else(|| root.join("index.js"));
    Err(error(
        "ERR_MODULE_NOT_FOUND",
        format!("Cannot find package '{}' imported from {from}", wanted.display()),
    ))
}
