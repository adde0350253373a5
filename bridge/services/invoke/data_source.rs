//! Data sources.
//!
//! Core reads a data source only when all arguments are known. Until then, it plans configured
//! values as they are and computed ones as unknown; so does a preview here.

use std::sync::Arc;

use isthmus_proto::property::Struct;
use isthmus_provider::{DataSourceAnswer, Provider, rules};

use super::invocation::{ResultOptions, refusal, remember};
use isthmus_operations::resource::{OperationError, OperationWarnings, Target, describe};
use isthmus_package::shape::ResourceShape;
use isthmus_session::daemon::Instance;
use isthmus_translate::inputs::{Config, Unknowns};

pub(super) async fn read(
    instance: &Instance,
    provider: &Provider,
    shape: Arc<ResourceShape>,
    arguments: &Struct,
    result_options: ResultOptions,
    warnings: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let target = Target {
        keep_secrets: result_options.keep_secrets,
        numbers: instance.settings().exact_numbers,
        ..Target::new(provider, shape, instance.package.identity())
    };
    let config =
        target.config(arguments, if result_options.preview { Unknowns::Keep } else { Unknowns::Reject })?;
    if !config.value.is_wholly_known() {
        return not_known_yet(&target, &config, warnings);
    }
    instance.require_configured().await?;
    let mut diagnostics = Vec::new();
    let type_name = &target.shape.terraform_type;
    let read = provider.read_data_source(type_name, &config.value, &mut diagnostics).await;
    remember(&mut diagnostics, &target, warnings);
    let answer = read.map_err(|error| refusal(&target, arguments, error))?;
    match answer {
        DataSourceAnswer::Deferred(deferral) if result_options.preview => {
            let subject = format!("reading the data source {type_name}");
            let meanwhile = "Until then its results are unknown, and an update fails.";
            warnings.texts.push(describe(&deferral.warning(&subject, meanwhile), &target.shape.object));
            not_known_yet(&target, &config, warnings)
        }
        answer => {
            let state = answer.read(provider, type_name).map_err(|error| target.failed(error))?;
            let outputs = target.outputs(&state, &config.secrets, false)?;
            warnings.append(target.warnings.take());
            Ok(outputs)
        }
    }
}

/// The results that are known before the read.
fn not_known_yet(
    target: &Target<'_>,
    config: &Config,
    warnings: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let planned = rules::planned_from_config(&target.shape.schema.block, &config.value);
    let outputs = target.outputs(&planned, &config.secrets, true)?;
    warnings.append(target.warnings.take());
    Ok(outputs)
}
