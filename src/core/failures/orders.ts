/** Reported of orders: why one waits for a person, or did not end as the lab wanted. */
export const ORDER_FAILURES = {
  ORDER_NUMBER_REUSED: {
    class: "permanent",
    reaches: "any",
    meaning:
      "An order has the number of an earlier one, but other content. Its message was refused; the order is parked.",
    hint: "`cryobridge orders show NUMBER` has both. Have the lab send it under a new number, then `cryobridge orders discard ID --reason TEXT`. To carry it out as it is: `cryobridge orders retry ID --override --reason TEXT`.",
  },
  ORDER_NUMBER_OTHER_AUTHORITY: {
    class: "permanent",
    reaches: "hl7",
    meaning:
      "An order has the number of an earlier one of another assigning authority (ORC-2.2 to 2.4). Its message was refused; the order is parked.",
    hint: "`cryobridge orders show NUMBER` has both. Ask the lab. If it is the same order: `cryobridge orders discard ID --reason TEXT`; else `cryobridge orders retry ID --override --reason TEXT`. Give systems that number independently a connector each.",
  },
  ORDER_CONTAINER_IN_OPEN_ORDER: {
    class: "permanent",
    reaches: "any",
    meaning: "Another open order requests the same of one of these containers.",
    hint: "Ask the lab. If it is a duplicate: `cryobridge orders discard ID --reason TEXT`; the other order goes on, and the lab hears which one. Else `cryobridge orders retry ID --override --reason TEXT`.",
  },
  ORDER_CONTAINER_STORED_ALREADY: {
    class: "permanent",
    reaches: "any",
    meaning: "A container to store is in storage already.",
    hint: "Find out what stored it. This order's own request: `cryobridge orders resolve ID --request-id|--procedure-id N`. Another vial under this label: `cryobridge orders retry ID --override --reason TEXT`. Discard only what is not stored for this order (`cryobridge orders discard ID --reason TEXT`): the lab is told that it wasn't done.",
  },
  ORDER_CONTAINER_RETRIEVED_ALREADY: {
    class: "permanent",
    reaches: "any",
    meaning: "A container to retrieve was retrieved before and not stored again.",
    hint: "Check the label with the lab. If the service has the container in storage again: `cryobridge orders retry ID --override --reason TEXT`. Else `cryobridge orders discard ID --reason TEXT`; the lab hears which order took the container out.",
  },
  ORDER_LABEL_OF_OTHER_SUBJECT: {
    class: "permanent",
    reaches: "any",
    meaning: "A label of the order belongs to another subject of the facility. Nothing was sent.",
    hint: "Find out whose container it is: it may be the wrong patient. If the order is wrong: `cryobridge orders discard ID --reason TEXT`. If both are right: `cryobridge orders retry ID --override --reason TEXT`. If labels are unique only within a subject: set `guards: { labelOfTwoSubjects: allow }`, restart the daemon, then `cryobridge orders retry ID`.",
  },
  ORDER_TRIED_TOO_OFTEN: {
    class: "permanent",
    reaches: "any",
    meaning: "Many tries ended with the daemon, before the order was through.",
    hint: "The daemon's log, or the system's, shows why it ended each time, such as out of memory. Fix that, then `cryobridge orders retry ID`.",
    lab: "could not be processed; the receiver's staff look into it",
  },
  SUBJECT_MISMATCH: {
    class: "permanent",
    reaches: "any",
    meaning: "The service has another name or birth date for this subject code.",
    hint: "Find out which record is wrong: this may be another patient. The lab's: have it send the order again under the same number with the right values. The service's: have the facility correct it, then `cryobridge orders retry ID`. Another patient: `cryobridge orders discard ID --reason TEXT`.",
  },
  SUBJECT_UNKNOWN: {
    class: "permanent",
    reaches: "any",
    meaning: "The service does not have the subject of a retrieval.",
    hint: "Check subject code and facility with the lab. If they are right: have the facility register the subject, then `cryobridge orders retry ID`. If not: `cryobridge orders discard ID --reason TEXT`, and have the lab send it again under a new number.",
  },
  SUBJECT_NOT_LISTED_YET: {
    class: "transient",
    reaches: "any",
    meaning: "The service confirmed the subject's registration, but does not list the subject yet.",
    hint: "Nothing. Cryobridge keeps checking.",
  },
  SUBJECT_INCOMPLETE: {
    class: "permanent",
    reaches: "any",
    meaning: "The subject is not registered, and the order lacks its name or birth date.",
    hint: "Have the lab send the order again under the same number with the missing values, or have the facility register the subject, then `cryobridge orders retry ID`.",
  },
  SUBJECT_UPDATE_NOT_OFFERED: {
    class: "permanent",
    reaches: "any",
    meaning: "The lab updates a subject, and the service has no call for that.",
    hint: "Have the facility correct the subject, then `cryobridge orders retry ID`, which closes the task as well. If the lab is wrong: `cryobridge tasks done ID`.",
  },
  SUBJECT_MERGE_NOT_OFFERED: {
    class: "permanent",
    reaches: "any",
    meaning: "The lab merges two subjects, and the service has no call for that.",
    hint: "Decide with the facility what happens to containers and orders of the prior identifier, then `cryobridge tasks done ID`.",
  },
  SUBJECT_NOT_REGISTERED: {
    class: "permanent",
    reaches: "any",
    meaning: "The service does not have the subject, and `service.subjects` forbids registering it.",
    hint: "Have the facility register the subject, or set `service.subjects: register` and restart the daemon; then `cryobridge orders retry ID`.",
  },
  CONTAINER_UNKNOWN: {
    class: "permanent",
    reaches: "any",
    meaning: "The subject has no container with the label of a retrieval.",
    hint: "Check label and subject with the lab. If only the label is wrong, have the lab send the order again under the same number. If the service lists the container by now: `cryobridge orders retry ID`. Else `cryobridge orders discard ID --reason TEXT`; if it was taken out without an order, tell the lab, which may have heard that it is stored.",
  },
  CONTAINER_OF_OTHER_SUBJECT: {
    class: "permanent",
    reaches: "any",
    meaning: "The service refused a retrieval: a container is not the subject's (VALIDATION_ERROR).",
    hint: "Check labels and subject with the lab: it may be another patient's container. `cryobridge orders show ID --show-phi` has the service's answer. If the order is wrong: `cryobridge orders discard ID --reason TEXT`. Once the facility has corrected its record: `cryobridge orders retry ID`.",
    lab: "a container is not this subject's, says the storage service; nothing was done",
  },
  CONTAINER_LABEL_AMBIGUOUS: {
    class: "permanent",
    reaches: "any",
    meaning: "The subject has several containers with the label of a retrieval.",
    hint: "Have the facility give the containers different labels, then `cryobridge orders retry ID`. A wrong thaw can't be undone.",
  },
  SUBMIT_UNCERTAIN: {
    class: "permanent",
    reaches: "any",
    meaning:
      "It is not known whether the service carried out a call: nothing that is surely the order's was found.",
    hint: "Search with `cryobridge service requests|procedures --subject CODE`. If the order's request is there, `cryobridge orders resolve ID --request-id|--procedure-id N`. If not, or once one from before a change of the order is cancelled there, `cryobridge orders retry ID`, which may send it again.",
    lab: "it is not certain whether the storage service has the order; staff find out",
  },
  SUBMIT_SEVERAL_MATCHES: {
    class: "permanent",
    reaches: "any",
    meaning: "A call got no answer, and several requests at the service could be this order's.",
    hint: "Find the right one with the facility, then `cryobridge orders resolve ID --request-id|--procedure-id N`.",
    lab: "the storage service has several requests that may be this order's; staff find out which",
  },
  SUBMIT_FORGOTTEN_REQUEST: {
    class: "permanent",
    reaches: "any",
    meaning:
      "The ledger was restored, and the service has a request that may be this order's. Nothing was sent.",
    hint: "If it is this order's, `cryobridge orders resolve ID --request-id|--procedure-id N`; else `cryobridge orders retry ID --override --reason TEXT`.",
    lab: "the storage service has a request that may be this order's already; staff find out",
  },
  REQUEST_GONE: {
    class: "permanent",
    reaches: "any",
    meaning:
      "The service no longer knows a request or procedure of an order. After a day the order is parked.",
    hint: "Ask the service's operator what happened to it. If it is there under another number: `cryobridge orders resolve ID --request-id|--procedure-id N`. Once it is certain that nothing of it was or will be done: `cryobridge orders discard ID --reason TEXT`, and have the lab send it again under a new number. Should the service know it again, it goes on by itself, once parked by `cryobridge orders retry ID`.",
  },
  ORDER_LEASE_LOST: {
    class: "transient",
    reaches: "any",
    meaning: "A worker lost its claim on the order before the call.",
    hint: "Nothing. If this recurs, the machine was paused or is overloaded.",
  },
  ORDER_DISCARDED: {
    class: "permanent",
    reaches: "any",
    meaning: "An operator decided that the order is not carried out.",
    hint: "`cryobridge orders show ID` says who decided so, and why.",
  },
  ORDER_CANCELLED: {
    class: "permanent",
    reaches: "any",
    meaning: "The lab or an operator cancelled the order.",
    hint: "Nothing. If it was a mistake, the lab sends the order again under a new number.",
  },
  CANCEL_ORDER_UNKNOWN: {
    class: "permanent",
    reaches: "any",
    meaning: "A cancellation names an order that never came through this connector.",
    hint: "Check the order number (ORC-2 or `order_number`) with the lab. Nothing was cancelled.",
  },
  CANCEL_ORDER_AMBIGUOUS: {
    class: "permanent",
    reaches: "any",
    meaning: "A cancellation's number is that of several open orders, subjects or authorities.",
    hint: "`cryobridge orders show NUMBER` has them all. Ask the lab which one is meant, and cancel that one (`cryobridge orders cancel ORDER --reason TEXT`); then `cryobridge tasks done ID`.",
  },
  CANCEL_ORDER_DIFFERS: {
    class: "permanent",
    reaches: "any",
    meaning:
      "A cancellation names an order, but with another subject, assigning authority or filler order number.",
    hint: "Ask the lab which order is meant, then `cryobridge tasks done ID`. Nothing was cancelled.",
  },
  CANCEL_TOO_LATE: {
    class: "permanent",
    reaches: "any",
    meaning: "The order ended before the cancellation took effect.",
    hint: "Report to the clinic how the order ended, then `cryobridge tasks done ID`. A stored container is taken out by a retrieval order.",
  },
  CANCEL_NOT_OFFERED: {
    class: "permanent",
    reaches: "any",
    meaning:
      "The service has the order, and no cancel call is configured (`service.cancel`). The order goes on.",
    hint: "Have the facility cancel or reject it at the service, then `cryobridge tasks done ID`.",
  },
  CONTROL_ORDER_UNKNOWN: {
    class: "permanent",
    reaches: "any",
    meaning: "An order control request names an order that never came through this connector.",
    hint: "Check the order number (ORC-2) with the lab. Nothing was changed.",
  },
  CONTROL_ORDER_AMBIGUOUS: {
    class: "permanent",
    reaches: "any",
    meaning: "An order control request's number is that of several open orders, subjects or authorities.",
    hint: "`cryobridge orders show NUMBER` has them all. Ask the lab which one is meant, and have it send the request again: for the first order with subject and assigning authority, for a later one by the filler order number (ORC-3) of its results. Then `cryobridge tasks done ID`.",
  },
  CONTROL_ORDER_DIFFERS: {
    class: "permanent",
    reaches: "any",
    meaning:
      "An order control request names an order, but with another subject, assigning authority or filler order number.",
    hint: "Ask the lab which order is meant, then `cryobridge tasks done ID`. Nothing was changed.",
  },
  CONTROL_TOO_LATE: {
    class: "permanent",
    reaches: "any",
    meaning: "The order ended before the hold, release or change, or a later message decided otherwise.",
    hint: "Report the order's state to the clinic, then `cryobridge tasks done ID`. An ended order is corrected by a new one under a new number.",
  },
  CONTROL_NOT_OFFERED: {
    class: "permanent",
    reaches: "any",
    meaning: "The service has the order, and no call to hold, release or change it.",
    hint: "If the order must not go on, have the facility reject it. Then `cryobridge tasks done ID`.",
  },
  CONTROL_UNDER_WAY: {
    class: "permanent",
    reaches: "any",
    meaning: "The lab asked to hold, release or change the order while a call for it was open.",
    hint: "If it still applies, have the lab send the request again; then `cryobridge tasks done ID`.",
  },
  CANCEL_REFUSED: {
    class: "permanent",
    reaches: "any",
    meaning: "The service refused to cancel the order. The order goes on.",
    hint: "Ask the facility. `cryobridge orders show ID --show-phi` has the service's answer. Once it is seen to: `cryobridge tasks done ID`.",
  },
  CANCEL_WITHOUT_EFFECT: {
    class: "permanent",
    reaches: "any",
    meaning: "The cancel call was made, but the order was not cancelled in time.",
    hint: "Check the request or procedure with the facility, then `cryobridge tasks done ID`. If it is cancelled later, the lab gets that result, and the task is closed.",
  },
  REQUEST_CLAIMED: {
    class: "permanent",
    reaches: "any",
    meaning: "The service answered with a request or procedure of another order.",
    hint: "Compare both orders with what the service has. Link this one to its own: `cryobridge orders resolve ID --request-id|--procedure-id N`. Discard it only once the facility has confirmed that nothing of it was done.",
  },
  REQUEST_MISMATCH: {
    class: "permanent",
    reaches: "any",
    meaning: "What the service has differs from the order in subject, facility, operation or containers.",
    hint: "Have the facility stop the procedure, then find out which request belongs to which order: `cryobridge orders resolve ID --request-id|--procedure-id N`. If only the service's record was wrong, and was corrected: `cryobridge orders retry ID`. If nothing there is this order's: `cryobridge orders discard ID --reason TEXT`, and have the lab send it again under a new number.",
  },
  REQUEST_REJECTED: {
    class: "permanent",
    reaches: "any",
    meaning: "Staff rejected the request at the service.",
    hint: "Ask the facility why. The lab may send a corrected order under a new number.",
  },
  PROCEDURE_CANCELLED: {
    class: "permanent",
    reaches: "any",
    meaning: "The request or its procedure was cancelled at the service.",
    hint: "Ask the facility why. The lab may send the order again under a new number.",
  },
  ORDER_PLACE_UNKNOWN: {
    class: "permanent",
    reaches: "any",
    meaning: "The storage is completed, but the service did not show where each container is.",
    hint: "Ask the facility where the containers are; `cryobridge service location N` shows whether the service knows it by now, by the container's id. If it lists containers without labels, set `service.containerLabelFields` to the field with the label and restart the daemon, for orders to come.",
  },
  PROCEDURE_FAILED: {
    class: "permanent",
    reaches: "any",
    meaning: "The device could not complete the procedure.",
    hint: "Ask the facility. `cryobridge orders show ID --show-phi` has the service's reason. `cryobridge orders retry ID` sends a new request: only if nothing was moved by hand since. Else have the lab send what is still to be done under a new number.",
  },
} as const;
