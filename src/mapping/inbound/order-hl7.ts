import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import type { EchoFound } from "../../core/message-echo.ts";
import type { Control } from "../../core/order-control.ts";
import { atField, atSegment, joined, type Place, placeText } from "../../core/place.ts";
import type { OrderGroup, OrderParts } from "../../formats/hl7/groups.ts";
import type { Hl7Message } from "../../formats/hl7/message.ts";
import type { FieldPath } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { type Reading, readValue, type ValueRule } from "../profile/value.ts";
import { describeContainers } from "./beside-hl7.ts";
import { checkPlacing } from "./check-structure.ts";
import { type ContainerPlace, strayContainers } from "./containers-hl7.ts";
import { controlOf, isChanging, readNumber } from "./control-hl7.ts";
import { BY_TYPE, type Draft, listRequired, pairContainers } from "./draft.ts";
import {
  eachHint,
  findIn,
  findSingle,
  findSubjectCode,
  groupScopes,
  missingAt,
  readStrictly,
} from "./find-hl7.ts";
import { type LabelledPlace, LabelReader } from "./labels-hl7.ts";
import { authorityOf, disagreementOnAuthority } from "./number-place.ts";
import { headOf, orderPlaces } from "./order-place.ts";
import { OrderScope } from "./order-scope.ts";

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
export function readOrders(parts: OrderParts, profile: Hl7Profile, control?: "change" | "replace"): Draft[] {
  const placing = parts.groups.filter((group) => controlOf(group, profile) === control);
  if (placing.length === 0) return [];
  const units = placing.map((group) => readUnit(group, control, parts, profile));
  const subject = readSubject(parts.segments, profile);
  const strays = complainOfStrays(placing, parts, profile);
  const required = listRequired(profile.rules);
  const drafts: Draft[] = [];
  const labels = new LabelReader(parts.shared, profile);
  const orders = [...groupByNumber(units)];
  const placed = orders.map((same) => ({
    number: numberOf(same[0]),
    groups: same.map(({ group }) => group),
  }));
  const placeIn = orderPlaces(placed, parts.shared, profile.orders.each);
  for (const [index, same] of orders.entries()) {
    const first = same[0] as Unit;
    const own = same.length === 1 ? first.problems : same.flatMap(({ problems }) => problems);
    const head = headOf(first.group, profile.orders.each);
    const isAmongOthers = same.length < parts.groups.length;
    const { containers, problems } = readContainers(same, parts, profile, labels);
    drafts.push({
      required,
      operation: first.operation,
      facility: first.facility,
      placerOrderNumber: first.number,
      placerAuthority: authorityOf(same),
      subject,
      containers,
      containerPlace: profile.containerPlace,
      head: head && atSegment(head),
      ...(isAmongOthers ? { placeOf: (place: Place) => placeIn(index, place) } : {}),
      problems: [
        ...own,
        ...problems,
        ...compareUnits(same),
        ...(profile.orders.sameNumber === "refuse" ? refuseSameNumber(same, profile) : []),
        ...compareNames(subject),
        ...(drafts.length === 0 ? strays : []),
      ],
    });
  }
  return drafts;
}

/** Units of one order each, in the order in which they stand. Without a number a unit is an order of its own. */
function groupByNumber(units: readonly Unit[]): Iterable<readonly Unit[]> {
  if (units.length === 1) return [units];
  return Map.groupBy(units, ({ number, group }) =>
    number.status === "found" ? number.value : group,
  ).values();
}

/**
 * Reads what an ADT message says of a subject: a registration, an update, or a merge of two identifiers.
 *
 * @param scope the segments of that subject, where the message has several
 */
export function readSubjectOrder(
  message: Hl7Message,
  profile: Hl7Profile,
  operation: "REGISTER" | "UPDATE" | "MERGE",
  scope: readonly Segment[] = message.segments,
): Draft {
  const subject = readSubject(scope, profile);
  const { rules } = profile;
  return {
    operation: { status: "found", value: operation, place: BY_TYPE },
    facility: readValue(rules.facility, findSingle, scope),
    placerOrderNumber: { status: "absent", place: BY_TYPE },
    ...(operation === "MERGE" ? { priorCode: readPriorCode(scope, profile) } : {}),
    subject,
    containers: [],
    containerPlace: {},
    problems: [...compareNames(subject), ...unclearFields([], scope, [], profile)],
  };
}

/** A profile that finds subject codes where MRG has no counterpart has to say itself which identifier a merge does away with. */
function readPriorCode(scope: readonly Segment[], { rules }: Hl7Profile): Reading {
  const rule = rules.subject.priorCode;
  if (rule.sources.length > 0) return readStrictly(rule, findSubjectCode, scope);
  return {
    status: "bad",
    place: atField("MRG", 1),
    code: "MAPPING_VALUE_MISSING",
    message: "is not read: where the identifier that goes stands was not agreed for this interface",
    hint: byReload("Name the place of the identifier that goes as `subject.priorCode` in the profile."),
  };
}

