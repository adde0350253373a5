//! URNs: `urn:pulumi:STACK::PROJECT::PARENT$TYPE::NAME`.
//!
//! They are not validated: an invalid URN has no parts.

/// A URN, or an invalid text in its place.
#[derive(Clone, Copy, Debug)]
pub struct Urn<'a>(pub &'a str);

impl<'a> Urn<'a> {
    /// The resource's type, without its parents' types; `None` for an invalid URN.
    pub fn resource_type(self) -> Option<&'a str> {
        let types = self.qualified_type()?;
        Some(types.rsplit_once('$').map_or(types, |(_, own)| own))
    }

    /// The prefix of the stack and its project; `None` for an invalid URN.
    pub fn stack(self) -> Option<&'a str> {
        let (project, _) = self.0.match_indices("::").nth(1)?;
        self.0.starts_with("urn:pulumi:").then(|| &self.0[..project])
    }

    /// The project; `None` for an invalid URN.
    pub fn project(self) -> Option<&'a str> {
        self.stack()?.rsplit_once("::").map(|(_, project)| project)
    }

    /// The resource's type with its parents' types; `None` for an invalid URN.
    pub fn qualified_type(self) -> Option<&'a str> {
        self.0.split("::").nth(2)
    }

    /// The types of the parents, as [`Self::qualified_type`] of the nearest one; `None` without parents.
    pub fn parent_type(self) -> Option<&'a str> {
        self.qualified_type()?.rsplit_once('$').map(|(parents, _)| parents)
    }

    /// The resource's name, which may be anything; empty for an invalid URN.
    pub fn name(self) -> &'a str {
        self.0.splitn(4, "::").nth(3).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_urn_has_a_type_and_a_name() {
        let urn = Urn("urn:pulumi:dev::shop::my:index:Site$random:index/pet:Pet::a::b$c");
        assert_eq!((urn.stack(), urn.project()), (Some("urn:pulumi:dev::shop"), Some("shop")));
        assert_eq!(urn.parent_type(), Some("my:index:Site"));
        assert_eq!((urn.resource_type(), urn.name()), (Some("random:index/pet:Pet"), "a::b$c"));
        let provider = Urn("urn:pulumi:dev::shop::pulumi:providers:random::default_3_9_0");
        assert_eq!(provider.resource_type(), Some("pulumi:providers:random"));
        assert_eq!((provider.name(), provider.parent_type()), ("default_3_9_0", None));
    }

    #[test]
    fn what_is_no_urn_has_no_parts() {
        for text in ["", "urn", "urn:pulumi:dev::shop"] {
            assert_eq!((Urn(text).resource_type(), Urn(text).name()), (None, ""), "{text}");
            assert_eq!(Urn(text).stack(), None, "{text}");
        }
    }
}
