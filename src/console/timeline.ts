import type { OrderState } from "../core/order-state.ts";
import type { OrderEvent } from "../ledger/operator/views.ts";
import type { Viewer } from "../operator/column.ts";
import { stateInWords } from "../operator/order-words.ts";
import { type Stage, stagesOf, stepsOf } from "../operator/timeline.ts";
import { localTime, roundToUnit } from "../operator/times.ts";
import { type Html, html } from "./html.ts";

/** The way of an order: a bar of the states it was in, as long as each lasted, and its steps with the time between them. */
export function timeline(events: readonly OrderEvent[], { clock }: Viewer): Html {
  return html`${stageBar(stagesOf(events, clock.now()))}${stepList(events)}`;
}

/** Who has it in hand, by colour. */
const TONES: Readonly<Partial<Record<OrderState, string>>> = {
  received: "here",
  submitting: "here",
  submitted: "there",
  accepted: "there",
  in_progress: "device",
  parked: "bad",
  failed: "bad",
  rejected: "bad",
  completed: "good",
};

const WIDTH = 1_000;
const HEIGHT = 14;
const GAP = 3;
/** What took no time worth mentioning can still be seen. */
const LEAST = 10;

function stageBar(stages: readonly Stage[]): Html {
  const all = stages.reduce((sum, { ms }) => sum + ms, 0);
  if (stages.length < 2 || all === 0) return html``;
  // Of very many each is as long as it lasted, and no more.
  const [least, gap] = stages.length * (LEAST + GAP) < WIDTH / 2 ? [LEAST, GAP] : [0, 0];
  const room = WIDTH - stages.length * (least + gap);
  let x = 0;
  const bars = stages.map(({ state, ms }) => {
    const width = least + (ms / all) * room;
    const bar = html`<rect class="${TONES[state]}" x="${x.toFixed(1)}" y="0" width="${width.toFixed(1)}" height="${HEIGHT}"/>`;
    x += width + gap;
    return bar;
  });
  const inWords = ({ state, ms }: Stage) =>
    ms < 1_000 ? stateInWords(state) : `${stateInWords(state)} ${roundToUnit(ms)}`;
  const sums = [...Map.groupBy(stages, ({ state }) => state)].map(([state, each]) => ({
    state,
    ms: each.reduce((sum, { ms }) => sum + ms, 0),
  }));
  return html`<figure class="stages"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="How long it was in each state: ${stages.map(inWords).join(", ")}">${bars}</svg>
<figcaption>${sums.map((sum) => html`<span><i class="${TONES[sum.state]}"></i>${inWords(sum)}</span>`)}</figcaption></figure>`;
}

function stepList(events: readonly OrderEvent[]): Html {
  const steps = stepsOf(events);
  return html`<ol class="timeline">${steps.map(({ at, until, times, words, toState }, index) => {
    const before = steps[index - 1];
    const gap = before && at.getTime() - before.until.getTime();
    const often =
      times === 1
        ? ""
        : html` <span class="note">${times} times, within ${roundToUnit(until.getTime() - at.getTime())}</span>`;
    return html`<li class="${toState ?? ""}">${gap === undefined || gap < 1_000 ? "" : html`<span class="gap">${roundToUnit(gap)} later</span>`}<time datetime="${at.toISOString()}">${localTime(at)}</time> <span>${words}</span>${often}</li>`;
  })}</ol>`;
}