function readUnit(
  group: OrderGroup,
  control: Control | undefined,
  parts: OrderParts,
  profile: Hl7Profile,
): Unit {
  const { rules } = profile;
  const problems = isChanging(control) ? [] : checkPlacing(group, profile);
  const scopes = groupScopes(group, parts.shared);
  const read = (what: string, readings: readonly Reading[], hint?: string): Reading => {
    const [first, ...others] = readings as readonly [Reading, ...Reading[]];
    const disagreements = others.flatMap((other) => disagree(first, other, what) ?? []);
    problems.push(...disagreements.map((each) => (hint === undefined ? each : { ...each, hint })));
    return readings.find(({ status }) => status === "bad") ?? first;
  };
  const readEach = (rule: ValueRule<FieldPath>) => scopes.map((scope) => readThere(rule, scope));
  const hint = eachHint(group, profile);
  const number = read("placer order number", readNumber(group, parts, profile), hint);
  return {
    group,
    number:
      number.status === "bad" && number.code === "MAPPING_VALUES_DISAGREE"
        ? { ...number, hint: hint ?? number.hint }
        : number,
    operation: read("operation", readEach(rules.operation)),
    facility: read("facility", readEach(rules.facility)),
    problems,
  };
}

/** Reads a code; where it is missing, the place in this very group is named. */
function readThere(rule: ValueRule<FieldPath>, scope: readonly Segment[]): Reading {
  const reading = readValue(rule, findSingle, scope);
  if (reading.status !== "absent") return reading;
  return { status: "absent", place: missingAt(rule, scope) ?? reading.place };
}

function numberOf(unit: Unit | undefined): string | undefined {
  return unit?.number.status === "found" ? unit.number.value : undefined;
}

/** What the groups of one order must say alike. */
function compareUnits(units: readonly Unit[]): Problem[] {
  const [first, ...others] = units;
  if (first === undefined || others.length === 0) return [];
  const found = others.flatMap((other) => [
    disagree(first.operation, other.operation, "operation"),
    disagree(first.facility, other.facility, "facility"),
    // What is wrong with the first group is reported with its own values.
    ...[other.operation, other.facility].map((reading) => (reading.status === "bad" ? reading : undefined)),
  ]);
  return [...found, disagreementOnAuthority(units)].filter((problem) => problem !== undefined);
}

/** Where each order has a number of its own, a second one with it is a copy that nobody corrected. */
function refuseSameNumber([first, ...others]: readonly Unit[], { orders: { each } }: Hl7Profile): Problem[] {
  return others.map(({ number }) => ({
    code: "MAPPING_VALUES_DISAGREE",
    place: number.place,
    message: `gives the same order number as ${placeText(first?.number.place ?? {})}; expected a number of its own for each ${each}`,
    hint: byReload(
      `Have the lab give each order its own number. Where ${each}s with one number are one order with several containers, set \`orders: { sameNumber: join }\` in the profile.`,
    ),
  }));
}

function disagree(one: Reading, other: Reading, what: string): Problem | undefined {
  if (one.status === "bad" || other.status === "bad") return undefined;
  const [a, b] = [one, other].map((reading) => (reading.status === "found" ? reading.value : undefined));
  if (a === b) return undefined;
  const isSame = placeText(one.place) === placeText(other.place);
  const place = isSame ? one.place : joined([one.place, other.place], "and");
  return { code: "MAPPING_VALUES_DISAGREE", place, message: `one order must have one ${what}` };
}

function readSubject(scope: readonly Segment[], { rules }: Hl7Profile): Draft["subject"] {
  return {
    code: readStrictly(rules.subject.code, findSubjectCode, scope),
    firstName: readValue(rules.subject.firstName, findIn, scope),
    lastName: readValue(rules.subject.lastName, findIn, scope),
    dateOfBirth: readStrictly(rules.subject.dateOfBirth, findIn, scope),
  };
}

/** PID-5 repeats (legal, maiden, alias); a given name of one and a family name of another would be nobody's. */
function compareNames({ firstName, lastName }: Draft["subject"]): Problem[] {
  if (firstName.status !== "found" || lastName.status !== "found") return [];
  const [first, last] = [firstName, lastName].map(({ place }) => place.spots?.[0]);
  if (first === undefined || last === undefined || !("field" in first) || !("field" in last)) return [];
  const isOneField = first.segment === last.segment && first.field === last.field;
  const repetitions = [first, last].map(({ repetition = 1 }) => repetition);
  if (!isOneField || first.ordinal !== last.ordinal || repetitions[0] === repetitions[1]) return [];
  return [
    {
      code: "MAPPING_VALUES_DISAGREE",
      place: joined([firstName.place, lastName.place], "and"),
      message: "the first and last name come from different repetitions, expected both in one",
    },
  ];
}

