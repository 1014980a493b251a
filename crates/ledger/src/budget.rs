//! What a dataset may spend, what it has spent, and what still fits.

use std::fmt;

use reticent::exact::Rational;
use reticent::privacy::{Epsilon, Guarantee, Rho};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A charge or limit whose numbers have longer text is refused. Sums are exact, so their text grows with the denominators of
/// the charges; those that become longer are rounded up.
const LONGEST: usize = 2000;
/// Significant digits of a sum that was rounded up: after a million such sums, 10⁻⁹³ of the budget is lost.
const SUM_DIGITS: u32 = 100;

/// Numbers with longer text are shown rounded.
const LONGEST_SHOWN: usize = 12;
const SHOWN_DIGITS: u32 = 6;

/// What a dataset may spend. It also fixes the currency.
///
/// # Privacy
/// Queries may depend on earlier answers. For such adaptive queries these three sums are valid privacy filters: while
/// the sum of all charges stays within the budget, all releases together satisfy the budget's guarantee.
/// - ε: pure charges, Σε \[RRUV16\].
/// - ε and δ: pure and approximate charges, (Σε, Σδ) \[RRUV16\].
/// - ρ: zero-concentrated charges, Σρ; a pure charge of ε counts as ρ = ε²/2 \[BS16, FZ21\].
///
/// A stream is charged once and keeps releasing while other charges are made. The same sums hold for such interleaved,
/// interactive mechanisms \[HSTVVXZ23\].
///
/// Composition by privacy-loss distributions, or taking the best of several of these sums, would not be a valid filter:
/// the choice would depend on the answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// No more than this, ever.
    Limit(Guarantee),
    /// No limit, but spending is still recorded.
    Unlimited,
}

/// What was spent, exactly. Without a limit, charges in ε and in ρ are summed separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Σε.
    pub epsilon: Rational,
    /// Σδ.
    pub delta: Rational,
    /// Σρ.
    pub rho: Rational,
}

/// A charge that exceeds the budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overdraft {
    /// The dataset.
    pub dataset: String,
    /// The cost of the charge.
    pub cost: Guarantee,
    /// The dataset's total budget.
    pub limit: Guarantee,
    /// What is left of it.
    pub left: Spend,
    /// The largest charge of the same kind that still fits; `None` if nothing fits.
    pub fits: Option<Guarantee>,
}

impl Spend {
    /// Nothing.
    pub const NOTHING: Self = Self { epsilon: Rational::ZERO, delta: Rational::ZERO, rho: Rational::ZERO };

    /// What a guarantee costs in its own currency.
    pub fn of(guarantee: &Guarantee) -> Self {
        let mut spend = Self::NOTHING;
        match guarantee {
            Guarantee::Pure(epsilon) => spend.epsilon = epsilon.value().clone(),
            Guarantee::Approx(epsilon, delta) => {
                spend.epsilon = epsilon.value().clone();
                spend.delta = delta.value().clone();
            }
            Guarantee::Zcdp(rho) => spend.rho = rho.value().clone(),
        }
        spend
    }

    /// Whether this much can have been spent from a budget.
    pub(crate) fn is_possible(&self, budget: &Budget) -> bool {
        let within = match budget {
            Budget::Limit(limit) => self.fits(&Self::of(limit)),
            Budget::Unlimited => true,
        };
        within && Self::NOTHING.fits(self)
    }

    /// The sum, or slightly more where it would be too long: a charge with a long denominator would otherwise be the last.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let sum = |one: &Rational, other: &Rational| short_sum(one + other);
        Self {
            epsilon: sum(&self.epsilon, &other.epsilon),
            delta: sum(&self.delta, &other.delta),
            rho: sum(&self.rho, &other.rho),
        }
    }

    pub(crate) fn fits(&self, limit: &Self) -> bool {
        self.epsilon <= limit.epsilon && self.delta <= limit.delta && self.rho <= limit.rho
    }

    fn less(&self, other: &Self) -> Self {
        Self { epsilon: &self.epsilon - &other.epsilon, delta: &self.delta - &other.delta, rho: &self.rho - &other.rho }
    }
}

