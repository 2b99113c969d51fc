import type { FailureCode } from "../../core/failures.ts";
import { numberOfId } from "../../ledger/ids.ts";
import {
  type DeliveryDetails,
  type DeliveryView,
  findDelivery,
  listOrderDeliveries,
} from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { findBytes } from "../../ledger/results/resend.ts";
import type { ResultAct } from "../acts.ts";
import type { Viewer } from "../column.ts";
import { resultText } from "../kept-text.ts";
import { DELIVERY_DETAILS, PAINT_BY_DELIVERY_STATE } from "../lists/results.ts";
import { type Details, fieldsPart } from "../parts.ts";
import type { Place } from "../place.ts";
import { cleanLines, HIDDEN } from "../text.ts";
import { onEach, type Thing } from "../thing.ts";
import { nameOf } from "../why-waiting.ts";

/** A result for the lab. */
export const RESULTS = {
  ...{ kind: "d", noun: "result", path: "/results" },
  find: findDelivery,
  numberOf,
  details: {
    help: "Show a result: its file, its state, the orders that it is about, and its text.",
    read,
    seen: (_place, { deliveryId }) => [deliveryId],
  },
  acts: {
    resend: {
      ...{
        command: "results resend",
        asks: ["Send", "sending"],
        button: "Send it again",
        reason: "optional",
      },
      help: "Send results again that the lab had: the same name and the same bytes.",
      example: 'cryobridge results resend d4 --reason "lost in the lab\'s import"',
      explains: "With the name and the bytes that it had.",
      ofOrder: {
        option: "--order <id>",
        help: "all that was sent about this order: o17, its order number, or a label",
        button: "Send its results again",
        explains: "All results that the lab had of the order, with the names and bytes that they had.",
        list: listSent,
        nothing: (order) => `nothing was sent about order ${nameOf(order)} yet`,
      },
      suits: ({ state }) => state === "delivered",
      start: toEach("resend"),
    },
    retry: {
      ...{ command: "queue retry", button: "Try now", reason: "optional" },
      help: "Have deliveries tried now instead of at their next planned time.",
      example: "cryobridge queue retry d4 d5",
      suits: isOpen,
      start: toEach("retry"),
    },
    drop: {
      ...{ command: "queue remove", asks: ["Give up", "giving up"], reason: "usual", isDangerous: true },
      button: "Give it up",
      help: "Give up deliveries that the lab doesn't have.",
      example: 'cryobridge queue remove d4 --reason "reported by phone"',
      explains: "The lab never gets it; later results of the same orders go on.",
      suits: isOpen,
      start: toEach("drop"),
    },
  },
} as const satisfies Thing<DeliveryView, DeliveryDetails>;

function isOpen({ state }: DeliveryView): boolean {
  return state !== "delivered" && state !== "dropped";
}

function toEach(name: ResultAct) {
  return onEach<DeliveryView>(({ acts }, result, by) => acts.result(name, result, by));
}

function numberOf({ deliveryId }: DeliveryView): number {
  return numberOfId("d", deliveryId);
}

/** What the lab had of an order, in the order in which it was made. */
async function listSent(pool: Place["pool"], { id }: LedgerOrder): Promise<DeliveryView[]> {
  return (await listOrderDeliveries(pool, id)).filter(({ state }) => state === "delivered");
}

async function read({ pool }: Place, result: DeliveryDetails, viewer: Viewer): Promise<Details> {
  const { deliveryId, state, failure, sizeBytes } = result;
  const code = failure?.code as FailureCode;
  const problems = failure ? [{ code, place: {}, message: failure.text }] : [];
  const bytes = viewer.mayShowPhi ? await findBytes(pool, numberOf(result)) : undefined;
  const text = bytes && resultText(bytes);
  return {
    heading: { name: `Result ${deliveryId}`, state, paint: PAINT_BY_DELIVERY_STATE[state] },
    parts: [
      fieldsPart(DELIVERY_DETAILS, result, viewer, "The result"),
      {
        ...{
          kind: "problems",
          name: "problems",
          title: "Last error",
          problems,
          known: { result: deliveryId },
        },
      },
      {
        ...{ kind: "text", name: "text", title: "Text", sizeBytes, nothing: "It is not kept." },
        json: { text: sizeBytes === undefined ? null : (text ?? HIDDEN) },
        lines: text === undefined ? undefined : cleanLines(text),
      },
    ],
  };
}
