import { areAmbiguous, compileDateFormat } from "../../mapping/profile/transforms.ts";

const DAYS = [
  "yyyy-MM-dd",
  "yyyyMMdd",
  "d.M.yyyy",
  "d/M/yyyy",
  "M/d/yyyy",
  "d-M-yyyy",
  "M-d-yyyy",
  "yyyy/M/d",
  "yyyy.M.d",
  "d MMM yyyy",
  "d-MMM-yyyy",
  "d. M. yyyy",
  "ddMMyyyy",
  "MMddyyyy",
] as const;
const FORMATS = [
  ...DAYS,
  ...DAYS.flatMap((day) => [`${day} HH:mm:ss`, `${day} H:mm`]),
  "yyyy-MM-ddTHH:mm:ss",
  "excel",
].flatMap((format) => {
  const compiled = compileDateFormat(format);
  return typeof compiled === "string" ? [] : [compiled];
});

/** How dates are written, or the formats between which the values don't decide. */
type DateGuess =
  | { readonly kind: "known"; readonly formats: readonly string[] }
  | { readonly kind: "open"; readonly among: readonly string[] }
  | { readonly kind: "none" };

/**
 * The formats that read these values, the one of most values first; others that read what is left follow, such as
 * typed dates among a spreadsheet's serial numbers. `open` when two formats read as many, so that no birth date is guessed;
 * `none` without values, or when fewer than half of them are dates.
 */
export function guessDateFormats(values: readonly string[]): DateGuess {
  let rest = values.map((value) => value.trim()).filter((value) => value !== "");
  const whole = rest.length;
  const chosen: string[] = [];
  while (rest.length > 0) {
    const counts = FORMATS.map(({ format, parse }) => ({
      format,
      count: rest.filter((value) => parse(value) !== undefined).length,
    }));
    const fitting = counts.filter(({ format }) => chosen.every((other) => !areAmbiguous(format, other)));
    const most = Math.max(...fitting.map(({ count }) => count));
    if (most === 0 || (chosen.length === 0 && most * 2 < whole)) break;
    const best = fitting.filter(({ count }) => count === most).map(({ format }) => format);
    const [first] = best;
    if (first === undefined) break;
    if (best.length > 1) return { kind: "open", among: best };
    chosen.push(first);
    const { parse } = FORMATS.find(({ format }) => format === first) ?? { parse: () => undefined };
    rest = rest.filter((value) => parse(value) === undefined);
  }
  return chosen.length === 0 ? { kind: "none" } : { kind: "known", formats: chosen };
}
