//! Colours that people with any colour vision can distinguish: those of Okabe and Ito, except the yellow, which is too
//! pale for a line on white.

use plotters::style::RGBColor;

use crate::chart::{Hue, Series};

/// Text and ticks.
pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Axis labels, and what is not the subject.
pub const MUTED: RGBColor = RGBColor(0x6b, 0x6b, 0x6b);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe4);
/// The bottom and the left edge.
pub const AXIS: RGBColor = RGBColor(0x8c, 0x8c, 0x8c);

const PALETTE: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2), // blue
    RGBColor(0xd5, 0x5e, 0x00), // vermillion
    RGBColor(0x00, 0x9e, 0x73), // bluish green
    RGBColor(0xcc, 0x79, 0xa7), // reddish purple
    RGBColor(0xe6, 0x9f, 0x00), // orange
    RGBColor(0x56, 0xb4, 0xe9), // sky blue
    RGBColor(0x00, 0x00, 0x00), // black
];

/// How points are marked: when colours repeat, the markers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
}

/// What distinguishes a series from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub colour: RGBColor,
    pub marker: Marker,
    /// Whether another series has the same colour.
    pub needs_marker: bool,
}

/// One look per series.
pub fn looks(series: &[Series]) -> Vec<Look> {
    let mut next = 0;
    let look = |series: &Series| {
        let place = match series.hue {
            Hue::Muted => return Look { colour: MUTED, marker: Marker::Circle, needs_marker: false },
            Hue::Nth(place) => place,
            Hue::Next => {
                next += 1;
                next - 1
            }
        };
        let round = place / PALETTE.len();
        let marker = [Marker::Circle, Marker::Square, Marker::Triangle][round % 3];
        Look { colour: PALETTE[place % PALETTE.len()], marker, needs_marker: round > 0 }
    };
    series.iter().map(look).collect()
}
