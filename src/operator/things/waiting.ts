import { shownProblem } from "../../core/failures.ts";
import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import type { Mapped, ReleaseFilter } from "../acts.ts";
import { recordJson } from "../column.ts";
import { WAITING_COLUMNS } from "../lists/waiting.ts";
import { mappedInWords, whatFor, whyStillWaiting } from "../message-words.ts";
import { connectorNames } from "../place.ts";
import type { Outcome, OutcomeLine, SiteAct, SitePlace } from "../site-act.ts";
import { counted, countsInWords, problemLines } from "../text.ts";

/** Maps what waits for a code again. Not done when a message is refused now, or none could be released. */
export const RELEASE = {
  ...{ command: "messages release", button: "Release…", reason: "optional" },
  path: "/messages/release",
  help: "Map what waits again, by the configuration as it is now; a start of the daemon does so too.",
  example: "cryobridge messages release --code WEST",
  many: async ({ pool }, filter) => {
    const waiting = (await listWaitingCodes(pool)).filter(
      ({ connector }) => filter.connector === undefined || connector === filter.connector,
    );
    const isMeant = ({ kind, code }: WaitingCode) =>
      kind !== "earlier" && (filter.code === undefined || code === filter.code);
    const meant = waiting.filter(isMeant);
    const [first] = meant;
    const count = sum(meant);
    const title = `Release ${counted(count, "message")}${throughOf(filter)}`;
    if (first === undefined) return { title, explains: noneWaits(filter), total: 0 };
    const [they, them] = count === 1 ? ["It waits", "it"] : ["They wait", "them"];
    return {
      title,
      explains: `${they} for ${whatFor(first)}. The configuration that runs maps ${count === 1 ? them : `${them}, in the order of receipt`}. Orders that come of ${them} go to the service, and the lab is answered; a message whose code is still unknown goes on waiting. Messages that wait for an earlier one are released with it.`,
      // With those that may come along.
      total: count + sum(waiting.filter(({ kind }) => kind === "earlier")),
    };
  },
  act: release,
} as const satisfies SiteAct<ReleaseFilter>;

const sum = (waiting: readonly WaitingCode[]) => waiting.reduce((all, { messages }) => all + messages, 0);

function throughOf({ connector }: ReleaseFilter): string {
  return connector === undefined ? "" : ` through ${connector}`;
}

function noneWaits(filter: ReleaseFilter): string {
  const { code } = filter;
  return `No message waits${throughOf(filter)} for ${code === undefined ? "a code" : `the code "${code}"`}.`;
}

async function release(
  { acts, config, viewer, onEach }: SitePlace,
  by: Act,
  filter: ReleaseFilter,
): Promise<Outcome> {
  const released: Mapped[] = [];
  const { before, left } = await acts.releaseMessages(filter, by, (message) => {
    released.push(message);
    onEach();
  });
  const isRefused = released.some(({ verdict }) => verdict === "refused");
  const isNone = released.length === 0 && before.length === 0;
  return {
    isDone: released.length > 0 ? !isRefused : isNone && filter.code === undefined,
    code: isNone ? "CLI_NOT_FOUND" : undefined,
    lines: [
      released.length > 0
        ? ["remark", `${counted(released.length, "message")} mapped again: ${verdictsOf(released)}.`]
        : ["remark", isNone ? noneWaits(filter) : NONE_KNOWN],
      ...left.flatMap((each) => stillWaiting(each, connectorNames(config))),
    ],
    each: released.map((mapped) => ({
      isNews: mapped.verdict === "refused",
      lines: [
        `${mapped.messageId} ${mappedInWords(mapped, "refused")}`,
        ...problemLines(mapped.problems.map(shownProblem)).map((line) => `  ${line}`),
      ],
    })),
    json: {
      released: released.map(({ problems, ...mapped }) => ({
        ...mapped,
        problems: problems.map(shownProblem),
      })),
      waiting: left.map((each) => recordJson(WAITING_COLUMNS, each, viewer)),
    },
  };
}

const NONE_KNOWN =
  "No message was released: what they wait for is not known to the configuration as it is now.";

/** `2 accepted, 1 refused`. */
function verdictsOf(released: readonly Mapped[]): string {
  const byVerdict = Map.groupBy(released, ({ verdict }) => verdict);
  const counts = [...byVerdict].map(([verdict, all]) => [verdict, all.length] as const);
  return countsInWords(Object.fromEntries(counts), "none");
}

/** What keeps messages waiting, by the configuration as it is now. */
function stillWaiting(each: WaitingCode, connectors: readonly string[]): OutcomeLine[] {
  const why = whyStillWaiting(each, connectors);
  const words = `Still waiting through ${each.connector}: ${each.messages} for ${whatFor(each)}`;
  return [["remark", words], ...(why === undefined ? [] : [["remark", `  ${why}`] as const])];
}
