import type { z } from "zod";
import type { Problem } from "../../core/failures.ts";

/** Receives a mistake: its place inside the profile and what is wrong. */
export type Complain = (place: string, message: string) => void;

/** A mistake of a profile at a place inside it, such as `subject.dateOfBirth.as`. */
export function profileProblem(place: string, message: string): Problem {
  return { code: "CONFIG_INVALID", place, message };
}

/** The mistakes that the schema found. Of a value that may have several forms, the form that was meant is told about. */
export function describeSchemaIssues(error: z.ZodError): Problem[] {
  return error.issues.flatMap((issue) => describeIssue(issue, []));
}

function describeIssue(issue: z.core.$ZodIssue, prefix: readonly PropertyKey[]): Problem[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === "invalid_union") {
    const meant = meantBranch(issue.errors);
    if (meant !== undefined) return meant.flatMap((inner) => describeIssue(inner, path));
  }
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => profileProblem(formatPath([...path, key]), "is no key of a profile here"));
  }
  return [profileProblem(formatPath(path), issue.message)];
}

/** The branch of a union whose outer form fits, so that only something inside it is wrong. */
function meantBranch(
  branches: readonly (readonly z.core.$ZodIssue[])[],
): readonly z.core.$ZodIssue[] | undefined {
  const fitting = branches.filter((issues) =>
    issues.some(
      (issue) =>
        issue.path.length > 0 || issue.code === "unrecognized_keys" || issue.code === "invalid_union",
    ),
  );
  const depth = (issues: readonly z.core.$ZodIssue[]) => Math.max(...issues.map(({ path }) => path.length));
  return fitting.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)[0];
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.length === 0 ? "profile" : path.map(String).join(".");
}
