/** Reported of calls to the storage service. */
export const SERVICE_FAILURES = {
  SERVICE_UNREACHABLE: {
    class: "transient",
    meaning: "No connection to the service (refused, unknown host, time-out, certificate).",
    hint: "An outage passes by itself. Otherwise check the network, `service.baseUrl`, `service.ca` and `proxy`, and restart the daemon after a change.",
    lab: "the storage service can't be reached",
  },
  SERVICE_UNAVAILABLE: {
    class: "transient",
    meaning: "A read got no usable answer: a server error, a gateway's page, a cut or unreadable body.",
    hint: "Wait, or ask the service's operator. Where a web page answers every time, correct `service.baseUrl` (or `proxy`), where a list is larger than allowed, set `service.perPage` lower, such as `perPage: 20`; then restart the daemon.",
    lab: "the storage service gave no usable answer",
  },
  SERVICE_BUSY: {
    class: "transient",
    meaning: "The service asked for a pause (429, or a status of `service.notExecuted`).",
    hint: "Nothing: how many calls the service takes is learned. Set `service.maxRequestsPerMinute` where you know it, and restart the daemon.",
    lab: "the storage service is busy",
  },
  SERVICE_PAUSED: {
    class: "transient",
    meaning: "Calls pause because several failed in a row.",
    hint: "See the failure before it. Cryobridge tries a call from time to time.",
    lab: "the storage service can't be reached",
  },
  SERVICE_STOPPED: {
    class: "transient",
    meaning: "Cryobridge stopped a call before it could change anything, such as at shutdown.",
    hint: "Nothing.",
    lab: "the storage service was not asked yet",
  },
  SERVICE_NO_ANSWER: {
    class: "ambiguous",
    meaning: "A call that creates something got no definite answer, so it may have been carried out.",
    hint: "Nothing. Cryobridge searches the service before it sends anything again.",
    lab: "the storage service gave no definite answer",
  },
  SERVICE_ANSWER_DIFFERS: {
    class: "ambiguous",
    meaning: "The service's answer does not match what was sent (type, facility, subject or labels).",
    hint: "Compare the order with the service. Cryobridge searches the service before it sends anything again.",
    lab: "the storage service answered for something else than was ordered; staff find out",
  },
  SERVICE_REFUSED: {
    class: "permanent",
    meaning: "The service refused the call. Nothing was done.",
    hint: "`cryobridge orders show ID --show-phi` has the service's answer. Correct what it names, then `cryobridge orders retry ID`.",
    lab: "the storage service refused the order; nothing was done",
  },
  SERVICE_NOT_FOUND: {
    class: "permanent",
    meaning: "The service has no record with this id, or none that these credentials may see.",
    hint: "Check the id and the organization of the credentials. If a whole list is not found, correct `service.baseUrl`, which ends before /api, and restart the daemon. Then `cryobridge orders retry ID`.",
    lab: "the storage service does not have what the order needs; nothing was done",
  },
  SERVICE_PATH_NONE: {
    class: "permanent",
    meaning: "What was to be called is `none` under `service.paths`: the service doesn't have it.",
    hint: "Where the service has it, write its path under `service.paths` and restart the daemon; `cryobridge check` looks for it. Then `cryobridge orders retry ID`.",
    lab: "the storage service does not offer what the order needs; nothing was done",
  },
  SERVICE_CREDENTIALS_REFUSED: {
    class: "permanent",
    meaning:
      "The service or its token endpoint refused the credentials. Nothing is submitted until they are right.",
    hint: "Correct `service.auth` or `service.externalAuth` and restart the daemon, or the secret file, which is read again by itself.",
    lab: "the storage service lets no order in at the moment",
  },
  SERVICE_ACCESS_REFUSED: {
    class: "transient",
    meaning: "The service refuses the credentials for this call (401), and takes them for others.",
    hint: "Ask the service's operator whether these credentials may work for the order's facility. It goes on by itself once they may. Where every order is refused so, correct `service.auth` and restart the daemon.",
    lab: "the storage service lets no order of this facility in at the moment",
  },
  SERVICE_TOKEN_REFUSED: {
    class: "transient",
    meaning:
      "The service refused the access token of a call that creates something, and a new token was fetched.",
    hint: "Nothing. Cryobridge searches the service, then sends the call again.",
    lab: "the storage service lets no order in at the moment",
  },
  SERVICE_TOKEN_UNAVAILABLE: {
    class: "transient",
    meaning: "The token endpoint could not be reached or issued no usable token.",
    hint: "Check `service.auth.tokenUrl` and the authorization server.",
    lab: "the storage service lets no order in at the moment",
  },
  SERVICE_SUBJECT_AMBIGUOUS: {
    class: "permanent",
    meaning: "The facility has more than one subject with this code.",
    hint: "Have the facility merge or rename the subjects, then `cryobridge orders retry ID`.",
    lab: "the storage service has more than one subject with this code; nothing was done",
  },
  SERVICE_SHAPE_UNKNOWN: {
    class: "transient",
    meaning: "A read was answered with JSON of an unknown shape, such as another wrapping of a list.",
    hint: "Where the message names lists, say which one holds the entries: `service.listEnvelope: { key: name }`, then restart the daemon. Otherwise ask the service's operator what answers there.",
    lab: "the storage service gave no usable answer",
  },
  SERVICE_ANSWER_UNREADABLE: {
    class: "transient",
    meaning: "A read was answered in bytes that are neither UTF-8 nor the charset that the answer names.",
    hint: "Ask the operator of the service, or of the gateway before it, to answer in UTF-8, or to name the right charset in `Content-Type`.",
    lab: "the storage service gave no usable answer",
  },
  SERVICE_ID_TOO_LARGE: {
    class: "transient",
    meaning: "The service gives an id above 2^53 - 1 (9007199254740991), which can't be read exactly.",
    hint: "Ask the service's operator for smaller ids; then it goes on by itself. An order that can't wait: first `cryobridge orders discard ID --reason TEXT`, so that it is not sent meanwhile; then have the facility look whether it has a request of it, do it by hand if not, and report to the lab what was done. One whose call may be under way can't be discarded: have nothing done by hand until it is parked.",
    lab: "the storage service gave no usable answer",
  },
  SERVICE_LIST_UNPAGED: {
    class: "transient",
    meaning: "A list may be cut: the service refuses or ignores `page`, and gives just one full page.",
    hint: "Ask the service's operator for paging. Where the list comes whole when it is asked without `page` and `perPage`, name it, such as `service.unpaged: [containers]`; where its length follows `perPage`, ask for more than it ever holds, such as `service.perPage: 1000`. Then restart the daemon.",
    lab: "the storage service gave no usable answer",
  },
  SERVICE_FILTER_IGNORED: {
    class: "permanent",
    meaning: "The service lists containers without their subject and does not filter by subject.",
    hint: "Ask the service's operator for the `subjectCode` filter or field, then `cryobridge orders retry ID`. Until then have the facility request the retrieval by hand: `cryobridge orders resolve ID --request-id|--procedure-id N` links it.",
    lab: "the storage service does not show whose containers are whose; staff handle the order",
  },
  SERVICE_LIST_TOO_LONG: {
    class: "permanent",
    meaning: "A list did not end within the limit, probably because the service ignores filters.",
    hint: "`cryobridge check` shows which filters work. Once the service filters: `cryobridge orders retry ID`. Until then have the facility look for the order's request, or make it by hand where there is none: `cryobridge orders resolve ID --request-id|--procedure-id N` links it.",
    lab: "the storage service can't be searched for what the order needs; staff handle the order",
  },
  SERVICE_LIST_UNSTABLE: {
    class: "transient",
    meaning: "A list kept changing while it was read.",
    hint: "Nothing. It is read again later.",
    lab: "the storage service gave no usable answer",
  },
} as const;
