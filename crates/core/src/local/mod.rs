//! The local model: mechanisms that run on a person's own device.
//!
//! In the local model no one is trusted with raw answers: each person's own device randomises the answer before it
//! leaves. One report reveals almost nothing; many together show how common an answer is, with an error that grows as
//! √n where a trusted curator's stays constant.
//!
//! | module | holds |
//! |---|---|
//! | [`task`] | [`Task`]: what is asked, how and for how long; its hash is in every report |
//! | [`question`] | [`Question`]: what a device needs to know about a task |
//! | [`light`] | [`LightTask`]: the same task and the same channels in a few kilobytes, for browsers |
//! | [`device`] | [`Device`]: randomises answers, and remembers them |
//! | [`report`] | [`Report`]: what one device sends |
//! | [`admission`] | [`Admission`]: which reports count, and why others do not |
//! | [`collection`] | [`Collection`]: from reports to estimates |
//! | [`shuffle`] | [`Shuffled`]: the privacy that a shuffler adds |
//!
//! The mechanisms, each of which can be used on its own:
//!
//! | module | holds |
//! |---|---|
//! | [`randomised_response`] | [`RandomisedResponse`]: one yes/no answer |
//! | [`k_ary`] | [`KaryResponse`]: one of a few values |
//! | [`unary`] | [`UnaryEncoding`]: one of some hundred values, a bit for each |
//! | [`projective`] | [`ProjectiveResponse`]: one of up to millions of values, in a few bits |
//! | [`oracle`] | [`FrequencyOracle`]: any of these three, or the best for ε and k |
//! | [`mean`] | [`OneBitMean`]: the mean of bounded numbers |
//! | [`prefix`] | [`PrefixExtension`]: common texts of a domain too large to list |
//! | [`response`] | [`Response`]: a randomised answer, with its guarantee |
//! | [`tally`] | [`ValueTally`], [`SetTally`]: how many responses support each value |
//! | [`estimator`] | [`Estimator`]: from these to the fraction, for every oracle with a pair (p*, q*) |
//! | [`mod@lower_bound`] | [`lower_bound()`]: a lower bound on the error of every local protocol |
//! | [`consistency`] | [`consistent`]: fractions that are not negative and add up to 1 |

pub mod admission;
pub mod collection;
pub mod consistency;
pub mod device;
pub mod estimator;
#[cfg(test)]
mod evidence;
pub mod k_ary;
pub mod light;
pub mod lower_bound;
pub mod mean;
pub mod oracle;
pub mod prefix;
pub mod projective;
pub mod question;
pub mod randomised_response;
mod range;
pub mod report;
pub mod response;
pub mod shuffle;
mod spelling;
pub mod tally;
pub mod task;
pub mod unary;

pub use admission::{Admission, Rejection};
pub use collection::{Answers, Collection, MeanAnswer, Row, TextAnswer};
pub use consistency::consistent;
pub use device::{Device, Memory, ShortMemory};
pub use estimator::{Estimate, Estimator};
pub use k_ary::KaryResponse;
pub use light::LightTask;
pub use lower_bound::lower_bound;
pub use mean::{MeanEstimate, OneBitMean};
pub use oracle::{FrequencyOracle, OracleResponse, OracleTally};
pub use prefix::{FoundText, PrefixExtension, PrefixReport};
pub use projective::ProjectiveResponse;
pub use question::Question;
pub use randomised_response::RandomisedResponse;
pub use report::{Payload, Report, ReportId};
pub use response::Response;
pub use shuffle::Shuffled;
pub use tally::{SetTally, ValueTally};
pub use task::{Answer, Day, Domain, Memoisation, Randomiser, Task, TaskBuilder, TaskId, TimePrecision};
pub use unary::{UnaryEncoding, ValueSet};
