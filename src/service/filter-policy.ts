import type { FilterPolicy } from "./settings.ts";

/** The filters that the specification names for a list; all others, and forms, fall under "most endpoints accept". */
const DOCUMENTED: Readonly<Record<string, readonly string[]>> = {
  "/api/procedure-requests": ["status"],
  "/api/procedures": ["facilityId"],
  "/api/sample-containers": ["subjectCode"],
  "/api/storage": ["facilityId"],
  "/api/v1/external/procedures": ["facilityId", "type"],
  "/api/v1/external/sample-containers": ["subjectCode"],
};

/** Whether the specification names a filter for a list. */
export function isDocumented(endpoint: string, name: string): boolean {
  return DOCUMENTED[endpoint]?.includes(name) === true;
}

/** Whether the site lets a filter be sent. */
export function isAllowed(policy: FilterPolicy, endpoint: string, name: string): boolean {
  if (policy === "auto" || isDocumented(endpoint, name)) return true;
  return policy !== "none" && (policy.includes(name) || policy.includes(fieldOf(name)));
}

/** `createdAt` of `createdAt_from`, and of `createdAt` itself. */
export function fieldOf(filter: string): string {
  return filter.replace(/_(like|from|to)$/, "");
}
