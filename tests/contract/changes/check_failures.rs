//! What Check says of inputs that cannot be used: where, what is wrong, and what to do, to the letter.
//!
//! The cases are in `check_failures.txt`: the type and the inputs of a resource, and below them the failures, the property in
//! brackets. Texts that end in `…` are the beginnings of what HashiCorp's libraries say at greater length. Those at the end have
//! nested attributes, which protocol 5 does not have.

use crate::harness::{Json, Protocol, Setup, on_both_protocols};

/// How many cases there are on protocol 6.
const CASES: usize = 90;

/// A resource's token, its inputs, and for each failure the property and the reason.
type Case = (&'static str, Json, Vec<(&'static str, &'static str)>);

fn cases(protocol: Protocol) -> Vec<Case> {
    let text = include_str!("check_failures.txt");
    let (on_both, on_6) = text.split_once("# On protocol 6:\n").expect("a line between them");
    let text = if protocol == Protocol::V6 { [on_both, on_6] } else { [on_both, ""] };
    let mut cases: Vec<Case> = Vec::new();
    for line in text.into_iter().flat_map(str::lines) {
        if let Some(failure) = line.strip_prefix("    [") {
            let failure = failure.split_once("] ").expect("a property and a reason");
            cases.last_mut().expect("a case before its failures").2.push(failure);
        } else {
            let (token, inputs) = line.split_once(' ').expect("a token and inputs");
            cases.push((token, serde_json::from_str(inputs).expect("inputs are JSON"), Vec::new()));
        }
    }
    cases
}

on_both_protocols! {
    async fn every_failure_says_where_and_what_to_do(protocol) {
        let (_sandbox_host, sandbox) = Setup::sandbox(protocol).session().await?;
        let (_conformance_host, conformance) = Setup::conformance(protocol).session().await?;
        let cases = cases(protocol);
        assert!(protocol == Protocol::V5 || cases.len() == CASES, "{} cases", cases.len());
        // All are compared, so that a change of words shows everywhere at once.
        let mut surprises = Vec::new();
        for (token, news, expected) in cases {
            let session = if token.starts_with("sandbox") { &sandbox } else { &conformance };
            let checked = session.resource(token, "it").check(&news).await?;
            let is_as_expected = checked.failures.len() == expected.len()
                && checked.failures.iter().zip(&expected).all(|((property, reason), (place, text))| {
                    property == place
                        && match text.strip_suffix('…') {
                            Some(beginning) => reason.starts_with(beginning),
                            None => reason == text,
                        }
                });
            if !is_as_expected {
                surprises.push(format!("{token} {news}\n  expected {expected:?}\n  found    {:?}", checked.failures));
            }
        }
        assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    }
}
