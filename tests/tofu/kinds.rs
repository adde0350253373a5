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
    /// What may go wrong with an operation (`tests/provider/trouble.go`).
    pub(crate) troubles: &'static [(&'static str, &'static [&'static str])],
    /// Whether objects inside are written with all of their members, because they are of object types, whose members are
    /// required.
    pub(crate) complete: bool,
    /// Whether there can only be one in a project, because the ids of several depend on the order of their creation, or
    /// nothing tells several apart.
    pub(crate) alone: bool,
    /// Whether it is there where the sandbox answers as the older SDK does.
    pub(crate) as_older_sdk: bool,
    /// Whether programs set its `timeouts`.
    pub(crate) timeouts: Timeouts,
    /// What numbers there are where nothing else is said.
    pub(crate) numbers: &'static [&'static str],
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

/// What a program does with a resource's `timeouts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeouts {
    /// It never has any.
    Unset,
    /// It sets them, changes them, takes them back.
    Any,
    /// It sets them once. To the older SDK it is no change when they go; an engine then stores that the program has none,
    /// and those in the state are taken for what its option `customTimeouts` has put there.
    Once,
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
    /// Nowhere: there is only one of its type.
    None,
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

const WHOLE_NUMBERS: &[&str] = &["0", "1", "2", "-7", "42", "8080", "1000000", "9007199254740991"];
/// Those of 32 bits.
const SMALL_NUMBERS: &[&str] = &["0", "1", "2", "-7", "42", "8080", "1000000"];
/// Those that 32 bits of a binary fraction hold.
const SMALL_FRACTIONS: &[&str] = &["0", "1", "-7", "0.5", "-2.25", "1024", "0.0625"];
const ANY_NUMBERS: &[&str] =
    &["0", "-1", "0.5", "0.1", "-2.25", "3.14", "1e21", "123456789.125", "9007199254740991", "1e-7"];
const FRACTIONS: Values = Values::Numbers(ANY_NUMBERS);
const WORDS: Values = Values::Texts(&["a", "two words", "ünï", "${x}", "%{y}", "1", "true"]);
const WARN: Values = Values::Texts(&["warn", "nothing"]);
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
    troubles: &[],
    complete: false,
    alone: false,
    as_older_sdk: true,
    timeouts: Timeouts::Unset,
    numbers: WHOLE_NUMBERS,
};

/// A type of attribute in all flavours.
const FLAVOURS: Kind =
    Kind { imports: true, drift: &[("/state/plain", &["null"]), ("/state/secret", &["null"])], ..KIND };

/// Something of a schema of every shape. Nothing tells two of a type apart.
const SHAPES: Kind = Kind { marker: Marker::None, alone: true, ..KIND };

/// What takes some time, but no time here.
const JOBS: Kind = Kind {
    provider: Provider::Sandbox,
    values: &[("takes", Values::Texts(&["1ms", "2ms"]))],
    timeouts: Timeouts::Any,
    ..SHAPES
};

