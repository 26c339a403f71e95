------------------------------- MODULE MCLease -------------------------------
(***************************************************************************)
(* Lease in finite sizes, without each of its rules, and its witnesses.      *)
(* Only replica 1, the first leader, has a client that reads; only replica 2  *)
(* stands against it, and only replica 3 crashes.  A read that is asked for   *)
(* before the first write cannot be stale, so none is.                        *)
(* There no answer ever leaves: who may read has no lease any more.  In       *)
(* AgainNext both lead in turn and are read, nobody crashes, and members may  *)
(* change.                                                                 *)
(***************************************************************************)
EXTENDS Lease, TLC

NewestAck(q) ==
  {m \in msgs : /\ m.type = "HeartbeatAck" /\ m.from = q
                /\ \A n \in msgs : n.type = "HeartbeatAck" /\ n.from = q => n.sentAt <= m.sentAt}

MCNext ==
  \/ Tick
  \/ (latest > 0 /\ AskRead(1)) \/ RunRead(1) \/ AnswerRead(1)
  \/ Restart(3)
  \/ Heartbeat(1) \/ \E q \in Replicas : \E m \in NewestAck(q) : HandleHeartbeatAck(1, m)
  \/ Lead(2, 2) \/ Write(2)
  \/ \E r \in Replicas : GivePromise(r, 2) \/ \E m \in msgs : HandleHeartbeat(r, m)

(* Replicas 1 and 2 lead, in any of the ballots that are theirs; who elects and who hears leaders is all, where five are not too many. *)
Rivals == {1, 2}
Readers == Rivals
Promisers(b) == Replicas
Hearers == Replicas
PromisersOfFive(b) == IF b = 7 THEN {2, 3, 5} ELSE {1, 2, 5}
ThirdAndFourth == {3, 4}

AgainNext ==
  \/ Tick
  \/ \E r \in Rivals :
       \/ Heartbeat(r) \/ Write(r) \/ Change(r) \/ ChangeAgain(r) \/ Learn(r)
       \/ (r \in Readers /\ latest > 0 /\ AskRead(r)) \/ RunRead(r) \/ AnswerRead(r)
       \/ \E m \in msgs : HandleHeartbeatAck(r, m)
       \/ \E b \in Ballots : Lead(r, b) \/ (Owner(b) = r /\ \E q \in Promisers(b) : GivePromise(q, b))
  \/ \E q \in Hearers : \E m \in msgs : HandleHeartbeat(q, m)

AgainSpec == Init /\ [][AgainNext]_vars

(* A leader may also give up, or crash. *)
ResignSpec == Init /\ [][AgainNext \/ \E r \in Rivals : Resign(r) \/ Restart(r)]_vars

(* A leader may also hand over: it gives up, and says so. *)
HandOverNext ==
  \/ AgainNext
  \/ \E r \in Rivals : Resign(r)
  \/ \E q \in Replicas : \E m \in msgs : HandleResigned(q, m)

HandOverSpec == Init /\ [][HandOverNext]_vars

(* Nobody comes or goes. *)
AllAlways == <<Replicas>>

(* The second is removed, the fourth comes: no majority of the first configuration need meet one of the last. *)
OneGoesOneComes == <<{1, 2, 3}, {1, 3}, {1, 3, 4}>>
OneGoes == <<{1, 2, 3}, {1, 3}>>
FirstAndThird == {1, 3}
FirstOnly == {1}
AllButFirst == {2, 3, 4}
NotTheFirst(b) == AllButFirst
FirstThirdFifth == {1, 3, 5}
FirstAgain(b) == IF b = 5 THEN {1, 4} ELSE AllButFirst
OnlySecond == {2}
OnlyThird == {3}
ByFirstAndThird(b) == IF b = 4 THEN {1, 3} ELSE Replicas

(* Two ballots for each of the rivals, among three replicas and among five. *)
TwiceEach == {1, 2, 4, 5}
TwiceEachOfFive == {1, 2, 6, 7}

