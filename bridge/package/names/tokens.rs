//! Tokens: Pulumi names of Terraform's resource types, data sources and functions.
//!
//! A token is `package:module/member:Member`; here the module is always `index`. Tokens of a
//! package are computed together: they must differ in more than case (engines look them up without
//! regard to case, and SDK files are named after them), so later ones get `V2`, `V3`, …. Resources
//! come first, because states contain their tokens, then data sources, functions, ephemeral
//! resources and actions, each ordered by Terraform name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::casing::{camel, lower_first, spell_leading_digit, upper_camel, upper_first};
use super::choices::NameChoices;
use super::derived::taken;
use super::{MemberKind, impossible};

/// The tokens of one kind (resources, data sources, functions, …), in both directions.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    by_terraform: BTreeMap<Arc<str>, String>,
    /// Former tokens, too, which no other member has.
    by_token: HashMap<String, Arc<str>>,
    /// The tokens by rule of members with a chosen name or one instead of an impossible one, which states may contain.
    former: BTreeMap<Arc<str>, String>,
    /// Members with a name instead of an impossible one.
    impossible: BTreeSet<Arc<str>>,
}

impl Tokens {
    /// Terraform names with their tokens, ordered by Terraform name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &str)> {
        self.by_terraform.iter().map(|(terraform, token)| (terraform, token.as_str()))
    }

    /// The token of a Terraform name.
    pub fn token(&self, terraform: &str) -> Option<&str> {
        self.by_terraform.get(terraform).map(String::as_str)
    }

    /// The Terraform name of a token, which must match exactly.
    pub fn terraform(&self, token: &str) -> Option<&Arc<str>> {
        self.by_token.get(token)
    }

    pub fn len(&self) -> usize {
        self.by_terraform.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_terraform.is_empty()
    }

    /// The token most similar to `unknown`, if any is similar enough.
    pub fn nearest(&self, unknown: &str) -> Option<&str> {
        nearest_token(unknown, self.iter())
    }

    fn collect(tokens: impl IntoIterator<Item = (Arc<str>, String)>) -> Self {
        let by_terraform: BTreeMap<_, _> = tokens.into_iter().collect();
        let by_token =
            by_terraform.iter().map(|(terraform, token)| (token.clone(), Arc::clone(terraform))).collect();
        Self { by_terraform, by_token, former: BTreeMap::new(), impossible: BTreeSet::new() }
    }

    /// The token by rule of a member that has another one.
    pub fn former(&self, terraform: &str) -> Option<&str> {
        self.former.get(terraform).map(String::as_str)
    }

    /// Tokens of members with their tokens by rule, where these are impossible.
    pub(crate) fn instead_of_impossible(&self) -> impl Iterator<Item = (&str, &str)> {
        self.impossible.iter().map(|terraform| (&*self.by_terraform[terraform], &*self.former[terraform]))
    }

    /// Gives a member another name, and remembers its own.
    fn rename(&mut self, package: &str, terraform: &Arc<str>, name: &str) {
        let token = member_token(package, name);
        self.by_token.insert(token.clone(), Arc::clone(terraform));
        if let Some(former) = self.by_terraform.insert(Arc::clone(terraform), token) {
            self.former.insert(Arc::clone(terraform), former);
        }
    }
}

/// The common prefix of resource types, up to the first underscore of those that contain one; if
/// they differ, the package's name. Without a trailing underscore.
pub(crate) fn resource_prefix(resource_types: &[&str], package: &str) -> String {
    let mut candidates =
        resource_types.iter().filter_map(|name| name.split_once('_')).map(|(prefix, _)| prefix);
    match candidates.next() {
        Some(first) if !first.is_empty() && candidates.all(|other| other == first) => first.to_owned(),
        _ => package.to_owned(),
    }
}

