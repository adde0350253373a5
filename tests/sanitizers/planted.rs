//! One error of each kind that a sanitizer has to report, by the name in the first argument: a run that reports none of these
//! would report nothing of isthmus either.

use std::hint::black_box;
use std::thread;

static mut COUNT: usize = 0;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("use-after-free") => {
            let freed = black_box(vec![1_u8; 32]).as_ptr();
            // SAFETY: none.
            black_box(unsafe { freed.read_volatile() });
        }
        Some("leak") => std::mem::forget(black_box(vec![1_u8; 4096])),
        Some("race") => {
            // SAFETY: none.
            let count = || (0..1000).for_each(|_| unsafe { COUNT = black_box(COUNT) + 1 });
            let threads = [thread::spawn(count), thread::spawn(count)];
            threads.map(|thread| thread.join().expect("no panic"));
        }
        other => panic!("no error is called {other:?}"),
    }
}