/// Long numbers are rounded up to six digits: `ε = 1.5, δ = 1e-8`.
impl fmt::Display for Spend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text(|value| value.round_up(SHOWN_DIGITS)))
    }
}

impl Spend {
    /// As text, rounded down where [`Display`](fmt::Display) rounds up: for the remaining budget, which must not be
    /// overstated.
    pub fn rounded_down(&self) -> String {
        self.text(|value| value.round_down(SHOWN_DIGITS))
    }

    fn text(&self, round: impl Fn(&Rational) -> Rational) -> String {
        let short = |value: &Rational| {
            let exact = value.to_string();
            if exact.len() <= LONGEST_SHOWN { exact } else { format!("about {}", round(value)) }
        };
        let parts = [("ε", &self.epsilon), ("δ", &self.delta), ("ρ", &self.rho)];
        let parts = parts.into_iter().filter(|(_, value)| !value.is_zero());
        let parts: Vec<String> = parts.map(|(name, value)| format!("{name} = {}", short(value))).collect();
        if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
    }
}

impl Budget {
    /// The total after a charge of `cost` to a dataset that has spent `spent`.
    ///
    /// # Errors
    /// If there is not enough budget left, or the cost cannot be converted to the budget's currency.
    pub fn admit(&self, dataset: &str, spent: &Spend, cost: &Guarantee) -> Result<Spend> {
        check_length(cost)?;
        let Self::Limit(limit) = self else { return Ok(spent.plus(&Spend::of(cost))) };
        let price = price(dataset, limit, cost)?;
        let total = spent.plus(&price);
        if !total.fits(&Spend::of(limit)) {
            let left = Spend::of(limit).less(spent);
            let fits = fitting(limit, &left, cost);
            let (dataset, cost, limit) = (dataset.to_owned(), cost.clone(), limit.clone());
            return Err(Error::Overdrawn(Box::new(Overdraft { dataset, cost, limit, left, fits })));
        }
        Ok(total)
    }

    /// What is left; `None` if there is no limit.
    pub fn left(&self, spent: &Spend) -> Option<Spend> {
        match self {
            Self::Limit(limit) => Some(Spend::of(limit).less(spent)),
            Self::Unlimited => None,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => limit.fmt(formatter),
            Self::Unlimited => formatter.write_str("no limit"),
        }
    }
}

/// A cost in the currency of a limit.
fn price(dataset: &str, limit: &Guarantee, cost: &Guarantee) -> Result<Spend> {
    let differs =
        |budget, instead| Error::OtherCurrency { dataset: dataset.to_owned(), budget, cost: cost.to_string(), instead };
    match (limit, cost) {
        (Guarantee::Pure(_), Guarantee::Pure(_))
        | (Guarantee::Approx(..), Guarantee::Pure(_) | Guarantee::Approx(..))
        | (Guarantee::Zcdp(_), Guarantee::Zcdp(_)) => Ok(Spend::of(cost)),
        (Guarantee::Zcdp(_), Guarantee::Pure(epsilon)) => {
            let rho = &epsilon.value().square() / &Rational::from(2);
            Ok(Spend { rho, ..Spend::NOTHING })
        }
        (Guarantee::Pure(_), _) => Err(differs("ε", "ask for a pure ε")),
        (Guarantee::Approx(..), Guarantee::Zcdp(_)) => Err(differs("ε and δ", "ask for an ε, or an ε and a δ")),
        (Guarantee::Zcdp(_), Guarantee::Approx(..)) => Err(differs("ρ", "ask for a ρ, or a pure ε")),
    }
}

/// The largest charge of the same kind as `cost` that fits into what is left; long numbers are rounded down.
fn fitting(limit: &Guarantee, left: &Spend, cost: &Guarantee) -> Option<Guarantee> {
    let short = |value: &Rational| {
        if value.to_string().len() <= LONGEST_SHOWN { value.clone() } else { value.round_down(SHOWN_DIGITS) }
    };
    let left = &Spend { epsilon: short(&left.epsilon), delta: short(&left.delta), rho: short(&left.rho) };
    match (limit, cost) {
        (Guarantee::Zcdp(_), Guarantee::Pure(_)) => {
            largest_epsilon(&left.rho).and_then(|epsilon| Epsilon::new(epsilon).ok()).map(Guarantee::Pure)
        }
        (_, Guarantee::Pure(_)) => Epsilon::new(left.epsilon.clone()).ok().map(Guarantee::Pure),
        (_, Guarantee::Approx(_, delta)) => {
            // The requested δ, or what is left of it.
            let delta = if *delta.value() <= left.delta { delta.value().clone() } else { left.delta.clone() };
            let (epsilon, delta) = (Epsilon::new(left.epsilon.clone()).ok()?, delta.try_into().ok()?);
            Some(Guarantee::Approx(epsilon, delta))
        }
        (_, Guarantee::Zcdp(_)) => Rho::new(left.rho.clone()).ok().map(Guarantee::Zcdp),
    }
}

