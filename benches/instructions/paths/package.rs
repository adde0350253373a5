//! A provider as a package: the names of everything in it, and its schema for SDK generators.

use std::sync::Arc;

use isthmus_package::catalogue::{Identity, Package};
use isthmus_package::parameters::{Parameter, ParameterSource};
use isthmus_package::schema::package_schema;
use isthmus_proto::tfplugin6::{self, get_provider_schema::Response};
use isthmus_provider::plugin::ProtocolVersion;
use isthmus_provider::schema::{Catalogue, SchemaAnswer};
use prost::Message as _;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{Execution, counted};
use crate::sample::{PACKAGE, large_schema, type_name, usual_schema};

pub(super) fn names_100() -> Execution {
    names(100)
}

pub(super) fn names_1000() -> Execution {
    names(1000)
}

/// The package schema of a provider with one large resource.
pub(super) fn schema_1() -> Execution {
    schema(catalogue(vec![("cloud_service_instance".to_owned(), large_schema())]))
}

/// The package schema of a provider with 200 resources.
pub(super) fn schema_200() -> Execution {
    schema(catalogue((0..200).map(|number| (type_name(number), usual_schema(number))).collect()))
}

/// The names of so many resources. Their schemas play no role in it.
fn names(count: usize) -> Execution {
    let resources = (0..count).map(|number| (type_name(number), tfplugin6::Schema::default()));
    let (identity, catalogue) = (identity(), catalogue(resources.collect()));
    counted(
        move || Package::new(identity.clone(), Arc::clone(&catalogue)),
        move |package| assert_eq!(package.resources().len(), count),
    )
}

fn schema(catalogue: Arc<Catalogue>) -> Execution {
    stay_on_one_processor();
    let resources = catalogue.resource_names().len();
    let package = Package::new(identity(), catalogue);
    counted(
        move || package_schema(&package, "1.4.0").to_json(),
        move |json| assert_eq!(json.matches("\"stateInputs\":").count(), resources),
    )
}

/// Large packages are described by as many threads as there are processors, and only this one is counted.
fn stay_on_one_processor() {
    let available = sched_getaffinity(None).expect("a process may ask where it runs");
    let first = (0..CpuSet::MAX_CPU).find(|processor| available.is_set(*processor));
    let mut one = CpuSet::new();
    one.set(first.expect("it runs somewhere"));
    sched_setaffinity(None, &one).expect("a process may run in fewer places");
}

fn identity() -> Identity {
    let source = ParameterSource::Remote {
        url: format!("registry.opentofu.org/example/{PACKAGE}"),
        version: "3.8.1".to_owned(),
    };
    let parameter = Parameter::new(source);
    Identity::new(parameter).expect("the parameter is correct")
}

fn catalogue(resources: Vec<(String, tfplugin6::Schema)>) -> Arc<Catalogue> {
    let resources = resources.into_iter().map(|(name, schema)| (name, schema.encode_to_vec().into()));
    let response = Response {
        provider: Some(tfplugin6::Schema::default()),
        resource_schemas: resources.collect(),
        ..Response::default()
    };
    let answer = SchemaAnswer { protocol: ProtocolVersion::V6, bytes: response.encode_to_vec().into() };
    Arc::new(answer.decode().expect("the samples are correct").catalogue)
}
