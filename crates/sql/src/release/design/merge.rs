//! Numbers that come with others at no extra cost.

use std::collections::HashMap;

use super::draft::Draft;
use super::parts::{Additive, Output};

impl Draft {
    /// Where the sum of a column is released, so is its count.
    pub fn merge_counts(&mut self, outputs: &mut [Output]) {
        let column_of = |measure: usize| self.measures[measure].column();
        let mut sums: HashMap<usize, usize> = HashMap::new();
        for (place, (part, ..)) in self.additive.iter().enumerate() {
            if let Additive::Ends(measure, _) = part {
                sums.entry(column_of(*measure)).or_insert(place);
            }
        }
        let merged = |part: &Additive| match part {
            Additive::Present(measure) => sums.get(&column_of(*measure)).copied(),
            _ => None,
        };
        let with: Vec<Option<usize>> = self.additive.iter().map(|(part, ..)| merged(part)).collect();
        let before = with.iter().scan(0, |before, with| {
            let kept = *before;
            *before += usize::from(with.is_none());
            Some(kept)
        });
        let before: Vec<usize> = before.collect();
        for output in outputs.iter_mut() {
            *output = match &*output {
                Output::Count(part) => match with[*part] {
                    Some(ends) => Output::CountOfEnds(before[ends]),
                    None => Output::Count(before[*part]),
                },
                other => other.renumbered(|part| before[part]),
            };
        }
        let mut with = with.into_iter();
        self.additive.retain(|_| with.next().flatten().is_none());
    }

    /// Where rows and those with a value are counted, they are two bins: each row is in one of them, so both together cost
    /// as much as either.
    pub fn merge_presence(&mut self, outputs: &mut [Output]) {
        let position = |is: fn(&Additive) -> bool| self.additive.iter().position(|(part, ..)| is(part));
        let rows = position(|part| *part == Additive::Rows);
        let present = position(|part| matches!(part, Additive::Present(_)));
        let (Some(rows), Some(present)) = (rows, present) else { return };
        let weight = self.additive[rows].2;
        if let (Additive::Present(measure), words, heavier) = &mut self.additive[present] {
            *words = format!("rows, and {words}");
            *heavier = weight.max(*heavier);
            self.additive[present].0 = Additive::Presence(*measure);
        }
        self.additive.remove(rows);
        let moved = |part: usize| if part > rows { part - 1 } else { part };
        for output in outputs.iter_mut() {
            *output = match &*output {
                Output::Count(part) if *part == rows => Output::PresentOrMissing(moved(present)),
                Output::Count(part) if *part == present => Output::Present(moved(present)),
                other => other.renumbered(moved),
            };
        }
    }

    /// Groups of weighed rows are selected by a noisy count of rows or units.
    pub fn count_rows_or_units(&mut self) {
        if !self.additive.iter().any(|(part, ..)| matches!(part, Additive::Rows | Additive::Units)) {
            self.part(Additive::Rows, "rows".into(), 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use reticent::statistic::{Bounds, Grid};

    use super::*;
    use crate::algebra::{Expr, Statistic, Type};
    use crate::release::design::Wanted;

    #[test]
    fn a_count_of_values_is_that_of_their_sum() {
        let column = |place: usize| Expr::column(place, Type::Number);
        let (x, y, z) = (column(0), column(1), column(2));
        let statistics = [
            Statistic::Present(y.clone()),
            Statistic::Present(x.clone()),
            Statistic::Rows,
            Statistic::Sum(x),
            Statistic::Present(z),
            Statistic::Sum(y),
        ];
        let grid = Grid::new(&"0..1".parse::<Bounds>().unwrap());
        let mut draft = Draft::default();
        let place = |statistic: &Statistic| {
            let wanted = Wanted { words: "", of: "", statistic, grid: Some(grid.clone()), weight: 1 };
            draft.place(&wanted).unwrap()
        };
        let mut outputs: Vec<Output> = statistics.iter().map(place).collect();
        draft.merge_counts(&mut outputs);
        let (count, sum, of_sum) = (Output::Count, Output::Sum, Output::CountOfEnds);
        assert_eq!(outputs, [of_sum(3), of_sum(1), count(0), sum(1), count(2), sum(3)]);
        let kept: Vec<Additive> = draft.additive.into_iter().map(|(part, ..)| part).collect();
        assert!(matches!(kept[..], [Additive::Rows, Additive::Ends(..), Additive::Present(_), Additive::Ends(..)]));
    }
}
