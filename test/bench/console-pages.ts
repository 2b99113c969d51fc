/** A browser without script, signed in at a console. */
export interface PageReader {
  /** Opens a page. @throws Error for a status other than 200 */
  open(path: string): Promise<string>;
  /** Sends a form of the page last opened, and reads what it leads to. @throws Error for a status other than 200 */
  send(path: string, fields: Readonly<Record<string, string>>): Promise<void>;
}

/** Signs in at a console. */
export async function openPages(url: string, token: string): Promise<PageReader> {
  const signedIn = await fetch(`${url}/login`, {
    method: "POST",
    body: new URLSearchParams({ token }),
    redirect: "manual",
  });
  const cookie = signedIn.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  let formToken = "";
  const read = async (path: string, init: RequestInit) => {
    const answer = await fetch(url + path, init);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: status ${answer.status}`);
    formToken = /name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? formToken;
    return text;
  };
  return {
    open: (path) => read(path, { headers: { cookie } }),
    send: async (path, fields) => {
      const body = new URLSearchParams({ ...fields, formToken });
      await read(path, { method: "POST", headers: { cookie, origin: url }, body });
    },
  };
}

/** The addresses of the menu. */
export async function menuOf(pages: PageReader): Promise<string[]> {
  const menu = /<nav.*?<\/nav>/s.exec(await pages.open("/"))?.[0] ?? "";
  return [...menu.matchAll(/href="([^"]+)"/g)].map(([, path = ""]) => path);
}
