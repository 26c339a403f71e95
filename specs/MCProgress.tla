----------------------------- MODULE MCProgress -----------------------------
(***************************************************************************)
(* MultiPaxos when failures end: somebody leads and serves, everything is   *)
(* chosen, and all who are well learn it (EverythingIsServed).              *)
(*                                                                         *)
(* Everything may go wrong up to the highest ballot of a model: leaders     *)
(* give up, crash, are silent, and others stand beside them.  Whoever       *)
(* stands in the highest one, which is when nobody else does who is well,   *)
(* is left in peace; and nothing else fails then (LeftInPeace).             *)
(***************************************************************************)
EXTENDS MCMembership

LastBallot == CHOOSE b \in Ballots : \A a \in Ballots : AtMost(a, b)

LeftInPeace ==
  LET r == act'.params.replica
  IN /\ act'.name \in {"StepDown", "Restored", "Crash"} => promised[r] /= LastBallot
     /\ act'.name = "StartElection" /\ act'.params.ballot = LastBallot => NobodyStands

(* All that MultiPaxos may do, in any order, from the first state on ... *)
PlainLiveSpec == Init /\ [][Next /\ LeftInPeace]_vars /\ Fairness

(* ... and from one in which replica 1 leads and replica 3 has heard of nothing, or step by step. *)
StepwiseNext ==
  Settled(IF Pending THEN \E r \in Replicas : BecomeLeader(r) \/ AdvanceCommitPoint(r) \/ Serve(r)
          ELSE \E r \in Replicas : UnitStep(r) \/ GivesUp(r))
(* What a model looks at: all of it, unless it puts something in its place. *)
Scope == act'.name \in STRING

SteadyLiveSpec == SteadyInit /\ [][StepwiseNext /\ LeftInPeace /\ Scope]_vars /\ Fairness

(* The leader is dead. *)
FirstIsSilent == act'.params.replica /= 1

(* Replica 2 stands, and falls silent when replica 3 has promised. Only then replica 1 proposes, and gives up only if it must. *)
SecondStandsAndDies ==
  LET r == act'.params.replica
  IN /\ r = 1 => act'.name /= "StepDown"
     /\ r = 2 => act'.name \in {"StartElection", "Fsync"}
     /\ r = 3 => act'.name /= "HandleAccept" \/ promised[3] /= NoBallot
     /\ act'.name = "Propose" => Less(FirstBallot, promised[3])

(* Replica 1 proposes a change and dies when replica 2 has voted for it: who leads next finds it, but for what lies below. *)
ProposesAndDies ==
  /\ act'.params.replica = 1 => act'.name \in {"Reconfigure", "Fsync"}
  /\ act'.name = "StartElection" => \E m \in Sent("Accepted") : m.from = 2 /\ m.slot = 2

(* Replica 1 dies when its change is chosen and replica 2 knows that: who leads next must learn of it before anybody's promise counts. *)
ChangesAndDies ==
  /\ act'.params.replica = 1 => act'.name \in {"Reconfigure", "HandleAccepted", "AdvanceCommitPoint", "Fsync"}
  /\ act'.params.replica = 3 => promised[3] /= NoBallot \/ (act'.name = "StartElection" /\ config[2].version = 2)
  /\ act'.params.replica = 3 /\ act'.name = "StepDown" => IsPassed(3)

-----------------------------------------------------------------------------
(* Where all is served nobody who is well is obliged to anything more: so there are behaviours that are fair, and end well. *)
NothingIsLeft ==
  /\ AllIsServed
  /\ ~ ENABLED \E r \in Lasting :
         \/ Phase1(r) \/ Phase2(r)
         \/ HandleCatchUpReply(r, commitPoint[r] + 1)
         \/ \E k \in ToldConfigurations : LearnConfiguration(r, k)
         \/ \E q \in Replicas : HandleReject(r, q)
         \/ \E n \in 1..Len(buffer[r]) : Fsync(r, n)
         \/ Restart(r)
         \/ IsPassed(r) /\ StepDown(r)

SightsOfTheEnd == See(17, "EverythingIsServed: nothing is left to do", NothingIsLeft)

-----------------------------------------------------------------------------
(* Values for the configurations *)
OneAndTwo == {1, 2}
TwoAndThree == {2, 3}
OneAndThree == {1, 3}
FirstToThird == {<<1, 1>>, <<1, 2>>, <<1, 3>>}
FirstAndTwiceThird == {<<1, 1>>, <<1, 3>>, <<2, 3>>}
FirstSecondAndFirst == {<<1, 1>>, <<1, 2>>, <<2, 1>>}
=============================================================================
