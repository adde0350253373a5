//! Failures of a provider configuration, worded for users of Pulumi.
//!
//! The texts are identical to the Go bridge's where it has any, because users search for them. They
//! depend on the origin of the provider resource: an explicit one is configured in the program, the
//! default one by `pulumi config`.
//!
//! Unlike in the Go bridge, a failure also names its property, if its value may be printed.

use isthmus_provider::Diagnostic;

use isthmus_operations::resource::{Failure, InputPath, Inputs, describe, in_sentences};
use isthmus_package::shape::{Field, ObjectShape};
use isthmus_package::urn::Urn;
use isthmus_translate::attribute_paths::{field_at, property_path};
use isthmus_translate::inputs::InputFailure;
use isthmus_translate::property_path::PropertyPath;

/// The summaries of diagnostics about a missing attribute: the framework's and the SDK's.
const MISSING: [&str; 2] = ["Missing Configuration for Required Attribute", "Missing required argument"];

/// Maximum edit distance of a suggested key.
const LIKE: usize = 2;

/// Longer keys get no suggestion.
const LONGEST_COMPARED: usize = 256;

/// Creates the failures of one provider resource.
#[derive(Debug)]
pub(super) struct CheckFailures<'a> {
    /// The name of an explicit provider resource.
    explicit: Option<&'a str>,
    package: &'a str,
    given: Inputs<'a>,
    shape: &'a ObjectShape,
}

impl<'a> CheckFailures<'a> {
    pub(super) fn new(urn: &'a str, package: &'a str, given: Inputs<'a>, shape: &'a ObjectShape) -> Self {
        let name = Urn(urn).name();
        let explicit = (!urn.is_empty() && !name.starts_with("default")).then_some(name);
        Self { explicit, package, given, shape }
    }

    /// A diagnostic of the provider.
    pub(super) fn of_provider(&self, diagnostic: &Diagnostic) -> Failure {
        let place = self.given.at(&property_path(&diagnostic.path, self.shape));
        if place.path().0.is_empty() {
            let text = in_pulumis_names(&describe(diagnostic, self.shape), self.shape);
            let reason = format!("could not validate provider configuration: {text}");
            return place.failure(reason);
        }
        let nested = diagnostic.path.0.len() > 1;
        let reason = if MISSING.contains(&diagnostic.summary.as_str()) {
            let description = field_at(&diagnostic.path, self.shape).map_or("", |field| &field.description);
            self.missing(place.path(), nested, description)
        } else {
            self.invalid(&[&diagnostic.summary, &diagnostic.detail], place.path(), nested)
        };
        place.failure_that_names_it(reason)
    }

    /// A value that does not fit the schema.
    pub(super) fn of_schema(&self, failure: InputFailure) -> Failure {
        let nested = failure.path.0.len() > 1;
        let place: InputPath = self.given.at(&failure.path);
        let reason = self.invalid(&[&failure.reason], place.path(), nested);
        place.failure_that_names_it(reason)
    }

    /// An unknown top-level key.
    pub(super) fn of_unknown_key(&self, key: &str) -> Failure {
        let meant = self.perhaps_meant(key);
        let reason = match self.explicit {
            Some(name) => {
                let path = PropertyPath::top(key);
                let mut reason = format!(
                    "could not validate provider configuration: Invalid or unknown key. Examine values at \
                     '{name}.{path}'."
                );
                let names: Vec<String> = meant.iter().map(|field| format!("`{}`", field.pulumi)).collect();
                if !names.is_empty() {
                    reason.push_str(&format!(" Did you mean {}?", names.join(" or ")));
                }
                reason
            }
            None => {
                let package = self.package;
                let mut reason =
                    format!("`{package}:{key}` is not a valid configuration key for the {package} provider.");
                let names: Vec<String> =
                    meant.iter().map(|field| format!("`{package}:{}`", field.pulumi)).collect();
                if !names.is_empty() {
                    reason.push_str(&format!(" Did you mean {}?", names.join(" or ")));
                }
                reason.push_str(&format!(
                    " If the referenced key is not intended for the provider, please choose a different namespace from \
                     `{package}:`."
                ));
                reason
            }
        };
        // A misspelt key may have a secret value.
        Failure::of_all(reason)
    }

