//! A session with a repository of an OCI registry.
//!
//! At `/v2/` a registry returns its authentication challenge: for a name and password, or for a
//! token from another server.

use http::{HeaderMap, HeaderValue, StatusCode};
use url::Url;

use crate::auth::{Challenge, OciAuthenticator, TokenAnswer};
use crate::cli_config::OciRepository;
use crate::mirror::RemoteMirrorError;
use crate::web::{Ask, AuthState, Fetched, Request, WebClient, WebError, WebFault};

/// Size limit of an index or manifest.
const LARGEST: u64 = 4 << 20;

/// A repository and its credentials.
pub(super) struct Session<'a> {
    web: &'a WebClient,
    repository: OciRepository,
    base: Url,
    /// The `Authorization` header; `None` for public repositories.
    pub(super) authorization: Option<HeaderValue>,
}

impl<'a> Session<'a> {
    /// Queries the registry's challenge, and answers it.
    pub(super) async fn open(
        web: &'a WebClient,
        authenticator: &OciAuthenticator,
        repository: OciRepository,
    ) -> Result<Self, RemoteMirrorError> {
        let text = format!("https://{}/v2/", repository.registry);
        let base = Url::parse(&text)
            .map_err(|error| RemoteMirrorError::Address { url: text, reason: error.to_string() })?;
        let mut session = Self { web, repository, base, authorization: None };
        if let Some(challenge) = session.challenge().await? {
            session.authorization = session.authorize(challenge, authenticator).await?;
        }
        Ok(session)
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, RemoteMirrorError> {
        let path = format!("{}/{path}", self.repository.name);
        self.base
            .join(&path)
            .map_err(|error| RemoteMirrorError::Address { url: path, reason: error.to_string() })
    }

    pub(super) async fn fetch(&self, url: &Url, accept: &'static str) -> Result<Fetched, RemoteMirrorError> {
        let ask =
            Ask { accept, largest: LARGEST, authorization: self.authorization.as_ref(), ..Ask::json(url) };
        self.web.fetch(&ask).await.map_err(|error| match &error.fault {
            WebFault::Status { status, who_asks, .. } if error.is_denied() => {
                self.denied(*who_asks == AuthState::Told, format!("it answered {status}"))
            }
            _ => error.into(),
        })
    }

    async fn challenge(&self) -> Result<Option<Challenge>, RemoteMirrorError> {
        let request = Request { url: self.base.clone(), headers: HeaderMap::new() };
        let answer = self.web.transport().get(request).await;
        let answer = answer.map_err(|error| WebError::new(&self.base, error))?;
        if answer.status != StatusCode::UNAUTHORIZED {
            // Other failures recur in the following requests.
            return Ok(None);
        }
        Challenge::of(&answer.headers).map(Some).ok_or_else(|| {
            let reason = "the registry requires an authentication scheme that is not supported";
            RemoteMirrorError::answer(&self.base, reason)
        })
    }

    async fn authorize(
        &self,
        challenge: Challenge,
        authenticator: &OciAuthenticator,
    ) -> Result<Option<HeaderValue>, RemoteMirrorError> {
        let OciRepository { registry, name } = &self.repository;
        let secret = authenticator.secret(registry, name).await?;
        let basic = secret.as_ref().and_then(|secret| secret.basic());
        match (challenge, secret.and_then(|secret| secret.bearer())) {
            (Challenge::Basic, _) => Ok(basic),
            (Challenge::Bearer { .. }, Some(token)) => Ok(Some(token)),
            (Challenge::Bearer { realm, service }, None) => {
                self.token(&realm, service, basic).await.map(Some)
            }
        }
    }

    /// A token from the server at `realm`.
    async fn token(
        &self,
        realm: &str,
        service: Option<String>,
        authorization: Option<HeaderValue>,
    ) -> Result<HeaderValue, RemoteMirrorError> {
        let wrong = |reason: String| RemoteMirrorError::Address { url: realm.to_owned(), reason };
        let mut url = Url::parse(realm).map_err(|error| wrong(error.to_string()))?;
        // Passwords are not sent without TLS.
        if url.scheme() != self.base.scheme() {
            return Err(wrong("the server of tokens is not behind https".to_owned()));
        }
        // The challenge at `/v2/` is not about the repository, whose scope has a conventional form.
        let scope = format!("repository:{}:pull", self.repository.name);
        let service = service.map(|service| ("service", service));
        url.query_pairs_mut().extend_pairs(service.into_iter().chain([("scope", scope)]));
        let ask = Ask { authorization: authorization.as_ref(), ..Ask::json(&url) };
        let denied = |reason| self.denied(authorization.is_some(), reason);
        let answer = match self.web.fetch_json::<TokenAnswer>(&ask).await {
            Ok((answer, _)) => answer.header(),
            Err(error) if error.is_denied() => None,
            // This is not about the provider.
            Err(error) if error.is_not_found() => return Err(denied(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        answer.ok_or_else(|| denied("it gives no token".to_owned()))
    }

    fn denied(&self, with_credentials: bool, reason: String) -> RemoteMirrorError {
        let OciRepository { registry, name } = self.repository.clone();
        RemoteMirrorError::Denied { registry, repository: name, with_credentials, reason }
    }
}
