import { type Condition, condition } from "../../core/condition.ts";
import { formatMinute } from "../../core/duration.ts";
import { counted } from "../../operator/text.ts";
import type { Attention, Status, StatusWaiting } from "../status-document.ts";

/** Codes of which there are more are counted. */
const MOST_CODES = 8;

/** A condition for each code, and what waits behind those messages and goes on by itself. */
export function waitingOf({ waitingMessages }: Pick<Status, "waitingMessages">): Condition[] {
  const byCode = Map.groupBy(waitingMessages ?? [], ({ kind, code }) =>
    kind === "earlier" ? undefined : `${kind} ${code ?? ""}`,
  );
  const behind = byCode.get(undefined) ?? [];
  return [
    ...[...byCode].flatMap(([name, each]) => (name ? [unknownCode(name, each)] : [])),
    ...behind.map(behindOf),
  ];
}

const HINT_CODES = "`cryobridge messages waiting` names the place for each; then `cryobridge reload`.";

function unknownCode(name: string, groups: readonly StatusWaiting[]): Condition {
  const messages = groups.reduce((sum, each) => sum + each.messages, 0);
  const wait = counted(messages, "message waits", "messages wait");
  return condition("codesUnmapped", name, `${wait} for a code that no table knows: ${name}`, {
    since: earliest(groups),
    hint: groups[0]?.hint ?? HINT_CODES,
    command: "cryobridge messages waiting",
  });
}

/** All codes as one line, since a person adds them together. */
export function codesInOne(waiting: readonly StatusWaiting[]): Pick<Attention, "what" | "since" | "hint"> {
  const groups = waiting.filter(({ kind }) => kind !== "earlier");
  const byCode = [...Map.groupBy(groups, ({ kind, code }) => `${kind} ${code ?? ""}`)];
  const named = byCode.slice(0, MOST_CODES).map(([name, each]) => {
    const counts = each.map(
      ({ connector, messages }) => `${counted(messages, "message")} through ${connector}`,
    );
    return `${name} (${counts.join(", ")})`;
  });
  const more = byCode.length > MOST_CODES ? [`and ${byCode.length - MOST_CODES} more`] : [];
  const [hint, ...others] = new Set(groups.map((each) => each.hint));
  return {
    what: `messages wait for codes that no table knows: ${[...named, ...more].join(", ")}`,
    since: earliest(groups),
    hint: others.length > 0 ? HINT_CODES : (hint ?? HINT_CODES),
  };
}

function behindOf({ connector, code, messages, since }: StatusWaiting): Condition {
  const what = `${counted(messages, "message")} through ${connector} ${messages === 1 ? "waits" : "wait"} for an earlier message of the same subject or order${code === null ? "" : `, which waits until code ${code} is added`}; goes on with it`;
  const command = "cryobridge messages list --verdict waiting";
  return condition("messagesBehind", connector, what, { level: "wait", since, command });
}

/** Messages of a connector that refuses too many of the last hour's have their line among the limits. */
export function refusalsOf({ refusals, limits }: Pick<Status, "refusals" | "limits">): Condition[] {
  const known = new Set(limits?.flatMap(({ kind, about }) => (kind === "messagesRefused" ? [about] : [])));
  const others = refusals?.filter(({ kind, connector }) => kind === "file" || !known.has(connector));
  return (others ?? []).map(({ kind, connector, count, latestAt }) => {
    const was = `through ${connector} ${count === 1 ? "was" : "were"} refused`;
    const when = `within the last day, the latest at ${formatMinute(new Date(latestAt))}`;
    const isFile = kind === "file";
    const refused = counted(count, isFile ? "file" : "message");
    const command = `cryobridge messages list --verdict refused --connector ${connector} --since 1d`;
    return condition(
      "refusedLately",
      `${connector} ${kind}`,
      `${refused} ${was}${isFile ? " as a whole" : ""} ${when}`,
      {
        level: "look",
        ...(isFile ? { hint: HINT_REFUSED_FILE } : { command }),
      },
    );
  });
}

const HINT_REFUSED_FILE =
  "The folder error has each with its report, which says where and why; have the lab correct them and drop them again.";

/** ISO 8601 in UTC sorts as text. */
function earliest(all: readonly { readonly since: string }[]): string | null {
  return all.map(({ since }) => since).sort()[0] ?? null;
}
