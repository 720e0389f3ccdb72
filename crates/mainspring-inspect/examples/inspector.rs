//! A program with something to look at: timers, sockets, promises, a busy thread, and a callback now and then that
//! takes too long.
//!
//! ```sh
//! cargo run -p mainspring-inspect --example inspector -- 127.0.0.1:9123
//! ```
//!
//! Then open <http://127.0.0.1:9123/>. It ends with its standard input: at Ctrl-D. Without an address the system
//! chooses a port.

use std::error::Error;
use std::io::{self, Read};
use std::thread;
use std::time::{Duration, Instant};

use mainspring::net::{TcpListener, TcpStream};
use mainspring::{AbortSignal, Cx, EventLoop, Handle, LocalPromise};
use mainspring_inspect::Inspector;

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let inspector = Inspector::serve(address)?;
    println!("{}", inspector.url());

    let event_loop = EventLoop::builder().stall_threshold(Duration::from_millis(40)).build()?;
    inspector.watch("main", &event_loop.handle())?;

    let (send, receive) = std::sync::mpsc::channel();
    let second = thread::spawn(move || {
        let event_loop = EventLoop::builder().metrics(true).build()?;
        let work = |_: &Cx| spin(Duration::from_micros(500));
        event_loop.cx().set_interval(Duration::from_millis(250), work)?;
        send.send(event_loop.handle()).expect("somebody waits for it");
        event_loop.run()
    });
    let background = receive.recv()?;
    inspector.watch("background", &background)?;

    let cx = event_loop.cx();
    timers(cx)?;
    promises(cx)?;
    cx.spawn_local(sockets(cx.clone()));
    let handle = event_loop.handle();
    let producer = thread::spawn({
        let handle = handle.clone();
        move || produce(&handle)
    });
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        handle.close();
        background.close();
    });
    event_loop.run()?;
    producer.join().expect("it does not panic");
    second.join().expect("it does not panic")?;
    Ok(())
}

/// Work for the processor.
fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

fn timers(cx: &Cx) -> Result<(), mainspring::Error> {
    cx.set_interval(Duration::from_millis(10), |cx| {
        spin(Duration::from_micros(300));
        cx.set_immediate(|_| spin(Duration::from_micros(150)));
    })?;
    cx.set_interval(Duration::from_millis(33), |cx| {
        for _ in 0..50 {
            cx.queue_microtask(|_| spin(Duration::from_micros(8)));
        }
        cx.next_tick(|_| spin(Duration::from_micros(60)));
    })?;
    // Once in a while something takes too long.
    cx.set_interval(Duration::from_millis(4700), |_| spin(Duration::from_millis(70)))?;
    cx.set_interval(Duration::from_millis(11300), |_| thread::sleep(Duration::from_millis(220)))?;
    cx.set_timeout(Duration::from_secs(3600), |_| println!("an hour later"))?;
    Ok(())
}

/// Work on other threads, and promises of it.
fn promises(cx: &Cx) -> Result<(), mainspring::Error> {
    cx.set_interval(Duration::from_millis(50), |cx| {
        let done = cx.handle().promisify(&AbortSignal::never(), |_| {
            thread::sleep(Duration::from_millis(80));
            Ok::<_, io::Error>(6)
        });
        let done: LocalPromise<i32> = done.to_local(cx);
        done.then(|_, number| number * 7).then(|_, _| spin(Duration::from_micros(100)));
    })?;
    Ok(())
}

/// A server that sends back what it gets, and clients that talk to it.
async fn sockets(cx: Cx) -> io::Result<()> {
    let listener = TcpListener::bind(&cx, "127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    for number in 0..6 {
        cx.spawn_local(client(cx.clone(), address, Duration::from_millis(4 + number * 3)));
    }
    loop {
        let (stream, _) = listener.accept().await?;
        cx.spawn_local(async move {
            let mut bytes = [0; 4096];
            loop {
                let n = stream.read(&mut bytes).await?;
                if n == 0 {
                    return io::Result::Ok(());
                }
                spin(Duration::from_micros(120));
                stream.write_all(&bytes[..n]).await?;
            }
        });
    }
}

async fn client(cx: Cx, address: std::net::SocketAddr, pause: Duration) -> io::Result<()> {
    let stream = TcpStream::connect(&cx, address).await?;
    let mut bytes = [0; 64];
    loop {
        stream.write_all(b"hello").await?;
        if stream.read(&mut bytes).await? == 0 {
            return Ok(());
        }
        cx.sleep(pause).await;
    }
}

/// Another thread that submits in bursts, which rise and fall.
fn produce(handle: &Handle) {
    let start = Instant::now();
    loop {
        let wave = 1.0 + (start.elapsed().as_secs_f64() / 6.0).sin();
        for _ in 0..(3.0 + 17.0 * wave) as usize {
            if handle.state().is_ending() {
                return;
            }
            // Refused if too many wait: then it is left out.
            let _ = handle.submit(|_| spin(Duration::from_micros(20)));
        }
        thread::sleep(Duration::from_millis(5));
    }
}
