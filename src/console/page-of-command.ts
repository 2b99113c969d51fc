import { commandLine, type HintCommand, parseCommand, partsOf } from "../core/hint.ts";
import { type AnySiteAct, type AnyThing, pageOfRecord, SITE_ACTS, THINGS } from "../operator/things.ts";
import { type Content, type Html, html } from "./html.ts";
import { SECTIONS, type Section, sectionOf, sectionOfCommand } from "./sections.ts";

/** The page where a person does what a command does, such as `/orders?state=parked`; undefined where there is none. */
export function pageOf(command: string): { readonly to: string; readonly name: string } | undefined {
  const parsed = parseCommand(command);
  const record = recordOf(parsed);
  if (record !== undefined) return record;
  const pressed = buttonOf(parsed);
  if (pressed?.to === undefined) return undefined;
  const section = SECTIONS[pressed.to.split("?")[0] as Section];
  return { to: pressed.to, name: `To the ${section.toLowerCase()}` };
}

/** The page of the record that a command shows. */
function recordOf({ words: [family, verb], operands: [id = ""] }: HintCommand) {
  const page = verb === "show" ? pageOfRecord(id) : undefined;
  if (page === undefined || page.thing.path !== `/${family}`) return undefined;
  return { to: page.to, name: `To the ${page.thing.noun}` };
}

/** The menu's page with what a command lists. */
function listOf({ words, options }: HintCommand): Button | undefined {
  const path = sectionOfCommand(words.join(" "));
  if (path === undefined) return undefined;
  const query = new URLSearchParams();
  for (const [option, value] of options) {
    if (value === undefined) continue;
    const key = option.slice(2);
    if (key === "since") query.set(key, value === "1d" ? "24h" : value);
    else for (const each of value.split(",")) query.append(key, each);
  }
  return { name: SECTIONS[path], to: query.size === 0 ? path : `${path}?${query}` };
}

/** What a person presses instead of a command. */
interface Button {
  readonly name: string;
  /** The page that has it, where that is another one. */
  readonly to?: string | undefined;
}

/** A button, and what of a command says that it does the same: the words, and the option that makes an act of its own of it. */
interface Pressed extends Button {
  readonly words: string;
  readonly flag?: string | undefined;
}

/** The buttons that stand on the page of a record, or on the list of those that have none; first those of an option. */
const ACT_BUTTONS: readonly Pressed[] = THINGS.flatMap(buttonsOf).sort(
  (one, other) => Number(one.flag === undefined) - Number(other.flag === undefined),
);

function buttonsOf({ acts, details, path }: AnyThing): Pressed[] {
  const to = details === undefined ? sectionOf(path) : undefined;
  const show = { words: `${path.slice(1)} show`, flag: "--show-phi", name: "Show the patient's data" };
  const ofActs = Object.values(acts).map(({ command, flag, button: name }) => ({
    ...{ words: command, flag: flag && `--${flag.name}`, name, to },
  }));
  return details?.seen === undefined ? ofActs : [show, ...ofActs];
}

/** The button of an act without a record; undefined for another act's command, and for what it can't be done to. */
function siteButton(
  { command, path, button, on }: AnySiteAct,
  { words, operands, options }: HintCommand,
): Button | undefined {
  const flag = options.filter(([name]) => command.endsWith(` ${name}`)).flat();
  const typed = [...words, ...operands, ...flag].join(" ");
  if (!`${typed} `.startsWith(`${command} `)) return undefined;
  const word = typed.slice(command.length + 1);
  const meant = word === "" && on === undefined ? {} : on?.(word);
  if (meant === undefined) return undefined;
  const name = typeof button === "string" ? button : button(meant as never);
  return { name: name.replace(/…$/, ""), to: sectionOf(path) };
}

/** What stands on a page instead of a command; undefined where it is a command here, too. */
function buttonOf(command: HintCommand): Button | undefined {
  const { words, operands, options } = command;
  const typed = words.join(" ");
  const suits = ({ words: known, flag }: Pressed) =>
    known === typed && (flag === undefined || options.some(([name]) => name === flag));
  const ofRecord = IS_ID.test(operands.join(" ")) ? ACT_BUTTONS.find(suits) : undefined;
  const ofSite = SITE_ACTS.map((act) => siteButton(act, command)).find((button) => button !== undefined);
  return ofSite ?? ofRecord ?? recordOf(command) ?? listOf(command);
}

/** The record of the page, known or not yet; ORDER is another one. */
const IS_ID = /^(ID|[a-z][1-9]\d*)$/;

function linkedNumber({ options }: HintCommand): string | undefined {
  return options.find(([name, value]) => name.endsWith("-id") && /^\d+$/.test(value ?? ""))?.[1];
}

/** A text with its commands; where a page has a button for one, that is named instead, once where it does what both of two commands do. */
export function withCommands(text: string): Content {
  const shown = partsOf(text).map(inPlaceOf);
  return shown.flatMap((part, nth) => {
    const isAgain = (at: number) =>
      shown[at - 1] === " or " && shown[at - 2]?.toString() === shown[at]?.toString();
    if (isAgain(nth) || isAgain(nth + 1)) return [];
    return typeof part === "string" ? breakableCodes(part) : part;
  });
}

function inPlaceOf(part: ReturnType<typeof partsOf>[number]): string | Html {
  if (typeof part === "string") return part;
  if ("code" in part) return html`<code>${part.code}</code>`;
  const button = buttonOf(part);
  if (button === undefined) return html`<code>${commandLine(part)}</code>`;
  const { name, to } = button;
  const number = linkedNumber(part);
  const typed = number === undefined ? "" : ` (${number})`;
  return to === undefined ? html`“${name}”${typed}` : html`“<a href="${to}">${name}</a>”${typed}`;
}

/** A code may be broken into lines behind its underscores. */
function breakableCodes(text: string): Content {
  return text.split(/(?<=[A-Z]_)(?=[A-Z])/).map((part, nth) => html`${nth > 0 && html`<wbr>`}${part}`);
}
