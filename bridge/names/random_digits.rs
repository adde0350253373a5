//! The random digits at the end of a made-up name: those that the Go bridge draws from the same seed.
//!
//! An engine sends a seed so that a name can be made again (an update plan holds it). The Go bridge hashes the seed and
//! draws with lukechampine.com/frand, which since version 1.5 is the generator of Go's `math/rand/v2`: ChaCha8Rand, as
//! <https://c2sp.org/chacha8rand> specifies it. (Before, frand was ChaCha12 with a key erased by each refill; arguments
//! for rounds and buffer are still passed to it, and mean nothing.) ChaCha8Rand is ChaCha8 with its blocks read across: the
//! first words of four blocks, then their second words, and so on.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use sha2::{Digest as _, Sha256};

/// The system has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system's random number generator failed: {0}")]
pub(crate) struct NoRandomNumbers(getrandom::Error);

/// So many lower-case hexadecimal digits: always the same ones for a seed, and others each time for an empty one.
pub(crate) fn random_digits(seed: &[u8], count: usize) -> Result<String, NoRandomNumbers> {
    let mut key = [0; KEY_BYTES];
    if seed.is_empty() {
        getrandom::fill(&mut key).map_err(NoRandomNumbers)?;
    } else {
        key = Sha256::digest(seed).into();
    }
    let mut numbers = Chacha8Rand::new(key);
    Ok((0..count).map(|_| char::from(DIGITS[numbers.below_sixteen()])).collect())
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

const KEY_BYTES: usize = 32;

/// What the generator makes of one key: sixteen blocks of sixteen words.
const BLOCKS: usize = 16;
const WORDS: usize = 16;

/// How many blocks are read across at a time.
const ACROSS: usize = 4;

/// The words that ChaCha adds to the first four of each block; in ChaCha8Rand they are left out.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Where a block's own number was added; it is left out as well.
const COUNTER: usize = 12;

/// ChaCha8Rand: its numbers, 124 to a key, whose remaining output is the next key.
struct Chacha8Rand {
    next_key: [u8; KEY_BYTES],
    numbers: std::vec::IntoIter<u64>,
}

impl Chacha8Rand {
    fn new(key: [u8; KEY_BYTES]) -> Self {
        let mut cipher = ChaCha8Rng::from_seed(key);
        let mut blocks = [[0_u32; WORDS]; BLOCKS];
        for (number, block) in (0..).zip(&mut blocks) {
            for word in block.iter_mut() {
                *word = cipher.next_u32();
            }
            for (word, constant) in block.iter_mut().zip(CONSTANTS) {
                *word = word.wrapping_sub(constant);
            }
            block[COUNTER] = block[COUNTER].wrapping_sub(number);
        }
        let across = blocks
            .chunks_exact(ACROSS)
            .flat_map(|group| (0..WORDS).flat_map(move |word| group.iter().map(move |block| block[word])));
        let mut bytes: Vec<u8> = across.flat_map(u32::to_le_bytes).collect();
        let mut next_key = [0; KEY_BYTES];
        next_key.copy_from_slice(&bytes.split_off(bytes.len() - KEY_BYTES));
        let (numbers, _) = bytes.as_chunks();
        let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
        Self { next_key, numbers: numbers.into_iter() }
    }

    fn next(&mut self) -> u64 {
        loop {
            match self.numbers.next() {
                Some(number) => return number,
                None => *self = Self::new(self.next_key),
            }
        }
    }

    /// A number below sixteen, in frand's way: the last numbers of the range, which it takes for an uneven rest, do not count.
    fn below_sixteen(&mut self) -> usize {
        const END: u64 = u64::MAX - u64::MAX % 16;
        loop {
            match self.next() {
                END.. => {}
                number => return (number % 16) as usize,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// A name that the Go bridge has made. `tests/contract/changes/autonaming.rs` compares them with the program itself.
    #[derive(Deserialize)]
    struct Made {
        resource: String,
        /// In hexadecimal.
        seed: String,
        name: String,
    }

    #[test]
    fn the_digits_are_those_of_the_go_bridge() {
        let names: Vec<Made> =
            serde_json::from_str(include_str!("testdata/go_bridge_names.json")).expect("test data");
        assert!(names.len() >= 30, "there are {} names", names.len());
        for made in names {
            let digits =
                random_digits(&hex::decode(&made.seed).expect("test data"), 7).expect("a seed was given");
            assert_eq!(format!("{}-{digits}", made.resource), made.name, "seed {}", made.seed);
        }
    }

    /// Position, counted from 1, and number.
    const GO: [(usize, u64); 9] = [
        (1, 0xb773_b606_3d46_16a5),
        (2, 0x1160_af22_a66a_bc3c),
        (32, 0x0f8f_9ff0_a65a_3d43),
        (33, 0xccf0_65f7_190f_f080),
        (65, 0x3cd2_f66f_fb40_cd68),
        (124, 0x861d_6c13_9c06_c871),
        (125, 0x5f41_df72_e05e_0487),
        (249, 0xb433_eec2_5dca_1966),
        (1000, 0x5c04_d914_0c31_703a),
    ];

    #[test]
    fn the_generator_is_the_specified_one() {
        // From Go 1.26: `rand.NewChaCha8([]byte("ABCDEFGHIJKLMNOPQRSTUVWXYZ123456"))`, `Uint64` again and again.
        let mut numbers = Chacha8Rand::new(*b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456");
        let mut drawn = vec![0];
        drawn.extend((0..1000).map(|_| numbers.next()));
        for (position, expected) in GO {
            assert_eq!(drawn[position], expected, "number {position}");
        }
    }

    #[test]
    fn without_a_seed_no_two_are_alike() {
        let [one, other] = [(); 2].map(|()| random_digits(&[], 32).expect("random numbers"));
        assert_ne!(one, other);
        assert!(one.bytes().all(|digit| DIGITS.contains(&digit)), "{one}");
    }
}
