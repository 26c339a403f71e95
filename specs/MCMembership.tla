---------------------------- MODULE MCMembership ----------------------------
(************************************************************************************)
(* MultiPaxos while the members change, in finite sizes.                            *)
(*                                                                                  *)
(* An election and a first entry take a dozen steps that MCMultiPaxos has           *)
(* explored, so these models begin behind them (SteadyInit): replica 1 leads        *)
(* and serves, replica 2 has voted for its first entry and knows it to be chosen,   *)
(* and nobody else has heard anything.  It is a state that MultiPaxos reaches.      *)
(*                                                                                  *)
(* Replica 4 is the next life of one whose log was lost, or a new replica: empty,   *)
(* and no voter until a change makes it one.  The lost one is a replica of which    *)
(* nobody hears any more: no step of its own is needed for that, as no step is ever *)
(* obliged to happen.                                                               *)
(************************************************************************************)
EXTENDS MCMultiPaxos

CONSTANT FirstBallot  \* replica 1 leads in it

(* Those who have voted for the first entry and know it to be chosen; and who stood for election in a lower ballot before, each as a *)
(* record of that ballot and of one who has promised to vote in no lower one. *)
Taking == {1, 2}
Overtaken == {}

SteadyMsgs ==
  LET start == LeaderStart(FirstBallot)
  IN {PrepareMsg(FirstBallot, 0),
      AcceptMsg(FirstBallot, 1, start, Founders),
      HeartbeatMsg(FirstBallot, 0, Founding), HeartbeatMsg(FirstBallot, 1, Founding),
      CatchUpMsg(1, start)}
     \union {PromiseMsg(r, FirstBallot, 0, Founding, {}) : r \in Taking}
     \union {AcceptedMsg(r, FirstBallot, 1) : r \in Taking}
     \union UNION {{PrepareMsg(o.ballot, 0), PromiseMsg(Owner(o.ballot), o.ballot, 0, Founding, {}),
                    PromiseMsg(o.promiser, o.ballot, 0, Founding, {})} : o \in Overtaken}

SteadyInit ==
  LET started == [EmptyLog EXCEPT ![1] = [ballot |-> FirstBallot, entry |-> LeaderStart(FirstBallot)]]
      of(r, one, other) == IF r \in Taking THEN one ELSE other
      standing(r) == {o.ballot : o \in {x \in Overtaken : Owner(x.ballot) = r}}
      promise(r) == of(r, FirstBallot, IF standing(r) = {} THEN NoBallot ELSE CHOOSE b \in standing(r) : TRUE)
  IN /\ msgs = SteadyMsgs
     /\ durable = [r \in Replicas |-> [promised |-> promise(r), log |-> of(r, started, EmptyLog)]]
     /\ buffer = [r \in Replicas |-> <<>>]
     /\ promised = [r \in Replicas |-> promise(r)]
     /\ log = [r \in Replicas |-> of(r, started, EmptyLog)]
     /\ config = [r \in Replicas |-> Founding]
     /\ commitPoint = [r \in Replicas |-> of(r, 1, 0)]
     /\ role = [r \in Replicas |-> IF r = 1 THEN "leader" ELSE IF standing(r) /= {} THEN "candidate" ELSE "follower"]
     /\ promises = [r \in Replicas |-> {}]
     /\ acks = [r \in Replicas |-> [s \in Slots |-> {}]]
     /\ startSlot = [r \in Replicas |-> IF r = 1 THEN 1 ELSE 0]
     /\ backlog = [r \in Replicas |-> <<>>]
     /\ serving = [r \in Replicas |-> r = 1]
     /\ crashes = [r \in Replicas |-> 0]
     /\ act = [name |-> "Init", params |-> [replica |-> 0]]

SteadySpec == SteadyInit /\ [][EagerNext]_vars

(* All that MultiPaxos may do from there, in any order. *)
PlainSteadySpec == SteadyInit /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Values for the configurations *)

FoundersOneAndTwo == {1, 2}
FoundersOneToThree == {1, 2, 3}
FoundersOneToFour == {1, 2, 3, 4}
AllButThird == {1, 2, 4}
ThirdWasPromisedByFourth == {[ballot |-> <<1, 3>>, promiser |-> 4]}
AllowAny(voters, old) == TRUE

JustFirst == {<<1, 1>>}
FirstAndSecond == {<<1, 1>>, <<1, 2>>}
FirstAndThird == {<<1, 1>>, <<1, 3>>}
SecondAndLowerThird == {<<2, 1>>, <<1, 3>>}
BallotOneOne == <<1, 1>>
BallotTwoOne == <<2, 1>>

(* Replica 3 goes; the leader itself goes; the next life of replica 3 comes. *)
ThirdGoes == {{1, 2}}
LeaderGoes == {{2, 3}}
SecondGoes == {{1}}
SecondOfFourGoes == {{1, 3, 4}}
FourthComes == {{1, 2, 3, 4}}
ThirdGoesFourthComes == {{1, 2}, {1, 2, 4}}
TwoGo == {{1, 2}, {1, 3}}
FourthForSecond == {{1, 3, 4}}

(* Dropped: a change is chosen before the next is proposed. *)
NeverUndecided(r) == FALSE

(* Dropped: only voters count. *)
AnyVoteCounts(S, voters) == 2 * Cardinality(S) > Cardinality(voters)

