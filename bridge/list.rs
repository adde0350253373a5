//! List: what there is of one resource type, page by page.
//!
//! An engine gets the identity of each object in JSON for its id, which is what Read imports it by.

use std::sync::Arc;

use isthmus_proto::property::Struct;
use isthmus_provider::schema::CatalogueError;
use isthmus_provider::{ListRequest, Listed, Provider};

use crate::daemon::{Instance, Paused};
use crate::package::catalogue::TokenError;
use crate::package::shape::ObjectShape;
use crate::resource::{
    Inputs, OperationError, OperationWarnings, Target, Timeouts, describe, missing_failure,
};
use crate::translate::inputs::{Missing, Unknowns, missing_required};

/// How many results a page has where the engine does not say. It is what Pulumi's own bridge takes.
const USUAL_PAGE: u64 = 100;

/// What an engine asks for.
#[derive(Debug)]
pub(crate) struct Query {
    /// The resource's token.
    pub token: String,
    /// By the schema's `listInputs`.
    pub query: Struct,
    /// How many results at most; `None` for all. Of a list that is continued: how many more.
    pub limit: Option<u64>,
    /// How many at most in one go.
    pub page_size: Option<u64>,
    /// What the list is continued by; empty for a new one.
    pub continuation: String,
}

/// A list that has begun.
#[derive(Debug)]
pub(crate) enum Started {
    /// What is asked for depends on something that is not known yet.
    Unknown,
    /// Results can be had.
    Page(Box<Page>),
}

/// A page on its way.
#[derive(Debug)]
pub(crate) struct Page {
    rest: Paused,
    left: u64,
    shape: Arc<ObjectShape>,
}

/// Begins a list, or goes on with one.
pub(crate) async fn begin_list(
    instance: &Instance,
    provider: &Provider,
    query: Query,
    notes: &mut OperationWarnings,
) -> Result<Started, OperationError> {
    let Query { token, query, limit, page_size, continuation } = query;
    let resource = instance.package.resource_by_token(&token)?;
    let terraform_type = &resource.terraform_type;
    let shape = instance.package.list(terraform_type).unwrap_or_else(|| {
        let name = terraform_type.to_string();
        Err(TokenError::Schema(CatalogueError::Unknown { kind: "list resource", name }))
    })?;
    let left = page_size.unwrap_or(USUAL_PAGE);
    let fields = Arc::clone(&shape.object);
    if !continuation.is_empty() {
        let taken = instance.listings.take(&continuation);
        let mut rest = taken.ok_or(OperationError::Continuation {
            reason: "there is no such continuation token, or it was used before, or many lists were begun since",
        })?;
        if rest.token != token || rest.query != query {
            return Err(OperationError::Continuation {
                reason: "the continuation token is of a list of something else",
            });
        }
        if let Some(limit) = limit {
            rest.listing.limit(limit);
        }
        return Ok(Started::Page(Box::new(Page { rest, left, shape: fields })));
    }

    let target = Target {
        provider,
        shape: Arc::new(shape),
        package: instance.package.identity(),
        keep_secrets: false,
        timeouts: Timeouts::default(),
        memory: None,
    };
    let missing = missing_required(&query, &target.shape.object);
    if !missing.is_empty() {
        let inputs = Inputs::new(&query, &target.shape.object);
        let failures = missing
            .into_iter()
            .map(|Missing { path, field }| missing_failure(inputs.at(&path), "", &field.description));
        return Err(OperationError::Inputs(failures.collect()));
    }
    let config = target.config(&query, Unknowns::Keep)?;
    if !config.value.is_wholly_known() {
        return Ok(Started::Unknown);
    }
    instance.require_configured().await?;
    let request =
        ListRequest { type_name: terraform_type, config: &config.value, include_object: false, limit };
    let mut warnings = Vec::new();
    let listing = provider.list(request, &mut warnings).await;
    // They are about what was asked for, while those of the other list are about the provider's configuration.
    notes.texts.extend(warnings.iter().map(|warning| describe(warning, &target.shape.object)));
    let listing = listing.map_err(|error| target.failed(error))?;
    Ok(Started::Page(Box::new(Page { rest: Paused { listing, token, query }, left, shape: fields })))
}

impl Page {
    /// The next result. `None`: the page is full, or there are no more.
    pub(crate) async fn next(
        &mut self,
        provider: &Provider,
        notes: &mut OperationWarnings,
    ) -> Result<Option<Listed>, OperationError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let found = self.rest.listing.next(provider, &mut notes.warnings).await;
        found.map_err(|error| OperationError::Provider {
            text: error.to_string(),
            error: Box::new(error),
            outcome_unknown: false,
        })
    }

    /// What warnings are about.
    pub(crate) fn shape(&self) -> &ObjectShape {
        &self.shape
    }

    /// Ends the page. What comes back is what the list is continued by, where more is wanted and there may be more.
    pub(crate) fn end(self, instance: &Instance) -> Option<String> {
        (self.rest.listing.left() != Some(0)).then(|| instance.listings.keep(self.rest))
    }
}
