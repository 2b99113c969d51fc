/**
 * The beginning of a JSON value as `JSON.stringify(value, null, 2)` writes it, whole where it has at most so many characters, else
 * somewhat more of it than these: what is left out isn't gone through, however large or deep it is.
 */
export function indentedStart(value: unknown, most: number): string {
  let text = "";
  const write = (each: unknown, indent: string): void => {
    if (typeof each === "string") text += JSON.stringify(each.slice(0, most));
    else if (typeof each !== "object" || each === null) text += JSON.stringify(each);
    else if (Array.isArray(each)) {
      writeList("[]", each.keys(), indent, (n, inner) => write(each[n], inner));
    } else {
      const fields = each as Readonly<Record<string, unknown>>;
      writeList("{}", Object.keys(fields), indent, (key, inner) => {
        text += `${JSON.stringify(key.slice(0, most))}: `;
        write(fields[key], inner);
      });
    }
  };
  const writeList = <K>(
    [open = "", close = ""]: string,
    keys: Iterable<K>,
    indent: string,
    writeEntry: (key: K, indent: string) => void,
  ): void => {
    const inner = `${indent}  `;
    let isEmpty = true;
    text += open;
    for (const key of keys) {
      if (text.length > most) return;
      text += `${isEmpty ? "" : ","}\n${inner}`;
      isEmpty = false;
      writeEntry(key, inner);
    }
    text += isEmpty ? close : `\n${indent}${close}`;
  };
  write(value, "");
  return text;
}
