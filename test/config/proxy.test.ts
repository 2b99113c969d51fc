import { describe, expect, it } from "vitest";
import { proxySettings } from "../../src/app/service.ts";
import { ConfigFolder, ENV, MINIMAL } from "./config-file.ts";

const HTTPS_PROXY = "http://bridge:hidden@proxy.example.org:3128";

describe("the proxy", () => {
  it("is taken from the environment, with what is reached without it, and its password is not shown", () => {
    using folder = new ConfigFolder();
    const text = `${MINIMAL}proxy: { url: "\${HTTPS_PROXY}", except: "\${NO_PROXY}" }`;
    const config = folder.load(text, { ...ENV, HTTPS_PROXY, NO_PROXY: "localhost,.lab.example, 10.0.0.0/8" });
    expect(JSON.stringify(config)).not.toContain("hidden");
    expect(config.warnings).toEqual([]);
    const proxy = proxySettings(config);
    expect(proxy?.url.host).toBe("proxy.example.org:3128");
    expect(proxy?.except.includes("alerts.lab.example", "443")).toBe(true);
    expect(proxy?.except.includes("storage.example.org", "443")).toBe(false);
  });

  it.each(["socks5://proxy:1080", "proxy.example.org:3128"])("is refused as %s", (url) => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(`${MINIMAL}proxy: { url: "${url}" }`)[0]).toContain(
      "proxy.url: expected an address that begins with http:// or https://",
    );
  });

  it("is refused with exceptions that would mean nothing", () => {
    using folder = new ConfigFolder();
    const text = `${MINIMAL}proxy: { url: "http://proxy:3128", except: [https://storage.example.org] }`;
    expect(folder.mistakes(text)[0]).toContain("proxy.except: expected host names");
  });

  it("of the environment that no setting names is pointed out, unless none is needed", () => {
    using folder = new ConfigFolder();
    const warningsOf = (text: string, env: Record<string, string>) =>
      folder.load(text, { ...ENV, ...env }).warnings;
    expect(warningsOf(MINIMAL, { https_proxy: HTTPS_PROXY })).toMatchObject([
      { path: "service.baseUrl", message: expect.stringContaining(`proxy: { url: "\${https_proxy}" }`) },
    ]);
    expect(warningsOf(MINIMAL, { HTTPS_PROXY, NO_PROXY: "example.org" })).toEqual([]);
    expect(warningsOf(MINIMAL, { HTTPS_PROXY: "" })).toEqual([]);
    expect(warningsOf(`${MINIMAL}proxy: none`, { HTTPS_PROXY })).toEqual([]);
    const onThisMachine = MINIMAL.replace("https://storage.example.org", "http://127.0.0.1:9000");
    expect(warningsOf(onThisMachine, { HTTPS_PROXY })).toEqual([]);
  });
});
