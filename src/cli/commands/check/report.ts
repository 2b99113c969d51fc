import { type Condition, condition } from "../../../core/condition.ts";
import { clean } from "../../../operator/text.ts";
import { EXIT, type ExitStatus } from "../../exit-status.ts";
import { toFailure } from "../../output/failure.ts";
import type { Session } from "../../session.ts";

/** One thing that was checked. */
export interface Finding {
  /** Such as `profile builtin/hl7-orders`. */
  readonly subject: string;
  /** What was found; what is wrong, where something is. */
  readonly detail: string;
  /** What is wrong, as everything that says so has it; `look`: it works, but is unwise. */
  readonly condition?: Condition | undefined;
  /** A setting that would write down what was found out, such as `service.perPage: 50`; nothing needs it. */
  readonly wouldSet?: string | undefined;
  /** The exit status when this failed; the lowest area wins: configuration, reachability, anything else. */
  readonly status?: ExitStatus | undefined;
}

export function ok(subject: string, detail: string): Finding {
  return { subject, detail };
}

/** A finding that is a condition of its own kind, shown as `warning` whatever it is elsewhere: a daemon would start. */
export function warned(subject: string, found: Condition): Finding {
  return { subject, detail: found.text, condition: { ...found, level: "look" } };
}

export function warning(subject: string, detail: string, hint?: string): Finding {
  return warned(subject, condition("checkFailed", subject, detail, { hint: hint ?? null }));
}

export function failed(
  subject: string,
  detail: string,
  hint?: string,
  status?: ExitStatus,
  more: Omit<Parameters<typeof condition>[3], "hint"> = {},
): Finding {
  // No daemon starts with a configuration that has mistakes.
  const stopsIntake = status === EXIT.configuration;
  const what = { stopsIntake, ...more, hint: hint ?? null };
  return { subject, detail, condition: condition("checkFailed", subject, detail, what), status };
}

/** A finding made of an error; `status` where the error's own would mislead. */
export function failedBy(
  subject: string,
  error: unknown,
  status: ExitStatus,
  more: { readonly stopsIntake?: boolean } = {},
): Finding {
  const { message, code, hint } = toFailure(error);
  return failed(subject, `${message} (${code})`, hint, status, { ...more, code });
}

function resultOf({ condition: wrong }: Finding): "ok" | "failed" | "warning" {
  if (wrong === undefined) return "ok";
  return wrong.level === "act" ? "failed" : "warning";
}

/** A finding as a program reads it. */
export function findingJson(finding: Finding) {
  const { subject, detail, condition: wrong, wouldSet = null } = finding;
  const { hint = null, who = null, command = null, stopsIntake = false } = wrong ?? {};
  return { subject, result: resultOf(finding), detail, hint, wouldSet, who, command, stopsIntake };
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
    const hint = finding.condition?.hint ?? undefined;
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
    const failed = this.#findings.filter((each) => resultOf(each) === "failed");
    const warnings = this.#findings.filter((each) => resultOf(each) === "warning").length;
    const statuses = new Set(failed.map(({ status }) => status ?? EXIT.failed));
    if (this.#session.isJson) {
      const checks = this.#findings.map(findingJson);
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

  #linesOf(finding: Finding): string[] {
    const { subject, detail, condition: wrong, wouldSet } = finding;
    const [sign, colour] = SIGNS[resultOf(finding)];
    const hasHint = (wrong?.hint ?? null) !== null;
    return [
      `${this.#session.paint(colour, sign)} ${clean(subject)}: ${clean(detail)}`,
      ...(wouldSet !== undefined && !hasHint ? [`    would set ${clean(wouldSet)}`] : []),
    ];
  }
}

const SIGNS = { ok: ["✓", "green"], failed: ["✗", "red"], warning: ["!", "yellow"] } as const;
/** What has to be fixed first decides. */
const ORDER_OF_STATUSES = [EXIT.configuration, EXIT.unreachable, EXIT.failed] as const;
