//! What a person presses.

/// What is to be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    /// The loop of that number, from 0.
    Loop(usize),
    Next,
    Previous,
    Up,
    Down,
}

/// Takes bytes as they come from a terminal.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The beginning of a sequence.
    begun: Vec<u8>,
}

impl Keys {
    /// The keys that the bytes complete. Others are skipped.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|byte| self.next(*byte)).collect()
    }

    fn next(&mut self, byte: u8) -> Option<Key> {
        match (self.begun.as_slice(), byte) {
            (_, 0x1b) => {
                self.begun = vec![byte];
                None
            }
            ([], _) => plain(byte),
            ([_], b'[' | b'O') | ([_, b'[', ..], 0x20..=0x3f) if self.begun.len() < 16 => {
                self.begun.push(byte);
                None
            }
            // Whoever pressed the escape key alone went on with this one.
            ([_], _) => {
                self.begun.clear();
                plain(byte)
            }
            (sequence, _) => {
                let is_plain = sequence.len() == 2;
                self.begun.clear();
                match byte {
                    b'A' if is_plain => Some(Key::Up),
                    b'B' if is_plain => Some(Key::Down),
                    b'C' if is_plain => Some(Key::Next),
                    b'D' | b'Z' if is_plain => Some(Key::Previous),
                    _ => None,
                }
            }
        }
    }
}

fn plain(byte: u8) -> Option<Key> {
    match byte {
        b'q' | b'Q' | 0x03 | 0x04 => Some(Key::Quit),
        b'1'..=b'9' => Some(Key::Loop(usize::from(byte - b'1'))),
        b'\t' | b'l' => Some(Key::Next),
        b'h' => Some(Key::Previous),
        b'k' => Some(Key::Up),
        b'j' => Some(Key::Down),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_however_the_bytes_come() {
        let bytes = b"1\t\x1b[A\x1bOB\x1b[C\x1b[D\x1b[Z9xq\x03";
        let expected = [
            Key::Loop(0),
            Key::Next,
            Key::Up,
            Key::Down,
            Key::Next,
            Key::Previous,
            Key::Previous,
            Key::Loop(8),
            Key::Quit,
            Key::Quit,
        ];
        for size in 1..=bytes.len() {
            let mut keys = Keys::default();
            let found: Vec<_> = bytes.chunks(size).flat_map(|part| keys.take(part)).collect();
            assert_eq!(found, expected, "{size} at a time");
        }
    }

    #[test]
    fn other_sequences_are_skipped_whole() {
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"\x1b[1;5C\x1b[15~\x1b[3~\x1bOP\x1b\x1b[Bq"), [Key::Down, Key::Quit]);
        // The escape key by itself, and then another one.
        assert_eq!(keys.take(b"\x1bq"), [Key::Quit]);
        // A sequence that does not end is left some time.
        let endless = [b"\x1b[".as_slice(), &[b'1'; 40], b"q"].concat();
        assert_eq!(keys.take(&endless).last(), Some(&Key::Quit));
    }
}
