//! The traits of `futures-io`, for streams and their halves.

/// Both directions of a stream, owned or borrowed.
macro_rules! futures_io {
    ($Stream:ident) => {
        $crate::net::traits::futures_read!(on $Stream, |stream| stream,);
        $crate::net::traits::futures_read!(on &$Stream, |stream| *stream,);
        $crate::net::traits::futures_write!(on $Stream, |stream| stream,);
        $crate::net::traits::futures_write!(on &$Stream, |stream| *stream,);
    };
}

macro_rules! futures_read {
    (on $Reader:ty, |$reader:ident| $stream:expr, $($generics:tt)*) => {
        impl $($generics)* futures_io::AsyncRead for $Reader {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                bytes: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $reader = &*self;
                ($stream).do_poll_read(context, $crate::net::transfer::as_uninit(bytes))
            }
        }
    };
    ($Half:ty, $($lifetime:lifetime)?) => {
        $crate::net::traits::futures_read!(on $Half, |half| half.stream(), <$($lifetime,)? S: Stream>);
    };
}

macro_rules! futures_write {
    (on $Writer:ty, |$writer:ident| $stream:expr, $($generics:tt)*) => {
        /// Closing ends the direction.
        impl $($generics)* futures_io::AsyncWrite for $Writer {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $writer = &*self;
                ($stream).do_poll_write(context, bytes)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                pieces: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $writer = &*self;
                ($stream).do_poll_write_vectored(context, pieces)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(Ok(()))
            }

            fn poll_close(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $writer = &*self;
                std::task::Poll::Ready(($stream).do_shutdown(std::net::Shutdown::Write))
            }
        }
    };
    ($Half:ty, $($lifetime:lifetime)?) => {
        $crate::net::traits::futures_write!(on $Half, |half| half.stream(), <$($lifetime,)? S: Stream>);
    };
}

pub(super) use {futures_io, futures_read, futures_write};
