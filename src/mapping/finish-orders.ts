import type { Problem } from "../core/failures.ts";
import type { Order } from "../core/order.ts";
import { phi } from "../core/phi.ts";
import { type Draft, type FinishSettings, finishDraft } from "./draft.ts";
import { type MappedMessage, type MapperSettings, refuse } from "./mapped-message.ts";
import type { MessageView } from "./message-view.ts";
import { runSiteModule } from "./module.ts";
import type { Profile } from "./profile.ts";

/** Runs the site's module over each order and judges what it leaves. */
export function finishAll(
  drafts: readonly Draft[],
  profile: Profile,
  view: MessageView,
  finish: FinishSettings & MapperSettings,
  place: string,
): MappedMessage {
  const orders: Order[] = [];
  const subjectCodes = new Set<string>();
  const orderNumbers = new Set<string>();
  const problems: Problem[] = [];
  for (const draft of drafts) {
    const result = profile.module ? runSiteModule(profile.module, draft, view, place) : { drafts: [draft] };
    if ("problem" in result) problems.push(result.problem);
    for (const judged of "drafts" in result ? result.drafts : [draft]) {
      const { placerOrderNumber, subject } = judged;
      if (subject.code.status === "found") subjectCodes.add(subject.code.value);
      if (placerOrderNumber.status === "found") orderNumbers.add(placerOrderNumber.value);
      const finished = finishDraft(judged, finish);
      if ("order" in finished) orders.push(finished.order);
      else problems.push(...finished.problems);
    }
  }
  const unique = withoutRepeats(problems);
  if (unique.length > 0 && finish.unknownCodes !== "refuse" && unique.every(isUnknownCode)) {
    return {
      ...refuse(unique),
      verdict: "waiting",
      subjectCodes: [...subjectCodes].map((code) => phi(code)),
      orderNumbers: [...orderNumbers],
    };
  }
  if (unique.length > 0) return refuse(unique);
  const clash = findSharedNumber(orders);
  if (clash === undefined) return { verdict: "accepted", orders, problems: [] };
  const message = `the module made two orders with the number ${clash}; each needs its own`;
  return refuse([{ code: "MAPPING_MODULE_FAILED", place, message }]);
}

/** A code that a table or the configuration can be taught, after which the message is right as it is. */
function isUnknownCode({ code }: Problem): boolean {
  return code === "MAPPING_FACILITY_UNKNOWN" || code === "MAPPING_OPERATION_UNKNOWN";
}

/** What is wrong with the patient is wrong with each order of the message; it is told once. */
export function withoutRepeats(problems: readonly Problem[]): Problem[] {
  return [
    ...new Map(
      problems.map((problem) => [`${problem.code} ${problem.place} ${problem.message}`, problem]),
    ).values(),
  ];
}

/** Only a split by a module can give two orders one number: the readers put those together. */
function findSharedNumber(orders: readonly Order[]): string | undefined {
  const seen = new Set<string>();
  for (const { placerOrderNumber } of orders) {
    if (placerOrderNumber === undefined) continue;
    if (seen.has(placerOrderNumber)) return placerOrderNumber;
    seen.add(placerOrderNumber);
  }
  return undefined;
}
