import { clean } from "../../../operator/text.ts";
import { EXIT, type ExitStatus } from "../../exit-status.ts";
import { toFailure } from "../../output/failure.ts";
import type { Session } from "../../session.ts";

/** One thing that was checked. */
export interface Finding {
  /** Such as `profile builtin/hl7-orders`. */
  readonly subject: string;
  /** `warning`: it works, but is unwise. */
  readonly result: "ok" | "failed" | "warning";
  /** What was found. */
  readonly detail: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
  /** A setting that would write down what was found out, such as `service.perPage: 50`; nothing needs it. */
  readonly wouldSet?: string | undefined;
  /** The exit status when this failed; the lowest area wins: configuration, reachability, anything else. */
  readonly status?: ExitStatus | undefined;
}

export function ok(subject: string, detail: string): Finding {
  return { subject, result: "ok", detail };
}

export function warning(subject: string, detail: string, hint?: string): Finding {
  return { subject, result: "warning", detail, hint };
}

export function failed(subject: string, detail: string, hint?: string, status?: ExitStatus): Finding {
  return { subject, result: "failed", detail, hint, status };
}

/** A finding made of an error; `status` where the error's own would mislead. */
export function failedBy(subject: string, error: unknown, status: ExitStatus): Finding {
  const { message, code, hint } = toFailure(error);
  return failed(subject, `${message} (${code})`, hint, status);
}

/** What a group of checks finds, one after the other; some give what later ones need. */
export type Findings<Result = void> = AsyncGenerator<Finding, Result, undefined>;

/** Shows each finding as soon as it is there, and remembers the worst. */
export class Report {
  readonly #session: Session;
  readonly #findings: Finding[] = [];
  /** The hint of the findings shown last, which follows once they are all shown. */
  #openHint: string | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  add(finding: Finding): void {
    this.#findings.push(finding);
    if (this.#session.isJson) return;
    const hint = finding.result === "ok" ? undefined : finding.hint;
    if (hint !== this.#openHint) this.#printHint();
    this.#session.lines(this.#linesOf(finding));
    this.#openHint = hint;
  }

  /** Several findings in a row with one hint, such as the mistakes of a file, have it shown once. */
  #printHint(): void {
    if (this.#openHint !== undefined) this.#session.line(`    ${clean(this.#openHint)}`);
    this.#openHint = undefined;
  }

  /** Ends the report and gives the command's exit status. */
  end(): ExitStatus | undefined {
    const failed = this.#findings.filter(({ result }) => result === "failed");
    const warnings = this.#findings.filter(({ result }) => result === "warning").length;
    const statuses = new Set(failed.map(({ status }) => status ?? EXIT.failed));
    if (this.#session.isJson) {
      const checks = this.#findings.map(({ status: _, hint = null, wouldSet = null, ...finding }) => ({
        ...finding,
        hint,
        wouldSet,
      }));
      this.#session.json({ isOk: failed.length === 0, checks });
    } else {
      this.#printHint();
      this.#session.line();
      const well =
        warnings === 0 ? "All is well." : `All is well but for what is marked with ${SIGNS.warning[0]}.`;
      const verb = failed.length === 1 ? "needs" : "need";
      this.#session.line(
        failed.length === 0 ? well : `${failed.length} of ${this.#findings.length} ${verb} fixing.`,
      );
    }
    return ORDER_OF_STATUSES.find((status) => statuses.has(status));
  }

  #linesOf({ subject, result, detail, hint, wouldSet }: Finding): string[] {
    const [sign, colour] = SIGNS[result];
    const hasHint = result !== "ok" && hint !== undefined;
    return [
      `${this.#session.paint(colour, sign)} ${clean(subject)}: ${clean(detail)}`,
      ...(wouldSet !== undefined && !hasHint ? [`    would set ${clean(wouldSet)}`] : []),
    ];
  }
}

const SIGNS = { ok: ["✓", "green"], failed: ["✗", "red"], warning: ["!", "yellow"] } as const;
/** What has to be fixed first decides. */
const ORDER_OF_STATUSES = [EXIT.configuration, EXIT.unreachable, EXIT.failed] as const;
