/** The pages of the console that do what a command does, by its words. */
const PAGES: readonly (readonly [words: string, path: string, name: string])[] = [
  ["orders list", "/orders", "To the orders"],
  ["messages list", "/messages", "To the messages"],
  ["messages waiting", "/messages", "To the messages"],
  ["queue", "/queue", "To the queue"],
  ["tasks", "/tasks", "To the tasks"],
  ["workers", "/workers", "To the workers"],
  ["refills tanks", "/refills", "To the tanks"],
];

/** The page where a person does what a command does, such as `/orders?state=parked`; undefined where there is none. */
export function pageOf(command: string): { readonly to: string; readonly name: string } | undefined {
  const [, ...words] = command.split(" ");
  const at = words.findIndex((word) => word.startsWith("--"));
  const verb = words.slice(0, at === -1 ? undefined : at).join(" ");
  const page = PAGES.find(([known]) => verb === known || verb.startsWith(`${known} `));
  if (page === undefined) return undefined;
  const [, path, name] = page;
  const query = new URLSearchParams();
  for (const [index, word] of words.entries()) {
    const value = words[index + 1];
    if (!word.startsWith("--") || value === undefined) continue;
    const key = word.slice(2);
    if (key === "since") query.set(key, value === "1d" ? "24h" : value);
    else for (const each of value.split(",")) query.append(key, each);
  }
  return { to: query.size === 0 ? path : `${path}?${query}`, name };
}
