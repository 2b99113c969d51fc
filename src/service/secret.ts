import { Failure } from "../core/failures.ts";
import type { Secret } from "./settings.ts";

/**
 * Reads a secret anew, without the line end that editors leave in secret files.
 * @throws Failure SERVICE_CREDENTIALS_REFUSED when it is empty or can't be read; `name` is the setting's.
 */
export async function readSecret(secret: Secret, name: string): Promise<string> {
  try {
    const value = (typeof secret === "string" ? secret : await secret()).trim();
    if (value !== "") return value;
  } catch (cause) {
    throw new Failure("SERVICE_CREDENTIALS_REFUSED", { message: `${name} could not be read`, cause });
  }
  throw new Failure("SERVICE_CREDENTIALS_REFUSED", `${name} is empty`);
}
