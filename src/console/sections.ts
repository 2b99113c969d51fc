/** The parts of the console, as its menu names them, each with the commands that show the same. */
export const SECTIONS = {
  "/": { name: "Overview", commands: ["status"] },
  "/orders": { name: "Orders", commands: ["orders list"] },
  "/messages": { name: "Messages", commands: ["messages list", "messages waiting"] },
  "/files": { name: "Files", commands: ["files list"] },
  "/results": { name: "Results", commands: ["results list"] },
  "/queue": { name: "Queue", commands: ["queue list"] },
  "/tasks": { name: "Tasks", commands: ["tasks list"] },
  "/alerts": { name: "Alerts", commands: ["alerts list", "alerts silences"] },
  "/refills": { name: "Refills", commands: ["refills list", "refills tanks"] },
  "/reports": { name: "Reports", commands: ["report"] },
  "/workers": { name: "Workers", commands: ["workers list"] },
  "/audit": { name: "Audit", commands: ["audit list"] },
} as const satisfies Record<string, { readonly name: string; readonly commands: readonly string[] }>;

export type Section = keyof typeof SECTIONS;

/** The section that shows what a command does, by its words; `list` may be left out, as on the command line. */
export function sectionOfCommand(words: string): Section | undefined {
  return (Object.keys(SECTIONS) as Section[]).find((path) =>
    SECTIONS[path].commands.some((known) => known === words || known === `${words} list`),
  );
}