/// Gives members of a package, by kind, the names that are chosen for them, and others instead of impossible ones. A name that
/// a member has by rule or by an earlier choice stays its own: states with that token are of that member.
pub(crate) fn choose_names(package: &str, choices: &NameChoices, kinds: &mut [(MemberKind, Tokens); 5]) {
    let mut unlike = Vec::new();
    let all = kinds.each_ref().map(|(kind, tokens)| (*kind, tokens));
    for (index, (kind, tokens)) in kinds.iter().enumerate() {
        for (terraform, token) in &tokens.by_terraform {
            let natural = member_name(token);
            let chosen = choices.member(*kind, terraform).map(|name| {
                // As all names of their kinds: SDKs make classes of the ones and functions of the others.
                if *kind == MemberKind::Resource { upper_first(name) } else { lower_first(name) }
            });
            let possible = match impossible::of(*kind)(natural) {
                Cow::Owned(possible) => Some(possible),
                Cow::Borrowed(_) if *kind == MemberKind::Function => {
                    derived(package, &all, *kind, natural).map(|_| format!("{natural}Function"))
                }
                Cow::Borrowed(_) => None,
            };
            if chosen.as_deref() != Some(natural) && (chosen.is_some() || possible.is_some()) {
                unlike.push((index, Arc::clone(terraform), chosen, possible));
            }
        }
    }
    if unlike.is_empty() {
        return;
    }
    let mut taken = Unique::beside(&kinds.each_ref().map(|(_, tokens)| tokens));
    for reserved in ["pulumi", "provider"] {
        taken.claim(reserved);
    }
    for (index, terraform, chosen, possible) in unlike {
        let tokens = &mut kinds[index].1;
        if let Some(name) = chosen.filter(|name| taken.0.insert(name.to_lowercase())) {
            tokens.rename(package, &terraform, &name);
        } else if let Some(name) = possible {
            tokens.rename(package, &terraform, &taken.claim(&name));
            tokens.impossible.insert(terraform);
        }
    }
}

/// The languages in which the natural name of a member is one that the SDK derives from another member's.
pub fn derived(
    package: &str,
    all: &[(MemberKind, &Tokens); 5],
    kind: MemberKind,
    name: &str,
) -> Option<&'static str> {
    taken(kind, &upper_first(name), |is_resource, of| {
        let of = if is_resource { of.to_owned() } else { lower_first(of) };
        let token = member_token(package, &of);
        let mut alike = all.iter().filter(|(kind, _)| (*kind == MemberKind::Resource) == is_resource);
        alike.any(|(_, tokens)| tokens.by_token.contains_key(&token))
    })
}

/// The tokens of the resource types in `mapped`. `all` are those of the whole provider: the
/// replacement for the reserved name `Provider` avoids their names.
pub(crate) fn resource_tokens(package: &str, prefix: &str, mapped: &[&str], all: &[&str]) -> Tokens {
    let mut names = Unique::default();
    let mut sorted = mapped.to_vec();
    sorted.sort_unstable();
    let first: Vec<_> = sorted.iter().map(|name| (*name, names.claim(&type_name(prefix, name)))).collect();
    Tokens::collect(first.into_iter().map(|(terraform, name)| {
        let name = if name.eq_ignore_ascii_case("provider") {
            names.claim(&instead_of_provider(package, prefix, all))
        } else {
            name
        };
        (Arc::from(terraform), member_token(package, &name))
    }))
}

/// The tokens of the data sources in `mapped`, distinct from `resources`.
pub(crate) fn data_source_tokens(package: &str, prefix: &str, mapped: &[&str], resources: &Tokens) -> Tokens {
    verb_tokens("get", package, prefix, mapped, &[resources])
}

/// The tokens of the ephemeral resources in `mapped`, distinct from all of `others`.
pub(crate) fn ephemeral_resource_tokens(
    package: &str,
    prefix: &str,
    mapped: &[&str],
    others: &[&Tokens],
) -> Tokens {
    verb_tokens("ephemeral", package, prefix, mapped, others)
}

/// The tokens of the actions in `mapped`, distinct from all of `others`.
pub(crate) fn action_tokens(package: &str, prefix: &str, mapped: &[&str], others: &[&Tokens]) -> Tokens {
    verb_tokens("action", package, prefix, mapped, others)
}

