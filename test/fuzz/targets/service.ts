import { pino } from "pino";
import type { Clock } from "../../../src/core/clock.ts";
import { Masked, phi } from "../../../src/core/phi.ts";
import { createServiceClient, type ServiceClient } from "../../../src/service/client.ts";
import { readHeaders } from "../../../src/service/http/answer.ts";
import type { Wire, WireResult } from "../../../src/service/http/wire.ts";
import { serviceSettings } from "../../support/service-settings.ts";
import { type InputForm, piecesIn } from "../mutate.ts";
import { expectFailure, expectThat, type Target } from "../target.ts";

const FORM: InputForm = {
  delimiters: ["\n", ",", ":", '"', "{", "}", "[", "]"],
  tokens: piecesIn(
    '"id":5¦"id":"5"¦"id":9007199254740993¦"id":null¦"id":-1¦"id":1e3¦"id":5.5¦' +
      '"code":"S-1"¦"facilityId":12¦"facility":{"id":12}¦"data":[¦"items":[¦' +
      '"meta":{"page":1,"perPage":10,"total":1}¦"total":99¦' +
      '"error":{"code":"CONFLICT","message":"x"}¦"errors":[]¦"success":false¦' +
      '"status":"PENDING"¦"status":"done"¦"type":"storage"¦' +
      '"sampleContainers":[{"id":7,"sampleContainerId":"V-1"}]¦"sampleContainerIds":[7]¦' +
      '"location":{"canister":"C1","cane":3}¦"__proto__":{"id":1}¦"constructor":1¦' +
      '"toString":null¦"\\u0000"¦"\\ud800"¦"\\u005f_proto__"¦null¦true¦[]¦{}¦1e400¦-0¦' +
      "content-type: application/json; charset=utf-16\n¦content-type: text/html\n¦retry-after: 120, 120\n¦" +
      "retry-after: -5\n¦date: Fri, 27 Nov 2026 10:00:00 GMT\n¦ratelimit: limit=10, remaining=0, reset=5\n¦" +
      "ratelimit-policy: 10;w=60\n¦x-ratelimit-remaining: 0\n¦200\n¦201\n¦204\n¦400\n¦401\n¦404\n¦409\n¦" +
      "422\n¦429\n¦500\n¦503\n¦\n====\n¦findSubject\n¦getRequest\n¦createRequest\n¦register\n¦containers\n¦" +
      "getLocation\n¦refills\n¦requests\n¦procedures\n¦inventory\n¦tanks\n¦subjects\n¦token\n",
  ),
  brackets: [
    ["[", "]"],
    ['{"data":', "}"],
    ['{"a":', "}"],
    ['"', '"'],
  ],
};

const never = new AbortController().signal;
const SUBJECT = {
  code: phi("S-1"),
  firstName: phi("Anna"),
  lastName: phi("Beispiel"),
  dateOfBirth: phi("1980-01-01"),
};
const RETRIEVAL = {
  ...{
    operation: "RETRIEVAL" as const,
    facilityId: 12,
    subjectId: 5,
    subjectCode: phi("S-1"),
    mark: "K7Q2M9",
  },
  ...{ containers: [{ id: 7, label: "V-1", description: "" }], sensitive: [phi("S-1")] },
};

/** What is asked of the client, by the first line of an input. */
const QUESTIONS: Readonly<Record<string, (client: ServiceClient) => Promise<unknown>>> = {
  findSubject: (client) => client.findSubject(12, phi("S-1"), never),
  getSubject: (client) => client.getSubject(5, never),
  register: (client) => client.registerSubject(12, SUBJECT, never),
  createRequest: (client) => client.create("request", RETRIEVAL as never, never),
  createProcedure: (client) => client.create("external", RETRIEVAL as never, never),
  getRequest: (client) => client.getRequest(5, never),
  getProcedure: (client) => client.getProcedure("request", 5, never),
  getExternal: (client) => client.getProcedure("external", 5, never),
  requests: (client) => client.readRequests(12, [5, 6, 9], never),
  procedures: (client) => client.readProcedures({ surface: "external", facilityId: 12, ids: [5, 6] }, never),
  containers: (client) =>
    client.listSubjectContainers({ surface: "request", subjectCode: phi("S-1") }, never),
  someContainers: (client) => client.readContainers({ ids: new Set([7, 8]), mostPages: 5 }, never),
  getLocation: (client) => client.getLocation(7, never),
  inventory: (client) =>
    client.findInInventory({ storageId: 3, facilityId: 12, ids: new Set([7, 8]), singleCalls: 50 }, never),
  wholeInventory: (client) => client.getInventory(3, never),
  refill: (client) => client.getRefill({ surface: "request", facilityId: 12, id: 5 }, never),
  tanks: (client) => client.listTanks(12, never),
  subjects: async (client) => {
    const pages: unknown[] = [];
    for await (const page of client.readList(
      { list: "subjects", surface: "request", filters: { code_like: "S" } },
      never,
    ))
      pages.push(page);
    return pages;
  },
  record: (client) => client.readRecord("subject", "request", 5, never),
  token: (client) => client.checkToken(never),
};

