/**
 * Who assigned an order number: the parts beside it in HL7 (EI.2 to EI.4), as far as the message has them; one at least.
 * An authority is a code of a system or a department, never a patient's value.
 */
export interface AssigningAuthority {
  /** EI.2: a name that the site's systems agree on, such as `LAB`. */
  readonly namespaceId?: string | undefined;
  /** EI.3: a name that nobody else has, such as an OID. */
  readonly universalId?: string | undefined;
  /** EI.4: what kind of name that is, such as `ISO`. */
  readonly universalIdType?: string | undefined;
}

/**
 * Whether two numbers are known to be of two authorities: then they are two numbers, however they look alike. One that is
 * left out, or given in another way, is taken to be the same, as senders do leave it out at times. Case doesn't count.
 */
export function areOfTwoAuthorities(
  one: AssigningAuthority | undefined,
  other: AssigningAuthority | undefined,
): boolean {
  if (one === undefined || other === undefined) return false;
  const universal = differ(one.universalId, other.universalId);
  // The universal id is what the namespace id stands for; of two kinds it says nothing.
  if (universal !== undefined && differ(one.universalIdType, other.universalIdType) !== true)
    return universal;
  return differ(one.namespaceId, other.namespaceId) === true;
}

/** Both authorities, each as {@link formatAuthority} writes it, where two numbers are known to be of two. */
export function formatTwoAuthorities(
  one: AssigningAuthority | undefined,
  other: AssigningAuthority | undefined,
): readonly [one: string, other: string] | undefined {
  if (one === undefined || other === undefined || !areOfTwoAuthorities(one, other)) return undefined;
  return [formatAuthority(one), formatAuthority(other)];
}

/** Undefined where one is missing. */
function differ(one: string | undefined, other: string | undefined): boolean | undefined {
  if (one === undefined || other === undefined) return undefined;
  return one !== other && one.toLowerCase() !== other.toLowerCase();
}

/** The authority as it stands behind the number in HL7: `LAB`, `LAB^1.2.840.1^ISO`, or `^1.2.840.1^ISO`. */
export function formatAuthority({ namespaceId, universalId, universalIdType }: AssigningAuthority): string {
  return [namespaceId, universalId, universalIdType]
    .map((part) => part ?? "")
    .join("^")
    .replace(/\^+$/, "");
}
