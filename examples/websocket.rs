//! A WebSocket chat with `async-tungstenite`: what one says, all are told, the speaker too.
//!
//! ```sh
//! cargo run -p mainspring-examples --example websocket -- 127.0.0.1:8081
//! python3 -m websockets ws://127.0.0.1:8081/
//! ```
//!
//! Ctrl-C or SIGTERM ends it: it says goodbye to all, and waits until they have answered, for some seconds. A
//! second one ends it at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use async_tungstenite::accept_async;
use async_tungstenite::tungstenite::Message;
use async_tungstenite::tungstenite::protocol::CloseFrame;
use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use futures_channel::mpsc::{Receiver, Sender, channel};
use futures_util::future::{Either, select};
use futures_util::{StreamExt, TryStreamExt};
use mainspring::net::{TcpListener, TcpStream};
use mainspring::{AsyncSignals, Cx, EventLoop, JoinHandle};

/// For a handshake, and for goodbyes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Who is this many messages behind is thrown out.
const QUEUE: usize = 256;

/// Those who are there, by number. All is in one thread: no lock, nothing atomic.
#[derive(Default)]
struct Room(RefCell<HashMap<u64, Member>>);

struct Member {
    queue: Sender<Message>,
    visit: JoinHandle<()>,
}

impl Room {
    fn tell_all(&self, message: &Message) {
        self.0.borrow_mut().retain(|_, member| {
            let is_told = member.queue.try_send(message.clone()).is_ok();
            if !is_told {
                member.visit.abort();
            }
            is_told
        });
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();
    let signals = AsyncSignals::termination(cx)?;
    event_loop.block_on(serve(cx, &address, &signals))??;
    // The visits are futures that are not done yet: the loop is idle when all have left.
    let timer = cx.set_timeout(PATIENCE, |cx| cx.shutdown())?;
    cx.reference_timer(timer, false)?;
    let impatient = cx.spawn_local({
        let cx = cx.clone();
        async move {
            if signals.recv().await.is_ok() {
                cx.shutdown();
            }
        }
    });
    impatient.reference(false);
    event_loop.run_until_idle()?;
    println!("ended");
    Ok(())
}

async fn serve(cx: &Cx, address: &str, signals: &AsyncSignals) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(cx, address).await?;
    println!("listening on ws://{}", listener.local_addr()?);

    let room = Rc::new(Room::default());
    let mut signal = pin!(signals.recv());
    for number in 0.. {
        let stream = match select(pin!(listener.accept()), &mut signal).await {
            Either::Left((accepted, _)) => accepted?.0,
            Either::Right(_) => break,
        };
        let (queue, messages) = channel(QUEUE);
        let (cx_of_visit, room_of_visit) = (cx.clone(), Rc::clone(&room));
        let visit = cx.spawn_local(async move {
            if let Err(error) = visit(&cx_of_visit, &room_of_visit, stream, messages).await {
                eprintln!("visit {number} failed: {error}");
            }
            room_of_visit.0.borrow_mut().remove(&number);
        });
        room.0.borrow_mut().insert(number, Member { queue, visit });
    }

    let frame = CloseFrame { code: CloseCode::Away, reason: "closing time".into() };
    room.tell_all(&Message::Close(Some(frame)));
    Ok(())
}

async fn visit(
    cx: &Cx,
    room: &Room,
    stream: TcpStream,
    messages: Receiver<Message>,
) -> Result<(), Box<dyn Error>> {
    stream.set_nodelay(true)?;
    let (to_client, from_client) = cx.timeout(PATIENCE, accept_async(stream)).await??.split();
    let hearing = messages.map(Ok).forward(to_client);
    let speaking = from_client.try_for_each(async |message| {
        if message.is_text() || message.is_binary() {
            room.tell_all(&message);
        }
        Ok(())
    });
    // The client has closed and was answered, or it is gone.
    select(pin!(speaking), pin!(hearing)).await.factor_first().0?;
    Ok(())
}
