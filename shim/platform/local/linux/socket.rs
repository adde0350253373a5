//! A socket, as the kernel lists it.

/// The kernel's number of the state.
pub(super) const ESTABLISHED: u8 = 1;

/// The kernel's entry of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) state: u8,
    pub(super) user: u32,
    pub(super) inode: u64,
}

impl Listed {
    /// The user that holds the socket open.
    pub(super) fn owner(self) -> Option<u32> {
        (self.state == ESTABLISHED && self.inode != 0).then_some(self.user)
    }
}
