/** A container of an order, as it is looked for among what the service shows. */
interface WantedContainer {
  readonly position: number;
  readonly label: string;
  /** The service's id that was seen with the label before. */
  readonly containerId?: number | undefined;
}

/** Containers by their labels alone: what they were called before doesn't count. */
export function byLabel(containers: readonly WantedContainer[]): WantedContainer[] {
  return containers.map(({ position, label }) => ({ position, label }));
}

/** What the service shows of a container: in an answer, a procedure, a list or an inventory. */
export interface ShownContainer {
  readonly id?: number | undefined;
  /** All that may be its label; none where it shows no label. */
  readonly labels: readonly string[];
  /** Whose it is, where it shows that. */
  readonly subjectId?: number | undefined;
}

/** Which of the shown containers a wanted one is. */
export type Which<T> =
  | { readonly kind: "one"; readonly shown: T }
  /** None of them. */
  | { readonly kind: "none" }
  /** More than one may be it. */
  | { readonly kind: "several" }
  /** It can't be told, since they are of several subjects. */
  | { readonly kind: "subjects" }
  /** The one that would be it would also be another of the order's, or stands there twice. */
  | { readonly kind: "shared" }
  /** The id that was seen with its label stands with another label now. */
  | { readonly kind: "contradicted" };

/** What narrows down which of the shown ones count. */
interface Among {
  /** The service's id of the order's subject; undefined where nobody asks for subjects. */
  readonly subjectId?: number | undefined;
  /** The ids that a procedure names, where it names any: what else has one of the labels is another container. */
  readonly named?: readonly number[] | undefined;
}

/** The shown containers that can be a subject's: at another facility somebody else may have the same code. */
export function ofSubject<T extends ShownContainer>(
  shown: readonly T[],
  subjectId: number | undefined,
): readonly T[] {
  if (subjectId === undefined) return shown;
  return shown.filter((each) => each.subjectId === undefined || each.subjectId === subjectId);
}

/**
 * Tells which of what the service shows an order's containers are, by their labels, compared exactly: an id alone may be another
 * container's. The first row that fits:
 *
 * | shown | then |
 * |---|---|
 * | of another subject than the order's, or not among the named ids | doesn't count |
 * | containers of several subjects, and the order's is not known | subjects, for all of them |
 * | the known id with other labels | contradicted |
 * | several with the label | several |
 * | one with the label | one |
 * | none with the label, and one without any label that has the known id | one |
 * | none of these | none |
 * | one for two labels of the order, or whose id stands there twice | shared |
 *
 * @returns an entry for each wanted container, by its position
 */
export function whichContainers<T extends ShownContainer>(
  wanted: readonly WantedContainer[],
  shown: readonly T[],
  { subjectId, named = [] }: Among = {},
): ReadonlyMap<number, Which<T>> {
  const all = ofSubject(shown, subjectId).filter(
    ({ id }) => named.length === 0 || (id !== undefined && named.includes(id)),
  );
  const subjects = new Set(ofSubject(shown, subjectId).flatMap((each) => each.subjectId ?? []));
  if (subjects.size > 1) return new Map(wanted.map(({ position }) => [position, { kind: "subjects" }]));
  const found = new Map(wanted.map((each) => [each.position, findOne(each, all)]));
  const times = new Map<number, number>();
  const count = (id: number | undefined) => id !== undefined && times.set(id, (times.get(id) ?? 0) + 1);
  for (const each of found.values()) if (each.kind === "one") count(each.shown.id);
  for (const [position, each] of found) {
    if (each.kind !== "one" || each.shown.id === undefined) continue;
    const { id } = each.shown;
    const isTwice = all.filter((other) => other.id === id).length > 1;
    if (isTwice || (times.get(id) ?? 0) > 1) found.set(position, { kind: "shared" });
  }
  return found;
}

function findOne<T extends ShownContainer>(
  { label, containerId }: WantedContainer,
  shown: readonly T[],
): Which<T> {
  const known = containerId === undefined ? [] : shown.filter(({ id }) => id === containerId);
  if (known.some(({ labels }) => labels.length > 0 && !labels.includes(label)))
    return { kind: "contradicted" };
  const labelled = shown.filter(({ labels }) => labels.includes(label));
  if (labelled.length > 1) return { kind: "several" };
  const [one] = labelled.length === 1 ? labelled : known;
  return one === undefined ? { kind: "none" } : { kind: "one", shown: one };
}
