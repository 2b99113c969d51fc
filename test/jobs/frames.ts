/** HL7 messages and batches as a peer could make them, with many times the same. */

const MSH = (type: string) => `MSH|^~\\&|LIMS|NORTH|CRYO|STORE|20261120101500||${type}|M1|P|2.5.1`;
export const PID = "PID|1||S-1^^^^MR||Doe^Jane||19900131|F";
export const order = (n: number) => [
  `ORC|NW|A-${n}`,
  `OBR|1|A-${n}||CRYO-STORE`,
  `SPM|1|P${n}||EMB`,
  `SAC|||V-${n}`,
];
export const many = (count: number, make: (n: number) => string | readonly string[]) =>
  Array.from({ length: count }, (_, n) => make(n)).flat();
export const message = (type: string, ...segments: (string | readonly string[])[]) =>
  `${[MSH(type), ...segments.flat()].join("\r")}\r`;

/** Makes a frame that grows with a number. */
type Grow = (count: number) => string;

/** Such frames by what grows in them. */
export const FRAMES: Record<string, Grow> = {
  "batch headers": (count) => many(count, () => "BHS|^~\\&|L|N").join("\r"),
  "empty batches": (count) => many(count, (n) => [`BHS|^~\\&|L|N|||||||B${n}`, "BTS|0"]).join("\r"),
  "batch trailers": (count) => many(count, () => "BTS|0").join("\r"),
  "file headers": (count) => many(count, () => "FHS|^~\\&|L|N").join("\r"),
  "empty headers": (count) => many(count, () => "MSH|^~\\&|LIMS|NORTH").join("\r"),
  "line ends": (count) => `${MSH("OML^O21")}${"\n".repeat(count)}`,
  "end blocks": (count) => `${MSH("OML^O21")}${"\x1c".repeat(count)}`,
  "lines of a space": (count) => `${MSH("OML^O21")}\r${" \r".repeat(count)}`,
  "broken segments": (count) =>
    message(
      "OML^O21",
      many(count, () => "x|y"),
    ),
  "notes and orders": (count) =>
    message(
      "ORM^O01",
      PID,
      many(count, () => "NTE"),
      many(count, order),
    ),
  "notes and merges": (count) =>
    message(
      "ADT^A40",
      many(count, () => "NTE"),
      many(count, (n) => [`PID|1||S-${n}^^^^MR||Doe^Jane`, `MRG|T-${n}^^^^MR`]),
    ),
  "merges that are wrong": (count) =>
    message(
      "ADT^A40",
      many(count, () => "PID|1"),
    ),
};

/** Names of some of them: each thing that grows is among them, in one of the types or in every third field. */
export const SOME_FRAMES = Object.keys(FRAMES);

