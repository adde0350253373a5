//! Lists: what there is of a resource type, by what it can be imported by.

use isthmus_proto::pulumirpc::{ListRequest, ListResponse};

use crate::harness::processes::ended;
use crate::harness::{Code, Session, Setup, bag, json, on_one_protocol, unknown};

const NOTE: &str = "sandbox:index/note:Note";

fn all_notes() -> ListRequest {
    ListRequest { token: NOTE.to_owned(), ..Default::default() }
}

fn notes_that(mode: &str) -> ListRequest {
    ListRequest { query: Some(bag(&json!({"mode": mode}))), ..all_notes() }
}

/// Makes notes of these titles.
async fn make(session: &Session, titles: &[&str]) -> Result<(), tonic::Status> {
    for title in titles {
        session.note().make(&json!({"title": title})).await?;
    }
    Ok(())
}

/// The names of what was listed, in order of the alphabet: the sandbox lists by ids, which are random.
fn names(results: &[(String, String)]) -> Vec<&str> {
    let mut names: Vec<_> = results.iter().map(|(_, name)| name.as_str()).collect();
    names.sort_unstable();
    names
}

on_one_protocol! {
    async fn what_is_listed_can_be_imported(host, session: sandbox) {
        make(&session, &["one", "two", "three"]).await?;
        let listed = session.list(all_notes()).await?;
        assert_eq!(names(&listed.results), ["one", "three", "two"]);
        assert_eq!((listed.continuation.as_str(), listed.computed), ("", false));
        for (id, name) in &listed.results {
            let imported = session.note().import(id).await?.expect("it is there");
            assert_eq!(imported.inputs["title"], name.as_str());
            assert_eq!(json!({"id": imported.id}).to_string(), *id, "it is listed by its identity");
        }
        let asked = host.call_names();
        let validated = asked.iter().position(|call| call == "ValidateListResourceConfig");
        assert!(validated < asked.iter().position(|call| call == "ListResource"), "{asked:?}");
    }

    async fn a_query_is_by_the_schemas_list_inputs(host, session: sandbox) {
        let inputs = &session.schema().await?["resources"][NOTE]["listInputs"];
        assert_eq!(inputs["type"], "object");
        assert_eq!(inputs["properties"]["titlePrefix"]["type"], "string");
        assert_eq!(inputs["properties"]["titlePrefix"]["description"], "How the titles begin.");
        make(&session, &["one", "other", "two"]).await?;
        let request = |query| ListRequest { query: Some(bag(&query)), ..all_notes() };
        assert_eq!(names(&session.list(request(json!({"titlePrefix": "o"}))).await?.results), ["one", "other"]);

        let status = session.list(request(json!({"titleprefix": "o"}))).await.expect_err("no such input");
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains("did you mean `titlePrefix`?"), "{status}");
        let listed = session.list(request(json!({"titlePrefix": unknown()}))).await?;
        assert!(listed.computed && listed.results.is_empty(), "{listed:?}");
        assert_eq!(host.count("ListResource"), 1);
    }

    async fn a_list_ends_at_its_limit_even_if_the_provider_does_not(session: sandbox) {
        make(&session, &["one", "two", "three"]).await?;
        let listed = session.list(ListRequest { limit: 2, ..all_notes() }).await?;
        assert_eq!((listed.results.len(), listed.continuation.as_str()), (2, ""));
        let listed = session.list(ListRequest { limit: 7, ..notes_that("endless") }).await?;
        assert_eq!((listed.results.len(), listed.continuation.as_str()), (7, ""));
        let listed = session.list(ListRequest { limit: -1, ..all_notes() }).await?;
        assert_eq!(listed.results.len(), 3, "no number below 1 is a limit");
    }

    async fn a_list_is_read_page_by_page(host, session: sandbox) {
        make(&session, &["a", "b", "c", "d", "e"]).await?;
        let mut found = Vec::new();
        let mut request = ListRequest { page_size: 2, ..all_notes() };
        let mut sizes = Vec::new();
        loop {
            let listed = session.list(request.clone()).await?;
            sizes.push(listed.results.len());
            found.extend(listed.results);
            if listed.continuation.is_empty() {
                break;
            }
            request.continuation_token = listed.continuation;
        }
        assert_eq!((names(&found), &*sizes), (vec!["a", "b", "c", "d", "e"], &[2, 2, 1][..]));
        assert_eq!(host.count("ListResource"), 1, "it is one list");

        // As the command line does it: each page is asked for with what is left of the limit.
        let first = session.list(ListRequest { page_size: 2, limit: 3, ..all_notes() }).await?;
        let rest = ListRequest { page_size: 2, limit: 1, continuation_token: first.continuation, ..all_notes() };
        let rest = session.list(rest).await?;
        assert_eq!((first.results.len(), rest.results.len(), rest.continuation.as_str()), (2, 1, ""));
    }

    async fn an_endless_list_has_pages_of_a_hundred(session: sandbox) {
        make(&session, &["one"]).await?;
        let first = session.list(notes_that("endless")).await?;
        assert_eq!(first.results.len(), 100);
        let second = ListRequest { continuation_token: first.continuation.clone(), ..notes_that("endless") };
        assert_eq!(session.list(second).await?.results.len(), 100);
    }

    async fn lists_that_nobody_reads_on_hold_no_other_call_up(session: sandbox) {
        make(&session, &[&"long ".repeat(200_000)]).await?;
        // The provider sends as much of each as there is room for.
        for _ in 0..4 {
            session.list(ListRequest { page_size: 1, ..notes_that("endless") }).await?;
        }
        for number in 0..50 {
            make(&session, &[&format!("{number}")]).await?;
        }
    }

    async fn a_continuation_is_of_one_list_and_used_once(session: sandbox) {
        make(&session, &["one", "two"]).await?;
        let begin = async || session.list(ListRequest { page_size: 1, ..all_notes() }).await;
        let token = begin().await?.continuation;
        let again = ListRequest { continuation_token: token, page_size: 1, ..all_notes() };
        session.list(again.clone()).await?;
        let of_another_query =
            ListRequest { continuation_token: begin().await?.continuation, ..notes_that("endless") };
        let made_up = ListRequest { continuation_token: "nonsense".to_owned(), ..all_notes() };
        for request in [again, of_another_query, made_up] {
            let status = session.list(request).await.expect_err("there is no such rest");
            assert_eq!(status.code(), Code::InvalidArgument);
            assert!(status.message().contains("failed to continue the list"), "{status}");
        }
        // Of many lists that nobody goes on with, the oldest is forgotten.
        let oldest = begin().await?.continuation;
        for _ in 0..16 {
            begin().await?;
        }
        let forgotten = ListRequest { continuation_token: oldest, ..all_notes() };
        session.list(forgotten).await.expect_err("it was forgotten");
    }

    async fn what_a_provider_has_to_say_of_a_list_is_shown(host, session: sandbox) {
        make(&session, &["one", "two"]).await?;
        let listed = session.list(notes_that("warning")).await?;
        assert_eq!(names(&listed.results), ["one", "two"]);
        let mut warnings = host.engine.warnings();
        warnings.sort();
        let [whole, one, two] = &*warnings else { panic!("three warnings, not {warnings:?}") };
        assert!(one.starts_with("one is old: ") && two.starts_with("two is old: "), "{warnings:?}");
        assert!(whole.starts_with("The list may not be complete: "), "{whole}");
    }

    async fn a_list_that_fails_says_why(session: sandbox) {
        make(&session, &["one", "two"]).await?;
        let status = session.list(notes_that("refuse")).await.expect_err("it is refused before it begins");
        assert!(status.message().contains("This cannot be listed") && status.message().contains("`titlePrefix`"), "{status}");
        for (mode, found, words) in [
            ("error", 1, "The list is cut short"),
            ("break", 1, "the sandbox broke off"),
            ("anonymous", 0, "the provider sandbox answered ListResource of sandbox_note with something invalid"),
        ] {
            let listed = session.list(notes_that(mode)).await?;
            assert_eq!((listed.results.len(), listed.continuation.as_str()), (found, ""), "{mode}");
            let status = listed.error.expect("it fails");
            assert!(status.message().contains(words), "{mode}: {status}");
        }
        assert_eq!(session.list(all_notes()).await?.results.len(), 2, "the provider goes on");
    }

    async fn what_cannot_be_listed_is_told(session: sandbox) {
        let list = async |token: &str| session.list(ListRequest { token: token.to_owned(), ..Default::default() }).await;
        let status = list("sandbox:index/server:Server").await.expect_err("servers cannot be listed");
        assert_eq!(status.code(), Code::NotFound);
        assert!(status.message().contains("no list resource sandbox_server"), "{status}");
        let status = list("sandbox:index/nota:Nota").await.expect_err("there is no such resource");
        assert!(status.message().contains(NOTE), "{status}");
        let schema = session.schema().await?;
        assert_eq!(schema["resources"]["sandbox:index/server:Server"].get("listInputs"), None);
    }

    async fn providers_from_before_lists_have_none(protocol) {
        let minor = format!("{protocol}.9");
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_MINOR", &minor).session().await?;
        assert_eq!(session.schema().await?["resources"][NOTE].get("listInputs"), None);
        let status = session.list(all_notes()).await.expect_err("it has none");
        assert!(status.message().contains("no list resource sandbox_note"), "{status}");
    }

    async fn the_provider_is_told_when_the_engine_does_not_listen_any_more(host, session: sandbox) {
        make(&session, &["one"]).await?;
        let mut stream = session.client().list(unread()).await?.into_inner();
        assert!(stream.message().await?.is_some());
        drop(stream);
        host.provider_is_in("ListResource ended", 1).await;
        assert_eq!(session.list(all_notes()).await?.results.len(), 1, "the provider goes on");
    }

    async fn a_list_that_nobody_reads_ends_when_it_is_cancelled(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.1").session().await?;
        make(&session, &["one"]).await?;
        let mut stream = session.client().list(unread()).await?.into_inner();
        assert!(stream.message().await?.is_some());
        session.cancel().await?;
        session.cancel().await?;
        host.provider_is_in("ListResource ended", 1).await;
        assert_broken_off(stream).await;
        assert_eq!(session.list(all_notes()).await?.results.len(), 1, "the provider goes on");
    }

    async fn a_list_that_nobody_reads_does_not_hold_up_the_daemons_end(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.1").session().await?;
        make(&session, &["one"]).await?;
        let mut stream = session.client().list(unread()).await?.into_inner();
        assert!(stream.message().await?.is_some());
        let provider = host.provider_process();
        host.signal(crate::harness::processes::Signal::TERM);
        // It may be gone before it has noted that its list is.
        ended(provider).await;
        assert_broken_off(stream).await;
        drop(session);
        assert_eq!(host.exit().await.code(), Some(0));
    }
}

/// A page without an end, which is more than anybody reads ahead.
fn unread() -> ListRequest {
    ListRequest { page_size: i64::MAX, ..notes_that("endless") }
}

/// What had been sent can be read, and behind it stands that this was not all.
async fn assert_broken_off(mut stream: tonic::Streaming<ListResponse>) {
    let end = loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            end => break end,
        }
    };
    let status = end.expect_err("it has no end of its own");
    assert_eq!(status.code(), Code::Cancelled, "{status}");
}
