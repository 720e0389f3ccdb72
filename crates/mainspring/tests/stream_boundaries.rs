//! Streams in which a read stops before what there is: at something that is not bytes. A short read does not mean
//! then that there is no more.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;
#[path = "common/fds.rs"]
mod fds;

use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix;
use std::{io, net};

use awaiting::{give_up, run};
use common::Variant;
use fds::build;
use mainspring::net::{TcpStream, UnixStream};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, send, sendmsg};

suite! {
    what_follows_out_of_band_data_is_read,
    what_follows_descriptors_is_read,
    what_comes_from_another_sender_is_read,
}

// spec: BX-1
fn what_follows_out_of_band_data_is_read(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut theirs = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let ours = TcpStream::from_std(cx, listener.accept().unwrap().0).unwrap();
    run(&event_loop, async {
        let mut bytes = [0; 64];
        for _ in 0..3 {
            give_up(cx, ours.read(&mut bytes)).await;
            theirs.write_all(b"before")?;
            assert_eq!(send(&theirs, b"!", SendFlags::OOB)?, 1);
            theirs.write_all(b"after")?;
            // All of it is there before it is looked at.
            assert_eq!(ours.read(&mut bytes).await?, 6);
            assert_eq!(&bytes[..6], b"before", "the system stops here");
            assert_eq!(ours.read(&mut bytes).await?, 5);
            assert_eq!(&bytes[..5], b"after");
        }
        drop(theirs);
        assert_eq!(ours.read(&mut bytes).await?, 0);
        Ok(())
    });
}

/// Sends bytes along with a descriptor.
fn send_with_descriptor(stream: &unix::net::UnixStream, bytes: &[u8]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [stream.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let sent = sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::empty())?;
    assert_eq!(sent, bytes.len());
    Ok(())
}

// spec: BX-1
fn what_follows_descriptors_is_read(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = unix::net::UnixStream::pair().unwrap();
    let ours = UnixStream::from_std(cx, ours).unwrap();
    run(&event_loop, async {
        let mut bytes = [0; 64];
        for _ in 0..3 {
            give_up(cx, ours.read(&mut bytes)).await;
            send_with_descriptor(&theirs, b"first")?;
            send_with_descriptor(&theirs, b"second")?;
            theirs.write_all(b"third")?;
            let mut all = Vec::<u8>::new();
            while all.len() < 16 {
                let n = ours.read(&mut bytes).await?;
                all.extend(&bytes[..n]);
            }
            assert_eq!(all, b"firstsecondthird");
        }
        Ok(())
    });
}

// spec: BX-1
fn what_comes_from_another_sender_is_read(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (ours, mut theirs) = unix::net::UnixStream::pair().unwrap();
    // The system does not join what has different senders, if the receiver wants to know them.
    rustix::net::sockopt::set_socket_passcred(&ours, true).unwrap();
    let ours = UnixStream::from_std(cx, ours).unwrap();
    run(&event_loop, async {
        let mut bytes = [0; 64];
        for _ in 0..3 {
            give_up(cx, ours.read(&mut bytes)).await;
            theirs.write_all(b"ours")?;
            let other = theirs.try_clone()?;
            let status = std::process::Command::new("printf")
                .arg("theirs")
                .stdout(std::os::fd::OwnedFd::from(other))
                .status()?;
            assert!(status.success());
            let mut all = Vec::<u8>::new();
            while all.len() < 10 {
                let n = ours.read(&mut bytes).await?;
                all.extend(&bytes[..n]);
            }
            assert_eq!(all, b"ourstheirs");
        }
        Ok(())
    });
}
