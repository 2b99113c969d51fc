import type { FailureCode, Problem } from "../core/failures.ts";
import { type OrderGroup, orderGroups, sharedSegments } from "../formats/hl7/groups.ts";
import type { Hl7Message, Segment } from "../formats/hl7/message.ts";
import type { FieldPath } from "../formats/hl7/path.ts";
import { listContainers } from "./containers-hl7.ts";
import { type Draft, OPERATION_BY_TYPE } from "./draft.ts";
import { findIn, findSubjectCode } from "./find-hl7.ts";
import type { Hl7Profile } from "./profile.ts";
import { quote } from "./transforms.ts";
import { type Reading, readValue, type ValueRule } from "./value.ts";
import { controlOf, isChanging } from "./wish-hl7.ts";

/** A message, and its segments that never belong to one order alone: a value may be read from them for each order. */
interface Shared {
  readonly message: Hl7Message;
  readonly segments: readonly Segment[];
}

/** One ORC with its OBRs, and the values by which it is put together with others of the same order. */
interface Unit {
  readonly group: OrderGroup;
  readonly number: Reading;
  readonly operation: Reading;
  readonly facility: Reading;
  readonly problems: readonly Problem[];
}

/**
 * Reads the new orders of an order message; or what earlier ones are to ask for from now on. Groups with one placer order
 * number are one order with several containers.
 *
 * @param control what the groups want of an earlier order; undefined for new ones
 */
export function readOrders(
  message: Hl7Message,
  profile: Hl7Profile,
  messagePlace: string,
  control?: "change" | "replace",
): Draft[] {
  const groups = orderGroups(message);
  const shared: Shared = { message, segments: sharedSegments(message) };
  const placing = groups.filter((group) => controlOf(group, profile) === control);
  const units = placing.map((group) => readUnit(group, shared, profile, messagePlace));
  const subject = readSubject(message, profile);
  const unitsByNumber = Map.groupBy(units, ({ number, group }) =>
    number.status === "found" ? number.value : group,
  );
  return [...unitsByNumber.values()].map((same) => {
    const first = same[0] as Unit;
    return {
      operation: first.operation,
      facility: first.facility,
      placerOrderNumber: first.number,
      subject,
      containers: readContainers(same, shared, profile),
      containerPlace: profile.containerPlace,
      problems: [
        ...same.flatMap(({ problems }) => problems),
        ...compareUnits(same, messagePlace),
        ...compareNames(subject, messagePlace),
      ],
    };
  });
}

/**
 * Reads what an ADT message says of a subject: a registration, an update, or a merge of two identifiers.
 *
 * @param scope the segments of that subject, where the message has several
 */
export function readSubjectOrder(
  message: Hl7Message,
  profile: Hl7Profile,
  messagePlace: string,
  operation: "REGISTER" | "UPDATE" | "MERGE",
  scope: readonly Segment[] = message.segments,
): Draft {
  const subject = readSubject(message, profile, scope);
  const { rules } = profile;
  return {
    operation: { status: "found", value: operation, place: OPERATION_BY_TYPE },
    facility: readValue(rules.facility, findIn(message, scope)),
    placerOrderNumber: { status: "absent", place: OPERATION_BY_TYPE },
    ...(operation === "MERGE"
      ? { priorCode: readValue(rules.subject.priorCode, findSubjectCode(message, scope)) }
      : {}),
    subject,
    containers: [],
    containerPlace: "",
    problems: compareNames(subject, messagePlace),
  };
}

/** The original's groups of one order, for messages that echo them. */
export function findOrderGroups(
  message: Hl7Message,
  profile: Hl7Profile,
  placerOrderNumber: string,
): OrderGroup[] {
  const groups = orderGroups(message);
  const shared: Shared = { message, segments: sharedSegments(message) };
  const placing = groups.filter((group) => controlOf(group, profile) === undefined);
  return placing.filter((group) => {
    const { number } = readUnit(group, shared, profile, "");
    return number.status === "found" && number.value === placerOrderNumber;
  });
}

function readUnit(group: OrderGroup, shared: Shared, profile: Hl7Profile, messagePlace: string): Unit {
  const { rules } = profile;
  const { orc, others, obrs } = group;
  // ORC and what stands beside it, without the segments of specimens.
  const head = orc === undefined ? others : [orc, ...others];
  const scopes = obrs.length === 0 ? [head] : obrs.map((obr) => [...head, obr]);
  const finders = scopes.map((scope) => findIn(shared.message, [...scope, ...shared.segments]));
  const problems: Problem[] = [];
  const read = (rule: ValueRule<FieldPath>, what: string): Reading => {
    const readings = finders.map((find) => readValue(rule, find));
    const first = readings[0] as Reading;
    for (const reading of readings) {
      const disagreement = reading === first ? undefined : disagree(first, reading, what);
      if (disagreement) problems.push({ ...disagreement, place: `${messagePlace}, ${disagreement.place}` });
    }
    return readings.find(({ status }) => status === "bad") ?? first;
  };
  const unit = {
    group,
    number: read(rules.placerOrderNumber, "placer order number"),
    operation: read(rules.operation, "operation"),
    facility: read(rules.facility, "facility"),
  };
  const control = checkOrderControl(group, profile, messagePlace);
  return { ...unit, problems: control === undefined ? problems : [control, ...problems] };
}

