import { randomBytes } from "node:crypto";
import { Latest } from "./latest.ts";
import type { Session } from "./session.ts";

/** Beyond this many the oldest is forgotten, so that the list can't grow without end. */
const MOST_KEPT = 1_000;
/** As many as the inputs take. */
const MOST_CHARACTERS = 200;

/**
 * What people searched for. It may name a patient, and addresses end up in histories and the logs of proxies: there a random
 * key stands for it, which means something here and to the same session alone.
 */
export class KeptWords {
  readonly #keptByKey = new Latest<string, { readonly word: string; readonly session: Session | undefined }>(
    MOST_KEPT,
  );

  /** Keeps a word, and gives the key for an address. */
  keep(word: string, session: Session | undefined): string {
    const key = `k.${randomBytes(9).toString("base64url")}`;
    this.#keptByKey.set(key, { word: word.slice(0, MOST_CHARACTERS), session });
    return key;
  }

  /** The word behind a key; undefined when it is not kept any more, or was another session's. */
  find(key: string, session: Session | undefined): string | undefined {
    const kept = this.#keptByKey.get(key);
    return kept?.session === session ? kept?.word : undefined;
  }
}
