import type { z } from "zod";

/** One rule of the schema that a value breaks, with its full path; unions are resolved to the branch that was meant. */
export type Leaf = z.core.$ZodIssue & { readonly path: PropertyKey[] };

/** The broken rules in a validation's result, each on its own. */
export function leafIssues(issues: readonly z.core.$ZodIssue[], above: readonly PropertyKey[] = []): Leaf[] {
  return issues.flatMap((issue): Leaf[] => {
    const path = [...above, ...issue.path];
    if (issue.code === "invalid_union") {
      const branch = meantBranch(issue.errors);
      return branch === undefined ? [{ ...issue, path }] : leafIssues(branch, path);
    }
    if (issue.code === "invalid_key" || issue.code === "invalid_element")
      return leafIssues(issue.issues, path);
    return [{ ...issue, path }];
  });
}

/**
 * Of several forms that a value may take, the one its author had in mind: a form of the right kind at all (a section
 * for a section), with the fewest unknown keys, then with the fewest mistakes. Undefined when no form is of that kind.
 */
function meantBranch(
  branches: readonly (readonly z.core.$ZodIssue[])[],
): readonly z.core.$ZodIssue[] | undefined {
  const ofRightKind = branches.filter((issues) => !issues.some(isWrongKind));
  const ranked = ofRightKind.sort((a, b) => unknownKeyCount(a) - unknownKeyCount(b) || a.length - b.length);
  return ranked[0];
}

function isWrongKind(issue: z.core.$ZodIssue): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === "invalid_union") return meantBranch(issue.errors) === undefined;
  return issue.code === "invalid_type" || issue.code === "invalid_value";
}

function unknownKeyCount(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === "unrecognized_keys" ? issue.keys.length : 0), 0);
}
