import { listValuedFlags, type Place, type Value } from "./tree.ts";

/** The script that has bash complete command lines, of version 3.2 or newer, or zsh by its `bashcompinit`. */
export function bashScript(places: readonly Place[]): string {
  const names = places.flatMap(({ words }) => (words === "" ? [] : [quote(` ${words}`)]));
  const values = places.flatMap(({ words, options }) =>
    options.flatMap(({ flags, value }) =>
      value === undefined
        ? []
        : flags.map((flag) => `    ${quote(`${lead(words)} ${flag}`)}) ${reply(value)} ;;`),
    ),
  );
  return `# Completion of cryobridge for bash, printed by: cryobridge completion bash
_cryobridge() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" place="" isValue="" word i
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ "$cur" == "=" ]]; then cur=""
  elif [[ "$prev" == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [[ "$word" == "=" ]]; then isValue=1; continue; fi
    if [[ -n "$isValue" ]]; then isValue=""; continue; fi
    case "$word" in
      ${listValuedFlags(places).join("|")}) isValue=1; continue ;;
    esac
    case "$place $word" in
      ${names.join("|")}) place="$place $word" ;;
    esac
  done
  case "$place $prev" in
${values.join("\n")}
  esac
  [[ -n "$isValue" ]] && return
  if [[ "$cur" == -* ]]; then
    case "$place" in
${places.map(({ words, options }) => `      ${quote(lead(words))}) _cryobridge_words ${quote(options.flatMap(({ flags }) => flags).join(" "))} ;;`).join("\n")}
    esac
    return
  fi
  case "$place" in
${places.flatMap((place) => argumentLine(place)).join("\n")}
  esac
}
_cryobridge_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
# Words with commas between them: those before the last comma stay.
_cryobridge_list() {
  local before=""
  [[ "$cur" == *,* ]] && before="\${cur%,*},"
  COMPREPLY=($(compgen -P "$before" -W "$1" -- "\${cur##*,}"))
}
_cryobridge_paths() {
  local IFS=$'\\n'
  type compopt &>/dev/null && compopt -o filenames
  COMPREPLY=($(compgen "$1" -- "$cur"))
}
complete -F _cryobridge cryobridge
`;
}

function argumentLine({ words, commands, value }: Place): string[] {
  const names = commands.join(" ");
  if (names !== "") return [`    ${quote(lead(words))}) _cryobridge_words ${quote(names)} ;;`];
  return value === undefined ? [] : [`    ${quote(lead(words))}) ${reply(value)} ;;`];
}

/** The words of a place as the script puts them together: each with a blank before it. */
function lead(words: string): string {
  return words === "" ? "" : ` ${words}`;
}

function reply(value: Value): string {
  switch (value.kind) {
    case "word":
      return `_cryobridge_words ${quote(value.words.join(" "))}; return`;
    case "list":
      return `_cryobridge_list ${quote(value.words.join(" "))}; return`;
    case "file":
      return "_cryobridge_paths -f; return";
    case "folder":
      return "_cryobridge_paths -d; return";
    case "any":
      return "return";
  }
}

function quote(text: string): string {
  return `"${text}"`;
}
