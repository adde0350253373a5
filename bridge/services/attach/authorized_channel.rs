//! A connection to a daemon, each of whose calls has the token of the plugin, if it has one.

use std::task::{Context, Poll};

use http::{HeaderValue, header};
use isthmus_common::BoxFuture;
use isthmus_grpc::{Channel, Incoming};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};

/// A connection, each of whose calls identifies the plugin.
#[derive(Clone, Debug)]
pub(super) struct AuthorizedChannel {
    pub(super) channel: Channel,
    pub(super) authorization: Option<HeaderValue>,
}

impl tower::Service<Request<Body>> for AuthorizedChannel {
    type Response = Response<Incoming>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Response<Incoming>, Status>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.channel.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        self.channel.call(request)
    }
}
