import type { AtService } from "../core/failures.ts";
import { type HintCommand, withCommandsOf } from "../core/hint.ts";
import { SURFACES, type Surface } from "../core/surface.ts";

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
  return withCommandsOf(hint, (command) => readyCommands(command, known));
}

/** Once for each that may be the order's own at the service. */
function readyCommands(command: HintCommand, known: Known): HintCommand[] {
  const { number, atService, surface = atService?.surface } = known;
  // Which of the two is to be typed nobody knows yet: a shell would take the bar for a pipe.
  const isOfEither = [...command.words, ...command.options.map(([name]) => name)].some((word) =>
    word.includes("|"),
  );
  if (surface === undefined && isOfEither)
    return SURFACES.flatMap((each) => readyCommands(command, { ...known, surface: each }));
  const id = known[RECORD_OF[command.words[0] as keyof typeof RECORD_OF]];
  const fill = (operand: string) => {
    if (operand === "ID") return id ?? operand;
    return operand === "NUMBER" && isOneWord(number) ? number : operand;
  };
  const of = (word: string) => (surface === undefined ? word : (word.split("|").at(AT[surface]) ?? word));
  const ready = {
    words: command.words.map(of),
    operands: command.operands.map(fill),
    options: command.options.map(([name, value]) => [of(name), value] as const),
  };
  const linked = ready.options.findIndex(([name, value]) => value === "N" && name.endsWith("-id"));
  const ids = linked !== -1 && surface !== undefined && atService?.surface === surface ? atService.ids : [];
  if (ids.length === 0) return [ready];
  return ids.map((found) => ({
    ...ready,
    options: ready.options.with(linked, [ready.options[linked]?.[0] ?? "", String(found)]),
  }));
}

/** Of two words for the surfaces, which is whose. */
const AT = { request: 0, external: -1 } as const satisfies Readonly<Record<Surface, number>>;

/** Whether a shell takes it as one word. */
function isOneWord(number: string | undefined): number is string {
  return number !== undefined && /^[\w.:/@+-]+$/.test(number) && !number.startsWith("-");
}
