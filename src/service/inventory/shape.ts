import type { ContainerLocation } from "../../core/outcome.ts";
import { type Phi, phi } from "../../core/phi.ts";
import { totalOf } from "../http/answer.ts";
import { idValue, isObject, type RawObject, subjectCodeOf, textValue } from "../values.ts";

/** A container as an inventory shows it: with the place within the storage solution. */
export interface InventoryEntry {
  readonly id: number;
  /** Every value of the fields that may hold the lab's label; without any, the id is named as a sample container's own. */
  readonly labels: readonly string[];
  readonly location: ContainerLocation;
  /** The subject that the entry names. */
  readonly subjectId?: number | undefined;
  readonly subjectCode?: Phi | undefined;
}

/** What one answer shows. */
export interface InventoryPage {
  /** Those that were asked for. */
  readonly entries: readonly InventoryEntry[];
  /** How many containers it shows with a place. */
  readonly shown: number;
  /** The id of the first of them, by which a page is known again. */
  readonly firstId: number | undefined;
  /** How many there are in all, where the answer says so. */
  readonly total: number | undefined;
  /** It says that it is a page of a list. */
  readonly isPage: boolean;
  /** Neither a container with a place nor an empty list: the answer is of another form, such as a count. */
  readonly isUnknown: boolean;
}

const PARTS = ["id", "canister", "cane", "position", "storedAt"] as const;
type Part = (typeof PARTS)[number];

/** A site's own names for fields of an inventory, beside the usual ones. */
export type InventoryFields = { readonly [part in Part]?: string | undefined };

/** What is looked for in an inventory, and how it may be written. */
export interface InventoryQuestion {
  readonly storageId: number;
  /** Fields of a container that may hold the lab's label. */
  readonly labelFields: readonly string[];
  readonly fields: InventoryFields;
  /** Whether a container may be one of those that are looked for; all others are counted and passed over. */
  readonly isWanted: (id: number, labels: readonly string[]) => boolean;
}

/** Names of fields, as {@link plainKey} writes them. */
const USUAL: Readonly<Record<Part, readonly string[]>> = {
  id: ["samplecontainerid", "containerid"],
  canister: named("canister"),
  cane: named("cane"),
  position: [...named("position"), ...named("slot")],
  storedAt: ["storedat"],
};
/** Keys of what can hold containers; their plurals too. */
const GROUPS = new Set([
  ...["canister", "cane", "position", "slot", "container", "samplecontainer", "sample", "vial", "straw"],
  ...[
    "children",
    "item",
    "content",
    "entry",
    "entries",
    "level",
    "rack",
    "box",
    "boxes",
    "shelf",
    "shelves",
    "row",
    "data",
  ],
]);
const LEVELS = new Set(["canister", "cane", "position", "slot"]);
/** Levels of a storage solution that are no place of their own in a location. */
const OTHER_LEVELS = new Set([...["rack", "box", "boxes", "shelf", "shelves", "drawer", "level", "tower"]]);
const STORAGES = new Set(["storage", "storagesolution", "tank", "dewar"]);
/** Of other things, and not looked into. */
const FOREIGN = new Set([
  "subject",
  "patient",
  "facility",
  "organization",
  "meta",
  "pagination",
  "link",
  "error",
]);
/** What says that a container is not there any more. */
const GONE = ["retrievedat", "removedat", "takenoutat", "disposedat"];
/** An answer that is nested deeper is of no form that is known. */
const DEEPEST = 16;

function named(word: string): readonly string[] {
  return [word, ...["name", "label", "code", "number", "no"].map((end) => `${word}${end}`)];
}

/** What stands around a container: the levels that it is in. */
interface Around {
  readonly storageId?: number | undefined;
  readonly storageName?: string | undefined;
  readonly canister?: string | undefined;
  readonly cane?: string | undefined;
  readonly position?: string | undefined;
  readonly storedAt?: string | undefined;
}

/**
 * Finds containers in an inventory, whose form the specification leaves open: a list of containers with their places, or storage
 * levels with containers in them, as lists, as maps by name, or as a tree of levels; wrapped in any way. A place counts only with a
 * canister, a cane or a position.
 */
export function readInventory(json: unknown, question: InventoryQuestion): InventoryPage {
  return new InventoryReader(question).read(json);
}

class InventoryReader {
  readonly #question: InventoryQuestion;
  readonly #names: Readonly<Record<Part, readonly string[]>>;
  readonly #found: InventoryEntry[] = [];
  #shown = 0;
  #firstId: number | undefined;
  #hasEmptyList = false;

