//! The rules of `require`.

use std::path::{Path, PathBuf};

use super::errors::{error, not_found};
use super::exports::Lookup;
use super::package::Package;
use super::packages::split_package;
use super::paths::{is_relative, normalize, real_file};
use super::{Kind, Resolver, Target};
use crate::OpError;

impl Resolver {
    pub(super) fn require(&self, specifier: &str, parent: &Path) -> Result<Target, OpError> {
        if let Some(builtin) = self.builtin(specifier)? {
            return Ok(builtin);
        }
        let dir = parent.parent().unwrap_or(parent);
        if is_relative(specifier) || specifier.starts_with('/') {
            let path = normalize(&dir.join(specifier));
            let found = self.file_or_dir(&path, names_directory(specifier), specifier)?;
            return found.map(Target::file).ok_or_else(|| not_found(specifier));
        }
        let from = parent.to_string_lossy();
        if specifier.starts_with('#')
            && let Some(package) = self.around(parent, specifier, Kind::Require)?
            && package.imports.is_some()
        {
            let target = self.package_import(specifier, parent, Kind::Require)?;
            return existing(target, &package);
        }
        if let Some((path, package)) = self.own_package(specifier, parent, Kind::Require)? {
            return existing(Target::file(path), &package);
        }
        for modules in self.module_dirs(dir).chain(self.global_dirs.iter().cloned()) {
            if !modules.is_dir() {
                continue;
            }
            if let Some((name, subpath)) = split_package(specifier)
                && let Some(package) =
                    self.at(&modules.join(name), specifier, &from, Kind::Require)?
                && let Some(exports) = &package.exports
            {
                let path = Lookup::exports(self, &package, Kind::Require, None)
                    .subpath(exports, &subpath)?;
                return existing(Target::file(path), &package);
            }
            let path = normalize(&modules.join(specifier));
            if let Some(found) = self.file_or_dir(&path, names_directory(specifier), specifier)? {
                return Ok(Target::file(found));
            }
        }
        Err(self.missing(specifier).unwrap_or_else(|| not_found(specifier)))
    }

    /// A file as `require` finds it: itself, with an extension, or the main file of a directory.
    pub(super) fn file_or_dir(
        &self,
        path: &Path,
        only_dir: bool,
        request: &str,
    ) -> Result<Option<PathBuf>, OpError> {
        if !only_dir && let Some(file) = with_extensions(path) {
            return Ok(Some(file));
        }
        if !path.is_dir() {
            return Ok(None);
        }
        let index = || with_extensions(&path.join("index"));
        let Some(package) = self.at(path, request, "", Kind::Require)? else { return Ok(index()) };
        let Some(main) = &package.main else { return Ok(index()) };
        let main = normalize(&path.join(main));
        let found =
            with_extensions(&main).or_else(|| with_extensions(&main.join("index"))).or_else(index);
        if found.is_some() {
            return Ok(found);
        }
        let message = format!(
            "Cannot find module '{}'. Please verify that the package.json has a valid \"main\" entry",
            main.display()
        );
        Err(error("MODULE_NOT_FOUND", message)
            .with("path", package.file.to_string_lossy().into_owned())
            .with("requestPath", request))
    }
}

/// A file, with its extension or without.
pub(super) fn with_extensions(path: &Path) -> Option<PathBuf> {
    real_file(path).or_else(|| {
        let name = path.file_name()?;
        ["js", "json"].into_iter().find_map(|extension| {
            let mut name = name.to_owned();
            name.push(".");
            name.push(extension);
            real_file(&path.with_file_name(name))
        })
    })
}

/// A file that `exports` or `imports` leads to has to be there.
fn existing(target: Target, package: &Package) -> Result<Target, OpError> {
    let Target::File { path, suffix } = target else { return Ok(target) };
    match real_file(&path) {
        Some(path) => Ok(Target::File { path, suffix }),
        None => Err(not_found(&path.to_string_lossy())
            .with("path", package.file.to_string_lossy().into_owned())),
    }
}

/// Whether a path can only mean a directory.
pub(super) fn names_directory(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("" | "." | ".."))
}
