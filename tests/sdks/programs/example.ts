// Runs one step of the example in TypeScript, whose outputs are what it exports.

import { run } from "./engine";

run(async () => require("./index"));
