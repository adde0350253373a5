//! Concurrent and killed processes.

use super::*;

/// Environment variable by which a test process installs instead of testing.
const CHILD: &str = "ISTHMUS_TEST_INSTALL";

/// A process that installs from the registry, and prints each event in a line.
fn child(fixture: &Fixture, test: &str) -> Child {
    let authority = fixture.directory.path().join("authority.pem");
    if !authority.exists() {
        std::fs::write(&authority, fixture.registry.authority_pem()).expect("a file");
    }
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "--nocapture", &format!("installer::tests::processes::{test}")])
        .env(CHILD, fixture.directory.path())
        .env("ISTHMUS_TEST_HOST", fixture.registry.host())
        .env("SSL_CERT_FILE", authority)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// The main function of such a process.
async fn be_a_child(directory: std::ffi::OsString) {
    let address = format!("{}/a/b", std::env::var("ISTHMUS_TEST_HOST").expect("it is told"));
    let web = CliConfig::default().web_client(&Environment::current());
    let registry = RegistryClient::new(web, ServiceOverrides::new());
    let installer =
        from_registries(ProviderCache::new(PathBuf::from(directory)), registry, SignaturePolicy::default());
    let constraint = VersionConstraint::parse("1.0.0").expect("a constraint");
    let address = ProviderAddress::parse(&address).expect("an address");
    let tell = |event: InstallEvent| println!("event: {event:?}");
    let installed =
        installer.install(&address, &constraint, &tell).await.unwrap_or_else(|error| panic!("{error}"));
    assert!(installed.executable.is_file());
}

#[tokio::test]
async fn fifty_concurrent_processes_download_once() {
    if let Some(directory) = std::env::var_os(CHILD) {
        return be_a_child(directory).await;
    }
    let fixture = Fixture::new();
    let release = fixture.publish("1.0.0");
    let children: Vec<Child> =
        (0..50).map(|_| child(&fixture, "fifty_concurrent_processes_download_once")).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let told = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&told));
    }
    assert_eq!(fixture.registry.count(&release.archive_path()), 1);
    let installed = fixture.installed("1.0.0").await;
    assert_eq!(std::fs::read(installed.executable).expect("it is there"), PROGRAM);
}

#[tokio::test]
async fn a_killed_process_leaves_a_usable_cache() {
    if let Some(directory) = std::env::var_os(CHILD) {
        return be_a_child(directory).await;
    }
    let fixture = Fixture::new();
    // Incompressible, so that it arrives in many chunks.
    let mut number = 1_u32;
    let program: Vec<u8> = (0..1 << 20)
        .map(|_| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            number.to_be_bytes()[0]
        })
        .collect();
    let archive = Archive::of_programs(&[("terraform-provider-b_v1", &program)]);
    fixture.registry.publish(&Release::new("a/b", "1.0.0", archive).signed_by(&fixture.key));
    let mut killed = 0;
    for lines in 0..24_usize {
        let mut child = child(&fixture, "a_killed_process_leaves_a_usable_cache");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let told = output
            .lines()
            .map_while(Result::ok)
            .filter(|line| line.contains("event: "))
            .take(lines * lines / 4 + 1);
        let told = told.count();
        let over = child.try_wait().expect("it is ours").is_some();
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        killed += usize::from(!over && told > 0);
        if fixture.package("1.0.0").exists() {
            // A version in its place is complete.
            let offline = fixture.offline();
            let installed = installed(&offline, &fixture.address(), "1.0.0").await;
            assert_eq!(std::fs::read(&installed.executable).expect("it is there"), program);
            assert!(matches!(installed.verification, Verification::Signed { .. }), "{installed:?}");
            std::fs::remove_dir_all(fixture.package("1.0.0")).expect("a directory");
        }
    }
    assert!(killed > 3, "only {killed} were killed while they were busy");
    let installed = fixture.installed("1.0.0").await;
    assert_eq!(std::fs::read(&installed.executable).expect("it is there"), program);
    let version = fixture.package("1.0.0");
    let left = std::fs::read_dir(version.parent().expect("a directory")).expect("a directory").count();
    assert_eq!(left, 3, "the directory, its record and its lock");
}
