//! Objects in the state of Terraform or OpenTofu, as an engine stores them.
//!
//! The provider upgrades an object of an older schema version; one of the current version is decoded
//! by the schema, because the engine's first Diff has it upgraded anyway. Inputs are those of an
//! import, with which the next plan changes nothing, and of these what the configuration sets, or
//! without one what no provider computes: an input that was computed would hold the resource to a
//! value that its provider may have to change, such as the time of a rotation.
//!
//! Determining them takes a dozen calls, so objects of the same form (properties that are set, and
//! that are zero) share what was found for the first of them: which properties are inputs does not
//! depend on their values.

mod saved_secrets;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use isthmus_cty::json::{Json, from_tree};
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::{Object, StoredObject, rules};
use isthmus_state::{SavedObject, Status};

use super::read::Found;
use super::state::{RenderOptions, properties_of};
use super::{OperationError, StateError, Target};
use isthmus_package::shape::{ResourceShape, Shape};
use isthmus_translate::exact_numbers::{inexact_in_dynamic, with_exact_numbers};
use isthmus_translate::import::{Configured, Settable, configured_inputs, inputs_after_import};
use isthmus_translate::marked_secrets::mark_like;
use isthmus_translate::meta::{Meta, StoredIdentity};
use isthmus_translate::property::{self, PropertyView};
use isthmus_translate::property_path::PropertyPath;
use isthmus_translate::raw_state::stored_raw_state;

/// Objects of a form whose inputs are determined one by one; the inputs of further ones follow from
/// them if all are alike.
const DETERMINED: usize = 20;

/// Which properties are inputs, by the form of objects.
#[derive(Debug, Default)]
pub struct InputForms {
    forms: HashMap<String, Form>,
    /// Types of objects of which one would not be without a change: those are determined one by one.
    faulty: BTreeSet<String>,
}

/// How inputs were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// As those of objects of the same form.
    Form,
    Plans,
}

#[derive(Debug)]
enum Form {
    /// The inputs of this number of objects, which are alike.
    Alike { count: usize, inputs: Vec<(String, Derived)> },
    /// Objects of the same form have different inputs.
    Unlike,
}

/// The inputs of which the property of a name is the input: a position in [`sources`].
type Derived = usize;

/// An object of another program, as an engine stores it.
#[derive(Debug)]
pub struct Adoption {
    /// A name that the object lacks is null in the inputs, so that Check generates none.
    pub found: Found,
    /// Numbers in dynamic inputs that have lost digits.
    pub inexact: Vec<PropertyPath>,
    /// Why the first preview would not be without a change.
    pub fault: Option<String>,
}

/// What an engine stores for an object of another program.
///
/// # Errors
/// If the provider cannot upgrade it, or it does not fit the schema.
pub async fn adopt(
    target: &Target<'_>,
    saved: &SavedObject,
    flat: Option<&BTreeMap<String, String>>,
    configured: &Configured,
    forms: &mut InputForms,
) -> Result<Adoption, OperationError> {
    saved_secrets::note_saved(saved, flat, &target.shape.schema.block, target.provider.secrets());
    let object = upgraded(target, saved, flat).await?;
    let identity = match target.identity_of(&object).await {
        Some(identity) => Some(identity),
        None => saved.identity.as_ref().map(|identity| StoredIdentity {
            schema_version: identity.schema_version,
            json: identity.json.to_string(),
        }),
    };
    let id = target.new_id(&object, identity.as_ref(), None, &[]);
    let options = RenderOptions {
        secrets: &saved.sensitive_paths,
        like: &Struct::default(),
        unread: &BTreeSet::new(),
        is_unrefreshed: false,
    };
    let properties = properties_of(target, &object, identity, options, saved.status)?;
    let exact = with_exact_numbers(properties.clone(), &object.value, &target.shape.object);
    let (mut inputs, found) = forms.inputs(target, &object, &exact, configured).await;
    if let Some(name) = target.shape.autonamed().filter(|name| !name.required)
        && !inputs.contains_key(&name.pulumi)
    {
        inputs.insert(&*name.pulumi, Property::Null);
    }
    let inexact = inexact_in_dynamic(&inputs, &object.value, &target.shape.object);
    let fault = match (saved.status, found) {
        (Status::Ready, By::Plans) => target.fault_of_inputs(&inputs, &object).await,
        // It is replaced, whatever the inputs are.
        (Status::Damaged, _) | (_, By::Form) => None,
    };
    if fault.is_some() {
        forms.note_fault(&target.shape.terraform_type);
    }
    Ok(Adoption { found: Found { id, properties, inputs }, inexact, fault })
}

/// An object as in the state of Terraform or OpenTofu, without its address, provider and
/// dependencies.
#[derive(Clone, Debug)]
pub struct Released {
    pub object: SavedObject,
}

