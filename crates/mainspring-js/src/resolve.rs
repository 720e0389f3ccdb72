//! Which file a specifier means: the rules of Node, for `require` and for `import`.
//!
//! ```
//! use mainspring_js::resolve::{Kind, Resolver};
//!
//! let resolver = Resolver::new(|name| name == "fs", Vec::new());
//! let target = resolver.resolve("node:fs", "/app/main.js", Kind::Require)?;
//! assert_eq!(target.url(), "node:fs");
//! # Ok::<(), mainspring_js::OpError>(())
//! ```

mod builtins;
mod data;
mod errors;
mod exports;
mod import;
mod package;
mod packages;
mod paths;
mod require;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use url::Url;

use self::builtins::is_allowed;
use self::data::{data_format, data_text};
use self::errors::{invalid_json, not_found, type_error};
use self::package::Packages;
use self::paths::{current_dir, normalize, parent_file};
pub(crate) use self::paths::{file_path, file_url, read};
use crate::{Host, OpError, Value};

/// Who asks for a module. The rules differ.
///
/// ```
/// use mainspring_js::resolve::{Kind, Resolver};
///
/// let resolver = Resolver::new(|name| name == "fs", Vec::new());
/// // `require` takes what has a slash for a path, `import` for a URL.
/// assert!(resolver.resolve("file:///no/such.mjs", "/app/main.js", Kind::Import).is_err());
/// assert!(resolver.resolve("fs", "/app/main.js", Kind::Require).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `require`: extensions may be left out, directories have an index.
    Require,
    /// `import`: specifiers are URLs, and say all.
    Import,
}

impl Kind {
    /// The conditions of `exports` that hold, beside `default`.
    fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::Require => &["node", "require", "module-sync", "node-addons"],
            Self::Import => &["node", "import", "module-sync", "node-addons"],
        }
    }
}

/// What a specifier means.
///
/// ```
/// use mainspring_js::resolve::{Kind, Resolver, Target};
///
/// let resolver = Resolver::new(|name| name == "fs", Vec::new());
/// let target = resolver.resolve("node:fs", "/app/main.js", Kind::Import)?;
/// assert_eq!(target, Target::Builtin("fs".into()));
/// # Ok::<(), mainspring_js::OpError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A module that is built in, by its name without `node:`.
    Builtin(String),
    /// A file.
    File {
        /// Its real path.
        path: PathBuf,
        /// The query and the fragment of the specifier. Each makes another module of the same file.
        suffix: String,
    },
    /// A `data:` URL.
    Data(String),
}

impl Target {
    fn file(path: PathBuf) -> Self {
        Self::File { path, suffix: String::new() }
    }

    /// The URL of the module, which is its identity.
    ///
    /// ```
    /// use mainspring_js::resolve::Target;
    ///
    /// let target = Target::File { path: "/app/a b.js".into(), suffix: "?x".into() };
    /// assert_eq!(target.url(), "file:///app/a%20b.js?x");
    /// ```
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Builtin(name) => format!("node:{name}"),
            Self::File { path, suffix } => file_url(path) + suffix,
            Self::Data(url) => url.clone(),
        }
    }

    /// The source of the module.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    ///
    /// ```
    /// let target = mainspring_js::resolve::Target::Data("data:text/javascript,export default 1".into());
    /// assert_eq!(target.source()?, "export default 1");
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn source(&self) -> Result<String, OpError> {
        match self {
            Self::File { path, .. } => read(path),
            Self::Data(url) => data_text(url),
            Self::Builtin(name) => {
                Ok(crate::builtin(name).map_or(String::new(), |builtin| builtin.source.into()))
            }
        }
    }
}

/// How the source of a module is to be read.
///
/// ```
/// use mainspring_js::resolve::{Format, Kind, Resolver, Target};
///
/// let resolver = Resolver::new(|_| false, Vec::new());
/// let target = Target::File { path: "/app/main.mjs".into(), suffix: String::new() };
/// assert_eq!(resolver.format(&target, Kind::Import)?, Format::Module);
/// # Ok::<(), mainspring_js::OpError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A CommonJS module.
    CommonJs,
    /// An ES module.
    Module,
    /// JSON.
    Json,
    /// A module that is built in.
    Builtin,
    /// Nothing but the syntax of the source tells whether it is CommonJS or an ES module.
    Unsaid,
}

/// Resolves specifiers, and remembers the packages that it has seen.
///
/// ```
/// use mainspring_js::resolve::{Kind, Resolver};
///
/// let resolver = Resolver::new(|name| name == "fs", Vec::new());
/// let target = resolver.resolve("fs", "/app/main.js", Kind::Require)?;
/// assert_eq!(target.url(), "node:fs");
/// # Ok::<(), mainspring_js::OpError>(())
/// ```
pub struct Resolver {
    packages: Packages,
    is_builtin: Box<dyn Fn(&str) -> bool>,
    /// Where `require` looks after all `node_modules`.
    global_dirs: Vec<PathBuf>,
}

impl Resolver {
    /// A resolver for scripts that have these built-in modules. `require` looks into the global directories
    /// after all others.
    ///
    /// ```
    /// let resolver = mainspring_js::resolve::Resolver::new(|name| name == "fs", Vec::new());
    /// assert!(resolver.is_builtin("fs"));
    /// ```
    pub fn new(is_builtin: impl Fn(&str) -> bool + 'static, global_dirs: Vec<PathBuf>) -> Self {
        Self { packages: Packages::default(), is_builtin: Box::new(is_builtin), global_dirs }
    }

