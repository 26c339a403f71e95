--------------------------- MODULE MCOrderedApply ---------------------------
(* Small worlds for OrderedApply, and what must be seen in them: a model in which nothing happens holds whatever one likes.       *)
EXTENDS OrderedApply, TLC

-----------------------------------------------------------------------------
(* Most models begin when the first leader has let its clients in, and everybody else follows; MCOrderedApply-founding has what   *)
(* comes before.                                                                                                                 *)
First == CHOOSE r \in Replica : TRUE

LedLog == <<LeaderStart(1), LeadershipEntry(1, 1, 0, 1, FALSE, <<>>)>>

Led ==
  /\ ballot = 1
  /\ owner = [b \in Ballot |-> IF b = 1 THEN First ELSE Nobody]
  /\ start = [b \in Ballot |-> IF b = 1 THEN 1 ELSE 0]
  /\ next = [b \in Ballot |-> IF b = 1 THEN 3 ELSE 0]
  /\ proposals = {}
  /\ log = LedLog
  /\ fold = <<NoPosition, FoldEntry(NoPosition, LedLog[1]), FoldEntry(FoldEntry(NoPosition, LedLog[1]), LedLog[2])>>
  /\ purged = 0
  /\ node = [r \in Replica |-> [NodeDown EXCEPT !.up = TRUE, !.at = 2, !.leads = IF r = First THEN 1 ELSE 0,
                                                !.stage = IF r = First THEN "open" ELSE "none"]]
  /\ pg = [r \in Replica |-> [NewDatabase EXCEPT !.mode = IF r = First THEN "primary" ELSE "standby"]]
  /\ dir = [r \in Replica |-> [role |-> IF r = First THEN "primary" ELSE "standby", durable |-> 2]]
  /\ copy = [r \in Replica |-> NoCopy]
  /\ executed = {}
  /\ known = {}
  /\ shown = {}
  /\ doubt = {}
  /\ told = {}
  /\ read = NoRead
  /\ stale = FALSE
  /\ crashes = 0
  /\ endWaits = 0
  /\ others = 0

LedSpec == Led /\ [][Next]_vars
LedFairSpec == LedSpec /\ Fairness

(* Replicas but the first are alike. *)
Alike == Permutations(Replica \ {First})

(* `fold` follows from `log` and `owner`. *)
View == <<ballot, owner, start, next, proposals, log, purged, node, pg, dir, copy, clients, bounds>>

-----------------------------------------------------------------------------
(* What is left out of the models: MayHandOver, MayFold, ReportUpTo, RecoverTo, GoOnFrom, ReplayTo. *)

(* Nobody gives its leadership up but one that was replaced, or that cannot begin. *)
OnlyIfOver(r) == node[r].leads < ballot \/ CannotBegin(r)

(* What a Node that is no standby's has folded does not matter: a directory that becomes a standby says from where to go on. *)
OnlyForStandby(r) == dir[r].role = "standby" \/ node[r].leads # 0

(* What becomes a standby recovers all that it has, and goes on from as late a slot as it can. *)
AllThatIsThere(r) == {IF dir[r].role = "founder" THEN Len(pg[r].wal) ELSE WholeEnd(pg[r].wal)}
TheLastOf(w) == {s \in SlotsIn(w) : \A t \in SlotsIn(w) : t <= s}

(* Or it recovers nothing, so that all that it shows it has replayed. *)
NothingYet(r) == {IF dir[r].role = "founder" THEN Len(pg[r].wal) ELSE 0}

(* All that is chosen is reported. *)
AllThatIsChosen(r, s) == {PositionToReport(r, Fold(s))}

(* A standby receives all that it may be sent, and replays all of it or nothing. *)
AllOrNothing(r) ==
  LET n == Len(WalToFeed(r))
      whole == IF IsPrefix(WalToFeed(r), pg[r].wal) THEN WholeEnd(pg[r].wal) ELSE WholeEnd(WalToFeed(r))
  IN  {<<n, whole>>, <<n, pg[r].applied>>}

(* The first leader switches, and clients ask for something only after it. *)
SwitchedBefore ==
  /\ others' # others => ballot = 1 /\ \E r \in Replica : Len(pg'[r].wal) = Len(pg[r].wal) + 2
  /\ executed' # executed => ballot > 1

(* ... and a directory says that it has come further, and the log drops something, only where the empty rest is the end. *)
EndsEmpty(s) == LET w == Fold(s).wal IN w # <<>> /\ IsRest(w[Len(w)])
SaidAtRest ==
  /\ SwitchedBefore
  /\ \A r \in Replica : dir'[r].durable # dir[r].durable /\ dir'[r].role = dir[r].role => EndsEmpty(dir'[r].durable)
  /\ purged' # purged => EndsEmpty(purged')

