//! Broken set-ups of providers: the cache, registries, certificates, proxies, and the provider binaries themselves.

use isthmus_common::Platform;
use isthmus_test_registry::{Archive, Document, Proxy, Registry, Release};

use super::super::Said;
use super::patient::{Patient, VERSION};
use crate::harness::json;

#[test]
fn a_file_in_the_place_of_the_cache_is_named() {
    let mut patient = Patient::new();
    let file = patient.machine.write("taken", b"");
    patient.set("PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR", file.join("providers").to_str().expect("text"));
    patient.has("space", 1004, &["taken is not a directory"], "set PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR");
}

#[test]
fn a_lock_file_that_does_not_exist_is_named_by_its_variable() {
    let mut patient = Patient::new();
    patient.set("ISTHMUS_LOCK_FILE", "/nowhere/lock.hcl");
    let message = ["ISTHMUS_LOCK_FILE names the file ", "/nowhere/lock.hcl, which does not exist"];
    patient.has("configuration", 2015, &message, "name another file");
}

#[test]
fn a_provider_file_that_does_not_exist_is_named_although_it_would_not_be_started() {
    let patient = Patient::new();
    let value = "eyJsb2NhbCI6eyJwYXRoIjoiLi90ZXJyYWZvcm0tcHJvdmlkZXItcmFuZG9tIn19";
    let sdk = format!(
        "packageDeclarationVersion: 1\nname: terraform-provider\nversion: 1.4.0\nparameterization:\n  name: random\n  version: \
         0.0.0\n  value: {value}\n"
    );
    patient.machine.write("project/sdks/random/random.yaml", sdk.as_bytes());
    let mut doctor = patient.command(env!("CARGO_BIN_EXE_isthmus"));
    let said = Said::of(doctor.args(["doctor", "--only", "providers"]));
    assert!(said.code == 1 && said.stdout.contains("terraform-provider-random does not exist"), "{said:?}");
}

#[test]
fn an_altered_provider_in_the_cache_is_named_with_how_to_replace_it() {
    let patient = Patient::new();
    let platform = Platform::CURRENT.to_string();
    let (os, arch) = platform.split_once('_').expect("two names");
    let archive = Archive::of_programs(&[("terraform-provider-thing_v1.0.0", b"as it was published")]);
    patient.registry.publish(&Release::new("acme/thing", "1.0.0", archive).for_platform(os, arch));
    let mut install = patient.command(env!("CARGO_BIN_EXE_isthmus"));
    let installed = Said::of(install.args(["install", "acme/thing", "1.0.0"])).well();
    let program = installed.lines().nth(1).expect("its path").to_owned();
    isthmus_platform::files::set_mode(program.as_ref(), 0o755).expect("it is ours");
    std::fs::write(&program, "something else").expect("it is ours");
    let remedy = "`isthmus providers prune registry.opentofu.org/acme/thing@1.0.0`";
    patient.has("cache", 2014, &["terraform-provider-thing_v1.0.0"], remedy);
}

#[test]
fn a_registry_that_cannot_be_reached_is_named() {
    let patient = Patient::new();
    patient.registry_at("https://localhost:1/v1/providers/");
    patient.has("registry", 2002, &["could not reach localhost:1"], "HTTPS_PROXY");
}

#[test]
fn a_certificate_of_an_unknown_authority_is_named() {
    let patient = Patient::new();
    let other = Registry::start();
    patient.machine.write("authority.pem", other.authority_pem().as_bytes());
    patient.has("registry", 2003, &["no secure connection", "invalid peer certificate"], "SSL_CERT_FILE");
}

#[test]
fn a_certificate_that_has_expired_is_named_with_the_clock_as_a_cause() {
    let patient = Patient::with(Registry::expired());
    patient.has("registry", 2004, &["certificate is not valid now", "expired"], "`date`");
}

#[test]
fn a_file_of_authorities_that_is_missing_is_named_by_its_variable() {
    let mut patient = Patient::new();
    patient.set("SSL_CERT_FILE", "/nowhere/authority.pem");
    let words = ["--skip", "registry"];
    patient.has_in(
        &words,
        "certificates",
        2005,
        &["SSL_CERT_FILE", "/nowhere/authority.pem"],
        "unset the variable",
    );
}

