import type { Problem } from "./failures.ts";
import type { Verdict } from "./intake.ts";

/** How a message that came over a connection is answered there, once its verdict is known. */
export interface ReplyTo {
  /** Address of the sender, for people. */
  readonly peer: string;
  /** Whether a message whose control id was used before, with other content, is refused or taken. */
  readonly reusedControlId: "refuse" | "take";
  /** The answer, of one message or two; undefined where the sender wants none. */
  compose(decided: Decided): Buffer | undefined;
  /** Whether the answer on the connection is all that the sender gets about the message as a whole. */
  isWhole(decided: Pick<Decided, "verdict" | "problems">): boolean;
}

/** What the ledger has decided about a message, right before it commits that. */
export interface Decided {
  readonly verdict: Verdict;
  readonly problems: readonly Problem[];
  /** The ledger's number for the message. */
  readonly messageId: number;
}
