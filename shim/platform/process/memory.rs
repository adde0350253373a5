//! The heap of this process, where the C library's allocator keeps what was freed: glibc.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use libc::{M_ARENA_MAX, M_MMAP_THRESHOLD, c_int, malloc_trim, mallopt};

/// Bytes of a block that is mapped by itself. Setting it also keeps glibc from raising it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BLOCK: c_int = 64 * 1024;

/// Lets all threads of this process allocate in one heap, and maps large blocks by themselves. For the start, before there is
/// a second thread.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "glibc's allocator has no other interface")
)]
pub fn limit_holes() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` sets numbers that the allocator reads when it allocates, and takes the allocator's own locks.
    unsafe {
        mallopt(M_ARENA_MAX, 1);
        mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    }
}

/// Gives back what is free. The allocators of other C libraries do so without a call.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "glibc's allocator has no other interface")
)]
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` may be called at any time, in any thread: it takes the allocator's own locks, and touches only pages
    // that hold no allocation. Its argument is the room to leave at the end of the heap.
    unsafe {
        malloc_trim(0);
    }
}
