//! What is random in a simulation: the same for the same seed.

/// A generator of numbers (SplitMix64).
#[derive(Clone, Debug, Default)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const ZERO: Self = Self(0);

    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own, so that more numbers here do not change those there.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.next() % length as u64).expect("it is below a length")
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.next().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
    }
}
