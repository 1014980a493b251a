//! Common texts of a domain too large to list.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::projective::decode::sums;
use super::projective::{Channel, field};
use super::spelling::Spelling;
use super::{Estimate, Response, range};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::bits::always;
use crate::noise::uniform::below;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::LEVEL;

/// Finds common texts by their prefixes: each person reports a prefix of one length, and only the common prefixes of
/// one length are extended to the next.
///
/// # Privacy
/// ε-differential privacy for one person's one text against everyone. The length is drawn at random, whatever the text,
/// and the prefix of that length is reported by [projective geometry](super::ProjectiveResponse) with all of ε: each
/// person reports once. Letters outside the alphabet are dropped, and longer texts are cut off.
///
/// # Accuracy
/// Of n people about n/levels report whole texts, and the estimates come from these: the variance of a fraction is
/// levels times that of a single question. A text is found if it stands out at *every* length. Listing only texts that
/// stand out biases their estimates slightly upwards; at most 5 % of such lists contain a text that no one holds, by
/// the last level alone.
///
/// # Algorithm
/// \[WLJ21\], PEM, with the response of \[FNNT22\]: a prefix of letters is a vector (1, d₁, d₂, …) of base-q digits.
/// For one common prefix the reports y are counted by their product with it and by their last coordinates; all
/// extensions of the prefix are then decoded together, like all values of a small domain.
///
/// # Errors
/// Unless the alphabet has 1 to 65,000 different letters, the longest text at least one letter and all of it fits q^t < 2^127, and
/// ε lies from 2^−50 to 11; when responding, if the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::local::PrefixExtension;
///
/// let words = PrefixExtension::new("abcdefghijklmnopqrstuvwxyz", 8, &"2".parse()?)?;
/// let mut permit = Permit::unaccounted()?;
/// let reports: Vec<_> = (0..20_000)
///     .map(|person| words.respond(if person % 2 == 0 { "tea" } else { "coffee" }, &mut permit).map(|r| r.into_value()))
///     .collect::<Result<_, _>>()?;
/// let found = words.find(&reports, 10)?;
/// assert!(found.iter().any(|found| found.text == "tea") && found.iter().any(|found| found.text == "coffee"));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrefixExtension {
    spelling: Spelling,
    levels: Vec<Channel>,
}

/// What one person reports: the length, and a point of that length's space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixReport {
    /// The length's index, counted from 0, the shortest.
    pub level: u32,
    /// The point, as decimal digits in text formats: it may have more than 64 bits.
    #[serde(with = "point_as_text")]
    pub point: u128,
}

/// JSON numbers have 53 bits in a browser.
mod point_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(point: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(point)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(|_| D::Error::custom("a point is a whole number in quotes"))
    }
}

/// A text that many people hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundText {
    /// The text.
    pub text: String,
    /// How many people hold it, from the reports of whole texts alone.
    pub estimate: Estimate,
    /// An interval for the fraction that holds jointly for all listed texts with probability at least 95 %.
    pub interval: (f64, f64),
}

const LARGEST_EPSILON: u64 = 11;

impl PrefixExtension {
    /// For texts of up to `longest` letters of an alphabet.
    ///
    /// # Errors
    /// As described for the type.
    pub fn new(alphabet: &str, longest: u32, epsilon: &Epsilon) -> Result<Self> {
        range::check(epsilon)?;
        if *epsilon.value() > Rational::from(LARGEST_EPSILON) {
            return Err(Error::parameter("epsilon", epsilon, "from 2^-50 to 11 for texts"));
        }
        let spelling = Spelling::new(alphabet, longest, field::nearest(epsilon.to_f64()))?;
        let channel = |level| Channel::new(spelling.space(level)?, epsilon);
        let levels = (0..spelling.levels()).map(channel).collect::<Result<Vec<_>>>()?;
        Ok(Self { spelling, levels })
    }

    /// The number of lengths.
    pub fn levels(&self) -> u32 {
        self.levels.len() as u32
    }

