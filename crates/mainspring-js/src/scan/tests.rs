use super::*;

fn names(source: &str) -> String {
    let found = commonjs_exports(source);
    found.names.iter().chain(&found.reexports).map(String::as_str).collect::<Vec<_>>().join(" ")
}

// spec: JS-3
#[test]
fn module_syntax_is_found() {
    for source in [
        "import 'a'",
        "import a from 'b'",
        "import{a}from'b'",
        "let x = 1\nexport { x }",
        "export default 1",
        "#!/usr/bin/env x\nexport * from 'a'",
        "/* a */ export const a = 1",
        "function f() { return import.meta.url }",
        "const a = `${`}`}`; export { a }",
        "const r = /[/`]/; export { r }",
        "if (x) /'/.test(y); export { x }",
        "{ } /'/; export {}",
        "a = b / c; d = '/'; export {}",
    ] {
        assert!(syntax(source).module, "{source}");
    }
}

// spec: JS-3
#[test]
fn scripts_are_no_modules() {
    for source in [
        "import('a')",
        "const a = require('b'); a.import = 1; a.export()",
        "module.exports = { export: 1, import: 2 }",
        "class A { export() {} import() {} }",
        "// export default 1\n/* import 'a' */ 'export {}'",
        "`export default ${1}`",
        "x = /export default 1/",
        "x = a / b; // /\n y = `import 'a'`",
        "x = (1) / 2; '/ export {}'",
    ] {
        assert!(!syntax(source).module, "{source}");
    }
}

#[test]
fn what_may_make_it_a_module_is_found() {
    assert!(syntax("await 1").doubtful);
    assert!(syntax("for await (const a of b) ;").doubtful);
    assert!(!syntax("a.await; 'await 1' // await").doubtful);
    assert!(syntax("const require = createRequire(x)").doubtful);
    assert!(!syntax("var module; const x = require('x')").doubtful);
}

// spec: JS-3
#[test]
fn exports_are_found_where_node_finds_them() {
    for (source, expected) in [
        ("exports.a=1; exports['b']=2; module.exports.c=3; module.exports[\"d\"]=4", "a b c d"),
        ("module.exports = { a, b: c, 'd': 1, e: f }", "a b"),
        ("module.exports = { a, b: 'x', c }", "a"),
        ("module.exports = { a, 'b': a, c: function(){} , d }", "a b c"),
        ("module.exports = { a, f() {}, c }", "a f"),
        ("module.exports = { a: 1, b }", ""),
        ("module.exports = { ...require('x'), a }", "a x"),
        ("module.exports = require('a'); module.exports = require('b')", "b"),
        ("0 && (module.exports = { a, b })", "a b"),
        ("exports.a = exports.b = void 0; (exports.c = 1)", "a b c"),
        ("if (0) { exports.a = 1 } function f() { exports.b = 2 }", "a b"),
        ("exports.a += 1; exports.b == 1; exports.c => 1; x.exports.d = 1", ""),
        ("const s = 'exports.a = 1'; /* exports.b = 1 */ // exports.c = 1\n/exports.d = 1/", ""),
        ("x = `exports.a = 1 ${exports.b = 2}`; exports.c = 1 / 2 / 3", "b c"),
        ("Object.defineProperty(exports, '__esModule', { value: true })", "__esModule"),
        ("Object.defineProperty(module.exports, 'a', { enumerable: true, value: 1 })", "a"),
        (
            "Object.defineProperty(exports, 'a', { enumerable: true, get: function () { return b.c; } })",
            "a",
        ),
        ("Object.defineProperty(exports, 'a', { enumerable: true, get() { return b['c'] } })", "a"),
        ("Object.defineProperty(exports, 'a', { get() { return b.c } })", ""),
        ("Object.defineProperty(exports, 'a', { enumerable: true, get: () => 1 })", ""),
        ("__exportStar(require('a'), exports); tslib_1.__exportStar(require('b'), exports)", "a b"),
        (
            "var _a = require('a'); Object.keys(_a).forEach(function (key) {
               if (key === 'default' || key === '__esModule') return; exports[key] = _a[key]; });",
            "a",
        ),
        (
            "var _a = _wild(require('a')); Object.keys(_a).forEach(function (k) {
               Object.defineProperty(exports, k, { enumerable: true, get() { return _a[k]; } }); });",
            "a",
        ),
        (r#"exports["a b"] = 1; exports["\x41\u0042\u{43}\t"] = 2"#, "a b ABC\t"),
        ("exports['\\ud800'] = 1", ""),
        ("exports.", ""),
        ("module.exports = {", ""),
        ("exports['a", ""),
    ] {
        assert_eq!(names(source), expected, "{source}");
    }
}
