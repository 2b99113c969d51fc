import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { NewRequest } from "../../src/service/new-request.ts";
import { type Row, send } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const store: NewRequest = {
  type: "STORE",
  facilityId: 12,
  subjectCode: phi("SUBJ-CANARY"),
  containers: [
    { label: "V-1", description: "2 straws" },
    { label: "V-2", description: "" },
  ],
  ref: "7K3M-ZQ0VX9TB4D",
};
const retrieval: NewRequest = {
  type: "RETRIEVAL",
  facilityId: 12,
  subjectCode: phi("SUBJ-CANARY"),
  containerIds: [7, 8],
};
const created = (given: Row = {}): Row => ({
  id: 5,
  code: "PR-5",
  type: "STORE",
  status: "PENDING",
  facility: { id: 12, name: "North" },
  subject: { id: 1, code: "SUBJ-CANARY" },
  sampleContainers: [
    { id: 71, name: "V-1", description: "2 straws [ref 7K3M-ZQ0VX9TB4D]" },
    { id: 72, name: "V-2", description: "[ref 7K3M-ZQ0VX9TB4D]" },
  ],
  createdAt: "2026-11-21T10:00:00Z",
  ...given,
});

/** Runs a creation against a service that answers it so. */
function answered(
  request: NewRequest,
  answer: { readonly status?: number; readonly body: unknown },
  judge: (made: Promise<unknown>, sent: () => string[]) => Promise<void>,
): Promise<void> {
  return withStub(async (stub, client) => {
    stub.intercept = (_request, response) => {
      send(response, answer.status ?? 201, answer.body);
      return true;
    };
    const made = client.create("external", request, never);
    await judge(made, () => stub.seen.map(({ method, url, body }) => `${method} ${url} ${body}`));
  });
}

describe("a procedure that is created on the external surface", () => {
  it("sends a storage with the names of its containers, the token at the end of each description", () =>
    answered(store, { body: created() }, async (made, sent) => {
      await made;
      expect(sent()).toEqual([
        `POST /api/v1/external/procedures ${JSON.stringify({
          type: "STORE",
          facilityId: 12,
          subjectCode: "SUBJ-CANARY",
          sampleContainers: [
            { name: "V-1", description: "2 straws [ref 7K3M-ZQ0VX9TB4D]" },
            { name: "V-2", description: "[ref 7K3M-ZQ0VX9TB4D]" },
          ],
        })}`,
      ]);
    }));

  it("sends the ids of a retrieval", () =>
    answered(retrieval, { body: created({ type: "RETRIEVAL" }) }, async (_made, sent) => {
      await _made.catch(() => undefined);
      expect(sent()).toEqual([
        'POST /api/v1/external/procedures {"type":"RETRIEVAL","facilityId":12,"subjectCode":"SUBJ-CANARY","sampleContainerIds":[7,8]}',
      ]);
    }));

  it("gives the procedure's id and code, and the id of each container", () =>
    answered(store, { body: created() }, async (made) => {
      expect(await made).toMatchObject({
        id: 5,
        code: "PR-5",
        status: "PENDING",
        containers: [
          { id: 71, label: "V-1" },
          { id: 72, label: "V-2" },
        ],
      });
    }));

  it.each([
    ["a wrapped object", { data: created() }],
    ["ids as text and flat facility and subject", { id: "5", facilityId: "12", subjectCode: "SUBJ-CANARY" }],
    ["lower-case words", created({ type: "storage", status: "pending" })],
    ["a type that nobody knows", created({ type: "DEPOSIT" })],
    ["nothing but an id", { id: 5 }],
  ])("is taken as created from %s", (_words, body) =>
    answered(store, { body }, async (made) => {
      expect(await made).toMatchObject({ id: 5, status: "PENDING" });
    }),
  );
});

describe("a creation on the external surface whose answer is not definite", () => {
  it.each([
    ["type", store, created({ type: "RETRIEVAL" })],
    ["facilityId", store, created({ facility: { id: 13 } })],
    ["subjectCode", store, created({ subject: { code: "SUBJ-OTHER" } })],
    ["sampleContainers", store, created({ sampleContainers: [{ id: 71, name: "V-9" }] })],
    [
      "sampleContainerIds",
      retrieval,
      created({ type: "RETRIEVAL", sampleContainers: [{ id: 7 }, { id: 9 }] }),
    ],
  ])("is ambiguous when the answer has another %s", (field, request, body) =>
    answered(request, { body }, async (made) => {
      const failure = await failureOf(made);
      expect(failure).toMatchObject({ code: "SERVICE_ANSWER_DIFFERS", class: "ambiguous" });
      expect(failure.message).toContain(field);
      expect(failure.message).not.toContain("SUBJ-");
    }),
  );

  it.each([
    ["no id", 201, created({ id: undefined })],
    ["an id beyond 2^53", 201, '{"id": 90071992547409930}'],
    ["an empty body", 201, ""],
    ["a page of HTML", 200, "<html>ok</html>"],
    ["status 502", 502, "<html>bad gateway</html>"],
  ])("is ambiguous and sent once after %s", (_words, status, body) =>
    answered(store, { status, body }, async (made, sent) => {
      expect(await failureOf(made)).toMatchObject({ code: "SERVICE_NO_ANSWER", class: "ambiguous" });
      expect(sent()).toHaveLength(1);
    }),
  );

  it("is a refusal when the service says that a container is another subject's, whatever the status", () =>
    answered(
      retrieval,
      { status: 409, body: { code: "VALIDATION_ERROR", message: "not the subject's" } },
      async (made) => {
        expect(await failureOf(made)).toMatchObject({
          code: "CONTAINER_OF_OTHER_SUBJECT",
          class: "permanent",
        });
      },
    ));
});

describe("the credential of the external surface", () => {
  it("goes with its calls and no others, where the site has two", () =>
    withStub(
      async (stub, client) => {
        await client.create("external", store, never).catch(() => undefined);
        await client.getRequest(1, never).catch(() => undefined);
        expect(stub.seen.map(({ url, headers }) => [url, headers.authorization])).toEqual([
          ["/api/v1/external/procedures", "Bearer external-token"],
          ["/api/procedure-requests/1", "Bearer secret-api-token"],
        ]);
      },
      { externalAuth: { apiToken: "external-token" } },
    ));

  it("is the usual one, where the site has one", () =>
    withStub(async (stub, client) => {
      await client.create("external", store, never).catch(() => undefined);
      expect(stub.seen[0]?.headers.authorization).toBe("Bearer secret-api-token");
    }));

  it("is renewed by itself when the external surface refuses it", () => {
    let token = "first";
    return withStub(
      async (stub, client) => {
        stub.intercept = (request, response) => {
          const isRefused = request.headers.authorization === "Bearer first";
          if (isRefused) token = "second";
          send(response, isRefused ? 401 : 201, isRefused ? {} : created());
          return true;
        };
        const refused = await failureOf(client.create("external", store, never));
        expect(refused).toMatchObject({ code: "SERVICE_TOKEN_REFUSED", isAnswered: true });
        expect(await client.create("external", store, never)).toMatchObject({ id: 5 });
        expect(stub.seen.map(({ headers }) => headers.authorization)).toEqual([
          "Bearer first",
          "Bearer second",
        ]);
      },
      { externalAuth: { apiToken: async () => token } },
    );
  });
});
