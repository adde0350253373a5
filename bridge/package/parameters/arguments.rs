//! The words after `terraform-provider` on the command line.

use std::collections::BTreeSet;

use super::flags::{self, FlagError, Kind};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Which provider.
    pub source: Source,
    /// Terraform names (of resources, data sources, functions) that alone shall be in the package; empty: all.
    pub includes: Vec<String>,
    /// Terraform names that shall not be in the package.
    pub excludes: Vec<String>,
    /// How the package shall be called instead of like the provider.
    pub provider_name: Option<String>,
    /// Where `GetSchema` shall also write `_index.md`.
    pub index_document_folder: Option<String>,
}

/// Where a provider comes from.
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
    /// `[host/][namespace/]type`, as given.
    pub name: String,
    /// A version constraint, as given; empty is any version.
    pub version: String,
    /// Take documentation from the provider's repository.
    pub full_documentation: bool,
}

/// A provider that is a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalArguments {
    /// The path, as given. It is the beginning of the file's path: the file's name may be longer.
    pub path: String,
    /// The provider's repository, to take documentation from.
    pub upstream_repository: Option<String>,
}

/// The words make no sense. Whoever wrote the command can mend it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ArgumentsError {
    /// Too few or too many words; the only one of these errors that gRPC's `InvalidArgument` is sent for.
    #[error("accepts between 1 and 2 arg(s), received {0}")]
    Count(usize),
    /// A flag is wrong.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// A path and something else.
    #[error("local providers only accept one argument, found {0}")]
    LocalCount(usize),
    /// A Terraform name was both included and excluded.
    #[error("tokens cannot be both included and excluded: {0}")]
    Conflict(String),
    /// `--fullDocs` with a path.
    #[error("fullDocs only applies to remote providers{0}")]
    FullDocsOfLocal(&'static str),
    /// `--upstreamRepoPath` with a name.
    #[error("upstreamRepoPath only applies to local providers")]
    UpstreamOfRemote,
    /// Help was wanted: [`Arguments::USAGE`] is to be logged.
    #[error("help text displayed")]
    Help,
}

impl Arguments {
    /// What is logged when help is wanted.
    pub const USAGE: &'static str = "\
Usage:
  ./path/to/terraform-provider-NAME [flags]
  [HOST/]NAMESPACE/NAME [VERSION CONSTRAINT] [flags]

Flags:
      --include NAMES         Terraform names (resources, data sources, functions), separated by commas:
                              the package has these only
      --exclude NAMES         Terraform names, separated by commas: the package goes without these
      --provider-name NAME    call the package NAME instead of like the provider
  -h, --help                  show this text
";

    /// Reads `words`.
    pub fn parse(words: &[String]) -> Result<Self, ArgumentsError> {
        let mut parsed = flags::parse(words, FLAGS)?;
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
        let source = if first.starts_with(['.', '/']) {
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
            index_document_folder: parsed.text("indexDocOutDir"),
        })
    }
}

const FLAGS: &[(&str, Kind)] = &[
    ("include", Kind::List),
    ("exclude", Kind::List),
    ("provider-name", Kind::Text),
    ("fullDocs", Kind::Switch),
    ("upstreamRepoPath", Kind::Text),
    ("indexDocOutDir", Kind::Text),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, ArgumentsError> {
        Arguments::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
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
        for (words, text) in [
            (&[][..], "accepts between 1 and 2 arg(s), received 0"),
            (&["a", "b", "c"], "accepts between 1 and 2 arg(s), received 3"),
            (&["./terraform-provider-x", "1.0"], "local providers only accept one argument, found 2"),
            (
                &["x/y", "--include=b,a,c,a", "--exclude=a,b"],
                "tokens cannot be both included and excluded: a, b",
            ),
            (&["x/y", "--resources=a"], "unknown flag: --resources"),
            (&["x/y", "--help"], "help text displayed"),
            (
                &["./x", "--fullDocs"],
                "fullDocs only applies to remote providers, consider specifying upstreamRepoPath instead",
            ),
            (&["./x", "--fullDocs", "--upstreamRepoPath=y"], "fullDocs only applies to remote providers"),
            (&["x/y", "--upstreamRepoPath", "z"], "upstreamRepoPath only applies to local providers"),
        ] {
            assert_eq!(parse(words).unwrap_err().to_string(), text, "{words:?}");
        }
    }
}
