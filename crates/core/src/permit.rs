//! Permission to draw noise.

use crate::error::{Error, Result};
use crate::ledger::{Accounting, Receipt};
use crate::noise::{Draw, Entropy};
use crate::privacy::Guarantee;
use crate::privacy::guarantee::Balance;
use rand_core::{Infallible, Rng, TryCryptoRng, TryRng};

/// Permission to draw noise for releases that cost no more than was charged.
///
/// The only way to a [`Release`](crate::Release). Every release deducts its cost from the permit before any noise is
/// drawn, and nothing ever puts it back.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::Laplace;
///
/// let mut permit = Permit::unaccounted()?; // an experiment, and every release says so
/// let count = Laplace::new(1, &"1".parse()?)?.release(1234, &mut permit)?;
/// assert_eq!(serde_json::to_string(count.accounting()).unwrap(), "\"unaccounted\"");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct Permit {
    accounting: Accounting,
    /// What is left of the charge; `None` if nothing was charged.
    left: Option<Balance>,
    entropy: Entropy,
}

impl Permit {
    /// A permit for experiments. Every release made with it says that it was not accounted for.
    ///
    /// # Errors
    /// If the operating system gives no entropy.
    #[cfg(feature = "os-entropy")]
    pub fn unaccounted() -> Result<Self> {
        Ok(Self::unaccounted_from(Entropy::from_os()?))
    }

    /// [`Permit::unaccounted`] with entropy supplied by the caller.
    pub fn unaccounted_from(entropy: Entropy) -> Self {
        Self { accounting: Accounting::Unaccounted, left: None, entropy }
    }

    /// For ledgers only: a permit to draw noise worth `guarantee`, because a charge of that much **is durable
    /// already**.
    pub fn from_durable_charge(receipt: Receipt, guarantee: &Guarantee, entropy: Entropy) -> Self {
        Self { accounting: Accounting::Charged(receipt), left: Some(guarantee.balance()), entropy }
    }

    /// For ledgers only: a permit to continue a stream whose charge **is durable already** and was deducted when it
    /// started.
    ///
    /// Nothing is left on it: it is good for [`Permit::resume_stream`] only.
    pub fn from_stream_charge(receipt: Receipt, entropy: Entropy) -> Self {
        Self { accounting: Accounting::Charged(receipt), left: Some(Balance::NOTHING), entropy }
    }

    /// Where releases made with this permit are charged.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    /// Deducts `cost` from what is left and opens the generator for one release.
    ///
    /// # Errors
    /// [`Error::NotPermitted`] if the cost exceeds what is left or is of another kind; nothing is deducted then.
    pub fn spend(&mut self, cost: &Guarantee) -> Result<PermittedDraw<'_>> {
        if let Some(left) = &self.left {
            let rest = left
                .minus(&cost.balance())
                .ok_or_else(|| Error::NotPermitted { cost: cost.to_string(), remaining: left.to_string() })?;
            self.left = Some(rest);
        }
        Ok(PermittedDraw { draw: self.entropy.draw()?, accounting: &self.accounting })
    }

    /// Makes releases that together cost at most `most`: even a permit that is not accounted for covers no more meanwhile,
    /// so that what is said to be the cost of several releases is one.
    pub fn within<T>(&mut self, most: &Guarantee, release: impl FnOnce(&mut Self) -> T) -> T {
        let accounted = self.left.is_some();
        self.left.get_or_insert_with(|| most.balance());
        let released = release(self);
        if !accounted {
            self.left = None;
        }
        released
    }

    /// Random bytes that no release reveals, such as the key by which a unit's rows are chosen. They cost nothing.
    ///
    /// # Errors
    /// [`Error::Entropy`] if a fresh seed is due and none is available.
    pub fn secret(&mut self) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        self.entropy.draw()?.fill_bytes(&mut bytes);
        Ok(bytes)
    }

    /// Deducts the cost of a whole stream from what is left and becomes the stream's own permit.
    ///
    /// # Errors
    /// [`Error::NotPermitted`] if the cost exceeds what is left or is of another kind.
    pub fn into_stream(mut self, cost: &Guarantee) -> Result<StreamPermit> {
        self.spend(cost)?;
        Ok(StreamPermit { accounting: self.accounting, entropy: self.entropy })
    }

    /// For a stream that was charged before and continues after a restart: deducts nothing, but must belong to the same
    /// charge.
    ///
    /// # Errors
    /// [`Error::OtherCharge`] if it does not.
    pub fn resume_stream(self, charged: &Accounting) -> Result<StreamPermit> {
        if self.accounting != *charged {
            let (stream, permit) = (charged.to_string(), self.accounting.to_string());
            return Err(Error::OtherCharge { stream, permit });
        }
        Ok(StreamPermit { accounting: self.accounting, entropy: self.entropy })
    }
}

