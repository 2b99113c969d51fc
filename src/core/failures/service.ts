import type { FailureEntry } from "./entry.ts";

/** Told of calls to the storage service. */
export const SERVICE_FAILURES = {
  SERVICE_UNREACHABLE: {
    class: "transient",
    meaning:
      "No connection to the service could be made (refused, unknown host, time-out, certificate); nothing was sent.",
    hint: "Check `service.baseUrl`, the network and the service's certificate with `cryobridge check`; orders go on by themselves.",
  },
  SERVICE_UNAVAILABLE: {
    class: "transient",
    meaning:
      "The service gave no usable answer to a read: an error of its own, a page of a gateway, a cut or unreadable body.",
    hint: "Wait, or ask the service's operator; orders go on by themselves once it answers.",
  },
  SERVICE_BUSY: {
    class: "transient",
    meaning:
      "The service asked to be left alone for a while (status 429, or one listed in `service.notExecuted`); by that answer nothing was done.",
    hint: "Nothing: it is tried again when the service said, after a look whether the service has it all the same; if it happens often, lower `service.maxRequestsPerSecond`.",
  },
  SERVICE_PAUSED: {
    class: "transient",
    meaning: "Calls are held back because the service failed several times in a row; nothing was sent.",
    hint: "See the failure before it; one call is let through from time to time, and everything goes on when it succeeds.",
  },
  SERVICE_STOPPED: {
    class: "transient",
    meaning: "Cryobridge itself stopped a call, for example at shutdown, before it could change anything.",
    hint: "Nothing: the call is made again after the start.",
  },
  SERVICE_NO_ANSWER: {
    class: "ambiguous",
    meaning:
      "A call that creates something was sent, but no definite answer came back, so it may or may not have been done.",
    hint: "Nothing: the service is searched for what the call may have created before anything is sent again.",
  },
  SERVICE_ANSWER_DIFFERS: {
    class: "ambiguous",
    meaning:
      "The service answered a creation with something that does not match what was sent (other type, facility, subject or labels).",
    hint: "Compare the order with the service's own pages; the service is searched before anything is sent again.",
  },
  SERVICE_REFUSED: {
    class: "permanent",
    meaning: "The service refused the call; nothing was done.",
    hint: "The service's own words: `cryobridge orders show --show-phi`. Correct what they name (order, mapping or the service's records), then retry the order.",
  },
  SERVICE_NOT_FOUND: {
    class: "permanent",
    meaning: "The service knows no record with that id, or none that these credentials may see.",
    hint: "Check the id, and that the credentials belong to the facility's organization; where a whole list is not found, check `service.baseUrl`.",
  },
  SERVICE_CREDENTIALS_REFUSED: {
    class: "permanent",
    meaning:
      "The service or its token endpoint refused the client's credentials; submitting stops until they are right.",
    hint: "Correct `service.auth` (or `service.externalAuth`) or its secret file; secrets are read again by themselves and work goes on.",
  },
  SERVICE_TOKEN_REFUSED: {
    class: "transient",
    meaning:
      "The service refused the access token of a call that changes something, and a new token was taken; by that answer nothing was done.",
    hint: "Nothing: the service is searched for what the call may have done all the same, then it is sent again.",
  },
  SERVICE_TOKEN_UNAVAILABLE: {
    class: "transient",
    meaning: "The token endpoint could not be reached or issued no usable token.",
    hint: "Check `service.auth.tokenUrl` and the authorization server; it is asked again with growing pauses.",
  },
  SERVICE_SUBJECT_AMBIGUOUS: {
    class: "permanent",
    meaning: "The service has more than one subject with that code in that facility.",
    hint: "Have the service's staff merge or rename the subjects, then retry the order.",
  },
  SERVICE_SHAPE_UNKNOWN: {
    class: "transient",
    meaning:
      "A read was answered with JSON of a shape that Cryobridge does not know, such as a list wrapped in an unknown way.",
    hint: "Set `service.listEnvelope` to the key that holds the list (see `cryobridge check`), then orders go on by themselves.",
  },
  SERVICE_FILTER_IGNORED: {
    class: "permanent",
    meaning:
      "The service lists containers without saying whose they are and does not filter them by subject, so a label can't be trusted.",
    hint: "Ask the service's operator for the `subjectCode` filter or field; until then retrievals need a person.",
  },
  SERVICE_LIST_TOO_LONG: {
    class: "permanent",
    meaning:
      "A list that had to be read to its end did not end within the limit, most likely because the service ignores filters.",
    hint: "Check with `cryobridge check` which filters the service honours, and look at the order by hand.",
  },
  SERVICE_LIST_UNSTABLE: {
    class: "transient",
    meaning: "A list kept changing while it was read, so it could not be told whether something is in it.",
    hint: "Nothing: it is read again later.",
  },
} as const satisfies Record<string, FailureEntry>;
