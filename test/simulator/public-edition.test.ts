import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/simulator/description.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { Contract, type Exchange } from "../contract/openapi-contract.ts";
import { createFakeClock } from "./fake-clock.ts";
import { type Ask, type Bench, SUBJECT, withSimulator } from "./with-simulator.ts";

const BASE = "/api/v1/external";
const STORE = {
  type: "STORE",
  facilityId: 12,
  subjectCode: "S-001",
  sampleContainers: [{ name: "V1", description: "straw" }],
};

const withPublic = (run: (bench: Bench) => Promise<void>, options: SimulatorOptions = {}) =>
  withSimulator({ edition: "public", ...options }, run);

/** Registers the subject and stores a vial; gives the ids. */
async function withStored({ post, simulator }: Bench) {
  const subject = await post(`${BASE}/subjects`, SUBJECT);
  const created = await post(`${BASE}/procedures`, STORE);
  const procedureId: number = created.json.id;
  const [container] = created.json.sampleContainers;
  simulator.control.acceptProcedure(procedureId);
  simulator.control.startProcedure(procedureId);
  simulator.control.completeProcedure(procedureId);
  const storageId = simulator.control.findProcedure(procedureId)?.storageId ?? 0;
  return { subjectId: subject.json.id, procedureId, containerId: container.id, storageId };
}

describe("the public edition", () => {
  test("has everything below /api/v1/external, and no procedure requests", () =>
    withPublic(async (bench) => {
      const { subjectId, procedureId, containerId, storageId } = await withStored(bench);
      const there = [
        ...["/subjects", `/subjects/${subjectId}`, "/procedures", `/procedures/${procedureId}`],
        ...["/sample-containers", `/sample-containers/${containerId}/location`],
        ...["/storage", `/storage/${storageId}/inventory`],
      ];
      for (const path of there) expect([path, (await bench.ask(BASE + path)).status]).toEqual([path, 200]);
      const gone = ["/api/subjects", "/api/procedure-requests", "/api/procedures", "/api/storage"];
      for (const path of gone) expect([path, (await bench.ask(path)).status]).toEqual([path, 404]);
    }));

  test("wraps its lists with paging data", () =>
    withPublic(async (bench) => {
      const { containerId, storageId } = await withStored(bench);
      const { json } = await bench.ask(`${BASE}/sample-containers?perPage=5`);
      expect(json).toMatchObject({ data: [{ id: containerId }], meta: { page: 1, perPage: 5, total: 1 } });
      const inventory = await bench.ask(`${BASE}/storage/${storageId}/inventory`);
      expect(inventory.json).toMatchObject({
        data: [{ id: containerId, name: "V1", canister: "1", cane: "A" }],
        meta: { total: 1 },
      });
    }));

  test("shows subjects with their facility, and without their date of birth", () =>
    withPublic(async ({ post, ask }) => {
      const { json } = await post(`${BASE}/subjects`, SUBJECT);
      const shown = { code: "S-001", firstName: "Ada", lastName: "Muster" };
      expect(json).toEqual({
        ...{ id: json.id, facility: { id: 12, name: "North" } },
        ...shown,
        createdAt: json.createdAt,
      });
      expect((await ask(`${BASE}/subjects?code=S-001`)).json.data).toEqual([json]);
    }));

  test("takes the client's credentials as form fields alone, for tokens of an hour", () =>
    withPublic(async ({ ask }) => {
      const grant = "grant_type=client_credentials";
      const form = { "content-type": "application/x-www-form-urlencoded" };
      const take = (body: string, headers: Record<string, string> = {}) =>
        ask("/oauth/token", { method: "POST", token: null, headers: { ...form, ...headers }, body });
      const basic = Buffer.from("cryobridge:simulator-secret").toString("base64");
      expect((await take(grant, { authorization: `Basic ${basic}` })).status).toBe(401);
      const taken = await take(`${grant}&client_id=cryobridge&client_secret=simulator-secret`);
      expect(taken.json).toMatchObject({ expires_in: 3600, token_type: "Bearer" });
      expect(taken.json).not.toHaveProperty("refresh_token");
    }));

  test("takes 60 calls within a minute, and says how long to wait", () => {
    const clock = createFakeClock();
    return withPublic(
      async ({ ask }) => {
        for (let n = 0; n < 60; n += 1) {
          expect((await ask(`${BASE}/storage`)).status).toBe(200);
          await clock.pass(100);
        }
        const refused = await ask(`${BASE}/storage`);
        expect(refused).toMatchObject({ status: 429, json: { error: { code: "RATE_LIMITED" } } });
        expect(refused.headers["retry-after"]).toBe("54");
        await clock.pass(54_000);
        expect((await ask(`${BASE}/storage`)).status).toBe(200);
      },
      { clock },
    );
  });

  test("lets every key of a file go before what it decides", () =>
    withPublic(async ({ ask }) => expect((await ask(`${BASE}/storage`)).json).toHaveLength(4), {
      behaviour: { listEnvelope: "array" },
    }));
});

