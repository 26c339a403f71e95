--------------------------- MODULE WipedAcceptors ---------------------------
(*********************************************************************************)
(* What becomes of MultiPaxos when a replica loses its log and comes back        *)
(* under its own name.  docs/wiped-acceptors.md tells the counterexamples.       *)
(*                                                                               *)
(* The log is empty, the memory is gone, and what the replica said before is     *)
(* still in flight.  VotesAgain says when it takes part again:                   *)
(*   - AtOnce: like any replica that starts.                                     *)
(*   - CaughtUp: when it has learnt everything that any other replica knows to   *)
(*     be chosen at that very moment, which is more than it could find out.      *)
(*   - Never: what Barista does.  The name is dead; the next life is another     *)
(*     replica, which a change of the members admits (MCMembership-readmission). *)
(*********************************************************************************)
EXTENDS MCMembership

CONSTANT Losers   \* the replicas that may lose their log, each once

VARIABLE lost     \* those that have

wipedVars == <<vars, lost>>
WipedView == <<View, lost>>

VotesAgain(r) == FALSE
AtOnce(r) == TRUE
CaughtUp(r) == \A q \in Replicas : commitPoint[q] <= commitPoint[r]

LoseLog(r) ==
  /\ r \in Losers \ lost
  /\ lost' = lost \union {r}
  /\ durable' = [durable EXCEPT ![r] = [promised |-> NoBallot, log |-> EmptyLog]]
  /\ buffer' = [buffer EXCEPT ![r] = <<>>]
  /\ promised' = [promised EXCEPT ![r] = NoBallot]
  /\ log' = [log EXCEPT ![r] = EmptyLog]
  /\ config' = [config EXCEPT ![r] = Founding]
  /\ commitPoint' = [commitPoint EXCEPT ![r] = 0]
  /\ BecomeFollower(r)
  /\ act' = [name |-> "LoseLog", params |-> [replica |-> r]]
  /\ UNCHANGED <<msgs, crashes>>

TakesPart == {"StartElection", "HandlePrepare", "HandleAccept", "HandleHeartbeat"}

WipedNext ==
  \/ /\ EagerNext
     /\ act'.name \in TakesPart /\ act'.params.replica \in lost => VotesAgain(act'.params.replica)
     /\ UNCHANGED lost
  \/ \E r \in Replicas : LoseLog(r)

(* There are many ways to go wrong; these two are worth telling. Replica 3 loses a vote ... *)
LosesVote ==
  /\ act'.name = "LoseLog" => log[3][2] /= Empty
  /\ act'.name = "HandlePrepare" /\ act'.params.replica = 3 => 3 \in lost
(* ... or a promise, which its asker hears of only after the loss. *)
StalePromise ==
  /\ act'.name = "HandlePrepare" /\ act'.params.replica = 3 => 3 \notin lost
  /\ act'.name = "HandleAccept" /\ act'.params.replica = 3 => 3 \in lost
  /\ act'.name = "HandlePromise" /\ act'.params.from = 3 => 3 \in lost /\ CaughtUp(3)
  /\ act'.name \in {"HandlePrepare", "HandleAccept"} => act'.params.replica /= 1

WipedSpec == SteadyInit /\ lost = {} /\ [][WipedNext]_wipedVars

=============================================================================
