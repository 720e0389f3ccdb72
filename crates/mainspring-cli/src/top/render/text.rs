//! Figures for people, and text that cannot do anything to a terminal.

/// What stands for something that is not known.
pub(super) const NONE: &str = "–";

fn digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Seconds: `12.3 µs`, `4 min 5 s`.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        seconds if !seconds.is_finite() || seconds < 0.0 => NONE.into(),
        0.0 => "0".into(),
        seconds if seconds < 0.9995e-6 => format!("{:.0} ns", seconds * 1e9),
        seconds if seconds < 0.9995e-3 => format!("{} µs", digits(seconds * 1e6)),
        seconds if seconds < 0.9995 => format!("{} ms", digits(seconds * 1e3)),
        seconds if seconds < 60.0 => format!("{} s", digits(seconds)),
        seconds => span(seconds),
    }
}

/// A long time, in whole units.
pub(super) fn span(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NONE.into();
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let whole = seconds as u64;
    match whole {
        ..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole / 60 % 60),
        86_400..8_640_000 => format!("{} d {} h", whole / 86_400, whole / 3600 % 24),
        _ => format!("{} d", count(whole / 86_400)),
    }
}

/// `12345`, `123 k`, `1.50 M`.
pub(super) fn count(number: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let value = number as f64;
    if number < 100_000 { number.to_string() } else { scaled(value) }
}

/// The same for a number that has a fraction.
pub(super) fn number(value: f64) -> String {
    match value {
        value if !value.is_finite() || value < 0.0 => NONE.into(),
        value if value < 999.5 => format!("{value:.1}"),
        value => scaled(value),
    }
}

fn scaled(value: f64) -> String {
    let units = [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(scale, _)| value >= scale * 0.9995) {
        Some((_, "E")) if value >= 1e21 => format!("{value:.1e}"),
        Some((scale, unit)) => format!("{} {unit}", digits(value / scale)),
        None => format!("{value:.0}"),
    }
}

/// `12.3 k/s`.
pub(super) fn rate(per_second: f64) -> String {
    match number(per_second) {
        text if text == NONE => text,
        text if text.contains(' ') => format!("{text}/s"),
        text => format!("{text} /s"),
    }
}

pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        value if !value.is_finite() || value < 0.0 => NONE.into(),
        0.0 => "0 %".into(),
        value if value < 0.1 => "< 0.1 %".into(),
        value if value < 9.95 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    }
}

/// A part of a row, filled.
pub(super) fn bar(share: f64, width: usize) -> (String, String) {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "it is between 0 and the width"
    )]
    let full = (share * width as f64).round() as usize;
    // What there is, is seen.
    let full = if share > 0.0 { full.max(1).min(width) } else { full };
    ("█".repeat(full), "░".repeat(width - full))
}

/// One character for each value, as high as it is compared to the highest. None are below the line.
pub(super) fn sparkline(values: impl DoubleEndedIterator<Item = f64>, width: usize) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mut values: Vec<_> = values.rev().take(width).collect();
    values.reverse();
    let highest = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let level = |value: &f64| match value / highest {
        share if share.is_finite() => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7")]
            let index = (share.clamp(0.0, 1.0) * 7.0).round() as usize;
            LEVELS[index]
        }
        _ => LEVELS[0],
    };
    values.iter().map(level).collect()
}

/// Text of the program, without what a terminal would act upon: escape sequences, other control characters, and
/// characters that change the direction of what follows.
pub(super) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => match chars.next() {
                Some('[') => skip_command(&mut chars),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                _ => {}
            },
            '\u{9b}' => skip_command(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\t' | '\n' => clean.push(' '),
            c if c.is_control() || is_directing(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// To the letter that ends it.
fn skip_command(chars: &mut std::str::Chars<'_>) {
    chars.find(|c| ('@'..='~').contains(c));
}

/// To a bell, or to a string terminator.
fn skip_string(chars: &mut std::str::Chars<'_>) {
    let mut last = ' ';
    chars.find(|&c| {
        let is_end = c == '\x07' || c == '\u{9c}' || (last == '\x1b' && c == '\\');
        last = c;
        is_end
    });
}

fn is_directing(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_whatever_they_are() {
        for (value, text) in [
            (0.0, "0"),
            (3e-9, "3 ns"),
            (1.5e-6, "1.50 µs"),
            (12.34e-3, "12.3 ms"),
            (0.9999, "1.00 s"),
            (59.0, "59.0 s"),
            (125.0, "2 min 5 s"),
            (7260.0, "2 h 1 min"),
            (90_000.0, "1 d 1 h"),
            (1e300, "214 T d"),
            (-1.0, NONE),
            (f64::NAN, NONE),
        ] {
            assert_eq!(duration(value), text);
        }
        for (value, text) in [(0, "0"), (99_999, "99999"), (123_456, "123 k"), (u64::MAX, "18.4 E")]
        {
            assert_eq!(count(value), text);
        }
        assert_eq!(rate(0.25), "0.2 /s");
        assert_eq!(rate(12_345.0), "12.3 k/s");
        assert_eq!(rate(f64::MAX), "1.8e308 /s");
        let shares = [0.0, 1e-9, 0.05, 1.0].map(percent);
        assert_eq!(shares, ["0 %", "< 0.1 %", "5.0 %", "100 %"]);
    }

    #[test]
    fn bars_and_lines_are_never_wider_than_they_may_be() {
        for share in [-1.0, 0.0, 0.001, 0.5, 1.0, 7.0, f64::NAN] {
            let (full, rest) = bar(share, 10);
            assert_eq!(full.chars().count() + rest.chars().count(), 10);
            assert_eq!(share > 0.0, !full.is_empty());
        }
        assert_eq!(sparkline([0.0, 1.0, 2.0].into_iter(), 9), "▁▅█");
        assert_eq!(sparkline([9.0, 0.0, f64::NAN].into_iter(), 2), "▁▁");
        assert_eq!(sparkline([0.0].into_iter(), 0), "");
    }

    #[test]
    fn nothing_is_left_that_a_terminal_would_act_upon() {
        for (text, expected) in [
            ("plain ß→😀", "plain ß→😀"),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07after", "after"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\u{9b}2Jgone\u{9d}x\u{9c}!", "gone!"),
            ("\x1bc\x1b7a\rb\x08c\x7f\0d", "abcd"),
            ("a\nb\tc", "a b c"),
            ("\u{202e}evil\u{2066}", "evil"),
            ("\x1b", ""),
            ("\x1b[", ""),
            ("\x1b]never ends", ""),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }
}
