import { Failure } from "../../core/failures.ts";
import type { Hl7Message } from "../../formats/hl7/message.ts";
import { builtinProfiles } from "../../mapping/profile/builtin.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import { parseStandardDate } from "../../mapping/profile/transforms.ts";
import { guessDateFormats } from "./date-formats.ts";
import { type Draft, type Given, onlyGiven, type Place } from "./given.ts";
import { containerOptions, numberOptions, type Option, subjectOptions, unusedParts } from "./hl7-options.ts";
import { findingsOf, orderSegments, readSample, typeOfMessage, valuesIn } from "./hl7-sample.ts";
import type { Questions } from "./questions.ts";
import { tryProfile } from "./trial.ts";

const BUILTIN = builtinProfiles["builtin/hl7-orders"] ?? {};

/** The places that are tried one after the other, each until the sample maps with fewer mistakes. */
const CONCERNS = [
  { place: "order_number", words: "the order number", optionsOf: numberOptions },
  { place: "subject_code", words: "the patient's or donor's number", optionsOf: subjectOptions },
  { place: "container", words: "the label of each container", optionsOf: containerOptions },
] as const;

/** A profile for HL7 messages, but for the codes of operations and facilities. What can't be known is asked for. */
export async function draftHl7(sample: Buffer, given: Given, questions: Questions): Promise<Draft> {
  const { messages, encoding } = readSample(sample, given.encoding);
  let definition = withPlaces(typesOf(messages, encoding), given);
  definition = await withDates(definition, messages, given, questions);
  const isLabelGiven = given.places.has("container") || given.places.has("container_label");
  for (const { place, words, optionsOf } of CONCERNS) {
    if (place === "container" ? isLabelGiven : given.places.has(place)) continue;
    const chosen = await choose(definition, sample, optionsOf(messages), { place, words }, questions);
    definition = merge(definition, chosen);
  }
  const facility = given.places.has("facility") ? undefined : facilityOf(messages, given);
  if (typeof facility === "string") definition = { ...definition, facility };
  const operation = definition.operation ?? operationOf(messages, given);
  if (operation !== undefined) definition = { ...definition, operation };
  const texts = textsOf(messages);
  const unused = unusedParts(messages, definition);
  const passedOver = unused.length === 0 ? [] : [`not read of the lab's own segments: ${unused.join(", ")}`];
  return {
    definition,
    comments: COMMENTS,
    tail: passedOver.map((words) => `The sample fills what is ${words}`),
    findings: [...findingsOf(messages, definition, BUILTIN, isLabelGiven), ...passedOver],
    textOfOperation: (code) => texts.get(code),
    lacksFacility: facility === "none",
  };
}

const COMMENTS = new Map([
  ["accept", "message types that are taken; others are refused"],
  ["ignore", "types that are acknowledged and otherwise left alone"],
  ["versions", "HL7 versions that are taken"],
  ["controlId", "the lab sends messages without MSH-10"],
  ["encoding", "character set of messages whose MSH-18 doesn't say it"],
  ["placerOrderNumber", "the lab's number of the order"],
  ["orders", "what is an order of its own"],
  ["operation", "what is to be done, and the lab's codes for it"],
  ["facility", "where; a name under `facilities` of the configuration"],
  ["subject.code", "the patient's or donor's number"],
  ["subject.dateOfBirth", "how birth dates are written"],
  ["containers", "the segment that stands for each container, and its label"],
]);

/** What the headers of the messages need: types, versions, a missing control id, the character set. */
function typesOf(messages: readonly Hl7Message[], encoding: string | undefined): ProfileDefinition {
  const { accept = [], versions = [] } = BUILTIN;
  const strange = messages.filter((message) => !accept.includes(typeOfMessage(message)));
  const withOrders = strange.filter((message) => orderSegments(message).length > 0);
  const types = (of: readonly Hl7Message[]) =>
    [...new Set(of.map(typeOfMessage))].filter((type) => /^[A-Z][A-Z0-9]{2}\^[A-Z0-9]{3}$/.test(type));
  const ignore = types(strange.filter((message) => !withOrders.includes(message)));
  const newer = new Set(
    messages
      .map(({ header }) => header.version ?? "")
      .filter((version) => /^2\.\d+(\.\d+)?$/.test(version) && !versions.some((each) => isOf(version, each))),
  );
  return {
    extends: "builtin/hl7-orders",
    ...(withOrders.length > 0 && { accept: [...accept, ...types(withOrders)] }),
    ...(ignore.length > 0 && { ignore }),
    ...(newer.size > 0 && { versions: [...versions, ...newer] }),
    ...(messages.some(({ header }) => !header.messageControlId) && { controlId: "optional" as const }),
    ...(encoding !== undefined && { encoding }),
  };
}