    /// The guarantee of a response, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.levels[0].guarantee()
    }

    /// Can a device have sent this report?
    pub fn can_be(&self, report: &PrefixReport) -> bool {
        let level = self.levels.get(report.level as usize);
        level.is_some_and(|channel| report.point < channel.space().points())
    }

    /// Randomises one text.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn respond(&self, text: &str, permit: &mut Permit) -> Result<Response<PrefixReport>> {
        let mut draw = permit.spend(self.guarantee())?;
        let report = self.sample(text, &mut draw);
        Ok(Response::new(report, self.guarantee().clone(), draw.accounting().clone()))
    }

    /// A report from any generator, for simulations and audits: nothing is charged, and the result does not say so.
    pub fn sample<R: CryptoRng + ?Sized>(&self, text: &str, rng: &mut R) -> PrefixReport {
        let level = always(below(self.levels.len() as u64, rng)) as u32;
        let channel = &self.levels[level as usize];
        let vector = self.spelling.prefix(text, level);
        PrefixReport { level, point: channel.sample(channel.space().point(&vector), rng) }
    }

    /// The texts that stand out among the reports, one from each person, the most common first; for every length the
    /// `keep` most common prefixes are extended.
    ///
    /// Takes time in proportion to reports × `keep` × letters.
    ///
    /// # Errors
    /// If `keep` is 0, there is no report of whole texts, or a report does not belong to this question.
    pub fn find(&self, reports: &[PrefixReport], keep: usize) -> Result<Vec<FoundText>> {
        if keep == 0 {
            return Err(Error::parameter("prefixes to keep", keep, "at least 1"));
        }
        if !reports.iter().all(|report| self.can_be(report)) {
            return Err(Error::invalid("report", "the report belongs to a different question"));
        }
        let mut kept: Vec<Candidate> = vec![Candidate { codes: Vec::new(), supporting: 0 }];
        let (mut n, mut tried) = (0, 0);
        for level in 0..self.levels() {
            let space = self.levels[level as usize].space();
            let of_level = reports.iter().filter(|report| report.level == level);
            let vectors: Vec<Vec<u32>> = of_level.map(|report| space.vector(report.point)).collect();
            n = vectors.len() as u64;
            let mut candidates: Vec<Candidate> =
                kept.iter().flat_map(|prefix| self.extended(level, prefix, &vectors)).collect();
            tried = candidates.len();
            // Equal support: ordered by code, so that the list does not depend on anything else.
            candidates.sort_unstable_by(|one, other| {
                other.supporting.cmp(&one.supporting).then_with(|| one.codes.cmp(&other.codes))
            });
            candidates.truncate(keep);
            kept = candidates;
        }
        let estimator = self.levels[self.levels.len() - 1].estimator();
        // All candidates of the last level are considered, and each may stand out by chance.
        let each = 1.0 - (1.0 - LEVEL) / tried.max(1) as f64;
        let mut found = Vec::new();
        for candidate in kept {
            let interval = estimator.interval(candidate.supporting, n, each)?;
            if interval.0 > 0.0 {
                let estimate = estimator.estimate(candidate.supporting, n)?;
                found.push(FoundText { text: self.spelling.text(&candidate.codes), estimate, interval });
            }
        }
        Ok(found)
    }

    /// All extensions of a prefix to the level's length, with the reports that support each.
    fn extended(&self, level: u32, prefix: &Candidate, reports: &[Vec<u32>]) -> Vec<Candidate> {
        let space = self.levels[level as usize].space();
        let q = self.spelling.q;
        let letters = self.spelling.letters(level) - prefix.codes.len() as u32;
        let last = (letters * self.spelling.digits) as usize;
        let size = space.power(last as u32) as usize;
        let known = self.spelling.vector(&prefix.codes);
        let mut table = vec![0u32; q as usize * size];
        for report in reports {
            let (first, last) = report.split_at(report.len() - last);
            let number = last.iter().fold(0, |number, &digit| number * q as usize + digit as usize);
            table[space.product(&known, first) as usize * size + number] += 1;
        }
        let sums = sums(q as usize, last as u32, table);
        let mut candidates = Vec::new();
        for (number, &supporting) in sums[..size].iter().enumerate() {
            if let Some(codes) = self.spelling.continued(&prefix.codes, number as u128, letters) {
                candidates.push(Candidate { codes, supporting: supporting.into() });
            }
        }
        candidates
    }
}

/// A prefix, and the number of reports that support it.
#[derive(Debug, Clone)]
struct Candidate {
    codes: Vec<u32>,
    supporting: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::evidence::{Law, assert_tight, largest_ratio_holds};
    use crate::local::projective::geometry::Geometry;
    use crate::noise::Entropy;

    fn question(alphabet: &str, longest: u32, epsilon: &str) -> PrefixExtension {
        PrefixExtension::new(alphabet, longest, &epsilon.parse().unwrap()).unwrap()
    }

