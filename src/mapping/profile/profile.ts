import type { z } from "zod";
import type { ConnectorConfig } from "../../config/config.ts";
import type { Control } from "../../core/order-control.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { Place } from "../../core/place.ts";
import type { CsvReading } from "../../formats/csv/dialect.ts";
import type { FieldPath } from "../../formats/hl7/path.ts";
import type { SiteModule } from "./module.ts";
import type { CsvResults, Hl7Results } from "./results.ts";
import type { ResultState } from "./results-schema.ts";
import type { hl7Settings, orderValues, ProfileDefinition } from "./schema.ts";
import type { ValueRule } from "./value.ts";

/** How the values of an order are read; `P` is a field path or a column name. */
export type OrderRules<P> = Rules<typeof orderValues, P>;
type Rules<Shape, P> = {
  readonly [Key in keyof Shape]: Shape[Key] extends z.ZodObject<infer Within>
    ? Rules<Within, P>
    : ValueRule<P>;
};

/** How a batch is answered. */
export type BatchResponse = NonNullable<Hl7Results["batchResponse"]>;

/** How batches are answered: over connections all of their messages are unless the profile says otherwise, in files none. */
export function batchResponseOf(
  { batchResponse }: Pick<Hl7Results, "batchResponse">,
  connector: ConnectorConfig["type"],
): BatchResponse {
  return batchResponse ?? (connector === "mllp" ? "all" : "none");
}

/** What profiles of both formats have beside their settings. */
export interface ProfileBase {
  readonly name: string;
  /** Where a person edits it, such as `profiles/lims.yaml`; unset for a built-in one. */
  readonly declaredIn?: string | undefined;
  /** Values with tables as it writes them itself, without what it extends. */
  readonly own?: Pick<ProfileDefinition, "operation" | "facility"> | undefined;
  readonly module: SiteModule | undefined;
}

/** A compiled profile for HL7 messages: what is made of its settings, and what follows from several of them. */
export interface Hl7Profile extends ProfileBase, Readonly<z.output<z.ZodObject<typeof hl7Settings>>> {
  readonly format: "hl7";
  readonly results: Hl7Results;
  readonly rules: OrderRules<FieldPath>;
  /** What the order control codes (ORC-1, table 0119) other than NW want of an earlier order. */
  readonly controls: ReadonlyMap<string, Control>;
  /** The label of what is a specimen's (SAC, SPM). */
  readonly specimenLabel: ValueRule<FieldPath>;
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
  readonly results: CsvResults;
  readonly reading: CsvReading;
  readonly rules: OrderRules<string>;
}

/** A profile that is ready to map with. Made by `compileProfile` only. */
export type Profile = Hl7Profile | CsvProfile;

/** How and when results are sent to the lab. */
export type ResultSettings = Profile["results"];

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