/// Tokens of a verb followed by the name as for a resource.
fn verb_tokens(verb: &str, package: &str, prefix: &str, mapped: &[&str], others: &[&Tokens]) -> Tokens {
    if mapped.is_empty() {
        return Tokens::default();
    }
    let mut names = Unique::beside(others);
    let mut sorted = mapped.to_vec();
    sorted.sort_unstable();
    Tokens::collect(sorted.into_iter().map(|terraform| {
        let name = names.claim(&spell_leading_digit(&format!("{verb}{}", stripped_name(prefix, terraform))));
        (Arc::from(terraform), member_token(package, &name))
    }))
}

/// The tokens of the functions in `mapped`, distinct from all of `others`. Reserved are `pulumi`,
/// which the engine rejects, and `provider`, the file name of the provider in generated SDKs.
pub(crate) fn function_tokens(package: &str, mapped: &[&str], others: &[&Tokens]) -> Tokens {
    if mapped.is_empty() {
        return Tokens::default();
    }
    let mut names = Unique::beside(others);
    for reserved in ["pulumi", "provider"] {
        names.claim(reserved);
    }
    let mut sorted = mapped.to_vec();
    sorted.sort_unstable();
    Tokens::collect(sorted.into_iter().map(|terraform| {
        let name = names.claim(&named_at_all(spell_leading_digit(&camel(terraform))));
        (Arc::from(terraform), member_token(package, &name))
    }))
}

/// The type or function name at a token's end.
pub fn member_name(token: &str) -> &str {
    token.rsplit(':').next().unwrap_or(token)
}

/// The token of a member of the package's only module.
pub(crate) fn member_token(package: &str, name: &str) -> String {
    format!("{package}:index/{}:{name}", lower_first(name))
}

/// The candidate most similar to `unknown`, if any is similar enough.
pub fn nearest<'a>(unknown: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let unknown = bounded(unknown).to_lowercase();
    let wanted = member_name(&unknown);
    most_alike(candidates.into_iter().map(|candidate| (likeness_of_members(wanted, candidate), candidate)))
}

/// The token most similar to `unknown`, which may be a Terraform name, with any delimiters.
/// Candidates are Terraform names with their tokens.
pub fn nearest_token<'a>(
    unknown: &str,
    candidates: impl IntoIterator<Item = (&'a Arc<str>, &'a str)>,
) -> Option<&'a str> {
    let unknown = bounded(unknown).to_lowercase();
    let wanted = member_name(&unknown);
    let squashed = squash(wanted.rsplit(['.', '/']).next().unwrap_or(wanted));
    most_alike(candidates.into_iter().map(|(terraform, token)| {
        // The provider's common prefix does not count.
        let (prefix, rest) = terraform.split_once('_').unwrap_or(("", terraform));
        let stripped = squashed.replacen(&squash(prefix), "", 1);
        let member = squash(member_name(token));
        let alike = [(&squashed, &member), (&stripped, &member), (&stripped, &squash(rest))];
        let likeness = alike
            .into_iter()
            .filter(|(one, _)| !one.is_empty())
            .map(|(one, other)| strsim::normalized_damerau_levenshtein(one, other))
            .fold(likeness_of_members(wanted, token), f64::max);
        (likeness, token)
    }))
}

/// The candidate with the highest similarity, the first of several.
fn most_alike<'a>(candidates: impl Iterator<Item = (f64, &'a str)>) -> Option<&'a str> {
    /// Below this, two tokens have little in common but their package.
    const ALIKE: f64 = 0.6;
    candidates
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, first), (other, second)| one.total_cmp(other).then_with(|| second.cmp(first)))
        .map(|(_, candidate)| candidate)
}

/// Similarity of a lower-case name and the name at a token's end.
fn likeness_of_members(wanted: &str, candidate: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(wanted, &member_name(candidate).to_lowercase())
}

/// The letters and digits of a name, in lower case.
fn squash(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The start of an external text: comparison time grows with length.
fn bounded(text: &str) -> &str {
    const LONGEST: usize = 256;
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end])
}

