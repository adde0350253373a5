//! Windows: who may do what with a file, by its list of access.
//!
//! The user of this process, the system and its administrators are no others: the last two may do anything anyway, as root may.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::{
    ERROR_SUCCESS, GENERIC_ALL, GENERIC_READ, GENERIC_WRITE, LocalFree, WIN32_ERROR,
};
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo, SDDL_REVISION_1, SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, GetSecurityDescriptorDacl,
    INHERIT_ONLY_ACE, OWNER_SECURITY_INFORMATION, PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR,
    PSID, SetFileSecurityW,
};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ADD_FILE, FILE_APPEND_DATA, FILE_DELETE_CHILD, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_DATA, FILE_WRITE_DATA, READ_CONTROL, WRITE_DAC, WRITE_OWNER,
};
use windows_sys::Win32::System::SystemServices::ACCESS_ALLOWED_ACE_TYPE;

use super::windows::terminated;
use crate::process::User;

/// What a list of access says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) owner: User,
    pub(super) others_read: bool,
    pub(super) others_write: bool,
}

const WRITING: u32 = FILE_WRITE_DATA
    | FILE_APPEND_DATA
    | FILE_DELETE_CHILD
    | DELETE
    | WRITE_DAC
    | WRITE_OWNER
    | GENERIC_WRITE
    | GENERIC_ALL;
const READING: u32 = FILE_READ_DATA | GENERIC_READ | GENERIC_ALL;

impl Access {
    /// Of an open file or directory.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let descriptor = Descriptor::of(file)?;
        let own = User::current();
        let mut access = Self { owner: descriptor.owner()?, others_read: false, others_write: false };
        for entry in descriptor.entries() {
            let Some((user, rights)) = entry? else {
                // Entries of kinds that are hardly ever used.
                access.others_read = true;
                access.others_write = true;
                continue;
            };
            if user != own && !user.is_root() && !user.is_placeholder() {
                access.others_read |= rights & READING != 0;
                access.others_write |= rights & WRITING != 0;
            }
        }
        Ok(access)
    }
}

/// Opens a file or a directory for its list of access.
pub(super) fn opened_for_access(path: &Path, is_link: bool) -> io::Result<File> {
    let link = if is_link { FILE_FLAG_OPEN_REPARSE_POINT } else { 0 };
    OpenOptions::new().access_mode(READ_CONTROL).custom_flags(FILE_FLAG_BACKUP_SEMANTICS | link).open(path)
}

