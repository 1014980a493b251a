//! The three parameters of a guarantee: ε, δ and ρ.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exact::Rational;

/// Defines a validated newtype over [`Rational`]; text, floats and serde all go through `new`.
macro_rules! parameter {
    ($(#[$doc:meta])* $name:ident, $label:literal, $valid:expr, $allowed:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "Rational", try_from = "Rational")]
        pub struct $name(Rational);

        impl $name {
            /// Checks the value and keeps it exactly.
            ///
            /// # Errors
            #[doc = concat!("If it is not ", $allowed, ".")]
            pub fn new(value: Rational) -> Result<Self> {
                let valid: fn(&Rational) -> bool = $valid;
                if valid(&value) {
                    Ok(Self(value))
                } else {
                    Err(Error::parameter($label, value, $allowed))
                }
            }

            /// The exact value.
            pub fn value(&self) -> &Rational {
                &self.0
            }

            /// The nearest float, for printing.
            pub fn to_f64(&self) -> f64 {
                self.0.to_f64()
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                let value = text.parse().map_err(|_| Error::parameter($label, text, $allowed))?;
                Self::new(value)
            }
        }

        impl TryFrom<Rational> for $name {
            type Error = Error;

            fn try_from(value: Rational) -> Result<Self> {
                Self::new(value)
            }
        }

        /// Parses the shortest decimal that denotes the float: 0.1 is one tenth.
        impl TryFrom<f64> for $name {
            type Error = Error;

            fn try_from(value: f64) -> Result<Self> {
                let exact = Rational::try_from(value).map_err(|_| Error::parameter($label, value, $allowed))?;
                Self::new(exact)
            }
        }

        impl From<$name> for Rational {
            fn from(parameter: $name) -> Self {
                parameter.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

parameter!(
    /// ε: when one unit changes, the probability of any event grows or shrinks by a factor of at most e^ε.
    ///
    /// # Example
    /// ```
    /// use reticent::privacy::Epsilon;
    ///
    /// let epsilon: Epsilon = "0.1".parse()?;
    /// assert_eq!(epsilon.to_string(), "0.1");
    /// assert!("0".parse::<Epsilon>().is_err());
    /// assert!(Epsilon::try_from(f64::NAN).is_err());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    Epsilon,
    "epsilon",
    Rational::is_positive,
    "a finite number greater than 0; write for example 0.5"
);

parameter!(
    /// δ: the probability with which the ε bound may fail; choose it well below 1/n for n people.
    ///
    /// # Example
    /// ```
    /// use reticent::privacy::Delta;
    ///
    /// assert!("1e-8".parse::<Delta>().is_ok());
    /// assert!("1".parse::<Delta>().is_err());
    /// ```
    Delta,
    "delta",
    |value| value.is_positive() && *value < Rational::ONE,
    "greater than 0 and less than 1; write for example 1e-8"
);

parameter!(
    /// ρ: the parameter of zero-concentrated differential privacy, the natural currency of Gaussian noise.
    ///
    /// # Example
    /// ```
    /// use reticent::privacy::Rho;
    ///
    /// assert!("0.05".parse::<Rho>().is_ok());
    /// assert!("-0.05".parse::<Rho>().is_err());
    /// ```
    Rho,
    "rho",
    Rational::is_positive,
    "a finite number greater than 0; write for example 0.05"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_nothing_is_refused_with_its_name_and_value() {
        for bad in ["0", "-1", "NaN", "inf", "", "abc", "1e500"] {
            for (label, error) in [
                ("epsilon", bad.parse::<Epsilon>().unwrap_err()),
                ("delta", bad.parse::<Delta>().unwrap_err()),
                ("rho", bad.parse::<Rho>().unwrap_err()),
            ] {
                let message = error.to_string();
                assert!(message.starts_with(&format!("{label} is {bad}, but it must be ")), "{message}");
            }
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Epsilon::try_from(bad).is_err() && Delta::try_from(bad).is_err() && Rho::try_from(bad).is_err());
        }
        assert!("1".parse::<Delta>().is_err());
        assert!("0.9999999999999999999999".parse::<Delta>().is_ok());
    }

    #[test]
    fn json_cannot_smuggle_in_a_bad_value() {
        assert!(serde_json::from_str::<Epsilon>("\"0\"").is_err());
        assert!(serde_json::from_str::<Delta>("\"1\"").is_err());
        assert_eq!(serde_json::to_string(&"1e-8".parse::<Delta>().unwrap()).unwrap(), "\"1e-8\"");
    }
}
