import { describe, expect, it } from "vitest";
import { ConfigFolder, MINIMAL } from "./config-file.ts";

const withCancel = (text: string) => MINIMAL.replace("  auth:", `  cancel: ${text}\n  auth:`);
const PATH = "/api/procedure-requests/{id}/cancel";

function loaded(text: string) {
  using folder = new ConfigFolder();
  return folder.load(withCancel(text)).service.cancel;
}

function mistakes(text: string) {
  using folder = new ConfigFolder();
  return folder.mistakes(withCancel(text)).join("\n");
}

describe("the service's cancel call", () => {
  it("is none unless the site knows one, since the specification shows none", () => {
    using folder = new ConfigFolder();
    expect(folder.load(MINIMAL).service.cancel).toEqual({});
    expect(loaded("none")).toEqual({});
  });

  it("is the same for both surfaces, with the request's or the procedure's id", () => {
    const call = { method: "POST", path: PATH };
    expect(loaded(`{ method: POST, path: "${PATH}" }`)).toEqual({ request: call, external: call });
  });

  it("may have a body, and belong to one surface", () => {
    const body = { status: "CANCELLED", notify: false };
    expect(
      loaded(
        `{ method: PATCH, path: "/x/{id}", body: { status: CANCELLED, notify: false }, surface: external }`,
      ),
    ).toEqual({ external: { method: "PATCH", path: "/x/{id}", body } });
  });

  it("may be another on each surface", () => {
    expect(
      loaded(`{ request: { method: POST, path: "${PATH}" }, external: { method: DELETE, path: "/y/{id}" } }`),
    ).toMatchObject({
      request: { method: "POST", path: PATH },
      external: { method: "DELETE", path: "/y/{id}" },
    });
  });

  it.each([
    ["{ method: GET, path: /x }", "expected one of POST, PUT, PATCH, DELETE"],
    ['{ method: POST, path: "/x/cancel" }', "holds {id} once"],
    ['{ method: POST, path: "x/{id}" }', "begins with /"],
    ['{ method: POST, path: "/x/{id}/{id}" }', "holds {id} once"],
    ["{ method: POST }", "service.cancel.path: missing"],
    ["{}", "service.cancel.method: missing"],
    [
      '{ method: POST, path: "/x/{id}", external: { method: PUT, path: "/y/{id}" } }',
      "belongs under request",
    ],
    ['{ methd: POST, path: "/x/{id}" }', 'did you mean "method"'],
    ["nne", 'did you mean "none"'],
  ])("is refused in words: %s", (text, words) => {
    expect(mistakes(text)).toContain(words);
  });
});
