import { describe, expect, it } from "vitest";
import { peerKey, peerOf } from "../../src/console/peer.ts";
import { readAddressList } from "../../src/core/address-list.ts";

const proxies = readAddressList(["10.0.0.1", "fd00::/16"]);

describe("who asks", () => {
  const from = (forwarded: string | undefined, remote = "10.0.0.1") =>
    peerOf(remote, { "x-forwarded-for": forwarded }, proxies).address;

  it.each([
    ["10.1.1.1", "10.1.1.1"],
    ["made up, 10.1.1.1", "10.1.1.1"],
    ["10.9.9.9, 10.1.1.1", "10.1.1.1"],
    ["10.1.1.1, fd00::7", "10.1.1.1"],
    ["10.1.1.1:4711", "10.1.1.1"],
    ["[2001:db8::1]:4711", "2001:db8::1"],
    ["::ffff:10.1.1.1", "10.1.1.1"],
    ["10.1.1.1, made up", "10.0.0.1"],
    ["", "10.0.0.1"],
    [undefined, "10.0.0.1"],
  ])("behind a trusted proxy is whom the proxy tells (%j)", (forwarded, address) => {
    expect(from(forwarded)).toBe(address);
  });

  it("is who is connected where that is no trusted proxy", () => {
    expect(from("10.1.1.1", "10.0.0.2")).toBe("10.0.0.2");
    expect(peerOf("10.0.0.1", { "x-forwarded-for": "10.1.1.1" }, undefined).address).toBe("10.0.0.1");
    expect(from("10.1.1.1", "::ffff:10.0.0.1")).toBe("10.1.1.1");
  });

  it("comes over TLS where the nearest proxy says so", () => {
    const isSecure = (forwarded: string, remote = "10.0.0.1") =>
      peerOf(remote, { "x-forwarded-proto": forwarded }, proxies).isSecure;
    expect([
      isSecure("https"),
      isSecure("http, HTTPS"),
      isSecure("https, http"),
      isSecure("https", "10.0.0.2"),
    ]).toEqual([true, true, false, false]);
  });
});

it.each([
  ["10.1.1.1", "10.1.1.1"],
  ["::ffff:10.1.1.1", "10.1.1.1"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:DB8:0:0:ffff::2", "2001:db8:0:0::/64"],
  ["2001:db8:0:1::2", "2001:db8:0:1::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["64:ff9b::10.1.1.1", "64:ff9b:0:0::/64"],
])("%s is counted as %s", (address, key) => {
  expect(peerKey(address)).toBe(key);
});
