// One of everything: resources of five providers, data sources and functions.
//
// Runs one step of its life, `up` or `preview`, by the Automation API, and prints what came of it as JSON.

import * as pulumi from "@pulumi/pulumi";

import * as conformance from "@pulumi/conformance";
import * as conformance5 from "@pulumi/conformance5";
import * as local from "@pulumi/local";
import * as random from "@pulumi/random";
import * as time from "@pulumi/time";
import * as tls from "@pulumi/tls";

import { run } from "./engine";

async function program() {
    const folder = process.cwd();

    const pet = new random.Pet("pet", { length: 2, keepers: { reason: "a test" } });
    const password = new random.Password("password", { length: 20, special: false });

    const key = new tls.PrivateKey("key", { algorithm: "ED25519" });
    const certificate = new tls.SelfSignedCert("certificate", {
        privateKeyPem: key.privateKeyPem,
        allowedUses: ["digital_signature"],
        validityPeriodHours: 12,
        subjects: [{ commonName: "isthmus" }],
    });
    const read = tls.getPublicKeyOutput({ privateKeyPem: key.privateKeyPem });

    const later = new time.Offset("later", { baseRfc3339: "2026-11-21T00:00:00Z", offsetDays: 9 });
    const parsed = await time.rfc3339Parse("2026-11-21T00:00:00Z");

    const file = new local.File("file", { filename: `${folder}/pet.txt`, content: pet.id });

    const record = new conformance.Record("record", {
        name: "record",
        secret: password.result,
        passwordWo: "not kept",
        passwordWoVersion: 1,
        labels: ["b", "a"],
        tags: { pet: pet.id, snake_case: "stays" },
        extra: { list: [1, true, "x"], snakeCase: { deep_down: "x" } },
        rules: [{ port: 80 }, { port: 443, protocol: "udp" }],
        grants: [{ who: "all", level: "read" }],
        settings: { mode: "fast", quota: 2.5 },
    });
    const nested = new conformance.Nested("nested", {
        name: "nested",
        disks: [{ size: 1, partitions: [{ path: "/" }] }],
        zones: { First_Zone: { weight: 3 } },
        owner: { name: "me", key: "hidden" },
    });

    return {
        pet: pet.id,
        password: password.result,
        key: key.privateKeyPem,
        "public key": key.publicKeyOpenssh,
        "public key read": pulumi.unsecret(read.publicKeyOpenssh),
        certificate: certificate.certPem,
        later: later.rfc3339,
        month: parsed.monthName,
        file: file.contentMd5,
        "folder exists": await local.direxists(folder),
        record: record.id,
        "record's secret": record.secret,
        "record's extra": record.extra,
        protocols: record.rules.apply((rules) => rules?.map((rule) => rule.protocol)),
        zones: nested.zones.apply((zones) => Object.keys(zones ?? {}).sort()),
        words: conformance.joinWordsOutput("-", pet.id.apply((name) => ["a", name])),
        shouted: await conformance.shout("text"),
    };
}

/** Never run: what the compiler has to accept beside the above. */
export function accepted(): pulumi.Output<string> {
    const objects = new conformance.Provider("objects", { directory: "objects", endpoints: [{ url: "here" }] });
    const legacy = new conformance5.Legacy("legacy", { name: "legacy" }, { provider: objects });
    return conformance.Place.get("place", legacy.id, { note: "found" }).name.apply((name) => name.toUpperCase());
}

/** Never run: what the compiler has to refuse. */
export function refused() {
    // @ts-expect-error The length is required.
    new random.Password("password", {});
    // @ts-expect-error A length is a number.
    new random.Pet("pet", { length: "long" });
    // @ts-expect-error It is called `commonName`.
    new tls.SelfSignedCert("certificate", { allowedUses: [], privateKeyPem: "", validityPeriodHours: 1, subjects: [{ name: "" }] });
    // @ts-expect-error There is no such output.
    new random.Pet("pet").size;
    // @ts-expect-error Protocol 5 has no nested attributes.
    conformance5.Nested;
}

run(program);
