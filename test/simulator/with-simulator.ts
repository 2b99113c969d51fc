import { Agent, request } from "undici";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape and assert what they find.
  readonly json: any;
}

export interface Ask {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly token?: string | null;
  readonly signal?: AbortSignal;
}

export interface Bench {
  readonly simulator: Simulator;
  /** Calls the simulator over HTTP, with the default API token unless asked otherwise. */
  readonly ask: (path: string, ask?: Ask) => Promise<Reply>;
  readonly post: (path: string, body: unknown, ask?: Ask) => Promise<Reply>;
}

/** The API token of the simulator's default organization. */
export const API_TOKEN = "simulator-api-token";

export const SUBJECT = {
  facilityId: 12,
  code: "S-001",
  firstName: "Ada",
  lastName: "Muster",
  dateOfBirth: "1988-04-23",
};

export const STORE = {
  type: "STORE",
  facilityId: 12,
  subjectCode: "S-001",
  sampleContainers: [
    { sampleContainerId: "V1", description: "straw" },
    { sampleContainerId: "V2", description: "straw" },
  ],
};

/** Staff and device off, so that only the test moves things. */
export const BY_HAND: SimulatorOptions = { staff: { auto: false }, device: { auto: false } };

/** Runs a test against a simulator that listens on a free port, and takes it down afterwards. */
export async function withSimulator(
  options: SimulatorOptions,
  test: (bench: Bench) => Promise<void>,
): Promise<void> {
  const simulator = await createSimulator({ ...BY_HAND, port: 0, ...options });
  const dispatcher = new Agent({ allowH2: false });
  const ask = async (
    path: string,
    { method = "GET", body, headers, token = API_TOKEN, signal }: Ask = {},
  ) => {
    const response = await request(new URL(path, simulator.url), {
      method: method as "GET",
      dispatcher,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, text, json: parseOrUndefined(text) };
  };
  const post = (path: string, body: unknown, more: Ask = {}) => ask(path, { ...more, method: "POST", body });
  try {
    await test({ simulator, ask, post });
  } finally {
    await dispatcher.destroy();
    await simulator.close();
  }
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
