import { Command, CommanderError, Help, type Option } from "commander";
import { Failure } from "../core/failures.ts";
import { SecretMask } from "../core/secret-mask.ts";
import { VERSION } from "../core/version.ts";
import { createCommands } from "./commands.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import type { Io, Output } from "./io.ts";
import { reportFailure } from "./output/failure.ts";
import { type Cli, DEFAULT_CONFIG_FILE, isVerbose } from "./session.ts";

/**
 * Runs one command line to its end and gives the exit status; everything is written through `io`.
 *
 * @param argv the words after the program's name
 */
export async function run(argv: readonly string[], given: Io): Promise<ExitStatus> {
  const secrets = new SecretMask();
  const io = withoutSecrets(given, secrets);
  const cli: Cli = { io, secrets, exitStatus: EXIT.done };
  const program = await buildProgram(cli, argv);
  try {
    await program.parseAsync([...argv], { from: "user" });
    return cli.exitStatus;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    // Without a command, commander has shown the help already.
    if (error instanceof CommanderError && error.code === "commander.help") return EXIT.usage;
    const isJson = argv.includes("--json");
    const shown = error instanceof CommanderError ? usageFailure(error) : error;
    const options = program.opts<{ verbose?: boolean }>();
    const status = reportFailure(shown, io, { isJson, isVerbose: isVerbose(options, io.env) });
    return cli.failureStatus ?? status;
  }
}

/** The same streams, which write no credential of the configuration, whoever gave it back to us. */
function withoutSecrets(io: Io, secrets: SecretMask): Io {
  const masked = (output: Output): Output => ({
    ...output,
    write: (text) => output.write(secrets.mask(text)),
  });
  return { ...io, stdout: masked(io.stdout), stderr: masked(io.stderr) };
}

async function buildProgram(cli: Cli, argv: readonly string[]): Promise<Command> {
  const { io } = cli;
  const program = new Command("cryobridge")
    .description("Connects a lab system to the Sample Storage Integration Service.")
    .version(VERSION, "-V, --version", "show the version")
    .helpOption("-h, --help", "show this help")
    .option(
      "-c, --config <file>",
      `configuration file (default: $CRYOBRIDGE_CONFIG or ${DEFAULT_CONFIG_FILE})`,
    )
    .option("--json", "one JSON document instead of text")
    .option("--show-phi", "show patients' data; what ledger and service show is recorded in the audit")
    .option("--verbose", "log what happens inside, with the places in the code of an error")
    .addHelpText(
      "after",
      "\nExit status: 0 done, 1 failed, 2 wrong usage, 3 configuration invalid,\n4 database, queue or service not reachable, 5 not found.",
    );
  for (const command of await createCommands(cli, argv)) program.addCommand(command);
  configure(program, io);
  return program;
}

/** Commander's settings are not handed down to commands that are added, so each gets them. */
function configure(command: Command, io: Io): void {
  command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: () => {},
      getOutHelpWidth: () => io.columns ?? 100,
      getErrHelpWidth: () => io.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true, optionDescription })
    .helpCommand(false);
  for (const child of command.commands) configure(child, io);
}

/** Help names an option that can't be left out like any other; only its words can say it. They also say what a bare option means. */
function optionDescription(this: Help, option: Option): string {
  const plain: Option = Object.assign(Object.create(option), { presetArg: undefined });
  const words = Help.prototype.optionDescription.call(this, plain);
  return option.mandatory && option.defaultValue === undefined ? `${words} (required)` : words;
}

function usageFailure(error: CommanderError): Failure {
  return new Failure("CLI_USAGE", error.message.replace(/^error: /, ""));
}