/** 2.3 stands for 2.3.1 too. */
function isOf(version: string, known: string): boolean {
  return version === known || version.startsWith(`${known}.`);
}

/** What `--place` says. @throws Failure CLI_USAGE for a container's place that is none */
function withPlaces(definition: ProfileDefinition, { places, everyOperation }: Given): ProfileDefinition {
  const at = (place: Place) => places.get(place);
  const number = at("order_number");
  const [code, firstName, lastName, dateOfBirth] = [
    at("subject_code"),
    at("first_name"),
    at("last_name"),
    at("date_of_birth"),
  ];
  const subject = onlyGiven({ code, firstName, lastName, dateOfBirth });
  const containers = onlyGiven({
    ...containerAt(at("container"), at("container_label")),
    description: at("container_description"),
  });
  const isEachObr = number === "each OBR";
  return onlyGiven({
    ...definition,
    orders: isEachObr ? { each: "OBR" as const } : undefined,
    placerOrderNumber: number === undefined || isEachObr ? undefined : { from: number, agree: false },
    operation: everyOperation === undefined ? at("operation") : { value: everyOperation },
    facility: at("facility"),
    subject: Object.keys(subject).length > 0 ? subject : undefined,
    containers: Object.keys(containers).length > 0 ? containers : undefined,
  });
}

const OWN_LABELS: Readonly<Record<string, string>> = {
  OBX: "OBX-5.1",
  NTE: "NTE-3",
  SAC: "SAC-3.1",
  SPM: "SPM-2.1.1",
};

function containerAt(
  each: string | undefined,
  label: string | undefined,
): NonNullable<ProfileDefinition["containers"]> {
  const [, segment, name = "", field] = /^(([A-Z][A-Z0-9]{2})(?:\[.*\])?)-(\d.*)$/.exec(label ?? "") ?? [];
  if (label !== undefined && segment === undefined)
    throw new Failure(
      "CLI_USAGE",
      `--place container_label=${label}: expected an HL7 path such as OBX[3.1=VIAL]-5.1`,
    );
  if (label !== undefined) return { each: each ?? segment, label: `${name}-${field}` };
  if (each === undefined) return {};
  if (/-\d/.test(each.replace(/\[.*\]/, ""))) return containerAt(undefined, each);
  const own = OWN_LABELS[each.slice(0, 3)];
  if (own !== undefined) return { each, label: own };
  throw new Failure(
    "CLI_USAGE",
    `--place container=${each}: say with --place container_label=PATH where its label stands`,
  );
}

function merge(definition: ProfileDefinition, settings: ProfileDefinition): ProfileDefinition {
  return {
    ...definition,
    ...settings,
    ...(settings.subject && { subject: { ...definition.subject, ...settings.subject } }),
  };
}

/** The option with which the sample maps with the fewest mistakes; nothing where none makes it fewer. */
async function choose(
  definition: ProfileDefinition,
  sample: Buffer,
  options: readonly Option[],
  { place, words }: { readonly place: Place; readonly words: string },
  questions: Questions,
): Promise<ProfileDefinition> {
  const mistakesOf = async (tried: ProfileDefinition) => {
    // A code that nobody knows yet would hide other mistakes.
    const known = { ...tried, operation: { value: "STORE" }, facility: { value: "HERE" } };
    const { problems } = await tryProfile(known, sample, new Map([["HERE", 1]]));
    return problems.filter(({ code }) => code !== "HL7_UNTERMINATED").length;
  };
  const usual = await mistakesOf(definition);
  if (usual === 0) return {};
  const tried: { readonly option: Option; readonly mistakes: number }[] = [];
  for (const option of options) {
    tried.push({ option, mistakes: await mistakesOf(merge(definition, option.settings)) });
  }
  const fewest = Math.min(usual, ...tried.map(({ mistakes }) => mistakes));
  const better = tried
    .filter(({ mistakes }) => mistakes === fewest && mistakes < usual)
    .map(({ option }) => option);
  const rank = Math.min(...better.map((option) => option.rank));
  const [first, second] = better.filter((option) => option.rank === rank);
  if (first === undefined) return {};
  if (second === undefined) return first.settings;
  const places = better.map((option) => option.place);
  const answer = await questions.ask({
    text: `Where does ${words} stand? ${places.join(" or ")}:`,
    flag: places.map((each) => `--place ${JSON.stringify(`${place}=${each}`)}`).join(" or "),
    trouble: (text) => (places.includes(text) ? undefined : `expected one of ${places.join(", ")}`),
  });
  return better.find((option) => option.place === answer)?.settings ?? {};
}

