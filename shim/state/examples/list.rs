//! Opens a state store in a directory, adds an object, and lists all objects:
//!
//! ```sh cargo run -p isthmus-state --example list -- ./store ```

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::error::Error;
use std::path::Path;

use isthmus_cty::json::Json;
use isthmus_state::{EncryptedStore, ProviderConfigAddress, Saved, SavedObject, Status, StoreKey};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Some(directory) = std::env::args().nth(1) else { return Err("usage: list DIRECTORY".into()) };
    let store = EncryptedStore::open(Path::new(&directory), None).await?;
    store.warnings().for_each(|warning| println!("warning: {warning}"));
    let key = StoreKey {
        package: "random".to_owned(),
        type_name: "random_pet".to_owned(),
        id: "able-dog".to_owned(),
    };
    let object = SavedObject {
        value: Json::parse(br#"{"id": "able-dog", "length": 2}"#)?,
        schema_version: 0,
        private: Default::default(),
        identity: None,
        status: Status::Ready,
        sensitive_paths: Vec::new(),
        dependencies: Vec::new(),
        create_before_destroy: false,
        provider: ProviderConfigAddress::new("registry.terraform.io/hashicorp/random").to_string(),
        address: None,
        component: None,
    };
    store.add(&key, &Saved { object, companion: Default::default() }).await?;
    for (record, key, saved) in store.list(None).await? {
        println!("{} {key}: {}", record.number.0, saved.object.value);
    }
    Ok(())
}
