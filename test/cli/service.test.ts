import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withLedger } from "../support/with-ledger.ts";
import { PATIENT } from "./with-lab.ts";
import { type ServiceBench, withService } from "./with-service.ts";

const SUBJECT = { facilityId: 12, ...PATIENT };

const storeOf = (label: string, subjectCode: string = PATIENT.code) => ({
  type: "STORE",
  facilityId: 12,
  subjectCode,
  sampleContainers: [{ sampleContainerId: label, description: `straw of ${PATIENT.lastName}` }],
});

/** A subject, and a vial of theirs in storage. */
async function store(
  bench: ServiceBench,
): Promise<{ readonly requestId: number; readonly procedureId: number }> {
  await bench.post("/api/subjects", SUBJECT);
  const { id } = await bench.post("/api/procedure-requests", storeOf("V-1"));
  const requestId = Number(id);
  return { requestId, procedureId: bench.simulator.control.fulfilRequest(requestId).id };
}

const PERSON = [PATIENT.code, PATIENT.firstName, PATIENT.lastName, PATIENT.dateOfBirth];

function expectHidden(text: string): void {
  for (const value of PERSON) expect(text).not.toContain(value);
}

describe("service lists", () => {
  it("are tables of the specification's columns, without patients' data", () =>
    withService({}, async (bench) => {
      const { requestId, procedureId } = await store(bench);
      for (const list of ["subjects", "requests", "procedures", "containers", "storage"]) {
        const { status, stdout, stderr } = await bench.cli(["service", list]);
        expect([status, stderr]).toEqual([0, ""]);
        expectHidden(stdout);
      }
      const requests = await bench.cli(["service", "requests"]);
      expect(requests.stdout).toMatch(
        new RegExp(`${requestId}\\s+STORE\\s+ACCEPTED\\s+12 \\(NORTH\\)\\s+•+\\s+V-1\\s+${procedureId}`),
      );
      const containers = await bench.cli(["service", "containers"]);
      expect(containers.stdout).toMatch(/V-1\s+•+\s+•+\s+20\d\d-/);
    }));

  it("are one JSON document with the service's own keys and the same things hidden", () =>
    withService(
      { simulator: { behaviour: { extraFields: { tenant: "Quersack Clinic", floor: 3 } } } },
      async (bench) => {
        await store(bench);
        const { status, stdout } = await bench.cli(["service", "subjects", "--json"]);
        expect(status).toBe(0);
        expectHidden(stdout);
        const { subjects, ...rest } = JSON.parse(stdout);
        expect(subjects).toEqual([
          expect.objectContaining({
            id: expect.any(Number),
            facilityId: 12,
            code: "••••",
            tenant: "••••",
            floor: "••••",
          }),
        ]);
        expect(rest).toEqual({
          count: 1,
          hasMore: false,
          surface: "request",
          filterRemarks: [],
          uncheckedFilters: [],
        });
      },
    ));

  it("have all of the lab's names for their facility", () =>
    withService({}, async (bench) => {
      const config = join(bench.folder, "c.yaml");
      const text = await readFile(config, "utf8");
      await writeFile(config, text.replace("NORTH: 12", "BERN: 12, NORTH: 12"));
      await store(bench);
      expect((await bench.cli(["service", "subjects"])).stdout).toContain("12 (BERN, NORTH)");
    }));

  it("come from the external surface where that is asked for or configured", () =>
    withService({}, async (bench) => {
      await store(bench);
      const { stdout } = await bench.cli(["service", "procedures", "--surface", "external", "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({
        surface: "external",
        procedures: [
          {
            type: "STORE",
            status: "COMPLETED",
            facility: { id: 12, name: "North" },
            code: expect.stringMatching(/\w/),
          },
        ],
      });
      expectHidden(stdout);
      const table = await bench.cli(["service", "containers", "--surface", "external"]);
      expect(table.stdout).toContain("V-1");
    }));

  it("take all four filter forms and the shortcuts", () =>
    withService({}, async (bench) => {
      await bench.post("/api/subjects", SUBJECT);
      await bench.post("/api/subjects", { ...SUBJECT, code: "S-2", lastName: "Amber" });
      await bench.post("/api/procedure-requests", storeOf("V-1"));
      await bench.post("/api/procedure-requests", storeOf("V-2", "S-2"));
      const idsOf = async (...argv: string[]) => {
        const { stdout } = await bench.cli(["service", ...argv, "--json"]);
        const document = JSON.parse(stdout);
        return (document[argv[0] ?? ""] as { id: number }[]).map(({ id }) => id);
      };
      const [first = 0, second = 0] = await idsOf("subjects");
      expect(await idsOf("subjects", "--filter", "code=S-2")).toEqual([second]);
      expect(await idsOf("subjects", "--subject", PATIENT.code)).toEqual([first]);
      expect(await idsOf("subjects", "--filter", "lastName_like=QUER")).toEqual([first]);
      expect(await idsOf("subjects", "--filter", `id_from=${first + 1}`)).toEqual([second]);
      expect(await idsOf("subjects", "--filter", `id_to=${first}`, "--facility", "NORTH")).toEqual([first]);
      const requests = await idsOf("requests", "--status", "pending", "--type", "store");
      expect(requests).toHaveLength(2);
      expect(await idsOf("requests", "--subject", "S-2")).toEqual([requests[1]]);
      expect(await idsOf("requests", "--status", "REJECTED")).toEqual([]);
    }));

  it("compare a procedure's type here, since the request surface writes it its own way", () =>
    withService({}, async (bench) => {
      const { procedureId } = await store(bench);
      const { stdout } = await bench.cli(["service", "procedures", "--type", "STORE", "--json"]);
      expect(JSON.parse(stdout).procedures).toMatchObject([{ id: procedureId, type: "storage" }]);
    }));

  it("take the day that ends a range of times as a whole", () =>
    withService({}, async (bench) => {
      const subject = { facilityId: 12, ...PATIENT };
      const { id, createdAt } = await bench.post("/api/subjects", subject);
      const day = String(createdAt).slice(0, 10);
      const filters = ["--filter", `createdAt_from=${day}`, "--filter", `createdAt_to=${day}`];
      const { stdout } = await bench.cli(["service", "subjects", ...filters, "--json"]);
      expect(JSON.parse(stdout).subjects).toMatchObject([{ id }]);
    }));

  it("are filtered here where the service ignores filters, and say so", () =>
    withService({ simulator: { behaviour: { filters: "none" } } }, async (bench) => {
      await bench.post("/api/subjects", SUBJECT);
      await bench.post("/api/subjects", { ...SUBJECT, code: "S-2" });
      const { stdout, stderr } = await bench.cli(["service", "subjects", "--subject", "S-2"]);
      expect(stdout.trimEnd().split("\n")).toHaveLength(2);
      expect(stderr).toContain("The service ignored the filter code");
      const document = JSON.parse(
        (await bench.cli(["service", "subjects", "--subject", "S-2", "--json"])).stdout,
      );
      expect(document).toMatchObject({ count: 1, filterRemarks: [{ filter: "code", remark: "ignored" }] });
    }));

  it("say when a filter could not be looked at again", () =>
    withService({}, async (bench) => {
      await bench.post("/api/subjects", SUBJECT);
      const { stderr } = await bench.cli(["service", "subjects", "--filter", "ward=7"]);
      expect(stderr).toContain("No entry has the field of the filter ward");
    }));

  it("show a hundred unless asked otherwise, or all", () =>
    withService({}, async (bench) => {
      await bench.post("/api/subjects", SUBJECT);
      await Promise.all(
        Array.from({ length: 130 }, (_, n) => bench.post("/api/procedure-requests", storeOf(`V-${n}`))),
      );
      const countOf = async (...more: string[]) => {
        const { count, hasMore } = JSON.parse(
          (await bench.cli(["service", "requests", "--json", ...more])).stdout,
        );
        return [count, hasMore];
      };
      expect(await countOf()).toEqual([100, true]);
      expect(await countOf("--limit", "7")).toEqual([7, true]);
      expect(await countOf("--limit", "130")).toEqual([130, false]);
      expect(await countOf("--all")).toEqual([130, false]);
      const { stderr } = await bench.cli(["service", "requests", "--limit", "7"]);
      expect(stderr).toContain("There are more than these 7");
    }));

  it("show each entry once although pages shift while they are read", () =>
    withService({ simulator: { behaviour: { shiftingPages: true, maxPerPage: 10 } } }, async (bench) => {
      await bench.post("/api/subjects", SUBJECT);
      await Promise.all(
        Array.from({ length: 60 }, (_, n) => bench.post("/api/procedure-requests", storeOf(`V-${n}`))),
      );
      const { stdout } = await bench.cli(["service", "requests", "--all", "--json"]);
      const ids = (JSON.parse(stdout).requests as { id: number }[]).map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBeGreaterThan(40);
    }));
});

