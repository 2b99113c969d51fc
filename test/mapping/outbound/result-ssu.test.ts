import { describe, expect, test } from "vitest";
import type { OrderState } from "../../../src/core/order-state.ts";
import type { OutcomeContainer } from "../../../src/core/outcome.ts";
import { hl7Profile, hl7Text } from "../mapped.ts";
import { changed, segmentsOf, withoutText } from "../outcomes.ts";

/** An OML^O33 with two containers of one specimen, each with accession numbers of the lab. */
const OML = hl7Text("OML^O33^OML_O33", [
  "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F",
  "SPM|1|SP-1^LAB||SEM^Semen^L",
  "SAC|EXT-1^OTHER|ACC-1^LAB|STRAW-1^LAB|PRIM-1",
  "SAC|EXT-2^OTHER|ACC-2^LAB|STRAW-2^LAB|PRIM-1",
  "ORC|NW|LAB-1^NORTHLAB",
  "OBR|1|LAB-1^NORTHLAB||CRYO-STORE^Cryogenic storage^L",
]);

const LOCATION = {
  storageId: 41,
  storageName: "Tank A",
  canister: "3",
  cane: "7",
  position: "slot 2",
  storedAt: "2026-11-20T13:05:00Z",
} as const;
const container = (label: string, location?: Partial<OutcomeContainer["location"]>): OutcomeContainer => ({
  label,
  description: "",
  containerId: 9001,
  ...(location === undefined ? {} : { location }),
});
const ssu = () => hl7Profile({ results: { format: "ssu" } });
const named = (segments: readonly string[] | undefined, name: string) =>
  (segments ?? []).filter((segment) => segment.startsWith(name));
const sacOf = (segments: readonly string[] | undefined) => named(segments, "SAC")[0]?.split("|") ?? [];

