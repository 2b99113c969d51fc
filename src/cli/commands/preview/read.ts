import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename } from "node:path";
import { createMappers, fileFormatOf, profileOf } from "../../../app/connectors.ts";
import { compileProfiles } from "../../../app/profiles.ts";
import { serviceSettings } from "../../../app/service.ts";
import { type Config, type ConnectorConfig, mostBytesOf, wayOfFacility } from "../../../config/config.ts";
import { readWhole } from "../../../connectors/drop-folder/file-ops.ts";
import { Tally } from "../../../connectors/drop-folder/report.ts";
import { Failure, type Problem } from "../../../core/failures.ts";
import { openGivenFile } from "../../../core/given-file.ts";
import type { Verdict } from "../../../core/intake.ts";
import type { Order } from "../../../core/order.ts";
import type { ControlRequest } from "../../../core/order-control.ts";
import { FILE, type Place } from "../../../core/place.ts";
import type { Mapper } from "../../../mapping/inbound/mapper.ts";
import { mayHold } from "../../../mapping/outbound/csv-cells.ts";
import type { Profile } from "../../../mapping/profile/profile.ts";
import { RESULT_COLUMNS, type ResultColumn } from "../../../mapping/profile/results-schema.ts";
import type { IsFilled } from "../../../operator/hl7-tree.ts";
import { SHOWN_COLUMNS } from "../../../operator/shown.ts";
import { type PlannedCall, planCalls } from "../../../service/plan-calls.ts";
import { readStandardInput, STANDARD_INPUT } from "../../io.ts";
import { readConfig, requireConnector } from "../../open.ts";
import { type Report, withProgress } from "../../output/progress.ts";
import type { Session } from "../../session.ts";
import { type Answer, type ControlSample, createAnswers } from "./answers.ts";

/** An order, what would be done for it, and how the lab would hear of its end. */
interface PreviewOrder {
  readonly order: Order;
  readonly calls: readonly PlannedCall[];
  /** With an invented end; undefined when the profile sends nothing then, or the results would be parked. */
  readonly result: Answer | undefined;
}

/** A message of the file and what would become of it. */
interface PreviewMessage {
  readonly place: Place;
  readonly messageControlId: string | undefined;
  readonly messageType: string | undefined;
  readonly verdict: Exclude<Verdict, "duplicate">;
  readonly problems: readonly Problem[];
  readonly orders: readonly PreviewOrder[];
  /** What it wants of earlier orders. */
  readonly controlRequests: readonly ControlRequest[];
  /** What the lab would be sent at once about it alone; undefined when the profile sends nothing. */
  readonly answer: Answer | undefined;
  /** What would go out with the results besides, where `answer` goes back over the connection. */
  readonly secondAnswer: Answer | undefined;
  /** What it would be sent once that is decided. */
  readonly controlAnswers: readonly ControlSample[];
  /** Why its results would be parked, where the character set of the results can't hold them. */
  readonly resultProblem: Problem | undefined;
}

/** What would become of a file. */
export interface Preview {
  readonly fileName: string;
  readonly connector: string;
  readonly profile: string;
  /** Why nothing of the file could be taken. */
  readonly problems: readonly Problem[];
  /** As many messages as were asked for; where there are more, those that are refused or wait stand first. */
  readonly messages: readonly PreviewMessage[];
  /** The one answer to the file: where batches are answered as a whole, or a table is refused whole. */
  readonly fileAnswer: Answer | undefined;
  /** Why that would be parked. */
  readonly fileProblem: Problem | undefined;
  /** Answers and states that the lab does not hear of, since `results.send` lacks them. */
  readonly unsent: readonly string[];
  /** Columns of results whose transforms don't take all of these values. */
  readonly untaken: readonly string[];
  /** What of answers and results may be the patient's. */
  readonly personal: Personal;
  readonly counts: Record<PreviewMessage["verdict"], number>;
  /** One mistake refuses all of it, by the profile. */
  readonly isWholeFile: boolean;
}