const EXAMPLES = [
  'findSubject\n200\ncontent-type: application/json\n\n[{"id":5,"code":"S-1","facilityId":12,"firstName":"Anna","dateOfBirth":"1980-01-01T00:00:00Z"}]',
  'findSubject\n200\ncontent-type: application/json\n\n{"data":[{"id":5,"code":"S-1","facility":{"id":12}}],"meta":{"page":1,"perPage":10,"total":1}}',
  'getSubject\n200\ncontent-type: application/json\ndate: Fri, 27 Nov 2026 10:00:00 GMT\n\n{"id":5,"code":"S-1","facilityId":12}',
  'register\n201\n\n{"data":{"id":5,"code":"S-1","facilityId":12}}',
  'createRequest\n201\n\n{"id":5,"type":"RETRIEVAL","status":"PENDING","facilityId":12,"subjectCode":"S-1"}',
  'createRequest\n422\n\n{"error":{"code":"VALIDATION_ERROR","message":"code belongs to \'Jane Roe\'","details":[{"field":"code"}]}}',
  'createRequest\n429\nretry-after: 3\nratelimit: limit=10, remaining=0, reset=5\n\n{"code":"TOO_MANY_REQUESTS"}',
  'createProcedure\n201\n\n{"id":5,"code":"P-5","type":"retrieval","status":"CREATED","sampleContainers":[{"id":7,"name":"V-1"}]}',
  'getRequest\n200\n\n{"id":5,"status":"ACCEPTED","procedureId":9,"sampleContainers":[{"sampleContainerId":"V-1","description":"serum"}]}',
  'getProcedure\n200\n\n{"id":5,"status":"COMPLETED","sampleContainerIds":[7,8],"storageId":3,"completedAt":"2026-11-27T10:00:00Z"}',
  'getExternal\n200\n\n{"id":5,"status":"FAILED","error":"tube of Anna broke","sampleContainers":[{"id":7,"name":"V-1","location":{"storage":{"id":3,"name":"Tank"},"canister":"C1"}}]}',
  'requests\n200\n\n{"items":[{"id":5,"status":"PENDING"},{"id":6,"status":"ACCEPTED"},{"id":9,"status":"REJECTED","createdAt":"2026-11-27T10:00:00Z"}],"total":3}',
  'requests\n200\n\n[{"id":5,"status":"PENDING"}]\n====\n200\n\n[]\n====\n404\n\n{"code":"NOT_FOUND"}',
  'procedures\n200\n\n{"data":{"items":[{"id":5,"status":"IN_PROGRESS"},{"id":6,"status":"COMPLETED"}]}}',
  'containers\n200\n\n[{"id":7,"sampleContainerId":"V-1","subjectCode":"S-1","storedAt":null},{"id":8,"name":"V-2","subject":{"code":"S-1","id":5}}]',
  'someContainers\n200\n\n[{"id":7,"sampleContainerId":"V-1"},{"id":8,"sampleContainerId":90071992547409931}]',
  'getLocation\n200\n\n{"sampleContainerId":7,"storageName":"Tank 1","canister":"C1","cane":3,"position":"A1","storedAt":"2026-11-27T10:00:00Z"}',
  'inventory\n200\n\n{"canisters":[{"name":"C1","canes":[{"name":"3","containers":[{"id":7,"position":"A1","storedAt":"2026-11-27T10:00:00Z"}]}]}]}',
  'inventory\n200\n\n{"data":[{"id":7,"canister":"C1","cane":"3","position":1}],"meta":{"page":1,"perPage":50,"total":1}}',
  'wholeInventory\n200\n\n{"C1":{"3":[7,8]}}',
  'refill\n200\n\n{"id":5,"status":"CREATED","storageId":3,"createdAt":"2026-11-27T10:00:00Z"}',
  'tanks\n200\n\n[{"id":3,"name":"Tank 1","facilityId":12}]',
  'subjects\n200\n\n[{"id":1,"code":"S-1"},{"id":2,"code":"T-1"}]\n====\n200\n\n[]',
  "record\n200\ncontent-type: text/html\n\n<html>gateway</html>",
  "getSubject\n503\nretry-after: Fri, 27 Nov 2026 10:00:40 GMT\ndate: Fri, 27 Nov 2026 10:00:00 GMT\n\n",
  'token\n200\n\n{"access_token":"t1","token_type":"Bearer","expires_in":"3600","scope":"a"}',
  'token\n400\n\n{"error":"invalid_client","error_description":"Unknown client \\"c\\""}',
];

