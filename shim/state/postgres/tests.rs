//! Behaviour of PostgreSQL only: lost connections, TLS, creation of the tables.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};

use super::*;
use crate::store::Claim;
use crate::suite::{Server as TestServer, World, add, bytes_of, commit_one, key};
use crate::{EncryptedStore, Intent, OperationKind, StoreAddress};

const HOUR: Duration = Duration::from_secs(3600);

fn server_of(world: &World) -> ServerAddress {
    match world.address() {
        StoreAddress::Server(address) => address,
        StoreAddress::File(path) => panic!("no server: {}", path.display()),
    }
}

/// A proxy to the server that interrupts connections on request.
struct Cut {
    address: ServerAddress,
    plan: Arc<Plan>,
}

#[derive(Default)]
struct Plan {
    /// Where to interrupt the following commits.
    cut: Mutex<Option<Where>>,
    commits: AtomicUsize,
    /// Refuses all connections.
    is_away: AtomicBool,
    /// Counts failovers: earlier connections end when they are used.
    failovers: AtomicUsize,
    /// Connections that have ended so.
    dead: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// Before the server receives the commit.
    Before,
    /// After the commit, before its response.
    After,
    /// The same, and the server stays unreachable.
    AfterAndForGood,
}

impl Cut {
    async fn to(world: &World) -> Self {
        let address = server_of(world);
        let tokio_postgres::config::Host::Unix(directory) = &address.config.expose().get_hosts()[0] else {
            panic!("the server's socket")
        };
        let socket = directory.join(format!(".s.PGSQL.{}", address.config.expose().get_ports()[0]));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let plan = Arc::new(Plan::default());
        let name = address.config.expose().get_dbname().expect("a database");
        let text = format!("postgres://postgres@127.0.0.1:{port}/{name}");
        let StoreAddress::Server(address) = StoreAddress::parse(&text).expect("an address") else {
            panic!("a server")
        };
        let passing = Arc::clone(&plan);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if passing.is_away.load(Ordering::Relaxed) {
                    continue;
                }
                let plan = Arc::clone(&passing);
                let server = UnixStream::connect(&socket).await.expect("the server");
                tokio::spawn(async move { pass(client, server, &plan).await });
            }
        });
        Self { address, plan }
    }

    async fn store(&self, patience: Duration) -> Arc<dyn Store> {
        Arc::new(PostgresStore::connect_with(&self.address, patience).await.expect("a store"))
    }

    fn at_next_commit(&self, cut: Where) {
        *self.plan.cut.lock().expect("the plan") = Some(cut);
    }
}

