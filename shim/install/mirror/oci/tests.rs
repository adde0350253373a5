use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;
use crate::auth::NoCredentials;
use crate::web::testing::{Scripted, ScriptedTransport};
use isthmus_common::Environment;

use crate::CliConfig;

const BASE: &str = "https://r.example:5000/v2/";
const REPOSITORY: &str = "https://r.example:5000/v2/p/hashicorp-random/";

/// A registry, and its CLI configuration.
struct Registry {
    transport: Arc<ScriptedTransport>,
    web: WebClient,
    mirror: OciMirror,
}

impl Registry {
    fn new(config: &str) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join(".tofurc"), config).expect("a file");
        let environment = Environment::from_iter([("HOME", home.path())]);
        let config = CliConfig::load(&environment).unwrap_or_else(|error| panic!("{error}"));
        let transport = Arc::new(ScriptedTransport::default());
        let web = WebClient::new(transport.clone(), Arc::new(NoCredentials));
        let include = [crate::cli_config::ProviderPattern::parse("*/*").expect("a pattern")];
        let template = RepositoryTemplate::parse("r.example:5000/p/${namespace}-${type}", &include);
        let authority = Arc::new(config.oci_authenticator(&environment));
        Self { transport, web, mirror: OciMirror::new(template.expect("a template"), authority) }
    }

    /// A public one.
    fn open() -> Self {
        let registry = Self::new("");
        registry.transport.put(BASE, Scripted::body("{}"));
        registry
    }

    fn put(&self, path: &str, document: &Json) -> String {
        let text = document.to_string();
        let digest = format!("sha256:{}", hex::encode(Sha256::digest(&text)));
        let path = path.replace("DIGEST", &digest);
        self.transport.put(&format!("{REPOSITORY}{path}"), Scripted::body(text));
        digest
    }

    async fn versions(&self) -> Result<Option<Vec<String>>, String> {
        let address = ProviderAddress::parse("random").expect("an address");
        let versions = self.mirror.versions(&self.web, &address).await.map_err(|error| error.to_string())?;
        Ok(versions.map(|versions| versions.iter().map(Version::to_string).collect()))
    }

    async fn package(&self, version: &str) -> Result<RemotePackage, String> {
        let address = ProviderAddress::parse("random").expect("an address");
        let version = Version::parse(version).expect(version);
        let linux = Platform::parse("linux_amd64").expect("a platform");
        let package = self.mirror.package(&self.web, &address, &version, linux).await;
        package.map_err(|error| error.to_string())
    }
}

fn layer(digest: &str) -> Json {
    json!({"mediaType": ARCHIVE, "digest": digest, "size": 3})
}

fn manifest(layers: &Json) -> Json {
    json!({"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": MANIFEST_ARTIFACT, "layers": layers})
}

fn descriptor(digest: &str, os: &str, architecture: &str) -> Json {
    json!({
        "mediaType": MANIFEST, "artifactType": MANIFEST_ARTIFACT, "digest": digest, "size": 3,
        "platform": {"os": os, "architecture": architecture},
    })
}

fn index(manifests: &Json) -> Json {
    json!({"schemaVersion": 2, "mediaType": INDEX, "artifactType": INDEX_ARTIFACT, "manifests": manifests})
}

fn sum(letter: &str) -> String {
    format!("sha256:{}", letter.repeat(64))
}

#[tokio::test]
async fn versions_are_tags_on_all_pages() {
    let registry = Registry::open();
    registry
        .put("tags/list", &json!({"name": "x", "tags": ["1.0.0", "1.10.0_build", "latest", "1.9.0-rc1"]}));
    registry.put("tags/list?last=1.9.0-rc1", &json!({"tags": ["2.0.0"]}));
    registry.put("tags/list?last=2.0.0", &json!({"tags": null}));
    let versions = registry.versions().await.expect("it answers").expect("there is one");
    assert_eq!(versions, ["1.0.0", "1.9.0-rc1", "1.10.0+build", "2.0.0"]);

    // A registry without pages returns all of it again.
    let registry = Registry::open();
    registry.put("tags/list", &json!({"tags": ["1.0.0"]}));
    registry.put("tags/list?last=1.0.0", &json!({"tags": ["1.0.0"]}));
    assert_eq!(registry.versions().await, Ok(Some(vec!["1.0.0".to_owned()])));
    assert_eq!(Registry::open().versions().await, Ok(None), "no repository");
}

