import { LISTS } from "../operator/lists.ts";

export type Section = "/" | `/${keyof typeof LISTS}` | "/queue" | "/reports" | "/workers";

const NAMES_OF_LISTS = Object.fromEntries(
  Object.keys(LISTS).map((name) => [`/${name}`, `${name.charAt(0).toUpperCase()}${name.slice(1)}`]),
) as Record<`/${keyof typeof LISTS}`, string>;

/** The parts of the console by their pages, as its menu names them and in its order. */
export const SECTIONS: Readonly<Record<Section, string>> = {
  "/": "Overview",
  ...NAMES_OF_LISTS,
  ...{ "/queue": "Queue", "/reports": "Reports", "/workers": "Workers" },
};

/** Each with the commands that show the same. */
const SECTION_BY_COMMAND: ReadonlyMap<string, string> = new Map([
  ...([
    ["status", "/"],
    ["queue list", "/queue"],
    ["report", "/reports"],
    ["workers list", "/workers"],
  ] as const),
  ...Object.entries(LISTS).flatMap(([name, { besides }]) =>
    ["list", ...besides].map((each) => [`${name} ${each}`, `/${name}`] as const),
  ),
]);

/** The section that shows what a command does, by its words; `list` may be left out, as on the command line. */
export function sectionOfCommand(words: string): Section | undefined {
  const found = SECTION_BY_COMMAND.get(words) ?? SECTION_BY_COMMAND.get(`${words} list`);
  return found as Section | undefined;
}

/** The part of the console that a page belongs to. */
export function sectionOf(path: string): Section {
  return `/${path.split("/")[1] ?? ""}` as Section;
}
