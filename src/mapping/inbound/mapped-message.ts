import type { Problem } from "../../core/failures.ts";
import type { MappedMessage, MessageName } from "../../core/mapped-message.ts";
import type { Order } from "../../core/order.ts";
import { phi } from "../../core/phi.ts";
import { type Place, placeText, within } from "../../core/place.ts";
import { type MessageView, moduleFailure, runSiteModule, type SiteModule } from "../profile/module.ts";
import type { Profile } from "../profile/profile.ts";
import type { Reading } from "../profile/value.ts";
import { withCodeHint } from "./code-hint.ts";
import { type Draft, type FinishSettings, finishDraft } from "./draft.ts";
import { keptIfFit, presentable } from "./unfit.ts";

export interface MapperSettings {
  /** The service's facility id by the lab's name, from the configuration's `facilities`. */
  readonly facilityIdByCode: ReadonlyMap<string, number>;
  /** What MSH-11 must say (P, T or D) where the profile does not; unset: any. */
  readonly processingId?: "P" | "T" | "D" | undefined;
  /** HL7: whether the sender never ends the last segment of a message; one that is not ended is refused unless set. */
  readonly unterminated?: "refuse" | "accept" | undefined;
  /** HL7: whether messages come in frames, whose end shows that a message is whole. */
  readonly isFramed?: boolean | undefined;
  /** HL7: whether the segments of a message may end in different ways; such a message is refused unless set. */
  readonly mixedLineEnds?: "refuse" | "accept" | undefined;
  /** How many labels one order may have; 500 unless set. */
  readonly labelsPerOrder?: number | undefined;
  /** What becomes of a message with which nothing is wrong but such codes; it waits unless set. */
  readonly unknownCodes?: "wait" | "refuse" | undefined;
}

/** A message that is not taken, with the reasons in a form that can be shown. */
export function refuse(problems: readonly Problem[], name: MessageName = {}): MappedMessage {
  return { verdict: "refused", ...name, orders: [], problems: problems.map(presentable) };
}

/**
 * Runs the site's module over each order and judges what it leaves.
 *
 * @param viewOf what the module may look at besides the nth order, from 0
 */
export function finishAll(
  drafts: readonly Draft[],
  profile: Profile,
  viewOf: (n: number) => MessageView,
  finish: FinishSettings & MapperSettings,
  place: Place,
): MappedMessage {
  const { module } = profile;
  const runs: readonly Run[] = module
    ? drafts.map((draft, n) =>
        run(module, draft, { message: viewOf(n), place: placeOf(draft, place), rules: profile.rules }),
      )
    : [{ drafts }];
  const orders: Order[] = [];
  const problems: Problem[] = [];
  for (const { problem, drafts: left } of runs) {
    if (problem !== undefined) problems.push(problem);
    for (const draft of left) {
      const finished = finishDraft(draft, finish);
      if ("order" in finished) orders.push(finished.order);
      else for (const found of finished.problems) problems.push(found);
    }
  }
  const found = withoutRepeats(problems);
  const waits = found.length > 0 && finish.unknownCodes !== "refuse" && found.every(isUnknownCode);
  const isWholeFile = profile.format === "csv" && profile.reading.wholeFile;
  const refusedBy = finish.unknownCodes === "refuse" ? "setting" : "besides";
  const then = waits ? "release" : isWholeFile ? "drop" : refusedBy;
  const unique = found.map((problem) => withCodeHint(problem, profile, then));
  const judged = unique.length > 0 ? runs.flatMap((one) => one.drafts) : [];
  if (waits) {
    return {
      ...refuse(unique),
      verdict: "waiting",
      subjectCodes: valuesOf(judged.map(({ subject }) => subject.code)).map((code) => phi(code)),
      orderNumbers: valuesOf(judged.map(({ placerOrderNumber }) => placerOrderNumber)),
      names: namesOf(judged),
    };
  }
  if (unique.length > 0) return { ...refuse(unique), names: namesOf(judged) };
  const clash = findSharedNumber(orders);
  if (clash === undefined) return { verdict: "accepted", orders, problems: [] };
  const twice = `it made two orders with the number ${clash}; each needs its own`;
  return refuse([moduleFailure(module?.specifier ?? "", place, twice)]);
}

/** The place of a whole order. */
function placeOf({ head, placeOf: inOrder }: Draft, messagePlace: Place): Place {
  return head === undefined || inOrder === undefined ? messagePlace : within(messagePlace, inOrder(head));
}

/** What the site's module left of some drafts, if there is one, and what is wrong with it. */
interface Run {
  readonly drafts: readonly Draft[];
  readonly problem?: Problem | undefined;
}

/** A draft that the module failed on is judged too, so that everything that is wrong with it is reported. */
function run(module: SiteModule, draft: Draft, site: Parameters<typeof runSiteModule>[2]): Run {
  const result = runSiteModule(module, draft, site);
  return "drafts" in result ? result : { drafts: [draft], problem: result.problem };
}

/** The different values that were found. */
function valuesOf(readings: readonly Reading[]): string[] {
  return [...new Set(readings.flatMap((reading) => (reading.status === "found" ? [reading.value] : [])))];
}

/** What orders are found by: their numbers and labels, as far as they can be kept. */
function namesOf(drafts: readonly Draft[]): string[] {
  const numbers = drafts.map(({ placerOrderNumber }) => placerOrderNumber);
  const labels = drafts.flatMap(({ containers }) => containers.map(({ label }) => label));
  return valuesOf([...numbers, ...labels]).filter((name) => keptIfFit(name) !== undefined);
}

/** A code that can be added to a table or the configuration, after which the message is right as it is. */
function isUnknownCode({ code }: Problem): boolean {
  return code === "MAPPING_FACILITY_UNKNOWN" || code === "MAPPING_OPERATION_UNKNOWN";
}

/** What is wrong with the patient is wrong with each order of the message; it is reported once. */
export function withoutRepeats(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= 1) return problems;
  return [
    ...new Map(
      problems.map((problem) => [`${problem.code} ${placeText(problem.place)} ${problem.message}`, problem]),
    ).values(),
  ];
}

/** Only a split by a module can give two orders one number: the readers put those together. */
function findSharedNumber(orders: readonly Order[]): string | undefined {
  if (orders.length <= 1) return undefined;
  const seen = new Set<string>();
  for (const { placerOrderNumber } of orders) {
    if (placerOrderNumber === undefined) continue;
    if (seen.has(placerOrderNumber)) return placerOrderNumber;
    seen.add(placerOrderNumber);
  }
  return undefined;
}