/// The object that an engine stores as these properties.
///
/// # Errors
/// If they cannot be rebuilt, or are of another type that no update has moved yet.
pub fn release(target: &Target<'_>, properties: &Struct) -> Result<Released, ReleaseError> {
    let meta = Meta::from_properties(properties).map_err(StateError::from)?;
    if let Some(source) = meta.source.filter(|source| *source.resource_type != *target.shape.terraform_type) {
        return Err(ReleaseError::Moved { source_type: source.resource_type });
    }
    let (value, _) = stored_raw_state(properties, &target.shape).map_err(StateError::from)?;
    let visible: Struct = properties
        .iter()
        .filter(|(name, _)| !name.starts_with("__"))
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    let identity = meta.identity.and_then(|identity| {
        // The state may have been edited; providers work without an identity.
        let json = Json::parse(identity.json.as_bytes()).ok()?;
        Some(isthmus_cty::StoredIdentity { schema_version: identity.schema_version, json })
    });
    let mut sensitive_paths = target.secrets_of(&visible);
    let schema = &target.shape.schema;
    if let Ok(object) = from_tree(&value, &schema.block.implied_type) {
        // States have these too, also of null values.
        for path in rules::sensitive_paths(&schema.block, &object) {
            if !sensitive_paths.contains(&path) {
                sensitive_paths.push(path);
            }
        }
    }
    Ok(Released {
        object: SavedObject {
            value,
            schema_version: meta.schema_version,
            private: meta.private,
            identity,
            status: if meta.tainted { Status::Damaged } else { Status::Ready },
            sensitive_paths,
            dependencies: Vec::new(),
            create_before_destroy: false,
            provider: String::new(),
            address: None,
            component: None,
        },
    })
}

/// Why no object can be rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(
        "its object is of type {source_type}, from which no update has moved it yet; run `pulumi up` first"
    )]
    Moved { source_type: String },
}

async fn upgraded(
    target: &Target<'_>,
    saved: &SavedObject,
    flat: Option<&BTreeMap<String, String>>,
) -> Result<Object, OperationError> {
    let resource = target.resource()?;
    resource.refuse_newer(saved.schema_version, None).map_err(|error| target.failed(error))?;
    if let Some(flat) = flat {
        let private = saved.private.clone();
        let upgraded =
            resource.upgrade_flat(flat, saved.schema_version, private, &mut target.warnings.of_call()).await;
        return upgraded.map_err(|error| target.failed(error));
    }
    let identity = match &saved.identity {
        Some(identity) => {
            let stored =
                StoredIdentity { schema_version: identity.schema_version, json: identity.json.to_string() };
            target.stored_identity(&stored).await?
        }
        None => None,
    };
    let schema = &target.shape.schema;
    if saved.schema_version == schema.version
        && let Ok(value) = from_tree(&saved.value, &schema.block.implied_type)
    {
        return Ok(Object { value, private: saved.private.clone(), identity });
    }
    let stored = StoredObject {
        value: saved.value.clone(),
        schema_version: saved.schema_version,
        private: saved.private.clone(),
        identity,
    };
    resource.upgrade(&stored, &mut target.warnings.of_call()).await.map_err(|error| target.failed(error))
}

impl InputForms {
    async fn inputs(
        &mut self,
        target: &Target<'_>,
        object: &Object,
        properties: &Struct,
        configured: &Configured,
    ) -> (Struct, By) {
        let sources = sources(properties, &target.shape, configured);
        let [.., set, all] = &sources;
        let mut form = target.shape.terraform_type.to_string();
        write_form(all, &Shape::Object(target.shape.object.clone()), &mut form);
        let _ = write!(form, "{configured:?}");
        if let Some(Form::Alike { count, inputs }) = self.forms.get(&form)
            && *count >= DETERMINED
            && !self.faulty.contains(&*target.shape.terraform_type)
        {
            let inputs = inputs.iter();
            let inputs = inputs
                .filter_map(|(name, derived)| Some((name.clone(), sources[*derived].get(name)?.clone())));
            return (inputs.collect(), By::Form);
        }
        let found = target.inputs_of_imported(object, properties).await;
        let mut found = target.without_deprecated(found, object).await;
        // A configuration that the provider has generated has no marks of the state.
        mark_like(&mut found, properties);
        let wanted = match configured {
            Configured::Unknown => {
                let mut wanted = configured_inputs(&found, &target.shape.object, configured);
                // Without it, a replacement would have another name.
                let name = target.shape.autonamed().map(|field| &*field.pulumi);
                if let Some((name, value)) = name.and_then(|name| Some((name, found.get(name)?))) {
                    wanted.insert(name, value.clone());
                }
                wanted
            }
            Configured::Whole | Configured::Parts(_) => set.clone(),
        };
        let found = target.wanted_or(found, wanted, object).await;
        self.note(form, derivation(&found, &sources));
        (found, By::Plans)
    }

    fn note_fault(&mut self, terraform_type: &str) {
        self.faulty.insert(terraform_type.to_owned());
    }

    fn note(&mut self, form: String, derived: Option<Vec<(String, Derived)>>) {
        match (self.forms.entry(form), derived) {
            (Entry::Vacant(entry), Some(inputs)) => {
                entry.insert(Form::Alike { count: 1, inputs });
            }
            (Entry::Vacant(entry), None) => {
                entry.insert(Form::Unlike);
            }
            (Entry::Occupied(mut entry), derived) => match entry.get_mut() {
                Form::Alike { count, inputs } if Some(&*inputs) == derived.as_ref() => *count += 1,
                form => *form = Form::Unlike,
            },
        }
    }
}

