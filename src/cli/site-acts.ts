import { type Argument, type Command, Option } from "commander";
import type { OutcomeLine, SiteAct } from "../operator/site-act.ts";
import { clean } from "../operator/text.ts";
import { EXIT, type ExitStatus, exitStatusOf } from "./exit-status.ts";
import { withLedger } from "./open.ts";
import { type Cli, type Session, toAction } from "./session.ts";
import { type ActOptions, actsOf, reasonOf, WHY } from "./things.ts";

// The commands of acts that have no record, as the things of `src/operator/things/` declare them.

type Options = ActOptions & Readonly<Record<string, unknown>>;

/** Makes the command of an act; `on` says what it is done to. Status 1 where it was not done, or where its failure says so another. */
export function defineSiteAct<On extends object>(
  command: Command,
  cli: Cli,
  act: SiteAct<On>,
  {
    on,
    argument,
    options = [],
  }: {
    readonly on: (asked: Options, word: string) => On;
    readonly argument?: Argument;
    readonly options?: readonly Option[];
  },
): void {
  const { help, example = "", reason, reasonHelp = WHY } = act;
  if (help !== undefined) command.description(help);
  if (argument !== undefined) command.addArgument(argument);
  for (const option of options) command.addOption(option);
  command.addOption(new Option("--reason <text>", reasonHelp).makeOptionMandatory(reason === "required"));
  command.addHelpText("after", `\nExample:\n  ${example}`).action(
    toAction(cli, (session, ...given: unknown[]) => {
      const asked = given.at(-1) as Options;
      const word = argument === undefined ? "" : (given[0] as string);
      return actOnSite(session, act, on(asked, word), asked);
    }),
  );
}

/** Does it, and shows what became of it. */
export async function actOnSite<On extends object>(
  session: Session,
  act: SiteAct<On>,
  on: On,
  asked: ActOptions,
): Promise<ExitStatus | undefined> {
  const by = { actor: session.actor, reason: reasonOf(act, asked.reason) };
  const { isDone, code, lines, json } = await withLedger(session, async (site) =>
    act.act({ pool: site.pool, acts: await actsOf(site, session), viewer: session }, by, on),
  );
  session.result(
    json,
    lines.map((line) => lineOf(session, line)),
  );
  if (isDone) return undefined;
  return code === undefined ? EXIT.failed : exitStatusOf(code);
}

function lineOf({ paint }: Session, [sign, text]: OutcomeLine): string {
  const signs = {
    done: `${paint("green", "✓")} `,
    partly: `${paint("yellow", "!")} `,
    failed: `${paint("red", "✗")} `,
    remark: "",
  };
  return `${signs[sign]}${clean(text)}`;
}
