//! Validation of what a user has chosen for a package: each choice that has no effect is reported.

use std::collections::BTreeMap;

use super::catalogue::Package;
use super::names::MemberKind;
use super::shape::{ObjectShape, Shape};
use crate::names::choices::{ChosenName, PROVIDER};
use crate::names::plain_results::PlainResults;
use crate::names::tokens::{Tokens, member_name, nearest};

/// Warns of choices for what the provider does not have, and of names that are not free.
pub fn warnings(package: &Package) -> Vec<String> {
    let choices = package.choices();
    let members = Members::of(package);
    let mut warnings = Vec::new();
    for (reference, chosen) in &choices.types {
        match members.find(reference) {
            None => warnings.push(members.unknown(reference)),
            Some((_, token)) if member_name(token).eq_ignore_ascii_case(chosen.as_str()) => {}
            Some((_, token)) => warnings.push(format!(
                "{reference:?} is not called {:?}, which is reserved or another member's name; it is {:?}",
                chosen.as_str(),
                member_name(token)
            )),
        }
    }
    for (reference, properties) in &choices.properties {
        match members.object(package, reference) {
            None => warnings.push(members.unknown(reference)),
            Some(Some(object)) => warnings.extend(of_properties(reference, &object, properties)),
            // Its schema is invalid, which is reported where it is used.
            Some(None) => {}
        }
    }
    for reference in choices.plain_results.iter().flat_map(PlainResults::references) {
        if members.find(reference).is_none() {
            warnings.push(members.unknown(reference));
        }
    }
    warnings
}

fn of_properties(
    reference: &str,
    object: &ObjectShape,
    properties: &BTreeMap<String, ChosenName>,
) -> Vec<String> {
    let named = properties.iter().filter_map(|(path, chosen)| match field_at(object, path) {
        None => Some(format!("{reference:?} has no property {path:?}, for which a name is chosen")),
        Some(name) if name == chosen.as_str() => None,
        Some(name) => Some(format!(
            "the property {path:?} of {reference:?} is not called {:?}, which is reserved or another property's name; it is {name:?}",
            chosen.as_str()
        )),
    });
    named.collect()
}

/// The name of the property at a path of Terraform names.
fn field_at(object: &ObjectShape, path: &str) -> Option<String> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let field = object.terraform(first)?;
    match rest {
        None => Some(field.pulumi.clone()),
        Some(rest) => objects_in(&field.shape).into_iter().find_map(|object| field_at(object, rest)),
    }
}

/// The objects that a path goes on in.
fn objects_in(shape: &Shape) -> Vec<&ObjectShape> {
    match shape {
        Shape::Object(object) => vec![object],
        Shape::List(element)
        | Shape::Set(element)
        | Shape::Map(element)
        | Shape::FlattenedList(element)
        | Shape::FlattenedSet(element) => objects_in(element),
        Shape::Tuple(elements) => elements.iter().flat_map(objects_in).collect(),
        Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic => Vec::new(),
    }
}

/// All members, by Terraform's references.
struct Members<'a> {
    provider: &'a str,
    kinds: [(MemberKind, &'a Tokens); 5],
}

impl<'a> Members<'a> {
    fn of(package: &'a Package) -> Self {
        let kinds = [
            (MemberKind::Resource, package.resources()),
            (MemberKind::DataSource, package.data_sources()),
            (MemberKind::EphemeralResource, package.ephemeral_resources()),
            (MemberKind::Action, package.actions()),
            (MemberKind::Function, package.functions()),
        ];
        Self { provider: &package.identity().provider_type, kinds }
    }

    /// The Terraform name with its kind, and the token.
    fn find(&self, reference: &str) -> Option<((MemberKind, &'a str), &'a str)> {
        self.kinds.iter().find_map(|(kind, tokens)| {
            let prefix = kind.reference("");
            let terraform = reference.strip_prefix(&prefix)?;
            let (terraform, token) = tokens.iter().find(|(name, _)| name.as_ref() == terraform)?;
            Some(((*kind, terraform.as_ref()), token))
        })
    }

    /// The properties of a member; `None` if there is no such member, or none with names of its own.
    fn object(&self, package: &Package, reference: &str) -> Option<Option<std::sync::Arc<ObjectShape>>> {
        if reference == PROVIDER {
            return Some(package.config_shape().ok().map(|shape| shape.object.clone()));
        }
        let ((kind, terraform), _) = self.find(reference)?;
        let shape = match kind {
            MemberKind::Resource => package.passing_resource(terraform),
            MemberKind::DataSource => package.passing_data_source(terraform),
            MemberKind::EphemeralResource => package.ephemeral_resource(terraform),
            MemberKind::Action => package.action(terraform),
            MemberKind::Function => return None,
        };
        Some(shape.ok().map(|shape| shape.object.clone()))
    }

    fn unknown(&self, reference: &str) -> String {
        let references = self.kinds.iter().flat_map(|(kind, tokens)| {
            tokens.iter().map(|(terraform, _)| kind.reference(terraform)).collect::<Vec<_>>()
        });
        let references: Vec<_> = references.collect();
        let suggestion = nearest(reference, references.iter().map(String::as_str))
            .map_or_else(String::new, |nearest| format!("; did you mean {nearest:?}?"));
        format!(
            "the package of provider {} has no {reference:?}, which isthmus.toml names{suggestion}",
            self.provider
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::Parameter;
    use super::super::testing::{local, package_of};
    use super::*;

    fn warnings_about(json: &str) -> Vec<String> {
        let names = serde_json::from_str(json).expect("choices");
        warnings(&package_of(Parameter { names, ..local("./terraform-provider-test") }))
    }

    #[test]
    fn names_for_what_there_is_need_no_warning() {
        assert_eq!(warnings_about("{}"), [""; 0]);
        let json =
            "{\"types\":{\"test_pet\":\"Animal\"},\"properties\":{\"test_pet\":{\"length\":\"size\"}}}";
        assert_eq!(warnings_about(json), [""; 0]);
    }

    #[test]
    fn names_without_effect_are_reported() {
        let json = "{\"types\":{\"test_pat\":\"Animal\",\"test_pet\":\"Provider\"},\
                    \"properties\":{\"test_pet\":{\"lenght\":\"size\",\"length\":\"urn\"}},\
                    \"plainResults\":[\"*\",\"data.test_pat\"]}";
        assert_eq!(
            warnings_about(json),
            [
                "the package of provider test has no \"test_pat\", which isthmus.toml names; did you mean \"test_pet\"?",
                "\"test_pet\" is not called \"Provider\", which is reserved or another member's name; it is \"Pet\"",
                "\"test_pet\" has no property \"lenght\", for which a name is chosen",
                "the property \"length\" of \"test_pet\" is not called \"urn\", which is reserved or another property's name; it is \
                 \"length\"",
                "the package of provider test has no \"data.test_pat\", which isthmus.toml names; did you mean \"data.test_pet\"?",
            ]
        );
    }
}
