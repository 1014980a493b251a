//! Counters whose memory may be seized: the audit tests the *pair* of releases and memory.
//!
//! The adversary chooses the inputs adaptively: each is the parity of the release before. It knows them all, and
//! subtracts them from whatever it sees. It looks at the likelihood ratio of the whole view, or an equivalent
//! statistic: a draw K that is 1 larger under the second input has a likelihood ratio that depends only on whether
//! K ≥ 1.

use std::cell::RefCell;

use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
#[cfg(any(test, feature = "test-util"))]
use crate::continual::pan_private::Noise;
use crate::continual::pan_private::{Design, PanPrivate, PanPrivateSurviving, SeizableCounter, Seized};
use crate::continual::{Counter, Stream};
use crate::error::Result;

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "pan-private",
        summary: "four releases and the memory after them; the fourth value is 0 or 1, the others depend on releases",
        is_exact: false,
        audit: past,
    },
    Subject {
        name: "pan-private-surviving",
        summary: "all releases and the memory after the first; the first value is 0 or 1, the others depend on releases",
        is_exact: false,
        audit: surviving,
    },
    Subject {
        name: "pan-private-surviving-later",
        summary: "the same, when it is the second value, after the intrusion, that is 0 or 1",
        is_exact: false,
        audit: surviving_later,
    },
];

/// For five steps α = 3, and step 4 comes after blocks \[1, 2\] and \[3, 3\]: three draws must compensate for it, the
/// maximum.
pub(super) const PAST: Case = Case { horizon: 5, differs: 4, taken: 4, seized: &[4] };
/// For four steps α = 3, and step 1 lies in three blocks.
const BEFORE: Case = Case { horizon: 4, differs: 1, taken: 4, seized: &[1] };
/// Step 2 lies in two blocks, both of which were seen before it.
pub(super) const AFTER: Case = Case { horizon: 4, differs: 2, taken: 4, seized: &[1] };

/// Which streams are compared, and when the memory is seized.
pub(super) struct Case {
    pub(super) horizon: u64,
    /// The step whose value is 0 or 1; all others are chosen by the adversary.
    pub(super) differs: u64,
    /// The number of steps taken.
    pub(super) taken: u64,
    /// The steps after which the memory is seized: only one, except for mutants.
    pub(super) seized: &'static [u64],
}

/// What the adversary has seen, with its own inputs subtracted from the releases.
pub(super) struct View {
    /// Release t is the first element minus everything that the adversary contributed up to then.
    pub(super) released: Vec<i64>,
    /// The adversary's inputs.
    pub(super) chosen: Vec<i64>,
    /// What was seized, each time.
    pub(super) memory: Vec<Seized>,
}

impl View {
    /// The adversary's inputs in steps `from` to `to` together.
    fn put_in(&self, from: u64, to: u64) -> i64 {
        self.chosen[from as usize - 1..to as usize].iter().sum()
    }

    /// The release of a step without the adversary's inputs.
    fn released(&self, step: u64) -> i64 {
        self.released[step as usize - 1] - self.put_in(1, step)
    }

    /// The noisy sum held for steps `from` to `to` when the memory was seized for the `nth` time, without the
    /// adversary's inputs.
    pub(super) fn held(&self, nth: usize, from: u64, to: u64) -> i64 {
        let Seized { after, .. } = self.memory[nth];
        let value = self.memory[nth].sum(from..=to).expect("it is held then");
        i64::try_from(value).expect("small noise") - self.put_in(from, after.min(to))
    }
}

impl Case {
    pub(super) fn stream(&self) -> Result<Stream> {
        Stream::bits().until(self.horizon)
    }

    /// Runs the adversary: `advance` takes a value and returns the release, `seize` the memory.
    pub(super) fn play<C>(
        &self,
        input: Input,
        counter: &mut C,
        advance: impl Fn(&mut C, i64) -> Result<i64>,
        seize: impl Fn(&C) -> Seized,
    ) -> Result<View> {
        let mut view = View { released: vec![], chosen: vec![], memory: vec![] };
        for step in 1..=self.taken {
            let chosen = view.released.last().map_or(0, |last| last & 1);
            // In the step that differs it contributes nothing.
            let (chosen, value) = match (step == self.differs, input) {
                (false, _) => (chosen, chosen),
                (true, Input::First) => (0, 0),
                (true, Input::Second) => (0, 1),
            };
            view.chosen.push(chosen);
            view.released.push(advance(counter, value)?);
            if self.seized.contains(&step) {
                view.memory.push(seize(counter));
            }
        }
        Ok(view)
    }

