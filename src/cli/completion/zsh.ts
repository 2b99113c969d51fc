import type { OptionWords, Place, Value } from "./tree.ts";

/** The script that has zsh complete command lines: a function for each command, over zsh's own `_arguments`. */
export function zshScript(places: readonly Place[]): string {
  return `#compdef cryobridge
# Completion of cryobridge for zsh, printed by: cryobridge completion zsh
${places.map(functionOf).join("\n")}
# Read as a file of $fpath it is called at once; read by source it is made known.
if [ "$funcstack[1]" = "_cryobridge" ]; then _cryobridge "$@"; else compdef _cryobridge cryobridge; fi
`;
}

function functionOf(place: Place): string {
  const { words, commands, options, value } = place;
  const name = functionName(words);
  const specs = options.flatMap(optionSpecs).map((spec) => `    ${spec} \\`);
  if (commands.length === 0) {
    const rest = value === undefined ? "" : `    ${quote(`*:${actionOf(value)}`)} \\\n`;
    return `${name}() {\n  _arguments -s \\\n${specs.join("\n")}\n${rest}    && return\n}`;
  }
  const described = commands.map(
    (each) => `      ${quote(`${each.name}:${each.description.replaceAll(":", "\\:")}`)}`,
  );
  const cases = commands.map(
    (each) => `        ${each.name}) ${functionName(`${words} ${each.name}`.trim())} ;;`,
  );
  return `${name}() {
  local curcontext="$curcontext" state line
  _arguments -s -C \\
${specs.join("\n")}
    ': :->command' '*::: :->rest'
  case $state in
    command)
      local -a commands=(
${described.join("\n")}
      )
      _describe command commands ;;
    rest)
      words=($line[1] "\${words[@]}")
      ((CURRENT += 1))
      case $line[1] in
${cases.join("\n")}
      esac ;;
  esac
}`;
}

function functionName(words: string): string {
  return words === "" ? "_cryobridge" : `_cryobridge_${words.replaceAll(/\W/g, "_")}`;
}

function optionSpecs({ flags, description, value, isValueOptional }: OptionWords): string[] {
  const words = description.replaceAll(/([[\]])/g, "\\$1");
  return flags.map((flag) => {
    if (value === undefined) return quote(`${flag}[${words}]`);
    const sign = flag.startsWith("--") ? "=" : "";
    return quote(`${flag}${sign}[${words}]${isValueOptional ? ":" : ""}:${actionOf(value)}`);
  });
}

function actionOf(value: Value): string {
  switch (value.kind) {
    case "word":
      return `value:(${value.words.join(" ")})`;
    case "list":
      return `values:_sequence compadd - ${value.words.join(" ")}`;
    case "file":
      return "file:_files";
    case "folder":
      return "folder:_files -/";
    case "any":
      return "value: ";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
