//! Two sessions of a shared daemon with the same provider process: a flood of calls of one does not hold up the other.

use std::time::{Duration, Instant};

use isthmus_proto::property::Value;
use isthmus_proto::pulumirpc::CreateRequest;
use tokio::task::JoinSet;

use crate::harness::{Host, Outcome, Protocol, Session, Setup, on_one_protocol};

/// Calls that the one session makes at once.
const FLOOD: usize = 1_000;

/// Calls that the other one makes meanwhile, one after another.
const CALM: usize = 3;

/// Most calls of the flood that may be answered from the beginning of a call of the other session to its end, on average. One
/// that takes its turn behind all others has all of them before it, one that shares has as many as the daemon works on at
/// once, and those that take their places meanwhile: 40 with the machine for itself, and up to 150 beside builds.
const AHEAD: usize = 250;

async fn start(protocol: Protocol) -> (Host, Host) {
    let setup = Setup::sandbox(protocol).without_a_record().with_daemon();
    let setup = match std::env::var_os("ISTHMUS_LOAD_EXECUTABLE") {
        Some(executable) => setup.build(executable.into()),
        None => setup,
    };
    let first = setup.clone().start().await.with_own_provider();
    let second = setup.beside(&first).start().await;
    (first, second)
}

async fn create(session: &Session, name: String) -> Outcome {
    let request = CreateRequest {
        urn: format!("urn:pulumi:test::load::sandbox:index/note:Note::{name}"),
        properties: Some([("title", Value::from(name.as_str()))].into()),
        r#type: "sandbox:index/note:Note".to_owned(),
        name,
        ..Default::default()
    };
    session.client().create(request).await.map(drop)
}

on_one_protocol! {
    async fn a_session_does_not_wait_behind_the_flood_of_another(protocol) {
        let (flooding, other) = start(protocol).await;
        let (flood, calm) = (flooding.session().await?, other.session().await?);
        let began = Instant::now();
        create(&calm, "alone".to_owned()).await?;
        let alone = began.elapsed();
        let mut calls = JoinSet::new();
        let began = Instant::now();
        for number in 0..FLOOD {
            let client = flood.clone();
            calls.spawn(async move { create(&client, format!("flood-{number}")).await });
        }
        // The flood is under way.
        calls.join_next().await.expect("there are many").expect("it does not panic")?;
        let (mut ahead, mut waited) = (Vec::new(), Vec::new());
        for number in 0..CALM {
            let left = calls.len();
            let asked = Instant::now();
            let call = create(&calm, format!("calm-{number}"));
            let mut call = std::pin::pin!(call);
            loop {
                tokio::select! {
                    biased;
                    made = &mut call => break made?,
                    Some(ended) = calls.join_next() => ended.expect("it does not panic")?,
                }
            }
            ahead.push(left - calls.len());
            waited.push(asked.elapsed());
        }
        let left = calls.len();
        while let Some(ended) = calls.join_next().await {
            ended.expect("it does not panic")?;
        }
        let took: Duration = began.elapsed();
        println!(
            "protocol {protocol}: a call takes {alone:.2?} alone and {waited:.2?} beside {FLOOD} of another session, which take \
             {took:.2?}; {ahead:?} of these are answered meanwhile, and {left} after them"
        );
        let average = ahead.iter().sum::<usize>() / CALM;
        assert!(average <= AHEAD, "{ahead:?} calls of another session were answered first");
    }
}
