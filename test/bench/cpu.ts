import { readdirSync, readFileSync } from "node:fs";

/** The unit of /proc, in every Linux that anybody runs. */
const TICK_MS = 10;

/** The processor time of a process and of all that it has started so far, ms. Linux only. */
export function cpuMs(pid: number): number {
  const ticks = new Map<number, { readonly parent: number; readonly own: number; readonly ended: number }>();
  for (const name of readdirSync("/proc")) {
    const numbers = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
    if (numbers) ticks.set(Number(name), numbers);
  }
  const total = (of: number): number => {
    const found = ticks.get(of);
    if (!found) return 0;
    const children = [...ticks].filter(([, { parent }]) => parent === of);
    return children.reduce((sum, [child]) => sum + total(child), found.own + found.ended);
  };
  return total(pid) * TICK_MS;
}

function readStat(pid: number) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Behind the name, which may hold anything: state, parent, …; the 12th to 15th are user, system, and those of ended children.
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    return { parent: fields[1] ?? 0, own: user + system, ended: endedUser + endedSystem };
  } catch {
    return undefined;
  }
}
