//! Pages of the inspector that are open.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use mainspring::Handle;
use mainspring_inspect::Inspector;

/// How often the figures are asked for. A browser asks once a second, so that is as often as ten of them do.
const REFRESH: Duration = Duration::from_millis(100);

/// See the [module documentation](self).
pub struct Pages(Inspector);

impl Pages {
    /// Pages that show one loop.
    pub fn of(handle: &Handle) -> Self {
        let inspector = Inspector::serve("127.0.0.1:0").expect("there is a port");
        inspector.watch("benchmark", handle).expect("it has metrics");
        Self(inspector)
    }

    /// Does something while they are open.
    pub fn during<R>(&self, f: impl FnOnce() -> R) -> R {
        let address = self.0.local_addr();
        thread::scope(|scope| {
            let (end, ended) = channel::<()>();
            scope.spawn(move || {
                loop {
                    assert!(ask(address).is_ok_and(|bytes| bytes > 1000));
                    if ended.recv_timeout(REFRESH) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                }
            });
            let result = f();
            drop(end);
            result
        })
    }
}

/// Asks for the figures.
fn ask(address: SocketAddr) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    let request =
        format!("GET /state.json HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)
}