function complainOfStrays(
  groups: readonly OrderGroup[],
  { shared }: OrderParts,
  { containers: { each } }: Hl7Profile,
): Problem[] {
  return strayContainers(groups, shared, each).map((segment) => ({
    code: "MAPPING_CONTAINER_UNEXPECTED",
    place: atSegment(segment),
    message:
      "names a container before its OBR or beside specimens, expected it below an OBR and without them",
  }));
}

function readContainers(
  units: readonly Unit[],
  { shared }: OrderParts,
  profile: Hl7Profile,
  reader: LabelReader,
): { readonly containers: Draft["containers"]; readonly problems: readonly Problem[] } {
  const groups = units.map(({ group }) => group);
  const places = reader.placesOf(groups);
  const describe = describeContainers(groups, profile);
  const containers: Draft["containers"][number][] = [];
  let isNamed = false;
  for (const place of places) {
    const { segment, labels } = place;
    containers.push(...pairContainers(labels, describe(place, labels.flat().length)));
    isNamed ||= segment.name !== "OBR" || labels.flat().some(({ status }) => status !== "absent");
  }
  const problems = unclearFields(groups, shared, places, profile);
  // OBR stands for a container only where it names one; an order whose OBRs name none has no container.
  return { containers: isNamed ? containers : [], problems };
}

/** Segments of what is sent that stand for a container, or may. */
const OF_CONTAINERS: readonly string[] = ["OBX", "SAC", "SPM"];

/**
 * What the site's own fields have of the message that brought an order (`results.fields`): values of the order, and of each of its
 * containers. None is found where it isn't certain whose it is; undefined where the profile wants none.
 *
 * @param groups those of the order
 * @param isTaken whether there are containers that anything is sent of
 * @param reader that of the message
 */
export function keepFound(
  groups: readonly OrderGroup[],
  shared: readonly Segment[],
  profile: Hl7Profile,
  isTaken: boolean,
  reader: LabelReader,
): EchoFound | undefined {
  const { fields = [] } = profile.results;
  const reads = fields.flatMap((field) => field.reads);
  if (reads.length === 0) return undefined;
  const places = reader.placesOf(groups);
  const scope = new OrderScope(groups, shared, segmentsOf(places));
  const valuesOf = (paths: readonly FieldPath[], container: Segment | "unknown" | undefined) =>
    Object.fromEntries(
      paths.flatMap((path) => {
        const found = scope.find(path, container);
        return found === undefined || "code" in found ? [] : [[path.path, found.value]];
      }),
    );
  const ofContainers = fields.flatMap((field) =>
    OF_CONTAINERS.includes(field.path.segment) ? field.reads : [],
  );
  const isRead = isTaken && ofContainers.length > 0;
  return {
    order: valuesOf(reads, undefined),
    other: isTaken ? valuesOf(ofContainers, "unknown") : {},
    containers: isRead
      ? [...containersByLabel(places)].flatMap(([label, container]) =>
          container === "unknown" ? [] : [[label, valuesOf(ofContainers, container)]],
        )
      : [],
  };
}

/** What stands for the container with each label. */
function containersByLabel(places: readonly LabelledPlace[]): ReadonlyMap<string, Segment | "unknown"> {
  const byLabel = new Map<string, Segment | "unknown">();
  for (const { segment, labels } of places) {
    for (const label of labels.flat()) {
      if (label.status !== "found") continue;
      const other = byLabel.get(label.value);
      byLabel.set(label.value, other === undefined || other === segment ? segment : "unknown");
    }
  }
  return byLabel;
}

function segmentsOf(places: readonly ContainerPlace[]): ReadonlySet<Segment> {
  return new Set(places.map(({ segment }) => segment));
}

/** What results about the order are to repeat of the message, where it isn't certain which value is meant. */
function unclearFields(
  groups: readonly OrderGroup[],
  shared: readonly Segment[],
  places: readonly LabelledPlace[],
  { results: { fields = [], format, formats } }: Hl7Profile,
): Problem[] {
  if (fields.every(({ reads }) => reads.length === 0)) return [];
  const containers = segmentsOf(places);
  const isOftenSsu = format === "ssu" || Object.values(formats ?? {}).includes("ssu");
  const isAlwaysSsu = format === "ssu" && formats === undefined;
  const scope = new OrderScope(groups, shared, containers);
  const problems = new Map<string, Problem>();
  for (const { path: target, reads, isOf } of fields) {
    // In a specimen status update each OBX follows a container's SAC.
    const isObx = target.segment === "OBX";
    const owners = [
      ...(isOf.order && !(isObx && isAlwaysSsu) ? [undefined] : []),
      ...(isOf.container || (isObx && isOftenSsu) ? containers : []),
    ];
    for (const path of reads) {
      for (const owner of owners) {
        const found = scope.find(path, owner);
        if (found === undefined || !("code" in found)) continue;
        const message = `${found.message}: results.fields has {${path.path}} in ${target.path}`;
        const { code, place, hint } = found;
        problems.set(`${path.path} ${placeText(place)}`, { code, place, message, ...(hint ? { hint } : {}) });
      }
    }
  }
  return [...problems.values()];
}
