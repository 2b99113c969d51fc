// Loaded before a daemon: with each SIGUSR2 its wall clock jumps, an hour ahead first, then two back, and so on. Its monotonic
// clock goes on as it was.
const RealDate = Date;
let offsetMs = 0;
let nextJumpMs = 3_600_000;

process.on("SIGUSR2", () => {
  offsetMs += nextJumpMs;
  nextJumpMs = nextJumpMs > 0 ? -7_200_000 : 7_200_000;
});

globalThis.Date = class JumpingDate extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [RealDate.now() + offsetMs] : given));
  }
  static now() {
    return RealDate.now() + offsetMs;
  }
};
