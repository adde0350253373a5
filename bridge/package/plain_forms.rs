//! Warnings of functions whose plain form fails in Go, because their results have secrets.
//!
//! The library for Go fails with "unexpected secret result returned to invoke call", often after a program has changed
//! resources. The libraries for Node.js and Python take the values.

use isthmus_provider::rules::has_sensitive;

use super::catalogue::Package;
use super::names::MemberKind;

/// The runtime of projects that the warnings are for.
pub const RUNTIME: &str = "go";

/// The most functions that a warning names.
const MOST_NAMED: usize = 5;

/// Warns of the functions of a package.
pub fn warning_of_package(package: &Package) -> Option<String> {
    let is_secret = |terraform: &&str| {
        // An invalid schema is reported where it is used.
        let schema = package.catalogue().passing_data_source(terraform);
        schema.is_ok_and(|schema| has_sensitive(&schema.block))
    };
    let data_sources = package.data_sources().iter().map(|(terraform, _)| terraform.as_ref());
    let data_sources =
        data_sources.filter(is_secret).map(|terraform| MemberKind::DataSource.reference(terraform));
    let ephemeral = package.ephemeral_resources().iter();
    let ephemeral = ephemeral.map(|(terraform, _)| MemberKind::EphemeralResource.reference(terraform));
    let mut named: Vec<String> = data_sources.chain(ephemeral).collect();
    let further = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    if further > 0 {
        named.push(format!("{further} more"));
    }
    (!named.is_empty()).then(|| {
        format!(
            "the plain form of functions whose results have secrets fails in Go: {}\n\
             help: call their output form, such as `LookupUserOutput`; or name them as `plain-results` in isthmus.toml, and \
             their results have no secrets",
            named.join(", ")
        )
    })
}

/// Warns of a function that was called, by Terraform's reference. In which form is not known.
pub fn warning_of_call(reference: &str) -> String {
    format!(
        "the result of {reference} has secrets; its plain form fails in Go (\"unexpected secret result returned to invoke call\")\n\
         help: call its output form; or set ISTHMUS_PLAIN_RESULTS to `{reference}`, and its result has no secrets; `none` silences \
         this warning"
    )
}
