//! Which resources are generated, and what a generator cannot read from their schemas.

/// A type of resource.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Terraform's name.
    pub(crate) type_name: &'static str,
    /// Whose it is.
    pub(crate) provider: Provider,
    /// Whether it is on protocol 5 as well as on protocol 6.
    pub(crate) on_protocol_5: bool,
    /// Where the text stands that tells one resource from another in the requests.
    pub(crate) marker: Marker,
    /// What may stand at attributes of these names, at any depth.
    pub(crate) values: &'static [(&'static str, Values)],
    /// Whether it can be imported by its id.
    pub(crate) imports: bool,
    /// What others may do to its object: a place in the file, and what they put there (JSON, in which
    /// `MARKER` is what tells the resource from others).
    pub(crate) drift: &'static [(&'static str, &'static [&'static str])],
    /// What a name may begin with, so that creating the object fails.
    pub(crate) failing: &'static [&'static str],
    /// Whether objects are written with all of their members, because they are of object types, whose members are
    /// required.
    pub(crate) complete: bool,
    /// Whether there can only be one in a project, because the ids of several depend on the order of their creation.
    pub(crate) alone: bool,
}

/// A provider of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Provider {
    Sandbox,
    Conformance,
}

impl Provider {
    pub(crate) const ALL: [Self; 2] = [Self::Sandbox, Self::Conformance];

    /// Its type, which is also the name of its Pulumi package.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Conformance => "conformance",
        }
    }
}

/// Where a resource's marker stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Marker {
    /// At the beginning of this attribute.
    Text(&'static str),
    /// It is this attribute, but for a letter that may change; the name of the object's file is made of it.
    Name(&'static str),
    /// Under the key `marker` of this map.
    Key(&'static str),
}

/// What an attribute may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    /// It is not set.
    Never,
    /// One of these texts.
    Texts(&'static [&'static str]),
    /// One of these numbers.
    Numbers(&'static [&'static str]),
}

const FRACTIONS: Values = Values::Numbers(&[
    "0",
    "-1",
    "0.5",
    "0.1",
    "-2.25",
    "3.14",
    "1e21",
    "123456789.125",
    "9007199254740991",
    "1e-7",
]);
const WORDS: Values = Values::Texts(&["a", "two words", "ünï", "${x}", "%{y}", "1", "true"]);
const PORTS: Values = Values::Numbers(&["1", "22", "80", "443", "65535"]);

/// What most kinds are.
const KIND: Kind = Kind {
    type_name: "",
    provider: Provider::Conformance,
    on_protocol_5: true,
    marker: Marker::Name("name"),
    values: &[],
    imports: false,
    drift: &[],
    failing: &[],
    complete: false,
    alone: false,
};

/// All of them.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        type_name: "sandbox_note",
        provider: Provider::Sandbox,
        marker: Marker::Text("title"),
        values: &[("labels", WORDS), ("priority", Values::Numbers(&["1", "2", "3", "4", "5"]))],
        imports: true,
        drift: &[
            ("/body", &["\"drifted\"", "null"]),
            ("/priority", &["5", "2"]),
            ("/pinned", &["true", "false"]),
            ("/labels", &["{\"drifted\":\"x\"}", "null", "{}"]),
        ],
        ..KIND
    },
    Kind {
        type_name: "sandbox_server",
        provider: Provider::Sandbox,
        marker: Marker::Text("name"),
        values: &[
            ("boot_time", Values::Texts(&["1ms", "2ms"])),
            ("port", PORTS),
            ("size", Values::Numbers(&["1", "10", "20"])),
        ],
        imports: true,
        drift: &[("/status", &["\"broken\"", "\"running\""]), ("/limits", &["null"]), ("/disk", &["[]"])],
        ..KIND
    },
    Kind {
        type_name: "sandbox_secret",
        provider: Provider::Sandbox,
        marker: Marker::Key("keepers"),
        values: &[("length", Values::Numbers(&["1", "8", "32"]))],
        ..KIND
    },
    Kind {
        type_name: "sandbox_bucket",
        provider: Provider::Sandbox,
        marker: Marker::Name("name"),
        values: &[("name_prefix", Values::Never)],
        ..KIND
    },
    Kind {
        type_name: "conformance_record",
        values: &[
            ("title", Values::Texts(&["", "a", "two words", "ünï", "warn", "fail-update"])),
            ("quota", FRACTIONS),
            ("port", PORTS),
        ],
        imports: true,
        drift: &[
            ("/title", &["\"drifted\"", "null", "\"\""]),
            ("/tags", &["{\"drifted\":\"x\"}", "null", "{}"]),
            ("/labels", &["[\"drifted\",\"a\"]", "null", "[]"]),
            ("/size", &["1", "77"]),
            ("/rules", &["[]", "[{\"port\":1,\"protocol\":\"udp\"}]"]),
            ("/grants", &["[]", "[{\"who\":\"drifted\",\"level\":null}]"]),
            ("/settings", &["null", "{\"mode\":\"x\",\"verbose\":true,\"quota\":1.5}"]),
            ("/name", &["\"MARKER-renamed\""]),
        ],
        // Not `partial-`: OpenTofu deletes a tainted object without its private data, which this provider does not take.
        failing: &["fail-"],
        ..KIND
    },
    Kind {
        type_name: "conformance_nested",
        on_protocol_5: false,
        imports: true,
        drift: &[
            ("/owner", &["null", "{\"name\":\"drifted\",\"email\":\"d@x\",\"key\":null}"]),
            ("/disks", &["null", "[]", "[{\"size\":9,\"label\":\"drifted\",\"partitions\":null}]"]),
            ("/mounts", &["null", "[]", "[{\"path\":\"/drifted\",\"mode\":\"ro\"}]"]),
            ("/zones", &["null", "{}", "{\"drifted\":{\"weight\":null}}"]),
        ],
        ..KIND
    },
    Kind {
        type_name: "conformance_legacy",
        values: &[("port", PORTS), ("cidr", Values::Texts(&["10.0.0.0/8", "192.168.0.0/16"]))],
        imports: true,
        drift: &[
            ("/title", &["\"drifted\"", "\"\""]),
            ("/size", &["1", "77", "0"]),
            ("/enabled", &["true", "false"]),
            ("/tags", &["{\"drifted\":\"x\"}", "{}"]),
            ("/rules", &["[]", "[{\"port\":7,\"protocol\":\"udp\"}]"]),
            ("/networks", &["[]"]),
        ],
        failing: &["partial-", "fail-"],
        ..KIND
    },
    Kind {
        type_name: "conformance_legacy_shapes",
        values: &[("name_prefix", Values::Never), ("as_attribute", Values::Never), ("ratio", FRACTIONS)],
        ..KIND
    },
    Kind { type_name: "conformance_place", imports: true, ..KIND },
    Kind { type_name: "conformance_blocks", imports: true, ..KIND },
    Kind { type_name: "conformance_identified", ..KIND },
];