export interface PreviewOptions {
  readonly connector: string;
  readonly limit: number;
}

/**
 * What would become of a file, or of standard input (`-`), with `limit` of its messages: of more, first those that are refused or wait.
 * @throws Failure CLI_USAGE for a connector that isn't configured, or too much of standard input, CLI_FILE_UNREADABLE, FILE_TOO_LARGE, CONFIG_INVALID
 */
export async function readPreview(path: string, options: PreviewOptions, session: Session): Promise<Preview> {
  const config = readConfig(session, "mapping");
  const connector = requireConnector(config, "--connector", options.connector);
  const profiles = await compileProfiles(config);
  const profile = profileOf(connector, profiles);
  const mapper = createMappers(config, profiles).get(connector.name);
  if (!mapper) throw new TypeError(`no mapper for connector ${connector.name}`);
  const isPiped = path === STANDARD_INPUT;
  const fileName = isPiped ? "stdin" : basename(path);
  const examine = (file: Buffer) =>
    withProgress(session, { what: "reading", nouns: "messages" }, (report) =>
      previewOf({ file, fileName, config, connector, profile, mapper, report }, options.limit, session),
    );
  if (isPiped) return await examine(await readStandardInput(session.io, mostBytesOf(connector)));
  const given = await openGivenFile(path);
  if ("problem" in given) throw new Failure("CLI_FILE_UNREADABLE", `${path}: ${given.problem}`);
  try {
    return await examine(await readGiven(given, path, mostBytesOf(connector)));
  } finally {
    await given.handle.close();
  }
}

interface Source {
  readonly file: Buffer;
  readonly fileName: string;
  readonly config: Config;
  readonly connector: ConnectorConfig;
  readonly profile: Profile;
  readonly mapper: Mapper;
  readonly report: Report;
}

async function previewOf(source: Source, limit: number, session: Session): Promise<Preview> {
  const { file, fileName, config, connector, profile, mapper, report } = source;
  const format = fileFormatOf({ connector, profile });
  // Nothing is called, so no certificate is needed.
  const service = serviceSettings({ ...config, service: { ...config.service, ca: undefined } });
  const content = await format.examine(file);
  const counts = { accepted: 0, refused: 0, ignored: 0, waiting: 0 };
  const messages: PreviewMessage[] = [];
  const now = new Date(session.clock.now());
  const { batch: outline } = content;
  const dialect = content.dialect ?? format.dialect;
  const surfaceOf = (facilityId: number) => wayOfFacility(config, facilityId).surface;
  const answers = createAnswers(connector, profile, { fileName, now, outline, dialect, surfaceOf });
  const tally = new Tally();
  for (const problem of content.problems) tally.addProblem(problem);
  const batches = content.problems.length > 0 ? [] : content.batches();
  for await (const batch of batches) {
    report(counts.accepted + counts.refused + counts.ignored + counts.waiting);
    for (const message of batch) {
      const mapped = mapper.map(message);
      counts[mapped.verdict] += 1;
      if (format.isWholeFile) tally.add([{ ...message, ...mapped, orders: [] }]);
      answers.add(message, mapped);
      if (messages.length >= limit && !makeRoom(messages, mapped.verdict)) continue;
      const { messageControlId, messageType, orders, controlRequests = [] } = mapped;
      const later = orParked(message.place, () => answers.resultsOf(message, mapped));
      const decided = orParked(message.place, () => answers.controlAnswers(message, mapped));
      const atOnce = orParked(message.place, () => answers.answerTo(message, mapped));
      const second = orParked(message.place, () => answers.secondAnswerTo(message, mapped));
      messages.push({
        place: message.place,
        messageControlId,
        messageType,
        verdict: mapped.verdict,
        problems: mapped.problems,
        controlRequests,
        orders: orders.map((order, n) => ({
          order,
          calls: planCalls(order, service, wayOfFacility(config, order.facilityId)),
          result: later.made?.[n],
        })),
        answer: atOnce.made,
        secondAnswer: second.made,
        controlAnswers: decided.made ?? [],
        resultProblem: atOnce.problem ?? second.problem ?? later.problem ?? decided.problem,
      });
    }
  }
  const all = counts.accepted + counts.refused + counts.ignored + counts.waiting;
  if (all > messages.length) messages.sort(byNeed);
  const isRefusedWhole = content.problems.length > 0 || (format.isWholeFile && counts.refused > 0);
  if (isRefusedWhole && content.problems.length === 0) tally.refuseWhole();
  const refusal = orParked(FILE, () => (isRefusedWhole ? answers.refusal(tally.problems) : undefined));
  return {
    fileName,
    connector: connector.name,
    profile: profile.name,
    problems: content.problems,
    messages: isRefusedWhole ? messages.map(withoutAnswers) : messages,
    fileAnswer: refusal.made ?? answers.batchAnswer(content.problems),
    fileProblem: refusal.problem,
    unsent: answers.unsent,
    untaken: [...answers.untaken],
    personal: personalOf(profile),
    counts,
    isWholeFile: format.isWholeFile,
  };
}