#[tokio::test]
async fn a_package_is_the_layer_of_the_manifest_for_the_machine() {
    let registry = Registry::open();
    let wanted = registry.put("manifests/DIGEST", &manifest(&json!([layer(&sum("a"))])));
    let manifests = json!([
        descriptor(&sum("b"), "windows", "amd64"),
        {"mediaType": MANIFEST, "artifactType": "a/signature", "digest": sum("c")},
        descriptor(&wanted, "linux", "amd64"),
    ]);
    registry.put("manifests/1.0.0_build", &index(&manifests));
    let package = registry.package("1.0.0+build").await.expect("it is there");
    assert_eq!(package.url.as_str(), format!("{REPOSITORY}blobs/{}", sum("a")));
    let hash = PackageHash::parse(&format!("zh:{}", "a".repeat(64))).expect("a sum");
    assert_eq!((package.hashes, package.authorization), (vec![hash], None));
    assert_eq!(package.file_name, "terraform-provider-random_1.0.0+build_linux_amd64.zip");
}

#[tokio::test]
async fn what_is_no_package_is_refused_with_the_reason() {
    let registry = Registry::open();
    let no_layer =
        registry.put("manifests/DIGEST", &manifest(&json!([{"mediaType": "x", "digest": sum("a")}])));
    let two_layers =
        registry.put("manifests/DIGEST", &manifest(&json!([layer(&sum("a")), layer(&sum("b"))])));
    let odd_layer = registry.put("manifests/DIGEST", &manifest(&json!([layer("sha512:../x")])));
    let other = registry.put("manifests/DIGEST", &json!({"mediaType": MANIFEST, "artifactType": "a/b"}));
    registry.transport.put(&format!("{REPOSITORY}manifests/{}", sum("e")), Scripted::body("{}"));
    let one = |digest: &str| index(&json!([descriptor(digest, "linux", "amd64")]));
    for (document, reason) in [
        (manifest(&json!([])), "there must be an index of several machines"),
        (
            json!({"mediaType": INDEX, "artifactType": "application/vnd.opentofu.modulepkg"}),
            "it is not a provider, but \"application/vnd.opentofu.modulepkg\"",
        ),
        (
            index(&json!([])),
            "version 1.0.0 of registry.opentofu.org/hashicorp/random for no machine, but not for linux_amd64",
        ),
        (
            index(&json!([descriptor(&sum("a"), "darwin", "arm64")])),
            "for darwin_arm64, but not for linux_amd64",
        ),
        (
            index(&json!([descriptor(&sum("a"), "linux", "amd64"), descriptor(&sum("b"), "linux", "amd64")])),
            "several manifests for linux_amd64",
        ),
        (
            index(&json!([{"mediaType": MANIFEST, "artifactType": MANIFEST_ARTIFACT, "digest": "x"}])),
            "does not say for which machine",
        ),
        (one("sha256:../../x"), "\"sha256:../../x\" is not a SHA-256 digest"),
        (one(&sum("e")), "does not have the digest in the index"),
        // It has the version, and may have withdrawn it: it is not absent.
        (one(&sum("f")), "the manifest that the index names does not exist"),
        (one(&no_layer), "must name one layer of the kind \"archive/zip\""),
        (one(&two_layers), "must name one layer"),
        (one(&odd_layer), "\"sha512:../x\" is not a SHA-256 digest"),
        (one(&other), "it is not a provider's package, but \"a/b\""),
        (json!("x"), "its answer is not what the protocol says"),
    ] {
        let registry = Registry {
            transport: registry.transport.clone(),
            web: registry.web.clone(),
            mirror: registry.mirror.clone(),
        };
        let version = format!("1.0.0-{}", &hex::encode(Sha256::digest(document.to_string()))[..8]);
        registry.put(&format!("manifests/{version}"), &document);
        let error = registry
            .package(&format!("1.0.0-{}", version.split_once('-').expect("one").1))
            .await
            .expect_err(reason);
        assert!(error.replace(&version, "1.0.0").contains(reason), "{reason}\n{error}");
    }
    let error = registry.package("9.0.0").await.expect_err("it is not there");
    assert!(error.contains("manifests/9.0.0: it answered 404"), "{error}");
}

