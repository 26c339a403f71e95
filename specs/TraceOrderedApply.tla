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
(*     `answers` and `read` stay empty, so EndWait names no transaction,    *)
(*     and whoever asks for an outcome is believed to be in doubt.         *)
(*     What clients in doubt are told is checked, as far as Ship events     *)
(*     tell which transactions are in their ranges.                         *)
(*   - Any replica may ask for a copy at any time: its database may be      *)
(*     lost, damaged or set aside (Recovery).                              *)
(*   - A fork above what is chosen is taken for the end of a segment behind *)
(*     a switch where the runner says so (`rest`), and units up to there    *)
(*     for empty (`e`): units have no segments.                             *)
(*   - Purge says what a log has dropped; nothing is dropped here for that. *)
(*     Only members that are up count.                                     *)
(*                                                                         *)
(* Stronger than OrderedApply: what is told once is not told twice, and     *)
(* what goes on somewhere goes on where it was left (`last`).  A run that   *)
(* lacks an event which it must have told is no behaviour.                 *)
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
  gone,   \* transactions that are committed in them
  last    \* last[r]: what r has told that it tells once, or whose next telling goes on from there

traceVars == <<vars, run, at, labels, cut, gone, last>>

(* `base`, `flushed`, `replayed`: of the standby that runs; positions are those of the run.  `isShut`: answers are held behind an EndWait. *)
(* `barrier`: where the last one was chosen.  `source`: of the copy that is told as begun.  `asked`: [n, x, b], outcomes that are looked for; `questions`: how many ever were.  `knows`: its directory says the slot that `dir` has, exactly; what a killed process wrote there is known but for slots without commands.  `purged`: up to where its log *)
(* was dropped; -1: it is not known, since its process or what its log begins with is new.  `owes`: that its PostgreSQL has ended: "" nothing, "Depose" or "DatabaseDown". *)
(* `checked`: what was found when its directory was looked at. *)
NothingTold ==
  [base |-> 0, flushed |-> 0, replayed |-> 0, isShut |-> FALSE, barrier |-> 0, source |-> 0, knows |-> TRUE, asked |-> {}, questions |-> 0, purged |-> -1, owes |-> "", checked |-> <<>>]
Told(r, e) == last' = [last EXCEPT ![r] = e]

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

(* The rest of a segment holds as many units as there are positions in it, each marked as such: no transaction has this id. *)
TraceIsSwitch(unit) == FALSE
TraceIsRest(unit) == unit.xid = -1
TraceEmptyRest(timeline, b) == [timeline |-> timeline, leadership |-> b, request |-> {}, xid |-> -1, whole |-> TRUE]
RECURSIVE FilledEndFrom(_, _)
FilledEndFrom(w, n) == IF n = 0 \/ ~IsRest(w[n]) THEN n ELSE FilledEndFrom(w, n - 1)
FastFilledEnd(w) == FilledEndFrom(w, Len(w))
TraceMayForkAt(p, e) == TRUE
TraceForkToTake(r, p) == IF Step.rest THEN Shift(Step.f) ELSE WholeEnd(p.wal)
(* A unit holds a set of transactions. *)
TraceUnit(r, u) ==
  IF u.e /\ u.c = {} THEN EmptyRest(pg[r].timeline, u.b)
  ELSE [timeline |-> pg[r].timeline, leadership |-> u.b, request |-> u.c, xid |-> MaxOf({t.xid : t \in u.c}), whole |-> u.w]
TraceCommitsOf(unit) == unit.request
(* What a primary that resumes writes behind part of a record: with whatever it writes behind that up to the next position.      *)
TraceOverwrite(timeline, b) == [timeline |-> timeline, leadership |-> b, request |-> {}, xid |-> 0, whole |-> Step.w]

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

TraceNeedsCopy(r) == node[r].up /\ MayBeCopiedTo(r)

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

