#!/usr/bin/env node
/**
 * Makes a release of the checkout that it runs in, in `release/`: the package, the bill of materials, their checksums, a signature
 * of these, and the notes from CHANGELOG.md. Publishes nothing. What is missing is said with what to do, with status 1.
 *
 * Usage: release.mjs --key FILE   an SSH private key; who checks the release has its public part
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const FOLDER = "release";

/** Says what is wrong and what helps, and ends. */
function refuse(trouble, hint) {
  process.stderr.write(`${trouble}\n  ${hint}\n`);
  process.exit(1);
}

function run(program, ...words) {
  return execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

/** What the changelog says of a version, without its heading. */
function notesOf(version) {
  const sections = readFileSync("CHANGELOG.md", "utf8").split(/^(?=## )/m);
  const section = sections.find((text) => text.startsWith(`## ${version} `));
  if (section === undefined) {
    refuse(
      `CHANGELOG.md has no section ${version}`,
      `Write \`## ${version} - YYYY-MM-DD\` and what is new below it.`,
    );
  }
  const [heading, ...lines] = section.split("\n");
  if (!/ - \d{4}-\d{2}-\d{2}$/.test(heading)) {
    refuse(
      `CHANGELOG.md gives no date for ${version}`,
      `Write \`## ${version} - YYYY-MM-DD\` in place of \`${heading}\`.`,
    );
  }
  return lines.join("\n").trim();
}

const { key } = parseArgs({ options: { key: { type: "string" } } }).values;
if (key === undefined || !existsSync(key)) {
  refuse("no key to sign the release with", "Name an SSH private key: npm run release -- --key FILE");
}
const { name, version } = JSON.parse(readFileSync("package.json", "utf8"));
const notes = notesOf(version);
if (run("git", "status", "--porcelain").trim() !== "") {
  refuse(
    "the checkout has changes that are not committed",
    "Commit or remove them: a release is made of one commit.",
  );
}
const commit = run("git", "rev-parse", "HEAD").trim();
const tag = `v${version}`;
const tagged =
  run("git", "tag", "--list", tag).trim() === "" ? commit : run("git", "rev-list", "-n1", tag).trim();
if (tagged !== commit) {
  refuse(
    `${tag} is already the tag of another commit`,
    "Raise the version in package.json and CHANGELOG.md.",
  );
}

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);
run("npm", "pack", "--silent", "--pack-destination", FOLDER);
const bill = run("npm", "sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only");
writeFileSync(join(FOLDER, `${name}-${version}.cdx.json`), bill);
const sums = readdirSync(FOLDER).map((file) => {
  const sum = createHash("sha256").update(readFileSync(join(FOLDER, file)));
  return `${sum.digest("hex")}  ${file}\n`;
});
writeFileSync(join(FOLDER, "SHA256SUMS"), sums.join(""));
run("ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", key, join(FOLDER, "SHA256SUMS"));
writeFileSync(
  join(FOLDER, "NOTES.md"),
  `# ${name} ${version}\n\nMade of commit ${commit}.\n\n${notes}\n\n## Checksums (SHA-256)\n\n\`\`\`\n${sums.join("")}\`\`\`\n`,
);
process.stdout.write(
  `${FOLDER}/ has ${readdirSync(FOLDER).join(", ")}\nRead NOTES.md, then tag the commit (git tag --sign ${tag} ${commit}) and publish them.\n`,
);
