---------------------------- MODULE MCMultiPaxos ----------------------------
(*****************************************************************************)
(* MultiPaxos in finite sizes, for TLC.                                      *)
(*                                                                           *)
(* MCNext leaves out what adds no reachable state:                           *)
(*   - Messages, proposals and flushes that cover several slots or records:  *)
(*     each is the same as several steps that cover one.                     *)
(*   - A commit point on an Accept: the same as a Heartbeat after it.        *)
(*   - Restored: the same as catching up.                                    *)
(*   - Restart later than at once: nobody can tell a replica that is down    *)
(*     from one that is slow.                                                *)
(* EagerNext leaves out more, and is what the code does: a leader takes      *)
(* office, and moves its commit point, in the very step that lets it.        *)
(*****************************************************************************)
EXTENDS MultiPaxos

CONSTANTS
  Crashable,   \* the replicas that may crash
  Learners     \* the replicas that take commit points and chosen entries from others

(* More than the protocol allows: commands may be proposed before the leader serves. *)
AnyLeader(r) == role[r] = "leader"

(* Values for the configurations. *)
OneBallot == {<<1, 1>>}
TwoBallots == {<<1, 1>>, <<1, 2>>}
ThreeBallots == {<<1, 1>>, <<1, 2>>, <<2, 1>>}

(* A Prepare that comes again is not answered again. *)
Once(r, b) == FALSE

UnitStep(r) ==
  \/ Elections(r)
  \/ Phase1(r)
  \/ Propose(r, NewCommands(r, 1))
  \/ backlog[r] /= <<>> /\ Propose(r, NextStage(r))
  \/ \E e \in Configurations(r) : Reconfigure(r, e)
  \/ \E b \in Ballots : \E s \in Slots : HandleAccept(r, b, s, s, 0)
  \/ \E q \in Replicas : \E s \in Slots : HandleAccepted(r, q, s, s)
  \/ AdvanceCommitPoint(r)
  \/ Serve(r)
  \/ r \in Learners /\ \E m \in Sent("Heartbeat") : HandleHeartbeat(r, m.ballot, m.commitPoint, m.configuration)
  \/ r \in Learners /\ HandleCatchUpReply(r, commitPoint[r] + 1)
  \/ \E k \in ToldConfigurations : LearnConfiguration(r, k)
  \/ Fsync(r, 1)
  \/ r \in Crashable /\ \E hint \in Hints(r) : \E kept \in KeptConfigurations(r, hint) : Crash(r, hint, kept)

SomeDown == \E r \in Replicas : role[r] = "down"
MayCrash(r) == r \in Crashable /\ SumOf(crashes, Replicas) < MaxCrashes
Flushable == {r \in Replicas : buffer[r] /= <<>> /\ ~MayCrash(r)}

Settled(NextStep) ==
  IF SomeDown THEN \E r \in Replicas : Restart(r)
  ELSE IF Flushable /= {} THEN LET r == Max(Flushable) IN Fsync(r, Len(buffer[r]))
  ELSE NextStep

GivesUp(r) == StepDown(r) \/ \E q \in Replicas : HandleReject(r, q)

MCNext == Settled(\E r \in Replicas : UnitStep(r) \/ GivesUp(r))

MCSpec == Init /\ [][MCNext]_vars

Pending == \E r \in Replicas : CanBecomeLeader(r) \/ CanAdvanceCommitPoint(r) \/ CanServe(r)

EagerNext ==
  Settled(IF Pending THEN \E r \in Replicas : BecomeLeader(r) \/ AdvanceCommitPoint(r) \/ Serve(r)
  ELSE \E r \in Replicas : UnitStep(r))

EagerSpec == Init /\ [][EagerNext]_vars
=============================================================================