    /// Tests a statistic of what is seen of a counter.
    fn weigh<D: Design>(&self, audit: &Audit<'_>, statistic: impl Fn(&View) -> i64) -> Result<Report> {
        let design = D::new(self.stream()?, audit.pure())?;
        let counter = RefCell::new(SeizableCounter::start(design, audit.take_permit())?);
        audit.measured(audit.pure(), |input| {
            let mut counter = counter.borrow_mut();
            counter.restart();
            let view = self.play(input, &mut *counter, |counter, value| counter.advance(value), |c| c.state_after())?;
            Ok(statistic(&view))
        })
    }

    /// The same for a mutant: a design that is run by hand, with draws that `tamper` may change, and `statistic` may
    /// use.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn weigh_mutant<D: Design>(
        &self,
        audit: &Audit<'_>,
        tamper: impl Fn(Noise, i64) -> i64,
        statistic: impl Fn(&View, &Kept) -> i64,
    ) -> Result<Report> {
        let design = D::new(self.stream()?, audit.pure())?;
        let permit = RefCell::new(audit.take_permit().into_stream(&audit.pure())?);
        audit.measured(audit.pure(), |input| {
            let mut kept = Kept { cells: vec![0; design.cells()], steps: 0, draws: vec![], sum: 0 };
            let advance = |kept: &mut Kept, value: i64| {
                let mut permit = permit.borrow_mut();
                let mut draw = permit.draw()?;
                kept.steps += 1;
                kept.sum += value;
                let (step, draws) = (kept.steps, &mut kept.draws);
                let draw = |noise| {
                    let drawn = tamper(noise, design.law().sample(&mut draw));
                    draws.push((noise, step, drawn));
                    drawn
                };
                let released = design.take(&mut kept.cells, step, &value, draw);
                Ok(i64::try_from(released).expect("small noise"))
            };
            let view = self.play(input, &mut kept, advance, |kept| design.seized(&kept.cells, kept.steps))?;
            Ok(statistic(&view, &kept))
        })
    }
}

/// The state of a counter that keeps more than it should.
#[cfg(any(test, feature = "test-util"))]
pub(super) struct Kept {
    cells: Vec<i128>,
    steps: u64,
    /// Every draw, its purpose, and its step.
    pub(super) draws: Vec<(Noise, u64, i64)>,
    /// The exact sum.
    pub(super) sum: i64,
}

fn past(audit: &Audit<'_>) -> Result<Report> {
    PAST.weigh::<PanPrivate>(audit, |view| {
        // X is N and the fourth value; releases 2 and 3 are N with the noise of [1, 2] and of [3, 3], for that of [1, 4],
        // which all four have in common, is known from the last release.
        let sum = view.held(0, 1, 4);
        let whole = view.released(4) - sum;
        let up_to = |step| view.released(step) - whole - sum;
        i64::from(sum >= 1) + i64::from(up_to(2) <= -1) + i64::from(up_to(3) <= -1)
    })
}

fn surviving(audit: &Audit<'_>) -> Result<Report> {
    // The first release has two draws in it: P(k) is proportional to p^|k|·(|k| + (1+p²)/(1−p²)).
    let rate = audit.request.epsilon.to_f64() / 3.0;
    let squared = libm::exp(-2.0 * rate);
    let mass = |k: i64| libm::log(k.abs() as f64 + (1.0 + squared) / (1.0 - squared)) - rate * k.abs() as f64;
    BEFORE.weigh::<PanPrivateSurviving>(audit, |view| {
        let sign = |k: i64| if k >= 1 { 1.0 } else { -1.0 };
        let first = view.released(1);
        let ratio = rate * (sign(view.held(0, 1, 2)) + sign(view.held(0, 1, 4))) + mass(first - 1) - mass(first);
        libm::round(ratio * 1000.0) as i64
    })
}

fn surviving_later(audit: &Audit<'_>) -> Result<Report> {
    AFTER.weigh::<PanPrivateSurviving>(audit, |view| {
        let second = view.released(2) - view.held(0, 1, 2);
        let fourth = view.released(4) - view.held(0, 1, 4);
        i64::from(second >= 1) + i64::from(fourth >= 1)
    })
}
