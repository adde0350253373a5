//! Entrance for the fuzzer (`fuzz/`): a provider's output.

use std::sync::{Arc, Mutex, PoisonError};

use super::logs::{LogRecord, LogSink, Logs, Origin};
use isthmus_known_secrets::KnownSecrets;

/// All texts that are made of the output of a process: its log records, and its last output, which
/// errors quote.
pub fn logged(output: &[u8], origin: Origin, secrets: KnownSecrets) -> Vec<String> {
    let texts = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&texts);
    let collect = move |LogRecord { message, module, fields, .. }: LogRecord| {
        let fields = fields.into_iter().flat_map(|(name, value)| [name, value]);
        let mut texts = collected.lock().unwrap_or_else(PoisonError::into_inner);
        texts.extend([message].into_iter().chain(module).chain(fields));
    };
    let logs = Logs::new("random".into(), LogSink::new(collect).redacting(secrets));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(logs.drain(origin, output, None::<fn(&[u8]) -> bool>));
    let last = logs.last_words();
    let mut texts = std::mem::take(&mut *texts.lock().unwrap_or_else(PoisonError::into_inner));
    texts.extend(last.lines.into_iter().chain(last.panic));
    texts
}
