//! A server on loopback in its own thread, so that tests with any runtime can use it. It stops on
//! drop.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// Its address, and what stops it.
#[derive(Debug)]
pub(crate) struct Loopback {
    pub(crate) address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Loopback {
    /// Serves each connection in its own task.
    pub(crate) fn start<Serving>(serve: impl Fn(TcpStream) -> Serving + Send + 'static) -> Self
    where
        Serving: Future<Output = ()> + Send + 'static,
    {
        let (end, ended) = oneshot::channel::<()>();
        let (told, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                told.send(listener.local_addr().expect("an address")).expect("somebody waits");
                let accept = async {
                    loop {
                        let Ok((stream, _)) = listener.accept().await else { continue };
                        tokio::spawn(serve(stream));
                    }
                };
                tokio::select! {
                    () = accept => {}
                    _ = ended => {}
                }
            });
        });
        let address = address.recv().expect("it listens");
        Self { address, end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
