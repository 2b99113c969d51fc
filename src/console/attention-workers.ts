import { type AlertSubject, alertKey } from "../core/alert.ts";
import { configurationInWords } from "../operator/configuration-columns.ts";
import { alert, item } from "./attention-item.ts";
import type { Attention, Status } from "./status-document.ts";

/** A daemon that came back, by its name and roles, is nothing that somebody has to know. */
export function lostWorkersOf({ workers }: Pick<Status, "workers">): Attention[] {
  const all = (workers ?? []).map((worker) => ({
    ...worker,
    // The roles of a machine may be daemons of their own, with one name.
    called: `${worker.name} (${worker.roles.join(", ")})`,
  }));
  const there = new Set(all.filter(({ state }) => state !== "lost").map(({ called }) => called));
  const lost = all.filter(({ state, called }) => state === "lost" && !there.has(called));
  return lost.map(({ id, name, host, seenAt, called }) => {
    const what = `daemon ${name} (${id}) on ${host} is gone; others took its work over`;
    return item("look", what, {
      since: seenAt,
      hint: "Start it again, or take its machine out of service.",
      command: "cryobridge workers",
      ...alert("workerDead", called, what),
    });
  });
}

/**
 * What other daemons say of themselves. What has the same kind and is about the same is said once, by the first of them: what is
 * true of the service, or of a machine that has two daemons.
 *
 * @param known what the daemon that was asked says already
 */
export function workerTroublesOf(
  { workers }: Pick<Status, "workers">,
  known: readonly AlertSubject[],
): Attention[] {
  const said = new Set(known.map(alertKey));
  return (workers ?? []).flatMap(({ id, name, host, troubles }) => {
    const further = troubles.filter((each) => !said.has(alertKey(each)));
    for (const each of further) said.add(alertKey(each));
    return further.map(({ kind, about, text, level = "act" }) => {
      const what = `daemon ${name} (${id}) on ${host}: ${text}`;
      const own = alert(kind, about, what);
      return item(level, what, { command: "cryobridge workers", ...own });
    });
  });
}

/** A file that differs from what runs: somebody means to, or has forgotten to, have it taken over. */
export function configurationsOf({ workers }: Pick<Status, "workers">): Attention[] {
  return (workers ?? []).flatMap(({ id, name, state, configuration }) => {
    const words = configuration && configurationInWords(configuration);
    if (!configuration || !words || state === "lost") return [];
    const { problems, changed } = configuration;
    const what = `configuration of ${name} (${id}): ${words}`;
    if (problems.length > 0) {
      const hint = "Correct the file, then `cryobridge reload`.";
      return [item("act", what, { hint, command: "cryobridge check" })];
    }
    const hint =
      changed.length > 0
        ? "`cryobridge reload` takes over what needs no restart."
        : "Restart the daemon to take it over.";
    return [item("look", what, { hint })];
  });
}
