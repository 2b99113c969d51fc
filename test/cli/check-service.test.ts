import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { PATIENT } from "./with-lab.ts";
import { type ServiceBench, serviceConfig, withService } from "./with-service.ts";

interface Check {
  readonly subject: string;
  readonly result: string;
  readonly detail: string;
  readonly hint: string | null;
  readonly wouldSet: string | null;
}

type Behaviour = NonNullable<SimulatorOptions["behaviour"]>;

/** Rows in every list but that of the containers. */
async function fill(bench: ServiceBench, requests = 12): Promise<void> {
  await bench.post("/api/subjects", { facilityId: 12, ...PATIENT });
  await bench.post("/api/subjects", { facilityId: 12, ...PATIENT, code: "S-2" });
  const ids = await Promise.all(
    Array.from({ length: requests }, async (_, n) => {
      const sampleContainers = [{ sampleContainerId: `V-${n}`, description: "straw" }];
      const body = { type: "STORE", facilityId: 12, subjectCode: PATIENT.code, sampleContainers };
      return Number((await bench.post("/api/procedure-requests", body)).id);
    }),
  );
  for (const id of ids.slice(0, 3)) bench.simulator.control.fulfilRequest(id);
}

interface Seen {
  readonly status: number;
  readonly of: (subject: string) => Check | undefined;
  readonly checks: readonly Check[];
  readonly text: string;
}

async function check(
  given: { readonly behaviour?: Behaviour; readonly service?: readonly string[]; readonly requests?: number },
  test: (seen: Seen, bench: ServiceBench) => void | Promise<void>,
): Promise<void> {
  await withService({ service: ["maxRequestsPerSecond: 1000", ...(given.service ?? [])] }, async (bench) => {
    if (given.requests !== 0) await fill(bench, given.requests);
    bench.simulator.control.behave(given.behaviour ?? {});
    const { status, stdout } = await bench.cli(["check", "--json"]);
    const { checks } = JSON.parse(stdout) as { checks: Check[] };
    const of = (subject: string) => checks.find((each) => each.subject === `service, ${subject}`);
    await test({ status, checks, of, text: stdout }, bench);
  });
}

