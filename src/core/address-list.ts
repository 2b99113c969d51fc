import { BlockList, isIP } from "node:net";

/** Who may connect, by address. */
export interface AddressList {
  includes(address: string | undefined): boolean;
}

/**
 * Reads a list of addresses and networks such as `10.1.2.3`, `10.1.0.0/16` or `fd00::/8`. An empty list includes
 * everyone. An IPv4 peer that a dual-stack socket shows as `::ffff:10.1.2.3` is known by its IPv4 address.
 * @throws RangeError for an entry that is neither.
 */
export function readAddressList(entries: readonly string[]): AddressList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix, ...rest] = entry.split("/");
    const version = isIP(address);
    const bits = prefix === undefined ? undefined : Number(prefix);
    const isNetwork =
      bits !== undefined && /^\d{1,3}$/.test(prefix ?? "") && bits <= (version === 4 ? 32 : 128);
    if (version === 0 || rest.length > 0 || (prefix !== undefined && !isNetwork)) {
      throw new RangeError(
        `${JSON.stringify(entry)} is neither an address nor a network such as 10.1.0.0/16`,
      );
    }
    const family = version === 4 ? "ipv4" : "ipv6";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, bits, family);
  }
  return {
    includes: (address) => {
      if (entries.length === 0) return true;
      if (address === undefined) return false;
      const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
      return list.check(plain, isIP(plain) === 6 ? "ipv6" : "ipv4");
    },
  };
}

const addresses = new BlockList();
addresses.addSubnet("127.0.0.0", 8, "ipv4");
addresses.addAddress("::1", "ipv6");

/** A host as sockets take it: an IPv6 address without the brackets that URLs want. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

/** `storage.example.org:443`, `[::1]:8088`. */
export function hostAndPortOf(host: string, port: number | string): string {
  const name = bareHost(host);
  return `${name.includes(":") ? `[${name}]` : name}:${port}`;
}

const LOOPBACK_BY_WILDCARD: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Where this machine itself reaches what listens there: a wildcard is no address to open. */
export function ownAddressOf(host: string, port: number): string {
  return hostAndPortOf(LOOPBACK_BY_WILDCARD[bareHost(host)] ?? host, port);
}

/** Whether a host name or address (IPv6 with or without brackets) means this machine and nobody else. */
export function isLoopbackHost(host: string): boolean {
  const name = bareHost(host).toLowerCase();
  if (name === "localhost") return true;
  const version = isIP(name);
  return version !== 0 && addresses.check(name, version === 6 ? "ipv6" : "ipv4");
}