(* The first leader writes something and ships nothing.  The second gets a transaction chosen and dies, leads once more as a standby, and *)
(* then the first is elected again.  Nobody is told anything before, and nobody is copied.                                        *)
PartedLeadsAgain ==
  /\ \A p \in proposals' : p.entry.kind = "range" => p.entry.leadership = 2
  /\ others' # others => ballot = 1 /\ pg'[First].wal # pg[First].wal
  /\ executed' # executed => ballot = 2 /\ pg'[First].wal = pg[First].wal
  /\ crashes' # crashes => ballot = 2 /\ pg'[First] = pg[First] /\ RequestsIn(Newest.wal) # {}
  /\ ballot' # ballot =>
       /\ (owner'[ballot'] = First) = (ballot' = 4)
       /\ start'[ballot'] = Top + 1
       /\ ballot' = 2 => pg[First].flushed = 1
       /\ ballot' = 3 => crashes = 1 /\ node[First].leads = 0
       /\ ballot' = 4 => Newest.leadership = 3
  /\ crashes > 0 => doubt # {}
  /\ told' # told => ballot = 4
  /\ known' # known => told' # told
  /\ copy' = copy

(* The first leader gets a transaction chosen, and writes something more that it does not ship.  Then another leads, and nobody is *)
(* copied.                                                                                                                     *)
PartedBehindTransaction ==
  /\ others' # others => ballot = 1 /\ known # {} /\ pg'[First].wal # pg[First].wal
  /\ next'[1] <= 4
  /\ ballot' # ballot => owner'[ballot'] # First /\ others = 1
  /\ copy' = copy

-----------------------------------------------------------------------------
(* Sights: what must have been seen in some state of a model, so that what holds there says something.  Each is printed when it  *)
(* is seen first; the manifest says which models must see what.                                                                 *)

ASSUME \A i \in 1..40 : TLCSet(i, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Ended(r) == pg[r].mode = "standby" /\ dir[r].role = "standby"

Sights ==
  /\ See(1, "a commit is acknowledged", known # {})
  /\ See(2, "a range is nobody's", \E s \in 1..Top : Entry(s).kind = "range" /\ EffectAt(s) = "nobodys")
  /\ See(3, "a leadership entry is nobody's", \E s \in 1..Top : Entry(s).kind = "leadership" /\ EffectAt(s) = "nobodys")
  /\ See(4, "a range of an earlier leader is chosen under the next",
         \E s \in 1..Top : EffectAt(s) = "range" /\ s < start[ballot] /\ \E r \in Replica : node[r].leads = ballot /\ node[r].at < s)
  /\ See(5, "half a record that is chosen is left behind by a fork",
         \E s \in 1..Top : EffectAt(s) = "leadership" /\ Entry(s).fork < Len(Fold(s - 1).wal))
  /\ See(6, "half a record is overwritten", \E i \in 1..Len(Newest.wal) : Newest.wal[i].request = "overwrite")
  /\ See(7, "a primary resumes with more than is chosen",
         \E r \in Replica : node[r].stage = "begun" /\ pg[r].mode = "primary" /\ Len(pg[r].wal) > Len(Newest.wal))
  /\ See(8, "what a primary resumed with is chosen",
         \E i \in 1..Len(Newest.begun) : Newest.begun[i].resumes
           /\ \E j \in 1..Len(Newest.wal) : j > Newest.begun[i].fork /\ Newest.wal[j].leadership < Newest.begun[i].leadership)
  /\ See(9, "two let their clients in", \E r, q \in Replica : r # q /\ node[r].stage = "open" /\ node[q].stage = "open")
  /\ See(10, "a later leader reads what an earlier one acknowledged",
         read # NoRead /\ read.leadership > 1 /\ \E q \in known \cap read.result : TRUE)
  /\ See(11, "a read is under way at a leader that was replaced", read # NoRead /\ read.leadership < ballot)
  /\ See(12, "an answer is held", \E r \in Replica : node[r].held > Len(Fold(node[r].at).wal) /\ read.replica = r)
  /\ See(13, "a client in doubt is told that its transaction is done", \E a \in told : a.outcome = "committed")
  /\ See(14, "a client in doubt is told that its transaction is not done", \E a \in told : a.outcome = "notCommitted")
  /\ See(15, "the id of a transaction in doubt was used again",
         \E d \in doubt, t \in Commits(Newest.wal) : t.xid = d.xid /\ t.request # d.request)
  /\ See(16, "a transaction in doubt is chosen later", \E d \in doubt : d.request \in RequestsIn(Newest.wal))
  /\ See(17, "a standby is read that lags behind", shown # {} /\ \E r \in Replica : Ended(r) /\ pg[r].applied < WholeEnd(Newest.wal))
  /\ See(18, "a leader is copied that has more than is chosen",
         \E r \in Replica : copy[r].source # Nobody /\ pg[copy[r].source].mode = "primary" /\ Len(pg[copy[r].source].wal) > Len(Newest.wal))
  /\ See(19, "a standby is copied", \E r \in Replica : copy[r].source # Nobody /\ pg[copy[r].source].mode = "standby")
  /\ See(20, "the log is purged above what a standby has", \E r \in Replica : dir[r].role = "standby" /\ dir[r].durable < purged)
  /\ See(21, "a range is purged", \E s \in 1..purged : EffectAt(s) = "range")
  /\ See(22, "WAL of a deposed leader is parted from the chosen WAL", \E r \in Replica : IsParted(r))
  /\ See(23, "a directory is marked and its PostgreSQL not promoted",
         \E r \in Replica : node[r].up /\ node[r].leads = 0 /\ dir[r].role = "promoting" /\ pg[r].timeline # Newest.timeline)
  /\ See(24, "the founder crashes before its mark",
         \E r \in Replica : dir[r].role = "founder" /\ ~node[r].up /\ Newest.leadership # 0)
  /\ See(25, "a third leadership lets its clients in", \E r \in Replica : node[r].stage = "open" /\ node[r].leads = 3)
  /\ See(27, "one whose WAL has parted leads while a client is in doubt", doubt # {} /\ \E r \in Replica : node[r].leads # 0 /\ IsParted(r))
  /\ See(28, "BaseIsKept: a group has begun with what its founder had written", Newest.begun # <<>> /\ Newest.begun[1].base # <<>>)
  /\ See(29, "one whose WAL has parted gives its leadership up", ballot # 0 /\ node[owner[ballot]].leads = 0 /\ IsParted(owner[ballot]))
  /\ See(30, "the log is purged above a copy that was sent", \E r \in Replica : IsSent(r) /\ copy[r].slot < purged)
  /\ See(31, "the first leader has died, and is the second's standby again",
         crashes > 0 /\ told # {} /\ Ended(First) /\ \E r \in Replica \ {First} : node[r].leads = ballot /\ node[r].stage = "open")
  /\ See(32, "what was a primary's directory is a standby's, and ends with a piece of a record",
         \E r \in Replica : dir[r].role = "standby" /\ pg[r].mode = "down" /\ pg[r].timeline # 0 /\ pg[r].wal # Whole(pg[r].wal))
  /\ See(33, "a standby tells a client in doubt, before the second leader has let its clients in",
         ballot = 2 /\ told # {} /\ node[owner[2]].stage = "begun")
  /\ See(34, "a standby has replayed what its Node has not folded",
         \E r \in Replica : Ended(r) /\ pg[r].applied > Len(Fold(node[r].at).wal))
  /\ See(35, "a directory that is to be promoted says a slot of whose empty rest it has nothing",
         \E r \in Replica : dir[r].role = "promoting" /\ pg[r].mode = "standby" /\ ~IsFlushed(r, Fold(dir[r].durable).wal))
  /\ See(36, "what was a primary's directory is a standby's, and says a slot of whose empty rest it has nothing",
         \E r \in Replica : dir[r].role = "standby" /\ pg[r].timeline # 0 /\ dir[r].durable >= purged /\ ~IsFlushed(r, Fold(dir[r].durable).wal))
  /\ See(37, "a standby goes on behind an empty rest that is purged, and that it has nothing of",
         \E r \in Replica : Ended(r) /\ node[r].at > purged /\ ~IsPrefix(Fold(purged).wal, pg[r].wal))
  /\ See(38, "a client is told that its transaction is done, and its leader goes on",
         ballot = 1 /\ \E a \in told : a.outcome = "committed")
  /\ See(39, "a client is told that its transaction is not done, and its leader goes on",
         ballot = 1 /\ \E a \in told : a.outcome = "notCommitted")
  /\ See(40, "a transaction that nobody waits for is committed while its client is in doubt",
         \E d \in doubt : \E r \in Replica : d.request \in Visible(r) /\ node[r].held # 0)
  /\ See(26, "a timeline begins above what is chosen, behind the rest of a segment",
         \E s \in 1..Top : EffectAt(s) = "leadership" /\ Entry(s).fork > Len(Fold(s - 1).wal))
=============================================================================
