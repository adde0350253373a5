//! Limits of the process: open files, core dumps, and sizes of files.
//!
//! The limit of open files applies to connections, pipes and databases. A process without free
//! descriptors cannot accept the engine's connection, and so cannot report why. So the soft limit is
//! raised before a port is opened, and if the hard limit is too low, the program ends with the
//! reason.
//!
//! It is raised to [`SERVED`], so that a thousand idle connections do not keep an engine from
//! opening one, and no further: providers inherit it. Those in Go raise their own to the hard limit.
//!
//! A core dump contains all memory: the key of the state store, and the secrets of programs. So there
//! is none, nor of the providers, which inherit the limit and have the same secrets. The hard limit
//! stays, so that a wrapper around a provider can raise the soft one to debug it.

use isthmus_platform::process::{OpenFilesLimit, open_files_limit, set_open_files_limit};

/// Lower soft limits are raised to this: a thousand connections several times.
const SERVED: u64 = 4096;

/// The default of most systems, which is recommended where the hard limit is too low.
const ORDINARY: u64 = 1024;

/// Serving an engine with one provider takes some 40 descriptors; the rest is for more connections.
const NEEDED: u64 = 64;

#[derive(Debug, thiserror::Error)]
#[error(
    "the limit of open files is {limit}, and at least {NEEDED} are needed\nhelp: raise the hard limit, for example by \
     `ulimit -n {ORDINARY}` in the shell or `LimitNOFILE={ORDINARY}` of the service that starts the engine"
)]
pub(crate) struct TooFewOpenFiles {
    limit: u64,
}

/// Raises the soft limit of open files if it is low.
///
/// # Errors
/// If the hard limit is too low.
pub(crate) fn ensure_open_files() -> Result<(), TooFewOpenFiles> {
    let found = open_files_limit();
    let Some(soft) = raised(found) else { return Ok(()) };
    let wanted = OpenFilesLimit { soft: Some(soft), ..found };
    // Should this fail nevertheless, the limit is unchanged.
    let limit = if set_open_files_limit(wanted).is_ok() { soft } else { found.soft.unwrap_or(soft) };
    if limit < NEEDED { Err(TooFewOpenFiles { limit }) } else { Ok(()) }
}

/// The soft limit to set; `None` if the present one is high enough.
fn raised(limit: OpenFilesLimit) -> Option<u64> {
    let soft = limit.soft.filter(|soft| *soft < SERVED)?;
    Some(limit.hard.unwrap_or(SERVED).min(SERVED).max(soft))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_is_raised_as_far_as_the_hard_limit_allows() {
        let raised = |soft, hard| raised(OpenFilesLimit { soft, hard });
        assert_eq!(raised(Some(20), None), Some(SERVED));
        assert_eq!(raised(Some(20), Some(1_048_576)), Some(SERVED));
        assert_eq!(raised(Some(20), Some(200)), Some(200));
        assert_eq!(raised(Some(20), Some(20)), Some(20));
        assert_eq!(raised(Some(1024), Some(1_048_576)), Some(SERVED));
        assert_eq!(raised(Some(4096), None), None);
        assert_eq!(raised(None, None), None);
    }
}