/// The configuration of a provider.
pub(crate) const CONFIGURATION: Kind = Kind {
    marker: Marker::None,
    values: &[("directory", Values::Never)],
    complete: true,
    numbers: SMALL_NUMBERS,
    ..KIND
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
        // Its null blocks are a change to it, which they are not to the SDK: OpenTofu finds its last plan inconsistent then.
        as_older_sdk: false,
        timeouts: Timeouts::Any,
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
        type_name: "sandbox_firewall",
        // As with the servers.
        as_older_sdk: false,
        provider: Provider::Sandbox,
        marker: Marker::None,
        alone: true,
        values: &[("ports", PORTS), ("priority", PORTS)],
        imports: true,
        ..KIND
    },
    // One of the sandbox's in each part of the kinds.
    Kind {
        type_name: "conformance_record",
        timeouts: Timeouts::Any,
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
        timeouts: Timeouts::Once,
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
    Kind { type_name: "conformance_attribute_bool", ..FLAVOURS },
    Kind { type_name: "conformance_attribute_int32", numbers: SMALL_NUMBERS, ..FLAVOURS },
    Kind { type_name: "conformance_attribute_int64", ..FLAVOURS },
    Kind { type_name: "conformance_attribute_float32", numbers: SMALL_FRACTIONS, ..FLAVOURS },
    Kind { type_name: "conformance_attribute_float64", numbers: ANY_NUMBERS, ..FLAVOURS },
    Kind { type_name: "conformance_attribute_number", numbers: ANY_NUMBERS, ..FLAVOURS },
    Kind { type_name: "conformance_attribute_string", ..FLAVOURS },
    Kind { type_name: "conformance_attribute_list", ..FLAVOURS },
    Kind { type_name: "conformance_attribute_set", ..FLAVOURS },
    Kind { type_name: "conformance_attribute_map", ..FLAVOURS },
    Kind { type_name: "conformance_attribute_object", complete: true, ..FLAVOURS },
    Kind { type_name: "conformance_attribute_dynamic", ..FLAVOURS },
    Kind { type_name: "conformance_attribute_list_nested", on_protocol_5: false, ..FLAVOURS },
    Kind {
        type_name: "conformance_attribute_set_nested",
        on_protocol_5: false,
        // The framework refuses a plan in which a default has made two elements one.
        values: &[("defaulted", Values::Never)],
        ..FLAVOURS
    },
    Kind { type_name: "conformance_attribute_map_nested", on_protocol_5: false, ..FLAVOURS },
    Kind { type_name: "conformance_attribute_single_nested", on_protocol_5: false, ..FLAVOURS },
    // Lists and single blocks with sets inside, whose members are computed, never come to rest: the framework plans such
    // members anew each time, and OpenTofu shows an update after each update as well.
    Kind { type_name: "conformance_block_list", imports: true, ..KIND },
    Kind { type_name: "conformance_block_set", imports: true, ..KIND },
    Kind { type_name: "conformance_block_single", imports: true, ..KIND },
    Kind {
        type_name: "conformance_timed_block",
        values: &[("wait_in", Values::Never)],
        timeouts: Timeouts::Any,
        imports: true,
        ..KIND
    },
    Kind {
        type_name: "conformance_timed_attribute",
        on_protocol_5: false,
        values: &[("wait_in", Values::Never)],
        timeouts: Timeouts::Any,
        imports: true,
        ..KIND
    },
    Kind { type_name: "conformance_diary", imports: true, ..KIND },
    Kind {
        type_name: "conformance_planner",
        values: &[
            ("on_validate", WARN),
            ("on_plan", Values::Texts(&["warn", "replace", "unknown"])),
            ("on_apply", WARN),
            ("on_read", WARN),
            ("on_destroy", WARN),
        ],
        imports: true,
        ..KIND
    },
    Kind {
        type_name: "conformance_flaky",
        values: &[("trouble", Values::Never)],
        troubles: &[
            ("create", &["error", "half", "whole"]),
            ("update", &["error", "half", "whole"]),
            // Not `whole`: to OpenTofu it is gone then, and an engine deletes again.
            ("delete", &["error", "half"]),
        ],
        ..KIND
    },
    Kind { type_name: "conformance_versioned", imports: true, ..KIND },
    Kind { type_name: "conformance_movable", ..KIND },
    // OpenTofu's state drops the fractions of larger numbers in identities.
    Kind { type_name: "conformance_passport", numbers: SMALL_NUMBERS, ..KIND },
    Kind { type_name: "conformance_nomad", ..KIND },
    Kind { type_name: "conformance_vault", ..KIND },
    Kind { type_name: "conformance_audited", imports: true, ..KIND },
    Kind { type_name: "conformance_deferred", values: &[("wait_for", Values::Never)], imports: true, ..KIND },
    Kind {
        type_name: "conformance_legacy_planned",
        values: &[("on_plan", Values::Never)],
        imports: true,
        ..KIND
    },
    Kind {
        type_name: "conformance_legacy_timed",
        values: &[("wait_in", Values::Never)],
        timeouts: Timeouts::Once,
        imports: true,
        ..KIND
    },
    Kind { type_name: "conformance_legacy_versioned", imports: true, ..KIND },
    Kind {
        type_name: "conformance_legacy_flaky",
        values: &[("trouble", Values::Never)],
        troubles: &[
            ("create", &["error", "half", "whole"]),
            // Not an update: the SDK tells the state before it, and isthmus reads what there is.
            ("delete", &["error", "half"]),
        ],
        ..KIND
    },
    Kind { type_name: "conformance_legacy_sets", ..KIND },
    Kind { type_name: "conformance_legacy_imported", imports: true, ..KIND },
    Kind { type_name: "conformance_legacy_identified", imports: true, ..KIND },
    Kind { type_name: "conformance_block_limits", values: &[("subnet", Values::Never)], ..SHAPES },
    Kind { type_name: "conformance_block_nesting", ..SHAPES },
    Kind { type_name: "conformance_block_dynamic", ..SHAPES },
    Kind { type_name: "conformance_nesting", on_protocol_5: false, ..SHAPES },
    Kind { type_name: "conformance_nesting_deep", on_protocol_5: false, ..SHAPES },
    Kind { type_name: "conformance_kinds", ..SHAPES },
    Kind { type_name: "conformance_objects", complete: true, ..SHAPES },
    Kind { type_name: "conformance_deep", complete: true, ..SHAPES },
    Kind {
        type_name: "conformance_dynamics",
        // All elements are of one type, which nobody declares.
        values: &[("any_list", Values::Never), ("any_map", Values::Never)],
        complete: true,
        ..SHAPES
    },
    Kind { type_name: "conformance_flags", complete: true, ..SHAPES },
    Kind { type_name: "conformance_flags_nested", on_protocol_5: false, ..SHAPES },
    Kind { type_name: "conformance_write_only", complete: true, ..SHAPES },
    Kind { type_name: "conformance_write_only_nested", on_protocol_5: false, complete: true, ..SHAPES },
    Kind { type_name: "conformance_obsolete", ..SHAPES },
    Kind { type_name: "conformance_casing", ..SHAPES },
    Kind { type_name: "conformance_plurals", complete: true, ..SHAPES },
    Kind { type_name: "conformance_keywords", ..SHAPES },
    Kind { type_name: "conformance_id_required", ..SHAPES },
    Kind { type_name: "conformance_id_absent", ..SHAPES },
    Kind { type_name: "conformance_name_computed", ..SHAPES },
    Kind { type_name: "conformance_clash", ..SHAPES },
    Kind { type_name: "conformance_nothing", ..SHAPES },
    Kind { type_name: "sandbox_job", ..JOBS },
    Kind { type_name: "sandbox_task", complete: true, ..JOBS },
    Kind { type_name: "sandbox_chore", ..JOBS },
    Kind { type_name: "conformance_id_taken", ..SHAPES },
    Kind { type_name: "conformance_name_inner", ..SHAPES },
    Kind { type_name: "conformance_name_number", ..SHAPES },
];
