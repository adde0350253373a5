//! Names and parents of resources in a program in HCL, which Pulumi's HCL host gives them.
//!
//! A resource has the name of its block, with its instance key as in Terraform: `a`, `a[0]`, `a["eu"]`. Each instance of a module is
//! a component; what is in it has its name and a dot before its own: `net["eu"].a`. The type of a component is made of the
//! last part of the module's source. Nothing is replaced in names: another name would be another resource.

use isthmus_state::{InstanceKey, ModuleStep, ObjectAddress};

use super::configuration::Configuration;

/// A component that a resource is in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    pub token: String,
    pub name: String,
}

/// The name of a resource instance.
pub fn resource_name(address: &ObjectAddress) -> String {
    within(&address.resource.module, &instance(&address.resource.name, address.key.as_ref()))
}

/// The name of something in an instance of a module.
pub fn within(module: &[ModuleStep], name: &str) -> String {
    let mut parts: Vec<String> = module.iter().map(|step| instance(&step.name, step.key.as_ref())).collect();
    parts.push(name.to_owned());
    parts.join(".")
}

/// A name with an instance key.
pub fn instance(name: &str, key: Option<&InstanceKey>) -> String {
    match key {
        None => name.to_owned(),
        Some(InstanceKey::Number(number)) => format!("{name}[{number}]"),
        Some(InstanceKey::Text(text)) => format!("{name}[{text:?}]"),
    }
}

/// The components of an instance of a module, the outermost first; `None` if the source of one is no path in the configuration.
pub fn components(module: &[ModuleStep], configuration: &Configuration) -> Option<Vec<Component>> {
    (0..module.len())
        .map(|depth| {
            let callers: Vec<String> = module[..depth].iter().map(|step| step.name.clone()).collect();
            let source = configuration.module(&callers)?.path_of(&module[depth].name)?;
            let step = &module[depth];
            Some(Component {
                token: format!("components:index:{}", type_name(source)),
                name: within(&module[..depth], &instance(&step.name, step.key.as_ref())),
            })
        })
        .collect()
}

/// `./modules/my-net` is `MyNet`.
fn type_name(source: &str) -> String {
    let last = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
    let words = last.split(['-', '.', ' ', '_']).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let mut characters = word.chars();
            let first = characters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(characters).collect::<String>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration() -> Configuration {
        let mut configuration = Configuration::default();
        let root = "module \"net\" {\n  source = \"./modules/my-net\"\n}\nmodule \"far\" {\n  source = \"a/b/c\"\n}\n";
        configuration.add(&[], root).expect("HCL");
        configuration
            .add(&["net".to_owned()], "module \"sub\" {\n  source = \"../sub_net.v2/\"\n}\n")
            .expect("HCL");
        configuration
    }

    #[test]
    fn names_have_modules_and_keys_as_in_terraform() {
        for (address, name) in [
            ("random_pet.a", "a"),
            ("random_pet.a[0]", "a[0]"),
            (r#"random_pet.a["x/y"]"#, r#"a["x/y"]"#),
            (r#"module.net["eu"].module.sub[1].random_pet.a[2]"#, r#"net["eu"].sub[1].a[2]"#),
        ] {
            assert_eq!(resource_name(&address.parse().expect("an address")), name);
        }
    }

    #[test]
    fn components_are_named_by_calls_and_typed_by_sources() {
        let address: ObjectAddress =
            r#"module.net["eu"].module.sub[1].random_pet.a"#.parse().expect("an address");
        let found = components(&address.resource.module, &configuration()).expect("paths");
        let found: Vec<(&str, &str)> =
            found.iter().map(|component| (&*component.token, &*component.name)).collect();
        assert_eq!(
            found,
            [
                ("components:index:MyNet", r#"net["eu"]"#),
                ("components:index:SubNetV2", r#"net["eu"].sub[1]"#)
            ]
        );
        let far: ObjectAddress = "module.far.random_pet.a".parse().expect("an address");
        assert_eq!(components(&far.resource.module, &configuration()), None);
    }
}
