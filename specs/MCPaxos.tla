------------------------------ MODULE MCPaxos ------------------------------
(*****************************************************************************)
(* Paxos in finite sizes, for TLC.                                           *)
(*                                                                           *)
(* MCNext leaves out what adds no reachable state, or nothing new:           *)
(*   - Flushes of several records, a flush later than at once where nobody   *)
(*     can crash, and a restart later than at once.                          *)
(*   - Quorums that are not least: more promises only show more votes.       *)
(*   - Purges of less than Min.                                              *)
(*   - A repeated request for a decided entry (Decide tells both).           *)
(*   - Restored where the log and the database go together.                  *)
(*   - A proposal that is placed later than at once, as placing it says      *)
(*     nothing to anybody, and any slot but the lowest that is free.         *)
(*****************************************************************************)
EXTENDS Paxos, TLC

CONSTANTS
  Proposers,   \* the replicas to which clients bring proposals
  Crashable,   \* the replicas that may crash
  Learners,    \* the replicas that learn from others, execute and purge
  Losers       \* the replicas that may lose their databases

(* Values for the configurations. *)
TwoBallots == {<<1, 1>>, <<1, 2>>}
TwoAndAgain == {<<1, 1>>, <<1, 2>>, <<2, 1>>}
ThirdBetween == {<<1, 1>>, <<1, 3>>, <<2, 1>>}
OneBallot == {<<1, 1>>}

MinQuorums(s, b) == {Q \in SUBSET Promisers(s, b) : IsQuorum(Q) /\ \A r \in Q : ~IsQuorum(Q \ {r})}

NeedsDatabase(r) == done[r] < purged[r] \/ done[r] > CommitPoint(r)
(* The lowest slot that r cannot execute from its log, and nobody has as a log any more. *)
IsToldForgotten(r) == \E q \in Replicas : purged[q] > CommitPoint(r)

UnitStep(r) ==
  \/ \E s \in Slots, b \in Ballots : StartBallot(r, s, b)
  \/ \E s \in Slots : \E Q \in MinQuorums(s, open[r][s].ballot) : StartAccept(r, s, Q)
  \/ \E s \in Slots : Decide(r, s) \/ HandleReject(r, s)
  \/ Accepting(r)
  \/ r \in Learners /\ (\E m \in Sent("Learn") : HandleLearn(r, m.slot, m.ballot))
  \/ r \in Learners /\ (\E s \in Slots : HandleCatchUpReply(r, s))
  \/ r \in Learners /\ (Apply(r) \/ Purge(r, MinDone(r)) \/ \E q \in Replicas : HandleDone(r, q, done[q]))
  \/ (NeedsDatabase(r) \/ IsToldForgotten(r)) /\ \E c \in Slots : Restored(r, c)
  \/ r \in Losers /\ LoseDatabase(r)
  \/ Fsync(r, 1)
  \/ r \in Crashable /\ \E hint \in Hints(r) : Crash(r, hint)

AsProposer(r) == r \in Proposers
IsLowest(r, s) == \A t \in 1..(s - 1) : ~IsFree(r, t)
Places(r) == \E s \in Slots, n \in 1..MaxRequests : IsLowest(r, s) /\ Propose(r, s, Command(r, n))
Placing == {r \in Proposers : /\ Cardinality(InFlight(r)) < WindowSlots
                              /\ waiting[r] /= {} \/ asked[r] < MaxRequests
                              /\ \E s \in Slots : IsFree(r, s)}

SomeDown == \E r \in Replicas : ~up[r]
MayCrash(r) == r \in Crashable /\ SumOf(crashes, Replicas) < MaxCrashes
Flushable == {r \in Replicas : buffer[r] /= <<>> /\ ~MayCrash(r)}

MCNext ==
  IF SomeDown THEN \E r \in Replicas : Restart(r)
  ELSE IF Flushable /= {} THEN LET r == Max(Flushable) IN Fsync(r, Len(buffer[r]))
  ELSE IF Placing /= {} THEN Places(Max(Placing))
  ELSE \E r \in Replicas : UnitStep(r)

MCSpec == Init /\ [][MCNext]_vars

-----------------------------------------------------------------------------
(* Progress. Whoever begins the last ballot of a slot is alone there, and is left in peace; nothing fails then. *)

LastBallot == CHOOSE b \in Ballots : \A a \in Ballots : AtMost(a, b)
Scope == act'.name \in STRING

LeftInPeace ==
  LET r == act'.params.replica
  IN act'.name = "StartBallot" =>
       LET s == act'.params.slot
       IN /\ act'.params.ballot = LastBallot => \A q \in Lasting \ {r} : open[q][s].phase = "none"
          /\ ~(\E q \in Lasting : open[q][s].ballot = LastBallot)

LiveSpec == Init /\ [][MCNext /\ LeftInPeace /\ Scope]_vars /\ Fairness

