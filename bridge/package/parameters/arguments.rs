//! The arguments after `terraform-provider` on the command line.

use std::collections::BTreeSet;

use isthmus_platform::IS_WINDOWS;

use super::flags::{self, FlagError, FlagKind};
use crate::names::choices::NameChoices;

/// Help for a version constraint that a shell split.
const SURPLUS_HELP: &str =
    "\nhelp: a version constraint is one argument: put quotes around the whole of it, as in '~> 3.8'";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    pub source: Source,
    /// Terraform names (of resources, data sources, functions) to include; empty: all.
    pub includes: Vec<String>,
    /// Terraform names to exclude.
    pub excludes: Vec<String>,
    /// The package's name, if it is not the provider's.
    pub provider_name: Option<String>,
    /// The names of an SDK. On the command line there are none: the project's `isthmus.toml` has them.
    pub names: NameChoices,
    /// Directory to which `GetSchema` also writes `_index.md`.
    pub index_document_directory: Option<String>,
}

/// The origin of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// From a registry.
    Remote(RemoteArguments),
    /// From a file.
    Local(LocalArguments),
}

/// A provider of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteArguments {
    /// `[host/][namespace/]type`, as written.
    pub name: String,
    /// A version constraint, as written; empty is any version.
    pub version: String,
    /// Read documentation from the provider's repository.
    pub full_documentation: bool,
}

/// A provider in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalArguments {
    /// The path, as written. It is a prefix of the file's path: the file's name may be longer.
    pub path: String,
    /// The provider's repository, for documentation.
    pub upstream_repository: Option<String>,
}

/// The arguments are invalid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ArgumentsError {
    /// Too few or too many arguments; the only one of these errors with gRPC's `InvalidArgument`.
    #[error("accepts between 1 and 2 arg(s), received {0}{help}", help = count_help(*.0))]
    Count(usize),
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// A path with further arguments.
    #[error("local providers only accept one argument, found {0}")]
    LocalCount(usize),
    /// A Terraform name is both included and excluded.
    #[error("tokens cannot be both included and excluded: {0}")]
    Conflict(String),
    /// `--fullDocs` with a path.
    #[error("fullDocs only applies to remote providers{0}")]
    FullDocsOfLocal(&'static str),
    /// `--upstreamRepoPath` with an address.
    #[error("upstreamRepoPath only applies to local providers")]
    UpstreamOfRemote,
    /// A request for help: [`Arguments::usage`] is logged.
    #[error("help text displayed")]
    Help,
}

impl Source {
    /// The provider, as written.
    pub fn name(&self) -> &str {
        match self {
            Self::Remote(remote) => &remote.name,
            Self::Local(local) => &local.path,
        }
    }
}

impl Arguments {
    /// The help text. Documentation flags are shown to Pulumi's developers only.
    pub fn usage(for_developers: bool) -> String {
        let mut usage = "\
Usage:
  ./path/to/terraform-provider-NAME [flags]
  [HOST/][NAMESPACE/]NAME [VERSION CONSTRAINT] [flags]

Flags:
      --include NAMES         Terraform names (resources, data sources, functions), separated by commas:
                              the package has these only
      --exclude NAMES         Terraform names, separated by commas: the package goes without these
      --provider-name NAME    call the package NAME instead of like the provider
"
        .to_owned();
        if for_developers {
            usage.push_str(
                "\
      --fullDocs              add the provider's own documentation, from its repository at GitHub
      --upstreamRepoPath DIR  the same for a provider in a file, from its repository in a directory
      --indexDocOutDir DIR    also write an overview of the package, _index.md, into a directory
",
            );
        }
        usage.push_str("  -h, --help                  show this text\n");
        usage
    }

    pub fn parse(arguments: &[String]) -> Result<Self, ArgumentsError> {
        let mut parsed = flags::parse(arguments, FLAGS)?;
        if parsed.help {
            return Err(ArgumentsError::Help);
        }
        let mut positional = std::mem::take(&mut parsed.positional).into_iter();
        let count = positional.len();
        let (Some(first), second, None) = (positional.next(), positional.next(), positional.next()) else {
            return Err(ArgumentsError::Count(count));
        };
        let (includes, excludes) = (parsed.list("include"), parsed.list("exclude"));
        let both: BTreeSet<_> =
            includes.iter().filter(|name| excludes.contains(name)).map(String::as_str).collect();
        if !both.is_empty() {
            return Err(ArgumentsError::Conflict(both.into_iter().collect::<Vec<_>>().join(", ")));
        }
        let full_documentation = parsed.switch("fullDocs");
        let upstream_repository = parsed.text("upstreamRepoPath");
        let source = if is_path(&first) {
            if count > 1 {
                return Err(ArgumentsError::LocalCount(count));
            }
            if full_documentation {
                let hint = ", consider specifying upstreamRepoPath instead";
                return Err(ArgumentsError::FullDocsOfLocal(if upstream_repository.is_none() {
                    hint
                } else {
                    ""
                }));
            }
            Source::Local(LocalArguments { path: first, upstream_repository })
        } else {
            if upstream_repository.is_some() {
                return Err(ArgumentsError::UpstreamOfRemote);
            }
            Source::Remote(RemoteArguments {
                name: first,
                version: second.unwrap_or_default(),
                full_documentation,
            })
        };
        Ok(Self {
            source,
            includes,
            excludes,
            provider_name: parsed.text("provider-name"),
            names: NameChoices::default(),
            index_document_directory: parsed.text("indexDocOutDir"),
        })
    }
}

