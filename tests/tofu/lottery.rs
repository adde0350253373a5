//! Chance that can be had again: everything that a run makes up follows from its seed.

/// A generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Lottery(u64);

impl Lottery {
    /// The one of this seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another one that follows from this one, so that what is drawn from either does not move the other.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a count fits");
        usize::try_from(self.next() % end).expect("it is below a usize")
    }

    /// Whether something of this chance happens.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of these, of which there are some.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
