import type { PeerCertificate } from "node:tls";

/** One entry of a SAN as Node writes them: a kind, and a value that is in quotes where it could be read as several. */
const SAN_ENTRY = /(?:^|, )([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)/g;

/**
 * The names that a certificate's owner may go by: the CN of its subject, and the DNS names of its SAN. A name that Node had
 * to quote is none: it holds what no DNS name does.
 */
export function certificateNames({ subject, subjectaltname }: Partial<PeerCertificate>): readonly string[] {
  // Several where the subject has several, whatever the type says.
  const common = [subject?.CN ?? []].flat();
  const alternative = [...(subjectaltname ?? "").matchAll(SAN_ENTRY)].flatMap(([, kind, value = ""]) =>
    kind === "DNS" && value !== "" && !value.startsWith('"') ? [value] : [],
  );
  return [...new Set([...common, ...alternative])];
}

/** A name as a log line shows it. */
export function shown(name: string): string {
  return name.replace(/\p{Cc}/gu, " ").slice(0, 200);
}