    /// P(level and point | text), for every text; the level is drawn uniformly, whatever the text.
    fn law(question: &PrefixExtension, texts: &[&str], weight: impl Fn(&str, u32) -> Rational) -> Law {
        let outputs: Vec<(u32, u128)> = (0..question.levels())
            .flat_map(|level| (0..question.levels[level as usize].space().points()).map(move |point| (level, point)))
            .collect();
        Law::of(texts.len(), outputs.len(), |text, output| {
            let (level, point) = outputs[output];
            let channel = &question.levels[level as usize];
            let vector = question.spelling.prefix(texts[text], level);
            let mass = channel.probability(channel.space().point(&vector), point);
            let weight = weight(texts[text], level);
            mass.start() * &weight..=mass.end() * &weight
        })
    }

    #[test]
    fn the_largest_ratio_is_exactly_what_is_promised() {
        for epsilon in ["0.5", "1", "2"] {
            // One letter per step, so that there are several lengths.
            let mut question = question("ab", 2, epsilon);
            question.spelling.step = 1;
            let spaces = [1, 2]
                .map(|letters| Geometry::new(question.spelling.q, 1 + question.spelling.digits * letters).unwrap());
            question.levels = spaces.map(|space| Channel::new(space, &epsilon.parse().unwrap()).unwrap()).into();
            let texts = ["", "a", "b", "aa", "ab", "ba", "bb"];
            let even = law(&question, &texts, |_, _| Rational::new(1, 2).unwrap());
            assert!(even.adds_up());
            assert_tight(&even, &epsilon.parse().unwrap());
            // The mutant: people with long texts report long prefixes more often.
            let uneven = law(&question, &texts, |text, level| {
                Rational::new(if (text.len() as u32 > 1) == (level == 1) { 51 } else { 49 }, 100).unwrap()
            });
            assert!(!largest_ratio_holds(&uneven, &epsilon.parse().unwrap()), "the mutant was not caught");
        }
    }

    #[test]
    fn common_texts_are_found_and_no_others() {
        const PEOPLE: usize = 60_000;
        let question = question("abcdefghijklmnopqrstuvwxyz", 6, "2");
        assert!(question.levels() > 1);
        let mut entropy = Entropy::seeded(3);
        let mut rng = entropy.draw().unwrap();
        let reports: Vec<PrefixReport> = (0..PEOPLE)
            .map(|person| match person % 10 {
                0..4 => question.sample("tea", &mut rng),
                4..7 => question.sample("coffee", &mut rng),
                // Cut off at six letters, and without the letters that are not in the alphabet.
                7..9 => question.sample("Wa-ter melon", &mut rng),
                _ => question.sample(&format!("{:06}", person).replace(|c: char| c.is_ascii_digit(), "x"), &mut rng),
            })
            .collect();
        let found = question.find(&reports, 16).unwrap();
        let names: Vec<&str> = found.iter().map(|found| found.text.as_str()).collect();
        assert_eq!(names[..3], ["tea", "coffee", "aterme"], "{names:?}");
        for (found, share) in found.iter().zip([0.4, 0.3, 0.2]) {
            assert!(found.interval.0 <= share && share <= found.interval.1, "{found:?}");
        }
        assert!(names.len() <= 4, "{names:?}");
    }

    #[test]
    fn codes_and_digits_lead_back() {
        let question = question("abc", 4, "1");
        for text in ["", "a", "cab", "abca"] {
            let codes = question.spelling.codes(text);
            assert_eq!(question.spelling.text(&codes), text);
            let vector = question.spelling.vector(&codes);
            let number = vector[1..]
                .iter()
                .fold(0u128, |number, &digit| number * u128::from(question.spelling.q) + u128::from(digit));
            assert_eq!(question.spelling.continued(&[], number, 4), Some(codes));
        }
        assert_eq!(question.spelling.codes("abcabc"), [1, 2, 3, 1]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let one: Epsilon = "1".parse().unwrap();
        for (alphabet, longest) in [("", 3), ("aa", 3), ("ab", 0), ("abcdefghijklmnopqrstuvwxyz", 60)] {
            assert!(PrefixExtension::new(alphabet, longest, &one).unwrap_err().is_parameter());
        }
        assert!(PrefixExtension::new("ab", 3, &"12".parse().unwrap()).is_err());
        let question = question("ab", 2, "1");
        assert!(question.find(&[PrefixReport { level: 9, point: 0 }], 4).is_err());
        assert!(question.find(&[], 0).is_err() && question.find(&[], 4).is_err());
    }
}
