/** An ORM^O01 of an invented patient, by lines. */
export const ORDER_LINES = [
  "MSH|^~\\&|LIMS^1.2.3^ISO|NORTH|CRYO|BANK|20261121093000||ORM^O01|MSG0001|P|2.3|||AL|NE||8859/1",
  "PID|1||A17^^^CLINIC^MR~998^^^STATE^NI||Larsen&van^Mia^K||19840229|F",
  "ORC|NW|PO-1^LIMS",
  "OBR|1|PO-1^LIMS||CRYO-STORE^Store in cryo storage",
  "OBX|1|TX|LABEL||V-1",
  "OBX|2|TX|LABEL||V-2",
  "NTE|1||kept \\T\\ sealed\\.br\\twice",
] as const;

/** The same as one text, CR after every segment. */
export const ORDER = `${ORDER_LINES.join("\r")}\r`;

/** A message of a type, with the segments given after MSH. */
export function messageOf(type: string, ...segments: string[]): string {
  return `${[`MSH|^~\\&|LIMS|NORTH|CRYO|BANK|20261121||${type}|M1|P|2.5`, ...segments].join("\r")}\r`;
}
