#!/usr/bin/env node
// Starts the isthmus of the package for this system and processor, which npm has installed beside this one.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `isthmus-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "isthmus.exe" : "isthmus";

let program;
try {
  program = require.resolve(`${name}/${file}`);
} catch {
  console.error(`isthmus: the package ${name} is not installed`);
  console.error("help: install without --omit=optional; there are packages for: @PLATFORMS@");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal's signals reach both: the program decides what follows.
process.on("SIGINT", () => {});
process.on("SIGHUP", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("error", (error) => {
  console.error(`isthmus: failed to start ${program}: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  process.exitCode = code ?? 128 + os.constants.signals[signal];
});
