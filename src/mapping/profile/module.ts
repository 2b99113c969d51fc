import { hash } from "node:crypto";
import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Problem } from "../../core/failures.ts";
import { readGivenFile } from "../../core/given-file.ts";
import { byReload } from "../../core/hint.ts";
import type { CsvRow } from "../../core/intake.ts";
import { atNamed, type Place } from "../../core/place.ts";
import { headingOf } from "../../formats/csv/headings.ts";
import type { Hl7Message } from "../../formats/hl7/message.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import { guardCode, guardLabel, guardName } from "../inbound/csv-values.ts";
import type { Draft, DraftContainer } from "../inbound/draft.ts";
import type { Allowed } from "./misread.ts";
import type { Reading } from "./value.ts";

/** An order as a site's module sees it: plain values after transforms and tables, undefined where nothing was found. */
export interface ModuleOrder {
  /** STORE, RETRIEVAL or REGISTER. */
  operation?: string | undefined;
  /** The lab's name for the facility, a key of `facilities`. */
  facility?: string | undefined;
  placerOrderNumber?: string | undefined;
  subject: {
    code?: string | undefined;
    firstName?: string | undefined;
    lastName?: string | undefined;
    /** `YYYY-MM-DD`. */
    dateOfBirth?: string | undefined;
  };
  containers: { label?: string | undefined; description?: string | undefined }[];
}

/**
 * What a site's module exports as `order`. It may change the order it is given, return another or several (a split),
 * or throw an Error, whose message then refuses the order and is shown to the lab, so it must not hold a patient's
 * values. It runs synchronously, once per order, before the order is judged.
 */
type OrderFunction = (order: ModuleOrder, message: MessageView) => ModuleOrder | ModuleOrder[] | undefined;

/** A loaded module and the name that the profile gives it. */
export interface SiteModule {
  readonly specifier: string;
  readonly order: OrderFunction;
}

/** The module behind an imported namespace, or words for what it lacks. */
export function readSiteModule(specifier: string, namespace: unknown): SiteModule | string {
  const order =
    typeof namespace === "object" && namespace !== null && "order" in namespace ? namespace.order : undefined;
  if (typeof order !== "function") return `${specifier} does not export a function named order`;
  if (order.constructor.name === "AsyncFunction")
    return `${specifier}: order must not be async; mapping never waits`;
  return { specifier, order: order as OrderFunction };
}

/** Errors that the engine throws at a programming mistake; anything else is the module's own refusal. */
const MISTAKES = ["TypeError", "ReferenceError", "RangeError", "SyntaxError", "EvalError", "URIError"];

interface Allows {
  readonly allow?: readonly Allowed[] | undefined;
}

/** What the profile's rules allow in values that are guarded. */
interface Allowances {
  readonly placerOrderNumber: Allows;
  readonly subject: { readonly code: Allows; readonly firstName: Allows; readonly lastName: Allows };
  readonly containers: { readonly label: Allows };
}

/** What a module is run on. */
interface ModuleSite {
  readonly message: MessageView;
  /** Of the order, for people. */
  readonly place: Place;
  /** Those of the profile: what they allow is allowed to the module, too. */
  readonly rules: Allowances;
}

/**
 * Runs the module over one order. Values that it left alone keep their place and their trouble; those that it set are
 * said to come from it, and go through the guards that a value of a CSV file goes through, whatever the module made of it:
 * a label that a spreadsheet has damaged is refused here, too.
 */
export function runSiteModule(
  module: SiteModule,
  draft: Draft,
  { message, place, rules }: ModuleSite,
): { readonly drafts: readonly Draft[] } | { readonly problem: Problem } {
  const { specifier } = module;
  const fail = (what: string) => ({ problem: moduleFailure(specifier, place, what) });
  const given = toModuleOrder(draft);
  let returned: unknown;
  try {
    returned = module.order(given, message);
  } catch (error) {
    if (!(error instanceof Error) || MISTAKES.includes(error.name)) {
      // The text of a mistake often quotes a value, and values may be a patient's.
      const kind = error instanceof Error ? error.name : typeof error;
      return fail(`its order function threw a ${kind}`);
    }
    const hint = byReload(`Read the reason: the rule is in module ${specifier}, which the profile names.`);
    return { problem: { code: "MAPPING_MODULE_REFUSED", place, message: error.message, hint } };
  }
  const orders: unknown[] = returned === undefined ? [given] : [returned].flat();
  if (!orders.every(isModuleOrder)) {
    return fail("it returned something that is no order, whose values are texts");
  }
  const [first, ...others] = orders.map((order) => fromModuleOrder(order, draft, specifier, rules));
  if (first === undefined) return fail("it returned no order; to refuse one, throw an Error");
  // What was found to disagree is reported once, however many orders the module makes of it.
  return { drafts: [first, ...others.map((other) => ({ ...other, problems: [] }))] };
}

