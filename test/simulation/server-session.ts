import { createRequire } from "node:module";
import type { Socket } from "node:net";
import pg from "pg";

/** How the driver writes a value for the server. */
const { prepareValue } = createRequire(import.meta.url)("pg/lib/utils") as {
  prepareValue(value: unknown): string | Buffer | null;
};

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
  readonly statement: Statement | undefined;
  readonly outcome: { command: string; rowCount: number | null; readonly rows: Record<string, unknown>[] };
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
  error: Error | undefined;
}

const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);
/** Execute, with no name and no most rows, and Sync behind it. */
const EXECUTE_AND_SYNC = Buffer.concat([Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]), SYNC]);
const FIRST_BYTES = 65_536;

/**
 * A session of the server's for the many small statements of histories. The driver logs in; from then on the protocol is spoken here,
 * since the driver takes more of a processor's time for a statement than the server: it has the rows described each time, and makes
 * a dozen objects for each. What is asked for in one turn leaves in one piece, and is carried out in that order.
 */
export class ServerSession {
  readonly #client: pg.Client;
  readonly #socket: Socket;
  readonly #statements = new Map<string, Statement>();
  #asked: Asked[] = [];
  #first = 0;
  #out = Buffer.allocUnsafe(FIRST_BYTES);
  #end = 0;
  #rest: Buffer | undefined;
  #broken: Error | undefined;

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

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#socket.once("close", resolve));
    this.#broken = new Error("the session is closed");
    this.#socket.end(Buffer.from([0x58, 0, 0, 0, 4]));
    await closed;
  }

  /** One statement, prepared when it comes for the first time. */
  query(text: string, values: readonly unknown[] = []): Promise<Outcome> {
    return this.#ask(this.#statementOf(text), (statement) => {
      if (!statement.isSent) this.#putStatement(statement, text);
      this.#putValues(statement, values);
      this.#put(EXECUTE_AND_SYNC);
    });
  }

  /** Several statements without values; what comes of the last one. */
  script(text: string): Promise<Outcome> {
    return this.#ask(undefined, () => {
      const bytes = Buffer.byteLength(text);
      this.#putHead(0x51, bytes + 1);
      this.#putText(text, bytes);
      this.#putByte(0);
    });
  }

  #statementOf(text: string): Statement {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = { name: `s${this.#statements.size}`, isSent: false, columns: undefined };
      this.#statements.set(text, statement);
    }
    return statement;
  }

  #ask<S extends Statement | undefined>(statement: S, put: (statement: S) => void): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#broken) return reject(this.#broken);
      const isFirst = this.#end === 0;
      put(statement);
      const outcome = { command: "", rowCount: null, rows: [] };
      this.#asked.push({ statement, outcome, resolve, reject, error: undefined });
      if (isFirst) process.nextTick(() => this.#flush());
    });
  }

  #flush(): void {
    this.#socket.write(Buffer.from(this.#out.subarray(0, this.#end)));
    this.#end = 0;
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#out.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#out.length * 2, this.#end + bytes));
    this.#out.copy(larger, 0, 0, this.#end);
    this.#out = larger;
  }

  #put(bytes: Buffer): void {
    this.#room(bytes.length);
    bytes.copy(this.#out, this.#end);
    this.#end += bytes.length;
  }

  #putByte(byte: number): void {
    this.#room(1);
    this.#out[this.#end++] = byte;
  }

  #putShort(value: number): void {
    this.#room(2);
    this.#end = this.#out.writeInt16BE(value, this.#end);
  }

  #putNumber(value: number): void {
    this.#room(4);
    this.#end = this.#out.writeInt32BE(value, this.#end);
  }

  #putText(text: string, bytes: number): void {
    this.#room(bytes);
    this.#end += this.#out.write(text, this.#end, bytes);
  }

  /** A message's kind, and how long it is. */
  #putHead(kind: number, bytes: number): void {
    this.#putByte(kind);
    this.#putNumber(bytes + 4);
  }

  /** Parse, and Describe for its rows. */
  #putStatement(statement: Statement, text: string): void {
    const { name } = statement;
    const bytes = Buffer.byteLength(text);
    this.#putHead(0x50, name.length + 1 + bytes + 1 + 2);
    this.#putText(`${name}\0`, name.length + 1);
    this.#putText(text, bytes);
    this.#putByte(0);
    this.#putShort(0);
    this.#putHead(0x44, name.length + 2);
    this.#putText(`S${name}\0`, name.length + 2);
    statement.isSent = true;
  }

  /** Bind. */
  #putValues({ name }: Statement, values: readonly unknown[]): void {
    const start = this.#end;
    this.#putHead(0x42, 0);
    this.#putText(`\0${name}\0`, name.length + 2);
    const written = values.map(prepareValue);
    this.#putShort(written.length);
    for (const each of written) this.#putShort(each instanceof Buffer ? 1 : 0);
    this.#putShort(written.length);
    for (const each of written) {
      if (each === null) this.#putNumber(-1);
      else if (typeof each === "string") {
        const bytes = Buffer.byteLength(each);
        this.#putNumber(bytes);
        this.#putText(each, bytes);
      } else {
        this.#putNumber(each.length);
        this.#put(each);
      }
    }
    this.#putShort(0);
    this.#out.writeInt32BE(this.#end - start - 1, start + 1);
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
        if (asked.statement?.columns) asked.outcome.rows.push(rowOf(asked.statement.columns, bytes, at));
        return;
      case 0x43: {
        const words = bytes.toString("latin1", at, end - 1).split(" ");
        asked.outcome.command = words[0] as string;
        const rows = Number(words.at(-1));
        asked.outcome.rowCount = words.length > 1 && !Number.isNaN(rows) ? rows : null;
        return;
      }
      case 0x6e:
        if (asked.statement) asked.statement.columns = [];
        return;
      case 0x54:
        if (asked.statement) asked.statement.columns = this.#columnsOf(bytes, at);
        return;
      case 0x45:
        asked.error = errorOf(bytes, at, end);
        // It could not be prepared, and is sent again the next time.
        if (asked.statement && asked.statement.columns === undefined) asked.statement.isSent = false;
        return;
      case 0x5a:
        this.#first += 1;
        if (this.#first === this.#asked.length) {
          this.#asked = [];
          this.#first = 0;
        }
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
