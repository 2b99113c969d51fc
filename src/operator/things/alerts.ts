import { ALERT_KINDS } from "../../core/condition-kinds.ts";
import { parseDuration } from "../../core/duration.ts";
import { asFailure, Failure } from "../../core/failures.ts";
import { LATE, LEDGER_WITHIN_MS, within } from "../../core/within.ts";
import { type Alert, acknowledgeAlert, findAlert } from "../../ledger/alerts/alerts.ts";
import type { AlertDelivery } from "../../ledger/alerts/messages.ts";
import {
  endSilence,
  findSilence,
  type Silence,
  type Silenced,
  silenceAlerts,
} from "../../ledger/alerts/silences.ts";
import { asRefusal } from "../../ledger/database-failures.ts";
import { formatId, parseId } from "../../ledger/ids.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import type { Column, Viewer } from "../column.ts";
import { ALERT_COLUMNS, fateOf, withMessages } from "../lists/alerts.ts";
import { describeSilenced } from "../lists/silences.ts";
import { type Details, fieldsPart, tablePart } from "../parts.ts";
import type { Place } from "../place.ts";
import { LEVELS } from "../signs.ts";
import type { SiteAct, SitePlace } from "../site-act.ts";
import { notFound, onEach, type Thing } from "../thing.ts";

/** For how long something is silenced, as a person chooses it in the console. */
const SILENCE_SPANS = [
  ["1h", "an hour"],
  ["4h", "4 hours"],
  ["1d", "a day"],
  ["7d", "a week"],
  ["30d", "30 days"],
] as const;

/** What is asked of who silences something; gives the time in ms. */
export const SILENCE_INPUT = {
  ...{ name: "for", label: () => "For", choices: SILENCE_SPANS },
  parse: (text: string) =>
    SILENCE_SPANS.flatMap(([span]) => (span === text ? parseDuration(span) : [])).at(0),
  missing: "is silenced for a time that you choose: nothing was silenced",
};

/** What silencing an alert alone, or all of a kind, means. */
const SILENCING = "Nothing is announced of it for a while; what still holds then is.";

/** Something that is wrong, of which people were told. */
export const ALERTS = {
  ...{ kind: "a", noun: "alert", path: "/alerts" },
  find: findAlert,
  numberOf: ({ id }) => id,
  details: { help: "Show an alert, and what was sent of it.", read },
  acts: {
    acknowledge: {
      ...{ command: "alerts acknowledge", button: "Acknowledge", reason: "required" },
      ...{ reasonHelp: "what you do about it" },
      help: "Write down that you see to alerts; your name and reason are kept with them.",
      example: 'cryobridge alerts acknowledge a12 --reason "called the facility"',
      explains: "Your name and what you do about it are kept, for everybody to see.",
      suits: ({ overAt, acknowledgedAt }) => overAt === undefined && acknowledgedAt === undefined,
      start: onEach(async ({ pool }, { id }, by) => {
        const isDone = await acknowledgeAlert(pool, id, by);
        return [isDone, isDone ? "is acknowledged" : "is over, or somebody sees to it already"];
      }),
    },
    silence: {
      ...{ command: "alerts silence", button: "Silence", reason: "required", explains: SILENCING },
      input: SILENCE_INPUT,
      suits: ({ overAt }) => overAt === undefined,
      start: onEach<Alert, number>(async ({ pool }, { kind, about }, by, forMs) => {
        const until = await silenceAlerts(pool, { kind, about }, forMs, { ...by, reason: by.reason ?? "" });
        return [true, `is silenced. ${describeSilenced({ kind, about }, until)}`];
      }),
    },
  },
} as const satisfies Thing<Alert>;

/** What a person wants to hear nothing of for a while. */
export const SILENCES = {
  ...{ kind: "s", noun: "silence", path: "/alerts/silences" },
  find: findSilence,
  numberOf: ({ id }) => id,
  acts: {
    end: {
      ...{ command: "alerts unsilence", button: "End it", reason: "none", reasonHelp: "why" },
      help: "End silences: what they kept back is announced if it still holds.",
      example: "cryobridge alerts unsilence s3",
      suits: () => true,
      start: onEach(async ({ pool }, { id }, by) => {
        const isDone = await endSilence(pool, id, by);
        return [isDone, isDone ? "is ended: what still holds is announced" : "had ended before"];
      }),
    },
  },
} as const satisfies Thing<Silence>;

/** What is silenced: an alert by its id, or all of a kind by its name; and for how long, ms, where that was said. */
interface OnSilenced {
  readonly what: string;
  readonly forMs: number | undefined;
}

