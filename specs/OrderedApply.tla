---------------------------- MODULE OrderedApply ----------------------------
(***************************************************************************)
(* What a group does with PostgreSQL's write-ahead log (WAL) over its own   *)
(* log: the leader's PostgreSQL writes, its Node ships ranges, the log      *)
(* chooses them, the leader releases the commits below, followers feed      *)
(* their standbys; leaders come and go, and with them timelines.            *)
(*                                                                         *)
(* The log is abstract: a slot becomes chosen once and keeps its entry      *)
(* (Consensus, refined by MultiPaxos).  What this module takes from         *)
(* Multi-Paxos is only what a change of leaders can do to proposals that    *)
(* are not chosen yet: any leader to come may find any of them, or miss it. *)
(* Slots are chosen in order here: nobody looks at a slot before all below  *)
(* are chosen, and a proposal that a leader could not choose out of order   *)
(* can be chosen later all the same.                                        *)
(*                                                                         *)
(* A WAL is a sequence of units.  A unit is a record, or one half of one,   *)
(* so that a range may end inside a record.  A position is a length.  Every *)
(* unit says which timeline it is of and, which nobody looks at, which      *)
(* leadership wrote it.  What a log comes to (`fold`) is a function of its  *)
(* entries: foldEntry in payload/wal/wal-history.ts is the same function.   *)
(*                                                                         *)
(* A replica has three parts that fail by themselves: its Node, whose       *)
(* memory is `node`; its PostgreSQL with its data directory, `pg`; and what *)
(* the directory durably says of itself, `dir`.                             *)
(*                                                                         *)
(* Each rule that the payload lives by is an operator of its own, in the    *)
(* section "Rules"; BugOrderedApply replaces them one at a time.            *)
(*                                                                         *)
(* Not here: quorums, ballots on the wire, how a lease is kept (MultiPaxos, *)
(* Lease); lost disks and members that come and go (Recovery); which blocks *)
(* a copy sends; what PostgreSQL does inside of one server.                 *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Replica,    \* the members of the group
  Request,    \* what clients ask for: transactions that write; each is asked for once
  Halved,     \* requests whose commit record takes two units
  Optional,   \* by name, those of the actions that a model may leave out which it has
  MaxSlot, MaxBallot, MaxCrash, MaxEndWait, MaxOther  \* bounds, to keep the model finite; other: what is no client's

(* What a model may leave out.                                                                                                 *)
OptionalActions ==
  {"WriteSwitch", "RunRead", "ReadStandby", "FoldAnew", "FlushStandby", "Purge", "RelievePressure", "CrashPostgres", "CrashNode", "CrashBoth",
   "GiveUpCopy", "SendCopy", "MarkPrimary", "EndSession", "LoseClient"}

ASSUME Halved \subseteq Request /\ Optional \subseteq OptionalActions

VARIABLES
  ballot,     \* the newest leadership
  owner,      \* owner[b]: which replica holds leadership b
  start,      \* start[b]: slot of the first entry that the leader of b added of its own; 0: no such leader yet
  next,       \* next[b]: the slot of its next proposal
  proposals,  \* [slot, entry]: proposed and not chosen; anyone may find them later
  log,        \* the chosen entries, in the order of their slots
  fold,       \* fold[s + 1]: what the log up to slot s comes to
  purged,     \* entries at or below are gone from everybody's log
  node,       \* node[r]: the memory of its Node
  pg,         \* pg[r]: its PostgreSQL, running or not, and what is in its data directory
  dir,        \* dir[r]: what state.json says of that directory
  copy,       \* copy[r]: the copy that r is receiving
  executed,   \* requests that some PostgreSQL has executed
  known,      \* requests that a client knows to be done: it was answered, or has read it at a leader, or was told
  shown,      \* requests that a reader of a standby has seen
  doubt,      \* [request, xid, leadership]: transactions whose client lost its session before it was answered
  told,       \* [request, outcome]: what clients in doubt were told
  read,       \* the read that is under way at a leader, or NoRead
  stale,      \* a read was answered that lacks what was known when it was asked for
  crashes, endWaits, others  \* how often something happened that is bounded

replicated == <<ballot, owner, start, next, proposals, log, fold, purged>>
clients == <<executed, known, shown, doubt, told, read, stale>>
bounds == <<crashes, endWaits, others>>
vars == <<replicated, node, pg, dir, copy, clients, bounds>>

-----------------------------------------------------------------------------
(* Small things *)

Slot == 1..MaxSlot
Ballot == 1..MaxBallot

Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
MaxOf(S) == CHOOSE m \in S \cup {0} : \A x \in S : x <= m
MinOf(S) == CHOOSE m \in S : \A x \in S : m <= x
Prefix(seq, n) == SubSeq(seq, 1, n)
IsPrefix(a, b) == Len(a) <= Len(b) /\ \A i \in 1..Len(a) : a[i] = b[i]

Nobody == 0  \* in place of a replica
NoRead == [replica |-> Nobody]
NoCopy == [source |-> Nobody]

-----------------------------------------------------------------------------
(* WAL *)

(* `whole`: a record ends with this unit.  The commit record of a request in Halved takes two units.                           *)
Unit(timeline, b, q, xid, whole) == [timeline |-> timeline, leadership |-> b, request |-> q, xid |-> xid, whole |-> whole]

(* What PostgreSQL writes after a crash that left half a record behind: that half counts for nothing.                          *)
Overwrite(timeline, b) == Unit(timeline, b, "overwrite", 0, TRUE)

(* A switch of segments is a record whose end is the end of its segment: what is left of that is empty, and the second unit.        *)
SwitchRecord(timeline, b) == Unit(timeline, b, "switch", 0, TRUE)
EmptyRest(timeline, b) == Unit(timeline, b, "rest", 0, TRUE)
IsSwitch(unit) == unit.request = "switch"
IsRest(unit) == unit.request = "rest"

UnitsOf(q, timeline, b, xid) ==
  IF q \in Halved THEN <<Unit(timeline, b, q, xid, FALSE), Unit(timeline, b, q, xid, TRUE)>>
  ELSE <<Unit(timeline, b, q, xid, TRUE)>>

(* What PostgreSQL writes by itself, such as a checkpoint.                                                                     *)
OwnRecord(timeline, b) == Unit(timeline, b, "record", 0, TRUE)

(* The transactions that are committed by this unit.                                                                           *)
CommitsOf(unit) == IF unit.whole /\ unit.request \in Request THEN {[request |-> unit.request, xid |-> unit.xid]} ELSE {}

Commits(w) == UNION {CommitsOf(w[i]) : i \in 1..Len(w)}
RequestsIn(w) == {t.request : t \in Commits(w)}

(* The next transaction id of a PostgreSQL that has replayed this WAL, at least: ids that left no trace in it are used again.   *)
NextXid(w) == 1 + MaxOf({w[i].xid : i \in 1..Len(w)})

(* The end of the last whole record.                                                                                          *)
WholeEnd(w) == MaxOf({i \in 1..Len(w) : w[i].whole})
Whole(w) == Prefix(w, WholeEnd(w))

(* Where PostgreSQL says that it is when it has replayed all of w: of a switch it has replayed the rest, which it need not have.    *)
RecordEnd(w) ==
  LET e == WholeEnd(w) IN IF e > 0 /\ IsSwitch(w[e]) THEN e + 1 ELSE e

(* w up to its last unit in which there is anything.                                                                          *)
FilledEnd(w) == MaxOf({i \in 1..Len(w) : ~IsRest(w[i])})

(* The end of the segment that the unit behind position n would be in, at most.                                                *)
SegmentEnd(n) == n + 1

(* w up to position n, or on to there by the rest of a segment.                                                                *)
UpTo(w, n) ==
  IF n <= Len(w) THEN Prefix(w, n)
  ELSE w \o [i \in 1..(n - Len(w)) |-> EmptyRest(w[Len(w)].timeline, w[Len(w)].leadership)]

-----------------------------------------------------------------------------
(* Entries of the log *)

Noop == [kind |-> "noop", leadership |-> 0]
LeaderStart(b) == [kind |-> "leaderStart", leadership |-> b]
(* A command or configuration without WAL, such as a comparison of the replicas' data.                                         *)
Other(b) == [kind |-> "other", leadership |-> b]
RangeEntry(b, timeline, from, data) == [kind |-> "range", leadership |-> b, timeline |-> timeline, start |-> from, data |-> data]
(* `base`: what the founder's database begins with, for the first leadership of a group.  The real entry has only its length;     *)
(* everybody else gets it by a copy.                                                                                          *)
LeadershipEntry(b, timeline, fork, nextXid, resumes, base) ==
  [kind |-> "leadership", leadership |-> b, timeline |-> timeline, fork |-> fork, nextXid |-> nextXid, resumes |-> resumes, base |-> base]

(* What the log comes to at some slot.  `leadership`: the newest that has begun; `newestStart`: of the newest leaderStart;      *)
(* `begun`: the leadership entries that had effect, in order; `wal`: the chosen WAL.                                           *)
NoPosition == [leadership |-> 0, newestStart |-> 0, timeline |-> 0, begun |-> <<>>, wal |-> <<>>]

(* The last chosen slot; the entry in slot s, and what the log comes to there.                                                 *)
Top == Len(log)
Entry(s) == log[s]
Fold(s) == fold[s + 1]
Newest == Fold(Top)

-----------------------------------------------------------------------------
(* Rules *)

(* What an entry is worth follows from the log alone: the same on every replica.  An entry of a leadership above whose entry    *)
(* stands the first entry of a newer leader is nobody's.                                                                        *)
IsCurrent(p, e) == e.leadership >= p.newestStart

(* A range goes on exactly where the chosen WAL ends.                                                                          *)
GoesOn(p, e) == e.start = Len(p.wal)

RangeHasEffect(p, e) ==
  /\ IsCurrent(p, e)
  /\ e.leadership = p.leadership
  /\ e.timeline = p.timeline
  /\ GoesOn(p, e)

(* A leadership that does not resume has a timeline of its own, one above that of the leadership before.                       *)
IsNextTimeline(p, e) == e.timeline = p.timeline + 1

(* One that resumes goes on with the timeline of the leadership before, which was the same replica's, and where it ends.       *)
ResumesRightly(p, e) ==
  /\ owner[e.leadership] = owner[p.leadership]
  /\ e.timeline = p.timeline
  /\ e.fork = Len(p.wal)

(* It leaves that behind, or its end or above it the rest of the segment, which a log need not have: it is empty.                 *)
MayForkAt(p, e) == e.fork <= SegmentEnd(Len(p.wal))

LeadershipBegins(p, e) ==
  /\ IsCurrent(p, e)
  /\ e.leadership > p.leadership
  /\ \/ p.timeline = 0  \* the first of a group: whatever its founder's database has
     \/ IF e.resumes THEN ResumesRightly(p, e) ELSE IsNextTimeline(p, e) /\ MayForkAt(p, e)

(* A new leader has everything chosen that its log held, its own first entry included: only then it knows what its leadership   *)
(* comes after.                                                                                                               *)
HasOwnStart(r, p) == p.newestStart = node[r].leads

(* Its standby has replayed all of that before it proposes its leadership entry.                                               *)
HasReplayed(r, p) == pg[r].applied = WholeEnd(p.wal)

(* Its timeline begins at the end of the last whole record that is chosen, where PostgreSQL says that this is; a part of a        *)
(* record beyond is nobody's.                                                                                                 *)
ForkToTake(r, p) == RecordEnd(p.wal)

(* The first leadership of all begins with what is on its founder's disk.                                                       *)
FounderBase(r) == Prefix(pg[r].wal, pg[r].flushed)

(* The number of its timeline comes from the log.                                                                             *)
TimelineToTake(r, p) == p.timeline + 1

(* Its directory says durably that it may hold WAL which was never chosen, before it is promoted.  The founder's may from the    *)
(* first leadership on, even if its Node was down when that was chosen.                                                        *)
RoleWhenBegun(r, e) ==
  IF dir[r].role = "founder" THEN "primary"
  ELSE IF node[r].leads # e.leadership THEN dir[r].role
  ELSE IF e.resumes THEN "primary" ELSE "promoting"

(* A primary that is found again goes on as one only if nobody else has led since.                                             *)
MayResume(r, p) ==
  /\ dir[r].role \in {"promoting", "primary"}
  /\ pg[r].timeline = p.timeline
  /\ owner[p.leadership] = r

(* A leadership ends with the life of its primary: transaction ids are used again after a restart, and a leadership and an id    *)
(* must name one transaction.  So what is started again is part of a newer leadership.                                        *)
NodeAfterDatabaseDown(r) ==
  IF pg[r].mode = "primary"
  THEN [node[r] EXCEPT !.leads = 0, !.stage = "none", !.shipped = 0, !.released = 0, !.held = 0, !.answers = {}]
  ELSE node[r]
MayResumeIn(stage) == stage = "elected"

(* Clients are let in when everything that PostgreSQL recovered is chosen.                                                     *)
AllRecoveredChosen(r, p) == Len(p.wal) >= node[r].held

(* Only what is on the leader's own disk is shipped.                                                                          *)
ShippableEnd(r) == pg[r].flushed

(* What is reported to the primary as flushed, which releases the commits below, is chosen.                                    *)
PositionToReport(r, p) == Len(p.wal)

(* What a standby may be sent: chosen WAL and nothing else.                                                                    *)
WalToFeed(r) == Fold(node[r].at).wal

(* After PostgreSQL has ended a wait by itself, answers are held until all that was written by then is chosen.                 *)
HeldUntil(r) == Len(pg[r].wal)

(* An answer may leave: the lease is held, after PostgreSQL gave it, and nothing is visible that is not chosen.                *)
HoldsLease(r) == node[r].leads = ballot
MayAnswer(r) ==
  /\ node[r].stage = "open"
  /\ HoldsLease(r)
  /\ node[r].held = 0

(* What a database must have of this WAL to go on from it: of an empty rest at the end nothing, which PostgreSQL passes over when  *)
(* it replays the switch.                                                                                                     *)
NeededOf(w) == Prefix(w, FilledEnd(w))

(* The log has unit i of w no more.  Of a piece of a record that was purged a later leadership may have left the rest behind: then the *)
(* log has what is in its place.                                                                                              *)
IsForgotten(i, w) == LET gone == NeededOf(Fold(purged).wal) IN i <= Len(gone) /\ w[i] = gone[i]

(* What counts as there, for the sake of purging: what is flushed in the directory's own WAL.                                  *)
IsFlushed(r, w) == IsPrefix(w, Prefix(pg[r].wal, pg[r].flushed))
CountsAsThere(r, w) == IsFlushed(r, NeededOf(w))

(* The directory of a deposed leader is a standby's again only if all its WAL is chosen; positions and timelines tell.          *)
IsChosenWal(w, p) == Len(w) <= Len(p.wal) /\ \A i \in 1..Len(w) : w[i].timeline = p.wal[i].timeline

(* Only a directory that says so is started as a standby.                                                                     *)
MayStartStandby(r) == dir[r].role = "standby"

(* Whoever is copied to leads nothing: it gives its leadership up before, and does not stand meanwhile.  As long as it led nobody else  *)
(* would, and the WAL that all lack may be with one that goes on with it only when that one leads (Resume).                          *)
MayBeCopiedTo(r) == node[r].leads = 0
MayBeElected(r) == copy[r] = NoCopy

(* A copy is whole when all that its blocks may reflect, which is the source's WAL up to n, is chosen; and comes with it.       *)
CopyIsChosen(q, n) == n <= Len(Fold(node[q].at).wal)
WalOfCopy(r, n) == Prefix(pg[copy[r].source].wal, n)

Visible(r) == RequestsIn(pg[r].wal) \ {t.request : t \in pg[r].waiting}

(* What became of transaction d, when it is settled.  A newer leadership has begun, and either it has left what came before        *)
(* behind (which is replayed here), or this replica leads and has everything chosen that it recovered.                         *)
LaterThan(p, d) == {i \in 1..Len(p.begun) : p.begun[i].leadership > d.leadership}
IsSettled(r, p, d) ==
  \/ /\ pg[r].mode = "standby"
     /\ \E i \in LaterThan(p, d) : ~p.begun[i].resumes /\ pg[r].applied >= p.begun[i].fork
  \/ /\ node[r].stage = "open"
     /\ LaterThan(p, d) # {}

(* Or its own leadership goes on: its leader shows the transaction, and all that it shows is chosen; or it has undone it.  That     *)
(* it neither shows nor has undone it says nothing: its session may be at its COMMIT, though its client is gone.                *)
ShowsOnlyChosen(r) == node[r].held = 0
HasUndone(r, d) == d \notin pg[r].unheard /\ ~\E t \in Commits(pg[r].wal) : t.xid = d.xid
IsSettledByLeader(r, d) ==
  /\ node[r].stage = "open"
  /\ node[r].leads = d.leadership
  /\ (d.request \in Visible(r) /\ ShowsOnlyChosen(r)) \/ HasUndone(r, d)

(* Or a standby has replayed its commit, and the leader shows it, too, which it may do later: it waits for the report.  What the      *)
(* standby has not replayed may still come.                                                                                    *)
LeaderShows(d) == \E q \in Replica : node[q].stage = "open" /\ HoldsLease(q) /\ d.request \in Visible(q)
IsShownByStandby(r, p, d) ==
  /\ pg[r].mode = "standby"
  /\ p.leadership = d.leadership
  /\ pg[r].applied >= p.begun[Len(p.begun)].fork
  /\ \E t \in Commits(Prefix(pg[r].wal, pg[r].applied)) : t.xid = d.xid
  /\ LeaderShows(d)

(* No id at or above the lowest next one of any leadership since is d's any more: it may be another's.                         *)
IsAnothers(p, d) == \E i \in LaterThan(p, d) : d.xid >= p.begun[i].nextXid
OutcomeOf(r, p, d) ==
  IF ~IsAnothers(p, d) /\ \E t \in Commits(Prefix(pg[r].wal, pg[r].applied)) : t.xid = d.xid THEN "committed"
  ELSE "notCommitted"

-----------------------------------------------------------------------------
(* What the log means *)

Begin(p, e) ==
  [p EXCEPT !.leadership = e.leadership, !.timeline = e.timeline, !.begun = Append(@, e),
            !.wal = IF p.timeline = 0 THEN e.base ELSE UpTo(@, e.fork)]

FoldEntry(p, e) ==
  CASE e.kind = "leaderStart" -> [p EXCEPT !.newestStart = Max(@, e.leadership)]
    [] e.kind = "range" /\ RangeHasEffect(p, e) -> [p EXCEPT !.wal = @ \o e.data]
    [] e.kind = "leadership" /\ LeadershipBegins(p, e) -> Begin(p, e)
    [] OTHER -> p

(* The effect of the entry in slot s.                                                                                          *)
EffectAt(s) ==
  LET e == Entry(s)
      p == Fold(s - 1)
  IN  CASE e.kind = "range" -> IF RangeHasEffect(p, e) THEN "range" ELSE "nobodys"
        [] e.kind = "leadership" -> IF LeadershipBegins(p, e) THEN "leadership" ELSE "nobodys"
        [] OTHER -> "nothing"

(* r can know that slot s is chosen, and has the entry.  A leader that has been replaced without knowing learns nothing beyond  *)
(* the first entry of whoever replaced it.                                                                                    *)
Knows(r, s) ==
  /\ node[r].up
  /\ s \in (purged + 1)..Top
  /\ node[r].leads # 0 => \A b \in (node[r].leads + 1)..ballot : s < start[b]

(* The slots that a standby with this WAL may go on from: of what the log comes to there it lacks nothing.                      *)
SlotsIn(w) == {s \in purged..Top : IsPrefix(NeededOf(Fold(s).wal), w)}

(* The slot that a primary's directory says already, where a piece of a record at its end is more than the whole records come to:    *)
(* it was flushed before it was shipped, and no standby that starts takes it away.                                             *)
SlotWithPiece(r) ==
  {s \in SlotsIn(pg[r].wal) : s = dir[r].durable /\ Len(NeededOf(Fold(s).wal)) > WholeEnd(pg[r].wal)}

-----------------------------------------------------------------------------
(* States of the parts of a replica *)

NodeDown == [up |-> FALSE, leads |-> 0, stage |-> "none", at |-> 0, shipped |-> 0, released |-> 0, held |-> 0, answers |-> {}]

(* The Node leads no more.                                                                                                     *)
Following(n) == [n EXCEPT !.leads = 0, !.stage = "none", !.shipped = 0, !.released = 0, !.held = 0, !.answers = {}]

(* PostgreSQL is down; of what it had written and not flushed, k - flushed units are there, until the machine fails as well: only *)
(* a PostgreSQL that starts makes them durable.                                                                               *)
Stopped(g, k) ==
  [g EXCEPT !.mode = "down", !.wal = Prefix(@, k), !.applied = Min(@, k), !.waiting = {}, !.unheard = {}]
Survivals(r) == pg[r].flushed..Len(pg[r].wal)

(* Transactions whose commit is written, and whose clients have not been answered.                                             *)
Unanswered(r) == {[request |-> t.request, xid |-> t.xid, leadership |-> t.leadership] : t \in pg[r].waiting \cup node[r].answers}

(* The sessions of r's PostgreSQL end.                                                                                         *)
EndSessions(r) ==
  /\ doubt' = doubt \cup Unanswered(r)
  /\ read' = IF read.replica = r THEN NoRead ELSE read
  /\ UNCHANGED <<executed, known, shown, told, stale>>

(* Everything of r's copy was sent: its source has nothing to do with it any more.                                              *)
IsSent(r) == copy[r] # NoCopy /\ copy[r].source = Nobody

(* Copies from r come to nothing.                                                                                              *)
VoidCopiesFrom(r) == copy' = [q \in Replica |-> IF copy[q].source = r THEN NoCopy ELSE copy[q]]

-----------------------------------------------------------------------------
(* What is left open; a model may take less, which leaves behaviours out and adds none. *)

(* Which replica may stand for election, give its leadership up, or fold its log while its directory is no standby's.          *)
MayStand(r) == TRUE
MayHandOver(r) == TRUE
MayFold(r) == TRUE

(* The highest slot that a new leader finds: one that is chosen, or in which somebody has proposed something.                  *)
MayBeFound(top) == top > Top => \E p \in proposals : p.slot = top

(* What is reported to a primary when s is folded in.                                                                          *)
ReportUpTo(r, s) == 0..PositionToReport(r, Fold(s))

(* How far a standby recovers when it is started, and from where a directory goes on.                                          *)
RecoverTo(r) == 0..Len(pg[r].wal)
GoOnFrom(w) == SlotsIn(w)
GoOnFromChecked(r) == GoOnFrom(Whole(pg[r].wal)) \cup SlotWithPiece(r)
GoOnFromCopy(r, n) == IF IsSent(r) THEN {copy[r].slot} ELSE GoOnFrom(WalOfCopy(r, n))

(* How far a standby may come at once: <<flushed, replayed>>.                                                                  *)
ReplayTo(r) == LET n == Max(Len(WalToFeed(r)), Len(pg[r].wal)) IN (0..Len(WalToFeed(r))) \X (0..n)

-----------------------------------------------------------------------------
(* A group whose founder has just been made: nobody else has a database.                                                       *)
InitWith(nodes, databases, directories) ==
  /\ ballot = 0
  /\ owner = [b \in Ballot |-> Nobody]
  /\ start = [b \in Ballot |-> 0]
  /\ next = [b \in Ballot |-> 0]
  /\ proposals = {}
  /\ log = <<>>
  /\ fold = <<NoPosition>>
  /\ purged = 0
  /\ node = nodes
  /\ pg = databases
  /\ dir = directories
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

NewDatabase == [mode |-> "down", timeline |-> 1, wal |-> <<>>, flushed |-> 0, applied |-> 0, waiting |-> {}, unheard |-> {}, torn |-> FALSE]

Init ==
  \E founder \in Replica :
    InitWith([r \in Replica |-> [NodeDown EXCEPT !.up = TRUE]],
             [r \in Replica |-> [NewDatabase EXCEPT !.timeline = IF r = founder THEN 1 ELSE 0]],
             [r \in Replica |-> [role |-> IF r = founder THEN "founder" ELSE "copying", durable |-> 0]])

-----------------------------------------------------------------------------
(* The abstract log *)

(* Replica r wins a new leadership.  The highest slot that its phase 1 finds is `top`: chosen ones it must find, others it may  *)
(* miss.  Holes below become no-ops or any proposal that was found there; its own first entry comes right above.               *)
Elect(r, top) ==
  LET b == ballot + 1
  IN  /\ b \in Ballot
      /\ top + 1 \in Slot
      /\ node[r].up
      /\ node[r].leads = 0
      /\ MayBeElected(r)
      /\ MayStand(r)
      /\ top >= Top
      /\ MayBeFound(top)
      /\ ballot' = b
      /\ owner' = [owner EXCEPT ![b] = r]
      /\ start' = [start EXCEPT ![b] = top + 1]
      /\ next' = [next EXCEPT ![b] = top + 2]
      /\ proposals' = proposals \cup {[slot |-> top + 1, entry |-> LeaderStart(b)]}
      /\ node' = [node EXCEPT ![r].leads = b, ![r].stage = "elected"]
      /\ UNCHANGED <<log, fold, purged, pg, dir, copy, clients, bounds>>

(* What the newest leadership may get chosen in slot s.                                                                        *)
Candidates(s) ==
  LET there == {p.entry : p \in {q \in proposals : q.slot = s}}
  IN  IF ballot = 0 THEN {}
      ELSE IF s < start[ballot] THEN there \cup {Noop}
      ELSE {e \in there : e.leadership = ballot}

(* A quorum has accepted it.                                                                                                   *)
Choose(e) ==
  LET s == Top + 1
  IN  /\ s \in Slot
      /\ e \in Candidates(s)
      /\ log' = Append(log, e)
      /\ fold' = Append(fold, FoldEntry(Newest, e))
      /\ proposals' = {p \in proposals : p.slot # s}
      /\ UNCHANGED <<ballot, owner, start, next, purged, node, pg, dir, copy, clients, bounds>>

(* The leader of b proposes e in its next slot.  It may have been replaced without knowing, and the slot may be taken.         *)
Propose(b, e) ==
  /\ next[b] \in Slot
  /\ proposals' = IF next[b] <= Top THEN proposals ELSE proposals \cup {[slot |-> next[b], entry |-> e]}
  /\ next' = [next EXCEPT ![b] = @ + 1]
  /\ UNCHANGED <<ballot, owner, start, log, fold, purged>>

(* Something without WAL takes a slot.                                                                                         *)
ProposeOther(r) ==
  /\ others < MaxOther
  /\ node[r].leads # 0
  /\ Propose(node[r].leads, Other(node[r].leads))
  /\ others' = others + 1
  /\ UNCHANGED <<node, pg, dir, copy, clients, crashes, endWaits>>

-----------------------------------------------------------------------------
(* A new leader *)

(* The PostgreSQL of a directory that was a primary's is a primary again; nobody is let in.  Of half a record at its end        *)
(* nothing is left but the place that it takes.                                                                                *)
Resume(r) ==
  LET b == node[r].leads
      s == Max(node[r].at, start[b])
      w == pg[r].wal
  IN  /\ b # 0
      /\ MayResumeIn(node[r].stage)
      /\ pg[r].mode = "down"
      /\ Knows(r, start[b])
      /\ HasOwnStart(r, Fold(s))
      /\ MayResume(r, Fold(s))
      /\ LET recovered == IF w # Whole(w) THEN Append(w, Overwrite(pg[r].timeline, b)) ELSE UpTo(w, RecordEnd(w))
         IN  pg' = [pg EXCEPT ![r].mode = "primary", ![r].wal = recovered, ![r].flushed = Len(recovered), ![r].applied = Len(recovered)]
      /\ node' = [node EXCEPT ![r].at = s, ![r].held = Len(pg'[r].wal)]
      /\ dir' = [dir EXCEPT ![r].role = "primary"]
      /\ UNCHANGED <<replicated, copy, clients, bounds>>

(* The leadership entry of a standby that is to be promoted, of a primary that resumes, or of the group's founder.  nextXid: an  *)
(* id that no transaction has that has effect from before.                                                                     *)
ProposeLeadership(r, nextXid) ==
  LET b == node[r].leads
      p == Fold(node[r].at)
      w == pg[r].wal
  IN  /\ b # 0
      /\ node[r].stage = "elected"
      /\ HasOwnStart(r, p)
      /\ nextXid >= NextXid(Prefix(w, pg[r].applied))
      /\ \/ /\ pg[r].mode = "standby"
            /\ dir[r].role = "standby"
            /\ HasReplayed(r, p)
            /\ Propose(b, LeadershipEntry(b, TimelineToTake(r, p), ForkToTake(r, p), nextXid, FALSE, <<>>))
         \/ /\ pg[r].mode = "primary"
            /\ MayResume(r, p)
            /\ Propose(b, LeadershipEntry(b, pg[r].timeline, Len(p.wal), nextXid, TRUE, <<>>))
         \/ /\ pg[r].mode = "primary"
            /\ dir[r].role = "founder"
            /\ Propose(b, LeadershipEntry(b, pg[r].timeline, Len(FounderBase(r)), nextXid, FALSE, FounderBase(r)))
      /\ node' = [node EXCEPT ![r].stage = "proposed"]
      /\ UNCHANGED <<pg, dir, copy, clients, bounds>>

(* A leadership entry that has effect is folded in.  At its leader the directory is marked.                                     *)
BeginLeadership(r) ==
  LET s == node[r].at + 1
      e == Entry(s)
      isOwn == node[r].leads = e.leadership
  IN  /\ Knows(r, s)
      /\ MayFold(r)
      /\ EffectAt(s) = "leadership"
      /\ node' = [node EXCEPT ![r].at = s,
                              ![r].stage = IF isOwn THEN "begun" ELSE @,
                              ![r].shipped = IF isOwn THEN Len(Fold(s).wal) ELSE @,
                              ![r].released = IF isOwn THEN Len(Fold(s).wal) ELSE @]
      /\ dir' = [dir EXCEPT ![r].role = RoleWhenBegun(r, e)]
      /\ UNCHANGED <<replicated, pg, copy, clients, bounds>>

(* PostgreSQL leaves recovery, on the timeline of the leadership entry.                                                         *)
Promote(r) ==
  LET e == Fold(node[r].at).begun[Len(Fold(node[r].at).begun)]
  IN  /\ node[r].stage = "begun"
      /\ pg[r].mode = "standby"
      /\ pg' = [pg EXCEPT ![r].mode = "primary", ![r].timeline = e.timeline, ![r].wal = UpTo(@, e.fork), ![r].flushed = e.fork,
                          ![r].applied = e.fork]
      /\ VoidCopiesFrom(r)
      /\ UNCHANGED <<replicated, node, dir, clients, bounds>>

(* A directory whose PostgreSQL has been promoted says that it is a primary's: at the latest when clients are let in.             *)
MarkPrimary(r) ==
  /\ "MarkPrimary" \in Optional
  /\ node[r].up
  /\ dir[r].role = "promoting"
  /\ pg[r].mode = "primary" \/ (pg[r].mode = "down" /\ MayResume(r, Fold(node[r].at)))
  /\ dir' = [dir EXCEPT ![r].role = "primary"]
  /\ UNCHANGED <<replicated, node, pg, copy, clients, bounds>>

(* Clients are let in.                                                                                                         *)
Open(r) ==
  LET p == Fold(node[r].at)
  IN  /\ node[r].stage = "begun"
      /\ pg[r].mode = "primary"
      /\ AllRecoveredChosen(r, p)
      /\ node' = [node EXCEPT ![r].stage = "open", ![r].held = 0]
      /\ dir' = [dir EXCEPT ![r].role = IF @ = "promoting" THEN "primary" ELSE @]
      /\ UNCHANGED <<replicated, pg, copy, clients, bounds>>

(* The leadership of r is over, because there is a newer one or because r hands over: sessions end, and what is no clean        *)
(* standby is stopped at once.                                                                                                *)
Depose(r, k) ==
  /\ node[r].leads # 0
  /\ MayHandOver(r)
  /\ k \in Survivals(r)
  /\ node' = [node EXCEPT ![r] = Following(@)]
  /\ IF pg[r].mode = "primary" \/ dir[r].role # "standby"
     THEN /\ pg' = [pg EXCEPT ![r] = Stopped(@, k)]
          /\ VoidCopiesFrom(r)
     ELSE /\ k = Len(pg[r].wal)
          /\ UNCHANGED <<pg, copy>>
  /\ EndSessions(r)
  /\ UNCHANGED <<replicated, dir, bounds>>

-----------------------------------------------------------------------------
(* The primary *)

WriteWal(r, units, waiting) ==
  /\ pg[r].mode = "primary"
  /\ pg' = [pg EXCEPT ![r].wal = @ \o units, ![r].applied = Len(pg[r].wal) + Len(units), ![r].waiting = @ \cup waiting]
  /\ UNCHANGED <<replicated, node, dir, copy>>

(* A client's transaction is executed and its commit record written; its COMMIT waits for the synchronous standby.              *)
Write(r, q) ==
  LET xid == NextXid(pg[r].wal)
      units == UnitsOf(q, pg[r].timeline, node[r].leads, xid)
      t == [request |-> q, xid |-> xid, leadership |-> node[r].leads, end |-> Len(pg[r].wal) + Len(units)]
  IN  /\ node[r].stage = "open"
      /\ q \notin executed
      /\ WriteWal(r, units, {t})
      /\ executed' = executed \cup {q}
      /\ UNCHANGED <<known, shown, doubt, told, read, stale, bounds>>

(* Its client loses its session before that, and asks what became of it; its backend goes on ...                                *)
LoseClient(r, q) ==
  LET xid == NextXid(pg[r].wal)
      d == [request |-> q, xid |-> xid, leadership |-> node[r].leads]
  IN  /\ "LoseClient" \in Optional
      /\ endWaits < MaxEndWait
      /\ node[r].stage = "open"
      /\ pg[r].mode = "primary"
      /\ q \notin executed
      /\ pg' = [pg EXCEPT ![r].wal = Append(@, Unit(pg[r].timeline, node[r].leads, "change", xid, TRUE)),
                         ![r].applied = Len(pg[r].wal) + 1, ![r].unheard = @ \cup {d}]
      /\ executed' = executed \cup {q}
      /\ doubt' = doubt \cup {d}
      /\ endWaits' = endWaits + 1
      /\ UNCHANGED <<replicated, node, dir, copy, known, shown, told, read, stale, crashes, others>>

(* ... and commits it, or undoes it.                                                                                            *)
CommitUnheard(r, d) ==
  LET units == UnitsOf(d.request, pg[r].timeline, d.leadership, d.xid)
      t == [request |-> d.request, xid |-> d.xid, leadership |-> d.leadership, end |-> Len(pg[r].wal) + Len(units)]
  IN  /\ d \in pg[r].unheard
      /\ pg' = [pg EXCEPT ![r].wal = @ \o units, ![r].applied = Len(pg[r].wal) + Len(units),
                         ![r].waiting = @ \cup {t}, ![r].unheard = @ \ {d}]
      /\ UNCHANGED <<replicated, node, dir, copy, clients, bounds>>

UndoUnheard(r, d) ==
  /\ d \in pg[r].unheard
  /\ pg' = [pg EXCEPT ![r].unheard = @ \ {d}]
  /\ UNCHANGED <<replicated, node, dir, copy, clients, bounds>>

(* PostgreSQL writes something by itself, at any time.                                                                         *)
WriteOwn(r) ==
  /\ others < MaxOther
  /\ WriteWal(r, <<OwnRecord(pg[r].timeline, node[r].leads)>>, {})
  /\ others' = others + 1
  /\ UNCHANGED <<clients, crashes, endWaits>>

(* It switches to the next segment: on demand, at the end of a backup.                                                         *)
WriteSwitch(r) ==
  /\ "WriteSwitch" \in Optional
  /\ others < MaxOther
  /\ WriteWal(r, <<SwitchRecord(pg[r].timeline, node[r].leads), EmptyRest(pg[r].timeline, node[r].leads)>>, {})
  /\ others' = others + 1
  /\ UNCHANGED <<clients, crashes, endWaits>>

(* The WAL up to n is on the primary's disk.                                                                                   *)
LocalFlush(r, n) ==
  /\ pg[r].mode = "primary"
  /\ n \in (pg[r].flushed + 1)..Len(pg[r].wal)
  /\ pg' = [pg EXCEPT ![r].flushed = n]
  /\ UNCHANGED <<replicated, node, dir, copy, clients, bounds>>

(* What came since the last range is proposed.                                                                                 *)
Ship(r) ==
  LET b == node[r].leads
      from == node[r].shipped
      end == ShippableEnd(r)
  IN  /\ node[r].stage \in {"begun", "open"}
      /\ pg[r].mode = "primary"
      /\ end > from
      /\ Propose(b, RangeEntry(b, pg[r].timeline, from, SubSeq(pg[r].wal, from + 1, end)))
      /\ node' = [node EXCEPT ![r].shipped = end]
      /\ UNCHANGED <<pg, dir, copy, clients, bounds>>

(* The leader has folded its log up to s, and reports a position of the chosen WAL to its PostgreSQL: the commits below return.  *)
Release(r, s, position) ==
  LET done == {t \in pg[r].waiting : t.end <= position}
  IN  /\ node[r].stage \in {"begun", "open"}
      /\ s \in {node[r].at, node[r].at + 1}
      /\ s > node[r].at => Knows(r, s) /\ EffectAt(s) = "range"
      /\ position \in node[r].released..PositionToReport(r, Fold(s))
      /\ s > node[r].at \/ position > node[r].released
      /\ node' = [node EXCEPT ![r].at = s, ![r].released = position, ![r].answers = @ \cup done]
      /\ pg' = [pg EXCEPT ![r].waiting = @ \ done]
      /\ UNCHANGED <<replicated, dir, copy, clients, bounds>>

(* PostgreSQL ends a wait early: a cancel, a termination, a client that turns synchronous_commit down.  The transaction is      *)
(* visible from now on, and its client has an answer.  The gate notices before any answer leaves.                             *)
EndWait(r, t) ==
  /\ endWaits < MaxEndWait
  /\ pg' = [pg EXCEPT ![r].waiting = @ \ {t}]
  /\ node' = [node EXCEPT ![r].answers = @ \cup {t}, ![r].held = Max(@, HeldUntil(r))]
  /\ endWaits' = endWaits + 1
  /\ UNCHANGED <<replicated, dir, copy, clients, crashes, others>>

(* The same with its session: its client is in doubt.                                                                          *)
EndSession(r, t) ==
  /\ "EndSession" \in Optional
  /\ endWaits < MaxEndWait
  /\ pg' = [pg EXCEPT ![r].waiting = @ \ {t}]
  /\ node' = [node EXCEPT ![r].held = Max(@, HeldUntil(r))]
  /\ doubt' = doubt \cup {[request |-> t.request, xid |-> t.xid, leadership |-> t.leadership]}
  /\ endWaits' = endWaits + 1
  /\ UNCHANGED <<replicated, dir, copy, executed, known, shown, told, read, stale, crashes, others>>

(* A commit of Barista's own, after all of that, is chosen: answers go on.                                                     *)
Barrier(r) ==
  /\ node[r].stage = "open"
  /\ node[r].held # 0
  /\ Len(Fold(node[r].at).wal) >= node[r].held
  /\ node' = [node EXCEPT ![r].held = 0]
  /\ UNCHANGED <<replicated, pg, dir, copy, clients, bounds>>

-----------------------------------------------------------------------------
(* Clients *)

(* PostgreSQL has answered a COMMIT, and the answer leaves.                                                                    *)
AnswerCommit(r, t) ==
  /\ t \in node[r].answers
  /\ MayAnswer(r)
  /\ node' = [node EXCEPT ![r].answers = @ \ {t}]
  /\ known' = known \cup {t.request}
  /\ UNCHANGED <<replicated, pg, dir, copy, executed, shown, doubt, told, read, stale, bounds>>

(* A read at the leader is asked for and run.                                                                                  *)
RunRead(r) ==
  /\ "RunRead" \in Optional
  /\ node[r].stage = "open"
  /\ pg[r].mode = "primary"
  /\ read = NoRead
  /\ read' = [replica |-> r, leadership |-> node[r].leads, result |-> Visible(r), lacks |-> known \ Visible(r)]
  /\ UNCHANGED <<replicated, node, pg, dir, copy, executed, known, shown, doubt, told, stale, bounds>>

AnswerRead(r) ==
  /\ read.replica = r
  /\ MayAnswer(r)
  /\ node[r].leads = read.leadership
  /\ read' = NoRead
  /\ known' = known \cup read.result
  /\ stale' = (read.lacks # {})
  /\ UNCHANGED <<replicated, node, pg, dir, copy, executed, shown, doubt, told, bounds>>

(* A read at a standby.                                                                                                        *)
ReadStandby(r) ==
  /\ "ReadStandby" \in Optional
  /\ node[r].up
  /\ pg[r].mode = "standby"
  /\ shown' = shown \cup RequestsIn(Prefix(pg[r].wal, pg[r].applied))
  /\ shown' # shown
  /\ UNCHANGED <<replicated, node, pg, dir, copy, executed, known, doubt, told, read, stale, bounds>>

(* A client that lost its session asks what became of its transaction.                                                         *)
TellOutcome(r, d) ==
  LET p == Fold(node[r].at)
      outcome == OutcomeOf(r, p, d)
  IN  /\ node[r].up
      /\ d \in doubt
      /\ IsSettled(r, p, d) \/ IsSettledByLeader(r, d) \/ IsShownByStandby(r, p, d)
      /\ doubt' = doubt \ {d}
      /\ told' = told \cup {[request |-> d.request, outcome |-> outcome]}
      /\ known' = IF outcome = "committed" THEN known \cup {d.request} ELSE known
      /\ UNCHANGED <<replicated, node, pg, dir, copy, executed, shown, read, stale, bounds>>

-----------------------------------------------------------------------------
(* The standby *)

(* A range that has effect is folded in: from now on the standby may be sent it.                                               *)
Feed(r) ==
  LET s == node[r].at + 1
  IN  /\ Knows(r, s)
      /\ MayFold(r)
      /\ EffectAt(s) = "range"
      /\ node[r].leads # Entry(s).leadership
      /\ node' = [node EXCEPT ![r].at = s]
      /\ UNCHANGED <<replicated, pg, dir, copy, clients, bounds>>

(* A Node that looks at its directory again folds its log on from what that says.                                              *)
FoldAnew(r) ==
  /\ "FoldAnew" \in Optional
  /\ node[r].up
  /\ pg[r].mode = "down"
  /\ node[r].stage \in {"none", "elected", "proposed"}
  /\ dir[r].durable < node[r].at
  /\ node' = [node EXCEPT ![r].at = dir[r].durable]
  /\ UNCHANGED <<replicated, pg, dir, copy, clients, bounds>>

(* An entry that has no effect is folded in.                                                                                   *)
Skip(r) ==
  LET s == node[r].at + 1
  IN  /\ Knows(r, s)
      /\ MayFold(r)
      /\ EffectAt(s) \in {"nothing", "nobodys"}
      /\ node' = [node EXCEPT ![r].at = s]
      /\ UNCHANGED <<replicated, pg, dir, copy, clients, bounds>>

(* The standby has received and flushed the WAL that it may be sent up to n, and replayed it up to a.  It takes only what       *)
(* continues the whole records that it has, and part of a record beyond gives way to a new timeline.                          *)
Replay(r, n, a) ==
  LET had == pg[r].wal
      fed == WalToFeed(r)
      w == IF IsPrefix(fed, had) THEN had ELSE Prefix(fed, n)
  IN  /\ node[r].up
      /\ pg[r].mode = "standby"
      /\ IsPrefix(Whole(had), w)
      /\ \A i \in (Len(had) + 1)..Len(w) : ~IsForgotten(i, w)  \* the log still has what comes next
      /\ a \in pg[r].applied..WholeEnd(w)
      /\ pg' = [pg EXCEPT ![r].wal = w, ![r].flushed = Len(w), ![r].applied = a]
      /\ pg' # pg
      /\ UNCHANGED <<replicated, node, dir, copy, clients, bounds>>

(* The directory says how far it is, durably: everything up to slot s is in it.                                                *)
FlushStandby(r, s) ==
  /\ "FlushStandby" \in Optional
  /\ node[r].up
  /\ dir[r].role \in {"standby", "promoting", "primary"}
  /\ s \in (dir[r].durable + 1)..node[r].at
  /\ CountsAsThere(r, Fold(s).wal)
  /\ dir' = [dir EXCEPT ![r].durable = s]
  /\ UNCHANGED <<replicated, node, pg, copy, clients, bounds>>

-----------------------------------------------------------------------------
(* Failures and what follows *)

(* PostgreSQL dies.                                                                                                            *)
CrashPostgres(r, k) ==
  /\ "CrashPostgres" \in Optional
  /\ crashes < MaxCrash
  /\ node[r].up
  /\ pg[r].mode # "down"
  /\ k \in Survivals(r)
  /\ crashes' = crashes + 1
  /\ pg' = [pg EXCEPT ![r] = Stopped(@, k)]
  /\ node' = [node EXCEPT ![r] = NodeAfterDatabaseDown(r)]
  /\ VoidCopiesFrom(r)
  /\ EndSessions(r)
  /\ UNCHANGED <<replicated, dir, endWaits, others>>

(* The process of Node dies; PostgreSQL goes on, and nobody can reach it.                                                      *)
CrashNode(r) ==
  /\ "CrashNode" \in Optional
  /\ crashes < MaxCrash
  /\ node[r].up
  /\ crashes' = crashes + 1
  /\ node' = [node EXCEPT ![r] = NodeDown]
  /\ pg' = [pg EXCEPT ![r].waiting = {}, ![r].unheard = {}]
  /\ copy' = [q \in Replica |-> IF q = r \/ copy[q].source = r THEN NoCopy ELSE copy[q]]
  /\ EndSessions(r)
  /\ UNCHANGED <<replicated, dir, endWaits, others>>

CrashBoth(r, k) ==
  /\ "CrashBoth" \in Optional
  /\ crashes < MaxCrash
  /\ node[r].up
  /\ k \in Survivals(r)
  /\ crashes' = crashes + 1
  /\ node' = [node EXCEPT ![r] = NodeDown]
  /\ pg' = [pg EXCEPT ![r] = Stopped(@, k)]
  /\ copy' = [q \in Replica |-> IF q = r \/ copy[q].source = r THEN NoCopy ELSE copy[q]]
  /\ EndSessions(r)
  /\ UNCHANGED <<replicated, dir, endWaits, others>>

(* Node comes up: what it finds running it stops, and it folds its log on from what the directory says.                         *)
Restart(r, k) ==
  /\ ~node[r].up
  /\ k \in Survivals(r)
  /\ node' = [node EXCEPT ![r].up = TRUE, ![r].at = dir[r].durable]
  /\ pg' = [pg EXCEPT ![r] = Stopped(@, k)]
  /\ UNCHANGED <<replicated, dir, copy, clients, bounds>>

(* PostgreSQL is started: as a standby, which recovers up to a first, or as the founder's primary, into which nobody is let.     *)
DatabaseUp(r, a) ==
  /\ node[r].up
  /\ pg[r].mode = "down"
  /\ \/ /\ MayStartStandby(r)
        /\ a \in 0..WholeEnd(pg[r].wal)
        /\ pg' = [pg EXCEPT ![r].mode = "standby", ![r].flushed = Len(pg[r].wal), ![r].applied = a]
     \/ /\ dir[r].role = "founder"
        /\ a = Len(pg[r].wal)
        /\ pg' = [pg EXCEPT ![r].mode = "primary", ![r].flushed = a]
  /\ UNCHANGED <<replicated, node, dir, copy, clients, bounds>>

MayBeChecked(r) ==
  /\ node[r].up
  /\ node[r].stage \in {"none", "elected"}
  /\ pg[r].mode = "down"
  /\ dir[r].role \in {"promoting", "primary"}

(* A directory that may hold WAL which was never chosen is found to hold none.  It goes on from slot s.  What is chosen of it was *)
(* flushed before it was shipped, but for the rest of a segment behind a switch, in which there is nothing to lose.             *)
CheckPrefix(r, s) ==
  LET w == Whole(pg[r].wal)
      kept == IF s \in SlotWithPiece(r) THEN Fold(s).wal ELSE w
  IN  /\ MayBeChecked(r)
      /\ IsChosenWal(w, Newest)
      /\ s \in GoOnFromChecked(r)
      /\ dir' = [dir EXCEPT ![r] = [role |-> "standby", durable |-> s]]
      /\ node' = [node EXCEPT ![r].at = s]
      /\ pg' = [pg EXCEPT ![r].wal = kept,
                          ![r].flushed = IF kept # w THEN Min(@, Len(kept)) ELSE Min(RecordEnd(Prefix(w, Min(@, Len(w)))), Len(w)),
                          ![r].applied = Len(w)]
      /\ UNCHANGED <<replicated, copy, clients, bounds>>

(* It holds WAL that can never be chosen any more.                                                                             *)
HasParted(r) ==
  /\ ~IsChosenWal(Whole(pg[r].wal), Newest)
  /\ owner[Newest.leadership] # r
IsParted(r) == MayBeChecked(r) /\ HasParted(r)

(* r's own database is none, or no log goes on from it.                                                                        *)
NeedsCopy(r) ==
  /\ node[r].up
  /\ MayBeCopiedTo(r)
  /\ \/ dir[r].role = "copying"
     \/ IsParted(r)
     \/ dir[r].role = "standby" /\ dir[r].durable < purged

(* q can be copied: a standby, even one that is to be promoted, which ends the copy when it is; or the leader, once it has begun.  *)
MayBeCopied(q) ==
  /\ node[q].up
  /\ dir[q].durable >= purged
  /\ \/ pg[q].mode = "standby" /\ dir[q].role \in {"standby", "promoting"}
     \/ pg[q].mode = "primary" /\ node[q].stage \in {"begun", "open"}

(* From now on r's directory is no database, and nobody is given a copy of it.                                                 *)
BeginCopy(r, q) ==
  /\ q # r
  /\ NeedsCopy(r)
  /\ copy[r] = NoCopy
  /\ MayBeCopied(q)
  /\ copy' = [p \in Replica |-> IF p = r THEN [source |-> q, from |-> pg[q].applied] ELSE IF copy[p].source = r THEN NoCopy ELSE copy[p]]
  /\ dir' = [dir EXCEPT ![r].role = "copying"]
  /\ pg' = [pg EXCEPT ![r] = [NewDatabase EXCEPT !.timeline = 0]]
  /\ UNCHANGED <<replicated, node, clients, bounds>>

CopyEnds(r) ==
  IF copy[r] = NoCopy THEN {}
  ELSE IF IsSent(r) THEN {copy[r].end}
  ELSE copy[r].from..Len(pg[copy[r].source].wal)

(* From which slots r may go on, with a copy that ends at n.                                                                    *)
SlotsOfCopy(r, n) == IF IsSent(r) THEN {copy[r].slot} ELSE SlotsIn(WalOfCopy(r, n))

MayEndCopy(r, n, s) ==
  /\ node[r].up
  /\ n \in CopyEnds(r)
  /\ IF IsSent(r) THEN TRUE ELSE CopyIsChosen(copy[r].source, n)
  /\ s \in SlotsOfCopy(r, n)

(* The source has sent everything: blocks, each as it was at some time of the copy, none later than the source's WAL up to n, and  *)
(* the WAL of that time.  What becomes of the source from now on does not matter; the log may be purged above s meanwhile.        *)
SendCopy(r, n, s) ==
  /\ "SendCopy" \in Optional
  /\ MayEndCopy(r, n, s)
  /\ ~IsSent(r)
  /\ copy' = [copy EXCEPT ![r] = [source |-> Nobody, sender |-> copy[r].source, wal |-> WalOfCopy(r, n), end |-> n, slot |-> s]]
  /\ UNCHANGED <<replicated, node, pg, dir, clients, bounds>>

(* Everything is there, durably.                                                                                               *)
EndCopy(r, n, s) ==
  LET w == IF IsSent(r) THEN copy[r].wal ELSE WalOfCopy(r, n)
  IN  /\ MayEndCopy(r, n, s)
      /\ copy' = [copy EXCEPT ![r] = NoCopy]
      /\ dir' = [dir EXCEPT ![r] = [role |-> "standby", durable |-> s]]
      /\ node' = [node EXCEPT ![r].at = s]
      /\ pg' = [pg EXCEPT ![r] = [NewDatabase EXCEPT !.timeline = 0, !.wal = w, !.flushed = Len(w), !.applied = WholeEnd(w),
                                                     !.torn = n > Len(w)]]
      /\ UNCHANGED <<replicated, clients, bounds>>

(* The connection is lost, or the source takes too long: r's directory is no database, and stays none until another copy.         *)
GiveUpCopy(r) ==
  /\ "GiveUpCopy" \in Optional
  /\ crashes < MaxCrash
  /\ copy[r] # NoCopy
  /\ crashes' = crashes + 1
  /\ copy' = [copy EXCEPT ![r] = NoCopy]
  /\ UNCHANGED <<replicated, node, pg, dir, clients, endWaits, others>>

DropTo(to) ==
  /\ to > purged
  /\ purged' = to
  /\ UNCHANGED <<ballot, owner, start, next, proposals, log, fold, node, pg, dir, copy, clients, bounds>>

(* What every member has durably goes; one without a database will get what its source has.                                    *)
Purge ==
  /\ "Purge" \in Optional
  /\ DropTo(MinOf({dir[r].durable : r \in {q \in Replica : dir[q].role # "copying"}}))

(* The log has outgrown its bound: what the standby of r itself has goes, whoever still wants it.                              *)
RelievePressure(r) ==
  /\ "RelievePressure" \in Optional
  /\ dir[r].role = "standby"
  /\ DropTo(dir[r].durable)

-----------------------------------------------------------------------------
Next ==
  \/ \E r \in Replica, top \in 0..MaxSlot : Elect(r, top)
  \/ \E e \in Candidates(Top + 1) : Choose(e)
  \/ Purge
  \/ \E r \in Replica :
       \/ ProposeOther(r)
       \/ Resume(r)
       \/ ProposeLeadership(r, NextXid(Prefix(pg[r].wal, pg[r].applied)))  \* a higher one only wastes ids
       \/ BeginLeadership(r) \/ Promote(r) \/ MarkPrimary(r) \/ Open(r)
       \/ \E k \in Survivals(r) : Depose(r, k)
       \/ \E q \in Request : Write(r, q)
       \/ \E q \in Request : LoseClient(r, q)
       \/ \E d \in pg[r].unheard : CommitUnheard(r, d) \/ UndoUnheard(r, d)
       \/ WriteOwn(r) \/ WriteSwitch(r)
       \/ \E n \in 1..Len(pg[r].wal) : LocalFlush(r, n)
       \/ Ship(r)
       \/ \E s \in {node[r].at, node[r].at + 1} \cap (0..Top) : \E p \in ReportUpTo(r, s) : Release(r, s, p)
       \/ \E t \in pg[r].waiting : EndWait(r, t) \/ EndSession(r, t)
       \/ Barrier(r)
       \/ \E t \in node[r].answers : AnswerCommit(r, t)
       \/ RunRead(r) \/ AnswerRead(r) \/ ReadStandby(r)
       \/ \E d \in doubt : TellOutcome(r, d)
       \/ Feed(r) \/ Skip(r) \/ FoldAnew(r)
       \/ \E to \in ReplayTo(r) : Replay(r, to[1], to[2])
       \/ \E s \in 1..Top : FlushStandby(r, s)
       \/ \E k \in Survivals(r) : CrashPostgres(r, k)
       \/ CrashNode(r)
       \/ \E k \in Survivals(r) : CrashBoth(r, k)
       \/ \E k \in Survivals(r) : Restart(r, k)
       \/ \E a \in RecoverTo(r) : DatabaseUp(r, a)
       \/ \E s \in 0..Top : CheckPrefix(r, s)
       \/ \E q \in Replica : BeginCopy(r, q)
       \/ \E n \in CopyEnds(r) : \E s \in GoOnFromCopy(r, n) : SendCopy(r, n, s) \/ EndCopy(r, n, s)
       \/ GiveUpCopy(r)
       \/ RelievePressure(r)

Spec == Init /\ [][Next]_vars

(* What goes on by itself once nothing fails any more.  Elections come only while nobody leads; no failure is ever obliged to     *)
(* happen, and clients ask for what they have to ask for.                                                                      *)
NobodyLeads == \A r \in Replica : node[r].leads # ballot \/ ballot = 0

(* A leader that cannot begin: its database is none, or not fit for it.                                                        *)
CannotBegin(r) ==
  /\ node[r].stage \in {"elected", "proposed", "begun"}
  /\ pg[r].mode = "down"
  /\ Knows(r, start[node[r].leads])
  /\ node[r].stage = "elected" => ~MayResume(r, Newest)
  /\ \/ dir[r].role = "copying"
     \/ node[r].stage = "begun"
     \/ dir[r].role \in {"promoting", "primary"} /\ ~IsChosenWal(Whole(pg[r].wal), Newest)

Fairness ==
  /\ WF_vars(\E e \in Candidates(Top + 1) : Choose(e))
  /\ WF_vars(\E r \in Replica, top \in 0..MaxSlot : NobodyLeads /\ Elect(r, top))
  /\ \A r \in Replica :
       /\ WF_vars(Resume(r)) /\ WF_vars(\E x \in {NextXid(Prefix(pg[r].wal, pg[r].applied))} : ProposeLeadership(r, x)) /\ WF_vars(BeginLeadership(r)) /\ WF_vars(Promote(r)) /\ WF_vars(Open(r))
       /\ WF_vars(\E k \in Survivals(r) : (node[r].leads < ballot \/ CannotBegin(r)) /\ Depose(r, k))
       /\ WF_vars(\E q \in Request : Write(r, q))
       /\ WF_vars(\E d \in pg[r].unheard : CommitUnheard(r, d) \/ UndoUnheard(r, d))
       /\ WF_vars(LocalFlush(r, Len(pg[r].wal)))
       /\ WF_vars(Ship(r))
       /\ WF_vars(\E s \in {node[r].at, node[r].at + 1} \cap (0..Top) : \E p \in ReportUpTo(r, s) : Release(r, s, p))
       /\ WF_vars(Barrier(r))
       /\ WF_vars(\E t \in node[r].answers : AnswerCommit(r, t))
       /\ WF_vars(\E d \in doubt : TellOutcome(r, d))
       /\ WF_vars(Feed(r)) /\ WF_vars(Skip(r))
       /\ WF_vars(\E to \in ReplayTo(r) : Replay(r, to[1], to[2]))
       /\ WF_vars(\E k \in Survivals(r) : Restart(r, k))
       /\ WF_vars(\E a \in RecoverTo(r) : DatabaseUp(r, a))
       /\ WF_vars(\E s \in 0..Top : CheckPrefix(r, s))
       /\ WF_vars(\E n \in CopyEnds(r) : \E s \in GoOnFromCopy(r, n) : EndCopy(r, n, s))
       /\ SF_vars(\E q \in Replica : BeginCopy(r, q))

FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* What must hold *)

Roles == {"founder", "standby", "promoting", "primary", "copying"}
Stages == {"none", "elected", "proposed", "begun", "open"}

TypeOK ==
  /\ ballot \in 0..MaxBallot
  /\ start \in [Ballot -> {0} \cup Slot]
  /\ next \in [Ballot -> 0..(MaxSlot + 1)]
  /\ \A p \in proposals : p.slot \in (Top + 1)..MaxSlot
  /\ purged \in 0..MaxSlot
  /\ Len(fold) = Len(log) + 1
  /\ \A r \in Replica :
       /\ node[r].leads \in 0..ballot
       /\ node[r].stage \in Stages
       /\ node[r].leads # 0 => owner[node[r].leads] = r /\ node[r].up
       /\ (node[r].leads = 0) = (node[r].stage = "none")
       /\ node[r].at \in 0..Top
       /\ pg[r].mode \in {"down", "standby", "primary"}
       /\ pg[r].flushed \in 0..Len(pg[r].wal)
       /\ pg[r].applied \in 0..Len(pg[r].wal)
       /\ pg[r].mode = "standby" => pg[r].flushed = Len(pg[r].wal)
       /\ pg[r].waiting \cup pg[r].unheard # {} => pg[r].mode = "primary" /\ node[r].up
       /\ dir[r].role \in Roles
       /\ dir[r].role = "primary" => pg[r].mode # "standby"  \* it has been promoted
       /\ dir[r].durable \in 0..Top
       /\ copy[r] # NoCopy => dir[r].role = "copying"

(* Whole records that were chosen with effect stay: what the log comes to only grows.                                          *)
ChosenWalStays == \A s \in 1..Top : IsPrefix(Whole(Fold(s - 1).wal), Fold(s).wal)

(* A leadership entry below which no newer leader began takes effect: its leader has not waited in vain.                        *)
CurrentLeadershipBegins ==
  \A s \in 1..Top : Entry(s).kind = "leadership" /\ Entry(s).leadership = Fold(s).newestStart => EffectAt(s) = "leadership"

(* A leadership that resumes goes on with the one before, the same replica's, on its timeline; any other has the next timeline,   *)
(* and the first of a group is no resumption.                                                                                 *)
TimelinesAscend ==
  \A i \in 1..Len(Newest.begun) :
    LET e == Newest.begun[i]
        d == Newest.begun[i - 1]
    IN  IF i = 1 THEN ~e.resumes
        ELSE IF e.resumes THEN owner[e.leadership] = owner[d.leadership] /\ e.timeline = d.timeline
        ELSE e.timeline = d.timeline + 1

(* Not even an entry that nobody should have proposed takes the order from them.                                               *)
AnyEntryAscends ==
  Newest.timeline # 0 =>
    \A b \in 1..ballot, t \in 0..(Newest.timeline + 2), resumes \in BOOLEAN :
      LET e == LeadershipEntry(b, t, Len(Newest.wal), 1, resumes, <<>>)
      IN  LeadershipBegins(Newest, e) => t = IF resumes THEN Newest.timeline ELSE Newest.timeline + 1

(* No record in the chosen WAL is torn: a first half is followed by its second, or by word that it counts for nothing, a switch  *)
(* by the rest of its segment, and a timeline begins behind a whole record.                                                    *)
ChosenRecordsAreWhole ==
  LET w == Newest.wal
  IN  /\ \A i \in 1..Len(Newest.begun) : Newest.begun[i].resumes \/ RecordEnd(Prefix(w, Newest.begun[i].fork)) = Newest.begun[i].fork
      /\ \A i \in 1..Len(w) :
           /\ ~w[i].whole /\ i < Len(w) => w[i + 1] = [w[i] EXCEPT !.whole = TRUE] \/ w[i + 1].request = "overwrite"
           /\ IsSwitch(w[i]) /\ i < Len(w) => w[i + 1] = EmptyRest(w[i].timeline, w[i].leadership)
           /\ w[i].request = "rest" => i > 1 /\ IsSwitch(w[i - 1])
           /\ w[i].whole /\ w[i].request \in Halved => i > 1 /\ w[i - 1] = [w[i] EXCEPT !.whole = FALSE]

(* A timeline and a position on it name one unit, wherever it is: two leaderships share a timeline only if one resumes.         *)
TimelinesUnshared ==
  LET Same(v, w) == \A i \in 1..Len(v) : i <= Len(w) /\ v[i].timeline = w[i].timeline => v[i] = w[i]
  IN  \A r \in Replica : Same(pg[r].wal, Newest.wal) /\ \A q \in Replica : Same(pg[r].wal, pg[q].wal)

(* A standby, and a directory that calls itself one, holds chosen WAL only, and its data is of one moment.                     *)
StandbyIsChosen ==
  \A r \in Replica :
    pg[r].mode = "standby" \/ (dir[r].role = "standby" /\ pg[r].mode = "down")
      => /\ IsPrefix(Whole(pg[r].wal), Newest.wal)
         /\ pg[r].mode = "standby" => ~pg[r].torn

(* The primary of the newest leadership that has begun has all that is chosen.                                                 *)
LeaderHasChosen ==
  \A r \in Replica :
    pg[r].mode = "primary" /\ node[r].leads # 0 /\ Newest.leadership = node[r].leads => IsPrefix(Newest.wal, pg[r].wal)

(* A position that was reported to a primary is chosen.  Before it is promoted nothing is shipped, and nothing new to report.      *)
ReleasedIsChosen ==
  \A r \in Replica :
    /\ pg[r].mode = "primary" => node[r].released <= Len(pg[r].wal) /\ IsPrefix(Whole(Prefix(pg[r].wal, node[r].released)), Newest.wal)
    /\ node[r].stage = "begun" /\ pg[r].mode # "primary"
         => node[r].shipped = node[r].released /\ node[r].released = Len(Fold(node[r].at).wal)

(* What a client was answered, has read or was told to be done is chosen with effect.                                          *)
AnsweredIsChosen == known \cup shown \subseteq RequestsIn(Newest.wal)

(* ... and visible at whoever leads.                                                                                           *)
LeaderShowsAnswered ==
  \A r \in Replica : node[r].stage = "open" /\ HoldsLease(r) => known \subseteq Visible(r)

(* Reads at the leader have everything that was known when they were asked for.                                                *)
ReadsAreCurrent == ~stale

(* A read at a leader is given up only with its session: whatever becomes of others, it is answered, or that leadership ends.      *)
ReadsEndWithTheirSession ==
  [][read # NoRead /\ read' = NoRead => read.result \subseteq known' \/ node'[read.replica].leads # read.leadership]_vars

(* What a client in doubt is told is true, for ever.                                                                           *)
ToldIsTrue == \A a \in told : (a.outcome = "committed") = (a.request \in RequestsIn(Newest.wal))

(* Nobody gives a leadership up, for want of a database fit for it, whose database need only be started.                          *)
UnfitIsNoStandby == \A r \in Replica : CannotBegin(r) => ~MayStartStandby(r)

(* A directory that is half another's is started by nobody, and nobody leads while a copy comes to it.                           *)
CopyingIsClosed ==
  \A r \in Replica :
    /\ dir[r].role = "copying" => pg[r].mode = "down"
    /\ copy[r] # NoCopy => node[r].leads = 0

(* A copy ends with the Node at either end, and when the PostgreSQL that is copied stops or is promoted: what comes then does not go on *)
(* from what was sent.                                                                                                        *)
CopiesEndWithTheirSource ==
  [][\A r \in Replica :
       copy[r] # NoCopy /\ copy'[r] # NoCopy /\ copy'[r].source # Nobody
         => LET q == copy[r].source IN node'[r].up /\ node'[q].up /\ pg'[q].mode = pg[q].mode]_vars

(* Of w all is in `had`, but for what is empty behind the end of that.                                                         *)
LacksNothing(w, had) == \A i \in 1..Len(w) : IF i <= Len(had) THEN had[i] = w[i] ELSE IsRest(w[i])

(* Whoever is copied has what the log has forgotten ...                                                                        *)
SourceHasForgotten ==
  [][\A r \in Replica :
       copy[r] = NoCopy /\ copy'[r] # NoCopy => LacksNothing(Whole(Fold(purged).wal), pg[copy'[r].source].wal)]_vars

(* ... and nobody is fed that, since nobody can send it.                                                                       *)
ForgottenIsNotFed ==
  [][\A r \in Replica :
       pg[r].mode = "standby" /\ pg'[r].mode = "standby" /\ pg'[r].wal # pg[r].wal
         => LET gone == Fold(purged).wal
            IN \A i \in (Len(pg[r].wal) + 1)..FilledEnd(gone) : i > Len(pg'[r].wal) \/ pg'[r].wal[i] # gone[i]]_vars

HasFlushed(r, w) == LacksNothing(w, Prefix(pg[r].wal, pg[r].flushed))

(* What the log has forgotten is in the own WAL of everybody who does not know that it needs a copy; and somebody has it who    *)
(* can be copied, now or when it leads or follows again.                                                                       *)
PurgedIsFlushed ==
  LET gone == Whole(Fold(purged).wal)
  IN  /\ \A r \in Replica : dir[r].role # "copying" /\ dir[r].durable >= purged => HasFlushed(r, gone)
      /\ purged > 0 => \E r \in Replica : dir[r].role # "copying" /\ dir[r].durable >= purged

(* When the log forgets something, somebody has it in a directory that can still be of use: none that went another way.           *)
ForgottenIsOfUse ==
  [][purged' # purged => \E r \in Replica : dir[r].role # "copying" /\ dir[r].durable >= purged' /\ ~HasParted(r)]_vars

(* A primary's directory with which its replica could go on leading is given up for no copy.                                    *)
ResumableIsKept ==
  [][\A r \in Replica : copy[r] = NoCopy /\ copy'[r] # NoCopy => ~MayResume(r, Newest)]_vars

(* What a group began with is in no log: somebody has it on a disk.                                                            *)
BaseIsKept ==
  Newest.begun # <<>> => \E r \in Replica : dir[r].role # "copying" /\ IsFlushed(r, Whole(Newest.begun[1].base))

(* What a directory says to be in it is in it, or empty.                                                                       *)
DurableIsFlushed ==
  \A r \in Replica : dir[r].role \in {"standby", "promoting", "primary"} /\ dir[r].durable >= purged
    => HasFlushed(r, Whole(Fold(dir[r].durable).wal))

(* What a standby's directory holds no crash takes back, whatever it was before: of WAL that is chosen nothing was unflushed.      *)
StandbyIsFlushed == \A r \in Replica : dir[r].role = "standby" => pg[r].flushed = Len(pg[r].wal)

(* When failures end and somebody goes on leading, every client gets to know what became of its transaction, all that clients   *)
(* ask for is done, and every standby comes to have all of it.                                                                *)
SomebodyLeads == \E r \in Replica : node[r].leads = ballot /\ ballot # 0
AllIsDone ==
  /\ doubt = {}
  /\ Request = known \cup {a.request : a \in told}
  /\ \A r \in Replica :
       \/ node[r].stage = "open" /\ HoldsLease(r)
       \/ pg[r].mode = "standby" /\ Prefix(pg[r].wal, pg[r].applied) = Whole(Newest.wal)
EverythingGetsDone == <>[]SomebodyLeads => <>[]AllIsDone
=============================================================================