async function withDates(
  definition: ProfileDefinition,
  messages: readonly Hl7Message[],
  { dateFormats, places }: Given,
  questions: Questions,
): Promise<ProfileDefinition> {
  const values = valuesIn(messages, "PID", 7);
  const isStandard = values.every((value) => typeof parseStandardDate(value) === "string");
  if (places.has("date_of_birth") || (isStandard && dateFormats.length === 0)) return definition;
  const withFormats = (date: readonly string[]) =>
    merge(definition, { subject: { dateOfBirth: { from: "PID-7", as: [{ date: [...date] }] } } });
  if (dateFormats.length > 0) return withFormats(dateFormats);
  const guess = guessDateFormats(values);
  // A date that does not exist, say; the preview reports it.
  if (guess.kind === "none" || (guess.kind === "known" && guess.formats[0] === "yyyyMMdd")) return definition;
  if (guess.kind === "known") return withFormats(guess.formats);
  const among = guess.among.join(" or ");
  const answer = await questions.ask({
    text: `How are birth dates (PID-7) written? ${among}:`,
    flag: `--date-format ${among}`,
    trouble: (text) => (guess.among.includes(text) ? undefined : `expected ${among}`),
  });
  return answer === undefined ? definition : withFormats([answer]);
}

const FACILITY_PLACES = [
  "PV1-3.4",
  "MSH-4.1",
  "ORC-17.1",
  "ORC-21.10",
  "ORC-21.1",
  "ORC-13.4",
  "PV1-3.1",
  "MSH-3.1",
];

/**
 * A place of the facility other than the built-in ones: where facilities are given and only another place has their names,
 * or where the built-in places are empty. `none` where no place has a value; undefined for the built-in ones.
 */
function facilityOf(messages: readonly Hl7Message[], { facilities }: Given): string | undefined {
  const ordering = messages.filter((message) => orderSegments(message).length > 0);
  if (ordering.length === 0) return undefined;
  const valueAt = (message: Hl7Message, place: string) => message.get(place)?.trim() || undefined;
  const builtin = ordering.map((message) => valueAt(message, "PV1-3.4") ?? valueAt(message, "MSH-4.1"));
  const isKnown = (code: string | undefined) => code !== undefined && facilities.has(code);
  if (facilities.size > 0 && !builtin.some(isKnown)) {
    const own = FACILITY_PLACES.find((place) =>
      ordering.every((message) => isKnown(valueAt(message, place))),
    );
    if (own !== undefined) return own;
  }
  if (builtin.every((code) => code !== undefined)) return undefined;
  return FACILITY_PLACES.find((place) => ordering.every((message) => valueAt(message, place))) ?? "none";
}

/** Another component where OBR-4.1 is empty. */
function operationOf(messages: readonly Hl7Message[], given: Given): string | undefined {
  if (given.places.has("operation") || valuesIn(messages, "OBR", 4).length > 0) return undefined;
  const component = [4, 2, 5].find((each) => valuesIn(messages, "OBR", 4, each).length > 0);
  return component === undefined ? undefined : `OBR-4.${component}`;
}

function textsOf(messages: readonly Hl7Message[]): ReadonlyMap<string, string> {
  const obrs = messages.flatMap((message) => message.all("OBR"));
  return new Map(obrs.map((obr) => [obr.get(4)?.trim() ?? "", obr.get(4, 1, 2)?.trim() ?? ""]));
}
