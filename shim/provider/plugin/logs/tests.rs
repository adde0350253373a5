use super::*;
use crate::plugin::LogLevel;

/// All records of a sink.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<LogRecord>>>);

impl Received {
    fn logs(&self) -> Logs {
        self.logs_from(LogLevel::From(Level::Trace))
    }

    fn logs_from(&self, least: LogLevel) -> Logs {
        let list = Arc::clone(&self.0);
        let receive = move |record| list.lock().expect("not poisoned").push(record);
        Logs::new("random".into(), LogSink::from_level(least, receive))
    }

    fn records(&self) -> Vec<LogRecord> {
        self.0.lock().expect("not poisoned").clone()
    }

    fn summary(&self) -> Vec<(Level, String)> {
        self.records().into_iter().map(|record| (record.level, record.message)).collect()
    }
}

async fn drained(origin: Origin, text: &[u8]) -> (Received, LastWords) {
    let received = Received::default();
    let logs = received.logs();
    logs.drain(origin, text, None::<fn(&[u8]) -> bool>).await;
    (received, logs.last_words())
}

#[tokio::test]
async fn a_record_of_hclog_is_taken_apart() {
    let line = br#"{"@level":"warn","@message":"slow answer","@timestamp":"2026-01-02T15:04:05.000000Z","@module":"sdk.proto","tries":3,"url":"https://a"}"#;
    let (received, last) = drained(Origin::Stderr, line).await;
    assert_eq!(
        received.records(),
        [LogRecord {
            provider: "random".into(),
            origin: Origin::Stderr,
            level: Level::Warn,
            message: "slow answer".into(),
            module: Some("sdk.proto".into()),
            fields: vec![("tries".into(), "3".into()), ("url".into(), "https://a".into())],
        }]
    );
    assert_eq!(last.lines, ["slow answer tries=3 url=https://a"]);
}

#[tokio::test]
async fn a_line_that_is_not_json_is_judged_by_its_beginning() {
    let text =
        b"[WARN] careful\n2026/01/02 15:04:05 [ERROR]broken\nhello\n{\"not\":\"a record\"}\n{broken json\n";
    let (received, _) = drained(Origin::Stderr, text).await;
    assert_eq!(
        received.summary(),
        [
            (Level::Warn, "careful".into()),
            (Level::Error, "broken".into()),
            (Level::Debug, "hello".into()),
            (Level::Debug, "{\"not\":\"a record\"}".into()),
            (Level::Debug, "{broken json".into()),
        ]
    );
}

#[tokio::test]
async fn everything_after_a_panic_is_an_error_and_is_kept_for_the_report() {
    let text = b"starting\npanic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n";
    let (received, last) = drained(Origin::Stderr, text).await;
    let levels: Vec<Level> = received.records().iter().map(|record| record.level).collect();
    assert_eq!(levels, [Level::Debug, Level::Error, Level::Error, Level::Error, Level::Error]);
    assert_eq!(
        last.panic.as_deref(),
        Some("panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n")
    );
    assert_eq!(last.lines, ["starting"]);
}

#[tokio::test]
async fn a_print_that_looks_like_a_panic_is_none() {
    let (received, last) = drained(Origin::Printed, b"panic: no\nafterwards\n").await;
    assert_eq!(received.summary()[1], (Level::Debug, "afterwards".into()));
    assert_eq!(last.panic, None);
}

#[tokio::test]
async fn detailed_records_with_their_secrets_stay_out_of_the_last_lines() {
    let text = br#"{"@level":"debug","@message":"request","@module":"http","body":"password=hunter2"}
{"@level":"error","@message":"refused","status":403}
"#;
    let (received, last) = drained(Origin::Stderr, text).await;
    assert_eq!(received.records().len(), 2);
    assert_eq!(last.lines, ["refused status=403"]);
}

#[tokio::test]
async fn the_first_line_goes_to_who_asked_for_it() {
    let received = Received::default();
    let logs = received.logs();
    let mut first = Vec::new();
    logs.drain(
        Origin::Stdout,
        &b"1|6|unix|/a|grpc|\nstray\n"[..],
        Some(|line: &[u8]| {
            first = line.to_vec();
            true
        }),
    )
    .await;
    assert_eq!(first, b"1|6|unix|/a|grpc|");
    assert_eq!(received.summary(), [(Level::Debug, "stray".into())]);
}

#[tokio::test]
async fn a_flood_leaves_only_the_last_lines_behind() {
    let mut flood = String::new();
    for number in 0..5000 {
        flood.push_str(&format!("line {number} {}\n", "x".repeat(3000)));
    }
    let (received, last) = drained(Origin::Stderr, flood.as_bytes()).await;
    assert_eq!(received.records().len(), 5000);
    assert_eq!(last.lines.len(), REMEMBERED_LINES);
    assert!(
        last.lines[REMEMBERED_LINES - 1].starts_with("line 4999 "),
        "{}",
        last.lines[REMEMBERED_LINES - 1]
    );
    assert!(last.lines.iter().all(|line| line.len() < REMEMBERED_LINE_BYTES + 10));
}

