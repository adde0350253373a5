//! The service of the legacy engine, `lumirpc.ResourceProvider`.
//!
//! As in `pulumirpc`, each method decodes a message, calls the operation, and encodes the response.
//! `proto/lumirpc/provider.proto` documents what the engine does with each call. It does not
//! interpret status codes; they are those that today's engine gets.

use std::sync::Arc;

use isthmus_proto::lumirpc::resource_provider_server::ResourceProvider;
use isthmus_proto::lumirpc::{
    CheckFailure, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest,
    DiffResponse, GetRequest, GetResponse, NameRequest, NameResponse, UpdateRequest, UpdateResponse,
};
use isthmus_proto::property::Struct;
use tonic::{Request, Response, Status};

use crate::serve::{run_to_completion, session_of};
use crate::status::RequestError;
use isthmus_operations::resource::{self, AutonamingMode, Naming, Operation};

use super::name::{resource_name, without_names};
use super::stored_resource::Created;
use super::work::{Work, confirm_answer};

/// Stateless: all state is in the connection's session and in the state store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LumiService;

/// The resource's name, by which the engine calls it in every call about it; `None` if its properties give none.
fn name_of(type_token: &str, properties: Option<&Struct>) -> Option<String> {
    resource_name(type_token, properties?).ok()
}

#[tonic::async_trait]
impl ResourceProvider for LumiService {
    async fn name(&self, request: Request<NameRequest>) -> Result<Response<NameResponse>, Status> {
        // Fails if the settings are invalid.
        session_of(&request)?;
        let request = request.into_inner();
        let name = resource_name(&request.r#type, &request.properties.unwrap_or_default())
            .map_err(|error| RequestError::Invalid(error.to_string()))?;
        Ok(Response::new(NameResponse { name }))
    }

    async fn check(&self, request: Request<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        let stored = work.resource(&request.r#type, None).await?;
        let properties = request.properties.unwrap_or_default();
        // The engine calls Name first, which fails for a resource without a valid name.
        let name = resource_name(&request.r#type, &properties).unwrap_or_default();
        let inputs = without_names(Some(properties), &stored.target.shape);
        // An earlier generated name is among the inputs: the engine stores it and sends it until it
        // replaces the resource.
        let naming =
            Naming { resource: &name, olds: &Struct::new(), seed: &[], autonaming_mode: AutonamingMode::Any };
        let checking = async { Ok(resource::check(&stored.target, inputs.clone(), Some(&naming)).await?) };
        let checked = work.limited(&stored, checking).await;
        let checked = work.finish(&stored, checked).await?;
        // Only additions to the inputs, that is a generated name, which the engine stores and sends
        // again. Defaults of the provider are left out: the provider sets them itself at each call,
        // and a stored one would outlast a newer provider's change of it.
        let defaults: Struct = checked
            .inputs
            .into_iter()
            .filter(|(name, _)| inputs.get(name).is_none_or(|value| value.is_null()))
            .filter(|(_, value)| !value.is_null())
            .collect();
        let failures = checked
            .failures
            .into_iter()
            .map(|failure| {
                let (property, reason) = failure.into_parts();
                CheckFailure { property, reason }
            })
            .collect();
        Ok(Response::new(CheckResponse { defaults: (!defaults.is_empty()).then_some(defaults), failures }))
    }

    async fn diff(&self, request: Request<DiffRequest>) -> Result<Response<DiffResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        let name = name_of(&request.r#type, request.news.as_ref());
        let mut stored = work.configured_resource(&request.r#type, name).await?;
        let olds = without_names(request.olds, &stored.target.shape);
        let news = without_names(request.news, &stored.target.shape);
        stored.target = stored.target.compared(Some(&olds));
        let replaces = work.limited(&stored, stored.diff(&request.id, &olds, news)).await;
        let replaces = work.finish(&stored, replaces).await?;
        Ok(Response::new(DiffResponse { replaces }))
    }

    async fn create(&self, request: Request<CreateRequest>) -> Result<Response<CreateResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        let name = name_of(&request.r#type, request.properties.as_ref());
        let session = Arc::clone(&work.session);
        let created = run_to_completion(Arc::clone(&session), async move {
            let stored = work.configured_resource(&request.r#type, name).await?;
            let stored = stored.for_operation(Operation::Create, None);
            let inputs = without_names(request.properties, &stored.target.shape);
            let created = work.limited(&stored, stored.create(&inputs)).await;
            let (unconfirmed, created) = match created {
                Ok(Created { id, outputs, unconfirmed }) => {
                    (Some(unconfirmed), Ok(CreateResponse { id, properties: Some(outputs) }))
                }
                Err(error) => (error.unconfirmed(), Err(error)),
            };
            Ok((unconfirmed, work.finish(&stored, created).await))
        });
        // Only here: where the call was broken off, the change completes, and nothing is answered.
        let (unconfirmed, answer) = created.await?.into_inner();
        if let Some(unconfirmed) = unconfirmed {
            confirm_answer(&session, unconfirmed);
        }
        answer.map(Response::new)
    }

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        let stored = work.configured_resource(&request.r#type, None).await?;
        let stored = stored.for_operation(Operation::Read, None);
        let properties = work.limited(&stored, stored.get(&request.id)).await;
        let properties = work.finish(&stored, properties).await?;
        Ok(Response::new(GetResponse { properties }))
    }

    async fn update(&self, request: Request<UpdateRequest>) -> Result<Response<UpdateResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        let name = name_of(&request.r#type, request.news.as_ref());
        run_to_completion(Arc::clone(&work.session), async move {
            let stored = work.configured_resource(&request.r#type, name).await?;
            let olds = without_names(request.olds, &stored.target.shape);
            let stored = stored.for_operation(Operation::Update, Some(&olds));
            let news = without_names(request.news, &stored.target.shape);
            let outputs = work.limited(&stored, stored.update(&request.id, &olds, news)).await;
            let outputs = work.finish(&stored, outputs).await?;
            Ok(UpdateResponse { properties: Some(outputs) })
        })
        .await
    }

    async fn delete(&self, request: Request<DeleteRequest>) -> Result<Response<()>, Status> {
        let (work, request) = Work::begin(request).await?;
        let name = name_of(&request.r#type, request.properties.as_ref());
        run_to_completion(Arc::clone(&work.session), async move {
            let stored = work.configured_resource(&request.r#type, name).await?;
            let stored = stored.for_operation(Operation::Delete, None);
            let properties = without_names(request.properties, &stored.target.shape);
            let deleted = work.limited(&stored, stored.delete(&request.id, &properties)).await;
            work.finish(&stored, deleted).await
        })
        .await
    }
}
