import type { Behaviour, ListEnvelope } from "../behaviour.ts";
import { wordFor } from "../exchange.ts";
import { envelopeOf } from "../lists.ts";

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 uses it. */
export type Schema = Readonly<Record<string, unknown>>;

const OPTIONAL = Symbol("optional");
interface Optional {
  readonly [OPTIONAL]: Schema;
}

/** The members of an object. */
export type Members = Readonly<Record<string, Schema | Optional>>;

export const text = (description: string): Schema => ({ type: "string", description });
export const count = (description: string): Schema => ({ type: "integer", minimum: 0, description });
export const date = (description: string): Schema => ({ type: "string", format: "date", description });
export const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
export const listOf = (items: Schema, more: Schema = {}): Schema => ({ type: "array", items, ...more });
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
/** A member that an object may do without. */
export const optional = (schema: Schema): Optional => ({ [OPTIONAL]: schema });

const LARGEST_ID = Number.MAX_SAFE_INTEGER;
export const integerId = (description: string): Schema => ({
  type: "integer",
  format: "int64",
  minimum: 1,
  maximum: LARGEST_ID,
  description,
});

const MOMENT_FORMS = {
  milliseconds: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
  seconds: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$",
  offset: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}\\+00:00$",
} as const;

/** Schemas of values as a behaviour has them written in answers. */
export interface AnswerSchemas {
  id(description: string): Schema;
  moment(description: string): Schema;
  /** One of these statuses or types. */
  word(values: readonly string[], description: string): Schema;
  object(members: Members, description?: string): Schema;
  list(items: Schema, envelope: ListEnvelope): Schema;
}

/** The schemas for a behaviour; they follow what `answerJson` does to values. */
export function answerSchemas(behaviour: Behaviour): AnswerSchemas {
  const { extraFields } = behaviour;
  const object = (members: Members, description?: string): Schema => {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const [name, member] of Object.entries(members)) {
      const isOptional = isOptionalMember(member);
      const schema = isOptional ? member[OPTIONAL] : member;
      const isNull = isOptional && behaviour.absentFields === "null";
      properties[name] = isNull ? nullable(schema) : schema;
      if (!isOptional || isNull) required.push(name);
    }
    for (const [name, value] of Object.entries(extraFields)) {
      properties[name] = { const: value, description: "Not in the specification." };
      if (!required.includes(name)) required.push(name);
    }
    return {
      type: "object",
      ...(description === undefined ? {} : { description }),
      properties,
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    };
  };
  return {
    id: (description) =>
      behaviour.ids === "number"
        ? integerId(description)
        : { type: "string", pattern: "^\\d+$", description },
    moment: (description) => ({
      type: "string",
      format: "date-time",
      pattern: MOMENT_FORMS[behaviour.timestamps],
      description,
    }),
    word: (values, description) => ({
      type: "string",
      enum: [...new Set(values.map((value) => wordFor(value, behaviour)))],
      description,
    }),
    object,
    list: (items, envelope) => {
      const wrapping = envelopeOf(envelope);
      if (!wrapping) return listOf(items);
      const counts = {
        page: count("This page, from 1."),
        perPage: count("Entries on a page."),
        total: count("Entries on all pages."),
      };
      const paging = wrapping.paging === "meta" ? { meta: object(counts) } : {};
      return object({
        [wrapping.key]: listOf(items),
        ...(wrapping.paging === "beside" ? counts : paging),
      });
    },
  };
}

function isOptionalMember(member: Schema | Optional): member is Optional {
  return OPTIONAL in member;
}
