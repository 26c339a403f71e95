------------------------- MODULE ReplayMultiPaxos -------------------------
(***************************************************************************)
(* Behaviours of MultiPaxos that the core of the server can be led through,  *)
(* step by step (see replay.ts).  It takes away choices that the core does   *)
(* not have, and nothing else:                                              *)
(*   - A candidate leads, a commit point moves, a leader serves, a deposed    *)
(*     one steps down in the very step that makes it possible (Eager).       *)
(*   - A replica remembers the highest commit point that its leader told it.  *)
(*   - Records that were handed to the log together become durable together.  *)
(*   - A candidate's ballot is above its promise in its round.                *)
(*   - The members stay: a replica that is removed or wiped is not driven.     *)
(* Rarely makes some faults less likely, so that behaviours get somewhere.   *)
(***************************************************************************)
EXTENDS MultiPaxos, TLC

VARIABLES
  groups,  \* groups[r]: how many records of r's buffer were handed to the log together
  heard    \* heard[r]: the highest commit point that the leader whom r follows has told it

Rarely(k) == RandomElement(1..k) = 1
ReplayBallots == {<<n, r>> : n \in 1..5, r \in 1..3}
Follows(r) == Up(r) /\ role[r] = "follower" /\ Followed(log[r], commitPoint[r], promised[r], heard[r]) > commitPoint[r]
Deposed(r) == role[r] = "leader" /\ \E s \in 1..commitPoint[r] : IsLearnt(log[r][s]) /\ \E e \in Proposals(promised[r], s) : e /= log[r][s].entry
Eager(r) ==
  \/ Follows(r) /\ \E k \in ToldConfigurations : HandleHeartbeat(r, promised[r], heard[r], k)
  \/ Deposed(r) /\ StepDown(r)
  \/ BecomeLeader(r) \/ AdvanceCommitPoint(r) \/ Serve(r)
Pending(r) == Follows(r) \/ Deposed(r) \/ CanBecomeLeader(r) \/ CanAdvanceCommitPoint(r) \/ CanServe(r)
Sums(q) == {n \in 1..10 : \E i \in 1..Len(q) : n = SumOf(q, 1..i)}
Quiet == \A q \in Replicas : role[q] \notin {"candidate", "leader"}
Inputs(r) ==
  \/ (Quiet \/ Rarely(20)) /\ \E b \in Ballots : b[1] > promised[r][1] /\ b[1] <= promised[r][1] + 1 /\ StartElection(r, b)
  \/ \E m \in Sent("Prepare") : HandlePrepare(r, m.ballot, m.commitPoint)
  \/ \E m \in Sent("Promise") : HandlePromise(r, m)
  \/ \E n \in 1..MaxBatch : Propose(r, NewCommands(r, n))
  \/ \E b \in Ballots : \E run \in Runs : \E c \in ToldCommitPoints(b) : (b = promised[r] => c >= heard[r]) /\ HandleAccept(r, b, run[1], run[2], c)
  \/ \E q \in Replicas : \E run \in Runs : HandleAccepted(r, q, run[1], run[2])
  \/ \E m \in Sent("Heartbeat") : (m.ballot = promised[r] => m.commitPoint >= heard[r]) /\ HandleHeartbeat(r, m.ballot, m.commitPoint, m.configuration)
  \/ \E last \in Slots : last <= commitPoint[r] + MaxBatch /\ HandleCatchUpReply(r, last)
  \/ Rarely(4) /\ \E q \in Replicas : HandleReject(r, q)
  \/ Rarely(15) /\ StepDown(r)
  \/ \E n \in Sums(groups[r]) : Fsync(r, n)
  \/ Rarely(15) /\ \E hint \in Hints(r) : Crash(r, hint, config[r])
  \/ Restart(r)
Grown(r) == Len(buffer'[r]) - Len(buffer[r])
RECURSIVE DropSum(_, _)
DropSum(q, n) == IF n = 0 THEN q ELSE DropSum(Tail(q), n - Head(q))
Bookkeeping ==
  /\ groups' = [r \in Replicas |->
       IF role'[r] = "down" THEN <<>>
       ELSE IF act'.name = "Fsync" /\ act'.params.replica = r THEN DropSum(groups[r], act'.params.records)
       ELSE IF Grown(r) > 0 THEN Append(groups[r], Grown(r)) ELSE groups[r]]
  /\ heard' = [r \in Replicas |->
       IF promised'[r] /= promised[r] /\ ~(act'.name \in {"HandleAccept", "HandleHeartbeat"}) THEN 0
       ELSE IF act'.name \in {"HandleAccept", "HandleHeartbeat"} /\ act'.params.replica = r THEN act'.params.commitPoint
       ELSE heard[r]]
ReplayInit == Init /\ groups = [r \in Replicas |-> <<>>] /\ heard = [r \in Replicas |-> 0]
ReplayNext ==
  /\ IF \E r \in Replicas : Pending(r) THEN \E r \in Replicas : Eager(r) ELSE \E r \in Replicas : Inputs(r)
  /\ Bookkeeping
ReplaySpec == ReplayInit /\ [][ReplayNext]_<<vars, groups, heard>>
=============================================================================
