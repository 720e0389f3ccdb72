//! The fields `exports` and `imports` of a package: which file stands behind a subpath.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::errors::{error, type_error};
use super::package::Package;
use super::paths::{is_url, percent_decode};
use super::{Kind, Resolver, Target};
use crate::OpError;

/// Who asks, for which field of which package.
pub(super) struct Lookup<'a> {
    pub(super) resolver: &'a Resolver,
    pub(super) package: &'a Package,
    pub(super) kind: Kind,
    /// ` imported from …`, or nothing.
    pub(super) from: String,
    /// The URL of the importer, if there is one.
    pub(super) importer: Option<String>,
    is_imports: bool,
}

/// What a target leads to. `Undefined` lets the next condition be tried, `Null` forbids the subpath.
enum Found {
    File(PathBuf),
    Other(Target),
    Null,
    Undefined,
}

impl<'a> Lookup<'a> {
    pub(super) fn exports(
        resolver: &'a Resolver,
        package: &'a Package,
        kind: Kind,
        importer: Option<(&str, &str)>,
    ) -> Self {
        let from = importer.map_or(String::new(), |(file, _)| format!(" imported from {file}"));
        let importer = importer.map(|(_, url)| url.to_owned());
        Self { resolver, package, kind, from, importer, is_imports: false }
    }

    pub(super) fn imports(
        resolver: &'a Resolver,
        package: &'a Package,
        kind: Kind,
        importer: (&str, &str),
    ) -> Self {
        Self { is_imports: true, ..Self::exports(resolver, package, kind, Some(importer)) }
    }

    /// The file behind a subpath, which is `.` or begins with `./`.
    pub(super) fn subpath(&self, exports: &Value, subpath: &str) -> Result<PathBuf, OpError> {
        let found = match exports {
            Value::Object(map) if !self.is_conditions(map)? => self.matched(map, subpath)?,
            _ if subpath == "." => self.target(exports, ".", None)?,
            _ => Found::Undefined,
        };
        if let Found::File(path) = found {
            return Ok(path);
        }
        let package = self.package.file.display();
        let message = if subpath == "." {
            format!("No \"exports\" main defined in {package}{}", self.from)
        } else {
            format!(
                "Package subpath '{subpath}' is not defined by \"exports\" in {package}{}",
                self.from
            )
        };
        Err(error("ERR_PACKAGE_PATH_NOT_EXPORTED", message))
    }

    /// What stands behind a name that begins with `#`. None if the package does not define it.
    pub(super) fn name(
        &self,
        imports: &Map<String, Value>,
        name: &str,
    ) -> Result<Option<Target>, OpError> {
        Ok(match self.matched(imports, name)? {
            Found::File(path) => Some(Target::file(path)),
            Found::Other(target) => Some(target),
            Found::Null | Found::Undefined => None,
        })
    }

    /// Whether the object has conditions for the main entry rather than subpaths.
    fn is_conditions(&self, map: &Map<String, Value>) -> Result<bool, OpError> {
        let subpaths = map.keys().filter(|key| key.starts_with('.')).count();
        if subpaths != 0 && subpaths != map.len() {
            return Err(self.invalid_config(
                "\"exports\" cannot contain some keys starting with '.' and some not. The exports \
                 object must either be an object of package subpath keys or an object of main entry \
                 condition name keys only.",
            ));
        }
        Ok(subpaths == 0)
    }

    /// The entry of a map for a key: the same key, or else the pattern that says most about it.
    fn matched(&self, map: &Map<String, Value>, key: &str) -> Result<Found, OpError> {
        if !key.contains('*')
            && !key.ends_with('/')
            && let Some(target) = map.get(key)
        {
            return self.target(target, key, None);
        }
        let mut best: Option<(&str, &str, &Value)> = None;
        for (pattern, target) in map {
            if let Some(middle) = pattern_match(pattern, key)
                && best.is_none_or(|(known, ..)| is_more_specific(pattern, known))
            {
                best = Some((pattern, middle, target));
            }
        }
        match best {
            Some((pattern, middle, target)) => self.target(target, pattern, Some((middle, key))),
            None => Ok(Found::Undefined),
        }
    }

    /// Follows a target; `star` is what the star of the pattern stands for, and the whole request.
    fn target(
        &self,
        target: &Value,
        key: &str,
        star: Option<(&str, &str)>,
    ) -> Result<Found, OpError> {
        match target {
            Value::String(text) => self.text(text, key, star),
            Value::Null => Ok(Found::Null),
            Value::Array(list) => self.first_of(list, key, star),
            Value::Object(map) => {
                if map.keys().any(|name| is_index(name)) {
                    let field = self.field();
                    return Err(self.invalid_config(&format!(
                        "\"{field}\" cannot contain numeric property keys."
                    )));
                }
                for (condition, target) in map {
                    if condition == "default"
                        || self.kind.conditions().contains(&condition.as_str())
                    {
                        match self.target(target, key, star)? {
                            Found::Undefined => {}
                            found => return Ok(found),
                        }
                    }
                }
                Ok(Found::Undefined)
            }
            Value::Bool(_) | Value::Number(_) => Err(self.invalid_target(&target.to_string(), key)),
        }
    }

