import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Phi, phi } from "../../src/core/phi.ts";
import { parseAnswer } from "../../src/service/http/answer.ts";
import { describeRefusal, keepAnswer } from "../../src/service/http/refusal.ts";
import {
  parseContainer,
  parseLocation,
  parseProcedure,
  parseRequest,
  parseSubject,
} from "../../src/service/shapes.ts";

/** Words with everything that JSON can say and a database can't keep. */
const anyWords = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "\0", "\u0001", "\u001b", "\ud83d", "\ude00", "é", "\n") }),
  fc.string({ unit: "binary" }),
  fc.constant(`${"a".repeat(299)}😀`),
);
const anyValue = fc.oneof(
  { weight: 6, arbitrary: anyWords },
  { weight: 1, arbitrary: fc.constantFrom(null, undefined, 7, -1.5, true) },
);
const names = [
  ..."type status code facilityId subjectCode firstName lastName dateOfBirth createdAt acceptedAt startedAt".split(
    " ",
  ),
  ..."completedAt error description name sampleContainerId storageName canister cane position storedAt".split(
    " ",
  ),
];
const flat = fc.record(Object.fromEntries(names.map((name) => [name, anyValue])), { requiredKeys: [] });
const anyObject = fc.record({
  flat,
  nested: fc.record({ subject: flat, storage: flat, location: flat }, { requiredKeys: [] }),
  containers: fc.array(
    flat.map((entry) => ({ ...entry, id: 3 })),
    { maxLength: 3 },
  ),
});
const toObject = (parts: typeof anyObject extends fc.Arbitrary<infer T> ? T : never) => ({
  ...parts.flat,
  ...parts.nested,
  id: 1,
  sampleContainers: parts.containers,
});

/** Each text of a parsed shape; `raw` stays as it came, and no part of it is kept. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value instanceof Phi) return textsIn(value.reveal());
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "raw" ? [] : textsIn(inner)));
}

const isKeepable = (text: string) => text.isWellFormed() && !/[^\P{Cc}\t\n\r\x7f-\x9f]/u.test(text);

describe("whatever the service says", () => {
  it("gives shapes whose texts a database can keep", () => {
    fc.assert(
      fc.property(anyObject, (parts) => {
        const raw = toObject(parts);
        const shapes = [
          parseSubject(raw),
          parseRequest(raw),
          parseProcedure(raw),
          parseContainer(raw, ["name", "sampleContainerId", "code"]),
          parseLocation(raw),
        ];
        expect(shapes.flatMap(textsIn).filter((text) => !isKeepable(text))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("gives words about a refusal that a database can keep", () => {
    fc.assert(
      fc.property(anyObject, anyWords, (parts, words) => {
        const body = { ...toObject(parts), message: words, errors: [words, { detail: words }] };
        const said = describeRefusal(
          parseAnswer(422, {}, Buffer.from(JSON.stringify(body))),
          new Set([words]),
        );
        const plain = describeRefusal(parseAnswer(422, {}, Buffer.from(words)), new Set());
        const call = { method: "POST", route: "/api/subjects" } as const;
        const kept = keepAnswer(
          call,
          parseAnswer(422, {}, Buffer.from(words)),
          new Set(),
          phi("token"),
        ).body?.reveal();
        expect([said, plain, kept].filter((text) => text && !isKeepable(text))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("never takes a damaged word for another one", () => {
    expect(parseRequest({ id: 1, status: "REJ\0ECTED" })?.status).toBe("(not a word)");
    expect(parseContainer({ id: 1, name: "V-\u00001" }, ["name"])?.labels).toEqual(["V-\ufffd1"]);
  });
});