(* The first leader's clock against the two others': the worst case. *)
AgainstLeader == {[r \in Replicas |-> IF r = 1 THEN Slow ELSE Fast], [r \in Replicas |-> IF r = 1 THEN Fast ELSE Slow]}

MCSpec == Init /\ [][MCNext]_vars

(* ClockSteps: the first leader is suspended while time passes, and its clock with it. *)
StandsStill == {[r \in Replicas |-> IF r = 1 THEN 0 ELSE Fast]}

(* CountsBy: those who voted when the leader was elected, whoever votes now. *)
AsElected(r) == 1
(* MayGoOn: a leader counts by whatever configuration it hears of, and leads on. *)
ByAnybodysChange(r) == TRUE
AnyOfBefore == 1..newest.version

(* LeaderLength: no margin for drift. *)
NoMargin == LeaseLength
(* CountedFrom: from when the acknowledgement came. *)
FromReceipt(r, m) == clock[r]
(* WaitAfterRestart: none. *)
NoWait == 0
(* MayAnswer: the lease was checked when the session began, and is not again. *)
CheckedOnce(r) == leading[r] /= 0

(* Forbids: a leader looks at the word that it gave, as others do, and not at its lease. *)
OwnWordOnly(r, candidate) == clock[r] < grant[r].until /\ grant[r].to /= candidate

(* LeaseHeld: what was acknowledged counts on when the leader has given up. *)
HeldBeyondOffice(r) == IsQuorum({r} \union {q \in Replicas \ {r} : acked[r][q] /= 0 /\ clock[r] < acked[r][q] + LeaderLength}, CountsBy(r))

(* MayAnswer: the lease is held, by whatever leadership. *)
InAnyLeadership(r) == LeaseHeld(r)

(* LeadsAfterResigning: it says so before it has stopped. *)
LeadsOn(r) == leading[r]
(* EndsWord: any leader's end ends it. *)
AnybodysEnd(r, m) == TRUE

(* MayRun, MayAnswer: the lease is checked after the read was asked for, before it runs. *)
CheckedBefore(r) == LeaseHeld(r)
Unchecked(r) == TRUE

(* Sights: what must have been seen in some state of a model, so that the invariant that each is named after says something there. *)
ASSUME \A i \in 1..4 : TLCSet(i, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  /\ See(1, "NoStaleAnswer: a read may be answered that must have what was written",
         \E r \in Replicas : read[r].phase = "ran" /\ MayAnswer(r) /\ read[r].needed > 0)
  /\ See(2, "LeaseExcludes: one holds the lease while another still believes to lead", \E r, q \in Replicas : r /= q /\ LeaseHeld(r) /\ leading[q] /= 0)
  /\ See(3, "LeaseKeepsOffice: whoever gave its word has promised to the one who has it, who stands again",
         \E r \in Replicas, b \in Ballots : /\ <<r, b>> \in votes /\ <<Owner(b), b>> \in votes /\ r /= Owner(b)
                                           /\ clock[r] < grant[r].until /\ grant[r].to = Owner(b))
  /\ See(4, "VotesWereAskedFor: one has promised another", \E vote \in votes : vote[1] /= Owner(vote[2]))

(* Witness: the second leader never writes. TLC must refute it. *)
SecondLeaderNeverWrites == latest = 0
(* Witness: the first leader never holds its lease after a tick. *)
NeverHeldForATick == ~(ticks > 0 /\ LeaseHeld(1))
(* Witness: nobody promises another within the word that it has given, where no time passes. *)
NobodyPromisesWithinWord == \A vote \in votes, m \in msgs : m.type = "HeartbeatAck" /\ m.from = vote[1] => m.ballot >= vote[2]
(* Witness: nobody promises to whom others have elected already. *)
NobodyPromisesLate == [][\A r \in Replicas, b \in Ballots : <<r, b>> \in votes' \ votes => leading[Owner(b)] /= b]_vars
=============================================================================