describe("a specimen status update", () => {
  test("names one container where its SAC names several", async () => {
    const text = OML.replace("SAC|EXT-2^OTHER|ACC-2^LAB|STRAW-2^LAB|PRIM-1\r", "").replace(
      "STRAW-1",
      "STRAW-1;STRAW-2",
    );
    const split = { label: { from: "SAC-3.1", split: ";" } };
    const profile = await hl7Profile({ results: { format: "ssu" }, containers: split });
    const containers = [container("STRAW-1", LOCATION), container("STRAW-2", LOCATION)];
    const segments = segmentsOf(changed({ containers }, text), profile);
    expect(named(segments, "SAC").map((sac) => sac.split("|").slice(1, 5))).toEqual([
      ["", "", "STRAW-1", ""],
      ["", "", "STRAW-2", ""],
    ]);
    expect(named(segments, "SPM")[0]).toContain("SP-1^LAB");
  });

  test("says each container's place in SAC-9 to SAC-15, under the lab's own numbers", async () => {
    const containers = [container("STRAW-1", LOCATION), container("STRAW-2", { ...LOCATION, cane: "8" })];
    expect(segmentsOf(changed({ containers }, OML), await ssu())).toEqual([
      "MSH|^~\\&|CRYO|STORE|LIMS|NORTH|20261120130607+0000||SSU^U03^SSU_U03|CB0000000005|P|2.5.1||||||UNICODE UTF-8",
      "EQU|41^NORTH|20261120130607+0000",
      "SAC|EXT-1^OTHER|ACC-1^LAB|STRAW-1^LAB|PRIM-1||||P^In position^HL70370|CANE|7||CANISTER|3||7^slot 2~3~Tank A~NORTH",
      "OBX|1|TX|CRYO-STATUS^Order status^L||Stored: 2 containers||||||F|||20261120130607+0000",
      "OBX|2|ST|CRYO-PROCEDURE^Procedure^L||ST-2026-77||||||F|||20261120130607+0000",
      "OBX|3|ST|CRYO-ORDER^Order number^L||LAB-1||||||F|||20261120130607+0000",
      "OBX|4|NM|CRYO-CONTAINER-ID^Container id at the storage service^L|1|9001||||||F|||20261120130500+0000",
      "OBX|5|TS|CRYO-STORED-AT^Stored at^L|1|20261120130500+0000||||||F|||20261120130500+0000",
      "OBX|6|TX|CRYO-TEXT^Container in words^L|1|STRAW-1: Tank A, canister 3, cane 7, slot 2, since 2026-11-20 13:05 UTC||||||F|||20261120130500+0000",
      "SPM|1|SP-1^LAB||SEM^Semen^L",
      "SAC|EXT-2^OTHER|ACC-2^LAB|STRAW-2^LAB|PRIM-1||||P^In position^HL70370|CANE|8||CANISTER|3||8^slot 2~3~Tank A~NORTH",
      "OBX|1|TX|CRYO-STATUS^Order status^L||Stored: 2 containers||||||F|||20261120130607+0000",
      "OBX|2|ST|CRYO-PROCEDURE^Procedure^L||ST-2026-77||||||F|||20261120130607+0000",
      "OBX|3|ST|CRYO-ORDER^Order number^L||LAB-1||||||F|||20261120130607+0000",
      "OBX|4|NM|CRYO-CONTAINER-ID^Container id at the storage service^L|2|9001||||||F|||20261120130500+0000",
      "OBX|5|TS|CRYO-STORED-AT^Stored at^L|2|20261120130500+0000||||||F|||20261120130500+0000",
      "OBX|6|TX|CRYO-TEXT^Container in words^L|2|STRAW-2: Tank A, canister 3, cane 8, slot 2, since 2026-11-20 13:05 UTC||||||F|||20261120130500+0000",
      "SPM|1|SP-1^LAB||SEM^Semen^L",
    ]);
  });

  test.each([
    ["free text alone", { position: "canister 3, cane 7" }, "|||||||^canister 3, cane 7~NORTH"],
    ["no cane", { canister: "3", storageName: "Tank A" }, "||||CANISTER|3||3~Tank A~NORTH"],
    ["a storage alone", { storageName: "Tank A" }, "|||||||Tank A~NORTH"],
    [
      "a cane that holds delimiters",
      { cane: "7^8~9|" },
      "|CANE|7\\S\\8\\R\\9\\F\\|||||7\\S\\8\\R\\9\\F\\~NORTH",
    ],
  ])(
    "writes a place of which the service shows %s without inventing the rest",
    async (_, location, places) => {
      const containers = [container("STRAW-1", location)];
      const sac = named(segmentsOf(changed({ containers }), await ssu()), "SAC")[0];
      expect(sac).toBe(`SAC|||STRAW-1|||||P^In position^HL70370${places}`);
    },
  );

  test("leaves SAC-16, a height, and SAC-7, a registration time, alone", async () => {
    const sac = sacOf(segmentsOf(changed({ containers: [container("STRAW-1", LOCATION)] }), await ssu()));
    expect([sac[7], sac[16]]).toEqual(["", undefined]);
  });

  test.each<[OrderState, string]>([
    ["submitted", "I"],
    ["accepted", "I"],
    ["in_progress", "O"],
    ["failed", "U"],
    ["rejected", ""],
    ["cancelled", ""],
    ["parked", ""],
  ])("of an order that is %s has SAC-8 %s", async (state, status) => {
    const profile = await hl7Profile({ results: { format: "ssu", send: [state as "failed"] } });
    const containers = [container("STRAW-1")];
    expect((sacOf(segmentsOf(changed({ state, containers }), profile))[8] ?? "").split("^")[0]).toBe(status);
  });

  test("says that a retrieved container has left, and no place", async () => {
    const containers = [container("STRAW-1", LOCATION)];
    const segments = segmentsOf(changed({ operation: "RETRIEVAL", containers }), await ssu());
    expect(sacOf(segments).slice(8)).toEqual(["L^Left equipment^HL70370"]);
  });

  test("says R, process completed, of a stored container whose place nobody knows", async () => {
    const segments = segmentsOf(changed({ containers: [container("STRAW-1")] }), await ssu());
    expect(sacOf(segments)[8]).toBe("R^Process completed^HL70370");
  });

  test("takes SAC-8 from the profile's status map where that names one", async () => {
    const statusMap = { completed: { "SAC-8": "ARCH" } };
    const profile = await hl7Profile({ results: { format: "ssu", statusMap } });
    expect(sacOf(segmentsOf(changed({}), profile))[8]).toBe("ARCH");
  });

  test("gives the reason of an order that was not done, since it has no ORC", async () => {
    const reason = { code: "REQUEST_REJECTED", text: "The label is damaged" } as const;
    const segments = segmentsOf(changed({ state: "rejected", reason }), await ssu());
    expect(segments?.some((segment) => segment.includes("CRYO-REASON^Reason^L||The label is damaged|"))).toBe(
      true,
    );
  });

  test("names Cryobridge as the equipment for containers in several storages", async () => {
    const containers = [container("STRAW-1", LOCATION), container("STRAW-2", { storageId: 42 })];
    const segments = segmentsOf(changed({ containers }), await ssu());
    expect(named(segments, "EQU")[0]).toMatch(/^EQU\|CRYOBRIDGE\^NORTH\|/);
  });

  test("has no SPM in 2.4, which knows none there", async () => {
    const segments = segmentsOf(changed({}, OML.replace("|2.5.1", "|2.4")), await ssu());
    expect(segments?.map((segment) => segment.slice(0, 3))).not.toContain("SPM");
    expect(segments?.[0]).toContain("|SSU^U03^SSU_U03|");
  });

  test("names the container by its label alone once the original is pruned", async () => {
    expect(sacOf(segmentsOf(withoutText(changed()), await ssu())).slice(1, 5)).toEqual([
      "",
      "",
      "STRAW-1",
      "",
    ]);
  });

  test("is an ORU^R01 before 2.4, which has no SSU, and for an order without containers", async () => {
    const old = hl7Text("ORM^O01", ["PID|1||A", "ORC|NW|LAB-1", "OBR|1"], "2.3");
    expect(segmentsOf(changed({}, old), await ssu())?.[0]).toContain("|ORU^R01|");
    const registration = { operation: "REGISTER", containers: [] } as const;
    expect(segmentsOf(changed(registration), await ssu())?.[0]).toContain("|ORU^R01^");
  });
});

describe("the format of a result", () => {
  test("is chosen by state where the profile does", async () => {
    const states = ["submitted", "completed", "rejected"] as const;
    const formats = { completed: "ssu", submitted: "orm" } as const;
    const profile = await hl7Profile({ results: { send: [...states], formats } });
    const types = states.map((state) => segmentsOf(changed({ state }), profile)?.[0]?.split("|")[8]);
    expect(types).toEqual(["ORM^O01^ORM_O01", "SSU^U03^SSU_U03", "ORU^R01^ORU_R01"]);
  });

  test("decides ORC-1 too: SC in an order message, RE in a result", async () => {
    const profile = await hl7Profile({ results: { formats: { completed: "orm" } } });
    expect(named(segmentsOf(changed(), profile), "ORC")[0]).toMatch(/^ORC\|SC\|/);
  });
});
