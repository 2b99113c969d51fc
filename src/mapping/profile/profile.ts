import type { Control } from "../../core/order-control.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { Place } from "../../core/place.ts";
import type { CsvReading } from "../../formats/csv/dialect.ts";
import type { ResultEncoding } from "../../formats/hl7/charset.ts";
import type { OrderSegment } from "../../formats/hl7/groups.ts";
import type { FieldPath, PathSelector } from "../../formats/hl7/path.ts";
import type { AckWants } from "../../formats/hl7/sent-segments.ts";
import type { CsvResultSettings } from "../outbound/csv-cells.ts";
import type { FieldOverride } from "../outbound/field-overrides.ts";
import type { Hl7FileName } from "../outbound/file-name.ts";
import type { MessageTypePattern } from "./message-type.ts";
import type { SiteModule } from "./module.ts";
import type { ResultState, ResultsDefinition, ResultWords } from "./results-schema.ts";
import type { ProfileDefinition } from "./schema.ts";
import type { ValueRule } from "./value.ts";

/** The values every order is made of; `P` is a field path or a column name. */
export interface OrderRules<P> {
  readonly operation: ValueRule<P>;
  readonly facility: ValueRule<P>;
  readonly placerOrderNumber: ValueRule<P>;
  readonly subject: {
    readonly code: ValueRule<P>;
    /** The identifier that a merge does away with. */
    readonly priorCode: ValueRule<P>;
    readonly firstName: ValueRule<P>;
    readonly lastName: ValueRule<P>;
    readonly dateOfBirth: ValueRule<P>;
  };
  readonly label: ValueRule<P>;
  readonly description: ValueRule<P>;
}

/** One entry of `containers.each`; the selector narrows which segments of the name count. */
export interface ContainerKind {
  readonly segment: string;
  readonly which?: PathSelector | undefined;
}

/** The message that reports how an order stands: a result, an order message, or a specimen status update. */
export type ResultFormat = "oru" | "orm" | "ssu";

/** How a batch is answered. */
export type BatchResponse = "all" | "errors" | "none";

/** The message that answers a request about an earlier order. */
type ControlAnswerForm = "response" | "result" | "none";

/** How and when results are sent to the lab; defaults filled in. */
export interface ResultSettings {
  readonly format: ResultFormat;
  /** Over `format`, by the order's state. */
  readonly formats?: Readonly<Partial<Record<string, ResultFormat>>> | undefined;
  readonly controlAnswers: ControlAnswerForm;
  /** MSH-15 and MSH-16 of what is sent to the lab without being an acknowledgement; both empty when absent. */
  readonly wants?: AckWants | undefined;
  /** Fields that are written otherwise than shipped; empty for none. */
  readonly fields?: readonly FieldOverride[] | undefined;
  /** Undefined: single answers for files, all in one for connections. */
  readonly batchResponse?: BatchResponse | undefined;
  readonly namespace: string;
  readonly send: ReadonlySet<ResultState>;
  readonly timeZone: string;
  readonly words: ResultWords;
  /** Unless set UTF-8 for HL7, and as received for CSV. */
  readonly encoding?: ResultEncoding | undefined;
  /** What is written behind a file in a folder: `.ok`, or `{stem}.ok` in the place of its ending. */
  readonly marker?: string | undefined;
  /** The lab's words by failure code; the shipped ones of any other. */
  readonly reasons?: Readonly<Partial<Record<string, string>>> | undefined;
  /** HL7: what names of files end in; `.hl7` unless set. */
  readonly suffix?: string | undefined;
  /** HL7: how files are named; by number and control id unless set. */
  readonly hl7FileName: Hl7FileName | undefined;
  readonly csv: CsvResultSettings;
  readonly version: string | undefined;
  readonly sender: ResultsDefinition["sender"];
  readonly receiver: ResultsDefinition["receiver"];
  readonly statusMap: ResultsDefinition["statusMap"];
}

interface ProfileBase {
  readonly name: string;
  /** Where a person edits it, such as `profiles/lims.yaml`; unset for a built-in one. */
  readonly declaredIn?: string | undefined;
  /** Values with tables as it writes them itself, without what it extends. */
  readonly own?: Pick<ProfileDefinition, "operation" | "facility"> | undefined;
  readonly module: SiteModule | undefined;
  readonly results: ResultSettings;
}

/** A compiled profile for HL7 messages. */
export interface Hl7Profile extends ProfileBase {
  readonly format: "hl7";
  readonly accept: readonly MessageTypePattern[];
  readonly ignore: readonly MessageTypePattern[];
  /** Types that only make the subject known (REGISTER). */
  readonly register: readonly MessageTypePattern[];
  /** Types of news about a subject that may be known already (UPDATE), and of merges (MERGE). */
  readonly update: readonly MessageTypePattern[];
  readonly merge: readonly MessageTypePattern[];
  /** What the order control codes (ORC-1, table 0119) other than NW want of an earlier order. */
  readonly controls: ReadonlyMap<string, Control>;
  readonly versions: readonly string[];
  readonly processingId: "P" | "T" | "D" | undefined;
  /** Whether messages without MSH-10 are taken. */
  readonly controlId: "required" | "optional";
  /** MSH-11.2 that is taken besides none and T. */
  readonly processingModes: readonly string[];
  /** Overrides MSH-18 when the bytes are decoded. */
  readonly encoding: string | undefined;
  readonly rules: OrderRules<FieldPath>;
  /** What is an order of its own: an ORC with its OBRs, or each OBR. */
  readonly ordersEach: OrderSegment;
  /** What becomes of two of them in one message that have one number. */
  readonly sameNumber: "join" | "refuse";
  /** The label of what is a specimen's (SAC, SPM). */
  readonly specimenLabel: ValueRule<FieldPath>;
  readonly each: readonly ContainerKind[];
  /** The segments that an order's values are read from, but for descriptions. */
  readonly valueSegments: ReadonlySet<string>;
  /** The fields that anything of an order is read or chosen by, such as `SAC-3`. */
  readonly valueFields: ReadonlySet<string>;
  /** What stands for a container, for people: `SAC or SPM`. */
  readonly containerPlace: Place;
}

/** A compiled profile for CSV rows. */
export interface CsvProfile extends ProfileBase {
  readonly format: "csv";
  readonly reading: CsvReading;
  readonly rules: OrderRules<string>;
}

/** A profile that is ready to map with. Made by `compileProfile` only. */
export type Profile = Hl7Profile | CsvProfile;

/** A mistake of a profile. */
export interface ProfileProblem {
  /** Inside the profile, such as `subject.dateOfBirth.as`. */
  readonly place: string;
  readonly message: string;
}

/** What compiling gives: the profile, or every mistake with its place inside the profile. */
export type CompiledProfile =
  | { readonly ok: true; readonly profile: Profile }
  | { readonly ok: false; readonly problems: readonly ProfileProblem[] };

/** What an outcome reports: an answer to a message, or the state that an order reached. */
export type ReportedState = ResultState | OrderState;

/** Whether this profile sends it to the lab. */
export function isReported(profile: { readonly results: ResultSettings }, state: ReportedState): boolean {
  return (profile.results.send as ReadonlySet<string>).has(state);
}