describe("check finds out by reading", () => {
  it("what the specification leaves open, in a bounded number of calls, and changes nothing", () =>
    check({}, ({ status, of, text }, bench) => {
      expect(status).toBe(0);
      expect(of("list envelope")).toMatchObject({ result: "ok", wouldSet: "service.listEnvelope: array" });
      expect(of("filters")?.detail).toContain(
        "requests: id_to honoured, subjectCode honoured, createdAt_from honoured",
      );
      expect(of("ids")?.detail).toContain("as numbers (requests");
      expect(of("error shape")?.detail).toBe(
        "an unknown id is answered with status 404, JSON with the code NOT_FOUND",
      );
      expect(of("token lifetime")?.detail).toContain("not known");
      expect(of("clock")?.detail).toContain("agrees");
      const { received, journal, routes } = bench.simulator.tally();
      expect(received - 12 - 2).toBeLessThan(50);
      expect(journal).toHaveLength(12);
      expect(Object.keys(routes).filter((route) => route.startsWith("POST"))).toEqual(
        expect.not.arrayContaining(["POST /api/v1/external/procedures"]),
      );
      for (const value of [PATIENT.code, PATIENT.firstName, PATIENT.lastName])
        expect(text).not.toContain(value);
    }));

  it.each<[string, Behaviour, readonly string[], string | undefined]>([
    ["same places", {}, [], "shows places as containers' own locations do"],
    [
      "places in parts",
      { inventory: "tree" },
      [],
      "shows less of a place than the container's own location, or writes it another way, so places are asked for one by one; service.inventory: always takes what it shows",
    ],
    [
      "none",
      { inventory: "count" },
      [],
      "shows no places, or in a form that is not recognised, so places are asked for one by one",
    ],
    ["none yet", { inventoryLagMs: 3_600_000 }, [], "not known yet: nothing is in it"],
    ["what nobody asks for", {}, ["inventory: none"], undefined],
  ])("whether an inventory shows places: %s", (_what, behaviour, service, detail) =>
    check({ behaviour, service }, ({ status, of }) => {
      expect(status).toBe(0);
      expect(of("inventory")?.detail).toBe(detail);
    }),
  );

  it("that an inventory shows another place than the container's own location, by the fields of the site", () =>
    check({ service: ["inventory: { fields: { position: description } }"] }, ({ status, of }) => {
      expect(status).toBe(0);
      expect(of("inventory")).toMatchObject({
        result: "warning",
        detail: "shows another place than the container's own location, so places are asked for one by one",
        hint: expect.stringContaining("service.inventory.fields"),
      });
    }));

  it("that an inventory can't be read", () =>
    withService({ service: ["maxRequestsPerSecond: 1000"] }, async (bench) => {
      await fill(bench);
      bench.simulator.control.setFaults([{ path: "/api/storage/*/inventory", status: 403 }]);
      const { status, stdout } = await bench.cli(["check"]);
      expect(status).toBe(0);
      expect(stdout).toContain("can't be read (SERVICE_REFUSED), so places are asked for one by one");
    }));

  it("how lists are wrapped, and what would say so", () =>
    check({ behaviour: { listEnvelope: "results" } }, ({ status, of }) => {
      expect(status).toBe(0);
      expect(of("list envelope")).toMatchObject({
        detail: 'under "results" (requests, procedures, subjects, containers, storage)',
        wouldSet: "service.listEnvelope: { key: results }",
      });
    }));

  it("that the configuration names another wrapping than the lists have", () =>
    check({ behaviour: { listEnvelope: "items" }, service: ["listEnvelope: data"] }, ({ status, of }) => {
      expect(status).toBe(1);
      expect(of("list envelope")).toMatchObject({
        result: "failed",
        hint: "Set service.listEnvelope: items, or leave it at auto.",
      });
    }));

  it("a cap below what is asked for", () =>
    check({ behaviour: { maxPerPage: 5 } }, ({ of }) => {
      expect(of("page size")?.detail).toContain("at most 5 a page (requests)");
      expect(of("page size")?.wouldSet).toBe("service.perPage: 5");
    }));

  it("a larger cap than what is asked for, by a large page", () =>
    check({ behaviour: { maxPerPage: 20 }, service: ["perPage: 10"], requests: 25 }, ({ of }) => {
      expect(of("page size")?.detail).toContain("at most 20 a page (requests)");
      expect(of("page size")?.wouldSet).toBe("service.perPage: 20");
    }));

  it("that large pages are refused", () =>
    check(
      { behaviour: { maxPerPage: 10, overPerPage: "refuse" }, service: ["perPage: 10"], requests: 12 },
      ({ status, of }) => {
        expect(status).toBe(0);
        expect(of("page size")?.detail).toContain("no cap up to 10 a page, 1000 is refused (requests)");
      },
    ));

  it("that pages of the configured size are refused", () =>
    check({ behaviour: { maxPerPage: 10, overPerPage: "refuse" } }, ({ status, of }) => {
      expect(status).toBe(0);
      expect(of("page size")?.detail).toContain("perPage 100 is refused");
      expect(of("page size")?.wouldSet).toContain("service.perPage: 10");
    }));

  it("filters that are ignored", () =>
    check({ behaviour: { filters: ["subjectCode", "facilityId"] } }, ({ of }) => {
      expect(of("filters")?.detail).toContain(
        "requests: id_to ignored, subjectCode honoured, createdAt_from ignored",
      );
      expect(of("filters")?.wouldSet).toBeNull();
    }));

  it("filters that are refused, and which would be left", () =>
    check(
      { behaviour: { filters: ["subjectCode", "facilityId", "code"], otherFilters: "refuse" } },
      ({ status, of }) => {
        expect(status).toBe(0);
        expect(of("filters")?.detail).toContain("id_to refused");
        expect(of("filters")?.wouldSet).toBe("service.filters: [subjectCode, code]");
      },
    ));

  it("ids that are texts, and words that the specification doesn't know", () =>
    check(
      {
        behaviour: {
          ids: "string",
          words: { COMPLETED: "DONE" },
        },
      },
      ({ status, of }) => {
        expect(status).toBe(0);
        expect(of("ids")?.detail).toContain("as texts of digits (requests");
        expect(of("unknown statuses")).toMatchObject({ result: "warning", detail: "DONE (procedures)" });
      },
    ));

  it("no unknown status once the configuration says what it means", () =>
    check(
      { behaviour: { words: { COMPLETED: "DONE" } }, service: ["words: { status: { done: COMPLETED } }"] },
      ({ of }) => expect(of("unknown statuses")).toBeUndefined(),
    ));

  it("the shape of an error, whatever it is", () =>
    check({ behaviour: { errorBody: "html" } }, ({ status, of }) => {
      expect(status).toBe(0);
      expect(of("error shape")).toMatchObject({ result: "warning" });
    }));

  it("that nothing is known while a list is empty", () =>
    check({ requests: 0 }, ({ status, of }) => {
      expect(status).toBe(0);
      expect(of("filters")?.detail).toContain("requests: not known yet: the list is empty");
      expect(of("page size")?.detail).toContain("not known yet: the list is empty (requests");
    }));

  it("the external surface's lists where facilities use that, and whether paging is refused there", () =>
    check({ behaviour: { externalPaging: "refuse" }, service: ["surface: external"] }, ({ status, of }) => {
      expect(status).toBe(0);
      expect(of("list envelope")?.detail).toContain("external procedures");
      expect(of("page size")?.detail).toContain(
        "without paging, the list comes as a whole (external procedures",
      );
      expect(of("ids")?.detail).toContain("subjects, external procedures");
    }));

  it("that the request surface has no use where subjects are left to the service", () =>
    check({ service: ["surface: external", "subjects: none"] }, ({ of }) => {
      expect(of("ids")?.detail).not.toContain("subjects");
    }));

  it("that subjects can't be looked up for orders of the external surface, by its credential or at all", async () => {
    const service = ["surface: external"];
    await check({ behaviour: { credentials: "separate" }, service }, ({ status, of }) => {
      expect(status).toBe(4);
      expect(of("subjects")).toMatchObject({
        result: "failed",
        hint: expect.stringContaining("service.subjects: none"),
      });
    });
    await withService({ service }, async (bench) => {
      bench.simulator.control.setFaults([{ path: "/api/subjects", status: 404 }]);
      const { status, stdout } = await bench.cli(["check"]);
      expect(status).toBe(4);
      expect(stdout).toContain(
        "✗ service, subjects: can't be read: GET /api/subjects: the service doesn't have it, status 404",
      );
      expect(stdout).toContain("Check service.baseUrl");
    });
  });

  it("no fault in a service that lists subjects by code only", () =>
    withService({}, async (bench) => {
      // Asked with paging, with less of it and with none; then by code.
      bench.simulator.control.setFaults([{ path: "/api/subjects", times: 3, status: 422 }]);
      const { status, stdout } = await bench.cli(["check"]);
      expect(stdout).toContain(
        "! service, subjects: can't be read: GET /api/subjects: the service refused the call, status 422",
      );
      expect(status).toBe(0);
    }));

  it("a facility of which the service shows nothing, and says nothing of one that it shows", () =>
    withService({}, async (bench) => {
      const file = join(bench.folder, "c.yaml");
      const text = await readFile(file, "utf8");
      await writeFile(file, text.replace("{ NORTH: 12 }", "{ NORTH: 12, EAST: 99 }"));
      const { status, stdout } = await bench.cli(["check"]);
      expect(status).toBe(0);
      expect(stdout).toContain("! facility EAST: the service shows neither");
      expect(stdout).not.toContain("facility NORTH");
      expect(stdout).toContain("All is well but for what is marked with !.");
    }));
});