(* `p`: 0 where this is one of the slots that an event covers, and not the last. *)
TraceRelease ==
  /\ Step.p = 0 \/ Shift(Step.from) = node[Step.r].released
  /\ Release(Step.r, Step.s, IF Step.p = 0 THEN node[Step.r].released ELSE Shift(Step.p))
  /\ Step.p = 0 \/ Step.p = ChosenEnd(Step.s)

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
(* there.  It is never more, and nothing is replayed that was not to be sent.  Of WAL that a new timeline leaves behind it keeps     *)
(* the whole records.                                                                                                          *)
TraceReceive ==
  LET r == Step.r
      had == Len(pg[r].wal)
      fed == WalToFeed(r)
      isLeft == ~IsPrefix(fed, pg[r].wal) /\ ~IsPrefix(pg[r].wal, fed)
      replayed == Max(Shift(Step.replayed), 0)  \* a recovery begins at a checkpoint, perhaps in what is forgotten
      end == Max(IF isLeft THEN WholeEnd(pg[r].wal) ELSE had, Max(Shift(Step.flushed), replayed))
  IN  \/ end <= (IF isLeft THEN Len(fed) ELSE Max(had, Len(fed))) /\ Replay(r, end, replayed) /\ Len(pg'[r].wal) = end
      \/ /\ pg[r].mode = "standby"
         /\ pg[r].applied = replayed
         /\ Shift(Step.flushed) <= had
         /\ UNCHANGED vars

(* The slots that r has folded since its standby runs, up to which all WAL lies below the position.                               *)
SlotsBelow(r, position) == {s \in Max(purged, last[r].base)..node[r].at : Len(Fold(s).wal) <= Shift(position)}

(* Of slots that lie far behind r remembers some only. *)
RemembersSlots == 2048

(* The last of them; one that is forgotten here, or what its directory said at the start.                                        *)
IsSlotAt(r, slot, position) ==
  LET below == SlotsBelow(r, position)
      newest == MaxOf(below)
  IN  IF below = {} THEN slot \in last[r].base..Max(purged, last[r].base)
      ELSE slot = newest \/ (slot < newest /\ newest + RemembersSlots <= node[r].at)

(* Part of a record at the end cannot be replayed.                                                                              *)
IsAllReplayed(r, position) ==
  LET w == Fold(node[r].at).wal IN Shift(position) >= WholeEnd(w) /\ Len(w) <= Len(pg'[r].wal)

(* Told when either is news.  `saidFlushed`, `saidReplayed`: with the empty rest of a segment, through which it goes on behind the chosen WAL. *)
TraceReplay ==
  LET r == Step.r
      before == last[r]
  IN  /\ TraceReceive
      /\ Step.saidFlushed >= before.flushed /\ Step.saidReplayed >= before.replayed
      /\ Step.saidFlushed > before.flushed \/ Step.saidReplayed > before.replayed
      /\ IsSlotAt(r, Step.durable, Step.saidFlushed)
      /\ IsSlotAt(r, Step.applied, Step.saidReplayed) \/ (Step.applied = node[r].at /\ IsAllReplayed(r, Step.saidReplayed))
      /\ Told(r, [before EXCEPT !.flushed = Step.saidFlushed, !.replayed = Step.saidReplayed])

(* Of a standby no more than it has told to be flushed, or came up with; an empty rest need only be replayed.                                                    *)
TraceFlushStandby ==
  /\ ~last[Step.r].knows \/ dir[Step.r].durable = Step.from
  /\ Told(Step.r, [last[Step.r] EXCEPT !.knows = TRUE])
  /\ FlushStandby(Step.r, Step.s)
  /\ ChosenEnd(Step.s) = Step.p
  /\ pg[Step.r].mode = "standby" =>
       /\ Len(NeededOf(Fold(Step.s).wal)) + cut <= last[Step.r].flushed
       /\ Step.p <= Max(last[Step.r].flushed, last[Step.r].replayed)

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
  /\ Told(Step.r, [last[Step.r] EXCEPT !.flushed = MinOf({@, Step.f})])  \* what it has beyond counts for nothing

TracePromote ==
  /\ node[Step.r].leads = Step.b
  /\ Promote(Step.r)
  /\ pg'[Step.r].timeline = Step.t
  /\ WalEnd(Step.r) = Step.f

TraceResume ==
  /\ node[Step.r].leads = Step.b
  /\ Resume(Step.r)
  /\ pg'[Step.r].timeline = Step.t
  /\ Len(Whole(pg[Step.r].wal)) + cut = Step.p

TraceOpen ==
  /\ node[Step.r].leads = Step.b
  /\ Open(Step.r)
  /\ Folded(Step.r) = Step.s
  /\ Step.p = ChosenEnd(Step.s)
  /\ Told(Step.r, [last[Step.r] EXCEPT !.isShut = FALSE, !.barrier = 0])

(* `p`: the end of the WAL that is there afterwards; 0: all that was there. *)
Left == IF Step.p = 0 THEN Len(pg[Step.r].wal) ELSE Shift(Step.p)

(* Of a primary it is told, once, here or later (`told` says which); what was to become one tells that its PostgreSQL has ended.    *)
TraceDepose ==
  LET r == Step.r
  IN  /\ node[r].leads = Step.b
      /\ Depose(r, Left)
      /\ Told(r, [last[r] EXCEPT !.owes = IF pg[r].mode = "primary" THEN (IF Step.told THEN "" ELSE "Depose")
                                        ELSE IF pg[r].mode = "standby" /\ dir[r].role # "standby" THEN "DatabaseDown" ELSE @])

TraceDatabaseDown ==
  /\ \/ pg[Step.r].mode = "standby" /\ CrashPostgres(Step.r, Left)
     \/ pg[Step.r].mode = "down" /\ last[Step.r].owes = "DatabaseDown" /\ UNCHANGED vars
  /\ Told(Step.r, [last[Step.r] EXCEPT !.owes = ""])

(* Whoever looks at its directory, or starts it, has told that PostgreSQL does not run there any more.                            *)
HasToldItsEnd(r) == last[r].owes = ""

TraceRestart == Restart(Step.r, Left)

(* What its directory said when the standby began to follow the fold: all of it is flushed, but for what new timelines have left   *)
(* behind since.                                                                                                               *)
FlushedAtStart(r) == MinOf({ChosenEnd(s) : s \in Max(purged, dir[r].durable)..node[r].at})

(* How far it recovers is told by the Replay that comes next. *)
TraceDatabaseUp ==
  /\ DatabaseUp(Step.r, IF Step.role = "founder" THEN Len(pg[Step.r].wal) ELSE 0)
  /\ dir[Step.r].role = Step.role
  /\ Folded(Step.r) = Step.s
  /\ ChosenEnd(Step.s) = Step.p
  /\ Fold(Step.s).timeline = Step.t
  /\ HasToldItsEnd(Step.r)
  /\ Told(Step.r, [last[Step.r] EXCEPT !.base = dir[Step.r].durable, !.flushed = FlushedAtStart(Step.r), !.replayed = 0, !.checked = <<>>])

(* Of a directory that was marked, and whose PostgreSQL was not promoted: the timeline before the one that it was to begin.        *)
TimelineOfDirectory(r) ==
  LET promised == Fold(dir[r].durable).timeline
  IN  IF dir[r].role = "promoting" /\ pg[r].timeline # promised THEN promised - 1 ELSE pg[r].timeline

(* w lacks all of the rest at whose end the timeline of slot s begins; the end of a switch is the end of its segment.            *)
LacksRest(w, s) == s \in SlotsIn(w) /\ ChosenEnd(s) = Step.p /\ w = NeededOf(Fold(s).wal)

(* What is said before all is known is judged by what the replica has folded.                                                  *)
TraceCheckPrefix ==
  LET r == Step.r
      w == Whole(pg[r].wal)
      p == Fold(Step.s)
      isOthers == p.timeline # pg[r].timeline \/ owner[p.leadership] # r
      found == <<Step.outcome, Step.s, Step.p>>
  IN  /\ MayBeChecked(r)
      /\ HasToldItsEnd(r)
      /\ last[r].checked # found
      /\ Told(r, [last[r] EXCEPT !.checked = found, !.knows = @ \/ Step.outcome = "standby"])
      /\ Len(w) + cut = Step.p \/ LacksRest(w, Step.s)
      /\ Step.t = TimelineOfDirectory(r)
      /\ IF Step.outcome = "standby"
         THEN /\ CheckPrefix(r, Step.s)
              /\ ChosenEnd(Step.s) <= Step.p \/ Step.s \in SlotWithPiece(r)
         ELSE /\ node[r].at = Step.s
              /\ ~IsChosenWal(w, p)
              /\ Step.outcome = IF isOthers THEN "parted" ELSE "undecided"
              /\ UNCHANGED vars

(* A source that leads no more may be asked for a moment: a copy that is begun before its PostgreSQL ends, ends with it. So does one that *)
(* the source has agreed to, and of which the other tells only when that PostgreSQL has ended.                                          *)
BeginCopyInVain(r, q) ==
  /\ last[q].owes = "Depose" \/ (pg[q].mode = "down" /\ dir[q].role \in {"standby", "promoting", "primary"})
  /\ q # r
  /\ NeedsCopy(r)
  /\ copy[r] = NoCopy
  /\ copy' = [p \in Replica |-> IF copy[p].source = r THEN NoCopy ELSE copy[p]]
  /\ dir' = [dir EXCEPT ![r].role = "copying"]
  /\ pg' = [pg EXCEPT ![r] = [NewDatabase EXCEPT !.timeline = 0]]
  /\ UNCHANGED <<replicated, node, clients, bounds>>

TraceBeginCopy ==
  /\ BeginCopy(Step.r, Step.q) \/ BeginCopyInVain(Step.r, Step.q)
  /\ HasToldItsEnd(Step.r)
  /\ last[Step.r].source = 0
  /\ Told(Step.r, [last[Step.r] EXCEPT !.source = Step.q, !.purged = -1, !.checked = <<>>])

(* It may have ended with its source already. *)
TraceGiveUpCopy ==
  /\ GiveUpCopy(Step.r) \/ (copy[Step.r] = NoCopy /\ UNCHANGED vars)
  /\ last[Step.r].source = Step.q
  /\ Told(Step.r, [last[Step.r] EXCEPT !.source = 0])

(* `n`: the end of what is found in the copied directory later; its WAL may go on behind the slot that it tells.  What its standby  *)
(* says of WAL that it is sent once more counts up to where that has come: then `n` may be too low, and the end is where the source  *)
(* was when the copy began, or behind it.                                                                                       *)
EndOfCopy ==
  LET n == Shift(Step.n)
      p == Shift(Step.p)
  IN  IF n \in CopyEnds(Step.r) /\ (IF IsSent(Step.r) THEN TRUE ELSE CopyIsChosen(Step.q, n)) THEN n
      ELSE IF p \in CopyEnds(Step.r) \/ CopyEnds(Step.r) = {} THEN p
      ELSE MinOf(CopyEnds(Step.r))

(* Nobody tells when everything was sent: it is put in where the source ends or is promoted before the copy is told as whole.      *)
TraceSendCopy ==
  /\ copy[Step.r].source = Step.q
  /\ SendCopy(Step.r, EndOfCopy, Step.s)

TraceEndCopy ==
  /\ (IF IsSent(Step.r) THEN copy[Step.r].sender ELSE copy[Step.r].source) = Step.q
  /\ EndCopy(Step.r, EndOfCopy, Step.s)
  /\ ChosenEnd(Step.s) = Step.p
  /\ Fold(Step.s).timeline = Step.t
  /\ Told(Step.r, [last[Step.r] EXCEPT !.source = 0, !.purged = -1, !.knows = TRUE])

(* The gate has noticed: some transaction that waited is visible.  It tells the next when it has opened again. *)
TraceEndWait ==
  /\ node[Step.r].stage \in {"none", "open"}
  /\ ~last[Step.r].isShut
  /\ node' = [node EXCEPT ![Step.r].held = IF node[Step.r].stage = "open" THEN Max(@, HeldUntil(Step.r)) ELSE @]
  /\ Told(Step.r, [last[Step.r] EXCEPT !.isShut = TRUE])
  /\ UNCHANGED <<replicated, pg, dir, copy, clients, bounds>>

(* Each is a commit of its own, above the one before.  One that does not open the gate was asked for because some session is not  *)
(* trusted to wait, or by the first who is answered. *)
TraceBarrier ==
  LET r == Step.r
      isOpen == node[r].stage = "open"
  IN  /\ node[r].stage \in {"none", "open"}  \* "none": it was replaced meanwhile, and answers nobody
      /\ Step.s = node[r].at
      /\ Step.p = ChosenEnd(Step.s)
      /\ Step.p > last[r].barrier
      /\ Step.opens => last[r].isShut
      /\ Step.opens /\ isOpen => Shift(Step.p) >= node[r].held
      /\ IF Step.opens /\ isOpen /\ node[r].held # 0 THEN Barrier(r) ELSE UNCHANGED vars
      /\ Told(r, [last[r] EXCEPT !.barrier = Step.p, !.isShut = @ /\ ~Step.opens])

Question == [n |-> Step.n, x |-> Step.x, b |-> Step.b]

(* Sessions are no events, so nobody has seen that one ended.                                                                   *)
TraceAskOutcome ==
  /\ Step.b # 0
  /\ Step.n = last[Step.r].questions + 1
  /\ Step.open = Cardinality(last[Step.r].asked)
  /\ Told(Step.r, [last[Step.r] EXCEPT !.asked = @ \cup {Question}, !.questions = Step.n])
  /\ UNCHANGED vars

Asked == [request |-> <<Step.b, Step.x>>, xid |-> Step.x, leadership |-> Step.b]
IsDone == \E t \in gone \cup Commits(Newest.wal) : t.request = Asked.request

(* What is not done is told once a newer leadership has begun, or by the asked one.  Who tells may know that from before a copy,   *)
(* or tell it before it tells of its own fold.  That it is done its own PostgreSQL has said, which runs, in any leadership; of one *)
(* that was resumed it may say so just before it is told to be up.                                                              *)
MayBeKnown == LaterThan(Newest, Asked) # {} \/ node[Step.r].leads = Step.b
MayHaveJustStarted == \E i \in LaterThan(Newest, Asked) : Newest.begun[i].resumes

TraceTellOutcome ==
  /\ Question \in last[Step.r].asked
  /\ Told(Step.r, [last[Step.r] EXCEPT !.asked = @ \ {Question}])
  /\ CASE Step.outcome = "committed" -> IsDone /\ (pg[Step.r].mode # "down" \/ MayHaveJustStarted)
       [] Step.outcome = "notCommitted" -> ~IsDone /\ MayBeKnown
       [] Step.outcome = "unknown" -> TRUE
  /\ told' = IF Step.outcome = "unknown" THEN told ELSE told \cup {[request |-> Asked.request, outcome |-> Step.outcome]}
  /\ UNCHANGED <<replicated, node, pg, dir, copy, executed, known, shown, doubt, read, stale, bounds>>

(* `members`: who is one for all that was told by then; `base`: its log begins behind that since a copy has brought it. *)
TracePurge ==
  /\ Step.s <= dir[Step.r].durable
  /\ Step.why = "everybody" => \A q \in Step.members : node[q].up /\ dir[q].role # "copying" => Step.s <= dir[q].durable
  /\ Step.from < Step.s
  /\ last[Step.r].purged = -1 \/ Step.from = Max(last[Step.r].purged, Step.base)
  /\ Told(Step.r, [last[Step.r] EXCEPT !.purged = Step.s])
  /\ UNCHANGED vars

(* Nothing that its process has told binds the next one.                                                                       *)
TraceCrashNode == CrashNode(Step.r) /\ Told(Step.r, [NothingTold EXCEPT !.knows = FALSE])

-----------------------------------------------------------------------------
(* Forgetting what every directory has; nothing while somebody is being copied, who may go on from a slot that nobody else needs. *)

Holders == {r \in Replica : dir[r].role # "copying"}
LeadersBegun == {r \in Replica : node[r].stage \in {"begun", "open"}}

ForgetSlot == MinOf({Top} \cup {dir[r].durable : r \in Holders} \cup {node[r].at : r \in {q \in Holders : node[q].up}})
ForgetUnits ==
  LET n == MinOf({WholeEnd(Fold(ForgetSlot).wal)}
                   \cup UNION {{pg[r].applied, pg[r].flushed} : r \in Holders}
                   \cup UNION {{node[r].shipped, node[r].released} : r \in LeadersBegun})
  IN  Max(n - 1, 0)  \* the rest of a segment goes on from the unit before

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
  /\ last = [r \in Replica |-> NothingTold]
  /\ InitWith([r \in Replica |-> NodeDown],
              [r \in Replica |-> [NewDatabase EXCEPT !.timeline = IF r \in DOMAIN Roles0 /\ Roles0[r] = "founder" THEN TheRun.timeline ELSE 0]],
              [r \in Replica |-> [role |-> IF r \in DOMAIN Roles0 THEN Roles0[r] ELSE "copying", durable |-> 0]])

(* What tells nothing that is held against what was told before, or after. *)
Do ==
  \/ Step.a = "Write" /\ TraceWrite
  \/ Step.a = "LocalFlush" /\ LocalFlush(Step.r, Shift(Step.p))
  \/ Step.a = "Ship" /\ TraceShip
  \/ Step.a = "Release" /\ TraceRelease
  \/ Step.a = "Feed" /\ TraceFeed
  \/ Step.a = "Skip" /\ TraceSkip
  \/ Step.a = "FoldAnew" /\ FoldAnew(Step.r)
  \/ Step.a = "Receive" /\ TraceReceive
  \/ Step.a = "Save" /\ FlushStandby(Step.r, Step.s)
  \/ Step.a = "ProposeLeadership" /\ TraceProposeLeadership
  \/ Step.a = "Promote" /\ TracePromote
  \/ Step.a = "Resume" /\ TraceResume
  \/ Step.a = "MarkPrimary" /\ MarkPrimary(Step.r)
  \/ Step.a = "Checked" /\ CheckPrefix(Step.r, Step.s)
  \/ Step.a = "Copied" /\ EndCopy(Step.r, EndOfCopy, Step.s)
  \/ Step.a = "SendCopy" /\ TraceSendCopy
  \/ Step.a = "Restart" /\ TraceRestart

Tell ==
  \/ Step.a = "Replay" /\ TraceReplay
  \/ Step.a = "FlushStandby" /\ TraceFlushStandby
  \/ Step.a = "BeginLeadership" /\ TraceBeginLeadership
  \/ Step.a = "Open" /\ TraceOpen
  \/ Step.a = "Depose" /\ TraceDepose
  \/ Step.a = "DatabaseDown" /\ TraceDatabaseDown
  \/ Step.a = "DatabaseUp" /\ TraceDatabaseUp
  \/ Step.a = "CheckPrefix" /\ TraceCheckPrefix
  \/ Step.a = "BeginCopy" /\ TraceBeginCopy
  \/ Step.a = "GiveUpCopy" /\ TraceGiveUpCopy
  \/ Step.a = "EndCopy" /\ TraceEndCopy
  \/ Step.a = "EndWait" /\ TraceEndWait
  \/ Step.a = "Barrier" /\ TraceBarrier
  \/ Step.a = "AskOutcome" /\ TraceAskOutcome
  \/ Step.a = "TellOutcome" /\ TraceTellOutcome
  \/ Step.a = "Purge" /\ TracePurge
  \/ Step.a = "CrashNode" /\ TraceCrashNode

(* What clients were told is true for ever. *)
TraceToldIsTrue ==
  told # {} => LET done == {t.request : t \in gone \cup Commits(Newest.wal)}
               IN  \A a \in told : (a.outcome = "committed") = (a.request \in done)

TraceStep ==
  /\ at <= LastStep
  /\ \/ Step.a = "Elect" /\ TraceElect /\ UNCHANGED <<cut, gone, last>>
     \/ Step.a = "Choose" /\ TraceChoose /\ UNCHANGED <<cut, gone, last>>
     \/ Step.a = "Forget" /\ TraceForget /\ UNCHANGED last
     \/ Do /\ UNCHANGED <<labels, cut, gone, last>>
     \/ Tell /\ UNCHANGED <<labels, cut, gone>>
  /\ at' = at + 1
  /\ UNCHANGED run
  /\ TraceToldIsTrue'

(* Another run goes on from here. *)
TraceBranch ==
  /\ run = 1
  /\ \E i \in 2..Len(TLCGet(1)) : TLCGet(1)[i].from = at - 1 /\ at > 1 /\ run' = i
  /\ UNCHANGED <<vars, at, labels, cut, gone, last>>

TraceNext == TraceStep \/ TraceBranch

TraceSpec == TraceInit /\ [][TraceNext]_traceVars

TraceView == <<run, at>>

(* Printed for each step: how far a run got.  A run is accepted if it got beyond its last step. *)
Reached == PrintT(<<"reached", run, at>>)
=============================================================================
