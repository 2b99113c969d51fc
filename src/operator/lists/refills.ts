import { isEndedRefill } from "../../core/refill.ts";
import { tankName } from "../../jobs/refills/tanks.ts";
import { type LedgerRefill, listRefills } from "../../ledger/refills.ts";
import { ageColumn, type Column, forPrograms } from "../column.ts";
import { known, list, since } from "../list.ts";
import { serviceTime } from "../times.ts";

const REFILL_COLUMNS: readonly Column<LedgerRefill>[] = [
  { key: "procedureId", title: "procedure", isRight: true, value: ({ refill }) => refill.id },
  { key: "procedureCode", title: "code", isFlexible: true, value: ({ refill }) => refill.code },
  { key: "surface" },
  { key: "facilityCode", title: "facility", isFlexible: true },
  { key: "facilityId" },
  { title: "tank", isFlexible: true, show: ({ refill }) => tankName(refill) },
  { key: "storageId", value: ({ refill }) => refill.storageId },
  { key: "storageName", value: ({ refill }) => refill.storageName },
  {
    key: "status",
    title: "status",
    value: ({ refill }) => refill.status,
    paint: ({ refill: { status } }) =>
      status === "COMPLETED" ? "green" : isEndedRefill(status) ? "red" : undefined,
  },
  { key: "remoteStatus" },
  { key: "createdAt", value: ({ refill }) => refill.createdAt },
  { key: "startedAt", value: ({ refill }) => refill.startedAt },
  { key: "changedAt", title: "changed" },
  ageColumn(({ changedAt }) => changedAt),
  {
    key: "completedAt",
    title: "completed",
    value: ({ refill }) => refill.completedAt,
    show: ({ refill }) => serviceTime(refill.completedAt ?? ""),
  },
  { key: "error", value: ({ refill }) => refill.error },
  ...forPrograms<LedgerRefill>("ledgerId", "firstSeenAt", "missingSince", "flagged"),
  { title: "remark", isFlexible: true, show: remarkOf },
];

/** What belongs to one facility; `what` does, such as `refills`. */
export const byFacility = (what: string) =>
  known(({ config }) => [...config.facilityIdByCode.keys()], {
    ...{ value: "name", label: "Facility" },
    help: `only ${what} of this facility, by its name in the configuration`,
  });

/** Refills of tanks. */
export const REFILL_LIST = list({
  key: "refills",
  help: "List refills, latest change first.",
  filters: {
    facility: byFacility("refills"),
    since: since("refills that changed "),
  },
  columns: REFILL_COLUMNS,
  nothing: () => "No refills.",
  read: async ({ pool, config }, { facility, since }, { limit, after: beforeId }) => {
    const facilityId = facility === undefined ? undefined : config.facilityIdByCode.get(facility);
    if (facility !== undefined && facilityId === undefined) return [];
    return listRefills(pool, { facilityId, since, beforeId, limit });
  },
  page: { of: ({ ledgerId }) => String(ledgerId) },
});

function remarkOf({ refill, remoteStatus, missingSince, flagged }: LedgerRefill): string {
  const remarks = [
    refill.error,
    missingSince && "the service doesn't know it any more",
    remoteStatus !== refill.status && `the service says ${remoteStatus}, which is not believed`,
    remoteStatus === refill.status && flagged.length > 0 && `was ${flagged.join(", ")} for a while`,
  ];
  return remarks.filter((remark) => typeof remark === "string").join("; ");
}
