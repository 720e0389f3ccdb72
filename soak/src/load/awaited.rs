//! Echo through futures: servers and clients are tasks of one loop, over TCP and between Unix sockets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mainspring::net::{TcpListener, TcpStream, UnixStream};
use mainspring::{Cx, JoinHandle};

use super::run::Run;
use crate::ledger::{AWAITED, CONNECTIONS, FUTURES};
use crate::random::Random;

/// Nobody waits longer than that for an answer, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// Keeps so many connections open until the run is over. The future that is returned listens, until it is aborted.
pub(crate) fn start(cx: &Cx, run: &Arc<Run>, connections: usize) -> io::Result<JoinHandle<()>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let listener = TcpListener::from_std(cx, listener)?;
    let context = cx.clone();
    let listening = cx.spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            serve(&context, stream);
        }
    });
    for number in 0..connections {
        let (cx, run) = (cx.clone(), Arc::clone(run));
        let ticket = FUTURES.issue();
        cx.clone().spawn_local(async move {
            let mut random = Random::new(1000 + number as u64);
            while !run.is_over() {
                let open = CONNECTIONS.issue();
                let result = if number.is_multiple_of(2) {
                    talk_locally(&cx, &run, &mut random).await
                } else {
                    talk(&cx, &run, &mut random, address).await
                };
                result.expect("a connection to ourselves works");
                open.run();
            }
            ticket.run();
        });
    }
    Ok(listening)
}

/// The two streams have the same methods, and no trait in common.
macro_rules! echo {
    ($serve:ident, $chat:ident, $Stream:ident) => {
        /// Sends everything back, until the end.
        fn $serve(cx: &Cx, stream: $Stream) {
            let ticket = FUTURES.issue();
            cx.spawn_local(async move {
                let mut bytes = [0; 1024];
                while let Ok(count) = stream.read(&mut bytes).await
                    && count > 0
                    && stream.write_all(&bytes[..count]).await.is_ok()
                {}
                ticket.run();
            });
        }

        /// Sends messages, and waits until each has come back.
        async fn $chat(cx: &Cx, run: &Run, random: &mut Random, stream: $Stream) -> io::Result<()> {
            for _ in 0..random.within(1..100) {
                if run.is_over() {
                    break;
                }
                let ticket = AWAITED.issue();
                let message: Vec<_> =
                    (0..random.within(1..3000)).map(|_| random.next() as u8).collect();
                let mut answer = vec![0; message.len()];
                stream.write_all(&message).await?;
                cx.timeout(PATIENCE, stream.read_exact(&mut answer))
                    .await
                    .map_err(io::Error::other)??;
                assert!(answer == message, "what was sent comes back");
                ticket.run();
                cx.sleep(random.milliseconds(1..200)).await;
            }
            Ok(())
        }
    };
}

echo!(serve, chat, TcpStream);
echo!(serve_locally, chat_locally, UnixStream);

async fn talk(cx: &Cx, run: &Run, random: &mut Random, address: SocketAddr) -> io::Result<()> {
    let stream = TcpStream::connect(cx, address).await?;
    stream.set_nodelay(true)?;
    chat(cx, run, random, stream).await
}

async fn talk_locally(cx: &Cx, run: &Run, random: &mut Random) -> io::Result<()> {
    let (ours, theirs) = UnixStream::pair(cx)?;
    serve_locally(cx, theirs);
    chat_locally(cx, run, random, ours).await
}
