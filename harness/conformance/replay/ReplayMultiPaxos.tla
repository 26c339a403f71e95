------------------------- MODULE ReplayMultiPaxos -------------------------
(***************************************************************************)
(* Behaviours of MultiPaxos that the core of the server can be led through,  *)
(* step by step (see replay.ts).  It takes away choices that the core does   *)
(* not have, and nothing else:                                              *)
(*   - What the core does of its own accord, it does in the very step that    *)
(*     makes it possible (Eager): it leads, moves its commit point, proposes   *)
(*     what it found, serves; it steps down when it has been deposed, hears of  *)
(*     another's change, or is left out.  A candidate looks whether it has won  *)
(*     when a promise comes, its own among them, and not when it learns.        *)
(*   - A replica remembers the highest commit point that its leader told it.  *)
(*   - Records that were handed to the log together become durable together.  *)
(*   - A candidate's ballot is above its promise in its round.                *)
(*   - A follower votes no further than two windows above its commit point.    *)
(*   - Only members are heard.  What a message, or a copy, tells of the        *)
(*     members its receiver has learnt before, in a step of its own.           *)
(*   - Replica 4, where there is one, is the next life of replica 3, which it   *)
(*     replaces: a member from then on, at first without a vote, and for good.  *)
(*     Others are removed for good; two voters stay.                           *)
(* Rarely makes some faults less likely, so that behaviours get somewhere.   *)
(***************************************************************************)
EXTENDS MultiPaxos, TLC

CONSTANTS
  Patience,  \* how rarely one stands while another stands or leads
  Opening    \* how many steps of the opening are taken first: all or none

VARIABLES
  groups,  \* groups[r]: how many records of r's buffer were handed to the log together
  heard,   \* heard[r]: the highest commit point that the leader whom r follows has told it
  owes,    \* owes[r]: what the step before may have r do: "stepDown", "count" promises, "follow" its leader's commit point; or "nothing"
  room,    \* room[r]: how many commands r takes now
  opened,  \* how many of them have been taken
  pending  \* somebody's core does the next step of its own accord

Rarely(k) == RandomElement(1..k) = 1
ReplayBallots == {<<n, r>> : n \in 1..5, r \in Replicas}

FirstThree == {1, 2, 3}
Reformed == {V \in SUBSET Replicas : Cardinality(V) >= 2 /\ ~({3, 4} \subseteq V)}
MembersOf(voters) == voters \union (IF 3 \in voters THEN {} ELSE {4})
MayChangeTo(r, V) ==
  LET removed == config[r].voters \ V
      added == V \ config[r].voters
  IN added \subseteq {4} /\ ~(4 \in removed) /\ ~(r = 3 /\ 3 \in removed)
(* Those whom it knows as members, and those whom its own change names. *)
ProposedBy(r) == {log[r][s].entry : s \in {x \in Slots : x > commitPoint[r] /\ log[r][x].ballot = promised[r]}}
Hears(r, q) ==
  \/ q \in MembersOf(config[r].voters)
  \/ role[r] = "leader" /\ \E e \in ProposedBy(r) : IsConfiguration(e) /\ q \in MembersOf(e.voters)

-----------------------------------------------------------------------------
(* Of its own accord *)

NextSlot(r) == IF backlog[r] /= <<>> THEN backlog[r][1].slot
               ELSE 1 + Max({startSlot[r]} \union {m.slot : m \in {n \in Sent("Accept") : n.ballot = promised[r]}})
(* It learnt that others chose where it proposed something else, or a configuration, or nothing yet. *)
Deposed(r) == role[r] = "leader" /\ \E s \in 1..commitPoint[r] :
  /\ IsLearnt(log[r][s])
  /\ s >= NextSlot(r) \/ \E e \in Proposals(promised[r], s) : e /= log[r][s].entry \/ IsConfiguration(e)
GivesUp(r) == owes[r] = "stepDown" \/ Deposed(r)
Follows(r) == owes[r] = "follow" /\ role[r] = "follower" /\ Followed(log[r], commitPoint[r], promised[r], heard[r]) > commitPoint[r]
Wins(r) == owes[r] = "count" /\ CanBecomeLeader(r)
GoesOn(r) ==
  /\ role[r] = "leader" /\ backlog[r] /= <<>> /\ ~Undecided(r)
  /\ IsConfiguration(backlog[r][1].entry) => commitPoint[r] = backlog[r][1].slot - 1
Pending(r) == GivesUp(r) \/ Follows(r) \/ Wins(r) \/ CanAdvanceCommitPoint(r) \/ GoesOn(r) \/ CanServe(r)
Eager(r) ==
  IF GivesUp(r) THEN StepDown(r)
  ELSE \/ Follows(r) /\ \E k \in ToldConfigurations : HandleHeartbeat(r, promised[r], heard[r], k)
       \/ Wins(r) /\ BecomeLeader(r)
       \/ AdvanceCommitPoint(r)
       \/ GoesOn(r) /\ (Propose(r, NextStage(r)) \/ Reconfigure(r, backlog[r][1].entry))
       \/ Serve(r)

-----------------------------------------------------------------------------
(* What comes from outside *)

Sums(q) == {n \in 1..10 : \E i \in 1..Len(q) : n = SumOf(q, 1..i)}
Quiet == \A q \in Replicas : role[q] \notin {"candidate", "leader"}
(* A leader seldom hears of its successor from that one itself, so that others may tell it. *)
Notices(r) == role[r] = "leader" => Rarely(5)
SomeTold(b) == LET told == ToldCommitPoints(b) IN IF told = {} THEN {} ELSE {Max(told), RandomElement(told)}
HasRoom(r, b, last, c) == last <= Followed(log[r], commitPoint[r], b, c) + 2 * WindowSlots
Inputs(r) ==
  \/ (Quiet \/ Rarely(Patience)) /\ \E b \in Ballots : b[1] > promised[r][1] /\ b[1] <= promised[r][1] + 1 /\ StartElection(r, b)
  \/ \E m \in Sent("Prepare") : Hears(r, Owner(m.ballot)) /\ Notices(r) /\ (m.ballot = promised[r] => Rarely(6)) /\ HandlePrepare(r, m.ballot, m.commitPoint)
  \/ \E m \in Sent("Promise") : Hears(r, m.from) /\ HandlePromise(r, m)
  \/ \E n \in 1..MaxBatch : Propose(r, NewCommands(r, n))
  \/ \E V \in Proposable : backlog[r] = <<>> /\ MayChangeTo(r, V) /\ Reconfigure(r, ConfigurationEntry(promised[r], config[r].version + 1, V))
  \/ \E b \in {x \in Ballots : Hears(r, Owner(x))} : \E run \in Runs : \E c \in SomeTold(b) :
       /\ Notices(r) /\ (b = promised[r] => c >= heard[r])
       /\ HasRoom(r, b, run[2], c) /\ HandleAccept(r, b, run[1], run[2], c)
  \/ \E q \in Replicas : \E run \in Runs : Hears(r, q) /\ HandleAccepted(r, q, run[1], run[2])
  \/ \E m \in Sent("Heartbeat") :
       /\ m.ballot = promised[r] => m.commitPoint >= heard[r]
       /\ Notices(r) /\ Hears(r, Owner(m.ballot)) /\ m.configuration.version <= config[r].version
       /\ HandleHeartbeat(r, m.ballot, m.commitPoint, m.configuration)
  \/ \E last \in Slots : last <= commitPoint[r] + MaxBatch /\ HandleCatchUpReply(r, last)
  \/ Rarely(4) /\ \E c \in Slots : Restored(r, c) /\ config'[r] = config[r]
  \/ Rarely(4) /\ \E q \in Replicas : Hears(r, q) /\ HandleReject(r, q)
  \/ Rarely(15) /\ StepDown(r)
  \/ \E n \in Sums(groups[r]) : Fsync(r, n)
  \/ Rarely(15) /\ \E hint \in Hints(r) : \E k \in {config[r], RandomElement(KeptConfigurations(r, hint))} : Crash(r, hint, k)
  \/ Restart(r)

CanLearn(r) == Up(r) /\ \E k \in ToldConfigurations : k.version > config[r].version
Lags(r) == role[r] = "leader" /\ commitPoint[r] < MaxSlot /\ Learnable(commitPoint[r] + 1) /= {}
AnyInput ==
  IF (\E r \in Replicas : Lags(r)) /\ Rarely(3)
  THEN \E r \in Replicas : Lags(r) /\ \E last \in Slots : HandleCatchUpReply(r, last)
  ELSE IF (\E r \in Replicas : CanLearn(r)) /\ Rarely(5)
  THEN \E r \in Replicas : CanLearn(r) /\ \E k \in ToldConfigurations : LearnConfiguration(r, k)
  ELSE \E r \in Replicas : Inputs(r)

(* Replica 1 comes to serve. *)
Opens ==
  CASE opened = 0 -> StartElection(1, <<1, 1>>)
    [] opened = 1 -> Fsync(1, 1)
    [] opened = 2 -> HandlePrepare(2, <<1, 1>>, 0)
    [] opened = 3 -> Fsync(2, 1)
    [] opened = 4 -> \E m \in Sent("Promise") : HandlePromise(1, m)
    [] opened = 5 -> Fsync(1, 1)
    [] opened = 6 -> HandleAccept(2, <<1, 1>>, 1, 1, 0)
    [] opened = 7 -> Fsync(2, 1)
    [] opened = 8 -> HandleAccepted(1, 2, 1, 1)
AllOpened == 9

-----------------------------------------------------------------------------
Grown(r) == Len(buffer'[r]) - Len(buffer[r])
RECURSIVE DropSum(_, _)
DropSum(q, n) == IF n = 0 THEN q ELSE DropSum(Tail(q), n - Head(q))
Does(r, name) == act'.name = name /\ act'.params.replica = r
HasPromisedItself(r) == \E m \in Sent("Promise") : m.from = r /\ m.ballot = promised[r]
IsLeftOut(r) == r \notin config'[r].voters
Room(r) ==
  IF role[r] = "leader" /\ MayPropose(r) /\ backlog[r] = <<>> /\ ~Undecided(r)
  THEN Cardinality({n \in 1..WindowSlots : WithinWindow(r, LastSlot(r) + n)}) ELSE 0
Bookkeeping ==
  /\ groups' = [r \in Replicas |->
       IF role'[r] = "down" THEN <<>>
       ELSE IF Does(r, "Fsync") THEN DropSum(groups[r], act'.params.records)
       ELSE IF Grown(r) > 0 THEN Append(groups[r], Grown(r)) ELSE groups[r]]
  /\ heard' = [r \in Replicas |->
       IF promised'[r] /= promised[r] /\ ~(act'.name \in {"HandleAccept", "HandleHeartbeat"}) THEN 0
       ELSE IF Does(r, "HandleAccept") \/ Does(r, "HandleHeartbeat") THEN act'.params.commitPoint
       ELSE heard[r]]
  /\ owes' = [r \in Replicas |->
       IF \/ Does(r, "LearnConfiguration") /\ (role[r] = "leader" \/ (role[r] = "candidate" /\ IsLeftOut(r)))
          \/ Does(r, "AdvanceCommitPoint") /\ IsLeftOut(r) /\ IsConfiguration(log[r][commitPoint'[r]].entry) THEN "stepDown"
       ELSE IF Does(r, "HandlePromise") \/ (Does(r, "Fsync") /\ ~HasPromisedItself(r)) THEN "count"
       ELSE IF Does(r, "HandleCatchUpReply") THEN "follow"
       ELSE "nothing"]
  /\ room' = [r \in Replicas |-> Room(r)']
  /\ pending' = (\E r \in Replicas : Pending(r)')
(* Always so: TLC writes functions down as expressions that nobody has looked at as a whole. *)
WrittenOut ==
  \A r \in Replicas :
    /\ durable'[r].log /= <<>>
    /\ \A i \in 1..Len(buffer'[r]) : LET item == buffer'[r][i].record IN item.kind = "base" => item.entries /= <<>>
ReplayInit ==
  /\ Init
  /\ groups = [r \in Replicas |-> <<>>]
  /\ heard = [r \in Replicas |-> 0]
  /\ owes = [r \in Replicas |-> "nothing"]
  /\ room = [r \in Replicas |-> 0]
  /\ opened = 0
  /\ pending = FALSE
ReplayNext ==
  /\ IF pending THEN (\E r \in Replicas : Pending(r) /\ Eager(r)) /\ UNCHANGED opened
     ELSE IF opened < Opening THEN Opens /\ opened' = opened + 1
     ELSE AnyInput /\ UNCHANGED opened
  /\ Bookkeeping
  /\ WrittenOut
ReplaySpec == ReplayInit /\ [][ReplayNext]_<<vars, groups, heard, owes, room, opened, pending>>
=============================================================================
