import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FAILURES, hintOf } from "../../src/core/failures.ts";
import { ROOT, readDocument } from "./markdown.ts";
import { NEVER_ALONE, prefixOf, renderErrors } from "./render-errors.ts";

const PATH = "docs/errors.md";

test("docs/errors.md is the registry of failures in words (UPDATE_DOCS=1 writes it)", () => {
  const text = renderErrors();
  if (process.env.UPDATE_DOCS === "1") writeFileSync(join(ROOT, PATH), text);
  expect(readFileSync(join(ROOT, PATH), "utf8")).toBe(text);
});

test("docs/errors.md has one entry for each code that can come without its hint, and none for any other", () => {
  const entries = readDocument(PATH)
    .text.split("\n")
    .flatMap((line) => /^- \*\*([A-Z0-9_]+)\*\*/.exec(line)?.[1] ?? []);
  const codes = Object.keys(FAILURES).filter((code) => !NEVER_ALONE.includes(prefixOf(code)));
  expect(entries.sort()).toEqual(codes.sort());
});

test("each code is given somewhere, so that no hint is for what nobody meets", () => {
  const source = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.startsWith("core/failures/"))
    .map((name) => readFileSync(join(ROOT, "src", name), "utf8"))
    .join("\n");
  const given = new Set([...source.matchAll(/["'`}]_?([A-Z][A-Z0-9_]+)["'`]/g)].map(([, code]) => code));
  const isGiven = (code: string) => given.has(code) || given.has(code.replace(/^(?:CANCEL|CONTROL)_/, ""));
  expect(Object.keys(FAILURES).filter((code) => !isGiven(code))).toEqual([]);
});

/** Settings that a running daemon has as they were at its start. */
const OF_THE_START =
  /(?:[Ss]et|name it in|[Cc]orrect) (?:[^.`]*: )?`(?:service\.|unterminated|mixedLineEnds|reusedControlId|guards|maxBytes|marker|listen\.max)/;

test("a hint that has a setting changed which the daemon reads at its start says so", () => {
  const hints = Object.values(FAILURES).flatMap(({ hint }) => (OF_THE_START.test(hint) ? [hint] : []));
  expect(hints.length).toBeGreaterThan(9);
  expect(hints.filter((hint) => !hint.includes("restart the daemon"))).toEqual([]);
});

test("a hint that has the profile changed says how a running daemon takes that over", () => {
  const hints = Object.keys(FAILURES).flatMap((code) => hintOf({ code }) ?? []);
  const ofProfiles = hints.filter((hint) => /\b(?:of|in) the profile\b|`encoding/.test(hint));
  expect(ofProfiles.length).toBeGreaterThan(15);
  expect(ofProfiles.filter((hint) => !/`cryobridge reload`|restart the daemon/.test(hint))).toEqual([]);
});

test("each command of a hint can be typed as it stands", () => {
  const commands = Object.values(FAILURES).flatMap(({ hint }) =>
    [
      ...hint.matchAll(/`((?:cryobridge )?(?:orders|messages|queue|results|tasks|files|workers) [^`]*)`/g),
    ].map(([, command]) => command ?? ""),
  );
  expect(commands.length).toBeGreaterThan(30);
  expect(commands.filter((command) => !command.startsWith("cryobridge "))).toEqual([]);
});

/** Codes of orders of which the service may have done something by the time a person reads the hint. */
const MAY_BE_DONE = [
  "ORDER_CONTAINER_STORED_ALREADY",
  "REQUEST_CLAIMED",
  "REQUEST_GONE",
  "REQUEST_MISMATCH",
  "SUBMIT_FORGOTTEN_REQUEST",
  "SUBMIT_SEVERAL_MATCHES",
  "SUBMIT_UNCERTAIN",
] as const;

test("where the service may have done what an order asks for, the hint says first how the order is linked to it", () => {
  for (const code of MAY_BE_DONE) {
    const { hint } = FAILURES[code];
    const linked = hint.indexOf("`cryobridge orders resolve ID --request-id|--procedure-id N`");
    expect([code, linked >= 0]).toEqual([code, true]);
    const ended = /[Dd]iscard/.exec(hint)?.index ?? Number.POSITIVE_INFINITY;
    expect([code, linked < ended]).toEqual([code, true]);
  }
});
