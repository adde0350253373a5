//! What exists already: state of every origin and age, Read, import, and what was begun and never ended.

mod ages;
mod handover;
mod identities;
mod importing;
mod journal;
mod provenance;
mod reading;
