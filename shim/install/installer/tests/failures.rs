//! Failures of servers at each of the requested documents: the error, and that no files are left.

use super::*;

/// A response in place of a document, and its error in front of the advice.
fn failures() -> Vec<(Document, &'static str)> {
    vec![
        (Document::status(500), "it answered 500 Internal Server Error (3 attempts)"),
        (
            Document::status(429).with_header("Retry-After", "900"),
            "\nhelp: localhost has received too many requests from this network, and accepts none for 900 seconds; try again \
             later, or install from a mirror (`provider_installation` in the CLI configuration)",
        ),
        (Document::of("{\"a\": 1}").breaking_after(3).without_ranges(), "the connection broke"),
        (
            Document::status(302).with_header("Location", "/v1/loop"),
            "redirects more than 10 times\nhelp: this is a fault of localhost, or of a proxy before it (HTTPS_PROXY, NO_PROXY)",
        ),
        (
            Document::status(302).with_header("Location", "http://localhost:1/x"),
            "it redirects from https to http://localhost:1/x",
        ),
        (
            Document::status(302).with_header("Location", "https://localhost:1/x"),
            "could not reach localhost:1: Connection refused",
        ),
    ]
}

/// A registry with a version, one document of which is replaced.
fn spoiled(path: impl FnOnce(&Release) -> String, document: Document) -> Fixture {
    let fixture = Fixture::new();
    let release = fixture.publish("1.0.0");
    fixture.registry.put("/v1/loop", Document::status(302).with_header("Location", "/v1/loop"));
    fixture.registry.put(&path(&release), document);
    fixture
}

#[tokio::test]
async fn a_registry_that_fails_later_is_reported() {
    let more = [
        (Document::status(401), "localhost requires authentication: add `credentials \"localhost:"),
        (Document::status(403), "localhost requires authentication: add `credentials \"localhost:"),
        (
            Document::of("<html>Log in"),
            "a web page where JSON is expected\nhelp: the web page likely comes from a proxy or a login",
        ),
        (Document::of("{}"), "its answer is not what the protocol says"),
    ];
    for (document, says) in failures().into_iter().chain(more) {
        let fixture = spoiled(Release::download_path, document);
        let error = fixture.refused("1.0.0").await;
        let registry = format!("could not query the registry for {}: ", fixture.address());
        assert!(error.contains(&registry) && error.contains(says), "{says}: {error}");
    }
    let fixture = spoiled(Release::download_path, Document::status(404));
    let error = fixture.refused("1.0.0").await;
    assert!(error.contains("the registry has no archive of "), "{error}");
}

#[tokio::test]
async fn a_failing_server_of_archives_is_reported() {
    let denied = "without one it refuses this network; try again later, or install from a mirror";
    let more = [(Document::status(403), denied), (Document::status(404), "it answered 404 Not Found")];
    for (document, says) in failures().into_iter().chain(more) {
        let fixture = spoiled(Release::archive_path, document);
        let error = fixture.refused("1.0.0").await;
        let archive = format!("the archive of {} cannot be downloaded: ", fixture.address());
        assert!(error.contains(&archive) && error.contains(says), "{says}: {error}");
    }
    let fixture = spoiled(Release::archive_path, Document::of("<html>Log in"));
    let error = fixture.refused("1.0.0").await;
    assert!(error.contains("the archive has the SHA-256 "), "{error}");
}

#[tokio::test]
async fn missing_checksums_and_signatures_are_reported() {
    for (document, says) in failures() {
        let fixture = spoiled(Release::sums_path, document.clone());
        let error = fixture.refused("1.0.0").await;
        assert!(error.contains("could not download its checksums: ") && error.contains(says), "{error}");
        let fixture = spoiled(Release::signature_path, document);
        let error = fixture.refused("1.0.0").await;
        assert!(
            error.contains("could not download the signature of its checksums: ") && error.contains(says),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_provider_that_speaks_other_protocols_is_not_downloaded() {
    for (protocol, says) in [
        ("4.0", "the earliest version that can be run is 0.9.0: ask for \">= 0.9.0\""),
        ("7.1", "the latest version that can be run is 0.9.0: ask for \"<= 0.9.0\""),
    ] {
        let fixture = Fixture::new();
        fixture.publish("0.9.0");
        let release = fixture.release("1.0.0").speaking(&[protocol]);
        fixture.registry.publish(&release);
        let error = fixture.refused("1.0.0").await;
        assert!(error.contains("a/b 1.0.0 speaks only version ") && error.ends_with(says), "{error}");
        assert_eq!(fixture.registry.count(&release.archive_path()), 0);
    }
    // The version list and the package document may differ.
    let fixture = Fixture::new();
    let release = fixture.publish("1.0.0");
    let mut download = release.download();
    download["protocols"] = json!(["4.0"]);
    fixture.registry.put(&release.download_path(), Document::json(&download));
    let error = fixture.refused("1.0.0").await;
    assert!(
        error.ends_with("supports no known version of the plugin protocol, which are 5 and 6"),
        "{error}"
    );
    assert_eq!(fixture.registry.count(&release.archive_path()), 0);
}