    /// The first target of a list that is valid and leads somewhere.
    fn first_of(
        &self,
        list: &[Value],
        key: &str,
        star: Option<(&str, &str)>,
    ) -> Result<Found, OpError> {
        let mut last = Ok(if list.is_empty() { Found::Null } else { Found::Undefined });
        for target in list {
            last = self.target(target, key, star);
            match &last {
                Ok(Found::Undefined | Found::Null) => {}
                Err(error) if error.code.as_deref() == Some("ERR_INVALID_PACKAGE_TARGET") => {}
                _ => break,
            }
        }
        last
    }

    fn text(&self, text: &str, key: &str, star: Option<(&str, &str)>) -> Result<Found, OpError> {
        let filled = match star {
            Some((middle, _)) => text.replace('*', middle),
            None => text.to_owned(),
        };
        let Some(inside) = text.strip_prefix("./") else {
            if self.is_imports
                && !text.starts_with("../")
                && !text.starts_with('/')
                && !is_url(text)
            {
                let from = self.package.file.to_string_lossy();
                return Ok(Found::Other(self.resolver.bare(&filled, &from, self.kind)?));
            }
            return Err(self.invalid_target(text, key));
        };
        if has_forbidden_segment(inside) {
            return Err(self.invalid_target(text, key));
        }
        if let Some((middle, request)) = star
            && has_forbidden_segment(middle)
        {
            return Err(type_error(
                "ERR_INVALID_MODULE_SPECIFIER",
                format!(
                    "Invalid module \"{request}\" request is not a valid match in pattern \"{key}\" \
                     for the \"{}\" resolution of {}{}",
                    self.field(),
                    self.package.file.display(),
                    self.from
                ),
            ));
        }
        let inside = filled.strip_prefix("./").unwrap_or(&filled);
        Ok(Found::File(self.package.dir().join(percent_decode(inside))))
    }

    fn field(&self) -> &'static str {
        if self.is_imports { "imports" } else { "exports" }
    }

    fn invalid_target(&self, target: &str, key: &str) -> OpError {
        let field = self.field();
        let package = self.package.file.display();
        let subject = if key == "." && !self.is_imports {
            format!(
                "Invalid \"{field}\" main target \"{target}\" defined in the package config {package}"
            )
        } else {
            format!(
                "Invalid \"{field}\" target \"{target}\" defined for '{key}' in the package config {package}"
            )
        };
        let is_bare = !self.is_imports && !target.is_empty() && !target.starts_with("./");
        let hint = if is_bare { "; targets must start with \"./\"" } else { "" };
        error("ERR_INVALID_PACKAGE_TARGET", format!("{subject}{}{hint}", self.from))
    }

    fn invalid_config(&self, reason: &str) -> OpError {
        let importer =
            self.importer.as_ref().map_or(String::new(), |url| format!(" while importing {url}"));
        error(
            "ERR_INVALID_PACKAGE_CONFIG",
            format!("Invalid package config {}{importer}. {reason}", self.package.file.display()),
        )
    }
}

/// What the star of a pattern stands for in a key.
fn pattern_match<'k>(pattern: &str, key: &'k str) -> Option<&'k str> {
    let (head, tail) = pattern.split_once('*')?;
    // A pattern with two stars is none.
    if tail.contains('*') || key.len() < pattern.len() {
        return None;
    }
    key.strip_prefix(head)?.strip_suffix(tail)
}

/// Longer before the star says more, and then longer as a whole.
fn is_more_specific(pattern: &str, than: &str) -> bool {
    let rank =
        |pattern: &str| (pattern.find('*').map_or(pattern.len(), |at| at + 1), pattern.len());
    rank(pattern) > rank(than)
}

/// Whether a key looks like the index of an array, which would come before its elder siblings in an object.
fn is_index(key: &str) -> bool {
    key.parse::<u32>().is_ok_and(|index| index.to_string() == key)
}

/// Whether a path goes up, stays, or enters `node_modules`, plainly or percent-encoded.
fn has_forbidden_segment(path: &str) -> bool {
    path.split(['/', '\\']).any(|segment| {
        let segment = percent_decode(segment).to_ascii_lowercase();
        matches!(segment.as_str(), "." | ".." | "node_modules")
    })
}
