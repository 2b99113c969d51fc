import { resolve } from "node:path";
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { readSimulatorFiles } from "../../src/cli/commands/simulator.ts";
import { PUBLIC_PATHS } from "../../src/core/service-catalogue.ts";
import { openApiDocument } from "../../src/simulator/description.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { runCli } from "../cli/run-cli.ts";
import { API_TOKEN, STORE, withSimulator } from "../simulator/with-simulator.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { type ConfigParts, type Site, withSite } from "../support/with-daemon.ts";
import { Contract } from "./openapi-contract.ts";
import { type RecordingProxy, startRecordingProxy } from "./openapi-proxy.ts";

const REQUESTS = "/api/procedure-requests";
const PROCEDURES = "/api/v1/external/procedures";
const contract = new Contract(openApiDocument());
const publicContract = new Contract(openApiDocument("public"));

const STRICT = resolve(import.meta.dirname, "../../config/simulator/strict-service.yaml");

/** Staff and devices as quick as a test wants them, whatever an example file says. */
const QUICK: SimulatorOptions = {
  staff: { reviewAfterMs: [50, 150], acceptanceRate: 1 },
  device: { startAfterMs: [20, 50], runMs: [50, 150], failureRate: 0 },
  refills: { auto: false },
};

/** What makes the client look for lost calls, ask for a new token, and send again. */
const FAULTS: NonNullable<SimulatorOptions["faults"]> = [
  { method: "POST", path: "/api/subjects", times: 1, after: "drop" },
  { method: "POST", path: REQUESTS, times: 1, after: "drop" },
  { method: "POST", path: REQUESTS, skip: 1, times: 1, status: 503 },
  { method: "POST", path: PROCEDURES, times: 1, after: "close" },
  { method: "POST", path: PROCEDURES, skip: 1, times: 1, before: "drop" },
  { method: "GET", path: "/api/**", skip: 9, times: 1, revokeToken: true },
];

/** A day of a lab at two facilities, one on each surface: storage, retrieval, a rejection and a failure. */
async function playDay(site: Site): Promise<void> {
  const { control } = site.simulator;
  control.subscribe(({ kind, id, status }) => {
    const request = kind === "request" ? control.findRequest(id) : undefined;
    if (request?.subjectCode === "S-NO" && status === "PENDING") control.rejectRequest(id);
    const procedure = kind === "procedure" ? control.findProcedure(id) : undefined;
    if (procedure?.subjectCode === "S-BAD" && status === "IN_PROGRESS") control.failProcedure(id);
  });
  const day = (facility: string) => [
    { facility, number: `${facility}-1`, subject: `S-${facility}-1` },
    { facility, number: `${facility}-2`, subject: `S-${facility}-2` },
    { facility, number: `${facility}-3`, subject: "S-BAD", labels: [`V-${facility}-3`] },
  ];
  await site.start();
  await site.drop("csv", "day.csv", labCsv([...day("NORTH"), ...day("SOUTH")]));
  await site.drop("hl7", "no.hl7", omlO33({ number: "N-9", facility: "NORTH", subject: "S-NO" }));
  await site.waitForOrders(7);
  const retrievals = ["NORTH", "SOUTH"].map((facility) =>
    omlO33({
      number: `${facility}-R`,
      facility,
      operation: "CRYO-RETRIEVE",
      subject: `S-${facility}-1`,
      labels: [`V-${facility}-1`],
    }),
  );
  await site.drop("hl7", "back.hl7", retrievals.join(""));
  await site.waitForOrders(9);
}

/** Everything that a person may ask of the service by commands. */
async function readAll(site: Site): Promise<void> {
  const { control } = site.simulator;
  const [subject] = control.subjects();
  const [asked] = control.requests();
  const procedure = control.procedures().find(({ requestId }) => requestId !== null);
  await readPublic(site, [
    "requests --status ACCEPTED",
    `request ${asked?.id}`,
    `procedure ${procedure?.id}`,
    "procedures --all",
    `subject ${subject?.id}`,
    `containers --subject ${subject?.code}`,
  ]);
}

