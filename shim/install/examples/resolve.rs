//! Installs the newest matching version of a provider into a directory, as `terraform init` would, and prints its binary and how it
//! was verified:
//!
//! ```sh
//! cargo run -p isthmus-install --example resolve -- hashicorp/random '~> 3.8' ./providers
//! ```

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::error::Error;

use isthmus_common::Environment;
use isthmus_install::{
    CliConfig, Installer, Origins, ProviderAddress, ProviderCache, SignaturePolicy, Sources,
    VersionConstraint, implied_mirrors,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(constraint), Some(directory)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: resolve ADDRESS CONSTRAINT DIRECTORY".into());
    };
    let environment = Environment::current();
    let config = CliConfig::load(&environment)?;
    let sources = Sources::new(&config, implied_mirrors(&environment, &std::env::current_dir()?));
    let origins = Origins::new(sources, &config, &environment);
    let installer = Installer::new(ProviderCache::new(directory), origins, SignaturePolicy::of(&environment));
    let (address, constraint) = (ProviderAddress::parse(&address)?, VersionConstraint::parse(&constraint)?);
    let installed = installer
        .install(&address, &constraint, &|_| {})
        .await
        .map_err(|error| isthmus_common::error_chain(&*error))?;
    println!("{} {}, {}", installed.version, installed.executable.display(), installed.verification);
    Ok(())
}
