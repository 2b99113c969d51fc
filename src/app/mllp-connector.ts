import type { MllpConnectorConfig, TlsFiles } from "../config/mllp-schema.ts";
import { systemFileOps } from "../connectors/drop-folder/file-ops.ts";
import { makeFolder, resultModeOf } from "../connectors/drop-folder/layout.ts";
import { deliverFile, removeStaleTemporaries } from "../connectors/drop-folder/outbox.ts";
import { createMllp, type MllpConnector, type MllpSettings } from "../connectors/mllp/mllp.ts";
import type { Clock } from "../core/clock.ts";
import { Failure } from "../core/failures.ts";
import { MOST_PEM_BYTES, readGivenFile } from "../core/given-file.ts";
import type { Intake } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import { charsetOf } from "./file-format.ts";
import type { TakenBack } from "./taken-back.ts";

export interface MllpConnectorDeps {
  readonly intake: Intake;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent where nothing is delivered. */
  readonly takenBack?: TakenBack | undefined;
}

/**
 * An MLLP connector as its configuration describes it.
 * @throws Failure CONFIG_INVALID for a certificate that can't be read or an address that is none.
 */
export function createMllpConnector(
  config: MllpConnectorConfig,
  profile: Profile,
  deps: MllpConnectorDeps,
): MllpConnector {
  const { name, listen } = config;
  const charset = charsetOf(config, profile.format === "hl7" ? profile : { encoding: undefined });
  try {
    const settings: MllpSettings = {
      name,
      listen: {
        ...listen,
        charset,
        tls: listen.tls && {
          ...readPem(name, listen.tls),
          requestCert: listen.tls.requestCert,
          allowSubjects: listen.tls.allowSubjects,
        },
      },
      results: resultsOf(config, deps.clock),
    };
    const { takenBack } = deps;
    const onTakenBack = takenBack && ((file: string, answer: string) => takenBack(name, file, answer));
    return createMllp(settings, { ...deps, onTakenBack });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Failure("CONFIG_INVALID", `connector ${name}: listen.allow: ${error.message}`);
  }
}

function resultsOf({ name, results }: MllpConnectorConfig, clock: Clock): MllpSettings["results"] {
  if ("directory" in results) {
    const { directory, folderMode } = results;
    return {
      prepare: async () => {
        await makeFolder(directory, folderMode);
        await removeStaleTemporaries(directory, clock);
      },
      put: (file) =>
        deliverFile(file, {
          folder: directory,
          mode: resultModeOf(folderMode),
          ops: systemFileOps,
          step: () => Promise.resolve(),
        }),
      check: () => Promise.resolve([{ subject: "results", isOk: true, detail: `files in ${directory}` }]),
    };
  }
  const { tls, ...rest } = results;
  return {
    ...rest,
    tls: tls && { ...readPem(name, tls), servername: tls.serverName ?? results.host },
  };
}

function readPem(name: string, files: TlsFiles): { cert?: Buffer; key?: Buffer; ca?: Buffer } {
  const read = (file: string) => {
    const given = readGivenFile(file, MOST_PEM_BYTES);
    if ("bytes" in given) return given.bytes;
    throw new Failure("CONFIG_INVALID", `connector ${name}: ${file}: ${given.problem}`);
  };
  return {
    ...(files.cert === undefined ? {} : { cert: read(files.cert) }),
    ...(files.key === undefined ? {} : { key: read(files.key) }),
    ...(files.ca === undefined ? {} : { ca: read(files.ca) }),
  };
}
