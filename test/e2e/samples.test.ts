import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { dropSample, listSamples, SAMPLES_FOLDER, type Sample } from "../../src/cli/demo/samples.ts";
import { problemSentence } from "../../src/core/failures.ts";
import { isTerminal } from "../../src/core/order-state.ts";
import { formatId } from "../../src/ledger/ids.ts";
import { listMessages } from "../../src/ledger/messages/views.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { FAULTS, WAITS } from "./sample-faults.ts";
import { readSampleTables } from "./sample-tables.ts";

/** What became of a sample. */
interface Fate {
  readonly orders: readonly { readonly number: string; readonly state: string }[];
  /** Place and words of each problem, as the report for people tells them. */
  readonly problems: readonly string[];
  /** Place and words of what its messages wait for. */
  readonly waits: readonly string[];
}

const samples = await listSamples();
const tables = await readSampleTables();
let fates: ReadonlyMap<string, Fate>;

beforeAll(async () => {
  const { connectors: senders } = parse(await readFile(join(SAMPLES_FOLDER, "cryobridge.yaml"), "utf8"));
  const connectors = senders.map(({ name, type, profile }: Readonly<Record<string, string>>) => ({
    ...{ name, type, profile, directory: name, stableFor: "50ms", scanInterval: "500ms" },
    ...(type === "csv-drop" && { resultsEvery: "200ms" }),
  }));
  const config = { profilesDir: join(SAMPLES_FOLDER, "profiles"), connectors };
  fates = await withSite({ config }, async (site) => {
    await site.start();
    for (const sample of samples) await dropSample(site.folder, sample);
    return eventually(() => findFates(site), { what: "every sample at its end" });
  });
});

describe("a good sample", () => {
  test.each(samples.filter(({ kind }) => kind === "good"))("$fileName is carried out", ({ fileName }) => {
    const orders = cellsOf(fileName).flatMap(([, numbers = ""]) => numbers.split(", "));
    expect(fates.get(fileName)).toEqual({
      problems: [],
      waits: [],
      orders: orders.map((number) => ({ number, state: "completed" })),
    });
  });
});

describe("a broken sample", () => {
  test.each(samples.filter(({ kind }) => kind === "broken"))(
    "$fileName is refused with the place and what is wrong there",
    ({ fileName }) => {
      expect(fates.get(fileName)?.problems).toEqual(FAULTS[fileName]);
    },
  );

  test.each([
    ["lims-one-of-three.hl7", ["BR-911", "BR-913"]],
    ["bench-impossible-date.csv", ["BX-933"]],
  ])("%s loses only what is wrong in it", (fileName, numbers) => {
    expect(fates.get(fileName)?.orders).toEqual(numbers.map((number) => ({ number, state: "completed" })));
  });

  test("bench-ragged-row.csv is damaged, and none of its orders is taken", () => {
    expect(fates.get("bench-ragged-row.csv")?.orders).toEqual([]);
  });
});

describe("a sample with an unknown code", () => {
  test.each(samples.filter(({ kind }) => kind === "waiting"))(
    "$fileName waits for it, and is not at fault",
    ({ fileName }) => {
      const { problems, waits } = fates.get(fileName) ?? {};
      expect({ problems, waits }).toEqual({ problems: [], waits: WAITS[fileName] });
    },
  );

  test("bench-unknown-facility.csv loses none of its other rows", () => {
    expect(fates.get("bench-unknown-facility.csv")?.orders).toEqual([
      { number: "BX-922", state: "completed" },
    ]);
  });
});

/** Undefined until every file is taken or refused, and every order has come to its end. */
async function findFates(site: Site): Promise<ReadonlyMap<string, Fate> | undefined> {
  const found = new Map<string, Fate>();
  // The files first: what the ledger has of a file that is done with is all there is to be of it.
  const problemsOf = new Map<Sample, string[]>();
  for (const sample of samples) {
    const problems = await readProblems(site, sample);
    if (problems.length === 0 && !(await isArchived(site, sample))) return undefined;
    problemsOf.set(sample, problems);
  }
  const [orders, messages] = [await site.orders(), await listMessages(site.pool, { limit: 1_000 })];
  if (!orders.every(({ state }) => isTerminal(state) || state === "parked")) return undefined;
  const orderById = new Map(orders.map((order) => [formatId("o", order.id), order]));
  for (const sample of samples) {
    const ids = messages.filter(
      ({ connector, fileName }) => connector === sample.sender && fileName === sample.fileName,
    );
    found.set(sample.fileName, {
      problems: problemsOf.get(sample) ?? [],
      waits: ids
        .filter(({ verdict }) => verdict === "waiting")
        .flatMap((message) => message.problems.map(problemSentence)),
      orders: ids
        .toReversed()
        .flatMap(({ orderIds }) => orderIds.map((id) => orderById.get(id)))
        .map((order) => ({
          number: order?.placerOrderNumber ?? "registration",
          state: order?.state ?? "unknown",
        })),
    });
  }
  return found;
}

/** The numbered problems of `NAME.error.txt`; none while there is no report. */
async function readProblems(site: Site, { sender, fileName }: Sample): Promise<string[]> {
  const path = join(site.folder, sender, "error", `${fileName}.error.txt`);
  const text = await readFile(path, "utf8").catch(() => "");
  return [...text.matchAll(/^\d+\. (.*)\n {3}What is wrong: (.*)$/gm)].map(
    ([, place, words]) => `${place}: ${words}`,
  );
}

async function isArchived(site: Site, { sender, fileName }: Sample): Promise<boolean> {
  const archive = join(site.folder, sender, "archive");
  const names = await readdir(archive, { recursive: true }).catch(() => []);
  return names.some((name) => name.endsWith(fileName));
}

/** What the README says about a file: the cells of each of its rows. */
function cellsOf(fileName: string): (readonly string[])[] {
  return tables.filter((row) => row.fileName === fileName).map(({ cells }) => cells);
}