fn type_name(prefix: &str, terraform: &str) -> String {
    spell_leading_digit(&stripped_name(prefix, terraform))
}

/// The upper camel case of `terraform` without the prefix, unless nothing remains.
fn stripped_name(prefix: &str, terraform: &str) -> String {
    let stripped = terraform.strip_prefix(prefix).map(upper_camel).filter(|name| !name.is_empty());
    named_at_all(stripped.unwrap_or_else(|| upper_camel(terraform)))
}

/// Terraform names may consist of delimiters only, tokens must not.
fn named_at_all(name: String) -> String {
    if name.is_empty() { "Unnamed".to_owned() } else { name }
}

/// The name of a resource type in place of `Provider`, which is reserved for the package's own
/// provider.
fn instead_of_provider(package: &str, prefix: &str, all: &[&str]) -> String {
    let candidates = [
        format!("{prefix}_{package}_provider"),
        format!("{prefix}_provider_resource"),
        format!("{prefix}_{package}_provider_resource"),
    ];
    let free = candidates.iter().find(|candidate| !all.contains(&candidate.as_str()));
    type_name(prefix, free.unwrap_or(&candidates[1]))
}

/// Names that differ in more than case.
#[derive(Default)]
struct Unique(HashSet<String>);

impl Unique {
    /// Names that also differ from all of `others`.
    fn beside(others: &[&Tokens]) -> Self {
        let tokens = others.iter().flat_map(|tokens| tokens.by_terraform.values());
        Self(tokens.map(|token| member_name(token).to_lowercase()).collect())
    }

