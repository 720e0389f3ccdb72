//! ES modules: what the engine is given when a script imports something.
//!
//! The engine loads all that a module imports while it compiles it, and cannot take back a part of that. So what
//! fails on the way is noted, and the engine is given an empty module in its place. When the whole graph is there,
//! the first failure in it is thrown, before any of it is linked or run.
//!
//! A dynamic import is evaluated right here, before the engine would do it: so it is known what is running, and
//! errors can be told as Node tells them. When the engine evaluates it again, it finds it done.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use mainspring_js::resolve::{Format, Kind, Resolver, Target};
use mainspring_js::{Global, Layer, OpError, scan};
use rquickjs::convert::List;
use rquickjs::function::{Func, IntoArgs};
use rquickjs::promise::PromiseState;
use rquickjs::{
    Array, Ctx, Exception, FromJs, Function, JsLifetime, Object, Persistent, Promise, Result, Value,
};

use crate::engine::{QuickJs, WeakLayer};
use crate::module_record::{self, Loader, Record};
use crate::natives::alive;
use crate::{compile, convert};

/// How many frames are looked at for modules that are running.
const FRAMES: isize = 256;

/// A module that was asked for, by its URL.
#[derive(Default)]
struct Node {
    target: Option<Target>,
    /// Its source, if that is not in the file.
    source: Option<String>,
    record: Option<Record>,
    /// What it imports: the specifier and the URL.
    requests: Vec<(String, String)>,
    /// Why it cannot be had.
    failure: Option<Persistent<Value<'static>>>,
    /// The names of the exports, if it has no source of its own kind.
    names: Vec<String>,
    /// The exports of it, if they are known before it is evaluated.
    values: Option<Persistent<Array<'static>>>,
    is_evaluated: bool,
}

/// The modules of a script.
#[derive(Default)]
struct State {
    nodes: RefCell<HashMap<String, Node>>,
    /// How many compilations are under way: each loads what it imports.
    depth: Cell<usize>,
    failures: Cell<usize>,
    /// Modules without a source of their own kind that are being evaluated.
    running: RefCell<Vec<String>>,
    /// Roots of graphs that are being evaluated.
    roots: Cell<usize>,
    /// The `require` of what is built in.
    require: RefCell<Option<Persistent<Function<'static>>>>,
}

/// The layer of the scripts of a context.
struct LayerOf(WeakLayer);

// SAFETY: it holds nothing of the engine.
unsafe impl JsLifetime<'_> for LayerOf {
    type Changed<'to> = LayerOf;
}

/// Loads modules for the scripts of a context, if they may have files.
pub(crate) fn install<'js>(
    ctx: &Ctx<'js>,
    layer: &Rc<Layer<QuickJs>>,
    require: &Function<'js>,
) -> Result<()> {
    if !layer.host().has(Global::Modules) {
        return Ok(());
    }
    let state = layer.host().resource(State::default);
    state.require.replace(Some(Persistent::save(ctx, require.clone())));
    drop(ctx.store_userdata(LayerOf(Rc::downgrade(layer))));
    module_record::set_loader::<Modules>(ctx);
    Ok(())
}

/// Functions of `host` for the JavaScript half.
pub(crate) fn define<'js>(host: &Object<'js>) -> Result<()> {
    host.set(
        "requireModule",
        Func::from(|ctx: Ctx<'js>, path: String, parent: Option<String>| {
            Modules::of(&ctx)?.require_module(&ctx, path, parent)
        }),
    )?;
    host.set(
        "defineModule",
        Func::from(|ctx: Ctx<'js>, path: String, source: String| {
            Ok::<_, rquickjs::Error>(Modules::of(&ctx)?.define(path, source))
        }),
    )?;
    host.set("parsesAsModule", Func::from(|source: String| module_record::parses(&source)))
}

/// The modules of a context.
struct Modules {
    layer: Rc<Layer<QuickJs>>,
    state: Rc<State>,
}

impl Loader for Modules {
    fn of(ctx: &Ctx<'_>) -> Result<Self> {
        let layer = match ctx.userdata::<LayerOf>() {
            Some(layer) => alive(ctx, &layer.0)?,
            None => return Err(Exception::throw_message(ctx, "modules are not available")),
        };
        let state = layer.host().resource(State::default);
        Ok(Self { layer, state })
    }

