import Fastify from "fastify";
import { describe, expect, it } from "vitest";
import { addressOf, peerKey, trustOf } from "../../src/console/peer.ts";
import { readAddressList } from "../../src/core/address-list.ts";

const proxies = readAddressList(["10.0.0.1", "fd00::/16"]);

describe("who asks", () => {
  const ask = async (headers: Record<string, string>, remoteAddress = "10.0.0.1", trusted = true) => {
    const app = Fastify({ trustProxy: trustOf(trusted ? proxies : undefined) });
    app.get("/", ({ ip, protocol }) => ({ peer: peerKey(addressOf(ip)), protocol }));
    const answer = await app.inject({ url: "/", headers, remoteAddress });
    await app.close();
    return answer.json<{ peer: string; protocol: string }>();
  };
  const from = async (forwarded: string | undefined, remote?: string, trusted?: boolean) =>
    (await ask(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }, remote, trusted)).peer;

  it.each([
    ["10.1.1.1", "10.1.1.1"],
    ["made up, 10.1.1.1", "10.1.1.1"],
    ["10.9.9.9, 10.1.1.1", "10.1.1.1"],
    ["10.1.1.1, fd00::7", "10.1.1.1"],
    ["10.1.1.1:4711", "10.1.1.1"],
    ["10.1.1.1:4711, [fd00::7]:80", "10.1.1.1"],
    ["[2001:db8::1]:4711", "2001:db8::/64"],
    ["::ffff:10.1.1.1", "10.1.1.1"],
    ["10.1.1.1, made up", "no address"],
    ["10.1.1.1, made up again", "no address"],
    ["", "10.0.0.1"],
    [undefined, "10.0.0.1"],
  ])("behind a trusted proxy is whom the proxy tells (%j)", async (forwarded, peer) => {
    expect(await from(forwarded)).toBe(peer);
  });

  it("is who is connected where that is no trusted proxy", async () => {
    expect(await from("10.1.1.1", "10.0.0.2")).toBe("10.0.0.2");
    expect(await from("10.1.1.1", "10.0.0.1", false)).toBe("10.0.0.1");
    expect(await from("10.1.1.1", "::ffff:10.0.0.1")).toBe("10.1.1.1");
  });

  it("comes over TLS where the nearest proxy says so", async () => {
    const protocol = async (forwarded: string, remote?: string) =>
      (await ask({ "x-forwarded-proto": forwarded }, remote)).protocol;
    expect(await protocol("https")).toBe("https");
    expect(await protocol("http, https")).toBe("https");
    expect(await protocol("https, http")).toBe("http");
    expect(await protocol("https", "10.0.0.2")).toBe("http");
  });
});

it.each([
  ["10.1.1.1", "10.1.1.1"],
  ["::ffff:10.1.1.1", "10.1.1.1"],
  ["2001:db8::1", "2001:db8::/64"],
  ["2001:DB8:0:0:ffff::2", "2001:db8::/64"],
  ["2001:db8:0:1::2", "2001:db8:0:1::/64"],
  ["::1", "::/64"],
  ["fe80::1%eth0", "fe80::/64"],
  ["64:ff9b::10.1.1.1", "64:ff9b::/64"],
])("%s is counted as %s", (address, key) => {
  expect(peerKey(addressOf(address))).toBe(key);
});

it.each([
  ["127.0.0.1:4711", "127.0.0.1"],
  ["::ffff:127.0.0.1", "127.0.0.1"],
  ["made up", "no address"],
  // So it is once the connection was reset.
  [undefined, "no address"],
])("%s comes from %s", (ip, address) => {
  expect(addressOf(ip)).toBe(address);
});
