import { ledgerView } from "../app/console.ts";
import { loadWhereabouts } from "../config/load.ts";
import { listSecrets } from "../config/secret.ts";
import { condition } from "../core/condition.ts";
import { Failure } from "../core/failures.ts";
import { VERSION } from "../core/version.ts";
import { WHO } from "../core/who.ts";
import { isWorkerThere } from "../ledger/workers/roster.ts";
import { backlogInWords, callsInWords, limitInWords } from "../operator/service-columns.ts";
import { LEVELS, PART_SIGNS } from "../operator/signs.ts";
import { clean, NO_DAEMON } from "../operator/text.ts";
import { nextTryInWords, timeWithAge } from "../operator/times.ts";
import { INTAKE, sayOnce, through } from "../standing/parts.ts";
import { readStatus } from "../standing/status.ts";
import type { Attention, Status, StatusPart } from "../standing/status-document.ts";
import { askDaemon } from "./ask-daemon.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import type { KeptSite } from "./live/watched.ts";
import { wrapped } from "./output/wrap.ts";
import type { Session } from "./session.ts";

/** How things stand, and who says so. */
export interface SiteStatus {
  readonly status: Status;
  /** Whether a daemon works. */
  readonly isRunning: boolean;
  /** Whether that daemon said it; else the ledger alone did. */
  readonly isAnswered: boolean;
}

/**
 * What the running daemon's console says, else what the ledger alone says. A daemon works on while its file has mistakes, and
 * says so itself.
 * @throws ConfigFailure for a file with mistakes where no daemon answers
 * @throws Failure CLI_LEDGER_MISSING, or LEDGER_… when nothing is known at all
 */
export async function readSiteStatus(session: Session, site: KeptSite): Promise<SiteStatus> {
  const answer = await askDaemon(readWhereabouts(session, site));
  if ("status" in answer) return { status: answer.status, isRunning: true, isAnswered: true };
  return { ...(await readFromLedger(site, session, answer.why)), isAnswered: false };
}

function readWhereabouts(session: Session, site: KeptSite) {
  try {
    return site.config;
  } catch (failure) {
    const found = loadWhereabouts(session.configFile, session.io.env);
    if (found === undefined) throw failure;
    for (const secret of listSecrets(found)) session.secrets.add(secret);
    return found;
  }
}

/** 1 when a person is needed, 4 when no daemon works. */
export function exitStatusOfSite({ status, isRunning }: SiteStatus): ExitStatus | undefined {
  if (!isRunning) return EXIT.unreachable;
  return status.attention.some(isNeeded) || !status.isReady ? EXIT.failed : undefined;
}

/** @throws Failure CLI_LEDGER_MISSING, or LEDGER_… when nothing is known at all. */
async function readFromLedger(site: KeptSite, session: Session, why: string | undefined) {
  const { pool, config } = await site.open();
  const isRunning = await isWorkerThere(pool);
  const reason = isRunning
    ? `a daemon works, but its console can't be asked how it is (${why ?? "it has none on this data folder"}): this comes from the ledger alone`
    : `${NO_DAEMON}: nothing is taken in or sent until one is started (systemctl start cryobridge, or cryobridge start)`;
  const status = await readStatus(
    {
      ...ledgerView(pool, config, session.clock),
      own: () => [condition("daemonTrouble", "", reason, { stopsIntake: true })],
      logger: session.logger,
      clock: session.clock,
    },
    VERSION,
  );
  if (status.states === null)
    throw new Failure("LEDGER_UNAVAILABLE", "the ledger's database gives no answer in time");
  return { status, isRunning };
}

/**
 * Whether orders are taken, and how the parts beside the intake stand; each that is down, or waits, in a line before the others.
 *
 * @param isWhole with what to do about each of these, and lines broken for the terminal
 */
export function standingLines(
  { status, isRunning, isAnswered }: SiteStatus,
  session: Session,
  isWhole = false,
): string[] {
  const inWords = ({ name, state, words, since, nextTryAt }: StatusPart) => {
    const { sign, paint } = PART_SIGNS[state];
    const now = session.clock.now();
    const when = `${since === null ? "" : `, since ${timeWithAge(new Date(since), now)}`}${nextTryInWords(nextTryAt, now)}`;
    return `${session.paint(paint, sign)} ${clean(state === "up" ? name : `${name} (${words}${when})`)}`;
  };
  const isUnknown = isRunning && !isAnswered;
  const halted = status.parts.find(({ name }) => name === INTAKE)?.connectors ?? [];
  const taking = status.isReady
    ? `${session.paint("green", "✓")} Orders are taken.`
    : `${session.paint("red", "✗")} ${isUnknown ? "It is not known whether orders are taken." : `No orders are taken${through(halted)} right now.`}`;
  const others = status.parts.filter(({ name }) => name !== INTAKE);
  const [well = [], wrong = []] = [true, false].map((isWell) =>
    others.filter(({ state }) => (state === "up" || state === "unknown") === isWell),
  );
  const whole = (line: string) => wrapped(line, isWhole ? session.width : undefined, ["", "  "]);
  const away = wrong.flatMap((part) => [
    ...whole(inWords(part)),
    ...(isWhole ? partNotes(part, status, session) : []),
  ]);
  const lines = status.isReady ? [...away, ...whole(taking)] : [...whole(taking), ...away];
  return well.length === 0 ? lines : [...lines, ...whole(well.map(inWords).join("  "))];
}

