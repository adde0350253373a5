//! A compact form of values for tests. It includes secrets, and so is not for users or logs.

use std::fmt;

use super::Value;

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Unknown(None) => formatter.write_str("?"),
            Self::Unknown(Some(refinements)) => write!(formatter, "?{refinements:?}"),
            Self::Bool(value) => value.fmt(formatter),
            Self::Number(number) => fmt::Debug::fmt(number, formatter),
            Self::String(text) => fmt::Debug::fmt(&**text, formatter),
            Self::List(elements) => formatter.debug_list().entries(elements).finish(),
            Self::Set(elements) => formatter.debug_set().entries(elements).finish(),
            Self::Map(elements) => {
                formatter.write_str("map")?;
                formatter.debug_map().entries(elements).finish()
            }
            Self::Object(attributes) => formatter.debug_map().entries(attributes).finish(),
            Self::Tuple(elements) => {
                formatter.write_str("tuple")?;
                formatter.debug_list().entries(elements).finish()
            }
            Self::Dynamic(both) => write!(formatter, "({}: {:?})", both.0, both.1),
        }
    }
}
