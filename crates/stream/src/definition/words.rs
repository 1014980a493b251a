//! Descriptions for privacy officers and the ledger.

use reticent::continual::Unit;
use reticent::continual::keyed::Admission;
use reticent::privacy::Adjacency;

use super::{Definition, Keys, Mode, Step};

impl Definition {
    /// The privacy unit for the ledger: two streams have the same unit only if the same inputs are neighbours, so that
    /// their costs may be added up.
    pub fn unit_words(&self) -> String {
        match (self.step, self.stream.unit()) {
            (Step::Clock(_) | Step::Events(2..), Unit::Step) => format!("step of {}", self.step),
            (Step::Events(_), Unit::Step) | (_, Unit::Event) => "event".into(),
            (_, Unit::Events(count)) => format!("{count} events"),
        }
    }

    /// What the guarantee means.
    pub fn guarantee_words(&self) -> String {
        self.protected_words() + &self.guarantee.caveat()
    }

    fn protected_words(&self) -> String {
        let who = match self.stream.unit() {
            Unit::Events(count) => format!("any person's events (at most {count})"),
            Unit::Event => "any one event".into(),
            Unit::Step => {
                return format!("everything in any one step of {} is protected; its sum is clamped", self.step);
            }
        };
        match (self.stream.adjacency(), &self.keys) {
            (Adjacency::AddRemove, _) => format!("whether {who} happened is protected"),
            (Adjacency::Replace, Keys::None) => {
                format!("that events arrive, when, and their ids are public; the value of {who} is protected")
            }
            (Adjacency::Replace, _) => {
                format!("that events arrive, when, and their ids are public; key and value of {who} are protected")
            }
        }
    }

    /// What the half-widths of its releases cover.
    pub fn half_width_words(&self) -> String {
        match self.keys {
            Keys::None | Keys::Known(_) => "95 %, noise only".into(),
            Keys::Selected => format!("95 %, noise only; {}", Admission::SELECTED),
        }
    }

    /// The whole definition, in words.
    pub fn description(&self) -> String {
        let (low, high) = self.stream.range();
        let keys = match &self.keys {
            Keys::None => String::new(),
            Keys::Known(keys) => format!(" for each of {} known keys", keys.len()),
            Keys::Selected => " for each key that enough events share".into(),
        };
        let mode = match self.mode {
            Mode::Curator => "by a curator",
            Mode::PanPrivate => "pan-privately",
        };
        let dedup = match self.dedup {
            0 => String::new(),
            steps => format!(", each id once within {steps} steps"),
        };
        format!(
            "stream {}: running sums{keys} of values in {low}..{high}, {mode}, in steps of {}, {}{dedup}; {}",
            self.name,
            self.step,
            self.stream.horizon(),
            self.guarantee_words()
        )
    }
}
