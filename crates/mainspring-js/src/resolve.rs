//! Which file a specifier means: the rules of Node, for `require` and for `import`.

mod exports;
mod package;

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use url::Url;

use self::exports::Lookup;
use self::package::{Invalid, Package, Packages};
use crate::ops::errno::system_error;
use crate::{Global, Host, OpError, Options, Value};

/// Who asks for a module. The rules differ.
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
pub struct Resolver {
    packages: Packages,
    is_builtin: Box<dyn Fn(&str) -> bool>,
    /// Where `require` looks after all `node_modules`.
    global_dirs: Vec<PathBuf>,
}

impl Resolver {
    /// A resolver for scripts that have these built-in modules. `require` looks into the global directories
    /// after all others.
    pub fn new(is_builtin: impl Fn(&str) -> bool + 'static, global_dirs: Vec<PathBuf>) -> Self {
        Self { packages: Packages::default(), is_builtin: Box::new(is_builtin), global_dirs }
    }

    /// The resolver of a script: it knows the modules that the options allow.
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

    /// A line for an import that would be found if it were a `require`.
    fn hint(&self, error: &OpError, specifier: &str, parent: &Path) -> String {
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

    /// The URL that a specifier means in a module, whether or not there is something.
    ///
    /// # Errors
    ///
    /// As for [`resolve`](Self::resolve), but not if the file is missing.
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
    #[must_use]
    pub fn package_of(&self, file: &Path) -> Option<PathBuf> {
        let package = self.packages.around(file).ok()??;
        package.is_module.map(|_| package.file.clone())
    }

    /// Whether a module of that name is built in, for this script.
    #[must_use]
    pub fn is_builtin(&self, name: &str) -> bool {
        (self.is_builtin)(name)
    }

    fn require(&self, specifier: &str, parent: &Path) -> Result<Target, OpError> {
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

    fn import(&self, specifier: &str, parent: &Path) -> Result<Target, OpError> {
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

    fn import_file(&self, url: &Url, from: &str) -> Result<Target, OpError> {
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

    /// A specifier that names a package, or something built in. The file need not exist.
    fn bare(&self, specifier: &str, from: &str, kind: Kind) -> Result<Target, OpError> {
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

    /// The built-in module that a specifier names.
    fn builtin(&self, specifier: &str) -> Result<Option<Target>, OpError> {
        let name = specifier.strip_prefix("node:");
        if (self.is_builtin)(name.unwrap_or(specifier)) {
            return Ok(Some(Target::Builtin(name.unwrap_or(specifier).into())));
        }
        if name.is_some() { Err(unknown_builtin(specifier)) } else { Ok(None) }
    }

    /// The error for a module of Node that does not exist here, or not for this script.
    fn missing(&self, specifier: &str) -> Option<OpError> {
        let root = specifier.split('/').next().unwrap_or(specifier);
        let is_withheld = crate::builtin(specifier).is_some_and(|builtin| builtin.is_public());
        let is_known = is_withheld || NODE_ONLY.contains(&root);
        is_known.then(|| unknown_builtin(&format!("node:{specifier}")))
    }

    /// A package that refers to itself by its name.
    fn own_package(
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
    fn package_import(&self, name: &str, parent: &Path, kind: Kind) -> Result<Target, OpError> {
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

    /// A file as `require` finds it: itself, with an extension, or the main file of a directory.
    fn file_or_dir(
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

    /// The directories that may hold packages for the files of a directory, the nearest first.
    fn module_dirs<'a>(&self, dir: &'a Path) -> impl Iterator<Item = PathBuf> + use<'a> {
        dir.ancestors()
            .filter(|dir| dir.file_name().is_none_or(|name| name != "node_modules"))
            .map(|dir| dir.join("node_modules"))
    }

    fn at(
        &self,
        dir: &Path,
        specifier: &str,
        from: &str,
        kind: Kind,
    ) -> Result<Option<Rc<Package>>, OpError> {
        self.packages.at(dir).map_err(|invalid| invalid_package(&invalid, specifier, from, kind))
    }

    fn around(
        &self,
        file: &Path,
        specifier: &str,
        kind: Kind,
    ) -> Result<Option<Rc<Package>>, OpError> {
        let read = self.packages.around(file);
        read.map_err(|invalid| invalid_package(&invalid, specifier, &file.to_string_lossy(), kind))
    }
}

/// Whether a name is that of a built-in module that a script with these options may have.
fn is_allowed(options: &Options, name: &str) -> bool {
    let is_public = crate::builtin(name).is_some_and(|builtin| builtin.is_public());
    let group = match name.split('/').next().unwrap_or(name) {
        "buffer" => Global::Encoding,
        "console" => Global::Console,
        "crypto" => Global::Crypto,
        "events" => Global::Events,
        "fs" => Global::Fs,
        "module" => Global::Modules,
        "net" => Global::Net,
        "os" | "process" => Global::Process,
        "perf_hooks" => Global::Performance,
        "timers" => Global::Timers,
        "url" => Global::Url,
        // What remains reaches nothing outside of the script.
        _ => return is_public,
    };
    is_public && options.has(group)
}

/// Modules of Node that scripts may ask for and that are not built in here.
const NODE_ONLY: &[&str] = &[
    "async_hooks",
    "child_process",
    "cluster",
    "constants",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "http",
    "http2",
    "https",
    "inspector",
    "punycode",
    "readline",
    "repl",
    "stream",
    "sys",
    "tls",
    "trace_events",
    "tty",
    "v8",
    "wasi",
    "worker_threads",
    "zlib",
];

/// The file that is the parent for resolution, given by its path, its URL, or as code without a file.
fn parent_file(parent: &str) -> PathBuf {
    file_path(parent).unwrap_or_else(|| current_dir().join("[eval]"))
}

/// The path of a file that is given by its path or URL.
pub(crate) fn file_path(file: &str) -> Option<PathBuf> {
    if file.starts_with('/') {
        return Some(file.into());
    }
    let url = Url::parse(file).ok().filter(|url| url.scheme() == "file")?;
    Some(percent_decode(url.path()).into())
}

fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| "/".into())
}

/// The URL of a file.
pub(crate) fn file_url(path: &Path) -> String {
    Url::from_file_path(path).map_or_else(|()| format!("file://{}", path.display()), Into::into)
}

/// The name of a package and the subpath within it, `.` or with `./` in front.
fn split_package(specifier: &str) -> Option<(&str, String)> {
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

/// A file, with its extension or without.
fn with_extensions(path: &Path) -> Option<PathBuf> {
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

/// The real path of a file that exists.
fn real_file(path: &Path) -> Option<PathBuf> {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
    is_file.then(|| std::fs::canonicalize(path).unwrap_or_else(|_| path.into()))
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

/// The format that the media type of a `data:` URL says.
fn data_format(url: &str) -> Result<Format, OpError> {
    let body = url.get(5..).unwrap_or_default();
    let end = body.find([';', ',']).unwrap_or(body.len());
    match &body[..end] {
        "text/javascript" | "application/javascript" => Ok(Format::Module),
        "application/json" => Ok(Format::Json),
        media => {
            let message = format!("Unknown module format: {media} for URL {url}");
            Err(OpError {
                code: Some("ERR_UNKNOWN_MODULE_FORMAT".into()),
                ..OpError::new("RangeError", message)
            })
        }
    }
}

/// The text of a source file, without a byte order mark.
pub(crate) fn read(path: &Path) -> Result<String, OpError> {
    let bytes = std::fs::read(path).map_err(|error| system_error(&error, "open", &[path]))?;
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.into(),
        None => text,
    })
}

/// The text of a `data:` URL.
fn data_text(url: &str) -> Result<String, OpError> {
    let invalid = || type_error("ERR_INVALID_URL", "Invalid URL".to_owned()).with("input", url);
    let (head, body) = url.split_once(',').ok_or_else(invalid)?;
    let body = body.split('#').next().unwrap_or_default();
    if !head.ends_with(";base64") {
        return Ok(percent_decode(body));
    }
    let mut digits = percent_decode(body);
    digits.retain(|digit| !matches!(digit, '=' | ' ' | '\n'));
    let bytes = data_encoding::BASE64_NOPAD.decode(digits.as_bytes()).map_err(|_| invalid())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_relative(specifier: &str) -> bool {
    matches!(specifier, "." | "..") || specifier.starts_with("./") || specifier.starts_with("../")
}

/// Whether a path can only mean a directory.
fn names_directory(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("" | "." | ".."))
}

fn is_url(text: &str) -> bool {
    Url::parse(text).is_ok()
}

/// The specifier of a file in a directory's files.
fn relative(dir: &Path, file: &Path) -> String {
    let common =
        dir.components().zip(file.components()).take_while(|(left, right)| left == right).count();
    let up = dir.components().count() - common;
    let down: PathBuf = file.components().skip(common).collect();
    let start = if up == 0 { "./".to_owned() } else { "../".repeat(up) };
    format!("{start}{}", down.display())
}

/// Takes `.` and `..` out of a path, without a look at the disk.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).and_then(|&byte| (byte as char).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%'
            && let (Some(high), Some(low)) = (hex(at + 1), hex(at + 2))
        {
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn error(code: &str, message: String) -> OpError {
    OpError { code: Some(code.into()), ..OpError::new("Error", message) }
}

fn type_error(code: &str, message: String) -> OpError {
    OpError::type_error(code, message)
}

fn not_found(specifier: &str) -> OpError {
    error("MODULE_NOT_FOUND", format!("Cannot find module '{specifier}'"))
}

fn unknown_builtin(specifier: &str) -> OpError {
    error("ERR_UNKNOWN_BUILTIN_MODULE", format!("No such built-in module: {specifier}"))
}

fn invalid_package(invalid: &Invalid, specifier: &str, from: &str, kind: Kind) -> OpError {
    match kind {
        Kind::Import => {
            invalid_json(invalid, &format!(" while importing \"{specifier}\" from {from}"))
        }
        Kind::Require => {
            let file = invalid.file.to_string_lossy().into_owned();
            OpError::new("SyntaxError", format!("Error parsing {file}: {}", invalid.reason))
                .with("path", file)
        }
    }
}

fn invalid_json(invalid: &Invalid, place: &str) -> OpError {
    let file = invalid.file.display();
    error(
        "ERR_INVALID_PACKAGE_CONFIG",
        format!("Invalid package config {file}{place}. {}", invalid.reason),
    )
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
