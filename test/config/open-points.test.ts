import { describe, expect, it } from "vitest";
import { serviceSettings } from "../../src/app/service.ts";
import { CONNECTORS, ConfigFolder, FACILITIES, MINIMAL, SERVICE } from "./config-file.ts";

const withLines = (...lines: string[]) =>
  `${SERVICE}${lines.map((line) => `  ${line}\n`).join("")}${FACILITIES}${CONNECTORS}`;

describe("what the specification leaves open", () => {
  it("has a default for each point", () => {
    using folder = new ConfigFolder();
    const { service } = folder.load(MINIMAL);
    expect(service).toMatchObject({
      perPage: 100,
      listEnvelope: "auto",
      listEnvelopes: {},
      filters: "auto",
      words: { status: {}, type: {} },
      subjectRequires: ["firstName", "lastName", "dateOfBirth"],
      containerLabelFields: ["name", "sampleContainerId", "label"],
    });
  });

  it("can be said by the site, and reaches the client as it was said", () => {
    using folder = new ConfigFolder();
    const config = folder.load(
      withLines(
        "listEnvelope: data",
        "listEnvelopes: { storage: { key: tanks }, externalProcedures: array }",
        "filters: [id, createdAt_from]",
        "words: { status: { Done: COMPLETED }, type: { freeze: STORE } }",
        "subjectRequires: [lastName]",
      ),
    );
    expect(config.service.subjectRequires).toEqual(["lastName"]);
    expect(serviceSettings(config)).toMatchObject({
      listEnvelope: "data",
      listEnvelopes: { storage: "tanks", externalProcedures: "array" },
      filters: ["id", "createdAt_from"],
      words: { status: { Done: "COMPLETED" }, type: { freeze: "STORE" } },
    });
  });

  it("has inventories used where they agree, unless the site says otherwise", () => {
    using folder = new ConfigFolder();
    const inventoryOf = (...lines: string[]) => serviceSettings(folder.load(withLines(...lines))).inventory;
    expect(inventoryOf()).toEqual({ use: "auto", fields: {} });
    expect(inventoryOf("inventory: none")).toEqual({ use: "none", fields: {} });
    const fields = { id: "vialId", canister: "tower" };
    expect(inventoryOf(`inventory: { fields: ${JSON.stringify(fields)} }`)).toEqual({ use: "auto", fields });
  });

  it("has the life that is assumed of a token", () => {
    using folder = new ConfigFolder();
    const oauth = (more: string) =>
      `service:\n  baseUrl: https://storage.example.org\n  auth: { tokenUrl: "https://login.example.org/token", clientId: a, clientSecret: "\${API_TOKEN}"${more} }\n${FACILITIES}${CONNECTORS}`;
    const lifeOf = (text: string) => {
      const { auth } = serviceSettings(folder.load(text));
      return "tokenUrl" in auth ? auth.assumedLifetimeMs : undefined;
    };
    expect(lifeOf(oauth(""))).toBe(300_000);
    expect(lifeOf(oauth(", assumedLifetime: 30m"))).toBe(1_800_000);
  });

  it.each([
    ["filters: some", /service\.filters: expected/],
    ['filters: ["id = 5"]', /service\.filters\[0\]: expected the name of a field/],
    ["words: { status: { DONE: FINISHED } }", /service\.words\.status\.DONE: expected one of PENDING/],
    ["words: { state: {} }", /service\.words\.state: unknown key "state"/],
    ["listEnvelopes: { tanks: data }", /service\.listEnvelopes\.tanks: /],
    ["inventory: sometimes", /service\.inventory: expected/],
    [
      'inventory: { fields: { cane: "a b" } }',
      /service\.inventory\.fields\.cane: expected the name of a field/,
    ],
    ["subjectRequires: [name]", /service\.subjectRequires\[0\]: expected one of firstName/],
  ])("is refused in words when it is %s", (line, words) => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(withLines(line)).join("\n")).toMatch(words);
  });
});
