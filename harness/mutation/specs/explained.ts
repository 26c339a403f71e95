/** Mutants of the specifications that no model needs to notice, each with why. By module, definition and what is altered, since lines move; of several that are alike the number. */

/** The altered specification has the same behaviours, as far as anything is said of them. */
const equivalent: Readonly<Record<string, string>> = {
  'Lease HandleHeartbeatAck: <= for < in: /\\ acked[r][m.from] < CountedFrom(r, m)':
    'what is counted already is counted once more, and nothing changes',
  'Lease RunRead: TRUE for: MayRun(r)':
    'it is TRUE but in MCLease-check-before, which shows that looking at the lease here would do as well',
  'Lease AnswerRead: TRUE for: read[r].phase = "ran"':
    'a read that has not run has no ballot, and nobody leads in none',
  "Lease AnswerRead: read stays, for: read' = [read EXCEPT ![r] = NoRead]":
    'an answer that leaves twice must be as good each time',
  'Lease Learn: <= for < in: /\\ counts[r] < newest.version':
    'who knows the newest change counts by it already, and nothing changes',
  'Lease Learn: TRUE for: counts[r] < newest.version':
    'who knows the newest change counts by it already, and nothing changes',
  'Lease Resign: TRUE for: leading[r] /= 0': 'who leads in nothing gives nothing up, and nothing changes',
  'Recovery MayLeaveBehind: TRUE for: chosen \\notin log[r]':
    'whoever has the newest slot lacks nothing that lies so far below (KnowsWhatLiesFarBelow), and LeaveBehind asks for something that it lacks',
  'Recovery DropTo: >= for > in: /\\ slot > purged[r]': 'nothing goes, and nothing changes',
  'Recovery Tell: TRUE for: told[r] # PointerForPurging(r)':
    'what was told is told once more, and nothing changes',
  'Recovery Wipe: TRUE for: losesLog \\/ losesDatabase': 'a loss of nothing gives a copy up, as a crash does',
  "MultiPaxos BecomeFollower: promises stays, for: promises' = [promises EXCEPT ![r] = {}]":
    'what a follower has counted nobody looks at, and whoever stands again begins with nothing',
  'MultiPaxos Reconfigure: TRUE for: IsConfiguration(e)':
    'what waits and is no configuration may go alone, too: Propose sends it together with what comes behind it',
  'MultiPaxos HandleAccept: TRUE for: r /= Owner(b)':
    'its own Accept makes a leader give up, as StepDown does, and gives back to one that crashed the vote that it cast',
  "MultiPaxos HandleAccepted: >= for > in: /\\ acks' = [acks EXCEPT ![r] = [s \\in Slots |-> IF s \\in first..las...":
    'votes in a slot that is settled are counted, and nobody looks at them',
  'OrderedApply EndWait: TRUE for: node[r].up':
    'a Node that dies takes its sessions along: nobody waits there',
  'OrderedApply EndWait: TRUE for: t \\in pg[r].waiting': 'Next takes t from there',
  'OrderedApply FoldAnew: <= for < in: /\\ dir[r].durable < node[r].at':
    'what is folded anew from where it is stays as it is',
  'OrderedApply CrashNode: TRUE for: node[r].up': 'one that is down has nothing more to lose',
  'OrderedApply CheckPrefix: TRUE for: s \\in SlotsIn(w) \\cup SlotWithPiece(r)': 'Next takes s from there',
  'OrderedApply Release: TRUE for: pg[r].mode = "primary"':
    'before its PostgreSQL is promoted a leader has shipped nothing, and there is nothing new to report',
  'OrderedApply HasParted: FALSE for: Newest.timeline # pg[r].timeline':
    'whoever holds the newest leadership and is on another timeline was not promoted: all that it has is chosen',
};

/** TLC comes to no end. */
const endless: Readonly<Record<string, string>> = {
  'MultiPaxos WrittenAll: FALSE for the condition: records = <<>>': 'it calls itself for ever',
};

/** What bounds a model is no rule. */
const bounds: Readonly<Record<string, string>> = {
  'OrderedApply Propose: TRUE for: next[b] \\in Slot':
    'what is proposed behind the last slot of a model is never chosen',
};

/** Another module has the rule, or another rule allows the same. */
const elsewhere: Readonly<Record<string, string>> = {
  'Recovery Choose: \\E for \\A in: /\\ \\A r \\in Q : ~IsMajority(Q \\ {r})':
    'a larger majority is a smallest one and others that fetched at once',
  'Recovery Tell: TRUE for: HasLog(r)':
    'its new log begins where its database is: it needs nothing below what it tells',
  "Recovery Join: told stays, for: told' = [told EXCEPT ![r] = 0]":
    'what it told may be of a database that it has lost, at any other time, too: then it is copied',
  'Recovery TakeCopy: TRUE for the condition: \\E s \\in (purged[r] + 1)..pointer : s \\notin log[r]':
    'what its database has goes from its log: RelievePressure does the same',
  'Recovery Fairness: TRUE for: WF_vars(BeginEmpty(r))': 'whoever has no database may get a copy instead',
  "MultiPaxos Restored: msgs stays, for: msgs' = msgs \\union prepares.sent":
    'the Prepare that is on its way asks for more than is needed: sending it again spares votes in the Promises',
  'MultiPaxos HandleCatchUpReply: FALSE for the condition: role[r] = "candidate"':
    'the Prepare that is on its way asks for more than is needed, as above',
  'MultiPaxos Undecided: TRUE for: log[r][s].ballot = promised[r]':
    'who has voted for a configuration in an earlier ballot and leads either proposes it at once or fetches it: until then it waits',
  'OrderedApply ResumesRightly: TRUE for: e.timeline = p.timeline':
    'whoever resumes has seen that its timeline is the one before (MayResume), and behind its own first entry nothing of older leaders has effect',
  'OrderedApply EndSessions: TRUE for the condition: read.replica = r':
    'a read at another replica is given up, too: what is never answered shows nothing',
  'OrderedApply ProposeLeadership: TRUE for: MayResume(r, p)':
    'Resume has asked for it, and behind its own first entry nothing else begins; a founder that calls its first leadership a resumption ships its WAL from the beginning',
  'OrderedApply Release: FALSE for: position > node[r].released':
    'what was reported in part is reported whole with the next range only: models in which everything must end report all at once',
  'OrderedApply IsSettled: > for >= in: /\\ \\E i \\in LaterThan(p, d) : ~p.begun[i].resumes /\\ pg[r].applied ...':
    'a standby that has replayed up to the fork and nothing behind it leaves the answer to whoever leads',
  'OrderedApply Replay: FALSE for the condition: IsPrefix(fed, had)':
    'a standby that has more than its Node has folded replays no more until that has come as far',
  'OrderedApply CannotBegin: TRUE for: \\/ dir[r].role = "copying" \\/ node[r].stage = "begun" \\/ dir[r].rol...':
    'a leader may hand over whenever it likes (MayHandOver): models let fewer do so, and this lets more',
};

export const explainedSpecs: ReadonlyMap<string, string> = new Map(
  [equivalent, endless, bounds, elsewhere].flatMap((each) => Object.entries(each)),
);
