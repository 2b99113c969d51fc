import { systemClock } from "../../core/clock.ts";
import type { FailureCode, Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import {
  type AssigningAuthority,
  movesContainers,
  type Operation,
  type Order,
  type OrderSubject,
} from "../../core/order.ts";
import { phi } from "../../core/phi.ts";
import { atField, type Place, placeText, within } from "../../core/place.ts";
import { isOperation, TABLE_OPERATIONS } from "../profile/operations.ts";
import { nearInCase, quote } from "../profile/transforms.ts";
import type { Reading, ValueRule } from "../profile/value.ts";
import { findUnfit, type ValueKind } from "./unfit.ts";

/** One container as it was read. */
export interface DraftContainer {
  readonly label: Reading;
  readonly description: Reading;
}

type Rules = Readonly<Record<string, ValueRule<unknown>>>;

/** The names of the values that a profile requires of an order to store or retrieve, such as `subject.firstName`. */
export function listRequired({
  subject,
  containers,
}: {
  readonly subject: Rules;
  readonly containers: Rules;
}): ReadonlySet<string | undefined> {
  const rules = [...Object.values(subject), ...Object.values(containers)];
  return new Set(rules.filter(({ isRequired }) => isRequired).map(({ name }) => name));
}

/** An order as it was read, before anything was judged: each value with its place, or what was wrong there. */
export interface Draft {
  /** Values that the profile requires besides those that every order needs. */
  readonly required?: ReadonlySet<string | undefined> | undefined;
  readonly operation: Reading;
  readonly facility: Reading;
  readonly placerOrderNumber: Reading;
  /** Who assigned the number. */
  readonly placerAuthority?: AssigningAuthority | undefined;
  /** The identifier that a merge does away with; there for a merge alone. */
  readonly priorCode?: Reading | undefined;
  readonly subject: {
    readonly code: Reading;
    readonly firstName: Reading;
    readonly lastName: Reading;
    readonly dateOfBirth: Reading;
  };
  readonly containers: readonly DraftContainer[];
  /** Where containers were looked for: `SAC or SPM`. */
  readonly containerPlace: Place;
  /** HL7: the segment with which the order begins, such as `OBR[2]`. */
  readonly head?: Place | undefined;
  /** A place as it is reported of this order; as it is unless a message has several orders. */
  readonly placeOf?: ((place: Place) => Place) | undefined;
  /** What does not fit together, found while reading; without {@link FinishSettings.messagePlace}. */
  readonly problems: readonly Problem[];
}

/**
 * The containers that labels make, each with its description: the one that stands where its label does, where there are as
 * many of them; or the one for all. Anything else would give a container another one's description.
 */
export function pairContainers(
  labels: readonly (readonly Reading[])[],
  descriptions: readonly (readonly Reading[])[],
): DraftContainer[] {
  return labels.flatMap((group, i) => {
    const [first = NO_DESCRIPTION, ...others] = descriptions[descriptions.length === 1 ? 0 : i] ?? [];
    const all = [first, ...others];
    return group.map((label, n): DraftContainer => {
      if (all.length === 1) return { label, description: first };
      if (all.length === group.length) return { label, description: all[n] ?? first };
      const message = `are ${all.length} descriptions of ${group.length} labels; expected as many, or one for all`;
      const { part: _, ...place } = first.place;
      return { label, description: { status: "bad", place, code: "MAPPING_VALUES_DISAGREE", message } };
    });
  });
}

const NO_DESCRIPTION: Reading = { status: "absent", place: {} };

export interface FinishSettings {
  /** The service's id by the lab's name for the facility. */
  readonly facilityIdByCode: ReadonlyMap<string, number>;
  /** How many labels an order may have; {@link LABELS_PER_ORDER} unless given. */
  readonly labelsPerOrder?: number | undefined;
  /** Wall time, ms since the epoch; the machine's unless given. */
  readonly now?: (() => number) | undefined;
  /** The message that places are in; nothing where they name lines themselves. */
  readonly messagePlace: Place;
}

/** No lab stores or thaws that many containers at once; what has more is a list that was taken for an order. */
export const LABELS_PER_ORDER = 500;

/** Where the operation of an order stands that is made of a message's type. */
export const BY_TYPE = atField("MSH", 9);

/** Where the identifier stands that a merge does away with. */
const PRIOR = atField("MRG", 1);

/** Judges a draft: the order, or everything that is wrong with it. */
export function finishDraft(
  draft: Draft,
  settings: FinishSettings,
): { readonly order: Order } | { readonly problems: readonly Problem[] } {
  const judge = new Judge(draft, settings.messagePlace);
  const operation = judge.operation(draft.operation);
  const facilityCode = judge.value(draft.facility, "the facility");
  const facilityId = judge.facility(facilityCode, draft.facility, settings.facilityIdByCode);
  const isRegistration = operation === "REGISTER";
  const hasContainers = operation !== undefined && movesContainers(operation);
  // Only an order about a subject alone may do without a number, and one whose operation no table knows may be one.
  const mayLackNumber = !hasContainers;
  const number = judge.value(draft.placerOrderNumber, mayLackNumber ? undefined : "the order number");
  const code = judge.value(draft.subject.code, "the subject code");
  const { firstName: readFirst, lastName: readLast } = draft.subject;
  const needs = (name: string) => isRegistration || (hasContainers && draft.required?.has(`subject.${name}`));
  const firstName = judge.value(readFirst, needs("firstName") ? "the first name" : undefined, "name");
  const lastName = judge.value(readLast, needs("lastName") ? "the last name" : undefined, "name");
  const dateOfBirth = judge.date(draft.subject.dateOfBirth, needs("dateOfBirth") === true, settings.now);
  if (operation === "UPDATE") judge.deletions([readFirst, readLast, draft.subject.dateOfBirth]);
  const priorCode = operation === "MERGE" ? judge.priorCode(draft.priorCode, code) : undefined;
  const isTooMany = judge.tooManyLabels(draft, settings.labelsPerOrder ?? LABELS_PER_ORDER);
  if (operation !== undefined && !isTooMany) judge.containerCount(draft, operation);
  const containers = isTooMany || (operation !== undefined && !hasContainers) ? [] : judge.containers(draft);
  const { problems } = judge;
  if (problems.length > 0 || !operation || !facilityCode || facilityId === undefined || !code) {
    return { problems };
  }
  const subject: Writable<OrderSubject> = { code: phi(code) };
  if (firstName !== undefined) subject.firstName = phi(firstName);
  if (lastName !== undefined) subject.lastName = phi(lastName);
  if (dateOfBirth !== undefined) subject.dateOfBirth = phi(dateOfBirth);
  const sources = listSources(draft, !hasContainers);
  const order: Writable<Order> = { operation, facilityCode, facilityId, subject, containers, sources };
  if (number !== undefined) {
    order.placerOrderNumber = number;
    if (draft.placerAuthority !== undefined) order.placerAuthority = draft.placerAuthority;
  }
  if (priorCode !== undefined) order.priorSubjectCode = phi(priorCode);
  return { order };
}

/** Something while it is made. */
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * The value that was read; undefined when it is not there or unfit, which is complained of.
 *
 * @param needed names the value where the order can't do without
 */
export function judge(
  reading: Reading,
  needed: string | undefined,
  complain: (problem: Problem) => void,
  kind: ValueKind = "code",
): string | undefined {
  const { place } = reading;
  if (reading.status === "found") {
    const unfit = findUnfit(reading.value, kind);
    if (unfit === undefined) return reading.value;
    complain({ ...unfit, place });
  } else if (reading.status === "bad") {
    complain(reading);
  } else if (needed !== undefined) {
    const found = reading.status === "absent" ? "is empty" : 'says "" (delete)';
    complain({ code: "MAPPING_VALUE_MISSING", place, message: `${found}; ${needed} is expected` });
  }
  return undefined;
}

class Judge {
  readonly problems: Problem[];
  readonly #placeOf: (place: Place) => Place;

  constructor({ problems, placeOf = (place) => place }: Draft, messagePlace: Place) {
    this.#placeOf = (place) => within(messagePlace, placeOf(place));
    this.problems = problems.map((problem) => ({ ...problem, place: this.#placeOf(problem.place) }));
  }

  #complain(
    code: FailureCode,
    place: Place,
    message: string,
    missing?: Pick<Problem, "unknownCode" | "table" | "hint" | "expected">,
  ): undefined {
    this.#add({ code, place, message, ...missing });
  }

  value(reading: Reading, needed: string | undefined, kind?: ValueKind): string | undefined {
    return judge(reading, needed, (problem) => this.#add(problem), kind);
  }

  #add(problem: Problem): void {
    this.problems.push({ ...problem, place: this.#placeOf(problem.place) });
  }

  /** What an update deletes would be compared as if it said nothing, and the lab would be answered that nothing differs. */
  deletions(readings: readonly Reading[]): void {
    for (const { status, place } of readings) {
      if (status !== "deleted") continue;
      const message =
        'says "" (delete), and the storage service has no call to delete it; expected the value';
      this.#complain("MAPPING_VALUE_INVALID", place, message);
    }
  }

  operation(reading: Reading): Operation | undefined {
    const value = this.value(reading, "an operation code");
    if (value === undefined || isOperation(value)) return value;
    // Only the type of a message says so; no table may give it.
    if ((value === "UPDATE" || value === "MERGE") && reading.place === BY_TYPE) return value;
    return this.#complain(
      "MAPPING_OPERATION_UNKNOWN",
      reading.place,
      `holds ${quote(value)}, expected one of ${TABLE_OPERATIONS.join(", ")}`,
      { unknownCode: value, table: "operation.table", expected: TABLE_OPERATIONS },
    );
  }

  facility(
    code: string | undefined,
    reading: Reading,
    idByCode: ReadonlyMap<string, number>,
  ): number | undefined {
    if (code === undefined) return undefined;
    const id = idByCode.get(code);
    if (id !== undefined) return id;
    const known = [...idByCode.keys()].join(", ") || "none";
    const message = `names facility ${quote(code)}, which is not known here; expected one of ${known}${nearInCase(code, idByCode.keys())}`;
    const missing = { unknownCode: code, table: "facilities", expected: [...idByCode.keys()] };
    return this.#complain("MAPPING_FACILITY_UNKNOWN", reading.place, message, missing);
  }

  /** The identifier that goes must be another than the one that stays. */
  priorCode(reading: Reading | undefined, code: string | undefined): string | undefined {
    const prior = this.value(reading ?? { status: "absent", place: PRIOR }, "the prior identifier");
    if (prior === undefined || prior !== code) return prior;
    const message = "is the identifier that the subject keeps; expected the one that goes";
    return this.#complain("MAPPING_VALUES_DISAGREE", reading?.place ?? PRIOR, message);
  }

  /** A birth date in the one form that the service takes, whatever the profile's transforms made of it. */
  date(reading: Reading, isNeeded: boolean, now: () => number = systemClock.now): string | undefined {
    const value = this.value(reading, isNeeded ? "the date of birth" : undefined);
    if (value === undefined) return value;
    if (/^\d{4}-\d{2}-\d{2}$/.test(value)) {
      const unlikely = unlikelyBirth(value, now());
      if (unlikely === undefined) return value;
      return this.#complain("MAPPING_DATE_INVALID", reading.place, unlikely, { hint: UNLIKELY_BIRTH });
    }
    const hint = byReload(
      "It is not YYYY-MM-DD once transformed: the profile should say `as: date` with the format.",
    );
    return this.#complain("MAPPING_DATE_INVALID", reading.place, "is no date that can be read", { hint });
  }

  /** Said once, instead of what may be wrong with each of them. */
  tooManyLabels({ containers, containerPlace, head = containerPlace }: Draft, most: number): boolean {
    if (containers.length <= most) return false;
    const message = `the order has ${containers.length} labels, expected at most ${most}`;
    this.#complain("MAPPING_TOO_MANY_LABELS", head, message, { expected: [String(most)] });
    return true;
  }

  containerCount(draft: Draft, operation: Operation): void {
    if (movesContainers(operation)) {
      const { containers, containerPlace, head } = draft;
      if (containers.length > 0) return;
      const what = head === undefined ? "no container" : `no container (${placeText(containerPlace)})`;
      const message = `${what} in the order, expected at least one for ${operation}`;
      this.#complain("MAPPING_NO_CONTAINER", head ?? containerPlace, message);
      return;
    }
    for (const { label } of draft.containers) {
      if (label.status !== "found") continue;
      this.#complain(
        "MAPPING_CONTAINER_UNEXPECTED",
        label.place,
        "a registration has no containers, expected it empty",
      );
    }
  }

  containers({ containers: drafts, required }: Draft): { label: string; description: string }[] {
    const needed = required?.has("containers.description") ? "the container's description" : undefined;
    const placeByLabel = drafts.length > 1 ? new Map<string, Place>() : undefined;
    const containers: { label: string; description: string }[] = [];
    for (const { label: read, description: readDescription } of drafts) {
      const label = this.value(asContainer(read), undefined);
      const description = this.value(readDescription, needed, "text") ?? "";
      if (label === undefined) continue;
      const before = placeByLabel?.get(label);
      if (before !== undefined) {
        const [place, other] = [read.place, before].map((each) => placeText(each));
        const message = `gives the same label as ${place === other ? "another container" : other}; each container of an order needs its own`;
        this.#complain("MAPPING_CONTAINER_LABEL_TWICE", read.place, message);
      }
      placeByLabel?.set(label, read.place);
      containers.push({ label, description });
    }
    return containers;
  }
}

const OLDEST_YEARS = 130;

/** What no patient's birth date is; it may be another date, or a year of which two digits were guessed. */
function unlikelyBirth(day: string, nowMs: number): string | undefined {
  // Somewhere it is tomorrow already.
  if (Date.parse(day) > nowMs + 86_400_000) return "is a day in the future, expected a date of birth";
  const year = new Date(nowMs).getUTCFullYear();
  return Number(day.slice(0, 4)) < year - OLDEST_YEARS
    ? `is more than ${OLDEST_YEARS} years ago, expected a date of birth`
    : undefined;
}

const UNLIKELY_BIRTH = byReload(
  "Have the lab correct the date of birth, or correct which value the profile reads as one, and in which form.",
);

/** Without a label there is no container, whatever else a row or segment says of one. */
function asContainer(label: Reading): Reading {
  if (label.status !== "absent" && label.status !== "deleted") return label;
  const message = `${label.status === "absent" ? "is empty" : 'says "" (delete)'}; the container's label is expected`;
  return { status: "bad", place: label.place, code: "MAPPING_NO_CONTAINER", message };
}

/** Where each value was found that the order has. */
function listSources(draft: Draft, isSubjectAlone: boolean): Record<string, Place> {
  const sources: Record<string, Place> = {};
  const { code, firstName, lastName, dateOfBirth } = draft.subject;
  note(sources, "operation", draft.operation);
  note(sources, "facility", draft.facility);
  note(sources, "placerOrderNumber", draft.placerOrderNumber);
  note(sources, "priorSubjectCode", draft.priorCode);
  note(sources, "subject.code", code);
  note(sources, "subject.firstName", firstName);
  note(sources, "subject.lastName", lastName);
  note(sources, "subject.dateOfBirth", dateOfBirth);
  if (isSubjectAlone) return sources;
  let n = 0;
  for (const { label, description } of draft.containers) {
    note(sources, `containers[${n}].label`, label);
    note(sources, `containers[${n}].description`, description);
    n += 1;
  }
  return sources;
}

function note(sources: Record<string, Place>, name: string, reading: Reading | undefined): void {
  if (reading?.status === "found") sources[name] = reading.place;
}