describe("check says the token's lifetime", () => {
  it.each([
    ["number", "1h, as the token endpoint says"],
    ["absent", "the token endpoint does not say; 7m is assumed"],
  ] as const)("shown as %s", (expiresIn, words) =>
    withService({ simulator: { tokens: { expiresIn, lifetimeMs: 3_600_000 } } }, async (bench) => {
      const { readFile, writeFile } = await import("node:fs/promises");
      const file = `${bench.folder}/c.yaml`;
      const oauth = `auth: { tokenUrl: "${bench.simulator.url}/oauth/token", clientId: cryobridge, clientSecret: "\${TOKEN}", assumedLifetime: 7m }`;
      await writeFile(
        file,
        (await readFile(file, "utf8")).replace(/auth: .*/, () => oauth),
      );
      const { stdout } = await bench.cli(["check"], { env: { TOKEN: "simulator-secret" } });
      expect(stdout).toContain(`✓ service, token lifetime: ${words}`);
    }),
  );
});

describe("check of a service that limits how often it is asked", () => {
  /** Time passes at once wherever somebody waits for it. */
  function leapingClock() {
    let aheadMs = 0;
    const pauses: number[] = [];
    const sleep = async (ms: number) => {
      pauses.push(ms);
      aheadMs += ms;
    };
    const clock = {
      now: () => systemClock.now() + aheadMs,
      monotonic: () => systemClock.monotonic() + aheadMs,
      sleep,
    };
    return { clock, pauses };
  }

  const OAUTH = (url: string) =>
    `auth: { tokenUrl: "${url}/oauth/token", clientId: cryobridge, clientSecret: simulator-secret }`;

  it.each([
    [30, true],
    [90, false],
  ])("waits for %i s when it asks for that: %s", (retryAfter, isAwaited) =>
    withService(
      { simulator: { faults: [{ path: "/api/procedures", times: 1, status: 429, retryAfter }] } },
      async (bench) => {
        const { clock, pauses } = leapingClock();
        const { status, stderr } = await bench.cli(["check"], { clock });
        expect(status).toBe(isAwaited ? 0 : 4);
        expect(stderr).toContain("asked too often (status 429): waiting for as long as it asks");
        expect(pauses.some((ms) => ms >= retryAfter * 1_000)).toBe(isAwaited);
      },
    ),
  );

  it("waits for a token, too, also when the endpoint doesn't say for how long", () =>
    withService(
      {
        simulator: {
          faults: [
            { path: "/oauth/token", times: 1, status: 429, retryAfter: 20 },
            { path: "/oauth/token", times: 1, status: 429 },
          ],
        },
      },
      async (bench) => {
        const file = join(bench.folder, "c.yaml");
        const text = await readFile(file, "utf8");
        await writeFile(file, text.replace(/auth: .*/, OAUTH(bench.simulator.url)));
        const { clock, pauses } = leapingClock();
        const { status, stdout } = await bench.cli(["check"], { clock });
        expect({ status, stdout }).toMatchObject({ status: 0 });
        expect(stdout).toContain("✓ token: ");
        expect(pauses).toContain(20_000);
      },
    ));
});