    fn missing(&self, path: &PropertyPath, nested: bool, description: &str) -> String {
        let mut reason = match self.explicit {
            Some(_) => format!("Missing required property '{path}'"),
            None => format!(
                "Provider is missing a required configuration key, try `pulumi config set {}`",
                self.config_expression(path, nested)
            ),
        };
        if !description.is_empty() {
            reason.push_str(": ");
            reason.push_str(description);
        }
        reason
    }

    fn invalid(&self, texts: &[&str], path: &PropertyPath, nested: bool) -> String {
        let what_to_do = match self.explicit {
            Some(name) => format!("Examine values at '{name}.{path}'."),
            None => format!("Check `pulumi config get {}`.", self.config_expression(path, nested)),
        };
        let text = in_sentences(&[texts, &[&what_to_do]].concat());
        format!("could not validate provider configuration: {text}")
    }

    /// The key of a property as an argument of `pulumi config`.
    fn config_expression(&self, path: &PropertyPath, nested: bool) -> String {
        let option = if nested { "--path " } else { "" };
        format!("{option}{}:{path}", self.package)
    }

    fn perhaps_meant(&self, key: &str) -> Vec<&'a Field> {
        if let Some(field) = self.shape.terraform(key) {
            return vec![field];
        }
        if key.len() > LONGEST_COMPARED {
            return Vec::new();
        }
        let fields = self.shape.fields.iter();
        fields.filter(|field| strsim::levenshtein(key, &field.pulumi) <= LIKE).collect()
    }
}

