import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findProgram } from "../needs.ts";

/** A field as python-hl7 reads it: repetitions of components of subcomponents, escapes decoded. */
export type PythonField = readonly (readonly (readonly string[])[])[];

export interface PythonSegment {
  readonly name: string;
  /** From field 1 on; those of MSH, FHS and BHS begin with the delimiters. */
  readonly fields: readonly PythonField[];
}

interface Envelope {
  readonly header: PythonSegment | null;
  readonly trailer: PythonSegment | null;
}
export interface PythonBatch extends Envelope {
  readonly messages: readonly (readonly PythonSegment[])[];
}
export type PythonReading =
  | { readonly kind: "message"; readonly segments: readonly PythonSegment[] }
  | ({ readonly kind: "batch" } & PythonBatch)
  | ({ readonly kind: "file"; readonly batches: readonly PythonBatch[] } & Envelope);

/** How python-hl7's server deals with one message. */
export interface PythonStep {
  /** MSA-1 of the answers that are sent at once, AA alone unless given. */
  readonly codes?: readonly string[];
  /** MSA-1 of answers that are sent when the test says so. */
  readonly heldCodes?: readonly string[];
  /** ERR-3 of the answers. */
  readonly condition?: string;
  /** Whether the connection is closed after the answers. */
  readonly thenClose?: boolean;
}

/** What a server met so far. */
export interface PythonLog {
  /** The messages that came, repeats included, and over which connection, counted from 1. */
  readonly heard: readonly {
    readonly connection: number;
    readonly text: string;
    readonly segments: readonly PythonSegment[];
  }[];
  /** Connections that have ended. */
  readonly closed: readonly number[];
}

/** A server of python-hl7 that takes results. */
export interface PythonServer {
  readonly port: number;
  log(): Promise<PythonLog>;
  /** Sends the answers that were held back, in the order of their messages or the other way round. */
  release(order: "forwards" | "backwards"): Promise<void>;
}

/** Batches for python-hl7 to compose. */
export interface PythonBatchRequest {
  /** FHS-11; without it the first batch is the whole text. */
  readonly fileControlId?: string;
  readonly batches: readonly { readonly controlId: string; readonly messages: readonly string[] }[];
  /** Whether BTS-1 and FTS-1 are filled; they are unless this says otherwise. */
  readonly isCounted?: boolean;
}

/** The library of another project, in a process of its own. */
export interface PythonHl7 {
  /** Reads a message, a batch or a file, whichever the library takes the text for. */
  read(text: string): Promise<PythonReading>;
  compose(request: PythonBatchRequest): Promise<string>;
  /** Sends one text in an MLLP frame, and gives so many frames that come back. */
  exchange(port: number, text: string, answers: number): Promise<string[]>;
  listen(plan?: readonly PythonStep[]): Promise<PythonServer>;
}

/** Gives a test the library. Guard such tests with `machineHas("mllp_send")`, which is in the same package. */
export async function withPythonHl7<T>(test: (library: PythonHl7) => Promise<T>): Promise<T> {
  const child = spawn(findInterpreter(), [join(import.meta.dirname, "peer.py")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  createInterface(child.stdout).on("line", (line) => {
    const answer = JSON.parse(line);
    if ("error" in answer) waiting.get(answer.id)?.reject(new Error(`python-hl7: ${answer.error}`));
    else waiting.get(answer.id)?.resolve(answer.result);
  });
  void ended.then(([status]) => {
    for (const { reject } of waiting.values()) reject(new Error(`python-hl7 ended with status ${status}`));
  });
  const ask = (op: string, request: object): Promise<unknown> => {
    const id = waiting.size;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    child.stdin.write(`${JSON.stringify({ id, op, ...request })}\n`);
    return answer.promise;
  };
  try {
    return await test({
      read: async (text) => (await ask("read", { text })) as PythonReading,
      compose: async (request) => (await ask("compose", request)) as string,
      exchange: async (port, text, answers) => (await ask("exchange", { port, text, answers })) as string[],
      listen: async (plan = []) => {
        const port = (await ask("listen", { plan })) as number;
        const release = async (order: "forwards" | "backwards") => {
          await ask("release", { port, isReversed: order === "backwards" });
        };
        return { port, release, log: async () => (await ask("log", { port })) as PythonLog };
      },
    });
  } finally {
    child.stdin.end();
    await ended;
  }
}

/** The Python that has the library: the one that runs the library's own program. */
function findInterpreter(): string {
  const program = findProgram("mllp_send");
  if (program === undefined) throw new Error("python-hl7 is not installed");
  const [line = ""] = readFileSync(program, "utf8").split("\n", 1);
  const [interpreter] = line.replace(/^#!\s*/, "").split(/\s+/);
  return interpreter || "python3";
}
