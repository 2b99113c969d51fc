import { type Browser, chromium } from "playwright-core";
import { findProgram } from "./needs.ts";
import { shared } from "./shared.ts";

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
  const opened = shared<Browser>((use) => withBrowser(use, args));
  return async (test) => {
    const browser = opened();
    await test(browser);
    for (const context of browser.contexts()) await context.close();
  };
}
