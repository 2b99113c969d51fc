import type { Command } from "commander";
import type { Config } from "../../config/config.ts";
import { isEndedRefill } from "../../core/refill.ts";
import { readTankAges, type TankAge, tankName } from "../../jobs/refills/tanks.ts";
import { type LedgerRefill, listRefills } from "../../ledger/refills.ts";
import { ageColumn, type Column, forPrograms } from "../../operator/column.ts";
import { parseSince, roundToUnit, serviceTime } from "../../operator/times.ts";
import { wholeNumber } from "../arguments.ts";
import { facilityIdOf, readConfig, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge refills …`. */
export function define(refills: Command, cli: Cli): void {
  refills
    .command("list", { isDefault: true })
    .description("List refills, latest change first.")
    .option("--facility <name>", "only refills of this facility, by its name in the configuration")
    .option("--since <time>", "only refills that changed since: 2h, 3d, or 2026-11-21T08:00")
    .option("--limit <n>", "at most this many", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge refills list --facility NORTH --since 7d")
    .action(toAction(cli, list));
  refills
    .command("tanks")
    .description("List tanks with their last completed refill, those without one for longest first.")
    .option("--facility <name>", "only tanks of this facility, by its name in the configuration")
    .addHelpText("after", "\nExample:\n  cryobridge refills tanks")
    .action(toAction(cli, listTanks));
}

const REFILLS: readonly Column<LedgerRefill>[] = [
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
  ...forPrograms<LedgerRefill>("firstSeenAt", "missingSince", "flagged"),
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

interface ListOptions {
  readonly facility?: string;
  readonly since?: string;
  readonly limit: number;
}

async function list(session: Session, { facility, since: from, limit }: ListOptions): Promise<undefined> {
  const since = parseSince(from, session);
  const config = readConfig(session);
  const filter = { facilityId: facilityIdOf(config, facility), since, limit: limit + 1 };
  const refills = await withLedger(session, ({ pool }) => listRefills(pool, filter), config);
  noteUnfollowed(config, session);
  printList(session, { key: "refills", columns: REFILLS, nothing: "No refills." }, refills, limit);
}

const TANKS: readonly Column<TankAge>[] = [
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

async function listTanks(session: Session, { facility }: { readonly facility?: string }): Promise<undefined> {
  const config = readConfig(session);
  // Only for its refusal of a name that the configuration doesn't have.
  facilityIdOf(config, facility);
  const limits = config.refills ?? { limitByTank: new Map() };
  const now = session.clock.now();
  const all = await withLedger(session, ({ pool }) => readTankAges(pool, limits, now), config);
  const tanks = all.filter(({ facilityCode }) => facility === undefined || facilityCode === facility);
  noteUnfollowed(config, session);
  printList(session, { key: "tanks", columns: TANKS, nothing: "No tanks." }, tanks);
}

/** Says so when the configuration follows no refills, since what is shown may be old then. */
function noteUnfollowed(config: Config, session: Session): void {
  if (!config.refills) session.note("No refills are followed: the configuration has no section refills.");
}
