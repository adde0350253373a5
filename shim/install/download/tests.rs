use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::auth::NoCredentials;
use crate::web::TransportFault;
use crate::web::testing::{Scripted, ScriptedTransport, SteppedClock};
use url::Url;

use super::*;

const URL: &str = "https://example.com/a.zip";
const CONTENT: &[u8] = b"abcdefghij";

fn part(range: &str, pieces: &[&'static str], breaks: bool) -> Scripted {
    Scripted::Answers {
        status: 206,
        headers: vec![("content-range", format!("bytes {range}/10"))],
        pieces: pieces.iter().map(|piece| (*piece).into()).collect(),
        breaks,
    }
}

fn whole(pieces: &[&'static str], breaks: bool) -> Scripted {
    Scripted::Answers {
        status: 200,
        headers: vec![("content-length", "10".to_owned())],
        pieces: pieces.iter().map(|piece| (*piece).into()).collect(),
        breaks,
    }
}

/// The result, the requests, and the reported progress.
async fn fetched(answers: Vec<Scripted>) -> (Result<(), String>, Vec<String>, Vec<u64>) {
    let network = Arc::new(ScriptedTransport::default());
    for answer in answers {
        network.put(URL, answer);
    }
    let web =
        WebClient::new(network.clone(), Arc::new(NoCredentials)).with_clock(Arc::new(SteppedClock::at(0)));
    let directory = tempfile::tempdir().expect("a directory");
    let into = directory.path().join("a.zip");
    let expected = FileSum(Sha256::digest(CONTENT).into());
    let mut told = Vec::new();
    let url = Url::parse(URL).expect("an address");
    let result =
        download(&web, &Ask::document(&url), &into, Some(expected), |progress| told.push(progress.received))
            .await;
    if result.is_ok() {
        assert_eq!(std::fs::read(&into).expect("it is there"), CONTENT);
    }
    let asked = network.asked().iter().map(|asked| asked.replace(URL, "").trim().to_owned()).collect();
    (result.map_err(|error| error.to_string()), asked, told)
}

#[tokio::test]
async fn a_broken_download_goes_on_where_it_was() {
    let (result, asked, told) = fetched(vec![
        whole(&["abc", "d"], true),
        Scripted::Fails(TransportFault::NoRoute),
        part("4-9", &["ef"], true),
        part("6-9", &["ghij"], false),
    ])
    .await;
    assert_eq!(result, Ok(()));
    assert_eq!(asked, ["", "bytes=4-", "bytes=4-", "bytes=6-"]);
    assert_eq!(told, [3, 4, 6, 10]);
}

#[tokio::test]
async fn a_server_that_has_no_parts_begins_anew() {
    let (result, asked, _) = fetched(vec![whole(&["abcd"], true), whole(&["abcdefghij"], false)]).await;
    assert_eq!((result, asked), (Ok(()), vec![String::new(), "bytes=4-".to_owned()]));
    let (result, asked, _) =
        fetched(vec![whole(&["abcd"], true), Scripted::status(416), whole(&["abcdefghij"], false)]).await;
    assert_eq!(result, Ok(()));
    assert_eq!(asked, ["", "bytes=4-", ""]);
    let (result, ..) = fetched(vec![whole(&["abcd"], true), part("0-9", &["abcdefghij"], false)]).await;
    assert_eq!(result, Ok(()));
}

#[tokio::test]
async fn parts_of_two_files_are_not_taken_for_one() {
    let (result, asked, _) =
        fetched(vec![whole(&["ABCD"], true), part("4-9", &["efghij"], false), whole(&["abcdefghij"], false)])
            .await;
    assert_eq!(result, Ok(()));
    assert_eq!(asked, ["", "bytes=4-", ""]);
}

#[tokio::test]
async fn another_file_is_refused() {
    let (result, asked, _) = fetched(vec![whole(&["0123456789"], false)]).await;
    let error = result.expect_err("it is another file");
    assert!(error.starts_with("it has the SHA-256 84d89877"), "{error}");
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn a_server_that_brings_nothing_is_given_up() {
    let (result, asked, _) = fetched(vec![whole(&["abcd"], true), part("4-9", &[], true)]).await;
    let error = result.expect_err("it never ends");
    assert!(error.contains("https://example.com/a.zip: the connection broke"), "{error}");
    assert_eq!(asked.len(), 3);
    let (result, asked, _) = fetched(vec![Scripted::status(403)]).await;
    assert!(result.expect_err("403").contains("403 Forbidden"));
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn a_link_in_the_place_of_the_file_is_not_written_through() {
    let network = Arc::new(ScriptedTransport::default());
    network.put(URL, whole(&["abcdefghij"], false));
    let web = WebClient::new(network.clone(), Arc::new(NoCredentials));
    let directory = tempfile::tempdir().expect("a directory");
    let (into, precious) = (directory.path().join("a.zip"), directory.path().join("precious"));
    std::fs::write(&precious, "of a user").expect("a file");
    isthmus_platform::files::symlink(&precious, &into).expect("a link");
    let url = Url::parse(URL).expect("an address");
    let error = download(&web, &Ask::document(&url), &into, None, drop).await.expect_err("it is a link");
    assert!(matches!(error, DownloadError::Write { .. }), "{error}");
    assert_eq!(std::fs::read(&precious).expect("the file"), b"of a user");
}
