/** Words for system and TLS error codes that operators meet; other codes are quoted as they are. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens at that address",
  ENOTFOUND: "the host name is not known",
  EAI_AGAIN: "the name server did not answer",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the network",
  UND_ERR_CONNECT_TIMEOUT: "the connection could not be made in time",
  UND_ERR_SOCKET: "the connection was closed",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed and not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate comes from an authority that is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate comes from an authority that is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate comes from an authority that is not trusted",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_SSL_WRONG_VERSION_NUMBER: "what listens there speaks no TLS: is it http:// and not https://?",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "what listens there speaks no TLS: is it http:// and not https://?",
};

/**
 * Why an exchange came to no answer, in words for an operator.
 *
 * @param why what the wire says: `stopped`, `timeout`, `too_large`, or that the connection failed
 * @param error what the connection failed with; of it only the code is told
 */
export function reasonOf(why: string, error: Error): string {
  if (why === "stopped") return "stopped";
  if (why === "timeout") return "no whole answer in time";
  if (why === "too_large") return "the answer is larger than allowed";
  const code = "code" in error ? String(error.code) : error.name;
  return WORDS[code] ?? `the connection failed (${code})`;
}
