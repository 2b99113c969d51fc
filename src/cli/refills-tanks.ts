import type { Command } from "commander";
import { readTankAges, type TankAge, tankName } from "../jobs/tanks.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { facilityIdOf, noteUnfollowed } from "./refill-facility.ts";
import type { Session } from "./session.ts";
import { type Cell, renderTable } from "./table.ts";
import { localTime, relativeTime, roundToUnit } from "./times.ts";

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
