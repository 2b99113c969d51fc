#!/usr/bin/env node
/**
 * Checks a package-lock.json: each package has the digest that npm compares what it downloads with, and none names a
 * registry's host. Prints what is wrong, and then ends with status 1. Usage: lock-file.mjs [FILE]
 */
import { readFileSync } from "node:fs";

const file = process.argv[2] ?? "package-lock.json";
const problems = [];
const packages = Object.entries(JSON.parse(readFileSync(file, "utf8")).packages ?? {});
let checked = 0;
for (const [path, entry] of packages) {
  // The first entry is this project itself.
  if (path === "") continue;
  checked += 1;
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? ""))
    problems.push(`${path} has no sha512 integrity`);
  if (entry.resolved !== undefined) problems.push(`${path} names where it was downloaded from (resolved)`);
}
if (checked === 0) problems.push("it lists no packages");
if (problems.length > 0) {
  const lines = problems.map((problem) => `${file}: ${problem}\n`);
  process.stderr.write(
    `${lines.join("")}Remove these entries and run, in a folder without node_modules: npm install --package-lock-only\n`,
  );
  process.exitCode = 1;
}
