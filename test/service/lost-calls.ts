import { phi } from "../../src/core/phi.ts";
import type { Surface } from "../../src/core/surface.ts";
import { matchOf } from "../../src/jobs/calls/match.ts";
import type { ServiceCalls } from "../../src/service/client.ts";
import type { NewRequest } from "../../src/service/new-request.ts";

/** A creation whose answer never came: what it asked for, when it was sent, and what can't be it. */
export type LostRequest = NewRequest & { readonly sentAfter: Date; readonly knownIds: ReadonlySet<number> };

/** What a search for a lost creation finds, by how much it is like it. */
export async function findLost(
  client: Pick<ServiceCalls, "listMade">,
  surface: Surface,
  lost: LostRequest,
  signal: AbortSignal,
  correlation: "token" | "labels" = "token",
) {
  const isStore = lost.type === "STORE";
  const ref = isStore && correlation === "token" ? lost.ref : undefined;
  const labels = isStore ? lost.containers.map(({ label }) => label) : undefined;
  const { made, traces } = await client.listMade({ ...lost, surface, mark: ref, labels }, signal);
  const asked = isStore ? { ...lost, ref } : lost;
  const suspicion = { kind: "called", hasSnapshot: surface === "request" } as const;
  const likes = made.map((each) => ({ ...each, like: matchOf(each, asked, suspicion) }));
  const ids = (...wanted: string[]) => likes.flatMap(({ id, like }) => (wanted.includes(like) ? [id] : []));
  const marked = ids("marked");
  const hidden = likes.flatMap(({ id, like, isHidden }) =>
    isHidden && like === "possible" && ref === undefined ? [id] : [],
  );
  return {
    matches: ids("certain"),
    candidates: ids("marked", "possible"),
    ...(marked.length > 0 ? { marked } : {}),
    ...(hidden.length > 0 ? { hidden } : {}),
    ...(surface === "external" ? { traces } : {}),
  };
}

/** The correlation token of the lost call. */
export const REF = "7K3M-ZQ0VX9TB4D";
/** When it was sent. */
export const sentAfter = new Date("2026-11-21T10:00:00Z");
/** A lost creation that stores two containers, with what a test sets. */
export const store = (given: Partial<Extract<LostRequest, { type: "STORE" }>> = {}): LostRequest => ({
  type: "STORE",
  facilityId: 12,
  subjectCode: phi("S-4"),
  containers: [
    { label: "V-1", description: "a" },
    { label: "V-2", description: "" },
  ],
  ref: REF,
  sentAfter,
  knownIds: new Set(),
  ...given,
});
/** A lost creation that retrieves two containers, with what a test sets. */
export const retrieval = (given: Partial<Extract<LostRequest, { type: "RETRIEVAL" }>> = {}): LostRequest => ({
  type: "RETRIEVAL",
  facilityId: 12,
  subjectCode: phi("S-4"),
  containerIds: [7, 8],
  sentAfter,
  knownIds: new Set(),
  ...given,
});