    /// The resolver of a script: it knows the modules that the options allow.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use mainspring_js::resolve::Resolver;
    ///
    /// assert!(Resolver::of(layer.host()).is_builtin("timers"));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn of(host: &Host) -> Rc<Self> {
        host.resource(|| {
            let options = host.options().clone();
            let global_dirs = std::env::var_os("NODE_PATH").unwrap_or_default();
            let global_dirs = std::env::split_paths(&global_dirs).filter(|dir| dir.is_absolute());
            Self::new(move |name| is_allowed(&options, name), global_dirs.collect())
        })
    }

    /// What a specifier means in a file or module, given by its path or URL.
    ///
    /// # Errors
    ///
    /// What Node throws, with its code. The message for `MODULE_NOT_FOUND` is without the stack of requires.
    ///
    /// ```
    /// use mainspring_js::resolve::{Kind, Resolver};
    ///
    /// let resolver = Resolver::new(|name| name == "fs", Vec::new());
    /// let error = resolver.resolve("./nothing", "/no/such/main.js", Kind::Require).unwrap_err();
    /// assert_eq!(error.code.as_deref(), Some("MODULE_NOT_FOUND"));
    /// ```
    pub fn resolve(&self, specifier: &str, parent: &str, kind: Kind) -> Result<Target, OpError> {
        let parent = parent_file(parent);
        match kind {
            Kind::Require => self.require(specifier, &parent),
            Kind::Import => self.import(specifier, &parent).map_err(|error| {
                let hint = self.hint(&error, specifier, &parent);
                OpError { message: format!("{}{hint}", error.message), ..error }
            }),
        }
    }

    /// The URL that a specifier means in a module, whether or not there is something.
    ///
    /// # Errors
    ///
    /// As for [`resolve`](Self::resolve), but not if the file is missing.
    ///
    /// ```
    /// use mainspring_js::resolve::Resolver;
    ///
    /// let resolver = Resolver::new(|name| name == "fs", Vec::new());
    /// let url = resolver.resolve_url("./nothing.mjs", "file:///no/such/main.mjs")?;
    /// assert_eq!(url, "file:///no/such/nothing.mjs");
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn resolve_url(&self, specifier: &str, parent: &str) -> Result<String, OpError> {
        if Url::parse(specifier).is_ok_and(|url| url.scheme() != "file") {
            return Ok(specifier.into());
        }
        match self.import(specifier, &parent_file(parent)) {
            Ok(target) => Ok(target.url()),
            Err(error) => match error.properties.iter().find(|(key, _)| key == "url") {
                Some((_, Value::String(url))) => Ok(url.clone()),
                _ => Err(error),
            },
        }
    }

    /// The file that a program is started with: a path whose extension may be left out.
    ///
    /// # Errors
    ///
    /// If there is no such file.
    ///
    /// ```
    /// use mainspring_js::resolve::Resolver;
    /// use std::path::Path;
    ///
    /// let resolver = Resolver::new(|_| false, Vec::new());
    /// assert!(resolver.main(Path::new("/no/such/file")).is_err());
    /// ```
    pub fn main(&self, path: &Path) -> Result<PathBuf, OpError> {
        let trailing = path.to_string_lossy().ends_with('/');
        let path = normalize(&current_dir().join(path));
        let request = path.to_string_lossy();
        self.file_or_dir(&path, trailing, &request)?.ok_or_else(|| not_found(&request))
    }

    /// How to read a module that was resolved.
    ///
    /// # Errors
    ///
    /// If `import` cannot know it by the extension.
    ///
    /// ```
    /// use mainspring_js::resolve::{Format, Kind, Resolver, Target};
    ///
    /// let resolver = Resolver::new(|_| false, Vec::new());
    /// let target = Target::File { path: "/app/data.json".into(), suffix: String::new() };
    /// assert_eq!(resolver.format(&target, Kind::Require)?, Format::Json);
    /// # Ok::<(), mainspring_js::OpError>(())
    /// ```
    pub fn format(&self, target: &Target, kind: Kind) -> Result<Format, OpError> {
        let path = match target {
            Target::Builtin(_) => return Ok(Format::Builtin),
            Target::Data(url) => return data_format(url),
            Target::File { path, .. } => path,
        };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("mjs") => Ok(Format::Module),
            Some("cjs") => Ok(Format::CommonJs),
            Some("json") => Ok(Format::Json),
            None if kind == Kind::Require => Ok(Format::CommonJs),
            None | Some("js") => {
                let package =
                    self.packages.around(path).map_err(|invalid| invalid_json(&invalid, ""))?;
                Ok(match package.and_then(|package| package.is_module) {
                    Some(true) => Format::Module,
                    Some(false) => Format::CommonJs,
                    None => Format::Unsaid,
                })
            }
            Some(_) if kind == Kind::Require => Ok(Format::CommonJs),
            Some(extension) => Err(type_error(
                "ERR_UNKNOWN_FILE_EXTENSION",
                format!("Unknown file extension \".{extension}\" for {}", path.display()),
            )),
        }
    }

    /// The `package.json` that says of what format a file is, if one does.
    ///
    /// ```
    /// use mainspring_js::resolve::Resolver;
    /// use std::path::Path;
    ///
    /// let resolver = Resolver::new(|_| false, Vec::new());
    /// assert_eq!(resolver.package_of(Path::new("/no/such/main.js")), None);
    /// ```
    #[must_use]
    pub fn package_of(&self, file: &Path) -> Option<PathBuf> {
        let package = self.packages.around(file).ok()??;
        package.is_module.map(|_| package.file.clone())
    }

    /// Whether a module of that name is built in, for this script.
    ///
    /// ```
    /// let resolver = mainspring_js::resolve::Resolver::new(|name| name == "fs", Vec::new());
    /// assert!(!resolver.is_builtin("net"));
    /// ```
    #[must_use]
    pub fn is_builtin(&self, name: &str) -> bool {
        (self.is_builtin)(name)
    }
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
