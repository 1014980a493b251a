//! Dominating pairs of Laplace noise, discrete Laplace noise and randomised response.
//!
//! Parameters that are not floats are replaced by a float with slightly less noise. That is on the safe side: for both
//! Laplace laws, noise of a larger scale is noise of a smaller scale plus more noise, and randomised response with a
//! smaller ε is randomised response applied once more to an answer given with a larger ε.

use super::cell::Cell;
use crate::exact::Rational;
use crate::numeric::normal::Bounds;

/// Cells between the two extreme losses; the spread they add to the loss is (2/2048)²/6 of its square.
const CELLS: u32 = 2048;

/// Laplace noise, `ratio` = sensitivity/scale. In units of the scale P is centred at 0 and Q at r = `ratio`: the loss
/// |y − r| − |y| is r up to 0, falls as r − 2y, and is −r from r on.
pub(super) fn laplace(ratio: &Rational) -> Vec<Cell> {
    let r = ratio.to_f64_up();
    let width = r / f64::from(CELLS);
    let (far, near) = (Bounds::around(0.5 * libm::exp(-r), 4.0), Bounds::around(0.5, 0.0));
    let mut cells = vec![Cell::new(near, far, r, r, 0.0), Cell::new(far, near, -r, -r, 0.0)];
    for index in 0..CELLS {
        // Mirror images, so that masses under Q are those under P of the opposite cell.
        let mass = |from: f64| Bounds::around(0.5 * libm::exp(-from) * -libm::expm1(-width), 8.0 + 2.0 * from);
        let from = f64::from(index) * width;
        let (p, q) = (mass(from), mass(f64::from(CELLS - 1 - index) * width));
        let loss = |cuts: u32| r - 2.0 * (f64::from(cuts) * width);
        // The difference may cancel: its error is relative to r, not to itself.
        let slack = 8.0 * crate::numeric::normal::UNIT * r;
        cells.push(Cell { p, q, low: loss(index + 1) - slack, high: loss(index) + slack });
    }
    cells
}

/// Discrete Laplace noise P(k) = (1−p)/(1+p)·p^|k|, p = e^−a, `sensitivity` D. With P centred at 0 and Q at D the loss is
/// aD up to k = 0, a(D − 2k) between, −aD from D on; P(K ≤ 0) = 1/(1+p), P(K ≥ D) = p^D/(1+p), and for a run of m
/// outcomes from k on p^k·(1 − p^m)/(1+p).
pub(super) fn discrete_laplace(parameter: &Rational, sensitivity: u64) -> Vec<Cell> {
    let (a, d) = (parameter.to_f64_up(), sensitivity as f64);
    let whole = 1.0 / (1.0 + libm::exp(-a));
    let power = |k: f64| libm::exp(-a * k);
    let units = 16.0 + 4.0 * a * d;
    let (near, far) = (Bounds::around(whole, 8.0), Bounds::around(whole * power(d), units));
    let mut cells = vec![Cell::new(near, far, a * d, a * d, 2.0), Cell::new(far, near, -a * d, -a * d, 2.0)];
    let inner = sensitivity - 1;
    let group = inner.div_ceil(u64::from(CELLS)).max(1);
    let mut first = 1;
    while first <= inner {
        let last = (first + group - 1).min(inner);
        let run = whole * -libm::expm1(-a * (last - first + 1) as f64);
        let p = Bounds::around(run * power(first as f64), units);
        let q = Bounds::around(run * power((sensitivity - last) as f64), units);
        let loss = |k: u64| a * (sensitivity as f64 - 2.0 * k as f64);
        cells.push(Cell::new(p, q, loss(last), loss(first), 4.0));
        first = last + 1;
    }
    cells
}

/// Randomised response among k values: one answer is e^ε times likelier under P, one under Q, the others equally
/// likely.
pub(super) fn randomised_response(epsilon: &Rational, values: u64) -> Vec<Cell> {
    // The units below allow for one more rounding of ε, when losses are put on a lattice.
    let e = epsilon.to_f64_up();
    let others = values as f64 - 1.0;
    let truth = 1.0 / (1.0 + others * libm::exp(-e));
    let (yes, no) = (Bounds::around(truth, 8.0 + e), Bounds::around(truth * libm::exp(-e), 16.0 + 2.0 * e));
    let mut cells = vec![Cell::new(yes, no, e, e, 0.0), Cell::new(no, yes, -e, -e, 0.0)];
    if values > 2 {
        let rest = Bounds::around((others - 1.0) * truth * libm::exp(-e), 24.0 + 2.0 * e);
        cells.push(Cell::new(rest, rest, 0.0, 0.0, 0.0));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(cells: &[Cell], side: impl Fn(&Cell) -> Bounds) -> (f64, f64) {
        cells.iter().map(side).fold((0.0, 0.0), |(lo, hi), mass| (lo + mass.lo, hi + mass.hi))
    }

    #[test]
    fn every_pair_is_two_probability_laws_with_losses_in_their_cells() {
        let number = |text: &str| text.parse::<Rational>().unwrap();
        let pairs = [
            laplace(&number("0.1")),
            laplace(&number("40")),
            discrete_laplace(&number("0.3"), 1),
            discrete_laplace(&number("0.01"), 700),
            discrete_laplace(&number("0.000001"), 1_000_003),
            randomised_response(&number("1.5"), 2),
            randomised_response(&number("0.2"), 1000),
        ];
        for cells in pairs {
            for (lo, hi) in [total(&cells, |cell| cell.p), total(&cells, |cell| cell.q)] {
                assert!(lo <= 1.0 + 1e-13 && hi >= 1.0 - 1e-13 && hi - lo < 1e-11, "{lo} {hi}");
            }
            for cell in cells {
                let (least, most) = ((cell.p.lo / cell.q.hi).ln(), (cell.p.hi / cell.q.lo).ln());
                assert!(cell.low <= most && least <= cell.high, "{cell:?}");
            }
        }
    }
}
