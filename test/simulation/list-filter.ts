const PAGING = new Set(["page", "perPage"]);

/** Filters as the specification has them: equal, at least, at most. A field that an entry doesn't have doesn't match. */
export function isMatch(entry: object, key: string, value: string): boolean {
  if (PAGING.has(key)) return true;
  const [, field = key, how] = /^(.*?)(_from|_to)?$/.exec(key) ?? [];
  const flat: Record<string, unknown> = { ...entry };
  const { subject, facility } = flat as { subject?: { code?: string }; facility?: { id?: number } };
  if (subject) flat.subjectCode = subject.code;
  if (facility) flat.facilityId = facility.id;
  const own = flat[field];
  if (own === undefined || own === null) return false;
  const compare =
    typeof own === "number" ? own - Number(value) : String(own) < value ? -1 : String(own) === value ? 0 : 1;
  if (how === "_from") return compare >= 0;
  if (how === "_to") return compare <= 0;
  return compare === 0;
}