    fn resolve<'js>(
        &self,
        ctx: &Ctx<'js>,
        base: &str,
        specifier: &str,
        attributes: Option<Object<'js>>,
    ) -> Result<String> {
        let found = self.find(ctx, base, specifier, attributes);
        if self.state.depth.get() == 0 {
            let url = found?;
            self.throw_failure(ctx, &url)?;
            let is_known = self.node(&url, |node| node.record.is_some() && !node.is_evaluated);
            if is_known {
                self.evaluate_graph(ctx, &url)?;
            }
            return Ok(url);
        }
        let url = found.unwrap_or_else(|_| self.note_failure(ctx));
        let request = (specifier.to_owned(), url.clone());
        self.node_mut(base, |node| node.requests.push(request));
        Ok(url)
    }

    fn load(&self, ctx: &Ctx<'_>, url: &str) -> Result<Record> {
        let record = self.instantiate(ctx, url)?;
        if self.state.depth.get() == 0 {
            self.throw_failure(ctx, url)?;
            self.evaluate_graph(ctx, url)?;
        }
        Ok(record)
    }

    fn evaluate(&self, ctx: &Ctx<'_>, record: Record, url: &str) -> Result<()> {
        let (names, target, values) =
            self.node(url, |node| (node.names.clone(), node.target.clone(), node.values.clone()));
        let values: Array = match (values, target) {
            (Some(values), _) => values.restore(ctx)?,
            (None, Some(Target::File { path, .. })) => {
                self.state.running.borrow_mut().push(url.into());
                let path = path.to_string_lossy().into_owned();
                let values = self.call(ctx, "commonjs", (path, names.clone()));
                self.state.running.borrow_mut().pop();
                values?
            }
            _ => return Ok(()),
        };
        for (index, name) in names.iter().enumerate() {
            record.export(ctx, name, &values.get(index)?)?;
        }
        Ok(())
    }
}

impl Modules {
    fn resolver(&self) -> Rc<Resolver> {
        Resolver::of(self.layer.host())
    }

    fn node<R>(&self, url: &str, look: impl FnOnce(&Node) -> R) -> R {
        match self.state.nodes.borrow().get(url) {
            Some(node) => look(node),
            None => look(&Node::default()),
        }
    }

    fn node_mut(&self, url: &str, change: impl FnOnce(&mut Node)) {
        change(self.state.nodes.borrow_mut().entry(url.into()).or_default());
    }