#[tokio::test]
async fn a_registry_that_requires_a_token_receives_credentials() {
    let challenge = "Bearer realm=\"https://auth.example/token\",service=\"r.example\"";
    let token_url =
        "https://auth.example/token?service=r.example&scope=repository%3Ap%2Fhashicorp-random%3Apull";
    let registry =
        Registry::new("oci_credentials \"r.example:5000/p\" {\n username = \"u\"\n password = \"p\"\n}");
    registry.transport.put(BASE, Scripted::status(401).with("www-authenticate", challenge));
    registry.transport.put(token_url, Scripted::body("{\"access_token\": \"s3cret\"}"));
    registry.put("tags/list", &json!({"tags": []}));
    assert_eq!(registry.versions().await, Ok(Some(Vec::new())));
    let asked =
        [BASE.to_owned(), format!("{token_url} Basic dTpw"), format!("{REPOSITORY}tags/list Bearer s3cret")];
    assert_eq!(registry.transport.asked(), asked);

    // A token is requested without credentials too: some public repositories require it.
    let registry = Registry::new("");
    registry.transport.put(BASE, Scripted::status(401).with("www-authenticate", challenge));
    registry.transport.put(token_url, Scripted::status(403));
    assert_eq!(
        registry.versions().await,
        Err("the registry r.example:5000 denies access to p/hashicorp-random without credentials: it gives no token. Set them in \
             the CLI configuration: `oci_credentials \"r.example:5000\" { username = … password = … }`"
            .to_owned())
    );
    // A missing token server is not about the provider.
    let registry = Registry::new("");
    registry.transport.put(BASE, Scripted::status(401).with("www-authenticate", challenge));
    registry.transport.put(token_url, Scripted::status(404));
    let error = registry.versions().await.expect_err("it does not give a token");
    assert!(
        error.contains("denies access to p/hashicorp-random without credentials") && error.contains("404"),
        "{error}"
    );
    // A password is not sent without TLS.
    let registry =
        Registry::new("oci_credentials \"r.example:5000\" {\n username = \"u\"\n password = \"p\"\n}");
    let challenge = challenge.replace("https", "http");
    registry.transport.put(BASE, Scripted::status(401).with("www-authenticate", &challenge));
    let error = registry.versions().await.expect_err("it is in the clear");
    assert!(error.contains("not behind https") && registry.transport.asked().len() == 1, "{error}");
}

#[tokio::test]
async fn a_registry_that_wants_a_password_or_has_given_a_token_is_told() {
    for (config, challenge, sent) in [
        ("username = \"u\"\npassword = \"p\"", "Basic realm=\"x\"", "Basic dTpw"),
        ("access_token = \"a\"\nrefresh_token = \"r\"", "Bearer realm=\"https://x/\"", "Bearer a"),
    ] {
        let registry = Registry::new(&format!("oci_credentials \"r.example:5000\" {{\n{config}\n}}"));
        registry.transport.put(BASE, Scripted::status(401).with("www-authenticate", challenge));
        registry.transport.put(&format!("{REPOSITORY}tags/list"), Scripted::status(403));
        let error = registry.versions().await.expect_err("it does not let them in");
        assert!(
            error.contains("denies access to p/hashicorp-random with the configured credentials"),
            "{error}"
        );
        assert_eq!(registry.transport.asked()[1], format!("{REPOSITORY}tags/list {sent}"));
    }
    let registry = Registry::new("");
    registry.transport.put(BASE, Scripted::status(401).with("www-authenticate", "Negotiate"));
    assert!(
        registry
            .versions()
            .await
            .expect_err("it is not known")
            .contains("authentication scheme that is not supported")
    );
}
