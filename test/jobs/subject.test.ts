import { describe, expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { requireRegistrable, requireSameSubject } from "../../src/jobs/submit/subject.ts";

const ORDER = {
  code: phi("S-1"),
  firstName: phi("Zoë"),
  lastName: phi("de la Cruz"),
  dateOfBirth: phi("1990-01-31"),
};
const KNOWN = { id: 7, firstName: phi("Zoë"), lastName: phi("de la Cruz"), dateOfBirth: phi("1990-01-31") };

describe("a subject that the service knows is the order's", () => {
  test.each([
    ["case", { lastName: phi("DE LA CRUZ") }],
    ["blanks around and between", { lastName: phi("  de  la\tCruz ") }],
    ["a blank that doesn't break", { lastName: phi("de\u00a0la Cruz") }],
    ["the encoding of an accent", { firstName: phi("Zoe\u0308") }],
  ])("whatever the difference in %s", (_what, parts) => {
    expect(() => requireSameSubject(ORDER, { ...KNOWN, ...parts })).not.toThrow();
  });

  test("when one of the two doesn't tell a value", () => {
    expect(requireSameSubject({ code: phi("S-1") }, KNOWN)).toEqual([]);
    expect(requireSameSubject(ORDER, KNOWN)).toEqual([]);
  });

  test("and says which fields of the order the service doesn't show, so that nobody compared them", () => {
    expect(requireSameSubject(ORDER, { ...KNOWN, dateOfBirth: undefined })).toEqual(["date of birth"]);
    expect(requireSameSubject(ORDER, { id: 7 })).toEqual(["first name", "last name", "date of birth"]);
  });
});

describe("a subject that the service knows is another one", () => {
  test.each([
    ["another first name", { firstName: phi("Eva") }, "first name"],
    ["an accent that is missing", { firstName: phi("Zoe") }, "first name"],
    ["letters that stand for others", { lastName: phi("dela Cruz") }, "last name"],
    ["another birth date", { dateOfBirth: phi("1990-01-13") }, "date of birth"],
    [
      "names in each other's place",
      { firstName: phi("de la Cruz"), lastName: phi("Zoë") },
      "first name, last name",
    ],
  ])("by %s, which is named by field and never by value", (_what, parts, fields) => {
    const message = `the service has this subject code with another ${fields}`;
    expect(() => requireSameSubject(ORDER, { ...KNOWN, ...parts })).toThrow(
      expect.objectContaining({ message }),
    );
  });
});

describe("a subject that is to be registered", () => {
  const NAMELESS = { code: phi("S-1"), lastName: phi("de la Cruz") };

  test("needs what the service demands, and the missing is named by field", () => {
    const message = "the subject isn't registered and the order lacks its first name, date of birth";
    expect(() => requireRegistrable(NAMELESS, ["firstName", "lastName", "dateOfBirth"])).toThrow(
      expect.objectContaining({ code: "SUBJECT_INCOMPLETE", message }),
    );
  });

  test("needs no more than that", () => {
    expect(() => requireRegistrable(NAMELESS, ["lastName"])).not.toThrow();
    expect(() => requireRegistrable({ code: phi("S-1") }, [])).not.toThrow();
  });
});