    /// Calls a function of the JavaScript half.
    fn call<'js, R: FromJs<'js>>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        args: impl IntoArgs<'js>,
    ) -> Result<R> {
        let require = self.state.require.borrow().clone();
        let require = require.ok_or(rquickjs::Error::Unknown)?.restore(ctx)?;
        let module: Object = require.call(("internal/esm",))?;
        module.get::<_, Function>(name)?.call(args)
    }

    fn throw(&self, ctx: &Ctx<'_>, error: OpError) -> rquickjs::Error {
        let properties = mainspring_js::Value::Object(error.properties);
        let thrown = convert::to_js(ctx, properties).and_then(|properties| {
            self.call::<Value>(ctx, "error", (error.class, error.code, error.message, properties))
        });
        match thrown {
            Ok(error) => ctx.throw(error),
            Err(error) => error,
        }
    }

    /// Makes a module of a source that is in no file, as if it were in this one. It can be imported by the URL
    /// that comes back.
    fn define(&self, path: String, source: String) -> String {
        let target = Target::File { path: path.into(), suffix: String::new() };
        let url = target.url();
        let node = Node { target: Some(target), source: Some(source), ..Node::default() };
        self.state.nodes.borrow_mut().insert(url.clone(), node);
        url
    }

    /// The URL of the module that a specifier means.
    fn find<'js>(
        &self,
        ctx: &Ctx<'js>,
        base: &str,
        specifier: &str,
        attributes: Option<Object<'js>>,
    ) -> Result<String> {
        if self.node(specifier, |node| node.source.is_some()) {
            return Ok(specifier.into());
        }
        let resolver = self.resolver();
        let checked = resolver.resolve(specifier, base, Kind::Import).and_then(|target| {
            let format = resolver.format(&target, Kind::Import)?;
            Ok((target, format))
        });
        let (target, format) = checked.map_err(|error| self.throw(ctx, error))?;
        let url = target.url();
        let attributes = match attributes {
            Some(attributes) => attributes.props::<String, String>().collect::<Result<Vec<_>>>()?,
            None => Vec::new(),
        };
        check_attributes(&url, format, &attributes).map_err(|error| self.throw(ctx, error))?;
        self.node_mut(&url, |node| node.target = Some(target));
        Ok(url)
    }

    /// Makes a module of the exception that was just thrown.
    fn note_failure(&self, ctx: &Ctx<'_>) -> String {
        let number = self.state.failures.get();
        self.state.failures.set(number + 1);
        let url = format!("mainspring:failure/{number}");
        let failure = Persistent::save(ctx, ctx.catch());
        self.node_mut(&url, |node| node.failure = Some(failure));
        url
    }

    /// The record of a module. Within a compilation there always is one, also of what cannot be had.
    fn instantiate(&self, ctx: &Ctx<'_>, url: &str) -> Result<Record> {
        if let Some(record) = self.node(url, |node| node.record) {
            return Ok(record);
        }
        let depth = self.state.depth.get();
        let has_failed = self.node(url, |node| node.failure.is_some());
        let made = if has_failed {
            Record::native::<Self>(ctx, url, &[])
        } else {
            self.state.depth.set(depth + 1);
            let made = self.make(ctx, url);
            self.state.depth.set(depth);
            made.or_else(|error| {
                if !error.is_exception() || depth == 0 {
                    return Err(error);
                }
                let failure = Persistent::save(ctx, ctx.catch());
                self.node_mut(url, |node| node.failure = Some(failure));
                Record::native::<Self>(ctx, url, &[])
            })
        };
        let record = made?;
        self.node_mut(url, |node| node.record = Some(record));
        Ok(record)
    }

    fn make(&self, ctx: &Ctx<'_>, url: &str) -> Result<Record> {
        let Some(target) = self.node(url, |node| node.target.clone()) else {
            return Err(Exception::throw_message(ctx, &format!("nobody has asked for {url}")));
        };
        if let Some(source) = self.node(url, |node| node.source.clone()) {
            return self.compile(ctx, url, &target, &source);
        }
        let resolver = self.resolver();
        let read = resolver.format(&target, Kind::Import).and_then(|format| {
            let is_builtin = format == Format::Builtin;
            Ok((format, if is_builtin { String::new() } else { target.source()? }))
        });
        let (format, source) = read.map_err(|error| self.throw(ctx, error))?;
        match format {
            Format::Builtin => {
                let name = url.strip_prefix("node:").unwrap_or(url);
                let List((names, values)) = self.call(ctx, "builtin", (name,))?;
                self.ready(ctx, url, names, values)
            }
            Format::Json => {
                let values = self.call(ctx, "json", (source, path_of(&target)))?;
                self.ready(ctx, url, vec!["default".into()], values)
            }
            Format::Module => self.compile(ctx, url, &target, &source),
            Format::Unsaid if is_module(ctx, url, &source) => {
                self.compile(ctx, url, &target, &source)
            }
            Format::CommonJs | Format::Unsaid => {
                let mut names = match &target {
                    Target::File { path, .. } => scan::commonjs_names(&resolver, path, &source),
                    _ => Vec::new(),
                };
                names.push("default".into());
                let record = Record::native::<Self>(ctx, url, &names)?;
                self.node_mut(url, |node| node.names = names);
                Ok(record)
            }
            format => {
                let message = format!("{url} is of a kind that is not known here: {format:?}");
                Err(Exception::throw_message(ctx, &message))
            }
        }
    }

    fn compile(&self, ctx: &Ctx<'_>, url: &str, target: &Target, source: &str) -> Result<Record> {
        let record = Record::compile(ctx, source, url)?;
        self.call::<()>(ctx, "meta", (record.meta(ctx)?, url, path_of(target)))?;
        Ok(record)
    }

    /// A module whose exports are known.
    fn ready<'js>(
        &self,
        ctx: &Ctx<'js>,
        url: &str,
        names: Vec<String>,
        values: Array<'js>,
    ) -> Result<Record> {
        let record = Record::native::<Self>(ctx, url, &names)?;
        let values = Persistent::save(ctx, values);
        self.node_mut(url, |node| (node.names, node.values) = (names, Some(values)));
        Ok(record)
    }

    /// Throws the first failure of what a module needs.
    fn throw_failure(&self, ctx: &Ctx<'_>, url: &str) -> Result<()> {
        let failure =
            self.graph(url).iter().find_map(|url| self.node(url, |node| node.failure.clone()));
        match failure {
            Some(failure) => Err(ctx.throw(failure.restore(ctx)?)),
            None => Ok(()),
        }
    }

    /// A module and all that it imports, in the order in which they are evaluated but for itself, which is first.
    fn graph(&self, url: &str) -> Vec<String> {
        let nodes = self.state.nodes.borrow();
        let mut seen = HashSet::new();
        let mut list = Vec::new();
        let mut stack = vec![url];
        while let Some(url) = stack.pop() {
            if seen.insert(url) {
                list.push(url.to_owned());
                if let Some(node) = nodes.get(url) {
                    stack.extend(node.requests.iter().rev().map(|(_, url)| url.as_str()));
                }
            }
        }
        list
    }

    /// Links and evaluates a module and all that it imports.
    fn evaluate_graph<'js>(&self, ctx: &Ctx<'js>, url: &str) -> Result<Promise<'js>> {
        let Some(record) = self.node(url, |node| node.record) else {
            return Err(rquickjs::Error::Unknown);
        };
        self.state.roots.set(self.state.roots.get() + 1);
        let evaluated = record.evaluate(ctx);
        self.state.roots.set(self.state.roots.get() - 1);
        match evaluated {
            Ok(promise) => {
                self.node_mut(url, |node| node.is_evaluated = true);
                if promise.state() == PromiseState::Rejected
                    && let Some(Err(_)) = promise.result::<Value>()
                {
                    self.call::<()>(ctx, "explain", (ctx.catch(),))?;
                }
                Ok(promise)
            }
            Err(_) => {
                let error = self.link_error(ctx, url, ctx.catch())?;
                let failure = Persistent::save(ctx, error.clone());
                self.node_mut(url, |node| node.failure = Some(failure));
                Err(ctx.throw(error))
            }
        }
    }

    /// Tells an error of linking in Node's words, with the place of the import.
    fn link_error<'js>(&self, ctx: &Ctx<'js>, root: &str, error: Value<'js>) -> Result<Value<'js>> {
        let requests = Array::new(ctx.clone())?;
        let mut count = 0;
        for importer in self.graph(root) {
            for (specifier, url) in self.node(&importer, |node| node.requests.clone()) {
                let is_commonjs =
                    self.node(&url, |node| node.values.is_none() && !node.names.is_empty());
                requests.set(count, List((importer.as_str(), specifier, url, is_commonjs)))?;
                count += 1;
            }
        }
        self.call(ctx, "linkError", (error, requests))
    }

    /// Whether something of what a module needs is being evaluated now.
    fn is_running(&self, ctx: &Ctx<'_>, url: &str) -> bool {
        if self.state.roots.get() == 0 {
            return false;
        }
        let graph: HashSet<String> = self.graph(url).into_iter().collect();
        let is_native = self.state.running.borrow().iter().any(|url| graph.contains(url));
        is_native
            || (0..FRAMES).any(|level| {
                let name = ctx.script_or_module_name(level);
                name.and_then(|name| name.to_string().ok())
                    .is_some_and(|name| graph.contains(&name))
            })
    }

    /// An ES module for `require`: its exports, at once.
    fn require_module<'js>(
        &self,
        ctx: &Ctx<'js>,
        path: String,
        parent: Option<String>,
    ) -> Result<Object<'js>> {
        let target = Target::File { path: path.clone().into(), suffix: String::new() };
        let url = target.url();
        self.node_mut(&url, |node| node.target = Some(target));
        let record = self.instantiate(ctx, &url)?;
        self.throw_failure(ctx, &url)?;
        if self.is_running(ctx, &url) {
            return Err(self.throw(ctx, cycle(&path, parent.as_deref())));
        }
        let promise = self.evaluate_graph(ctx, &url)?;
        match promise.state() {
            PromiseState::Resolved => {}
            PromiseState::Pending => return Err(self.throw(ctx, waits(&path, parent.as_deref()))),
            PromiseState::Rejected => {
                module_record::mark_handled(ctx, &promise);
                promise.result::<Value>().unwrap_or(Err(rquickjs::Error::Unknown))?;
            }
        }
        let namespace = record.namespace(ctx)?;
        let is_plain =
            namespace.contains_key("default")? && !namespace.contains_key("__esModule")?;
        if is_plain { self.marked_namespace(ctx, &url) } else { Ok(namespace) }
    }

    /// The exports of a module with `__esModule` among them, by which compiled code knows what `default` is.
    fn marked_namespace<'js>(&self, ctx: &Ctx<'js>, url: &str) -> Result<Object<'js>> {
        let name = format!("mainspring:required/{url}");
        let record = match self.node(&name, |node| node.record) {
            Some(record) => record,
            None => {
                let source = format!(
                    "export * from {url:?}; export {{ default }} from {url:?}; \
                     export const __esModule = true;"
                );
                let depth = self.state.depth.get();
                self.state.depth.set(depth + 1);
                let record = Record::compile(ctx, &source, &name);
                self.state.depth.set(depth);
                let record = record?;
                self.node_mut(&name, |node| node.record = Some(record));
                record
            }
        };
        record.evaluate(ctx)?;
        record.namespace(ctx)
    }
}

