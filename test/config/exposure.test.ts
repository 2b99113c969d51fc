import { describe, expect, it } from "vitest";
import { ConfigFolder, ENV, MINIMAL } from "./config-file.ts";

describe("exposure", () => {
  it("to the network needs a token for the console", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(`${MINIMAL}console: { host: 0.0.0.0 }`)).toEqual([
      `7:18 console.host: other machines can reach this address, so console.token or console.users is needed; expected token: \${CONSOLE_TOKEN}`,
    ]);
    expect(
      folder.load(`${MINIMAL}console: { host: 0.0.0.0, users: { anna: { token: "0123456789abcdef" } } }`)
        .console.users.anna?.role,
    ).toBe("viewer");
  });

  it.each(["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])(
    "of the console on %s needs no token",
    (host) => {
      using folder = new ConfigFolder();
      expect(folder.load(`${MINIMAL}console: { host: "${host}" }`).console.token).toBeUndefined();
    },
  );

  it("of a token shorter than 16 characters is refused", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(`${MINIMAL}console: { token: short }`)).toEqual([
      "7:19 console.token: expected at least 16 characters",
    ]);
  });

  it("of credentials to http:// is refused unless it is allowed, and then warned of", () => {
    using folder = new ConfigFolder();
    const text = MINIMAL.replace("https:", "http:");
    expect(folder.mistakes(text)[0]).toMatch(/^2:12 service\.baseUrl: http:\/\/ would send credentials/);
    const config = folder.load(text.replace("  auth:", "  allowInsecure: true\n  auth:"));
    expect(config.warnings.map(({ path: at }) => at)).toEqual(["service.allowInsecure"]);
  });

  it.each([
    "https://169.254.169.254",
    "https://[fe80::1]",
    "https://[::ffff:169.254.169.254]",
    "https://metadata.google.internal",
  ])("of credentials to %s, which is no server, is refused at its place", (address) => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(MINIMAL.replace("https://storage.example.org", address))).toEqual([
      expect.stringMatching(/service\.baseUrl: names a link-local or cloud metadata address/),
    ]);
  });

  it("of a surface that is no word is left to the schema's words", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(MINIMAL.replace("  auth:", "  surface: { request: 1 }\n  auth:"))).toEqual([
      expect.stringContaining("service.surface: expected one of request, external"),
    ]);
  });

  it("is none with http:// on this machine", () => {
    using folder = new ConfigFolder();
    expect(
      folder.load(MINIMAL.replace("https://storage.example.org", "http://127.0.0.1:9000")).warnings,
    ).toEqual([]);
  });

  it.each(["/api", "/api/", "/gateway/api/v1/external"])(
    "warns of a base address that ends with %s",
    (end) => {
      using folder = new ConfigFolder();
      const text = MINIMAL.replace("https://storage.example.org", `https://storage.example.org${end}`);
      expect(folder.load(text).warnings).toMatchObject([
        { path: "service.baseUrl", message: expect.stringContaining("Cryobridge adds /api itself") },
      ]);
    },
  );

  it("of a credential in the file is warned of", () => {
    using folder = new ConfigFolder();
    const text = MINIMAL.replace(`\${API_TOKEN}`, "in-clear-text");
    expect(folder.load(text).warnings).toEqual([
      expect.objectContaining({
        line: 3,
        path: "service.auth.apiToken",
        message: expect.stringContaining("clear text"),
      }),
    ]);
  });

  it("of an unencrypted link to a distant database is warned of", () => {
    using folder = new ConfigFolder();
    const text = `${MINIMAL}database: { url: "postgres://db.example.org/x" }`;
    expect(folder.load(text).warnings.map(({ path: at }) => at)).toEqual(["database.url"]);
    expect(folder.load(text.replace('/x"', '/x?sslmode=verify-full"')).warnings).toEqual([]);
  });

  const ALERTS = `${MINIMAL}alerts:
  to:
    - { type: email, host: mail.example.org, from: a@example.org, to: [b@example.org], user: u, password: pw }
    - { type: webhook, url: "https://me:pw@alerts.example.org", secret: "invented-key-of-the-hook" }
tracing: { endpoint: "https://collector.example.org/v1/traces", headers: { authorization: Bearer x } }
`;

  it("of the credentials of alerts and traces in the file is warned of", () => {
    using folder = new ConfigFolder();
    const warnings = (text: string, env = {}) =>
      folder.load(text, { ...ENV, ...env }).warnings.map(({ path: at }) => at);
    expect(warnings(ALERTS)).toEqual([
      "alerts.to[0].password",
      "alerts.to[1].url",
      "alerts.to[1].secret",
      "tracing.headers.authorization",
    ]);
    const hidden = ALERTS.replace("password: pw", `password: "\${X}"`)
      .replace('"invented-key-of-the-hook"', `"\${X}"`)
      .replace("me:pw@", `me:\${X}@`)
      .replace("Bearer x", `"Bearer \${X}"`);
    expect(warnings(hidden, { X: "a-secret-of-sixteen" })).toEqual([]);
  });

  it("of alerts and traces, with what they present, on an unencrypted way to another machine is warned of", () => {
    using folder = new ConfigFolder();
    const plain = ALERTS.replace("user: u", "tls: none, user: u")
      .replace("https://me:pw@", "http://")
      .replace("https://collector", "http://collector");
    const warnings = (text: string) =>
      folder
        .load(text)
        .warnings.filter(({ message }) => message.includes("without encryption"))
        .map(({ path: at }) => at);
    expect(warnings(plain)).toEqual(["tracing.endpoint", "alerts.to[0].tls", "alerts.to[1].url"]);
    expect(warnings(plain.replace(/(mail|alerts|collector)\.example\.org/g, "127.0.0.1"))).toEqual([]);
  });
});
