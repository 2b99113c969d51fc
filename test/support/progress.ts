import type { Reporter, TestModule, TestSpecification } from "vitest/node";

/** How often a line is written where it can't be written over, ms. */
const EVERY_MS = 30_000;

/**
 * Tells people how far a run is: files done of all, failed tests, seconds. On a terminal it is one line that is written over;
 * what fails is named above it at once.
 */
export class Progress implements Reporter {
  readonly #out = process.stderr;
  #files = 0;
  #done = 0;
  #failed = 0;
  #startedAt = 0;
  #writtenAt = 0;

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    this.#startedAt = performance.now();
    this.#writtenAt = this.#startedAt;
  }

  onTestModuleEnd(module: TestModule): void {
    this.#done += 1;
    const failed = [...module.children.allTests("failed")].map(({ fullName }) => fullName);
    const words = failed.length === 0 && !module.ok() ? ["the file itself"] : failed;
    this.#failed += words.length;
    const file = module.relativeModuleId;
    this.#write(words.map((each) => `failed: ${file}: ${each}\n`).join(""));
  }

  onTestRunEnd(): void {
    if (this.#out.isTTY) this.#out.write("\r\x1b[K");
  }

  #write(news: string): void {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1_000);
    const line = `${this.#done} of ${this.#files} files, ${this.#failed} failed, ${seconds} s`;
    if (this.#out.isTTY) this.#out.write(`\r\x1b[K${news}${line}`);
    else if (news !== "" || performance.now() - this.#writtenAt >= EVERY_MS) {
      this.#writtenAt = performance.now();
      this.#out.write(`${news}${line}\n`);
    }
  }
}
