//! Decodes a MessagePack value of a type, and prints it as JSON:
//!
//! ```sh
//! cargo run -p isthmus-cty --example decode -- '["object",{"name":"string","size":"number"}]' 82a46e616d65a3646f67a473697a6502
//! ```

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::error::Error;

use isthmus_cty::json::to_json;
use isthmus_cty::{Type, msgpack};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(own), Some(bytes)) = (arguments.next(), arguments.next()) else {
        return Err("usage: decode TYPE_AS_JSON MESSAGEPACK_AS_HEXADECIMAL_DIGITS".into());
    };
    let own = Type::from_json(own.as_bytes())?;
    let value = msgpack::decode(&hex::decode(bytes)?, &own)?;
    println!("{}", to_json(&value, &own)?);
    Ok(())
}