describe("service records", () => {
  it("are shown by the service's id", () =>
    withService({}, async (bench) => {
      const { requestId, procedureId } = await store(bench);
      const request = await bench.cli(["service", "request", String(requestId)]);
      expect(request.stdout).toMatch(/status\s+ACCEPTED/);
      expect(request.stdout).toMatch(new RegExp(`procedure\\s+${procedureId}`));
      const procedure = await bench.cli(["service", "procedure", String(procedureId), "--json"]);
      const { procedure: said } = JSON.parse(procedure.stdout);
      expect(said).toMatchObject({ id: procedureId, status: "COMPLETED" });
      const [containerId] = said.sampleContainerIds;
      const location = await bench.cli(["service", "location", String(containerId)]);
      expect(location.stdout).toMatch(/position\s+Canister/);
      const external = await bench.cli([
        "service",
        "procedure",
        String(procedureId),
        "--surface",
        "external",
      ]);
      expect(external.stdout).toMatch(/containers\s+V-1 \(.*canister/);
      for (const { stdout } of [request, procedure, location, external]) expectHidden(stdout);
    }));

  it("are an inventory in the service's own shape", () =>
    withService({}, async (bench) => {
      await store(bench);
      const { stdout } = await bench.cli(["service", "storage", "--json"]);
      const storageId = JSON.parse(stdout).storage[0].id;
      const inventory = await bench.cli(["service", "inventory", String(storageId), "--json"]);
      expect(inventory.status).toBe(0);
      expect(inventory.stdout).toContain("V-1");
      expectHidden(inventory.stdout);
      const text = await bench.cli(["service", "inventory", String(storageId)]);
      expect(JSON.parse(text.stdout)).toEqual(JSON.parse(inventory.stdout).inventory);
    }));

  it("are an inventory in pages, which says how many there are in all", () =>
    withService({ simulator: { behaviour: { inventory: "pages" } } }, async (bench) => {
      const { control } = bench.simulator;
      control.addSubject({ facilityId: 12, code: "S-9" });
      for (let n = 1; n <= 12; n += 1)
        control.addContainer({ facilityId: 12, subjectCode: "S-9", name: `V-${n}` });
      const storageId = control.containers()[0]?.slot?.storageId ?? 0;
      const inventory = (...more: string[]) =>
        bench.cli(["service", "inventory", String(storageId), ...more]);
      const first = await inventory();
      expect(JSON.parse(first.stdout).data).toHaveLength(10);
      expect(first.stderr).toContain(
        "These are 10 of 12 containers; --page shows others, 100 at a time at most.",
      );
      const whole = await inventory("--page", "1");
      expect(JSON.parse(whole.stdout).data).toHaveLength(12);
      expect(whole.stderr).toBe("");
    }));

  it("end with status 5 when the service has none, and 4 when it is not there", () =>
    withService({}, async (bench) => {
      const missing = await bench.cli(["service", "subject", "4711", "--json"]);
      expect(missing.status).toBe(5);
      const { error } = JSON.parse(missing.stdout) as { error: { code: string; hint: string } };
      expect(error.code).toBe("SERVICE_NOT_FOUND");
      expect(error.hint).not.toContain("cryobridge orders");
      await bench.simulator.close();
      const gone = await bench.cli(["service", "subjects"]);
      expect(gone.status).toBe(4);
      expect(gone.stderr).toContain("SERVICE_UNREACHABLE");
    }));
});

describe("mistakes on the command line", () => {
  it.each([
    [["subjects", "--filter", "code"], "expected FIELD=VALUE"],
    [["subjects", "--filter", "page=2"], "expected FIELD=VALUE"],
    [["subjects", "--subject", "S-1", "--filter", "code=S-2"], "set already"],
    [["subjects", "--all", "--limit", "3"], "--all and --limit"],
    [["subjects", "--facility", "EAST"], "the configuration has NORTH"],
    [["procedures", "--subject", "S-1"], "name no subject"],
    [["procedures", "--surface", "inner"], "request or external"],
    [["subject", "x"], "whole number"],
    [["subject", "9007199254740993"], "2^53 - 1"],
    [["requests", "--surface", "external"], "unknown option"],
  ])("%j are refused in words, with status 2", (argv, words) =>
    withService({}, async (bench) => {
      const { status, stderr } = await bench.cli(["service", ...argv]);
      expect(status).toBe(2);
      expect(stderr).toContain(words);
      expect(bench.simulator.tally().received).toBe(0);
    }),
  );
});

describe("patients' data", () => {
  it("are shown with --show-phi once that is in the audit, without values", () =>
    withLedger(({ pool, url }) =>
      withService({ database: url }, async (bench) => {
        await store(bench);
        const { status, stdout } = await bench.cli([
          "service",
          "subjects",
          "--show-phi",
          "--subject",
          PATIENT.code,
        ]);
        expect(status).toBe(0);
        for (const value of PERSON) expect(stdout).toContain(value);
        await bench.cli(["service", "subject", "4711", "--show-phi"]);
        const { rows } = await pool.query("select action, target, detail from audit order by id");
        expect(rows).toEqual([
          { action: "show-phi", target: "service subjects", detail: { filters: ["code"] } },
          { action: "show-phi", target: "service subject 4711", detail: {} },
        ]);
      }),
    ));

  it("are refused while there is no ledger to record it in, and nothing is read", () =>
    withService({}, async (bench) => {
      const { status, stdout, stderr } = await bench.cli(["service", "subjects", "--show-phi"]);
      expect(status).toBe(4);
      expect(stdout).toBe("");
      expect(stderr).toContain("can't be recorded");
    }));
});
