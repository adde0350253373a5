"""One of everything: resources of five providers, data sources and functions."""

import os

import pulumi
import pulumi_conformance as conformance
import pulumi_local as local
import pulumi_random as random
import pulumi_time as time
import pulumi_tls as tls

import engine


def program() -> None:
    folder = os.getcwd()

    pet = random.Pet("pet", length=2, keepers={"reason": "a test"})
    password = random.Password("password", length=20, special=False)
    pulumi.export("pet", pet.id)
    pulumi.export("password", password.result)

    key = tls.PrivateKey("key", algorithm="ED25519")
    certificate = tls.SelfSignedCert(
        "certificate",
        private_key_pem=key.private_key_pem,
        allowed_uses=["digital_signature"],
        validity_period_hours=12,
        subjects=[tls.SelfSignedCertSubjectArgs(common_name="isthmus")],
    )
    public = tls.get_public_key_output(private_key_pem=key.private_key_pem)
    pulumi.export("key", key.private_key_pem)
    pulumi.export("public key", key.public_key_openssh)
    pulumi.export("public key read", pulumi.Output.unsecret(public.public_key_openssh))
    pulumi.export("certificate", certificate.cert_pem)

    later = time.Offset("later", base_rfc3339="2026-11-21T00:00:00Z", offset_days=9)
    pulumi.export("later", later.rfc3339)
    pulumi.export("month", time.rfc3339_parse("2026-11-21T00:00:00Z").month_name)

    file = local.File("file", filename=f"{folder}/pet.txt", content=pet.id)
    pulumi.export("file", file.content_md5)
    pulumi.export("folder exists", local.direxists(folder))

    record = conformance.Record(
        "record",
        name="record",
        secret=password.result,
        password_wo="not kept",
        password_wo_version=1,
        labels=["b", "a"],
        tags={"pet": pet.id, "snake_case": "stays"},
        extra={"list": [1, True, "x"], "snakeCase": {"deep_down": "x"}},
        rules=[{"port": 80}, conformance.RecordRuleArgs(port=443, protocol="udp")],
        grants=[{"who": "all", "level": "read"}],
        settings={"mode": "fast", "quota": 2.5},
    )
    nested = conformance.Nested(
        "nested",
        name="nested",
        disks=[{"size": 1, "partitions": [{"path": "/"}]}],
        zones={"First_Zone": {"weight": 3}},
        owner={"name": "me", "key": "hidden"},
    )
    pulumi.export("record", record.id)
    pulumi.export("record's secret", record.secret)
    pulumi.export("record's extra", record.extra)
    pulumi.export("protocols", record.rules.apply(lambda rules: [rule.protocol for rule in rules or []]))
    pulumi.export("zones", nested.zones.apply(lambda zones: sorted(zones or {})))
    pulumi.export("words", conformance.join_words_output("-", pet.id.apply(lambda name: ["a", name])))
    pulumi.export("shouted", conformance.shout("text"))


def accepted() -> None:
    """Never run: what type checkers have to accept beside the above."""
    objects = conformance.Provider("objects", directory="objects", endpoints=[{"url": "here"}])
    conformance.Legacy("legacy", conformance.LegacyArgs(name="legacy"), pulumi.ResourceOptions(provider=objects))
    conformance.Place.get("place", "place-1", note="found").name.apply(str.upper)


def refused() -> None:
    """Never run: what type checkers have to refuse."""
    random.Pet("pet", length="long")  # type: ignore[call-overload]
    tls.SelfSignedCertSubjectArgs(name="isthmus")  # type: ignore[call-arg]
    random.Pet("pet").size  # type: ignore[attr-defined]
    local.direxists(3)  # type: ignore[arg-type]


if __name__ == "__main__":
    engine.run(program)
