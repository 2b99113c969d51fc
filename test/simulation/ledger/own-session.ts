import { EventEmitter } from "node:events";
import type pg from "pg";
import type { Actor } from "../world.ts";
import { broken, type LedgerUser, type TakeStep } from "./step.ts";

/** What a session of a daemon's own needs of the server. */
export interface SessionKeeper {
  readonly step: TakeStep;
  /** Enters it; gives its number. */
  connect(user: LedgerUser, client: HeartbeatClient): Promise<number>;
  disconnect(client: HeartbeatClient): Promise<void>;
  /** Wakes up all that listen. */
  notify(): void;
  /** Has a daemon hear something of its session, which it does when it is awake. */
  tell(client: HeartbeatClient, event: string): void;
}

/** A session of a daemon's own, as `pg.Client` is one. */
export class HeartbeatClient extends EventEmitter {
  readonly #ledger: SessionKeeper;
  readonly #user: LedgerUser;
  readonly connection = { stream: { destroy: () => void this.end() } };
  #pid = 0;
  #isOver = false;

  constructor(ledger: SessionKeeper, user: LedgerUser) {
    super();
    this.#ledger = ledger;
    this.#user = user;
  }

  get actor(): Actor {
    return this.#user.actor;
  }

  get application(): string {
    return this.#user.application;
  }

  async connect(): Promise<void> {
    this.#pid = await this.#ledger.connect(this.#user, this);
  }

  async query(given: string | pg.QueryConfig, values?: unknown[]): Promise<unknown> {
    const text = typeof given === "string" ? given : given.text;
    if (this.#isOver) throw broken();
    if (text.startsWith("listen ")) return { rows: [] };
    if (text.startsWith("select pg_notify")) {
      this.#ledger.notify();
      return { rows: [] };
    }
    const result = await this.#ledger
      .step(this.#user, this.#pid, text, (connection) => connection.query(given, values))
      .catch((error: unknown) => {
        // A connection that broke is over.
        if (error instanceof Error && "code" in error && error.code === "ECONNRESET") this.lose();
        throw error;
      });
    if (this.#isOver) throw broken();
    return result;
  }

  /** The server has ended the session. */
  lose(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    void this.#ledger.disconnect(this);
    this.#ledger.tell(this, "end");
  }

  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#ledger.disconnect(this);
  }
}
