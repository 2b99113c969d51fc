import { LISTS } from "../operator/lists.ts";

/** A part of the console, as its menu names it, with the commands that show the same. */
interface Shown {
  readonly name: string;
  readonly commands: readonly string[];
}

export type Section = "/" | `/${keyof typeof LISTS}` | "/queue" | "/reports" | "/workers";

const OF_LISTS = Object.fromEntries<Shown>(
  Object.entries(LISTS).map(([name, listed]) => [
    `/${name}`,
    {
      name: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      commands: ["list", ...("besides" in listed ? listed.besides : [])].map((each) => `${name} ${each}`),
    },
  ]),
) as Record<`/${keyof typeof LISTS}`, Shown>;

/** The parts of the console, in the order of its menu. */
export const SECTIONS: Readonly<Record<Section, Shown>> = {
  "/": { name: "Overview", commands: ["status"] },
  ...OF_LISTS,
  "/queue": { name: "Queue", commands: ["queue list"] },
  "/reports": { name: "Reports", commands: ["report"] },
  "/workers": { name: "Workers", commands: ["workers list"] },
};

/** The section that shows what a command does, by its words; `list` may be left out, as on the command line. */
export function sectionOfCommand(words: string): Section | undefined {
  return (Object.keys(SECTIONS) as Section[]).find((path) =>
    SECTIONS[path].commands.some((known) => known === words || known === `${words} list`),
  );
}

/** The part of the console that a page belongs to. */
export function sectionOf(path: string): Section {
  return `/${path.split("/")[1] ?? ""}` as Section;
}
