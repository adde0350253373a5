//! Responses and failures of registries.

use super::*;

#[tokio::test]
async fn a_missing_version_is_reported_with_the_available_ones() {
    let fixture = Fixture::new();
    let unknown = fixture.refused("1.0.0").await;
    assert!(unknown.contains("cannot be") || unknown.contains("has no"), "{unknown}");
    fixture.registry.publish(&fixture.release("1.0.0").for_platform("plan9", "mips"));
    fixture.registry.publish(&fixture.release("0.9.0").speaking(&["4.0"]));
    fixture.registry.publish(&fixture.release("0.10.0"));
    let error = fixture.refused("> 2").await;
    assert!(error.contains("satisfies \"> 2\"; there are 1.0.0, 0.10.0, 0.9.0"), "{error}");
    let installed = fixture.installed("").await;
    assert_eq!(installed.version, Version::new(0, 10, 0));
    assert!(installed.warnings[0].contains("1.0.0 is not published for "), "{:?}", installed.warnings);
    let error =
        install(&fixture.installer(), &provider(&format!("{}/a/c", fixture.registry.host())), "").await;
    let error = error.expect_err("there is none");
    assert!(error.contains("has no provider a/c; check its name"), "{error}");
}

#[tokio::test]
async fn an_unreachable_registry_is_reported_with_the_cached_versions() {
    let fixture = Fixture::new();
    let address = fixture.address();
    let installer = fixture.installer();
    let Fixture { registry, directory, .. } = fixture;
    drop(registry);
    let error = refusal(&installer, &address, "1.0.0").await;
    assert!(
        error.contains("could not reach localhost:")
            && error.contains("; the cache has no ")
            && error.contains("\nhelp: behind a proxy, set HTTPS_PROXY; ")
            && error.contains("\nhelp: or unpack the provider into ")
            && error.lines().count() == 3,
        "{error}"
    );
    drop(directory);
}

#[tokio::test]
async fn a_broken_download_is_gone_on_with() {
    let fixture = Fixture::new();
    let release = fixture.publish("1.0.0");
    let whole = Archive::of_programs(&[("terraform-provider-b_v1_x5", PROGRAM)]);
    fixture.registry.put_once(&release.archive_path(), Document::of(whole).breaking_after(100));
    fixture.installed("1.0.0").await;
    let path = release.archive_path();
    let asked: Vec<String> =
        fixture.registry.requests().into_iter().filter(|request| request.starts_with(&path)).collect();
    assert_eq!(asked, [path.clone(), format!("{path} bytes=100-")]);
}

#[tokio::test]
async fn the_newest_is_that_of_the_registry_for_a_while() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let newest = async || {
        let installed = fixture.installed("").await;
        (installed.version.to_string(), installed.warnings)
    };
    assert_eq!(newest().await, ("1.0.0".to_owned(), Vec::new()));
    fixture.publish("2.0.0");
    assert_eq!(newest().await.0, "1.0.0", "what the registry said holds for a while");
    assert_eq!(fixture.registry.count("/v1/providers/a/b/versions"), 1);
    fixture.clock.pass(Duration::from_secs(15 * 60));
    assert_eq!(newest().await.0, "2.0.0");

    fixture.clock.pass(Duration::from_secs(15 * 60));
    fixture.registry.put("/v1/providers/a/b/versions", Document::status(500));
    let (version, warnings) = newest().await;
    assert_eq!(version, "2.0.0");
    assert!(
        warnings[0].contains("500 Internal Server Error")
            && warnings[0].contains(" 2.0.0, the newest matching version in the cache: "),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn warnings_of_the_registry_are_passed_on() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let versions = json!({ "versions": [{ "version": "1.0.0" }], "warnings": ["it has moved to c/d"] });
    fixture.registry.put("/v1/providers/a/b/versions", Document::json(&versions));
    let installed = fixture.installed("").await;
    let text = format!("the registry says of {}: it has moved to c/d", fixture.address());
    assert_eq!(installed.warnings, [text]);
}
