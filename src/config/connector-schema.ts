import path from "node:path";
import { z } from "zod";
import {
  duration,
  encoding,
  filePath,
  folderMode,
  host,
  mixedLineEnds,
  port,
  section,
  size,
  unterminated,
} from "./scalars.ts";

const listenTls = z.strictObject({
  cert: filePath("Certificate of this machine (PEM), followed by those of its authorities."),
  key: filePath("Key of the certificate (PEM)."),
  ca: filePath("Certificates (PEM) of the authorities that senders' certificates come from.").optional(),
  requestCert: z
    .boolean()
    .default(false)
    .describe("Whether senders must show a certificate from one of the authorities in ca (mutual TLS)."),
  allowSubjects: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      "Names of which a sender's certificate must have one, letter by letter: the CN of its subject, or a DNS name of its SAN. With requestCert; all certificates of the authorities may send when not set.",
    ),
});

const sendTls = z.strictObject({
  ca: filePath("Certificates (PEM) of the authorities to trust instead of the public ones.").optional(),
  cert: filePath("Certificate to show (PEM), with key.").optional(),
  key: filePath("Key of the certificate (PEM).").optional(),
  serverName: z
    .string()
    .min(1)
    .optional()
    .describe("Name that the lab system's certificate must have, when it is not host."),
});

/** An address or a network, in text. */
export const address = z
  .string()
  .regex(/^[0-9A-Fa-f:.]+(\/\d{1,3})?$/, {
    error: "expected an address such as 10.1.2.3 or a network such as 10.1.0.0/16",
  })
  .describe("An address, or a network such as 10.1.0.0/16.");

/** For so long a file must stay unchanged, unless the configuration says. */
export const STABLE_FOR = "2s";
/** Where senders connect unless the file says another place; the port is the one that IANA registers for HL7. */
export const MLLP_ADDRESS = { host: "127.0.0.1", port: 2575 } as const;

const listen = section({
  host: host("Address to listen on; 0.0.0.0 for all of this machine's.").default(MLLP_ADDRESS.host),
  port: z.int().min(0).max(65_535).default(MLLP_ADDRESS.port).describe("TCP port; 0 takes any free one."),
  allow: z
    .array(address)
    .default([])
    .describe("Who may connect; everyone who can reach the port when empty."),
  tls: listenTls.optional().describe("TLS; plain TCP when not set."),
  maxConnections: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe("Connections at once; a further one takes the place of the oldest idle one."),
  maxConnectionsPerAddress: z
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .describe("Connections of one address at once; a further one takes the place of its oldest idle one."),
  maxBytes: size("Largest message that is taken; a larger one ends its connection.").prefault("16MB"),
  maxMessages: z
    .int()
    .min(1)
    .max(100_000)
    .default(1_000)
    .describe("Messages of one frame, and batches of one frame; a frame with more is refused whole."),
  maxOpenBytes: size("Messages that have begun and not ended, all connections together.").prefault("256MB"),
  maxInFlight: z
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .describe("Messages of one connection that may be under way before it is read further."),
  idle: duration("A connection on which nothing comes for this long is closed.", { min: "1s" }).prefault(
    "1h",
  ),
  firstFrame: duration("A connection must have brought a whole message within.", { min: "100ms" }).prefault(
    "60s",
  ),
  frame: duration("A message that has begun must end within.", { min: "100ms" }).prefault("30s"),
});

const send = section({
  host: host("Host name or address of the lab system."),
  port: port("TCP port of the lab system."),
  tls: sendTls.optional().describe("TLS; plain TCP when not set."),
  connectTimeout: duration("How long a connection may take.", { min: "100ms" }).prefault("10s"),
  answerTimeout: duration("How long an acknowledgement is waited for.", { min: "100ms" }).prefault("30s"),
  acks: z
    .enum(["original", "accept", "application", "both"])
    .default("original")
    .describe(
      "Which acknowledgements of results the lab system is asked for (MSH-15, MSH-16): original leaves both empty, accept is AL and NE, application NE and AL, both AL and AL. Acknowledgements of ours ask for none by it.",
    ),
});

const folder = z.strictObject({
  directory: filePath("Folder where results appear as files instead, one message each."),
  folderMode: folderMode(
    "Rights of the folder when it is made; whom it lets read may read results.",
  ).prefault("0750"),
});

/** A connector of type `mllp`, without its name. */
const mllpConnector = {
  type: z.literal("mllp").describe("HL7 v2 messages over the network (MLLP)."),
  listen: listen.prefault({}).describe("Where senders connect."),
  results: z
    .union([send, folder], {
      error: "expected { host: …, port: … } of the lab system, or { directory: … } for files",
    })
    .describe("Where results go: host and port of the lab system, or directory for files."),
  answers: z
    .enum(["plain", "order"])
    .default("plain")
    .describe(
      "How messages in original mode are answered: plain (ACK) or order (ORR or ORL, with the orders echoed).",
    ),
  applicationAck: z
    .enum(["connection", "results"])
    .default("connection")
    .describe(
      "Where application acknowledgements of enhanced mode go (MSH-16): back on the connection after the accept acknowledgement, or with the results.",
    ),
  reusedControlId: z
    .enum(["take", "refuse"])
    .default("take")
    .describe(
      "A message with the control id of an earlier one and other content: take it, and show it as reused, or refuse it.",
    ),
  unterminated: unterminated(),
  mixedLineEnds: mixedLineEnds(),
  encoding: encoding(
    "Character encoding of the messages, over what they or the profile say. Bytes that are UTF-8 under another one are refused, unless it is { name: …, forced: true }.",
  ).optional(),
  profile: z.string().min(1).default("builtin/hl7-orders").describe("Name of the mapping profile."),
} as const;

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/, { error: "expected up to 40 letters, digits, - and _" })
  .describe("Name of the connector, unique; it appears in the console, the log and the metrics.");

