import { Failure } from "../../core/failures.ts";
import type { MappedMessage } from "../../core/mapped-message.ts";
import type { EchoGroup, MessageEcho } from "../../core/message-echo.ts";
import { segmentsNamedIn } from "../../core/place.ts";
import { type OrderGroup, type OrderParts, orderParts } from "../../formats/hl7/groups.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import { isAcknowledgment, isMessageType } from "../profile/message-type.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { controlOf, isChanging, readFiller, readNumber } from "./control-hl7.ts";
import { nameOf } from "./find-hl7.ts";
import { LabelReader } from "./labels-hl7.ts";
import { readMerges } from "./merge-hl7.ts";
import { findNumbers } from "./number-place.ts";
import { keepFound } from "./order-hl7.ts";

/** What is known of a message whose characters or segments can't be read: its header, where that is one. */
export function keepHeader(text: string, profile: Hl7Profile, encoding?: string): MessageEcho {
  const end = text.search(/[\r\n]/);
  const message = tryParse(end === -1 ? text : text.slice(0, end));
  return message === undefined ? { encoding, segments: [], groups: [] } : headOf(message, profile, encoding);
}

function tryParse(text: string): Hl7Message | undefined {
  try {
    return Hl7Message.parse(text);
  } catch {
    return undefined;
  }
}

function headOf(message: Hl7Message, { accept }: Hl7Profile, encoding: string | undefined): MessageEcho {
  const isAnswer = isAcknowledgment(message.header, accept, () => message.first("MSA"));
  return {
    encoding,
    header: message.first("MSH")?.raw,
    isAnswer: isAnswer || undefined,
    segments: [],
    groups: [],
  };
}

/**
 * What answers and results repeat of a message. Which segments belong to which order, and where its numbers and containers stand, is read
 * here, by the profile that it is mapped by, and never again.
 *
 * @param mapped what was made of it: containers are of interest only where it became orders, and mistakes where it didn't
 */
export function keepEcho(
  message: Hl7Message,
  profile: Hl7Profile,
  encoding: string | undefined,
  mapped: Pick<MappedMessage, "verdict" | "problems" | "orders">,
): MessageEcho {
  const { header } = message;
  const kept = new KeptSegments();
  const patient = kept.index(message.first("PID"));
  const parts = tryParts(message, profile);
  const { groups, shared } = parts;
  const labels = new LabelReader(shared, profile);
  const isTaken = mapped.verdict === "accepted";
  const isSpecimenFirst = header.triggerEvent === "O33" || header.triggerEvent === "O35";
  const keptGroups = groups.map((group): EchoGroup => {
    const orc = kept.index(group.orc);
    return {
      orc,
      specimens: isSpecimenFirst ? group.specimens.map((each) => kept.specimen(each)) : undefined,
      obrs: group.obrs.map((obr) => kept.index(obr)),
      ...keepNumbers(group, parts, profile),
      containers: isTaken ? keepContainers(group, kept, labels) : undefined,
    };
  });
  if (groups.length > 1) keepFoundOfOrders(keptGroups, parts, profile, isTaken, labels);
  return {
    ...headOf(message, profile, encoding),
    segments: kept.texts,
    patient,
    isEachObr: profile.orders.each === "OBR" || undefined,
    specimens: isSpecimenFirst ? kept.specimens : undefined,
    groups: keptGroups,
    owners: groups.length > 1 ? keepOwners(groups, keptGroups, mapped) : undefined,
    merges: isTaken && isMessageType(profile.merge, header) ? keepMerges(message, kept, profile) : undefined,
    found: keepFound(groups.length > 1 ? [] : groups, shared, profile, isTaken, labels),
  };
}

/** Where it isn't known what belongs to which order, only the header can be said to be of all. */
function tryParts(message: Hl7Message, { orders }: Hl7Profile): OrderParts {
  try {
    return orderParts(message, orders.each);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { segments: [], shared: message.all("MSH"), groups: [] };
  }
}

/** Segments and specimens that are kept, each once: orders may share them. */
class KeptSegments {
  readonly texts: string[] = [];
  readonly specimens: number[][] = [];
  readonly #indexes = new Map<Segment, number>();
  readonly #specimenIndexes = new Map<object, number>();

  index(segment: Segment): number;
  index(segment: Segment | undefined): number | undefined;
  index(segment: Segment | undefined): number | undefined {
    if (segment === undefined) return undefined;
    const known = this.#indexes.get(segment);
    if (known !== undefined) return known;
    this.#indexes.set(segment, this.texts.length);
    return this.texts.push(segment.raw) - 1;
  }

  specimen(specimen: OrderGroup["specimens"][number]): number {
    const known = this.#specimenIndexes.get(specimen);
    if (known !== undefined) return known;
    const { spm, containers } = specimen;
    this.#specimenIndexes.set(specimen, this.specimens.length);
    return this.specimens.push([...(spm ? [spm] : []), ...containers].map((each) => this.index(each))) - 1;
  }
}

