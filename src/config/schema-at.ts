import path from "node:path";
import { z } from "zod";
import type { Path } from "./problems.ts";
import { isFilePath } from "./scalars.ts";
import { fileSchema } from "./schema.ts";

type Schema = z.core.$ZodType;

/**
 * The schemas that could hold the value at a path, wrappers (default, optional, transform) included, outermost
 * first. Branches of a union that the value's own discriminating keys rule out are left out.
 */
export function schemasAt(root: Schema, path: readonly PropertyKey[], value: unknown): Schema[] {
  let level = layers(root, value);
  let current = value;
  for (const part of path) {
    current = childOf(current, part);
    level = level.flatMap((schema) => {
      const child = childSchema(schema, part);
      return child === undefined ? [] : layers(child, current);
    });
  }
  return level;
}

/** The keys that a section at these schemas knows. */
export function knownKeys(schemas: readonly Schema[]): string[] {
  return schemas.flatMap((schema) => {
    const def = definition(schema);
    if (def.type === "object") return Object.keys(def.shape);
    const key = def.type === "record" ? definition(def.keyType) : undefined;
    return key?.type === "enum" ? Object.values(key.entries).map(String) : [];
  });
}

/** One entry of a path through plain values. */
export function childOf(value: unknown, part: PropertyKey): unknown {
  if (Array.isArray(value)) return typeof part === "number" ? value[part] : undefined;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
  return (value as Record<PropertyKey, unknown>)[part];
}

/** The value at a path through plain values. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(childOf, value);
}

/** A value somewhere in a file, with the schemas that could hold it. */
interface HeldValue {
  readonly path: Path;
  readonly value: unknown;
  readonly schemas: readonly Schema[];
}

/** All values below a value, itself among them. */
export function* heldValues(root: Schema, value: unknown, path: Path = []): Generator<HeldValue> {
  yield* heldBelow([root], value, path);
}

function* heldBelow(held: readonly Schema[], value: unknown, path: Path): Generator<HeldValue> {
  const schemas = held.flatMap((schema) => layers(schema, value));
  yield { path, value, schemas };
  if (typeof value !== "object" || value === null) return;
  for (const part of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const below = schemas.flatMap((schema) => childSchema(schema, part) ?? []);
    if (below.length > 0) yield* heldBelow(below, childOf(value, part), [...path, part]);
  }
}

/** A setting of a file as it is written, or its default where the file leaves it out. */
export function settingAt(value: unknown, path: Path): unknown {
  return valueAt(value, path) ?? defaultOf(schemasAt(fileSchema, path, value));
}

function defaultOf(schemas: readonly Schema[]): unknown {
  for (const def of schemas.map(definition))
    if (def.type === "default" || def.type === "prefault") return def.defaultValue;
  return undefined;
}

/** The same values with absolute paths, those that are left out and have a default among them. */
export function withAbsolutePaths(root: Schema, value: unknown, baseDirectory: string): unknown {
  const absolute = (held: readonly Schema[], given: unknown): unknown => {
    const schemas = held.flatMap((schema) => layers(schema, given));
    if (typeof given === "string") {
      const isPath = schemas.some(isFilePath) && given !== "" && !given.includes("\0");
      return isPath ? path.resolve(baseDirectory, given) : given;
    }
    if (typeof given !== "object" || given === null) return given;
    const below = (part: PropertyKey) => schemas.flatMap((schema) => childSchema(schema, part) ?? []);
    if (Array.isArray(given)) return given.map((each, index) => absolute(below(index), each));
    const copy: Record<string, unknown> = Object.assign(Object.create(null), given);
    for (const key of new Set([...Object.keys(given), ...knownKeys(schemas)])) {
      const children = below(key).flatMap((schema) => layers(schema, copy[key]));
      const usual = children.some(isFilePath) ? defaultOf(children) : undefined;
      const own = absolute(below(key), copy[key] ?? usual);
      if (own !== undefined) copy[key] = own;
    }
    return copy;
  };
  return absolute([root], value);
}

