----------------------------- MODULE MCRecovery -----------------------------
(*****************************************************************************)
(* Recovery in finite sizes, rules dropped one at a time, and witnesses.     *)
(*****************************************************************************)
EXTENDS Recovery, TLC

Everyone == Permutations(Replica)

-----------------------------------------------------------------------------
(* PointerOfCopy: read when the copy has arrived, not with its rows: the snapshot without its application pointer. *)
PointerOfItsOwnMoment(r) == Visible(copy[r][1].source).pointer

(* PointerForPurging: the volatile one. *)
VolatilePointer(r) == Visible(r).pointer

(* MayVoteForChange: anybody. *)
VoteUnknowing(r) == TRUE

(* MayTakeCopy: any. *)
TakeAnyCopy(r) == TRUE

-----------------------------------------------------------------------------
(* Witnesses: claims that something worth checking never happens. *)

NewLifeNeverDecides == ~ \E r \in Able : life[r] > 1 /\ chosen \in log[r] /\ chosen > purged[r] /\ ~IsMajority({q \in Able : chosen \in log[q]} \ {r})

(* A copy is taken by a replica that has a database, only because the log that it needs is purged everywhere. *)
CopyNeverBecausePurged == ~ \E r \in Replica : copy[r] # <<>> /\ HasDatabase(r)

NeverTwoLostInTurn == ~ (wipes = 2 /\ chosen = MaxSlot /\ \A r \in Replica : IsWhole(r) /\ Durable(r).pointer = chosen)

CopyNeverTooOld == ~ \E r \in Replica : copy[r] # <<>> /\ ~MayTakeCopy(r)
=============================================================================
