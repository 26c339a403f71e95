---------------------------- MODULE MCMultiPaxos ----------------------------
(*****************************************************************************)
(* MultiPaxos in finite sizes, for TLC.                                      *)
(*                                                                           *)
(* MCNext leaves out what adds no reachable state:                           *)
(*   - Messages, proposals and flushes that cover several slots or records:  *)
(*     each is the same as several steps that cover one.                     *)
(*   - A commit point on an Accept: the same as a Heartbeat after it.        *)
(*   - Restored: the same as catching up (MCMultiPaxos-plain has it).        *)
(*   - Restart later than at once: nobody can tell a replica that is down    *)
(*     from one that is slow.                                                *)
(* EagerNext leaves out more, and is what the code does: a leader takes      *)
(* office, and moves its commit point, in the very step that lets it.        *)
(*****************************************************************************)
EXTENDS MultiPaxos, TLC

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

-----------------------------------------------------------------------------
(* Every step leaves something behind for good, so each behaviour of EagerNext ends, if no step that could be taken is left out for  *)
(* ever. That is liveness with weak fairness of every step, and it can be seen in the states in which nothing is left to do: there    *)
(* some leader serves, unless its first entry lies beyond the model's log, and everything is chosen and learnt by all who learn.       *)
AllIsLearnt ==
  /\ \E r \in Replicas : role[r] = "leader" /\ (serving[r] \/ startSlot[r] > MaxSlot)
  /\ \A s \in Slots : Chosen(s) /= {}
  /\ \A r \in Learners : commitPoint[r] = MaxSlot


-----------------------------------------------------------------------------
(* Sights: what must have been seen in some state of a model, so that the invariant that a sight is named after says something there. *)
(* Each is printed when it is seen first; the manifest says which model must see what, and that every invariant has a model that does. *)

ASSUME \A i \in 1..20 : TLCSet(i, FALSE)

(* An action constraint that constrains nothing: names each action that is taken, which TLC's own statistics do not do below an IF. *)
ASSUME TLCSet(21, {})

TellActions ==
  act'.name \in TLCGet(21) \/ (PrintT(<<"taken", act'.name>>) /\ TLCSet(21, TLCGet(21) \union {act'.name}))

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

EndsWell == ENABLED EagerNext \/ (See(14, "EndsWell: nothing is left to do", TRUE) /\ AllIsLearnt)

Sights ==
  /\ See(1, "Agreement: two ballots choose in one slot",
         \E s \in Slots : \E a, b \in Ballots : a /= b /\ ChosenIn(a, s) /= {} /\ ChosenIn(b, s) /= {})
  /\ See(2, "OneValuePerBallot: a leader that crashed is followed in its slot", \E b \in Ballots, s \in Slots : Proposals(b, s) /= {} /\ crashes[Owner(b)] > 0)
  /\ See(3, "PromiseDurable: one that promised has crashed", \E m \in Sent("Promise") : crashes[m.from] > 0)
  /\ See(4, "VoteDurable: one that voted has crashed", \E m \in Sent("Accepted") : crashes[m.from] > 0)
  /\ See(5, "CommitPointChosen: a follower has a commit point", \E r \in Replicas : role[r] = "follower" /\ commitPoint[r] > 0)
  /\ See(6, "LearntBelowCommitPoint: one that learnt without a vote has restarted",
         \E r \in Replicas : Up(r) /\ crashes[r] > 0 /\ \E s \in Slots : IsLearnt(log[r][s]))
  /\ See(7, "ServingSeesChosen: a leader serves above what another ballot chose",
         \E r \in Replicas : serving[r] /\ \E b \in Ballots, s \in Slots : Less(b, promised[r]) /\ ChosenIn(b, s) /= {})
  /\ See(8, "MemoryIsDiskAndBuffer: one that restarted has something on its disk", \E r \in Replicas : Up(r) /\ crashes[r] > 0 /\ promised[r] /= NoBallot)
  /\ See(9, "WindowKept: a leader has filled its window",
         \E r \in Replicas : role[r] = "leader" /\ LastSlot(r) = commitPoint[r] + WindowSlots /\ LastSlot(r) < MaxSlot /\ serving[r])
  /\ See(10, "AsksFromCommitPoint: a candidate learns", \E r \in Replicas : role[r] = "candidate" /\ commitPoint[r] > 0 /\ PrepareMsg(promised[r], 0) \in msgs)
  /\ See(11, "DecidedByThoseInForce: a slot above a change is chosen", \E s, t \in Slots : t < s /\ Chosen(s) /= {} /\ \E e \in Chosen(t) : IsConfiguration(e))
  /\ See(12, "ConfigurationsFormAChain: a change is chosen", \E s \in Slots : \E e \in Chosen(s) : IsConfiguration(e))
  /\ See(13, "KnownConfigurationChosen: a follower knows of a change", \E r \in Replicas : role[r] = "follower" /\ config[r].slot > 0)
=============================================================================
