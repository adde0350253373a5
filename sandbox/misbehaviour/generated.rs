//! Generated resources in any number, for measurements and tests of large providers.
//!
//! The largest providers have more than a thousand resources with hundreds of attributes. Generated
//! ones are similar: names of two and three words, all common types, nested blocks, descriptions
//! that mention other names. The same numbers always result in the same resources. They exist in
//! the schema only: a call about one fails as for an unknown resource.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::LazyLock;

use isthmus_cty::{ObjectType, Type};

use crate::schema::{Nesting, Presence};

/// Number of resources, and of attributes of each, nested ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub resources: usize,
    /// Per resource, at least 70.
    pub attributes: usize,
}

/// Required for the nested blocks that all resources have.
const LEAST_ATTRIBUTES: usize = 70;

/// Limit of either number.
const MOST: usize = 10_000;

pub(crate) struct Generated {
    pub(crate) type_name: String,
    pub(crate) block: Block,
}

/// Contents of a resource or a block.
pub(crate) struct Block {
    pub(crate) description: String,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) blocks: Vec<NestedBlock>,
}

pub(crate) struct NestedBlock {
    pub(crate) name: String,
    pub(crate) nesting: Nesting,
    /// 0: unlimited.
    pub(crate) maximum: i64,
    pub(crate) block: Block,
}

pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) kind: Type,
    pub(crate) presence: Presence,
    pub(crate) sensitive: bool,
    pub(crate) deprecated: bool,
    pub(crate) description: String,
}

impl Size {
    /// Parses `1500x200`: resources, attributes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (resources, attributes) = text.split_once('x')?;
        let (resources, attributes) = (resources.parse().ok()?, attributes.parse().ok()?);
        let fits = resources <= MOST && (LEAST_ATTRIBUTES..=MOST).contains(&attributes);
        fits.then_some(Self { resources, attributes })
    }

    /// In no particular order.
    pub(crate) fn resources(self) -> impl Iterator<Item = Generated> {
        (0..self.resources).map(move |index| resource(index, self.attributes))
    }

    pub(crate) fn type_names(self) -> impl Iterator<Item = String> {
        (0..self.resources).map(type_name)
    }
}

fn type_name(index: usize) -> String {
    let (service, thing) = (SERVICES[index / THINGS.len() % SERVICES.len()], THINGS[index % THINGS.len()]);
    match index / (THINGS.len() * SERVICES.len()) {
        0 => format!("sandbox_{service}_{thing}"),
        round => format!("sandbox_{service}_{thing}_v{}", round + 1),
    }
}

/// Six blocks with six attributes and a block of four; the other attributes at the top level.
fn resource(index: usize, attributes: usize) -> Generated {
    let type_name = type_name(index);
    let mut dice = Dice::new(index);
    let mut names = Names::default();
    let blocks = (0..6).map(|number| {
        let inner = Block {
            description: sentence(&mut dice, &type_name),
            attributes: some(4, &mut Names::default(), &mut dice, &type_name),
            blocks: Vec::new(),
        };
        let outer = &mut Names::default();
        let attributes = some(6, outer, &mut dice, &type_name);
        let inner =
            NestedBlock { name: outer.next(&mut dice), nesting: Nesting::List, maximum: 1, block: inner };
        NestedBlock {
            name: names.next(&mut dice),
            nesting: if number % 3 == 2 { Nesting::Set } else { Nesting::List },
            maximum: i64::from(number % 2 == 0),
            block: Block { description: sentence(&mut dice, &type_name), attributes, blocks: vec![inner] },
        }
    });
    let blocks: Vec<NestedBlock> = blocks.collect();
    let own = |name: &str, presence, description: String| Attribute {
        name: name.to_owned(),
        kind: Type::String,
        presence,
        sensitive: false,
        deprecated: false,
        description,
    };
    let mut top = vec![
        own("id", Presence::Computed, "The identifier of the object.".to_owned()),
        own("name", Presence::Required, sentence(&mut dice, &type_name)),
    ];
    top.extend(some(attributes - 62, &mut names, &mut dice, &type_name));
    let description = sentence(&mut dice, &type_name);
    Generated { type_name, block: Block { description, attributes: top, blocks } }
}

fn some(count: usize, names: &mut Names, dice: &mut Dice, type_name: &str) -> Vec<Attribute> {
    (0..count).map(|_| attribute(names.next(dice), dice, type_name)).collect()
}

fn attribute(name: String, dice: &mut Dice, type_name: &str) -> Attribute {
    let list = |element| Type::List(Arc::new(element));
    let kind = match dice.below(100) {
        0..55 => Type::String,
        55..67 => Type::Number,
        67..80 => Type::Bool,
        80..88 => list(Type::String),
        88..91 => Type::Set(Arc::new(Type::String)),
        91..98 => Type::Map(Arc::new(Type::String)),
        _ => {
            let attributes = [("key", Type::String), ("enabled", Type::Bool), ("weight", Type::Number)];
            let attributes = attributes.into_iter().map(|(name, kind)| (Arc::from(name), kind)).collect();
            list(Type::Object(Arc::new(ObjectType { attributes, optional: BTreeSet::new() })))
        }
    };
    let presence = match dice.below(100) {
        0..8 => Presence::Required,
        8..58 => Presence::Optional,
        58..75 => Presence::OptionalComputed,
        _ => Presence::Computed,
    };
    let (sensitive, deprecated) = (dice.below(50) == 0, dice.below(50) == 0);
    Attribute { name, kind, presence, sensitive, deprecated, description: sentence(dice, type_name) }
}

