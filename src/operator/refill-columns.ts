import { isEndedRefill } from "../core/refill.ts";
import { type TankAge, tankName } from "../jobs/refills/tanks.ts";
import type { LedgerRefill } from "../ledger/refills.ts";
import { ageColumn, type Column, forPrograms } from "./column.ts";
import { roundToUnit, serviceTime } from "./times.ts";

/** A refill. */
export const REFILL_COLUMNS: readonly Column<LedgerRefill>[] = [
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

function remarkOf({ refill, remoteStatus, missingSince, flagged }: LedgerRefill): string {
  const remarks = [
    refill.error,
    missingSince && "the service doesn't know it any more",
    remoteStatus !== refill.status && `the service says ${remoteStatus}, which is not believed`,
    remoteStatus === refill.status && flagged.length > 0 && `was ${flagged.join(", ")} for a while`,
  ];
  return remarks.filter((remark) => typeof remark === "string").join("; ");
}

/** A tank with its last refill. */
export const TANK_COLUMNS: readonly Column<TankAge>[] = [
  { key: "facilityCode", title: "facility", isFlexible: true },
  { key: "storageName", title: "tank", isFlexible: true, show: tankName },
  { key: "storageId", title: "id", isRight: true },
  { key: "lastRefillAt", title: "last refill", show: ({ lastRefillAt }) => lastRefillAt ?? "none seen" },
  { key: "since" },
  ageColumn(({ since }) => since),
  {
    key: "alertAfterSeconds",
    title: "alert after",
    isRight: true,
    value: ({ limitMs }) => limitMs && limitMs / 1_000,
    show: ({ limitMs }) => (limitMs === undefined ? "never" : roundToUnit(limitMs)),
  },
  {
    key: "isOverdue",
    title: "",
    show: ({ isOverdue }) => (isOverdue ? "overdue" : ""),
    paint: () => "red",
  },
];
