//! Version constraints.

use isthmus_install::VersionConstraint;
use semver::Version;

use super::{Execution, counted};

/// A constraint is parsed, and compared with each of 300 versions.
pub(super) fn constraint() -> Execution {
    let versions: Vec<Version> =
        (0..300).map(|number| Version::new(number / 100, number / 10 % 10, number % 10)).collect();
    counted(
        move || {
            let constraint = VersionConstraint::parse("~> 1.2, != 1.2.3, < 1.9.5").expect("a constraint");
            versions.iter().filter(|version| constraint.allows(version)).count()
        },
        |matching| assert_eq!(matching, 10 - 1 + 10 * 6 + 5),
    )
}