describe("the description of the public edition", () => {
  const contract = new Contract(openApiDocument("public"));

  test("is valid OpenAPI 3.1, and given by the simulator", () =>
    withPublic(async ({ ask }) => {
      expect(await new Validator().validate(openApiDocument("public"))).toEqual({ valid: true });
      expect((await ask("/openapi.json", { token: null })).json).toEqual(openApiDocument("public"));
    }));

  test("agrees with every answer", () =>
    withPublic(
      async (bench) => {
        const exchanges: Exchange[] = [];
        const ask = async (target: string, given: Ask = {}) => {
          const reply = await bench.ask(target, given);
          exchanges.push({
            method: given.method ?? "GET",
            target,
            requestHeaders: {
              ...(given.token === null ? {} : { authorization: "Bearer x" }),
              ...(given.body === undefined ? {} : { "content-type": "application/json" }),
              ...given.headers,
            },
            requestBody: typeof given.body === "string" ? given.body : JSON.stringify(given.body ?? ""),
            status: reply.status,
            responseHeaders: reply.headers,
            responseBody: reply.text,
          });
          return reply;
        };
        const post = (path: string, body: unknown, more: Ask = {}) =>
          ask(path, { ...more, method: "POST", body });
        const { subjectId, procedureId, containerId, storageId } = await withStored({ ...bench, ask, post });
        await post(
          "/oauth/token",
          "grant_type=client_credentials&client_id=cryobridge&client_secret=simulator-secret",
          {
            token: null,
            headers: { "content-type": "application/x-www-form-urlencoded" },
          },
        );
        await post(`${BASE}/subjects`, SUBJECT);
        await post(`${BASE}/subjects`, { ...SUBJECT, code: "" });
        const reads = [
          ...[
            "/subjects?code=S-001&page=1&perPage=50",
            `/subjects/${subjectId}`,
            `/procedures/${procedureId}`,
          ],
          ...["/procedures?facilityId=12&type=STORE", "/sample-containers?subjectCode=S-001"],
          ...[`/sample-containers/${containerId}/location`, "/sample-containers/999/location"],
          ...["/storage?facilityId=12", `/storage/${storageId}/inventory?page=1&perPage=10`],
        ];
        for (const path of reads) await ask(BASE + path);
        await ask(`${BASE}/storage`, { token: null });
        bench.simulator.control.behave({ callsPerMinute: 1 });
        await ask(`${BASE}/storage`);
        await ask(`${BASE}/storage`);
        expect(exchanges.at(-1)?.status).toBe(429);
        expect(exchanges.flatMap((each) => contract.checkAnswer(each))).toEqual([]);
        const succeeded = exchanges
          .filter(({ status }) => status < 300)
          .map((each) => contract.operationOf(each));
        expect(contract.operations().filter((name) => !succeeded.includes(name))).toEqual([]);
      },
      { behaviour: { callsPerMinute: "unlimited" } },
    ));
});
