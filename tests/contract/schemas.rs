//! What the schemas of providers say, as packages, and as shapes of values.

mod broken;
mod documents;
mod features;
mod numbers;
mod package;
mod remembering;
mod shapes;
