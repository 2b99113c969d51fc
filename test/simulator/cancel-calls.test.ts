import { expect, test } from "vitest";
import type { CancelRoute } from "../../src/simulator/options.ts";
import { type Bench, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const OUTSIDE = "/api/v1/external/procedures";
const REQUEST_CANCEL: CancelRoute = { method: "PUT", path: "/api/procedure-requests/{id}/cancel" };

const request = async ({ post, simulator }: Bench): Promise<number> => {
  simulator.control.addSubject(SUBJECT);
  return (await post("/api/procedure-requests", STORE)).json.id;
};

test("there is no cancel call unless one is set up", () =>
  withSimulator({}, async (bench) => {
    const id = await request(bench);
    const reply = await bench.ask(`/api/procedure-requests/${id}/cancel`, { method: "PUT" });
    expect(reply.status).toBe(404);
    expect(bench.simulator.control.findRequest(id)?.status).toBe("PENDING");
  }));

test("a PENDING request is cancelled, an accepted one is not", () =>
  withSimulator({ cancelRoute: REQUEST_CANCEL }, async (bench) => {
    const id = await request(bench);
    const cancel = () => bench.ask(`/api/procedure-requests/${id}/cancel`, { method: "PUT" });
    expect((await cancel()).json).toMatchObject({ id, status: "CANCELLED" });
    expect((await cancel()).status).toBe(409);
  }));

test("a procedure of the external surface is cancelled until a device has begun it, by a body that says so", () =>
  withSimulator(
    {
      cancelRoute: {
        method: "PATCH",
        path: `${OUTSIDE}/{id}`,
        surface: "external",
        body: { status: "CANCELLED" },
      },
    },
    async (bench) => {
      const { control } = bench.simulator;
      control.addSubject(SUBJECT);
      const create = async (name: string): Promise<number> =>
        (await bench.post(OUTSIDE, { ...STORE, sampleContainers: [{ name, description: "" }] })).json.id;
      const cancel = (id: number, body: unknown = { status: "CANCELLED" }) =>
        bench.ask(`${OUTSIDE}/${id}`, { method: "PATCH", body });
      const first = await create("V1");
      expect((await cancel(first, { status: "DONE" })).status).toBe(422);
      expect((await cancel(first)).json).toMatchObject({ id: first, status: "CANCELLED" });
      const second = await create("V2");
      control.acceptProcedure(second);
      control.startProcedure(second);
      expect((await cancel(second)).status).toBe(409);
      expect((await bench.ask(`${OUTSIDE}/${first}`)).json.status).toBe("CANCELLED");
    },
  ));

test("a cancellation may take its time, and staff may be faster", () =>
  withSimulator({ cancelRoute: { ...REQUEST_CANCEL, afterMs: 60_000 } }, async (bench) => {
    const { control } = bench.simulator;
    const first = await request(bench);
    const second = (await bench.post("/api/procedure-requests", STORE)).json.id;
    for (const id of [first, second]) {
      const reply = await bench.ask(`/api/procedure-requests/${id}/cancel`, { method: "PUT" });
      expect([reply.status, reply.json.status]).toEqual([202, "PENDING"]);
    }
    control.acceptRequest(second);
    control.advance(60_000);
    expect(control.requests().map(({ status }) => status)).toEqual(["CANCELLED", "ACCEPTED"]);
  }));

test("a cancel call may be answered with nothing, and is closed to other organizations", () =>
  withSimulator(
    {
      cancelRoute: { ...REQUEST_CANCEL, answer: "empty" },
      organizations: [
        {
          id: 1,
          name: "One",
          facilities: [{ id: 12, name: "North" }],
          clients: [{ clientId: "a", clientSecret: "a", apiToken: "simulator-api-token" }],
        },
        {
          id: 2,
          name: "Two",
          facilities: [],
          clients: [{ clientId: "b", clientSecret: "b", apiToken: "b" }],
        },
      ],
    },
    async (bench) => {
      const id = await request(bench);
      const path = `/api/procedure-requests/${id}/cancel`;
      expect((await bench.ask(path, { method: "PUT", token: "b" })).status).toBe(404);
      const reply = await bench.ask(path, { method: "PUT" });
      expect([reply.status, reply.text]).toEqual([204, ""]);
    },
  ));

test("what was cancelled may be forgotten: no look, list or further call finds it", () =>
  withSimulator({ cancelRoute: REQUEST_CANCEL, behaviour: { cancelledRows: "gone" } }, async (bench) => {
    const id = await request(bench);
    const other = (await bench.post("/api/procedure-requests", STORE)).json.id;
    const cancel = () => bench.ask(`/api/procedure-requests/${id}/cancel`, { method: "PUT" });
    expect((await cancel()).status).toBe(200);
    expect((await bench.ask(`/api/procedure-requests/${id}`)).status).toBe(404);
    expect((await bench.ask("/api/procedure-requests")).json).toMatchObject([{ id: other }]);
    expect((await cancel()).status).toBe(404);
  }));
