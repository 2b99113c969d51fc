/** A line of the lab's list. */
export interface LabLine {
  readonly line: number;
  readonly label: string;
  /** Where the lab says it stands; empty where it does not say. */
  readonly storage: string;
  readonly position: string;
}

/** A container as the service lists it. */
export interface ListedContainer {
  readonly id: number;
  /** The values of its label fields. */
  readonly labels: readonly string[];
  readonly subjectId: number | undefined;
  readonly subjectCode: string | undefined;
  /** Undefined where the entry does not say. */
  readonly isStored: boolean | undefined;
}

/** Where the service says that a container stands. */
export interface ContainerPlace {
  readonly id: number;
  readonly storageId: number | undefined;
  readonly storage: string | undefined;
  readonly position: string | undefined;
}

/** What can differ, in the sequence in which it is shown. */
const FINDINGS = ["missing", "elsewhere", "duplicate", "extra"] as const;
export type Finding = (typeof FINDINGS)[number];

/** A label of which the two lists say different things. */
export interface Difference {
  readonly finding: Finding;
  /** Empty for a container without a label. */
  readonly label: string;
  /** Lines of the lab's list, and ids of the service's containers: the first twenty. */
  readonly lines: readonly number[];
  readonly containerIds: readonly number[];
  readonly labSays: string;
  readonly serviceSays: string;
}

/** How much was compared, and how many differences there are. */
export interface InventoryCounts extends Readonly<Record<Finding, number>> {
  /** Different labels of the lab's list. */
  readonly labels: number;
  /** Containers that the service lists. */
  readonly listed: number;
  /** Those in storage at the facility. */
  readonly stored: number;
  /** Those that name no subject, and so no facility: they count as the facility's. */
  readonly unnamed: number;
  /** Whether any of them says when it was stored; else all count as in storage. */
  readonly isStorageShown: boolean;
}

interface Judged extends ListedContainer {
  readonly isHere: boolean;
  readonly isStored: boolean;
}

const MOST_NAMED = 20;

/** The lab's list of containers and the service's, of which each fits memory as any file of the lab does. */
export class Inventory {
  readonly #linesByLabel = new Map<string, LabLine[]>();
  /** Of the facility; undefined while they are not known. */
  #subjects: { readonly ids: Set<number>; readonly codes: Set<string> } | undefined;
  /** A list that changes while it is read may show one twice. */
  readonly #listed = new Map<number, ListedContainer>();
  readonly #places = new Map<number, ContainerPlace>();