/// Permission to keep drawing noise for one stream that was charged once, when it started.
///
/// Made by [`Permit::into_stream`]; kept by the stream's counter.
#[derive(Debug)]
pub struct StreamPermit {
    accounting: Accounting,
    entropy: Entropy,
}

impl StreamPermit {
    /// Where the stream was charged.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    /// Opens the generator for the next releases of the stream.
    ///
    /// # Errors
    /// [`Error::Entropy`] if a fresh seed is due and none is available.
    pub fn draw(&mut self) -> Result<PermittedDraw<'_>> {
        Ok(PermittedDraw { draw: self.entropy.draw()?, accounting: &self.accounting })
    }
}

impl StreamPermit {
    /// [`StreamPermit::draw`] with a fresh seed: see [`Entropy::draw_afresh`].
    ///
    /// # Errors
    /// [`Error::Entropy`] if no fresh seed is available.
    pub fn draw_afresh(&mut self) -> Result<PermittedDraw<'_>> {
        Ok(PermittedDraw { draw: self.entropy.draw_afresh()?, accounting: &self.accounting })
    }

    /// Afterwards the generator's state no longer reveals what was drawn: see [`Entropy::forget`].
    pub fn forget(&mut self) {
        self.entropy.forget();
    }
}

/// A cryptographic generator for one release that has been paid for.
#[derive(Debug)]
pub struct PermittedDraw<'permit> {
    draw: Draw<'permit>,
    accounting: &'permit Accounting,
}

impl PermittedDraw<'_> {
    /// Where the release is charged.
    pub fn accounting(&self) -> &Accounting {
        self.accounting
    }
}

impl TryRng for PermittedDraw<'_> {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.draw.next_u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.draw.next_u64())
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.draw.fill_bytes(bytes);
        Ok(())
    }
}

impl TryCryptoRng for PermittedDraw<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn permit(guarantee: &Guarantee) -> Permit {
        let receipt = Receipt { dataset: "people".into(), request: "r1".into(), entry: 1 };
        Permit::from_durable_charge(receipt, guarantee, Entropy::seeded(1))
    }

    fn pure(epsilon: &str) -> Guarantee {
        Guarantee::Pure(epsilon.parse().unwrap())
    }

    #[test]
    fn a_permit_covers_exactly_what_was_charged() {
        let mut permit = permit(&pure("1"));
        for _ in 0..10 {
            assert!(permit.spend(&pure("0.1")).is_ok());
        }
        let error = permit.spend(&pure("1e-300")).unwrap_err();
        assert!(error.is_not_permitted());
        assert_eq!(error.to_string(), "this release costs ε = 1e-300, but the permit has ε = 0 left");
    }

    #[test]
    fn what_does_not_fit_takes_nothing() {
        let mut permit = permit(&pure("1"));
        assert!(permit.spend(&pure("1.5")).is_err());
        assert!(permit.spend(&Guarantee::Zcdp("0.1".parse().unwrap())).is_err());
        assert!(permit.spend(&Guarantee::Approx("0.5".parse().unwrap(), "1e-9".parse().unwrap())).is_err());
        assert!(permit.spend(&pure("1")).is_ok());
    }

    #[test]
    fn a_stream_is_charged_once_and_resumes_only_on_its_own_charge() {
        let mut stream = permit(&pure("1")).into_stream(&pure("1")).unwrap();
        assert!(stream.draw().is_ok() && stream.draw().is_ok());
        assert!(permit(&pure("1")).into_stream(&pure("1.1")).unwrap_err().is_not_permitted());
        assert!(permit(&pure("1")).resume_stream(stream.accounting()).is_ok());
        let Accounting::Charged(receipt) = stream.accounting().clone() else { panic!("it was charged") };
        let mut again = Permit::from_stream_charge(receipt, Entropy::seeded(1));
        assert!(again.spend(&pure("1e-300")).unwrap_err().is_not_permitted());
        assert!(again.spend(&Guarantee::Zcdp("1e-300".parse().unwrap())).unwrap_err().is_not_permitted());
        assert!(again.resume_stream(stream.accounting()).is_ok());
        let other = Permit::unaccounted_from(Entropy::seeded(1));
        assert_eq!(
            other.resume_stream(stream.accounting()).unwrap_err().to_string(),
            "the stream was charged to people (entry 1), but this permit is not accounted for"
        );
    }

    #[test]
    fn an_unaccounted_permit_says_so() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        let draw = permit.spend(&pure("1000")).unwrap();
        assert_eq!(draw.accounting().to_string(), "not accounted for");
    }
}
