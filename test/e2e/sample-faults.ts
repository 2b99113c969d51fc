/** Place and words of what is wrong with each broken sample, in its report. */
export const FAULTS: Readonly<Record<string, readonly string[]>> = {
  "lims-empty.hl7": ["file: expected at least one message, found nothing"],
  "lims-binary.hl7": ["byte 8: expected HL7 text, found a NUL byte"],
  "lims-no-msh.hl7": ["line 1: expected a message that begins with MSH; the file has no MSH at all"],
  "lims-wrong-version.hl7": ['message 1, MSH-12: holds "3.0", expected one of 2.3, 2.4, 2.5, 2.6, 2.7, 2.8'],
  "lims-wrong-encoding.hl7": ["message 1, line 2: byte 137 of the message is not utf-8"],
  "lims-no-pid.hl7": ["message 1, PID: no PID segment, expected the patient"],
  "lims-no-container.hl7": [
    "message 1, ORC: no container (SAC or SPM or OBX or OBR) in the order, expected at least one for STORE",
  ],
  "lims-label-twice.hl7": [
    "message 1, SAC[2]-3.1: gives the same label as SAC-3.1; each container of an order needs its own",
  ],
  "lims-impossible-date.hl7": [
    "message 1, PID-7: is a day or time that does not exist, expected a full date as YYYYMMDD or YYYY-MM-DD",
  ],
  "lims-one-of-three.hl7": [
    'message 2, MSH-4.1: names facility "WEST", which is not known here; expected one of NORTH, SOUTH',
    "message 2, PID-7: has only a year and a month, expected a full date as YYYYMMDD or YYYY-MM-DD",
  ],
  "bench-empty.csv": ["file: expected a header and rows, found nothing"],
  "bench-missing-column.csv": [
    'header: expected a column named "container_label"; none of the file\'s 8 columns is',
  ],
  "bench-doubled-column.csv": ["line 1: columns 3 and 10 have the same name"],
  "bench-ragged-row.csv": ["line 3: expected 9 columns, found 10"],
  "bench-impossible-date.csv": [
    "line 2, column date_of_birth: expected a day that exists, written as yyyy-MM-dd",
    "line 3, column date_of_birth: expected a day that exists, written as yyyy-MM-dd",
  ],
  "bench-label-twice.csv": [
    "line 3, column container_label: gives the same label as line 2, column container_label; each container of an order needs its own",
    "line 2: not taken, since line 3 is of the same order and was refused",
  ],
  "bench-wrong-encoding.csv": ["line 3: byte 219 of the file is not utf-8"],
};

/** Place and words of what each sample with an unknown code waits for. */
export const WAITS: Readonly<Record<string, readonly string[]>> = {
  "lims-unknown-code.hl7": [
    'message 1, OBR-4.1: holds "CRYO-MOVE", expected one of CRYO-STORE, CRYO-RETRIEVE',
  ],
  "bench-unknown-facility.csv": [
    'line 2, column facility: names facility "EAST", which is not known here; expected one of NORTH, SOUTH',
  ],
};
