//! Functions: what they take and give, of whatever type, and known or not.

use crate::harness::engine::Severity;
use crate::harness::{Host, Json, Session, Setup, json, on_both_protocols, unknown};

async fn odd(protocol: crate::harness::Protocol) -> Result<(Host, Session), tonic::Status> {
    Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await
}

async fn call(session: &Session, name: &str, arguments: Json) -> Result<Json, tonic::Status> {
    let token = format!("sandbox:index/odd{name}:odd{name}");
    Ok(session
        .preview_invoke(&token, &arguments)
        .await?
        .unwrap_or_else(|failures| panic!("{name}: {failures:?}")))
}

on_both_protocols! {
    async fn anything_goes_through_a_dynamic_parameter(protocol) {
        let (_host, session) = odd(protocol).await?;
        for value in [
            json!("text"),
            json!(1.5),
            json!(true),
            json!(["a", "b"]),
            json!(["a", 1, [true]]),
            json!({"aKey": {"another_key": [1]}}),
            json!([]),
        ] {
            assert_eq!(call(&session, "Same", json!({"value": value})).await?, json!({"result": value}));
        }
        assert_eq!(call(&session, "Same", json!({})).await?, json!({}), "null is no result");
    }

    async fn tuples_are_taken_and_given(protocol) {
        let (_host, session) = odd(protocol).await?;
        let swapped = json!({"result": {"t0": 3, "t1": "a"}});
        assert_eq!(call(&session, "Swap", json!({"pair": {"t0": "a", "t1": 3}})).await?, swapped);
        assert_eq!(call(&session, "Swap", json!({"pair": ["a", 3]})).await?, swapped);
    }

    async fn what_is_not_known_makes_a_result_unknown_unless_the_function_takes_it(protocol) {
        let (host, session) = odd(protocol).await?;
        // Taken as it is, at any depth.
        assert_eq!(call(&session, "Known", json!({"value": unknown()})).await?, json!({"result": false}));
        assert_eq!(call(&session, "Same", json!({"value": unknown()})).await?, json!({"result": unknown()}));
        let partly = json!(["a", {"b": unknown()}]);
        assert_eq!(call(&session, "Same", json!({"value": partly})).await?, json!({"result": partly}));
        let calls = host.count("CallFunction");

        // Not taken, so that nobody is asked.
        for others in [json!(unknown()), json!(["a", unknown()])] {
            let result = call(&session, "Known", json!({"value": "a", "others": others})).await?;
            assert_eq!(result, json!({"result": unknown()}));
        }
        assert_eq!(call(&session, "Swap", json!({"pair": ["a", unknown()]})).await?, json!({"result": unknown()}));
        let huge = call(&session, "Huge", json!({"number": unknown()})).await?;
        assert_eq!(huge, json!({"given": unknown(), "huge": unknown()}));
        assert_eq!(host.count("CallFunction"), calls);
    }

    async fn numbers_beyond_doubles_arrive_exactly_and_are_warned_of_on_their_way_back(protocol) {
        let (host, session) = odd(protocol).await?;
        let number = "123456789012345678901234567890";
        let result = call(&session, "Huge", json!({"number": number})).await?;
        assert_eq!(result["given"], number);
        assert_eq!(result["huge"].as_f64(), Some(9_007_199_254_740_992.0));
        let shown = host.engine.shown();
        let [line] = &*shown else { panic!("one line, not {shown:?}") };
        assert_eq!(line.severity, Severity::Warning);
        let place = "`huge` of function \"odd_huge\" is 9007199254740993, and a program gets 9007199254740992.0";
        assert!(line.message.starts_with(place), "{}", line.message);
    }
}
