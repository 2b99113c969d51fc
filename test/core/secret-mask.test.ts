import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { SecretMask } from "../../src/core/secret-mask.ts";

const SECRET = 'p%q:+ü&"<S3cret>/é';

function maskOf(...secrets: string[]): SecretMask {
  const mask = new SecretMask();
  for (const secret of secrets) mask.add(secret);
  return mask;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("a credential", () => {
  test.each([
    ["as it is", SECRET],
    ["in JSON", JSON.stringify({ secret: SECRET })],
    ["in JSON within JSON", JSON.stringify(`{"secret":${JSON.stringify("p%q:+ü&S3cret")}}`)],
    ["in JSON for ASCII", '{"secret":"p%q:+\\u00fc&\\"<S3cret>/\\u00e9"}'],
    ["in a form", `client_secret=${new URLSearchParams({ s: SECRET }).toString().slice(2)}&scope=x`],
    ["in a URL", `https://x.example/?secret=${encodeURIComponent(SECRET)}#a`],
    [
      "in a URL in small letters",
      `?s=${encodeURIComponent(SECRET).toLowerCase().replace("s3cret", "S3cret")}`,
    ],
    ["in HTML", `<p>p%q:+ü&amp;&quot;&lt;S3cret&gt;/é</p>`],
    ["in base64", base64(SECRET)],
    ["in HTTP Basic", `Basic ${base64(`cryobridge:${SECRET}`)}`],
    ["in HTTP Basic of the form", `Basic ${base64(`a:${encodeURIComponent(SECRET)}`)}`],
    ["in base64 in the middle", base64(`{"id":"ab","secret":"${SECRET}","more":"words"}`)],
    ["in base64 for URLs", Buffer.from(`id:${SECRET}:x`).toString("base64url")],
  ])("is masked %s", (_words, text) => {
    const masked = maskOf(SECRET, "p%q:+ü&S3cret").mask(text);
    expect(masked).toContain("[secret]");
    expect(masked).not.toMatch(/S3cret/i);
    expect(Buffer.from(masked.replaceAll(/[^A-Za-z0-9+/_-]/g, ""), "base64").toString()).not.toContain(
      "S3cret",
    );
  });

  test("is masked wherever it stands and whatever it is, by itself and within base64", () => {
    const secret = fc
      .string({ unit: "grapheme-ascii", minLength: 8, maxLength: 40 })
      .filter((text) => text.trim().length >= 8);
    fc.assert(
      fc.property(secret, fc.string(), fc.string(), (text, before, after) => {
        const value = text.trim();
        const mask = maskOf(text);
        expect(mask.mask(`${before}${value}${after}`)).toContain("[secret]");
        expect(mask.mask(base64(`${before}${value}${after}`))).toContain("[secret]");
        expect(mask.mask(encodeURIComponent(`a ${value} b`))).toContain("[secret]");
      }),
    );
  });

  test("of few characters is masked as a word of its own", () => {
    expect(maskOf("abc").mask("abc, abcd, xabc and abc1")).toBe("[secret], abcd, xabc and abc1");
  });

  test("leaves all else alone", () => {
    const text = "the token endpoint refused the client (status 401: invalid_client)";
    expect(maskOf("", "a", SECRET).mask(text)).toBe(text);
  });

  test("that is longer than another one is masked whole", () => {
    expect(maskOf("password", "password-of-two").mask("it is password-of-two")).toBe("it is [secret]");
  });
});

test("no line of the log holds a credential, whatever field or message it would stand in, and once it is known", () => {
  const lines: string[] = [];
  const mask = new SecretMask();
  const logger = createLogger({ level: "trace" }, { write: (line: string) => lines.push(line) }, mask);
  mask.add(SECRET);
  logger.info({ said: SECRET, nested: { url: `x?s=${encodeURIComponent(SECRET)}` } }, `it said ${SECRET}`);
  logger.child({ header: `Basic ${base64(`id:${SECRET}`)}` }).warn("x");
  const text = lines.join("");
  expect(text).not.toContain("S3cret");
  expect(text.match(/\[secret\]/g)?.length).toBe(4);
  for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
});
