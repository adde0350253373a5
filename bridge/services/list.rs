//! List: the objects of one resource type, page by page.
//!
//! The engine gets each object's identity in JSON as its id, by which Read imports it.

use std::sync::Arc;

use isthmus_proto::property::Struct;
use isthmus_provider::schema::CatalogueError;
use isthmus_provider::{ListRequest, Listed, Provider};

use isthmus_operations::resource::{Inputs, OperationError, OperationWarnings, Target, describe};
use isthmus_package::catalogue::TokenError;
use isthmus_package::shape::ObjectShape;
use isthmus_session::daemon::{Instance, Paused};
use isthmus_translate::inputs::{Unknowns, canonical};

/// Default page size, as in Pulumi's own bridge.
const USUAL_PAGE: u64 = 100;

#[derive(Debug)]
pub(crate) struct Query {
    /// The resource's token.
    pub token: String,
    /// By the schema's `listInputs`.
    pub query: Struct,
    /// Maximum number of results, or of further results with a continuation token; `None` for all.
    pub limit: Option<u64>,
    pub page_size: Option<u64>,
    /// The continuation token; empty for a new list.
    pub continuation: String,
}

#[derive(Debug)]
pub(crate) enum Started {
    /// The query contains unknown values.
    Unknown,
    Page(Box<Page>),
}

/// A page in progress.
#[derive(Debug)]
pub(crate) struct Page {
    rest: Paused,
    left: u64,
    shape: Arc<ObjectShape>,
}

/// Starts or continues a list.
pub(crate) async fn begin_list(
    instance: &Instance,
    provider: &Provider,
    query: Query,
    warnings: &mut OperationWarnings,
) -> Result<Started, OperationError> {
    let Query { token, query, limit, page_size, continuation } = query;
    let resource = instance.package.resource_by_token(&token).inspect_err(|_| provider.note_failure())?;
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
            reason: "unknown continuation token: it is invalid, or it was used before, or many lists were begun since, or \
                     the provider has ended since",
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
        keep_secrets: false,
        numbers: instance.settings().exact_numbers,
        ..Target::new(provider, Arc::new(shape), instance.package.identity())
    };
    let mut given = query.clone();
    let dropped = canonical(&mut given, &target.shape.object);
    warnings.texts.extend(Inputs::new(&given, &target.shape.object).warnings_of_dropped(&dropped));
    target.require_complete(&given)?;
    let config = target.config(&given, Unknowns::Keep)?;
    if !config.value.is_wholly_known() {
        return Ok(Started::Unknown);
    }
    instance.require_configured().await?;
    let request =
        ListRequest { type_name: terraform_type, config: &config.value, include_object: false, limit };
    let mut diagnostics = Vec::new();
    let listing = provider.list(request, &mut diagnostics).await;
    // These are about the query; the other diagnostics are about the provider's configuration.
    warnings.texts.extend(diagnostics.iter().map(|warning| describe(warning, &target.shape.object)));
    let listing = listing.map_err(|error| target.failed(error))?;
    Ok(Started::Page(Box::new(Page { rest: Paused { listing, token, query }, left, shape: fields })))
}

impl Page {
    /// The next result; `None` at the end of the page or list.
    pub(crate) async fn next(
        &mut self,
        provider: &Provider,
        warnings: &mut OperationWarnings,
    ) -> Result<Option<Listed>, OperationError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let found = self.rest.listing.next(provider, &mut warnings.diagnostics).await;
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

    /// Ends the page. Returns a continuation token if there may be more results.
    pub(crate) fn end(self, instance: &Instance) -> Option<String> {
        (self.rest.listing.left() != Some(0)).then(|| instance.listings.keep(self.rest))
    }
}
