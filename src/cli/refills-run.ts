import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { Failure } from "../core/failures.ts";
import { isEndedRefill } from "../core/refill.ts";
import { readTankAges, type TankAge, tankName } from "../jobs/tanks.ts";
import { type LedgerRefill, listRefills } from "../ledger/refills.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { noteMore } from "./more-note.ts";
import type { Paint, Session } from "./session.ts";
import { type Cell, renderTable } from "./table.ts";
import { localTime, parseSince, relativeTime, roundToUnit, serviceTime } from "./times.ts";

interface ListOptions {
  readonly facility?: string;
  readonly since?: string;
  readonly limit: number;
}

/** `refills list`. */
export async function listRefillsCommand(session: Session, command: Command): Promise<undefined> {
  const options = command.opts<ListOptions>();
  const since = options.since === undefined ? undefined : parseSince(options.since, session.clock.now());
  const config = readConfig(session);
  const facilityId = facilityIdOf(options.facility, config);
  const found = await withLedger(session, config, ({ pool }) =>
    listRefills(pool, { facilityId, since, limit: options.limit + 1 }),
  );
  const shown = found.slice(0, options.limit);
  const hasMore = found.length > shown.length;
  if (session.isJson) {
    session.json({ refills: shown.map(refillJson), hasMore });
    return undefined;
  }
  noteUnfollowed(config, session);
  if (shown.length === 0) session.line("No refills.");
  else for (const line of refillTable(shown, session)) session.line(line);
  if (hasMore) noteMore(session, shown.length);
  return undefined;
}

function refillJson({ refill, ...view }: LedgerRefill): Record<string, unknown> {
  return {
    procedureId: refill.id,
    procedureCode: refill.code ?? null,
    surface: view.surface,
    facilityCode: view.facilityCode,
    facilityId: view.facilityId,
    storageId: refill.storageId ?? null,
    storageName: refill.storageName ?? null,
    status: refill.status,
    remoteStatus: view.remoteStatus,
    createdAt: refill.createdAt ?? null,
    startedAt: refill.startedAt ?? null,
    completedAt: refill.completedAt ?? null,
    error: refill.error ?? null,
    firstSeenAt: view.firstSeenAt.toISOString(),
    changedAt: view.changedAt.toISOString(),
    missingSince: view.missingSince?.toISOString() ?? null,
    flagged: view.flagged,
  };
}

function refillTable(refills: readonly LedgerRefill[], session: Session): string[] {
  const now = session.clock.now();
  return renderTable(
    [
      { title: "procedure", isRight: true },
      { title: "code", isFlexible: true },
      { title: "facility", isFlexible: true },
      { title: "tank", isFlexible: true },
      { title: "status" },
      { title: "changed" },
      { title: "age", isRight: true },
      { title: "completed" },
      { title: "remark", isFlexible: true },
    ],
    refills.map((view): Cell[] => {
      const { refill, changedAt } = view;
      return [
        String(refill.id),
        refill.code ?? "",
        view.facilityCode,
        tankName(refill),
        { text: refill.status, paint: (text) => session.paint(paintsOf(refill.status), text) },
        localTime(changedAt),
        relativeTime(changedAt, now),
        serviceTime(refill.completedAt ?? ""),
        remarkOf(view),
      ];
    }),
    session.width,
  );
}

function remarkOf({ refill, remoteStatus, missingSince, flagged }: LedgerRefill): string {
  const remarks = [
    refill.error,
    missingSince && "the service doesn't know it any more",
    remoteStatus !== refill.status && `the service says ${remoteStatus}, which is not believed`,
    remoteStatus === refill.status && flagged.length > 0 && `was ${flagged.join(", ")} for a while`,
  ];
  return remarks.filter((remark) => typeof remark === "string").join("; ");
}

function paintsOf(status: string): readonly Paint[] {
  if (status === "COMPLETED") return ["green"];
  return isEndedRefill(status) ? ["red"] : [];
}

/** `refills tanks`. */
export async function listTanksCommand(session: Session, command: Command): Promise<undefined> {
  const { facility } = command.opts<{ facility?: string }>();
  const config = readConfig(session);
  // Only for its complaint about a name that the configuration doesn't have.
  facilityIdOf(facility, config);
  const limits = config.refills ?? { limitByTank: new Map() };
  const now = session.clock.now();
  const tanks = (await withLedger(session, config, ({ pool }) => readTankAges(pool, limits, now))).filter(
    ({ facilityCode }) => facility === undefined || facilityCode === facility,
  );
  if (session.isJson) {
    session.json({ tanks: tanks.map(tankJson) });
    return undefined;
  }
  noteUnfollowed(config, session);
  if (tanks.length === 0) session.line("No tanks.");
  else for (const line of tankTable(tanks, now, session)) session.line(line);
  return undefined;
}

function tankJson(tank: TankAge): Record<string, unknown> {
  return {
    facilityCode: tank.facilityCode,
    storageId: tank.storageId ?? null,
    storageName: tank.storageName ?? null,
    lastRefillAt: tank.lastRefillAt?.toISOString() ?? null,
    since: tank.since.toISOString(),
    alertAfterSeconds: tank.limitMs === undefined ? null : tank.limitMs / 1_000,
    isOverdue: tank.isOverdue,
  };
}

function tankTable(tanks: readonly TankAge[], now: number, session: Session): string[] {
  return renderTable(
    [
      { title: "facility", isFlexible: true },
      { title: "tank", isFlexible: true },
      { title: "id", isRight: true },
      { title: "last refill" },
      { title: "age", isRight: true },
      { title: "alert after", isRight: true },
      { title: "" },
    ],
    tanks.map((tank): Cell[] => [
      tank.facilityCode,
      tankName(tank),
      tank.storageId?.toString() ?? "",
      tank.lastRefillAt === undefined ? "none seen" : localTime(tank.lastRefillAt),
      relativeTime(tank.since, now),
      tank.limitMs === undefined ? "never" : roundToUnit(tank.limitMs),
      { text: tank.isOverdue ? "overdue" : "", paint: (text) => session.paint(["red"], text) },
    ]),
    session.width,
  );
}

/**
 * The service's id of a facility that `--facility` names; undefined when it names none.
 * @throws Failure CLI_NOT_FOUND
 */
function facilityIdOf(name: string | undefined, config: Config): number | undefined {
  if (name === undefined) return undefined;
  const id = config.facilityIdByCode.get(name);
  if (id !== undefined) return id;
  const known = [...config.facilityIdByCode.keys()].join(", ");
  throw new Failure("CLI_NOT_FOUND", `no facility is called "${name}"; the configuration has: ${known}`);
}

/** Says so when the configuration follows no refills, since what is shown may be old then. */
function noteUnfollowed(config: Config, session: Session): void {
  if (!config.refills) session.note("No refills are followed: the configuration has no section refills.");
}