/** ORC-1 (table 0119): a new order, or a change. Answering any other request as if it were one would do the opposite. */
function checkOrderControl(
  group: OrderGroup,
  profile: Hl7Profile,
  messagePlace: string,
): Problem | undefined {
  const { orc } = group;
  const control = orc?.get(1);
  if (orc === undefined || control === undefined || control === "NW") return undefined;
  if (isChanging(controlOf(group, profile))) return undefined;
  const which = orc.ordinal > 1 ? `[${orc.ordinal}]` : "";
  const known = [...profile.controls.keys()].sort().join(", ");
  return {
    code: "MAPPING_ORDER_CONTROL_UNSUPPORTED",
    place: `${messagePlace}, ORC${which}-1`,
    message: `holds ${quote(control)}, expected NW (new order)${known === "" ? "" : ` or one of ${known}`}; nothing was changed or cancelled`,
  };
}

/** What the groups of one order must say alike. */
function compareUnits(units: readonly Unit[], messagePlace: string): Problem[] {
  const [first, ...others] = units;
  if (first === undefined) return [];
  return others.flatMap((other) =>
    [
      disagree(first.operation, other.operation, "operation"),
      disagree(first.facility, other.facility, "facility"),
      // Troubles of the first group are told by its own values.
      troubleOf(other.operation, "MAPPING_OPERATION_UNKNOWN"),
      troubleOf(other.facility, "MAPPING_FACILITY_UNKNOWN"),
    ].flatMap((problem) => (problem ? [{ ...problem, place: `${messagePlace}, ${problem.place}` }] : [])),
  );
}

function troubleOf(reading: Reading, whenUnknown: FailureCode): Problem | undefined {
  if (reading.status !== "bad") return undefined;
  const code = reading.code === "MAPPING_CODE_UNKNOWN" ? whenUnknown : reading.code;
  const problem = { code, place: reading.place, message: reading.trouble };
  return code === whenUnknown && reading.value !== undefined
    ? { ...problem, unknownCode: reading.value }
    : problem;
}

function disagree(one: Reading, other: Reading, what: string): Problem | undefined {
  if (one.status === "bad" || other.status === "bad") return undefined;
  const [a, b] = [one, other].map((reading) => (reading.status === "found" ? reading.value : undefined));
  if (a === b) return undefined;
  const place = one.place === other.place ? one.place : `${one.place} and ${other.place}`;
  return { code: "MAPPING_VALUES_DISAGREE", place, message: `one order must have one ${what}` };
}

function readSubject(
  message: Hl7Message,
  { rules }: Hl7Profile,
  scope: readonly Segment[] = message.segments,
): Draft["subject"] {
  const find = findIn(message, scope);
  return {
    code: readValue(rules.subject.code, findSubjectCode(message, scope)),
    firstName: readValue(rules.subject.firstName, find),
    lastName: readValue(rules.subject.lastName, find),
    dateOfBirth: readValue(rules.subject.dateOfBirth, find),
  };
}

/** PID-5 repeats (legal, maiden, alias); a given name of one and a family name of another would be nobody's. */
function compareNames({ firstName, lastName }: Draft["subject"], messagePlace: string): Problem[] {
  if (firstName.status !== "found" || lastName.status !== "found") return [];
  // Nearly always both are components of one repetition.
  if (fieldOf(firstName.place) === fieldOf(lastName.place)) return [];
  const [first, last] = [firstName, lastName].map(({ place }) =>
    /^([A-Z0-9]{3}-\d+)(?:\[(\d+)\])?/.exec(place),
  );
  if (!first || !last || first[1] !== last[1] || (first[2] ?? "1") === (last[2] ?? "1")) return [];
  return [
    {
      code: "MAPPING_VALUES_DISAGREE",
      place: `${messagePlace}, ${firstName.place} and ${lastName.place}`,
      message: "the first and last name come from different repetitions, expected both in one",
    },
  ];
}

/** A place without its component. */
function fieldOf(place: string): string {
  const dot = place.indexOf(".");
  return dot === -1 ? place : place.slice(0, dot);
}

function readContainers(units: readonly Unit[], shared: Shared, profile: Hl7Profile): Draft["containers"] {
  // OML^O33 may repeat an order's ORC below one specimen: its containers are the same segments, and counted once.
  const seen = new Set<Segment>();
  const containers: Draft["containers"][number][] = [];
  let isNamed = false;
  for (const { group } of units) {
    for (const { segment, scope } of listContainers(group, profile.each)) {
      if (seen.has(segment)) continue;
      seen.add(segment);
      const find = findIn(shared.message, [...scope, ...shared.segments]);
      const label = readValue(profile.rules.label, find);
      containers.push({ label, description: readValue(profile.rules.description, find) });
      isNamed ||= segment.name !== "OBR" || label.status !== "absent";
    }
  }
  // OBR stands for a container only where it names one; an order whose OBRs name none has no container.
  return isNamed ? containers : [];
}
