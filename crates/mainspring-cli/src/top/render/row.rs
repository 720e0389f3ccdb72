//! Lines of text with colours.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::text::clean;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Title,
    /// What is less important.
    Faint,
    Chosen,
    Good,
    Middling,
    Bad,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Title => "1",
            Self::Faint => "2",
            Self::Chosen => "7",
            Self::Good => "32",
            Self::Middling => "33",
            Self::Bad => "1;31",
        }
    }
}

/// One line.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    parts: Vec<(Style, String)>,
    width: usize,
}

impl Row {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A line that is a title.
    pub(super) fn title(text: &str) -> Self {
        Self::new().put(Style::Title, text)
    }

    /// Adds text, from wherever it comes.
    pub(super) fn put(mut self, style: Style, text: impl AsRef<str>) -> Self {
        let text = clean(text.as_ref());
        self.width += text.width();
        self.parts.push((style, text));
        self
    }

    pub(super) fn plain(self, text: impl AsRef<str>) -> Self {
        self.put(Style::Plain, text)
    }

    /// Adds a part that begins at the left of a column. What is wider is cut off.
    pub(super) fn left(self, style: Style, text: impl AsRef<str>, width: usize) -> Self {
        let mut column = Self::new().put(style, text);
        column.cut(width.saturating_sub(1));
        let rest = " ".repeat(width - column.width);
        self.append(column).plain(rest)
    }

    /// Adds a part that ends at the right of a column.
    pub(super) fn right(self, style: Style, text: impl AsRef<str>, width: usize) -> Self {
        let column = Self::new().put(style, text);
        let rest = " ".repeat(width.saturating_sub(column.width));
        self.plain(rest).append(column)
    }

    fn append(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self.width += other.width;
        self
    }

    /// Another row to the right of this one.
    pub(super) fn beside(mut self, other: Self, width: usize) -> Self {
        self.cut(width.saturating_sub(2));
        let rest = " ".repeat(width - self.width);
        self.plain(rest).append(other)
    }

    /// Cuts off what is wider.
    fn cut(&mut self, width: usize) {
        if self.width <= width {
            return;
        }
        let mut room = width.saturating_sub(1);
        self.width = 0;
        for (_, text) in &mut self.parts {
            let fits = |(_, c): &(usize, char)| {
                let width = c.width().unwrap_or(0);
                let fits = width <= room;
                room = if fits { room - width } else { 0 };
                fits
            };
            let end = text.char_indices().take_while(fits).last();
            let end = end.map_or(0, |(index, c)| index + c.len_utf8());
            if end < text.len() {
                room = 0;
            }
            text.truncate(end);
            self.width += text.width();
        }
        if width > 0 {
            self.parts.push((Style::Plain, "…".into()));
            self.width += 1;
        }
    }

    /// As it is written, not wider than that.
    pub(super) fn paint(mut self, width: usize, is_coloured: bool) -> String {
        self.cut(width);
        let mut line = String::new();
        for (style, text) in &self.parts {
            if is_coloured && *style != Style::Plain && !text.is_empty() {
                line.push_str("\x1b[");
                line.push_str(style.code());
                line.push('m');
                line.push_str(text);
                line.push_str("\x1b[0m");
            } else {
                line.push_str(text);
            }
        }
        line.truncate(line.trim_end_matches(' ').len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_never_wider_than_it_may_be() {
        let row =
            || Row::new().put(Style::Bad, "wide 漢字").plain("plain").right(Style::Good, "12", 6);
        for width in 0..30 {
            for is_coloured in [false, true] {
                let line = clean(&row().paint(width, is_coloured));
                assert!(line.width() <= width, "{line:?} in {width}");
                assert_eq!(line.ends_with('…'), width < 20 && width > 0, "{line:?} in {width}");
            }
        }
        assert_eq!(row().paint(20, false), "wide 漢字plain    12");
    }

    #[test]
    fn colours_end_where_they_should() {
        let row = Row::new().put(Style::Bad, "bad").plain(" good").left(Style::Faint, "long", 4);
        assert_eq!(row.paint(80, true), "\x1b[1;31mbad\x1b[0m good\x1b[2mlo\x1b[0m…");
    }

    #[test]
    fn rows_stand_side_by_side() {
        let row = Row::new().plain("left").beside(Row::new().plain("right"), 8);
        assert_eq!(row.paint(80, false), "left    right");
        let row = Row::new().plain("too long").beside(Row::new().plain("right"), 8);
        assert_eq!(row.paint(80, false), "too l…  right");
    }
}