/** More calls than any question here may need. */
const MOST_CALLS = 2_000;

/** An answer of the service, or several one after the other, to one question of the client. */
export async function makeTarget(): Promise<Target> {
  const logger = pino({ level: "silent" });
  return {
    name: "service",
    form: FORM,
    seeds: EXAMPLES.map((text) => Buffer.from(text)),
    run: async (input) => {
      const end = input.indexOf("\n");
      const question = input.toString("latin1", 0, end === -1 ? input.length : end);
      const ask = QUESTIONS[Object.hasOwn(QUESTIONS, question) ? question : "findSubject"];
      const wire = wireOf(answersOf(input.subarray(end + 1)));
      const client = createServiceClient(
        serviceSettings({
          ...{ baseUrl: "https://service.example", auth: question === "token" ? OAUTH : { apiToken: "t" } },
          ...{ externalAuth: { apiToken: "u" }, inventory: { use: "always", fields: {} as never } },
        }),
        { clock: new JumpingClock(), logger, random: () => 0.5, wire },
      );
      try {
        const result = await ask?.(client).catch((error: unknown) => ({ failed: expectFailure(error) }));
        const open = laidOpen(result);
        expectWhole(question, open, wire.given);
        return `${wire.calls} ${JSON.stringify(open)}`;
      } finally {
        await client.close();
      }
    },
  };
}

const OAUTH = {
  ...{ tokenUrl: "https://service.example/oauth/token", clientId: "c", clientSecret: "secret-of-the-client" },
  ...{ method: "post" as const, scope: "a b", assumedLifetimeMs: 300_000 },
};

type Answered = Extract<WireResult, { kind: "answer" }>;

/** Status, headers and body of each answer: as HTTP has them, without what no test needs. */
function answersOf(bytes: Buffer): Answered[] {
  const answers: Answered[] = [];
  for (let from = 0; from <= bytes.length; ) {
    const next = bytes.indexOf(BETWEEN, from);
    const to = next === -1 ? bytes.length : next;
    answers.push(answerOf(bytes.subarray(from, to)));
    from = next === -1 ? bytes.length + 1 : next + BETWEEN.length;
  }
  return answers;
}

const BETWEEN = "\n====\n";

function answerOf(bytes: Buffer): Answered {
  const split = bytes.indexOf("\n\n");
  const head = bytes.toString("latin1", 0, split === -1 ? bytes.length : split);
  const body = split === -1 ? Buffer.alloc(0) : bytes.subarray(split + 2);
  const [first = "", ...lines] = head.split("\n");
  const status = Number(/^[1-5]\d\d$/.exec(first)?.[0] ?? 200);
  const headers: Record<string, string[]> = Object.create(null);
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]*):(.*)$/.exec(line) ?? [];
    if (name !== "") headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value.trim()];
  }
  return { kind: "answer", status, headers: readHeaders(headers), body };
}

interface Played extends Wire {
  calls: number;
  /** What was answered so far. */
  readonly given: readonly Answered[];
}

/** Gives the answers one after the other, and the last one again and again. */
function wireOf(answers: readonly Answered[]): Played {
  const given = new Set<Answered>();
  const wire: Played & { readonly known: Set<Answered> } = {
    ...{ calls: 0, known: given },
    get given() {
      return [...given];
    },
    exchange: async () => {
      const answer = answers[Math.min(wire.calls, answers.length - 1)] as Answered;
      wire.calls += 1;
      expectThat(wire.calls <= MOST_CALLS, "a question that is asked without end");
      given.add(answer);
      return answer;
    },
    close: async () => {},
  };
  return wire;
}

/** Sleeps no longer than it takes to say so. */
class JumpingClock implements Clock {
  #ms = 0;

  now(): number {
    return Date.UTC(2026, 10, 27, 10) + this.#ms;
  }

  monotonic(): number {
    return this.#ms;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await undefined;
    signal?.throwIfAborted();
    this.#ms += Math.max(0, ms);
  }
}

