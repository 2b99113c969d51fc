/** A fault that somebody could make in what decides, and that tests have to catch. */
export interface Mutant {
  /** What it does, in words. */
  readonly name: string;
  /** From the project's folder. */
  readonly file: string;
  /** The tests that are asked first, files or folders. */
  readonly tests: readonly string[];
  /** What stands in the file exactly once, and what stands there instead. */
  readonly from: string;
  readonly to: string;
}

/** Faults in one file: what each does, what stands there, and what stands there instead. */
function faults(
  file: string,
  tests: readonly string[],
  ...each: readonly (readonly [name: string, from: string, to: string])[]
): Mutant[] {
  return each.map(([name, from, to]) => ({
    name,
    file,
    tests: tests.map((path) => `test/${path}`),
    from,
    to,
  }));
}

/** Hand-made faults, by the file that decides. */
export const MUTANTS: readonly Mutant[] = [
  ...faults(
    "src/ledger/orders/claiming.ts",
    ["ledger/submission.test.ts", "ledger/orders/order-control.test.ts", "ledger/lost-commits.test.ts"],
    [
      "a lane lets two orders go: what is in hand holds back nothing",
      `                and e.subject_code = o.subject_code
                and e.state = 'submitting'`,
      `                and e.subject_code = o.subject_code
                and e.state = 'discarded'`,
    ],
    [
      "a later order of a lane overtakes an earlier one that waits",
      `e.id < o.id
                and e.state in ('received', 'submitting', 'parked')`,
      `e.id < o.id
                and e.state in ('submitting', 'parked')`,
    ],
    ["an order is taken before it is due", "   and o.next_at <= now()\n", ""],
    [
      "an order that the lab has on hold is taken",
      "   and o.held_at is null\n   and o.next_at",
      "   and o.next_at",
    ],
    [
      "after a restore the service is not looked at before an order is taken",
      "q.queue = 'submit')\n   and not ",
      "q.queue = 'submit')\n   and null is distinct from ",
    ],
    [
      "the fence stays the same when an order is taken again",
      "       fence = new_fence(),\n",
      "       fence = coalesce(o.fence, new_fence()),\n",
    ],
    ["two workers look for what is due at the same moment", "    await client.query(BEGIN_CLAIM);\n", ""],
  ),
  ...faults(
    "src/ledger/orders/submission.ts",
    ["ledger/submission.test.ts", "ledger/orders/reported-steps.test.ts"],
    [
      "what a worker that died left in hand is sent again without a look",
      `when a."isCalled" then o.state else 'received' end,`,
      `else 'received' end,`,
    ],
    [
      "what a worker that died left in hand keeps its fence",
      "       owner = null,\n       fence = new_fence(),",
      "       owner = null,",
    ],
    [
      "the call that a dead worker was about to make is not looked for",
      `       look_at = case when o.state = 'submitting' then now() end`,
      `       look_at = null`,
    ],
    [
      "an order that ends its worker each time goes round for ever",
      "const MOST_INTERRUPTIONS = 20;",
      "const MOST_INTERRUPTIONS = 20_000_000;",
    ],
  ),
  ...faults(
    "src/ledger/orders/new-calls.ts",
    ["ledger/submission.test.ts", "jobs/calls"],
    [
      "a call is written down though the worker's fence is over",
      "   where o.fence = x.fence\n     and o.state = 'submitting'",
      "   where o.state = 'submitting'",
    ],
    [
      "the second call forgets what was there before the first one",
      '       coalesce(f.known_ids, m."knownIds")',
      '       m."knownIds"',
    ],
    [
      "the second call forgets when the first one left",
      "m.owner, coalesce(f.since, now()),",
      "m.owner, now(),",
    ],
  ),
  ...faults(
    "src/ledger/orders/change-calls.ts",
    ["ledger/submission.test.ts", "jobs/calls"],
    [
      "a person's retry does not count as having seen the calls",
      "   set is_approved = true,\n       failed_checks = 0,",
      "   set failed_checks = 0,",
    ],
  ),
  ...faults(
    "src/ledger/orders/calls.ts",
    ["ledger/submission.test.ts", "jobs/calls"],
    [
      "calls for something else are not looked for before the first call for what is asked now",
      "  if (callsForNow(order).length > 0) return [];\n  return order.calls.filter(",
      "  if (callsForNow(order).length >= 0) return [];\n  return order.calls.filter(",
    ],
    [
      "what the service made of an order before it was done again counts for the next call",
      'call.kind === "request" && call.surface === surface && call.mark !== mark ? (call.serviceId ?? []) : [],',
      'call.kind === "request" && call.surface === surface && call.mark === surface ? (call.serviceId ?? []) : [],',
    ],
  ),
  ...faults(
    "src/ledger/order-writer.ts",
    ["ledger/order-writer.test.ts"],
    [
      "steps of two claims of an order are written as those of one",
      ".flatMap((ofOrder) => ofOrder.slice(0, 1))",
      ".flat()",
    ],
  ),
  ...faults(
    "src/ledger/orders/change.ts",
    ["ledger/submission.test.ts", "ledger/orders"],
    [
      "a change is recorded though another worker has the order",
      "   and (x.fence is null or o.fence = x.fence)\n",
      "",
    ],
    [
      "a change is recorded whatever state the order has come to",
      `   and (x."from" is null or o.state = any (x."from"))\n`,
      "",
    ],
    [
      "news of a request are recorded for the one that a retry led to",
      "   and (x.about is null\n",
      "   and (true\n",
    ],
    [
      "the lab is not told of orders that ended",
      "  if (reported.length > 0) await insertOrderOutcomes(client, reported);",
      "  if (reported.length > 1) await insertOrderOutcomes(client, reported);",
    ],
    [
      "a cancellation that came while a call was under way is forgotten",
      "    ...[...toCancel].map(cancelledHere),\n",
      "",
    ],
    [
      "a restored ledger forgets to look at the service before an open cancellation is granted",
      "    ...[...toLookFor].map((orderId) => ({ orderId, ...LOOKED_FOR_FIRST })),\n",
      "",
    ],
  ),
  ...faults(
    "src/ledger/orders/looks.ts",
    ["jobs/calls", "ledger/restored/copy.test.ts"],
    [
      "what a look found is recorded though the order has moved on",
      "if (now === undefined || !isDeepStrictEqual(standing(now, cancelId), standing(seen, cancelId)))",
      "if (now === undefined)",
    ],
    [
      "a retrieval takes over what a discarded neighbour's call may have made",
      " and e.id <> o.id\n   where o.id = $1\n",
      " and e.id <> o.id\n   where o.id = $1\n     and e.state <> 'discarded'\n",
    ],
    [
      "what a call from before a restore may have made counts as nobody else's",
      "     and f.id <= l.copy_call_id\n",
      "     and f.id <= 0\n",
    ],
  ),
  ...faults(
    "src/ledger/orders/forgotten-calls.ts",
    ["ledger/restored/copy.test.ts"],
    ["a call from before a restore counts as one since", "and k.id > l.copy_call_id", "and k.id > 0"],
    [
      "a call that a restore presumes is not waited for",
      "   and c.id <= l.copy_order_id\n",
      "   and c.id <= 0\n",
    ],
  ),
  ...faults(
    "src/ledger/restored/without-call.ts",
    ["ledger/restored/without-call.test.ts"],
    [
      "what was made for an order without a call is no sign of a restore",
      " where o.state in ('received', 'submitting')\n   and o.operation",
      " where o.state = 'parked'\n   and o.operation",
    ],
    [
      "what a neighbour's call may have made is a sign of a restore",
      "        and (e.id = o.id or (e.request_id is null and e.procedure_id is null)))",
      "        and e.id = o.id)",
    ],
    [
      "a mark of ours that no order has is no sign of a restore",
      "         when o.id is null then x.mark like l.mark_prefix || '-%'",
      "         when o.id is null then false",
    ],
  ),
  ...faults(
    "src/jobs/submit/submit.ts",
    [
      "jobs/lost-lease.test.ts",
      "jobs/calls",
      "jobs/create.test.ts",
      "jobs/calls-of-an-order.test.ts",
      "jobs/subject-compared.test.ts",
      "jobs/kept-subject.test.ts",
    ],
    [
      "a call leaves before it is written down",
      `  const created = await deps.service.create(surface, request, signal, { body, beforeSend });
  const made`,
      `  const created = await deps.service.create(surface, request, signal, { body, beforeSend }).catch(async (error) => {
    await deps.writer.change({ orderId: order.id, fence: order.fence, call: { end: "not_sent" } });
    throw error;
  });
  const made`,
    ],
    [
      "a worker that others took for dead sends",
      "  if (worker.id !== workerId || !worker.isSure) throw leaseLost();",
      "  if (worker.id !== workerId && !worker.isSure) throw leaseLost();",
    ],
    [
      "the result of writing a call down is not looked at",
      `  if (result.kind === "not ours") throw leaseLost();\n`,
      "",
    ],
    [
      "a request without a mark is made without a snapshot",
      `surface === "request" && request.ref === undefined;`,
      `surface === "external" && request.ref === undefined;`,
    ],
    [
      "calls that a restored ledger may have forgotten are not looked for",
      "  if (matches.mayBeForgotten) return presume(order, deps);\n",
      "",
    ],
    [
      "former calls of a changed order are not looked for",
      "  if (!(await guardFormer(order, deps, signal))) return;\n",
      "",
    ],
    [
      "the guard for what was asked for before is not asked",
      `  if ((await guardOrder(order, matches, step.labelHolder, deps)) === "wait")\n    return putOff(order, STILL_MOVED, deps);\n`,
      "",
    ],
    [
      "a STORE of what the service has in storage already goes on",
      "  await requireUnstored(step, subject, deps, signal);\n",
      "",
    ],
    [
      "a subject with another name at the service is taken for the order's",
      "  if (known) return { id: known.id, unshown: requireSameSubject(order.subject, known) };",
      "  if (known) return { id: known.id };",
    ],
    [
      "a subject that was registered a moment ago is registered again",
      "  if (matches.isSubjectJustRegistered) {",
      "  if (matches.isSubjectJustRegistered && matches.overrides.size > 9) {",
    ],
    [
      "a retrieval takes one of several containers with its label",
      `  const ambiguous = labelsOf("several", "shared");`,
      `  const ambiguous = labelsOf("shared");`,
    ],
  ),
  ...faults(
    "src/jobs/submit/failure.ts",
    ["jobs/decisions.test.ts", "jobs/calls-of-an-order.test.ts"],
    [
      "a call without an answer is made again at once",
      `    if (mayHaveLeft && next !== "person") {`,
      `    if (mayHaveLeft && next === "person") {`,
    ],
    [
      "a call that a gateway refused is made again without a look",
      `    if (isRefused && next === "again") {`,
      `    if (isRefused && next !== "again") {`,
    ],
  ),
  ...faults(
    "src/jobs/next-step.ts",
    ["jobs/decisions.test.ts", "jobs/calls-of-an-order.test.ts"],
    [
      "an outage parks orders",
      `    case "transient":\n      return "again";`,
      `    case "transient":\n      return "person";`,
    ],
  ),
  ...faults(
    "src/jobs/submit/guard.ts",
    ["jobs/decide-duplicate.test.ts", "jobs/label-of-two-subjects.test.ts", "jobs/calls-of-an-order.test.ts"],
    [
      "the same container is stored a second time",
      "  const double = same.find((each) => each.operation === operation && isOpen(each) && isFirst(each));",
      "  const double = same.find((each) => each.operation === operation && isOpen(each) && isFirst(each) && each.otherId === 0);",
    ],
    [
      "a label of another subject's container is no reason to stop",
      "  if (labelHolder && needsFreeLabels(order, matches, settings)) throw labelTaken(labelHolder);\n",
      "",
    ],
  ),
  ...faults(
    "src/jobs/calls/decide.ts",
    ["jobs/calls/decide.test.ts"],
    ["nothing is believed after one empty look", "const FEWEST_CHECKS = 3;", "const FEWEST_CHECKS = 1;"],
    [
      "nothing is believed before the service can have let go of the call",
      "  if (ageMs >= times.giveUpAfterMs) {",
      "  if (ageMs >= (times.checksMs[0] ?? 0)) {",
    ],
    [
      "the first of several that could be the order's is taken",
      "if (only !== undefined && certain.length === 1) return",
      "if (only !== undefined) return",
    ],
    [
      "what another order has is taken",
      "  if (taken.length > 0 && only === undefined) {",
      "  if (taken.length > 1 && only === undefined) {",
    ],
    [
      "what may be the call's counts as nothing",
      "  if (evidence === undefined) return decideEmpty(call);",
      "  if (evidence === undefined || finds.marked.length === 0) return decideEmpty(call);",
    ],
    [
      "a retrieval that leaves no trace is sent again",
      `call.times.retrievals === "park") {`,
      `call.times.retrievals === "retry") {`,
    ],
    [
      "an order that the service takes and never shows is sent again",
      `  if (!call.isApproved && call.answer === "taken") {`,
      `  if (call.isApproved && call.answer === "taken") {`,
    ],
    [
      "a retrieval takes over a request while its neighbour's call is open",
      "  if (isLikely && !isUnknown && !isDoubled)",
      "  if (isLikely && !isDoubled)",
    ],
    [
      "a retrieval takes over what may be a copy of its neighbour's request",
      "  if (isLikely && !isUnknown && !isDoubled)",
      "  if (isLikely && !isUnknown)",
    ],
    [
      "a retrieval is made again beside what it may have made, since a person said so before it was seen",
      "  if (call.isApproved && !(isLikely && isDoubled))",
      "  if (call.isApproved)",
    ],
  ),
  ...faults(
    "src/jobs/calls/match.ts",
    ["jobs/calls/match.test.ts"],
    [
      "what carries another order's mark is taken for its own",
      `  if (made.marks.some(isOthers)) return "none";\n`,
      "",
    ],
    [
      "what has some of the labels is taken for the call's",
      "  const isSame = hasSameLabels(made, labels);",
      "  const isSame = hasSameLabels(made, labels) || made.labels?.flat().some((label) => labels.includes(label)) === true;",
    ],
    [
      "an older request of the same content is taken for the call's",
      `    const isSure = isCalled ? made.age === "newer" && !made.isHidden : suspicion.wasInCopy;\n    return ref`,
      `    const isSure = isCalled ? !made.isHidden : suspicion.wasInCopy;\n    return ref`,
    ],
    [
      "an order that came after a restore adopts what was there",
      "    const isSure = isCalled ? isNew(suspicion.hasSnapshot) && !isHidden : suspicion.wasInCopy;",
      "    const isSure = isCalled ? isNew(suspicion.hasSnapshot) && !isHidden : true;",
    ],
  ),
  ...faults(
    "src/jobs/calls/look.ts",
    ["jobs/calls"],
    [
      "the look for the subject of a call adopts a namesake",
      "    requireSameSubject(order.subject, known);\n",
      "",
    ],
    [
      "an order that a person has parked goes on by itself after a look",
      `      if (order.state === "parked")\n        return {`,
      `      if (order.state === "received")\n        return {`,
    ],
  ),
  ...faults(
    "src/jobs/calls/decide.ts",
    ["jobs/calls/decide-cancel.test.ts"],
    [
      'a cancellation is believed at the first "no such request"',
      `  if (call.answer === "taken") return { kind: "cancelled", status: undefined };`,
      `  if (call.answer !== "refused") return { kind: "cancelled", status: undefined };`,
    ],
    [
      "a refusal of the call to cancel counts as cancelled",
      `  if (!isRefused) return { kind: "cancelled", status: undefined };`,
      `  if (call.lostBefore >= 0) return { kind: "cancelled", status: undefined };`,
    ],
  ),
  ...faults(
    "src/ledger/orders/cancellations.ts",
    ["jobs/calls/cancel.test.ts", "ledger/orders/cancellations.test.ts"],
    [
      "a call to cancel leaves through two workers",
      "     and k.outcome is null\n     and k.worker_id is null\n",
      "     and k.outcome is null\n",
    ],
    [
      "a call to cancel that was refused for now is the last",
      "    if (againInMs !== undefined) await planCancels(client, [orderId], againInMs);\n",
      "",
    ],
  ),
  ...faults(
    "src/jobs/which-container.ts",
    ["jobs/which-container.test.ts"],
    [
      "a container of another subject counts",
      "  return shown.filter((each) => each.subjectId === undefined || each.subjectId === subjectId);",
      "  return [...shown];",
    ],
    [
      "an id that stands with another label now is believed",
      '  if (known.some(({ labels }) => labels.length > 0 && !labels.includes(label)))\n    return { kind: "contradicted" };\n',
      "",
    ],
  ),
  ...faults(
    "src/jobs/track/news.ts",
    ["jobs/track.test.ts"],
    ["news go back from in progress to accepted", "  if (rank < from) {", "  if (rank < from - 9) {"],
    [
      "a request of another subject is followed",
      "    (subjectCode !== undefined && subjectCode.reveal() !== order.subject.code.reveal())",
      '    (subjectCode !== undefined && subjectCode.reveal() === "")',
    ],
    [
      "a procedure of other containers is reported as done",
      "  if (procedure && !isForSameContainers(order, procedure)) {",
      '  if (procedure && !isForSameContainers(order, procedure) && order.operation === "STORE") {',
    ],
  ),
  ...faults(
    "src/ledger/results/deliveries.ts",
    ["jobs/deliver", "ledger/results"],
    [
      "a later result of an order overtakes the one before it",
      "        and e.id < d.id\n",
      "        and e.id < d.id - 1000000\n",
    ],
    [
      "a result that the lab did not take counts as delivered",
      "     and created_at = any ($2::timestamptz[])\n     and state = 'pending'\n",
      "     and created_at = any ($2::timestamptz[])\n",
    ],
    [
      "a result that a ledger forgot counts for the one that has its id since",
      "     and created_at = any ($2::timestamptz[])\n",
      "     and $2::timestamptz[] is not null\n",
    ],
  ),
  ...faults(
    "src/jobs/deliver/deliver.ts",
    ["jobs/deliver"],
    [
      "a result that could not be sent counts as delivered",
      "          await recordFailure(connector, delivery, result.reason, target, deps);\n          continue;",
      "          await recordFailure(connector, delivery, result.reason, target, deps);",
    ],
    [
      "a worker that lost a connector's lock goes on sending",
      "sent.map((delivery) => target.deliver({ ...delivery, mayLeave: deps.mayDeliver })),",
      "sent.map((delivery) => target.deliver({ ...delivery, mayLeave: () => true })),",
    ],
  ),
  ...faults(
    "src/ledger/messages/known-orders.ts",
    ["ledger/corrections.test.ts", "ledger/commit-messages.test.ts"],
    [
      "an order with a known number and other content is a repeat",
      "  if (authorities === undefined && first.digest === digest) return undefined;",
      "  if (authorities === undefined) return undefined;",
    ],
    ["an order that was sent is corrected", "    first.isParkedUnsent &&\n", ""],
    [
      "an order of another subject corrects one of the same number",
      "    first.subjectCode === order.subject.code.reveal() &&\n",
      "",
    ],
  ),
  ...faults(
    "src/ledger/messages/earlier.ts",
    ["ledger/earlier-messages.test.ts"],
    [
      "a message that came twice becomes two orders",
      "    const firstId = earlier?.sameId ?? seen.get(key);",
      "    const firstId = seen.get(key);",
    ],
  ),
  ...faults(
    "src/ledger/messages/commit.ts",
    ["ledger/commit-messages.test.ts"],
    [
      "messages of a file that are committed are committed again",
      "  const fresh = batch.records.filter((record) => !known.has(record.message.ordinal));",
      "  const fresh = batch.records;",
    ],
  ),
  ...faults(
    "src/ledger/messages/insert.ts",
    ["simulation"],
    [
      "a message is committed before its orders",
      "  await together(client, () => [\n    insertMessages(\n      client,\n      batch,\n      drafts.filter((draft) => !hasWaited(draft)),\n    ),\n",
      `  await insertMessages(client, batch, drafts.filter((draft) => !hasWaited(draft)));
  await client.query("commit");
  await client.query("begin");
  await together(client, () => [
`,
    ],
  ),
  ...faults(
    "src/jobs/feeder.ts",
    ["simulation"],
    [
      "an order that waits is woken up for once, and never again",
      "  if (!isOrderWaiting) return;\n",
      `  const woken = ((settings as { woken?: Set<string> }).woken ??= new Set());
  if (!isOrderWaiting) return woken.clear();
  if (woken.size > 0) return;
  woken.add("submit");
`,
    ],
  ),
  ...faults(
    "src/ledger/messages/dropped-files.ts",
    ["ledger/dropped-files.test.ts"],
    [
      "a dropped file is decided a second time",
      "   and worker = $2\n   and fate is null\nreturning id`;",
      "   and worker = $2\nreturning id`;",
    ],
    [
      "a worker that is gone takes files over",
      "     and d.worker is not null\n     and not ",
      "     and d.worker is not null\n     and null is distinct from ",
    ],
  ),
  ...faults(
    "src/ledger/messages/files.ts",
    ["ledger/dropped-files.test.ts"],
    [
      "a worker that lost a file opens it",
      "    await lockUndecided(client, claimed);\n    const { connector } = file;\n",
      "    const { connector } = file;\n",
    ],
    [
      "a worker that lost a file adds messages to it",
      "    await lockUndecided(client, claimed);\n    return commitOfFile(",
      "    return commitOfFile(",
    ],
  ),
  ...faults(
    "src/connectors/drop-folder/drop-folder.ts",
    ["connectors/drop-folder/shared.test.ts"],
    [
      "a file overtakes one of its claim that might not be moved",
      "      isOurs &&= mayMove();\n",
      "      isOurs = mayMove();\n",
    ],
  ),
  ...faults(
    "src/connectors/drop-folder/carry-out.ts",
    ["connectors/drop-folder", "integration/still-mover.test.ts"],
    [
      "a file is moved though another worker has taken it over",
      "      if (!mayMove()) throw new NotInHand();\n",
      "",
    ],
    [
      "a file counts as done before its folders are on disk",
      "    for (const folder of folders) if (await exists(folder)) await ops.syncFolder(folder);\n",
      "",
    ],
  ),
  ...faults(
    "src/connectors/mllp/connection.ts",
    ["connectors/mllp"],
    [
      "a message is acknowledged though it could not be kept",
      "    } catch {\n      taken.hasFailed = true;\n    }",
      "    } catch {\n      taken.answer = encodeFrames([]);\n    }",
    ],
    [
      "a message is acknowledged before the one before it is kept",
      "    const ready = this.#inHand.splice(0, waiting === -1 ? this.#inHand.length : waiting);",
      "    const ready = this.#inHand.splice(0, this.#inHand.length);",
    ],
  ),
  ...faults(
    "src/service/http/classify.ts",
    ["service/classify.test.ts"],
    [
      "a call that broke off after it was sent counts as not sent",
      `    when: broken(() => true),\n    read: "SERVICE_UNAVAILABLE",\n    write: "SERVICE_NO_ANSWER",`,
      `    when: broken(() => true),\n    read: "SERVICE_UNAVAILABLE",\n    write: "SERVICE_UNREACHABLE",`,
    ],
    [
      "a success without a readable body counts as nothing done",
      `    when: answered((a) => isSuccess(a.status)),\n    read: "SERVICE_UNAVAILABLE",\n    write: "SERVICE_NO_ANSWER",`,
      `    when: answered((a) => isSuccess(a.status)),\n    read: "SERVICE_UNAVAILABLE",\n    write: "SERVICE_BUSY",`,
    ],
    [
      "a status that nobody knows counts as nothing done",
      `    when: () => true,\n    read: "SERVICE_UNAVAILABLE",\n    write: "SERVICE_NO_ANSWER",`,
      `    when: () => true,\n    read: "SERVICE_UNAVAILABLE",\n    write: "SERVICE_BUSY",`,
    ],
  ),
  ...faults(
    "src/ledger/restored/epoch.ts",
    ["cli/release-after-restore.test.ts"],
    ["a person's command goes by an older copy that no daemon has noticed", "  await check(pool);\n", ""],
  ),
  ...faults(
    "src/app/restored.ts",
    ["app/restored.test.ts"],
    [
      "a daemon that can't know an older copy has others believe that there is none",
      "  if (submits) await noteCompared(",
      "  await noteCompared(",
    ],
    [
      "a daemon that can't know an older copy raises its number past what others know",
      "  if (submits) await counting.advance();",
      "  await counting.advance();",
    ],
    [
      "a daemon that submits nothing never looks whether the ledger is an older copy",
      "  const files = await readEpochFiles(",
      `  const nothing = async () => undefined;
  if (!submits)
    return { raise: async () => 0, keep: nothing, advance: nothing, look: () => () => undefined, trouble: undefined };
  const files = await readEpochFiles(`,
    ],
  ),
];
