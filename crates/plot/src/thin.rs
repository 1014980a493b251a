//! Reduces many points to few that look the same.

/// A position in the picture; `None` at a gap in the line.
pub type Place = Option<(f64, f64)>;

/// A line through positions in the order of x, as stretches without gaps. In each column, `column` pixels wide, only
/// the first, the lowest, the highest and the last position are kept, so the line covers the same pixels.
pub fn line(places: impl Iterator<Item = Place>, column: f64) -> Vec<Vec<(f64, f64)>> {
    let mut stretches: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut current: Option<Column> = None;
    let mut gap = true;
    for place in places {
        let Some((x, y)) = place else {
            gap = true;
            continue;
        };
        let index = (x / column).floor();
        if let Some(open) = &mut current
            && open.index == index
        {
            // A gap narrower than a column cannot be seen.
            open.add(x, y);
            gap = false;
            continue;
        }
        if let Some(full) = current.take() {
            full.finish(&mut stretches);
        }
        current = Some(Column::new(index, x, y, gap));
        gap = false;
    }
    if let Some(full) = current {
        full.finish(&mut stretches);
    }
    stretches
}

/// One position per occupied square; the squares grow until there are at most `most`.
pub fn dots(places: impl Iterator<Item = (f64, f64)> + Clone, most: usize) -> Vec<(f64, f64)> {
    let mut side = 0.5;
    loop {
        let square = |place: f64| (place / side).floor() as i64;
        let mut seen = std::collections::HashSet::new();
        let kept: Vec<_> =
            places.clone().filter(|&(x, y)| seen.len() <= most && seen.insert((square(x), square(y)))).collect();
        if kept.len() <= most {
            return kept;
        }
        side *= 2.0;
    }
}

struct Column {
    index: f64,
    after_gap: bool,
    count: usize,
    first: (f64, f64),
    last: (f64, f64),
    /// With their index in the column.
    low: (usize, (f64, f64)),
    high: (usize, (f64, f64)),
}

impl Column {
    fn new(index: f64, x: f64, y: f64, after_gap: bool) -> Self {
        let place = (x, y);
        Self { index, after_gap, count: 1, first: place, last: place, low: (0, place), high: (0, place) }
    }

    fn add(&mut self, x: f64, y: f64) {
        self.last = (x, y);
        if y < self.low.1.1 {
            self.low = (self.count, (x, y));
        }
        if y > self.high.1.1 {
            self.high = (self.count, (x, y));
        }
        self.count += 1;
    }

    fn finish(self, stretches: &mut Vec<Vec<(f64, f64)>>) {
        if self.after_gap {
            stretches.push(Vec::new());
        }
        let Some(stretch) = stretches.last_mut() else { return };
        let (earlier, later) = if self.low.0 <= self.high.0 { (self.low, self.high) } else { (self.high, self.low) };
        for place in [self.first, earlier.1, later.1, self.last] {
            if stretch.last() != Some(&place) {
                stretch.push(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_survive_and_gaps_split() {
        let places = (0..100_000).map(|n| {
            let x = f64::from(n) / 1000.0;
            Some((x, if n == 55_555 { 9.0 } else { f64::from(n % 2) }))
        });
        let stretches = line(places, 1.0);
        assert_eq!(stretches.len(), 1);
        assert!(stretches[0].len() <= 400);
        assert!(stretches[0].iter().any(|place| place.1 == 9.0));
        let gap = [Some((0.0, 0.0)), Some((1.0, 1.0)), None, Some((2.0, 2.0)), None, None, Some((9.0, 1.0))];
        assert_eq!(line(gap.into_iter(), 1.0).iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
        assert!(line([None, None].into_iter(), 1.0).is_empty());
    }

    #[test]
    fn dots_are_never_more_than_asked_for() {
        let places = (0..10_000).map(|n| (f64::from(n % 100), f64::from(n / 100)));
        let kept = dots(places, 500);
        assert!((100..=500).contains(&kept.len()), "{}", kept.len());
    }
}
