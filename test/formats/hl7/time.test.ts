import { describe, expect, it } from "vitest";
import { formatHl7DateTime, parseHl7Date } from "../../../src/formats/hl7/time.ts";

describe("a date in HL7's form", () => {
  it.each([
    ["1984", { date: undefined, precision: "year", time: undefined, zone: undefined }],
    ["198402", { date: undefined, precision: "month", time: undefined, zone: undefined }],
    ["19840229", { date: "1984-02-29", precision: "day", time: undefined, zone: undefined }],
    ["19840229+0100", { date: "1984-02-29", precision: "day", time: undefined, zone: "+0100" }],
    ["1984022923", { date: "1984-02-29", precision: "time", time: "23", zone: undefined }],
    ["198402292359-0500", { date: "1984-02-29", precision: "time", time: "2359", zone: "-0500" }],
    ["19840229235959.1234", { date: "1984-02-29", precision: "time", time: "235959.1234", zone: undefined }],
  ])("%s is read as written, without a shift of zone", (text, date) => {
    expect(parseHl7Date(text)).toEqual(date);
  });

  it.each([
    ["no leap day", "19830229"],
    ["no leap day in a full century", "19000229"],
    ["no thirteenth month", "198413"],
    ["no day zero", "19840200"],
    ["no year zero", "0000"],
    ["no hour 24", "1984022924"],
    ["no dashes", "1984-02-29"],
    ["no odd digits", "198402291"],
    ["no words", "unknown"],
    ["nothing", ""],
    ["delete", '""'],
    ["no spaces", "19840229 "],
  ])("there is %s", (_, text) => {
    expect(parseHl7Date(text)).toBeUndefined();
  });
});

describe("a moment for HL7", () => {
  it("is written in UTC with its zone", () => {
    expect(formatHl7DateTime(new Date("2026-11-21T09:30:01.500+02:00"))).toBe("20261121073001+0000");
  });
});
