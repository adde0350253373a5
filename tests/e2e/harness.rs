//! What the tests are written with: tools, projects, the outcome of a command, processes.

pub(crate) mod command;
pub(crate) mod outcome;
pub(crate) mod processes;
pub(crate) mod project;
pub(crate) mod tools;

pub(crate) use processes::wait_until;
pub(crate) use project::{Bridge, Project, Provider};