#[test]
fn a_proxy_that_requires_authentication_is_named() {
    let mut patient = Patient::new();
    patient.registry_at("https://registry.example/v1/providers/");
    let proxy = Proxy::for_those_with(&patient.registry, "Basic bWU6c2VjcmV0");
    patient.set("HTTPS_PROXY", &format!("http://{}", proxy.host()));
    patient.has("registry", 2008, &["the proxy requires authentication"], "http://USER:PASSWORD@PROXY");
    patient.set("HTTPS_PROXY", &format!("http://me:secret@{}", proxy.host()));
    assert!(patient.faults(&[]).is_empty(), "as the remedy says");
}

#[test]
fn a_proxy_that_refuses_is_named() {
    let mut patient = Patient::new();
    patient.registry_at("https://registry.example/v1/providers/");
    let proxy = Proxy::refusing(&patient.registry, 403);
    patient.set("HTTPS_PROXY", &format!("http://{}", proxy.host()));
    patient.has("registry", 2007, &["the proxy did not connect"], "NO_PROXY");
}

#[test]
fn a_malformed_variable_of_a_proxy_is_named_without_its_value() {
    let mut patient = Patient::new();
    patient.set("HTTPS_PROXY", "me:hunter2@");
    patient.has("proxy", 2006, &["HTTPS_PROXY is not a proxy's address"], "http://HOST:PORT");
    assert!(!patient.doctor(&[]).stdout.contains("hunter2"));
}

#[test]
fn a_clock_that_differs_from_the_registrys_is_named() {
    let patient = Patient::new();
    let versions = json!({ "versions": [{ "version": VERSION, "protocols": ["5.0"], "platforms": [] }] });
    let document = Document::json(&versions).with_header("Date", "Wed, 25 Nov 2020 10:00:00 GMT");
    patient.registry.put("/v1/providers/hashicorp/random/versions", document);
    patient.has("clock", 1008, &["ahead of the clock of registry.opentofu.org"], "time service");
}

#[test]
fn a_missing_token_is_named_with_where_to_put_it() {
    let patient = Patient::new();
    patient.registry.require_token("s3cret-token");
    patient.has("registry", 2009, &["401 Unauthorized"], "credentials \"localhost:");
}

#[test]
fn a_registry_that_fails_is_named() {
    let patient = Patient::new();
    patient.registry.put("/v1/providers/hashicorp/random/versions", Document::status(503));
    patient.has("registry", 2012, &["503 Service Unavailable"], "install from a mirror");
}

#[test]
fn a_provider_that_no_registry_has_is_named() {
    let patient = Patient::new();
    let words = ["hashicorp/randm"];
    patient.has_in(
        &words,
        "registry",
        2010,
        &["has no provider hashicorp/randm"],
        "did you mean hashicorp/random?",
    );
    let mut install = patient.command(env!("CARGO_BIN_EXE_isthmus"));
    let failed = Said::of(install.args(["install", "hashicorp/randm"])).failed();
    assert!(failed.contains("help: did you mean hashicorp/random?\n"), "{failed}");
    let mut prune = patient.command(env!("CARGO_BIN_EXE_isthmus"));
    let failed = Said::of(prune.args(["providers", "prune", "hashicorp/randm"])).failed();
    assert!(failed.contains("help: did you mean hashicorp/random?\n"), "{failed}");
}

#[test]
fn a_cli_configuration_with_a_syntax_error_is_named_with_the_line() {
    let patient = Patient::new();
    patient.machine.write("cli.tfrc", b"provider_installation {\n  direct {\n");
    patient.has("configuration", 2001, &["cli.tfrc:"], "line and column");
}

#[test]
fn a_provider_for_another_processor_is_named() {
    let patient = Patient::new();
    let mut other = std::fs::read(patient.provider()).expect("a file");
    // The machine in the header of ELF: s390x.
    other[18..20].copy_from_slice(&22_u16.to_le_bytes());
    std::fs::write(patient.provider(), other).expect("a file");
    patient.has("cache", 3001, &["terraform-provider-random_v3.9.0", "s390x"], "install it again");
}

#[test]
fn a_provider_that_is_not_executable_is_named() {
    let patient = Patient::new();
    isthmus_platform::files::set_mode(&patient.provider(), 0o644).expect("it is ours");
    patient.has("cache", 3001, &["not executable"], "isthmus providers prune");
}

#[test]
fn a_provider_that_crashes_at_its_start_is_named_with_its_last_words() {
    let patient = Patient::new();
    std::fs::remove_file(patient.provider()).expect("it is there");
    patient.script(patient.provider(), "echo 'panic: no more' >&2\nexit 2");
    patient.has("providers", 3002, &["before it announced itself", "panic: no more"], "Run the file by hand");
}
