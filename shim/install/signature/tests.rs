use std::sync::LazyLock;

use isthmus_test_registry::PublisherKey;

use super::*;

const SUMS: &[u8] = b"00  a.zip\n";

/// Generating one is slow.
static RSA: LazyLock<PublisherKey> = LazyLock::new(PublisherKey::rsa);

fn check_at(signature: &[u8], keys: &[&PublisherKey], now: SystemTime) -> Result<Signed, SignatureError> {
    let keys: Vec<String> = keys.iter().map(|key| key.armored()).collect();
    verify(SUMS, signature, &keys, now)
}

fn check_now(signature: &[u8], keys: &[&PublisherKey]) -> Result<Signed, SignatureError> {
    check_at(signature, keys, SystemTime::now())
}

fn refused(signature: &[u8], keys: &[&PublisherKey]) -> String {
    check_now(signature, keys).expect_err("it is not good").to_string()
}

#[test]
fn any_of_the_keys_may_have_signed() {
    let (one, two) = (PublisherKey::new(), RSA.clone());
    for key in [&one, &two] {
        let good = Signed { key: key.fingerprint(), expired: None };
        assert_eq!(check_now(&key.sign(SUMS), &[&one, &two]), Ok(good.clone()));
        assert_eq!(check_now(&key.sign_armored(SUMS), &[&two, &one]), Ok(good));
    }
}

#[test]
fn a_subkey_signs_for_its_key() {
    let key = PublisherKey::with_subkey();
    assert_eq!(check_now(&key.sign(SUMS), &[&key]), Ok(Signed { key: key.fingerprint(), expired: None }));
    let stolen = key.clone().with_foreign_binding();
    assert!(refused(&key.sign(SUMS), &[&stolen]).ends_with("the subkey is not bound to the key"));
}

#[test]
fn a_signature_over_something_else_is_refused() {
    let key = PublisherKey::new();
    assert_eq!(
        refused(&key.sign(b"ff  a.zip\n"), &[&key]),
        format!(
            "the signature by {} is not good: the list of checksums is not what was signed",
            key.fingerprint()
        )
    );
}

#[test]
fn a_signature_by_another_key_names_both() {
    let (known, other) = (PublisherKey::new(), PublisherKey::new());
    assert_eq!(
        refused(&other.sign(SUMS), &[&known]),
        format!("it is signed by {}, and the registry lists {}", other.fingerprint(), known.fingerprint())
    );
}

#[test]
fn an_expired_key_is_reported() {
    let key = PublisherKey::new().certified(true, Some(Duration::from_secs(3600)));
    let signature = key.sign(SUMS);
    assert_eq!(check_now(&signature, &[&key]).map(|signed| signed.expired), Ok(None));
    let end = key.made() + Duration::from_secs(3600);
    assert_eq!(check_at(&signature, &[&key], end).map(|signed| signed.expired), Ok(Some(end)));
}

#[test]
fn a_key_signs_only_if_it_says_so_and_was_not_withdrawn() {
    let key = PublisherKey::new();
    let signature = key.sign(SUMS);
    for (changed, says) in [
        (key.clone().certified(false, None), "the key is not for signing"),
        (key.clone().revoked(true), "the key was revoked"),
        (key.uncertified(), "the key has not signed its own certificate"),
    ] {
        assert!(refused(&signature, &[&changed]).ends_with(says), "{}", refused(&signature, &[&changed]));
    }
}

#[test]
fn a_key_that_was_retired_does_not_sign_after_that() {
    let key = PublisherKey::new().revoked(false);
    assert!(refused(&key.sign(SUMS), &[&key]).ends_with("the key was revoked"));
}

#[test]
fn a_broken_hash_is_refused() {
    let error = refused(&RSA.sign_weakly(SUMS), &[&RSA]);
    assert!(error.ends_with("it is made over SHA1, which can be forged"), "{error}");
}

#[test]
fn what_is_no_signature_or_no_key_is_refused() {
    let key = PublisherKey::new();
    let mut cut = key.sign(SUMS);
    cut.truncate(20);
    for signature in
        [&b""[..], b"nonsense", b"-----BEGIN PGP SIGNATURE-----\n\nAAAA\n", &cut, &vec![0x88; 1 << 17]]
    {
        let error = refused(signature, &[&key]);
        assert!(error.starts_with("the signature cannot be read: "), "{error}");
    }
    let signature = key.sign(SUMS);
    for keys in [
        vec![],
        vec!["nonsense".to_owned()],
        vec!["x".repeat(2 << 20)],
        vec![key.armored()[..200].to_owned()],
    ] {
        let error = verify(SUMS, &signature, &keys, SystemTime::now()).expect_err("no key").to_string();
        assert!(error.starts_with("no signing key can be read: "), "{error}");
    }
    let beside = vec!["nonsense".to_owned(), key.armored()];
    assert!(verify(SUMS, &signature, &beside, SystemTime::now()).is_ok());
}
