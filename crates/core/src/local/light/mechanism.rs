//! The randomisation of answers.

use super::super::prefix::PrefixReport;
use super::super::projective::field;
use super::super::projective::geometry::Geometry;
use super::super::report::Payload;
use super::super::spelling::Spelling;
use super::super::task::Answer;
use super::amount::Amount;
use super::domain::{LightDomain, grid};
use crate::error::{Error, Result};
use crate::noise::bits::BitSource;
use crate::noise::uniform::{below, below_wide};

/// A mechanism that randomises answers, each with all of ε.
///
/// # Algorithm
/// Where a response either supports the answer or does not (k-ary, projective, prefixes): a response is drawn uniformly
/// and accepted if it supports the answer; if not, it is accepted with probability e^−ε; else another is drawn.
/// Accepted responses then have probabilities in the ratio e^ε to 1, which is the law of these mechanisms. Every answer
/// is supported by the same number of responses, so the number of rounds reveals nothing.
#[derive(Debug, Clone)]
pub(super) enum Mechanism {
    /// Two fair coins.
    Coins,
    Kary(u64),
    Unary(u64),
    Projective(Geometry, u64),
    OneBit {
        lower: i64,
        upper: i64,
    },
    Prefix(Spelling),
}

/// The limit of the mechanisms themselves.
const LARGEST_EPSILON: u64 = 1000;
const LARGEST_FOR_SPACES: u64 = 11;
const MOST_SPELLED_VECTORS: u128 = 1 << 27;
const MOST_BITS: u64 = 1 << 20;
/// ln 3, rounded up as two fair coins are charged.
const LN_3: &str = "1.0986122886681096914";

impl Mechanism {
    pub fn new(name: &str, domain: &LightDomain, epsilon: &Amount) -> Result<Self> {
        let unknown =
            || Error::parameter("mechanism", name, "one that fits the domain; the publisher of the task resolves auto");
        let limit =
            |most: u64| match epsilon.top / epsilon.bottom < most || *epsilon == (Amount { top: most, bottom: 1 }) {
                true => Ok(()),
                false => Err(Error::parameter(
                    "epsilon",
                    "too large",
                    "at most 11 for projective geometry and texts, and 1000 else",
                )),
            };
        limit(LARGEST_EPSILON)?;
        match (domain, name) {
            (LightDomain::Choices(choices), _) => {
                let k = choices.len() as u64;
                match name {
                    "k-ary" if k <= u32::MAX.into() => Ok(Self::Kary(k)),
                    "unary" if k <= MOST_BITS => Ok(Self::Unary(k)),
                    _ => {
                        let q = name.strip_prefix("projective-").and_then(|q| q.parse().ok());
                        let q = q.filter(|&q| field::is_field(q)).ok_or_else(unknown)?;
                        limit(LARGEST_FOR_SPACES)?;
                        let space = Geometry::with_points(q, k.into());
                        let space = space.filter(|space| space.power(space.t()) <= MOST_SPELLED_VECTORS);
                        space.map(|space| Self::Projective(space, k)).ok_or_else(unknown)
                    }
                }
            }
            (LightDomain::Integers { lower, upper }, "one-bit") => Self::one_bit(*lower, *upper).ok_or_else(unknown),
            (LightDomain::Numbers(bounds), "one-bit") => {
                let grid = grid(bounds)?;
                Self::one_bit(grid.lower(), grid.upper()).ok_or_else(unknown)
            }
            (LightDomain::Texts { alphabet, longest }, "prefix") => {
                limit(LARGEST_FOR_SPACES)?;
                let spelling = Spelling::new(alphabet, *longest, field::nearest(epsilon.to_f64()))?;
                // All spaces are smaller than the last.
                spelling.space(spelling.levels() - 1)?;
                Ok(Self::Prefix(spelling))
            }
            _ => Err(unknown()),
        }
    }

    /// Two fair coins, whose ε has more digits than an [`Amount`].
    pub fn coins(name: &str, domain: &LightDomain, epsilon: &str) -> Option<Self> {
        let is_pair = matches!(domain, LightDomain::Choices(choices) if choices.len() == 2);
        (name == "fair-coin" && is_pair && epsilon == LN_3).then_some(Self::Coins)
    }

