//! Runs a script with Boa: `cargo run --manifest-path examples/boa/Cargo.toml -- examples/js/hello.js`.

use mainspring::EventLoop;
use mainspring_boa::Script;
use mainspring_js::{Global, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else {
        eprintln!("usage: mainspring-boa FILE [args]");
        std::process::exit(2);
    };
    let source = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let event_loop = EventLoop::builder().microtask_budget(None).build()?;
    let options = Options::new()
        .without([Global::Modules])
        .args(std::iter::once(file.clone()).chain(args))
        .on_exit(|_, code| std::process::exit(code));
    let script = Script::new(&event_loop, options)?;
    std::process::exit(script.run(&event_loop, &source, &file)?)
}
