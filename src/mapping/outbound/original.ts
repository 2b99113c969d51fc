import type { EchoFound, EchoGroup, MessageEcho } from "../../core/message-echo.ts";
import type { ControlAnswer, OutcomeMessage, OutcomeOrder } from "../../core/outcome.ts";
import { type Encoding, findEncoding, isWide } from "../../formats/encoding.ts";
import { charsetOf, type ResultCharset, type ResultEncoding } from "../../formats/hl7/charset.ts";
import { createEcho, type Echo } from "../../formats/hl7/echo.ts";
import type { Written } from "../../formats/hl7/encode.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import { type Hl7Header, Segment } from "../../formats/hl7/segment.ts";
import type { OrderNumbers } from "../../formats/hl7/sent-segments.ts";
import { isChanging } from "../inbound/control-hl7.ts";
import { likelyNumberPlace, type NumberPlace, PLACER } from "../inbound/number-place.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import type { Hl7Results } from "../profile/results.ts";

/** What belongs to one order of the message that is answered. */
export interface OriginalGroup extends Pick<EchoGroup, "control" | "number" | "found"> {
  readonly orc: Segment | undefined;
  readonly obrs: readonly Segment[];
  /** Specimens and containers that stand before its ORC. */
  readonly specimens: readonly Segment[];
  /** All that may be read as its number. */
  readonly numbers: readonly string[];
  readonly place: NumberPlace;
  /** The segments that stand for a container by its label. */
  containerOf(
    label: string,
  ): { readonly sac: Segment | undefined; readonly spm: Segment | undefined } | undefined;
}

/** Of an order whose number another one has. */
export const NO_NUMBERS: OrderNumbers = {
  placer: undefined,
  obrPlacer: undefined,
  filler: undefined,
  elsewhere: undefined,
};

/** Of a message that the ledger has nothing of, or nothing any more. */
const NOTHING: MessageEcho = { segments: [], groups: [] };

/** What is kept of the message that is answered, in the character set that it is answered in. */
export class Original {
  /** What an answer takes its own header from, with the profile's settings applied. */
  readonly header: Partial<Hl7Header>;
  readonly echo: Echo;
  /** What a message about this one is written in. */
  readonly charset: ResultCharset;
  /** Whether there is anything to answer to: an MSH that could be read, or at least its control id. */
  readonly isAnswerable: boolean;
  readonly #answered: OutcomeMessage;
  readonly #profile: Hl7Profile;
  readonly #kept: MessageEcho;
  readonly #headed: Hl7Message | undefined;
  readonly #segments: (Segment | undefined)[] = [];
  readonly #groups: (OriginalGroup | undefined)[] = [];