/// Forwards bytes until a commit is to be interrupted.
async fn pass(client: tokio::net::TcpStream, server: UnixStream, plan: &Plan) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let is_silent = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&is_silent);
    let back = tokio::spawn(async move {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
            if is_cut.load(Ordering::SeqCst) {
                // The response to the commit is dropped.
                return;
            }
            if to_client.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    });
    let mut buffer = vec![0; 1 << 16];
    let failovers = plan.failovers.load(Ordering::SeqCst);
    while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
        if plan.failovers.load(Ordering::SeqCst) != failovers {
            // Not those that the client closes.
            plan.dead.fetch_add(usize::from(buffer[0] != b'X'), Ordering::SeqCst);
            back.abort();
            return;
        }
        let bytes = &buffer[..read];
        let is_commit = bytes.windows(6).any(|window| window == b"COMMIT");
        let cut = if is_commit { plan.cut.lock().expect("the plan").take() } else { None };
        plan.commits.fetch_add(usize::from(is_commit), Ordering::SeqCst);
        if cut == Some(Where::AfterAndForGood) {
            plan.is_away.store(true, Ordering::SeqCst);
        }
        match cut {
            Some(Where::Before) => {
                back.abort();
                return;
            }
            Some(Where::After | Where::AfterAndForGood) => {
                is_silent.store(true, Ordering::SeqCst);
                to_server.write_all(bytes).await.expect("passed on");
                back.await.expect("the answer of the server");
                return;
            }
            None => {
                if to_server.write_all(bytes).await.is_err() {
                    return;
                }
            }
        }
    }
    back.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_lost_before_the_commit_is_nothing_but_another_attempt() {
    let Some(world) = World::postgres().await else { return };
    let cut = Cut::to(&world).await;
    let store = cut.store(HOUR).await;
    cut.at_next_commit(Where::Before);
    let first = commit_one(&store, add("a", b"one")).await.expect("a place");
    assert_eq!(bytes_of(&store, "a").await, [b"one"], "once");
    assert_eq!(cut.plan.commits.load(Ordering::SeqCst), 2 + 1, "tables, the lost one, the one that counts");
    cut.at_next_commit(Where::Before);
    let changed = Change::Replace { kind: Kind::Object, place: first, key: key("a"), bytes: b"two".to_vec() };
    commit_one(&store, changed).await.expect("a place");
    assert_eq!(bytes_of(&store, "a").await, [b"two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_lost_after_the_commit_does_not_make_it_happen_twice() {
    let Some(world) = World::postgres().await else { return };
    let cut = Cut::to(&world).await;
    let store = cut.store(HOUR).await;
    cut.at_next_commit(Where::After);
    let place = commit_one(&store, add("a", b"one")).await.expect("a place");
    let found = store.find(Kind::Object, &key("a")).await.expect("records");
    assert_eq!(found.iter().map(|record| record.place).collect::<Vec<_>>(), [place]);
    assert_eq!(cut.plan.commits.load(Ordering::SeqCst), 1 + 1, "tables, and the one");
    cut.at_next_commit(Where::After);
    let claim = Claim { name: "n".to_owned(), holder: "h".to_owned(), time: HOUR, over: None };
    let committed = store.commit(Batch { claim: Some(claim), ..Batch::of(add("b", b"x")) }).await;
    let Ok(Committed::Done { lease: Some(lease), .. }) = committed else { panic!("no lease: {committed:?}") };
    assert_eq!(store.held("n").await.expect("an answer").map(|held| held.fence), Some(lease.fence));
    cut.at_next_commit(Where::After);
    commit_one(&store, Change::Remove { kind: Kind::Object, number: place.number, version: None }).await;
    assert_eq!(bytes_of(&store, "a").await, Vec::<Vec<u8>>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_come_back_leaves_a_commit_unknown() {
    let Some(world) = World::postgres().await else { return };
    let cut = Cut::to(&world).await;
    // Long enough for a loaded machine; it is waited for three times.
    let store = cut.store(Duration::from_secs(2)).await;
    cut.at_next_commit(Where::AfterAndForGood);
    let error = store.commit(Batch::of(add("a", b"one"))).await.expect_err("nobody knows");
    assert!(matches!(error, StoreError::Unknown { .. }), "{error}");
    assert!(error.to_string().contains("before you repeat it"), "{error}");
    // An interruption before the commit has a known outcome.
    let error = store.commit(Batch::of(add("b", b"two"))).await.expect_err("the server is away");
    assert!(matches!(error, StoreError::Server { .. }), "{error}");
    let error = store.find(Kind::Object, &key("a")).await.expect_err("the server is away");
    assert!(matches!(error, StoreError::Server { .. }), "{error}");
    cut.plan.is_away.store(false, Ordering::SeqCst);
    let again = world.store().await;
    assert_eq!(bytes_of(&again, "a").await, [b"one"], "it is back, and so is the answer");
    assert_eq!(bytes_of(&again, "b").await, Vec::<Vec<u8>>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_goes_on_when_the_server_has_ended_its_connections() {
    let Some(world) = World::postgres().await else { return };
    let store = world.store().await;
    commit_one(&store, add("a", b"one")).await;
    for _ in 0..3 {
        world
            .sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'isthmus' AND datname = current_database()")
            .await;
        assert_eq!(bytes_of(&store, "a").await, [b"one"]);
        world
            .sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'isthmus' AND datname = current_database()")
            .await;
        commit_one(&store, add("b", b"two")).await;
    }
    assert_eq!(bytes_of(&store, "b").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_is_spoken_with_the_given_authority_and_with_no_other() {
    let Some(world) = World::postgres().await else { return };
    let server = TestServer::shared();
    world.sql("CREATE ROLE somebody LOGIN SUPERUSER PASSWORD 'hunter2'").await;
    let name = server_of(&world).config.expose().get_dbname().expect("a database").to_owned();
    let address = |host: &str, query: &str| {
        let text = format!("postgres://somebody:hunter2@{host}:{}/{name}?{query}", server.port());
        match StoreAddress::parse(&text).expect("an address") {
            StoreAddress::Server(address) => address,
            StoreAddress::File(path) => panic!("no server: {}", path.display()),
        }
    };
    let trusted = |host: &str| address(host, "sslmode=verify-full").trusting(Some(server.certificate()));
    let store = PostgresStore::connect(&trusted("localhost")).await.expect("a store");
    let used = store.server.pool.take().await.expect("a connection");
    let row = used
        .connection
        .client
        .query_one("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &[])
        .await
        .expect("a row");
    assert!(row.get::<_, bool>(0), "the server says so");
    for (address, why) in [
        (address("localhost", "sslmode=require"), "the system does not know the authority"),
        (trusted("127.0.0.1"), "the certificate is for another name"),
    ] {
        let error = PostgresStore::connect(&address).await.expect_err(why);
        let text = isthmus_common::error_chain(&error);
        assert!(text.contains("certificate"), "{why}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let missing = address("localhost", "sslmode=require&sslrootcert=%2Fnowhere.pem");
    let text =
        isthmus_common::error_chain(&PostgresStore::connect(&missing).await.expect_err("no authority"));
    assert!(text.contains("/nowhere.pem") && text.contains("ISTHMUS_STORE_CA"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_reported_without_the_password() {
    let Some(world) = World::postgres().await else { return };
    world.sql("CREATE ROLE nobody_else LOGIN PASSWORD 'hunter2'").await;
    let name = server_of(&world).config.expose().get_dbname().expect("a database").to_owned();
    let text = format!("postgres://nobody_else:hunter3@127.0.0.1:{}/{name}", TestServer::shared().port());
    let StoreAddress::Server(address) = StoreAddress::parse(&text).expect("an address") else {
        panic!("a server")
    };
    let text =
        isthmus_common::error_chain(&PostgresStore::connect(&address).await.expect_err("a wrong password"));
    assert!(text.contains("password authentication failed") && !text.contains("hunter"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_read_from_a_file() {
    let Some(world) = World::postgres().await else { return };
    world.sql("CREATE ROLE by_file LOGIN SUPERUSER PASSWORD 'hunter2'").await;
    let name = server_of(&world).config.expose().get_dbname().expect("a database").to_owned();
    let port = TestServer::shared().port();
    let directory = tempfile::tempdir().expect("a directory of this test's own");
    let file = directory.path().join("pgpass");
    let text = format!("postgres://by_file@127.0.0.1:{port}/{name}?passfile={}", file.display());
    let StoreAddress::Server(address) = StoreAddress::parse(&text).expect("an address") else {
        panic!("a server")
    };
    std::fs::write(&file, format!("127.0.0.1:{port}:{name}:by_file:hunter3\n")).expect("a file of its own");
    let wrong =
        isthmus_common::error_chain(&PostgresStore::connect(&address).await.expect_err("a wrong password"));
    assert!(wrong.contains("password authentication failed") && !wrong.contains("hunter"), "{wrong}");
    std::fs::write(&file, format!("127.0.0.1:{port}:{name}:by_file:hunter2\n")).expect("a file of its own");
    PostgresStore::connect(&address).await.expect("a store");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_are_created_by_one_of_many() {
    let Some(world) = World::postgres().await else { return };
    let mut openings = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let address = server_of(&world);
        openings.spawn(async move { PostgresStore::connect(&address).await.map(drop) });
    }
    for opened in openings.join_all().await {
        opened.expect("a store");
    }
    let store = world.store().await;
    commit_one(&store, add("a", b"one")).await;
    assert_eq!(bytes_of(&store, "a").await, [b"one"]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let StoreAddress::Server(address) =
        StoreAddress::parse("postgres://me:hunter2@127.0.0.1:1/states").expect("an address")
    else {
        panic!("a server")
    };
    let text =
        isthmus_common::error_chain(&PostgresStore::connect(&address).await.expect_err("nobody listens"));
    assert!(text.contains("postgres://127.0.0.1:1/states") && !text.contains("hunter2"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_a_later_version_are_used_as_long_as_it_says_that_they_can_be() {
    let Some(world) = World::postgres().await else { return };
    let address = server_of(&world);
    let running = PostgresStore::connect(&address).await.expect("the tables are made");
    let later = format::FORMAT + 1;
    // A later version expands the tables.
    world.sql("ALTER TABLE isthmus.format ADD COLUMN usable_from bigint").await;
    world.sql("ALTER TABLE isthmus.objects ADD COLUMN region text").await;
    let set = |oldest: i64| format!("UPDATE isthmus.format SET version = {later}, usable_from = {oldest}");
    world.sql(&set(format::FORMAT)).await;
    let started = PostgresStore::connect(&address).await.expect("it can use them");
    for store in [running, started] {
        let store: Arc<dyn Store> = Arc::new(store);
        commit_one(&store, add("one", b"content")).await;
        assert!(!store.find(Kind::Object, &key("one")).await.expect("records").is_empty());
    }
    // It contracts them when no older one runs any more.
    world.sql(&set(later)).await;
    let refused = PostgresStore::connect(&address).await.expect_err("it cannot use them any more");
    assert!(matches!(refused, StoreError::Format { found, .. } if found == later), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_whose_answer_is_lost_is_not_taken_for_that_of_another_replica() {
    let Some(world) = World::postgres().await else { return };
    let cut = Cut::to(&world).await;
    let store = EncryptedStore::over(cut.store(HOUR).await, &world.own_key()).await.expect("a state store");
    let intent = Intent {
        intention: OperationKind::Update,
        key: key("a"),
        subject: "urn".to_owned(),
        prior: None,
        companion: bytes::Bytes::new(),
    };
    let mut begun = store.journal().begin(intent, None).await.expect("begun");
    cut.at_next_commit(Where::After);
    let error = begun.changed().await.expect_err("the answer is lost");
    assert!(error.is_unreachable(), "{error}");
    begun.changed().await.expect("it was this process");
    let open = store.journal().open_intents().await.expect("intents");
    assert_eq!(open.intents.len(), 0, "nothing is noted of another replica");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failover_no_other_dead_connection_is_tried() {
    let Some(world) = World::postgres().await else { return };
    let cut = Cut::to(&world).await;
    let server = PostgresStore::connect_with(&cut.address, HOUR).await.expect("a store").server;
    let fail_over = async || {
        let mut idle = Vec::new();
        for _ in 0..4 {
            idle.push(server.pool.take().await.expect("a connection"));
        }
        idle.into_iter().for_each(connection::Used::put_back);
        cut.plan.failovers.fetch_add(1, Ordering::SeqCst);
    };
    fail_over().await;
    server.query("asking", "SELECT 1", &[]).await.expect("an answer");
    assert_eq!(cut.plan.dead.load(Ordering::SeqCst), 1, "the others are as dead");
    fail_over().await;
    server.commit(Batch::of(add("a", b"x"))).await.expect("committed");
    assert_eq!(cut.plan.dead.load(Ordering::SeqCst), 2);
}
