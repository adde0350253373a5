//! Several connections and many calls at once on one process.

use crate::harness::engine::Engine;
use crate::harness::{Setup, json, on_one_protocol};

on_one_protocol! {
    async fn each_session_tells_its_own_engine(protocol) {
        let host = Setup::sandbox(protocol).attachable().start().await;
        let other_engine = Engine::start().await;
        let (one, other) = (host.connect().await, host.connect().await);
        for (session, engine) in [(&one, &host.engine), (&other, &other_engine)] {
            session.handshake("").await?;
            session.attach(engine.address()).await?;
            session.parameterize(&[&host.provider()]).await?;
            session.configure(&json!({})).await?;
        }
        one.resource("sandbox:index/note:Note", "one").check(&json!({"title": "warn"})).await?;
        assert_eq!(host.engine.shown().len(), 1, "{:?}", host.engine.shown());
        assert_eq!(other_engine.shown(), []);
        other.resource("sandbox:index/note:Note", "other").check(&json!({"title": "warn"})).await?;
        assert_eq!(host.engine.shown().len(), 1, "{:?}", host.engine.shown());
        assert_eq!(other_engine.shown().len(), 1, "{:?}", other_engine.shown());
        assert!(other_engine.shown()[0].urn.ends_with("::other"));
    }

    async fn each_session_has_a_configuration_of_its_own(protocol) {
        let host = Setup::sandbox(protocol).attachable().start().await;
        let mut objects = Vec::new();
        for name in ["one", "other"] {
            let directory = host.directory().join(name);
            let session = host.parameterized().await?;
            session.configure(&json!({"directory": directory.to_str()})).await?;
            session.note().make(&json!({"title": name})).await?;
            objects.push(std::fs::read_dir(&directory).expect("the provider's directory").count());
        }
        assert_eq!(objects, [1, 1]);
        assert_eq!(host.provider_processes().len(), 2);
    }
}
