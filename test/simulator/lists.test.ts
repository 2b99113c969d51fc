import fc from "fast-check";
import { expect, test } from "vitest";
import type { Behaviour } from "../../src/simulator/behaviour.ts";
import { Table } from "../../src/simulator/world/rows.ts";
import { createFakeClock } from "./fake-clock.ts";
import { type Bench, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

interface Listed {
  readonly id: number;
  readonly code: string;
}

/** A simulator with `count` subjects at facility 12, codes S-001 and on. */
async function withSubjects(
  count: number,
  behaviour: Partial<Behaviour>,
  use: (bench: Bench) => Promise<void>,
): Promise<void> {
  await withSimulator({ behaviour }, async (bench) => {
    for (let number = 1; number <= count; number += 1) {
      const code = `S-${String(number).padStart(3, "0")}`;
      bench.simulator.control.addSubject({ ...SUBJECT, code, firstName: number % 2 ? "Ada" : "Ben" });
    }
    await use(bench);
  });
}

const codes = (rows: readonly Listed[]) => rows.map(({ code }) => code);

test("a list gives page 1 with ten items unless asked for other ones", () =>
  withSubjects(25, {}, async ({ ask }) => {
    expect((await ask("/api/subjects")).json).toHaveLength(10);
    expect(codes((await ask("/api/subjects?page=3")).json)).toEqual([
      "S-021",
      "S-022",
      "S-023",
      "S-024",
      "S-025",
    ]);
    expect(codes((await ask("/api/subjects?page=2&perPage=3")).json)).toEqual(["S-004", "S-005", "S-006"]);
    expect((await ask("/api/subjects?page=4")).json).toEqual([]);
    expect((await ask("/api/subjects?page=0")).status).toBe(422);
    expect((await ask("/api/subjects?perPage=many")).status).toBe(422);
  }));

test("a larger perPage than the cap is cut down, or refused where the service does so", () =>
  withSubjects(25, { maxPerPage: 20 }, async ({ ask, simulator }) => {
    expect((await ask("/api/subjects?perPage=500")).json).toHaveLength(20);
    simulator.control.behave({ overPerPage: "refuse" });
    expect((await ask("/api/subjects?perPage=500")).status).toBe(422);
  }));

test("each of the four filter forms narrows a list", () =>
  withSubjects(25, {}, async ({ ask }) => {
    const list = async (query: string) => codes((await ask(`/api/subjects?perPage=100&${query}`)).json);
    expect(await list("code=S-007")).toEqual(["S-007"]);
    expect(await list("code_like=s-02")).toEqual(["S-020", "S-021", "S-022", "S-023", "S-024", "S-025"]);
    expect(await list("code_from=S-024")).toEqual(["S-024", "S-025"]);
    expect(await list("code_to=S-002&firstName=Ben")).toEqual(["S-002"]);
    expect(await list("dateOfBirth_from=1988-04-24")).toEqual([]);
    expect(await list("createdAt_from=2999-01-01T00:00:00Z")).toEqual([]);
    expect(await list("createdAt_to=2999-01-01")).toHaveLength(25);
    const [first] = (await ask("/api/subjects?code=S-003")).json;
    expect(await list(`id=${first.id}`)).toEqual(["S-003"]);
    expect(await list(`id_from=${first.id}&id_to=${first.id + 1}`)).toEqual(["S-003", "S-004"]);
  }));

test("a filter on a field that the resource does not have is ignored, or refused where the service does so", () =>
  withSubjects(3, {}, async ({ ask, simulator }) => {
    expect((await ask("/api/subjects?constructor=x")).json).toHaveLength(3);
    simulator.control.behave({ unknownFilters: "refuse" });
    expect((await ask("/api/subjects?colour=red")).status).toBe(400);
  }));

test("only the honoured filters narrow a list", () =>
  withSubjects(5, { filters: ["code", "id_from"] }, async ({ ask, simulator }) => {
    expect((await ask("/api/subjects?code_like=003")).json).toHaveLength(1);
    expect((await ask("/api/subjects?firstName=Ben")).json).toHaveLength(5);
    const last = (await ask("/api/subjects")).json[4].id;
    expect((await ask(`/api/subjects?id_from=${last}`)).json).toHaveLength(1);
    expect((await ask(`/api/subjects?id_to=${last - 4}`)).json).toHaveLength(5);
    simulator.control.behave({ filters: "none" });
    expect((await ask("/api/subjects?code=S-003")).json).toHaveLength(5);
  }));

test.each([
  ["data", (json: { data: Listed[] }) => json.data],
  ["items", (json: { items: Listed[] }) => json.items],
  ["results", (json: { results: Listed[] }) => json.results],
] as const)("a list may be wrapped in %s", (listEnvelope, unwrap) =>
  withSubjects(2, { listEnvelope }, async ({ ask }) => {
    const { json } = await ask("/api/subjects");
    expect(codes(unwrap(json))).toEqual(["S-001", "S-002"]);
    if (listEnvelope === "results") expect(json).toMatchObject({ page: 1, perPage: 10, total: 2 });
  }),
);

test("the order of a list may be newest first, or another one at each call", () =>
  withSubjects(9, { sort: "-id" }, async ({ ask, simulator }) => {
    expect(codes((await ask("/api/subjects?perPage=2")).json)).toEqual(["S-009", "S-008"]);
    simulator.control.behave({ sort: "random" });
    const first = codes((await ask("/api/subjects")).json);
    const second = codes((await ask("/api/subjects")).json);
    expect(first).not.toEqual(second);
    expect(first.toSorted()).toEqual(second.toSorted());
  }));

test("shifting pages repeat or skip a row at their borders, but not for ever", () =>
  withSubjects(30, { shiftingPages: true }, async ({ ask }) => {
    const walk = async () => {
      const seen: string[] = [];
      for (const page of [1, 2, 3, 4]) seen.push(...codes((await ask(`/api/subjects?page=${page}`)).json));
      return seen;
    };
    const walks = [await walk(), await walk(), await walk(), await walk()];
    expect(walks.some((seen) => seen.length !== 30 || new Set(seen).size !== 30)).toBe(true);
    expect(new Set(walks.flat()).size).toBe(30);
  }));

test("a new row is read by its id at once, but listed only after the lag", async () => {
  const clock = createFakeClock();
  await withSimulator({ clock, behaviour: { listLagMs: 30_000 } }, async ({ ask, post }) => {
    const { json } = await post("/api/subjects", SUBJECT);
    expect((await ask(`/api/subjects/${json.id}`)).status).toBe(200);
    expect((await ask("/api/subjects?code=S-001")).json).toEqual([]);
    await clock.pass(29_999);
    expect((await ask("/api/subjects?code=S-001")).json).toEqual([]);
    await clock.pass(1);
    expect((await ask("/api/subjects?code=S-001")).json).toHaveLength(1);
  });
});

test("ids may be written as strings, and labels stay what they were", () =>
  withSimulator({ behaviour: { ids: "string" } }, async ({ ask, post, simulator }) => {
    simulator.control.addSubject(SUBJECT);
    const { json } = await post("/api/procedure-requests", STORE);
    expect(json).toMatchObject({ id: expect.stringMatching(/^\d+$/), facilityId: "12", procedureId: null });
    expect(json.sampleContainers[0].sampleContainerId).toBe("V1");
    const procedure = simulator.control.acceptRequest(Number(json.id));
    const read = (await ask(`/api/procedures/${procedure.id}`)).json;
    expect(read.sampleContainerIds).toEqual(procedure.containerIds.map(String));
  }));

test("statuses and types may be spelled otherwise, filters included, and objects may have further fields", () =>
  withSimulator(
    { behaviour: { words: { PENDING: "ON_HOLD", STORE: "store" }, extraFields: { tenant: "t1" } } },
    async ({ ask, post, simulator }) => {
      simulator.control.addSubject(SUBJECT);
      const { json } = await post("/api/procedure-requests", STORE);
      expect(json).toMatchObject({ status: "ON_HOLD", type: "store", tenant: "t1" });
      expect((await ask("/api/procedure-requests?status=ON_HOLD&type=store")).json).toHaveLength(1);
      expect((await ask("/api/procedure-requests?status=PENDING")).json).toEqual([]);
    },
  ));

test("a procedure request may be listed in its short form", () =>
  withSimulator(
    { behaviour: { listedRequest: "short", singleRequest: "full" } },
    async ({ ask, post, simulator }) => {
      simulator.control.addSubject(SUBJECT);
      const { id } = (await post("/api/procedure-requests", STORE)).json;
      const procedure = simulator.control.acceptRequest(id);
      const [listed] = (await ask("/api/procedure-requests?status=ACCEPTED")).json;
      expect(listed).not.toHaveProperty("subjectCode");
      expect(listed).toMatchObject({ status: "ACCEPTED", procedureId: procedure.id });
      expect((await ask(`/api/procedure-requests/${id}`)).json).toMatchObject({ subjectCode: "S-001" });
    },
  ));

test("lists may show containers that are not in storage", () =>
  withSimulator({ behaviour: { listedContainers: "all" } }, async ({ ask, post, simulator }) => {
    simulator.control.addSubject(SUBJECT);
    const { id } = (await post("/api/procedure-requests", STORE)).json;
    simulator.control.acceptRequest(id);
    expect((await ask("/api/sample-containers?subjectCode=S-001")).json).toHaveLength(2);
  }));

test("a range of ids holds exactly the rows between its ends", () => {
  const gaps = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 50 });
  const end = fc.integer({ min: 0, max: 200 });
  fc.assert(
    fc.property(gaps, end, end, (steps, from, to) => {
      const table = new Table<{ id: number }>();
      let id = 0;
      for (const step of steps) {
        id += step;
        table.add({ id });
      }
      const expected = table.all().filter((row) => row.id >= from && row.id <= to);
      expect(table.between(from, to)).toEqual(expected);
    }),
  );
});
