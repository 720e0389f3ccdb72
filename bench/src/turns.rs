//! Who is measured when: the peers take turns, so that what else the machine does meets all of them alike.

use crate::table::{LIMIT, Table, progress};

/// Measures the peers of each table, `repetitions` times. `measure` is told the number of the table, and tells whether the
/// peer came to its end; who did not is not measured again.
pub fn take_turns<P: Copy>(
    repetitions: usize,
    tables: &mut [Table],
    mut peers: Vec<Vec<(P, &'static str)>>,
    mut measure: impl FnMut(usize, P, &mut Table) -> bool,
) {
    for repetition in 1..=repetitions {
        for (index, (table, peers)) in tables.iter_mut().zip(&mut peers).enumerate() {
            peers.retain(|&(peer, label)| {
                progress(&format!("{repetition} of {repetitions}: {}, {label}", table.title));
                let ended = measure(index, peer, table);
                if !ended {
                    table.notes.push(format!("{label} was stopped after {LIMIT:?}"));
                }
                ended
            });
        }
    }
    progress("");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_measured_in_turn_except_those_who_were_stopped() {
        let mut tables =
            ["one", "other"].map(|title| Table::new(title.into(), vec!["a", "b"], "a"));
        let peers = vec![vec![(1, "a"), (2, "b")], vec![(1, "a")]];
        let mut measured = Vec::new();
        take_turns(2, &mut tables, peers, |table, peer, _| {
            measured.push((table, peer));
            (table, peer) != (0, 1)
        });
        assert_eq!(measured, [(0, 1), (0, 2), (1, 1), (0, 2), (1, 1)]);
        assert_eq!(tables.map(|table| table.notes.len()), [1, 0]);
    }
}
