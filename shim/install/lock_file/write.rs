//! Writing of a lock file in OpenTofu's canonical form.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;

use hcl_edit::expr::Expression;
use isthmus_common::permissions::FILE;
use isthmus_common::scratch::ScratchDirectory;

use super::ProviderLock;
use crate::ProviderAddress;
use crate::address::host_in_ascii;

/// The blocks of all providers.
pub(super) fn providers(
    formatter: &mut fmt::Formatter<'_>,
    providers: &BTreeMap<ProviderAddress, ProviderLock>,
) -> fmt::Result {
    let mut providers: Vec<_> = providers.iter().collect();
    // Hosts are ordered in ASCII.
    providers.sort_by_key(|(address, _)| {
        (host_in_ascii(address.host()).into_owned(), address.namespace(), address.provider_type())
    });
    for (address, ProviderLock { version, constraint, hashes }) in providers {
        writeln!(formatter, "\nprovider {} {{", quoted(&address.to_string()))?;
        let constraints = constraint.canonical();
        if constraints.is_empty() {
            writeln!(formatter, "  version = {}", quoted(&version.to_string()))?;
        } else {
            writeln!(formatter, "  version     = {}", quoted(&version.to_string()))?;
            writeln!(formatter, "  constraints = {}", quoted(&constraints))?;
        }
        if !hashes.is_empty() {
            formatter.write_str("  hashes = [\n")?;
            for hash in hashes {
                writeln!(formatter, "    {},", quoted(hash.as_str()))?;
            }
            formatter.write_str("  ]\n")?;
        }
        formatter.write_str("}\n")?;
    }
    Ok(())
}

fn quoted(text: &str) -> Expression {
    text.into()
}

/// Replaces the file atomically.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let scratch = ScratchDirectory::beside(path)?;
    // Minus the user's umask.
    let mut file = scratch.file(FILE)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