/** A value as JSON has it, with what is masked. */
function laidOpen(value: unknown): unknown {
  if (value instanceof Masked) return value.reveal();
  if (value instanceof Map) return [...value].map(([key, each]) => [laidOpen(key), laidOpen(each)]);
  if (value instanceof Set) return [...value].map(laidOpen);
  if (value instanceof Error) return { error: expectFailure(value) };
  if (Array.isArray(value)) return value.map(laidOpen);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, laidOpen(each)]));
}

/** What the client itself says, and the service need not. */
const OWN_KEYS = new Set(["type", "status", "error", "failed", "remarks", "unchecked", "surface", "why"]);

/** What gives an answer as it is, for a person to look at. */
const AS_IT_IS = new Set(["subjects", "record"]);
/** What is asked for as a list, and nothing else. */
const LISTS = new Set(["containers", "tanks", "subjects"]);

/** Each text and number that the client makes of an answer stands in it as a whole, under a name that means it. */
function expectWhole(question: string, result: unknown, given: readonly Answered[]): void {
  if (question === "token") return;
  const texts = new Set<string>();
  const textsByKey = new Map<string, Set<string>>();
  for (const { body } of given) {
    for (const [key, text] of textsOf(body, AS_IT_IS.has(question))) {
      texts.add(text);
      textsByKey.set(key, (textsByKey.get(key) ?? new Set()).add(text));
    }
  }
  if (LISTS.has(question)) expectListed(result, given);
  const visit = (value: unknown, key: string): void => {
    if (OWN_KEYS.has(key)) return;
    if (typeof value === "string") {
      const isKnown =
        texts.has(value) ||
        (key === "dateOfBirth" && [...texts].some((text) => text.startsWith(`${value}T`)));
      expectThat(isKnown || /^SERVICE_/.test(value), `a text under ${key} that no answer holds`);
      if (NAMES.has(key)) expectThat(textsByKey.get(key)?.has(value) === true, `another text under ${key}`);
    } else if (typeof value === "number" && /^(?:id|.*Ids?|\d+)$/.test(key)) {
      expectThat(texts.has(String(value)) || ASKED.has(value), `a number under ${key} that no answer holds`);
    } else if (Array.isArray(value)) {
      for (const each of value) visit(each, key);
    } else if (typeof value === "object" && value !== null) {
      for (const [inner, each] of Object.entries(value)) visit(each, inner);
    }
  };
  visit(result, "");
}

/** Texts that have one name in all answers. */
const NAMES = new Set(["firstName", "lastName", "description", "createdAt", "startedAt", "completedAt"]);

/** What tells of an error, or has what is no entry, is no list. */
function expectListed(result: unknown, given: readonly Answered[]): void {
  const hasFailed = typeof result === "object" && result !== null && "failed" in result;
  for (const { status, body } of hasFailed ? [] : given) {
    const json = status === 200 ? parsed(body) : undefined;
    if (typeof json !== "object" || json === null) continue;
    const isOdd = (each: unknown) => typeof each !== "object" || each === null || Array.isArray(each);
    if (Array.isArray(json)) expectThat(!json.some(isOdd), "a list with what is no entry");
    else {
      const { error, success } = json as { readonly error?: unknown; readonly success?: unknown };
      expectThat(success !== false && typeof error !== "string", "a list that tells of an error");
      const inner = Object.values(json).flatMap((each) =>
        isOdd(each) ? [each] : [each, ...Object.values(each)],
      );
      expectThat(
        inner.some((each) => Array.isArray(each) || each === null),
        "a list without one",
      );
    }
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Ids that stand in the questions. */
const ASKED: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 9, 12]);

/** Texts and numbers of a JSON body in whatever encoding, each with its name; whole numbers as they are written. */
function textsOf(body: Buffer, isAsItIs: boolean): (readonly [key: string, text: string])[] {
  const read: (readonly [string, string])[] = [];
  for (const encoding of ["utf-8", "utf-16le", "utf-16be", "windows-1252"]) {
    try {
      const text = new TextDecoder(encoding).decode(body);
      JSON.parse(text, (key: string, value: unknown, { source = "" }: { readonly source?: string } = {}) => {
        read.push(["", key]);
        if (typeof value === "string") read.push([key, isAsItIs ? value : keepable(value)]);
        if (typeof value === "number") {
          const isRounded = !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
          read.push([key, source], [key, isRounded ? source : String(value)]);
        }
        return value;
      });
    } catch {
      // Not in this one.
    }
  }
  return read;
}

/** What no database takes is replaced. */
function keepable(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\t\n\r\x7f-\x9f]/gu, "\ufffd");
}
