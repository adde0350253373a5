//! Stored inputs, which another version of the provider may have checked.
//!
//! Check validates a program's inputs. A refresh involves no program: the engine sends the stored
//! inputs, in Diff also as the new ones. An attribute may have been renamed or changed its type
//! since, so misfits are dropped; otherwise nothing could be refreshed between an upgrade and the
//! next change.

use std::borrow::Cow;

use isthmus_cty::{AttributePath, PathStep};
use isthmus_proto::property::Struct;
use isthmus_provider::schema::Block;

use super::{Inputs, OperationError, Target, write_only};
use isthmus_package::shape::{Field, ObjectShape};
use isthmus_translate::inputs::{Config, InputFailure, Unknowns, config_from_inputs, config_from_stored};
use isthmus_translate::property::contains_secret;

/// The functions that read inputs, which treat properties unknown to the schema differently.
type Reading = fn(&Struct, &ObjectShape, &Block, Unknowns) -> Result<Config, Vec<InputFailure>>;

impl Target<'_> {
    /// The configuration of the inputs that fit the schema. Checked inputs do.
    pub(super) fn config_as_far_as_it_fits(
        &self,
        inputs: &Struct,
        unknowns: Unknowns,
    ) -> Result<Config, OperationError> {
        let (config, _) = self.fitting(inputs, unknowns, config_from_stored)?;
        Ok(config)
    }

    /// The secret paths of stored inputs.
    ///
    /// Of a property that does not fit any more, all is secret. If the schema does not have it at
    /// all, it may be renamed: every settable property without a value may be it.
    pub(super) fn secrets_of(&self, inputs: &Struct) -> Vec<AttributePath> {
        let inputs = write_only::without_marks(inputs.clone(), &self.shape.object);
        let (mut secrets, misfits) = match self.fitting(&inputs, Unknowns::Keep, config_from_inputs) {
            Ok((config, misfits)) => (config.secrets, misfits),
            Err(_) => (Vec::new(), inputs.keys().map(str::to_owned).collect()),
        };
        // An unreadable value counts as secret.
        let is_secret =
            |name: &String| inputs.get(name).is_some_and(|input| contains_secret(input) != Ok(false));
        let fields = &self.shape.object.fields;
        for misfit in misfits.into_iter().filter(is_secret) {
            match self.shape.object.pulumi(&misfit) {
                Some(field) => secrets.push(path_of(field)),
                None => secrets.extend(
                    fields
                        .iter()
                        .filter(|field| {
                            (field.optional || field.required) && !inputs.contains_key(&field.pulumi)
                        })
                        .map(path_of),
                ),
            }
        }
        secrets
    }

    /// The result of `read` for the properties that fit, and the names of the others.
    fn fitting(
        &self,
        inputs: &Struct,
        unknowns: Unknowns,
        read: Reading,
    ) -> Result<(Config, Vec<String>), OperationError> {
        let mut inputs = Cow::Borrowed(inputs);
        let mut misfits = Vec::new();
        loop {
            let failures = match read(&inputs, &self.shape.object, &self.shape.schema.block, unknowns) {
                Ok(config) => return Ok((config, misfits)),
                Err(failures) => failures,
            };
            // A property may have several failures. Each iteration removes at least one property.
            let before = misfits.len();
            for name in failures.iter().filter_map(|failure| failure.path.top_level()) {
                if inputs.to_mut().remove(name).is_some() {
                    misfits.push(name.to_owned());
                }
            }
            if misfits.len() == before {
                let inputs = Inputs::new(&inputs, &self.shape.object);
                return Err(OperationError::Inputs(inputs.failures(failures)));
            }
        }
    }
}

fn path_of(field: &Field) -> AttributePath {
    AttributePath(vec![PathStep::Attribute(field.terraform.clone())])
}