  constructor(question: InventoryQuestion) {
    this.#question = question;
    const { fields } = question;
    const own = (part: Part) => [
      ...(fields[part] === undefined ? [] : [plainKey(fields[part])]),
      ...USUAL[part],
    ];
    this.#names = {
      id: own("id"),
      canister: own("canister"),
      cane: own("cane"),
      position: own("position"),
      storedAt: own("storedAt"),
    };
  }

  read(json: unknown): InventoryPage {
    this.#visit(json, "", this.#wholeOf(json), 0);
    const isUnknown = this.#shown === 0 && !this.#hasEmptyList;
    return {
      entries: this.#found,
      shown: this.#shown,
      firstId: this.#firstId,
      total: totalOf(json),
      isPage: saysPageSize(json),
      isUnknown,
    };
  }

  /** What the answer says of the storage solution itself, at its root or under the one key that wraps it. */
  #wholeOf(json: unknown): Around {
    if (!isObject(json)) return {};
    const { storageId } = this.#question;
    const whole = [json, json.data, json.result].filter(isObject).find((each) => idAt(each.id) === storageId);
    return { storageName: whole && textOf(whole.name) };
  }

  #visit(value: unknown, key: string, around: Around, depth: number): void {
    if (depth > DEEPEST) return;
    if (Array.isArray(value)) {
      this.#hasEmptyList ||= value.length === 0;
      for (const each of value) this.#visit(each, key, around, depth + 1);
      return;
    }
    if (!isObject(value)) return;
    const fields = plainFields(value);
    const level = this.#levelOf(key, fields);
    if ((level === "canister" || level === "cane") && isByName(fields)) {
      for (const [name, inner] of Object.entries(value)) {
        this.#visit(inner, "", { ...around, [level]: name }, depth + 1);
      }
      return;
    }
    const place = { ...around, ...this.#placeOf(fields) };
    if (level === "canister" || level === "cane") {
      const name = firstText(fields, this.#names[level]) ?? nameOf(fields);
      this.#descend(fields, name === undefined ? place : { ...place, [level]: name }, depth);
      return;
    }
    const inside = level === "position" ? { ...place, position: place.position ?? numberOf(fields) } : place;
    if (level === "other" || holdsMore(fields) || !this.#take(value, fields, inside, level === "position")) {
      this.#descend(fields, inside, depth);
    }
  }

  #descend(fields: ReadonlyMap<string, unknown>, around: Around, depth: number): void {
    for (const [key, value] of fields) {
      if (typeof value === "object" && value !== null && !FOREIGN.has(singular(key))) {
        this.#visit(value, key, around, depth + 1);
      }
    }
  }

  /** What an object stands for, by the key that it is under or its own word for its level. */
  #levelOf(
    key: string,
    fields: ReadonlyMap<string, unknown>,
  ): "canister" | "cane" | "position" | "other" | undefined {
    const own = [fields.get("level"), fields.get("type"), fields.get("kind")].map((each) =>
      plainKey(textOf(each) ?? ""),
    );
    for (const word of [singular(key), ...own]) {
      for (const level of ["canister", "cane", "position"] as const) {
        if (this.#names[level].includes(word)) return level;
      }
      if (OTHER_LEVELS.has(word) || STORAGES.has(word)) return "other";
    }
    return undefined;
  }

  /** The parts of a place that an object shows, itself or under `location` and the like. */
  #placeOf(fields: ReadonlyMap<string, unknown>): Around {
    const inner = ["location", "place", ...this.#names.position].map((key) => fields.get(key)).find(isObject);
    return { ...this.#partsOf(fields), ...(inner && this.#partsOf(plainFields(inner))) };
  }

  #partsOf(fields: ReadonlyMap<string, unknown>): Around {
    const storage = [...STORAGES].map((key) => fields.get(key)).find(isObject);
    const parts = {
      storageId: idAt(fields.get("storageid")) ?? idAt(storage?.id),
      storageName: textOf(fields.get("storagename")) ?? textOf(storage?.name),
      canister: firstText(fields, this.#names.canister),
      cane: firstText(fields, this.#names.cane),
      position: firstText(fields, this.#names.position),
      storedAt: firstText(fields, this.#names.storedAt),
    };
    return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined));
  }

  /** Counts and keeps the object where it is a container with a place. @param isSlot its bare id may be that of its place */
  #take(raw: RawObject, fields: ReadonlyMap<string, unknown>, place: Around, isSlot: boolean): boolean {
    if (place.canister === undefined && place.cane === undefined && place.position === undefined)
      return false;
    const { storageId, labelFields, isWanted } = this.#question;
    if (place.storageId !== undefined && place.storageId !== storageId) return false;
    if (GONE.some((key) => textOf(fields.get(key)) !== undefined)) return false;
    const own = this.#ownId(fields, isSlot);
    if (own === undefined) return false;
    const labels = [
      ...new Set(
        labelFields.flatMap((field) =>
          plainKey(field) === own.field ? [] : (textOf(fields.get(plainKey(field))) ?? []),
        ),
      ),
    ];
    if (labels.length === 0 && !own.isNamed) return false;
    this.#shown += 1;
    this.#firstId ??= own.id;
    if (!isWanted(own.id, labels)) return true;
    const subject = fields.get("subject");
    const code = subjectCodeOf(raw);
    this.#found.push({
      id: own.id,
      labels,
      location: { ...place, storageId },
      subjectId: idAt(fields.get("subjectid")) ?? (isObject(subject) ? idAt(subject.id) : undefined),
      subjectCode: code === undefined ? undefined : phi(code),
    });
    return true;
  }

  /**
   * The container's id: a number under a name for it, else `id`. One of the names, `sampleContainerId`, is a label's in other places of
   * the specification, so a text there is an id only where nothing else is one.
   */
  #ownId(
    fields: ReadonlyMap<string, unknown>,
    isSlot: boolean,
  ): { readonly id: number; readonly isNamed: boolean; readonly field: string } | undefined {
    const bare = idAt(fields.get("id"));
    const shown = this.#names.id.filter((field) => idAt(fields.get(field)) !== undefined);
    const [field] = shown.filter((each) => typeof fields.get(each) === "number" || bare === undefined);
    const ids = new Set(
      shown.filter((each) => typeof fields.get(each) === "number").map((each) => fields.get(each)),
    );
    if (ids.size > 1) return undefined;
    if (field !== undefined) {
      const id = idAt(fields.get(field));
      return id === undefined ? undefined : { id, isNamed: true, field };
    }
    return bare === undefined || isSlot ? undefined : { id: bare, isNamed: false, field: "id" };
  }
}

