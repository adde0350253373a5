//! A provider binary in the cache that isthmus did not install, as the Go bridge leaves it: whether it is started.

use super::*;

/// What is changed about a world whose registry and mirror have 1.2.0.
type Change = fn(&World, &Release);

const MIRROR: &str = "provider_installation {\n  network_mirror {\n    url = \"{url}/mirror/\"\n  }\n}\n";

/// Puts 1.2.0 where a mirror has it, with this sum.
fn mirror(world: &World, archive: &[u8], sum: &str) {
    let name = format!("terraform-provider-sandbox_1.2.0_{}.zip", Platform::CURRENT);
    let archives =
        json!({"archives": {Platform::CURRENT.to_string(): {"url": name, "hashes": [format!("zh:{sum}")]}}});
    for (file, document) in [
        ("index.json", Document::json(&json!({"versions": {"1.2.0": {}}}))),
        ("1.2.0.json", Document::json(&archives)),
        (&*name, Document::of(archive.to_vec())),
    ] {
        world.registry.put(&format!("/mirror/{ADDRESS}/{file}"), document);
    }
    world.configure(MIRROR);
}

/// A daemon that does not ask again what an origin has refused.
fn hasty(world: &World) -> Setup {
    world.setup().with("TF_REGISTRY_DISCOVERY_RETRY", "0").with("TF_PROVIDER_DOWNLOAD_RETRY", "0")
}