/// Replaces Terraform's names of configuration properties, which providers write in double quotes,
/// by Pulumi's.
pub(super) fn in_pulumis_names(text: &str, shape: &ObjectShape) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('"') {
        result.push_str(before);
        result.push('"');
        rest = after;
        let quoted = after.split_once('"').and_then(|(name, behind)| Some((shape.terraform(name)?, behind)));
        if let Some((field, behind)) = quoted {
            result.push_str(&field.pulumi);
            result.push('"');
            rest = behind;
        }
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use isthmus_cty::{AttributePath, PathStep, Type};
    use isthmus_proto::property::Struct;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use isthmus_package::shape::{IdRule, ResourceShape};
    use isthmus_translate::testing::{attribute, block, nested, resource};

    fn shape() -> ResourceShape {
        let inner = block(vec![attribute("role_arn", Type::String)], vec![]);
        let mut token = attribute("api_key", Type::String);
        token.sensitive = true;
        resource(
            block(
                vec![token, attribute("region", Type::String), attribute("regime", Type::String)],
                vec![nested("assume_role", BlockNesting::List, 1, inner)],
            ),
            IdRule::Missing,
        )
    }

    fn diagnostic(steps: &[PathStep]) -> Diagnostic {
        Diagnostic { path: AttributePath(steps.to_vec()), ..Diagnostic::error("Bad", "Very bad") }
    }

    fn role() -> [PathStep; 3] {
        [
            PathStep::Attribute("assume_role".into()),
            PathStep::Index(0),
            PathStep::Attribute("role_arn".into()),
        ]
    }

    #[test]
    fn a_default_provider_is_configured_by_commands() {
        let (shape, nothing) = (shape(), Struct::new());
        for urn in ["", "urn:pulumi:s::p::pulumi:providers:cloud::default_1_2_3"] {
            let check_failures =
                CheckFailures::new(urn, "cloud", Inputs::new(&nothing, &shape.object), &shape.object);
            let failure = check_failures.of_provider(&diagnostic(&role()));
            assert_eq!(failure.property(), "");
            assert_eq!(
                failure.reason(),
                "could not validate provider configuration: Bad. Very bad. Check `pulumi config get --path \
                 cloud:assumeRole.roleArn`."
            );
        }
    }

    #[test]
    fn a_complaint_that_ends_with_a_full_stop_gets_no_second_one() {
        let (shape, nothing) = (shape(), Struct::new());
        let urn = "urn:pulumi:s::p::pulumi:providers:cloud::mine";
        let check_failures =
            CheckFailures::new(urn, "cloud", Inputs::new(&nothing, &shape.object), &shape.object);
        for (summary, detail, expected) in
            [("Bad.", "Very bad.", "Bad. Very bad."), ("Bad.", "", "Bad."), ("Bad?", "Why?", "Bad? Why?")]
        {
            let diagnostic =
                Diagnostic { path: AttributePath(role().to_vec()), ..Diagnostic::error(summary, detail) };
            let reason = check_failures.of_provider(&diagnostic).reason().to_owned();
            let expected = format!(
                "could not validate provider configuration: {expected} Examine values at 'mine.assumeRole.roleArn'."
            );
            assert_eq!(reason, expected);
        }
    }

    #[test]
    fn an_explicit_provider_is_configured_by_the_program() {
        let (shape, nothing) = (shape(), Struct::new());
        let urn = "urn:pulumi:s::p::pulumi:providers:cloud::mine::default";
        let check_failures =
            CheckFailures::new(urn, "cloud", Inputs::new(&nothing, &shape.object), &shape.object);
        let failure = check_failures.of_provider(&diagnostic(&role()));
        assert_eq!(
            failure.reason(),
            "could not validate provider configuration: Bad. Very bad. Examine values at \
             'mine::default.assumeRole.roleArn'."
        );
        assert_eq!(
            check_failures.of_unknown_key("regoin").reason(),
            "could not validate provider configuration: Invalid or unknown key. Examine values at \
             'mine::default.regoin'. Did you mean `region`?"
        );
    }

    #[test]
    fn a_key_that_there_is_not_is_told_with_all_that_are_like_it() {
        let (shape, nothing) = (shape(), Struct::new());
        let check_failures =
            CheckFailures::new("", "cloud", Inputs::new(&nothing, &shape.object), &shape.object);
        let failure = check_failures.of_unknown_key("regim");
        assert!(
            failure.reason().contains(" Did you mean `cloud:regime` or `cloud:region`? If "),
            "{failure:?}"
        );
        assert_eq!(failure.property(), "", "nobody knows what it is the value of");
        let failure = check_failures.of_unknown_key("assume_role");
        assert!(failure.reason().contains(" Did you mean `cloud:assumeRole`? If "), "{failure:?}");
        let failure = check_failures.of_unknown_key("nothing");
        assert_eq!(
            failure.reason(),
            "`cloud:nothing` is not a valid configuration key for the cloud provider. If the referenced key is not \
             intended for the provider, please choose a different namespace from `cloud:`."
        );
        // Comparison time grows with length.
        check_failures.of_unknown_key(&"x".repeat(1 << 20));
    }

    #[test]
    fn the_engine_gets_no_occasion_to_print_what_is_sensitive() {
        let (shape, nothing) = (shape(), Struct::new());
        let check_failures =
            CheckFailures::new("", "cloud", Inputs::new(&nothing, &shape.object), &shape.object);
        let region = check_failures.of_provider(&diagnostic(&[PathStep::Attribute("region".into())]));
        assert_eq!(region.property(), "region");
        let failure = check_failures.of_provider(&diagnostic(&[PathStep::Attribute("api_key".into())]));
        assert_eq!(failure.property(), "");
        assert!(failure.reason().ends_with("Check `pulumi config get cloud:apiKey`."), "{failure:?}");
        assert_eq!(check_failures.of_unknown_key("apikey").property(), "");
    }

    #[test]
    fn names_between_quotes_become_pulumis() {
        let shape = shape();
        for (text, expected) in [
            (r#"Set "api_key" or "region"."#, r#"Set "apiKey" or "region"."#),
            (r#"The "assume_role""api_key" "" and "other"#, r#"The "assumeRole""apiKey" "" and "other"#),
            (r#"say "x"api_key"y""#, r#"say "x"apiKey"y""#),
            ("no quotes: api_key", "no quotes: api_key"),
        ] {
            assert_eq!(in_pulumis_names(text, &shape.object), expected, "{text}");
        }
    }
}
