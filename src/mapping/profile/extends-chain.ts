import type { Problem } from "../../core/failures.ts";
import { describeSchemaIssues, profileProblem } from "./profile-problems.ts";
import { type ProfileDefinition, profileSchema } from "./schema.ts";

/** A profile and its name. */
export interface Link {
  readonly name: string;
  readonly definition: ProfileDefinition;
}

/** A profile and those it extends, nearest first, each checked against the schema; or what is wrong with one of them. */
export function resolveChain(
  name: string,
  definition: ProfileDefinition,
  byName: ReadonlyMap<string, ProfileDefinition>,
): { readonly ok: true; readonly links: Link[] } | { readonly ok: false; readonly problems: Problem[] } {
  const links: Link[] = [];
  let next: Link | undefined = { name, definition };
  while (next !== undefined) {
    const parsed = profileSchema.safeParse(next.definition);
    if (!parsed.success) {
      const where = links.length === 0 ? "" : `extends ${next.name}: `;
      const found = describeSchemaIssues(parsed.error);
      return { ok: false, problems: found.map((problem) => ({ ...problem, place: where + problem.place })) };
    }
    links.push({ name: next.name, definition: parsed.data });
    const parent: string | undefined = parsed.data.extends;
    if (parent === undefined) return { ok: true, links };
    if (links.some((link) => link.name === parent)) {
      const circle = [...links.map((link) => link.name), parent].join(" -> ");
      return { ok: false, problems: [profileProblem("extends", `goes in a circle: ${circle}`)] };
    }
    const found = byName.get(parent);
    if (found === undefined) {
      const known = [...byName.keys()].filter((key) => key !== name).join(", ");
      return {
        ok: false,
        problems: [profileProblem("extends", `no profile is called ${parent}; known: ${known}`)],
      };
    }
    next = { name: parent, definition: found };
  }
  return { ok: true, links };
}