/** A mistake of the module: the sender reads that it is none of the message. */
export function moduleFailure(specifier: string, place: Place, what: string): Problem {
  return {
    code: "MAPPING_MODULE_FAILED",
    place,
    message: "can't be processed: an error of the receiver, not of the message",
    hint: `Module ${specifier}: ${what}. Correct the module, \`cryobridge reload\`, then \`cryobridge messages replay ID\`.`,
  };
}

function toModuleOrder(draft: Draft): ModuleOrder {
  return {
    operation: foundValue(draft.operation),
    facility: foundValue(draft.facility),
    placerOrderNumber: foundValue(draft.placerOrderNumber),
    subject: {
      code: foundValue(draft.subject.code),
      firstName: foundValue(draft.subject.firstName),
      lastName: foundValue(draft.subject.lastName),
      dateOfBirth: foundValue(draft.subject.dateOfBirth),
    },
    containers: draft.containers.map(({ label, description }) => ({
      label: foundValue(label),
      description: foundValue(description),
    })),
  };
}

function fromModuleOrder(order: ModuleOrder, draft: Draft, specifier: string, rules: Allowances): Draft {
  const { placerOrderNumber, subject, containers } = rules;
  const within =
    (guard: typeof guardCode, { allow }: Allows): Guard =>
    (value, place) =>
      guard(value, place, allow);
  const read = (value: string | undefined, before: Reading, guard: Guard = unguarded) =>
    rereading(value, before, specifier, guard);
  return {
    ...draft,
    operation: read(order.operation, draft.operation),
    facility: read(order.facility, draft.facility),
    placerOrderNumber: read(
      order.placerOrderNumber,
      draft.placerOrderNumber,
      within(guardCode, placerOrderNumber),
    ),
    // Stands beside the number that the message has; who assigned another one, the module knows.
    placerAuthority:
      order.placerOrderNumber === foundValue(draft.placerOrderNumber) ? draft.placerAuthority : undefined,
    subject: {
      code: read(order.subject.code, draft.subject.code, within(guardCode, subject.code)),
      firstName: read(order.subject.firstName, draft.subject.firstName, within(guardName, subject.firstName)),
      lastName: read(order.subject.lastName, draft.subject.lastName, within(guardName, subject.lastName)),
      dateOfBirth: read(order.subject.dateOfBirth, draft.subject.dateOfBirth),
    },
    containers: rereadContainers(
      order.containers,
      draft.containers,
      specifier,
      within(guardLabel, containers.label),
    ),
  };
}

/** Containers may be reordered or left out, so each is matched by its label; one without a label, by its position. */
function rereadContainers(
  containers: ModuleOrder["containers"],
  before: readonly DraftContainer[],
  specifier: string,
  guard: Guard,
): DraftContainer[] {
  const absent: Reading = { status: "absent", place: ofModule(specifier) };
  const byLabel = new Map<string | undefined, DraftContainer>();
  for (const container of before) {
    const label = foundValue(container.label);
    if (label !== undefined && !byLabel.has(label)) byLabel.set(label, container);
  }
  return containers.map(({ label, description }, i) => {
    const same = byLabel.get(label) ?? before[i];
    return {
      label: rereading(label, same?.label ?? absent, specifier, guard),
      description: rereading(description, same?.description ?? absent, specifier, unguarded),
    };
  });
}

/** Where values stand that the module set. */
function ofModule(specifier: string): Place {
  return atNamed(`module ${specifier}`);
}

/** Looks at a value that the module set. */
type Guard = (value: string, place: Place) => Reading;

/** For what is judged by its table, its form or not at all. */
const unguarded: Guard = (value, place) => ({ status: "found", value, place });

function rereading(value: string | undefined, before: Reading, specifier: string, guard: Guard): Reading {
  if (value === foundValue(before)) return before;
  const place = ofModule(specifier);
  if (value === undefined || value.trim() === "") return { status: "absent", place };
  return guard(value, place);
}

