import { describe, expect, it } from "vitest";
import { ConfigFolder, MINIMAL } from "./config-file.ts";

const withErrors = (rules: string) => MINIMAL.replace("  auth:", `  errors: ${rules}\n  auth:`);

/** What a configuration with these rules is warned of, as `path: message`. */
function warnings(rules: string): string[] {
  using folder = new ConfigFolder();
  return folder.load(withErrors(rules)).warnings.map(({ path, message }) => `${path}: ${message}`);
}

describe("the site's rules for error answers", () => {
  it("come in their order, with single values as lists", () => {
    using folder = new ConfigFolder();
    const rules = `[{ status: 409, code: DUPLICATE, body: json, method: POST, path: /api/subjects, means: refused },
    { status: [4xx, 503], code: [4001, LOCKED], means: notExecuted }, { body: html, means: unknown }]`;
    expect(folder.load(withErrors(rules)).service.errors).toEqual([
      {
        status: [409],
        code: ["DUPLICATE"],
        body: "json",
        method: "POST",
        path: "/api/subjects",
        means: "refused",
      },
      { status: ["4xx", 503], code: ["4001", "LOCKED"], means: "notExecuted" },
      { body: "html", means: "unknown" },
    ]);
  });

  it("are none by default", () => {
    using folder = new ConfigFolder();
    expect(folder.load(MINIMAL).service.errors).toEqual([]);
  });

  it.each([
    ["[{ status: 409, means: ok }]", /one of refused, notExecuted, unknown, credentials, notFound/],
    ["[{ status: 409, means: refusd }]", /did you mean "refused"/],
    ["[{ status: 409 }]", /means: missing/],
    ["[{ status: 99, means: refused }]", /expected an HTTP status from 200 to 599, or one of 2xx, 4xx, 5xx/],
    ["[{ status: 6xx, means: refused }]", /expected an HTTP status from 200 to 599/],
    ["[{ status: 409, kode: X, means: refused }]", /unknown key "kode"; did you mean "code"/],
    [
      "[{ status: 409, path: api/subjects, means: refused }]",
      /expected a path as the specification writes it/,
    ],
    ["[{ method: POST, means: refused }]", /says nothing about which answers it is for/],
    ["[{ status: 200, means: refused }]", /says that the call went well; only together with code/],
    ["[{ status: [4xx, 2xx], means: unknown }]", /says that the call went well/],
    ["{ status: 409, means: refused }", /a list/],
  ])("%s is refused in words", (rules, words) => {
    using folder = new ConfigFolder();
    const mistakes = folder.mistakes(withErrors(rules));
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(words);
  });
});

describe("a rule that is dangerous", () => {
  it.each([
    "[{ status: 500, method: POST, means: refused }]",
    "[{ status: 5xx, means: notExecuted }]",
    "[{ status: [409, 504], method: write, means: notFound }]",
    "[{ status: 408, means: credentials }]",
    "[{ status: 307, means: refused }]",
    "[{ status: 500, code: LOCKED, means: notExecuted }]",
    "[{ body: html, means: refused }]",
  ])("%s is allowed and warned of", (rules) => {
    const mistakes = warnings(rules);
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(/^service\.errors\[0\]\.means: .*a gateway may give such an answer/);
  });

  it.each([
    "[{ status: 500, method: POST, means: unknown }]",
    "[{ status: 500, method: read, means: notExecuted }]",
    "[{ status: 500, method: GET, means: notFound }]",
    "[{ status: 409, means: refused }]",
    "[{ status: 4xx, means: refused }]",
    "[{ code: DUPLICATE, means: refused }]",
    "[{ status: 200, code: DUPLICATE, means: refused }]",
  ])("is none of %s", (rules) => {
    expect(warnings(rules)).toEqual([]);
  });

  it("is also a status in the short form that a gateway may give too late", () => {
    using folder = new ConfigFolder();
    const text = MINIMAL.replace("  auth:", "  notExecuted: [429, 503, 502]\n  auth:");
    expect(folder.load(text).warnings.map(({ path }) => path)).toEqual([
      "service.notExecuted[1]",
      "service.notExecuted[2]",
    ]);
  });
});