/// The largest ε with six digits such that ε²/2 ≤ ρ.
fn largest_epsilon(rho: &Rational) -> Option<Rational> {
    if !rho.is_positive() {
        return None;
    }
    let near = (2.0 * rho.to_f64()).sqrt();
    if !near.is_normal() {
        return None;
    }
    // A float is off by a few units in the last of 16 digits; six digits and one step down are enough.
    let mut epsilon = Rational::try_from(format!("{near:.5e}")).ok()?;
    let step = Rational::try_from(format!("1e{}", near.log10().floor() as i32 - 5)).ok()?;
    while &epsilon.square() / &Rational::from(2) > *rho {
        epsilon = &epsilon - &step;
    }
    epsilon.is_positive().then_some(epsilon)
}

/// A sum, rounded up if its text is too long.
pub(crate) fn short_sum(sum: Rational) -> Rational {
    if sum.to_string().len() > LONGEST { sum.round_up(SUM_DIGITS) } else { sum }
}

/// Refuses numbers that nobody would write.
pub(crate) fn check_length(guarantee: &Guarantee) -> Result<()> {
    let Spend { epsilon, delta, rho } = Spend::of(guarantee);
    if [epsilon, delta, rho].iter().any(|number| number.to_string().len() > LONGEST) {
        let allowed = "shorter; use decimals with few digits";
        return Err(Error::Unusable { what: "a number of the guarantee", value: "too long".into(), allowed });
    }
    Ok(())
}

