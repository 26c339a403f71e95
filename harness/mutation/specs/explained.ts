/** Mutants of the specifications that no model needs to notice, each with why. By module, definition and what is altered, since lines move; of several that are alike the number. */

/** The altered specification has the same behaviours, as far as anything is said of them. */
const equivalent: Readonly<Record<string, string>> = {
  'Lease HandleHeartbeatAck: <= for < in: /\\ acked[r][m.from] < CountedFrom(r, m)':
    'what is counted already is counted once more, and nothing changes',
  'Lease LeaseHeld: nothing for \\ {r} in: /\\ IsQuorum({r} \\union {q \\in Replicas \\ {r} : acked[r][q] /= 0 /\\ ...':
    'the leader counts in any case, and nobody twice',
  'Lease MayGrow: TRUE for: leading[r] /= 0':
    'everybody has promised some ballot (TypeOK), so that who leads in nothing has no quorum',
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
  'Recovery Tell: TRUE for: told[r] # PointerForPurging(r)':
    'what was told is told once more, and nothing changes',
  'Recovery Wipe: TRUE for: losesLog \\/ losesDatabase':
    'a loss of nothing gives a copy up, which may begin again',
  'OrderedApply FoldAnew: <= for < in: /\\ dir[r].durable < node[r].at':
    'what is folded anew from where it is stays as it is',
  'FollowerReads Replace: <= for < in: /\\ n < replayed[f]':
    'a standby that shows as much when it is started again is a new one all the same',
  "FollowerReads Replace: received stays, for: received' = [received EXCEPT ![f] = n]":
    'a standby that is started again has its WAL still, and what is received counts for nothing until it is replayed',
  'FollowerReads Replace: TRUE for the condition: SessionEnds':
    'it is TRUE but in BugFollowerReads-session-goes-on, where what the session was shown goes back with a new read as well',
  'FollowerReads Replace: FALSE for the condition: SessionEnds':
    'a read that goes on waits for the new standby as a new read would: nothing of the one before counts',
  'FollowerReads AskReadIndex: TRUE for: read[f].mode \\in {"linearizable", "bounded"}':
    'what is asked when nobody waits is answered as truly',
  'FollowerReads HandleReadIndex: TRUE for: \\A a \\in taken[f] : a.number # m.number':
    'an answer that is taken again is as old as its question, and as true',
  'FollowerReads AnswerShown: TRUE for: leads[r] # 0': 'whoever holds the lease leads',
  'FollowerReads HandleShown: TRUE for: m.shows > covered[f]':
    'whoever knows of less that is shown asks once more',
  'OrderedApply CrashNode: TRUE for: node[r].up': 'one that is down has nothing more to lose',
};

/** TLC comes to no end. */
const endless: Readonly<Record<string, string>> = {
  'MultiPaxos WrittenAll: FALSE for the condition: records = <<>>': 'it calls itself for ever',
};

/** Another module has the rule, or another rule allows the same. */
const elsewhere: Readonly<Record<string, string>> = {
  'Recovery Choose: \\E for \\A in: /\\ \\A r \\in Q : ~IsMajority(Q \\ {r})':
    'a larger majority is a smallest one and others that fetched at once',
  'Recovery Join: FALSE for the condition: HasDatabase(r)':
    'a new log that begins at 0 fetches what its database has, or goes on from there where somebody has let go of that (MoveBase)',
  "Recovery Join: told stays, for: told' = [told EXCEPT ![r] = 0]":
    'what it told may be of a database that it has lost, at any other time, too: then it is copied',
  'Recovery TakeCopy: FALSE for the condition: \\E s \\in (purged[r] + 1)..pointer : s \\notin log[r]':
    'a log that does not go on from its copy fetches what it lacks, or goes on from there where somebody has let go of that (MoveBase)',
  'Recovery TakeCopy: TRUE for the condition: \\E s \\in (purged[r] + 1)..pointer : s \\notin log[r]':
    'what its database has goes from its log: RelievePressure does the same',
  'OrderedApply SlotWithPiece: TRUE for: s = dir[r].durable':
    'what is chosen of a piece was flushed before it was shipped, whatever the directory says; the code goes by that, and the replay with it',
  'FollowerReads Feed: TRUE for: leads[r] # 0':
    'whoever knows something to be chosen may say so: nobody knows what is not (TypeOK)',
  'FollowerReads AnswerShown: TRUE for: Serves(r)':
    'whoever is elected shows what was chosen before as soon as anybody can read there (LeaderShows)',
  'Recovery Fairness: TRUE for: WF_vars(BeginEmpty(r))': 'whoever has no database may get a copy instead',
};

export const explainedSpecs: ReadonlyMap<string, string> = new Map(
  [equivalent, endless, elsewhere].flatMap((each) => Object.entries(each)),
);
