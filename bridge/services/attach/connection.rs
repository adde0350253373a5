//! The calls of one connection of an engine, on their way to a daemon.
//!
//! What a session is made by (Handshake, Attach, Parameterize, Configure) is kept, so that it can be made again: in another
//! daemon, or here. Other calls are passed on as they come.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use isthmus_common::BoxFuture;
use isthmus_grpc::{Incoming, NotSent};
use isthmus_proto::pulumirpc::{self, PluginAttach};
use prost::Message as _;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, Request, Response, Uri, header, request};

use super::destination::Destination;
use super::link::{Link, LinkError};
use super::socket::SocketError;
use crate::status::RequestError;
use isthmus_context::LARGEST_MESSAGE;
use isthmus_session::daemon::Session;

/// Bytes before the message of a gRPC call: whether it is compressed, and its length.
const PREFIX: usize = 5;

const SERVICE: &str = pulumirpc::resource_provider_server::SERVICE_NAME;

/// The calls that a session is made by, in their order.
const SESSION: [&str; 4] = ["Handshake", "Attach", "Parameterize", "Configure"];

/// The header of a call that is made again, after it may have been carried out. What must not happen twice is refused by it
/// ([`super::is_repeated`]).
pub(super) const REPEATED: header::HeaderName = header::HeaderName::from_static("isthmus-repeated");

/// How often a call is made that changes nothing, and ends with its connection: it may be what ends the daemon.
const ATTEMPTS: usize = 3;

/// How long a run that has changed resources waits for a daemon that continues it: as long as a machine takes to start one. A run
/// that does not go on is left half done.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// How long one that has changed nothing waits for another replica, before it goes on without any.
const TAKEOVER: Duration = Duration::from_secs(2);

/// The warning when another daemon has taken over.
const TAKEN_OVER: &str = "the connection to the isthmus daemon was lost, and the run goes on at another one, or at the same one that \
                          was started again; ephemeral resources that were opened before are neither renewed nor closed";

/// The calls that change resources, unless they are part of a preview.
const CHANGES: [&str; 3] = ["Create", "Update", "Delete"];

/// The services of this process, by which calls are made without a daemon.
pub(crate) trait OwnServices: Send + Sync {
    /// Makes a call.
    fn call(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;

    /// The session that calls are made in.
    fn session(&self) -> &Session;
}

/// One connection of an engine.
#[derive(Debug)]
pub(crate) struct RelayConnection {
    daemon: Destination,
    route: Mutex<Route>,
    /// The engine's address, which Attach may change.
    engine: watch::Sender<Option<String>>,
    /// The calls that the session was made by.
    made_by: StdMutex<Vec<Call>>,
    /// How often the engine has sent Cancel, upon which nothing is waited for.
    cancelled: watch::Sender<u64>,
}

#[derive(Debug)]
enum Route {
    /// No daemon was looked for yet, or the connection to it was lost.
    Open {
        /// Whether a resource may have been changed through a daemon: then calls are not made here any more, because the
        /// daemon may have unsettled operations and values that only it knows.
        has_changed: bool,
    },
    Daemon {
        link: Arc<Link>,
        has_changed: bool,
    },
    /// In this process.
    Here,
}

/// A call of the engine: its header, and its whole message.
#[derive(Clone)]
struct Call {
    method: String,
    uri: Uri,
    headers: HeaderMap,
    content: Bytes,
}

/// The field of a request that says that it is part of a preview, and no other.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct CreatePreview {
    #[prost(bool, tag = "4")]
    preview: bool,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct UpdatePreview {
    #[prost(bool, tag = "7")]
    preview: bool,
}

/// Omits the message, which may have secrets.
impl fmt::Debug for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Call").field("method", &self.method).finish_non_exhaustive()
    }
}

impl Call {
    fn request(&self) -> Request<Body> {
        let body = Full::new(self.content.clone()).map_err(|never| match never {});
        let mut request = Request::post(self.uri.clone()).body(Body::new(body)).unwrap_or_default();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Whether it may change a resource.
    fn changes(&self) -> bool {
        let message = || self.content.get(PREFIX..).unwrap_or_default();
        match self.method.as_str() {
            "Create" => !CreatePreview::decode(message()).is_ok_and(|request| request.preview),
            "Update" => !UpdatePreview::decode(message()).is_ok_and(|request| request.preview),
            method => CHANGES.contains(&method),
        }
    }

    fn makes_session(&self) -> bool {
        SESSION.contains(&self.method.as_str())
    }
}

impl RelayConnection {
    pub(super) fn new(daemon: Destination, engine: Option<String>) -> Self {
        let engine = watch::Sender::new(engine);
        let route = Mutex::new(Route::Open { has_changed: false });
        let cancelled = watch::Sender::default();
        Self { daemon, route, engine, made_by: StdMutex::default(), cancelled }
    }