impl fmt::Display for Overdraft {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dataset, cost, limit, left, fits } = self;
        let left = left.rounded_down();
        write!(formatter, "not enough budget left for {dataset}: this costs {cost}, and {left} of {limit} is left; ")?;
        match fits {
            Some(fits) => write!(formatter, "{fits} would fit"),
            None => formatter.write_str("nothing more fits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pure(epsilon: &str) -> Guarantee {
        Guarantee::Pure(epsilon.parse().unwrap())
    }

    fn approx(epsilon: &str, delta: &str) -> Guarantee {
        Guarantee::Approx(epsilon.parse().unwrap(), delta.parse().unwrap())
    }

    fn zcdp(rho: &str) -> Guarantee {
        Guarantee::Zcdp(rho.parse().unwrap())
    }

    /// Makes the charges in order; returns the text of the first refusal.
    fn spend(limit: Guarantee, costs: &[Guarantee]) -> Result<Spend, String> {
        let budget = Budget::Limit(limit);
        costs
            .iter()
            .try_fold(Spend::NOTHING, |spent, cost| budget.admit("people", &spent, cost))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn ten_tenths_exhaust_one_exactly() {
        assert_eq!(spend(pure("1"), &vec![pure("0.1"); 10]).unwrap(), Spend::of(&pure("1")));
        assert_eq!(spend(pure("1"), &vec![pure("1/3"); 3]).unwrap(), Spend::of(&pure("1")));
        assert_eq!(
            spend(pure("1"), &[pure("0.7"), pure("0.30000000000000000000001")]).unwrap_err(),
            "not enough budget left for people: this costs ε = 0.30000000000000000000001, and ε = 0.3 of ε = 1 is left; \
             ε = 0.3 would fit"
        );
        assert_eq!(
            spend(pure("1"), &[pure("1"), pure("1e-300")]).unwrap_err(),
            "not enough budget left for people: this costs ε = 1e-300, and nothing of ε = 1 is left; nothing more fits"
        );
    }

    #[test]
    fn epsilon_and_delta_are_limits_of_their_own() {
        let limit = || approx("1", "1e-6");
        assert!(spend(limit(), &[pure("0.5"), approx("0.5", "1e-6")]).is_ok());
        let refused = spend(limit(), &[approx("0.5", "9e-7"), approx("0.25", "2e-7")]).unwrap_err();
        assert!(
            refused.ends_with("ε = 0.5, δ = 1e-7 of ε = 1, δ = 1e-6 is left; ε = 0.5, δ = 1e-7 would fit"),
            "{refused}"
        );
        let refused = spend(limit(), &[approx("0.5", "1e-6"), approx("0.1", "1e-9")]).unwrap_err();
        assert!(refused.ends_with("nothing more fits"), "{refused}");
        assert!(spend(limit(), &[zcdp("0.1")]).unwrap_err().contains("ask for an ε"));
        assert!(spend(pure("1"), &[approx("0.1", "1e-9")]).unwrap_err().contains("ask for a pure ε"));
    }

    #[test]
    fn a_pure_charge_is_half_its_square_in_rho() {
        assert_eq!(spend(zcdp("0.5"), &[pure("1")]).unwrap(), Spend::of(&zcdp("0.5")));
        assert_eq!(spend(zcdp("1"), &vec![zcdp("0.1"); 10]).unwrap(), Spend::of(&zcdp("1")));
        assert!(spend(zcdp("1"), &[approx("0.1", "1e-9")]).unwrap_err().contains("ask for a ρ, or a pure ε"));
        let exhausted = spend(zcdp("0.5"), &[zcdp("0.5"), pure("1e-9")]).unwrap_err();
        assert!(exhausted.ends_with("nothing of ρ = 0.5 is left; nothing more fits"), "{exhausted}");
        let refused = spend(zcdp("0.5"), &[pure("1.1")]).unwrap_err();
        assert!(refused.ends_with("ε = 1 would fit"), "{refused}");
        for rho in ["0.1", "1/3", "1e-200", "12345", "0.024355934605668213"] {
            let left: Rational = rho.parse().unwrap();
            let fits = largest_epsilon(&left).unwrap();
            let used = &fits.square() / &Rational::from(2);
            let share = (&used / &left).to_f64();
            assert!(used <= left && share > 0.9999, "{rho}: {share}");
        }
    }

    #[test]
    fn without_a_limit_both_currencies_are_kept() {
        let spent = Budget::Unlimited.admit("people", &Spend::NOTHING, &pure("1")).unwrap();
        let spent = Budget::Unlimited.admit("people", &spent, &approx("1/3", "1e-9")).unwrap();
        let spent = Budget::Unlimited.admit("people", &spent, &zcdp("0.2")).unwrap();
        assert_eq!(spent.to_string(), "ε = 4/3, δ = 1e-9, ρ = 0.2");
    }

    #[test]
    fn numbers_that_nobody_would_write_are_refused() {
        let long = format!("1/{}", "7".repeat(3000));
        assert!(Budget::Unlimited.admit("people", &Spend::NOTHING, &pure(&long)).is_err());
    }

    /// One charge of almost nothing must not be the last that a dataset can have.
    #[test]
    fn long_denominators_do_not_lock_a_budget() {
        let odd = |digits: &str| pure(&format!("{}/{}1", "3".repeat(980), digits.repeat(990)));
        let costs = [odd("7"), pure("0.1"), odd("9"), pure("1e-9"), pure("0.125"), odd("4"), pure("1/3")];
        let spent = spend(pure("1"), &costs).unwrap();
        let exact = costs.iter().fold(Rational::ZERO, |sum, cost| &sum + &Spend::of(cost).epsilon);
        assert!(spent.epsilon >= exact, "never less than was spent");
        assert!(&spent.epsilon - &exact < "1e-90".parse().unwrap());
        assert!(spent.epsilon.to_string().len() <= LONGEST);
        // The limit itself is not exceeded by rounding.
        let left = &Rational::ONE - &Spend::of(&costs[0]).epsilon;
        let rest = [odd("7"), odd("9"), Guarantee::Pure(Epsilon::new(left).unwrap())];
        assert!(spend(pure("1"), &rest).is_err());
    }
}
