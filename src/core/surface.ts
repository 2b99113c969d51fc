/**
 * The service's two ways of taking orders (specification, "What the service does" 4). `request`: a procedure request
 * that staff review, then a procedure. `external`: a procedure at once, which waits for staff as `PENDING`.
 */
export const SURFACES = ["request", "external"] as const;
export type Surface = (typeof SURFACES)[number];

/**
 * What is done about an order's subject before the order is sent. `register`: looked up, and registered where it is
 * missing. `look`: looked up only. `none`: nothing, so that nobody compares names and birth dates.
 */
export const SUBJECT_MODES = ["register", "look", "none"] as const;
type SubjectMode = (typeof SUBJECT_MODES)[number];

/** How the orders of one facility go to the service. */
export interface FacilityWay {
  readonly surface: Surface;
  readonly subjects: SubjectMode;
}
