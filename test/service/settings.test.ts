import { expect, it } from "vitest";
import { resolveSettings } from "../../src/service/settings.ts";

const auth = { apiToken: "t" };

it.each([
  "https://storage.example.org",
  "https://storage.example.org/base/path",
  "http://127.0.0.1:8080",
  "http://localhost:8080",
  "http://[::1]:8080",
])("takes %s", (baseUrl) => {
  expect(resolveSettings({ baseUrl, auth }).baseUrl.href).toContain(baseUrl);
});

it.each([
  ["http://storage.example.org", "https://"],
  ["http://127.0.0.1.example.org", "https://"],
  ["ftp://storage.example.org", "https://"],
  ["storage.example.org", "https://"],
  ["https://user:secret@storage.example.org", "user or password"],
  ["https://storage.example.org/?a=b", "query"],
  ["https://storage.example.org/#x", "#"],
  ["https://169.254.169.254/", "metadata"],
  ["http://[fe80::1]/", "metadata"],
  ["http://[::ffff:169.254.169.254]/", "metadata"],
])("refuses %s", (baseUrl, words) => {
  expect(() => resolveSettings({ baseUrl, auth })).toThrow(words);
});

it("lets a site allow http to another machine", () => {
  expect(resolveSettings({ baseUrl: "http://storage.lan", auth, allowInsecure: true }).baseUrl.host).toBe(
    "storage.lan",
  );
});

it("judges the token endpoint by the same rules", () => {
  const oauth = {
    tokenUrl: "http://id.lan/token",
    clientId: "c",
    clientSecret: "s",
    method: "basic",
  } as const;
  expect(() => resolveSettings({ baseUrl: "https://storage.lan", auth: oauth })).toThrow(
    "service.auth.tokenUrl",
  );
});

it("always counts 429 among the statuses that mean nothing was done", () => {
  const baseUrl = "https://storage.lan";
  expect([...resolveSettings({ baseUrl, auth }).notExecuted]).toEqual([429]);
  expect([...resolveSettings({ baseUrl, auth, notExecuted: [] }).notExecuted]).toEqual([429]);
});
