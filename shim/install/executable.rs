//! Finds a provider binary by a path without its version.

use std::path::{Path, PathBuf};

use isthmus_platform::files::{is_executable, is_named_as_program};

/// The binary at the path `prefix`.
///
/// Released binaries have their version in the name: `./terraform-provider-random` also finds
/// `terraform-provider-random_v3.6.0_x5`. The exact name has precedence, then the lexically first
/// one that continues with `_` or `.`, as in Terraform; executable files have precedence over
/// archives and checksums. If there is none, the path itself is returned, so that the launch
/// reports the error.
pub fn find_executable(prefix: &Path) -> PathBuf {
    // Beside a program for Windows may be one for Linux, without a suffix.
    if is_named_as_program(prefix) {
        return prefix.to_owned();
    }
    let (Some(directory), Some(name)) = (prefix.parent(), prefix.file_name().and_then(|name| name.to_str()))
    else {
        return prefix.to_owned();
    };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    find_in_directory(directory, name).ok().flatten().unwrap_or_else(|| prefix.to_owned())
}

/// The binary in a directory whose name is `name`, or continues with `_` or `.`.
///
/// The lexically first one counts, as in Terraform, but executable files have precedence over
/// archives and checksums.
pub(super) fn find_in_directory(directory: &Path, name: &str) -> std::io::Result<Option<PathBuf>> {
    let candidates = std::fs::read_dir(directory)?
        .filter_map(Result::ok)
        .filter(|entry| {
            let file = entry.file_name();
            let rest = file.to_str().and_then(|file| file.strip_prefix(name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.'])) && entry.path().is_file()
        })
        .map(|entry| entry.path());
    Ok(candidates.min_by_key(|path| (!is_executable(path), path.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for file in files {
            std::fs::write(directory.path().join(file), "").expect("a file");
        }
        directory
    }

    #[test]
    fn a_file_may_carry_its_version_behind_the_name() {
        let directory =
            directory(&["terraform-provider-random_v3.6.0_x5", "terraform-provider-randomizer", "README.md"]);
        let found = find_executable(&directory.path().join("terraform-provider-random"));
        assert_eq!(found, directory.path().join("terraform-provider-random_v3.6.0_x5"));
    }

    #[cfg(unix)]
    #[test]
    fn what_can_be_executed_goes_before_what_lies_beside_it() {
        let directory = directory(&["terraform-provider-random.zip", "terraform-provider-random_v3.6.0"]);
        let program = directory.path().join("terraform-provider-random_v3.6.0");
        isthmus_platform::files::set_mode(&program, 0o755).expect("it is ours");
        assert_eq!(find_executable(&directory.path().join("terraform-provider-random")), program);
    }

    #[test]
    fn a_file_of_exactly_that_name_comes_first() {
        let directory = directory(&["terraform-provider-random.exe", "terraform-provider-random"]);
        let wanted = directory.path().join("terraform-provider-random");
        assert_eq!(find_executable(&wanted), wanted);
    }

    #[test]
    fn what_is_not_there_is_left_to_the_launcher_to_complain_about() {
        let directory = directory(&[]);
        let wanted = directory.path().join("terraform-provider-random");
        assert_eq!(find_executable(&wanted), wanted);
    }
}
