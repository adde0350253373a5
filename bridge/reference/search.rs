//! What the search of a page looks in: the names of all members and of their properties, as a script.
//!
//! It is a script rather than data, because a browser reads no data beside a page that is a file.

use serde_json::{Value, json};

use super::member::{Kind, Member, Members};
use super::page::Digest;

/// The script. A digest belongs to each member.
pub(super) fn script(members: &Members, digests: &[Digest]) -> String {
    let entries: Vec<Value> =
        members.all().iter().zip(digests).map(|(member, digest)| entry(member, digest)).collect();
    let kinds = Kind::ALL.map(Kind::name);
    format!("isthmusReference={};\n", json!({ "kinds": kinds, "members": entries }))
}

/// Kind, Pulumi's name, Terraform's name, path, properties.
fn entry(member: &Member, digest: &Digest) -> Value {
    let name = if member.kind == Kind::Configuration { "configuration" } else { member.name() };
    let kind = Kind::ALL.iter().position(|kind| *kind == member.kind);
    json!([kind, name, member.terraform, member.path(), digest.properties.join(" ")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::digest;
    use isthmus_package::testing::package;

    #[test]
    fn every_member_is_in_it_even_with_an_invalid_schema() {
        let package = package();
        let members = Members::of(&package);
        let digests: Vec<Digest> = members.all().iter().map(|member| digest(&package, member)).collect();
        let script = script(&members, &digests);
        let data = script.strip_prefix("isthmusReference=").and_then(|rest| rest.strip_suffix(";\n"));
        let data: Value = serde_json::from_str(data.expect("one assignment")).expect("JSON");
        let members: Vec<String> =
            data["members"].as_array().expect("a list").iter().map(ToString::to_string).collect();
        assert_eq!(
            members,
            [
                r#"[0,"configuration","test","configuration.html","proxy url"]"#,
                r#"[1,"Broken","test_broken","resources/test_broken.html",""]"#,
                r#"[1,"Pet","test_pet","resources/test_pet.html","id length"]"#,
                r#"[2,"getPet","test_pet","data-sources/test_pet.html","id length"]"#,
                r#"[3,"parseName","parse_name","functions/parse_name.html","name"]"#,
            ]
        );
    }
}
