import type { FailureEntry } from "./entry.ts";

/** Told of orders: why one waits for a person, or ended otherwise than the lab hoped. */
export const ORDER_FAILURES = {
  ORDER_NUMBER_REUSED: {
    class: "permanent",
    meaning:
      "An order came with the order number of an earlier order but asks for something else. Its message was refused; the order is kept for a person to decide.",
    hint: "The lab sends it under a number of its own, or changes the earlier order. Discard the parked one; to have it done as it is, `cryobridge orders retry ID --override --reason TEXT`.",
  },
  ORDER_NUMBER_OTHER_AUTHORITY: {
    class: "permanent",
    meaning:
      "An order came with the order number of an earlier order, but of another assigning authority (ORC-2.2 to 2.4): it may be another order with the same number, or the same order from a system that was renamed. Its message was refused; the order is kept for a person to decide.",
    hint: "Ask the lab. Another order is done by `cryobridge orders retry ID --override --reason TEXT`, the same one is discarded. Where two systems number their orders by themselves, give each its own connector, or make the number of both parts (`join` in the profile).",
  },
  ORDER_CONTAINER_IN_OPEN_ORDER: {
    class: "permanent",
    meaning:
      "Another order that is not at its end asks for the same with one of the same containers; nothing was sent.",
    hint: "Ask the lab whether it means the same: then discard this one. To have both done, `cryobridge orders retry ID --override --reason TEXT`.",
  },
  ORDER_CONTAINER_STORED_ALREADY: {
    class: "permanent",
    meaning:
      "One of the containers that the order wants stored is in storage already, and no retrieval has taken it out since.",
    hint: "Check the label with the lab; discard the order, or `cryobridge orders retry ID --override --reason TEXT` where it is another vial of that name.",
  },
  ORDER_CONTAINER_RETRIEVED_ALREADY: {
    class: "permanent",
    meaning:
      "One of the containers that the order wants retrieved was retrieved before, and has not been stored again since.",
    hint: "Check the label with the lab; discard the order, or `cryobridge orders retry ID --override --reason TEXT` where it was put back by hand.",
  },
  ORDER_LABEL_OF_OTHER_SUBJECT: {
    class: "permanent",
    meaning:
      "A label of the order belongs to a container of another subject of the same facility, which an order that is not at its end names, or which was stored and has not been retrieved since. Nothing was sent.",
    hint: "Find out whose container it is before anything is moved: the order may be for the wrong patient. Discard the wrong order. `cryobridge orders retry ID --override --reason TEXT` has it done where two subjects do have containers with one label. Where the labels of a facility are unique only within a subject, set `guards.labelOfTwoSubjects: allow`.",
  },
  ORDER_TRIED_TOO_OFTEN: {
    class: "permanent",
    meaning: "A step of the order failed many times for a reason that nobody classified.",
    hint: "Read the order's timeline with `cryobridge orders show`, mend the cause and retry it.",
  },
  SUBJECT_MISMATCH: {
    class: "permanent",
    meaning: "The service knows the subject code under another name or birth date than the order gives.",
    hint: "Find out which record is wrong before anything is moved: this may be another patient. Then retry or discard.",
  },
  SUBJECT_UNKNOWN: {
    class: "permanent",
    meaning: "A retrieval names a subject that the service doesn't have.",
    hint: "Check the subject code and the facility with the lab; retry once the subject is there, or discard.",
  },
  SUBJECT_NOT_LISTED_YET: {
    class: "transient",
    meaning:
      "The service confirmed the subject's registration within the last 15 minutes, but doesn't list it yet.",
    hint: "Nothing to do: it is looked for again by itself, so that the subject isn't registered twice.",
  },
  SUBJECT_INCOMPLETE: {
    class: "permanent",
    meaning: "The subject isn't registered yet and the order lacks its name or birth date.",
    hint: "Have the lab send the missing values, or register the subject by hand, then retry.",
  },
  SUBJECT_UPDATE_NOT_OFFERED: {
    class: "permanent",
    meaning:
      "The lab updates a subject that the service knows otherwise, and the service offers no call to update one; nothing was changed there.",
    hint: "Have the facility correct the subject at the service, then `cryobridge orders retry ID`, which compares once more, and close the task.",
  },
  SUBJECT_MERGE_NOT_OFFERED: {
    class: "permanent",
    meaning:
      "The lab merges two identifiers of a subject, there is something under the one that goes, and the service offers no call to merge; nothing was merged.",
    hint: "Decide with the facility what becomes of the containers and orders under the prior identifier, then close the tasks.",
  },
  SUBJECT_NOT_REGISTERED: {
    class: "permanent",
    meaning: "The subject isn't at the service, and `service.subjects` keeps Cryobridge from registering it.",
    hint: "Have the facility's staff register the subject, then retry; or set `service.subjects: register`.",
  },
  CONTAINER_UNKNOWN: {
    class: "permanent",
    meaning: "A retrieval names a label that the subject has no container for.",
    hint: "Check the label and the subject with the lab; then retry or discard.",
  },
  CONTAINER_OF_OTHER_SUBJECT: {
    class: "permanent",
    meaning:
      "The service refused a retrieval with VALIDATION_ERROR, which by its specification says that a container does not belong to the order's subject; nothing was done.",
    hint: "Check labels and subject with the lab before anything is moved: this may be another patient's container. The service's own words: `cryobridge orders show --show-phi`.",
  },
  CONTAINER_LABEL_AMBIGUOUS: {
    class: "permanent",
    meaning: "A label of a retrieval belongs to more than one container of the subject.",
    hint: "Have the containers told apart at the service, then retry; a wrong thaw can't be undone.",
  },
  SUBMIT_UNCERTAIN: {
    class: "permanent",
    meaning: "A call got no answer, and the service shows neither its effect nor proof that it had none.",
    hint: "Look at the service: link the request with `cryobridge orders resolve --request-id N` (on the external surface the procedure, with `--procedure-id N`), or retry to send it again.",
  },
  SUBMIT_SEVERAL_MATCHES: {
    class: "permanent",
    meaning:
      "After a call without an answer, more than one request or procedure at the service could be this order's.",
    hint: "Decide at the service which is the right one and link it with `cryobridge orders resolve --request-id N` (on the external surface with `--procedure-id N`).",
  },
  SUBMIT_FORGOTTEN_REQUEST: {
    class: "permanent",
    meaning:
      "The ledger was restored from an older copy, and the service has a request that no order of it knows and that may be this order's, made in the time that the ledger has forgotten; nothing was sent.",
    hint: "Look at the service: link the request with `cryobridge orders resolve ID --request-id N` (on the external surface the procedure, with `--procedure-id N`); or, where it is another one, `cryobridge orders retry ID --override --reason TEXT`.",
  },
  REQUEST_GONE: {
    class: "permanent",
    meaning: "The service has not known a request or procedure that it created for more than a day.",
    hint: "Ask the service's operator what became of it; then resolve or discard the order.",
  },
  ORDER_LEASE_LOST: {
    class: "transient",
    meaning: "A worker no longer owned its order when it was about to call the service, so nothing was sent.",
    hint: "Nothing: the order is taken up again. If it recurs, the machine was paused or is badly overloaded.",
  },
  ORDER_DISCARDED: {
    class: "permanent",
    meaning: "An operator decided that the order will not be done.",
    hint: "Ask the operator named in the order's timeline; the lab may send the order again under a new number.",
  },
  ORDER_CANCELLED: {
    class: "permanent",
    meaning: "The order was cancelled because the lab or an operator asked for it.",
    hint: "Nothing: this is what was asked for. If it was not meant, the lab sends the order again under a new number.",
  },
  CANCEL_ORDER_UNKNOWN: {
    class: "permanent",
    meaning: "A wish to cancel names an order that never came through the same connector.",
    hint: "Check the order number (ORC-2 or `order_number`) with the lab; nothing was cancelled.",
  },
  CANCEL_ORDER_AMBIGUOUS: {
    class: "permanent",
    meaning:
      "A wish to cancel names a number under which the lab has sent several orders that are open, or orders of several subjects or assigning authorities.",
    hint: "Ask the lab which one is meant, and cancel or discard that one by its id: `cryobridge orders cancel o17 --reason …`; then close the task.",
  },
  CANCEL_ORDER_DIFFERS: {
    class: "permanent",
    meaning:
      "A wish to cancel names an order, but an assigning authority, a subject or a number of ours that is not that order's.",
    hint: "Ask the lab which order is meant; nothing was cancelled.",
  },
  CANCEL_TOO_LATE: {
    class: "permanent",
    meaning: "The order had come to its end before the wish to cancel it could take effect.",
    hint: "Tell the clinic how the order ended; a stored container is taken out by a retrieval order.",
  },
  CANCEL_NOT_OFFERED: {
    class: "permanent",
    meaning:
      "The service has the order, and no call to cancel it is configured (`service.cancel`), so it goes on.",
    hint: "Ask the facility's staff to cancel or reject it at the service, then close the task with `cryobridge tasks done ID`.",
  },
  CONTROL_ORDER_UNKNOWN: {
    class: "permanent",
    meaning:
      "A wish to hold, release or change an order, or a question for its state, names an order that never came through the same connector.",
    hint: "Check the order number (ORC-2) with the lab; nothing was changed.",
  },
  CONTROL_ORDER_AMBIGUOUS: {
    class: "permanent",
    meaning:
      "A wish to hold, release or change an order, or a question for its state, names a number under which the lab has sent several orders that are open, or orders of several subjects or assigning authorities.",
    hint: "Ask the lab which one is meant; discard the one that is not wanted (`cryobridge orders discard`), and have the lab send its wish again.",
  },
  CONTROL_ORDER_DIFFERS: {
    class: "permanent",
    meaning:
      "A wish to hold, release or change an order, or a question for its state, names an order, but an assigning authority, a subject or a number of ours that is not that order's.",
    hint: "Ask the lab which order is meant; nothing was changed.",
  },
  CONTROL_TOO_LATE: {
    class: "permanent",
    meaning:
      "The order had come to its end before it could be put on hold, released or changed; or its release had to wait for a code table, and a later message had put it on hold.",
    hint: "Tell the clinic how the order stands. One that ended is corrected by a new order under a new number; one that is on hold goes on when the lab releases it again.",
  },
  CONTROL_NOT_OFFERED: {
    class: "permanent",
    meaning:
      "The service has the order, and it offers no call to hold, release or change one, so the order goes on as it is.",
    hint: "Ask the facility's staff to reject it at the service where it must not be done so, then close the task with `cryobridge tasks done ID`.",
  },
  CANCEL_REFUSED: {
    class: "permanent",
    meaning: "The service refused to cancel the order, which goes on.",
    hint: "Read the service's words in `cryobridge orders show --show-phi`, then ask the facility's staff.",
  },
  CANCEL_WITHOUT_EFFECT: {
    class: "permanent",
    meaning:
      "The call to cancel was made, but the service did not show the order as cancelled within the settle time.",
    hint: "Look at the request or procedure at the service with the facility's staff; should it be cancelled later, the lab is told.",
  },
  REQUEST_CLAIMED: {
    class: "permanent",
    meaning: "The service answered with a request or procedure that belongs to another order already.",
    hint: "Compare both orders with the request at the service; link or discard the right one.",
  },
  REQUEST_MISMATCH: {
    class: "permanent",
    meaning:
      "The request or procedure at the service is for another subject, facility or operation, or for other containers, than the order names.",
    hint: "Have the procedure stopped at the service, then find out which request belongs to which order.",
  },
  REQUEST_REJECTED: {
    class: "permanent",
    meaning: "Staff rejected the procedure request at the service.",
    hint: "Ask the facility why; the lab may send a corrected order under a new number.",
  },
  PROCEDURE_CANCELLED: {
    class: "permanent",
    meaning: "The request or its procedure was cancelled at the service.",
    hint: "Ask the facility why; the lab may send the order again under a new number.",
  },
  ORDER_PLACE_NOT_TOLD: {
    class: "permanent",
    meaning:
      "The service calls the storage completed, but in five looks did not show where each of its containers stands, together with the container's label: one may not have been stored.",
    hint: "Ask the facility's staff where the containers that are named are. Where the service lists containers without labels, set `service.containerLabelFields`. Nothing has to be done with the order, which is completed.",
  },
  PROCEDURE_FAILED: {
    class: "permanent",
    meaning: "The device could not complete the procedure.",
    hint: "Read the service's reason in `cryobridge orders show --show-phi` and ask the facility; retry sends a new request.",
  },
} as const satisfies Record<string, FailureEntry>;
