//! How much stack a script may use.

use rustix::process::{Resource, getrlimit};

use crate::units::Bytes;

/// What a script may use, unless something else is said: some ten thousand calls, each within the other.
const STACK: usize = 13 << 19;

/// What is left for the operations that a script calls when it has used all of that.
const RESERVE: usize = 1 << 20;

/// How many bytes of the main thread's stack a script may use.
pub(crate) fn limit(wanted: Option<usize>) -> Result<usize, String> {
    let whole = getrlimit(Resource::Stack).current.map_or(usize::MAX, |bytes| bytes as usize);
    let most = whole.saturating_sub(RESERVE).max(whole / 2);
    match wanted {
        None => Ok(STACK.min(most)),
        Some(wanted) if wanted <= most => Ok(wanted),
        Some(_) => Err(format!(
            "--max-stack can be at most {} here: raise the limit of the process with ulimit -s",
            Bytes(most as u64)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_process_has_is_refused() {
        assert!(limit(None).unwrap() <= STACK);
        assert_eq!(limit(Some(65536)), Ok(65536));
        if getrlimit(Resource::Stack).current.is_some() {
            assert!(limit(Some(usize::MAX)).is_err());
        }
    }
}
