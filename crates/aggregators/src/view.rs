//! A coalition of aggregators' view of a batch, for audits.

use reticent::Permit;
use reticent_party::hex::Hex;

use crate::collect::opening::{Noisy, noisy};
use crate::error::Result;
use crate::record::Record;
use crate::task::Task;

/// The opening of a batch, with what each aggregator alone knows: no reports or proofs, only the sums of their answers,
/// randomly shared as reports would share them.
pub struct Opening {
    sums: Vec<i64>,
    shares: Vec<Vec<u8>>,
    noise: Vec<Vec<i64>>,
}

impl Opening {
    /// Opens exact sums (offset from the lower end of the range), as all aggregators would.
    ///
    /// # Errors
    /// If the permit does not cover what each of them spends.
    pub fn new(task: &Task, exact: &[i64], permit: &mut Permit) -> Result<Self> {
        let (mut rest, mut sums) = (task.scheme().nothing(), Vec::new());
        rest.add_numbers(exact);
        for _ in 1..task.aggregators().len() {
            let share = rest.random_alike();
            rest = rest.less(&share);
            sums.push(share);
        }
        sums.push(rest);
        let (mut shares, mut noise) = (Vec::new(), Vec::new());
        for sums in &sums {
            let Noisy { share, noise: own, .. } = noisy(task, sums, permit)?;
            shares.push(share.to_vec());
            noise.push(own.to_vec());
        }
        let sums = Record::new(task, Hex([0; 32]), 0, 0, shares.clone()).sums(task)?;
        Ok(Self { sums, shares, noise })
    }

    /// The public view: the noisy sums.
    pub fn sums(&self) -> &[i64] {
        &self.sums
    }

    /// The view of these aggregators together: the noisy sums without the noise that they know.
    pub fn seen_by(&self, held: &[usize]) -> Vec<i64> {
        let mut sums = self.sums.clone();
        for &place in held {
            sums.iter_mut().zip(&self.noise[place]).for_each(|(sum, noise)| *sum -= noise);
        }
        sums
    }

    /// The share that one aggregator opens.
    pub fn share(&self, place: usize) -> &[u8] {
        &self.shares[place]
    }
}
