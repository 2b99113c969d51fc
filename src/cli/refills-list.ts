import type { Command } from "commander";
import { isEndedRefill } from "../core/refill.ts";
import { tankName } from "../jobs/tanks.ts";
import { listRefills, type RefillView } from "../ledger/refill-views.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { noteMore } from "./more-note.ts";
import { facilityIdOf, noteUnfollowed } from "./refill-facility.ts";
import type { Paint, Session } from "./session.ts";
import { type Cell, renderTable } from "./table.ts";
import { localTime, parseSince, relativeTime, serviceTime } from "./times.ts";

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

function refillJson({ refill, ...view }: RefillView): Record<string, unknown> {
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
    told: view.telling ?? null,
  };
}

function refillTable(refills: readonly RefillView[], session: Session): string[] {
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
      { title: "told", isFlexible: true },
      { title: "remark", isFlexible: true },
    ],
    refills.map((view): Cell[] => {
      const { refill, changedAt, telling } = view;
      return [
        String(refill.id),
        refill.code ?? "",
        view.facilityCode,
        tankName(refill),
        { text: refill.status, paint: (text) => session.paint(paintsOf(refill.status), text) },
        localTime(changedAt),
        relativeTime(changedAt, now),
        serviceTime(refill.completedAt ?? ""),
        telling === undefined ? "" : telling.state === "delivered" ? telling.fileName : telling.state,
        remarkOf(view),
      ];
    }),
    session.width,
  );
}

function remarkOf({ refill, remoteStatus, missingSince, flagged }: RefillView): string {
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
