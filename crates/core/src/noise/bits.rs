//! Fair bits, from a generator or from an enumerator that visits every branch.

use std::convert::Infallible;

use rand_core::Rng;

/// A stream of independent fair bits.
///
/// Every sampler is written over this trait, so that the code that runs in production on a CSPRNG is the code that an
/// enumerator ([`crate::audit::enumerate`]) visits branch by branch.
pub(crate) trait BitSource {
    /// Why no bits are available: never happens for a generator.
    type Error;

    /// The next `count` ≤ 64 bits as a number below 2^count.
    fn bits(&mut self, count: u32) -> Result<u64, Self::Error>;
}

impl<R: Rng + ?Sized> BitSource for R {
    type Error = Infallible;

    #[inline]
    fn bits(&mut self, count: u32) -> Result<u64, Infallible> {
        debug_assert!((1..=64).contains(&count));
        if count <= 32 { Ok(u64::from(self.next_u32() >> (32 - count))) } else { Ok(self.next_u64() >> (64 - count)) }
    }
}

/// Takes the value out of a result that cannot be an error.
#[inline]
pub(crate) fn always<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
    }
}