function keepNumbers(
  group: OrderGroup,
  parts: OrderParts,
  profile: Hl7Profile,
): Pick<EchoGroup, "control" | "number" | "numbers" | "place"> {
  const kind = controlOf(group, profile);
  const readings = readNumber(group, parts, profile);
  const [first] = readings;
  const isRead = first?.status === "found" && readings.every(({ status }) => status !== "bad");
  const number = isRead ? first.value : undefined;
  const {
    numbers,
    place: { segment, field },
  } = findNumbers(group, profile);
  return {
    control: kind && {
      kind,
      at: group.orc?.ordinal,
      filler: number === undefined ? readFiller(group, profile) : undefined,
    },
    number,
    numbers: numbers.length === 1 && numbers[0] === number ? undefined : numbers,
    place: segment === "ORC" && field === 2 ? undefined : [segment, field],
  };
}

/**
 * The segments that stand for each container. None where a site's module gave the container another label than it reads: whose
 * segments they are would be a guess.
 */
function keepContainers(group: OrderGroup, kept: KeptSegments, reader: LabelReader): EchoGroup["containers"] {
  const byLabel = new Map<string, [sac: number | null, spm: number | null]>();
  for (const { segment, scope, labels } of reader.placesOf([group])) {
    const spm = scope.find(({ name }) => name === "SPM") ?? (segment.name === "SPM" ? segment : undefined);
    if (spm === undefined && segment.name !== "SAC") continue;
    const read = labels.flat();
    // What says several labels says more than this container's.
    const sac = segment.name === "SAC" && read.length === 1 ? segment : undefined;
    for (const label of read) {
      if (label.status !== "found" || byLabel.has(label.value)) continue;
      byLabel.set(label.value, [kept.index(sac) ?? null, kept.index(spm) ?? null]);
    }
  }
  if (byLabel.size === 0) return undefined;
  return [...byLabel].map(([label, segments]) => [label, ...segments]);
}

/** What was found for each of several orders, with the first of its groups. */
function keepFoundOfOrders(
  keptGroups: EchoGroup[],
  { groups, shared }: OrderParts,
  profile: Hl7Profile,
  isTaken: boolean,
  labels: LabelReader,
): void {
  if (profile.results.fields === undefined) return;
  const placing = keptGroups.flatMap(({ number, control }, index) => {
    const isOrder = number !== undefined && (control === undefined || isChanging(control.kind));
    return isOrder ? [{ number, index }] : [];
  });
  for (const same of Map.groupBy(placing, ({ number }) => number).values()) {
    const own = same.flatMap(({ index }) => groups[index] ?? []);
    const found = keepFound(own, shared, profile, isTaken, labels);
    const first = keptGroups[same[0]?.index ?? -1];
    if (found !== undefined && first !== undefined) first.found = found;
  }
}

/** Whose the segments are that problems name, or that the ledger may name where an order has another number than it reads. */
function keepOwners(
  groups: readonly OrderGroup[],
  keptGroups: readonly EchoGroup[],
  { problems, orders }: Pick<MappedMessage, "problems" | "orders">,
): MessageEcho["owners"] {
  const read = new Set(keptGroups.flatMap(({ number, numbers }) => numbers ?? number ?? []));
  const renumbered = orders.filter(
    ({ placerOrderNumber: number }) => number !== undefined && !read.has(number),
  );
  const places = [
    ...problems.map(({ place }) => place),
    ...renumbered.flatMap(({ sources }) => sources.placerOrderNumber ?? []),
  ];
  const named = new Set(places.flatMap(segmentsNamedIn).flat());
  if (named.size === 0) return undefined;
  const owners: Record<string, number[]> = {};
  for (const [index, { segments }] of groups.entries()) {
    for (const segment of segments) {
      const name = nameOf(segment);
      if (!named.has(name)) continue;
      const others = owners[name];
      if (others === undefined) owners[name] = [index];
      else others.push(index);
    }
  }
  return owners;
}

/** The merges of a message that has several. */
function keepMerges(message: Hl7Message, kept: KeptSegments, profile: Hl7Profile): MessageEcho["merges"] {
  if (message.all("PID").length <= 1) return undefined;
  return readMerges(message, profile).flatMap(({ draft: { subject, priorCode }, segments }) => {
    const patient = kept.index(segments.find(({ name }) => name === "PID"));
    if (patient === undefined || subject.code.status !== "found" || priorCode?.status !== "found") return [];
    const codes = { subjectCode: subject.code.value, priorCode: priorCode.value };
    return [
      {
        ...codes,
        patient,
        found: keepFound([], segments, profile, true, new LabelReader(segments, profile)),
      },
    ];
  });
}
