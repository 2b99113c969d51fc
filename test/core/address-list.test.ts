import { expect, test } from "vitest";
import { hostAndPortOf, ownAddressOf } from "../../src/core/address-list.ts";

test.each([
  ["storage.example.org", "storage.example.org:80"],
  ["10.1.2.3", "10.1.2.3:80"],
  ["::1", "[::1]:80"],
  ["[fd00::2]", "[fd00::2]:80"],
])("%s with a port is %s", (host, text) => expect(hostAndPortOf(host, 80)).toBe(text));

test.each([
  ["0.0.0.0", "127.0.0.1:80"],
  ["::", "[::1]:80"],
  ["[::]", "[::1]:80"],
  ["10.1.2.3", "10.1.2.3:80"],
])("what listens at %s this machine reaches at %s", (host, text) =>
  expect(ownAddressOf(host, 80)).toBe(text),
);