function partNotes({ name }: StatusPart, { attention }: Status, session: Session): string[] {
  const { ofParts } = sayOnce(attention);
  return ofParts.filter(({ part }) => part === name).flatMap((each) => notesOf(each, session, session.width));
}

const NOBODY = "  Nobody is needed.";

/** Everything else that somebody should know, and whether anybody is needed. */
export function attentionLines(status: Status, session: Session): string[] {
  return [...nobodyIn(status), ...linesOfAll(sayOnce(status.attention).beside, session)];
}

/** What else needs a person. @param most things that are shown, without what to do about each */
export function neededLines(status: Status, session: Session, most: number): string[] {
  return [
    ...nobodyIn(status),
    ...linesOfAll(sayOnce(status.attention).beside.filter(isNeeded), session, most),
  ];
}

/** What else somebody should know though nobody is needed. @param most as of {@link neededLines} */
export function otherLines(status: Status, session: Session, most: number): string[] {
  return linesOfAll(
    sayOnce(status.attention).beside.filter((each) => !isNeeded(each)),
    session,
    most,
  );
}

function nobodyIn({ attention }: Status): string[] {
  return attention.some(isNeeded) ? [] : [NOBODY];
}

function linesOfAll(all: readonly Attention[], session: Session, most?: number): string[] {
  // Of a selection the first line of each is shown, which is whole then.
  const width = most === undefined ? session.width : undefined;
  const lines = all.map((each) => linesOf(each, session, width));
  if (most === undefined) return lines.flat();
  const more = lines.length - most;
  return [
    ...lines.slice(0, most).flatMap(([line = ""]) => line),
    ...(more > 0 ? [`… and ${more} more: cryobridge status`] : []),
  ];
}

function isNeeded({ level }: Attention): boolean {
  return level === "act";
}

function linesOf(each: Attention, session: Session, width: number | undefined): string[] {
  const { level, what, since } = each;
  const { sign, paint } = LEVELS[level];
  const when = since === null ? "" : `, since ${timeWithAge(new Date(since), session.clock.now())}`;
  return [
    ...wrapped(`${clean(what)}${when}`, width, [`${session.paint(paint, sign)} `, "  "]),
    ...notesOf(each, session, width),
  ];
}

function notesOf({ hint, command, who }: Attention, session: Session, width: number | undefined): string[] {
  // A daemon of an earlier release does not say who.
  const note = [...(who ? [`Seen to by ${WHO[who]}.`] : []), ...(hint === null ? [] : [hint])];
  return [
    ...(note.length === 0 ? [] : wrapped(clean(note.join(" ")), width, ["    ", "    "])),
    ...(command === null ? [] : [`    ${session.paint("bold", clean(command))}`]),
  ];
}

/** How many orders and results stand where, in two lines. */
export function countsInWords({ states, endedLastDay, deliveries }: Status): string[] {
  if (states === null || endedLastDay === null)
    return ["The ledger does not answer; nothing can be counted."];
  const sum = (...wanted: readonly string[]) =>
    states.filter(({ state }) => wanted.includes(state)).reduce((total, { count }) => total + count, 0);
  const open = [
    `Orders: ${sum("received", "submitting")} waiting here`,
    `${sum("submitted", "accepted", "in_progress")} at the service`,
    `${sum("parked")} parked`,
  ].join(", ");
  const ended = endedLastDay.flatMap(({ state, count }) => (count > 0 ? [`${state} ${count}`] : []));
  return [
    `${open}. Results on their way to the lab: ${deliveries?.pending ?? 0}.`,
    `Ended in the last 24 hours: ${ended.join(", ") || "none"}.`,
  ];
}

/** What the service is asked right now, as the daemon that answers sees it. */
export function callLines({ service }: Status): string[] {
  if (service === null) return [];
  const backlog = backlogInWords(service);
  return [
    `Calls to the service in the last minute: ${callsInWords(service)}; ${limitInWords(service)}.`,
    ...(backlog ? [`Backlog: ${backlog}.`] : []),
  ];
}