/** Whether an object has more containers or levels in it, so that it is none itself; `cane: { name }` is but the name of one. */
function holdsMore(fields: ReadonlyMap<string, unknown>, depth = 0): boolean {
  for (const [key, value] of fields) {
    const one = singular(key);
    if (typeof value !== "object" || value === null || !(GROUPS.has(key) || GROUPS.has(one))) continue;
    if (Array.isArray(value)) {
      if (value.some(isObject)) return true;
      continue;
    }
    if (!isObject(value)) continue;
    const isNameOnly = one === key && LEVELS.has(key);
    const inner = Object.values(value);
    if (
      isNameOnly ? inner.some(Array.isArray) : "id" in value || inner.some((each) => typeof each === "object")
    )
      return true;
    if (depth < 2 && holdsMore(plainFields(value), depth + 1)) return true;
  }
  return false;
}

/** Whether the keys of an object are names of levels: `{ C3: { canes: … } }`. */
function isByName(fields: ReadonlyMap<string, unknown>): boolean {
  const values = [...fields.values()];
  return (
    values.length > 0 &&
    values.every((each) => typeof each === "object" && each !== null) &&
    ![...fields.keys()].some((key) => GROUPS.has(key) || GROUPS.has(singular(key)))
  );
}

function nameOf(fields: ReadonlyMap<string, unknown>): string | undefined {
  return firstText(fields, ["name", "label", "number", "no", "code", "title"]);
}

/** Which slot it is; a name may be the container's. */
function numberOf(fields: ReadonlyMap<string, unknown>): string | undefined {
  return firstText(fields, ["number", "no", "index"]);
}

/** The first text among fields; of an object its name. */
function firstText(fields: ReadonlyMap<string, unknown>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields.get(name);
    const text = textOf(isObject(value) ? (value.name ?? value.label ?? value.number ?? value.code) : value);
    if (text !== undefined) return text;
  }
  return undefined;
}

const PAGE_SIZE_KEYS = ["perPage", "pageSize", "per_page", "page_size", "limit"];

/** Whether an answer says how many a page has, from where answers are seen to say it. */
function saysPageSize(json: unknown): boolean {
  if (!isObject(json)) return false;
  const places = [json, json.meta, json.pagination, json.paging, json.page].filter(isObject);
  return places.some((place) =>
    PAGE_SIZE_KEYS.some((key) => Number.isSafeInteger(place[key]) && Number(place[key]) >= 0),
  );
}

/** An inventory may have tens of thousands of entries, so the usual forms go without the whole check. */
function idAt(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  return typeof value === "string" ? idValue.safeParse(value).data : undefined;
}

/** A text that says something. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  if (typeof value !== "string" || value.trim() === "") return undefined;
  return /^[ -~]*$/.test(value) ? value : textValue.safeParse(value).data;
}

function plainFields(object: RawObject): ReadonlyMap<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const key of Object.keys(object)) fields.set(plainKey(key), object[key]);
  return fields;
}

const PLAIN_KEYS = new Map<string, string>();
/** More names of fields than that are no names, and are not kept. */
const MOST_KEYS = 500;

/** `sampleContainerId` and `sample_container_id` are one name. */
function plainKey(key: string): string {
  const known = PLAIN_KEYS.get(key);
  if (known !== undefined) return known;
  const plain = key.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  if (PLAIN_KEYS.size < MOST_KEYS) PLAIN_KEYS.set(key, plain);
  return plain;
}

function singular(key: string): string {
  return key.length > 3 && key.endsWith("s") ? key.slice(0, -1) : key;
}