/** A schema and everything it wraps, outermost first. */
function layers(schema: Schema, value: unknown): Schema[] {
  const def = definition(schema);
  switch (def.type) {
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      return [schema, ...layers(def.innerType, value)];
    case "pipe":
      return [schema, ...layers(def.in, value)];
    case "lazy":
      return [schema, ...layers(def.getter(), value)];
    case "union": {
      const fitting = def.options.filter((option) => !isRuledOut(option, value));
      const options = fitting.length > 0 ? fitting : def.options;
      return [schema, ...options.flatMap((option) => layers(option, value))];
    }
    default:
      return [schema];
  }
}

function childSchema(schema: Schema, part: PropertyKey): Schema | undefined {
  const def = definition(schema);
  if (def.type === "object") return Object.hasOwn(def.shape, part) ? def.shape[part as string] : undefined;
  if (def.type === "array") return def.element;
  return def.type === "record" ? def.valueType : undefined;
}

/** Whether a key with a fixed value (such as `type: csv-drop`) has another one here. */
function isRuledOut(option: Schema, value: unknown): boolean {
  const def = definition(option);
  if (def.type === "pipe") return isRuledOut(def.in, value);
  if (def.type !== "object") return false;
  return Object.entries(def.shape).some(([key, schema]) => {
    const fixed = definition(schema);
    const given = childOf(value, key);
    return fixed.type === "literal" && given !== undefined && !fixed.values.some((each) => each === given);
  });
}

function definition(schema: Schema): z.core.$ZodTypes["_zod"]["def"] {
  return (schema as z.core.$ZodTypes)._zod.def;
}

/** A JSON Schema (draft 7, which editors' YAML support understands best). */
type JsonSchema = z.core.JSONSchema.JSONSchema;

/** What may stand instead of a number, a word of a list or a patterned text: a reference to the environment. */
const REFERENCE: JsonSchema = {
  type: "string",
  pattern: "\\$\\{[A-Za-z_]",
  description: "From the environment.",
};

/**
 * The configuration file as JSON Schema: what `cryobridge schema` prints and `config/schema.json` holds. With
 * `profileSchema`, mapping profiles are described too.
 */
export function configJsonSchema(
  options: { readonly profileSchema?: z.ZodType | undefined } = {},
): JsonSchema {
  const schema = toJsonSchema(fileSchema, "inline");
  const profiles = schema.properties?.profiles;
  if (options.profileSchema !== undefined && typeof profiles === "object") {
    const { $schema, definitions, ...profile } = toJsonSchema(options.profileSchema, "ref");
    profiles.additionalProperties = profile;
    // References in it start at the top of the document, so what they point to has to stand there.
    if (definitions !== undefined) schema.definitions = definitions;
  }
  return { ...schema, title: "Cryobridge configuration", $comment: "Generated by `cryobridge schema`." };
}

function toJsonSchema(schema: z.ZodType, reused: "inline" | "ref"): JsonSchema {
  return z.toJSONSchema(schema, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
    reused,
    override: ({ jsonSchema }) => admitReferences(jsonSchema as JsonSchema),
  });
}

/** Changes one schema in place so that `${NAME}` is not underlined in an editor. */
function admitReferences(schema: JsonSchema): void {
  const isNumberOrFlag = ["number", "integer", "boolean"].includes(String(schema.type));
  const isPatterned = schema.type === "string" && (schema.pattern !== undefined || schema.enum !== undefined);
  if (!isNumberOrFlag && !isPatterned) return;
  const { description, default: fallback, ...own } = schema;
  for (const key of Object.keys(own)) delete schema[key];
  // zod's way of saying "any safe integer" says nothing to a reader.
  if (own.maximum === Number.MAX_SAFE_INTEGER) delete own.maximum;
  schema.anyOf = [own, REFERENCE];
}
