//! Finding providers' programs: what a provider is called, which of its versions will do, and where it lies.

mod address;
mod cache;
mod constraint;
mod executable;
mod platform;

pub use address::{AddressError, DEFAULT_HOST, DEFAULT_NAMESPACE, PartFault, ProviderAddress};
pub use cache::{CachedProvider, NotCached, ProviderCache, Skipped};
pub use constraint::{ConstraintError, ConstraintFault, VersionConstraint};
pub use executable::find_executable;
pub use platform::Platform;
