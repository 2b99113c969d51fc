interface GroupLimits {
  /** Items of one commit at most. */
  readonly items: number;
  /** Bytes of one commit at most; a single larger item goes alone. */
  readonly bytes: number;
}

interface Waiting<T, R> {
  readonly item: T;
  readonly bytes: number;
  readonly from: object;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Commits what many callers bring in groups: while one commit is under way, whatever comes waits for the next, so that
 * a disk's sync is paid once for all of them. What comes in one turn of the event loop is one group, too, as long as there
 * is more than one source. Groups keep the order of arrival, and one is over before the next begins.
 *
 * What one source brings is committed in its order or not at all: once an item was rejected, all that came from the same
 * source after it are, with the same error. It brings them again, and then none may have been committed before the other.
 *
 * @param commit gives a result for each item, in order, or commits nothing
 * @param mayBeOnesFault whether a failed commit may be the fault of one of its items: then each is committed by itself,
 * and only the caller of the faulty one gets the failure; otherwise each caller of the group does
 */
export function groupCommit<T, R>(
  commit: (items: readonly T[]) => Promise<readonly R[]>,
  limits: GroupLimits,
  mayBeOnesFault: (error: unknown) => boolean,
): (item: T, bytes: number, from: object) => Promise<R> {
  const waiting: Waiting<T, R>[] = [];
  /** The sources of what was rejected, with the error. */
  const givenUp = new WeakMap<object, unknown>();
  let isRunning = false;
  /** The only source of the last group; undefined when there were several. */
  let alone: object | undefined;

  const takeGroup = (): Waiting<T, R>[] => {
    let bytes = 0;
    let count = 0;
    for (const { bytes: more } of waiting) {
      if (count > 0 && (count === limits.items || bytes + more > limits.bytes)) break;
      bytes += more;
      count += 1;
    }
    return waiting.splice(0, count);
  };

  const run = async (): Promise<void> => {
    isRunning = true;
    while (waiting.length > 0) {
      // What comes in the same turn of the event loop belongs together. Who was alone in the last one is alone again, most
      // likely: then what it has just brought is all that there is to wait for.
      await (waiting[0]?.from === alone ? undefined : nextTurn());
      const group = takeGroup();
      alone = group.every(({ from }) => from === group[0]?.from) ? group[0]?.from : undefined;
      await commitGroup(group);
    }
    isRunning = false;
  };

  const withoutGivenUp = (group: readonly Waiting<T, R>[]) =>
    group.filter(({ from, reject }) => {
      if (givenUp.has(from)) reject(givenUp.get(from));
      return !givenUp.has(from);
    });

  const commitGroup = async (taken: readonly Waiting<T, R>[]): Promise<void> => {
    const group = withoutGivenUp(taken);
    if (group.length === 0) return;
    try {
      const results = await commit(group.map(({ item }) => item));
      if (results.length !== group.length)
        throw new RangeError("a group commit has one result for each item");
      group.forEach(({ resolve }, index) => {
        resolve(results[index] as R);
      });
    } catch (error) {
      if (group.length > 1 && mayBeOnesFault(error)) {
        for (const each of group) await commitGroup([each]);
      } else {
        for (const { from, reject } of group) {
          givenUp.set(from, error);
          reject(error);
        }
      }
    }
  };

  return (item, bytes, from) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, bytes, from, resolve, reject });
      if (!isRunning) void run();
    });
}
