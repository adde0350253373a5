//! `isthmus doctor` on a machine on which all is well, and on machines each of which is broken in one way, for real: files, servers,
//! locks and mounts, no pretence. Each fault is named with its code, its cause and its remedy, and nothing else is.

mod machines;
mod patient;
mod projects;
mod providers;
mod reports;
mod stores;
