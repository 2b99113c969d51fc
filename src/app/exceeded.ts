import { X509Certificate } from "node:crypto";
import { realpath, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type pg from "pg";
import type { AlertsConfig } from "../config/alerts-schema.ts";
import { type Config, isFolderConnector } from "../config/config.ts";
import { directoriesOf } from "../config/connector-schema.ts";
import { aboutOn } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { type Condition, condition } from "../core/condition.ts";
import { formatDuration, formatMinute } from "../core/duration.ts";
import { MOST_PEM_BYTES, openGivenFile } from "../core/given-file.ts";
import type { PeerCertificates } from "../core/peer-certificates.ts";
import { msWithin } from "../core/weekly.ts";
import { patiently } from "../core/within.ts";
import { findLatestBackup } from "../ledger/backup/old.ts";
import { type Pace, readPace } from "../ledger/operator/pace.ts";

/** A disk that does not answer, such as one of a server that is away, must not keep everything else from being known. */
const WITHIN_MS = 2_000;

/** The machine whose limits are looked at. */
interface Machine {
  /** Its name. */
  readonly host: string;
  readonly clock: Clock;
  /** What other machines showed to it. */
  readonly peers?: Pick<PeerCertificates, "list"> | undefined;
}

/** What finds out which limits of the configuration are exceeded, as the ledger has it. */
export function exceededLimitsOf(
  pool: pg.Pool,
  config: Pick<Config, "alerts" | "connectors" | "lanes">,
  clock: Clock,
): () => Promise<readonly Condition[]> {
  return async () => {
    const { alerts } = config;
    const states = Object.keys(alerts.rules.ordersOld.above);
    // Through one that waits for a restart nothing can come.
    const running = new Set(config.connectors.map(({ name }) => name));
    const connectors = alerts.expectTraffic
      .map(({ connector }) => connector)
      .filter((name) => running.has(name));
    const now = new Date(clock.now());
    const [pace, backup] = await Promise.all([
      readPace(pool, states, connectors, config.lanes.parkedBlocks),
      oldBackup(pool, config),
    ]);
    return [...exceededPace(pace, alerts, now), ...backup];
  };
}

/** The secrets to which the configuration gives an end that is near, or has come. */
export function endingSecrets({ alerts }: Pick<Config, "alerts">, now: Date): Condition[] {
  const { withinMs } = alerts.rules.secretExpiring;
  return alerts.expiries.flatMap(({ name, on }) =>
    ending("secretExpiring", name, name, new Date(`${on}T00:00`), withinMs, now),
  );
}

/**
 * What finds out which limits are exceeded that each machine has for itself: its disks, and the ends of certificates, its own and
 * those that other machines showed to it.
 */
export function machineConditionsOf(
  config: Pick<Config, "alerts" | "connectors" | "database" | "dataDir" | "queue" | "service">,
  { host, clock, peers }: Machine,
): () => Promise<readonly Condition[]> {
  const disks = fullDisksOf(config, host, clock);
  const certificates = patiently(
    () => endingCertificates(config, host, new Date(clock.now())),
    WITHIN_MS,
    clock,
  );
  return async () => {
    const { withinMs } = config.alerts.rules.certificateExpiring;
    const now = new Date(clock.now());
    const [full, own] = await Promise.all([disks(), certificates()]);
    return [
      ...full,
      ...(own.value ?? []),
      // The same certificate, whichever machine it was shown to.
      ...(peers?.list() ?? []).flatMap(({ peer, endsAt }) => {
        const noun = `the certificate of ${peer}`;
        return ending("certificateExpiring", `of ${peer}`, noun, endsAt, withinMs, now);
      }),
    ];
  };
}

/** The certificates of the configuration that end soon, or have ended. */
export async function endingCertificates(
  config: Pick<Config, "alerts" | "connectors" | "queue" | "service">,
  host: string,
  now: Date,
): Promise<readonly Condition[]> {
  const { withinMs } = config.alerts.rules.certificateExpiring;
  return (await readCertificates(config)).flatMap(({ file, endsAt }) => {
    const noun = `the certificate ${file}`;
    return ending("certificateExpiring", aboutOn(host, file), noun, endsAt, withinMs, now);
  });
}

/** Which limits of age, failures, refusals and traffic are exceeded. */
export function exceededPace(
  { oldest, ended, messages, latest }: Pace,
  { rules, expectTraffic }: Pick<AlertsConfig, "rules" | "expectTraffic">,
  now: Date,
): Condition[] {
  const oldMs = new Map<string, number>(Object.entries(rules.ordersOld.above));
  const isExceeded = ({ wrong, all }: Pace["ended"], { above, atLeast }: (typeof rules)["ordersFailing"]) =>
    all >= atLeast && (wrong * 100) / all > above;
  const old = oldest.flatMap(({ state, since }): Condition[] => {
    const limitMs = oldMs.get(state) ?? Number.POSITIVE_INFINITY;
    if (now.getTime() - since.getTime() <= limitMs) return [];
    const text = `the oldest order that is ${state} has been so for longer than ${formatDuration(limitMs)}`;
    const command = `cryobridge orders list --state ${state}`;
    return [condition("ordersOld", state, text, { since: since.toISOString(), command })];
  });
  const failed: Condition[] = isExceeded(ended, rules.ordersFailing)
    ? [
        condition(
          "ordersFailing",
          "",
          `${ended.wrong} of the ${ended.all} orders that ended within the last hour failed`,
          { command: "cryobridge orders list --state failed" },
        ),
      ]
    : [];
  const refusals = messages.flatMap((each): Condition[] => {
    if (!isExceeded(each, rules.messagesRefused)) return [];
    const { connector, wrong, all } = each;
    const text = `${wrong} of the ${all} messages of the last hour through ${connector} were refused`;
    const command = `cryobridge messages list --verdict refused --connector ${connector} --since 1h`;
    return [condition("messagesRefused", connector, text, { level: "look", command })];
  });
  const latestByConnector = new Map(latest.map((each) => [each.connector, each]));
  const quiet = expectTraffic.flatMap((expected): Condition[] => {
    const { connector, quietForMs } = expected;
    const { at, since } = latestByConnector.get(connector) ?? {};
    const from = at ?? since;
    if (from === undefined || msWithin(expected, from, now) <= quietForMs) return [];
    const when = at === undefined ? "none ever came" : `the last came at ${formatMinute(at)}`;
    const text = `no message came through ${connector} for longer than ${formatDuration(quietForMs)}: ${when}`;
    return [condition("noTraffic", connector, text)];
  });
  return [...old, ...failed, ...refusals, ...quiet];
}

/** Whether the last backup is too old. A server's own means of backup are not known here. */
async function oldBackup(pool: pg.Pool, { alerts }: Pick<Config, "alerts">): Promise<Condition[]> {
  const { on, aboveMs: most } = alerts.rules.backupOld;
  if (!on || most === undefined) return [];
  const { at, ageMs } = await findLatestBackup(pool);
  if (ageMs <= most) return [];
  const which = at === undefined ? "none was ever made" : `the last is of ${formatMinute(at)}`;
  const text = `the ledger has had no backup for longer than ${formatDuration(most)}: ${which}`;
  return [condition("backupOld", "", text, { since: at?.toISOString() ?? null })];
}

const DAY_MS = 86_400_000;

function ending(
  kind: "certificateExpiring" | "secretExpiring",
  about: string,
  noun: string,
  endsAt: Date,
  withinMs: number,
  now: Date,
): Condition[] {
  const leftMs = endsAt.getTime() - now.getTime();
  if (leftMs > withinMs) return [];
  const days = Math.floor(leftMs / DAY_MS);
  const when = leftMs <= 0 ? "ended" : `ends in ${days === 1 ? "1 day" : `${days} days`}`;
  const text = `${noun} ${when}, at ${formatMinute(endsAt)}`;
  return [condition(kind, about, text)];
}

/** Certificates of the configuration, each with its end; of a file with several the first end. */
async function readCertificates(
  config: Pick<Config, "alerts" | "connectors" | "queue" | "service">,
): Promise<{ file: string; endsAt: Date }[]> {
  const files = [
    config.service.ca,
    config.queue.backend === "redis" ? config.queue.ca : undefined,
    ...config.alerts.to.map((place) => ("ca" in place ? place.ca : undefined)),
    ...config.connectors.flatMap((connector) => {
      if (isFolderConnector(connector)) return [];
      const sending = "directory" in connector.results ? undefined : connector.results.tls;
      return [connector.listen.tls, sending].flatMap((tls) => [tls?.cert, tls?.ca]);
    }),
  ];
  const named = [...new Set(files)].filter((file) => file !== undefined);
  const found = await Promise.all(
    named.map(async (file) => {
      const ends = firstEnd(await readPem(file));
      return ends === undefined ? [] : [{ file, endsAt: ends }];
    }),
  );
  return found.flat();
}

/** Nothing of one that can't be read: the connector or the service complains of it. */
async function readPem(file: string): Promise<string> {
  const found = await openGivenFile(file);
  if ("problem" in found) return "";
  const { handle, stats } = found;
  try {
    return stats.size > MOST_PEM_BYTES ? "" : await handle.readFile("utf8");
  } catch {
    return "";
  } finally {
    await handle.close();
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** When the first of the certificates of a PEM text ends; undefined where there is none that can be read. */
function firstEnd(text: string): Date | undefined {
  const ends = (text.match(PEM) ?? []).flatMap((pem) => {
    try {
      return [new X509Certificate(pem).validToDate.getTime()];
    } catch {
      return [];
    }
  });
  return ends.length === 0 ? undefined : new Date(Math.min(...ends));
}

/**
 * What finds out which disks of the embedded ledger and the drop folders are nearly full. One that does not answer is named, and
 * keeps nothing of the others from being known.
 */
export function fullDisksOf(
  config: Pick<Config, "alerts" | "connectors" | "database" | "dataDir">,
  host: string,
  clock: Clock,
): () => Promise<readonly Condition[]> {
  const folders = [
    ...(config.database.url === undefined ? [config.dataDir] : []),
    ...config.connectors.filter(isFolderConnector).flatMap((each) => Object.values(directoriesOf(each))),
  ];
  const readers = [...new Set(folders)].map((folder) => ({
    folder,
    read: patiently(
      () => readFullDisk(folder, host, config.alerts.rules.diskFilling.above),
      WITHIN_MS,
      clock,
    ),
  }));
  return async () => {
    const found = await Promise.all(readers.map(async ({ folder, read }) => ({ folder, ...(await read()) })));
    const limits = new Map<string, Condition>();
    for (const { folder, value, isLate } of found) {
      const silent = `the disk of ${folder} does not answer`;
      if (!isLate && value === undefined) continue;
      const about = value?.about ?? aboutOn(host, folder);
      const text = isLate || value === undefined ? silent : value.text;
      if (!limits.has(about)) limits.set(about, condition("diskFilling", about, text));
    }
    return [...limits.values()];
  };
}

/** Undefined where there is room; and for a folder that isn't there, or can't be read: that is its connector's trouble. */
async function readFullDisk(
  folder: string,
  host: string,
  mostPercent: number,
): Promise<Pick<Condition, "about" | "text"> | undefined> {
  try {
    const { blocks, bfree, bavail, bsize } = await statfs(folder);
    const percent = ((blocks - bfree) * 100) / Math.max(1, blocks - bfree + bavail);
    if (percent <= mostPercent) return undefined;
    const left = Math.floor((bavail * bsize) / 1024 ** 2);
    const text = `the disk of ${folder} is ${Math.floor(percent)} % full: ${left} MB are left`;
    return { about: aboutOn(host, await mountOf(folder)), text };
  } catch {
    return undefined;
  }
}

/** Where the disk of a folder begins: the same for two daemons that have different folders on it. */
async function mountOf(folder: string): Promise<string> {
  let found = await realpath(folder);
  const { dev } = await stat(found);
  for (let above = dirname(found); above !== found; above = dirname(found)) {
    if ((await stat(above)).dev !== dev) break;
    found = above;
  }
  return found;
}
