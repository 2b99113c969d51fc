import type { z } from "zod";

type Schema = z.core.$ZodType;

/**
 * The schemas that could hold the value at a path, wrappers (default, optional, transform) included, outermost
 * first. Branches of a union that the value's own discriminating keys rule out are left aside.
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
    return def.type === "object" ? Object.keys(def.shape) : [];
  });
}

/** One entry of a path through plain values. */
export function childOf(value: unknown, part: PropertyKey): unknown {
  if (Array.isArray(value)) return typeof part === "number" ? value[part] : undefined;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
  return (value as Record<PropertyKey, unknown>)[part];
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