OneAndTwo == {1, 2}
TwoAndThree == {2, 3}
(* Nobody executes, nor purges. *)
Nobody(r) == FALSE
(* The first one proposes in two slots, and is silent when the second of them is decided: the others have one below it to fill, of whom the second knows. *)
FirstLeavesHole ==
  /\ act'.params.replica = 1 =>
       act'.name \in {"Propose", "Fsync"} \/ (act'.name \in {"StartBallot", "StartAccept", "Decide"} /\ act'.params.slot = 2)
  /\ act'.params.replica = 3 /\ act'.name \in {"HandlePrepare", "HandleAccept"} => Owner(act'.params.ballot) /= 1
(* The third begins a ballot and is silent. *)
ThirdBeginsOnly == act'.params.replica = 3 => act'.name \in {"Propose", "StartBallot", "Fsync"}

NoHole == \A s \in Slots : Chosen(s) /= {} => \A t \in 1..s : Chosen(t) /= {}
HoleIsFilled == <>[]NoHole

(* Nobody who is well is obliged to anything more: so there are behaviours that are fair, and end well. *)
NothingIsLeft ==
  ~ ENABLED \E r \in Lasting :
      \/ Proposing(r) \/ Accepting(r)
      \/ \E s \in Slots : HandleCatchUpReply(r, s)
      \/ Apply(r) \/ Purge(r, MinDone(r)) \/ (\E q \in Replicas : HandleDone(r, q, done[q]))
      \/ done[r] < purged[r]
      \/ \E n \in 1..Len(buffer[r]) : Fsync(r, n)
      \/ Restart(r)

-----------------------------------------------------------------------------
(* Sights: what must have been seen in some state of a model, so that the invariant that a sight is named after says something there. *)

ASSUME \A i \in 1..20 : TLCSet(i, FALSE)
ASSUME TLCSet(21, {})

(* An action constraint that constrains nothing: names each action that is taken. *)
TellActions ==
  act'.name \in TLCGet(21) \/ (PrintT(<<"taken", act'.name>>) /\ TLCSet(21, TLCGet(21) \union {act'.name}))

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  /\ See(1, "Agreement: two ballots choose in one slot",
         \E s \in Slots : \E a, b \in Ballots : a /= b /\ ChosenIn(a, s) /= {} /\ ChosenIn(b, s) /= {})
  /\ See(2, "ChosenOnce: a proposal that lost its slot is chosen in another",
         \E s, t \in Slots : t < s /\ \E e \in Chosen(s), f \in Chosen(t) : e /= Noop /\ f /= Noop /\ e.replica /= f.replica)
  /\ See(3, "NothingInvented: a proposal is chosen", \E s \in Slots : \E e \in Chosen(s) : e /= Noop)
  /\ See(4, "OneValuePerBallot: a proposer that crashed is followed in its slot", \E b \in Ballots, s \in Slots : Proposals(b, s) /= {} /\ crashes[Owner(b)] > 0)
  /\ See(5, "PromiseDurable: one that promised has crashed", \E m \in Sent("Promise") : crashes[m.from] > 0)
  /\ See(6, "VoteDurable: one that voted has crashed", \E m \in Sent("Accepted") : crashes[m.from] > 0)
  /\ See(7, "DecidedIsChosen: two know what is", \E r, q \in Replicas, s \in Slots : r /= q /\ s \in decided[r] /\ s \in decided[q])
  /\ See(8, "DoneIsChosen: something is forgotten", \E r \in Replicas : purged[r] > 0)
  /\ See(9, "NothingLost: one whose database is lost needs a copy", \E r \in Replicas : done[r] < purged[r])
  /\ See(10, "PlacedOnce: a proposal waits for another slot", \E r \in Replicas : waiting[r] /= {})
  /\ See(11, "MemoryIsDiskAndBuffer: one that restarted has something on its disk", \E r \in Replicas : up[r] /\ crashes[r] > 0 /\ \E s \in Slots : promised[r][s] /= NoBallot)
  /\ See(12, "a database is ahead of its log", \E r \in Replicas : up[r] /\ done[r] > CommitPoint(r))
  /\ See(13, "a hole is filled", \E s \in Slots : Noop \in Chosen(s))

SightsOfTheEnd ==
  /\ See(14, "EverythingIsDone: nothing is left to do", AllIsDone /\ NothingIsLeft /\ \E s \in Slots : Chosen(s) /= {})
  /\ See(15, "EverythingIsChosen: nothing is left to do", AllIsChosen /\ NothingIsLeft /\ \A s \in Slots : Chosen(s) /= {})
  /\ See(16, "HoleIsFilled: nothing is left to do", NoHole /\ NothingIsLeft /\ \A s \in Slots : Chosen(s) /= {})
=============================================================================
