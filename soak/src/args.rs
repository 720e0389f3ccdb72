//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::load::Sabotage;

pub(crate) const USAGE: &str = "\
soak [--minutes N | --seconds N] [--out DIR]
    a mixed load on real loops, for 30 minutes unless told otherwise; writes soak.svg and soak.json";

/// What to do.
#[derive(Debug)]
pub(crate) struct Soak {
    pub(crate) time: Duration,
    pub(crate) out: PathBuf,
    /// For tests of the verdict: less of everything, and something that it must notice.
    pub(crate) is_small: bool,
    pub(crate) sabotage: Option<Sabotage>,
}

/// Takes the arguments apart, or says what is wrong with them.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Soak, String> {
    let mut arguments = arguments.into_iter();
    let mut soak = Soak {
        time: Duration::from_secs(30 * 60),
        out: PathBuf::from("target/soak"),
        is_small: false,
        sabotage: None,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--minutes" => soak.time = Duration::from_secs(60 * number(&value()?)?),
            "--seconds" => soak.time = Duration::from_secs(number(&value()?)?),
            "--out" => soak.out = value()?.into(),
            "--small" => soak.is_small = true,
            "--sabotage" => soak.sabotage = Some(sabotage_by_name(&value()?)?),
            _ => return Err(format!("`{argument}` makes no sense here")),
        }
    }
    Ok(soak)
}

fn number(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or(format!("`{text}` is not a number of at least 1"))
}

fn sabotage_by_name(name: &str) -> Result<Sabotage, String> {
    match name {
        "leak" => Ok(Sabotage::Leak),
        "lose" => Ok(Sabotage::Lose),
        "descriptor" => Ok(Sabotage::Descriptor),
        "thread" => Ok(Sabotage::Thread),
        _ => Err(format!("there is no sabotage `{name}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Soak, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn times_are_minutes_or_seconds() {
        let time = |line| parsed(line).unwrap().time.as_secs();
        assert_eq!(["", "--minutes 2", "--seconds 7"].map(time), [1800, 120, 7]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in ["--minutes", "--minutes 0", "cut", "--sabotage much"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
