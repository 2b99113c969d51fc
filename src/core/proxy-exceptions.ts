import { isIP } from "node:net";
import { type AddressList, bareHost, isLoopbackHost, readAddressList } from "./address-list.ts";

/** Which hosts are reached without a proxy. */
export interface ProxyExceptions {
  includes(hostname: string, port: string): boolean;
}

/** What each entry may look like, for people. */
export const EXCEPTION_FORM =
  "expected host names (each means all names below it, too), addresses, networks such as 10.1.0.0/16, or *";

/**
 * Reads what is reached without a proxy, as `NO_PROXY` has it: names, which mean all names below them too, with or without `.` or
 * `*.` before them; addresses; networks; each but a network may have a port; `*` is everything. This machine is always among them.
 * @throws RangeError for an entry that is none of these.
 */
export function readExceptions(entries: readonly string[]): ProxyExceptions {
  const tests = entries.map((entry) => readEntry(entry.toLowerCase()));
  return {
    includes: (hostname, port) => {
      const host = bareHost(hostname).toLowerCase().replace(/\.$/, "");
      return isLoopbackHost(host) || tests.some((test) => test(host, port));
    },
  };
}

/** `name`, `.name`, `*.name`, `address` or `[address]`, each with or without `:port`. */
const WITH_PORT = /^(?:\*?\.)?([\w-][\w.-]*?)\.?(?::(\d{1,5}))?$|^\[([\da-f:.]+)\](?::(\d{1,5}))?$/;

function readEntry(entry: string): (host: string, port: string) => boolean {
  if (entry === "*") return () => true;
  if (entry.includes("/") || isIP(entry) === 6) return inList(readAddressList([entry]));
  const [, name, portOfName, address, portOfAddress] = WITH_PORT.exec(entry) ?? [];
  const wanted = portOfName ?? portOfAddress;
  const isPort = (port: string) => wanted === undefined || wanted === port;
  if (address !== undefined || isIP(name ?? "") === 4) {
    const isListed = inList(readAddressList([address ?? name ?? ""]));
    return (host, port) => isListed(host) && isPort(port);
  }
  if (name === undefined) throw new RangeError(`${JSON.stringify(entry)}: ${EXCEPTION_FORM}`);
  return (host, port) => (host === name || host.endsWith(`.${name}`)) && isPort(port);
}

function inList(list: AddressList): (host: string) => boolean {
  return (host) => isIP(host) !== 0 && list.includes(host);
}

/** Whether {@link readExceptions} takes all of them. */
export function areExceptions(entries: readonly string[]): boolean {
  try {
    readExceptions(entries);
    return true;
  } catch {
    return false;
  }
}