/** What there is to ask of any edition; `more` are further commands. */
async function readPublic(site: Site, more: readonly string[] = []): Promise<void> {
  const { control } = site.simulator;
  const [subject] = control.subjects();
  const outside = control.procedures().find(({ requestId, type }) => requestId === null && type !== "REFILL");
  const stored = control.containers().find(({ slot }) => slot !== undefined);
  const commands = [
    ...more,
    "subjects --facility NORTH",
    `subject ${subject?.id}`,
    "procedures --surface external --facility SOUTH --type STORE",
    `procedure ${outside?.id} --surface external`,
    `containers --surface external --subject ${stored?.subjectCode}`,
    `location ${stored?.id}`,
    "storage",
    `inventory ${stored?.slot?.storageId}`,
  ];
  for (const command of commands) {
    const argv = ["service", ...command.split(" "), "--json", "--config", site.configFile];
    const { status, stdout, stderr } = await runCli(argv);
    expect({ command, status, stdout: status === 0 ? "" : stdout, stderr }).toEqual({
      command,
      status: 0,
      stdout: "",
      stderr: "",
    });
  }
  const check = await runCli(["check", "--config", site.configFile]);
  // The database of the tests is quick rather than durable, which the check rightly finds fault with.
  expect(check.stdout).toContain("✓ service, error shape");
}

/** Runs a site whose every call to the service passes the proxy. */
async function throughProxy(
  simulator: SimulatorOptions,
  { service = {}, ...parts }: ConfigParts & { readonly service?: ConfigParts },
  use: (site: Site, proxy: RecordingProxy) => Promise<void>,
): Promise<void> {
  const proxy = await startRecordingProxy();
  const { auth, ...more } = service;
  const config = {
    ...parts,
    service: {
      baseUrl: proxy.url,
      auth: { tokenUrl: `${proxy.url}${simulator.tokens?.path ?? "/oauth/token"}`, ...(auth as ConfigParts) },
      ...more,
    },
    facilities: { NORTH: 12, SOUTH: { id: 13, surface: "external" } },
  };
  try {
    await withSite({ simulator, config }, async (site) => {
      proxy.target = site.simulator.url;
      await use(site, proxy);
    });
  } finally {
    await proxy.close();
  }
}

const problemsIn = ({ requests, exchanges }: RecordingProxy, by = contract) => [
  ...new Set([
    ...requests.flatMap((each) => by.checkRequest(each)),
    ...exchanges.flatMap((each) => by.checkAnswer(each)),
  ]),
];

