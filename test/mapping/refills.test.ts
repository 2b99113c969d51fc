import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Refill, ToldRefill } from "../../src/core/refill.ts";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import type { ResultSettings } from "../../src/mapping/profile.ts";
import { refillColumns, refillCsv } from "../../src/mapping/refill-csv.ts";
import { refillHl7 } from "../../src/mapping/refill-hl7.ts";

const told = (refill: Partial<Refill> = {}): ToldRefill => ({
  facilityCode: "NORTH",
  refill: {
    id: 77,
    code: "P-77",
    status: "COMPLETED",
    storageId: 31,
    storageName: "Tank 4",
    createdAt: "2026-11-21T08:00:00Z",
    completedAt: "2026-11-21T08:10:00Z",
    ...refill,
  },
  number: 5,
  controlId: "CR7K3MZQ00000005",
  occurredAt: new Date("2026-11-21T08:10:30Z"),
});
const SETTINGS: ResultSettings = {
  format: "oru",
  namespace: "CRYO",
  tell: new Set(),
  timeZone: "UTC",
  version: undefined,
  sender: undefined,
  receiver: { application: "LIMS", facility: "LAB" },
  statusMap: undefined,
};
const read = (one: ToldRefill, settings = SETTINGS) =>
  Hl7Message.parse(refillHl7(one, settings, "P").bytes.toString("utf8"));

describe("a CSV file of refills", () => {
  test("has a row for each, under a header", () => {
    const { fileName, bytes, numbers } = refillCsv(
      [told(), told({ id: 78, status: "FAILED", error: "valve" })],
      3,
    );
    expect([fileName, numbers]).toEqual(["refills-3.csv", [5, 5]]);
    expect(bytes.toString()).toBe(
      "facility,storage,storage_id,procedure_id,procedure_code,status,created_at,completed_at,error\r\n" +
        "NORTH,Tank 4,31,77,P-77,COMPLETED,2026-11-21T08:00:00Z,2026-11-21T08:10:00Z,\r\n" +
        "NORTH,Tank 4,31,78,P-77,FAILED,2026-11-21T08:00:00Z,2026-11-21T08:10:00Z,valve\r\n",
    );
  });

  test("runs nothing in a spreadsheet", () => {
    const text = refillCsv([told({ storageName: "=HYPERLINK(1)", error: "+1" })], 1).bytes.toString();
    expect(text).toContain("'=HYPERLINK(1)");
    expect(text).toContain("'+1");
  });

  test("leaves the tank empty where the service doesn't tell it", () => {
    const text = refillCsv([told({ storageName: undefined, storageId: undefined })], 1).bytes.toString();
    expect(text).toContain("\r\nNORTH,,,77,");
  });
});

describe("an HL7 message of a refill", () => {
  test("is an equipment notification that names tank, step and time", () => {
    const { fileName, bytes } = refillHl7(told(), SETTINGS, "T");
    expect(fileName).toBe("refill-P-77_CR7K3MZQ00000005.hl7");
    expect(bytes.toString().split("\r")).toEqual([
      "MSH|^~\\&|CRYOBRIDGE||LIMS|LAB|20261121081030+0000||EAN^U09^EAN_U09|CR7K3MZQ00000005|T|2.5.1||||||UNICODE UTF-8",
      "EQU|31^NORTH|20261121081000+0000|||N^Normal^HL70367",
      "NDS|5|20261121081000+0000|N^Normal^HL70367|REFILL-COMPLETED^Refill completed^L",
      "NTE|1|L|facility: NORTH~storage: Tank 4~storage_id: 31~procedure_id: 77~procedure_code: P-77~status: COMPLETED~" +
        "created_at: 2026-11-21T08:00:00Z~completed_at: 2026-11-21T08:10:00Z",
      "",
    ]);
  });

  test("says how serious it is that a refill failed or was called off", () => {
    expect(read(told({ status: "FAILED" })).get("NDS-3.1")).toBe("S");
    expect(read(told({ status: "CANCELLED" })).get("EQU-5.1")).toBe("W");
  });

  test("tells when one failed where the service does", () => {
    expect(read(told({ status: "FAILED" })).get("NDS-2")).toBe("20261121081000+0000");
    expect(read(told({ status: "FAILED", completedAt: undefined })).get("NDS-2")).toBe("20261121081030+0000");
  });

  test("has the profile's version from 2.4 on, where the message came into the standard", () => {
    expect(read(told(), { ...SETTINGS, version: "2.4" }).header.version).toBe("2.4");
    expect(read(told(), { ...SETTINGS, version: "2.3" }).header.version).toBe("2.5.1");
  });

  test("names a tank that is not told as unknown, since the field is required", () => {
    expect(read(told({ storageId: undefined, storageName: undefined })).get("EQU-1.1")).toBe("UNKNOWN");
  });

  test("gives the time of its notice when the service's is none", () => {
    expect(read(told({ completedAt: "yesterday" })).get("NDS-2")).toBe("20261121081030+0000");
  });
});

const anyText = fc
  .string({ unit: "binary", maxLength: 40 })
  .map((text) => text.toWellFormed().replaceAll("\0", ""));

test("no value of the service can add a segment, a field or a line", () => {
  fc.assert(
    fc.property(anyText, anyText, anyText, (code, storageName, error) => {
      const one = told({ code, storageName, error, storageId: undefined });
      const message = read(one);
      expect(message.segments.map(({ name }) => name)).toEqual(["MSH", "EQU", "NDS", "NTE"]);
      expect(message.get("EQU-1.2")).toBe("NORTH");
      expect(message.get("NDS-4.1")).toBe("REFILL-COMPLETED");
      expect(message.first("NTE")?.repetitions(3)).toBe(8);
      const [header, row, ...more] = parse(refillCsv([one], 1).bytes) as string[][];
      expect([header, row?.length, more]).toEqual([[...refillColumns], refillColumns.length, []]);
    }),
  );
});
