import { BlockList, isIP } from "node:net";

const addresses = new BlockList();
addresses.addSubnet("127.0.0.0", 8, "ipv4");
addresses.addAddress("::1", "ipv6");

/** A host as sockets take it: an IPv6 address without the brackets that URLs want. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

/** Whether a host name or address (IPv6 with or without brackets) means this machine and nobody else. */
export function isLoopbackHost(host: string): boolean {
  const name = bareHost(host).toLowerCase();
  if (name === "localhost") return true;
  const version = isIP(name);
  return version !== 0 && addresses.check(name, version === 6 ? "ipv6" : "ipv4");
}
