//! What was measured, when, and on what machine.

use std::ffi::CStr;
use std::fs::read_to_string;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::measure::Random;

/// What this program depends on without comparing it. libuv says its version itself.
const NOT_PEERS: [&str; 11] = [
    "clap",
    "futures-channel",
    "futures-util",
    "http-body-util",
    "hyper-util",
    "libc",
    "libuv-sys2",
    "rustix",
    "serde_json",
    "smol-hyper",
    "socket2",
];

pub fn header(repetitions: usize) -> Value {
    json!({
        "date": date(SystemTime::now()),
        "machine": {
            "processor": processor(),
            "processors": thread::available_parallelism().map_or(1, usize::from),
            "memory, MiB": memory() / 1024,
            "kernel": read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        },
        "rustc": env!("BENCH_RUSTC"),
        "versions": versions(),
        "allocator": "the system's",
        "repetitions": repetitions,
        "seed": Random::SEED,
    })
}

pub fn print(header: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    println!("{}", text(&header["date"]));
    println!("{}", machine(header));
    println!("{}", text(&header["rustc"]));
    println!("{}", peers(header));
    println!("{} repetitions, the system's allocator", header["repetitions"]);
}

/// What was compared, with the version of each, in one line.
pub fn peers(header: &Value) -> String {
    let versions = header["versions"].as_object().into_iter().flatten();
    let named =
        versions.map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or("?")));
    named.collect::<Vec<_>>().join(", ")
}

/// The machine in one line.
pub fn machine(header: &Value) -> String {
    let machine = &header["machine"];
    let gigabytes = machine["memory, MiB"].as_f64().unwrap_or_default() / 1024.0;
    format!(
        "{}, {} processors, {gigabytes:.1} GiB, Linux {}",
        machine["processor"].as_str().unwrap_or("?"),
        machine["processors"],
        machine["kernel"].as_str().unwrap_or("?"),
    )
}

/// The model of the first processor.
fn processor() -> String {
    let text = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    });
    // Other architectures do not name it there.
    model.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// In KiB.
fn memory() -> u64 {
    let text = read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    total.and_then(|total| total.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn versions() -> Map<String, Value> {
    // SAFETY: libuv returns a constant.
    let libuv = unsafe { CStr::from_ptr(libuv_sys2::uv_version_string()) };
    let mut versions = locked(include_str!("../Cargo.lock"));
    versions.insert("libuv".to_owned(), json!(libuv.to_string_lossy()));
    for (name, program) in [("Node", "node"), ("wrk", "wrk")] {
        if let Some(version) = program_version(program) {
            versions.insert(name.to_owned(), json!(version));
        }
    }
    versions
}

/// The versions of what this package depends on, from its lock file.
fn locked(lock: &str) -> Map<String, Value> {
    let field = |package: &str, name: &str| {
        let line = package.lines().find(|line| line.starts_with(&format!("{name} = \"")))?;
        line.split('"').nth(1).map(str::to_owned)
    };
    let packages: Vec<_> = lock.split("[[package]]").collect();
    let version = |name: &str| {
        let package =
            packages.iter().find(|package| field(package, "name").as_deref() == Some(name));
        package.and_then(|package| field(package, "version"))
    };
    let ours = packages
        .iter()
        .find(|package| field(package, "name").as_deref() == Some(env!("CARGO_PKG_NAME")))
        .expect("the lock file is this package's");
    // A dependency is named with its version if there are several.
    let dependencies = ours.lines().filter_map(|line| line.strip_prefix(" \"")?.split('"').next());
    dependencies
        .map(|dependency| dependency.split_once(' ').unwrap_or((dependency, "")))
        .filter(|(name, _)| !NOT_PEERS.contains(name))
        .filter_map(|(name, which)| {
            let version = if which.is_empty() { version(name)? } else { which.to_owned() };
            Some((name.to_owned(), json!(version)))
        })
        .collect()
}

/// What a program calls its version, if there is such a program: the first word with a digit.
fn program_version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    text.split_whitespace().find(digit).map(|word| word.trim_start_matches('v').to_owned())
}

/// As ISO 8601 has it, in UTC, to the minute.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    let (year, month, day) = civil(days);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// Year, month and day, from the days since 1970: years begin in March, so that a leap day is the last one.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_825_599), "2000-02-29 11:59 UTC");
        assert_eq!(date(1_735_689_599), "2024-12-31 23:59 UTC");
    }

    #[test]
    fn peers_have_their_locked_versions() {
        let lock = "[[package]]\nname = \"mainspring-bench\"\nversion = \"0.0.0\"\ndependencies = [\n \
                    \"clap\",\n \"mio 1.0.0\",\n \"tokio\",\n]\n\n[[package]]\nname = \"tokio\"\n\
                    version = \"1.2.3\"\n";
        assert_eq!(Value::Object(locked(lock)), json!({ "mio": "1.0.0", "tokio": "1.2.3" }));
    }
}