    fn one_bit(lower: i64, upper: i64) -> Option<Self> {
        upper.checked_sub(lower).filter(|&width| width > 0).map(|_| Self::OneBit { lower, upper })
    }

    pub fn takes(&self, answer: &Answer) -> bool {
        match (self, answer) {
            (Self::Coins, Answer::Choice(choice)) => *choice < 2,
            (Self::Kary(k) | Self::Unary(k) | Self::Projective(_, k), Answer::Choice(choice)) => choice < k,
            (Self::OneBit { .. }, Answer::Number(_)) | (Self::Prefix(_), Answer::Text(_)) => true,
            _ => false,
        }
    }

    /// A response to an answer that it [takes](Self::takes).
    pub fn sample<B: BitSource + ?Sized>(
        &self,
        answer: &Answer,
        epsilon: &Amount,
        source: &mut B,
    ) -> Result<Payload, B::Error> {
        // Drawn once: if it were redrawn with each point, the lengths whose points are accepted more often would be
        // reported more often.
        let level = match self {
            Self::Prefix(spelling) => below(spelling.levels().into(), source)? as u32,
            _ => 0,
        };
        loop {
            if let Some(response) = self.attempt(answer, level, epsilon, source)? {
                return Ok(response);
            }
        }
    }

    /// One round: `None` if another must be drawn.
    pub fn attempt<B: BitSource + ?Sized>(
        &self,
        answer: &Answer,
        level: u32,
        epsilon: &Amount,
        source: &mut B,
    ) -> Result<Option<Payload>, B::Error> {
        Ok(match (self, answer) {
            (Self::Coins, Answer::Choice(choice)) => {
                let (is_truth, second) = (source.bits(1)? == 1, source.bits(1)?);
                Some(Payload::Value(if is_truth { *choice } else { second }))
            }
            (Self::Kary(k), Answer::Choice(choice)) => {
                let drawn = below(*k, source)?;
                accept(drawn == *choice, epsilon, source)?.then_some(Payload::Value(drawn))
            }
            (Self::Unary(k), Answer::Choice(choice)) => {
                let mut bytes = vec![0u8; k.div_ceil(8) as usize];
                for value in 0..*k {
                    let bit = if value == *choice { source.bits(1)? == 1 } else { epsilon.lie(source)? };
                    bytes[(value / 8) as usize] |= u8::from(bit) << (value % 8);
                }
                Some(Payload::Set(bytes))
            }
            (Self::Projective(space, _), Answer::Choice(choice)) => {
                let own = space.vector((*choice).into());
                point(space, &own, epsilon, source)?.map(|point| Payload::Value(point as u64))
            }
            (Self::OneBit { lower, upper }, Answer::Number(number)) => {
                let offset = (*number).max(*lower).min(*upper).abs_diff(*lower);
                let end = below(upper.abs_diff(*lower), source)? < offset;
                Some(Payload::Bit(end != epsilon.lie(source)?))
            }
            (Self::Prefix(spelling), Answer::Text(text)) => {
                let space =
                    spelling.space(level).unwrap_or_else(|_| unreachable!("the last and largest was made before"));
                let point = point(&space, &spelling.prefix(text, level), epsilon, source)?;
                point.map(|point| Payload::Prefix(PrefixReport { level, point }))
            }
            _ => unreachable!("the answer was taken"),
        })
    }
}

/// A point, likelier by e^ε if it is orthogonal to the answer's own; `None` if another must be drawn.
fn point<B: BitSource + ?Sized>(
    space: &Geometry,
    own: &[u32],
    epsilon: &Amount,
    source: &mut B,
) -> Result<Option<u128>, B::Error> {
    let drawn = below_wide(space.points(), source)?;
    let supports = space.product(own, &space.vector(drawn)) == 0;
    Ok(accept(supports, epsilon, source)?.then_some(drawn))
}

/// Is a drawn response accepted? Always if it supports the answer, else with probability e^−ε. The coin is tossed in
/// either case.
fn accept<B: BitSource + ?Sized>(supports: bool, epsilon: &Amount, source: &mut B) -> Result<bool, B::Error> {
    Ok(epsilon.exp_neg(source)? | supports)
}
