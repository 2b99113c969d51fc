import { describe, expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import { send } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const ELSEWHERE: Partial<ServiceSettings> = {
  auth: { apiToken: "token-of-the-request-surface" },
  externalAuth: { apiToken: "token-of-the-external-surface" },
  paths: { subjects: "/api/v1/external/subjects", procedureRequests: "none", containers: "/v2/vials" },
};

describe("a service that has things elsewhere", () => {
  test("is called where the site says, and counted by the specification's paths", () =>
    withStub(async (stub, client) => {
      stub.intercept = (request, response) => {
        send(response, 200, request.url?.includes("/location") ? { storageName: "Tank 1" } : []);
        return true;
      };
      await client.findSubject(12, phi("S-1"), never);
      await client.getLocation(7, never);
      const paths = stub.seen.map(({ url }) => url.split("?")[0]);
      expect(new Set(paths)).toEqual(new Set(["/api/v1/external/subjects", "/v2/vials/7/location"]));
      expect([...client.requestCounts.keys()]).toEqual([
        "GET /api/subjects",
        "GET /api/sample-containers/{id}/location",
      ]);
    }, ELSEWHERE));

  test("is shown the external surface's credentials for all that lies below its base", () =>
    withStub(async (stub, client) => {
      await client.findSubject(12, phi("S-1"), never).catch(() => undefined);
      await client.getLocation(7, never).catch(() => undefined);
      const tokens = stub.seen.map(({ url, headers }) => [url.split("/")[1], headers.authorization]);
      expect(new Set(tokens.map(String))).toEqual(
        new Set(["api,Bearer token-of-the-external-surface", "v2,Bearer token-of-the-request-surface"]),
      );
    }, ELSEWHERE));

  test("is not called for what it doesn't have", () =>
    withStub(async (stub, client) => {
      const failure = await failureOf(client.getRequest(7, never));
      expect(failure).toMatchObject({ code: "SERVICE_PATH_NONE", class: "permanent" });
      expect(failure.message).toContain("service.paths.procedureRequests is none");
      expect(stub.seen).toEqual([]);
      expect(client.has("procedureRequests")).toBe(false);
      expect(client.breaker.state).toBe("closed");
    }, ELSEWHERE));

  test("is named by where it was called when it refuses, beside the specification's path", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 403, { code: "FORBIDDEN", message: "not yours" });
        return true;
      };
      const { message } = await failureOf(client.getSubject(7, never));
      expect(message).toContain(
        "GET /api/v1/external/subjects/{id} (the specification's /api/subjects/{id}):",
      );
    }, ELSEWHERE));

  test("has its cancel call where the site wrote it", () =>
    withStub(
      async (stub, client) => {
        const target = { surface: "request", id: 7, facilityId: 12, type: "STORE", sensitive: [] } as const;
        await client.cancelAtService(target, never).catch(() => undefined);
        expect(stub.seen.map(({ url }) => url)).toEqual(["/api/procedure-requests/7"]);
      },
      {
        paths: { procedureRequests: "/v2/requests" },
        cancel: { request: { method: "DELETE", path: "/api/procedure-requests/{id}" } },
      },
    ));
});
