import { listValuedFlags, type OptionWords, type Place, type Value } from "./tree.ts";

/** The script that has fish complete command lines: a condition says which command stands before the cursor. */
export function fishScript(places: readonly Place[]): string {
  const names = places.flatMap(({ words }) => (words === "" ? [] : [quote(` ${words}`)]));
  return `# Completion of cryobridge for fish, printed by: cryobridge completion fish
function __cryobridge_at
  set -l words (commandline -opc)
  set -l place
  set -l isValue 0
  for word in $words[2..]
    if test $isValue = 1
      set isValue 0
    else if contains -- $word ${listValuedFlags(places).join(" ")}
      set isValue 1
    else if contains -- "$place $word" ${names.join(" ")}
      set place "$place $word"
    end
  end
  test "$place" = "$argv[1]"
end
complete -c cryobridge -f
${places.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ words, commands, options, value }: Place): string[] {
  const at = `complete -c cryobridge -n ${quote(`__cryobridge_at ${quote(words === "" ? "" : ` ${words}`, '"')}`)}`;
  return [
    ...commands.map(({ name, description }) => `${at} -a ${name} -d ${quote(description)}`),
    ...options.map((option) => `${at} ${optionOf(option)}`),
    ...(value === undefined ? [] : [`${at} ${answerOf(value)}`]),
  ];
}

function optionOf({ flags, description, value, isValueOptional }: OptionWords): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const takes =
    value === undefined || isValueOptional ? [] : [value.kind === "file" ? "-r" : "-x", answerOf(value)];
  return [...names, ...takes.filter(Boolean), `-d ${quote(description)}`].join(" ");
}

function answerOf(value: Value): string {
  switch (value.kind) {
    case "word":
      return `-a ${quote(value.words.join(" "))}`;
    case "list":
      return `-a ${quote(`(__fish_append , ${value.words.join(" ")})`)}`;
    case "file":
      return "-F";
    case "folder":
      return `-a ${quote("(__fish_complete_directories)")}`;
    case "any":
      return "";
  }
}

function quote(text: string, sign: "'" | '"' = "'"): string {
  return `${sign}${text.replaceAll("\\", "\\\\").replaceAll(sign, `\\${sign}`)}${sign}`;
}
