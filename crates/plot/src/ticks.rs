//! Ticks and their labels.

use crate::label;

/// A tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Its value.
    pub at: f64,
    /// Its label.
    pub label: String,
}

/// Round numbers on a linear axis, about `count` of them; whole ones if `whole`.
pub fn linear(low: f64, high: f64, count: f64, whole: bool) -> Vec<Tick> {
    let rough = (high - low) / count.max(1.0);
    let rough = if whole { rough.max(1.0) } else { rough };
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    // Never more than asked for by much, whatever rounding does.
    let most = (count * 4.0) as usize + 4;
    let values: Vec<f64> = (0..most)
        .map(|index| first + index as f64)
        .take_while(|index| *index <= last)
        .map(|index| index * step)
        .collect();
    let largest = values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    values.into_iter().map(|at| Tick { at, label: label::linear(at, largest, step) }).collect()
}

/// Powers of ten from 10^low to 10^high, about `count` of them: fewer if there are many, with 2 and 5 times them if there
/// are few.
pub fn powers_of_ten(low: f64, high: f64, count: f64) -> Vec<Tick> {
    let decades = high - low;
    let digits: &[u32] = match count / decades {
        many if many >= 9.0 => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
        many if many >= 3.0 => &[1, 2, 5],
        many if many >= 2.0 => &[1, 3],
        _ => &[1],
    };
    let every = stride(decades, count);
    let mut ticks = Vec::new();
    let mut exponent = (low.floor() as i32).div_euclid(every) * every;
    while f64::from(exponent) <= high {
        for &digit in digits {
            let place = f64::from(exponent) + f64::from(digit).log10();
            if place >= low - 1e-9 && place <= high + 1e-9 {
                ticks.push(Tick { at: 10f64.powf(place), label: label::logarithmic(digit, exponent) });
            }
        }
        exponent += every;
    }
    ticks
}

/// Powers of two from 2^low to 2^high, about `count` of them.
pub fn powers_of_two(low: f64, high: f64, count: f64) -> Vec<Tick> {
    let every = stride(high - low, count);
    let first = ((low - 1e-9).ceil() as i32 + every - 1).div_euclid(every) * every;
    let exponents = (0..).map(|index| first + index * every).take_while(|exponent| f64::from(*exponent) <= high + 1e-9);
    exponents.map(|exponent| Tick { at: 2f64.powi(exponent), label: label::power_of_two(exponent) }).collect()
}

/// The distance between shown `powers`.
fn stride(powers: f64, count: f64) -> i32 {
    let least = (powers / count.max(1.0)).ceil().max(1.0);
    [1, 2, 3, 5, 10, 20, 50, 100, 200].into_iter().find(|stride| f64::from(*stride) >= least).unwrap_or(500)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(linear(0.0, 10.0, 5.0, false)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(linear(-1.0, 1.0, 4.0, false)), ["−1.0", "−0.5", "0", "0.5", "1.0"]);
        assert_eq!(labels(linear(0.0, 1e6, 2.0, false)), ["0", "0.5M", "1.0M"]);
        assert_eq!(labels(linear(1.0, 3.0, 8.0, true)), ["1", "2", "3"]);
        assert_eq!(labels(powers_of_ten(0.0, 3.0, 4.0)), ["1", "10", "100", "1k"]);
        assert_eq!(labels(powers_of_ten(0.0, 1.0, 4.0)), ["1", "2", "5", "10"]);
        assert_eq!(labels(powers_of_ten(0.0, 12.0, 4.0)), ["1", "1k", "1M", "1G", "1T"]);
        assert_eq!(labels(powers_of_two(4.0, 20.0, 9.0)), ["2⁴", "2⁶", "2⁸", "2¹⁰", "2¹²", "2¹⁴", "2¹⁶", "2¹⁸", "2²⁰"]);
    }
}
