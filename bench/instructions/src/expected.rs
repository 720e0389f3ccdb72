//! The counts that were recorded, in `expected.tsv`.

use std::path::PathBuf;
use std::process::Command;

/// Counts for each operation, and what they depend on beside the code.
pub struct Expected {
    pub environment: String,
    counts: Vec<(String, f64)>,
}

impl Expected {
    pub fn new(environment: String, counts: &[(&str, f64)]) -> Self {
        let counts = counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Self { environment, counts }
    }

    pub fn get(&self, name: &str) -> Option<f64> {
        self.counts.iter().find(|(recorded, _)| recorded == name).map(|(_, count)| *count)
    }

    fn path() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("expected.tsv")
    }

    pub fn read() -> Result<Self, String> {
        let text = std::fs::read_to_string(Self::path())
            .map_err(|error| format!("{error}: {}", Self::path().display()))?;
        let mut lines = text.lines();
        let environment = lines.next().unwrap_or_default().to_owned();
        let counts = lines.map(|line| {
            let (name, count) = line.split_once('\t')?;
            Some((name.to_owned(), count.parse().ok()?))
        });
        let counts = counts.collect::<Option<_>>().ok_or("expected.tsv: not a name and a count")?;
        Ok(Self { environment, counts })
    }

    pub fn write(&self) -> Result<(), String> {
        let mut text = format!("{}\n", self.environment);
        for (name, count) in &self.counts {
            text += &format!("{name}\t{count:.1}\n");
        }
        std::fs::write(Self::path(), text).map_err(|error| error.to_string())
    }
}

/// What the counts depend on: the compiler, the library that allocates and copies, and the processor that valgrind
/// pretends to be.
pub fn environment() -> Result<String, String> {
    let said = [
        Command::new("rustc").arg("--version"),
        Command::new("getconf").arg("GNU_LIBC_VERSION"),
        Command::new("valgrind").arg("--version"),
    ]
    .map(|command| {
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    });
    let said = said.into_iter().collect::<Result<Vec<_>, String>>()?;
    Ok([said.join(", "), std::env::consts::ARCH.to_owned()].join(", "))
}
