//! Failures of servers at each of the requested documents: the error, and that no files are left.

use super::*;

/// The path of a document of a release.
type PathOf = fn(&Release) -> String;

#[tokio::test]
async fn a_failure_names_the_document_that_it_is_about() {
    let documents: [(PathOf, &str); 4] = [
        (Release::download_path, "could not query the registry for localhost:"),
        (Release::archive_path, "cannot be downloaded: https://localhost:"),
        (Release::sums_path, "could not download its checksums: https://localhost:"),
        (Release::signature_path, "could not download the signature of its checksums: https://localhost:"),
    ];
    for (path, says) in documents {
        let fixture = Fixture::new();
        let path = path(&fixture.publish("1.0.0"));
        fixture.registry.put(&path, Document::status(500));
        let error = fixture.refused("1.0.0").await;
        let answer = "it answered 500 Internal Server Error (3 attempts)";
        let help = "\nhelp: this is a fault of localhost; ";
        assert!([says, answer, help].iter().all(|part| error.contains(part)), "{says}: {error}");
    }
    let fixture = Fixture::new();
    fixture.registry.put(&fixture.publish("1.0.0").download_path(), Document::status(404));
    let error = fixture.refused("1.0.0").await;
    assert!(error.contains("the registry has no archive of "), "{error}");
}

#[tokio::test]
async fn a_provider_that_speaks_other_protocols_is_not_downloaded() {
    let fixture = Fixture::new();
    let release = fixture.release("1.0.0").speaking(&["4.0"]);
    fixture.registry.publish(&release);
    let error = fixture.refused("1.0.0").await;
    assert!(error.contains("a/b 1.0.0 speaks only version "), "{error}");
    assert_eq!(fixture.registry.count(&release.archive_path()), 0);
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
