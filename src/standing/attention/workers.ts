import { type Condition, condition } from "../../core/condition.ts";
import { configurationInWords } from "../../operator/configuration-columns.ts";
import type { Status } from "../status-document.ts";

/** Those that were lost and did not come back, by name and roles. */
function lostWorkers({ workers }: Pick<Status, "workers">) {
  const all = (workers ?? []).map((worker) => ({
    ...worker,
    // The roles of a machine may be daemons of their own, with one name.
    called: `${worker.name} (${worker.roles.join(", ")})`,
  }));
  const there = new Set(all.filter(({ state }) => state !== "lost").map(({ called }) => called));
  return all.filter(({ state, called }) => state === "lost" && !there.has(called));
}

/** A daemon that came back is nothing that somebody has to know. */
export function lostWorkersOf(facts: Pick<Status, "workers">): Condition[] {
  return lostWorkers(facts).map(({ id, name, host, seenAt, called }) => {
    const what = `daemon ${name} (${id}) on ${host} was lost; its work was taken over`;
    return condition("workerDead", called, what, {
      level: "look",
      since: seenAt,
      brief: { words: `${name} on ${host} is lost, its work was taken over`, since: seenAt },
      hint: "Start it again, or take its machine out of service.",
      command: "cryobridge workers",
    });
  });
}

/** What each other daemon says of itself; one of another release may leave something out. */
export function workerConditionsOf({ workers }: Pick<Status, "workers">): Condition[][] {
  return (workers ?? []).map(({ id, name, host, conditions }) =>
    conditions.map((each) => ({
      ...condition(each.kind, each.about, each.text),
      ...each,
      ...{ text: `daemon ${name} (${id}) on ${host}: ${each.text}`, command: "cryobridge workers" },
    })),
  );
}

/** A file that differs from what runs: somebody means to, or has forgotten to, have it taken over. */
export function configurationsOf({ workers }: Pick<Status, "workers">): Condition[] {
  return (workers ?? []).flatMap(({ id, name, state, configuration }) => {
    const words = configuration && configurationInWords(configuration);
    if (!configuration || !words || state === "lost") return [];
    const { problems, changed } = configuration;
    const what = `configuration of ${name} (${id}): ${words}`;
    if (problems.length > 0) {
      const hint = "Correct the file, then `cryobridge reload`.";
      return [condition("configurationDiffers", id, what, { hint, command: "cryobridge check" })];
    }
    const hint =
      changed.length > 0
        ? "`cryobridge reload` takes over what needs no restart."
        : "Restart the daemon to take it over.";
    return [condition("configurationDiffers", id, what, { level: "look", hint })];
  });
}
