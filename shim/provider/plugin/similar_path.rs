//! A suggestion for a path that does not exist.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Maximum number of compared names in a directory.
const MOST_NAMES: usize = 10_000;

/// Maximum length of compared names.
const LONGEST_NAME: usize = 256;

/// Minimum similarity.
const ALIKE: f64 = 0.6;

/// Common prefix of provider binaries, which is not compared.
pub(super) const PROVIDER_PREFIX: &str = "terraform-provider-";

/// An existing path that differs from `missing` in one misspelt name. Blocks on the file system.
pub fn similar_path(missing: &Path) -> Option<PathBuf> {
    // The first missing name, from the root.
    let absent = missing.ancestors().take_while(|path| !is_there(path)).last()?;
    let rest = missing.strip_prefix(absent).ok()?;
    let name = absent.file_name()?.to_str().filter(|name| name.len() <= LONGEST_NAME)?;
    let directory = absent.parent()?;
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let names = std::fs::read_dir(listed).ok()?.take(MOST_NAMES).filter_map(Result::ok);
    let mut alike: Vec<(f64, PathBuf)> = names
        .filter_map(|entry| {
            let found = entry.file_name();
            let likeness = likeness(name, found.to_str()?);
            (likeness >= ALIKE).then(|| (likeness, directory.join(found)))
        })
        .collect();
    // Among equally similar names, prefers the one with the given prefix.
    let is_renamed = |path: &PathBuf| {
        let found = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        found.starts_with(PROVIDER_PREFIX) != name.starts_with(PROVIDER_PREFIX)
    };
    alike.sort_by(|(one, first), (other, second)| {
        let by_prefix = || is_renamed(first).cmp(&is_renamed(second));
        other.total_cmp(one).then_with(by_prefix).then_with(|| first.cmp(second))
    });
    let whole = |path: PathBuf| if rest.as_os_str().is_empty() { path } else { path.join(rest) };
    alike.into_iter().map(|(_, path)| whole(path)).find(|path| is_there(path))
}

/// An empty path is the working directory.
fn is_there(path: &Path) -> bool {
    path.as_os_str() == OsStr::new("") || path.exists()
}

/// How alike two names are, without the suffix of programs.
fn likeness(wanted: &str, found: &str) -> f64 {
    let [wanted, found] = [wanted, found].map(|name| name.strip_suffix(EXE_SUFFIX).unwrap_or(name));
    let alike = |one: &str, other: &str| {
        strsim::normalized_damerau_levenshtein(&one.to_lowercase(), &other.to_lowercase())
    };
    let of_types = alike(provider_type(wanted), provider_type(found));
    if wanted.starts_with(PROVIDER_PREFIX) && found.starts_with(PROVIDER_PREFIX) {
        of_types
    } else {
        of_types.max(alike(wanted, found))
    }
}

/// The type in the name of a provider binary, without a version; other names as they are.
fn provider_type(name: &str) -> &str {
    match name.strip_prefix(PROVIDER_PREFIX) {
        Some(rest) => rest.split_once("_v").map_or(rest, |(provider_type, _)| provider_type),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_leads_to_the_one_that_is_there() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join("bin")).expect("a directory");
        for file in ["terraform-provider-random_v3.8.0_x5", "bin/terraform-provider-aws", "stack.json"] {
            std::fs::write(directory.path().join(file), "").expect("a file");
        }
        let similar = |path: &str| {
            let found = similar_path(&directory.path().join(path))?;
            Some(found.strip_prefix(directory.path()).expect("it is below").display().to_string())
        };
        for (path, expected) in [
            ("terraform-provider-randm", Some("terraform-provider-random_v3.8.0_x5")),
            ("terrafrom-provider-random_v3.8.0_x5", Some("terraform-provider-random_v3.8.0_x5")),
            ("random", Some("terraform-provider-random_v3.8.0_x5")),
            ("Terraform-Provider-Random", Some("terraform-provider-random_v3.8.0_x5")),
            ("bni/terraform-provider-aws", Some("bin/terraform-provider-aws")),
            ("bin/terraform-provider-asw", Some("bin/terraform-provider-aws")),
            ("stack.jsn", Some("stack.json")),
            // Only the prefix in common.
            ("terraform-provider-google", None),
            ("bni/terraform-provider-google", None),
            ("", None),
            ("bin", None),
        ] {
            assert_eq!(similar(path).as_deref(), expected, "{path}");
        }
        assert_eq!(similar(&"x".repeat(5000)), None);
    }
}
