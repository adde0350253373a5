//! Templates of repositories in an OCI registry: `example.com/mirror/${namespace}/${type}`.
//!
//! OpenTofu accepts any expression inside the braces. Here there are only its three names: a
//! template with anything else is refused when the configuration is read.

use hcl_edit::template::Element;

use super::ProviderPattern;
use crate::ProviderAddress;
use crate::address::host_in_ascii;
use crate::auth::{OciPrefix, OciPrefixFault};

/// A repository address with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryTemplate {
    text: String,
    pieces: Vec<Piece>,
}

/// A repository in an OCI registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OciRepository {
    /// The registry's host, with its port if any.
    pub registry: String,
    /// The path of the repository.
    pub name: String,
}

/// Why a template is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    #[error(
        "the template holds an expression, but only ${{hostname}}, ${{namespace}} and ${{type}} can be filled in"
    )]
    Expression,
    #[error("the template must contain ${{{0}}}, because \"include\" does not name exactly one")]
    Ambiguous(&'static str),
    #[error("the template comes to no repository of a registry of containers: {0}")]
    Repository(OciPrefixFault),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Part(Part),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Hostname,
    Namespace,
    Type,
}

const PARTS: [(Part, &str); 3] =
    [(Part::Hostname, "hostname"), (Part::Namespace, "namespace"), (Part::Type, "type")];

impl RepositoryTemplate {
    /// Parses a template for the providers of these patterns.
    pub(crate) fn parse(text: &str, include: &[ProviderPattern]) -> Result<Self, TemplateFault> {
        let template = Self { text: text.to_owned(), pieces: pieces(text)? };
        for (index, (part, name)) in PARTS.into_iter().enumerate() {
            let mut fixed: Vec<&str> = include.iter().filter_map(|pattern| pattern.parts()[index]).collect();
            fixed.sort_unstable();
            fixed.dedup();
            if fixed.len() != 1 && !template.pieces.contains(&Piece::Part(part)) {
                return Err(TemplateFault::Ambiguous(name));
            }
        }
        // A template that is invalid for all providers is refused now.
        template.filled("example.com", "example-namespace", "example-type")?;
        Ok(template)
    }

    /// The repository of this provider.
    pub(crate) fn repository(&self, address: &ProviderAddress) -> Result<OciRepository, TemplateFault> {
        self.filled(&host_in_ascii(address.host()), address.namespace(), address.provider_type())
    }

    /// The original text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn filled(&self, hostname: &str, namespace: &str, type_: &str) -> Result<OciRepository, TemplateFault> {
        let text: String = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Part(Part::Hostname) => hostname,
                Piece::Part(Part::Namespace) => namespace,
                Piece::Part(Part::Type) => type_,
            })
            .collect();
        match OciPrefix::parse(&text) {
            Ok(OciPrefix { registry, repository: Some(name) }) => Ok(OciRepository { registry, name }),
            Ok(_) => Err(TemplateFault::Repository(OciPrefixFault::NoRepository)),
            Err(fault) => Err(TemplateFault::Repository(fault)),
        }
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, TemplateFault> {
    let template = hcl_edit::parser::parse_template(text).map_err(|_| TemplateFault::Expression)?;
    let piece = |element: &Element| match element {
        Element::Literal(text) => Some(Piece::Text(text.to_string())),
        Element::Interpolation(interpolation) => {
            let name = interpolation.expr.as_variable()?;
            PARTS.iter().find(|(_, part)| *part == name.as_str()).map(|(part, _)| Piece::Part(*part))
        }
        Element::Directive(_) => None,
    };
    template.iter().map(|element| piece(element).ok_or(TemplateFault::Expression)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<ProviderPattern> {
        texts.iter().map(|text| ProviderPattern::parse(text).expect(text)).collect()
    }

    #[test]
    fn a_provider_is_in_the_repository_that_the_template_comes_to() {
        for (template, include, address, registry, name) in [
            (
                "r.example/${hostname}/${namespace}/${type}",
                vec![],
                "a/b",
                "r.example",
                "registry.opentofu.org/a/b",
            ),
            ("r.example:5000/m/${namespace}-${ type }", vec!["*/*"], "a/b", "r.example:5000", "m/a-b"),
            ("${hostname}/x/${type}", vec!["e.com/a/*"], "e.com/a/b", "e.com", "x/b"),
            ("localhost/only", vec!["e.com/a/b"], "e.com/a/b", "localhost", "only"),
        ] {
            let template = RepositoryTemplate::parse(template, &patterns(&include))
                .unwrap_or_else(|fault| panic!("{fault}"));
            let repository = template.repository(&ProviderAddress::parse(address).expect(address));
            assert_eq!(
                repository,
                Ok(OciRepository { registry: registry.to_owned(), name: name.to_owned() })
            );
        }
    }

    #[test]
    fn a_template_that_cannot_do_is_refused_with_the_reason() {
        for (template, include, reason) in [
            ("r/${namespace}/${type}", vec![], "must contain ${hostname}"),
            ("r/${namespace}/${type}", vec!["a.com/*/*", "b.com/*/*"], "must contain ${hostname}"),
            ("r/${type}", vec!["a.com/*/*"], "must contain ${namespace}"),
            ("r/x", vec!["a.com/b/*"], "must contain ${type}"),
            ("r/${hostname}/${namespace}/${upper(type)}", vec![], "holds an expression"),
            ("r/%{ if true }x%{ endif }", vec!["a.com/b/c"], "holds an expression"),
            ("r/${type", vec!["a.com/b/c"], "holds an expression"),
            ("${type}", vec!["a.com/b/*"], "no repository is named"),
            ("r/UPPER-${type}", vec!["a.com/b/*"], "no repository of a registry"),
            ("r/$${type}", vec!["a.com/b/c"], "no repository of a registry"),
        ] {
            let fault =
                RepositoryTemplate::parse(template, &patterns(&include)).expect_err(template).to_string();
            assert!(fault.contains(reason), "{template}: {fault}");
        }
        let template =
            RepositoryTemplate::parse("r/${namespace}/${type}", &patterns(&["*/*"])).expect("a template");
        let fault = template.repository(&ProviderAddress::parse("a/bücher").expect("an address"));
        assert!(matches!(fault, Err(TemplateFault::Repository(_))), "{fault:?}");
    }
}