/** Announces nothing of an alert, or of all of a kind, for a while. The console's form has it of a kind. */
export const SILENCE: SiteAct<OnSilenced> = {
  ...{ command: "alerts silence", button: "Silence a kind", reason: "required", reasonHelp: "why" },
  path: "/alerts/silence",
  help: "Announce nothing of an alert, or of all of a kind, for a while. What still holds then is announced.",
  example: 'cryobridge alerts silence noTraffic --for 4h --reason "holiday"',
  explains: "Nothing is announced of any alert of the kind for a while; what still holds then is.",
  act: async ({ pool }, by, { what, forMs }) => {
    const subject = await subjectOf(pool, what);
    if (forMs === undefined) throw new Failure("CLI_USAGE", `${what} ${SILENCE_INPUT.missing}`);
    const until = await silenceAlerts(pool, subject, forMs, { ...by, reason: by.reason ?? "" });
    return { isDone: true, lines: [["done", describeSilenced(subject, until)]], json: { ...subject, until } };
  },
};

/** @throws Failure CLI_USAGE, CLI_NOT_FOUND */
async function subjectOf(pool: SitePlace["pool"], word: string): Promise<Silenced> {
  const kind = ALERT_KINDS.find((each) => each === word);
  if (kind !== undefined) return { kind, about: null };
  const id = parseId("a", word);
  const kinds = ALERT_KINDS.join(", ");
  if (id === undefined)
    throw new Failure("CLI_USAGE", `${word}: expected the id of an alert, such as a12, or one of ${kinds}`);
  const alert = await findAlert(pool, id);
  if (alert === undefined) throw notFound(ALERTS, word);
  return { kind: alert.kind, about: alert.about };
}

/** Which place alerts are sent to is meant: all without. */
interface OnPlace {
  readonly place?: string | undefined;
}

/** Sends the places of alerts a test message; not done where one of them did not take it. Whether the ledger answers is another question. */
export const TEST_PLACES: SiteAct<OnPlace> = {
  ...{ command: "alerts test", button: "Send a test…", reason: "none" },
  path: "/alerts/test",
  help: "Send each place of alerts.to a test message, and say what came of it. Needs neither a daemon nor the ledger, whose audit keeps it where it answers.",
  example: "cryobridge alerts test --to email",
  explains: "Each place gets a message which says that it is a test, and that nothing is wrong.",
  canLackLedger: true,
  act: async ({ acts, pool, viewer }, by, { place: wanted }) => {
    const tested = await acts.testAlerts(wanted);
    const kept = tested.map(({ place, failure = null }) => ({
      ...{ target: place, detail: { failure, reason: by.reason } },
    }));
    const keeping = recordAudit(pool, by, "alert-test", kept).then(() => undefined, whyNotKept);
    const found = await within(keeping, LEDGER_WITHIN_MS, viewer.clock);
    const unkept = found === LATE ? PERHAPS_KEPT : found;
    return {
      isDone: tested.every(({ failure }) => failure === undefined),
      lines: [
        ...tested.map(
          ({ place, failure }) =>
            [failure === undefined ? "done" : "failed", `${place}: ${failure ?? "sent"}`] as const,
        ),
        ...(unkept ? [["remark", unkept] as const] : []),
      ],
      json: {
        places: tested.map(({ place, failure }) => ({
          ...{ place, isSent: failure === undefined, failure: failure ?? null },
        })),
      },
    };
  },
};

const PERHAPS_KEPT = "Perhaps not kept in the audit: the ledger gave no answer within 5 s";

/** That the audit lacks it. */
function whyNotKept(error: unknown): string {
  const { message, code } = asRefusal(error) ?? asFailure(error);
  return `Not kept in the audit: ${message} (${code})`;
}

/** What a place was sent of an alert. */
const ALERT_MESSAGE_COLUMNS: readonly Column<AlertDelivery>[] = [
  { key: "place", title: "place" },
  { key: "event", title: "what", show: ({ event }) => (event === "over" ? "its end" : "its start") },
  {
    title: "state",
    show: fateOf,
    paint: ({ sentAt, givenUpAt }) => (sentAt ? "green" : givenUpAt ? "red" : "yellow"),
  },
  { key: "attempts", title: "attempts", isRight: true },
  { key: "sentAt", title: "when" },
  { key: "failure", title: "last error", isFlexible: true },
];

async function read({ pool }: Place, alert: Alert, viewer: Viewer): Promise<Details> {
  const [row] = await withMessages(pool, [alert]);
  const { kind, level, overAt, since, text, hint } = alert;
  const { meaning, paint } = LEVELS[level];
  return {
    heading: {
      ...{ name: `Alert ${formatId("a", alert.id)}`, what: kind, since },
      ...(overAt ? { state: "over", paint: "dim" } : { state: meaning, paint }),
    },
    remarks: [{ title: text, text: "", hint, isAct: level === "act" && overAt === undefined }],
    parts:
      row === undefined
        ? []
        : [
            fieldsPart(
              ALERT_COLUMNS.filter(({ key }) => !["id", "text", "hint"].includes(key ?? "")),
              row,
              viewer,
              "The alert",
            ),
            tablePart(
              "sent",
              {
                ...{ key: "messages", title: "What was sent of it", columns: ALERT_MESSAGE_COLUMNS },
                ...{ rows: row.messages, nothing: "Nothing yet." },
              },
              viewer,
            ),
          ],
  };
}
