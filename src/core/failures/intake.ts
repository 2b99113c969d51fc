import type { FailureEntry } from "./entry.ts";

/** Told of files, messages and rows before they are mapped, and of results on their way to the lab. */
export const INTAKE_FAILURES = {
  MLLP_NOT_LISTENING: {
    class: "permanent",
    meaning:
      "An MLLP connector can't listen on its address: another program does, or it is not this machine's.",
    hint: "Set listen.host to an address of this machine and listen.port to a free one; `cryobridge hl7 listen` takes `--host` and `--port`.",
  },
  HL7_CONTROL_ID_REUSED: {
    class: "permanent",
    meaning:
      "A message came with the control id (MSH-10) of an earlier one and other content; it was not taken.",
    hint: "Have the sender give each message a control id of its own, or set `reusedControlId: take` for the connector.",
  },
  MLLP_FRAME_UNENDED: {
    class: "permanent",
    meaning: "An MLLP frame had no end block before the next one began; it is kept, but it is not a message.",
    hint: "Have the sender end each frame with 0x1C 0x0D and send the message again.",
  },
  HL7_TOO_MANY_MESSAGES: {
    class: "permanent",
    meaning:
      "An MLLP frame or a file holds more messages or batches than are taken in one; it is kept, and nothing of it was taken.",
    hint: "Have the sender put fewer messages into each frame or file and send them again; for frames, listen.maxMessages of the connector may be raised.",
  },
  MLLP_UNREACHABLE: {
    class: "transient",
    meaning: "No connection to the lab system's MLLP port could be made; the result is sent again later.",
    hint: "Look whether the lab system listens on results.host and results.port, for `cryobridge hl7 send` on what `--to` says, and whether both sides speak TLS or neither does.",
  },
  MLLP_NO_ANSWER: {
    class: "transient",
    meaning: "The lab system did not acknowledge a result; the same bytes are sent again later.",
    hint: "Look at the lab system's interface log for the message's control id, and whether both sides speak TLS or neither does.",
  },
  MLLP_RESULT_ERROR: {
    class: "transient",
    meaning:
      "The lab system answered a result with an error (AE or CE); it is sent again some times, then it needs a person.",
    hint: "Look at the lab system's interface log, mend the cause and retry the delivery.",
  },
  MLLP_RESULT_REFUSED: {
    class: "permanent",
    meaning: "The lab system refused a result for good (AR or CR).",
    hint: "Agree type, version and processing id of the results with the lab, then retry the delivery: `cryobridge queue` has its id, `cryobridge queue retry ID` tries it.",
  },
  DELIVERY_FAILS_ALONE: {
    class: "transient",
    meaning:
      "The lab takes other results and fails at this one every time; it is sent again some times, while results of other orders go on, then it needs a person.",
    hint: "Look at the lab system's interface log, or the file of that name, for what is in the way; then have it sent again with `cryobridge queue retry`, or give it up with `cryobridge queue remove`.",
  },
  DELIVERY_OVERTAKEN: {
    class: "permanent",
    meaning:
      "The lab could not be told in time that a message came, or waits, and has got later news of it or of its orders since; so it isn't told that any more.",
    hint: "Nothing: what the lab has got says more. Where the lab system takes no acknowledgements at all, leave `acknowledged` out of `results.tell`.",
  },
  HL7_NO_MSH: {
    class: "permanent",
    meaning: "The text does not begin with an MSH segment, so it is no HL7 message.",
    hint: "Send HL7 v2 messages whose first segment is MSH; CSV files are for a `csv-drop` connector, and `cryobridge preview` shows what one makes of a file.",
  },
  HL7_DELIMITERS: {
    class: "permanent",
    meaning:
      "MSH-1 and MSH-2 do not declare usable delimiters: they must be different printable characters that are neither letters nor digits.",
    hint: "Have the sender declare its delimiters, usually `MSH|^~\\&`.",
  },
  HL7_SEGMENT_INVALID: {
    class: "permanent",
    meaning:
      "A line of the message is no segment: it does not begin with a three-character name followed by the field separator.",
    hint: "Have the sender escape line breaks inside fields as `\\.br\\`, or correct the line that is named.",
  },
  HL7_SECOND_HEADER: {
    class: "permanent",
    meaning: "A second MSH, or a batch header or trailer, stands inside one message.",
    hint: "Send one message at a time, or let the drop folder split the file.",
  },
  HL7_PATH_INVALID: {
    class: "permanent",
    meaning: "A field path of a profile is not written as paths are, such as `PID-3[5=MR].1`.",
    hint: "Correct the path as the message says.",
  },
  HL7_STRUCTURE: {
    class: "permanent",
    meaning:
      "The segments of an order or merge message do not stand in the order that its type prescribes, so it is not certain what belongs together.",
    hint: "Have the sender follow the structure of the message type that MSH-9 declares.",
  },
  HL7_CONTINUED: {
    class: "permanent",
    meaning:
      "The message is one part of a longer one (DSC or MSH-14), or a segment of it is (ADD), and half an order is never processed.",
    hint: "Have the sender transmit whole messages and segments.",
  },
  HL7_BUILD_INVALID: {
    class: "permanent",
    meaning: "A message that was to be written has an invalid segment name or value.",
    hint: "Correct the profile or site module that composes the message.",
  },
  RESULT_NOT_ENCODABLE: {
    class: "permanent",
    meaning:
      "A result holds a character that the character set of the results does not have, where it can't be written otherwise without becoming another value.",
    hint: "Set `results.encoding` of the profile to a character set that has it (as-received, utf-8), restart and retry the delivery.",
  },
  HL7_CHARSET_UNKNOWN: {
    class: "permanent",
    meaning: "MSH-18 or the configuration names a character set that Cryobridge cannot read.",
    hint: "Set the connector's character set to the one that the sender really uses; `cryobridge hl7 show` and `hl7 diff` take `--charset`.",
  },
  HL7_UNTERMINATED: {
    class: "permanent",
    meaning:
      "The file or the frame ends inside the last segment of a message, which may have been cut: a label, a number or a date may be but the beginning of one.",
    hint: "Have the sender end each segment with a carriage return, the last one too, and send the message again. For a sender that never ends the last one, set `unterminated: accept` for the connector; a message is then refused only where values of the order are read from that segment.",
  },
  HL7_CHARSET_UTF8: {
    class: "permanent",
    meaning:
      "The message is UTF-8, as a whole or in a line, and MSH-18 or the configuration names another character set: names and codes would be read wrongly.",
    hint: "Correct MSH-18 at the sender, or `encoding` of the connector or the profile. Where the line only looks like UTF-8, set `encoding: { name: …, forced: true }` for the connector.",
  },
  HL7_CHARSET_BYTES: {
    class: "permanent",
    meaning:
      "The message holds bytes that its character set does not have; they are never replaced by guesses.",
    hint: "Correct MSH-18 at the sender, or set the connector's character set; `cryobridge hl7 show` and `hl7 diff` take `--charset`.",
  },
  HL7_FILE_EMPTY: {
    class: "permanent",
    meaning: "The HL7 file holds nothing.",
    hint: "Have the sender write the file again.",
  },
  HL7_FILE_BINARY: {
    class: "permanent",
    meaning: "The file named as HL7 holds NUL bytes, so it is no text.",
    hint: "Find out what wrote this file; messages are text in UTF-8, UTF-16 or the character set that MSH-18 names.",
  },
  HL7_FILE_TEXT_OUTSIDE: {
    class: "permanent",
    meaning: "The file has text that belongs to no message: before the first MSH, or outside its batches.",
    hint: "Remove the line that is named, or have the sender write HL7 only.",
  },
  HL7_BATCH_INCOMPLETE: {
    class: "permanent",
    meaning:
      "A batch or file header has no trailer, or a trailer no header: the file may be cut short, so none of it was processed.",
    hint: "Have the sender transmit the whole file again.",
  },
  HL7_BATCH_COUNT: {
    class: "permanent",
    meaning: "The count in BTS-1 or FTS-1 is not what the file holds, so none of it was processed.",
    hint: "Have the sender transmit the whole file again, or correct its count.",
  },
  CSV_EMPTY: {
    class: "permanent",
    meaning: "The CSV file holds nothing, or nothing where its header should be.",
    hint: "Have the sender write the file again.",
  },
  CSV_BINARY: {
    class: "permanent",
    meaning: "The file named as CSV holds NUL characters, so it is no text in this encoding.",
    hint: "Save the file as CSV, or set the connector's encoding.",
  },
  CSV_HEADER_EMPTY: {
    class: "permanent",
    meaning: "A column of the CSV header has no name.",
    hint: "Give every column a name, or remove the empty column.",
  },
  CSV_HEADER_DOUBLED: {
    class: "permanent",
    meaning: "A column name stands twice in the CSV header, so its values would be ambiguous.",
    hint: "Rename or remove one of the columns.",
  },
  CSV_HEADER_SECOND: {
    class: "permanent",
    meaning:
      "The column names stand once more within the CSV file, in another order than at its top, as where two exports were joined.",
    hint: "Drop the two exports as two files.",
  },
  CSV_HEADER_TOO_WIDE: {
    class: "permanent",
    meaning: "The CSV header has more columns than are allowed.",
    hint: "Check the delimiter, or send fewer columns.",
  },
  CSV_DIALECT_INVALID: {
    class: "permanent",
    meaning: "The delimiter, quote or encoding set for a CSV connector cannot be used.",
    hint: "Correct the connector's CSV settings.",
  },
  CSV_ROW_RAGGED: {
    class: "permanent",
    meaning:
      "A CSV row has more or fewer columns than the header, or its values stand in other columns than theirs.",
    hint: "Correct the row; a value that holds the delimiter must be quoted. For lines that are no rows, such as a trailer, set `noRow` in the profile.",
  },
  CSV_ROW_QUOTES: {
    class: "permanent",
    meaning: "A quote stands where CSV allows none: inside an unquoted value, or after a closed one.",
    hint: "Write the quote twice and put the whole value in quotes.",
  },
  CSV_ROW_UNFINISHED: {
    class: "permanent",
    meaning:
      "A CSV file ends within a row, or in a value that counts without a line end behind it: it may have been cut short there.",
    hint: "Look whether the file is whole and drop it again with a line end; where the sender never ends the last line, set `lastLineEnd: optional` in the profile.",
  },
  CSV_ROW_TOO_LONG: {
    class: "permanent",
    meaning:
      "A CSV row is longer than 1 MiB, mostly since a quote or a line end is missing. The file is not read any further, and nothing of it is taken.",
    hint: "Look for a missing quote or line end on the line that is named, correct the file and drop it again.",
  },
  CSV_QUOTE_UNCLOSED: {
    class: "permanent",
    meaning: "A quoted value is never closed, so everything after it is unreadable.",
    hint: "Close the quote on the line that is named.",
  },
  CSV_ENCODING_UTF8: {
    class: "permanent",
    meaning:
      "The CSV file is UTF-8, as a whole or in a line, and the configured encoding is another one: names and codes would be read wrongly.",
    hint: "Correct the connector's or the profile's `encoding` (`auto` finds it out), or save the file in the encoding that is set. Where the line only looks like UTF-8, set `encoding: { name: …, forced: true }` for the connector.",
  },
  CSV_BYTES: {
    class: "permanent",
    meaning: "The CSV file holds bytes that its encoding does not have; they are never replaced by guesses.",
    hint: "Save the file as UTF-8, or set the connector's encoding.",
  },
  FILE_NOT_REGULAR: {
    class: "permanent",
    meaning: "What was dropped is no ordinary file: a link, a pipe, a socket, a device or a folder.",
    hint: "Drop a copy of the file itself.",
  },
  FILE_UNREADABLE: {
    class: "permanent",
    meaning: "The dropped file may not be read by the account that Cryobridge runs as.",
    hint: "Give that account the right to read it, then drop it again.",
  },
  FILE_TOO_LARGE: {
    class: "permanent",
    meaning: "The dropped file is larger than the connector takes.",
    hint: "Split the file, or raise the connector's `maxBytes`.",
  },
  FILE_CHANGED: {
    class: "transient",
    meaning: "The file was still being written while it was read; it is read again once it rests.",
    hint: "Have the sender write elsewhere and rename the finished file into the folder, or use a marker file.",
  },
  FILE_DUPLICATE: {
    class: "permanent",
    meaning: "The same bytes came through this connector before, so nothing of the file was taken again.",
    hint: "Nothing, if it was dropped twice by mistake; otherwise use `cryobridge messages replay` on the first one.",
  },
  FILE_WHOLE_REFUSED: {
    class: "permanent",
    meaning: "The profile takes a file whole or not at all, and other parts of this file have mistakes.",
    hint: "Correct the mistakes that are named and drop the file again.",
  },
  FILE_NAME_TAKEN: {
    class: "permanent",
    meaning: "The result folder already holds a file of this name with other content; it was left as it is.",
    hint: "Move the file that is in the way out of the result folder, then retry the delivery.",
  },
  FILE_NOT_PLACED: {
    class: "transient",
    meaning:
      "A result was written to the result folder but could not get its name there, or a file of that name is there that can't be read.",
    hint: "Look whether the folder takes a file of that name, and whether one that is there already may be read; it is tried again by itself.",
  },
  FILE_FOLDER_UNUSABLE: {
    class: "permanent",
    meaning:
      "A folder of a drop connector is missing, is a link, may not be written, or lies on another file system than its siblings.",
    hint: "Correct the folder that is named, then run `cryobridge check`.",
  },
  FILE_SYSTEM_ERROR: {
    class: "transient",
    meaning: "The operating system refused to read or write a drop folder: full, read-only, or out of reach.",
    hint: "Make room, or mend the disk, the share, or the folder and its rights; it goes on by itself.",
  },
  CSV_COLUMN_MISSING: {
    class: "permanent",
    meaning: "A column that the profile needs is not in the CSV header.",
    hint: "Add the column, or name the one that holds the value in the profile.",
  },
  CSV_ORDER_INCOMPLETE: {
    class: "permanent",
    meaning:
      "Another row of the same order could not be read, or a row that may be one of its, so the order is refused as a whole.",
    hint: "Correct the row that is named and send all rows of the order again.",
  },
  CSV_ORDER_TOO_LARGE: {
    class: "permanent",
    meaning: "More rows of a CSV file share one order number than one order may have.",
    hint: "Check that the column which `placerOrderNumber` is read from really holds order numbers.",
  },
  CSV_ORDERS_SCATTERED: {
    class: "permanent",
    meaning: "Rows of the same order stand too far apart in the file to be gathered.",
    hint: "Sort the file by order number and drop it again.",
  },
} as const satisfies Record<string, FailureEntry>;