describe("the client and the OpenAPI description of the service", () => {
  test("agree on every call of a day on both surfaces, with lost answers and every command that reads", () =>
    throughProxy(
      { faults: FAULTS },
      { service: { timeout: "1500ms", reconcile: { giveUpAfter: "2s" } } },
      async (site, proxy) => {
        await playDay(site);
        expect(site.simulator.tally().doubled).toEqual([]);
        await readAll(site);
        // Of all that went over the wire, one thing is no part of the description: the fault in the script.
        expect(problemsIn(proxy)).toEqual([`POST ${REQUESTS}: status 503 is not described`]);
        const met = new Set(proxy.requests.map((each) => contract.operationOf(each)));
        expect(contract.operations().filter((operation) => !met.has(operation))).toEqual([]);
      },
    ));

  test("agree on following refills", () => {
    const simulator: SimulatorOptions = { staff: { auto: false }, device: { auto: false } };
    const config = { refills: { facilities: ["NORTH", "SOUTH"], every: "100ms" } };
    return throughProxy(simulator, config, async (site, proxy) => {
      const { control } = site.simulator;
      for (const facilityId of [12, 13]) {
        const tank = control.storages().find((each) => each.facilityId === facilityId)?.id ?? 0;
        const { id } = control.createRefill(tank);
        control.startProcedure(id);
        control.completeProcedure(id);
      }
      await site.start();
      await eventually(
        async () => (await site.pool.query("select 1 from refills where reached = 3")).rowCount === 2,
      );
      expect(problemsIn(proxy)).toEqual([]);
      const met = new Set(proxy.requests.map((each) => contract.operationOf(each)));
      expect(met).toContain("GET /api/storage");
      expect(met).toContain(`GET ${PROCEDURES}`);
    });
  });

  test("agree on every call of a day at a service of the public edition, with lost answers and commands that read", () => {
    const lost: SimulatorOptions["faults"] = [
      { method: "POST", path: PUBLIC_PATHS.subjects, times: 1, after: "drop" },
      { method: "POST", path: PROCEDURES, times: 1, after: "close" },
      { method: "POST", path: PROCEDURES, skip: 1, times: 1, before: "drop" },
    ];
    const behaviour = { callsPerMinute: "unlimited" } as const;
    return throughProxy(
      { edition: "public", behaviour, faults: lost },
      {
        service: {
          ...{ surface: "external", paths: PUBLIC_PATHS, auth: { method: "post" } },
          ...{ timeout: "1500ms", reconcile: { giveUpAfter: "2s" } },
        },
      },
      async (site, proxy) => {
        await playDay(site);
        expect(site.simulator.tally().doubled).toEqual([]);
        await readPublic(site);
        expect(problemsIn(proxy, publicContract)).toEqual([]);
        const met = new Set(proxy.requests.map((each) => publicContract.operationOf(each)));
        expect(publicContract.operations().filter((operation) => !met.has(operation))).toEqual([]);
      },
    );
  });

  test("agree on what is asked of a service that decides all that is open in another way", () => {
    const simulator = readSimulatorFiles([STRICT], {});
    const service = {
      auth: { method: "post", scope: "storage", audience: "urn:storage" },
      externalAuth: { apiToken: API_TOKEN },
      perPage: 50,
      listEnvelope: { key: "entries" },
      listEnvelopes: { externalProcedures: "array", externalContainers: "array" },
      unpaged: ["externalProcedures", "externalContainers"],
      filters: ["status", "facilityId", "subjectCode", "code", "type"],
    };
    return throughProxy({ ...simulator, ...QUICK }, { service }, async (site, proxy) => {
      await playDay(site);
      const calls = proxy.requests.filter(({ target }) => target.startsWith("/api/"));
      expect(calls.length).toBeGreaterThan(20);
      expect(calls.flatMap((each) => contract.checkRequest(each))).toEqual([]);
    });
  });

  test.each([
    ["a path", { target: "/api/procedure-requests/1/notes" }, "not in the description"],
    ["a query parameter", { target: "/api/subjects?colour=red" }, "parameter colour is not described"],
    ["a page that is no number", { target: "/api/subjects?page=two" }, "parameter page: "],
    ["a member of a body", { method: "POST", target: REQUESTS, body: { ...STORE, priority: 1 } }, "priority"],
    ["a container without its label", { method: "POST", target: REQUESTS, body: unlabelled() }, "required"],
    ["a call without a credential", { target: "/api/subjects", token: "" }, "no credential"],
  ])("disagree about %s that is not described", (_what, planted, words) =>
    withSimulator({}, async ({ simulator }) => {
      const proxy = await startRecordingProxy();
      proxy.target = simulator.url;
      const { method = "GET", body, token = API_TOKEN } = planted as Planted;
      await request(`${proxy.url}${planted.target}`, {
        method,
        headers: {
          ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const problems = proxy.requests.flatMap((each) => contract.checkRequest(each));
      expect(problems.join("\n")).toContain(words);
      await proxy.close();
    }),
  );
});

interface Planted {
  readonly method?: "GET" | "POST";
  readonly target: string;
  readonly body?: unknown;
  readonly token?: string;
}

function unlabelled(): unknown {
  return { ...STORE, sampleContainers: [{ description: "straw" }] };
}
