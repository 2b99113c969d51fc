import { type Argument, type Command, Option } from "commander";
import type { OutcomeLine, SiteAct } from "../operator/site-act.ts";
import { clean } from "../operator/text.ts";
import { EXIT, type ExitStatus, exitStatusOf } from "./exit-status.ts";
import { assertNoOlderCopy, type OpenSite, withLedger, withLedgerOrNone } from "./open.ts";
import { withProgress } from "./output/progress.ts";
import { type ActOptions, actsOf, confirm, reasonOf, WHY } from "./record-commands.ts";
import { type Cli, type Session, toAction } from "./session.ts";

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
    readonly on: (asked: Options, word: string, session: Session) => On;
    readonly argument?: Argument;
    readonly options?: readonly Option[];
  },
): void {
  const { help, example = "", reason, reasonHelp = WHY } = act;
  if (help !== undefined) command.description(help);
  if (argument !== undefined) command.addArgument(argument);
  for (const option of options) command.addOption(option);
  command.addOption(new Option("--reason <text>", reasonHelp).makeOptionMandatory(reason === "required"));
  if (act.warnings || act.isAsked) command.option("-y, --yes", "don't ask");
  command.addHelpText("after", `\nExample:\n  ${example}`).action(
    toAction(cli, (session, ...given: unknown[]) => {
      const asked = given.at(-1) as Options;
      const word = argument === undefined ? "" : (given[0] as string);
      return actOnSite(session, act, on(asked, word, session), asked);
    }),
  );
}

/** Does it, after asking where something may be lost, and shows what became of it. Status 1 also when a person said no. */
export async function actOnSite<On extends object>(
  session: Session,
  act: SiteAct<On>,
  on: On,
  asked: ActOptions,
): Promise<ExitStatus | undefined> {
  const by = { actor: session.actor, reason: reasonOf(act, asked.reason) };
  const open = act.canLackLedger ? withLedgerOrNone : withLedger;
  const outcome = await open(session, async (site) => {
    if (act.many) await assertNoOlderCopy(site);
    const question = await questionOf(act, on, site);
    if (question !== undefined && !(await confirm(session, question, asked.yes))) return undefined;
    const place = {
      ...{ pool: site.pool, config: site.config, acts: await actsOf(site, session), viewer: session },
    };
    let done = 0;
    const work = (report: (done: number) => void) =>
      act.act({ ...place, onEach: () => report(++done) }, by, on);
    return act.many ? withProgress(session, { what: act.command, nouns: "records" }, work) : work(() => {});
  });
  if (outcome === undefined) return EXIT.failed;
  const { isDone, code, lines, each = [], json } = outcome;
  session.result(json, [
    ...each.flatMap(({ lines: own }) => own.map(clean)),
    ...lines.map((line) => lineOf(session, line)),
  ]);
  if (isDone) return undefined;
  return code === undefined ? EXIT.failed : exitStatusOf(code);
}

/** What is asked before an act; undefined where it is just done. */
async function questionOf<On extends object>(
  { warnings, many, isAsked }: SiteAct<On>,
  on: On,
  place: Pick<OpenSite, "pool" | "config">,
): Promise<string | undefined> {
  if (many && isAsked) return `${(await many(place, on)).title}?`;
  const found = (await warnings?.(place)) ?? [];
  return found.length === 0 ? undefined : `${found.join(" ")} Go on nevertheless?`;
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
