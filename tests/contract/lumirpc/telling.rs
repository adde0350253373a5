//! What this engine is told of outputs that it cannot keep to itself, or cannot receive.

use isthmus_proto::property::Value;

use super::engine::{Engine, Step};
use super::{goal, kept, sandbox, text};
use crate::harness::engine::{Line, Severity};

fn warnings(engine: &Engine) -> Vec<String> {
    let warned = |line: Line| (line.severity == Severity::Warning).then_some(line.message);
    engine.shown().into_iter().filter_map(warned).collect()
}

#[tokio::test]
async fn sensitive_outputs_are_told_in_the_clear_with_one_warning() {
    let mut engine = Engine::with_tool("random").await;
    let passwords = ["one", "two"].map(|name| {
        goal("random:password:Password", [("urnName", Value::from(name)), ("length", 12.0.into())])
    });
    engine.deploy(&passwords).await.expect("created");
    assert_eq!(text(&engine.resource("two").outputs, "result").len(), 12);
    let warned = warnings(&engine);
    let [warning] = &warned[..] else { panic!("one warning, not {warned:?}") };
    for part in [
        "stored in the clear",
        "`bcryptHash`",
        "`result`",
        "random_password",
        "ISTHMUS_SENSITIVE_OUTPUTS=withhold",
    ] {
        assert!(warning.contains(part), "{part:?} is not in: {warning}");
    }
}

#[tokio::test]
async fn sensitive_outputs_can_be_withheld_and_are_in_the_store_alone() {
    let mut engine = Engine::with_tool("random").await;
    engine.set("ISTHMUS_SENSITIVE_OUTPUTS", "withhold");
    let password = |length: f64| {
        [goal("random:password:Password", [("urnName", Value::from("password")), ("length", length.into())])]
    };
    engine.deploy(&password(12.0)).await.expect("created");
    let made = engine.resource("password").clone();
    assert_eq!(
        (made.outputs.get("result"), made.outputs.get("bcryptHash")),
        (None, None),
        "{:?}",
        made.outputs
    );
    assert_eq!(made.outputs.get("length").and_then(Value::as_f64), Some(12.0));
    let found =
        engine.get("random:password:Password", &made.id).await.expect("an answer").expect("a password");
    assert_eq!(found, made.outputs);

    let replaced = engine.deploy(&password(13.0)).await.expect("replaced");
    assert_eq!(replaced, [("password".to_owned(), Step::Replace(vec!["length".to_owned()]))]);
    engine.deploy(&[]).await.expect("deleted");
    assert_eq!(kept(engine.home()).await, []);
    assert_eq!(warnings(&engine), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_that_the_engine_cannot_receive_goes_without_its_largest_outputs() {
    // The client of the test takes 4 MiB at most, as that engine does.
    const TOO_MUCH: usize = 4 * 1024 * 1024 - 10;
    let (mut engine, _objects) = sandbox().await;
    let note = |tag: &str| {
        let body = Value::from("x".repeat(TOO_MUCH));
        let inputs = [
            ("urnName", Value::from("long")),
            ("title", "long".into()),
            ("body", body),
            ("color", tag.into()),
        ];
        [goal("sandbox:note:Note", inputs)]
    };
    engine.deploy(&note("red")).await.expect("created");
    let made = engine.resource("long").clone();
    assert!(!made.id.is_empty() && text(&made.outputs, "title") == "long", "{}", made.id);
    assert_eq!(made.outputs.get("body"), None);
    let warned = warnings(&engine);
    let [warning] = &warned[..] else { panic!("one warning, not {warned:?}") };
    for part in ["Outputs are left out", "`body`", &made.id, "4 MiB", "The store of objects has them"] {
        assert!(warning.contains(part), "{part:?} is not in: {warning}");
    }

    let found = engine.get("sandbox:note:Note", &made.id).await.expect("an answer").expect("a note");
    assert_eq!(found, made.outputs);
    engine.deploy(&note("blue")).await.expect("replaced, with its prior state from the store");
    engine.deploy(&[]).await.expect("deleted");
    assert_eq!(kept(engine.home()).await, []);
}
