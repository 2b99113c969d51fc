import { codeOf } from "./failures.ts";
/** How the configuration names what a peer's certificate is judged by; in words that people can look up. */
export interface TlsSettings {
  /** What names the authorities that are trusted, such as `` `service.ca` ``. */
  readonly ca: string;
  /** Where the name stands that the certificate must have, such as `` `service.baseUrl` ``. */
  readonly name: string;
  /** What names our own certificate and its key; undefined where there is no such setting. */
  readonly own?: string | undefined;
}

/** Why TLS with a peer failed. */
export interface TlsTrouble {
  /** Such as `its certificate has expired`. */
  readonly why: string;
  /** What a person does about it, as a part of a sentence. */
  readonly lead: string;
}

const UNTRUSTED = "its certificate comes from an authority that is not trusted";

const BY_CODE: Readonly<Record<string, readonly [why: string, lead: (settings: TlsSettings) => string]>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: ["its certificate is self-signed and not trusted", trust],
  SELF_SIGNED_CERT_IN_CHAIN: [UNTRUSTED, trust],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [UNTRUSTED, trust],
  UNABLE_TO_GET_ISSUER_CERT: [UNTRUSTED, trust],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [UNTRUSTED, trust],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    "its certificate is for another name",
    ({ name }) =>
      `write a name that the certificate has in ${name}, or have its operator get one for this name`,
  ],
  CERT_HAS_EXPIRED: ["its certificate has expired", () => `have its operator renew it, or ${CLOCK}`],
  CERT_NOT_YET_VALID: ["its certificate is not valid yet", () => CLOCK],
};
const CLOCK = "correct the clock of this machine where that is wrong";

function trust({ ca }: TlsSettings): string {
  return `${ca} has to name a PEM file with the certificates of the authorities that issued it; its operator has them`;
}

/** Alerts of a peer that asks for a certificate and got none, or none that it takes. */
const WANTS_OURS =
  /CERT(?:IFICATE)?_REQUIRED|ALERT_(?:BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_(?:UNKNOWN|EXPIRED|REVOKED))/;
const OTHER_AUTHORITY = /UNABLE_TO_|ISSUER|CERT_(?:UNTRUSTED|CHAIN_TOO_LONG)|INVALID_CA/;
const OTHER_CERTIFICATE = /CERT|SIGNATURE/;
/** As many names of a certificate are shown as fit into it. */
const LONGEST_NAMES = 200;

/** Why the certificate of a peer, or ours, was refused, by the error of Node.js; undefined for any other error. */
export function tlsTroubleOf(error: Error, settings: TlsSettings): TlsTrouble | undefined {
  const code = codeOf(error) ?? "";
  const known = BY_CODE[code];
  if (known) return { why: `${known[0]}${namesOf(error)}`, lead: known[1](settings) };
  if (WANTS_OURS.test(code)) {
    const { own } = settings;
    const lead =
      own === undefined
        ? "there is no setting for one: ask its operator"
        : `${own} have to name one and its key`;
    return { why: "it asks for a certificate of ours that it trusts", lead };
  }
  if (OTHER_AUTHORITY.test(code))
    return { why: `its certificate is not trusted (${code})`, lead: trust(settings) };
  if (!OTHER_CERTIFICATE.test(code)) return undefined;
  return { why: `its certificate is refused (${code})`, lead: "ask its operator for one that is valid" };
}

/** The names of a certificate that is for none that was asked for. */
function namesOf(error: Error): string {
  const { cert } = error as { readonly cert?: { readonly subjectaltname?: unknown } };
  const names = cert?.subjectaltname;
  if (typeof names !== "string" || names.length > LONGEST_NAMES || !/^[\x20-\x7e]+$/.test(names)) return "";
  return ` (it has ${names})`;
}

/** A lead as a sentence of its own. */
export function asSentence(lead: string): string {
  return `${lead.charAt(0).toUpperCase()}${lead.slice(1)}.`;
}
