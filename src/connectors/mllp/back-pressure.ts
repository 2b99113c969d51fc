/**
 * How many bytes all connections of a listener have given us that aren't on disk yet. Beyond a bound nothing more is
 * read: senders wait, which they are made for, and memory stays bound however many of them send large messages at once.
 */
export class BackPressure {
  readonly #most: number;
  #bytes = 0;
  /** Told once there is room again. */
  #waiting: (() => void)[] = [];

  /** @param most bytes from which on nothing more is read; the last message may go beyond */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether to wait before more is read. */
  get isOn(): boolean {
    return this.#bytes >= this.#most;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
    if (this.isOn) return;
    for (const goOn of this.#waiting.splice(0)) {
      // What the one before has read may be enough again.
      if (this.isOn) this.#waiting.push(goOn);
      else goOn();
    }
  }

  /** Has a connection go on when there is room; once. */
  whenOff(goOn: () => void): void {
    this.#waiting.push(goOn);
  }
}
