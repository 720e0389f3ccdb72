//! The WebSocket server, with the `websockets` of Python as its client.

mod common;

use std::env;
use std::net::TcpStream;
use std::process::Command;

use common::{Process, Server, curl, run};
use rustix::process::Signal;

fn server() -> Server {
    Server::example("websocket", &[])
}

/// A Python that has the client: that of the variable `PYTHON`, or the usual one.
fn python() -> Command {
    let candidates = [env::var("PYTHON").ok(), Some("python3".into())];
    for candidate in candidates.into_iter().flatten() {
        let mut test = Command::new(&candidate);
        if test.args(["-c", "import websockets"]).output().is_ok_and(|it| it.status.success()) {
            return Command::new(candidate);
        }
    }
    panic!("the websockets of Python are missing: please run `python3 -m pip install websockets`");
}

/// The body of an asynchronous function of Python, with `connect()` to the server.
fn client(server: &Server, body: &str) -> Command {
    let body: String = body.lines().map(|line| format!("{line}\n")).collect();
    let script = format!(
        "
import asyncio, os, sys, websockets
def connect(**options):
    return websockets.connect(sys.argv[1], max_size=None, **options)
async def main():
{body}
asyncio.run(main())
"
    );
    let mut python = python();
    python.args(["-u", "-c", &script, &server.url]);
    python
}

fn assert_content(server: &Server, body: &str) {
    common::stdout(&mut client(server, body));
}

// spec: BX-1
#[test]
fn what_is_said_comes_back() {
    let server = server();
    assert_content(
        &server,
        "
    async with connect() as room:
        for message in ['hello', '', 'Ünïcödé 🦀', b'', os.urandom(1), 'x' * 70000, os.urandom(5000000)]:
            await room.send(message)
            assert await room.recv() == message
        ",
    );
    server.stop();
}

// spec: BX-1
#[test]
fn a_message_in_fragments_comes_back_whole() {
    let server = server();
    assert_content(
        &server,
        "
    async with connect() as room:
        await room.send(['one, ', 'two, ', 'three'])
        assert await room.recv() == 'one, two, three'
        await room.send([os.urandom(100000) for _ in range(20)])
        assert len(await room.recv()) == 2000000
        ",
    );
    server.stop();
}

// spec: BX-1
#[test]
fn a_ping_is_answered_in_the_middle_of_it() {
    let server = server();
    assert_content(
        &server,
        "
    async with connect() as room:
        for _ in range(20):
            pong = await room.ping()
            await room.send('hello')
            await pong
            assert await room.recv() == 'hello'
        await (await room.ping(b'nothing else'))
        ",
    );
    server.stop();
}

// spec: BX-1
#[test]
fn all_hear_all_in_the_same_order() {
    let server = server();
    assert_content(
        &server,
        "
    # None of them may speak before all are there: each hears itself.
    rooms = [await connect() for _ in range(20)]
    for room in rooms:
        await (await room.ping())
    async def speak(number, room):
        for turn in range(10):
            await room.send(f'{number}: {turn}')
    async def hear(room):
        return [await room.recv() for _ in range(200)]
    heard, _ = await asyncio.gather(
        asyncio.gather(*(hear(room) for room in rooms)),
        asyncio.gather(*(speak(number, room) for number, room in enumerate(rooms))))
    assert len(set(heard[0])) == 200
    assert all(one == heard[0] for one in heard)
    for room in rooms:
        await room.close()
        ",
    );
    server.stop();
}

// spec: BX-1
#[test]
fn who_says_goodbye_is_answered() {
    let server = server();
    assert_content(
        &server,
        "
    room = await connect()
    await room.close(4321, 'enough')
    assert room.close_code == 4321, room.close_code
    async with connect() as room: # Others can still come.
        await room.send('hello')
        assert await room.recv() == 'hello'
        ",
    );
    server.stop();
}

// spec: BX-1
#[test]
fn who_leaves_without_a_word_harms_nobody() {
    let server = server();
    assert_content(
        &server,
        "
    async with connect() as stays:
        for _ in range(20):
            leaves = await connect()
            await leaves.send('hello')
            await stays.recv()
            leaves.transport.abort()
            await stays.send('who is there?')
            assert await stays.recv() == 'who is there?'
        ",
    );
    server.stop();
}

// spec: BX-1
#[test]
fn who_does_not_listen_is_thrown_out() {
    let server = server();
    assert_content(
        &server,
        "
    deaf = await connect(max_queue=1, ping_interval=None)
    deaf.transport.pause_reading()
    async with connect() as room:
        async with connect() as other:
            for turn in range(1500):
                await room.send(bytes(65536))
                assert len(await room.recv()) == 65536
                assert len(await other.recv()) == 65536
    deaf.transport.resume_reading()
    try:
        while True:
            await deaf.recv()
    except websockets.ConnectionClosed as closed:
        assert closed.rcvd is None, closed
        ",
    );
    server.stop();
}

// spec: BX-1
#[test]
fn at_the_end_all_are_told() {
    let mut server = server();
    let mut client = Process::start(&mut client(
        &server,
        "
    rooms = [await connect() for _ in range(10)]
    for room in rooms:
        await (await room.ping())
    print('ready')
    for room in rooms:
        try:
            await room.recv()
        except websockets.ConnectionClosed as closed:
            assert (closed.rcvd.code, closed.rcvd.reason) == (1001, 'closing time'), closed
        else:
            assert False
        ",
    ));
    assert_eq!(client.line(), "ready");
    server.process.signal(Signal::INT);
    client.finish();
    assert_eq!(server.process.line(), "ended");
    assert_eq!(server.process.finish(), b"");
}

// spec: BX-1
#[test]
fn what_is_not_a_websocket_is_refused() {
    let server = server();
    let url = server.url.replace("ws", "http");
    assert!(!run(&mut curl(&["--fail", &url])).status.success());
    drop(TcpStream::connect(server.address()).unwrap());
    server.stop();
}