/// The path of a module that is a file.
fn path_of(target: &Target) -> Option<String> {
    match target {
        Target::File { path, .. } => Some(path.to_string_lossy().into_owned()),
        _ => None,
    }
}

/// Whether a source of which nothing else tells it is an ES module.
fn is_module(ctx: &Ctx<'_>, url: &str, source: &str) -> bool {
    let syntax = scan::syntax(source);
    if syntax.module || !syntax.doubtful {
        return syntax.module;
    }
    let is_script = compile::function(ctx, source, url, scan::COMMONJS_NAMES).is_ok();
    drop(ctx.catch());
    !is_script
}

fn check_attributes(
    url: &str,
    format: Format,
    attributes: &[(String, String)],
) -> std::result::Result<(), OpError> {
    if let Some((key, value)) = attributes.iter().find(|(key, _)| key != "type") {
        let message = format!("Import attribute \"{key}\" with value \"{value}\" is not supported");
        return Err(OpError::type_error("ERR_IMPORT_ATTRIBUTE_UNSUPPORTED", message));
    }
    match (attributes.first().map(|(_, value)| value.as_str()), format) {
        (Some("json"), Format::Json) => Ok(()),
        (None, Format::Json) => Err(OpError::type_error(
            "ERR_IMPORT_ASSERTION_TYPE_MISSING",
            format!("Module \"{url}\" needs an import attribute of type \"json\""),
        )),
        (None, _) => Ok(()),
        (Some("json"), _) => Err(OpError::type_error(
            "ERR_IMPORT_ASSERTION_TYPE_FAILED",
            format!("Module \"{url}\" is not of type \"json\""),
        )),
        (Some(kind), _) => Err(OpError::type_error(
            "ERR_IMPORT_ASSERTION_TYPE_UNSUPPORTED",
            format!("Import attribute type \"{kind}\" is unsupported"),
        )),
    }
}

fn cycle(path: &str, parent: Option<&str>) -> OpError {
    let from = parent.map_or(String::new(), |parent| format!(" (from {parent})"));
    let message = format!(
        "Cannot require() ES Module {path} in a cycle.{from} A cycle involving require(esm) is not allowed to \
         maintain invariants mandated by the ECMAScript specification. Try making at least part of the \
         dependency in the graph lazily loaded."
    );
    OpError { code: Some("ERR_REQUIRE_CYCLE_MODULE".into()), ..OpError::new("Error", message) }
}

fn waits(path: &str, parent: Option<&str>) -> OpError {
    let from = parent.map_or(String::new(), |parent| format!("\n  From {parent} "));
    let message = format!(
        "require() cannot be used on an ESM graph with top-level await. Use import() instead.{from}\n  \
         Requiring {path} "
    );
    OpError { code: Some("ERR_REQUIRE_ASYNC_MODULE".into()), ..OpError::new("Error", message) }
}