function foundValue(reading: Reading): string | undefined {
  return reading.status === "found" ? reading.value : undefined;
}

function isModuleOrder(value: unknown): value is ModuleOrder {
  if (!isRecord(value) || !isRecord(value.subject) || !Array.isArray(value.containers)) return false;
  const { operation, facility, placerOrderNumber, subject, containers } = value;
  const { code, firstName, lastName, dateOfBirth } = subject;
  const texts = [operation, facility, placerOrderNumber, code, firstName, lastName, dateOfBirth];
  return (
    texts.every(isTextOrAbsent) &&
    containers.every(
      (item) => isRecord(item) && isTextOrAbsent(item.label) && isTextOrAbsent(item.description),
    )
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

/** What a site's module may look at besides its order. */
export interface MessageView {
  readonly format: "hl7" | "csv";
  /**
   * One decoded value, or null. HL7 in the notation of hl7-standard: `get("PID.5.1", segment, repetition,
   * subcomponent)`, where `PID.5.1` counts from 1, and which segment of the name, which repetition and which
   * subcomponent count from 0; `PID.5` means `PID.5.1`. CSV: `get("column", row)`, rows of the order counted from 0.
   */
  get(path: string, segment?: number, repetition?: number, subcomponent?: number): string | null;
  /** How many segments of a name the message has; for CSV the number of the order's rows. */
  count(segment: string): number;
}

const NOTATION = /^([A-Z][A-Z0-9]{2})\.(\d{1,4})(?:\.(\d{1,4}))?$/;

/**
 * A view of an HL7 message.
 *
 * @param scope all that is to be seen of it; the whole message unless given
 */
export function viewHl7(message: Hl7Message, scope?: readonly Segment[]): MessageView {
  const all = (name: string) =>
    scope === undefined ? message.all(name) : scope.filter((segment) => segment.name === name);
  return {
    format: "hl7",
    get: (path, segment = 0, repetition = 0, subcomponent = 0) => {
      const match = NOTATION.exec(path);
      if (match === null) throw new Error(`get("${path}"): expected a notation such as PID.5.1`);
      const [, name = "", field = "", component = "1"] = match;
      const found: Segment | undefined = all(name)[segment];
      return found?.get(Number(field), repetition + 1, Number(component), subcomponent + 1) ?? null;
    },
    count: (segment) => all(segment).length,
  };
}

/** A view of the rows of one order. */
export function viewCsv(rows: readonly CsvRow[]): MessageView {
  return {
    format: "csv",
    get: (path, row = 0) => rows[row]?.values.get(headingOf(path)) ?? null,
    count: () => rows.length,
  };
}

/** More than anybody writes by hand. */
const MOST_BYTES = 5_000_000;
/** Permission bits: whether the group or everyone may write. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Imports modules relative to a folder, anew when their file was changed, but not what they import themselves; what an application
 * passes to `compileProfile` for one profile's file. A module runs with the daemon's rights, so one that others may write or replace
 * is refused with an Error.
 */
export function importFrom(folder: string): (specifier: string) => Promise<unknown> {
  return async (specifier) => {
    const file = isAbsolute(specifier) ? specifier : resolve(folder, specifier);
    // The import itself would wait for a pipe's other end.
    const given = readGivenFile(file, MOST_BYTES);
    if ("problem" in given) throw new Error(given.problem);
    requireOwn(file);
    // An address is imported once in a process.
    return import(`${pathToFileURL(file).href}?sha256=${hash("sha256", given.bytes)}`);
  };
}

/** What a link leads to counts, and where the link stands as well. Windows has no such permissions to look at. */
function requireOwn(file: string): void {
  const user = process.geteuid?.();
  if (process.platform === "win32" || user === undefined) return;
  const real = realpathSync(file);
  for (const path of new Set([real, dirname(real), dirname(file)])) {
    const trouble = findForeign(statSync(path), user);
    if (trouble === undefined) continue;
    throw new Error(`${path} ${trouble}, and what a module says is run with the daemon's rights`);
  }
}

function findForeign({ uid, mode }: Stats, user: number): string | undefined {
  if (uid !== user && uid !== 0) {
    return `belongs to another user (uid ${uid}); give it to the daemon's user (chown) or to root`;
  }
  if ((mode & WRITABLE_BY_OTHERS) === 0) return undefined;
  return `may be written by others (mode ${(mode & 0o7777).toString(8)}); take that away with chmod go-w`;
}
