//! The rules of `import`.

use std::path::Path;

use url::Url;

use super::errors::{error, not_found, type_error, unknown_builtin};
use super::paths::{file_url, is_relative, percent_decode, relative};
use super::{Kind, Resolver, Target};
use crate::OpError;

impl Resolver {
    pub(super) fn import(&self, specifier: &str, parent: &Path) -> Result<Target, OpError> {
        let from = parent.to_string_lossy();
        if is_relative(specifier) || specifier.starts_with('/') {
            let base = Url::from_file_path(parent).ok();
            let url = base.and_then(|base| base.join(specifier).ok());
            return url
                .map_or_else(|| Err(not_found(specifier)), |url| self.import_file(&url, &from));
        }
        if specifier.starts_with('#') {
            let target = self.package_import(specifier, parent, Kind::Import)?;
            return finalize(target, &from);
        }
        if let Ok(url) = Url::parse(specifier) {
            return match url.scheme() {
                "file" => self.import_file(&url, &from),
                "data" => Ok(Target::Data(specifier.into())),
                "node" => self.builtin(specifier)?.ok_or_else(|| unknown_builtin(specifier)),
                scheme => Err(error(
                    "ERR_UNSUPPORTED_ESM_URL_SCHEME",
                    format!(
                        "Only URLs with a scheme in: file, data, and node are supported by the default \
                         ESM loader. Received protocol '{scheme}:'"
                    ),
                )),
            };
        }
        finalize(self.bare(specifier, &from, Kind::Import)?, &from)
    }

    pub(super) fn import_file(&self, url: &Url, from: &str) -> Result<Target, OpError> {
        let text = url.path();
        let lower = text.to_ascii_lowercase();
        if lower.contains("%2f") || lower.contains("%5c") {
            return Err(type_error(
                "ERR_INVALID_MODULE_SPECIFIER",
                format!(
                    "Invalid module \"{text}\" must not include encoded \"/\" or \"\\\" characters \
                     imported from {from}"
                ),
            ));
        }
        if url.host_str().is_some_and(|host| host != "localhost") {
            return Err(type_error(
                "ERR_INVALID_FILE_URL_HOST",
                format!("File URL host must be \"localhost\" or empty on {}", std::env::consts::OS),
            ));
        }
        let query = url.query().map_or(String::new(), |query| format!("?{query}"));
        let fragment = url.fragment().map_or(String::new(), |fragment| format!("#{fragment}"));
        let target = Target::File { path: percent_decode(text).into(), suffix: query + &fragment };
        finalize(target, from)
    }

    /// A line for an import that would be found if it were a `require`.
    pub(super) fn hint(&self, error: &OpError, specifier: &str, parent: &Path) -> String {
        let codes = [Some("ERR_MODULE_NOT_FOUND"), Some("ERR_UNSUPPORTED_DIR_IMPORT")];
        if !codes.contains(&error.code.as_deref()) {
            return String::new();
        }
        let Ok(Target::File { path, .. }) = self.require(specifier, parent) else {
            return String::new();
        };
        let found = if is_relative(specifier) {
            relative(parent.parent().unwrap_or(parent), &path)
        } else {
            let path = path.to_string_lossy();
            path.rsplit_once("/node_modules/")
                .map_or(path.clone().into_owned(), |(_, path)| path.into())
        };
        format!("\nDid you mean to import \"{found}\"?")
    }
}

/// Checks that `import` may have a file, and gives its real path.
fn finalize(target: Target, from: &str) -> Result<Target, OpError> {
    let Target::File { path, suffix } = target else { return Ok(target) };
    let shown = path.to_string_lossy();
    let slash = if shown.ends_with('/') { "/" } else { "" };
    let url = || format!("{}{slash}{suffix}", file_url(&path));
    let metadata = std::fs::metadata(&path);
    if shown.ends_with('/') || metadata.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
        return Err(error(
            "ERR_UNSUPPORTED_DIR_IMPORT",
            format!(
                "Directory import '{shown}' is not supported resolving ES modules imported from {from}"
            ),
        )
        .with("url", url()));
    }
    if metadata.is_err() {
        return Err(error(
            "ERR_MODULE_NOT_FOUND",
            format!("Cannot find module '{shown}' imported from {from}"),
        )
        .with("url", url()));
    }
    let path = std::fs::canonicalize(&path).unwrap_or(path);
    Ok(Target::File { path, suffix })
}
