//! The load: wrk, a process of its own.

use std::process::{Command, Stdio};

use crate::child;

/// What wrk measured.
#[derive(Debug, PartialEq)]
pub struct Load {
    pub requests: f64,
    pub per_second: f64,
    /// Microseconds.
    pub median: f64,
    /// Microseconds.
    pub percentile_99: f64,
    /// How many requests were not answered in 2 s.
    pub timeouts: u64,
}

/// Its name and version, if it is there.
pub fn version() -> Option<String> {
    let output = Command::new("wrk").arg("--version").stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split(" [").next().map(|version| version.trim().to_owned())
}

/// Loads the server at this port for so many seconds. All requests have to be answered well.
pub fn load(port: u16, connections: usize, seconds: u64) -> Load {
    let mut command = Command::new("wrk");
    command.args(["--latency", "--threads", "2"]);
    command.args(["--connections", &connections.to_string()]);
    command.args(["--duration", &format!("{seconds}s")]);
    command.arg(format!("http://127.0.0.1:{port}/"));
    let (output, ended) = child::output(&mut command, "wrk");
    assert!(ended, "wrk does not end");
    parse(&output).unwrap_or_else(|| panic!("not what wrk writes: {output}"))
}

fn parse(output: &str) -> Option<Load> {
    let mut load =
        Load { requests: 0.0, per_second: 0.0, median: 0.0, percentile_99: 0.0, timeouts: 0 };
    for line in output.lines() {
        match *line.split_whitespace().collect::<Vec<_>>() {
            ["50%", time] => load.median = microseconds(time)?,
            ["99%", time] => load.percentile_99 = microseconds(time)?,
            [requests, "requests", "in", ..] => load.requests = requests.parse().ok()?,
            ["Requests/sec:", per_second] => load.per_second = per_second.parse().ok()?,
            ["Socket", "errors:", .., "timeout", timeouts] => {
                assert!(line.contains("connect 0, read 0, write 0,"), "wrk has errors: {output}");
                load.timeouts = timeouts.parse().ok()?;
            }
            ["Non-2xx", ..] => panic!("a request is not answered well: {output}"),
            _ => {}
        }
    }
    (load.requests > 0.0 && load.per_second > 0.0 && load.median > 0.0).then_some(load)
}

fn microseconds(time: &str) -> Option<f64> {
    let unit = time.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = time.split_at(unit);
    let factor = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "Running 1s test @ http://127.0.0.1:8080/\n  \
        2 threads and 64 connections\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
        Latency   730.00us    0.90ms  12.00ms   90.00%\n    \
        Req/Sec    50.00k     3.00k   60.00k    70.00%\n  \
        Latency Distribution\n     \
        50%  540.00us\n     75%    0.80ms\n     90%    1.60ms\n     99%    4.25ms\n  \
        100123 requests in 1.01s, 13.00MB read\n";

    #[test]
    fn what_wrk_writes_is_understood() {
        let output = format!("{OUTPUT}Requests/sec:  99131.68\nTransfer/sec:     12.87MB\n");
        let load = Load {
            requests: 100_123.0,
            per_second: 99_131.68,
            median: 540.0,
            percentile_99: 4_250.0,
            timeouts: 0,
        };
        assert_eq!(parse(&output), Some(load));
    }

    #[test]
    fn requests_without_an_answer_are_counted() {
        let output = format!(
            "{OUTPUT}  Socket errors: connect 0, read 0, write 0, timeout 7\nRequests/sec: 1.00\n"
        );
        assert_eq!(parse(&output).map(|load| load.timeouts), Some(7));
    }

    #[test]
    #[should_panic = "wrk has errors"]
    fn broken_connections_are_an_error() {
        parse(&format!("{OUTPUT}  Socket errors: connect 0, read 3, write 0, timeout 0\n"));
    }

    #[test]
    #[should_panic = "not answered well"]
    fn other_answers_are_an_error() {
        parse(&format!("{OUTPUT}  Non-2xx or 3xx responses: 5\n"));
    }
}