const TYPES = ["ORM^O01", "OML^O21^OML_O21", "OML^O33^OML_O33", "OML^O35^OML_O35"];
for (const [nth, type] of TYPES.entries()) {
  const shapes: Record<string, Grow> = {
    orders: (count) => message(type, PID, many(count, order)),
    "orders of one number": (count) =>
      message(
        type,
        PID,
        many(count, (n) => [`ORC|NW|A^L${n}`, ...order(n).slice(1)]),
      ),
    "orders of one number and many authorities": (count) =>
      message(
        type,
        PID,
        many(count, (n) => [`ORC|NW|A^L^U${n}^T${n}`, ...order(n).slice(1)]),
      ),
    "orders without numbers": (count) =>
      message(
        type,
        PID,
        many(count, () => "ORC|NW"),
        order(1),
      ),
    cancellations: (count) =>
      message(
        type,
        PID,
        many(count, (n) => `ORC|CA|A-${n}`),
      ),
    changes: (count) =>
      message(
        type,
        PID,
        many(count, (n) => order(n).map((line) => line.replace("NW", "XO"))),
      ),
    containers: (count) =>
      message(
        type,
        PID,
        order(1),
        many(count, (n) => `SAC|||W-${n}`),
      ),
    "containers and notes": (count) =>
      message(
        type,
        PID,
        many(count, () => "NTE"),
        order(1),
        many(count, (n) => `SAC|||W-${n}`),
      ),
    "containers before orders": (count) =>
      message(
        type,
        PID,
        "SPM|1|P",
        many(count, (n) => `SAC|||W-${n}`),
        many(count, (n) => order(n).slice(0, 2)),
      ),
    "containers before orders of one number": (count) =>
      message(
        type,
        PID,
        "SPM|1|P",
        many(count, (n) => `SAC|||W-${n}`),
        many(count, () => order(1).slice(0, 2)),
      ),
    "containers without labels before orders": (count) =>
      message(
        type,
        PID,
        "SPM|1",
        many(count, () => "SAC|"),
        many(count, (n) => order(n).slice(0, 2)),
      ),
    "containers with observations": (count) =>
      message(
        type,
        PID,
        order(1).slice(0, 3),
        many(count, (n) => [`SAC|||W-${n}`, `OBX|1|ST|VOL||${n}`, "ZBX|1|x"]),
      ),
    "notes before orders of one specimen": (count) =>
      message(
        type,
        PID,
        "SPM|1|P",
        many(count, () => "NTE|1||x"),
        many(count, (n) => order(n).slice(0, 2)),
      ),
    "notes and requests of one order": (count) =>
      message(
        type,
        PID,
        "ORC|NW|A-1",
        many(count, () => "NTE"),
        many(count, () => "OBR|1|A-1||CRYO-STORE"),
      ),
    observations: (count) =>
      message(
        type,
        PID,
        order(1),
        many(count, (n) => `OBX|${n}|ST|LABEL||V-${n}`),
      ),
    "patients' notes": (count) =>
      message(
        type,
        PID,
        many(count, () => "NTE|1||x"),
        order(1),
      ),
  };
  for (const [shape, [what, make]] of Object.entries(shapes).entries()) {
    const name = `${what} of ${type}`;
    FRAMES[name] = make;
    if (shape % TYPES.length === nth) SOME_FRAMES.push(name);
  }
}
const FIELDS: Record<string, (text: string) => string> = {
  "MSH-3": (text) => message("ORM^O01", PID, order(1)).replace("LIMS", text),
  "MSH-10": (text) => message("ORM^O01", PID, order(1)).replace("M1", text),
  "MSH-18": (text) => message("ORM^O01", PID, order(1)).replace("2.5.1", `2.5.1||||||${text}`),
  "PID-3": (text) => message("ORM^O01", `PID|1||${text}||Doe^Jane`, order(1)),
  "PID-5": (text) => message("ORM^O01", `PID|1||S-1^^^^MR||${text}`, order(1)),
  "ORC-2": (text) => message("OML^O21", PID, `ORC|NW|${text}`, order(1).slice(1)),
  "OBR-4": (text) => message("OML^O21", PID, "ORC|NW|A", `OBR|1|A||${text}`, order(1).slice(2)),
  "SAC-3": (text) => message("OML^O21", PID, order(1).slice(0, 3), `SAC|||${text}`),
  "NTE-3": (text) => message("OML^O21", PID, order(1), `NTE|1||${text}`),
};
const PIECES: Record<string, string> = {
  repetitions: "S-1^^^^MR~",
  "empty repetitions": "~",
  components: "^",
  subcomponents: "&",
  fields: "|",
  escapes: "\\F\\",
  "escaped bytes": "\\X41\\",
  "escape characters": "\\",
  letters: "a",
  "control characters": "\x01",
};
for (const [nth, [field, make]] of Object.entries(FIELDS).entries()) {
  for (const [kind, [what, piece]] of Object.entries(PIECES).entries()) {
    const name = `${what} in ${field}`;
    FRAMES[name] = (count) => make(piece.repeat(count));
    if ((nth + kind) % 3 === 0) SOME_FRAMES.push(name);
  }
}
