//! Numbers that no double holds, on their way through a resource's life.

use crate::harness::resource::Difference;
use crate::harness::{Json, Setup, json, on_both_protocols};

/// Whole numbers and fractions beyond what a double holds.
const NUMBERS: [&str; 5] = [
    "18446744073709551615",
    "9007199254740993",
    "-9007199254740993",
    "-123456789012345678901234567890.5",
    "0.1000000000000000000000000001",
];

fn inputs(number: &str) -> Json {
    json!({
        "value": number,
        "values": [1, number],
        "uniques": [number, 1],
        "byName": {"big": number, "small": 2},
        "inside": {"value": number},
        "parts": [{"value": number}, {"value": 3}],
    })
}

on_both_protocols! {
    async fn numbers_beyond_doubles_are_exact_through_a_resources_life(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        for number in NUMBERS {
            let made = numbers.make(&inputs(number)).await?;
            let nearest: f64 = number.parse().expect("a number");
            let shown = made.outputs["value"].as_f64().expect("a property that is a number stays one");
            assert!((shown - nearest).abs() <= f64::EPSILON * nearest.abs(), "{shown} for {number}");
            assert!(made.outputs["__pulumi_raw_state_delta"].to_string().contains(number), "{number} is kept");

            assert_eq!(numbers.diff(&made, &made.inputs).await?, Difference::default(), "{number}: nothing has changed");
            let read = numbers.refresh(&made).await?.expect("it is there");
            assert_eq!(read, made, "{number}: a refresh changes neither outputs nor inputs");
            assert!(!numbers.diff(&read, &made.inputs).await?.some, "{number}: nothing has changed");

            let mut news = made.inputs.clone();
            news["label"] = json!("changed");
            let difference = numbers.diff(&read, &news).await?;
            assert_eq!(difference.changes, ["add label"], "{number}");
            let changed = numbers.update(&read, &news).await?;
            assert_eq!(changed.outputs["huge"], made.outputs["huge"]);
            assert!(!numbers.diff(&changed, &news).await?.some, "{number}: nothing has changed");
            numbers.delete(&changed).await?;
        }
    }

    async fn numbers_beyond_doubles_are_decimal_strings_where_the_user_wants_them(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").with("ISTHMUS_EXACT_NUMBERS", "string");
        let (host, session) = setup.session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        for number in NUMBERS {
            let expected = inputs(number);
            assert_eq!(numbers.preview_create(&expected).await?["value"], expected["value"]);
            let made = numbers.make(&expected).await?;
            for (name, value) in expected.as_object().expect("properties") {
                assert_eq!(&made.outputs[name], value, "{name}");
            }
            assert_eq!(made.outputs["huge"], "9007199254740993");
            assert!(!numbers.diff(&made, &made.inputs).await?.some, "{number}: nothing has changed");
            let read = numbers.refresh(&made).await?.expect("it is there");
            assert_eq!(read, made, "{number}: a refresh changes neither outputs nor inputs");
            let mut news = made.inputs.clone();
            news["label"] = json!("changed");
            let changed = numbers.update(&read, &news).await?;
            assert_eq!(changed.outputs["value"], number);
            assert!(!numbers.diff(&changed, &news).await?.some, "{number}: nothing has changed");
            numbers.delete(&changed).await?;
        }
        let shown: Vec<String> = host.engine.shown().into_iter().map(|line| line.message).collect();
        let open = "`open[0]` of sandbox_odd_numbers is 9007199254740993, and a program gets 9007199254740992.0, because numbers of \
                    programs hold about 16 digits";
        assert_eq!(shown, [open], "text there would be text for the provider");
    }

    async fn a_number_that_loses_digits_is_warned_of_once_a_path(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        let made = numbers.make(&json!({"value": "9007199254740993"})).await?;
        let other = json!({"value": "9007199254740995"});
        let changed = numbers.update(&made, &other).await?;
        numbers.refresh(&changed).await?;
        let mut shown: Vec<String> = host.engine.shown().into_iter().map(|line| line.message).collect();
        shown.sort();
        let warning = |path: &str, exact: &str, nearest: &str| {
            format!(
                "`{path}` of sandbox_odd_numbers is {exact}, and a program gets {nearest}, because numbers of programs hold about \
                 16 digits; with ISTHMUS_EXACT_NUMBERS=string it gets such numbers as strings"
            )
        };
        let mut expected = ["huge", "open[0]", "value"].map(|path| warning(path, "9007199254740993", "9007199254740992.0"));
        expected[1] = expected[1].replace("; with ISTHMUS_EXACT_NUMBERS=string it gets such numbers as strings", "");
        assert_eq!(shown, expected);
    }

    async fn a_number_that_may_have_lost_digits_is_warned_of_at_check(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        numbers.checked(&json!({"value": 123_456_789_012_345_680_u64, "values": ["123456789012345678", 1e20]})).await?;
        let shown: Vec<String> = host.engine.shown().into_iter().map(|line| line.message).collect();
        assert!(shown.len() == 1 && shown[0].contains("`value` has more digits"), "{shown:?}");
    }

    async fn a_difference_that_no_double_shows_is_a_difference(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        let made = numbers.make(&inputs("9007199254740993")).await?;
        // The double nearest to what there is.
        let difference = numbers.diff(&made, &inputs("9007199254740992")).await?;
        assert_eq!(
            difference.changes,
            [
                "update byName.big",
                "update inside.value",
                "update parts[0].value",
                "update uniques[0]",
                "update value",
                "update values[1]",
            ]
        );
    }

    async fn numbers_that_are_to_stay_stay_exactly(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        let made = numbers.make(&inputs("9007199254740993")).await?;
        let ignored = ["value", "values", "uniques", "byName", "inside", "parts"];
        let answer = numbers.diff_in_full(&made, &inputs("5"), &ignored).await?;
        assert_eq!(answer.diffs, [""; 0], "{answer:?}");
    }

    async fn numbers_that_only_the_provider_knows_are_exact(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        let made = numbers.make(&json!({"label": "a"})).await?;
        assert_eq!(made.outputs["huge"], json!(9_007_199_254_740_992_u64), "the nearest double is shown");
        assert_eq!(made.outputs["open"], json!([9_007_199_254_740_992_u64]));
        let read = numbers.refresh(&made).await?.expect("it is there");
        assert_eq!(read, made);
        let changed = numbers.update(&read, &json!({"label": "b"})).await?;
        assert_eq!(changed.outputs["__pulumi_raw_state_delta"], made.outputs["__pulumi_raw_state_delta"]);

        // What is given as a dynamic value is given as a double.
        let given = numbers.make(&json!({"open": {"big": 1e20, "list": [9_007_199_254_740_991_u64]}})).await?;
        assert!(!numbers.diff(&given, &given.inputs).await?.some);
        let read = numbers.refresh(&given).await?.expect("it is there");
        assert_eq!(read, given);
    }

    async fn imported_numbers_are_text_where_a_double_would_change_them(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        let imported = numbers.import("some-id").await?.expect("any id will do");
        assert_eq!(imported.inputs, json!({"value": "9007199254740993"}));
        let checked = numbers.checked(&imported.inputs).await?;
        assert!(!numbers.diff(&imported, &checked).await?.some, "what was imported is what there is");
    }
}
