//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::hostile::Scenario;
use crate::load::Sabotage;

pub(crate) const USAGE: &str = "\
soak [--minutes N | --seconds N] [--out DIR]
    a mixed load on real loops, for 30 minutes unless told otherwise; writes soak.svg and soak.json
soak hostile [flood|silent|cut|exhausted] [--seconds N]
    what the hostile do, all of it or one; flood and silent take that long, 60 seconds unless told otherwise";

/// What to do.
#[derive(Debug)]
pub(crate) enum Command {
    Soak(Soak),
    /// All scenarios, each in a process of its own.
    Hostile(Duration),
    /// One, in this process.
    Scenario(Scenario, Duration),
}

#[derive(Debug)]
pub(crate) struct Soak {
    pub(crate) time: Duration,
    pub(crate) out: PathBuf,
    /// For tests of the verdict: less of everything, and something that it must notice.
    pub(crate) is_small: bool,
    pub(crate) sabotage: Option<Sabotage>,
}

/// Takes the arguments apart, or says what is wrong with them.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter().peekable();
    let is_hostile = arguments.next_if_eq("hostile").is_some();
    let (mut time, mut scenario) = (None, None);
    let (mut out, mut is_small, mut sabotage) = (PathBuf::from("target/soak"), false, None);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--minutes" => time = Some(Duration::from_secs(60 * number(&value()?)?)),
            "--seconds" => time = Some(Duration::from_secs(number(&value()?)?)),
            "--out" if !is_hostile => out = value()?.into(),
            "--small" if !is_hostile => is_small = true,
            "--sabotage" if !is_hostile => sabotage = Some(sabotage_by_name(&value()?)?),
            name if is_hostile && scenario.is_none() => {
                let found = Scenario::ALL.into_iter().find(|scenario| scenario.name() == name);
                scenario = Some(found.ok_or(format!("there is no scenario `{name}`"))?);
            }
            _ => return Err(format!("`{argument}` makes no sense here")),
        }
    }
    Ok(match scenario {
        _ if !is_hostile => {
            let time = time.unwrap_or(Duration::from_secs(30 * 60));
            Command::Soak(Soak { time, out, is_small, sabotage })
        }
        None => Command::Hostile(time.unwrap_or(Duration::from_secs(60))),
        Some(scenario) => Command::Scenario(scenario, time.unwrap_or(Duration::from_secs(60))),
    })
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

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn times_are_minutes_or_seconds() {
        let time = |line| match parsed(line) {
            Ok(Command::Soak(soak)) => soak.time.as_secs(),
            Ok(Command::Hostile(time) | Command::Scenario(_, time)) => time.as_secs(),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(["", "--minutes 2", "--seconds 7"].map(time), [1800, 120, 7]);
        assert_eq!(["hostile --seconds 7", "hostile cut"].map(time), [7, 60]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in ["--minutes", "--minutes 0", "hostile nobody", "cut", "--sabotage much"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
