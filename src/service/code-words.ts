/** Words that error codes and statuses are made of; none of them is anybody's name. */
const WORDS = new Set(
  (
    "a above accepted access account active again already amount and api argument arguments assigned auth " +
    "authentication authorization available bad be belongs below body bounds box busy by cancel canceled cancelled cane " +
    "canister cannot capacity changed check client closed code completed conflict constraint contact container " +
    "containers content count create created credentials data database date db deleted denied dependency deprecated " +
    "device devices different disabled does duplicate empty endpoint entity err error errors exceeded exception exist " +
    "exists expired facility fail failed failure fault field fields filter for forbidden format found full gateway gone " +
    "grant group has header http id identifier in inactive input insufficient integrity internal invalid is item json " +
    "key label labels large length limit limited list location lock locked long lookup maintenance malformed many max " +
    "maximum media medium method min minimum mismatch missing name network no not null object occupied of offline on " +
    "only open operation or order organization out overflow page parameter parameters parse password patient payload " +
    "pending per perform permission precondition presence present problem procedure procedures processing quota range " +
    "rate rejected request requests required reserved resource response retired retrieval retry rfid role rule sample " +
    "samples scope schema server service session short slot small space stale state status storage store stored subject " +
    "subjects support supported syntax system tag tank target temporarily temporary throttled time timeout to token " +
    "too transition type unable unauthenticated unauthorized unavailable unique unknown unprocessable unreachable " +
    "aborted approved awaiting done executing finished hold paused progress queued review running scheduled started such " +
    "waiting unsupported update upstream url user validation value values version violated violation wrong"
  ).split(" "),
);

/**
 * Whether a code that the service gives can be shown to anybody: all its words are those of errors, as in
 * `VALIDATION_ERROR` or `tank-full`, with a status among them. Any other may be somebody's name or number.
 */
export function isPlainCode(code: string): boolean {
  const parts = code
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .split(/[_.:/-]/)
    .filter((part) => part !== "");
  const words = parts.filter((part) => !/^[1-5]\d\d$/.test(part));
  return code.length <= 80 && words.length > 0 && words.every((word) => WORDS.has(word.toLowerCase()));
}