  /** @param encoding what a message about this one is to be written in */
  constructor(
    answered: OutcomeMessage,
    profile: Hl7Profile,
    encoding: ResultEncoding = profile.results.encoding,
  ) {
    this.#answered = answered;
    this.#profile = profile;
    const kept = answered.echo?.reveal() ?? NOTHING;
    this.#headed = tryHead(kept);
    this.#kept = this.#headed === undefined ? { ...NOTHING, encoding: kept.encoding } : kept;
    const header: Partial<Hl7Header> = this.#headed?.header ?? {
      messageControlId: answered.messageControlId,
    };
    this.header = withSettings(header, profile.results);
    this.charset = charsetOf(encoding, this.#kept.encoding, header.characterSet);
    this.echo = createEcho(this.#headed, { from: byteEncodingOf(this.#kept), to: this.charset.encoding });
    this.isAnswerable = header.messageControlId !== undefined || this.#headed !== undefined;
  }

  /** The same message, to be answered in another character set than the settings want. */
  writtenIn(encoding: ResultEncoding): Original {
    return new Original(this.#answered, this.#profile, encoding);
  }

  /** Whether it is an acknowledgement itself, which is not to be answered. */
  get isAnswer(): boolean {
    return this.#kept.isAnswer === true;
  }

  /**
   * MSH-10 as it was written, for MSA-2: senders compare it letter by letter. Undefined where the header's value is just
   * that.
   */
  get writtenControlId(): Written | undefined {
    const msh = this.#headed?.first("MSH");
    return msh?.field(10) === this.header.messageControlId ? undefined : this.echo.field(msh, 10);
  }

  /** Its first PID. */
  get patient(): Segment | undefined {
    return this.#segment(this.#kept.patient);
  }

  /** The order's own PID: a message may merge several patients. Undefined where it isn't known which one. */
  patientOf(order: OutcomeOrder): Segment | undefined {
    if (order.operation !== "MERGE" || this.#kept.merges === undefined) return this.patient;
    return this.#segment(this.#mergeOf(order)?.patient);
  }

  /** What was found for the site's own fields: never in segments of another order of the message. */
  foundOf(order: OutcomeOrder | undefined): EchoFound | undefined {
    const { merges, groups, found } = this.#kept;
    if (order?.operation === "MERGE" && merges !== undefined)
      return (this.#mergeOf(order) ?? this.#kept).found;
    if (groups.length <= 1) return found;
    return this.groupsOf(order?.placerOrderNumber)[0]?.found ?? found;
  }

  #mergeOf({ subjectCode, priorSubjectCode }: OutcomeOrder) {
    return this.#kept.merges?.find(
      (merge) => merge.subjectCode === subjectCode.reveal() && merge.priorCode === priorSubjectCode?.reveal(),
    );
  }

  /** Empty where it isn't known what of the message belongs to which order. */
  get groups(): readonly OriginalGroup[] {
    return this.#kept.groups.map((_, index) => this.#group(index));
  }

  /** The segments of an order that it places or changes; none where it is gone. */
  groupsOf(number: string | undefined): readonly OriginalGroup[] {
    if (number === undefined) return [];
    return this.#kept.groups.flatMap((group, index) =>
      group.number === number && isOfOrder(group) ? [this.#group(index)] : [],
    );
  }

  /** The first order number that it names. */
  get firstNumber(): string | undefined {
    return this.#kept.groups.find((group) => group.number !== undefined && isOfOrder(group))?.number;
  }

  /** The groups with a segment that problems of the message name. */
  ownersOf(segment: string): readonly OriginalGroup[] {
    return (this.#kept.owners?.[segment] ?? []).map((index) => this.#group(index));
  }

  /** The groups of a request about an earlier order. */
  controlGroupsOf({ control, placerOrderNumber, fillerNumber }: Named): readonly OriginalGroup[] {
    return this.#kept.groups.flatMap((group, index) => {
      if (group.control?.kind !== control) return [];
      const { filler } = group.control;
      const isMeant =
        placerOrderNumber === undefined
          ? group.number === undefined &&
            filler?.kind === fillerNumber?.kind &&
            filler?.id === fillerNumber?.id
          : group.number === placerOrderNumber;
      return isMeant ? [this.#group(index)] : [];
    });
  }

  /**
   * An order's number as it stood in the message, in the field where it was read. ORC-2 and OBR-2, as well as ORC-3 and
   * OBR-3, are the same number by the standard, so each stands in for the other.
   *
   * @param group undefined once the message is pruned; then the profile's first place is taken
   * @param number the order's number, where the message can't be echoed any more
   */
  numberFields(group: OriginalGroup | undefined, number?: string): OrderNumbers {
    const place = group?.place ?? likelyNumberPlace(this.#profile);
    const [obr] = group?.obrs ?? [];
    // Where each OBR is an order, ORC has what is of several.
    const [first, second] = this.isEachObr && place.segment === "OBR" ? [obr, group?.orc] : [group?.orc, obr];
    const inBoth = (field: number) => this.echo.field(first, field) ?? this.echo.field(second, field);
    const placer = inBoth(2) ?? (place.field === 2 ? number : undefined);
    const own = this.echo.field(place.segment === "ORC" ? group?.orc : obr, place.field) ?? number;
    return {
      placer,
      obrPlacer: this.echo.field(obr, 2) ?? placer,
      filler: place.field === 3 ? (inBoth(3) ?? number) : undefined,
      elsewhere: place.field === 2 || place.field === 3 ? undefined : { ...place, value: own },
    };
  }

  /** Whether each OBR of it is an order, and not each ORC. */
  get isEachObr(): boolean {
    return this.#kept.isEachObr === true;
  }

  #group(index: number): OriginalGroup {
    let group = this.#groups[index];
    if (group === undefined) {
      group = this.#makeGroup(this.#kept.groups[index] as EchoGroup);
      this.#groups[index] = group;
    }
    return group;
  }

  #makeGroup({ orc, obrs, specimens = [], place, containers = [], ...group }: EchoGroup): OriginalGroup {
    const segment = (index: number) => this.#segment(index) ?? [];
    const { specimens: kept = [] } = this.#kept;
    return {
      ...group,
      orc: this.#segment(orc),
      obrs: obrs.flatMap(segment),
      specimens: specimens.flatMap((index) => kept[index] ?? []).flatMap(segment),
      numbers: group.numbers ?? (group.number === undefined ? [] : [group.number]),
      place: place === undefined ? PLACER : { segment: place[0], field: place[1] },
      containerOf: (label) => {
        const [found] = containers.filter(([own]) => own === label);
        return found && { sac: this.#segment(found[1]), spm: this.#segment(found[2]) };
      },
    };
  }

  /** The same object for the same segment: orders may share it. */
  #segment(index: number | null | undefined): Segment | undefined {
    const text = index === null || index === undefined ? undefined : this.#kept.segments[index];
    if (index === null || index === undefined || text === undefined || this.#headed === undefined)
      return undefined;
    this.#segments[index] ??= new Segment(this.#headed, text, index, 1);
    return this.#segments[index];
  }
}

/** What names the order of a request. */
type Named = Pick<ControlAnswer, "control" | "placerOrderNumber" | "fillerNumber">;

function isOfOrder({ control }: EchoGroup): boolean {
  return control === undefined || isChanging(control.kind);
}

/** A message without a type is none that anything could be repeated of. */
function tryHead({ header }: MessageEcho): Hl7Message | undefined {
  const message = header === undefined ? undefined : Hl7Message.parse(header);
  return message?.header.messageCode === undefined ? undefined : message;
}

/** What bytes of the message's own escapes mean; in UTF-16 they are what MSH-18 says, if anything. */
function byteEncodingOf({ encoding }: MessageEcho): Encoding | undefined {
  const found = findEncoding(encoding ?? "");
  return found === undefined || isWide(found) ? undefined : found;
}

/** Our sender is the original's receiver, and the reverse; the profile may name others. */
export function withSettings(
  header: Partial<Hl7Header>,
  { sender, receiver, version }: Pick<Hl7Results, "sender" | "receiver" | "version">,
): Partial<Hl7Header> {
  if (sender === undefined && receiver === undefined && version === undefined) return header;
  return {
    ...header,
    ...(version === undefined ? {} : { version }),
    ...(sender?.application === undefined ? {} : { receivingApplicationParts: [sender.application] }),
    ...(sender?.facility === undefined ? {} : { receivingFacilityParts: [sender.facility] }),
    ...(receiver?.application === undefined ? {} : { sendingApplicationParts: [receiver.application] }),
    ...(receiver?.facility === undefined ? {} : { sendingFacilityParts: [receiver.facility] }),
  };
}
