--------------------------- MODULE SIMOrderedApply ---------------------------
(* Random behaviours of OrderedApply in worlds too large to exhaust.  `act` says which action led to a state and with what        *)
(* parameters, because TLC's simulation files do not; no action looks at it.                                                       *)
EXTENDS MCOrderedApply

VARIABLE act

Did(name, params) == act' = [name |-> name, params |-> params]

SimInit == (Init \/ Led) /\ act = [name |-> "Init", params |-> <<>>]

SimNext ==
  \/ \E r \in Replica, top \in 0..MaxSlot : Elect(r, top) /\ Did("Elect", <<r, top>>)
  \/ \E e \in Candidates(Top + 1) : Choose(e) /\ Did("Choose", <<e>>)
  \/ Purge /\ Did("Purge", <<purged'>>)
  \/ \E r \in Replica :
       \/ ProposeOther(r) /\ Did("ProposeOther", <<r>>)
       \/ Resume(r) /\ Did("Resume", <<r>>)
       \/ \E x \in {NextXid(Prefix(pg[r].wal, pg[r].applied))} : ProposeLeadership(r, x) /\ Did("ProposeLeadership", <<r, x>>)
       \/ BeginLeadership(r) /\ Did("BeginLeadership", <<r>>)
       \/ Promote(r) /\ Did("Promote", <<r>>)
       \/ MarkPrimary(r) /\ Did("MarkPrimary", <<r>>)
       \/ Open(r) /\ Did("Open", <<r>>)
       \/ \E k \in Survivals(r) : Depose(r, k) /\ Did("Depose", <<r, k>>)
       \/ \E q \in Request : Write(r, q) /\ Did("Write", <<r, q>>)
       \/ WriteOwn(r) /\ Did("WriteOwn", <<r>>)
       \/ \E n \in 1..Len(pg[r].wal) : LocalFlush(r, n) /\ Did("LocalFlush", <<r, n>>)
       \/ Ship(r) /\ Did("Ship", <<r>>)
       \/ \E s \in {node[r].at, node[r].at + 1} \cap (0..Top) : \E p \in ReportUpTo(r, s) : Release(r, s, p) /\ Did("Release", <<r, s, p>>)
       \/ \E t \in pg[r].waiting : EndWait(r, t) /\ Did("EndWait", <<r, t.request>>)
       \/ \E t \in pg[r].waiting : EndSession(r, t) /\ Did("EndSession", <<r, t.request>>)
       \/ \E q \in Request : LoseClient(r, q) /\ Did("LoseClient", <<r, q>>)
       \/ \E d \in pg[r].unheard : CommitUnheard(r, d) /\ Did("CommitUnheard", <<r, d.request>>)
       \/ \E d \in pg[r].unheard : UndoUnheard(r, d) /\ Did("UndoUnheard", <<r, d.request>>)
       \/ Barrier(r) /\ Did("Barrier", <<r>>)
       \/ \E t \in node[r].answers : AnswerCommit(r, t) /\ Did("AnswerCommit", <<r, t.request>>)
       \/ RunRead(r) /\ Did("RunRead", <<r>>)
       \/ AnswerRead(r) /\ Did("AnswerRead", <<r>>)
       \/ ReadStandby(r) /\ Did("ReadStandby", <<r>>)
       \/ \E d \in doubt : TellOutcome(r, d) /\ Did("TellOutcome", <<r, d.request>>)
       \/ Feed(r) /\ Did("Feed", <<r>>)
       \/ Skip(r) /\ Did("Skip", <<r>>)
       \/ FoldAnew(r) /\ Did("FoldAnew", <<r>>)
       \/ \E to \in ReplayTo(r) : Replay(r, to[1], to[2]) /\ Did("Replay", <<r, to>>)
       \/ \E s \in 1..Top : FlushStandby(r, s) /\ Did("FlushStandby", <<r, s>>)
       \/ \E k \in Survivals(r) :
            \/ CrashPostgres(r, k) /\ Did("CrashPostgres", <<r, k>>)
            \/ CrashBoth(r, k) /\ Did("CrashBoth", <<r, k>>)
            \/ Restart(r, k) /\ Did("Restart", <<r, k>>)
       \/ CrashNode(r) /\ Did("CrashNode", <<r>>)
       \/ \E a \in RecoverTo(r) : DatabaseUp(r, a) /\ Did("DatabaseUp", <<r, a>>)
       \/ \E s \in GoOnFromChecked(r) : CheckPrefix(r, s) /\ Did("CheckPrefix", <<r, s>>)
       \/ \E q \in Replica : BeginCopy(r, q) /\ Did("BeginCopy", <<r, q>>)
       \/ \E n \in CopyEnds(r) : \E s \in GoOnFromCopy(r, n) :
            \/ SendCopy(r, n, s) /\ Did("SendCopy", <<r, n, s>>)
            \/ EndCopy(r, n, s) /\ Did("EndCopy", <<r, n, s>>)
       \/ RelievePressure(r) /\ Did("RelievePressure", <<r>>)

(* An election while somebody leads is rarer than most steps: else nobody ever gets anything done. *)
SeldomRivals(r) == NobodyLeads \/ RandomElement(1..10) = 1

SimSpec == SimInit /\ [][SimNext]_<<vars, act>>
=============================================================================