/** What is refused or waits comes first. */
export const byNeed = (
  one: Pick<PreviewMessage, "verdict">,
  other: Pick<PreviewMessage, "verdict">,
): number => Number(isStuck(other.verdict)) - Number(isStuck(one.verdict));

/** Whether nothing of a message becomes an order as it is. */
const isStuck = (verdict: PreviewMessage["verdict"]) => verdict === "refused" || verdict === "waiting";

/** A message that is refused or waits is shown in the place of the last one that is well. */
function makeRoom(messages: PreviewMessage[], verdict: PreviewMessage["verdict"]): boolean {
  const at = isStuck(verdict) ? messages.findLastIndex((each) => !isStuck(each.verdict)) : -1;
  if (at !== -1) messages.splice(at, 1);
  return at !== -1;
}

/** What was made for the lab, or why it would be parked: the character set of the results can't hold what it repeats. */
function orParked<T>(place: Place, make: () => T): { readonly made?: T; readonly problem?: Problem } {
  try {
    return { made: make() };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "RESULT_NOT_ENCODABLE") throw error;
    return { problem: { code: error.code, place, message: error.message } };
  }
}

/** Nothing would be made of it, since all of its file is refused. */
function withoutAnswers(message: PreviewMessage): PreviewMessage {
  const orders = message.orders.map((order) => ({ ...order, calls: [], result: undefined }));
  const none = { answer: undefined, secondAnswer: undefined, controlAnswers: [], resultProblem: undefined };
  return { ...message, orders, ...none };
}

/** What of the answers and results of a profile may be the patient's, beside what the lab wrote. */
export interface Personal {
  /** Headings of CSV. */
  readonly headings: ReadonlySet<string>;
  /** Fields of HL7. */
  readonly isFilled: IsFilled;
}

const HIDDEN_COLUMNS: ReadonlySet<ResultColumn> = new Set(
  RESULT_COLUMNS.filter((column) => !SHOWN_COLUMNS.has(column)),
);

function personalOf(profile: Profile): Personal {
  const columns = profile.format === "csv" ? profile.results.columns : [];
  const fields = profile.format === "hl7" ? (profile.results.fields ?? []) : [];
  return {
    headings: new Set(
      columns.filter((column) => mayHold(column, HIDDEN_COLUMNS)).map(({ header }) => header),
    ),
    isFilled: (segment, field) =>
      fields.some(({ path, isPersonal }) => isPersonal && path.segment === segment && path.field === field),
  };
}

/** The file as a connector would read it. @throws Failure FILE_TOO_LARGE */
async function readGiven(
  { handle, stats: { size } }: { readonly handle: FileHandle; readonly stats: Stats },
  path: string,
  maxBytes: number,
): Promise<Buffer> {
  if (size > maxBytes) {
    throw new Failure("FILE_TOO_LARGE", `${path} has ${size} bytes; the connector takes at most ${maxBytes}`);
  }
  return await readWhole(handle, size);
}
