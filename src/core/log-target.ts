import { constants, fstatSync, openSync, write } from "node:fs";
import { isatty } from "node:tty";
import type { Clock } from "./clock.ts";

/** What may wait to be written, in characters: some thousands of lines. */
const MOST_WAITING = 1_048_576;
/** What is written at once, likewise. */
const MOST_AT_ONCE = 262_144;
/** A pipe that is full is tried again after this, ms: 64 KiB each time are some MiB a second for a reader that keeps up. */
const FULL_RETRY_MS = 10;
/** One that failed, likewise; what is logged meanwhile is not kept. */
const FAILED_RETRY_MS = 1_000;

/** Lines that could not be written. */
interface MissingLines {
  readonly lines: number;
  readonly since: Date;
  /** The system's code, such as `ENOSPC`; `EAGAIN` where nobody reads, `EBUSY` where writing takes longer than logging. */
  readonly why: string;
}

/**
 * Where the log's lines go. It never throws and never waits: what can't be written is dropped and counted, and what is written
 * next says how many lines are missing and since when.
 *
 * One write is under way at a time. A stopped terminal, and a pipe whose reader hangs, are written to without waiting for them. A
 * file on a server that hangs keeps one of Node.js's threads.
 */
export class LogTarget {
  readonly #fd: number;
  readonly #clock: Clock;
  readonly #format: (line: string) => string;
  readonly #waiting: string[] = [];
  #waitingLength = 0;
  /** What is to be written next, or what is left of it. */
  #next = Buffer.alloc(0);
  #nextLines = 0;
  #isWriting = false;
  /** Set while a place that took nothing is left alone. */
  #pause: NodeJS.Timeout | undefined;
  #hasFailed = false;
  /** Whether it took nothing when it was written to last. */
  #isFull = false;
  #missing: MissingLines | undefined;
  /** Those that `#next` reports. */
  #reported: MissingLines | undefined;
  #missingInAll = 0;
  #isWithinLine = false;
  readonly #onIdle = new Set<() => void>();

  /**
   * @param place a file that lines are appended to, or the number of an open one
   * @param format makes of a line of JSON what is written of it
   */
  constructor(place: string | number, clock: Clock, format: (line: string) => string = (line) => line) {
    this.#fd = typeof place === "string" ? openSync(place, "a") : openWithoutWaiting(place);
    this.#clock = clock;
    this.#format = format;
  }

  /** The lines that are missing since the last one that was written; undefined while none is. */
  get missing(): MissingLines | undefined {
    return merged(this.#reported, this.#missing);
  }

  /** How many lines were dropped since the start. */
  get missingInAll(): number {
    return this.#missingInAll;
  }

  /** Takes a line, with its end. */
  write(line: string): void {
    if (this.#hasFailed && this.#pause !== undefined) this.#drop(1, this.missing?.why ?? "");
    else if (this.#waitingLength + line.length > MOST_WAITING)
      this.#drop(1, this.#isFull ? "EAGAIN" : "EBUSY");
    else {
      this.#waiting.push(line);
      this.#waitingLength += line.length;
      this.#write();
    }
  }

  /** Resolves when all is written or dropped, after `ms` at the latest. */
  async idle(ms: number): Promise<void> {
    if (!this.isBusy) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#onIdle.add(resolve);
    await promise;
    this.#onIdle.delete(resolve);
    clearTimeout(timer);
  }

  /** Whether a line waits or is being written. */
  get isBusy(): boolean {
    return this.#isWriting || this.#next.length > 0 || this.#waiting.length > 0;
  }

  #write(): void {
    if (this.#isWriting || this.#pause !== undefined) return;
    if (this.#next.length === 0) this.#takeNext();
    if (this.#next.length === 0) return;
    this.#isWriting = true;
    write(this.#fd, this.#next, (error, written) => {
      this.#isWriting = false;
      if (error) this.#failed(error.code ?? error.name);
      else this.#wrote(written);
      this.#write();
      if (!this.isBusy) for (const resolve of this.#onIdle) resolve();
    });
  }

  #takeNext(): void {
    let length = 0;
    let lines = 0;
    while (length < MOST_AT_ONCE && lines < this.#waiting.length)
      length += this.#waiting[lines++]?.length ?? 0;
    const taken = this.#waiting.splice(0, lines);
    this.#waitingLength -= length;
    this.#nextLines = lines;
    this.#reported = this.#missing;
    this.#missing = undefined;
    if (this.#reported) taken.unshift(reportOf(this.#reported, this.#clock));
    const text = taken.map(this.#format).join("");
    this.#next = Buffer.from(this.#isWithinLine && text !== "" ? `\n${text}` : text);
  }

  #wrote(written: number): void {
    this.#isFull = false;
    this.#next = this.#next.subarray(written);
    this.#isWithinLine = this.#next.length > 0;
    if (this.#isWithinLine) return;
    this.#hasFailed = false;
    this.#reported = undefined;
  }

  #failed(code: string): void {
    this.#isFull = code === "EAGAIN";
    if (!this.#isFull) {
      this.#missing = merged(this.#reported, this.#missing);
      this.#reported = undefined;
      this.#drop(this.#nextLines + this.#waiting.length, code);
      this.#next = Buffer.alloc(0);
      this.#waiting.length = 0;
      this.#waitingLength = 0;
      this.#hasFailed = true;
    }
    this.#pause = setTimeout(
      () => {
        this.#pause = undefined;
        this.#write();
      },
      this.#isFull ? FULL_RETRY_MS : FAILED_RETRY_MS,
    );
    this.#pause.unref();
  }

  #drop(lines: number, why: string): void {
    this.#missingInAll += lines;
    this.#missing = merged(this.#missing, { lines, why, since: new Date(this.#clock.now()) });
  }
}

function merged(first: MissingLines | undefined, then: MissingLines | undefined): MissingLines | undefined {
  if (first === undefined || then === undefined) return first ?? then;
  return { lines: first.lines + then.lines, since: first.since, why: then.why };
}

/** A line of the log about the lines that it lacks. */
function reportOf({ lines, since, why }: MissingLines, clock: Clock): string {
  const time = new Date(clock.now()).toISOString();
  const msg = `${lines} lines of the log are missing: it could not be written (${why})`;
  return `${JSON.stringify({ level: 40, time, lines, since: since.toISOString(), why, msg })}\n`;
}

/**
 * The same file to write to without waiting, where that matters. A pipe or a terminal is opened anew for us alone, since others may
 * write to it too and expect to wait. Where that can't be done, Node.js's own stream sees to a pipe or a socket.
 */
function openWithoutWaiting(fd: number): number {
  try {
    if (!isatty(fd) && !fstatSync(fd).isFIFO()) throw new Error("no pipe and no terminal");
    const { O_WRONLY, O_APPEND, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
  } catch {
    if (fd === 2) void process.stderr;
    return fd;
  }
}
