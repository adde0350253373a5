//! Inputs that an engine has stored, which may have been checked by another version of the provider.
//!
//! A program is told by Check what is wrong with its inputs. When an engine refreshes there is no program: it sends what was
//! stored, and in Diff the same in the place of what a program wants. An attribute may have got another name or type since, so
//! what does not fit any more is passed over, or nothing could be refreshed between an upgrade and the next change.

use std::borrow::Cow;

use isthmus_cty::{AttributePath, PathStep};
use isthmus_proto::property::Struct;
use isthmus_provider::schema::Block;

use super::{Inputs, OperationError, Target, write_only};
use crate::package::shape::{Field, ObjectShape};
use crate::translate::inputs::{Config, InputFailure, Unknowns, config_from_inputs, config_from_stored};
use crate::translate::property::contains_secret;

/// How inputs are read: the two ways differ in what they make of properties that the schema does not have.
type Reading = fn(&Struct, &ObjectShape, &Block, Unknowns) -> Result<Config, Vec<InputFailure>>;

impl Target<'_> {
    /// The configuration that inputs stand for as far as they fit the schema. Those that Check has let through fit.
    pub(super) fn config_as_far_as_it_fits(
        &self,
        inputs: &Struct,
        unknowns: Unknowns,
    ) -> Result<Config, OperationError> {
        let (config, _) = self.fitting(inputs, unknowns, config_from_stored)?;
        Ok(config)
    }

    /// Where stored inputs are secret.
    ///
    /// Of a property that does not fit any more nobody knows which part of it is the secret, so all of it is one. And one that
    /// the schema does not have may have another name now: it may be whatever could be set, and was not.
    pub(super) fn secrets_of(&self, inputs: &Struct) -> Vec<AttributePath> {
        let inputs = write_only::without_marks(inputs.clone(), &self.shape.object);
        let (mut secrets, misfits) = match self.fitting(&inputs, Unknowns::Keep, config_from_inputs) {
            Ok((config, misfits)) => (config.secrets, misfits),
            Err(_) => (Vec::new(), inputs.keys().map(str::to_owned).collect()),
        };
        // What cannot be read is no reason to show it.
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

    /// What `read` makes of the properties that fit, and the names of the others.
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
            // A property may have several failures. Each turn takes out one property at least.
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