fn count_help(count: usize) -> &'static str {
    match count {
        0 => "\nhelp: name a provider, as in `pulumi package add terraform-provider hashicorp/random`",
        1 | 2 => "",
        _ => SURPLUS_HELP,
    }
}

/// Whether an argument is the path of a provider binary, as opposed to an address.
pub fn is_path(text: &str) -> bool {
    is_path_on(text, IS_WINDOWS)
}

/// A path starts with a dot or a slash, on Windows also with a drive or a backslash.
fn is_path_on(text: &str, windows: bool) -> bool {
    let mut characters = text.chars();
    match characters.next() {
        Some('.' | '/') => true,
        Some('\\') => windows,
        Some(drive) => windows && drive.is_ascii_alphabetic() && characters.next() == Some(':'),
        None => false,
    }
}

const FLAGS: &[(&str, FlagKind)] = &[
    ("include", FlagKind::List),
    ("exclude", FlagKind::List),
    ("provider-name", FlagKind::Text),
    ("fullDocs", FlagKind::Switch),
    ("upstreamRepoPath", FlagKind::Text),
    ("indexDocOutDir", FlagKind::Text),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, ArgumentsError> {
        Arguments::parse(&arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
    }

    fn remote(name: &str, version: &str) -> Source {
        Source::Remote(RemoteArguments {
            name: name.into(),
            version: version.into(),
            full_documentation: false,
        })
    }

    #[test]
    fn a_name_is_a_provider_of_a_registry() {
        assert_eq!(parse(&["hashicorp/random"]).unwrap().source, remote("hashicorp/random", ""));
        assert_eq!(
            parse(&["hashicorp/random", "~> 3.0"]).unwrap().source,
            remote("hashicorp/random", "~> 3.0")
        );
    }

    #[test]
    fn a_path_is_a_provider_in_a_file() {
        for path in ["./terraform-provider-x", "../terraform-provider-x", "/opt/terraform-provider-x"] {
            let local = LocalArguments { path: path.to_owned(), upstream_repository: None };
            assert_eq!(parse(&[path]).unwrap().source, Source::Local(local));
        }
    }

    #[test]
    fn a_path_with_a_drive_is_one_on_windows_only() {
        for path in [r"C:\terraform-provider-x", "c:/terraform-provider-x", r"\\host\terraform-provider-x"] {
            assert!(is_path_on(path, true) && !is_path_on(path, false), "{path}");
        }
        for path in ["./x", "../x", "/x", "."] {
            assert!(is_path_on(path, true) && is_path_on(path, false), "{path}");
        }
        for name in ["random", "hashicorp/random", "a:b", "", "é:"] {
            assert_eq!((is_path_on(name, true), is_path_on(name, false)), (name == "a:b", false), "{name}");
        }
    }

    #[test]
    fn documentation_flags_are_shown_to_developers_only() {
        assert!(!Arguments::usage(false).contains("--fullDocs"));
        for (flag, _) in FLAGS {
            assert!(Arguments::usage(true).contains(&format!("--{flag} ")), "{flag}");
        }
    }

    #[test]
    fn names_can_be_included_excluded_and_the_package_renamed() {
        let arguments = parse(&[
            "--include",
            "aws_vpc,aws_subnet",
            "hashicorp/aws",
            "--exclude=aws_instance",
            "--include=aws_route",
            "--provider-name",
            "awsvpc",
        ])
        .unwrap();
        assert_eq!(arguments.includes, ["aws_vpc", "aws_subnet", "aws_route"]);
        assert_eq!(arguments.excludes, ["aws_instance"]);
        assert_eq!(arguments.provider_name.as_deref(), Some("awsvpc"));
    }

    #[test]
    fn wrong_words_are_answered_in_the_known_texts() {
        for (arguments, text) in [
            (
                &[][..],
                "accepts between 1 and 2 arg(s), received 0\nhelp: name a provider, as in `pulumi package add terraform-provider \
                 hashicorp/random`",
            ),
            (
                &["a", "~>", "3.8"],
                "accepts between 1 and 2 arg(s), received 3\nhelp: a version constraint is one argument: put quotes around the \
                 whole of it, as in '~> 3.8'",
            ),
            (&["./terraform-provider-x", "1.0"], "local providers only accept one argument, found 2"),
            (
                &["x/y", "--include=b,a,c,a", "--exclude=a,b"],
                "tokens cannot be both included and excluded: a, b",
            ),
            (&["x/y", "--resources=a"], "unknown flag: --resources"),
            (&["x/y", "--includ=a"], "unknown flag: --includ; did you mean --include?"),
            (
                &["x/y", "--provider_name", "a"],
                "unknown flag: --provider_name; did you mean --provider-name?",
            ),
            (&["x/y", "--fulldocs"], "unknown flag: --fulldocs; did you mean --fullDocs?"),
            (&["x/y", "--help"], "help text displayed"),
            (
                &["./x", "--fullDocs"],
                "fullDocs only applies to remote providers, consider specifying upstreamRepoPath instead",
            ),
            (&["./x", "--fullDocs", "--upstreamRepoPath=y"], "fullDocs only applies to remote providers"),
            (&["x/y", "--upstreamRepoPath", "z"], "upstreamRepoPath only applies to local providers"),
        ] {
            assert_eq!(parse(arguments).unwrap_err().to_string(), text, "{arguments:?}");
        }
    }
}
