import { type Browser, chromium } from "playwright-core";
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
