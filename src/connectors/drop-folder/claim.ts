import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Problem } from "../../core/failures.ts";
import type { BatchOutline } from "../../core/intake.ts";
import { claimedAt, isClaimId } from "./claim-id.ts";
import { splitExtension } from "./file-name.ts";
import { errnoOf } from "./file-ops.ts";

const ID_CHARACTERS = 26;
const SEPARATOR = "__";

/** A dropped file that is ours: it lies in our work folder under `<claim id>__<name>`. */
export interface Claim {
  readonly id: string;
  /** The name it was dropped under, made harmless. */
  readonly name: string;
  readonly folder: string;
  /** Where it lies now. */
  readonly path: string;
  readonly receivedAt: Date;
}

/** The claim of a file of that (harmless) name. */
export function claimOf(folder: string, id: string, name: string): Claim {
  return { id, name, folder, path: join(folder, id + SEPARATOR + name), receivedAt: claimedAt(id) };
}

/** The claim that a name in a work folder stands for; undefined for plans, reports and the owner file. */
export function parseClaim(folder: string, fileName: string): Claim | undefined {
  const id = fileName.slice(0, ID_CHARACTERS);
  const name = fileName.slice(ID_CHARACTERS + SEPARATOR.length);
  const hasForm = isClaimId(id) && fileName.startsWith(SEPARATOR, ID_CHARACTERS) && name !== "";
  return hasForm ? claimOf(folder, id, name) : undefined;
}

/**
 * What is to be done with a file once its fate is known. It is on disk before the ledger closes the file, so that
 * after a crash the rest is carried out and nothing is decided again.
 */
export interface Plan {
  /** Name that the file and its reports get; `alternative` if another daemon was faster with that name. */
  readonly name: string;
  readonly alternative: string;
  readonly target: { readonly folder: "archive"; readonly day: string } | { readonly folder: "error" };
  /** The reports that were written beside the plan: `NAME.error.txt` or `NAME.duplicate.txt`, and the same as JSON. */
  readonly report?: "error" | "duplicate" | undefined;
  /** The file as it was read, which is looked at again once it lies in the archive. */
  readonly asRead?: { readonly fileId: string; readonly fingerprint: string } | undefined;
  /** What the ledger is told; absent for what never came to the ledger. */
  readonly close?:
    | {
        readonly fileId: string;
        readonly end: { readonly status: "taken" | "refused"; readonly problems: readonly Problem[] };
        readonly batch?: BatchOutline | undefined;
      }
    | undefined;
}

/** Where the plan of a claim lies. */
export function planPath(claim: Pick<Claim, "folder" | "id">): string {
  return join(claim.folder, `${claim.id}.plan`);
}

/** Where a report about a claim waits to be published. */
export function reportPath(claim: Pick<Claim, "folder" | "id">, form: "txt" | "json"): string {
  return join(claim.folder, `${claim.id}.report.${form}`);
}

/** The plan of a claim; undefined when there is none, or when a power cut left it torn and so nothing followed it. */
export async function readPlan(claim: Pick<Claim, "folder" | "id">): Promise<Plan | undefined> {
  try {
    return JSON.parse(await readFile(planPath(claim), "utf8")) as Plan;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** `orders.csv` -> `orders.01J….csv`: a name that no other file has. */
export function nameWithReference(name: string, claimId: string): string {
  const { stem, extension } = splitExtension(name);
  return `${stem}.${claimId}${extension}`;
}
