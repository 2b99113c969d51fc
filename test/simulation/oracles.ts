import type { LabOrder, SimulatedLab, Word } from "./lab.ts";
import { nameOf, type Request, type SimulatedService } from "./service.ts";

/** What an order came to in the ledger, as its state says. */
export interface OrderEnd {
  readonly number: string;
  readonly state: string;
  readonly failure: string | null;
}

/** What the oracles judge by: what the lab asked for, what the service did, and what the lab was told. */
export interface Judged {
  readonly orders: readonly LabOrder[];
  /** Every label that each order ever asked for. */
  readonly labelsOf: ReadonlyMap<string, readonly string[]>;
  readonly service: SimulatedService;
  readonly lab: SimulatedLab;
  readonly ends: readonly OrderEnd[];
  /** How often a person had a failed order done again. */
  readonly doneAgain: ReadonlyMap<string, number>;
  /** Orders that a person had go on in spite of what the program had found. */
  readonly overridden: ReadonlySet<string>;
}

/** The orders that a request of the service may be of. */
export function ordersOf(
  { orders, labelsOf }: Pick<Judged, "orders" | "labelsOf">,
  request: Request,
): LabOrder[] {
  if (request.isOthers) return [];
  const [container] = request.containers;
  return orders.filter(
    ({ number, operation }) =>
      operation === request.type &&
      container !== undefined &&
      labelsOf.get(number)?.includes(container.label),
  );
}

/** Whether it is neither refused nor given up there. */
export function isAlive({ status, procedure }: Request): boolean {
  if (status === "REJECTED" || status === "CANCELLED") return false;
  return procedure?.status !== "FAILED" && procedure?.status !== "CANCELLED";
}

/** What the service did: nothing twice, nothing that nobody asked for, nothing for another subject. */
export function judgeService(judged: Judged): string[] {
  const { service, doneAgain, orders } = judged;
  const troubles: string[] = [];
  for (const request of service.requests.filter(({ isOthers }) => !isOthers)) {
    const [order] = ordersOf(judged, request);
    if (order === undefined || request.containers.length !== 1) troubles.push(`invented: ${nameOf(request)}`);
    else if (order.subject !== request.subjectCode)
      troubles.push(`for the wrong subject: ${nameOf(request)}`);
    else if (!judged.overridden.has(order.number) && !request.isCopy)
      troubles.push(...judgeKnown(request, judged));
  }
  for (const order of orders) {
    const own = service.requests.filter(
      (each) => !each.isCopy && ordersOf(judged, each).some(({ number }) => number === order.number),
    );
    const most = 1 + (doneAgain.get(order.number) ?? 0);
    if (own.filter(isAlive).length > 1 || own.length > most)
      troubles.push(`doubled: ${order.number} is ${own.map(nameOf).join(" and ")} at the service`);
  }
  return troubles;
}

/** What the service shows keeps an order from being asked for, unless a person has it go on. */
function judgeKnown(request: Request, { service }: Judged): string[] {
  const { type, sameThere, subjectCode } = request;
  const subject = service.subjects.find(({ code }) => code === subjectCode);
  return [
    ...(type === "STORE" && sameThere > 0 ? [`in storage already: ${nameOf(request)}`] : []),
    ...(type === "RETRIEVAL" && sameThere > 1 ? [`one of several: ${nameOf(request)}`] : []),
    ...(subject?.firstName === "Ada" ? [] : [`for a namesake: ${nameOf(request)}`]),
  ];
}

/** ORC-5 of an order's last word, by its state; of a control's answer, too. */
const LAST_STATUS: Readonly<Record<string, readonly string[]>> = {
  completed: ["CM"],
  rejected: ["CA"],
  cancelled: ["CA"],
  failed: ["DC"],
  discarded: ["CA"],
};

/** What the lab was told: each order's end, and nothing that is not so. */
export function judgeWords(judged: Judged): string[] {
  const { orders, lab, ends, service } = judged;
  const troubles = [...lab.troubles];
  const known = new Set(orders.map(({ number }) => number));
  for (const word of lab.words) {
    if (word.number !== "" && !known.has(word.number))
      troubles.push(`the lab was told of ${word.number}, which it didn't order`);
    const about = service.requests.find(({ id }) => word.filler === `R${id}` || word.filler === `P${id}`);
    if (/^[RP]\d/.test(word.filler) && about && word.number !== "") {
      const isTheirs = ordersOf(judged, about).some(({ number }) => number === word.number);
      if (!isTheirs) troubles.push(`the lab was told of ${word.number} what is about ${nameOf(about)}`);
    }
    if (word.status === "CM" && !isDone(judged, word))
      troubles.push(`the lab was told that ${word.number} is done, and it is not`);
  }
  for (const { number } of orders) {
    if (!lab.accepted.has(number)) continue;
    const end = ends.find((each) => each.number === number);
    if (end === undefined) {
      troubles.push(`${number} was acknowledged, and the ledger doesn't have it`);
      continue;
    }
    const wanted = LAST_STATUS[end.state];
    if (wanted === undefined) {
      troubles.push(
        `${number} does not end: it is ${end.state}${end.failure === null ? "" : ` (${end.failure})`}`,
      );
      continue;
    }
    const words = lab.words.filter((each) => each.number === number && each.status !== "");
    if (!words.some(({ status }) => wanted.includes(status)))
      troubles.push(`the lab was not told that ${number} is ${end.state}`);
    if (end.state === "completed" && !isDone(judged, { number }))
      troubles.push(`${number} counts as done, and is not`);
    const own = service.requests.filter((each) =>
      ordersOf(judged, each).some((order) => order.number === number),
    );
    if (end.state === "cancelled" && own.some((each) => isAlive(each) && !each.isCopy))
      troubles.push(`${number} counts as cancelled, and the service has it`);
    if (end.state === "rejected" && own.some((each) => isAlive(each) && !each.isCopy))
      troubles.push(`${number} counts as rejected, and the service has it`);
  }
  return troubles;
}

function isDone(judged: Judged, { number }: Pick<Word, "number">): boolean {
  return judged.service.requests.some(
    (each) =>
      each.procedure?.status === "COMPLETED" &&
      ordersOf(judged, each).some((order) => order.number === number),
  );
}
