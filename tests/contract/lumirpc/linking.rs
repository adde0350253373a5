//! `isthmus link` puts a plugin where this engine looks, and the plugin finds its provider.

use isthmus_proto::property::Value;

use super::engine::{Engine, Step};
use super::pet;

#[tokio::test]
async fn a_linked_provider_is_found_and_run_by_the_engine() {
    let mut engine = Engine::with_linked_tool("random").await;
    let goals = [pet([("urnName", Value::from("pet")), ("length", 2.0.into())])];
    let steps = engine.deploy(&goals).await.expect("created");
    assert_eq!(steps, [("pet".to_owned(), Step::Create)]);
    assert_eq!(engine.resource("pet").id.split('-').count(), 2);
    engine.deploy(&[]).await.expect("deleted");
}
