import { expect, test } from "vitest";
import { type Bench, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const REQUESTS = "/api/procedure-requests";
const OUTSIDE = "/api/v1/external/procedures";
const EXTERNAL_STORE = { ...STORE, sampleContainers: [{ name: "V1", description: "straw" }] };

/** A request that is done, with its two containers in storage. */
async function withStored({ post, simulator: { control } }: Bench) {
  control.addSubject(SUBJECT);
  const { id } = (await post(REQUESTS, STORE)).json;
  return control.fulfilRequest(id);
}

test("lists of the request surface may be wrapped under any key, with paging data beside the entries or in meta", () =>
  withSimulator({ behaviour: { listEnvelope: { key: "rows", paging: "meta" } } }, async (bench) => {
    await withStored(bench);
    expect((await bench.ask("/api/subjects")).json).toEqual({
      rows: [expect.objectContaining({ code: "S-001" })],
      meta: { page: 1, perPage: 10, total: 1 },
    });
    expect((await bench.ask(OUTSIDE)).json).toEqual([expect.objectContaining({ type: "STORE" })]);
  }));

test("lists of the external surface may come whole whatever is asked, or refuse to be paged", () =>
  withSimulator({ behaviour: { externalPaging: "whole" } }, async (bench) => {
    for (let count = 0; count < 12; count += 1) bench.simulator.control.createRefill(101);
    expect((await bench.ask(`${OUTSIDE}?perPage=5`)).json).toHaveLength(12);
    bench.simulator.control.behave({ externalPaging: "refuse" });
    expect((await bench.ask(`${OUTSIDE}?perPage=5`)).status).toBe(400);
    expect((await bench.ask(OUTSIDE)).json).toHaveLength(12);
    expect((await bench.ask("/api/procedures?perPage=5")).json).toHaveLength(5);
  }));

test("a filter that is not honoured may be refused with 400", () =>
  withSimulator({ behaviour: { filters: ["code"], otherFilters: "refuse" } }, async ({ ask }) => {
    expect((await ask("/api/subjects?code=S-001")).status).toBe(200);
    expect((await ask("/api/subjects?lastName_like=mu")).status).toBe(400);
  }));

test("ids may be as large as a JSON number can hold exactly", () =>
  withSimulator({ firstId: Number.MAX_SAFE_INTEGER - 1_000 }, async (bench) => {
    const procedure = await withStored(bench);
    expect(procedure.id).toBeGreaterThan(2 ** 53 - 1_000);
    expect((await bench.ask(`/api/procedures/${procedure.id}`)).json.id).toBe(procedure.id);
    const range = `id_from=${procedure.id}&id_to=${procedure.id}`;
    expect((await bench.ask(`/api/procedures?${range}`)).json).toHaveLength(1);
  }));

test("a pending request may be answered and listed with five fields only", () =>
  withSimulator({ behaviour: { createdRequest: "short", listedRequest: "short" } }, async (bench) => {
    bench.simulator.control.addSubject(SUBJECT);
    const created = (await bench.post(REQUESTS, STORE)).json;
    const fields = ["id", "type", "status", "procedureId", "createdAt"];
    expect(Object.keys(created)).toEqual(fields);
    expect(Object.keys((await bench.ask(REQUESTS)).json[0])).toEqual(fields);
    expect(Object.keys((await bench.ask(`${REQUESTS}/${created.id}`)).json)).toEqual(fields);
  }));

test("statuses and types may be written in small letters, and filters take either case", () =>
  withSimulator({ behaviour: { wordCase: "lower" } }, async (bench) => {
    await withStored(bench);
    expect((await bench.ask(OUTSIDE)).json).toMatchObject([{ type: "store", status: "completed" }]);
    expect((await bench.ask(`${OUTSIDE}?type=STORE`)).json).toHaveLength(1);
    expect((await bench.ask(`${OUTSIDE}?type=store`)).json).toHaveLength(1);
    expect((await bench.ask(`${OUTSIDE}?type=RETRIEVAL`)).json).toEqual([]);
  }));

test("a hidden status is never seen: the row stays as it was, and then jumps", () =>
  withSimulator({ behaviour: { hiddenStatuses: ["CREATED", "IN_PROGRESS"] } }, async (bench) => {
    const { control } = bench.simulator;
    control.addSubject(SUBJECT);
    const { id } = (await bench.post(OUTSIDE, EXTERNAL_STORE)).json;
    const seen: unknown[] = [];
    const look = async () => {
      const { status, completedAt } = (await bench.ask(`${OUTSIDE}/${id}`)).json;
      expect((await bench.ask(OUTSIDE)).json[0].status).toBe(status);
      seen.push([status, completedAt !== undefined]);
    };
    await look();
    control.acceptProcedure(id);
    await look();
    control.startProcedure(id);
    await look();
    control.completeProcedure(id);
    await look();
    expect(seen).toEqual([
      ["PENDING", false],
      ["PENDING", false],
      ["PENDING", false],
      ["COMPLETED", true],
    ]);
  }));

test("stale reads show a row one status late now and then, so that it seems to go back", () =>
  withSimulator({ behaviour: { staleReads: 0.5 } }, async (bench) => {
    const { id } = await withStored(bench);
    const seen: string[] = [];
    for (let read = 0; read < 20; read += 1) {
      const { status, completedAt } = (await bench.ask(`/api/procedures/${id}`)).json;
      expect(completedAt !== undefined).toBe(status === "COMPLETED");
      seen.push(status);
    }
    expect(new Set(seen)).toEqual(new Set(["IN_PROGRESS", "COMPLETED"]));
    expect(seen.join(" ")).toContain("COMPLETED IN_PROGRESS");
  }));

test.each([
  [
    "containers",
    { count: 2, sampleContainers: [{ name: "V1", position: "Canister 1, Cane A, Slot 1" }, {}] },
  ],
  [
    "tree",
    { canisters: [{ canister: "1", canes: [{ cane: "A", sampleContainers: [{ slot: 1 }, { slot: 2 }] }] }] },
  ],
] as const)("an inventory may come as %s", (inventory, expected) =>
  withSimulator({ behaviour: { inventory } }, async (bench) => {
    const { storageId } = await withStored(bench);
    expect((await bench.ask(`/api/storage/${storageId}/inventory`)).json).toMatchObject(expected);
  }),
);

test("moments may be written without milliseconds or with an offset, and absent fields as null", () =>
  withSimulator({ behaviour: { timestamps: "seconds", absentFields: "null" } }, async (bench) => {
    bench.simulator.control.addSubject(SUBJECT);
    const created = (await bench.post(REQUESTS, STORE)).json;
    expect(created.createdAt).toMatch(/T\d\d:\d\d:\d\dZ$/);
    expect(created).toMatchObject({ acceptedAt: null, acceptedBy: null });
    bench.simulator.control.behave({ timestamps: "offset" });
    expect((await bench.ask(REQUESTS)).json[0].createdAt).toMatch(/\.\d{3}\+00:00$/);
  }));

test("a strict service refuses members that it doesn't know, and containers without a description", () =>
  withSimulator(
    { behaviour: { unknownMembers: "refuse", requiredDescription: true } },
    async ({ post, simulator }) => {
      simulator.control.addSubject(SUBJECT);
      const refused = async (body: unknown) => (await post(REQUESTS, body)).json.details;
      expect(await refused({ ...STORE, note: "x" })).toEqual([{ field: "note", message: "no such member" }]);
      expect(await refused({ ...STORE, sampleContainers: [{ sampleContainerId: "V1" }] })).toEqual([
        { field: "sampleContainers[0].description", message: "is required" },
      ]);
      expect((await post(REQUESTS, STORE)).status).toBe(201);
    },
  ));

test("containers and subjects may be there before anyone calls, labels doubled", () =>
  withSimulator(
    {
      subjects: [SUBJECT],
      containers: [
        { facilityId: 12, subjectCode: "S-001", name: "V1" },
        { facilityId: 12, subjectCode: "S-001", name: "V1" },
      ],
    },
    async ({ ask, simulator }) => {
      const labels = async () =>
        (await ask("/api/sample-containers?subjectCode=S-001")).json.map(
          ({ name }: { name: string }) => name,
        );
      expect(await labels()).toEqual(["V1", "V1"]);
      simulator.control.reset();
      expect(await labels()).toEqual(["V1", "V1"]);
    },
  ));
