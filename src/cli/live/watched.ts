import { Option } from "commander";
import { Failure } from "../../core/failures.ts";
import { within } from "../../core/within.ts";
import type { JobQueues } from "../../jobs/queues.ts";
import { wholeNumber } from "../arguments.ts";
import type { ExitStatus } from "../exit-status.ts";
import { type OpenSite, openSite, openSiteQueues, readConfig } from "../open.ts";
import type { Session } from "../session.ts";
import { keepShowing } from "./keep-showing.ts";

/** The options of a command that can be watched. */
export interface Watching {
  /** Seconds between two turns; undefined for a single one. */
  readonly watch?: number;
}

/** `--watch [seconds]`. */
export function watchOption(): Option {
  return new Option(
    "--watch [seconds]",
    "on a terminal or with --json: show it again every 2 s, or after the seconds given, until Ctrl-C or q",
  )
    .argParser(wholeNumber(1, 3_600))
    .preset("2");
}

/** What a person who leaves waits for connections to end, at most, ms. */
const CLOSE_WITHIN_MS = 5_000;

/** What a command shows: once, or in each turn of `--watch`. */
type Turn<Options> = (session: Session, site: KeptSite, options: Options) => Promise<ExitStatus | undefined>;

/**
 * The act of a command that shows something, with `--watch` time and again over the same connections. Each turn would be
 * a look at patients' data of its own, so it shows none.
 */
export function watched<Options extends Watching>(
  turn: Turn<Options>,
): (session: Session, options: Options) => Promise<ExitStatus | undefined> {
  return async (session, options) => {
    const { watch } = options;
    if (watch !== undefined && session.mayShowPhi)
      throw new Failure("CLI_USAGE", "--watch shows no patients' data: leave out --show-phi");
    const site = new KeptSite(session);
    try {
      // A file or a pipe is no picture that is drawn again; a program reads one document after the other.
      const isLive = session.isJson || session.io.screen !== undefined;
      if (watch === undefined || !isLive) return await turn(session, site, options);
      await keepShowing(session, {
        everyMs: watch * 1_000,
        turn: (place) => turn(place, site, options),
        onFailure: () => site.close(),
      });
      return undefined;
    } finally {
      // Who leaves does not wait for a database that hangs.
      await within(site.end(), CLOSE_WITHIN_MS, session.clock);
    }
  };
}

/** The ledger and its queues, opened when they are asked for first and kept until they fail or are closed. */
export class KeptSite {
  readonly #session: Session;
  #config: OpenSite["config"] | undefined;
  /** What is still being opened when somebody leaves has to be closed, too. */
  #site: Promise<OpenSite> | undefined;
  #queues: ReturnType<typeof openSiteQueues> | undefined;
  #hasEnded = false;

  constructor(session: Session) {
    this.#session = session;
  }

  /** @throws ConfigFailure */
  get config(): OpenSite["config"] {
    this.#config ??= readConfig(this.#session);
    return this.#config;
  }

  /** The ledger. @throws Failure CLI_LEDGER_MISSING, LEDGER_… */
  async open(): Promise<OpenSite> {
    // A turn that somebody left goes on until it asks again.
    if (this.#hasEnded) throw new Failure("LEDGER_UNAVAILABLE", "nobody watches any more");
    const opening = this.#site ?? openSite(this.#session, this.config);
    this.#site = opening;
    // One that could not be opened is opened anew.
    opening.catch(() => {
      if (this.#site === opening) this.#site = undefined;
    });
    return opening;
  }

  /** Asks BullMQ; after a failure it is asked over a new connection. @throws Failure QUEUE_… or LEDGER_… */
  async askQueues<T>(work: (queues: JobQueues) => Promise<T>): Promise<T> {
    const opening = this.#queues ?? this.open().then((site) => openSiteQueues(this.#session, site));
    this.#queues = opening;
    try {
      return await work((await opening).queues);
    } catch (error) {
      await this.#closeQueues();
      throw error;
    }
  }

  /** Ends all connections for good. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.close();
  }

  /** Ends all connections; the next question opens new ones. */
  async close(): Promise<void> {
    await this.#closeQueues();
    const site = this.#site;
    this.#site = undefined;
    await site?.then(
      ({ close }) => close(),
      () => undefined,
    );
  }

  async #closeQueues(): Promise<void> {
    const queues = this.#queues;
    this.#queues = undefined;
    await queues?.then(
      ({ close }) => close(),
      () => undefined,
    );
  }
}
