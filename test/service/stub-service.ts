import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Row = Record<string, unknown>;

/** How the stub decides what the specification leaves open. */
export interface StubOptions {
  /** Largest page, whatever is asked. */
  cap?: number;
  /** How a list is wrapped. */
  envelope?: (entries: Row[]) => unknown;
  /** Filters that are looked at; all by default. */
  honours?: (name: string) => boolean;
  /** How a row looks in a list. */
  entry?: (row: Row) => Row;
  /** How a row looks by its id. */
  single?: (row: Row) => Row;
  /** Changes the rows between two pages. */
  afterPage?: () => void;
}

/** A small service of the test's own making, written from the specification's tables. */
export class StubService {
  readonly rows: Record<string, Row[]> = {
    subjects: [],
    "procedure-requests": [],
    procedures: [],
    "sample-containers": [],
    storage: [],
  };
  readonly seen: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  options: StubOptions = {};
  /** Answers before anything else when it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse, body: string) => boolean = () => false;
  #server: Server | undefined;

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server!.address() as AddressInfo).port}`;
  }

  count(start: string): number {
    return this.seen.filter((each) => `${each.method} ${each.url}`.startsWith(start)).length;
  }

  async start(): Promise<this> {
    this.#server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        this.seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
        if (!this.intercept(request, response, body)) this.answer(request, response, body);
      });
    });
    await new Promise<void>((resolve) => this.#server!.listen(0, "127.0.0.1", resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  /** Answers as the rows say. */
  answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const url = new URL(request.url!, "http://stub");
    const [, , resource = "", id] = url.pathname.split("/");
    const rows = this.rows[resource];
    if (!rows) {
      send(response, 404, { code: "NOT_FOUND", message: "no such resource" });
      return;
    }
    if (request.method === "POST") {
      const row = { id: rows.length + 1, status: "PENDING", ...JSON.parse(body) };
      rows.push(row);
      send(response, 201, row);
      return;
    }
    if (id !== undefined) {
      const row = rows.find((each) => String(each.id) === id);
      if (row) send(response, 200, (this.options.single ?? same)(row));
      else send(response, 404, { code: "NOT_FOUND", message: "no such record" });
      return;
    }
    send(response, 200, (this.options.envelope ?? same)(this.#page(rows, url.searchParams)));
    this.options.afterPage?.();
  }

  #page(rows: Row[], query: URLSearchParams): Row[] {
    const { cap = 1_000, honours = () => true, entry = same } = this.options;
    const perPage = Math.min(cap, Number(query.get("perPage") ?? 10));
    const page = honours("page") ? Number(query.get("page") ?? 1) : 1;
    const filtered = rows.filter((row) =>
      [...query].every(([name, value]) => {
        if (name === "page" || name === "perPage" || !honours(name)) return true;
        if (name.endsWith("_from")) return Number(row[name.slice(0, -5)]) >= Number(value);
        if (name.endsWith("_to")) return Number(row[name.slice(0, -3)]) <= Number(value);
        return String(row[name]) === value;
      }),
    );
    return filtered.slice((page - 1) * perPage, page * perPage).map((row) => entry(row));
  }
}

export function send(response: ServerResponse, status: number, body: unknown, headers: Row = {}): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    ...(headers as Record<string, string>),
  });
  response.end(text);
}

function same<T>(value: T): T {
  return value;
}
