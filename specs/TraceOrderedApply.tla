-------------------------- MODULE TraceOrderedApply --------------------------
(***************************************************************************)
(* Is a recorded run one that OrderedApply allows?                          *)
(*                                                                         *)
(* Every step of a run is an action of OrderedApply itself, with the        *)
(* parameters that the event tells, and the state after it is compared      *)
(* with what the event tells of it, field by field, for equality.  The      *)
(* runner turns events of layer "apply" into steps, puts in before them     *)
(* those that nobody records (Write, LocalFlush, Choose, Elect, crashes of  *)
(* processes), and writes a module that holds `Runs` as a literal: a        *)
(* sequence of [roles, timeline, from, steps].  What it puts in is judged like the rest: a  *)
(* mistake of the runner can reject a good run, but not accept a bad one.   *)
(*                                                                         *)
(*   a, r: the action and the replica; further fields as in specs/          *)
(*   ordered-apply.md, by their first letters:                              *)
(*     s slot, l label, b leadership, t timeline, from and to: start and    *)
(*     end, p position, f fork, x transaction id, q source                  *)
(*                                                                         *)
(* Leaderships, positions and transaction ids are numbered in their order,  *)
(* run by run: only order and equality matter, and TLC's numbers are small. *)
(* So a unit of WAL is what lies between two positions that some event of   *)
(* the run mentions.  `whole` says whether its end is known to be the end   *)
(* of a record, because somebody replayed up to there, forked or resumed    *)
(* there.                                                                  *)
(*                                                                         *)
(* Weaker than OrderedApply, and why:                                       *)
(*   - What becomes chosen, who is elected, and what a new leader finds is  *)
(*     the consensus layer's business, and checked there (TraceMultiPaxos). *)
(*     But a range or a leadership entry that is chosen must have been      *)
(*     proposed by this layer, under that label.                           *)
(*   - Sessions, their answers and reads are no events: `waiting`,          *)
(*     `answers` and `read` stay empty, so EndWait names no transaction.    *)
(*     What clients in doubt are told is checked, as far as Ship events     *)
(*     tell which transactions are in their ranges.                         *)
(*   - Any replica may ask for a copy at any time: its database may be      *)
(*     lost, damaged or set aside (Recovery).                              *)
(*   - A fork above what is chosen is taken for the end of a segment behind *)
(*     a switch where the runner says so (`rest`): units have no segments.  *)
(*   - Purge says what a log has dropped; nothing is dropped here for that. *)
(*     Only members that are up count.                                     *)
(*                                                                         *)
(* Forget keeps the state small, however long the run: it drops the slots   *)
(* and the WAL that every directory has durably.  No action looks at those. *)
(***************************************************************************)
EXTENDS OrderedApply, TLC

CONSTANT Runs

VARIABLES
  run,    \* which run this behaviour is of
  at,     \* its next step
  labels, \* labels[i]: of the entry in slot purged + i
  cut,    \* units of WAL that are forgotten; positions in the state are counted from there
  gone    \* transactions that are committed in them

traceVars == <<vars, run, at, labels, cut, gone>>

(* TLC would evaluate all of `Runs` whenever a step is looked at: it is done once.                                             *)
ASSUME TLCSet(1, Runs)
TheRun == TLCGet(1)[run]

(* A run may have its first steps in common with the first run, and has only those behind.                                      *)
Step == TheRun.steps[at - TheRun.from]
LastStep == TheRun.from + Len(TheRun.steps)
Roles0 == TheRun.roles  \* of every directory at the beginning: "founder" or, where there is none, "copying"

Shift(n) == n - cut

-----------------------------------------------------------------------------
(* In place of operators of OrderedApply, by the configuration of the run: the same, but for slots and WAL that are forgotten, or *)
(* for what is weaker here. *)

TraceTop == purged + Len(log)
TraceEntry(s) == log[s - purged]
TraceFold(s) == fold[s - purged + 1]

RECURSIVE WholeEndFrom(_, _)
WholeEndFrom(w, n) == IF n = 0 \/ w[n].whole THEN n ELSE WholeEndFrom(w, n - 1)
FastWholeEnd(w) == WholeEndFrom(w, Len(w))

(* The rest of a segment holds as many units as there are positions in it. *)
TraceIsSwitch(unit) == FALSE
TraceMayForkAt(p, e) == TRUE
TraceForkToTake(r, p) == IF Step.rest THEN Shift(Step.f) ELSE WholeEnd(p.wal)
TraceUpTo(w, n) ==
  IF n <= Len(w) THEN Prefix(w, n)
  ELSE w \o [i \in 1..(n - Len(w)) |->
                [timeline |-> w[Len(w)].timeline, leadership |-> w[Len(w)].leadership, request |-> {}, xid |-> 0,
                 whole |-> i = n - Len(w)]]

(* A unit holds a set of transactions. *)
TraceUnit(r, u) == [timeline |-> pg[r].timeline, leadership |-> u.b, request |-> u.c, xid |-> MaxOf({t.xid : t \in u.c}), whole |-> u.w]
TraceCommitsOf(unit) == unit.request

(* Where the proposal of this step has got to in the log; 0: nowhere. *)
TracePropose(b, e) ==
  /\ Step.s = 0 \/ Step.s >= next[b]
  /\ proposals' = IF Step.s <= Top THEN proposals ELSE proposals \cup {[slot |-> Step.s, entry |-> e, label |-> Step.l]}
  /\ next' = [next EXCEPT ![b] = Max(@, Step.s + 1)]
  /\ UNCHANGED <<ballot, owner, start, log, fold, purged>>

TraceMayBeFound(top) == TRUE

(* What this layer proposed for the slot; if it proposed nothing there, it is none of its entries. *)
TraceCandidates(s) ==
  LET there == {p.entry : p \in {q \in proposals : q.slot = s /\ "label" \in DOMAIN q /\ q.label = Step.l}}
  IN  IF Step.k = "wal" THEN there
      ELSE IF Step.k = "leaderStart" THEN {LeaderStart(Step.b)}
      ELSE {Other(0)}

TraceNeedsCopy(r) == node[r].up /\ node[r].leads = 0

-----------------------------------------------------------------------------
(* What the parts of a replica come to in the next state. *)
Folded(r) == node'[r].at
ChosenEnd(s) == Len(Fold(s).wal) + cut
WalEnd(r) == Len(pg'[r].wal) + cut

TraceElect == Elect(Step.r, Step.s - 1) /\ ballot' = Step.b /\ UNCHANGED <<labels>>

TraceChoose ==
  /\ Step.s = Top + 1
  /\ \E e \in Candidates(Step.s) : Choose(e)
  /\ labels' = Append(labels, Step.l)

TraceWrite ==
  /\ WriteWal(Step.r, [i \in 1..Len(Step.units) |-> TraceUnit(Step.r, Step.units[i])], {})
  /\ UNCHANGED <<clients, bounds>>

(* What is flushed may go in several ranges, each with its own step: no more than that of this one.                              *)
TraceShippableEnd(r) == IF Step.a = "Ship" /\ Step.r = r THEN MinOf({pg[r].flushed, Shift(Step.to)}) ELSE pg[r].flushed

TraceShip ==
  /\ node[Step.r].leads = Step.b
  /\ node[Step.r].shipped = Shift(Step.from)
  /\ pg[Step.r].timeline = Step.t
  /\ Ship(Step.r)
  /\ node'[Step.r].shipped = Shift(Step.to)

(* `p`: 0 where this is one of the slots that an event covers, and not the last.  The same may be reported again. *)
TraceRelease ==
  LET r == Step.r
      position == IF Step.p = 0 THEN node[r].released ELSE Shift(Step.p)
  IN  \/ Release(r, Step.s, position)
      \/ Step.s = node[r].at /\ position = node[r].released /\ UNCHANGED vars

TraceFeed ==
  /\ Feed(Step.r)
  /\ Folded(Step.r) = Step.s
  /\ labels[Step.s - purged] = Step.l
  /\ Entry(Step.s).leadership = Step.b
  /\ Entry(Step.s).timeline = Step.t
  /\ Entry(Step.s).start = Shift(Step.from)
  /\ ChosenEnd(Step.s) = Step.to

TraceSkip ==
  /\ Skip(Step.r)
  /\ Folded(Step.r) = Step.s
  /\ labels[Step.s - purged] = Step.l

(* What is told as flushed is what came over this connection, which begins anew at a segment of the WAL, and a copied directory    *)
(* may hold more than its position says: so it may be less than what the directory has, and less than what is replayed from       *)
(* there.  It is never more, and nothing is replayed that was not to be sent.  The same may be told again.                       *)
TraceReplay ==
  LET r == Step.r
      had == Len(pg[r].wal)
      replayed == Max(Shift(Step.replayed), 0)  \* a recovery begins at a checkpoint, perhaps in what is forgotten
      end == Max(had, Max(Shift(Step.flushed), replayed))
  IN  \/ end <= Max(had, Len(WalToFeed(r))) /\ Replay(r, end, replayed) /\ Len(pg'[r].wal) = end
      \/ /\ pg[r].mode = "standby"
         /\ pg[r].applied = replayed
         /\ Shift(Step.flushed) <= had
         /\ UNCHANGED vars

(* The directory may say the same once more. *)
TraceFlushStandby ==
  /\ FlushStandby(Step.r, Step.s) \/ (dir[Step.r].durable = Step.s /\ UNCHANGED vars)
  /\ ChosenEnd(Step.s) = Step.p

IsAsRecorded(e) ==
  /\ e.leadership = Step.b
  /\ e.timeline = Step.t
  /\ e.fork = Shift(Step.f)
  /\ e.nextXid = Step.x
  /\ e.resumes = Step.resumes

TraceProposeLeadership ==
  LET r == Step.r
      p == Fold(node[r].at)
      isPrimary == pg[r].mode = "primary"
  IN  /\ ProposeLeadership(r, Step.x)
      /\ node[r].leads = Step.b
      /\ Step.t = IF isPrimary THEN pg[r].timeline ELSE TimelineToTake(r, p)
      /\ Shift(Step.f) = IF dir[r].role = "founder" THEN Len(FounderBase(r)) ELSE IF isPrimary THEN Len(p.wal) ELSE ForkToTake(r, p)
      /\ Step.resumes = (isPrimary /\ dir[r].role # "founder")

TraceBeginLeadership ==
  /\ BeginLeadership(Step.r)
  /\ Folded(Step.r) = Step.s
  /\ labels[Step.s - purged] = Step.l
  /\ IsAsRecorded(Entry(Step.s))
  /\ dir'[Step.r].role = Step.role

TracePromote ==
  /\ node[Step.r].leads = Step.b
  /\ Promote(Step.r)
  /\ pg'[Step.r].timeline = Step.t
  /\ WalEnd(Step.r) = Step.f

TraceResume ==
  /\ node[Step.r].leads = Step.b
  /\ Resume(Step.r)
  /\ pg'[Step.r].timeline = Step.t
  /\ WalEnd(Step.r) <= Step.p  \* what it writes at its start is put in behind
  /\ Step.p >= ChosenEnd(Folded(Step.r))

TraceOpen ==
  /\ node[Step.r].leads = Step.b
  /\ Open(Step.r)
  /\ Folded(Step.r) = Step.s
  /\ Step.p <= ChosenEnd(Step.s)
  /\ Shift(Step.p) >= node[Step.r].held

(* `p`: the end of the WAL that is there afterwards; 0: all that was there. *)
Left == IF Step.p = 0 THEN Len(pg[Step.r].wal) ELSE Shift(Step.p)

TraceDepose ==
  /\ node[Step.r].leads = Step.b
  /\ Depose(Step.r, Left)

(* What was to become a primary ends with its leadership, and tells of it afterwards. *)
TraceDatabaseDown ==
  \/ pg[Step.r].mode = "standby" /\ CrashPostgres(Step.r, Left)
  \/ pg[Step.r].mode = "down" /\ UNCHANGED vars

TraceRestart == Restart(Step.r, Left)

(* How far it recovers is told by the Replay that comes next. *)
TraceDatabaseUp ==
  /\ DatabaseUp(Step.r, IF Step.role = "founder" THEN Len(pg[Step.r].wal) ELSE 0)
  /\ dir[Step.r].role = Step.role
  /\ Folded(Step.r) = Step.s
  /\ ChosenEnd(Step.s) = Step.p
  /\ Fold(Step.s).timeline = Step.t

(* What is said before all is known is judged by what the replica has folded.                                                  *)
TraceCheckPrefix ==
  LET r == Step.r
      w == Whole(pg[r].wal)
      p == Fold(Step.s)
      isOthers == p.timeline # pg[r].timeline \/ owner[p.leadership] # r
  IN  /\ MayBeChecked(r)
      /\ Len(w) + cut = Step.p
      /\ IF Step.outcome = "standby" THEN CheckPrefix(r, Step.s)
         ELSE /\ node[r].at = Step.s
              /\ ~IsChosenWal(w, p)
              /\ Step.outcome = IF isOthers THEN "parted" ELSE "undecided"
              /\ UNCHANGED vars

(* It may have ended with its source already. *)
TraceGiveUpCopy == GiveUpCopy(Step.r) \/ (copy[Step.r] = NoCopy /\ UNCHANGED vars)

(* `n`: the end of what is found in the copied directory later; its WAL may go on behind the slot that it tells.                 *)
EndOfCopy ==
  LET n == Shift(Step.n)
  IN  IF n \in CopyEnds(Step.r) /\ (IF IsSent(Step.r) THEN TRUE ELSE CopyIsChosen(Step.q, n)) THEN n ELSE Shift(Step.p)

(* Nobody tells when everything was sent: it is put in where the source ends or is promoted before the copy is told as whole.      *)
TraceSendCopy ==
  /\ copy[Step.r].source = Step.q
  /\ SendCopy(Step.r, EndOfCopy, Step.s)

TraceEndCopy ==
  /\ (IF IsSent(Step.r) THEN copy[Step.r].sender ELSE copy[Step.r].source) = Step.q
  /\ EndCopy(Step.r, EndOfCopy, Step.s)
  /\ ChosenEnd(Step.s) = Step.p
  /\ Fold(Step.s).timeline = Step.t

(* The gate has noticed: some transaction that waited is visible. *)
TraceEndWait ==
  /\ node[Step.r].stage \in {"none", "open"}
  /\ node' = [node EXCEPT ![Step.r].held = IF node[Step.r].stage = "open" THEN Max(@, HeldUntil(Step.r)) ELSE @]
  /\ UNCHANGED <<replicated, pg, dir, copy, clients, bounds>>

TraceBarrier ==
  /\ node[Step.r].stage \in {"none", "open"}  \* "none": it was replaced meanwhile, and answers nobody
  /\ Shift(Step.p) >= node[Step.r].held
  /\ Step.p <= ChosenEnd(node[Step.r].at)
  /\ IF node[Step.r].held = 0 THEN UNCHANGED vars ELSE Barrier(Step.r)

Asked == [request |-> <<Step.b, Step.x>>, xid |-> Step.x, leadership |-> Step.b]
IsDone == \E t \in gone \cup Commits(Newest.wal) : t.request = Asked.request

(* Nothing is told as not done that some leader might still have chosen: a newer leadership has begun, or the asked one answers. *)
(* Who tells may know that from before a copy, or tell it before it tells of its own fold.                                     *)
TraceTellOutcome ==
  /\ CASE Step.outcome = "committed" -> IsDone
       [] Step.outcome = "notCommitted" ->
            /\ ~IsDone
            /\ LaterThan(Newest, Asked) # {} \/ node[Step.r].leads = Step.b
       [] Step.outcome = "unknown" -> TRUE
  /\ told' = IF Step.outcome = "unknown" THEN told ELSE told \cup {[request |-> Asked.request, outcome |-> Step.outcome]}
  /\ UNCHANGED <<replicated, node, pg, dir, copy, executed, known, shown, doubt, read, stale, bounds>>

TracePurge ==
  /\ Step.s <= dir[Step.r].durable
  /\ Step.why = "everybody" => \A q \in Replica : node[q].up /\ dir[q].role # "copying" => Step.s <= dir[q].durable
  /\ UNCHANGED vars

-----------------------------------------------------------------------------
(* Forgetting what every directory has; nothing while somebody is being copied, who may go on from a slot that nobody else needs. *)

Holders == {r \in Replica : dir[r].role # "copying"}
LeadersBegun == {r \in Replica : node[r].stage \in {"begun", "open"}}

ForgetSlot == MinOf({Top} \cup {dir[r].durable : r \in Holders} \cup {node[r].at : r \in {q \in Holders : node[q].up}})
ForgetUnits ==
  MinOf({WholeEnd(Fold(ForgetSlot).wal)}
          \cup UNION {{pg[r].applied, pg[r].flushed} : r \in Holders}
          \cup UNION {{node[r].shipped, node[r].released} : r \in LeadersBegun})

TraceForget ==
  LET n == ForgetUnits
      s == ForgetSlot
      Rest(w) == SubSeq(w, n + 1, Len(w))
      Less(k) == Max(k - n, 0)
      ShiftEntry(e) ==
        CASE e.kind = "range" -> [e EXCEPT !.start = @ - n]
          [] e.kind = "leadership" -> [e EXCEPT !.fork = @ - n]
          [] OTHER -> e
      ShiftFold(p) == [p EXCEPT !.wal = Rest(@), !.begun = [i \in 1..Len(@) |-> ShiftEntry(@[i])]]
  IN  IF \E r \in Replica : copy[r] # NoCopy THEN UNCHANGED <<vars, labels, cut, gone>>
      ELSE
      /\ \A r \in Holders : Prefix(pg[r].wal, n) = Prefix(Fold(s).wal, n)
      /\ purged' = s
      /\ cut' = cut + n
      /\ gone' = gone \cup Commits(Prefix(Fold(s).wal, n))
      /\ labels' = SubSeq(labels, s - purged + 1, Len(labels))
      /\ log' = [i \in 1..(Top - s) |-> ShiftEntry(log[i + s - purged])]
      /\ fold' = [i \in 1..(Top - s + 1) |-> ShiftFold(fold[i + s - purged])]
      /\ proposals' = {[p EXCEPT !.entry = ShiftEntry(@)] : p \in proposals}
      /\ node' = [r \in Replica |-> [node[r] EXCEPT !.shipped = Less(@), !.released = Less(@), !.held = Less(@)]]
      /\ pg' = [r \in Replica |-> IF r \in Holders THEN [pg[r] EXCEPT !.wal = Rest(@), !.flushed = @ - n, !.applied = @ - n] ELSE pg[r]]
      /\ UNCHANGED <<ballot, owner, start, next, dir, copy, clients, bounds>>

-----------------------------------------------------------------------------
TraceInit ==
  /\ run \in {i \in 1..Len(Runs) : Runs[i].from = 0}
  /\ at = 1
  /\ labels = <<>>
  /\ cut = 0
  /\ gone = {}
  /\ InitWith([r \in Replica |-> NodeDown],
              [r \in Replica |-> [NewDatabase EXCEPT !.timeline = IF r \in DOMAIN Roles0 /\ Roles0[r] = "founder" THEN TheRun.timeline ELSE 0]],
              [r \in Replica |-> [role |-> IF r \in DOMAIN Roles0 THEN Roles0[r] ELSE "copying", durable |-> 0]])

Do ==
  \/ Step.a = "Write" /\ TraceWrite
  \/ Step.a = "LocalFlush" /\ LocalFlush(Step.r, Shift(Step.p))
  \/ Step.a = "Ship" /\ TraceShip
  \/ Step.a = "Release" /\ TraceRelease
  \/ Step.a = "Feed" /\ TraceFeed
  \/ Step.a = "Skip" /\ TraceSkip
  \/ Step.a = "FoldAnew" /\ FoldAnew(Step.r)
  \/ Step.a = "Replay" /\ TraceReplay
  \/ Step.a = "FlushStandby" /\ TraceFlushStandby
  \/ Step.a = "Save" /\ FlushStandby(Step.r, Step.s)
  \/ Step.a = "ProposeLeadership" /\ TraceProposeLeadership
  \/ Step.a = "BeginLeadership" /\ TraceBeginLeadership
  \/ Step.a = "Promote" /\ TracePromote
  \/ Step.a = "Resume" /\ TraceResume
  \/ Step.a = "MarkPrimary" /\ MarkPrimary(Step.r)
  \/ Step.a = "Open" /\ TraceOpen
  \/ Step.a = "Depose" /\ TraceDepose
  \/ Step.a = "DatabaseDown" /\ TraceDatabaseDown
  \/ Step.a = "DatabaseUp" /\ TraceDatabaseUp
  \/ Step.a = "CheckPrefix" /\ TraceCheckPrefix
  \/ Step.a = "BeginCopy" /\ BeginCopy(Step.r, Step.q)
  \/ Step.a = "GiveUpCopy" /\ TraceGiveUpCopy
  \/ Step.a = "SendCopy" /\ TraceSendCopy
  \/ Step.a = "EndCopy" /\ TraceEndCopy
  \/ Step.a = "EndWait" /\ TraceEndWait
  \/ Step.a = "Barrier" /\ TraceBarrier
  \/ Step.a = "TellOutcome" /\ TraceTellOutcome
  \/ Step.a = "Purge" /\ TracePurge
  \/ Step.a = "CrashNode" /\ CrashNode(Step.r)
  \/ Step.a = "Restart" /\ TraceRestart

(* What clients were told is true for ever. *)
TraceToldIsTrue ==
  told # {} => LET done == {t.request : t \in gone \cup Commits(Newest.wal)}
               IN  \A a \in told : (a.outcome = "committed") = (a.request \in done)

TraceStep ==
  /\ at <= LastStep
  /\ \/ Step.a = "Elect" /\ TraceElect /\ UNCHANGED <<cut, gone>>
     \/ Step.a = "Choose" /\ TraceChoose /\ UNCHANGED <<cut, gone>>
     \/ Step.a = "Forget" /\ TraceForget
     \/ Do /\ UNCHANGED <<labels, cut, gone>>
  /\ at' = at + 1
  /\ UNCHANGED run
  /\ TraceToldIsTrue'

(* Another run goes on from here. *)
TraceBranch ==
  /\ run = 1
  /\ \E i \in 2..Len(TLCGet(1)) : TLCGet(1)[i].from = at - 1 /\ at > 1 /\ run' = i
  /\ UNCHANGED <<vars, at, labels, cut, gone>>

TraceNext == TraceStep \/ TraceBranch

TraceSpec == TraceInit /\ [][TraceNext]_traceVars

TraceView == <<run, at>>

(* Printed for each step: how far a run got.  A run is accepted if it got beyond its last step. *)
Reached == PrintT(<<"reached", run, at>>)
=============================================================================
