//! Random values, from the system.

use std::hint::black_box;

use uuid::Uuid;

use super::{Args, Op};
use crate::{Host, OpError, Value};

pub(crate) const OPS: &[(&str, Op)] = &[
    ("randomBytes", random_bytes),
    ("randomUuid", random_uuid),
    ("timingSafeEqual", timing_safe_equal),
];

/// `randomBytes(count)`
fn random_bytes(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let mut bytes = vec![0; args.number(0)? as usize];
    getrandom::fill(&mut bytes).map_err(|error| OpError::new("Error", error.to_string()))?;
    Ok(bytes.into())
}

/// `randomUuid()`: version 4.
fn random_uuid(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    Ok(Uuid::new_v4().to_string().into())
}

/// `timingSafeEqual(a, b)`: for equal lengths, in a time that does not tell where they differ.
fn timing_safe_equal(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (a, b) = (args.bytes(0)?, args.bytes(1)?);
    let difference = a.iter().zip(&b).fold(0, |found, (a, b)| black_box(found | (a ^ b)));
    Ok((a.len() == b.len() && difference == 0).into())
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    // spec: JS-2
    #[test]
    fn bytes_are_as_many_and_differ() {
        let bytes = || match run(random_bytes, [Value::from(32.0)]) {
            Value::Bytes(bytes) => bytes,
            other => panic!("{other:?}"),
        };
        assert_eq!(bytes().len(), 32);
        assert_ne!(bytes(), bytes());
    }

    // spec: JS-2
    #[test]
    fn an_id_is_of_version_4() {
        let Value::String(id) = run(random_uuid, [Value::Undefined]) else { panic!("no string") };
        assert_eq!((id.len(), &id[14..15]), (36, "4"));
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"));
    }

    // spec: JS-2
    #[test]
    fn equal_is_equal() {
        assert_eq!(run(timing_safe_equal, ["abc", "abc"]), Value::Bool(true));
        assert_eq!(run(timing_safe_equal, ["abc", "xbc"]), Value::Bool(false));
        assert_eq!(run(timing_safe_equal, ["abc", "ab"]), Value::Bool(false));
    }
}
