//! A small server, tested in hundreds of simulations: an hour of clients each, on a system that misbehaves.
//!
//! `cargo run -p mainspring --features sim --example simulate` tries 300 seeds; `… -- 42` only that one, and shows what
//! happens in it.

use std::cell::Cell;
use std::error::Error;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;

use mainspring::sim::{self, Faults, Listener, Simulation, Stream};
use mainspring::{AsyncFd, Cx, EventLoop};

/// Clients that say nothing for so long are sent away.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server's part that serves one client: sends back each line in capitals. It does not know that it is simulated;
/// with a `TcpStream` it would be the same.
async fn serve<S>(cx: &Cx, stream: AsyncFd<S>) -> io::Result<()>
where
    S: AsFd,
    for<'a> &'a S: Read + Write,
{
    let mut line = Vec::new();
    let mut bytes = [0; 64];
    loop {
        let read = stream.read_with(|mut stream| stream.read(&mut bytes));
        let count = cx.timeout(PATIENCE, read).await.map_err(|_| io::ErrorKind::TimedOut)??;
        if count == 0 {
            return Ok(());
        }
        line.extend_from_slice(&bytes[..count]);
        while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            let answer: Vec<u8> =
                line.drain(..=end).map(|byte| byte.to_ascii_uppercase()).collect();
            let mut rest = &answer[..];
            while !rest.is_empty() {
                rest = &rest[stream.write_with(|mut stream| stream.write(rest)).await?..];
            }
        }
    }
}

/// Asks and reads the answer, again and again.
fn talkative(asks: u64) -> io::Result<()> {
    let stream = Stream::connect("server")?;
    for ask in 0..asks {
        sim::sleep(Duration::from_millis(sim::random() % 29_000));
        writeln!(&stream, "ask {ask}")?;
        let expected = format!("ASK {ask}\n");
        let mut answer = vec![0; expected.len()];
        (&stream).read_exact(&mut answer)?;
        assert_eq!(answer, expected.as_bytes());
    }
    Ok(())
}

/// Says half a line, and then nothing. Returns how long the server has put up with it.
fn silent() -> io::Result<Duration> {
    let mut stream = Stream::connect("server")?;
    let begin = sim::elapsed();
    stream.write_all(b"wel")?;
    let rest = stream.read_to_end(&mut Vec::new())?;
    assert_eq!(rest, 0, "it was sent away without an answer");
    Ok(sim::elapsed() - begin)
}

/// The program that is simulated. Returns how many clients were served.
fn program() -> Result<u32, Box<dyn Error>> {
    const CLIENTS: u32 = 6;
    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx().clone();
    let listener = Listener::bind("server")?;
    listener.set_nonblocking(true);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            sim::spawn(move || {
                sim::sleep(Duration::from_millis(sim::random() % 1_800_000));
                if client % 3 == 0 {
                    let patience = silent()?;
                    assert!(patience >= PATIENCE && patience < PATIENCE * 2, "{patience:?}");
                    Ok(())
                } else {
                    talkative(1 + sim::random() % 100)
                }
            })
        })
        .collect();
    let served = Rc::new(Cell::new(0));
    let listener = AsyncFd::new(&cx, listener)?;
    event_loop.block_on(async {
        let mut tasks = Vec::new();
        for _ in 0..CLIENTS {
            let stream = listener.read_with(|listener| listener.accept()).await?;
            stream.set_nonblocking(true);
            let (own, served) = (cx.clone(), Rc::clone(&served));
            tasks.push(cx.spawn_local(async move {
                let stream = AsyncFd::new(&own, stream)
                    .map_err(|refused| io::Error::other(refused.to_string()))?;
                // One that is sent away is served, too.
                let _ = serve(&own, stream).await;
                served.set(served.get() + 1);
                io::Result::Ok(())
            }));
        }
        for task in tasks {
            task.await.map_err(io::Error::other)??;
        }
        io::Result::Ok(())
    })??;
    for client in clients {
        client.join().expect("no client panics")?;
    }
    drop((listener, event_loop));
    assert_eq!(sim::open_descriptors(), 0);
    Ok(served.get())
}

fn main() -> Result<(), Box<dyn Error>> {
    let seeds = match std::env::args().nth(1) {
        Some(seed) => {
            let seed = seed.parse()?;
            seed..seed + 1
        }
        None => 0..300,
    };
    let mut hours = 0.0;
    for seed in seeds.clone() {
        let simulation = Simulation::new(seed).faults(Faults::usual());
        let program =
            || program().map(|served| (served, sim::elapsed())).map_err(|e| e.to_string());
        let (served, elapsed) = simulation.run(program)??;
        assert_eq!(served, 6);
        hours += elapsed.as_secs_f64() / 3600.0;
        if seeds.end - seeds.start == 1 {
            println!("seed {seed}: {served} clients were served within {elapsed:?}");
        }
    }
    println!("{hours:.1} hours of simulated time, and nothing is wrong");
    Ok(())
}
