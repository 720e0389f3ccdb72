//! Modules: which file a specifier means, and what stands in it.

use std::path::Path;

use super::{Args, Op};
use crate::resolve::{Format, Kind, Resolver, Target, file_path, read};
use crate::{BUILTINS, Global, Host, OpError, Value, scan};

pub(crate) const OPS: &[(&str, Op)] = &[
    ("builtinNames", builtin_names),
    ("hasModuleSyntax", has_module_syntax),
    ("moduleFormat", module_format),
    ("packageOf", package_of),
    ("readSource", read_source),
    ("resolveMain", resolve_main),
    ("resolveModule", resolve_module),
    ("resolveUrl", resolve_url),
    ("sourceLine", source_line),
];

/// `builtinNames()`: of the modules that the script may import.
fn builtin_names(host: &Host, _: Args<'_>) -> Result<Value, OpError> {
    let resolver = Resolver::of(host);
    let names = BUILTINS.iter().map(|builtin| builtin.name);
    Ok(Value::Array(names.filter(|name| resolver.is_builtin(name)).map(Value::from).collect()))
}

/// `hasModuleSyntax(source)`
fn has_module_syntax(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    Ok(scan::syntax(&args.string(0)?).module.into())
}

/// `moduleFormat(path)`: how `require` has to read a file.
fn module_format(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let target = Target::File { path: args.string(0)?.into(), suffix: String::new() };
    Resolver::of(host).format(&target, Kind::Require).map(|format| name(format).into())
}

fn name(format: Format) -> &'static str {
    match format {
        Format::CommonJs => "commonjs",
        Format::Module => "module",
        Format::Json => "json",
        Format::Builtin => "builtin",
        Format::Unsaid => "unsaid",
    }
}

/// `packageOf(url)`: the `package.json` that makes a file a module by its `type`.
fn package_of(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let file = file_path(&args.string(0)?);
    let package = file.and_then(|file| Resolver::of(host).package_of(&file));
    Ok(package.map(|file| file.to_string_lossy().into_owned()).into())
}

/// `readSource(path)`
fn read_source(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    read(Path::new(&args.string(0)?)).map(Value::from)
}

/// `resolveMain(path)`: the file that a program is started with.
fn resolve_main(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let resolver = Resolver::of(host);
    let path = resolver.main(Path::new(&args.string(0)?))?;
    let target = Target::File { path, suffix: String::new() };
    // One with an extension that only a `require` would take is a script.
    let format = resolver.format(&target, Kind::Import).unwrap_or(Format::CommonJs);
    Ok(described(&target, format))
}

/// `resolveModule(specifier, parent, kind)`
fn resolve_module(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (specifier, parent) = (args.string(0)?, args.string(1)?);
    if !host.has(Global::Modules) {
        let message = format!("This script may not load modules: {specifier}");
        return Err(OpError {
            code: Some("ERR_ACCESS_DENIED".into()),
            ..OpError::new("Error", message)
        });
    }
    let kind = if args.string(2)? == "import" { Kind::Import } else { Kind::Require };
    let resolver = Resolver::of(host);
    let target = resolver.resolve(&specifier, &parent, kind)?;
    let format = resolver.format(&target, kind)?;
    Ok(described(&target, format))
}

/// `resolveUrl(specifier, parent)`: for `import.meta.resolve`.
fn resolve_url(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (specifier, parent) = (args.string(0)?, args.string(1)?);
    Resolver::of(host).resolve_url(&specifier, &parent).map(Value::from)
}

fn described(target: &Target, format: Format) -> Value {
    let path = match target {
        Target::File { path, .. } => path.to_string_lossy().into_owned(),
        Target::Builtin(name) => name.clone(),
        Target::Data(url) => url.clone(),
    };
    let url = target.url();
    Value::object([
        ("path", Value::from(path)),
        ("format", name(format).into()),
        ("url", url.into()),
    ])
}

/// `sourceLine(file, line)`: a line of a source, given by path or URL, if it can be read.
fn source_line(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let file = file_path(&args.string(0)?);
    let line = args.number(1)?;
    // A stack can be forged: a script that may not read files is not shown what is in them.
    let Some(file) = file.filter(|_| host.has(Global::Modules) && line >= 1.0) else {
        return Ok(Value::Undefined);
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a line number")]
    let index = line as usize - 1;
    let source = read(&file).unwrap_or_default();
    Ok(source.lines().nth(index).map(Value::from).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, try_run};

    fn temporary(name: &str, text: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("mainspring-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("a temporary file");
        path
    }

    // spec: JS-3
    #[test]
    fn lines_of_sources_are_shown_by_path_and_by_url() {
        let path = temporary("lines.js", "\u{feff}first\nsecond\n");
        let file = path.to_string_lossy().into_owned();
        let line = |file: String, line: f64| run(source_line, [Value::from(file), line.into()]);
        assert_eq!(line(file.clone(), 1.0), "first".into());
        assert_eq!(line(crate::resolve::file_url(&path), 2.0), "second".into());
        assert_eq!(line(file.clone(), 3.0), Value::Undefined);
        assert_eq!(line(file, 0.0), Value::Undefined);
        assert_eq!(line("mainspring:internal/cjs".into(), 1.0), Value::Undefined);
        std::fs::remove_file(path).expect("it is there");
    }

    // spec: JS-3
    #[test]
    fn modules_are_described() {
        let path = temporary("described.mjs", "");
        let path = std::fs::canonicalize(&path).expect("it is there");
        let file = path.to_string_lossy().into_owned();
        let resolve = |specifier: &str| {
            run(resolve_module, [Value::from(specifier), "/main.js".into(), "require".into()])
        };
        assert_eq!(resolve(&file).get("format"), Some(&"module".into()));
        assert_eq!(resolve("node:timers").get("path"), Some(&"timers".into()));
        assert_eq!(resolve("timers").get("format"), Some(&"builtin".into()));
        let internal = ["internal/timers", "/main.js", "require"].map(Value::from);
        assert!(try_run(resolve_module, internal).is_err());
        std::fs::remove_file(path).expect("it is there");
    }
}
