import { parseId } from "../ledger/ids.ts";
import type { SiteAct } from "./site-act.ts";
import type { DeclaredAct, Thing } from "./thing.ts";
import { ALERTS, SILENCE, SILENCES, TEST_PLACES } from "./things/alerts.ts";
import { FILES } from "./things/files.ts";
import { MESSAGES } from "./things/messages.ts";
import { ORDERS } from "./things/orders.ts";
import { MOVE } from "./things/orphaned.ts";
import { QUEUE_ACTS } from "./things/queues.ts";
import { RELEASE_AFTER_RESTORE } from "./things/restored.ts";
import { RESULTS } from "./things/results.ts";
import { TASKS } from "./things/tasks.ts";
import { RELEASE } from "./things/waiting.ts";
import { DRAIN, RELOAD } from "./things/workers.ts";

/** What can be said of a kind of record without one. */
export interface AnyThing extends Pick<Thing<never>, "kind" | "noun" | "path"> {
  readonly details?: { readonly help: string; readonly seen?: unknown };
  readonly acts: Readonly<Record<string, Pick<DeclaredAct<never>, "command" | "flag" | "button">>>;
}

/** What can be said of an act without what it is done to. */
export interface AnySiteAct extends Pick<SiteAct<never>, "command" | "path" | "button"> {
  readonly on?: (word: string) => object | undefined;
}

/** All kinds of records. */
export const THINGS: readonly AnyThing[] = [ORDERS, MESSAGES, FILES, RESULTS, TASKS, ALERTS, SILENCES];

/** All acts that are done to no record. */
export const SITE_ACTS: readonly AnySiteAct[] = [
  ...[RELEASE_AFTER_RESTORE, RELEASE, MOVE, QUEUE_ACTS.pause, QUEUE_ACTS.resume],
  ...[TEST_PLACES, SILENCE, RELOAD, DRAIN],
];

/** The kind of the record that an id names, where each has a page in the console, and that page; undefined where there is none. */
export function pageOfRecord(id: string): { readonly thing: AnyThing; readonly to: string } | undefined {
  const thing = THINGS.find(({ kind, details }) => details !== undefined && parseId(kind, id) !== undefined);
  return thing && { thing, to: `${thing.path}/${id}` };
}
