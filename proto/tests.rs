//! Tests of the contracts: that they hold what they must hold, and that the code made from them speaks them.

mod facts;
mod records;
mod services;
mod subset;
mod twins;
