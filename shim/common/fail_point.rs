//! Fail points: named places at which a test can kill this process.
//!
//! With the feature `fail-points`, which only tests turn on, the variable `FAIL_POINT` names the place at which
//! the process is killed, as `NAME` or `NAME:N` for the Nth time, and `FAIL_POINTS_FILE` a file that the names of
//! the places are appended to as they are reached. With `FAIL_POINT_STOPS`, the process is stopped there instead, until it is
//! continued. Without the feature, this is nothing.

/// Kills this process, if a test has named this place.
#[cfg(not(feature = "fail-points"))]
#[inline(always)]
pub fn fail_point(_: &str) {}

/// Whether a test has named this place: what is done there is to be done by half, before [`kill`].
#[cfg(not(feature = "fail-points"))]
#[inline(always)]
pub fn is_armed(_: &str) -> bool {
    false
}

/// Kills this process.
#[cfg(not(feature = "fail-points"))]
#[inline(always)]
pub fn kill() {}

#[cfg(feature = "fail-points")]
pub use armed::{fail_point, is_armed, kill};

#[cfg(feature = "fail-points")]
mod armed {
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use isthmus_platform::process::{kill_this, stop_this};

    struct Armed {
        name: String,
        /// How often it is passed before.
        left: AtomicU32,
    }

    static ARMED: LazyLock<Option<Armed>> = LazyLock::new(|| {
        let text = std::env::var("FAIL_POINT").ok()?;
        let (name, times) = text.split_once(':').unwrap_or((&text, "1"));
        Some(Armed { name: name.to_owned(), left: AtomicU32::new(times.parse().expect("a number")) })
    });

    static FILE: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("FAIL_POINTS_FILE").ok());

    /// Kills this process, if a test has named this place.
    pub fn fail_point(name: &str) {
        if is_armed(name) {
            if std::env::var_os("FAIL_POINT_STOPS").is_some() {
                stop_this();
            } else {
                kill();
            }
        }
    }

    /// Whether a test has named this place: what is done there is to be done by half, before [`kill`].
    pub fn is_armed(name: &str) -> bool {
        if let Some(path) = FILE.as_ref() {
            let file = OpenOptions::new().append(true).create(true).open(path);
            file.and_then(|mut file| writeln!(file, "{name}"))
                .expect("the file of fail points can be written");
        }
        let armed = ARMED.as_ref().filter(|armed| armed.name == name);
        armed.is_some_and(|armed| armed.left.fetch_sub(1, Ordering::SeqCst) == 1)
    }

    /// Kills this process.
    pub fn kill() {
        kill_this();
        loop {
            std::thread::park();
        }
    }
}
