import { type Condition, condition } from "../../core/condition.ts";
import type { UntakenReason } from "../../core/untaken-files.ts";
import { counted } from "../../operator/text.ts";
import type { Status } from "../status-document.ts";

/** Dropped files that aren't taken. A name that is never taken may be the file system's own, so somebody should look; the others are files that somebody means. */
export function untakenOf({ untakenFiles }: Pick<Status, "untakenFiles">): Condition[] {
  return (untakenFiles ?? []).map(({ connector, reason, count, since, marker }) => {
    const { what, hint } = describeUntaken(reason, count, marker ?? "");
    const level = reason === "name" ? "look" : "act";
    const where = `in the drop folder of connector ${connector}, ${what}`;
    return condition("filesUntaken", `${connector} ${reason}`, where, { level, since, hint });
  });
}

function describeUntaken(
  reason: UntakenReason,
  count: number,
  marker: string,
): { readonly what: string; readonly hint: string } {
  const [byStem, byName] = marker.startsWith("{stem}")
    ? [marker, marker.slice(6)]
    : [`{stem}${marker}`, marker];
  const forms = [
    { setting: byName, words: `NAME.EXT${byName} for NAME.EXT` },
    { setting: `"${byStem}"`, words: `NAME${byName} for NAME.EXT` },
  ] as const;
  const [own, other] = marker === byStem ? [forms[1], forms[0]] : forms;
  switch (reason) {
    case "name":
      return {
        what: `${counted(count, "file is", "files are")} never taken by name: a dot at the beginning, or an ending such as .tmp, .part, .partial, .filepart, .upload or ~, means that a file isn't done, and \`files\` of the connector may leave others out`,
        hint: "Have the sender rename each file once it is whole; rename or remove what was left there.",
      };
    case "marker":
      return {
        what: `${counted(count, "file waits for its marker", "files wait for their markers")} (${own.words})`,
        hint: `Have the sender write the marker once a file is whole, or write it yourself. Where it writes ${other.words}, set marker: ${other.setting} for this connector.`,
      };
    case "lone_marker":
      return {
        what: `${counted(count, "marker has", "markers have")} no file (${own.words})`,
        hint: "Ask the sender for the files; remove markers that nobody needs.",
      };
    case "folder":
      return {
        what: `${counted(count, "folder lies", "folders lie")} there, and nothing in ${count === 1 ? "it" : "them"} is taken`,
        hint: "Move the files into the drop folder itself, then remove the folder; have the sender drop them there.",
      };
    case "changing":
      return {
        what: `${counted(count, "file keeps", "files keep")} changing, and can't be taken before it rests`,
        hint: "Look what writes to it; have the sender write elsewhere and rename the finished file into the folder.",
      };
  }
}
