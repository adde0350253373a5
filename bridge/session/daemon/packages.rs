//! The packages of sessions: what is immutable of a provider, shared by all sessions that use it alike.
//!
//! A package has the names of everything in a provider, and the schemas of what was used: megabytes, for a large provider.
//! It follows from the provider's schema and from the parameterization, and the schema follows from the provider binary and
//! what the binary is started with. So sessions with the same share one of each, which is freed with the last of them.

use std::sync::Arc;
use std::time::SystemTime;

use isthmus_provider::schema::{Catalogue, Fingerprint};
use isthmus_provider::schema_cache::{LaunchContext, Program, SchemaCache};
use tokio::sync::Mutex;

use super::weak_table::WeakTable;
use isthmus_package::catalogue::{Identity, Package};
use isthmus_package::parameters::Parameter;

/// The packages in use.
#[derive(Debug, Default)]
pub(super) struct Packages {
    catalogues: WeakTable<Fingerprint, Catalogue>,
    packages: WeakTable<PackageKey, Package>,
    /// Held while a document of a package is rendered.
    renderings: WeakTable<PackageKey, Mutex<()>>,
}

/// What determines a package.
type PackageKey = (Fingerprint, Parameter);

impl Packages {
    /// The package of a provider whose schema is cached, if it is, and when a process was called for the schema. Blocks on the file
    /// system.
    pub(super) fn cached(
        &self,
        cache: &SchemaCache,
        program: &Program,
        context: &LaunchContext,
        identity: Identity,
    ) -> Option<(Arc<Package>, SystemTime)> {
        // Read each time, because another process may have found that the provider's schema depends on more than is known.
        let (fingerprint, asked) = cache.fingerprint(program, context)?;
        let read = || cache.catalogue(fingerprint).map(Arc::new).ok_or(());
        let catalogue = self.catalogues.find_or_try_build(&fingerprint, Catalogue::is_readable, read);
        catalogue.ok().map(|catalogue| (self.of(identity, catalogue), asked))
    }

    /// The package of a provider with this schema.
    pub(super) fn of(&self, identity: Identity, catalogue: Arc<Catalogue>) -> Arc<Package> {
        let fingerprint = catalogue.fingerprint();
        let catalogue =
            self.catalogues.find_or_build(&fingerprint, Catalogue::is_readable, || Arc::clone(&catalogue));
        let key = (fingerprint, identity.parameter.clone());
        let is_usable = |package: &Package| package.catalogue().is_readable();
        // The names of a large provider take two milliseconds.
        self.packages.find_or_build(&key, is_usable, || Arc::new(Package::new(identity, catalogue)))
    }

    /// What is locked while a document of a package is rendered, so that it is not rendered several times at once.
    pub(super) fn rendering(&self, package: &Package) -> Arc<Mutex<()>> {
        let key = (package.catalogue().fingerprint(), package.identity().parameter.clone());
        self.renderings.find_or_build(&key, |_| true, Arc::default)
    }
}
