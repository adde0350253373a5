//! All counted paths.
//!
//! Most are counted with two samples: a small resource like `random_pet`, and a large one.

mod bag;
mod cty;
mod package;
mod resource;
mod rules;
mod schema;
mod secrets;
mod state;
mod translate;
mod versions;

use std::hint::black_box;

/// A path whose instructions are counted.
pub(crate) struct CountedPath {
    pub(crate) name: &'static str,
    /// How often it is executed for a count: their average is the count. Of a short path more, so that what
    /// happens now and then, such as in the allocator, evens out.
    pub(crate) times: usize,
    pub(crate) prepare: fn() -> Execution,
}

/// A path with everything that it needs.
pub(crate) type Execution = Box<dyn Fn()>;

/// In alphabetical order.
pub(crate) const ALL: &[CountedPath] = &[
    path("autoname", 100, resource::autoname),
    path("bag_decode_large", 20, bag::decode_large),
    path("bag_decode_small", 100, bag::decode_small),
    path("bag_encode_large", 20, bag::encode_large),
    path("bag_encode_small", 100, bag::encode_small),
    path("check_large", 20, resource::check_large),
    path("check_small", 100, resource::check_small),
    path("config_large", 20, translate::config_large),
    path("config_small", 100, translate::config_small),
    path("constraint", 20, versions::constraint),
    path("delta_recover_large", 20, translate::recover_large),
    path("delta_recover_small", 100, translate::recover_small),
    path("diff_large", 20, resource::diff_large),
    path("diff_list_100", 20, resource::diff_list),
    path("diff_set_100", 20, resource::diff_set),
    path("diff_small", 100, resource::diff_small),
    path("journal_creation", 100, state::creation),
    path("journal_intent", 100, state::intent),
    path("json_read_large", 20, cty::json_read_large),
    path("json_read_small", 100, cty::json_read_small),
    path("json_write_large", 20, cty::json_write_large),
    path("json_write_small", 100, cty::json_write_small),
    path("msgpack_decode_large", 20, cty::msgpack_decode_large),
    path("msgpack_decode_small", 100, cty::msgpack_decode_small),
    path("msgpack_encode_large", 20, cty::msgpack_encode_large),
    path("msgpack_encode_small", 100, cty::msgpack_encode_small),
    path("names_100", 20, package::names_100),
    path("names_1000", 5, package::names_1000),
    path("outputs_large", 20, translate::outputs_large),
    path("outputs_small", 100, translate::outputs_small),
    path("package_schema_1", 20, package::schema_1),
    path("package_schema_200", 1, package::schema_200),
    path("redact_0", 100, secrets::redact_0),
    path("redact_10", 20, secrets::redact_10),
    path("redact_1000", 20, secrets::redact_1000),
    path("rules_apply_large", 20, rules::apply_large),
    path("rules_apply_small", 100, rules::apply_small),
    path("rules_plan_large", 20, rules::plan_large),
    path("rules_plan_small", 100, rules::plan_small),
    path("rules_proposed_large", 20, rules::proposed_large),
    path("rules_proposed_set_100", 20, rules::proposed_set),
    path("rules_proposed_small", 100, rules::proposed_small),
    path("schema_compile_large", 20, schema::compile_large),
    path("schema_compile_small", 100, schema::compile_small),
    path("secrets_index", 20, secrets::index),
    path("secrets_note", 20, secrets::note),
    path("shape_large", 20, schema::shape_large),
    path("shape_small", 100, schema::shape_small),
    path("state_large", 20, translate::state_large),
    path("state_small", 100, translate::state_small),
];

const fn path(name: &'static str, times: usize, prepare: fn() -> Execution) -> CountedPath {
    CountedPath { name, times, prepare }
}

/// A path, after its result was checked once. Dropping the result is counted: somebody has to.
fn counted<Output>(work: impl Fn() -> Output + 'static, check: impl FnOnce(Output)) -> Execution {
    check(work());
    Box::new(move || drop(black_box(work())))
}
