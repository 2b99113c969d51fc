import { get } from "node:http";
import { request } from "undici";
import { expect, test } from "vitest";
import { createSimulator } from "../../src/simulator/simulator.ts";
import type { SimulatorEvent } from "../../src/simulator/world/state.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { createFakeClock } from "./fake-clock.ts";
import { API_TOKEN, type Ask, type Bench, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const OPEN: Ask = { token: null };
const hand = ({ post }: Bench, path: string, body: unknown = {}) => post(`/simulator/${path}`, body, OPEN);

test("a person plays staff and device over HTTP", () =>
  withSimulator({}, async (bench) => {
    await hand(bench, "subjects", SUBJECT);
    const { id } = (await bench.post("/api/procedure-requests", STORE)).json;
    const procedure = (await hand(bench, `requests/${id}/accept`, { by: "Kim" })).json;
    expect((await hand(bench, `requests/${id}/reject`)).status).toBe(409);
    expect((await hand(bench, `procedures/${procedure.id}/complete`)).status).toBe(409);
    await hand(bench, `procedures/${procedure.id}/start`);
    await hand(bench, `procedures/${procedure.id}/fail`, { error: "no nitrogen" });
    const { json } = await bench.ask("/simulator/state", OPEN);
    expect(json.requests).toMatchObject([
      { id, status: "ACCEPTED", acceptedBy: "Kim", labels: ["V1", "V2"] },
    ]);
    expect(json.procedures).toMatchObject([{ status: "FAILED", error: "no nitrogen" }]);
    expect(json.counts).toMatchObject({ subjects: 1, stored: 0, procedures: { FAILED: 1 } });
    expect((await bench.ask("/simulator/tally", OPEN)).json.journal).toHaveLength(1);
  }));

test("faults and settings are changed over HTTP, and never meet the control surface", () =>
  withSimulator({}, async (bench) => {
    const put = { ...OPEN, method: "PUT", body: [{ path: "/**", status: 503 }] };
    expect((await bench.ask("/simulator/faults", put)).status).toBe(200);
    expect((await bench.ask("/api/subjects")).status).toBe(503);
    expect((await bench.ask("/simulator/faults", OPEN)).json).toEqual([{ path: "/**", status: 503 }]);
    await bench.ask("/simulator/faults", { ...put, body: [] });
    const patch = { ...OPEN, method: "PATCH", body: { speed: 60, behaviour: { listEnvelope: "items" } } };
    expect((await bench.ask("/simulator/settings", patch)).json).toMatchObject({ speed: 60 });
    expect((await bench.ask("/api/subjects")).json).toEqual({ items: [] });
  }));

test("a misspelt fault or setting is refused with its place", () =>
  withSimulator({}, async (bench) => {
    const put = { ...OPEN, method: "PUT", body: [{ latency: 5 }] };
    const fault = await bench.ask("/simulator/faults", put);
    expect(fault.status).toBe(422);
    expect(fault.json.message).toContain("latency");
    const patch = { ...OPEN, method: "PATCH", body: { behaviour: { sort: "sideways" } } };
    expect((await bench.ask("/simulator/settings", patch)).json.message).toContain("behaviour.sort");
  }));

test("callers that use another host name or come from another page are turned away", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    const rebound = await ask("/simulator/state", { ...OPEN, headers: { host: "evil.example" } });
    expect(rebound.status).toBe(403);
    const headers = { origin: "http://evil.example" };
    expect((await post("/simulator/revoke-tokens", {}, { ...OPEN, headers })).status).toBe(403);
    const own = { origin: simulator.url };
    expect((await post("/simulator/revoke-tokens", {}, { ...OPEN, headers: own })).status).toBe(200);
  }));

test("whoever reaches a simulator that listens beyond this machine controls it, but another site's page", async () => {
  const simulator = await createSimulator();
  await simulator.listen(0, "0.0.0.0");
  try {
    const { port } = new URL(simulator.url);
    // As a published port of a container is asked: neither address nor name are the simulator's own.
    const ask = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        get({ host: "127.0.0.1", port, path: "/simulator/state", headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        }).on("error", reject);
      });
    const host = "lab-simulator:4711";
    expect(await ask({ host, origin: `http://${host}` })).toBe(200);
    expect(await ask({ host, origin: "http://evil.example" })).toBe(403);
  } finally {
    await simulator.close();
  }
});

