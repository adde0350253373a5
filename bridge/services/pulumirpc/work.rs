//! A call about one resource: its session, provider, target and deadline.

use std::borrow::Cow;
use std::sync::Arc;

use isthmus_common::fail_point;
use isthmus_proto::property::Struct;
use isthmus_provider::{Limit, Provider};
use tonic::{Request, Status};

use crate::serve::{limit, session_of, show_warnings};
use crate::status::{self, RequestError};
use isthmus_context::settings::WriteOnly;
use isthmus_operations::resource::{EarlierPlans, JournaledResource, OperationError, Target};
use isthmus_package::catalogue::TokenError;
use isthmus_package::urn::Urn;
use isthmus_session::daemon::{Call, Instance, Session};
use isthmus_translate::meta::Meta;

pub(super) struct Work {
    pub(super) session: Arc<Session>,
    pub(super) instance: Arc<Instance>,
    pub(super) urn: String,
    /// A handle of its provider, whose calls end by the limit.
    provider: Provider,
    limit: Limit,
    /// For as long as it is under way.
    _call: Call,
}

impl Work {
    pub(super) async fn begin<Message>(
        request: &Request<Message>,
        urn: impl Fn(&Message) -> &String,
    ) -> Result<Self, Status> {
        fail_point("call-received");
        let (session, instance) = parameterized(request).await?;
        let urn = urn(request.get_ref()).clone();
        let call = instance.calls.begin(&urn);
        session.works_on(&instance.package.identity().name, &urn).await;
        fail_point("call-begun");
        let limit = limit(&session, &call);
        let provider = instance.provider().within(&limit);
        Ok(Self { session, instance, urn, provider, limit, _call: call })
    }

    /// The resource type: that of the request, or (engines before 3.154) of its URN.
    /// `olds` is the resource's stored state, if the engine has it.
    pub(super) async fn target(&self, type_token: &str, olds: Option<&Struct>) -> Result<Target<'_>, Status> {
        let token = match Urn(&self.urn).resource_type() {
            _ if !type_token.is_empty() => type_token,
            Some(own) => own,
            None => {
                let text = format!("{:?} is not the URN of a resource", self.urn);
                return Err(RequestError::Invalid(text).into());
            }
        };
        let shape = self
            .instance
            .package
            .resource_by_token(token)
            .inspect_err(|_| self.provider.note_failure())
            .map_err(|error| status::of_operation(self.unknown_type(error, olds)))?;
        Ok(Target {
            keep_secrets: self.session.accepts_secrets(),
            numbers: self.session.settings().exact_numbers,
            plans: Some(EarlierPlans { key: Cow::Borrowed(&self.urn), plans: &self.instance.plans }),
            journaled: Some(JournaledResource {
                urn: &self.urn,
                id: "",
                caller: self.session.caller(),
                operations: self.session.daemon().operations(),
            }),
            ..Target::new(&self.provider, shape, self.instance.package.identity())
        })
    }

    /// A type that a resource of the stack has was removed from the provider.
    fn unknown_type(&self, error: TokenError, olds: Option<&Struct>) -> OperationError {
        match (&error, olds.filter(|olds| !olds.is_empty())) {
            (TokenError::Unknown { .. }, Some(olds)) => {
                let current = self.instance.package.identity().provider_version();
                // A state that cannot be read does not say it.
                let source = Meta::from_properties(olds).ok().and_then(|meta| meta.source);
                let version = source.and_then(|source| source.provider_version);
                let version = version.filter(|version| Some(version.as_str()) != current);
                OperationError::RemovedType { error: Box::new(error), version, urn: self.urn.clone() }
            }
            _ => error.into(),
        }
    }

    pub(super) async fn configured_target(
        &self,
        type_token: &str,
        olds: Option<&Struct>,
    ) -> Result<Target<'_>, Status> {
        self.instance.require_configured().await.map_err(status::of_operation)?;
        self.target(type_token, olds).await
    }

    /// The same for a resource that the engine has, which is evidence that it was told of its creation.
    pub(super) async fn known_target<'a>(
        &'a self,
        type_token: &str,
        id: &'a str,
        olds: Option<&Struct>,
    ) -> Result<Target<'a>, Status> {
        let target = self.configured_target(type_token, olds).await?.known_as(id);
        self.mentions(id).await;
        Ok(target)
    }

    /// The engine has the resource under this id.
    pub(super) async fn mentions(&self, id: &str) {
        let package = &self.instance.package.identity().name;
        self.session.daemon().operations().mentioned(&self.urn, id, package, self.session.caller()).await;
    }

    /// Restores the write-only values that are withheld from the engine.
    pub(super) fn reveal(&self, target: &Target<'_>, inputs: Option<Struct>) -> Struct {
        self.instance.write_only.reveal(&self.urn, inputs.unwrap_or_default(), &target.shape.object)
    }

    /// The same for what is about to be applied.
    ///
    /// # Errors
    /// If the values were only in the memory of another process.
    pub(super) fn reveal_to_apply(
        &self,
        target: &Target<'_>,
        inputs: Option<Struct>,
    ) -> Result<Struct, RequestError> {
        let inputs = inputs.unwrap_or_default();
        let is_withholding = self.session.settings().write_only == WriteOnly::Hash;
        if is_withholding && self.instance.write_only.are_lost(&self.urn, &inputs, &target.shape.object) {
            return Err(RequestError::WriteOnlyLost);
        }
        Ok(self.reveal(target, Some(inputs)))
    }

    /// Runs an operation until it is interrupted or the engine's timeout passes.
    pub(super) async fn limited<T>(
        &self,
        target: &Target<'_>,
        operation: impl Future<Output = Result<T, OperationError>>,
    ) -> Result<T, OperationError> {
        if let Some(time) = target.time_limit() {
            self.limit.at_most(time);
        }
        operation.await.map_err(|error| target.explained(error, &self.limit))
    }

    /// Shows the provider's warnings and maps an error to its status.
    pub(super) async fn finish<T>(
        &self,
        target: &Target<'_>,
        outcome: Result<T, OperationError>,
    ) -> Result<T, Status> {
        self.show(target).await;
        outcome.map_err(status::of_operation)
    }

    /// The same for a Create or an Update. A resource that has to wait is warned of: engines show nothing else of it.
    pub(super) async fn finish_change<T>(
        &self,
        target: &Target<'_>,
        outcome: Result<T, OperationError>,
    ) -> Result<T, Status> {
        if let Err(OperationError::Provider { error, text, .. }) = &outcome
            && status::is_awaited(error)
        {
            target.warnings.warn_in_texts([text.clone()]);
        }
        self.show(target).await;
        outcome.map_err(status::of_change)
    }

    async fn show(&self, target: &Target<'_>) {
        fail_point("answer-ready");
        show_warnings(&self.session, &target.warnings.take(), &target.shape.object, &self.urn).await;
        fail_point("warnings-shown");
    }
}

pub(super) async fn parameterized<Message>(
    request: &Request<Message>,
) -> Result<(Arc<Session>, Arc<Instance>), Status> {
    let session = session_of(request)?;
    let instance = session.instance().await.map_err(status::of_session)?;
    Ok((session, instance))
}
