//! One error of each kind that a sanitizer has to report, by the name in the first argument: a run that reports none of these
//! would report nothing of isthmus either. And `epoll`, which is no error, and which ThreadSanitizer reports without `options.c`.

use std::hint::black_box;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

/// `struct epoll_event` of x86-64.
#[repr(C, packed)]
struct Event {
    events: u32,
    data: u64,
}

const EPOLL_CTL_ADD: i32 = 1;
const EPOLLIN: u32 = 1;

unsafe extern "C" {
    fn epoll_create1(flags: i32) -> i32;
    fn epoll_ctl(epoll: i32, operation: i32, descriptor: i32, event: *mut Event) -> i32;
    fn epoll_wait(epoll: i32, events: *mut Event, most: i32, milliseconds: i32) -> i32;
}

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
        // One thread hands memory to another by an epoll, of which each has a descriptor of its own, as tokio does.
        // SAFETY: the descriptors are open, and the memory is never freed.
        Some("epoll") => unsafe {
            let waits = OwnedFd::from_raw_fd(epoll_create1(0));
            let registers = waits.try_clone().expect("a second descriptor");
            let reader = thread::spawn(move || {
                let mut event = Event { events: 0, data: 0 };
                assert_eq!(epoll_wait(waits.as_raw_fd(), &mut event, 1, -1), 1);
                assert_eq!((event.data as *const u64).read_volatile(), 42);
            });
            let (ours, mut theirs) = UnixStream::pair().expect("two sockets");
            theirs.write_all(b"ready").expect("a socket to write to");
            let mut event = Event { events: EPOLLIN, data: Box::into_raw(Box::new(42_u64)) as u64 };
            assert_eq!(epoll_ctl(registers.as_raw_fd(), EPOLL_CTL_ADD, ours.as_raw_fd(), &mut event), 0);
            reader.join().expect("no panic");
        },
        other => panic!("no error is called {other:?}"),
    }
}
