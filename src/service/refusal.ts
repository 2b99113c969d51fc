import type { Phi } from "../core/phi.ts";
import type { Answer } from "./answer.ts";
import { maskText } from "./mask.ts";

const CODE_KEYS = ["code", "errorCode", "error_code", "error"];
const TEXT_KEYS = ["message", "detail", "error_description", "title", "error", "reason"];
/** Not `data` and the like: those may hold the record of another patient. */
const NESTED_KEYS = ["error", "errors", "details"];

/**
 * What the service says about a refusal, in one line for a person: its error code and text from whichever body it
 * sent (the specification leaves the shape open), with patients' values masked. Undefined when it says nothing.
 */
export function describeRefusal(answer: Answer, sensitive: readonly Phi[]): string | undefined {
  if (answer.shape === "html") return "an HTML page";
  if (answer.shape === "other") {
    return answer.text === undefined ? "an unreadable body" : maskText(answer.text, sensitive);
  }
  if (answer.shape === "empty") return undefined;
  const found = { codes: new Set<string>(), texts: new Set<string>() };
  collect(answer.json, found, 0);
  const line = [[...found.codes].join(" "), [...found.texts].slice(0, 5).join("; ")]
    .filter((part) => part !== "")
    .join(": ");
  return line === "" ? undefined : maskText(line, sensitive);
}

function collect(value: unknown, found: { codes: Set<string>; texts: Set<string> }, depth: number): void {
  if (depth > 3 || typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const each of value.slice(0, 5)) {
      if (typeof each === "string") found.texts.add(each);
      else collect(each, found, depth + 1);
    }
    return;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const key of CODE_KEYS) {
    const code = object[key];
    if (typeof code === "string" && /^[A-Za-z][A-Za-z0-9]*([_.-][A-Za-z0-9]+)+$|^[A-Z]{3,}$/.test(code)) {
      found.codes.add(code);
    }
  }
  for (const key of TEXT_KEYS) {
    const text = object[key];
    if (typeof text === "string" && !found.codes.has(text)) found.texts.add(text);
    else if (key === "message" && Array.isArray(text)) collect(text, found, depth + 1);
  }
  for (const key of NESTED_KEYS) collect(object[key], found, depth + 1);
}
