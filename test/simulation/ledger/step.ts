import type pg from "pg";
import type { Actor } from "../world.ts";
import type { Outcome, ServerSession } from "./server-session.ts";

/** How the ledger treats a step of a daemon. */
export type LedgerFate =
  | "done"
  /** The connection breaks before anything is done. */
  | "refused"
  /** It breaks after all was committed, before the answer comes. */
  | "answer lost";

/** Who uses the ledger, and how it is treated. */
export interface LedgerUser {
  readonly actor: Actor;
  /** The `application_name` of its sessions. */
  readonly application: string;
  /** Asked for each step. */
  readonly fateOf: (text: string) => LedgerFate;
  /** Asked for each statement. */
  readonly strikeAt: (text: string) => Strike | undefined;
}

/** What happens to a process that is at a statement: before anything of the step is done, or once it is committed. */
export interface Strike {
  readonly when: "before" | "after";
  hit(): void;
}

/** What a step does once it is its turn; a session of the server's own has a number, those of a pool have none. */
export type TakeStep = <T>(
  user: LedgerUser,
  pid: number,
  text: string,
  work: (connection: StepConnection) => Promise<T>,
) => Promise<T>;

/** What there is to know of a statement by its text. */
interface StatementKind {
  /** It changes nothing: a session's locks are rows here. */
  readonly isReading: boolean;
  /** It says nothing of what is due. */
  readonly isControl: boolean;
  /** It may end sessions. */
  readonly endsSessions: boolean;
  /** It is several. */
  readonly isScript: boolean;
}

const READS = /^\s*select(?!.*(?:advisory|terminate|nextval|pg_notify))/s;
const CONTROLS = /^\s*(?:begin|commit|rollback|savepoint|release|set|select pg_advisory_xact_lock)\b/i;
const kinds = new Map<string, StatementKind>();

/** Looked up, since the program has some hundreds of statements that are as long as a page. */
export function kindOf(text: string): StatementKind {
  let kind = kinds.get(text);
  if (kind === undefined) {
    kind = {
      isReading: READS.test(text),
      isControl: CONTROLS.test(text),
      endsSessions: text.includes("pg_terminate_backend"),
      isScript: text.includes(";"),
    };
    kinds.set(text, kind);
  }
  return kind;
}

const wroteNothing = ({ command, rowCount }: Outcome): boolean =>
  rowCount === 0 && ["INSERT", "UPDATE", "DELETE"].includes(command);

/** What a client gets whose connection broke. */
export function broken(): Error {
  return Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
}

/** Whose step it is: what happens to it, and until when it hears nothing. */
interface Process extends Pick<LedgerUser, "strikeAt"> {
  awake(): Promise<void>;
}

/** The one connection, lent for a step. */
export class StepConnection {
  readonly fate: LedgerFate;
  hasEndedSessions = false;
  /** Whether a statement may have changed what is due; a claim that takes nothing has not. */
  mayHaveWritten = false;
  /** Whether its process was struck; it hears nothing of what it is at then. */
  isStruck = false;
  #isKept = false;
  #isTakenBack = false;
  #strike: Strike | undefined;
  readonly #process: Process | undefined;
  readonly #break = Promise.withResolvers<never>();
  readonly #session: ServerSession;

  constructor(session: ServerSession, fate: LedgerFate, process?: Process) {
    this.#session = session;
    this.fate = fate;
    this.#process = process;
    this.broken.catch(() => undefined);
  }

  /** Rejects when it breaks. */
  get broken(): Promise<never> {
    return this.#break.promise;
  }

  get connection(): unknown {
    return this.#session.connection;
  }

  query(given: string | pg.QueryConfig, values: unknown[] = []): Promise<Outcome> {
    const text = typeof given === "string" ? given : given.text;
    this.#strike ??= this.#process?.strikeAt(text);
    if (this.#strike?.when === "before") {
      this.#hit();
      return this.awake().then(() => {
        throw broken();
      });
    }
    const kind = kindOf(text);
    if (kind.endsSessions) this.hasEndedSessions = true;
    const list = typeof given === "string" ? values : (given.values ?? []);
    const asked =
      list.length === 0 && kind.isScript ? this.#session.script(text) : this.#session.query(text, list);
    asked.then(
      (result) => {
        if (!kind.isReading && !kind.isControl && !wroteNothing(result)) this.mayHaveWritten = true;
      },
      () => {
        this.mayHaveWritten = true;
      },
    );
    return asked;
  }

  /** From here on nothing of it is taken back, unless a statement failed. */
  async keep(): Promise<void> {
    if (this.#isKept) return;
    // What was taken back to a savepoint of its own has not failed any more.
    if (this.#session.failed) await this.rollback();
    this.#isKept = true;
    this.#hit();
  }

  /** Resolves once the process hears what came of it. */
  async awake(): Promise<void> {
    if (this.isStruck) await this.#process?.awake();
  }

  #hit(): void {
    if (!this.#strike || this.isStruck) return;
    this.isStruck = true;
    this.#strike.hit();
    this.#break.reject(broken());
  }

  /** Takes back what was done in the step. */
  async rollback(): Promise<void> {
    if (this.#isKept || this.#isTakenBack) return;
    this.#isTakenBack = this.isStruck;
    await this.#session.script("rollback to savepoint step");
  }
}
