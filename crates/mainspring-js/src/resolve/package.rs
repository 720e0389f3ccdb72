//! What a `package.json` says about resolution.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Map, Value};

/// The part of a `package.json` that resolution reads.
#[derive(Debug)]
pub(super) struct Package {
    /// The file itself.
    pub(super) file: PathBuf,
    pub(super) name: Option<String>,
    pub(super) main: Option<String>,
    /// Whether its `.js` files are modules, if it says so.
    pub(super) is_module: Option<bool>,
    pub(super) exports: Option<Value>,
    pub(super) imports: Option<Map<String, Value>>,
}

impl Package {
    pub(super) fn dir(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    fn parse(file: PathBuf, text: &str) -> Result<Self, Invalid> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut object = match serde_json::from_str(text) {
            Ok(Value::Object(object)) => object,
            Ok(_) => Map::new(),
            Err(error) => return Err(Invalid { file, reason: error.to_string() }),
        };
        let mut string = |key: &str| match object.remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let (name, main, kind) = (string("name"), string("main"), string("type"));
        let is_module = match kind.as_deref() {
            Some("module") => Some(true),
            Some("commonjs") => Some(false),
            _ => None,
        };
        let exports = object.remove("exports").filter(|exports| !exports.is_null());
        let imports = match object.remove("imports") {
            Some(Value::Object(imports)) => Some(imports),
            _ => None,
        };
        Ok(Self { file, name, main, is_module, exports, imports })
    }
}

/// A `package.json` that is not JSON.
#[derive(Clone, Debug)]
pub(super) struct Invalid {
    pub(super) file: PathBuf,
    pub(super) reason: String,
}

type Read = Result<Option<Rc<Package>>, Invalid>;

/// The packages that were read so far: a script sees each as it was the first time.
#[derive(Debug, Default)]
pub(super) struct Packages(RefCell<HashMap<PathBuf, Read>>);

impl Packages {
    /// The package that has this directory as its root.
    pub(super) fn at(&self, dir: &Path) -> Read {
        if let Some(known) = self.0.borrow().get(dir) {
            return known.clone();
        }
        let file = dir.join("package.json");
        let read = match std::fs::read(&file) {
            Ok(bytes) => {
                Package::parse(file, &String::from_utf8_lossy(&bytes)).map(|p| Some(Rc::new(p)))
            }
            Err(_) => Ok(None),
        };
        self.0.borrow_mut().insert(dir.into(), read.clone());
        read
    }

    /// The package that a file belongs to: the nearest one above it, but not beyond a `node_modules`.
    pub(super) fn around(&self, file: &Path) -> Read {
        for dir in file.ancestors().skip(1) {
            if dir.file_name().is_some_and(|name| name == "node_modules") {
                break;
            }
            if let Some(package) = self.at(dir)? {
                return Ok(Some(package));
            }
        }
        Ok(None)
    }
}
