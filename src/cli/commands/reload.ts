import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { recordJson } from "../../operator/column.ts";
import {
  CONFIGURATION_COLUMNS,
  configurationInWords,
  takenOverInWords,
  withConfiguration,
} from "../../operator/configuration-columns.ts";
import { reloadWorkers } from "../../operator/reload.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { withLedger } from "../open.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** A daemon hears of it within a second, and compiles its profiles. */
const WITHIN_MS = 15_000;

/** `cryobridge reload`. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--reason <text>", "why, for the audit")
    .addHelpText("after", "\nExample:\n  cryobridge reload --reason 'a new facility'")
    .action(toAction(cli, reload));
}

async function reload(
  session: Session,
  { reason }: { readonly reason?: string },
): Promise<ExitStatus | undefined> {
  const { clock, actor } = session;
  const { answered, silent } = await withLedger(session, ({ pool }) =>
    reloadWorkers(pool, { actor, reason }, { clock, withinMs: WITHIN_MS }),
  );
  const configured = withConfiguration(answered);
  if (configured.length + silent.length === 0)
    throw new Failure("CLI_NOT_FOUND", {
      message: "no daemon works with this ledger; the next start reads the configuration",
      hint: "`cryobridge check` says whether that is right.",
    });
  const lines = configured.flatMap(({ id, name, configuration }) => {
    const who = `${name} (w${id})`;
    const { problems, restart } = configuration;
    if (problems.length > 0)
      return [
        `✗ ${who} goes on with what it read last; the file has mistakes:`,
        ...problems.map((problem) => `    ${problem}`),
      ];
    const sign = restart.length > 0 && !configuration.takenOver?.length ? "!" : "✓";
    const done = `${sign} ${who} ${takenOverInWords(configuration)}`;
    return [restart.length === 0 ? done : `${done}; ${configurationInWords(configuration)}`];
  });
  session.result(
    {
      workers: configured.map((worker) => recordJson(CONFIGURATION_COLUMNS, worker, session)),
      silent: silent.map(({ id }) => `w${id}`),
    },
    [
      ...lines,
      ...silent.map(
        ({ id, name }) =>
          `✗ ${name} (w${id}) has not answered yet: it may be reading a large file, or its log says why`,
      ),
    ],
  );
  const isWrong = configured.some(({ configuration }) => configuration.problems.length > 0);
  return isWrong ? EXIT.configuration : silent.length > 0 ? EXIT.failed : undefined;
}
