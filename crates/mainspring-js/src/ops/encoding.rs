//! Text encodings, as the Encoding standard says.

use std::cell::RefCell;
use std::collections::HashMap;

use encoding_rs::{Decoder, DecoderResult, Encoding, REPLACEMENT, UTF_8};

use super::{Args, Op};
use crate::{Host, OpError, Value};

pub(crate) const OPS: &[(&str, Op)] = &[
    ("encodingName", name),
    ("encodeUtf8", encode_utf8),
    ("encodeUtf8Into", encode_utf8_into),
    ("decode", decode),
    ("decodeStream", decode_stream),
    ("decodeCancel", decode_cancel),
];

/// The streams that scripts have begun to decode.
#[derive(Default)]
struct Streams(RefCell<(u32, HashMap<u32, Decoder>)>);

/// `encodingName(label)`: the encoding of a label, or `undefined` if there is none to decode with.
fn name(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let encoding = Encoding::for_label(args.string(0)?.as_bytes());
    let name = encoding.filter(|found| *found != REPLACEMENT).map(|found| found.name());
    Ok(name.map(str::to_ascii_lowercase).into())
}

/// `encodeUtf8(text)`
fn encode_utf8(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    Ok(args.string(0)?.into_bytes().into())
}

/// `encodeUtf8Into(text, room)`: the bytes of the characters that fit, and how much of the text they are.
fn encode_utf8_into(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (mut text, room) = (args.string(0)?, args.number(1)? as usize);
    text.truncate(text.floor_char_boundary(room));
    let read = text.encode_utf16().count() as f64;
    Ok(Value::Array(vec![text.into_bytes().into(), read.into()]))
}

/// `decode(name, bytes, fatal, keepBom)`: all at once; `undefined` if they are wrong and that is fatal.
fn decode(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (name, bytes) = (args.string(0)?, args.bytes(1)?);
    let (fatal, keep_bom) = (args.bool(2)?, args.bool(3)?);
    Ok(step(&mut decoder(&name, keep_bom), &bytes, fatal, true).into())
}

/// `decodeStream(id, name, bytes, fatal, keepBom, last)`: the text and the id to go on with. The id is 0
/// at the start, and at the end. There is no text if the bytes are wrong and that is fatal.
fn decode_stream(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (id, name, bytes) = (args.number(0)? as u32, args.string(1)?, args.bytes(2)?);
    let (fatal, keep_bom, last) = (args.bool(3)?, args.bool(4)?, args.bool(5)?);
    let streams = host.resource(Streams::default);
    let (next, open) = &mut *streams.0.borrow_mut();
    let mut decoder = open.remove(&id).unwrap_or_else(|| decoder(&name, keep_bom));
    let text = step(&mut decoder, &bytes, fatal, last);
    let mut going_on = 0;
    if !last && text.is_some() {
        going_on = id;
        if id == 0 {
            *next += 1;
            going_on = *next;
        }
        open.insert(going_on, decoder);
    }
    Ok(Value::Array(vec![text.into(), going_on.into()]))
}

/// `decodeCancel(id)`: for a stream that nobody goes on with.
fn decode_cancel(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    host.resource(Streams::default).0.borrow_mut().1.remove(&(args.number(0)? as u32));
    Ok(Value::Undefined)
}

fn decoder(name: &str, keep_bom: bool) -> Decoder {
    let encoding = Encoding::for_label(name.as_bytes()).unwrap_or(UTF_8);
    if keep_bom {
        encoding.new_decoder_without_bom_handling()
    } else {
        encoding.new_decoder_with_bom_removal()
    }
}

fn step(decoder: &mut Decoder, bytes: &[u8], fatal: bool, last: bool) -> Option<String> {
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length(bytes.len())?);
    if fatal {
        let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, last);
        return matches!(result, DecoderResult::InputEmpty).then_some(text);
    }
    let _ = decoder.decode_to_string(bytes, &mut text, last);
    Some(text)
}

#[cfg(test)]
mod tests {
    use mainspring::EventLoop;

    use super::super::testing::run;
    use super::*;
    use crate::{Arg, Options};

    fn decoded(label: &str, bytes: &[u8], fatal: bool, keep_bom: bool) -> Value {
        let bytes = Value::Bytes(bytes.to_vec());
        run(decode, [Value::from(label), bytes, Value::Bool(fatal), Value::Bool(keep_bom)])
    }

    // spec: JS-2
    #[test]
    fn labels_are_names_of_encodings() {
        assert_eq!(run(name, [" UTF8\n"]), Value::from("utf-8"));
        assert_eq!(run(name, ["latin1"]), Value::from("windows-1252"));
        assert_eq!(run(name, ["iso-2022-kr"]), Value::Undefined);
        assert_eq!(run(name, ["utf-7"]), Value::Undefined);
    }

    // spec: JS-2
    #[test]
    fn only_whole_characters_are_encoded_into() {
        let into = |text: &str, room: f64| {
            let found = run(encode_utf8_into, [Value::from(text), Value::from(room)]);
            let Value::Array(parts) = found else { panic!("{found:?}") };
            parts
        };
        assert_eq!(into("aé☃", 5.0), [Value::Bytes("aé".into()), Value::from(2.0)]);
        assert_eq!(into("😀x", 9.0), [Value::Bytes("😀x".into()), Value::from(3.0)]);
    }

    // spec: JS-2
    #[test]
    fn what_is_wrong_is_replaced_or_fatal() {
        assert_eq!(decoded("utf-8", b"a\xf0\x9f\x98b", false, false), Value::from("a\u{fffd}b"));
        assert_eq!(decoded("utf-8", b"a\xf0\x9f\x98b", true, false), Value::Undefined);
        assert_eq!(decoded("utf-8", b"\xef\xbb\xbfa", true, false), Value::from("a"));
        assert_eq!(decoded("utf-8", b"\xef\xbb\xbfa", true, true), Value::from("\u{feff}a"));
        assert_eq!(decoded("shift_jis", b"\x82\xa0", true, false), Value::from("あ"));
    }

    // spec: JS-2
    #[test]
    fn streams_keep_what_is_between_their_pieces() {
        let event_loop = EventLoop::new().unwrap();
        let host = Host::new(event_loop.cx().clone(), Options::new());
        let call = |op: Op, values: Vec<Value>| {
            let mut values: Vec<Arg> = values.into_iter().map(Arg::Value).collect();
            op(&host, Args::new(&mut values)).unwrap()
        };
        let step = |id: u32, bytes: &[u8], last: bool| {
            let label = Value::from("iso-2022-jp");
            let bytes = Value::Bytes(bytes.to_vec());
            let [no, last] = [false, last].map(Value::Bool);
            let found = call(decode_stream, vec![id.into(), label, bytes, no.clone(), no, last]);
            let Value::Array(parts) = found else { panic!("{found:?}") };
            (parts[0].clone(), parts[1].clone())
        };
        assert_eq!(step(0, b"a\x1b$", false), (Value::from("a"), Value::from(1)));
        assert_eq!(step(0, b"b", false), (Value::from("b"), Value::from(2)));
        assert_eq!(step(1, b"B$\"$", false), (Value::from("あ"), Value::from(1)));
        assert_eq!(step(1, b"", true), (Value::from("\u{fffd}"), Value::from(0)));
        call(decode_cancel, vec![Value::from(2)]);
        assert!(host.resource(Streams::default).0.borrow().1.is_empty());
    }
}
