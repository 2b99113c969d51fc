import type { Command } from "commander";
import type pg from "pg";
import { listConnectors, type Traffic, watchTraffic } from "../../console/traffic.ts";
import { listWorkers, type WorkerView } from "../../ledger/workers/roster.ts";
import { type Column, cellText, detailTexts } from "../../operator/column.ts";
import { CONNECTOR_COLUMNS, type ConnectorView } from "../../operator/connector-columns.ts";
import { LEDGER_QUEUE_COLUMNS, type QueueView, readQueues } from "../../operator/overviews/queue.ts";
import { SERVICE_COLUMNS } from "../../operator/service-columns.ts";
import { roundToUnit } from "../../operator/times.ts";
import { WORKER_COLUMNS } from "../../operator/worker-columns.ts";
import type { Status } from "../../standing/status-document.ts";
import { wholeNumber } from "../arguments.ts";
import { EXIT, type ExitStatus, exitStatusOf } from "../exit-status.ts";
import { type KeptSite, watched } from "../live/watched.ts";
import { toFailure } from "../output/failure.ts";
import { printDetails, type Section, table } from "../output/print-parts.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import {
  countsInWords,
  exitStatusOfSite,
  neededLines,
  otherLines,
  readSiteStatus,
  type SiteStatus,
  standingLines,
} from "../site-status.ts";

/** `cryobridge top`. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--every <seconds>", "draw again after this many seconds", wholeNumber(1, 3_600), 2)
    .option("--once", "one picture, with the exit status of cryobridge status; so it is without a terminal")
    .addHelpText("after", "\nKeys: q ends, any other key draws at once.\n\nExample:\n  cryobridge top")
    .action(toAction(cli, showTop));
}

interface Options {
  readonly every: number;
  readonly once?: boolean;
}

function showTop(session: Session, { every, once }: Options): Promise<ExitStatus | undefined> {
  const readDetail = detailReader(session);
  const turn = async (place: Session, site: KeptSite) => {
    const found = await readSiteStatus(place, site);
    // A ledger that does not answer the daemon is not waited for.
    const isAway = found.status.states === null;
    const detail = isAway ? undefined : await readDetail(site).catch(undefinedIfAway);
    printDetails(place, [], sectionsOf(found, detail, place));
    return exitStatusOfSite(found);
  };
  return watched(turn)(session, once ? {} : { watch: every });
}

/** What the status has not. */
interface Detail {
  readonly traffic: Traffic;
  readonly queues: readonly QueueView[];
  readonly workers: readonly WorkerView[];
}

function detailReader(session: Session): (site: KeptSite) => Promise<Detail> {
  let former: { readonly pool: pg.Pool; readonly readTraffic: () => Promise<Traffic> } | undefined;
  return async (site) => {
    const { pool, config } = await site.open();
    // It keeps the counts of the day for a minute, for this pool.
    if (former?.pool !== pool) {
      former = { pool, readTraffic: watchTraffic(session, { pool, config }) };
    }
    const [traffic, queues, workers] = await Promise.all([
      former.readTraffic(),
      readQueues(pool),
      listWorkers(pool, 0),
    ]);
    return { traffic, queues, workers };
  };
}

/** The daemon says that the ledger is away, or the file wrong; there is nothing more to show then. @throws Failure of another kind */
function undefinedIfAway(error: unknown): undefined {
  const status = exitStatusOf(toFailure(error).code);
  if (status !== EXIT.unreachable && status !== EXIT.configuration) throw error;
}

/** Things that are shown: the rest of the window is for the figures. */
const MOST_NEEDED = 8;
const MOST_OTHERS = 3;

function sectionsOf(found: SiteStatus, detail: Detail | undefined, session: Session): Section[] {
  const { status, isRunning } = found;
  const { traffic = UNKNOWN, queues = [], workers = [] } = detail ?? {};
  const { connectors: _, workers: __, ...others } = status;
  const service = status.service && detailTexts(SERVICE_COLUMNS, status.service, session);
  const connectors = listConnectors(status, traffic);
  const stages = status.states?.filter(({ count }) => count > 0) ?? [];
  return [
    {
      json: { isDaemonRunning: isRunning, ...others },
      lines: [...standingLines(found, session), ...neededLines(status, session, MOST_NEEDED)],
    },
    {
      json: {},
      lines: [...countsInWords(status), ...table(["states", ""], STAGES, stages, session).lines],
    },
    table(
      ["connectors", "Connectors, with the counts of the last day"],
      connectorColumns(connectors, session),
      connectors,
      session,
    ),
    {
      title: "The storage service",
      json: {},
      lines: service ? [service.map(({ title, text }) => `${title} ${text}`).join("; ")] : [],
    },
    table(["queues", "Queues"], LEDGER_QUEUE_COLUMNS, queues, session),
    table(["workers", "Workers"], WORKERS, workers, session),
    { json: {}, lines: otherLines(status, session, MOST_OTHERS) },
  ];
}

const UNKNOWN: Traffic = { hour: undefined, day: undefined, lastMessages: undefined };

const AFTER_NUMBERS = new Set<string | undefined>(["note", "last message"]);

/** The window cuts words, and no numbers. Columns that say nothing of any row are left out. */
function connectorColumns(rows: readonly ConnectorView[], session: Session): Column<ConnectorView>[] {
  return CONNECTOR_COLUMNS.filter(
    (column) => column.key !== undefined || rows.some((row) => cellText(column, row, session) !== ""),
  )
    .toSorted((a, b) => Number(AFTER_NUMBERS.has(a.title)) - Number(AFTER_NUMBERS.has(b.title)))
    .map((column) =>
      column.isRight || column.key === "lastMessageAt" ? column : { ...column, isFlexible: true },
    );
}

type Stage = NonNullable<Status["states"]>[number];

const STAGES: readonly Column<Stage>[] = [
  { key: "state", title: "stage", paint: ({ state }) => (state === "parked" ? "red" : undefined) },
  { key: "count", title: "orders", isRight: true },
  {
    title: "oldest",
    isRight: true,
    show: ({ oldestSeconds }) => (oldestSeconds === null ? "" : roundToUnit(oldestSeconds * 1_000)),
  },
];

const TOO_MUCH = new Set<string | undefined>(["pid", "version", "connectors", "startedAt"]);
const WORKERS = WORKER_COLUMNS.filter(({ key }) => !TOO_MUCH.has(key));
