//! The command.
use mainspring::EventLoop;
use mainspring_quickjs::{Options, Runtime};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let event_loop = EventLoop::builder().microtask_budget(None).build().unwrap();
    let options = Options::new().args(args[2..].to_vec()).on_exit(|_, code| std::process::exit(code));
    let script = Runtime::new(event_loop.cx(), options).unwrap();
    match args[1].as_str() {
        "run" => {
            if mainspring_js::builtin("internal/run_main").is_some() {
                script.start_file(args[2].as_ref());
            } else {
                let source = std::fs::read_to_string(&args[2]).unwrap();
                if let Err(error) = script.eval(&source, &args[2]) {
                    eprintln!("{error}");
                    std::process::exit(1);
                }
            }
        }
        "eval" => script.eval(&args[2], "[eval]").unwrap(),
        _ => {}
    }
    let code = script.run(&event_loop).unwrap();
    std::process::exit(code);
}
