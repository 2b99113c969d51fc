import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { areExceptions, readExceptions } from "../../src/core/proxy-exceptions.ts";

describe("what is reached without a proxy", () => {
  it.each([
    ["example.org", "storage.example.org", "443", true],
    ["example.org", "EXAMPLE.org.", "443", true],
    [".example.org", "storage.example.org", "443", true],
    ["*.example.org", "example.org", "443", true],
    ["example.org", "badexample.org", "443", false],
    ["example.org:8443", "example.org", "443", false],
    ["example.org:8443", "example.org", "8443", true],
    ["10.1.0.0/16", "10.1.2.3", "443", true],
    ["10.1.0.0/16", "10.2.2.3", "443", false],
    ["10.1.2.3", "10.1.2.3", "443", true],
    ["10.1.2.3:80", "10.1.2.3", "443", false],
    ["fd00::/8", "[fd00::1]", "443", true],
    ["fd00::1", "[fd00::1]", "443", true],
    ["[fd00::1]:443", "[fd00::1]", "443", true],
    ["*", "anything.at.all", "443", true],
    ["example.org", "127.0.0.1", "80", true],
    ["example.org", "localhost", "80", true],
  ])("with %j is %s port %s: %j", (entry, host, port, isIncluded) => {
    expect(readExceptions([entry]).includes(host, port)).toBe(isIncluded);
  });

  it.each(["https://example.org", "10.1.*", "10.1.0.0/33", "example.org/path", "a b", ""])(
    "is not read from %j, which would mean nothing",
    (entry) => expect(areExceptions([entry])).toBe(false),
  );

  it("is this machine alone where nothing is named", () => {
    expect(readExceptions([]).includes("storage.example.org", "443")).toBe(false);
  });

  it("is answered for any host, whatever was named", () => {
    fc.assert(
      fc.property(fc.domain(), fc.string(), fc.constantFrom("443", "80"), (entry, host, port) => {
        expect(readExceptions([entry]).includes(entry, port)).toBe(true);
        expect(readExceptions([entry]).includes(host, port)).toBeTypeOf("boolean");
      }),
    );
  });
});
