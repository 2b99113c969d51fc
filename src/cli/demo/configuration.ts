import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DEFAULT_ORGANIZATION } from "../../simulator/options.ts";
import { SAMPLES_FOLDER, SENDERS, type Sender } from "./senders.ts";

/** What the demonstration's configuration depends on. */
export interface DemoSettings {
  /** Address of the simulated service. */
  readonly serviceUrl: string;
  readonly consolePort: number;
  /** Where the ledger is, as the configuration writes it. */
  readonly dataDir: string;
}

/**
 * Puts a configuration and the profiles that it names into a folder, and gives the configuration's path. It works for
 * every command afterwards, as long as the simulated service runs.
 */
export async function writeConfiguration(folder: string, settings: DemoSettings): Promise<string> {
  const file = join(folder, "cryobridge.yaml");
  await cp(join(SAMPLES_FOLDER, "profiles"), join(folder, "profiles"), { recursive: true });
  await writeFile(file, encodeConfiguration(settings));
  return file;
}

/** The configuration as text, with comments for whoever looks at it to write a first one. */
export function encodeConfiguration({ serviceUrl, consolePort, dataDir }: DemoSettings): string {
  const [client] = DEFAULT_ORGANIZATION.clients;
  return `# Written anew by each \`cryobridge demo\`. A configuration for a real lab begins like config/cryobridge.yaml; this one
# differs in what is marked "demo": everything is hurried so that a person can watch it.

# The ledger: PostgreSQL, run by the daemon.
dataDir: ${dataDir}

service:
  # demo: the simulated service, which forgets everything when it ends
  baseUrl: ${serviceUrl}
  surface: request
  auth:
    tokenUrl: ${serviceUrl}/oauth/token
    clientId: ${client?.clientId}
    # A secret comes from the environment or a file. demo: the simulator's, which is none
    clientSecret: \${STORAGE_CLIENT_SECRET:-${client?.clientSecret}}
  # demo: 15s unless set
  timeout: 5s
  # demo: a real service is asked after 60s, and then less and less often, up to every 15m
  polling: { first: 500ms, max: 2s, factor: 1.5 }
  # demo: how long the traces of a call without an answer are looked for; 15m unless set
  settle: { looks: [1s, 3s], after: 15s }

# The lab's name for a facility: the service's id.
facilities:
${DEFAULT_ORGANIZATION.facilities.map(({ id, name }) => `  ${name.toUpperCase()}: ${id}`).join("\n")}

# Each with its folders in, out, archive and error. demo: files are taken and results are written at once.
connectors:
${SENDERS.map(encodeConnector).join("\n")}

# The profiles of the senders with words of their own are in profiles/.

console: { host: 127.0.0.1, port: ${consolePort} }

log: { level: info, pretty: false }
`;
}

function encodeConnector({ name, type, profile, about }: Sender): string {
  const gathering = type === "csv-drop" ? "\n    resultsEvery: 1s" : "";
  return `  # ${about}
  - name: ${name}
    type: ${type}
    directory: ./${name}
    profile: ${profile}
    settle: 300ms
    scanInterval: 500ms${gathering}`;
}
