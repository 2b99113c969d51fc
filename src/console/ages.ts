import type { Viewer } from "../operator/column.ts";
import { localTime, relativeTime, roundToUnit } from "../operator/times.ts";
import { type Html, html } from "./html.ts";

// How long ago something was, each with the time itself where a mouse rests on it.

/** When something happened, such as `3m ago`. */
export function age(at: Date, { clock }: Viewer): Html {
  return html`<time datetime="${at.toISOString()}" title="${localTime(at)}">${relativeTime(at, clock.now())}</time>`;
}

/** For how long something has been so: behind a sentence about the present, `3m ago` would be read with its verb. */
export function lasting(since: Date, nowMs: number): Html {
  return html`<time class="note" datetime="${since.toISOString()}" title="${localTime(since)}">· for ${roundToUnit(nowMs - since.getTime())}</time>`;
}
