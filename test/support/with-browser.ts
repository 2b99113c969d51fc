import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { findProgram } from "./needs.ts";

/** A browser of the machine for the time of the test; `args` are of its command line. */
export async function withBrowser(
  test: (browser: Browser) => Promise<void>,
  args: readonly string[] = [],
): Promise<void> {
  const executablePath = findProgram("chromium") ?? "chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", ...args] });
  try {
    await test(browser);
  } finally {
    await browser.close();
  }
}

/** One browser for the tests of a file, which come with contexts of their own; see {@link withBrowser}. */
export function sharedBrowser(
  args: readonly string[] = [],
): (test: (browser: Browser) => Promise<void>) => Promise<void> {
  const over = Promise.withResolvers<void>();
  let browser: Browser | undefined;
  let ended: Promise<void> = Promise.resolve();
  beforeAll(async () => {
    const begun = Promise.withResolvers<Browser>();
    ended = withBrowser((opened) => {
      begun.resolve(opened);
      return over.promise;
    }, args);
    browser = await Promise.race([begun.promise, ended.then(() => undefined)]);
  });
  afterAll(async () => {
    over.resolve();
    await ended;
  });
  return async (test) => {
    if (!browser) throw new Error("the browser is there while tests run");
    await test(browser);
    for (const context of browser.contexts()) await context.close();
  };
}