/// Opens a directory to create files in it.
pub(super) fn opened_to_add(path: &Path) -> io::Result<File> {
    OpenOptions::new().access_mode(FILE_ADD_FILE).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// Gives a file or directory to its owner alone, with the system and its administrators, whatever its directory says.
#[expect(unsafe_code, reason = "lists of access have no other interface")]
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    let descriptor = Descriptor::private()?;
    let name = terminated(path.as_os_str());
    let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    // SAFETY: the name ends with a zero, and the descriptor is the system's own and lives until the end of this function.
    let result = unsafe { SetFileSecurityW(name.as_ptr(), what, descriptor.0) };
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A security descriptor that the system has allocated.
#[derive(Debug)]
pub(crate) struct Descriptor(PSECURITY_DESCRIPTOR);

impl Descriptor {
    /// Of what belongs to the user of this process alone, with the system and its administrators.
    #[expect(unsafe_code, reason = "security descriptors have no other interface")]
    pub(crate) fn private() -> io::Result<Self> {
        // Protected from what the directory gives; all access for the three, also to what is created in it.
        let text = format!("D:P(A;OICI;FA;;;{})(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", User::current());
        let text = terminated(text.as_ref());
        let mut descriptor = ptr::null_mut();
        // SAFETY: the text ends with a zero, and the descriptor is written to during the call.
        let result = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                ptr::null_mut(),
            )
        };
        if result == 0 { Err(io::Error::last_os_error()) } else { Ok(Self(descriptor)) }
    }

    /// For calls that take one. It is valid as long as this.
    pub(crate) fn as_ptr(&self) -> *mut c_void {
        self.0
    }

    #[expect(unsafe_code, reason = "security descriptors have no other interface")]
    fn of(file: &File) -> io::Result<Self> {
        let mut descriptor = ptr::null_mut();
        // SAFETY: the handle is open, and the descriptor is written to during the call.
        checked(unsafe {
            GetSecurityInfo(
                file.as_raw_handle(),
                SE_FILE_OBJECT,
                OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                &raw mut descriptor,
            )
        })?;
        Ok(Self(descriptor))
    }

    #[expect(unsafe_code, reason = "security descriptors have no other interface")]
    fn owner(&self) -> io::Result<User> {
        let (mut owner, mut is_default): (PSID, i32) = (ptr::null_mut(), 0);
        // SAFETY: the descriptor is the system's own, and the owner in it lives as long.
        let result = unsafe {
            windows_sys::Win32::Security::GetSecurityDescriptorOwner(
                self.0,
                &raw mut owner,
                &raw mut is_default,
            )
        };
        if result == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is null, which is no user, or the identifier in the descriptor.
        unsafe { User::from_sid(owner) }.ok_or_else(|| io::Error::other("it has no owner"))
    }

    /// Users, or groups, with what they may do; `None` for an entry of another kind, and for no list at all, which lets
    /// everybody do everything.
    #[expect(unsafe_code, reason = "security descriptors have no other interface")]
    fn entries(&self) -> impl Iterator<Item = io::Result<Option<(User, u32)>>> {
        let (mut is_present, mut list, mut is_default) = (0, ptr::null_mut::<ACL>(), 0);
        // SAFETY: the descriptor is the system's own, and the list in it lives as long.
        let found = unsafe {
            GetSecurityDescriptorDacl(self.0, &raw mut is_present, &raw mut list, &raw mut is_default)
        };
        let has_list = found != 0 && is_present != 0 && !list.is_null();
        // SAFETY: it is a valid list.
        let count = if has_list { u32::from(unsafe { (*list).AceCount }) } else { 0 };
        let everybody = (!has_list).then_some(Ok(None));
        everybody.into_iter().chain((0..count).filter_map(move |index| {
            let mut entry = ptr::null_mut();
            // SAFETY: the list is valid and has more entries than the index.
            if unsafe { GetAce(list, index, &raw mut entry) } == 0 {
                return Some(Err(io::Error::last_os_error()));
            }
            // SAFETY: every entry begins with a header.
            let header = unsafe { entry.cast::<ACE_HEADER>().read_unaligned() };
            let is_of_children = u32::from(header.AceFlags) & INHERIT_ONLY_ACE != 0;
            match u32::from(header.AceType) {
                _ if is_of_children => None,
                ACCESS_ALLOWED_ACE_TYPE => {
                    let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
                    // SAFETY: an entry of this kind has rights, and the identifier of a user behind them.
                    let (rights, user) =
                        unsafe { ((*entry).Mask, User::from_sid((&raw mut (*entry).SidStart).cast())) };
                    Some(Ok(user.map(|user| (user, rights))))
                }
                // It takes rights away.
                ACCESS_DENIED_ACE_TYPE => None,
                _ => Some(Ok(None)),
            }
        }))
    }
}

const ACCESS_DENIED_ACE_TYPE: u32 = windows_sys::Win32::System::SystemServices::ACCESS_DENIED_ACE_TYPE;

impl Drop for Descriptor {
    #[expect(unsafe_code, reason = "the system has allocated it")]
    fn drop(&mut self) {
        // SAFETY: it was allocated by a call whose result is to be freed so, and nothing borrows from it any more.
        unsafe { LocalFree(self.0) };
    }
}

fn checked(result: WIN32_ERROR) -> io::Result<()> {
    if result == ERROR_SUCCESS { Ok(()) } else { Err(io::Error::from_raw_os_error(result.cast_signed())) }
}
