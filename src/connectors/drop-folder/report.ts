import { FAILURES, hintOf, type Problem, shownProblem } from "../../core/failures.ts";
import type { FileReport, MessageVerdict, VerdictCounts } from "../../core/intake.ts";
import { FILE, lineOf, type Place, placeText, within } from "../../core/place.ts";
import type { Claim } from "./claim.ts";

/** Reports name that many problems and count the others; the ledger has all of them. */
const MOST_PROBLEMS = 10_000;

const NO_COUNTS: Readonly<VerdictCounts> = { accepted: 0, duplicate: 0, refused: 0, ignored: 0, waiting: 0 };

interface ReportedFile {
  readonly claim: Claim;
  readonly connector: string;
  readonly report: FileReport;
}

/** Counts verdicts and keeps what is wrong, up to a bound. */
export class Tally {
  readonly counts: VerdictCounts = { ...NO_COUNTS };
  readonly problems: Problem[] = [];
  /** Nothing is wrong with a message that waits, so the file is not at fault; the lab gets an answer. */
  readonly waiting: Problem[] = [];
  moreProblems = 0;

  /** Adds the verdicts of a batch. */
  add(verdicts: readonly MessageVerdict[]): void {
    for (const verdict of verdicts) {
      this.counts[verdict.verdict] += 1;
      const list = verdict.verdict === "waiting" ? this.waiting : this.problems;
      for (const problem of verdict.problems) {
        this.#keep({ ...problem, place: placeInFile(verdict.place, problem.place) }, list);
      }
    }
  }

  /** Adds one problem that no message has. */
  addProblem(problem: Problem): void {
    this.#keep(problem, this.problems);
  }

  #keep(problem: Problem, list: Problem[]): void {
    if (list.length < MOST_PROBLEMS) list.push(problem);
    else this.moreProblems += 1;
  }

  /**
   * Says first that the file is refused for the mistakes that were found in some of its messages. None of them is taken
   * then, and none waits: a code that no table knows has to be added before the file is dropped again.
   */
  refuseWhole(): void {
    const { total, counts } = this;
    const message = `${counts.refused + counts.waiting} of ${total} messages have mistakes, and the profile takes a file whole or not at all`;
    for (const problem of this.waiting.splice(0)) this.addProblem(problem);
    this.problems.unshift({ code: "FILE_WHOLE_REFUSED", place: FILE, message });
    Object.assign(counts, { ...NO_COUNTS, refused: total });
  }

  /** All messages seen. */
  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }
}

/** The report as a program reads it: `NAME.error.json`. */
export function reportAsJson({ claim, connector, report }: ReportedFile): string {
  return `${JSON.stringify(
    {
      file: claim.name,
      connector,
      // Finds the file in logs, where names don't stand.
      reference: claim.id,
      receivedAt: claim.receivedAt.toISOString(),
      result: report.result,
      sha256: report.sha256,
      counts: report.counts,
      problems: report.problems.map(shownProblem),
      waiting: report.waiting.map(shownProblem),
      moreProblems: report.moreProblems,
      duplicateOf: report.duplicateOf && {
        file: report.duplicateOf.fileName,
        receivedAt: report.duplicateOf.receivedAt,
        code: "FILE_DUPLICATE",
        hint: FAILURES.FILE_DUPLICATE.hint,
      },
    },
    null,
    2,
  )}\n`;
}

/** The report as a person reads it: `NAME.error.txt`. */
export function reportAsText({ claim, connector, report }: ReportedFile): string {
  const lines = [
    HEADINGS[report.result],
    "",
    `File:       ${claim.name}`,
    `Received:   ${forPeople(claim.receivedAt)}`,
    `Connector:  ${connector}`,
    `Reference:  ${claim.id}`,
    ...describeCounts(report),
    "",
  ];
  if (report.duplicateOf) {
    lines.push(
      `The same bytes came on ${forPeople(new Date(report.duplicateOf.receivedAt))} as ${report.duplicateOf.fileName}.`,
      `What to do:  ${FAILURES.FILE_DUPLICATE.hint}`,
      "Code:        FILE_DUPLICATE",
      "",
    );
  }
  lines.push(...describe(report.problems, "What is wrong:"));
  if (report.waiting.length > 0) {
    lines.push(
      "These wait. Nothing is wrong with them, and they are taken once what they wait for is there:",
      "",
    );
    lines.push(...describe(report.waiting, "Waits, since:"));
  }
  if (report.moreProblems > 0) lines.push(`… and ${report.moreProblems} more problems of this kind.`, "");
  return `${lines.map(printable).join("\n")}`;
}

function describe(problems: readonly Problem[], why: string): string[] {
  return problems.flatMap((problem, index) => [
    `${index + 1}. ${placeText(problem.place)}`,
    `   ${why.padEnd(14)} ${problem.message}`,
    `   What to do:    ${hintOf(problem)}`,
    `   Code:          ${problem.code}`,
    "",
  ]);
}

const HEADINGS = {
  refused: "Cryobridge did not take this file. It lies beside this report, unchanged.",
  "partly-refused":
    "Cryobridge took this file in part. What is named below was not taken, or waits; all the rest was taken.",
  duplicate: "Cryobridge has had this file before, and took nothing of it again.",
} as const;

function describeCounts({ counts, result }: FileReport): string[] {
  if (result !== "partly-refused") return [];
  const words = Object.entries(counts).flatMap(([verdict, count]) =>
    count > 0 ? [`${count} ${verdict}`] : [],
  );
  return [`Messages:   ${words.join(", ")}`];
}

/** A problem of a message that doesn't itself say where in the file it is gets the message's place before it. */
function placeInFile(messagePlace: Place, place: Place): Place {
  const { message, whole } = place;
  const isInFile = message !== undefined || whole !== undefined || lineOf(place) !== undefined;
  return isInFile ? place : within(messagePlace, place);
}

function forPeople(time: Date): string {
  return `${time.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A report opened in a terminal must not be able to command it. */
function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, "?");
}
