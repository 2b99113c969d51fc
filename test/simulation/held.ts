import type { CallFate } from "./network.ts";
import { plain } from "./plain.ts";
import type { Plan } from "./plan.ts";

/** Nothing shows for a while what a call has made: neither a list nor a container in storage. */
const hidden: Plan = { ...plain, service: { ...plain.service, listLagMs: 7_000, staffMs: 30_000 } };

const answered = (fate: CallFate): Plan => ({ ...hidden, calls: [{ kind: "create", nth: 1, fate }] });

/** What plans below change: a RETRIEVAL, and the same as a STORE. */
const retrieved: Plan["orders"][number] = { operation: "RETRIEVAL", subject: 0, atMs: 25_000, acts: [] };
const stored: Plan["orders"][number] = { ...retrieved, operation: "STORE" };

const READ_AS_NOTHING = "a success without a readable body counts as nothing done";

/** Histories at moments that seeds seldom meet, each with the fault of `test/mutants` with which it goes wrong. */
export const HELD: readonly { readonly what: string; readonly fault: string; readonly plan: Plan }[] = [
  {
    what: "a daemon is killed once it has committed a message, before that is acknowledged",
    fault: "a message is committed before its orders",
    plan: {
      ...plain,
      strikes: [{ what: "kill", when: "after", at: "takes a message in", nth: 1, forMs: 2_000 }],
    },
  },
  {
    what: "a daemon is killed once a message is acknowledged, while the call for it is under way",
    fault: "what a worker that died left in hand is sent again without a look",
    plan: {
      ...hidden,
      daemonEvents: [{ what: "kill", daemon: 0, atMs: 3_100, forMs: 1_000, byMs: 20_000 }],
    },
  },
  {
    what: "a gateway answers a call that it has passed on with a page and status 503",
    fault: "a status that nobody knows counts as nothing done",
    plan: answered("503 after"),
  },
  {
    what: "a page comes instead of the answer to a call",
    fault: READ_AS_NOTHING,
    plan: answered("page after"),
  },
  { what: "the answer to a call is empty", fault: READ_AS_NOTHING, plan: answered("empty after") },
  { what: "the answer to a call is cut", fault: READ_AS_NOTHING, plan: answered("cut after") },
  {
    what: "a queue loses the job of a daemon that was killed before it claimed anything",
    fault: "an order that waits is woken up for once, and never again",
    plan: {
      ...{ ...plain, daemons: 2 },
      placeEvents: [{ what: "queue emptied", atMs: 4_500, forMs: 1_000, byMs: 20_000 }],
      strikes: [{ what: "kill", when: "before", at: "claims orders", nth: 1, forMs: 2_000 }],
    },
  },
  {
    what: "the lab cancels a sent order right after the ledger was put back, while no worker runs",
    fault: "a daemon that submits nothing never looks whether the ledger is an older copy",
    plan: {
      ...{ ...plain, isIntakeApart: true },
      orders: [{ operation: "STORE", subject: 0, atMs: 2_500, acts: [{ what: "cancel", afterMs: 8_700 }] }],
      daemonEvents: [{ what: "away", daemon: 0, atMs: 7_100, forMs: 9_800, byMs: 20_000 }],
      placeEvents: [{ what: "ledger put back", atMs: 2_300, forMs: 4_900, byMs: 20_000 }],
    },
  },
  {
    what: "the lab has stored what others have stored long ago",
    fault: "a STORE of what the service has in storage already goes on",
    plan: {
      ...{ ...plain, orders: [{ ...retrieved, atMs: 3_000 }, stored] },
      others: [{ what: "STORE", order: 1, atMs: 1_000 }],
    },
  },
  {
    what: "two containers of a subject have the label that is to be retrieved",
    fault: "a retrieval takes one of several containers with its label",
    plan: { ...{ ...plain, orders: [retrieved] }, others: [{ what: "STORE", order: 0, atMs: 1_000 }] },
  },
  {
    what: "the service has the subject's code under another name",
    fault: "a subject with another name at the service is taken for the order's",
    plan: { ...plain, hasNamesake: true },
  },
  {
    what: "a worker that has written its call down wakes up once another one has made the call",
    fault: "a worker that others took for dead sends",
    plan: {
      ...{ ...plain, daemons: 2 },
      strikes: [{ what: "freeze", when: "after", at: "writes calls down", nth: 2, forMs: 40_000 }],
    },
  },
  {
    what: "the lab orders twice, by two numbers, that a container is stored",
    fault: "the same container is stored a second time",
    plan: {
      ...plain,
      orders: [
        { ...stored, atMs: 3_000 },
        { ...stored, atMs: 3_300, same: 0 },
      ],
    },
  },
  {
    what: "the service can't be reached for the first of two orders of a subject",
    fault: "a later order of a lane overtakes an earlier one that waits",
    plan: {
      ...plain,
      orders: [
        { ...stored, atMs: 3_000 },
        { ...stored, atMs: 3_300 },
      ],
      calls: [{ kind: "create", nth: 1, fate: "refused" }],
    },
  },
  {
    what: "a retrieval that was lost on the way is tried again by a person",
    fault: "a person's retry does not count as having seen the calls",
    plan: {
      ...{ ...plain, orders: [{ ...retrieved, atMs: 3_000 }] },
      calls: [{ kind: "create", nth: 1, fate: "silent before" }],
    },
  },
];
