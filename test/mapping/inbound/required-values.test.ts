import { expect, test } from "vitest";
import { placeText } from "../../../src/core/place.ts";
import { csvMessage, csvProfile, hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";

const REQUIRED = { subject: { dateOfBirth: { required: true }, firstName: { required: true } } };
const ORDER = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE", "OBX||ST|CONTAINER||V-1"];

test("an order without a value that the profile requires is refused with its place", async () => {
  const text = hl7Text("ORM^O01", ["PID|1||MRN-1^^^N^MR||Beispiel^Anna", ...ORDER]);
  const { problems } = mapOne(await hl7Profile(REQUIRED), hl7Message(text));
  expect(problems.map(({ place, message }) => `${placeText(place)}: ${message}`)).toEqual([
    "message 1, PID-7: is empty; the date of birth is expected",
  ]);
  expect(mapOne(await hl7Profile(), hl7Message(text)).verdict).toBe("accepted");
});

test.each([undefined, "yyyyMMddHHmm"])(
  "a date with only a year is for the lab to complete, read as %s",
  async (date) => {
    const subject = { dateOfBirth: { from: "PID-7", ...(date === undefined ? {} : { as: { date } }) } };
    const text = hl7Text("ORM^O01", ["PID|1||MRN-1^^^N^MR||Beispiel^Anna||1984", ...ORDER]);
    const [problem] = mapOne(await hl7Profile({ subject }), hl7Message(text)).problems;
    expect(problem?.message).toContain("has only a year");
    expect(problem?.hint).toContain("Have the lab send the whole date");
  },
);

test("a merge needs none of them", async () => {
  const text = hl7Text("ADT^A40", ["PID|1||MRN-1^^^N^MR", "MRG|MRN-2^^^N^MR"]);
  expect(mapOne(await hl7Profile(REQUIRED), hl7Message(text)).verdict).toBe("accepted");
});

test("a description may be required of each container", async () => {
  const profile = await hl7Profile({ containers: { description: { required: true } } });
  const text = hl7Text("ORM^O01", ["PID|1||MRN-1^^^N^MR||Beispiel^Anna", ...ORDER]);
  expect(mapOne(profile, hl7Message(text)).problems[0]?.message).toBe(
    "is empty; the container's description is expected",
  );
});

test("a row without a value that the profile requires is refused, and so is a file without its column", async () => {
  const row = {
    operation: "STORE",
    facility: "NORTH",
    order_number: "A-1",
    subject_code: "MRN-1",
    first_name: "Anna",
    last_name: "Beispiel",
    date_of_birth: "",
    container_label: "V-1",
    description: "",
  };
  const profile = await csvProfile(REQUIRED);
  expect(mapOne(profile, csvMessage([row])).problems.map(({ place, message }) => [place, message])).toEqual([
    ["line 2, column date_of_birth", "is empty; the date of birth is expected"],
  ]);
  const { date_of_birth: _, ...without } = row;
  expect(mapOne(profile, csvMessage([without])).problems[0]?.code).toBe("CSV_COLUMN_MISSING");
});

test("what every order needs, or none, can't be required or not", async () => {
  const [problem] = await problemsOf({ extends: "builtin/hl7-orders", facility: { required: true } });
  expect(problem).toContain("required is for the names and the date of birth");
});
