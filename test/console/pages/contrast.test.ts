import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { csvMessage } from "../../cli/with-lab.ts";
import { machineHas } from "../../support/needs.ts";
import { sharedBrowser } from "../../support/with-browser.ts";
import { USERS, withPages } from "./with-pages.ts";

/** How an element differs from what is around it, as WCAG counts it: 1 for equal colours, 21 for black on white. */
interface Contrast {
  readonly words: number;
  readonly edge: number;
  /** 0 where there is none. */
  readonly outline: number;
}

/** Gives the browser what measures that. */
const MEASURE = `contrastOf = (element) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const toRgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (top, ground) => ground.map((value, n) => top[n] * top[3] + value * (1 - top[3]));
  const groundOf = (each) =>
    each === null
      ? [255, 255, 255]
      : over(toRgba(getComputedStyle(each).backgroundColor), groundOf(each.parentElement));
  const lightOf = (rgb) => {
    const [red, green, blue] = rgb
      .map((value) => value / 255)
      .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const between = (colour, ground) => {
    const lights = [lightOf(over(toRgba(colour), ground)), lightOf(ground)];
    return (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
  };
  const { color, borderTopColor, outlineColor, outlineStyle } = getComputedStyle(element);
  const around = groundOf(element.parentElement);
  return {
    words: between(color, groundOf(element)),
    edge: between(borderTopColor, around),
    outline: outlineStyle === "none" ? 0 : between(outlineColor, around),
  };
}`;

const FIELDS = "input:not([type=hidden]), select";
/** What WCAG 2.1 AA wants of words, and of what shows where a field is or what has the keyboard. */
const LEAST = { words: 4.5, edge: 3, outline: 3 };

/** What on a page is too faint under the mouse, or with the keyboard. */
async function findFaint(page: Page): Promise<string[]> {
  await page.$$eval("details", (all) => {
    for (const each of all) each.setAttribute("open", "");
  });
  await page.evaluate(MEASURE);
  const found: string[] = [];
  for (const element of await page.$$(`main :is(a, button, summary, ${FIELDS})`)) {
    const name = await element.evaluate((each) => each.outerHTML.slice(0, 60));
    const isField = await element.evaluate((each, fields) => each.matches(fields), FIELDS);
    const contrast = () =>
      element.evaluate((each) =>
        (globalThis as unknown as { contrastOf(of: typeof each): Contrast }).contrastOf(each),
      );
    await element.hover();
    const { words, edge } = await contrast();
    if (!isField && words < LEAST.words) found.push(`words ${words.toFixed(2)} under the mouse: ${name}`);
    await page.mouse.move(0, 0);
    if (isField && edge < LEAST.edge) found.push(`edge ${edge.toFixed(2)}: ${name}`);
    await page.keyboard.press("Shift");
    await element.focus();
    const { outline } = await contrast();
    if (outline < LEAST.outline) found.push(`outline ${outline.toFixed(2)} with the keyboard: ${name}`);
  }
  return found;
}

describe.runIf(machineHas("chromium"))("what a person works with", () => {
  const withBrowser = sharedBrowser();

  test.each(["light", "dark"] as const)(
    "stands out in %s: words under the mouse, the edge of a field, and what has the keyboard",
    (colorScheme) =>
      withPages(({ url, lab }) =>
        withBrowser(async (browser) => {
          await lab.take("bench", [csvMessage(1)]);
          // A colour that is on its way to another one is measured as it is.
          const context = await browser.newContext({ colorScheme, reducedMotion: "reduce" });
          const page = await context.newPage();
          // No refresh takes an element away meanwhile.
          await page.clock.install();
          await page.goto(`${url}/login`);
          await page.fill("#token", USERS[0]?.token ?? "");
          await page.keyboard.press("Enter");
          await page.waitForURL(`${url}/`);
          // No refresh takes an element away meanwhile.
          await page.click("#pause");
          for (const path of ["/orders", "/orders/o1"]) {
            await page.goto(url + path);
            expect(await findFaint(page), path).toEqual([]);
          }
        }),
      ),
  );
});
