import type { FailureEntry } from "./entry.ts";

/** Told by commands, at the start, or by the console. */
export const COMMAND_FAILURES = {
  UNCLASSIFIED: {
    class: "ambiguous",
    meaning: "An error that no part of Cryobridge recognised; treated as if the call may have happened.",
    hint: "Report it with the log lines around it: each one is a defect of Cryobridge.",
  },
  CONFIG_INVALID: {
    class: "permanent",
    meaning:
      "The configuration file, a profile or a file of the simulator has mistakes; nothing was started.",
    hint: "Correct the lines that are named, and try again; `cryobridge check` looks at configuration and profiles.",
  },
  CLI_USAGE: {
    class: "permanent",
    meaning: "The command line was not understood; nothing was done.",
    hint: "Look at the command's own help: add `--help`.",
  },
  CLI_NOT_FOUND: {
    class: "permanent",
    meaning: "The ledger has nothing under the id or number that was named.",
    hint: "Look for it with `cryobridge orders list`, `cryobridge messages list`, `cryobridge queue list` or `cryobridge tasks list`.",
  },
  CLI_NOT_APPLICABLE: {
    class: "permanent",
    meaning: "What was asked for can't be done with the record as it stands.",
    hint: "Look at it with `cryobridge orders show` or `cryobridge messages show`.",
  },
  CLI_MOVE_IMPOSSIBLE: {
    class: "permanent",
    meaning:
      "What waits of a connector that is configured no more can't go out through the other one: that is of another type, or has results with the same names.",
    hint: "Name the old connector in the configuration again, so that its results go out through it.",
  },
  CLI_FILE_UNREADABLE: {
    class: "permanent",
    meaning: "A file that the command line names can't be read.",
    hint: "Correct the path, or the file's rights.",
  },
  CLI_LEDGER_MISSING: {
    class: "permanent",
    meaning: "The data folder has no ledger yet, since no daemon was ever started on it.",
    hint: "Name the configuration that the daemon runs with (`--config`), or start it once with `cryobridge start`.",
  },
  CLI_DEMO_FOLDER_TAKEN: {
    class: "permanent",
    meaning:
      "The demonstration's folder is in use by another one, holds files that none made, or can't be written; nothing in it was changed.",
    hint: "Name another folder with `--dir`, end the other demonstration, or empty the folder yourself.",
  },
  CONSOLE_PORT_TAKEN: {
    class: "permanent",
    meaning: "Another program listens on the console's port already.",
    hint: "Set another console.port, or end the other program.",
  },
  CONSOLE_NOT_LISTENING: {
    class: "permanent",
    meaning:
      "The console can't listen on its address: it is not one of this machine's, or it needs more rights.",
    hint: "Set console.host to an address of this machine, and console.port to 1024 or more.",
  },
  CONSOLE_TOKEN_MISSING: {
    class: "permanent",
    meaning: "The console was to listen where other machines can reach it, without a token.",
    hint: "Set console.token, or console.host to 127.0.0.1.",
  },
  CONSOLE_LEDGER_SILENT: {
    class: "transient",
    meaning: "The ledger gave the console no answer in time.",
    hint: "Look whether the database runs and has room; the console goes on asking.",
  },
} as const satisfies Record<string, FailureEntry>;
