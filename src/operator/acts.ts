import type { Problem } from "../core/failures.ts";
import type { MessageView } from "../ledger/messages/views.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { Act } from "../ledger/operator/audit.ts";
import type { DeliveryView } from "../ledger/operator/views.ts";
import type { LedgerOrder } from "../ledger/orders/row.ts";

/** An act on its way over records. */
export interface Run<Row> {
  /** @throws Failure CLI_NOT_APPLICABLE for a record that it can't be done to, whatever its state */
  check?(row: Row): Promise<void>;
  each(row: Row): Promise<Acted>;
  /** What follows once all was done. */
  end?(): Promise<void>;
}

/**
 * Whether it was done, and what became of the record, in words that follow its name; with what else programs are given of it, and
 * what is wrong with it.
 */
export type Acted = readonly [
  isDone: boolean,
  words: string,
  more?: {
    readonly mapped?: Mapped;
    readonly problems?: readonly Problem[];
    /** Whether more became of it than was announced, which is said of each, too, where it is done to many. */
    readonly isNews?: boolean;
  },
];

/** What can be done to an order: see `src/app/acts/orders.ts`. */
export type OrderAct = "retry" | "discard" | "release" | "override" | "cancel" | "sendAgain";

/** What can be done to a result for the lab. */
export type ResultAct = "retry" | "drop" | "resend";

/** What a person found at the service for an order. */
export interface FoundAtService {
  readonly requestId?: number | undefined;
  readonly procedureId?: number | undefined;
  /** Of the one or the other, whichever the order becomes there. */
  readonly id?: number | undefined;
  /** Link it without asking the service whose it is. */
  readonly isUnchecked?: boolean | undefined;
}

/** A message that was mapped again. */
export interface Mapped {
  readonly messageId: string;
  readonly verdict: "accepted" | "duplicate" | "refused" | "ignored" | "waiting";
  readonly orderIds: readonly string[];
  readonly problems: readonly Problem[];
}

/** Which waiting messages are released. */
export interface ReleaseFilter {
  readonly code?: string | undefined;
  readonly connector?: string | undefined;
}

/** What a release found and left. */
export interface Released {
  /** What was meant to be released, as it waited before. */
  readonly before: readonly WaitingCode[];
  /** All that waits afterwards. */
  readonly left: readonly WaitingCode[];
}

/** What came of a test message to a place that alerts are sent to. */
export interface PlaceTest {
  readonly place: string;
  /** Why the place did not take it; undefined when it did. */
  readonly failure: string | undefined;
}

/** What a person does to records that needs more than the ledger: the configuration, its profiles, or the service. */
export interface Acts {
  order(name: OrderAct, order: LedgerOrder, act: Act): Promise<Acted>;
  /** Whether an order can be cancelled: one that the service has only where its cancel call is configured. */
  mayCancel(order: LedgerOrder): boolean;
  /** @throws Failure CLI_USAGE, CLI_NOT_APPLICABLE, and those of the service */
  resolve(order: LedgerOrder, found: FoundAtService, act: Act): Promise<Acted>;
  result(name: ResultAct, result: DeliveryView, act: Act): Promise<Acted>;
  /** Maps messages again by the configuration as it is now. */
  replay(by: Act): Promise<Run<MessageView>>;
  /** Gives up messages that wait. */
  discardMessages(by: Act): Promise<Run<MessageView>>;
  /** Maps what waits again, by the configuration as it is now, in the order in which it was received. */
  releaseMessages(filter: ReleaseFilter, act: Act, onReleased: (message: Mapped) => void): Promise<Released>;
  /** Sends each place that alerts are sent to a test message, or the one of this name alone. @throws Failure CLI_USAGE */
  testAlerts(place: string | undefined): Promise<readonly PlaceTest[]>;
}
