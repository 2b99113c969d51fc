import path from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { isFolderConnector } from "../../src/config/config.ts";
import { directoriesOf } from "../../src/config/connector-schema.ts";
import { loadConfig } from "../../src/config/load.ts";
import { profileSchema as mappingProfileSchema } from "../../src/mapping/profile/schema.ts";
import { CONNECTORS, ConfigFolder, ENV, FACILITIES, MINIMAL, SERVICE } from "./config-file.ts";

describe("a valid configuration", () => {
  it("is filled with defaults, durations in milliseconds and sizes in bytes", () => {
    using folder = new ConfigFolder();
    const config = folder.load(MINIMAL);
    expect(config).toMatchObject({
      processingId: "P",
      service: {
        surface: "request",
        timeoutMs: 15_000,
        perPage: 100,
        listEnvelope: "auto",
        polling: { firstMs: 60_000, maxMs: 900_000, factor: 1.5 },
        reconcile: { checksMs: [5_000, 30_000], giveUpAfterMs: 900_000, retrievals: "park" },
        notExecuted: new Set([429]),
        correlation: "token",
        cancel: {},
      },
      database: {},
      queue: { backend: "postgres" },
      console: { host: "127.0.0.1", port: 8088 },
      retention: { messagesMs: 90 * 86_400_000, ordersMs: 2 * 365 * 86_400_000 },
      lanes: { parkedBlocks: false },
      log: { level: "info", pretty: "auto" },
      warnings: [],
    });
    expect(config.connectors).toEqual([
      expect.objectContaining({
        name: "lims",
        type: "hl7-drop",
        stableForMs: 2_000,
        maxBytes: 64 * 1024 * 1024,
        profile: "builtin/hl7-orders",
      }),
    ]);
  });

  it("names a connector's encoding, and says whether it holds for bytes that look like UTF-8", () => {
    using folder = new ConfigFolder();
    const config = folder.load(`${SERVICE}${FACILITIES}
connectors:
  - { name: a, type: hl7-drop, directory: a, encoding: windows-1252 }
  - { name: b, type: csv-drop, directory: b, encoding: { name: windows-1252, forced: true } }
  - { name: c, type: mllp, results: { directory: c }, encoding: { name: iso-8859-1 } }
`);
    expect(config.connectors.map(({ encoding }) => encoding)).toEqual([
      { name: "windows-1252", isForced: false },
      { name: "windows-1252", isForced: true },
      { name: "iso-8859-1", isForced: false },
    ]);
  });

  it("starts relative paths at the file's own folder", () => {
    using folder = new ConfigFolder();
    const config = folder.load(`dataDir: ../elsewhere
${SERVICE}${FACILITIES}
connectors:
  - { name: lims, type: hl7-drop, directory: lims, out: results, archive: /var/archive }
`);
    expect(config.dataDir).toBe(path.join(path.dirname(folder.directory), "elsewhere"));
    expect(config.connectors.filter(isFolderConnector).map(directoriesOf)).toEqual([
      {
        in: folder.path("lims", "in"),
        out: folder.path("results"),
        archive: "/var/archive",
        error: folder.path("lims", "error"),
        work: folder.path("lims", "work"),
      },
    ]);
  });

  it("keeps facilities whose names mean something to JavaScript or look like numbers", () => {
    using folder = new ConfigFolder();
    const config = folder.load(`${SERVICE}${CONNECTORS}facilities: { constructor: 1, 007: 2, "NORTH 1": 3 }`);
    expect([...config.facilityIdByCode]).toEqual([
      ["constructor", 1],
      ["007", 2],
      ["NORTH 1", 3],
    ]);
  });

  it("takes a key without a value as absent", () => {
    using folder = new ConfigFolder();
    expect(folder.load(`${MINIMAL}console:\nlog:\n  level:\n`).console.port).toBe(8088);
  });

  it("distinguishes the two ways of authorisation by their keys", () => {
    using folder = new ConfigFolder();
    const { auth } = folder.load(`${FACILITIES}${CONNECTORS}
service:
  baseUrl: https://storage.example.org/
  auth: { tokenUrl: "https://auth.example.org/token", clientId: lab, clientSecret: "\${API_TOKEN}" }
`).service;
    expect(auth).toMatchObject({ clientId: "lab", method: "basic" });
    expect("clientSecret" in auth && auth.clientSecret.reveal()).toBe(ENV.API_TOKEN);
  });

  it("accepts another name for the list envelope", () => {
    using folder = new ConfigFolder();
    const text = MINIMAL.replace("  auth:", "  listEnvelope: { key: results }\n  auth:");
    expect(folder.load(text).service.listEnvelope).toBe("results");
  });

  it("never shows a secret when printed or serialised", () => {
    using folder = new ConfigFolder();
    const config = folder.load(`${MINIMAL}database: { url: "postgres://u:\${API_TOKEN}@127.0.0.1/x" }`);
    const printed = [JSON.stringify(config), inspect(config, { depth: 9 }), String(config.database.url)];
    expect(printed.join()).not.toContain(ENV.API_TOKEN);
  });

  it("is what the example in config/ is", () => {
    const config = loadConfig("config/cryobridge.yaml", {
      env: { STORAGE_CLIENT_ID: "lab", STORAGE_CLIENT_SECRET: "secret" },
      profileSchema: mappingProfileSchema,
    });
    expect(config.connectors.map(({ type }) => type)).toEqual(["hl7-drop", "csv-drop"]);
    expect(config.warnings).toEqual([]);
  });
});
