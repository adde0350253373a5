// Reads a file by both forms of a function.

import * as path from "path";

import * as local from "@pulumi/local";

import { run } from "./engine";

const filename = path.resolve("secret.txt");

run(async () => {
    const found = local.getSensitiveFileOutput({ filename });
    const plain = await local.getSensitiveFile({ filename });
    return { plain: plain.content, output: found.content, id: found.id };
});
