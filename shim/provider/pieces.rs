//! An answer that comes in pieces, one message after the other.
//!
//! It is watched like any other call: the observer is told once, when the last piece has come or none will come any more.
//! Nothing is kept of the pieces, however many there are; only the last one is, where somebody wants to see it.

use std::time::Instant;

use super::instance::Caller;
use super::limit::Entered;
use super::{ProviderError, Rpc};

/// The pieces of one answer, as they come.
#[derive(Debug)]
pub(super) struct Pieces<'a, Piece> {
    caller: Caller<'a>,
    rpc: Rpc,
    begun: Instant,
    request: Option<Vec<u8>>,
    last: Vec<u8>,
    pieces: tonic::Streaming<Piece>,
    told: bool,
    /// As long as it is open, the provider is busy with it.
    _entered: Entered,
}

impl<'a, Piece: prost::Message> Pieces<'a, Piece> {
    /// The pieces of a call that has begun. With `request`, the observer sees the messages.
    pub(super) fn new(
        caller: Caller<'a>,
        entered: Entered,
        rpc: Rpc,
        begun: Instant,
        request: Option<Vec<u8>>,
        pieces: tonic::Streaming<Piece>,
    ) -> Self {
        Self { caller, rpc, begun, request, last: Vec::new(), pieces, told: false, _entered: entered }
    }

    /// The next piece; none when the provider has ended its answer.
    pub(super) async fn next(&mut self) -> Result<Option<Piece>, ProviderError> {
        match self.caller.part(self.rpc, self.pieces.message()).await? {
            Ok(Some(piece)) => {
                if self.request.is_some() {
                    self.last = piece.encode_to_vec();
                }
                Ok(Some(piece))
            }
            Ok(None) => {
                self.tell(Ok(()));
                Ok(None)
            }
            Err(status) => {
                self.tell(Err(&status));
                Err(self.caller.failure(self.rpc, status).await)
            }
        }
    }
}

impl<Piece> Pieces<'_, Piece> {
    fn tell(&mut self, outcome: Result<(), &tonic::Status>) {
        if !std::mem::replace(&mut self.told, true) {
            let response = outcome.map(|()| Some(&*self.last));
            self.caller.tell(self.rpc, self.begun, self.request.as_deref(), response);
        }
    }
}

/// Whoever has what was wanted need not wait for the end.
impl<Piece> Drop for Pieces<'_, Piece> {
    fn drop(&mut self) {
        self.tell(Ok(()));
    }
}