const folders = {
  directory: filePath("Folder shared with the lab system; in, out, archive, error and work are made in it."),
  in: filePath("Folder where the lab drops files; DIRECTORY/in when not set.").optional(),
  out: filePath("Folder where results appear; DIRECTORY/out when not set.").optional(),
  archive: filePath("Folder where taken files are kept; DIRECTORY/archive when not set.").optional(),
  error: filePath(
    "Folder where refused files go, each with its reasons; DIRECTORY/error when not set.",
  ).optional(),
  work: filePath(
    "Folder for files that are being taken, on one file system with in; DIRECTORY/work when not set.",
  ).optional(),
  alertAfter: duration(
    "A file that lies in the folder for this long and is not taken, since its marker is missing, its name says that it isn't done or is none of `files`, it keeps changing or it is a folder, is shown in status and metrics.",
    { min: "1s" },
  ).prefault("10m"),
  folderMode: folderMode(
    "Rights of folders that are made; 2770 lets a group of the lab drop files. Results may be read by whom the folder lets read.",
  ).prefault("0750"),
  files: z
    .string()
    .regex(/^(?=.{1,100}$)[^*/]*(?:\*[^*/]*){0,3}$/, {
      error: "expected a pattern of names such as EXPORT_*.csv, with at most three *",
    })
    .optional()
    .describe(
      "Which files of the folder are taken, by their name, with * for any characters and ? for one, such as EXPORT_*.csv; upper and lower case are the same. Others stay where they are. All unless set.",
    ),
  stableFor: duration("How long a file must stay unchanged before it is taken.").prefault(STABLE_FOR),
  marker: z
    .string()
    .regex(/^(?:\{stem\})?\.[A-Za-z0-9_-]+$/, {
      error:
        'expected .ok (or another ending) where order.csv.ok announces order.csv, or "{stem}.ok" where order.ok does',
    })
    .optional()
    .describe(
      "Marker files: a file is taken only when its marker is there too, which is then removed. With .ok the marker of order.csv is order.csv.ok, with {stem}.ok it is order.ok.",
    ),
  repeatedFiles: z
    .enum(["report", "answer"])
    .default("report")
    .describe(
      "What a file gets that comes again with the same bytes, of which nothing is taken again: report notes it in the error folder; answer also sends again what answered the first one, byte for byte.",
    ),
  scanInterval: duration("How often the folder is looked through.", { min: "50ms", max: "1h" }).prefault(
    "2s",
  ),
  encoding: encoding(
    "Character encoding of the files, over what they or the profile say. Bytes that are UTF-8 under another one are refused, unless it is { name: …, forced: true }.",
  ).optional(),
};

/** A file is kept in memory while it is read. */
function largestFile() {
  return size("Largest file that is taken; at most 256MB.", { max: "256MB" }).prefault("64MB");
}

const hl7Drop = section({
  name,
  type: z.literal("hl7-drop").describe("HL7 v2 files in a folder."),
  ...folders,
  unterminated: unterminated(),
  mixedLineEnds: mixedLineEnds(),
  maxBytes: largestFile(),
  profile: z.string().min(1).default("builtin/hl7-orders").describe("Name of the mapping profile."),
});

const csvDrop = section({
  name,
  type: z.literal("csv-drop").describe("CSV files in a folder."),
  ...folders,
  maxBytes: largestFile(),
  profile: z.string().min(1).default("builtin/csv-orders").describe("Name of the mapping profile."),
  resultsEvery: duration("Result rows of one input file are gathered this long into one results file.", {
    max: "1d",
  }).prefault("5s"),
});

/** The section `connectors`: the ways in and out on the lab's side. */
export const connectorsSchema = z
  .array(z.discriminatedUnion("type", [hl7Drop, csvDrop, z.strictObject({ name, ...mllpConnector })]))
  .min(1)
  .describe("The ways in and out on the lab's side; at least one.");

/** `work` holds files between being claimed and being archived. */
export const DIRECTORY_ROLES = ["in", "out", "archive", "error", "work"] as const;
export type DirectoryRole = (typeof DIRECTORY_ROLES)[number];

/** The folders of a drop connector. Also used before validation, hence the loose input. */
export function directoriesOf(
  connector: { readonly directory: string } & Partial<Record<DirectoryRole, string | undefined>>,
): Readonly<Record<DirectoryRole, string>> {
  const directory = (role: DirectoryRole) => connector[role] ?? path.join(connector.directory, role);
  return {
    in: directory("in"),
    out: directory("out"),
    archive: directory("archive"),
    error: directory("error"),
    work: directory("work"),
  };
}
