//! What an import takes, for errors: most providers only say that they found nothing.
//!
//! A provider documents the form of an id in pages that are not part of its schema. The schema has
//! the description of attribute `id`, and the attributes of an identity.

use isthmus_provider::ProviderError;

use crate::resource::{OperationError, Target};

impl Target<'_> {
    /// The error of a failed import, with what an import takes if the provider refused the id.
    pub async fn failed_import(&self, error: ProviderError) -> OperationError {
        let is_refused = matches!(error, ProviderError::Diagnostics { .. } | ProviderError::Import { .. });
        let mut failed = self.failed(error);
        if let (true, OperationError::Provider { text, .. }) = (is_refused, &mut failed)
            && let Some(form) = self.import_form().await
        {
            text.push_str("\nhelp: ");
            text.push_str(&form);
        }
        failed
    }

    /// What an import of this type takes; `None` if the provider does not tell.
    pub(super) async fn import_form(&self) -> Option<String> {
        let description = self.shape.object.terraform("id").map(|id| id.description.trim());
        let of_id = description.filter(|text| !text.is_empty()).map(|text| {
            format!(
                "the provider describes attribute `id`, by which most resources are imported, as {text:?}"
            )
        });
        let identity = match self.provider.resource(&self.shape.terraform_type) {
            // The error that this belongs to counts, not another one about identities.
            Ok(resource) => resource.identity_schema(&mut Vec::new()).await.ok().flatten(),
            Err(_) => None,
        };
        let of_identity = identity.map(|schema| {
            format!("in place of an id, its identity is taken, a JSON object of {}", schema.described())
        });
        let forms: Vec<String> = of_id.into_iter().chain(of_identity).collect();
        (!forms.is_empty()).then(|| forms.join("; "))
    }
}
