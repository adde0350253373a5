//! Blocks that only the provider fills, which protocol 6 has.

use crate::harness::{Outcome, Protocol, Setup, json, unknown};

#[tokio::test]
async fn what_only_the_provider_fills_is_seen_and_kept() -> Outcome {
    let (_host, session) = Setup::sandbox(Protocol::V6).with("SANDBOX_ODD", "true").session().await?;
    let filled = session.resource("sandbox:index/oddFilled:OddFilled", "filled");
    let planned = filled.preview_create(&json!({"label": "a"})).await?;
    assert_eq!((&planned["parts"], &planned["only"]), (&unknown(), &unknown()));
    let made = filled.make(&json!({"label": "a"})).await?;
    assert_eq!(made.outputs["parts"], json!([{"value": 1}, {"value": 2}]));
    assert_eq!(made.outputs["only"], json!({"value": 3}));

    assert!(!filled.diff(&made, &made.inputs).await?.some, "nothing has changed");
    assert_eq!(filled.refresh(&made).await?.as_ref(), Some(&made));
    let news = json!({"label": "b"});
    assert_eq!(filled.diff(&made, &news).await?.changes, ["update label"]);
    let planned = filled.preview_update(&made, &news).await?;
    assert_eq!(planned["parts"], made.outputs["parts"]);
    let changed = filled.update(&made, &news).await?;
    assert_eq!(changed.outputs["parts"], made.outputs["parts"]);
    assert_eq!(changed.outputs["only"], made.outputs["only"]);
    filled.delete(&changed).await
}

#[tokio::test]
async fn what_only_the_provider_fills_is_no_input() -> Outcome {
    let (_host, session) = Setup::sandbox(Protocol::V6).with("SANDBOX_ODD", "true").session().await?;
    let filled = session.resource("sandbox:index/oddFilled:OddFilled", "filled");
    let checked = filled.check(&json!({"parts": [{"value": 7}]})).await?;
    assert!(checked.failures.iter().any(|(_, reason)| reason.starts_with("parts[0].value: ")), "{checked:?}");
    let described = &session.schema().await?["resources"]["sandbox:index/oddFilled:OddFilled"];
    assert!(
        described["properties"]["parts"].is_object() && described["inputProperties"].get("parts").is_none()
    );
    Ok(())
}
