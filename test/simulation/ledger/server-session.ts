import type { Socket } from "node:net";
import pg from "pg";
import { Requests } from "./requests.ts";

/** What a statement came to, as the driver would give it. */
export interface Outcome {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: Record<string, unknown>[];
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

interface Statement {
  readonly name: string;
  /** Whether the server was sent it. */
  isSent: boolean;
  /** What its rows have; undefined before the server has said so. */
  columns: readonly Column[] | undefined;
}

/** What is sent and not answered yet. */
interface Asked {
  readonly statement: Statement;
  readonly outcome: { command: string; rowCount: number | null; readonly rows: Record<string, unknown>[] };
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
  error: Error | undefined;
}

/**
 * A session of the server's for the many small statements of histories. The driver logs in; from then on the protocol is spoken here,
 * since the driver has the rows described each time, and makes a dozen objects for each statement. What is asked for in one
 * turn leaves in one piece, and is carried out in that order.
 */
export class ServerSession {
  readonly #client: pg.Client;
  readonly #socket: Socket;
  readonly #statements = new Map<string, Statement>();
  readonly #requests = new Requests();
  #asked: Asked[] = [];
  #first = 0;
  #rest: Buffer | undefined;
  #broken: Error | undefined;
  #failed: Error | undefined;

  private constructor(client: pg.Client) {
    this.#client = client;
    this.#socket = client.connection.stream as unknown as Socket;
    this.#socket.removeAllListeners("data");
    this.#socket.on("data", (piece: Buffer) => this.#read(piece));
    client.on("error", (error) => this.#break(error));
    client.on("end", () => this.#break(new Error("the server has ended the simulation's session")));
  }

  static async open(config: pg.ClientConfig): Promise<ServerSession> {
    const client = new pg.Client(config);
    await client.connect();
    return new ServerSession(client);
  }

  /** What statements are sent to, for who has several leave at once: they do anyway. */
  get connection(): unknown {
    return this.#client.connection;
  }

  /** What failed in the transaction and was not taken back: until it is, the server carries out nothing. */
  get failed(): Error | undefined {
    return this.#failed;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#socket.once("close", resolve));
    this.#broken = new Error("the session is closed");
    this.#socket.end(Buffer.from([0x58, 0, 0, 0, 4]));
    await closed;
  }

  /** One statement, prepared when it comes for the first time. */
  query(text: string, values: readonly unknown[] = []): Promise<Outcome> {
    const statement = this.#statementOf(text);
    return this.#ask(statement, () => {
      if (!statement.isSent) this.#requests.prepare(statement.name, text);
      statement.isSent = true;
      this.#requests.execute(statement.name, values);
    });
  }

  /** Several statements without values; what comes of the last one. */
  script(text: string): Promise<Outcome> {
    return this.#ask({ name: "", isSent: true, columns: undefined }, () => this.#requests.script(text));
  }

  #statementOf(text: string): Statement {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = { name: `s${this.#statements.size}`, isSent: false, columns: undefined };
      this.#statements.set(text, statement);
    }
    return statement;
  }

  #ask(statement: Statement, put: () => void): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#broken) return reject(this.#broken);
      const isFirst = this.#requests.isEmpty;
      put();
      const outcome = { command: "", rowCount: null, rows: [] };
      this.#asked.push({ statement, outcome, resolve, reject, error: undefined });
      if (isFirst) process.nextTick(() => this.#socket.write(this.#requests.take()));
    });
  }

  #break(error: Error): void {
    this.#broken ??= error;
    const asked = this.#asked.slice(this.#first);
    this.#asked = [];
    this.#first = 0;
    for (const { reject } of asked) reject(this.#broken);
  }

  #read(piece: Buffer): void {
    const bytes = this.#rest === undefined ? piece : Buffer.concat([this.#rest, piece]);
    let at = 0;
    while (at + 5 <= bytes.length) {
      const end = at + 1 + bytes.readInt32BE(at + 1);
      if (end > bytes.length) break;
      this.#take(bytes[at] as number, bytes, at + 5, end);
      at = end;
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : undefined;
  }

  /** Takes a message of the server's. */
  #take(kind: number, bytes: Buffer, at: number, end: number): void {
    const asked = this.#asked[this.#first];
    if (asked === undefined) return;
    switch (kind) {
      case 0x44:
        if (asked.statement.columns) asked.outcome.rows.push(rowOf(asked.statement.columns, bytes, at));
        return;
      case 0x43: {
        const words = bytes.toString("latin1", at, end - 1).split(" ");
        asked.outcome.command = words[0] as string;
        const rows = Number(words.at(-1));
        asked.outcome.rowCount = words.length > 1 && !Number.isNaN(rows) ? rows : null;
        return;
      }
      case 0x6e:
        asked.statement.columns = [];
        return;
      case 0x54:
        asked.statement.columns = this.#columnsOf(bytes, at);
        asked.outcome.rows.length = 0;
        return;
      case 0x45:
        asked.error = errorOf(bytes, at, end);
        // It could not be prepared, and is sent again the next time.
        if (asked.statement.columns === undefined) asked.statement.isSent = false;
        return;
      case 0x5a:
        this.#first += 1;
        if (this.#first === this.#asked.length) {
          this.#asked = [];
          this.#first = 0;
        }
        // The state of the transaction.
        if (bytes[at] !== 0x45) this.#failed = undefined;
        else this.#failed ??= asked.error;
        if (asked.error) asked.reject(asked.error);
        else asked.resolve(asked.outcome);
    }
  }

  #columnsOf(bytes: Buffer, from: number): Column[] {
    let at = from + 2;
    return Array.from({ length: bytes.readInt16BE(from) }, () => {
      const end = bytes.indexOf(0, at);
      const name = bytes.toString("utf8", at, end);
      const oid = bytes.readUInt32BE(end + 7);
      at = end + 19;
      return { name, parse: this.#client.getTypeParser(oid) as (text: string) => unknown };
    });
  }
}

function rowOf(columns: readonly Column[], bytes: Buffer, from: number): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  let at = from + 2;
  for (const { name, parse } of columns) {
    const length = bytes.readInt32BE(at);
    at += 4;
    row[name] = length === -1 ? null : parse(bytes.toString("utf8", at, at + length));
    if (length !== -1) at += length;
  }
  return row;
}

/** What the parts of a failure are called. */
const FAILURE_PARTS: Readonly<Record<string, string>> = {
  ...{ S: "severity", C: "code", D: "detail", H: "hint", P: "position", W: "where", s: "schema", t: "table" },
  ...{ c: "column", d: "dataType", n: "constraint" },
};

function errorOf(bytes: Buffer, from: number, end: number): Error {
  const parts = bytes.toString("utf8", from, end).split("\0");
  const message = parts.find((part) => part.startsWith("M"))?.slice(1) ?? "";
  const error = new pg.DatabaseError(message, end - from, "error");
  for (const part of parts) {
    const name = FAILURE_PARTS[part[0] ?? ""];
    if (name !== undefined) Object.assign(error, { [name]: part.slice(1) });
  }
  return error;
}
