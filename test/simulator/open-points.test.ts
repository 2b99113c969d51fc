import { expect, test } from "vitest";
import { type Bench, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const REQUESTS = "/api/procedure-requests";
const OUTSIDE = "/api/v1/external/procedures";

/** A request that is done, with its two containers in storage. */
async function withStored({ post, simulator: { control } }: Bench) {
  control.addSubject(SUBJECT);
  const { id } = (await post(REQUESTS, STORE)).json;
  return control.fulfilRequest(id);
}

test("lists of the request surface may be wrapped under any key, and bring paging data with results", () =>
  withSimulator({ behaviour: { listEnvelope: "rows" } }, async (bench) => {
    await withStored(bench);
    expect((await bench.ask("/api/subjects")).json).toEqual({
      rows: [expect.objectContaining({ code: "S-001" })],
    });
    bench.simulator.control.behave({ listEnvelope: "results" });
    expect((await bench.ask("/api/subjects")).json).toMatchObject({ page: 1, perPage: 10, total: 1 });
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

test("a pending request may be listed with five fields only", () =>
  withSimulator({ behaviour: { listedRequest: "short" } }, async (bench) => {
    bench.simulator.control.addSubject(SUBJECT);
    const created = (await bench.post(REQUESTS, STORE)).json;
    const fields = ["id", "type", "status", "procedureId", "createdAt"];
    expect(Object.keys((await bench.ask(REQUESTS)).json[0])).toEqual(fields);
    expect(Object.keys((await bench.ask(`${REQUESTS}/${created.id}`)).json)).toEqual(fields);
  }));

test("an inventory names what is stored and where", () =>
  withSimulator({}, async (bench) => {
    const { storageId } = await withStored(bench);
    expect((await bench.ask(`/api/storage/${storageId}/inventory`)).json).toMatchObject({
      count: 2,
      sampleContainers: [{ name: "V1", position: "Canister 1, Cane A, Slot 1" }, {}],
    });
  }));

test.each([
  ["pages", { data: [{ name: "V1", canister: "1", cane: "A", slot: 1 }, {}], meta: { total: 2 } }],
  [
    "tree",
    { canisters: [{ name: "1", canes: [{ name: "A", sampleContainers: [{ name: "V1", slot: 1 }, {}] }] }] },
  ],
  ["count", { count: 2 }],
] as const)("an inventory may show it as %s", (inventory, shown) =>
  withSimulator({ behaviour: { inventory } }, async (bench) => {
    const { storageId } = await withStored(bench);
    expect((await bench.ask(`/api/storage/${storageId}/inventory?perPage=50`)).json).toMatchObject(shown);
  }),
);

test("an inventory in pages has ten containers on each, unless it is asked for others", () =>
  withSimulator({ behaviour: { inventory: "pages" } }, async (bench) => {
    const { storageId } = await withStored(bench);
    const page = async (query: string) =>
      (await bench.ask(`/api/storage/${storageId}/inventory${query}`)).json.data.map(
        ({ name }: { name: string }) => name,
      );
    expect(await page("")).toEqual(["V1", "V2"]);
    expect(await page("?page=2&perPage=1")).toEqual(["V2"]);
    expect(await page("?page=3&perPage=1")).toEqual([]);
  }));

test("an inventory may show late what was stored", () =>
  withSimulator({ behaviour: { inventoryLagMs: 3_600_000 } }, async (bench) => {
    const { storageId } = await withStored(bench);
    expect((await bench.ask(`/api/storage/${storageId}/inventory`)).json).toMatchObject({ count: 0 });
  }));

test("containers and subjects may be there before anyone calls, a label twice too", () =>
  withSimulator(
    {
      subjects: [SUBJECT],
      containers: [
        { facilityId: 12, subjectCode: "S-001", name: "V1" },
        { facilityId: 12, subjectCode: "S-001", name: "V1" },
      ],
    },
    async ({ ask }) => {
      const { json } = await ask("/api/sample-containers?subjectCode=S-001");
      expect(json.map(({ name }: { name: string }) => name)).toEqual(["V1", "V1"]);
    },
  ));
