//! Downloads an archive into a file, and resumes after a broken connection.
//!
//! Servers are asked for the remaining range. If one sends the whole file instead, it starts again;
//! the result is verified by its checksum, and if a resumed file has a wrong one, it is downloaded
//! once more in one piece.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use http::{HeaderName, HeaderValue, StatusCode, header};
use isthmus_common::blocking;
use isthmus_common::permissions::{PRIVATE_FILE, file_options};
use tokio::fs::File;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use crate::FileSum;
use crate::web::{Ask, Opened, Refusal, WebClient, WebError, WebFault};

/// Size limit of an archive.
const LARGEST: u64 = 2 << 30;
/// Limit of attempts, also of those that make progress.
const MOST_ATTEMPTS: u32 = 100;

/// Progress of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Received bytes.
    pub received: u64,
    /// Total bytes, if the server reports them.
    pub total: Option<u64>,
}

/// A download failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DownloadError {
    #[error("{0}")]
    Web(Box<WebError>),
    #[error("{} cannot be written", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("it has the SHA-256 {found}, and should have {expected}")]
    WrongSum { expected: FileSum, found: FileSum },
}

/// Downloads a file with this checksum, if known, into a new file. The size limit of `ask` is
/// replaced by that of archives.
pub(crate) async fn download(
    web: &WebClient,
    ask: &Ask<'_>,
    into: &Path,
    expected: Option<FileSum>,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<(), DownloadError> {
    let ask = Ask { largest: LARGEST, ..*ask };
    let mut is_second = false;
    loop {
        let in_one_piece = fetch(web, &ask, into, &mut progress).await?;
        let Some(expected) = expected else { return Ok(()) };
        let path = into.to_owned();
        let write = |source| DownloadError::Write { path: into.to_owned(), source };
        let found = blocking(move || FileSum::of_file(&path)).await.map_err(write)?;
        if found == expected {
            return Ok(());
        }
        if in_one_piece || is_second {
            return Err(DownloadError::WrongSum { expected, found });
        }
        is_second = true;
    }
}

/// Downloads all of it; returns whether it came in one piece.
async fn fetch(
    web: &WebClient,
    ask: &Ask<'_>,
    into: &Path,
    progress: &mut (impl FnMut(Progress) + Send),
) -> Result<bool, DownloadError> {
    let write = |source| DownloadError::Write { path: into.to_owned(), source };
    let mut options = tokio::fs::OpenOptions::from(file_options(PRIVATE_FILE));
    let mut file = options.write(true).create(true).truncate(true).open(into).await.map_err(write)?;
    let (mut received, mut pieces) = (0_u64, 0_u32);
    let mut without_progress = 0;
    let mut mark: Option<HeaderValue> = None;
    for attempt in 1..=MOST_ATTEMPTS {
        let mut more: Vec<(HeaderName, HeaderValue)> = Vec::new();
        if received > 0
            && let Ok(range) = HeaderValue::from_str(&format!("bytes={received}-"))
        {
            more.push((header::RANGE, range));
            more.extend(mark.clone().map(|mark| (header::IF_RANGE, mark)));
        }
        let before = received;
        let refusal = match web.open(ask, &more, attempt).await {
            Ok(opened) => {
                if !goes_on(&opened, received) {
                    begin_anew(&mut file).await.map_err(write)?;
                    (received, pieces) = (0, 0);
                }
                let Opened { url, headers, mut body, .. } = opened;
                mark = headers.get(header::ETAG).filter(|mark| mark.as_bytes().starts_with(b"\"")).cloned();
                let length =
                    headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
                let total = length.and_then(|length: u64| length.checked_add(received));
                pieces += 1;
                loop {
                    match body.chunk().await {
                        Ok(Some(chunk)) => {
                            file.write_all(&chunk).await.map_err(write)?;
                            received =
                                received.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
                            if received > LARGEST {
                                let error = WebError::new(&url, WebFault::TooLarge(LARGEST));
                                return Err(DownloadError::Web(Box::new(error)));
                            }
                            progress(Progress { received, total });
                        }
                        Ok(None) => {
                            file.flush().await.map_err(write)?;
                            return Ok(pieces == 1);
                        }
                        Err(error) => {
                            break Refusal { error: WebError::new(&url, error), wait: None };
                        }
                    }
                }
            }
            Err(refusal) if refusal.error.is_not_satisfiable() && received > 0 => {
                // There is no such range: starts again.
                begin_anew(&mut file).await.map_err(write)?;
                (received, pieces, mark) = (0, 0, None);
                without_progress += 1;
                if without_progress < web.settings().download_attempts {
                    continue;
                }
                refusal
            }
            Err(refusal) => refusal,
        };
        without_progress = if received > before { 1 } else { without_progress + 1 };
        let attempts = if attempt == MOST_ATTEMPTS { 0 } else { web.settings().download_attempts };
        web.wait_before_next(refusal, without_progress, attempts)
            .await
            .map_err(|error| DownloadError::Web(Box::new(error)))?;
    }
    // The last attempt has returned above.
    Err(DownloadError::Web(Box::new(WebError::new(ask.url, WebFault::Redirects(ask.redirects)))))
}

async fn begin_anew(file: &mut File) -> io::Result<()> {
    file.set_len(0).await?;
    file.rewind().await.map(drop)
}

/// Whether a response is the remaining range.
fn goes_on(opened: &Opened, received: u64) -> bool {
    let begins = || {
        let range = opened.headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
        range.strip_prefix("bytes ")?.split('-').next()?.parse::<u64>().ok()
    };
    opened.status == StatusCode::PARTIAL_CONTENT && begins() == Some(received)
}

/// Received and total size, for users.
impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| format!("{}.{}", bytes / 1_000_000, bytes % 1_000_000 / 100_000);
        match self.total {
            Some(total) => write!(formatter, "{} of {} MB", megabytes(self.received), megabytes(total)),
            None => write!(formatter, "{} MB", megabytes(self.received)),
        }
    }
}

#[cfg(test)]
mod tests;
