import { byReload } from "../../core/hint.ts";
/** What a value is for, as far as it matters to what may stand there by mistake. */
export type GuardedKind = "code" | "name";

/** What a profile may say that a sender's codes or names do look like. */
export const ALLOWED = ["words", "dates"] as const;
export type Allowed = (typeof ALLOWED)[number];

/** Why a text is no value, in words that don't repeat it. */
interface Misread {
  readonly message: string;
  readonly hint?: string | undefined;
}

/**
 * What a program, a database or a spreadsheet put where a code or a name should stand: a word for no value, an error, or what
 * a spreadsheet makes of a code that it takes for a number, a date or a formula. It may stand for another code, or for many.
 * The one guard for values of messages, files and modules.
 *
 * @param name which value of the profile it is, such as `subject.code`
 */
export function findMisread(
  value: string,
  kind: GuardedKind,
  allow: readonly Allowed[] = [],
  name?: string,
): Misread | undefined {
  const text = value.trim();
  if (text === "") return undefined;
  if (ERROR_VALUE.test(text)) return { message: ERROR_TROUBLE };
  if (!allow.includes("words") && isWordForNothing(text, kind)) return noValue(kind, name);
  if (kind === "name") return undefined;
  if (SHORTENED.test(text)) return { message: SHORTENED_TROUBLE };
  if (!allow.includes("dates") && isDateLike(text))
    return {
      ...DATE,
      hint: byReload(`${DATE.hint} Where its codes do look so, ${allowing("dates", name)}.`),
    };
  if (!SUSPICIOUS.test(text)) return undefined;
  const damage = DAMAGES.find(({ pattern }) => pattern.test(text));
  return damage && { message: damage.message };
}

