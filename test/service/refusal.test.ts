import { describe, expect, it } from "vitest";
import { parseAnswer } from "../../src/service/http/answer.ts";
import { describeRefusal } from "../../src/service/http/refusal.ts";

describe("what anybody may see of a refusal", () => {
  const said = (body: unknown) =>
    describeRefusal(
      parseAnswer(422, {}, Buffer.from(typeof body === "string" ? body : JSON.stringify(body))),
      new Set(["ROE_RULE"]),
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
    [{ code: "SUBJECT_LOCKED" }, "SUBJECT_LOCKED"],
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
