//! Random UUIDs: lineages of states, ids of providers in stacks.

/// A random UUID, of version 4.
pub fn random_uuid() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system's random numbers are there once it has started");
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_random() {
        let uuid = random_uuid();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert!(uuid[14..].starts_with('4') && uuid[19..].starts_with(['8', '9', 'a', 'b']), "{uuid}");
        assert_ne!(uuid, random_uuid());
    }
}