/** What a spreadsheet shows where a formula failed, in several languages, or a column is too narrow. */
const ERROR_VALUE = /^(?:#(?:N\/[AD]|NV|DIV\/0!|¡?\p{Lu}+[!?]|#+)|Err:\d{3})$/u;
const ERROR_TROUBLE = "is what a spreadsheet shows where a formula failed, expected a value";

/** A spreadsheet writes a long number so, and has dropped its last digits: two codes may have become one. */
export const SHORTENED = /^\s*-?(?:\d(?:[.,]\d+)?E\+\d+|\d[.,]\d+E-\d{2,})\s*$/i;

export const SHORTENED_TROUBLE =
  "is a number that a spreadsheet has shortened, like 1.23E+05, expected the whole code; give the column the format Text, enter the codes again and save the file again";

/** Nobody is called so, nor is any container; in lower case, without brackets around. */
const WORDS = new Set(
  "undefined,n/a,n.a.,n. a.,k.a.,k. a.,s/o,object object,object null,system.object,nat,\\n,not available,not applicable,no value,no data,missing,unknown,unbekannt,keine angabe".split(
    ",",
  ),
);

/** These are no codes however they are written. People are called Null, Nan, Na, Nil, True, and some write names in capitals. */
const CODE_WORDS = new Set(
  "null,nil,nan,none,na,empty,blank,leer,tbd,true,false,wahr,falsch,vrai,faux,verdadero,falso,inf,-inf,infinity,-infinity".split(
    ",",
  ),
);

/** As programs write them: other forms of them are names. */
const NAME_WORDS = new Set(
  "null,NULL,nil,nan,NaN,None,none,NONE,empty,true,false,TRUE,FALSE,WAHR".split(","),
);

const LONGEST_WORD = 20;

function isWordForNothing(text: string, kind: GuardedKind): boolean {
  if (text.length > LONGEST_WORD) return false;
  if (!/[\p{L}\p{N}]/u.test(text)) return true;
  const bare = text.replace(/^[([<{](.*)[)\]>}]$/, "$1").trim();
  // `(null)` and the like are nobody's name, however that is written.
  const isBracketed = bare !== text;
  const plain = bare.toLowerCase();
  if (WORDS.has(plain)) return true;
  return kind === "code" || isBracketed ? CODE_WORDS.has(plain) : NAME_WORDS.has(bare);
}

/** What allows such values, as it is written into a profile. */
function allowing(what: Allowed, name: string | undefined): string {
  return name === undefined
    ? `add \`allow: [${what}]\` to the value in the profile`
    : `set \`${settingOf(name, `{ allow: [${what}] }`)}\` in the profile`;
}

/** A setting of one value of a profile as YAML: `subject: { code: { allow: [words] } }` for `subject.code`. */
export function settingOf(name: string, setting: string): string {
  const [key = "", ...rest] = name.split(".");
  return `${key}: ${rest.reduceRight((inner, each) => `{ ${each}: ${inner} }`, setting)}`;
}

function noValue(kind: GuardedKind, name: string | undefined): Misread {
  const why = kind === "code" ? ", which would be the same code for many" : "";
  return {
    message: `is a word or mark for no value${why}, expected a ${kind} or nothing`,
    hint: byReload(
      `Have the lab send the ${kind}, or leave the place empty. Where it is a real one, ${allowing("words", name)}.`,
    ),
  };
}

const MONTHS = "Jan|Feb|Mar|Mär|Mrz|Apr|May|Mai|Jun|Jul|Aug|Sep|Oct|Okt|Nov|Dec|Dez";

const DATE: Misread = {
  message:
    "is a date or time, which a spreadsheet may have made of a code like 1-2-3 or 1-Mar; give the column the format Text and enter the codes again",
  hint: "Have the lab give the column the format Text and enter the codes again.",
};

const TIME = "\\d{1,2}:\\d{2}(?::\\d{2}(?:[.,]\\d+)?)?(?: ?[AaPp]\\.?[Mm]\\.?)?";
const ZONE = "(?:Z|[+-]\\d{2}:?\\d{2})?";

const NUMBERS_OF_DATE = new RegExp(
  `^(?:(\\d{1,2})([./-])(\\d{1,2})\\2((?:19|20)\\d{2})|((?:19|20)\\d{2})([./-])(\\d{1,2})\\6(\\d{1,2})\\.?)(?:[T, ]+${TIME}${ZONE})?$`,
);

/** As spreadsheets write it: `1-Mar` and `Mar-01`, but a code may well be `MAR-01`. */
const WORDS_OF_DATE = new RegExp(
  `^(?:\\d{1,2}(?:-|\\. ?| )(?:${MONTHS})\\.?(?:[- ]\\d{2}(?:\\d{2})?)?|(?:${MONTHS})[- ]\\d{2}|${TIME})$`,
);

function isDateLike(text: string): boolean {
  const first = text.charCodeAt(0);
  const isDigit = first >= 0x30 && first <= 0x39;
  if (text.length < 4 || text.length > 40 || (!isDigit && !/^[A-Z][a-zä]{2}[- ]\d\d$/.test(text)))
    return false;
  if (WORDS_OF_DATE.test(text)) return true;
  const parts = NUMBERS_OF_DATE.exec(text);
  if (!parts) return false;
  const [one, other] = [Number(parts[1] ?? parts[7]), Number(parts[3] ?? parts[8])];
  return Math.min(one, other) >= 1 && Math.min(one, other) <= 12 && Math.max(one, other) <= 31;
}

/** How all of {@link DAMAGES} begin, so that nearly every code is looked at once only. */
const SUSPICIOUS = /^(?:[='"`´‘’‚‛“”„‟«»‹›]|\d+[.,%])/u;

/** What stands where a code should, and why it is none; looked at once the profile's transforms have had their turn. */
const DAMAGES: readonly { readonly pattern: RegExp; readonly message: string }[] = [
  {
    // A scanned donation identification number begins with an equals sign and a letter.
    pattern: /^=(?![A-Z]\d{4})/,
    message: "is a spreadsheet's formula, expected the code itself; give the column the format Text",
  },
  {
    pattern: /^['"`´‘’‚‛“”„‟«»‹›]/u,
    message: "begins with a quotation mark or an apostrophe, expected the code alone",
  },
  {
    pattern: /^\d+[.,]0+$/,
    message: "is a whole number written with decimals, like 4711.0, expected the code as it was entered",
  },
  {
    pattern: /^(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)? ?%)$/,
    message:
      "is a number as a spreadsheet shows it, with separators of thousands or a percent sign, expected the code as it was entered",
  },
];
