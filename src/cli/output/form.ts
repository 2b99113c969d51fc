import { Failure } from "../../core/failures.ts";
import type { Session } from "../session.ts";

/** In which form a command shows what it found. */
export interface FormOptions {
  readonly csv?: boolean;
  readonly html?: boolean;
}

/** @throws Failure CLI_USAGE when several forms are asked for. */
export function requireOneForm({ isJson }: Session, { csv, html }: FormOptions): void {
  const asked = [isJson && "--json", csv && "--csv", html && "--html"].filter(Boolean);
  if (asked.length > 1) throw new Failure("CLI_USAGE", `${asked.join(" and ")}: choose one of them`);
}
