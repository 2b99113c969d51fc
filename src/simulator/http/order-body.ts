import type { NewSubject } from "../options.ts";
import type { NamedContainer, NewOrder } from "../world/rows.ts";
import { type AuthorizedCall, readJsonObject } from "./exchange.ts";
import { type FieldError, invalid } from "./refusal.ts";

const LONGEST_TEXT = 1_000;
const MOST_CONTAINERS = 1_000;

/** The body of `POST /api/subjects`. Throws a Refusal that names every field that is wrong. */
export function readSubjectBody(call: AuthorizedCall): NewSubject {
  const body = readJsonObject(call);
  const errors: FieldError[] = [];
  const text = (field: string) => readText(body, field, true, errors);
  const subject = {
    facilityId: readInteger(body, "facilityId", errors),
    code: text("code"),
    firstName: text("firstName"),
    lastName: text("lastName"),
    dateOfBirth: text("dateOfBirth"),
  };
  if (subject.dateOfBirth !== "" && !isDate(subject.dateOfBirth)) {
    errors.push({ field: "dateOfBirth", message: "must be a date YYYY-MM-DD" });
  }
  refuseIfAny(errors, call);
  return subject;
}

/**
 * The body of a procedure request or of an external procedure; `labelKey` is the member that names a container
 * (`sampleContainerId` or `name`). Throws a Refusal that names every field that is wrong.
 */
export function readOrderBody(call: AuthorizedCall, labelKey: "sampleContainerId" | "name"): NewOrder {
  const body = readJsonObject(call);
  const errors: FieldError[] = [];
  const facilityId = readInteger(body, "facilityId", errors);
  const subjectCode = readText(body, "subjectCode", true, errors);
  const type = body.type;
  if (type !== "STORE" && type !== "RETRIEVAL") {
    errors.push({ field: "type", message: "must be STORE or RETRIEVAL" });
  }
  const containers = type === "STORE" ? readContainers(body.sampleContainers, labelKey, errors) : [];
  const containerIds = type === "RETRIEVAL" ? readContainerIds(body.sampleContainerIds, errors) : [];
  refuseIfAny(errors, call);
  return {
    type: type === "RETRIEVAL" ? "RETRIEVAL" : "STORE",
    facilityId,
    subjectCode,
    containers,
    containerIds,
  };
}

function readContainers(value: unknown, labelKey: string, errors: FieldError[]): NamedContainer[] {
  const field = "sampleContainers";
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_CONTAINERS) {
    errors.push({ field, message: `must be an array of 1 to ${MOST_CONTAINERS} containers` });
    return [];
  }
  const containers: NamedContainer[] = [];
  for (const [index, entry] of value.entries()) {
    const at = `${field}[${index}]`;
    if (typeof entry !== "object" || entry === null) {
      errors.push({ field: at, message: "must be an object" });
      continue;
    }
    const found: FieldError[] = [];
    const name = readText({ ...entry }, labelKey, true, found);
    const description = readText({ ...entry }, "description", false, found);
    errors.push(...found.map((error) => ({ ...error, field: `${at}.${error.field}` })));
    if (containers.some((other) => other.name === name)) {
      errors.push({ field: `${at}.${labelKey}`, message: "named twice" });
    }
    containers.push({ name, description });
  }
  return containers;
}

function readContainerIds(value: unknown, errors: FieldError[]): number[] {
  const field = "sampleContainerIds";
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_CONTAINERS) {
    errors.push({ field, message: `must be an array of 1 to ${MOST_CONTAINERS} ids` });
    return [];
  }
  const ids = value.filter((id): id is number => Number.isSafeInteger(id));
  if (ids.length !== value.length) errors.push({ field, message: "must hold integers only" });
  if (new Set(ids).size !== ids.length) errors.push({ field, message: "names an id twice" });
  return ids;
}

function readInteger(body: Record<string, unknown>, field: string, errors: FieldError[]): number {
  const value = body[field];
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  errors.push({ field, message: value === undefined ? "is required" : "must be an integer" });
  return 0;
}

function readText(
  body: Record<string, unknown>,
  field: string,
  isRequired: boolean,
  errors: FieldError[],
): string {
  const value = body[field] ?? "";
  if (typeof value !== "string") errors.push({ field, message: "must be a string" });
  else if (value.length > LONGEST_TEXT) errors.push({ field, message: `at most ${LONGEST_TEXT} characters` });
  else if (value.trim() === "" && isRequired) errors.push({ field, message: "is required" });
  else return value;
  return "";
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function refuseIfAny(errors: readonly FieldError[], call: AuthorizedCall): void {
  if (errors.length > 0)
    throw invalid(call.behaviour.validationStatus, "the body breaks the interface's rules", errors);
}