#[tokio::test]
async fn a_trace_without_end_is_cut() {
    let trace =
        format!("fatal error: all goroutines are asleep\n{}", "goroutine 1 [chan receive]:\n".repeat(10_000));
    let (_, last) = drained(Origin::Stderr, trace.as_bytes()).await;
    let kept = last.panic.expect("it was a panic");
    assert!(kept.starts_with("fatal error: all goroutines") && kept.len() < REMEMBERED_PANIC_BYTES + 10);
}

#[tokio::test]
async fn control_characters_do_not_reach_a_terminal_through_an_error() {
    let (_, last) = drained(Origin::Stderr, b"\x1b[2Jgone\xff\n").await;
    assert_eq!(last.lines, ["\\u{1b}[2Jgone\u{fffd}"]);
    let (_, last) = drained(Origin::Stderr, "admin\u{202e} \u{1f468}\u{200d}\u{1f469}\n".as_bytes()).await;
    assert_eq!(last.lines, ["admin\\u{202e} \u{1f468}\u{200d}\u{1f469}"]);
}

#[tokio::test]
async fn a_sink_hears_no_log_line_below_its_level_and_the_last_lines_are_kept_all_the_same() {
    let text = br#"{"@level":"trace","@message":"called"}
{"@level":"info","@message":"ready"}
{"@level":"error","@message":"broken"}
2026/01/02 15:04:05 [DEBUG] printed by an older SDK
stray
"#;
    let received = Received::default();
    let logs = received.logs_from(LogLevel::From(Level::Warn));
    logs.drain(Origin::Stderr, &text[..], None::<fn(&[u8]) -> bool>).await;
    assert_eq!(received.summary(), [(Level::Error, "broken".into()), (Level::Debug, "stray".into())]);
    assert_eq!(logs.last_words().lines, ["ready", "broken", "stray"]);
}

/// Logs of a provider with a known secret.
fn knowing(received: &Received) -> Logs {
    let secrets = KnownSecrets::default();
    secrets.learn("sesame-sesame", isthmus_known_secrets::Retention::Usual);
    let list = Arc::clone(&received.0);
    let sink = LogSink::new(move |record| list.lock().expect("not poisoned").push(record));
    Logs::new("random".into(), sink.redacting(secrets))
}

#[tokio::test]
async fn secrets_are_redacted_in_records_and_in_last_words() {
    let received = Received::default();
    let logs = knowing(&received);
    let line = br#"{"@level":"warn","@message":"it is sesame-sesame","password":"sesame-sesame"}"#;
    let panic = b"\npanic: sesame-sesame\n\tgoroutine of sesame-sesame\n";
    logs.drain(Origin::Stderr, &[&line[..], &panic[..]].concat()[..], None::<fn(&[u8]) -> bool>).await;
    let records = received.records();
    assert_eq!(records[0].message, "it is [secret]");
    assert_eq!(records[0].fields, [("password".to_owned(), "[secret]".to_owned())]);
    let LastWords { lines, panic } = logs.last_words();
    assert_eq!(lines, ["it is [secret] password=[secret]"]);
    assert_eq!(panic.as_deref(), Some("panic: [secret]\n\tgoroutine of [secret]\n"));
}

#[tokio::test]
async fn secrets_are_redacted_in_names_of_fields_and_modules() {
    let received = Received::default();
    let logs = knowing(&received);
    let line = br#"{"@level":"warn","@message":"m","@module":"of.sesame-sesame","sesame-sesame":1}"#;
    logs.drain(Origin::Stderr, &line[..], None::<fn(&[u8]) -> bool>).await;
    let records = received.records();
    assert_eq!(records[0].module.as_deref(), Some("of.[secret]"));
    assert_eq!(records[0].fields, [("[secret]".to_owned(), "1".to_owned())]);
    assert_eq!(logs.last_words().lines, ["m [secret]=1"]);
}

#[tokio::test]
async fn a_secret_that_a_long_line_is_cut_in_is_redacted_all_the_same() {
    for before in (LONGEST_PIECE - 20)..=LONGEST_PIECE {
        let received = Received::default();
        let text = format!("{}sesame-sesame{}\n", "x".repeat(before), "y".repeat(LONGEST_PIECE));
        knowing(&received).drain(Origin::Stderr, text.as_bytes(), None::<fn(&[u8]) -> bool>).await;
        let whole: String = received.records().into_iter().map(|record| record.message).collect();
        assert_eq!(whole, text.trim_end().replace("sesame-sesame", "[secret]"), "{before}");
    }
}

#[tokio::test]
async fn a_secret_in_base64_that_a_long_line_is_cut_in_is_redacted_all_the_same() {
    // `user:sesame-sesame`, in lines.
    let encoded = "dXNlcjpzZXNhbWU\\nt\\nc2VzYW1l";
    for before in (LONGEST_PIECE - 40)..=LONGEST_PIECE {
        let received = Received::default();
        let text = format!("{}.{encoded}.{}\n", "x".repeat(before), "y".repeat(LONGEST_PIECE));
        knowing(&received).drain(Origin::Stderr, text.as_bytes(), None::<fn(&[u8]) -> bool>).await;
        let whole: String = received.records().into_iter().map(|record| record.message).collect();
        assert_eq!(whole, text.trim_end().replace(&encoded[6..], "[secret]"), "{before}");
    }
}