    /// Claims `name`, or the first free one of `nameV2`, `nameV3`, ….
    fn claim(&mut self, name: &str) -> String {
        if self.0.insert(name.to_lowercase()) {
            return name.to_owned();
        }
        (2_u64..)
            .map(|version| format!("{name}V{version}"))
            .find(|numbered| self.0.insert(numbered.to_lowercase()))
            .unwrap_or_else(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resource(package: &str, prefix: &str, terraform: &str) -> String {
        resource_tokens(package, prefix, &[terraform], &[terraform]).token(terraform).unwrap().to_owned()
    }

    #[test]
    fn the_prefix_is_what_all_resource_types_share() {
        assert_eq!(resource_prefix(&["random_pet", "random_id"], "rnd"), "random");
        assert_eq!(resource_prefix(&["random_pet", "other_id"], "rnd"), "rnd");
        assert_eq!(resource_prefix(&["http"], "web"), "web");
        assert_eq!(resource_prefix(&["http", "tls_key"], "web"), "tls");
        assert_eq!(resource_prefix(&[], "web"), "web");
    }

    #[test]
    fn chosen_names_are_taken_where_they_are_free_and_former_tokens_are_still_found() {
        let all = ["p_a", "p_b", "p_c", "p_d"];
        let resources = resource_tokens("p", "p", &all, &all);
        let data_sources = data_source_tokens("p", "p", &["p_a"], &resources);
        let json = "{\"types\":{\"p_a\":\"B\",\"p_b\":\"network\",\"p_c\":\"Network\",\"p_d\":\"Provider\",\
                    \"data.p_a\":\"FindA\"}}";
        let none = || Tokens::default();
        let mut kinds = [
            (MemberKind::Resource, resources),
            (MemberKind::DataSource, data_sources),
            (MemberKind::EphemeralResource, none()),
            (MemberKind::Action, none()),
            (MemberKind::Function, none()),
        ];
        choose_names("p", &serde_json::from_str(json).unwrap(), &mut kinds);
        let [(_, resources), (_, data_sources), ..] = kinds;
        let tokens: Vec<_> = resources.iter().map(|(_, token)| token).collect();
        assert_eq!(tokens, ["p:index/a:A", "p:index/network:Network", "p:index/c:C", "p:index/d:D"]);
        assert_eq!(resources.former("p_b"), Some("p:index/b:B"));
        assert_eq!(resources.former("p_a"), None);
        for token in ["p:index/b:B", "p:index/network:Network"] {
            assert_eq!(resources.terraform(token).map(AsRef::as_ref), Some("p_b"));
        }
        assert_eq!(data_sources.token("p_a"), Some("p:index/findA:findA"));
    }

    #[test]
    fn what_no_sdk_can_call_so_has_another_name_and_is_still_found_by_its_own() {
        let all = ["p_array", "p_error", "p_object", "p_object_resource"];
        let named = |choices: &str| {
            let none = Tokens::default;
            let resources = resource_tokens("p", "p", &all, &all);
            let functions = function_tokens("p", &["double", "import", "shout"], &[&resources]);
            let mut kinds = [
                (MemberKind::Resource, resources),
                (MemberKind::DataSource, data_source_tokens("p", "p", &["p_object"], &none())),
                (MemberKind::EphemeralResource, none()),
                (MemberKind::Action, none()),
                (MemberKind::Function, functions),
            ];
            choose_names("p", &serde_json::from_str(choices).unwrap(), &mut kinds);
            kinds.map(|(_, tokens)| tokens)
        };
        let names = |tokens: &Tokens| {
            tokens.iter().map(|(_, token)| member_name(token).to_owned()).collect::<Vec<_>>()
        };
        let [resources, data_sources, .., functions] = named("{}");
        assert_eq!(names(&resources), ["Array", "ErrorResource", "ObjectResourceV2", "ObjectResource"]);
        assert_eq!(names(&data_sources), ["getObject"]);
        assert_eq!(names(&functions), ["doubleFunction", "importFunction", "shout"]);
        let terraform = resources.terraform("p:index/object:Object").map(AsRef::as_ref);
        assert_eq!(terraform, Some("p_object"));
        assert_eq!(
            resources.instead_of_impossible().collect::<Vec<_>>(),
            [
                ("p:index/errorResource:ErrorResource", "p:index/error:Error"),
                ("p:index/objectResourceV2:ObjectResourceV2", "p:index/object:Object"),
            ]
        );
        // A project can choose the name in spite of that.
        let [resources, ..] = named("{\"types\":{\"p_object\":\"Object\",\"p_error\":\"Mistake\"}}");
        assert_eq!(names(&resources), ["Array", "Mistake", "Object", "ObjectResource"]);
    }

    #[test]
    fn resources_lose_their_prefix() {
        assert_eq!(resource("random", "random", "random_pet"), "random:index/pet:Pet");
        assert_eq!(resource("tls", "tls", "tls_self_signed_cert"), "tls:index/selfSignedCert:SelfSignedCert");
        assert_eq!(resource("web", "http", "http"), "web:index/http:Http");
        assert_eq!(resource("test", "test", "test_2_res"), "test:index/twoRes:TwoRes");
        assert_eq!(resource("test", "test", "test_3scale"), "test:index/threeScale:ThreeScale");
    }

    #[test]
    fn a_resource_without_the_prefix_keeps_its_whole_name() {
        assert_eq!(resource("p", "p", "other_thing"), "p:index/otherThing:OtherThing");
        assert_eq!(resource("p", "p", "p_"), "p:index/p:P");
        assert_eq!(resource("p", "p", "__"), "p:index/unnamed:Unnamed");
    }

    #[test]
    fn data_sources_are_gotten_and_functions_are_not() {
        let data_sources = data_source_tokens("tls", "tls", &["tls_public_key"], &Tokens::default());
        assert_eq!(data_sources.token("tls_public_key"), Some("tls:index/getPublicKey:getPublicKey"));
        let functions = function_tokens("tls", &["foo_bar"], &[&data_sources]);
        assert_eq!(functions.token("foo_bar"), Some("tls:index/fooBar:fooBar"));
        assert_eq!(functions.terraform("tls:index/fooBar:fooBar").map(AsRef::as_ref), Some("foo_bar"));
    }

    #[test]
    fn ephemeral_resources_and_actions_are_told_by_a_word_and_numbered_last() {
        let functions = function_tokens("x", &["ephemeral_key", "action_blast"], &[]);
        let ephemeral = ephemeral_resource_tokens("x", "x", &["x_key", "x_lease"], &[&functions]);
        let found: Vec<_> = ephemeral.iter().map(|(_, token)| token).collect();
        assert_eq!(found, ["x:index/ephemeralKeyV2:ephemeralKeyV2", "x:index/ephemeralLease:ephemeralLease"]);
        let actions = action_tokens("x", "x", &["x_blast", "other_go"], &[&functions, &ephemeral]);
        let found: Vec<_> = actions.iter().map(|(_, token)| token).collect();
        assert_eq!(found, ["x:index/actionOtherGo:actionOtherGo", "x:index/actionBlastV2:actionBlastV2"]);
    }

    #[test]
    fn tokens_that_differ_by_case_alone_are_numbered_in_order() {
        let names = ["x_ab_c", "x_abc", "x_a_bc", "x_abcV2"];
        let tokens = resource_tokens("x", "x", &names, &names);
        let found: Vec<_> = tokens.iter().map(|(terraform, token)| (terraform.as_ref(), token)).collect();
        assert_eq!(
            found,
            [
                ("x_a_bc", "x:index/aBc:ABc"),
                ("x_ab_c", "x:index/abCV2:AbCV2"),
                ("x_abc", "x:index/abcV3:AbcV3"),
                ("x_abcV2", "x:index/abcV2V2:AbcV2V2"),
            ]
        );
    }

    #[test]
    fn a_function_that_is_called_like_a_data_source_is_numbered() {
        let resources = resource_tokens("x", "x", &["x_shout"], &[]);
        let data_sources = data_source_tokens("x", "x", &["x_thing"], &resources);
        let functions = function_tokens("x", &["get_thing", "shout"], &[&resources, &data_sources]);
        assert_eq!(functions.token("get_thing"), Some("x:index/getThingV2:getThingV2"));
        assert_eq!(functions.token("shout"), Some("x:index/shoutV2:shoutV2"));
    }

    #[test]
    fn a_data_source_that_is_called_like_a_resource_is_numbered() {
        let resources = resource_tokens("x", "x", &["x_get_thing"], &[]);
        let data_sources = data_source_tokens("x", "x", &["x_thing"], &resources);
        assert_eq!(resources.token("x_get_thing"), Some("x:index/getThing:GetThing"));
        assert_eq!(data_sources.token("x_thing"), Some("x:index/getThingV2:getThingV2"));
    }

    #[test]
    fn no_function_has_a_word_of_pulumis_for_a_name() {
        let functions = function_tokens("x", &["pulumi", "provider", "Provider"], &[]);
        let found: Vec<_> = functions.iter().map(|(_, token)| member_name(token)).collect();
        assert_eq!(found, ["ProviderV2", "providerV3", "pulumiV2"]);
    }

    #[test]
    fn resources_that_share_no_prefix_keep_their_whole_names() {
        let names = ["alpha_bucket", "beta_bucket", "gamma"];
        let prefix = resource_prefix(&names, "odd");
        let tokens = resource_tokens("odd", &prefix, &names, &names);
        let found: Vec<_> = tokens.iter().map(|(_, token)| token).collect();
        assert_eq!(
            found,
            ["odd:index/alphaBucket:AlphaBucket", "odd:index/betaBucket:BetaBucket", "odd:index/gamma:Gamma"]
        );
        let data_sources = data_source_tokens("odd", &prefix, &["alpha_bucket", "odd_zone"], &tokens);
        assert_eq!(data_sources.token("alpha_bucket"), Some("odd:index/getAlphaBucket:getAlphaBucket"));
        assert_eq!(data_sources.token("odd_zone"), Some("odd:index/getZone:getZone"));
    }

    #[test]
    fn no_resource_is_called_provider() {
        assert_eq!(resource("test", "test", "test_provider"), "test:index/testProvider:TestProvider");
        let names = ["test_provider", "test_test_provider"];
        let tokens = resource_tokens("test", "test", &names, &names);
        assert_eq!(tokens.token("test_provider"), Some("test:index/providerResource:ProviderResource"));
        assert_eq!(tokens.token("test_test_provider"), Some("test:index/testProvider:TestProvider"));
    }

    #[test]
    fn an_unknown_token_is_answered_with_the_nearest() {
        let names = ["random_pet", "random_password", "random_integer"];
        let tokens = resource_tokens("random", "random", &names, &names);
        assert_eq!(tokens.nearest("random:index/pasword:Pasword"), Some("random:index/password:Password"));
        assert_eq!(tokens.nearest("random:index/Pets:Pets"), Some("random:index/pet:Pet"));
        assert_eq!(tokens.nearest("random:index/bucket:Bucket"), None);
        assert_eq!(tokens.nearest(&"x".repeat(1 << 20)), None);
    }

    #[test]
    fn a_terraform_name_in_place_of_a_token_leads_to_the_token() {
        let names = ["random_pet", "random_password", "random_integer", "random_uuid4"];
        let tokens = resource_tokens("random", "random", &names, &names);
        for unknown in [
            "random:index/random_pet:random_pet",
            "random:index/randomPet:RandomPet",
            "random:random_pet",
            "random_pet",
            "random_pett",
            "random.Pet",
            "random.random_pet",
            "random/pet",
            "random:other/pet:Pet",
            "random:Pet",
            "RANDOM_PET",
        ] {
            assert_eq!(tokens.nearest(unknown), Some("random:index/pet:Pet"), "{unknown}");
        }
        assert_eq!(tokens.nearest("random:index/random_uuid_4"), Some("random:index/uuid4:Uuid4"));
        // The common prefix alone is no similarity.
        for unknown in ["random:index/randomizer:Randomizer", "random_", "random", "random:index/:", "", "_"]
        {
            assert_eq!(tokens.nearest(unknown), None, "{unknown}");
        }
        let data_sources = data_source_tokens("random", "random", &["random_pet"], &tokens);
        for unknown in ["random:index/random_pet:random_pet", "random:index/getRandomPet:getRandomPet"] {
            assert_eq!(data_sources.nearest(unknown), Some("random:index/getPet:getPet"), "{unknown}");
        }
    }

    proptest! {
        #[test]
        fn tokens_differ_in_more_than_case_and_lead_back(
            names in proptest::collection::btree_set("(p_)?(get)?[aAbB_2-]{0,4}(provider|pulumi)?|.{1,4}", 0..40),
        ) {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let resources = resource_tokens("p", "p", &names, &names);
            let data_sources = data_source_tokens("p", "p", &names, &resources);
            let functions = function_tokens("p", &names, &[&resources, &data_sources]);
            let folded = |tokens: &Tokens| tokens.iter().map(|(_, token)| token.to_lowercase()).collect::<HashSet<_>>();
            let mut all = HashSet::new();
            let ephemeral = ephemeral_resource_tokens("p", "p", &names, &[&resources, &data_sources, &functions]);
            let actions = action_tokens("p", "p", &names, &[&resources, &data_sources, &functions, &ephemeral]);
            for tokens in [&resources, &data_sources, &functions, &ephemeral, &actions] {
                prop_assert_eq!(tokens.len(), names.len());
                for name in &names {
                    let token = tokens.token(name).unwrap();
                    prop_assert_eq!(tokens.terraform(token).map(AsRef::as_ref), Some(*name));
                    let member = member_name(token);
                    prop_assert!(!member.starts_with(|first: char| first.is_ascii_digit()), "{}", token);
                    prop_assert_eq!(token.matches(':').count(), 2, "{}", token);
                    prop_assert!(!member.contains(|odd: char| odd.is_whitespace() || odd == '/'), "{}", token);
                }
                all.extend(folded(tokens));
            }
            prop_assert_eq!(all.len(), 5 * names.len());
            prop_assert!(!all.contains("p:index/provider:provider"));
            prop_assert_eq!(functions.terraform("p:index/pulumi:pulumi"), None);
        }
    }
}
