import { byReload } from "../hint.ts";

/** Reported of files, messages and rows before they are mapped, and of results for the lab. */
export const INTAKE_FAILURES = {
  MLLP_NOT_LISTENING: {
    class: "permanent",
    reaches: "nobody",
    meaning: "An MLLP connector can't listen on its address: taken, or not of this machine.",
    hint: "Set `listen.host` and `listen.port` to a free address of this machine (`cryobridge hl7 listen`: `--host`, `--port`).",
  },
  HL7_CONTROL_ID_REUSED: {
    class: "permanent",
    reaches: "hl7",
    meaning: "A message has the control id (MSH-10) of an earlier one, but other content.",
    hint: "Have the sender give each message its own control id, or set `reusedControlId: take` for the connector and restart the daemon.",
  },
  MLLP_FRAME_UNENDED: {
    class: "permanent",
    reaches: "hl7",
    meaning: "An MLLP frame had no end block before the next one began.",
    hint: "Have the sender end each frame with 0x1C 0x0D and send the message again.",
  },
  HL7_TOO_MANY_MESSAGES: {
    class: "permanent",
    reaches: "hl7",
    meaning: "A frame or file holds too many messages or batches. None was accepted.",
    hint: "Have the sender send fewer messages at once. For frames set `listen.maxMessages` higher and restart the daemon.",
  },
  MLLP_UNREACHABLE: {
    class: "transient",
    reaches: "nobody",
    meaning: "The lab system's MLLP port can't be reached.",
    hint: "Check that the lab system listens there, and that both sides use TLS or neither.",
  },
  MLLP_NO_ANSWER: {
    class: "transient",
    reaches: "nobody",
    meaning: "The lab system did not acknowledge a result.",
    hint: "Look up the control id, the last part of the name that `cryobridge queue list` shows, in the lab system's interface log. Check that both sides use TLS or neither.",
  },
  MLLP_RESULT_ERROR: {
    class: "transient",
    reaches: "nobody",
    meaning: "The lab system answered a result with an error (AE or CE).",
    hint: "Correct what the lab system's interface log names. `cryobridge queue retry ID` sends the result at once.",
  },
  MLLP_RESULT_REFUSED: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The lab system refused a result for good (AR or CR).",
    hint: "Have the lab system take results of this type, version and processing id, then `cryobridge queue retry ID`: the same bytes go again. A changed profile (`results.version`, `results.format`) is for later results only. To give this one up: `cryobridge queue remove ID`.",
  },
  DELIVERY_FAILS_ALONE: {
    class: "transient",
    reaches: "nobody",
    meaning:
      "A result failed again and again (`delivery.parkAfter`) while the lab took others. Later results of its orders wait.",
    hint: "Find the cause in the lab system's interface log, or the file in the way. Then `cryobridge queue retry ID`, or `cryobridge queue remove ID` to give the result up.",
  },
  HL7_NO_MSH: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The text does not begin with an MSH segment.",
    hint: "Send HL7 v2 messages. CSV files need a `csv-drop` connector; `cryobridge preview FILE --connector NAME` shows what it reads.",
  },
  HL7_DELIMITERS: {
    class: "permanent",
    reaches: "hl7",
    meaning: "MSH-1 and MSH-2 must be different printable characters, neither letters nor digits.",
    hint: "Have the sender begin each message with MSH and its delimiters, usually `MSH|^~\\&|`.",
  },
  HL7_SEGMENT_INVALID: {
    class: "permanent",
    reaches: "hl7",
    meaning: "A line does not begin with a three-character name and the field separator.",
    hint: "Have the sender write line breaks inside fields as `\\.br\\`, or correct the line.",
  },
  HL7_SECOND_HEADER: {
    class: "permanent",
    reaches: "hl7",
    meaning: "A message contains a second MSH, or a batch header or trailer.",
    hint: "Have the sender end every segment with a carriage return, the last one of a message too, and send again.",
  },
  HL7_STRUCTURE: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The segments are not in the sequence of their message type.",
    hint: "Have the sender follow the structure of the message type in MSH-9.",
  },
  HL7_CONTINUED: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The message, or a segment of it, is one part of a longer one (DSC, MSH-14, ADD).",
    hint: "Have the sender send whole messages and segments.",
  },
  RESULT_NOT_ENCODABLE: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The results' character set lacks a character of this one.",
    hint: "Set `results.encoding` of the profile to `utf-8`, for HL7 also to `as-received`, `cryobridge reload`, then `cryobridge queue retry ID`.",
  },
  HL7_CHARSET_UNKNOWN: {
    class: "permanent",
    reaches: "hl7",
    meaning: "MSH-18 or the configuration names a character set that Cryobridge can't read.",
    hint: byReload(
      "Set the connector's `encoding` to what the sender uses, such as `windows-1252` (`--charset` of `cryobridge hl7`).",
    ),
  },
  HL7_UNTERMINATED: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The last segment has no line end, so it may be cut short.",
    hint: "Have the sender end each segment with a carriage return. If it never ends the last one, set `unterminated: accept` for the connector and restart the daemon.",
  },
  HL7_LINE_ENDS_MIXED: {
    class: "permanent",
    reaches: "hl7",
    meaning: "Segments of a message end in different ways, as where text with line breaks was pasted in.",
    hint: "Have the sender write line breaks inside fields as `\\.br\\`, and end all segments alike. If it never does, set `mixedLineEnds: accept` for the connector and restart the daemon.",
  },
  HL7_CHARSET_UTF8: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The message, or a line of it, is UTF-8, but MSH-18 or the configuration says otherwise.",
    hint: byReload(
      "Have the sender name UNICODE UTF-8 in MSH-18, or correct `encoding`. If it only looks like UTF-8: `encoding: { name: …, forced: true }` for the connector.",
    ),
  },
  HL7_CHARSET_BYTES: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The message holds bytes that its character set lacks.",
    hint: byReload(
      "Correct MSH-18 at the sender, or set the connector's `encoding` to what it writes, such as `windows-1252` (`--charset` of `cryobridge hl7`).",
    ),
  },
  HL7_FILE_EMPTY: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The HL7 file is empty.",
    hint: "Have the sender write the file again. If an empty file announces another one, set `marker` of the connector and restart the daemon.",
  },
  HL7_FILE_BINARY: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The file holds NUL bytes, so it is not text.",
    hint: "Send text in UTF-8, UTF-16 or the character set of MSH-18.",
  },
  HL7_FILE_TEXT_OUTSIDE: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The file has text before the first MSH or outside its batches.",
    hint: "Remove the text that begins in the line that is named, or have the sender write HL7 only.",
  },
  HL7_BATCH_INCOMPLETE: {
    class: "permanent",
    reaches: "hl7",
    meaning: "A batch or file header has no trailer, or a trailer no header: the file may be cut short.",
    hint: "Have the sender send the whole file again. If it never writes trailers (BTS, FTS), have it leave out the headers (BHS, FHS) too.",
  },
  HL7_BATCH_COUNT: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The file does not hold as many messages as BTS-1 or FTS-1 says.",
    hint: "Have the sender send the whole file again, or correct its count.",
  },
  CSV_EMPTY: {
    class: "permanent",
    reaches: "csv",
    meaning: "The CSV file is empty, or its header is.",
    hint: "Have the sender write the file again. If an empty file announces another one, set `marker` of the connector and restart the daemon.",
  },
  CSV_BINARY: {
    class: "permanent",
    reaches: "csv",
    meaning:
      "The file is no text in this encoding: it has NUL characters, or is a picture, PDF or Excel workbook.",
    hint: byReload(
      "Save a workbook as CSV. For a CSV file set the connector's `encoding` to what the sender writes, such as `utf-16le` where NUL characters were found.",
    ),
  },
  CSV_HEADER_EMPTY: {
    class: "permanent",
    reaches: "csv",
    meaning: "A column of the header has no name.",
    hint: byReload(
      "Name the column or remove it. For a sender that always writes it so, and never in another sequence, set `skipLines` one higher, and `header` with a name for each column, in the profile: headings are then not compared.",
    ),
  },
  CSV_HEADER_DOUBLED: {
    class: "permanent",
    reaches: "csv",
    meaning: "Two columns of the header have the same name.",
    hint: byReload(
      "Rename or remove one. For a sender that always writes it so, and never in another sequence, set `skipLines` one higher, and `header` with a name for each column, in the profile: headings are then not compared.",
    ),
  },
  CSV_HEADER_SECOND: {
    class: "permanent",
    reaches: "csv",
    meaning: "The column names come again in another sequence: two exports were joined.",
    hint: "Drop them as two files.",
  },
  CSV_HEADER_TOO_WIDE: {
    class: "permanent",
    reaches: "csv",
    meaning: "The header has too many columns.",
    hint: byReload(
      "Set `delimiter` of the profile to what the sender writes, or have it send fewer columns.",
    ),
  },
  CSV_DIALECT_INVALID: {
    class: "permanent",
    reaches: "csv",
    meaning: "The delimiter, quote or encoding of a CSV connector can't be used.",
    hint: byReload(
      "Correct `quote`, `delimiter` or `encoding` of the profile, or `encoding` of the connector, as the message says.",
    ),
  },
  CSV_ROW_RAGGED: {
    class: "permanent",
    reaches: "csv",
    meaning: "A row has more or fewer columns than the header, or values in the wrong columns.",
    hint: byReload(
      "Correct the row (quote values that hold the delimiter), and drop the file again. For comment lines set `noRow: ['#.*']` in the profile, for a last line such as a total `trailer: { line: 'Total.*' }`, each with the pattern of the whole line.",
    ),
  },
  CSV_ROW_QUOTES: {
    class: "permanent",
    reaches: "csv",
    meaning: "A quote is inside an unquoted value or after a closed one.",
    hint: byReload(
      'Quote the whole value, write a quote within it twice, and drop the file again. For a sender that never quotes values set `quote: ""` in the profile.',
    ),
  },
  CSV_ROW_UNFINISHED: {
    class: "permanent",
    reaches: "csv",
    meaning: "The file ends within a row, or its last line has no line end: it may be cut short.",
    hint: byReload(
      "Drop the whole file again. If the sender never ends the last line, set `lastLineEnd: optional` in the profile.",
    ),
  },
  CSV_TRAILER_MISSING: {
    class: "permanent",
    reaches: "csv",
    meaning:
      "The file does not end with the profile's trailer: it may be cut short, or several files in one.",
    hint: byReload(
      "Drop the whole file again. If the sender leaves it out sometimes, set `required: false` below `trailer` in the profile: a file that was cut is then not noticed.",
    ),
  },
  CSV_TRAILER_COUNT: {
    class: "permanent",
    reaches: "csv",
    meaning: "The trailer counts other rows than stand above it: the file may be cut short.",
    hint: byReload(
      "Drop the whole file again. If the trailer counts something else, take `count` out of `trailer` in the profile.",
    ),
  },
  CSV_TRAILER_SUM: {
    class: "permanent",
    reaches: "csv",
    meaning: "The trailer says another total than the rows above it: the file may be cut short.",
    hint: byReload(
      "Drop the whole file again. If the trailer adds up something else, correct `trailer.sum` in the profile, or leave it out.",
    ),
  },
  CSV_ROW_TOO_LONG: {
    class: "permanent",
    reaches: "csv",
    meaning: "A row is longer than 1 MiB: a quote or line end is missing.",
    hint: "Correct the line that is named and drop the file again.",
  },
  CSV_QUOTE_UNCLOSED: {
    class: "permanent",
    reaches: "csv",
    meaning: "A quoted value is never closed.",
    hint: byReload(
      'Close the quote on the line that is named, and drop the file again. For a sender that never quotes values set `quote: ""` in the profile.',
    ),
  },
  CSV_ENCODING_UTF8: {
    class: "permanent",
    reaches: "csv",
    meaning: "The file, or a line of it, is UTF-8, but another encoding is configured.",
    hint: byReload(
      "Correct `encoding` (`auto` detects it), or save the file in that encoding. If it only looks like UTF-8: `encoding: { name: …, forced: true }` for the connector.",
    ),
  },
  CSV_ENCODING_DOUBTFUL: {
    class: "permanent",
    reaches: "csv",
    meaning:
      "No encoding is configured, the file is no UTF-8, and as Windows-1252 it has words that nobody writes.",
    hint: byReload(
      "Set `encoding` to what the sender writes (cp850, cp437, macintosh, cp852, windows-1250, …), or have the file saved as UTF-8.",
    ),
  },
  CSV_BYTES: {
    class: "permanent",
    reaches: "csv",
    meaning: "The file holds bytes that its encoding lacks.",
    hint: byReload(
      "Set `encoding` to what the sender writes, such as `windows-1252`, or have the file saved as UTF-8.",
    ),
  },
  FILE_NOT_REGULAR: {
    class: "permanent",
    reaches: "csv",
    meaning: "A link, pipe, socket, device or folder was dropped.",
    hint: "Drop a copy of the file itself.",
  },
  FILE_UNREADABLE: {
    class: "permanent",
    reaches: "csv",
    meaning: "Cryobridge may not read the dropped file.",
    hint: "Let Cryobridge's account read the file. If it lies in `error` by then, drop it again.",
  },
  FILE_TOO_LARGE: {
    class: "permanent",
    reaches: "csv",
    meaning: "The dropped file is larger, or has more rows, than the connector takes.",
    hint: "Split the file: each part of a CSV file needs the headings, all rows of its orders, and the `trailer` where the profile has one. Or set `maxBytes` of the connector higher, such as `maxBytes: 256MB`, restart the daemon, and drop the file again.",
  },
  FILE_CHANGED: {
    class: "transient",
    reaches: "nobody",
    meaning: "The file changed while it was read.",
    hint: "Have the sender rename the finished file into the folder, or use a marker file.",
  },
  FILE_DUPLICATE: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The same bytes came through this connector before. Nothing was done again.",
    hint: "Nothing, if the file was sent twice by mistake. To order the same again, use new order numbers. After a change of the profile or the connector: `cryobridge reload` or a restart, then `cryobridge messages replay ID` with the ids that `cryobridge messages list --verdict refused` shows.",
  },
  FILE_WHOLE_REFUSED: {
    class: "permanent",
    reaches: "csv",
    meaning: "The profile accepts whole files only, and parts of this one have mistakes.",
    hint: "Correct the mistakes that are named and drop the file again.",
  },
  FILE_NAME_TAKEN: {
    class: "permanent",
    reaches: "nobody",
    meaning: "The result folder has another file of this name.",
    hint: "Move that file away, then `cryobridge queue retry ID`.",
  },
  FILE_NOT_PLACED: {
    class: "transient",
    reaches: "nobody",
    meaning: "A result could not be given its name, or a file of that name can't be read.",
    hint: "`cryobridge queue list` shows the name. Move away what has it in the result folder, or correct its rights; the result is then sent by itself.",
  },
  FILE_FOLDER_UNUSABLE: {
    class: "permanent",
    reaches: "nobody",
    meaning: "A drop folder is missing, a link, not writable, or on another file system than its siblings.",
    hint: "Correct the folder that is named, then run `cryobridge check`.",
  },
  FILE_SYSTEM_ERROR: {
    class: "transient",
    reaches: "nobody",
    meaning: "A drop folder can't be read or written: full, read-only, or out of reach.",
    hint: "Free space, or repair the disk, the share or the folder's rights.",
  },
  CSV_COLUMN_MISSING: {
    class: "permanent",
    reaches: "csv",
    meaning: "The header lacks a column that the profile needs.",
    hint: byReload("Add the column, or name the right one in the profile."),
  },
  CSV_ORDER_INCOMPLETE: {
    class: "permanent",
    reaches: "csv",
    meaning: "A row that may belong to this order has no order number.",
    hint: "Correct the row that is named and send all rows of the order again.",
  },
  CSV_ROW_OF_REFUSED_ORDER: {
    class: "permanent",
    reaches: "csv",
    meaning: "Another row of this order was refused, so this one was not taken.",
    hint: "Correct the other row that is named, and send all rows of the order again; or give this row an order number of its own.",
  },
  CSV_ORDER_TOO_LARGE: {
    class: "permanent",
    reaches: "csv",
    meaning: "Too many rows share one order number.",
    hint: byReload(
      "Check that the profile's column for `placerOrderNumber` holds order numbers. An order that is really so large has to come in parts, each under its own number.",
    ),
  },
} as const;
