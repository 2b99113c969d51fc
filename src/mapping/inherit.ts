import type { ProfileDefinition, ValueDefinition } from "./profile-schema.ts";
import { toValueObject } from "./value.ts";

type ValueObject = ReturnType<typeof toValueObject>;
type Plain = Readonly<Record<string, unknown>>;

/**
 * A profile on top of the one it extends: deep by key, lists replaced. A bare path or list for a value counts as its
 * `from`, so that naming another place keeps the transforms and the table; a constant (`value`) drops them.
 */
export function inheritProfile(parent: ProfileDefinition, child: ProfileDefinition): ProfileDefinition {
  return {
    ...parent,
    ...child,
    ...inheritEach(parent, child, ["operation", "facility", "placerOrderNumber"]),
    ...(child.subject && parent.subject
      ? {
          subject: {
            ...parent.subject,
            ...inheritEach(parent.subject, child.subject, [
              "code",
              "priorCode",
              "firstName",
              "lastName",
              "dateOfBirth",
            ]),
          },
        }
      : {}),
    ...(child.containers && parent.containers
      ? {
          containers: {
            ...parent.containers,
            ...child.containers,
            ...inheritEach(parent.containers, child.containers, ["label", "description"]),
          },
        }
      : {}),
    ...(child.results && parent.results ? { results: mergeDeep(parent.results, child.results) } : {}),
  };
}

function inheritEach<K extends string>(
  parent: { readonly [key in K]?: ValueDefinition | undefined },
  child: { readonly [key in K]?: ValueDefinition | undefined },
  keys: readonly K[],
): { [key in K]?: ValueDefinition } {
  const merged: { [key in K]?: ValueDefinition } = {};
  for (const key of keys) {
    const below = parent[key];
    const above = child[key];
    if (above === undefined) continue;
    merged[key] = below === undefined ? above : inheritValue(toValueObject(below), toValueObject(above));
  }
  return merged;
}

function inheritValue(parent: ValueObject, child: ValueObject): ValueObject {
  if (child.value !== undefined) return child;
  const { value: dropped, ...kept } = parent;
  const inherited = child.from === undefined ? parent : kept;
  const table =
    parent.table && child.table ? { ...parent.table, ...child.table } : (child.table ?? parent.table);
  return { ...inherited, ...child, ...(table === undefined ? {} : { table }) };
}

function mergeDeep<T extends Plain>(parent: T, child: T): T {
  const merged: Record<string, unknown> = { ...parent };
  for (const [key, above] of Object.entries(child)) {
    const below = merged[key];
    merged[key] = isPlain(below) && isPlain(above) ? mergeDeep(below, above) : above;
  }
  return merged as T;
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
