use super::*;
use crate::web::testing::{OneToken, Scripted, ScriptedTransport};

const DISCOVERY: &str = "https://example.com/.well-known/terraform.json";
const VERSIONS: &str = r#"{"versions":[{"version":"1.0.0","protocols":["5.0","6.1","x"],"platforms":[{"os":"linux","arch":"amd64"}]},{"version":"no version"},{"version":"v1.1.0"}],"warnings":["hm"]}"#;

async fn listed(
    answers: &[(&str, Scripted)],
    overrides: &[(&str, &str)],
) -> (Result<Listing, String>, Vec<String>) {
    let network = Arc::new(ScriptedTransport::default());
    for (url, answer) in answers {
        network.put(url, answer.clone());
    }
    let web = WebClient::new(network.clone(), Arc::new(OneToken("example.com", "t")));
    let services = overrides.iter().map(|(service, url)| ((*service).to_owned(), (*url).to_owned()));
    let mut hosts = ServiceOverrides::new();
    if !overrides.is_empty() {
        hosts.insert("example.com".to_owned(), services.collect());
    }
    let client = RegistryClient::new(web, hosts);
    let address = ProviderAddress::parse("example.com/a/b").expect("an address");
    let listed = client.versions(&address).await.map_err(|error| error.to_string());
    // A host's document is remembered.
    let _ = client.versions(&address).await;
    (listed, network.asked())
}

#[tokio::test]
async fn a_host_says_once_where_its_registry_is() {
    for (said, base) in [
        ("/v1/providers/", "https://example.com/v1/providers/"),
        ("/v1/providers", "https://example.com/v1/providers/"),
        ("p/", "https://example.com/.well-known/p/"),
        ("https://api.example.com:8443/p/", "https://api.example.com:8443/p/"),
    ] {
        let versions = format!("{base}a/b/versions");
        let discovery = format!("{{\"modules.v1\":{{}},\"providers.v1\":\"{said}\"}}");
        let (listing, asked) =
            listed(&[(DISCOVERY, Scripted::body(discovery)), (&versions, Scripted::body(VERSIONS))], &[])
                .await;
        let listing = listing.unwrap_or_else(|error| panic!("{said}: {error}"));
        assert_eq!(listing.warnings, ["hm"]);
        let numbers: Vec<String> = listing.versions.iter().map(|listed| listed.version.to_string()).collect();
        assert_eq!(numbers, ["1.0.0", "1.1.0"]);
        assert_eq!(listing.versions[0].protocols, [5, 6]);
        assert_eq!(listing.versions[0].platforms, ["linux_amd64"]);
        let versions = format!("{versions} Bearer t");
        assert_eq!(asked, [format!("{DISCOVERY} Bearer t"), versions.clone(), versions]);
    }
}

#[tokio::test]
async fn a_registry_may_be_elsewhere_by_redirect() {
    let elsewhere = "https://elsewhere.example/x/terraform.json";
    let (listing, asked) = listed(
        &[
            (DISCOVERY, Scripted::redirect(elsewhere)),
            (elsewhere, Scripted::body("{\"providers.v1\":\"p/\"}")),
            ("https://elsewhere.example/x/p/a/b/versions", Scripted::body(VERSIONS)),
        ],
        &[],
    )
    .await;
    assert!(listing.is_ok(), "{listing:?}");
    assert_eq!(asked[1], elsewhere, "the token is not for whoever it redirects to");
}

#[tokio::test]
async fn a_users_own_word_goes_before_the_hosts() {
    let (listing, asked) = listed(
        &[("https://mirror.example/p/a/b/versions", Scripted::body(VERSIONS))],
        &[("providers.v1", "https://mirror.example/p/")],
    )
    .await;
    assert!(listing.is_ok() && asked.len() == 2, "{listing:?} {asked:?}");
    let (listing, asked) = listed(&[], &[("modules.v1", "https://mirror.example/p/")]).await;
    let error = listing.expect_err("no providers there");
    assert!(error.starts_with("example.com offers no registry") && asked.is_empty(), "{error}");
}

#[tokio::test]
async fn a_host_without_a_registry_is_reported() {
    let none = "example.com offers no registry of Terraform providers";
    let invalid = "which is not an http or https address";
    for (discovery, says) in [
        ("{}", none),
        ("{\"providers.v1\":5}", invalid),
        ("{\"providers.v1\":\"ftp://x/\"}", invalid),
        ("{\"providers.v1\":\"mailto:x\"}", invalid),
    ] {
        let (listing, _) = listed(&[(DISCOVERY, Scripted::body(discovery))], &[]).await;
        let error = listing.expect_err("no registry");
        assert!(error.contains(says), "{discovery}: {error}");
    }
}