  addLines(lines: readonly LabLine[]): void {
    for (const line of lines) push(this.#linesByLabel, line.label, line);
  }

  /** Adds subjects of the facility; where that never happens, all containers count as the facility's. */
  addSubjects(subjects: readonly { readonly id: number; readonly code: string | undefined }[]): void {
    this.#subjects ??= { ids: new Set(), codes: new Set() };
    for (const { id, code } of subjects) {
      this.#subjects.ids.add(id);
      if (code !== undefined) this.#subjects.codes.add(code);
    }
  }

  /** Adds what the service lists, whosever it is. */
  addContainers(containers: readonly ListedContainer[]): void {
    for (const each of containers) this.#listed.set(each.id, each);
  }

  addPlaces(places: readonly ContainerPlace[]): void {
    for (const each of places) this.#places.set(each.id, each);
  }

  /** Ids of the containers whose place is to be read, since the lab names one. */
  placesToRead(): number[] {
    const isPlaced = (label: string) =>
      this.#linesByLabel.get(label)?.some(({ storage, position }) => storage !== "" || position !== "");
    const asked = this.#judged().filter((each) => isInPlace(each) && each.labels.some(isPlaced));
    return asked.map(({ id }) => id).sort((a, b) => a - b);
  }

  /** Compares what was added. */
  compare(): { readonly counts: InventoryCounts; readonly differences: readonly Difference[] } {
    const containers = this.#judged();
    const byLabel = new Map<string, Judged[]>();
    for (const each of containers) for (const label of new Set(each.labels)) push(byLabel, label, each);
    const differences = [
      ...this.#missing(byLabel),
      ...this.#misplaced(byLabel),
      ...this.#duplicate(byLabel),
      ...this.#extra(containers),
    ];
    const numberOf = (wanted: Finding) => differences.filter(({ finding }) => finding === wanted).length;
    return {
      differences: FINDINGS.flatMap((wanted) => differences.filter(({ finding }) => finding === wanted)),
      counts: {
        labels: this.#linesByLabel.size,
        listed: containers.length,
        stored: containers.filter(isInPlace).length,
        unnamed: containers.filter(isUnnamed).length,
        isStorageShown: this.#isStorageShown(),
        ...{ missing: numberOf("missing"), elsewhere: numberOf("elsewhere") },
        ...{ duplicate: numberOf("duplicate"), extra: numberOf("extra") },
      },
    };
  }

  #isStorageShown(): boolean {
    return [...this.#listed.values()].some(({ isStored }) => isStored !== undefined);
  }

  #judged(): Judged[] {
    const isStorageShown = this.#isStorageShown();
    return [...this.#listed.values()].map((each) => ({
      ...each,
      isHere: this.#isHere(each),
      isStored: each.isStored ?? !isStorageShown,
    }));
  }

  #isHere(container: ListedContainer): boolean {
    const { subjectId, subjectCode } = container;
    if (this.#subjects === undefined || isUnnamed(container)) return true;
    if (subjectId !== undefined) return this.#subjects.ids.has(subjectId);
    return this.#subjects.codes.has(subjectCode ?? "");
  }

  /** Labels of the list that nothing in storage at the facility has. */
  #missing(byLabel: ReadonlyMap<string, readonly Judged[]>): Difference[] {
    return sorted(this.#linesByLabel).flatMap(([label, lines]): Difference[] => {
      const listed = byLabel.get(label) ?? [];
      if (listed.some(isInPlace)) return [];
      const elsewhere = listed.filter(({ isHere, isStored }) => isStored && !isHere);
      const here = listed.filter(({ isHere }) => isHere);
      const about = { label, lines: linesOf(lines), labSays: "" };
      if (elsewhere.length > 0) {
        const serviceSays = "at another facility";
        return [{ finding: "elsewhere", ...about, containerIds: idsOf(elsewhere), serviceSays }];
      }
      const serviceSays = here.length > 0 ? "listed, but not in storage" : "";
      return [{ finding: "missing", ...about, containerIds: idsOf(here), serviceSays }];
    });
  }

  /** Containers whose place was read, where the lab says another one. */
  #misplaced(byLabel: ReadonlyMap<string, readonly Judged[]>): Difference[] {
    return sorted(this.#linesByLabel).flatMap(([label, lines]) =>
      lines.flatMap((line) =>
        (byLabel.get(label) ?? []).filter(isInPlace).flatMap(({ id }): Difference[] => {
          const place = this.#places.get(id);
          if (place === undefined || !isOther(line, place)) return [];
          const labSays = [line.storage, line.position].filter((part) => part !== "").join(", ");
          const about = { label, lines: [line.line], containerIds: [id], labSays };
          return [{ finding: "elsewhere", ...about, serviceSays: placeInWords(place) }];
        }),
      ),
    );
  }

  #duplicate(byLabel: ReadonlyMap<string, readonly Judged[]>): Difference[] {
    const labels = new Set([...this.#linesByLabel.keys(), ...byLabel.keys()]);
    return [...labels].sort().flatMap((label): Difference[] => {
      const lines = this.#linesByLabel.get(label) ?? [];
      const containers = label === "" ? [] : (byLabel.get(label) ?? []).filter(isInPlace);
      if (lines.length < 2 && containers.length < 2) return [];
      const labSays = lines.length > 1 ? `${lines.length} lines` : "";
      const serviceSays = containers.length > 1 ? "several containers" : "";
      const about = { label, lines: linesOf(lines), containerIds: idsOf(containers) };
      return [{ finding: "duplicate", ...about, labSays, serviceSays }];
    });
  }

  /** Containers in storage of which the list has no label. */
  #extra(containers: readonly Judged[]): Difference[] {
    const extra = containers.filter(
      (each) => isInPlace(each) && !each.labels.some((label) => this.#linesByLabel.has(label)),
    );
    const named = extra.map(({ id, labels }) => ({ id, label: [...labels].sort()[0] ?? "" }));
    return named
      .sort((a, b) => compareTexts(a.label, b.label) || a.id - b.id)
      .map(({ id, label }) => ({
        ...{ finding: "extra", label, lines: [], containerIds: [id], labSays: "", serviceSays: "" },
      }));
  }
}

/** Whether a container is in storage at the facility. */
function isInPlace({ isHere, isStored }: Judged): boolean {
  return isHere && isStored;
}

function isUnnamed({ subjectId, subjectCode }: ListedContainer): boolean {
  return subjectId === undefined && subjectCode === undefined;
}

function isOther(line: LabLine, { storageId, storage, position }: ContainerPlace): boolean {
  const isSame = (one: string, other: string | undefined) =>
    one === "" || (other !== undefined && plain(one) === plain(other));
  const isStorage = isSame(line.storage, storage) || line.storage === String(storageId);
  return !isStorage || !isSame(line.position, position);
}

function placeInWords({ storageId, storage, position }: ContainerPlace): string {
  const tank = storage ?? (storageId === undefined ? undefined : `storage ${storageId}`);
  return [tank, position].filter((part) => part !== undefined).join(", ") || "no place shown";
}

/**
 * What places are compared by, since they are written by hand in many ways: capitals, blanks and punctuation say nothing, but
 * that a number or a word ends there. So `Cane 1, slot 11` is `CANE1 / SLOT11`, and not `Cane 11, slot 1`.
 */
function plain(place: string): string {
  return place
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim()
    .replace(/(?<=[\p{L}\p{M}]) (?=\p{N})|(?<=\p{N}) (?=\p{L})/gu, "");
}

function push<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function sorted<Value>(lists: ReadonlyMap<string, Value>): (readonly [string, Value])[] {
  return [...lists].sort(([one], [other]) => compareTexts(one, other));
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function linesOf(lines: readonly LabLine[]): number[] {
  return lines.slice(0, MOST_NAMED).map(({ line }) => line);
}

function idsOf(containers: readonly Judged[]): number[] {
  return containers
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .slice(0, MOST_NAMED);
}
