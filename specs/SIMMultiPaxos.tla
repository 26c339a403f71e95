---------------------------- MODULE SIMMultiPaxos ----------------------------
(***************************************************************************)
(* Random behaviours of MultiPaxos that the code can be made to take, step    *)
(* by step: TLC writes them to files (-simulate file=...,num=...), and the     *)
(* conformance harness replays them against server/src/multipaxos.  The         *)
(* README says what is in `act`.                                              *)
(*                                                                         *)
(* Everything that MCNext leaves out is here: batches, commit points on         *)
(* Accepts, flushes of several records.  Left out is only what the code does     *)
(* at once and the specification some time later:                             *)
(*   - A candidate with a quorum becomes leader in the same step.                *)
(*   - A leader moves its commit point in the step that lets it.                  *)
(*   - A follower remembers the highest commit point that its leader told, so      *)
(*     a behaviour takes only commit points that it can follow all the way.        *)
(*   - A leader that learns that its own proposal lost steps down in the same step. *)
(*   - A flush takes all that was appended.                                        *)
(***************************************************************************)
EXTENDS MultiPaxos, TLC

CONSTANT MaxElections   \* so that most of a behaviour is not elections

SimBallots == (1..MaxElections) \X Replicas

(* The code takes the next round that it can. *)
NextBallot(r) == <<promised[r][1] + 1, r>>

Deposed(r) ==
  /\ role[r] = "leader"
  /\ \E s \in Slots : IsLearnt(log[r][s]) /\ Proposals(promised[r], s) /= {} /\ log[r][s].entry \notin Proposals(promised[r], s)

(* It has learnt of a configuration that it did not get chosen itself, or that leaves it out. *)
Removed(r) ==
  \/ role[r] = "leader" /\ (config[r].slot > commitPoint[r] \/ r \notin config[r].voters)
  \/ role[r] = "candidate" /\ r \notin config[r].voters

(* What waits behind a configuration may be proposed. *)
MayGoOn(r) == backlog[r] /= <<>> /\ ~Undecided(r) /\ (IsConfiguration(backlog[r][1].entry) => commitPoint[r] = backlog[r][1].slot - 1)

Urgent(r) == CanBecomeLeader(r) \/ CanAdvanceCommitPoint(r) \/ Deposed(r) \/ Removed(r) \/ MayGoOn(r)

UrgentStep(r) ==
  \/ BecomeLeader(r)
  \/ AdvanceCommitPoint(r)
  \/ (Deposed(r) \/ Removed(r)) /\ StepDown(r)
  \/ MayGoOn(r) /\ (Propose(r, NextStage(r)) \/ Reconfigure(r, backlog[r][1].entry))

(* The model's log has room for all that r would propose as the new leader. *)
HasRoom(r) == CanBecomeLeader(r) => FirstProposals(r).start <= MaxSlot

FollowsFully(r) == commitPoint'[r] >= act'.params.commitPoint

ProposedIn == {m.ballot : m \in Sent("Accept")}
RunsAbove(c) == {run \in Runs : run[1] > c}

SimStep(r) ==
  \/ \E m \in Sent("Prepare") : HandlePrepare(r, m.ballot, m.commitPoint)
  \/ \E m \in Sent("Promise") : HandlePromise(r, m) /\ HasRoom(r)'
  \/ \E n \in 1..MaxBatch : Propose(r, NewCommands(r, n))
  \/ \E b \in {p \in ProposedIn : Up(r) /\ AtMost(promised[r], p)} : \E run \in RunsAbove(commitPoint[r]) :
       \E c \in ToldCommitPoints(b) : HandleAccept(r, b, run[1], run[2], c) /\ FollowsFully(r)
  \/ backlog[r] = <<>> /\ \E e \in Configurations(r) : Reconfigure(r, e)
  \/ \E k \in ToldConfigurations : LearnConfiguration(r, k)
  \/ role[r] = "leader" /\ \E q \in Replicas : \E run \in RunsAbove(commitPoint[r]) : HandleAccepted(r, q, run[1], run[2])
  \/ Serve(r)
  \/ \E m \in Sent("Heartbeat") : HandleHeartbeat(r, m.ballot, m.commitPoint, m.configuration) /\ FollowsFully(r)
  \/ \E last \in Slots : last <= commitPoint[r] + MaxBatch /\ HandleCatchUpReply(r, last)
  \/ \E q \in Replicas : HandleReject(r, q)
  \/ Fsync(r, Len(buffer[r]))

(* Values for SIMMembership: replica 4 is new, or the next life of another. *)
FirstThree == {1, 2, 3}
AnyButEmpty == SUBSET Replicas \ {{}}

Elect(r) == NextBallot(r) \in Ballots /\ StartElection(r, NextBallot(r))
Leaderless == \A r \in Replicas : role[r] \notin {"candidate", "leader"}

(* Simulation draws among all successors: these would drown the others if they were always there. *)
SimRareStep(r) ==
  \/ Elect(r)
  \/ StepDown(r)
  \/ \E hint \in Hints(r) : \E kept \in KeptConfigurations(r, hint) : Crash(r, hint, kept)

SimNext ==
  IF \E r \in Replicas : Urgent(r) THEN \E r \in Replicas : UrgentStep(r)
  ELSE \/ \E r \in Replicas : SimStep(r) \/ Restart(r)
       \/ Leaderless /\ \E r \in Replicas : Elect(r)
       \/ TLCGet("level") % 7 = 1 /\ \E r \in Replicas : SimRareStep(r)

SimSpec == Init /\ [][SimNext]_vars
=============================================================================
