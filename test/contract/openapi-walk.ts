import { request } from "undici";
import { DEFAULT_ORGANIZATION, type SimulatorOptions } from "../../src/simulator/options.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import type { Exchange } from "./openapi-contract.ts";

/** A second organization, whose data the walker must not see. */
export const ORGANIZATIONS: NonNullable<SimulatorOptions["organizations"]> = [
  DEFAULT_ORGANIZATION,
  {
    id: 2,
    name: "Other Clinics",
    facilities: [{ id: 21, name: "Elsewhere" }],
    clients: [{ clientId: "other", clientSecret: "other-secret", apiToken: "other-token" }],
  },
];

/** A call of the walk, and whether it is one that a well-behaved client might send. */
export interface Step extends Exchange {
  readonly isProper: boolean;
}

interface Ask {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string | undefined;
  /** A call that breaks a rule on purpose. */
  readonly isImproper?: boolean;
}

const EXTERNAL = "/api/v1/external";
const UNKNOWN_ID = 987_654;

/**
 * Walks once over every endpoint of a simulator, with staff and device played by hand: everything that should work, at
 * each status on the way, and each way of being refused.
 */
export async function walk(simulator: Simulator): Promise<Step[]> {
  const steps: Step[] = [];
  const { control } = simulator;
  const accessToken = await takeToken(simulator, steps);
  const ask = (method: string, target: string, { body, headers, token, isImproper }: Ask = {}) => {
    const bearer = token ?? accessToken;
    return call(simulator, steps, method, target, isImproper !== true, {
      headers: {
        ...(bearer === "" ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined || typeof body === "string" ? (body ?? "") : JSON.stringify(body),
    });
  };
  const idOf = async (creating: Promise<unknown>) => Number(((await creating) as { id: number | string }).id);
  const wrong = { isImproper: true };
  const description = "straw";

  const subject = {
    facilityId: 12,
    code: "S-001",
    firstName: "Ada",
    lastName: "Muster",
    dateOfBirth: "1988-04-23",
  };
  const subjectId = await idOf(ask("POST", "/api/subjects", { body: subject }));
  await ask("POST", "/api/subjects", { body: { ...subject, code: "S-002" } });
  const foreign = control.addSubject({ ...subject, facilityId: 21 });
  await ask("POST", "/api/subjects", { body: subject });
  await ask("POST", "/api/subjects", { body: { ...subject, facilityId: 21, code: "S-9" } });
  await ask("POST", "/api/subjects", { ...wrong, body: { code: "", dateOfBirth: "soon" } });
  await ask("POST", "/api/subjects", { ...wrong, body: "{" });
  await ask("POST", "/api/subjects", { ...wrong, body: "a", headers: { "content-type": "text/plain" } });
  await ask("POST", "/api/subjects", { ...wrong, body: "x".repeat(4_200_000) });
  await ask("GET", "/api/subjects?page=1&perPage=3&code=S-001");
  await ask("GET", "/api/subjects?page=0", wrong);
  await ask("GET", "/api/subjects?colour=red", wrong);
  await ask("GET", "/api/subjects", { ...wrong, token: "" });
  await ask("GET", `/api/subjects/${subjectId}`);
  await ask("GET", `/api/subjects/${foreign.id}`);

  const store = (label: string) => ({
    type: "STORE",
    facilityId: 12,
    subjectCode: "S-001",
    sampleContainers: [{ sampleContainerId: label, description }],
  });
  const requests = "/api/procedure-requests";
  const requestId = await idOf(ask("POST", requests, { body: store("V1") }));
  const look = async (id: number) => {
    await ask("GET", `${requests}/${id}`);
    await ask("GET", requests);
    const procedureId = control.findRequest(id)?.procedureId;
    if (procedureId !== null && procedureId !== undefined) await ask("GET", `/api/procedures/${procedureId}`);
    await ask("GET", "/api/procedures");
    await ask("GET", `${EXTERNAL}/procedures`);
  };
  await look(requestId);
  await ask("POST", requests, { body: store("V1") });
  await ask("POST", requests, { ...wrong, body: { ...store("V2"), type: "REFILL" } });
  await ask("POST", requests, { body: { ...store("V2"), facilityId: 21 } });
  await ask("POST", requests, { body: { ...store("V2"), subjectCode: "S-404" } });
  const stored = control.acceptRequest(requestId);
  const [containerId = 0] = stored.containerIds;
  await look(requestId);
  await ask("GET", `/api/sample-containers/${containerId}/location`);
  await ask("GET", "/api/sample-containers?subjectCode=S-001");
  control.startProcedure(stored.id);
  await look(requestId);
  control.completeProcedure(stored.id);
  await look(requestId);
  await ask("GET", `/api/sample-containers/${containerId}/location`);
  await ask("GET", "/api/sample-containers?subjectCode=S-001");
  await ask("GET", `/api/sample-containers/${UNKNOWN_ID}/location`);
  await ask("GET", "/api/storage?facilityId=12");
  await ask("GET", `/api/storage/${stored.storageId}/inventory`);
  await ask("GET", `/api/storage/${UNKNOWN_ID}/inventory`);

  const retrieval = {
    type: "RETRIEVAL",
    facilityId: 12,
    subjectCode: "S-001",
    sampleContainerIds: [containerId],
  };
  await ask("POST", requests, { body: { ...retrieval, subjectCode: "S-002" } });
  const failing = await idOf(ask("POST", requests, { body: retrieval }));
  await look(failing);
  control.failProcedure(control.acceptRequest(failing).id, "lid did not open");
  await look(failing);
  const rejected = await idOf(ask("POST", requests, { body: store("V3") }));
  control.rejectRequest(rejected);
  await look(rejected);
  const cancelled = await idOf(ask("POST", requests, { body: store("V4") }));
  control.cancelRequest(cancelled);
  await look(cancelled);
  await ask("GET", `${requests}/${UNKNOWN_ID}`);
  await ask("GET", `/api/procedures/${UNKNOWN_ID}`);

  const refill = control.createRefill(stored.storageId);
  control.startProcedure(refill.id);
  control.completeProcedure(refill.id);
  await ask("GET", `/api/procedures/${refill.id}`);
  await ask("GET", "/api/procedures");
  await ask("GET", "/api/storage");

  const outside = `${EXTERNAL}/procedures`;
  const externalStore = {
    type: "STORE",
    facilityId: 12,
    subjectCode: "S-001",
    sampleContainers: [
      { name: "E1", description },
      { name: "E2", description },
    ],
  };
  const externalId = await idOf(ask("POST", outside, { body: externalStore }));
  const [first = 0] = control.findProcedure(externalId)?.containerIds ?? [];
  const lookOutside = async () => {
    await ask("GET", `${outside}/${externalId}`);
    await ask("GET", `${outside}?facilityId=12&type=STORE`);
  };
  await lookOutside();
  control.acceptProcedure(externalId);
  await lookOutside();
  control.startProcedure(externalId);
  await lookOutside();
  control.completeProcedure(externalId);
  await lookOutside();
  await ask("GET", `${EXTERNAL}/sample-containers?subjectCode=S-001`);
  await ask("GET", `${EXTERNAL}/sample-containers?page=2`, wrong);
  await ask("GET", `${outside}?type=REFILL`);
  await ask("GET", `${outside}/${refill.id}`);
  await ask("GET", `${outside}/${UNKNOWN_ID}`);
  await ask("GET", outside, { ...wrong, token: "nonsense" });
  await ask("POST", outside, { body: { ...retrieval, sampleContainerIds: [first] } });
  await ask("POST", outside, { body: { ...retrieval, sampleContainerIds: [first], subjectCode: "S-002" } });
  await ask("POST", outside, { body: externalStore });
  await ask("POST", outside, { ...wrong, body: { ...externalStore, sampleContainers: [] } });
  return steps;
}

/** Asks for a token in every way that is taken, and in some that are not; gives the last good one. */
async function takeToken(simulator: Simulator, steps: Step[]): Promise<string> {
  const [client] = DEFAULT_ORGANIZATION.clients;
  const grant = { grant_type: "client_credentials" };
  const basic = `Basic ${Buffer.from(`${client?.clientId}:${client?.clientSecret}`).toString("base64")}`;
  const inForm = { client_id: client?.clientId ?? "", client_secret: client?.clientSecret ?? "" };
  const post = (form: Record<string, string>, isProper: boolean, authorization?: string) =>
    call(simulator, steps, "POST", "/oauth/token", isProper, {
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        ...(authorization === undefined ? {} : { authorization }),
      },
      body: new URLSearchParams(form).toString(),
    });
  await post(grant, true, basic);
  const answer = (await post({ ...grant, ...inForm }, true)) as { access_token: string };
  await post({ ...grant, ...inForm, client_secret: "wrong" }, false);
  await post({ ...grant, grant_type: "password" }, false, basic);
  await post({ ...inForm, ...grant, grant_type: "password" }, false);
  return answer.access_token;
}

async function call(
  simulator: Simulator,
  steps: Step[],
  method: string,
  target: string,
  isProper: boolean,
  { headers, body }: { readonly headers: Record<string, string>; readonly body: string },
): Promise<unknown> {
  const response = await request(new URL(target, simulator.url), {
    method: method as "GET",
    headers,
    ...(body === "" ? {} : { body }),
  });
  const responseBody = await response.body.text();
  steps.push({
    method,
    target,
    requestHeaders: headers,
    requestBody: body,
    status: response.statusCode,
    responseHeaders: response.headers,
    responseBody,
    isProper,
  });
  try {
    return JSON.parse(responseBody);
  } catch {
    return undefined;
  }
}
