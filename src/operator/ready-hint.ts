import type { AtService } from "../core/failures.ts";
import type { Surface } from "../core/surface.ts";

/** What is known of the records that the commands of a hint are about, by their ids such as `o17`. Another order than these is ORDER in a hint. */
export interface Known {
  readonly order?: string | undefined;
  /** The lab's number of the order. */
  readonly number?: string | undefined;
  readonly message?: string | undefined;
  readonly result?: string | undefined;
  readonly task?: string | undefined;
  /** What the service makes of the order, where that is certain. */
  readonly surface?: Surface | undefined;
  /** What of the service may be the order's own. */
  readonly atService?: AtService | undefined;
}

/** Whose id a family of commands takes. */
const RECORD_OF = {
  ...{ orders: "order", messages: "message", queue: "result", results: "result", tasks: "task" },
} as const satisfies Readonly<Record<string, keyof Known>>;

/** The hint of a failure with its commands as they are typed: what is known stands in place of ID, NUMBER and N. */
export function readyHint(hint: string, known: Known): string {
  const { number, atService, surface = atService?.surface } = known;
  return hint
    .replaceAll(/\b(orders|messages|queue|results|tasks) ([a-z-]+) ID\b/g, (all, family, verb) => {
      const id = known[RECORD_OF[family as keyof typeof RECORD_OF]];
      return id === undefined ? all : `${family} ${verb} ${id}`;
    })
    .replaceAll(/\borders show NUMBER\b/g, (all) => (isOneWord(number) ? `orders show ${number}` : all))
    .replaceAll(BY_SURFACE, (all, start: string, request: string, external: string) => {
      if (surface === undefined) return all;
      const ids = atService?.surface === surface ? atService.ids : [];
      return linked(`${start}${surface === "request" ? request : external}`, ids);
    });
}

/** `START END` (external surface: `OTHER`): for the external surface another end follows the same start. */
const BY_SURFACE = /`(cryobridge [^`]*?)((?:service|--)[^`]*)` \(external surface: `([^`]+)`\)/g;

/** Once for each that may be the order's own. */
function linked(command: string, found: AtService["ids"]): string {
  const ids = command.endsWith("-id N") ? found : [];
  const commands = ids.length === 0 ? [command] : ids.map((id) => command.replace(/N$/, String(id)));
  return commands.map((each) => `\`${each}\``).join(" or ");
}

/** Whether a shell takes it as one word. */
function isOneWord(number: string | undefined): number is string {
  return number !== undefined && /^[\w.:/@+-]+$/.test(number) && !number.startsWith("-");
}
