//! The releases of the Go bridge that isthmus takes the place of.

/// The version under which packages refer to this plugin if it does not run from a plugin
/// directory: the version of the newest Go bridge, so that a machine without isthmus falls back to a
/// version that exists.
pub const PLUGIN_VERSION: semver::Version = semver::Version::new(1, 4, 0);

/// The last releases of the Go bridge. Hosts of HCL ask for the one that was the newest when they were made.
pub const RELEASES: [semver::Version; 5] = [
    semver::Version::new(1, 1, 3),
    semver::Version::new(1, 1, 4),
    semver::Version::new(1, 2, 0),
    semver::Version::new(1, 3, 0),
    PLUGIN_VERSION,
];
