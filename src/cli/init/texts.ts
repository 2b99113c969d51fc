import { Document, isMap, isScalar, isSeq, type Pair, stringify, visit } from "yaml";
import { STABLE_FOR } from "../../config/connector-schema.ts";
import { CONSOLE_ADDRESS } from "../../config/schema.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import type { Peer } from "../arguments.ts";

export const CONNECTOR_TYPES = ["hl7-drop", "csv-drop", "mllp"] as const;
export type ConnectorType = (typeof CONNECTOR_TYPES)[number];

/** What a first configuration needs to know. */
interface Site {
  readonly service: string;
  readonly facilities: ReadonlyMap<string, number>;
  readonly connector: string;
  readonly type: ConnectorType;
  readonly profile: string;
  /** As the file says them: relative ones start at its folder. */
  readonly dataDir: string;
  readonly folder: string;
  /** Of the console. */
  readonly port: number;
  /** Only with the type mllp. */
  readonly mllp?: Mllp | undefined;
}

/** Where the lab's system connects, and where it takes results; undefined for files in a folder. */
export interface Mllp {
  readonly listen: Peer;
  readonly results: Peer | undefined;
}

/** Variables of the environment that the written file reads and that have no default, with what they are. */
export const VARIABLES = {
  STORAGE_CLIENT_ID: "the client id that the service's administrator gave you",
  STORAGE_CLIENT_SECRET: "its secret; or STORAGE_CLIENT_SECRET_FILE with the name of a file that holds it",
} as const;

/** A first configuration, each line that a person may have to change with a comment. */
export function configText(site: Site): string {
  const { service, facilities, dataDir, port } = site;
  const lines = [...facilities].map(([name, id]) => `  ${stringify({ [name]: id }).trimEnd()}`);
  return `# Written by cryobridge init. Relative paths start at the folder of this file. \${NAME} comes from the environment; with
# NAME_FILE set instead, from the file that it names. After a change: cryobridge check
# config/cryobridge.yaml of the package has every setting with its default.

# Folder of the embedded database, and of nothing else.
dataDir: ${scalar(dataDir)}

service:
  baseUrl: ${scalar(service)} # address of the Sample Storage Integration Service
  surface: request # or external: ask the service's administrator which one takes your orders
  auth:
    tokenUrl: ${scalar(`${service.replace(/\/+$/, "")}/oauth/token`)} # where the service gives out tokens: ask for it, too
    clientId: \${STORAGE_CLIENT_ID}
    clientSecret: \${STORAGE_CLIENT_SECRET} # stays out of this file
  # auth: { apiToken: "\${STORAGE_API_TOKEN}" } # the other way: a fixed token

# The lab's name for a facility, as in its messages: the service's id.
facilities:
${lines.join("\n")}

connectors:
${connectorLines(site)}

# The console's pages, for this machine alone. For others: another host, and a token or users (docs/guide/operations.md).
console: { host: ${CONSOLE_ADDRESS.host}, port: ${port} }
`;
}

function connectorLines({ connector, type, profile, folder, mllp }: Site): string {
  const head = `  - name: ${scalar(connector)} # in the console, the log and the metrics
    type: ${type}`;
  const tail = `    profile: ${scalar(profile)} # how its messages become orders`;
  if (mllp) {
    const { listen, results } = mllp;
    const to = results
      ? `${inline(results)} # the lab's system; or files: { directory: FOLDER }`
      : `${inline({ directory: `${folder}/results` })} # or the lab's system: { host: lims.example.org, port: 2576 }`;
    return `${head} # HL7 v2 over the network
    listen: ${inline(listen)} # where senders connect; 0.0.0.0 for all addresses of this machine
    results: ${to}
${tail}`;
  }
  return `${head} # ${type === "csv-drop" ? "CSV files" : "HL7 v2 files"} in a folder
    directory: ${scalar(folder)} # the lab drops into in/ and finds results in out/
    # marker: .ok # a file is taken once NAME.ok is there too; without this line once it is unchanged for ${STABLE_FOR}
${tail}`;
}

function inline(value: object): string {
  return stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
}

/** As YAML writes it on one line. */
function scalar(text: string): string {
  return stringify(text, { lineWidth: 0 }).trimEnd();
}

/**
 * A profile as a file for people: what it is for at the head, and a comment beside each setting.
 *
 * @param comments by the path of the setting, such as `subject.code`
 */
export function profileText(
  definition: ProfileDefinition,
  {
    head,
    comments,
    tail = [],
  }: {
    readonly head: readonly string[];
    readonly comments: ReadonlyMap<string, string>;
    /** What may be set besides, as comments at the end. */
    readonly tail?: readonly string[] | undefined;
  },
): string {
  const ordered = Object.entries(definition).sort(([one], [other]) => placeOf(one) - placeOf(other));
  const document = new Document(Object.fromEntries(ordered));
  visit(document, {
    Seq: (_, list) => {
      list.flow = true;
    },
    Pair: (_, pair, path) => {
      const parents = path.flatMap((node) => keyOf(node as Pair) ?? []);
      const comment = comments.get([...parents, String(pair.key)].join("."));
      if (comment === undefined) return;
      // Beside a value that stands on the same line; above what goes on below.
      if (isScalar(pair.value)) pair.value.comment = ` ${comment}`;
      else if ((isMap(pair.value) || isSeq(pair.value)) && isScalar(pair.key))
        pair.key.commentBefore = ` ${comment}`;
    },
  });
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: false });
  const commented = (lines: readonly string[]) => lines.map((line) => `${`# ${line}`.trimEnd()}\n`).join("");
  return `${commented(head)}${text}${commented(tail)}`;
}

/** How the messages are read, then what an order is of. */
const LAST = ["placerOrderNumber", "orders", "operation", "facility", "subject", "containers", "results"];

function placeOf(key: string): number {
  return LAST.indexOf(key);
}

function keyOf(node: Pair): string | undefined {
  return typeof node === "object" && node !== null && "key" in node ? String(node.key) : undefined;
}
