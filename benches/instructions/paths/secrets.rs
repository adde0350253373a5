//! Redaction: every log line and diagnostic is searched for every secret of the session.

use isthmus_known_secrets::{KnownSecrets, Retention};
use isthmus_proto::property::{Struct, Value};
use isthmus_translate::counting::note_secrets;
use isthmus_translate::property::secret;

use super::{Execution, counted};
use crate::sample::Sample;

pub(super) fn redact_0() -> Execution {
    redact(0)
}

pub(super) fn redact_10() -> Execution {
    redact(10)
}

pub(super) fn redact_1000() -> Execution {
    redact(1000)
}

/// A text of 1 KiB, in which one secret is, if there is any.
fn redact(count: usize) -> Execution {
    let secrets = KnownSecrets::default();
    (0..count).for_each(|number| secrets.learn(&password(number), Retention::Usual));
    let line =
        "2026-11-24T08:00:00.000Z [DEBUG] provider: PUT /v1/instances/i-0123456789abcdef?wait=true HTTP/1.1 ";
    let mut text = line.repeat(11);
    text.replace_range(500..500 + password(0).len(), &password(0));
    text.truncate(1024);
    counted(
        move || secrets.redact(&text).into_owned(),
        move |redacted| assert_eq!(redacted.contains("[secret]"), count > 0),
    )
}

/// The secrets of a request: a large bag with ten, which a session without any gets to know.
pub(super) fn note() -> Execution {
    let bag = with_secrets(Sample::large().inputs);
    counted(
        move || {
            let secrets = KnownSecrets::default();
            note_secrets(&bag, &secrets);
            secrets
        },
        |secrets| assert_eq!(secrets.redact(&password(3)), "[secret]"),
    )
}

/// Ten new secrets, until the first text is redacted.
pub(super) fn index() -> Execution {
    counted(
        || {
            let secrets = KnownSecrets::default();
            (0..10).for_each(|number| secrets.learn(&password(number), Retention::Usual));
            secrets.redact("").into_owned();
            secrets
        },
        |secrets| assert_eq!(secrets.redact(&password(3)), "[secret]"),
    )
}

fn with_secrets(mut bag: Struct) -> Struct {
    for number in 0..10 {
        bag.insert(format!("password{number}"), secret(Value::from(password(number))));
    }
    bag
}

fn password(number: usize) -> String {
    format!("Tr0ub4dor&{number:04}/horse+staple")
}
