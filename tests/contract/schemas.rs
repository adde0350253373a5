//! What the schemas of providers say, as packages, and as shapes of values.

mod attributes;
mod broken;
mod documents;
mod numbers;
mod package;
mod remembering;
mod shapes;
