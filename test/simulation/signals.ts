/**
 * Has signals that end by themselves go by the simulated time, and with their history, until the returned function is called. Node.js
 * keeps one that follows others, and is listened to, until it is aborted, which those of a daemon that died never are.
 */
export function replaceSignals(): () => void {
  const { any, timeout } = AbortSignal;
  AbortSignal.any = (signals) => {
    const follower = new AbortController();
    for (const signal of signals) {
      if (signal.aborted) {
        follower.abort(signal.reason);
        break;
      }
      signal.addEventListener("abort", () => follower.abort(signal.reason), { once: true });
    }
    return follower.signal;
  };
  AbortSignal.timeout = (ms) => {
    const late = new AbortController();
    const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    setTimeout(() => late.abort(reason), ms).unref();
    return late.signal;
  };
  return () => Object.assign(AbortSignal, { any, timeout });
}
