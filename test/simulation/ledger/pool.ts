import { EventEmitter } from "node:events";
import type pg from "pg";
import type { Outcome } from "./server-session.ts";
import { broken, type LedgerUser, type StepConnection, type TakeStep } from "./step.ts";

/** Takes statements and transactions of the program. */
export class SimulatedPool {
  readonly #take: TakeStep;
  readonly #runs: () => number;
  readonly #user: LedgerUser;
  /** What the program wants to be asked of each new session. */
  check: ((client: StepConnection) => Promise<void>) | undefined;
  #run: number;

  /** @param runs how often the server has ended all sessions */
  constructor(user: LedgerUser, take: TakeStep, runs: () => number) {
    this.#user = user;
    this.#take = take;
    this.#runs = runs;
    this.#run = runs();
  }

  query(given: string | pg.QueryConfig, values?: unknown[]): Promise<Outcome> {
    const text = typeof given === "string" ? given : given.text;
    return this.#take(this.#user, 0, text, async (connection) => {
      await this.#begin(connection);
      return connection.query(given, values);
    });
  }

  /** Its sessions are new ones after the server has ended them. */
  async #begin(connection: StepConnection): Promise<void> {
    if (this.#run === this.#runs()) return;
    await this.check?.(connection);
    this.#run = this.#runs();
  }

  connect(): Promise<TransactionClient> {
    return new Promise((resolve, reject) => {
      this.#take(this.#user, 0, "transaction", async (connection) => {
        await this.#begin(connection);
        const client = new TransactionClient(connection);
        resolve(client);
        await client.released;
      }).catch(reject);
    });
  }

  async end(): Promise<void> {}
}

/** A connection of the pool, for one transaction. */
class TransactionClient extends EventEmitter {
  readonly released: Promise<void>;
  readonly #connection: StepConnection;
  #release: () => void = () => undefined;

  constructor(connection: StepConnection) {
    super();
    this.#connection = connection;
    this.released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  get connection(): unknown {
    return this.#connection.connection;
  }

  async query(given: string | pg.QueryConfig, values?: unknown[]): Promise<unknown> {
    if (given === "begin") return { rows: [] };
    if (given === "rollback") {
      await this.#connection.rollback();
      return { rows: [] };
    }
    if (given === "commit") {
      await this.#connection.keep();
      await this.#connection.awake();
      if (this.#connection.fate === "answer lost") throw broken();
      return { rows: [] };
    }
    return this.#connection.query(given, values);
  }

  release(): void {
    this.#release();
  }
}
