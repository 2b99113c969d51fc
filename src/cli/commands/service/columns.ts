import type { Config } from "../../../config/config.ts";
import { findList, LISTS } from "../../../core/service-catalogue.ts";
import type { Surface } from "../../../core/surface.ts";
import type { Column } from "../../../operator/column.ts";
import { serviceTime } from "../../../operator/times.ts";
import { isObject, linkedId, type RawObject, subjectCodeOf } from "../../../service/values.ts";

/** What can be shown of the service. */
export type Shown = "subjects" | "requests" | "procedures" | "containers" | "storage" | "location";

/** A column of what the service shows, for people alone: programs are given its records as they are. */
type ServiceColumn = Column<RawObject> & {
  /** Fields of the specification that it covers; all others are "unknown". */
  readonly fields: readonly string[];
};

/** The columns of a list or record: a list has those of its fields in the catalogue. */
export function columnsOf(shown: Shown, surface: Surface, config: Config): readonly ServiceColumn[] {
  if (shown === "location") return LOCATION;
  const { fields } = findList(shown, surface) ?? LISTS[shown];
  const facility = facilityColumn(config);
  const columns = fields.map((field) =>
    facility.fields.includes(field) ? facility : (COLUMN_BY_FIELD[field] ?? text(field)),
  );
  return [...new Set(columns)];
}

/** What a record has beside its columns, one `field: value` each. */
export function otherFields(record: RawObject, columns: readonly ServiceColumn[]): [string, string][] {
  const covered = new Set(columns.flatMap(({ fields }) => fields));
  return Object.entries(record)
    .filter(([key]) => !covered.has(key))
    .map(([key, value]) => [key, inWords(value)]);
}

const SUBJECT: ServiceColumn = {
  title: "subject",
  isFlexible: true,
  fields: ["subject", "subjectCode"],
  show: (record) => subjectCodeOf(record) ?? "",
};

const CONTAINERS: ServiceColumn = {
  title: "containers",
  isFlexible: true,
  fields: ["sampleContainers", "sampleContainerIds"],
  show: ({ sampleContainers, sampleContainerIds }) =>
    Array.isArray(sampleContainers) ? sampleContainers.map(labelOf).join(", ") : inWords(sampleContainerIds),
};

function labelOf(container: unknown): string {
  if (!isObject(container)) return inWords(container);
  const { sampleContainerId, name, id, location } = container;
  const label = inWords(sampleContainerId ?? name ?? id);
  return isObject(location) ? `${label} (${placeOf(location)})` : label;
}

/** Where a container is, as a completed procedure of the external surface says. */
function placeOf({ storage, canister, cane }: RawObject): string {
  const name = isObject(storage) ? inWords(storage.name ?? storage.id) : "";
  return [name, canister && `canister ${inWords(canister)}`, cane && `cane ${inWords(cane)}`]
    .filter(Boolean)
    .join(", ");
}

/** By the field of the specification that a column shows first; a field without one has a column by its own name. */
const COLUMN_BY_FIELD: Readonly<Record<string, ServiceColumn>> = {
  id: number("id", "id"),
  subject: SUBJECT,
  subjectCode: SUBJECT,
  sampleContainers: CONTAINERS,
  sampleContainerIds: CONTAINERS,
  firstName: text("first name", "firstName"),
  lastName: text("last name", "lastName"),
  dateOfBirth: text("born", "dateOfBirth"),
  procedureId: number("procedure", "procedureId"),
  requestId: number("request", "requestId"),
  storageId: number("storage", "storageId"),
  acceptedBy: text("accepted by", "acceptedBy"),
  performedBy: text("performed by", "performedBy"),
  createdAt: time("created", "createdAt"),
  acceptedAt: time("accepted", "acceptedAt"),
  startedAt: time("started", "startedAt"),
  completedAt: time("completed", "completedAt"),
  storedAt: time("stored", "storedAt"),
};

/** A record that is no entry of a list. */
const LOCATION: readonly ServiceColumn[] = [
  number("container", "sampleContainerId"),
  number("storage", "storageId"),
  text("storage name", "storageName"),
  text("position"),
  time("stored", "storedAt"),
];

function facilityColumn(config: Config): ServiceColumn {
  const codesById = Map.groupBy(config.facilityIdByCode.keys(), (code) => config.facilityIdByCode.get(code));
  return {
    title: "facility",
    fields: ["facilityId", "facility"],
    isFlexible: true,
    show: (record) => {
      const id = linkedId(record, "facilityId", "facility");
      const codes = id === undefined ? undefined : codesById.get(Number(id));
      // Several names of the lab may mean one facility.
      return [id, codes && `(${codes.join(", ")})`].filter((part) => part !== undefined).join(" ");
    },
  };
}

function text(title: string, field = title): ServiceColumn {
  return { title, fields: [field], isFlexible: true, show: (record) => inWords(record[field]) };
}

function number(title: string, field: string): ServiceColumn {
  return { title, fields: [field], isRight: true, show: (record) => inWords(record[field]) };
}

/** In local time where the service gives a time with its zone; else as it came. */
function time(title: string, field: string): ServiceColumn {
  const show = ({ [field]: value }: RawObject) =>
    typeof value === "string" ? serviceTime(value) : inWords(value);
  return { title, fields: [field], show };
}

/** Any value in one line. */
function inWords(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
