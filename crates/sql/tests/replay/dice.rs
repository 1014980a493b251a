//! Reproducible random choices.

/// A generator: splitmix64, good enough to choose test cases.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        dice.next();
        dice
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    pub fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }

    pub fn pick<'list, T: ?Sized>(&mut self, list: &[&'list T]) -> &'list T {
        list[self.below(list.len() as u64) as usize]
    }
}
