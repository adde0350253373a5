//! Ordered parallel mapping.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

/// Fewer items than this are not worth a thread.
const FEW: usize = 16;
/// More threads than this would only wait for memory.
const MOST_THREADS: usize = 8;

/// The results of `work` for `items`, in order.
pub fn in_parallel<Item: Sync, Made: Send>(items: &[Item], work: impl Fn(&Item) -> Made + Sync) -> Vec<Made> {
    // The number of processors is read from files.
    let available = || thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let threads = if items.len() < FEW { 1 } else { available() };
    if threads == 1 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads));
        let running: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>())).collect();
        let mut made = Vec::with_capacity(items.len());
        for part in running {
            made.extend(part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_comes_in_the_order_of_the_items() {
        for count in [0, 1, FEW - 1, FEW, 1000, 1001] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(
                in_parallel(&items, |item| item * 2),
                (0..count).map(|item| item * 2).collect::<Vec<_>>()
            );
        }
    }
}
