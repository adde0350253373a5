//! Standard output and error after the handshake, which go-plugin streams to the client over gRPC.
//! The process's own stdout has the handshake line only.

use std::sync::Mutex;

use tokio::sync::mpsc;

/// Text to be streamed.
#[derive(Debug)]
pub(crate) struct Stdio {
    #[cfg_attr(not(feature = "misbehaviour"), expect(dead_code, reason = "only resources of tests print"))]
    sender: mpsc::UnboundedSender<Printed>,
    receiver: Mutex<Option<mpsc::UnboundedReceiver<Printed>>>,
}

/// A piece of text and its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    /// Whether it is standard error.
    pub error: bool,
    pub text: Vec<u8>,
}

impl Default for Stdio {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Stdio {
    /// Prints to the client's standard output. Text is buffered without a limit; only the faulty
    /// resource prints much.
    #[cfg(feature = "misbehaviour")]
    pub(crate) fn print(&self, text: &str) {
        drop(self.sender.send(Printed { error: false, text: text.as_bytes().to_vec() }));
    }

    /// The stream of all text, for the first reader; then `None`.
    pub(crate) fn take(&self) -> Option<mpsc::UnboundedReceiver<Printed>> {
        self.receiver.lock().ok()?.take()
    }
}