    /// Makes a call of the engine, at the daemon if there is one, else here.
    ///
    /// The future is made out of line, on the heap: the stack of a process never shrinks, and each attached plugin has one.
    #[inline(never)]
    pub(crate) fn call(
        self: Arc<Self>,
        request: Request<Incoming>,
        here: impl OwnServices + 'static,
    ) -> BoxFuture<'static, Response<Body>> {
        Box::pin(self.make(request, here))
    }

    async fn make(self: Arc<Self>, request: Request<Incoming>, here: impl OwnServices) -> Response<Body> {
        let (head, body) = request.into_parts();
        let content = match body.only_message(LARGEST_MESSAGE).await {
            Ok(content) => content,
            Err(status) => return status.into_http(),
        };
        let mut call = of_engine(head, content);
        if call.method == "Attach"
            && let Ok(attach) = PluginAttach::decode(call.content.get(PREFIX..).unwrap_or_default())
        {
            self.engine.send_replace(Some(attach.address));
        }
        if call.method == "Cancel" {
            self.cancelled.send_modify(|cancelled| *cancelled += 1);
        }
        let mut attempts = ATTEMPTS;
        loop {
            let link = match self.link(&call, &here).await {
                Ok(Some(link)) => link,
                Ok(None) => return here.call(call.request()).await,
                Err(status) => return status.into_http(),
            };
            match sent(&link, &call).await {
                Ok(response) => {
                    if call.makes_session() {
                        self.made_by().push(call);
                    }
                    return response;
                }
                Err(failure) => {
                    self.lost(&link).await;
                    // What has not left, and what changes nothing, is made again.
                    attempts -= 1;
                    if !was_not_sent(&failure) {
                        if call.changes() {
                            let (method, reason) = (call.method, failure.message().to_owned());
                            return Status::from(RequestError::LostWithDaemon { method, reason }).into_http();
                        }
                        call.headers.insert(REPEATED, header::HeaderValue::from_static("true"));
                    }
                    if attempts == 0 {
                        return failure.into_http();
                    }
                }
            }
        }
    }

    /// The connection to the daemon that takes a call; `None` if it is made here.
    async fn link(&self, call: &Call, here: &impl OwnServices) -> Result<Option<Arc<Link>>, Status> {
        let mut route = self.route.lock().await;
        match &mut *route {
            Route::Here => return Ok(None),
            Route::Daemon { link, has_changed } => {
                *has_changed |= call.changes();
                return Ok(Some(Arc::clone(link)));
            }
            Route::Open { .. } => {}
        }
        let Route::Open { has_changed } = *route else { return Ok(None) };
        let patience = match has_changed {
            // Nothing is under way that it could stop.
            _ if call.method == "Cancel" => Duration::ZERO,
            true => PATIENCE,
            // A replica may be lost while it opens the session, which another one opens as well.
            false if self.daemon.has_replicas() => TAKEOVER,
            false => Duration::ZERO,
        };
        let connected = self.connect_within(patience, here).await;
        match connected {
            Ok(link) => {
                // What engines open by an invoke, and what Check withholds from them, is in the memory of one process.
                if !self.made_by().is_empty() {
                    here.session().warn_now([TAKEN_OVER.to_owned()]).await;
                }
                let link = Arc::new(link);
                *route =
                    Route::Daemon { link: Arc::clone(&link), has_changed: has_changed || call.changes() };
                Ok(Some(link))
            }
            Err(error) if has_changed => {
                Err(RequestError::DaemonGone { reason: isthmus_common::error_chain(&error) }.into())
            }
            Err(error) => {
                warn(here, &error).await;
                // The session is made anew here; what fails of that fails again in the calls that need it.
                let made_by = std::mem::take(&mut *self.made_by());
                for call in made_by {
                    drop(here.call(call.request()).await);
                }
                *route = Route::Here;
                Ok(None)
            }
        }
    }

