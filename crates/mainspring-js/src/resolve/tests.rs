//! What is expected here is what Node 20 does with the same files.

use super::data::data_text;
use super::*;

/// Files below a directory of their own, which goes with the value.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("mainspring-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&root));
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        Self(std::fs::canonicalize(root).expect("it was made"))
    }

    fn file(&self, path: &str) -> String {
        self.0.join(path).to_string_lossy().into_owned()
    }

    /// What a specifier means in `main.js`: a path below the root, a name with `node:`, or the error.
    fn resolve(&self, specifier: &str, kind: Kind) -> String {
        self.resolve_from(specifier, "main.js", kind)
    }

    fn resolve_from(&self, specifier: &str, parent: &str, kind: Kind) -> String {
        let resolver = resolver();
        match resolver.resolve(specifier, &self.file(parent), kind) {
            Ok(Target::File { path, suffix }) => {
                let path = path.strip_prefix(&self.0).expect("below the root");
                format!("{}{suffix}", path.display())
            }
            Ok(other) => other.url(),
            Err(error) => {
                let code = error.code.unwrap_or_default();
                format!("{code}: {}", error.message.replace(&self.0.to_string_lossy()[..], ""))
            }
        }
    }

    fn require(&self, specifier: &str) -> String {
        self.resolve(specifier, Kind::Require)
    }

    fn import(&self, specifier: &str) -> String {
        self.resolve(specifier, Kind::Import)
    }

    fn format(&self, path: &str, kind: Kind) -> Result<Format, String> {
        let target = Target::file(self.0.join(path));
        resolver().format(&target, kind).map_err(|error| error.code.unwrap_or_default())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn resolver() -> Resolver {
    Resolver::new(|name| ["fs", "fs/promises", "path"].contains(&name), Vec::new())
}

// spec: JS-3
#[test]
fn require_tries_extensions_and_directories() {
    let tree = Tree::new(
        "files",
        &[
            ("a.js", ""),
            ("data.json", ""),
            ("only.cjs", ""),
            ("a/index.js", ""),
            ("dir/index.js", ""),
            ("pkg/package.json", r#"{"main": "lib/start"}"#),
            ("pkg/lib/start.js", ""),
            ("deep/package.json", r#"{"main": "./lib"}"#),
            ("deep/lib/index.json", ""),
            ("gone/package.json", r#"{"main": "nowhere"}"#),
            ("back/package.json", r#"{"main": "nowhere"}"#),
            ("back/index.js", ""),
        ],
    );
    assert_eq!(tree.require("./a"), "a.js");
    assert_eq!(tree.require("./a/"), "a/index.js");
    assert_eq!(tree.require("./data"), "data.json");
    assert_eq!(tree.require("./dir"), "dir/index.js");
    assert_eq!(tree.require("./dir/../a.js"), "a.js");
    assert_eq!(tree.require("./pkg"), "pkg/lib/start.js");
    assert_eq!(tree.require("./deep"), "deep/lib/index.json");
    assert_eq!(tree.require("./back"), "back/index.js");
    assert_eq!(tree.require(&tree.file("a.js")), "a.js");
    assert_eq!(tree.resolve_from(".", "dir/x.js", Kind::Require), "dir/index.js");
    assert_eq!(tree.resolve_from("..", "dir/sub/x.js", Kind::Require), "dir/index.js");
    assert_eq!(tree.require("./only"), "MODULE_NOT_FOUND: Cannot find module './only'");
    assert_eq!(tree.require("./a.js/"), "MODULE_NOT_FOUND: Cannot find module './a.js/'");
    assert_eq!(
        tree.require("./gone"),
        "MODULE_NOT_FOUND: Cannot find module '/gone/nowhere'. Please verify that the package.json has a \
         valid \"main\" entry"
    );
}

// spec: JS-3
#[test]
fn import_takes_urls_that_say_all() {
    let tree = Tree::new("urls", &[("a.mjs", ""), ("with space.mjs", ""), ("dir/index.js", "")]);
    assert_eq!(tree.import("./a.mjs"), "a.mjs");
    assert_eq!(tree.import("./a.mjs?v=1#x"), "a.mjs?v=1#x");
    assert_eq!(tree.import("./with%20space.mjs"), "with space.mjs");
    assert_eq!(tree.import(&tree.file("a.mjs")), "a.mjs");
    assert_eq!(tree.import(&format!("file://{}", tree.file("a.mjs"))), "a.mjs");
    assert_eq!(tree.import("data:text/javascript,1"), "data:text/javascript,1");
    assert_eq!(
        tree.import("./gone.mjs"),
        "ERR_MODULE_NOT_FOUND: Cannot find module '/gone.mjs' imported from /main.js"
    );
    assert_eq!(
        tree.import("./dir"),
        "ERR_UNSUPPORTED_DIR_IMPORT: Directory import '/dir' is not supported resolving ES modules \
         imported from /main.js\nDid you mean to import \"./dir/index.js\"?"
    );
    assert_eq!(
        tree.import("./a%2fb"),
        format!(
            "ERR_INVALID_MODULE_SPECIFIER: Invalid module \"{}\" must not include encoded \"/\" or \"\\\" \
             characters imported from /main.js",
            "/a%2fb"
        )
    );
    assert_eq!(
        tree.import("https://example.org/a.mjs"),
        "ERR_UNSUPPORTED_ESM_URL_SCHEME: Only URLs with a scheme in: file, data, and node are supported \
         by the default ESM loader. Received protocol 'https:'"
    );
    assert_eq!(tree.resolve_from("./a.mjs", "dir/../x.js", Kind::Import), "a.mjs");
}

#[test]
fn an_import_that_lacks_its_extension_is_told_of_it() {
    let tree =
        Tree::new("hints", &[("lib/a.js", ""), ("sub/x.js", ""), ("node_modules/p/f.js", "")]);
    let hint = |specifier: &str, parent: &str| {
        let message = tree.resolve_from(specifier, parent, Kind::Import);
        message.split_once('\n').map_or(String::new(), |(_, hint)| hint.to_owned())
    };
    assert_eq!(hint("./lib/a", "main.js"), "Did you mean to import \"./lib/a.js\"?");
    assert_eq!(hint("../lib/a", "sub/x.js"), "Did you mean to import \"../lib/a.js\"?");
    assert_eq!(hint("p/f", "main.js"), "Did you mean to import \"p/f.js\"?");
    assert_eq!(hint("./lib/b", "main.js"), "");
}

// spec: JS-3
#[test]
fn builtins_come_first_and_need_no_prefix() {
    let tree = Tree::new(
        "builtins",
        &[("node_modules/fs/index.js", ""), ("node_modules/http/index.js", "")],
    );
    for kind in [Kind::Require, Kind::Import] {
        assert_eq!(tree.resolve("fs", kind), "node:fs");
        assert_eq!(tree.resolve("node:fs/promises", kind), "node:fs/promises");
        assert_eq!(tree.resolve("http", kind), "node_modules/http/index.js");
        for (specifier, shown) in [("node:nonsense", "node:nonsense"), ("https", "node:https")] {
            let expected = format!("ERR_UNKNOWN_BUILTIN_MODULE: No such built-in module: {shown}");
            assert_eq!(tree.resolve(specifier, kind), expected);
        }
    }
}

// spec: JS-3
#[test]
fn packages_are_looked_for_upwards() {
    let tree = Tree::new(
        "upwards",
        &[
            ("node_modules/outer/index.js", ""),
            ("node_modules/both/index.js", ""),
            ("node_modules/@scope/name/index.js", ""),
            ("node_modules/@scope/name/sub/file.js", ""),
            ("node_modules/plain.js", ""),
            ("node_modules/json/package.json", r#"{"main": "lib"}"#),
            ("node_modules/json/lib.json", ""),
            ("sub/node_modules/both/index.js", ""),
        ],
    );
    for kind in [Kind::Require, Kind::Import] {
        let from = |specifier| tree.resolve_from(specifier, "sub/deep/x.js", kind);
        assert_eq!(from("outer"), "node_modules/outer/index.js");
        assert_eq!(from("both"), "sub/node_modules/both/index.js");
        assert_eq!(from("@scope/name"), "node_modules/@scope/name/index.js");
        assert_eq!(from("@scope/name/sub/file.js"), "node_modules/@scope/name/sub/file.js");
        assert_eq!(from("json"), "node_modules/json/lib.json");
        let inside = tree.resolve_from("both", "node_modules/outer/x.js", kind);
        assert_eq!(inside, "node_modules/both/index.js");
    }
    assert_eq!(tree.require("plain"), "node_modules/plain.js");
    assert_eq!(tree.require("outer/"), "node_modules/outer/index.js");
    assert_eq!(tree.require("gone"), "MODULE_NOT_FOUND: Cannot find module 'gone'");
    assert_eq!(
        tree.import("gone/x"),
        "ERR_MODULE_NOT_FOUND: Cannot find package 'gone' imported from /main.js"
    );
    assert_eq!(
        tree.import("@scope"),
        "ERR_INVALID_MODULE_SPECIFIER: Invalid module \"@scope\" is not a valid package name imported \
         from /main.js"
    );
}

// spec: JS-3
#[test]
fn exports_say_which_files_a_package_shows() {
    let tree = Tree::new(
        "exports",
        &[
            (
                "node_modules/p/package.json",
                r#"{"exports": {
                    ".": {"import": "./i.mjs", "require": "./r.cjs"},
                    "./plain": "./r.cjs",
                    "./lib/*": "./src/*.js",
                    "./lib/private/*": null,
                    "./lib/x*z.js": "./src/special.js",
                    "./nested": {"browser": "./no.js", "node": {"zzz": "./no.js", "default": "./r.cjs"}},
                    "./list": ["not-relative", {"zzz": "./no.js"}, "./r.cjs"],
                    "./gone": "./gone.js",
                    "./outside": "../r.cjs",
                    "./bare": "r.cjs",
                    "./sneaky": "./node_modules/x.js",
                    "./never": {"zzz": "./r.cjs"},
                    "./indexed": {"0": "./r.cjs"}
                }}"#,
            ),
            ("node_modules/p/i.mjs", ""),
            ("node_modules/p/r.cjs", ""),
            ("node_modules/p/src/a.js", ""),
            ("node_modules/p/src/special.js", ""),
            ("node_modules/sugar/package.json", r#"{"exports": "./only.js"}"#),
            ("node_modules/sugar/only.js", ""),
            ("node_modules/mixed/package.json", r#"{"exports": {"import": "./a", "./b": "./b"}}"#),
            ("node_modules/old/package.json", r#"{"exports": null, "main": "./old.js"}"#),
            ("node_modules/old/old.js", ""),
        ],
    );
    assert_eq!(tree.import("p"), "node_modules/p/i.mjs");
    assert_eq!(tree.require("p"), "node_modules/p/r.cjs");
    for kind in [Kind::Require, Kind::Import] {
        let from = if kind == Kind::Import { " imported from /main.js" } else { "" };
        let file = "/node_modules/p/package.json";
        let resolve = |specifier| tree.resolve(specifier, kind);
        let hidden = |subpath: &str| {
            format!(
                "ERR_PACKAGE_PATH_NOT_EXPORTED: Package subpath '{subpath}' is not defined by \"exports\" in \
                 {file}{from}"
            )
        };
        let invalid = |target: &str, key: &str, hint: &str| {
            format!(
                "ERR_INVALID_PACKAGE_TARGET: Invalid \"exports\" target \"{target}\" defined for '{key}' in \
                 the package config {file}{from}{hint}"
            )
        };
        assert_eq!(resolve("p/plain"), "node_modules/p/r.cjs");
        assert_eq!(resolve("p/nested"), "node_modules/p/r.cjs");
        assert_eq!(resolve("p/list"), "node_modules/p/r.cjs");
        assert_eq!(resolve("p/lib/a"), "node_modules/p/src/a.js");
        assert_eq!(resolve("p/lib/xyz.js"), "node_modules/p/src/special.js");
        assert_eq!(resolve("sugar"), "node_modules/sugar/only.js");
        assert_eq!(resolve("old"), "node_modules/old/old.js");
        assert_eq!(resolve("p/r.cjs"), hidden("./r.cjs"));
        assert_eq!(resolve("p/lib/private/a"), hidden("./lib/private/a"));
        assert_eq!(resolve("p/never"), hidden("./never"));
        assert_eq!(resolve("p/"), hidden("./"));
        assert_eq!(
            resolve("p/outside"),
            invalid("../r.cjs", "./outside", "; targets must start with \"./\"")
        );
        assert_eq!(
            resolve("p/bare"),
            invalid("r.cjs", "./bare", "; targets must start with \"./\"")
        );
        assert_eq!(resolve("p/sneaky"), invalid("./node_modules/x.js", "./sneaky", ""));
        assert!(resolve("p/indexed").starts_with("ERR_INVALID_PACKAGE_CONFIG"));
        assert!(resolve("mixed").starts_with("ERR_INVALID_PACKAGE_CONFIG"));
        assert_eq!(
            resolve("p/lib/../a"),
            format!(
                "ERR_INVALID_MODULE_SPECIFIER: Invalid module \"./lib/../a\" request is not a valid match \
                 in pattern \"./lib/*\" for the \"exports\" resolution of {file}{from}"
            )
        );
    }
    assert_eq!(
        tree.require("p/gone"),
        "MODULE_NOT_FOUND: Cannot find module '/node_modules/p/gone.js'"
    );
    assert_eq!(
        tree.import("p/gone"),
        "ERR_MODULE_NOT_FOUND: Cannot find module '/node_modules/p/gone.js' imported from /main.js"
    );
}

// spec: JS-3
#[test]
fn a_package_knows_itself_and_its_private_names() {
    let tree = Tree::new(
        "self",
        &[
            (
                "package.json",
                r##"{"name": "me", "exports": {"./a": "./a.js"}, "imports": {
                    "#a": "./a.js", "#files/*": "./sub/*.js", "#fs": "fs", "#dep": "dep/x.js",
                    "#up": "../a.js"
                }}"##,
            ),
            ("a.js", ""),
            ("sub/b.js", ""),
            ("node_modules/dep/x.js", ""),
            ("node_modules/dep/y.js", ""),
        ],
    );
    for kind in [Kind::Require, Kind::Import] {
        let resolve = |specifier| tree.resolve_from(specifier, "sub/b.js", kind);
        assert_eq!(resolve("me/a"), "a.js");
        assert_eq!(resolve("#a"), "a.js");
        assert_eq!(resolve("#files/b"), "sub/b.js");
        assert_eq!(resolve("#fs"), "node:fs");
        assert_eq!(resolve("#dep"), "node_modules/dep/x.js");
        assert_eq!(
            resolve("#gone"),
            "ERR_PACKAGE_IMPORT_NOT_DEFINED: Package import specifier \"#gone\" is not defined in package \
             /package.json imported from /sub/b.js"
        );
        assert_eq!(
            resolve("#up"),
            "ERR_INVALID_PACKAGE_TARGET: Invalid \"imports\" target \"../a.js\" defined for '#up' in the \
             package config /package.json imported from /sub/b.js"
        );
        assert!(resolve("#/a").starts_with("ERR_INVALID_MODULE_SPECIFIER"));
        assert!(resolve("me/b").starts_with("ERR_PACKAGE_PATH_NOT_EXPORTED"));
        // The package around a dependency is the dependency's own, or none.
        assert!(tree.resolve_from("#a", "node_modules/dep/y.js", kind).contains("NOT_"));
    }
}

// spec: JS-3
#[test]
fn formats_follow_the_extension_and_the_package() {
    let tree = Tree::new(
        "formats",
        &[
            ("esm/package.json", r#"{"type": "module"}"#),
            ("cjs/package.json", r#"{"type": "commonjs"}"#),
            ("esm/inner/package.json", "{}"),
        ],
    );
    for kind in [Kind::Require, Kind::Import] {
        assert_eq!(tree.format("esm/a.js", kind), Ok(Format::Module));
        assert_eq!(tree.format("esm/a.cjs", kind), Ok(Format::CommonJs));
        assert_eq!(tree.format("esm/inner/a.js", kind), Ok(Format::Unsaid));
        assert_eq!(tree.format("esm/node_modules/p/a.js", kind), Ok(Format::Unsaid));
        assert_eq!(tree.format("cjs/a.js", kind), Ok(Format::CommonJs));
        assert_eq!(tree.format("cjs/a.mjs", kind), Ok(Format::Module));
        assert_eq!(tree.format("a.json", kind), Ok(Format::Json));
        assert_eq!(tree.format("a.js", kind), Ok(Format::Unsaid));
    }
    assert_eq!(tree.format("a.txt", Kind::Require), Ok(Format::CommonJs));
    assert_eq!(tree.format("a.txt", Kind::Import), Err("ERR_UNKNOWN_FILE_EXTENSION".into()));
    assert_eq!(tree.format("esm/tool", Kind::Import), Ok(Format::Module));
    assert_eq!(tree.format("esm/tool", Kind::Require), Ok(Format::CommonJs));
    let data = |url: &str| resolver().format(&Target::Data(url.into()), Kind::Import);
    assert_eq!(data("data:text/javascript;base64,MQ=="), Ok(Format::Module));
    assert_eq!(data("data:application/json,1"), Ok(Format::Json));
    assert!(data("data:text/plain,1").is_err());
}

#[test]
fn symbolic_links_are_followed() {
    let tree = Tree::new("links", &[("real/a.js", ""), ("real/b.js", "")]);
    std::os::unix::fs::symlink(tree.0.join("real"), tree.0.join("link")).expect("a link");
    assert_eq!(tree.require("./link/a"), "real/a.js");
    assert_eq!(tree.import("./link/a.js"), "real/a.js");
}

#[test]
fn a_package_that_is_not_json_is_told_of() {
    let tree = Tree::new(
        "broken",
        &[("node_modules/p/package.json", "{nonsense"), ("x/package.json", "[]")],
    );
    let require = tree.require("p");
    assert!(require.starts_with(": Error parsing /node_modules/p/package.json: "), "{require}");
    let import = tree.import("p");
    assert!(import.starts_with("ERR_INVALID_PACKAGE_CONFIG: Invalid package config"), "{import}");
    assert!(import.contains("/package.json while importing \"p\" from /main.js. "), "{import}");
    assert_eq!(tree.require("./x"), "MODULE_NOT_FOUND: Cannot find module './x'");
}

#[test]
fn the_main_file_may_lack_its_extension() {
    let tree = Tree::new("main", &[("app.js", ""), ("dir/index.js", "")]);
    let main = |path: &str| resolver().main(Path::new(&tree.file(path)));
    assert_eq!(main("app").ok(), Some(tree.0.join("app.js")));
    assert_eq!(main("dir").ok(), Some(tree.0.join("dir/index.js")));
    assert!(main("gone").is_err_and(|error| error.code.as_deref() == Some("MODULE_NOT_FOUND")));
}

#[test]
fn the_text_of_data_urls() {
    assert_eq!(data_text("data:text/javascript,a%20b#c").as_deref(), Ok("a b"));
    assert_eq!(data_text("data:text/javascript;base64,aMOpbGxv").as_deref(), Ok("héllo"));
    assert_eq!(data_text("data:text/javascript;base64,YQ==").as_deref(), Ok("a"));
    assert!(data_text("data:text/javascript;base64,?").is_err());
    assert!(data_text("data:text/javascript").is_err());
}
