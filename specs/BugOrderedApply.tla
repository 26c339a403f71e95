--------------------------- MODULE BugOrderedApply ---------------------------
(* OrderedApply with one rule dropped: each cfg puts one of these operators in the place of the rule that it is named after.  TLC *)
(* must refute every one of them, or the rule, or the invariant, would be idle.                                                   *)
EXTENDS MCOrderedApply

(* Prepared transactions, and so their locks, outlive the leadership: only ordinary sessions are ended. *)
PreparedStay(r, t) == ~AllProposed(t) \/ (leads[r] # t.ballot /\ t.request \notin Serializable)

(* A session commits when its transaction is proposed, as if it were chosen already. *)
AgreedWhenProposed(r, t, s) == TRUE

(* A deposed leader commits what is left in its sessions, where it should roll back. *)
AgreedWhenDeposed(r, t, s) == chosen[s].ballot = t.ballot \/ leads[r] # t.ballot

(* The bookkeeping is a PostgreSQL transaction of its own, after the one with the rows. *)
BookkeepingApart(old, new) == <<[old EXCEPT !.rows = new.rows], new>>

(* The leader's pointer is the highest slot that one of its sessions has committed. *)
PointerWithoutSet(image, s) == [image EXCEPT !.pointer = Max(@, s)]

(* The pointer that counts for purging is the visible one, which a crash may take back. *)
VisibleImageForPurging(r) == Now(r)

(* The log goes up to the pointer, whatever parts of unfinished transactions it holds. *)
KeptBelowPointer(r) == ImageForPurging(r).pointer

(* Parts are no longer waited for once their last part is applied, though a crash can take that back. *)
KeptBelowByVisible(r) ==
  LET pointer == ImageForPurging(r).pointer
      waiting == {s \in WaitingParts(Now(r).pointer) : s <= pointer}
  IN  IF waiting = {} THEN pointer ELSE MinOf(waiting) - 1

(* Row locks go at harvest, before the outcome is known. *)
LocksUntilHarvest(t) == t.stage = "open"

(* The log is applied while sessions of the ended leadership are still there. *)
MayApplyAtOnce(r) == TRUE

(* An entry is applied whether or not its request is in already. *)
NeverAlreadyIn(image, q) == FALSE

(* A transaction in one part takes effect wherever it is found. *)
OnlyPartsSuperseded(s) == Len(Entry(s).partSlots) > 0 /\ Entry(s).ballot < LatestStart(s)

(* A transaction in several parts takes effect wherever its last part is found, also after a new leader has begun. *)
PartsNeverSuperseded(s) == Entry(s).kind = "command" /\ Len(Entry(s).partSlots) = 0 /\ Entry(s).ballot < LatestStart(s)

(* Entries say nothing about the sequence. *)
NoPositionToCarry(r, q) == 0

(* A leader serves from the moment it is elected. *)
ServingOnceElected(r) == up[r] /\ leads[r] # 0

(* A leader stays leader while its PostgreSQL restarts. *)
LeadsOn(r) == leads[r]

(* Any replica that has applied a transaction tells the client so. *)
AnyoneMayAcknowledge(r) == up[r]
=============================================================================