/// Inputs that an object may have, the fewest first, by what is left out of them: what was not
/// configured, and what is zero.
fn sources(properties: &Struct, shape: &ResourceShape, configured: &Configured) -> [Struct; 4] {
    let [telling, all] =
        [Settable::Telling, Settable::All].map(|which| inputs_after_import(properties, shape, which));
    let [telling_set, set] =
        [&telling, &all].map(|inputs| configured_inputs(inputs, &shape.object, configured));
    [telling_set, telling, set, all]
}

/// How the inputs follow from the properties; `None` if one does not.
fn derivation(found: &Struct, sources: &[Struct]) -> Option<Vec<(String, Derived)>> {
    let derived = found.iter().map(|(name, value)| {
        let derived = sources.iter().position(|source| source.get(name) == Some(value))?;
        Some((name.to_owned(), derived))
    });
    derived.collect()
}

/// Writes which properties there are, and which are zero, at every level. Of lists and maps, the
/// different forms of the elements count.
fn write_form(bag: &Struct, shape: &Shape, out: &mut String) {
    let Shape::Object(object) = shape else { return };
    out.push('{');
    for (name, value) in bag.iter() {
        out.push_str(name);
        if let Some(field) = object.pulumi(name) {
            write_value_form(value, &field.shape, out);
        }
        out.push(',');
    }
    out.push('}');
}

fn write_value_form(value: &Property, shape: &Shape, out: &mut String) {
    let Ok((view, _)) = property::unwrap(value) else { return };
    match (view, shape) {
        (PropertyView::Object(bag), Shape::Object(_)) => write_form(bag, shape, out),
        (_, Shape::FlattenedList(element) | Shape::FlattenedSet(element)) => {
            write_value_form(value, element, out);
        }
        (PropertyView::List(elements), Shape::List(element) | Shape::Set(element)) => {
            write_elements(elements.iter(), element, out);
        }
        (PropertyView::Object(entries), Shape::Map(element)) => {
            write_elements(entries.values(), element, out);
        }
        (PropertyView::Null, _) => out.push('-'),
        (PropertyView::Bool(value), _) => out.push(if value { '1' } else { '0' }),
        (PropertyView::Number(number), _) => out.push(if number == 0.0 { '0' } else { 'n' }),
        (PropertyView::String(text), _) => out.push(if text.is_empty() { '0' } else { 's' }),
        // Values without a schema have no form.
        _ => {
            let _ = write!(out, "{value:?}");
        }
    }
}

fn write_elements<'a>(elements: impl Iterator<Item = &'a Property>, shape: &Shape, out: &mut String) {
    let forms: BTreeSet<String> = elements
        .map(|element| {
            let mut form = String::new();
            write_value_form(element, shape, &mut form);
            form
        })
        .collect();
    out.push('[');
    for form in forms {
        out.push_str(&form);
        out.push(',');
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bag(members: &[(&str, Property)]) -> Struct {
        members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn objects_of_a_form_share_inputs_once_enough_are_alike() {
        let mut forms = InputForms::default();
        let inputs = vec![("a".to_owned(), 0)];
        for _ in 0..DETERMINED {
            forms.note("x".to_owned(), Some(inputs.clone()));
        }
        assert!(matches!(forms.forms["x"], Form::Alike { count: DETERMINED, .. }));
        forms.note("x".to_owned(), Some(Vec::new()));
        assert!(matches!(forms.forms["x"], Form::Unlike));
        forms.note("x".to_owned(), Some(inputs));
        assert!(matches!(forms.forms["x"], Form::Unlike));
        forms.note("y".to_owned(), None);
        assert!(matches!(forms.forms["y"], Form::Unlike));
    }

    #[test]
    fn an_input_follows_from_the_property_of_its_name() {
        let all = bag(&[("a", Property::from("")), ("b", Property::from("x"))]);
        let telling = bag(&[("b", Property::from("x"))]);
        let sources = [telling, all];
        let found = |name: &str, value: &str| derivation(&bag(&[(name, Property::from(value))]), &sources);
        assert_eq!(found("a", ""), Some(vec![("a".to_owned(), 1)]));
        assert_eq!(found("b", "x"), Some(vec![("b".to_owned(), 0)]));
        assert_eq!(found("b", "y"), None);
    }

    #[test]
    fn a_form_has_what_is_set_and_what_is_zero_but_no_values() {
        let form = |elements: &[Property]| {
            let mut form = String::new();
            write_elements(elements.iter(), &Shape::String, &mut form);
            form
        };
        let [one, other, both, empty] =
            [&["one"][..], &["other"], &["other", "one"], &["one", ""]].map(|texts| {
                let texts: Vec<Property> = texts.iter().map(|text| Property::from(*text)).collect();
                form(&texts)
            });
        assert_eq!((&one, &one), (&other, &both));
        assert_ne!(one, empty);
    }
}
