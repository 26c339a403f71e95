---------------------------- MODULE OrderedApply ----------------------------
(***************************************************************************)
(* The transaction pipeline of a group over its log: execute, harvest,      *)
(* propose, choose, commit on the leader, apply on the others.              *)
(*                                                                          *)
(* The log is abstract: a slot becomes chosen once and keeps its entry      *)
(* (Consensus, refined by MultiPaxos).  What this module takes from         *)
(* Multi-Paxos is only what a leader change can do to proposals that are    *)
(* not chosen yet: any leader to come may find any of them, or miss it.     *)
(*                                                                          *)
(* PostgreSQL is a sequence of images: the first is what its last flush     *)
(* made durable, the last is what its sessions see; every commit appends    *)
(* one (synchronous_commit = off).  A crash takes back any number of the    *)
(* images after the first.  An image holds tables and bookkeeping together, *)
(* because they are written by one PostgreSQL transaction.                  *)
(*                                                                          *)
(* A table's row is one key.  Its value is the sequence of the requests     *)
(* that wrote it, so that an update lost, repeated or reordered shows.      *)
(*                                                                          *)
(* Each rule that the pipeline lives by is an operator of its own, in the   *)
(* section "Rules"; BugOrderedApply replaces them one at a time.            *)
(*                                                                          *)
(* Not here: quorums, ballots on the wire, leases (MultiPaxos); snapshots   *)
(* and wiped replicas (Recovery); locks that only readers take, which       *)
(* PostgreSQL checks by itself on the leader and nobody repeats.            *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Replica,       \* the members of the group
  Key,           \* rows
  Request,       \* what clients ask for; a retry is the same request
  Parts,         \* Parts[q]: sequence of sets of keys: what q writes, cut into log entries
  Drawing,       \* requests that draw a value from the one sequence there is
  Serializable,  \* requests that are prepared before they are proposed, as their slot is not known then
  Repeated,      \* requests whose entry may get into the log in two slots
  MaxSlot, MaxBallot, MaxDown, MaxTail, MaxValue  \* bounds, to keep the model finite

ASSUME /\ \A q \in Request : Len(Parts[q]) > 0 /\ \A i \in 1..Len(Parts[q]) : Parts[q][i] # {}
       /\ \A q \in Repeated : Len(Parts[q]) = 1 /\ q \notin Serializable

VARIABLES
  ballot,        \* the newest leadership
  start,         \* start[b]: slot of the first entry that the leader of b added of its own; 0: no such leader yet
  next,          \* next[b]: the slot of its next proposal
  proposals,     \* [slot, entry]: proposed and not chosen; anyone may find them later
  chosen,        \* chosen[s]: [entry, ballot in which it was chosen]; ballot 0: not chosen
  purged,        \* entries at or below are gone from the logs
  leads,         \* leads[r]: the leadership that r believes to hold; 0: none
  up,            \* up[r]: its PostgreSQL runs
  db,            \* db[r]: images of its PostgreSQL: the durable one first, the visible one last
  position,      \* position[r]: where the sequence stands in its PostgreSQL: not transactional
  sessions,      \* sessions[r]: transactions open in its PostgreSQL, or prepared
  acknowledged,  \* requests whose client has been told that they are done
  downs          \* how often some PostgreSQL went down

log == <<ballot, start, next, proposals, chosen, purged>>
vars == <<ballot, start, next, proposals, chosen, purged, leads, up, db, position, sessions, acknowledged, downs>>

-----------------------------------------------------------------------------
(* Small things *)

Slot == 1..MaxSlot
Ballot == 1..MaxBallot

Max(a, b) == IF a > b THEN a ELSE b
MaxOf(S) == CHOOSE m \in S \cup {0} : \A x \in S : x <= m
MinOf(S) == CHOOSE m \in S : \A x \in S : m <= x
Range(seq) == {seq[i] : i \in 1..Len(seq)}
Last(seq) == seq[Len(seq)]

KeysOf(q) == UNION Range(Parts[q])
PartCount(q) == Len(Parts[q])

Noop == [kind |-> "noop", ballot |-> 0]
LeaderStart(b) == [kind |-> "leaderStart", ballot |-> b]
Unchosen == [entry |-> Noop, ballot |-> 0]

(* Transaction t's i-th entry.  `before` is what it found in the rows of this part, `ballot` the leadership that proposed it first. *)
Command(t, i) ==
  [kind |-> "command", ballot |-> t.ballot, request |-> t.request, part |-> i, last |-> i = PartCount(t.request),
   before |-> [k \in Parts[t.request][i] |-> t.before[k]], value |-> t.value, position |-> t.position,
   partSlots |-> IF i = PartCount(t.request) THEN SubSeq(t.slots, 1, i - 1) ELSE <<>>]

EmptyImage ==
  [rows |-> [k \in Key |-> <<>>],  \* the tables
   pointer |-> 0,                  \* the application pointer: every slot at or below is in
   above |-> {},                   \* slots above it that are in
   aboveRequests |-> {},           \* the same for transactions prepared before their slot was known
   done |-> {},                    \* requests that are in
   position |-> 0]                 \* the sequence's position, as far as WAL records tell it

Now(r) == Last(db[r])

(* All entries of transaction t are on their way. *)
AllProposed(t) == Len(t.slots) = PartCount(t.request)

-----------------------------------------------------------------------------
(* What the log means: a function of its chosen prefix, the same for every replica. *)

IsChosen(s) == chosen[s].ballot # 0
Entry(s) == chosen[s].entry
ChosenPrefix == MaxOf({s \in Slot : \A u \in 1..s : IsChosen(u)})

(* The newest leadership that has begun in the log below slot s. *)
LatestStart(s) ==
  MaxOf({Entry(u).ballot : u \in {v \in 1..(s - 1) : IsChosen(v) /\ Entry(v).kind = "leaderStart"}})

-----------------------------------------------------------------------------
(* Rules *)

(* A third leader may find a proposal that the second never saw, beyond slots in which the second has had its own transactions    *)
(* chosen.  It executed on rows that have changed since, and parts of it may have been purged.  Such an entry changes nothing.    *)
Superseded(s) == Entry(s).ballot < LatestStart(s)

TakesEffect(s) == /\ IsChosen(s)
                  /\ Entry(s).kind = "command"
                  /\ Entry(s).last
                  /\ ~Superseded(s)

(* A leader executes only when everything that its log held when it began is chosen and applied. *)
Serving(r) == /\ up[r]
              /\ leads[r] # 0
              /\ Now(r).pointer >= start[leads[r]]

(* Row locks are held until PostgreSQL's own commit or rollback. *)
HoldsLocks(t) == TRUE

(* A session commits only what is chosen, in slot s, by the leadership that executed it. *)
Agreed(r, t, s) == chosen[s].ballot = t.ballot

(* The sessions of a leadership that has ended are rolled back before anything is applied from the log. *)
MayApply(r) == sessions[r] = {}

(* ROLLBACK: on the client's wish, as long as nothing that could take effect is proposed; or because the leadership has ended,   *)
(* also of what was prepared.                                                                                                   *)
MayRollBack(r, t) == leads[r] # t.ballot \/ ~AllProposed(t)

(* The slot goes into a set: slots below it may still be missing. *)
RecordSlot(image, s) == [image EXCEPT !.above = @ \cup {s}]

(* Rows and bookkeeping are one PostgreSQL transaction: a commit adds one image. *)
CommittedImages(old, new) == <<new>>

(* A request that is in already is not applied again. *)
AlreadyIn(image, q) == q \in image.done

(* Only a leader answers.  Another replica may have applied what the leader's session is still about to commit. *)
MayAcknowledge(r) == Serving(r)

(* Entries carry the sequence's position, so that it is known wherever they are applied. *)
PositionToCarry(r, q) == IF q \in Drawing THEN position[r] ELSE 0

(* What a replica counts as applied for the sake of purging: what a crash cannot take back. *)
ImageForPurging(r) == db[r][1]

(* Slots at or below p that hold parts of a transaction whose last part is neither there nor dead by a new leader's first entry. *)
WaitingParts(p) ==
  {s \in 1..p : /\ Entry(s).kind = "command"
                /\ ~Entry(s).last
                /\ LatestStart(p + 1) <= Entry(s).ballot
                /\ ~\E u \in 1..p : Entry(u).kind = "command" /\ Entry(u).last /\ s \in Range(Entry(u).partSlots)}

(* The log is kept from the first part on that an entry above the pointer may still name. *)
KeptBelow(r) ==
  LET pointer == ImageForPurging(r).pointer
      waiting == WaitingParts(pointer)
  IN  IF waiting = {} THEN pointer ELSE MinOf(waiting) - 1

(* A leader whose PostgreSQL went down hands over: its open transactions are gone, and what it proposed must come from the log. *)
LeadsAfterDatabaseDown(r) == 0

-----------------------------------------------------------------------------
Init ==
  /\ ballot = 0
  /\ start = [b \in Ballot |-> 0]
  /\ next = [b \in Ballot |-> 0]
  /\ proposals = {}
  /\ chosen = [s \in Slot |-> Unchosen]
  /\ purged = 0
  /\ leads = [r \in Replica |-> 0]
  /\ up = [r \in Replica |-> TRUE]
  /\ db = [r \in Replica |-> <<EmptyImage>>]
  /\ position = [r \in Replica |-> 0]
  /\ sessions = [r \in Replica |-> {}]
  /\ acknowledged = {}
  /\ downs = 0

-----------------------------------------------------------------------------
(* The abstract log *)

(* Replica r wins a new leadership.  The highest slot that its phase 1 finds is `top`: chosen ones it must find, others it may     *)
(* miss.  Holes below become no-ops or any proposal that was found there; its own first entry comes right above.                   *)
Elect(r, top) ==
  LET b == ballot + 1
  IN  /\ b \in Ballot
      /\ top + 1 \in Slot
      /\ up[r]
      /\ \A s \in Slot : IsChosen(s) => s <= top
      /\ top > 0 => IsChosen(top) \/ \E p \in proposals : p.slot = top
      /\ ballot' = b
      /\ start' = [start EXCEPT ![b] = top + 1]
      /\ next' = [next EXCEPT ![b] = top + 2]
      /\ proposals' = proposals \cup {[slot |-> top + 1, entry |-> LeaderStart(b)]}
      /\ leads' = [leads EXCEPT ![r] = b]
      /\ UNCHANGED <<chosen, purged, up, db, position, sessions, acknowledged, downs>>

(* What the newest leadership may get chosen in slot s. *)
Candidates(s) ==
  LET there == {p.entry : p \in {q \in proposals : q.slot = s}}
  IN  IF s < start[ballot] THEN there \cup {Noop}
      ELSE {e \in there : e.ballot = ballot}

(* A quorum has accepted it.  Accepts are pipelined: slots become chosen in any order. *)
Choose(s, e) ==
  /\ ballot # 0
  /\ ~IsChosen(s)
  /\ e \in Candidates(s)
  /\ chosen' = [chosen EXCEPT ![s] = [entry |-> e, ballot |-> ballot]]
  /\ proposals' = {p \in proposals : p.slot # s}
  /\ UNCHANGED <<ballot, start, next, purged, leads, up, db, position, sessions, acknowledged, downs>>

(* Replica r learns that a newer leadership exists. *)
Depose(r) ==
  /\ leads[r] # 0
  /\ leads[r] < ballot
  /\ leads' = [leads EXCEPT ![r] = 0]
  /\ UNCHANGED <<log, up, db, position, sessions, acknowledged, downs>>

(* The log up to the global application pointer is dropped. *)
Purge ==
  LET bound == MinOf({KeptBelow(r) : r \in Replica})
  IN  /\ bound > purged
      /\ purged' = bound
      /\ UNCHANGED <<ballot, start, next, proposals, chosen, leads, up, db, position, sessions, acknowledged, downs>>

-----------------------------------------------------------------------------
(* The leader's sessions *)

LockedKeys(r) == UNION {KeysOf(t.request) : t \in {u \in sessions[r] : HoldsLocks(u)}}

ReplaceSession(r, t, new) == sessions' = [sessions EXCEPT ![r] = (@ \ {t}) \cup new]

(* A client's transaction takes its row locks, reads, and draws from the sequence; drawing is never undone. *)
Execute(r, q) ==
  /\ Serving(r)
  /\ ~AlreadyIn(Now(r), q)
  /\ \A t \in sessions[r] : t.request # q
  /\ KeysOf(q) \cap LockedKeys(r) = {}
  /\ q \in Drawing => position[r] < MaxValue
  /\ LET value == IF q \in Drawing THEN position[r] + 1 ELSE 0
         t == [request |-> q, ballot |-> leads[r], stage |-> "open", before |-> [k \in KeysOf(q) |-> Now(r).rows[k]],
               value |-> value, position |-> 0, slots |-> <<>>, copy |-> 0]
     IN  /\ sessions' = [sessions EXCEPT ![r] = @ \cup {t}]
         /\ position' = [position EXCEPT ![r] = Max(@, value)]
  /\ UNCHANGED <<log, leads, up, db, acknowledged, downs>>

(* At COMMIT the effects are taken as values.  A serializable transaction is prepared here; PREPARE TRANSACTION always flushes. *)
Harvest(r, t) ==
  /\ up[r]
  /\ leads[r] = t.ballot
  /\ t.stage = "open"
  /\ ReplaceSession(r, t, {[t EXCEPT !.stage = "harvested", !.position = PositionToCarry(r, t.request)]})
  /\ db' = IF t.request \in Serializable THEN [db EXCEPT ![r] = <<Now(r)>>] ELSE db
  /\ UNCHANGED <<log, leads, up, position, acknowledged, downs>>

AddProposal(s, e) ==
  /\ s \in Slot
  /\ proposals' = IF IsChosen(s) THEN proposals ELSE proposals \cup {[slot |-> s, entry |-> e]}

(* The next part goes into the next slot; the last one only when the others are chosen, whose slots it names.  The leader may *)
(* have been superseded without knowing. *)
Propose(r, t) ==
  LET b == t.ballot
      i == Len(t.slots) + 1
  IN  /\ leads[r] = b
      /\ t.stage = "harvested"
      /\ ~AllProposed(t)
      /\ i = PartCount(t.request) => \A s \in Range(t.slots) : Agreed(r, t, s)
      /\ AddProposal(next[b], Command(t, i))
      /\ next' = [next EXCEPT ![b] = @ + 1]
      /\ ReplaceSession(r, t, {[t EXCEPT !.slots = Append(@, next[b])]})
      /\ UNCHANGED <<ballot, start, chosen, purged, leads, up, db, position, acknowledged, downs>>

(* The same entry once more: whoever carried the proposal to the leader could not know that it had arrived. *)
ProposeAgain(r, t) ==
  LET b == t.ballot
  IN  /\ leads[r] = b
      /\ t.request \in Repeated
      /\ AllProposed(t)
      /\ t.copy = 0
      /\ AddProposal(next[b], Command(t, 1))
      /\ next' = [next EXCEPT ![b] = @ + 1]
      /\ ReplaceSession(r, t, {[t EXCEPT !.copy = next[b]]})
      /\ UNCHANGED <<ballot, start, chosen, purged, leads, up, db, position, acknowledged, downs>>

WriteRows(rows, q) == [k \in Key |-> IF k \in KeysOf(q) THEN Append(rows[k], q) ELSE rows[k]]

(* COMMIT, with the slot recorded in the same PostgreSQL transaction, in whatever order slots become chosen.  The order to commit  *)
(* may have been given before the leader was deposed.  COMMIT PREPARED cannot record a slot (the request was recorded when it was  *)
(* prepared), and flushes.                                                                                                         *)
CommitChosen(r, t, s) ==
  LET q == t.request
      written == [Now(r) EXCEPT !.rows = WriteRows(@, q), !.done = @ \cup {q}, !.position = Max(@, position[r])]
      image == IF q \in Serializable THEN [written EXCEPT !.aboveRequests = @ \cup {q}] ELSE RecordSlot(written, s)
  IN  /\ up[r]
      /\ AllProposed(t)
      /\ s \in {Last(t.slots)} \cup ({t.copy} \ {0})
      /\ Agreed(r, t, s)
      /\ Len(db[r]) < MaxTail
      /\ ReplaceSession(r, t, {})
      /\ db' = [db EXCEPT ![r] = IF q \in Serializable THEN <<image>> ELSE @ \o CommittedImages(Now(r), image)]
      /\ UNCHANGED <<log, leads, up, position, acknowledged, downs>>

AbortTransaction(r, t) ==
  /\ up[r]
  /\ MayRollBack(r, t)
  /\ ReplaceSession(r, t, {})
  /\ UNCHANGED <<log, leads, up, db, position, acknowledged, downs>>

(* The client, or one that asks again with the same request, learns that it is done. *)
Acknowledge(r, q) ==
  /\ MayAcknowledge(r)
  /\ q \in Now(r).done
  /\ q \notin acknowledged
  /\ acknowledged' = acknowledged \cup {q}
  /\ UNCHANGED <<log, leads, up, db, position, sessions, downs>>

-----------------------------------------------------------------------------
(* Ordered apply *)

ForgetBelow(image, to) ==
  [image EXCEPT !.pointer = to,
                !.above = {s \in @ : s > to},
                !.aboveRequests = @ \ {Entry(s).request : s \in {u \in 1..to : TakesEffect(u)}}]

(* Slots that no session has to commit, or whose session has. *)
IsIn(image, s) == IF TakesEffect(s) THEN s \in image.above \/ AlreadyIn(image, Entry(s).request) ELSE TRUE

(* The leader folds into its pointer what its sessions have committed. *)
MovePointer(r, to) ==
  /\ Serving(r)
  /\ to > Now(r).pointer
  /\ \A s \in (Now(r).pointer + 1)..to : chosen[s].ballot = leads[r] /\ IsIn(Now(r), s)
  /\ Len(db[r]) < MaxTail
  /\ db' = [db EXCEPT ![r] = Append(@, ForgetBelow(Now(r), to))]
  /\ UNCHANGED <<log, leads, up, position, sessions, acknowledged, downs>>

ApplySlot(image, s) ==
  LET q == Entry(s).request
  IN  IF ~TakesEffect(s) \/ s \in image.above \/ AlreadyIn(image, q) THEN image
      ELSE [image EXCEPT !.rows = WriteRows(@, q), !.done = @ \cup {q}, !.position = Max(@, Entry(s).position)]

RECURSIVE ApplySlots(_, _, _)
ApplySlots(image, from, to) == IF from > to THEN image ELSE ApplySlots(ApplySlot(image, from), from + 1, to)

(* The entries that applying slots from..to reads: those, and the earlier parts that they name. *)
Reads(from, to) ==
  (from..to) \cup UNION {Range(Entry(s).partSlots) : s \in {u \in from..to : TakesEffect(u)}}

(* A batch of chosen entries, in slot order, in one PostgreSQL transaction that moves the pointer.  A leader that does not serve    *)
(* yet does the same; it knows only what was chosen in its own leadership or before.                                               *)
ApplyBatch(r, to) ==
  LET from == Now(r).pointer + 1
      image == ForgetBelow(ApplySlots(Now(r), from, to), to)
  IN  /\ up[r]
      /\ ~Serving(r)
      /\ MayApply(r)
      /\ from <= to
      /\ to <= ChosenPrefix
      /\ leads[r] # 0 => to <= start[leads[r]] /\ \A s \in 1..to : chosen[s].ballot <= leads[r]
      /\ \A s \in Reads(from, to) : s > purged
      /\ Len(db[r]) < MaxTail
      /\ db' = [db EXCEPT ![r] = @ \o CommittedImages(Now(r), image)]
      /\ position' = [position EXCEPT ![r] = Max(@, image.position)]
      /\ UNCHANGED <<log, leads, up, sessions, acknowledged, downs>>

-----------------------------------------------------------------------------
(* PostgreSQL itself *)

FlushDatabase(r) ==
  /\ up[r]
  /\ Len(db[r]) > 1
  /\ db' = [db EXCEPT ![r] = <<Now(r)>>]
  /\ UNCHANGED <<log, leads, up, position, sessions, acknowledged, downs>>

(* It loses any number of commits that were not flushed, the newest first, and all open transactions but the prepared ones.  The    *)
(* sequence falls back with them (in truth it may also skip ahead, which harms nobody).                                            *)
DatabaseDown(r, k) ==
  /\ up[r]
  /\ downs < MaxDown
  /\ k \in 1..Len(db[r])
  /\ downs' = downs + 1
  /\ up' = [up EXCEPT ![r] = FALSE]
  /\ leads' = [leads EXCEPT ![r] = LeadsAfterDatabaseDown(r)]
  /\ db' = [db EXCEPT ![r] = SubSeq(@, 1, k)]
  /\ position' = [position EXCEPT ![r] = db[r][k].position]
  /\ sessions' = [sessions EXCEPT ![r] = {t \in @ : t.request \in Serializable /\ t.stage = "harvested"}]
  /\ UNCHANGED <<log, acknowledged>>

(* It resumes from the pointer and the set that came with the rows.  Prepared transactions are still there, with their locks. *)
DatabaseUp(r) ==
  /\ ~up[r]
  /\ up' = [up EXCEPT ![r] = TRUE]
  /\ UNCHANGED <<log, leads, db, position, sessions, acknowledged, downs>>

-----------------------------------------------------------------------------
Next ==
  \/ \E r \in Replica, top \in 0..MaxSlot : Elect(r, top)
  \/ ballot # 0 /\ \E s \in Slot : \E e \in Candidates(s) : Choose(s, e)
  \/ Purge
  \/ \E r \in Replica :
       \/ Depose(r)
       \/ \E q \in Request : Execute(r, q) \/ Acknowledge(r, q)
       \/ \E t \in sessions[r] :
            \/ Harvest(r, t)
            \/ Propose(r, t)
            \/ ProposeAgain(r, t)
            \/ AbortTransaction(r, t)
            \/ \E s \in Slot : CommitChosen(r, t, s)
       \/ \E to \in Slot : MovePointer(r, to) \/ ApplyBatch(r, to)
       \/ FlushDatabase(r)
       \/ \E k \in 1..MaxTail : DatabaseDown(r, k)
       \/ DatabaseUp(r)

Spec == Init /\ [][Next]_vars

(* What goes on by itself once nothing fails any more: no election, no failure and no client is ever obliged to happen. *)
Fairness ==
  /\ WF_vars(ballot # 0 /\ \E s \in Slot : \E e \in Candidates(s) : Choose(s, e))
  /\ \A r \in Replica :
       /\ WF_vars(Depose(r))
       /\ WF_vars(DatabaseUp(r))
       /\ WF_vars(FlushDatabase(r))
       /\ WF_vars(\E t \in sessions[r], s \in Slot : CommitChosen(r, t, s))
       /\ WF_vars(\E t \in sessions[r] : leads[r] # t.ballot /\ AbortTransaction(r, t))
       /\ WF_vars(\E to \in Slot : MovePointer(r, to))
       /\ WF_vars(\E to \in Slot : ApplyBatch(r, to))

FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* What must hold *)

EntryType(e) ==
  /\ e.kind \in {"noop", "leaderStart", "command"}
  /\ e.ballot \in 0..MaxBallot
  /\ e.kind = "command" =>
       /\ e.request \in Request
       /\ e.part \in 1..PartCount(e.request)
       /\ e.last = (e.part = PartCount(e.request))
       /\ Len(e.partSlots) = IF e.last THEN e.part - 1 ELSE 0

TypeOK ==
  /\ ballot \in 0..MaxBallot
  /\ start \in [Ballot -> 0..MaxSlot]
  /\ next \in [Ballot -> 0..(MaxSlot + 1)]
  /\ \A p \in proposals : p.slot \in Slot /\ EntryType(p.entry)
  /\ DOMAIN chosen = Slot /\ \A s \in Slot : chosen[s].ballot \in 0..MaxBallot /\ EntryType(Entry(s))
  /\ purged \in 0..MaxSlot
  /\ leads \in [Replica -> 0..MaxBallot]
  /\ up \in [Replica -> BOOLEAN]
  /\ \A r \in Replica : Len(db[r]) >= 1
  /\ position \in [Replica -> 0..MaxValue]
  /\ acknowledged \subseteq Request
  /\ downs \in 0..MaxDown
  /\ \A r \in Replica : \A i \in 1..Len(db[r]) :
       LET image == db[r][i]
       IN  /\ image.pointer \in 0..MaxSlot
           /\ image.above \subseteq (image.pointer + 1)..MaxSlot
           /\ image.done \subseteq Request
           /\ image.aboveRequests \subseteq image.done
           /\ image.position \in 0..MaxValue

(* Of the slots in S, those that change rows: the first copy of each request. *)
Effective(S) ==
  {s \in S : /\ TakesEffect(s)
             /\ \A u \in S : u < s /\ TakesEffect(u) => Entry(u).request # Entry(s).request}

(* What the log says that row k holds when the slots in S are in. *)
RowOf(S, k) ==
  LET slots == SelectSeq([i \in 1..MaxSlot |-> i], LAMBDA s : s \in Effective(S) /\ k \in KeysOf(Entry(s).request))
  IN  [i \in 1..Len(slots) |-> Entry(slots[i]).request]

SlotsIn(image) ==
  (1..image.pointer) \cup image.above
    \cup {s \in Slot : TakesEffect(s) /\ Entry(s).request \in image.aboveRequests}

(* Every state that a database has, or can fall back to, is what the log says. *)
DatabaseIsLog ==
  \A r \in Replica : \A i \in 1..Len(db[r]) :
    LET image == db[r][i]
        S == SlotsIn(image)
    IN  /\ \A s \in S : IsChosen(s)
        /\ \A k \in Key : image.rows[k] = RowOf(S, k)
        /\ image.done = {Entry(s).request : s \in Effective(S)}

SamePointerSameDatabase ==
  \A r, q \in Replica :
    (/\ Now(r).pointer = Now(q).pointer
     /\ Now(r).above \cup Now(q).above \cup Now(r).aboveRequests \cup Now(q).aboveRequests = {})
    => Now(r).rows = Now(q).rows

(* Nothing is visible to a reader that is not chosen. *)
VisibleIsChosen ==
  \A r \in Replica : \A k \in Key : \A q \in Range(Now(r).rows[k]) :
    \E s \in Slot : TakesEffect(s) /\ Entry(s).request = q

ExactlyOnce ==
  \A r \in Replica : \A i \in 1..Len(db[r]) : \A k \in Key :
    LET row == db[r][i].rows[k] IN Cardinality(Range(row)) = Len(row)

(* Where an entry takes effect, the rows are as its transaction found them: the order of slots is the order of execution. *)
BeforeImagesMatch ==
  \A s \in Effective(1..ChosenPrefix) :
    \A u \in {s} \cup Range(Entry(s).partSlots) :
      \A k \in DOMAIN Entry(u).before : Entry(u).before[k] = RowOf(1..(s - 1), k)

(* Transactions whose outcome is open have no row in common. *)
InFlightIndependent ==
  \A r \in Replica : \A t, u \in sessions[r] : t # u => KeysOf(t.request) \cap KeysOf(u.request) = {}

(* What a client was told is done is in the log, and in every database whose pointer is past it, also after a crash. *)
AcknowledgedSurvives ==
  \A q \in acknowledged :
    \E s \in Slot :
      /\ TakesEffect(s)
      /\ Entry(s).request = q
      /\ \A r \in Replica : \A i \in 1..Len(db[r]) :
           db[r][i].pointer >= s => \A k \in KeysOf(q) : q \in Range(db[r][i].rows[k])

(* The leader of the newest leadership answers from a database that has everything acknowledged. *)
ServingLeaderIsCurrent ==
  \A r \in Replica :
    Serving(r) /\ leads[r] = ballot => \A q \in acknowledged : \A k \in KeysOf(q) : q \in Range(Now(r).rows[k])

(* No replica, not even one that crashes now, lacks an entry that it has yet to read. *)
NoNeededSlotPurged ==
  \A r \in Replica :
    LET from == Now(r).pointer + 1
    IN  /\ from > purged
        /\ \A s \in Reads(from, ChosenPrefix) : s > purged

(* No value of the sequence is in two transactions that took effect. *)
SequenceValuesUnique ==
  \A s, u \in Effective(1..ChosenPrefix) :
    s # u /\ Entry(s).value # 0 => Entry(s).value # Entry(u).value

(* When failures end, every replica comes to have everything that is chosen without a hole. *)
EverythingGetsApplied == <>[](\A r \in Replica : up[r] /\ Now(r).pointer = ChosenPrefix)
=============================================================================
