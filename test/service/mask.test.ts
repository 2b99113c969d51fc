import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { parseAnswer } from "../../src/service/http/answer.ts";
import { maskKeptText } from "../../src/service/http/mask.ts";
import { describeRefusal } from "../../src/service/http/refusal.ts";

describe("masking a text of the service", () => {
  it.each([
    ["subject SUBJ-1 not found", ["SUBJ-1"], "subject [masked] not found"],
    ["SUBJ-1, subj-1 and SUBJ-12", ["SUBJ-1"], "[masked], [masked] and [masked]2"],
    ["name JÜRGEN is taken", ["Jürgen"], "name [masked] is taken"],
    ["A is no name for A+", ["A"], "[masked] is no name for [masked]+"],
    ["Anna   Maria exists", ["Anna Maria"], "[masked] exists"],
    ["/api/subjects?code=a%26b", ["a&b"], "/api/subjects?code=[masked]"],
    ["born 19800201", ["1980-02-01"], "born [masked]"],
    ["born 1980-02-01, 01.02.1980 or 2/1/1980", [], "born [masked], [masked] or [masked]"],
    ["code belongs to 'Jane Roe'", [], 'code belongs to "[masked]"'],
    ['"facilityId" must be "integer"', [], '"facilityId" must be "integer"'],
    ["two\r\nlines \u001b[31mred", [], "two lines [31mred"],
  ])("turns %j into what may be shown", (text, values, expected) => {
    expect(maskKeptText(text, values.map(phi), 300)).toBe(expected);
  });

  it("leaves no value that stands as a word of its own, whatever it is", () => {
    const value = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
      .filter(
        (text) =>
          /^\S.*\S$|^\S$/u.test(text) &&
          !/\p{C}/u.test(text) &&
          !/masked/i.test(text) &&
          /[\p{L}\p{N}]/u.test(text),
      );
    fc.assert(
      fc.property(value, (text) => {
        const masked = maskKeptText(`the subject ( ${text} ) is unknown`, [phi(text)], 300);
        expect(masked).not.toContain(`( ${text} )`);
      }),
    );
  });
});

describe("what anybody may see of a refusal", () => {
  const said = (body: unknown) =>
    describeRefusal(
      parseAnswer(422, {}, Buffer.from(typeof body === "string" ? body : JSON.stringify(body))),
      new Set(["ROE_RULE"]),
      [phi("SUBJECT_LOCKED")],
    );

  it.each([
    [{ code: "VALIDATION_ERROR", message: "taken by Jane Roe" }, "VALIDATION_ERROR"],
    [{ error: { code: "VALIDATION_ERROR", message: "taken by Jane Roe" } }, "VALIDATION_ERROR"],
    [{ errors: [{ code: "tank-full", detail: "Jane" }, { detail: "Roe" }] }, "tank-full"],
    [{ error: "invalid_client", error_description: "unknown" }, "invalid_client"],
    [{ type: "https://x.example/errors/subjectNotFound", title: "Jane" }, "subjectNotFound"],
    [{ statusCode: 400, message: ["Jane"], error: "Bad Request" }, undefined],
    [{ error: "HTTP_404" }, "HTTP_404"],
    [{ code: "ROE_RULE" }, "ROE_RULE"],
    [{ code: "TAKEN_BY_JANE_ROE" }, undefined],
    [{ code: "SUBJECT-4711" }, undefined],
    [{ code: "SUBJECT_LOCKED" }, undefined],
    [{ code: "JANE" }, undefined],
    [{ type: "https://x.example/jane-roe" }, undefined],
    ["taken by Jane Roe", "a text"],
    ["<html>Jane Roe</html>", "an HTML page"],
    [{ data: { code: "SUBJ-1", firstName: "Jane" } }, undefined],
    ["", undefined],
  ])("is the code of %j, and what its body is", (body, expected) => {
    expect(said(body)).toBe(expected);
  });
});