/// Starts the binary of the cache twice, each time in a new daemon and by version and by constraint.
async fn starts(
    setup: &Setup,
    host: &Host,
    mut each: impl FnMut(Result<(), Status>, Vec<String>),
) -> Outcome {
    for _ in 0..2 {
        for words in [&["acme/sandbox", "1.2.0"] as &[&str], &["acme/sandbox"]] {
            let again = setup.clone().beside(host).start().await;
            let session = again.greeted().await?;
            let started = match session.parameterize(words).await {
                Ok(_) => session.configure(&json!({})).await.map(drop),
                Err(status) => {
                    assert_eq!(again.children(), [0; 0], "no provider was started");
                    Err(status)
                }
            };
            each(started, told(&again, Severity::Warning));
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_provider_that_an_origin_refuses_is_not_started() -> Outcome {
    let cases: [(Change, &str); 2] = [
        (
            |world, release| {
                let other = PublisherKey::new().sign(release.sums().as_bytes());
                world.registry.put(&release.signature_path(), Document::of(other));
            },
            ", and the registry lists ",
        ),
        (|world, _| mirror(world, b"another", &"0".repeat(64)), "the archive has the SHA-256 "),
    ];
    for (change, why) in cases {
        let world = World::new();
        let host = hasty(&world).start().await;
        host.place(ADDRESS, "1.2.0");
        change(&world, &world.publish(&host, "1.2.0"));
        starts(&hasty(&world), &host, |started, _| {
            let status = started.expect_err(why);
            assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
            says(&status, &[why]);
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_provider_that_no_origin_can_vouch_for_is_started_with_a_warning_each_time() -> Outcome {
    let cases: [(Change, &str); 2] = [
        (
            |world, release| world.registry.put(&release.download_path(), Document::status(503)),
            "its origin could not be reached: ",
        ),
        (|world, _| world.configure(MIRROR), "its origin does not have it: "),
    ];
    for (change, why) in cases {
        let world = World::new();
        let host = hasty(&world).start().await;
        host.place(ADDRESS, "1.2.0");
        let release = world.publish(&host, "1.2.0");
        change(&world, &release);
        starts(&hasty(&world), &host, |started, warnings| {
            started.unwrap_or_else(|status| panic!("{why}: {status}"));
            let wanted = "acme/sandbox 1.2.0 is unverified: it was not installed by isthmus, and ";
            let wanted = format!("{wanted}{why}");
            assert!(warnings.iter().any(|warning| warning.starts_with(&wanted)), "{wanted}: {warnings:?}");
        })
        .await?;
        let enforced = hasty(&world).with("OPENTOFU_ENFORCE_GPG_VALIDATION", "true");
        starts(&enforced, &host, |started, _| {
            let status = started.expect_err("it is enforced");
            says(&status, &["acme/sandbox 1.2.0 in the cache is unverified, and OPENTOFU_ENFORCE_GPG_VALIDATION is set"]);
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_origin_that_can_be_reached_again_decides() -> Outcome {
    let world = World::new();
    let host = world.setup().start().await;
    host.place(ADDRESS, "1.2.0");
    let release = world.publish(&host, "1.2.0");
    // The first start decides nothing for good: the cache is only as it was.
    world.registry.put(&release.download_path(), Document::status(403));
    let session = host.greeted().await?;
    session.parameterize(&["acme/sandbox", "1.2.0"]).await.expect_err("it is refused");
    world.registry.put(&release.download_path(), Document::json(&release.download()));
    session.parameterize(&["acme/sandbox", "1.2.0"]).await?;
    let warnings = told(&host, Severity::Warning);
    assert!(matches!(&warnings[..], [replaced] if replaced.starts_with("replaced ")), "{warnings:?}");
    assert_eq!(world.registry.count(&release.archive_path()), 1, "it was verified");
    Ok(())
}

#[tokio::test]
async fn a_path_into_the_cache_is_no_way_around() -> Outcome {
    let world = World::new();
    let offline = world.setup().with(OFFLINE, "true");
    let host = offline.clone().start().await;
    let program = program_path(host.place(ADDRESS, "1.2.0").join("terraform-provider-sandbox_v1.2.0"));
    let program = program.to_str().expect("a path in UTF-8");
    host.greeted().await?.parameterize(&["acme/sandbox"]).await?;
    let warns = |line: &Line| {
        line.severity == Severity::Warning
            && line
                .message
                .starts_with(&format!("{program} is unverified: it was not installed by isthmus, and "))
    };
    let by_path = offline.clone().beside(&host).start().await;
    by_path.greeted().await?.parameterize(&[program, "--provider-name=sandbox"]).await?;
    by_path.engine.line("a warning", warns).await;
    let legacy = offline.clone().named("lumi-resource-sandbox").with("ISTHMUS_PROVIDER", program);
    legacy.beside(&host).start().await.engine.line("a warning", warns).await;

    let strict = offline.with("OPENTOFU_ENFORCE_GPG_VALIDATION", "true").beside(&host).start().await;
    let session = strict.greeted().await?;
    let status = match session.parameterize(&[program, "--provider-name=sandbox"]).await {
        // What it offers is known from before, so it is started later.
        Ok(_) => session.configure(&json!({})).await.map(drop).expect_err("it is enforced"),
        Err(status) => status,
    };
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    says(&status, &[program, "OPENTOFU_ENFORCE_GPG_VALIDATION is set"]);
    Ok(())
}

/// What was never asked for by its address has no record either.
#[tokio::test]
async fn a_path_to_an_unrecorded_program_in_the_cache_is_no_way_around() -> Outcome {
    let world = World::new();
    let offline = world.setup().with(OFFLINE, "true");
    let host = offline.clone().start().await;
    let program = host.place(ADDRESS, "1.2.0").join("terraform-provider-sandbox_v1.2.0");
    let link = host.directory().join("linked").join("terraform-provider-sandbox");
    std::fs::create_dir(link.parent().expect("a directory"))?;
    isthmus_platform::files::symlink(&program, &link)?;
    for named in [&program, &link] {
        let named = named.to_str().expect("a path in UTF-8");
        let warns = |line: &Line| {
            line.severity == Severity::Warning
                && line.message.starts_with(&format!("{named} is unverified: "))
                && line.message.contains("isthmus install")
        };
        let by_path = offline.clone().beside(&host).start().await;
        by_path.greeted().await?.parameterize(&[named, "--provider-name=sandbox"]).await?;
        by_path.engine.line("a warning", warns).await;

        let strict = offline.clone().with("OPENTOFU_ENFORCE_GPG_VALIDATION", "true");
        let strict = strict.with("ISTHMUS_SCHEMA_CACHE", "off").beside(&host).start().await;
        let refused = strict.greeted().await?.parameterize(&[named, "--provider-name=sandbox"]).await;
        let status = refused.expect_err("it is enforced");
        assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
        says(&status, &[named, "OPENTOFU_ENFORCE_GPG_VALIDATION is set"]);
    }
    Ok(())
}