    /// As [`Self::connect`], again and again for a while: a daemon is being replaced, or another replica takes over. The engine's
    /// Cancel ends it.
    async fn connect_within(&self, patience: Duration, here: &impl OwnServices) -> Result<Link, LinkError> {
        let until = Instant::now() + patience;
        let mut cancelled = self.cancelled.subscribe();
        let mut is_said = false;
        loop {
            let error = match self.connect().await {
                // It is there, and does not change its mind.
                Err(error @ LinkError::Refused(_)) => return Err(error),
                Err(error) => error,
                Ok(link) => return Ok(link),
            };
            if Instant::now() >= until {
                return Err(error);
            }
            if patience == PATIENCE && !std::mem::replace(&mut is_said, true) {
                let seconds = PATIENCE.as_secs();
                let text = format!(
                    "{}; waiting up to {seconds} seconds for the isthmus daemon, or another one, to go on",
                    isthmus_common::error_chain(&error)
                );
                here.session().warn_now([text]).await;
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                _ = cancelled.changed() => return Err(error),
            }
        }
    }

    /// Opens a session, and makes it what the lost one was.
    async fn connect(&self) -> Result<Link, LinkError> {
        let link = Link::open(&self.daemon, self.engine.subscribe()).await?;
        let made_by = self.made_by().clone();
        for call in made_by {
            sent(&link, &call).await.map_err(|status| LinkError::Unanswered(Box::new(status)))?;
        }
        Ok(link)
    }

    /// The connection to the daemon is lost, unless it was replaced meanwhile.
    async fn lost(&self, lost: &Arc<Link>) {
        let mut route = self.route.lock().await;
        if let Route::Daemon { link, has_changed } = &*route
            && Arc::ptr_eq(link, lost)
        {
            *route = Route::Open { has_changed: *has_changed };
        }
    }

    /// Stops the calls in progress at the daemon.
    pub(super) async fn cancel(&self) {
        let Route::Daemon { link, .. } = &*self.route.lock().await else { return };
        let cancel = Call {
            method: "Cancel".to_owned(),
            uri: format!("/{SERVICE}/Cancel").parse().unwrap_or_default(),
            headers: HeaderMap::from_iter([
                (header::CONTENT_TYPE, header::HeaderValue::from_static("application/grpc")),
                (header::TE, header::HeaderValue::from_static("trailers")),
            ]),
            content: Bytes::from_static(&[0; PREFIX]),
        };
        // The second one breaks off what does not end within the grace period, as this process would.
        for _ in 0..2 {
            // A daemon that is gone has no calls in progress.
            drop(sent(link, &cancel).await);
        }
    }

    fn made_by(&self) -> MutexGuard<'_, Vec<Call>> {
        self.made_by.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of_engine(head: request::Parts, content: Bytes) -> Call {
    let mut path = head.uri.path().split('/').skip(1);
    let method = match (path.next(), path.next()) {
        (Some(SERVICE), Some(method)) => method.to_owned(),
        _ => String::new(),
    };
    Call { method, uri: head.uri, headers: head.headers, content }
}

/// Sends a call and waits for its answer, which is whole where a part of it would be ambiguous.
async fn sent(link: &Link, call: &Call) -> Result<Response<Body>, Status> {
    let (head, body) = link.call(call.request()).await?.into_parts();
    if !call.changes() {
        return Ok(Response::from_parts(head, Body::new(body)));
    }
    let whole = body.collect().await?;
    Ok(Response::from_parts(head, Body::new(whole.map_err(|never| match never {}))))
}

fn was_not_sent(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<NotSent>() {
            return true;
        }
        cause = error.source();
    }
    false
}

async fn warn(here: &impl OwnServices, error: &LinkError) {
    let consequence = match error {
        // It was told to end, or it has not started yet.
        LinkError::Socket(SocketError::Absent { .. })
        | LinkError::Unanswered(_)
        | LinkError::Network(_)
        | LinkError::Refused(_)
        | LinkError::Silent => "so providers are started by this plugin",
        LinkError::Socket(_) => "so it is not used, and providers are started by this plugin",
    };
    here.session().warn_now([format!("{}, {consequence}", isthmus_common::error_chain(error))]).await;
}
