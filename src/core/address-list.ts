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
