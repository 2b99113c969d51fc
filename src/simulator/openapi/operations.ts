import type { Behaviour } from "../behaviour.ts";
import type { Paging } from "../lists.ts";
import type { AnswerSchemas, Schema } from "./answer-schemas.ts";
import { ref } from "./answer-schemas.ts";
import { ID_PARAMETER, type ListName, listParameters } from "./parameters.ts";
import { jsonResponse, type Reason, refusals } from "./responses.ts";

/** An operation object of OpenAPI. */
export type Operation = Readonly<Record<string, unknown>>;
/** Operations by path and, below it, by method in small letters. */
export type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** What describes one surface: its tag, how its lists come, and which credential it takes. */
export interface SurfaceWords {
  readonly tag: string;
  readonly behaviour: Behaviour;
  readonly answers: AnswerSchemas;
  readonly envelope: Behaviour["listEnvelope"];
  readonly paging: Paging;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}

interface Words {
  readonly operationId: string;
  readonly summary: string;
}

/** A list of these entries. */
export function listOperation(words: Words, list: ListName, entry: string, surface: SurfaceWords): Operation {
  const { behaviour, answers, envelope, paging } = surface;
  const parameters = listParameters(list, paging, behaviour);
  const isStrict = [behaviour.unknownFilters, behaviour.otherFilters, paging].includes("refuse");
  return operation(words, surface, {
    parameters,
    success: { 200: jsonResponse("The entries of this page.", answers.list(ref(entry), envelope)) },
    reasons: ["unauthorized", "invalid", ...(isStrict ? (["malformed"] as const) : [])],
  });
}

/** One row by its id. */
export function readOperation(words: Words, schema: string, surface: SurfaceWords): Operation {
  const { foreignStatus } = surface.behaviour;
  return operation(words, surface, {
    parameters: [ID_PARAMETER],
    success: { 200: jsonResponse("It is there.", ref(schema)) },
    reasons: ["unauthorized", "notFound", ...(foreignStatus === 403 ? (["forbidden"] as const) : [])],
  });
}

/** The creation of a row. */
export function createOperation(
  words: Words,
  body: string,
  answer: string,
  conflicts: readonly Reason[],
  surface: SurfaceWords,
): Operation {
  return operation(words, surface, {
    body: ref(body),
    success: { [surface.behaviour.createdStatus]: jsonResponse("It was created.", ref(answer)) },
    reasons: ["malformed", "unauthorized", "forbidden", ...conflicts, "tooLarge", "notJson", "invalid"],
  });
}

/** Any operation behind a bearer credential. */
export function operation(
  words: Words,
  { tag, behaviour, security }: SurfaceWords,
  parts: {
    readonly parameters?: readonly unknown[];
    readonly body?: Schema;
    readonly success: Readonly<Record<string, unknown>>;
    readonly reasons: readonly Reason[];
  },
): Operation {
  const { parameters, body, success, reasons } = parts;
  return {
    ...words,
    tags: [tag],
    security,
    ...(parameters === undefined ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: body } } } }),
    responses: { ...refusals(reasons, behaviour), ...success },
  };
}
