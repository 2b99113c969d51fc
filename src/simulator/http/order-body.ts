import { z } from "zod";
import type { NewSubject } from "../options.ts";
import type { NewOrder } from "../world/rows.ts";
import { type AuthorizedCall, readJsonObject } from "./exchange.ts";
import { invalid } from "./refusal.ts";

const LONGEST_TEXT = 1_000;
const MOST_CONTAINERS = 1_000;

/** An error that says `is required` of what is missing. */
const expected = (words: string) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    input === undefined || input === null ? "is required" : words,
});
const integer = z.int(expected("must be an integer"));
const optionalText = z
  .string(expected("must be a string"))
  .max(LONGEST_TEXT, `at most ${LONGEST_TEXT} characters`);
const text = optionalText.refine((given) => given.trim() !== "", "is required");
const list = <T extends z.ZodType>(entry: T, of: string) => {
  const words = `must be an array of 1 to ${MOST_CONTAINERS} ${of}`;
  return z.array(entry, words).min(1, words).max(MOST_CONTAINERS, words);
};
const isDistinct = (values: readonly unknown[]) => new Set(values).size === values.length;

const subject = z.object({
  facilityId: integer,
  code: text,
  firstName: text,
  lastName: text,
  dateOfBirth: text.pipe(z.iso.date("must be a date YYYY-MM-DD")),
});

function orderSchema(labelKey: "sampleContainerId" | "name") {
  const container = z
    .object({ [labelKey]: text, description: optionalText.nullish() }, "must be an object")
    .transform((given) => ({ name: String(given[labelKey]), description: given.description ?? "" }));
  const shared = { facilityId: integer, subjectCode: text };
  const store = z.object({
    ...shared,
    type: z.literal("STORE"),
    sampleContainers: list(container, "containers").refine(
      (all) => isDistinct(all.map(({ name }) => name)),
      "names a label twice",
    ),
  });
  const retrieval = z.object({
    ...shared,
    type: z.literal("RETRIEVAL"),
    sampleContainerIds: list(integer, "ids").refine(isDistinct, "names an id twice"),
  });
  return z.discriminatedUnion("type", [store, retrieval], "must be STORE or RETRIEVAL");
}

const ORDERS = { sampleContainerId: orderSchema("sampleContainerId"), name: orderSchema("name") } as const;

/** The body of `POST /api/subjects`. Throws a Refusal that names every field that is wrong. */
export function readSubjectBody(call: AuthorizedCall): NewSubject {
  return read(subject, call);
}

/**
 * The body of a procedure request or of an external procedure; `labelKey` is the member that names a container
 * (`sampleContainerId` or `name`). Throws a Refusal that names every field that is wrong.
 */
export function readOrderBody(call: AuthorizedCall, labelKey: "sampleContainerId" | "name"): NewOrder {
  const order = read(ORDERS[labelKey], call);
  const { type, facilityId, subjectCode } = order;
  const containers = order.type === "STORE" ? order.sampleContainers : [];
  const containerIds = order.type === "RETRIEVAL" ? order.sampleContainerIds : [];
  return { type, facilityId, subjectCode, containers, containerIds };
}

function read<T>(schema: z.ZodType<T>, call: AuthorizedCall): T {
  const { data, error } = schema.safeParse(readJsonObject(call));
  if (error === undefined) return data;
  const errors = error.issues.map(({ path, message }) => ({ field: z.core.toDotPath(path), message }));
  throw invalid(call.behaviour.validationStatus, "the body breaks the interface's rules", errors);
}
