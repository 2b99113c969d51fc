/** Reported by commands, at the start, or by the console. */
export const COMMAND_FAILURES = {
  UNCLASSIFIED: {
    class: "ambiguous",
    reaches: "any",
    meaning: "An error that Cryobridge does not know. It counts as a call that may have happened.",
    hint: "Report it with the log lines around it: it is a defect of Cryobridge.",
    lab: "an error at the receiver; its staff look into it",
  },
  CONFIG_INVALID: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The configuration, a profile or a file of the simulator has mistakes.",
    hint: "Correct the lines that are named, then `cryobridge check`.",
  },
  CLI_USAGE: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The command line is wrong.",
    hint: "Add `--help` to the command.",
  },
  CLI_NOT_FOUND: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The ledger has nothing under this id or number.",
    hint: "List what there is: `cryobridge orders list`, `cryobridge messages list`, `cryobridge queue list`, `cryobridge tasks list`.",
  },
  CLI_NOT_APPLICABLE: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The state of the record does not allow this.",
    hint: "See its state with `cryobridge orders show ID` or `cryobridge messages show ID`.",
  },
  CLI_SUBJECT_PRUNED: {
    class: "permanent",
    reaches: "nobody",
    meaning:
      "A failed order can't be sent again: the name and birth date of its subject were deleted when their retention ended.",
    hint: "Have the lab send it as a new order, under a new number. `retention.orders` says how long they are kept.",
  },
  CLI_MOVE_IMPOSSIBLE: {
    class: "permanent",
    reaches: "nobody",
    meaning:
      "Results of a removed connector don't fit the other one: another type, or results of the same names.",
    hint: "Name the old connector in the configuration again and restart the daemon, or move them to another connector of its type.",
  },
  CLI_FILE_UNREADABLE: {
    class: "permanent",
    reaches: "nobody",
    meaning: "A file on the command line can't be read.",
    hint: "Correct the path or the file's rights.",
  },
  CLI_BACKUP_UNWRITABLE: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The backup can't be written there.",
    hint: "Free disk space, correct the folder's rights, or name a new file.",
  },
  CLI_BACKUP_UNUSABLE: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The file is no whole backup: cut off, changed, or something else.",
    hint: "Copy the file again, or take an older one.",
  },
  CLI_BACKUP_UNFIT: {
    class: "permanent",
    reaches: "nobody",
    meaning: "Another release made the backup.",
    hint: "Install the release that is named, restore with it, then upgrade.",
  },
  CLI_LEDGER_NOT_EMPTY: {
    class: "permanent",
    reaches: "nobody",
    meaning: "A restore would remove what the ledger holds.",
    hint: "Pass the configuration of an empty ledger, or add `--replace` after a backup of this one.",
  },
  CLI_LEDGER_MISSING: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The data folder has no ledger: no daemon ever ran on it.",
    hint: "Pass the daemon's configuration (`--config`), or run `cryobridge start` once.",
  },
  CLI_DEMO_FOLDER_TAKEN: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The folder has another demonstration or other files, or can't be written.",
    hint: "Choose another folder with `--dir`. One that another demonstration uses is free once that has ended.",
  },
  CONSOLE_PORT_TAKEN: {
    class: "permanent",
    reaches: "nobody",
    meaning: "Another program listens on the console's port.",
    hint: "Set another `console.port`, or end the other program.",
  },
  CONSOLE_NOT_LISTENING: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The console's address is not of this machine, or its port needs more rights.",
    hint: "Set `console.host` to an address of this machine and `console.port` to 1024 or more.",
  },
  CONSOLE_LEDGER_SILENT: {
    class: "transient",
    reaches: "nobody",
    meaning: "The ledger did not answer the console in time.",
    hint: "Check that the database runs and has disk space.",
  },
} as const;