test("the page brings everything it needs under a policy that lets nothing else in", () =>
  withSimulator({}, async ({ ask }) => {
    const page = await ask("/", OPEN);
    expect(page.headers["content-type"]).toContain("text/html");
    expect(page.headers["content-security-policy"]).toContain("script-src 'self'");
    expect(page.text).not.toMatch(/https?:\/\/|<script>|style=|onclick/);
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? "");
    const styles = ["/simulator/page-pico.css", "/simulator/page.css"];
    expect(links).toEqual([...styles, "/simulator/page.js", "/openapi.json", "/simulator/tally"]);
    for (const link of links) expect((await ask(link, OPEN)).status).toBe(200);
    expect((await ask("/simulator/page.js", OPEN)).text).not.toContain("import");
  }));

test("listeners hear of every change until they stop listening", () =>
  withSimulator({}, async ({ post, simulator }) => {
    const events: SimulatorEvent[] = [];
    const stop = simulator.control.subscribe((event) => events.push(event));
    await post("/api/subjects", SUBJECT);
    const { id } = (await post("/api/procedure-requests", STORE)).json;
    simulator.control.fulfilRequest(id);
    stop();
    await post("/api/procedure-requests", STORE);
    expect(events.map(({ kind, status }) => [kind, status])).toEqual([
      ["subject", undefined],
      ["request", "PENDING"],
      ["procedure", "CREATED"],
      ["request", "ACCEPTED"],
      ["procedure", "IN_PROGRESS"],
      ["procedure", "COMPLETED"],
    ]);
  }));

test("rows may be changed against all rules, and forgotten", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    const { control } = simulator;
    control.addSubject(SUBJECT);
    const { id } = (await post("/api/procedure-requests", STORE)).json;
    const procedure = control.fulfilRequest(id);
    control.alterProcedure(procedure.id, { status: "CREATED" });
    expect((await ask(`/api/procedures/${procedure.id}`)).json.status).toBe("CREATED");
    control.alterRequest(id, { status: "ON_HOLD" });
    expect((await ask("/api/procedure-requests?status=ON_HOLD")).json).toHaveLength(1);
    control.forget("request", id);
    expect((await ask(`/api/procedure-requests/${id}`)).status).toBe(404);
    expect((await ask("/api/procedure-requests?subjectCode=S-001")).json).toEqual([]);
  }));

test("a service that was down answers again on the same port with everything it knew", async () => {
  const port = await findPort();
  const simulator = await createSimulator({ port });
  const { url } = simulator;
  simulator.control.addSubject(SUBJECT);
  await simulator.close();
  await expect(request(`${url}/api/subjects`)).rejects.toThrow();
  expect(() => simulator.url).toThrow("does not listen");
  expect(await simulator.listen(port)).toBe(url);
  const { body } = await request(`${url}/simulator/state`);
  expect(await body.json()).toMatchObject({ counts: { subjects: 1 } });
  await simulator.close();
});

test("closing ends calls that hang or wait, and what waited is not executed later", async () => {
  const clock = createFakeClock();
  const simulator = await createSimulator({
    clock,
    port: 0,
    faults: [
      { path: "/api/storage", after: "hang" },
      { path: "/api/subjects", executeAfterMs: 60_000 },
    ],
  });
  const headers = { authorization: `Bearer ${API_TOKEN}`, "content-type": "application/json" };
  const hanging = request(`${simulator.url}/api/storage`, { headers });
  const waiting = request(`${simulator.url}/api/subjects`, {
    method: "POST",
    headers,
    body: JSON.stringify(SUBJECT),
  });
  const failed = Promise.all([hanging, waiting].map((call) => expect(call).rejects.toThrow()));
  await eventually(() => simulator.tally().received === 2);
  await simulator.close();
  await failed;
  await clock.pass(60_000);
  expect(simulator.control.subjects()).toEqual([]);
});
