//! Names: what the resources are called, and what their providers' objects are called where the program does not say.

use isthmus_proto::property::{Struct, Value};

use super::engine::{Goal, Step};
use super::{goal, sandbox, text};

fn bucket(inputs: impl Into<Struct>) -> [Goal; 1] {
    [goal("sandbox:bucket:Bucket", inputs)]
}

#[tokio::test]
async fn a_name_is_made_up_once_and_stays_until_the_resource_is_replaced() {
    let (mut engine, _objects) = sandbox().await;
    let plain = |region: &str| bucket([("urnName", Value::from("logs")), ("region", region.into())]);
    assert_eq!(engine.plan(&plain("eu")).await.expect("a plan"), [("logs".to_owned(), Step::Create)]);
    engine.deploy(&plain("eu")).await.expect("created");
    let made = engine.resource("logs").clone();
    let name = text(&made.outputs, "name");
    let digits = name.strip_prefix("logs-").unwrap_or_else(|| panic!("{name} is not made of the name"));
    assert!(digits.len() == 7 && digits.chars().all(|digit| digit.is_ascii_hexdigit()), "{name}");
    assert_eq!(made.defaults, [("name", Value::from(name.clone()))].into(), "the engine stores it");

    for _ in 0..2 {
        let steps = engine.deploy(&plain("eu")).await.expect("nothing to do");
        assert_eq!(steps, [("logs".to_owned(), Step::Same)]);
    }
    let replaced = engine.deploy(&plain("us")).await.expect("replaced");
    assert_eq!(replaced, [("logs".to_owned(), Step::Replace(vec!["region".to_owned()]))]);
    let second = text(&engine.resource("logs").outputs, "name");
    assert!(second.starts_with("logs-") && second != name, "{second} after {name}");
}

#[tokio::test]
async fn a_name_of_the_programs_own_is_left_alone_and_one_that_conflicts_is_not_made() {
    let (mut engine, _objects) = sandbox().await;
    engine.deploy(&bucket([("name", Value::from("mine"))])).await.expect("created");
    let made = engine.resource("mine").clone();
    assert_eq!((text(&made.outputs, "name").as_str(), made.defaults.len()), ("mine", 0));
    let prefixed = [("urnName", Value::from("other")), ("namePrefix", "pre-".into())];
    engine.deploy(&bucket(prefixed)).await.expect("created");
    let made = engine.resource("other").clone();
    assert!(text(&made.outputs, "name").starts_with("pre-"), "{:?}", made.outputs);
    assert_eq!(made.defaults, Struct::new());
}