/// Random documentation; one sentence in three mentions a name as code.
fn sentence(dice: &mut Dice, type_name: &str) -> String {
    let mut text = OPENINGS[dice.below(OPENINGS.len())].to_owned();
    for _ in 0..1 + dice.below(3) {
        text.push(' ');
        text.push_str(CLAUSES[dice.below(CLAUSES.len())]);
    }
    text.push('.');
    match dice.below(6) {
        0 => text.push_str(&format!(" Conflicts with `{}`.", words(dice))),
        1 => text.push_str(&format!(" See `{type_name}`.")),
        _ => {}
    }
    text
}

fn words(dice: &mut Dice) -> String {
    format!("{}_{}", FIRSTS[dice.below(FIRSTS.len())], SECONDS[dice.below(SECONDS.len())])
}

/// Generates unique names.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn next(&mut self, dice: &mut Dice) -> String {
        loop {
            let pair = words(dice);
            let name = if self.0.contains(&pair) {
                // Names of three words do not run out.
                format!("{}_{pair}", FIRSTS[dice.below(FIRSTS.len())])
            } else {
                pair
            };
            if self.0.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A deterministic pseudo-random number generator.
struct Dice(u64);

impl Dice {
    fn new(seed: usize) -> Self {
        Self((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    fn below(&mut self, limit: usize) -> usize {
        // Knuth's constants for MMIX; the upper half has the better quality.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

static SERVICES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "compute storage network database queue stream identity registry function container cluster cache \
     search monitor billing backup transit media mail catalog pipeline secret certificate domain edge \
     lake graph batch event audit"
        .split_whitespace()
        .collect()
});
static THINGS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "instance bucket policy attachment group rule endpoint gateway table index topic subscription role \
     user key alias image snapshot volume disk template schedule job trigger stage route peer zone \
     record listener target pool node service task version layer account organization project directory \
     quota report dashboard alarm filter metric channel workspace association"
        .split_whitespace()
        .collect()
});
static FIRSTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "maximum minimum default primary secondary source target public private internal external customer \
     service network storage backup restore replica engine cluster parameter security subnet access \
     audit log metric encryption retention deletion maintenance scaling health origin cache session \
     token client server billing"
        .split_whitespace()
        .collect()
});
static SECONDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "name identifier arn kind mode policy state port protocol address range size limit count period \
     window interval timeout threshold ratio zone region group role key secret version prefix suffix \
     pattern filter format template schedule endpoint path owner reason level option"
        .split_whitespace()
        .collect()
});
const OPENINGS: [&str; 8] = [
    "The name that the service knows this by",
    "Whether requests are forwarded",
    "The number of seconds that pass",
    "A list of what is allowed",
    "Configuration of the part",
    "The identifier of the object",
    "How the value is interpreted",
    "The amount of capacity that is reserved",
];
const CLAUSES: [&str; 8] = [
    "when the resource is created for the first time",
    "before the next maintenance window begins",
    "if no other value was given by the account's administrator",
    "in the region that the provider is configured for",
    "until it is changed or removed by another request",
    "as described in the [documentation](/docs/providers/sandbox/index.html) of the service",
    "unless the parent object says otherwise",
    "and can be between 1 and 128 characters long",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(block: &Block) -> usize {
        block.attributes.len() + block.blocks.iter().map(|nested| count(&nested.block)).sum::<usize>()
    }

    #[test]
    fn the_configured_number_is_generated() {
        let size = Size::parse("1600x200").expect("a size");
        let resources: Vec<Generated> = size.resources().collect();
        assert!(resources.iter().all(|resource| count(&resource.block) == 200));
        let names: BTreeSet<&str> = resources.iter().map(|resource| resource.type_name.as_str()).collect();
        assert_eq!(names.len(), 1600);
        assert!(size.type_names().eq(resources.iter().map(|resource| resource.type_name.clone())));
    }

    #[test]
    fn names_are_unique() {
        let size = Size::parse("20x400").expect("a size");
        for resource in size.resources() {
            let attributes = resource.block.attributes.iter().map(|attribute| &attribute.name);
            let names: Vec<&String> =
                attributes.chain(resource.block.blocks.iter().map(|nested| &nested.name)).collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{}", resource.type_name);
        }
    }

    #[test]
    fn an_invalid_size_is_refused() {
        for text in ["", "1500", "x", "1500x", "x200", "1500x10", "1x20000", "-1x200", "1500 x 200"] {
            assert_eq!(Size::parse(text), None, "{text}");
        }
    }
}
