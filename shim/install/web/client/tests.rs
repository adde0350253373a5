use super::*;
use crate::auth::NoCredentials;
use crate::web::testing::{OneToken, Scripted, ScriptedTransport, SteppedClock};

const URL: &str = "https://example.com/a";

struct Fixture {
    network: Arc<ScriptedTransport>,
    clock: Arc<SteppedClock>,
}

impl Fixture {
    fn new(answers: &[(&str, Scripted)]) -> Self {
        let network = Arc::new(ScriptedTransport::default());
        for (url, answer) in answers {
            network.put(url, answer.clone());
        }
        Self { network, clock: Arc::new(SteppedClock::at(784_111_777)) }
    }

    fn client(&self, credentials: impl CredentialsSource) -> WebClient {
        WebClient::new(self.network.clone(), Arc::new(credentials)).with_clock(self.clock.clone())
    }

    async fn fetch(&self) -> Result<Fetched, WebError> {
        let url = Url::parse(URL).expect("an address");
        self.client(NoCredentials).fetch(&Ask { largest: 10, redirects: 3, ..Ask::document(&url) }).await
    }

    async fn body(&self) -> String {
        let fetched = self.fetch().await.unwrap_or_else(|error| panic!("{error}"));
        String::from_utf8(fetched.body.into()).expect("a text")
    }

    async fn refused(&self) -> String {
        self.fetch().await.expect_err("it is refused").to_string()
    }

    fn waited(&self) -> Vec<u128> {
        self.clock.sleeps().iter().map(Duration::as_millis).collect()
    }
}

#[tokio::test]
async fn transient_failures_are_retried_with_exponential_backoff() {
    for first in [
        Scripted::Fails(TransportFault::Broken),
        Scripted::Fails(TransportFault::NoRoute),
        Scripted::status(503),
        Scripted::status(429),
        Scripted::Answers { status: 200, headers: Vec::new(), pieces: vec!["half".into()], breaks: true },
    ] {
        let web = Fixture::new(&[(URL, first), (URL, Scripted::status(500)), (URL, Scripted::body("whole"))]);
        assert_eq!(web.body().await, "whole");
        assert_eq!(web.waited(), [500, 1000]);
    }
    let web = Fixture::new(&[(URL, Scripted::status(502))]);
    let refused = web.refused().await;
    assert!(refused.contains("answered 502 Bad Gateway (3 attempts)"), "{refused}");
    assert_eq!(web.waited(), [500, 1000]);
}

#[tokio::test]
async fn permanent_failures_are_not_retried() {
    for answer in [
        Scripted::status(401),
        Scripted::status(404),
        Scripted::status(501),
        Scripted::status(204),
        Scripted::Fails(TransportFault::Tls),
        Scripted::body("more than ten bytes"),
    ] {
        let web = Fixture::new(&[(URL, answer)]);
        web.refused().await;
        assert!(web.waited().is_empty() && web.network.asked().len() == 1, "{:?}", web.network.asked());
    }
}

#[tokio::test]
async fn retry_after_is_respected() {
    // 784,111,777 is the date of the standard's example.
    for (retry_after, waits) in
        [("7", vec![7000]), ("Sun, 06 Nov 1994 08:49:57 GMT", vec![20_000]), ("0", vec![0])]
    {
        let busy = Scripted::status(429).with("retry-after", retry_after);
        let web = Fixture::new(&[(URL, busy), (URL, Scripted::body("there"))]);
        assert_eq!(web.body().await, "there");
        assert_eq!(web.waited(), waits, "{retry_after}");
    }
    let web = Fixture::new(&[(URL, Scripted::status(429).with("retry-after", "900"))]);
    let refused = web.fetch().await.expect_err("it is refused").help().expect("something can be done");
    assert!(refused.contains("accepts none for 900 seconds"), "{refused}");
    assert!(web.waited().is_empty());
}

#[tokio::test]
async fn redirects_are_followed_up_to_a_limit_and_never_out_of_tls() {
    let other = "https://other.example/b";
    let web = Fixture::new(&[(URL, Scripted::redirect(other)), (other, Scripted::body("there"))]);
    let fetched = web.fetch().await.expect("it is there");
    assert_eq!((fetched.url.as_str(), &fetched.body[..]), (other, &b"there"[..]));

    let web = Fixture::new(&[(URL, Scripted::redirect("/a"))]);
    let refused = web.refused().await;
    assert!(refused.contains("https://example.com/a: it redirects more than 3 times"), "{refused}");
    assert_eq!(web.network.asked().len(), 4);

    for (location, says) in [
        ("http://example.com/b", "it redirects from https to http://example.com/b"),
        ("ftp://example.com/b", "it redirects to no address"),
        ("https://", "it redirects to no address"),
    ] {
        let refused = Fixture::new(&[(URL, Scripted::redirect(location))]).refused().await;
        assert!(refused.contains(says), "{refused}");
    }
}

#[tokio::test]
async fn a_token_is_sent_to_its_own_server_alone() {
    let (other, home) = ("https://other.example/b", "https://example.com/c");
    let web = Fixture::new(&[
        (URL, Scripted::redirect(other)),
        (other, Scripted::redirect(home)),
        (home, Scripted::body("there")),
    ]);
    let url = Url::parse(URL).expect("an address");
    let client = web.client(OneToken("example.com", "s3cret"));
    client.fetch(&Ask::document(&url).with_token_of("example.com")).await.expect("it is there");
    client.fetch(&Ask::document(&url)).await.expect("it is there");
    client.fetch(&Ask::document(&url).with_token_of("elsewhere.example")).await.expect("it is there");
    assert_eq!(
        web.network.asked()[..3],
        [format!("{URL} Bearer s3cret"), other.to_owned(), format!("{home} Bearer s3cret")]
    );
    assert!(web.network.asked()[3..].iter().all(|asked| !asked.contains("Bearer")));

    let web = Fixture::new(&[(URL, Scripted::status(401))]);
    let client = web.client(OneToken("example.com", "s3cret"));
    let error = client.fetch(&Ask::document(&url).with_token_of("example.com")).await.expect_err("401");
    let help = error.help().expect("something can be done");
    assert!(help.starts_with("the configured token is not accepted; renew it: "), "{help}");
    assert!(!format!("{error:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_web_page_in_place_of_json_is_recognised() {
    let url = Url::parse(URL).expect("an address");
    for (answer, says) in [
        (Scripted::body("<html>Log in"), "a web page where JSON is expected"),
        (Scripted::body("x").with("content-type", "text/HTML; charset=utf-8"), "a web page"),
        (Scripted::body("["), "not what the protocol says (EOF"),
        (Scripted::body("[1]"), "not what the protocol says (invalid type"),
    ] {
        let web = Fixture::new(&[(URL, answer)]);
        let read = web.client(NoCredentials).fetch_json::<Vec<String>>(&Ask::json(&url)).await;
        let error = read.expect_err("it is no list of texts").to_string();
        assert!(error.contains(says), "{error}");
    }
}
