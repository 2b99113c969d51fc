import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { type Row, type StubService, send } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const subjects = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, facilityId: 12, code: `S-${index + 1}` }));

const containers = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, name: `V${index + 1}`, subjectCode: "S-1" }));

const parametersOf = (url = "") => new URL(url, "http://stub").searchParams;

/** Answers 404 to every call of which `isLost` says so, with JSON as a gateway may send it. */
function loseCalls(stub: StubService, isLost: (parameters: URLSearchParams) => boolean): void {
  stub.intercept = (request, response) => {
    if (!isLost(parametersOf(request.url))) return false;
    send(response, 404, { message: "no route matched" });
    return true;
  };
}

describe("a list that may be cut never means that something isn't there", () => {
  it("where all parameters of the list of subjects are refused and there are as many as on a default page", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = subjects(25);
      stub.intercept = (request, response) => {
        const isRefused = request.url?.includes("?") === true;
        if (isRefused) send(response, 400, { code: "UNKNOWN_PARAMETER" });
        return isRefused;
      };
      const failure = await failureOf(client.findSubject(12, phi("S-20"), never));
      expect(failure).toMatchObject({ code: "SERVICE_LIST_UNPAGED", class: "transient" });
    }));

  it("is asked by pages again once the service has some, and named as the configuration names it until then", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = subjects(25);
      stub.intercept = (request, response) => {
        const isRefused = parametersOf(request.url).has("page");
        if (isRefused) send(response, 400, { code: "UNKNOWN_PARAMETER" });
        return isRefused;
      };
      stub.options = { honours: (name) => name === "page" };
      const failure = await failureOf(client.findSubject(12, phi("S-20"), never));
      expect(failure.message).toContain("(list `subjects`)");
      stub.intercept = () => false;
      expect(await client.findSubject(12, phi("S-20"), never)).toMatchObject({ id: 20 });
    }));

  it("where `page` and the filters of the list of subjects are ignored", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = subjects(250);
      stub.options = { honours: () => false };
      const failure = await failureOf(client.findSubject(12, phi("S-200"), never));
      expect(failure).toMatchObject({ code: "SERVICE_LIST_UNPAGED" });
    }));

  it("where large pages are refused and `page` is ignored", () =>
    withStub(
      async (stub, client) => {
        stub.rows.subjects = subjects(250);
        stub.options = { honours: () => false };
        stub.intercept = (request, response) => {
          const isLarge = Number(parametersOf(request.url).get("perPage")) > 100;
          if (isLarge) send(response, 400, { code: "PAGE_TOO_LARGE" });
          return isLarge;
        };
        const failure = await failureOf(client.findSubject(12, phi("S-200"), never));
        expect(failure).toMatchObject({ code: "SERVICE_LIST_UNPAGED" });
      },
      { perPage: 200 },
    ));

  it("where another call has its pages refused while this one goes on", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = containers(60);
      stub.options = { cap: 25 };
      const first = Promise.withResolvers<() => void>();
      stub.intercept = (request, response, body) => {
        const parameters = parametersOf(request.url);
        if (parameters.get("subjectCode") === "S-2" && parameters.has("page")) {
          send(response, 400, { code: "UNKNOWN_PARAMETER" });
          return true;
        }
        if (parameters.get("subjectCode") !== "S-1" || parameters.get("page") !== "1") return false;
        first.resolve(() => stub.answer(request, response, body));
        return true;
      };
      const listed = client.listSubjectContainers({ surface: "request", subjectCode: phi("S-1") }, never);
      const answer = await first.promise;
      await client.listSubjectContainers({ surface: "request", subjectCode: phi("S-2") }, never);
      answer();
      expect(await listed).toHaveLength(60);
    }));
});

describe("a page that is not found", () => {
  it("is asked for again, since a gateway may have said so", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = containers(60);
      stub.options = { cap: 25 };
      let lost = 0;
      loseCalls(stub, (parameters) => parameters.get("page") === "2" && ++lost === 1);
      expect(
        await client.listSubjectContainers({ surface: "request", subjectCode: phi("S-1") }, never),
      ).toHaveLength(60);
    }));

  it("ends no list whose first page isn't found any more either", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = containers(60);
      stub.options = { cap: 25 };
      let isAway = false;
      loseCalls(stub, (parameters) => {
        isAway ||= parameters.get("page") === "2";
        return isAway;
      });
      const failure = await failureOf(
        client.listSubjectContainers({ surface: "request", subjectCode: phi("S-1") }, never),
      );
      expect(failure).toMatchObject({ code: "SERVICE_UNAVAILABLE", class: "transient" });
    }));

  it("ends the list of a service that answers so behind the last page", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = containers(50);
      stub.options = { cap: 25 };
      loseCalls(stub, (parameters) => Number(parameters.get("page")) > 2);
      expect(
        await client.listSubjectContainers({ surface: "request", subjectCode: phi("S-1") }, never),
      ).toHaveLength(50);
    }));
});
