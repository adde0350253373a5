//! Assets and archives, which Terraform has nothing for.
//!
//! YAML refuses them by the package's schema where a text is wanted; programs in other languages can be made to send them
//! there. Where anything goes, nobody but the provider's side can refuse them.

use crate::harness::{Project, Provider};

#[test]
fn they_are_refused_where_they_are_and_text_is_asked_for() {
    let project = Project::new("assets and archives", &[Provider::Conformance]);
    for (value, place, kind) in [
        ("{'fn::stringAsset': hello}", "anyNeeded", "an asset"),
        ("{files: [{'fn::fileAsset': ./Pulumi.yaml}]}", "anyNeeded.files[0]", "an asset"),
        ("[{'fn::fileArchive': ./sdks}]", "anyNeeded[0]", "an archive"),
        ("{'fn::assetArchive': {one: {'fn::stringAsset': hello}}}", "anyNeeded", "an archive"),
    ] {
        project.program(&format!(
            "resources:\n  it:\n    type: conformance:Dynamics\n    properties: {{anyNeeded: {value}}}\n"
        ));
        let failed = project.run(&["preview"]).failed();
        let reason = format!(
            "found {kind}, which Terraform providers do not take; pass the file's path or its text as a string"
        );
        failed.says(&format!("{place}: {reason}"));
    }
    project
        .program("resources:\n  it:\n    type: conformance:Dynamics\n    properties: {anyNeeded: hello}\n");
    assert_eq!(project.up_at_once().steps("it"), ["create"]);
    project.destroy();
}
