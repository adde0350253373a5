//! Records: finding, listing, atomic changes.

use std::sync::Arc;

use super::over_each_store;
use super::world::{World, add, bytes_of, commit, commit_one, is_empty, key, remove, replace};
use crate::store::{
    Batch, Change, Committed, Durability, Kind, RecordNumber, RecordRef, Refusal, StoreError, StoreKey,
};

over_each_store! {
    records_are_found_replaced_listed_and_removed,
    a_record_is_there_for_who_opens_the_store_later_and_numbers_are_not_used_again,
    ids_may_be_anything,
    pages_go_on_where_the_last_one_ended,
    kinds_do_not_mix,
    a_batch_happens_as_a_whole_or_not_at_all,
    a_record_that_was_changed_meanwhile_is_not_written_over,
    a_batch_that_demands_an_unchanged_record_is_refused_when_it_has_changed,
    a_change_is_finished_even_if_nobody_waits_for_it,
    many_that_open_and_write_at_once_all_get_through,
    a_store_of_a_newer_version_is_left_alone,
}

async fn records_are_found_replaced_listed_and_removed(world: &World) {
    let store = world.store().await;
    assert!(is_empty(&store, Kind::Object).await);
    let first = commit_one(&store, add("a", b"one")).await.expect("a place");
    let second = commit_one(&store, add("a", b"two")).await.expect("a place");
    commit_one(&store, add("b", b"three")).await;
    assert_eq!(bytes_of(&store, "a").await, [b"two", b"one"], "newest first");
    let replaced = commit_one(&store, replace("a", first, b"uno")).await.expect("a place");
    assert_eq!(replaced, RecordRef { version: 2, ..first });
    commit_one(&store, remove(second)).await;
    // It is removed already.
    commit_one(&store, remove(second)).await;
    assert_eq!(bytes_of(&store, "a").await, [b"uno"]);
    let listed = |package| {
        let store = Arc::clone(&store);
        async move {
            let page = store.page(Kind::Object, package, RecordNumber(0), 10).await.expect("a page");
            page.records.into_iter().map(|record| record.key.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(listed(Some("random")).await, ["a", "b"]);
    assert_eq!(listed(Some("time")).await, Vec::<String>::new());
    assert_eq!(listed(None).await, ["a", "b"]);
    assert!(!is_empty(&store, Kind::Object).await);
}

async fn a_record_is_there_for_who_opens_the_store_later_and_numbers_are_not_used_again(world: &World) {
    let store = world.store().await;
    let added = commit_one(&store, add("a", b"one")).await.expect("a place");
    drop(store);
    let again = world.store().await;
    assert_eq!(bytes_of(&again, "a").await, [b"one"]);
    commit_one(&again, remove(added)).await;
    let newer = commit_one(&again, add("a", b"two")).await.expect("a place");
    assert!(newer.number > added.number, "{newer:?} after {added:?}");
}

async fn ids_may_be_anything(world: &World) {
    let store = world.store().await;
    let long = "x".repeat(1 << 20);
    let nearly_as_long = format!("{long}y");
    let ids = [
        "",
        "\0",
        "a\0b",
        "a\0c",
        "a\n\r\tb",
        "'; DROP TABLE objects; --",
        "%_\\",
        "ä",
        "a\u{308}",
        "\u{feff}\u{202e}\u{1f9a8}",
        long.as_str(),
        nearly_as_long.as_str(),
    ];
    for (number, id) in ids.iter().enumerate() {
        let keys = [
            key(id),
            StoreKey { package: (*id).to_owned(), type_name: "t".to_owned(), id: String::new() },
            StoreKey { package: "p".to_owned(), type_name: (*id).to_owned(), id: String::new() },
        ];
        for key in keys {
            let bytes = vec![u8::try_from(number).expect("few")];
            commit_one(&store, Change::Add { kind: Kind::Object, key: key.clone(), bytes: bytes.clone() })
                .await;
            let found = store.find(Kind::Object, &key).await.expect("records");
            assert_eq!(found.iter().map(|record| &record.bytes).collect::<Vec<_>>(), [&bytes], "{key}");
            assert_eq!(found[0].key, key);
        }
        let page = store.page(Kind::Object, Some(id), RecordNumber(0), 10).await.expect("a page");
        assert!(page.records.iter().all(|record| record.key.package == *id), "{id:.20}");
        assert_eq!(page.records.len(), 1, "{id:.20}");
    }
    let text = key(&long).to_string();
    assert!(text.len() < 300, "a message shows the beginning of a long id: {} bytes", text.len());
}

async fn pages_go_on_where_the_last_one_ended(world: &World) {
    let store = world.store().await;
    let changes = (0..25).map(|number| add(&format!("{number:02}"), b"x")).collect();
    let places = commit(&store, Batch { changes, ..Batch::default() }).await;
    assert!(places.is_sorted(), "{places:?}");
    let mut walked = Vec::new();
    let mut after = Some(RecordNumber(0));
    while let Some(from) = after {
        let page = store.page(Kind::Object, None, from, 10).await.expect("a page");
        assert!(page.records.len() <= 10);
        assert!(page.damaged.is_empty() && page.fault.is_none(), "{page:?}");
        walked.extend(page.records.into_iter().map(|record| record.place));
        after = page.next;
    }
    assert_eq!(walked, places);
}

async fn kinds_do_not_mix(world: &World) {
    let store = world.store().await;
    let intent = Change::Add { kind: Kind::Intent, key: key("a"), bytes: b"intent".to_vec() };
    let place = commit_one(&store, intent).await.expect("a place");
    assert_eq!(bytes_of(&store, "a").await, Vec::<Vec<u8>>::new());
    // Numbers belong to a kind.
    commit_one(&store, remove(place)).await;
    let found = store.find(Kind::Intent, &key("a")).await.expect("records");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(is_empty(&store, Kind::Object).await);
    assert!(!is_empty(&store, Kind::Intent).await);
}

async fn a_batch_happens_as_a_whole_or_not_at_all(world: &World) {
    let store = world.store().await;
    let first = commit_one(&store, add("a", b"one")).await.expect("a place");
    commit_one(&store, remove(first)).await;
    let changes = vec![add("b", b"two"), replace("a", first, b"uno"), add("c", b"three")];
    let refused = store.commit(Batch { changes, ..Batch::default() }).await.expect("an answer");
    let refusal = Refusal::Changed { kind: Kind::Object, number: first.number, version: None };
    assert_eq!(refused, Committed::Refused(refusal));
    assert!(is_empty(&store, Kind::Object).await, "nothing of it has happened");
    let changes = vec![add("b", b"two"), add("c", b"three")];
    assert_eq!(commit(&store, Batch { changes, ..Batch::default() }).await.len(), 2);
}

async fn a_record_that_was_changed_meanwhile_is_not_written_over(world: &World) {
    let (ours, theirs) = (world.store().await, world.store().await);
    let read = commit_one(&ours, add("a", b"one")).await.expect("a place");
    let changed = commit_one(&theirs, replace("a", read, b"theirs")).await.expect("a place");
    let refused =
        |version| Committed::Refused(Refusal::Changed { kind: Kind::Object, number: read.number, version });
    let outcome = ours.commit(Batch::of(replace("a", read, b"ours"))).await.expect("an answer");
    assert_eq!(outcome, refused(Some(changed.version)));
    let remove_as_read =
        || Batch::of(Change::Remove { kind: Kind::Object, number: read.number, version: Some(read.version) });
    assert_eq!(ours.commit(remove_as_read()).await.expect("an answer"), refused(Some(2)));
    assert_eq!(bytes_of(&ours, "a").await, [b"theirs"]);
    commit_one(&theirs, remove(changed)).await;
    let outcome = ours.commit(Batch::of(replace("a", read, b"ours"))).await.expect("an answer");
    assert_eq!(outcome, refused(None));
    commit(&ours, remove_as_read()).await;
}

async fn a_batch_that_demands_an_unchanged_record_is_refused_when_it_has_changed(world: &World) {
    let store = world.store().await;
    let demanded = commit_one(&store, add("a", b"one")).await.expect("a place");
    let demanding = || Batch { require: vec![(Kind::Object, demanded)], ..Batch::of(add("b", b"two")) };
    commit(&store, demanding()).await;
    commit_one(&store, replace("a", demanded, b"uno")).await;
    let outcome = store.commit(demanding()).await.expect("an answer");
    let refusal = Refusal::Changed { kind: Kind::Object, number: demanded.number, version: Some(2) };
    assert_eq!(outcome, Committed::Refused(refusal));
    assert_eq!(bytes_of(&store, "b").await.len(), 1);
}

async fn a_change_is_finished_even_if_nobody_waits_for_it(world: &World) {
    let store = world.store().await;
    drop(store.commit(Batch::of(add("a", b"one"))));
    let soon = Batch { durability: Durability::Soon, ..Batch::of(add("b", b"two")) };
    drop(store.commit(soon));
    for id in ["a", "b"] {
        while bytes_of(&store, id).await.is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

async fn many_that_open_and_write_at_once_all_get_through(world: &World) {
    let mut openings = Vec::new();
    for _ in 0..8 {
        openings.push(world.try_store());
    }
    let mut writers = tokio::task::JoinSet::new();
    for (writer, opening) in openings.into_iter().enumerate() {
        let store = opening.await.expect("a store");
        writers.spawn(async move {
            let mut places = Vec::new();
            for number in 0..5 {
                places.extend(commit_one(&store, add(&format!("{writer}-{number}"), &[1])).await);
            }
            let together = (5..10).map(|number| add(&format!("{writer}-{number}"), &[1])).map(Batch::of);
            let together: Vec<_> = together.map(|batch| store.commit(batch)).collect();
            for committed in together {
                match committed.await.expect("committed") {
                    Committed::Done { places: more, .. } => places.extend(more),
                    Committed::Refused(refusal) => panic!("it was refused: {refusal:?}"),
                }
            }
            places
        });
    }
    let places: std::collections::HashSet<RecordRef> =
        writers.join_all().await.into_iter().flatten().collect();
    assert_eq!(places.len(), 80, "every record has a number of its own");
    let store = world.store().await;
    let page = store.page(Kind::Object, None, RecordNumber(0), 100).await.expect("a page");
    assert_eq!(page.records.len(), 80);
}

async fn a_store_of_a_newer_version_is_left_alone(world: &World) {
    drop(world.store().await);
    world.set_format(9).await;
    let error = world.try_store().await.expect_err("too new");
    assert!(matches!(error, StoreError::Format { found: 9, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("has format 9") && text.contains("or a newer one"), "{text}");
}
