//! Where a script's output goes.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::rc::Rc;

type Sink = Rc<RefCell<dyn Write>>;

/// Where the output of a script goes. Clones are the same.
///
/// ```
/// use mainspring_js::Output;
///
/// let output = Output::buffer();
/// output.write(b"hello")?;
/// assert_eq!(output.text(), "hello");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Output(Kind);

#[derive(Clone)]
enum Kind {
    Stdout,
    Stderr,
    Buffer(Rc<RefCell<Vec<u8>>>),
    Sink(Sink),
    Terminal(Sink),
}

impl Output {
    /// The standard output of the process.
    ///
    /// ```
    /// mainspring_js::Output::stdout().write(b"hello\n")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn stdout() -> Self {
        Self(Kind::Stdout)
    }

    /// The standard error of the process.
    ///
    /// ```
    /// mainspring_js::Output::stderr().write(b"hello\n")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn stderr() -> Self {
        Self(Kind::Stderr)
    }

    /// A buffer, to be looked at by [`text`](Self::text).
    ///
    /// ```
    /// assert_eq!(mainspring_js::Output::buffer().text(), "");
    /// ```
    #[must_use]
    pub fn buffer() -> Self {
        Self(Kind::Buffer(Rc::default()))
    }

    /// Something of your own.
    ///
    /// ```
    /// let output = mainspring_js::Output::new(std::io::sink());
    /// output.write(b"into the void")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(sink: impl Write + 'static) -> Self {
        Self(Kind::Sink(Rc::new(RefCell::new(sink))))
    }

    /// Something of your own that a person looks at: scripts may use colours.
    ///
    /// ```
    /// assert!(mainspring_js::Output::terminal(std::io::sink()).is_terminal());
    /// ```
    pub fn terminal(sink: impl Write + 'static) -> Self {
        Self(Kind::Terminal(Rc::new(RefCell::new(sink))))
    }

    /// What was written to a [`buffer`](Self::buffer) so far; nothing for others.
    ///
    /// ```
    /// let output = mainspring_js::Output::buffer();
    /// output.write(b"one ")?;
    /// output.clone().write(b"two")?;
    /// assert_eq!(output.text(), "one two");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        match &self.0 {
            Kind::Buffer(bytes) => String::from_utf8_lossy(&bytes.borrow()).into_owned(),
            _ => String::new(),
        }
    }

    /// Writes all of it.
    ///
    /// # Errors
    ///
    /// As of the sink.
    ///
    /// ```
    /// let output = mainspring_js::Output::buffer();
    /// output.write("größer".as_bytes())?;
    /// # assert_eq!(output.text(), "größer");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match &self.0 {
            Kind::Stdout => write_all(&mut io::stdout().lock(), bytes),
            Kind::Stderr => write_all(&mut io::stderr().lock(), bytes),
            Kind::Buffer(buffer) => {
                buffer.borrow_mut().extend_from_slice(bytes);
                Ok(())
            }
            Kind::Sink(sink) | Kind::Terminal(sink) => write_all(&mut *sink.borrow_mut(), bytes),
        }
    }

    /// Whether a person looks at it.
    ///
    /// ```
    /// assert!(!mainspring_js::Output::buffer().is_terminal());
    /// ```
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self.0 {
            Kind::Stdout => io::stdout().is_terminal(),
            Kind::Stderr => io::stderr().is_terminal(),
            Kind::Buffer(_) | Kind::Sink(_) => false,
            Kind::Terminal(_) => true,
        }
    }
}

/// Writes and flushes. A pipe that somebody made non-blocking is waited for.
fn write_all(sink: &mut dyn Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
    loop {
        match sink.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            result => return result,
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Stdout => "Output::stdout",
            Kind::Stderr => "Output::stderr",
            Kind::Buffer(_) => "Output::buffer",
            Kind::Sink(_) | Kind::Terminal(_) => "Output",
        })
    }
}

/// Both.
#[derive(Clone, Debug)]
pub(crate) struct Stdio {
    pub(crate) out: Output,
    pub(crate) err: Output,
}

impl Default for Stdio {
    fn default() -> Self {
        Self { out: Output::stdout(), err: Output::stderr() }
    }
}