/** A gateway before the service that puts each list among others. */
async function withWrapping(url: string, test: (url: string) => Promise<void>): Promise<void> {
  const gateway = createServer((request, response) => {
    void fetch(new URL(request.url ?? "/", url), {
      headers: { authorization: request.headers.authorization ?? "" },
    }).then(async (answer) => {
      const json: unknown = await answer.json();
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify(Array.isArray(json) ? { rows1: json, notes: [] } : json));
    });
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  try {
    await test(`http://127.0.0.1:${(gateway.address() as AddressInfo).port}`);
  } finally {
    gateway.closeAllConnections();
    await new Promise((resolve) => gateway.close(resolve));
  }
}

it("check names the lists of an answer that it can't read, and is well once the setting that it asks for is there", () =>
  withService({}, async ({ simulator, folder, cli }) => {
    await withWrapping(simulator.url, async (url) => {
      const wrapped = async (...lines: string[]) => {
        await writeFile(join(folder, "c.yaml"), serviceConfig(url, undefined, lines));
        const { stdout } = await cli(["check", "--json"]);
        return (JSON.parse(stdout) as { checks: Check[] }).checks.filter(({ subject }) =>
          subject.startsWith("service"),
        );
      };
      const [refused] = await wrapped();
      expect(refused?.detail).toContain("the answer's lists are `rows1`, `notes`");
      expect(refused?.hint).toContain("`service.listEnvelope: { key: name }`");
      const set = await wrapped("listEnvelope: { key: rows1 }");
      expect(set.length).toBeGreaterThan(5);
      expect(set.filter(({ result }) => result === "failed")).toEqual([]);
    });
  }));
