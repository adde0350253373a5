//! Names: what the resources are called, and what their providers' objects are called where the program does not say.

use isthmus_proto::property::{Struct, Value};

use super::engine::{Engine, Goal, Step};
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

#[tokio::test]
async fn what_names_a_type_can_be_configured() {
    let mut engine = Engine::with_tool("local").await;
    engine.set("ISTHMUS_NAME_PROPERTIES", r#"{"local_file": ["filename", "content"]}"#);
    let path = engine.home().join("greeting");
    let path = path.to_str().expect("text");
    let file =
        |content: Value| [goal("local:file:File", [("filename", Value::from(path)), ("content", content)])];
    let steps = engine.deploy(&file("hello".into())).await.expect("created");
    assert_eq!(steps, [(format!("{path}:hello"), Step::Create)]);
    for (content, words) in [
        (Value::Null, "`content` names the resource, as ISTHMUS_NAME_PROPERTIES says, so it must be set"),
        (isthmus_translate::property::unknown(), "`content` names the resource, so it must be known"),
        ("".into(), "must be text that is not empty"),
    ] {
        let error = engine.plan(&file(content)).await.expect_err(words);
        assert!(error.contains(words), "{words:?} is not in: {error}");
    }
    engine.set("ISTHMUS_NAME_PROPERTIES", "filename");
    let error = engine.plan(&file("hello".into())).await.expect_err("a setting that is no object");
    assert!(error.contains("ISTHMUS_NAME_PROPERTIES=\"filename\": invalid JSON"), "{error}");
}
