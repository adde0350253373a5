//! What the journal costs a call: `cargo run --release --package isthmus-state --example journal`.
//!
//! Each round is what a creation writes: that it begins, before the provider is called, and what was made, with
//! properties of half a kilobyte, before the engine is answered. Times are of both together, in microseconds.

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::time::Instant;

use bytes::Bytes;
use isthmus_state::{Intent, JournalDurability, JournalFiles, KeySource, OperationKind, StoreKey};

/// How many creations are measured.
const ROUNDS: usize = 20_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, durability, rounds) in
        [("process", JournalDurability::Process, ROUNDS), ("disk", JournalDurability::Disk, ROUNDS / 20)]
    {
        let home = tempfile::tempdir_in(".")?;
        let key = KeySource::Directory(home.path().to_owned());
        let journal = JournalFiles::new(home.path(), key, None, durability);
        let intent = Intent {
            intention: OperationKind::Create,
            key: StoreKey {
                package: "random".to_owned(),
                type_name: "random_pet".to_owned(),
                id: String::new(),
            },
            subject: "urn:pulumi:dev::zoo::random:index/randomPet:RandomPet::mascot".to_owned(),
            prior: None,
            companion: Bytes::from_static(&[1; 120]),
        };
        let object = Bytes::from(vec![2; 500]);
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let began = Instant::now();
            let id = journal.begin(&intent).await?;
            journal.made(id, "able-dog", object.clone()).await?;
            times.push(began.elapsed());
            journal.settle(&[id]).await?;
        }
        times.sort_unstable();
        let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e6;
        println!("{name}: p50 {:.1}, p90 {:.1}, p99 {:.1}", at(50), at(90), at(99));
    }
    Ok(())
}
