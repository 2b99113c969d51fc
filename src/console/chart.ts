import { type Html, html } from "./html.ts";

/** Numbers over time as bars. */
interface Chart {
  /** Stands in the element's id: unique on its page. */
  readonly id: string;
  readonly title: string;
  readonly values: readonly number[];
  /** What one bar covers, such as `minute`. */
  readonly per: string;
  /** Where it begins and ends, such as `an hour ago` and `now`. */
  readonly ends: readonly [from: string, to: string];
  readonly tone?: "good" | "bad";
}

const WIDTH = 240;
const HEIGHT = 40;
const GAP = 1;

/** A small bar chart; for those who don't see it, its sum and its highest bar. */
export function barChart({ id, title, values, per, ends: [from, to], tone }: Chart): Html {
  const most = Math.max(0, ...values);
  const sum = values.reduce((all, value) => all + value, 0);
  const width = WIDTH / Math.max(1, values.length);
  const bars = values.map((value, index) => {
    if (value === 0) return "";
    const height = Math.max(2, Math.round((value / most) * HEIGHT));
    return html`<rect x="${(index * width).toFixed(1)}" y="${HEIGHT - height}" width="${(width - GAP).toFixed(1)}" height="${height}"/>`;
  });
  const said = sum === 0 ? "None." : `${sum} in all, at most ${most} in one ${per}.`;
  return html`<figure class="chart"><figcaption>${title} <strong>${sum}</strong></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-title ${id}-desc" class="${tone}"><title id="${id}-title">${title}, by ${per}, from ${from} to ${to}</title><desc id="${id}-desc">${said}</desc><line x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/>${bars}</svg>
<div class="ends"><span>${from}</span><span>${most > 0 ? `most ${most} in one ${per}` : ""}</span><span>${to}</span></div></figure>`;
}