(* To find a counterexample sooner: commands come only after the changes, and what the leader says does not reach replica 3, *)
(* which must stand for election itself. *)
AfterOneChange(r) == serving[r] /\ config[r].version = 2
AfterTwoChanges(r) == serving[r] /\ config[r].version = 3
ThirdIsCutOff ==
  /\ act'.params.replica = 3 => act'.name \notin {"HandlePrepare", "HandleAccept", "HandleHeartbeat"}
  /\ act'.params.replica = 4 => act'.name /= "HandlePrepare" \/ act'.params.from = 3

(* Replica 2 learns that a change is chosen before anybody tells it that all up to there is, and leads with others who have heard of *)
(* nothing since the first entry: replica 1 makes the change, and falls silent. *)
SecondIsToldAhead ==
  LET r == act'.params.replica
      name == act'.name
  IN /\ r = 1 => name \in {"Reconfigure", "HandleAccepted", "AdvanceCommitPoint", "Fsync"}
     /\ r = 2 => name /= "HandleCatchUpReply"
     /\ r \in {3, 4} => name \in {"HandleCatchUpReply", "HandlePrepare", "HandleAccept", "Fsync"}
     /\ r \in {3, 4} /\ name = "HandleAccept" => act'.params.from = 2
     /\ name = "Reconfigure" => \A q \in {3, 4} : commitPoint[q] = 1
     /\ name = "HandlePrepare" => config[2].version = 2

(* Replica 3 learns of the change, and gets to hear of the promise of 4: both together are a majority of those who stay, and of no others. *)
ThirdIsOvertaken ==
  LET r == act'.params.replica
      name == act'.name
  IN /\ r = 1 => name \in {"Reconfigure", "HandleAccepted", "AdvanceCommitPoint", "Fsync"}
     /\ r \in {2, 4} => name \in {"HandleAccept", "Fsync"}
     /\ r = 3 => name \in {"LearnConfiguration", "HandlePromise", "BecomeLeader", "Fsync"}

(* Replica 1 proposes the change and falls silent. Replica 3, which has heard of nothing, finds it in a promise, and must fetch what lies below. *)
ThirdFetchesFirst ==
  LET r == act'.params.replica
      name == act'.name
  IN /\ r = 1 => name \in {"Reconfigure", "Fsync"}
     /\ r = 2 => name \in {"HandlePrepare", "HandleAccept", "Fsync"}
     /\ r = 3 => name \notin {"HandlePrepare", "HandleAccept", "HandleHeartbeat"}
     /\ name = "HandleCatchUpReply" => role[3] = "leader"

(* Replica 1 has the change chosen, proposes a command, and falls silent. Replica 2 has voted for both, knows of neither that it is chosen, and leads: *)
(* it proposes the change once more, and when that is chosen the command and its own first entry together. *)
SecondGoesOnBehind ==
  LET r == act'.params.replica
      name == act'.name
      stands == promised[2] /= promised[1]
  IN /\ r = 1 => name \in {"Reconfigure", "Propose", "HandleAccepted", "AdvanceCommitPoint", "Fsync"} /\ ~stands
     /\ r = 2 => name \notin {"HandleHeartbeat", "HandleCatchUpReply", "LearnConfiguration", "HandleReject"}
     /\ r = 3 => name \in {"HandlePrepare", "HandleCatchUpReply", "HandleAccept", "Fsync"} /\ stands
     /\ name = "HandleCatchUpReply" => commitPoint[3] = 0 /\ promised[3] = promised[2]
     /\ name = "HandleAccept" /\ r = 3 => act'.params.from = 2 /\ commitPoint[3] > 0
     /\ name = "HandleAccepted" /\ r = 1 => act'.params.firstSlot = 2
     /\ ~(role[2] = "leader" /\ backlog[2] = <<>>)
     /\ name = "StartElection" => r = 2 /\ ~stands /\ log[2][3].entry.kind = "command"

SightsOfTheSecondBehind ==
  See(17, "OnlyChangesHoldBack: a leader keeps back a command that it found behind a change, and its own first entry",
      \E r \in Replicas : Len(backlog[r]) = 2 /\ ~IsConfiguration(backlog[r][1].entry))

SightsOfTheThird ==
  /\ See(15, "ConfigurationsFormAChain: a leader goes on behind a change that it found, and for which it had to fetch what lies below",
         \E b \in Ballots : Owner(b) = 3 /\ Proposals(b, 3) /= {} /\ \E e \in ChosenIn(b, 2) : IsConfiguration(e))

SightsOfTheOvertaken ==
  See(16, "VotersComeFromBelow: a candidate has a majority of a change's voters that promised before they voted for it",
      \E r \in Replicas : role[r] = "candidate" /\ IsQuorum({m.from : m \in Counted(r)}, config[r].voters) /\ ~ReachesConfiguration(r))

SightsOfTheSecond ==
  See(20, "DecidedByThoseInForce: a chosen change is decided once more, by those whom it names",
      \E b \in Ballots, s \in Slots : \E e \in ChosenIn(b, s) : IsConfiguration(e) /\ Deciders(b, s) = e.voters)

-----------------------------------------------------------------------------
(* Witnesses: claims that something worth checking never happens. TLC must refute them. *)

NewVoterNeverDecides ==
  ~ \E b \in Ballots, s \in Slots : ChosenIn(b, s) /= {} /\ 4 \in Deciders(b, s) /\ ~IsMajority(Voters(b, s) \ {4}, Deciders(b, s))

=============================================================================
