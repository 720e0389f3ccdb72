//! A state, as a person reads it.

mod row;
mod sections;
#[cfg(test)]
mod tests;
mod text;

use mainspring_inspect::model::State;

use self::row::{Row, Style};

/// How much room there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) columns: usize,
    /// None if there is no end.
    pub(super) rows: Option<usize>,
}

/// How it is to be shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    pub(super) is_coloured: bool,
    /// Where the state comes from.
    pub(super) source: String,
    /// The loop to be shown. Without it, all are.
    pub(super) chosen: Option<usize>,
    /// Why there is no newer state.
    pub(super) lost: Option<String>,
    /// How many lines of the loop are above the screen.
    pub(super) scroll: usize,
}

/// Lines that are no wider than the screen, and no more than fit on it.
pub(super) fn render(state: &State, size: Size, look: &Look) -> String {
    let (mut rows, body) = rows(state, size, look);
    if let Some(room) = size.rows {
        let room = room.saturating_sub(rows.len());
        let first = look.scroll.min(body.len().saturating_sub(room));
        let left = body.len().saturating_sub(first + room);
        rows.extend(body.into_iter().skip(first).take(room));
        if left > 0 && room > 1 {
            rows.pop();
            let more = format!("{} more lines below: press ↓", left + 1);
            rows.push(Row::new().put(Style::Faint, more));
        }
        rows.truncate(size.rows.unwrap_or_default());
    } else {
        rows.extend(body);
    }
    let lines = rows.into_iter().map(|row| row.paint(size.columns, look.is_coloured));
    lines.collect::<Vec<_>>().join("\n")
}

/// How far one can scroll.
pub(super) fn max_scroll(state: &State, size: Size, look: &Look) -> usize {
    let (rows, body) = rows(state, size, look);
    let room = size.rows.map_or(usize::MAX, |all| all.saturating_sub(rows.len()));
    body.len().saturating_sub(room)
}

/// What is always there, and what is below it.
fn rows(state: &State, size: Size, look: &Look) -> (Vec<Row>, Vec<Row>) {
    let head = sections::head(state, look);
    let mut body = Vec::new();
    let chosen = look.chosen.map(|index| index.min(state.loops.len().saturating_sub(1)));
    for (index, of) in state.loops.iter().enumerate() {
        if chosen.is_none_or(|chosen| chosen == index) {
            if !body.is_empty() {
                body.push(Row::new());
            }
            body.extend(sections::of_loop(of, size.columns));
        }
    }
    if state.loops.is_empty() {
        body.push(Row::new().plain("No loop is watched."));
    }
    (head, body)
}
