------------------------------- MODULE Lease -------------------------------
(***************************************************************************)
(* Why a leader may answer a read without asking anyone: the lease.          *)
(*                                                                         *)
(* A follower that hears from its leader promises nothing to others for       *)
(* LeaseLength of its own clock.  The leader counts a shorter time, on its own *)
(* clock, from when it sent what a quorum has acknowledged.  No clock runs      *)
(* faster than another by more than Fast / Slow; that is the one assumption.    *)
(* A machine that is suspended does nothing, but its clock goes on.            *)
(*                                                                         *)
(* Consensus itself is MultiPaxos's business.  Here a write is one step, taken  *)
(* by a quorum that has promised no higher ballot, and a new leader knows every  *)
(* write acknowledged before (ServingSeesChosen in MultiPaxos).  A change of the *)
(* members is one step, too: whoever is elected later knows it, and needs a       *)
(* quorum of the newest (MCMembership, Quorums).                                *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
  Replicas,      \* positive numbers
  Configurations, \* who votes: one set after the other; majorities of neighbours meet
  LastBallot,    \* ballots are 1..LastBallot
  LeaseLength,   \* how long a follower keeps its word, on its clock
  Slow, Fast,    \* how far a clock may move in one tick: Slow..Fast
  MaxTicks,
  MaxWrites,
  MaxCrashes

VARIABLES
  clock,         \* clock[r]: r's own monotonic clock
  ticks,         \* how often time has passed
  promised,      \* promised[r]: the highest ballot that r promised; durable
  votes,         \* <<r, b>>: r promised b to its owner
  leading,       \* leading[r]: the ballot in which r believes to lead; 0 if none
  grant,         \* grant[r]: until when r promises nothing, and to whom it would all the same
  msgs,          \* heartbeats, acknowledgements, what candidates ask and that leaders have given up, all that were ever sent
  acked,         \* acked[r][q]: when leader r sent the newest message that q acknowledged; 0 if none
  latest,        \* how many writes have been acknowledged
  seen,          \* seen[r]: how many of them leader r's database has
  read,          \* read[r]: the client's read: what it must see at least, what it got, and in which ballot r led when it ran
  stale,         \* an answer left that lacks a write acknowledged before the read was asked for
  newest,        \* the newest configuration that is chosen, by its place, and the ballots in which it was
  counts,        \* counts[r]: the newest configuration that leader r knows to be chosen
  crashes

members == <<newest, counts>>
vars == <<clock, ticks, promised, votes, leading, grant, msgs, acked, latest, seen, read, stale, newest, counts, crashes>>

Ballots == 1..LastBallot
(* Ballots go round the replicas 1, 2, ... as far as they reach. *)
Owner(b) == ((b - 1) % Cardinality(Replicas)) + 1

IsQuorum(S, version) == LET voters == Configurations[version] IN 2 * Cardinality(S \intersect voters) > Cardinality(voters)
Max(a, b) == IF a > b THEN a ELSE b

NoRead == [phase |-> "none", needed |-> 0, result |-> 0, ballot |-> 0]

-----------------------------------------------------------------------------
(* Rules that a bug model overrides *)

(* The leader's share of the lease: what is left of LeaseLength on a slow clock when a fast one has counted it out. The code *)
(* takes leaseMs * (1 - clockDriftMax), which is less. *)
LeaderLength == (LeaseLength * Slow) \div Fast

(* The leader counts from when it sent, not from when the answer came. *)
CountedFrom(r, m) == m.sentAt

(* A replica that restarts may have given its word, so it keeps quiet first. *)
WaitAfterRestart == LeaseLength

(* Whose acknowledgements are a quorum: counted anew with each change that comes into force.  Who learned of the leader before it could vote *)
(* has kept its word as others do, and its acknowledgements count from before. *)
CountsBy(r) == counts[r]

(* Whose change a leader goes on by: only its own, or what it has chosen again.  If another leader has made one, it is none any more. *)
MayGoOn(r) == leading[r] \in newest.ballots

(* What a leader that says that it has given up leads in from then on: nothing, and it never leads in that ballot again. *)
LeadsAfterResigning(r) == 0

(* Whose end ends the word of r: that of the leader whom it heard last, and no earlier one's. *)
EndsWord(r, m) == promised[r] = m.ballot

LeaseHeld(r) ==
  /\ leading[r] /= 0
  /\ IsQuorum({r} \union {q \in Replicas \ {r} : acked[r][q] /= 0 /\ clock[r] < acked[r][q] + LeaderLength}, CountsBy(r))

(* A read may run, and its answer may leave: only the second is checked. A lease says nothing of what was read before its *)
(* leadership: the same replica may have led, been replaced and been elected again in between. *)
MayRun(r) == TRUE
MayAnswer(r) == LeaseHeld(r) /\ read[r].ballot = leading[r]

-----------------------------------------------------------------------------
Forbids(r, candidate) ==
  IF leading[r] /= 0 THEN LeaseHeld(r)
  ELSE clock[r] < grant[r].until /\ grant[r].to /= candidate

(* How far the clocks may move in one tick. *)
ClockSteps == [Replicas -> Slow..Fast]

Tick ==
  /\ ticks < MaxTicks
  /\ ticks' = ticks + 1
  /\ \E step \in ClockSteps : clock' = [r \in Replicas |-> clock[r] + step[r]]
  /\ UNCHANGED <<promised, votes, leading, grant, msgs, acked, latest, seen, read, stale, members, crashes>>

Heartbeat(r) ==
  /\ leading[r] /= 0
  /\ msgs' = msgs \union {[type |-> "Heartbeat", ballot |-> leading[r], sentAt |-> clock[r]]}
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, acked, latest, seen, read, stale, members, crashes>>

HandleHeartbeat(r, m) ==
  /\ m.type = "Heartbeat"
  /\ Owner(m.ballot) /= r
  /\ promised[r] <= m.ballot
  /\ promised' = [promised EXCEPT ![r] = m.ballot]
  /\ leading' = [leading EXCEPT ![r] = 0]
  /\ grant' = [grant EXCEPT ![r] = [until |-> clock[r] + LeaseLength, to |-> Owner(m.ballot)]]
  /\ msgs' = msgs \union {[type |-> "HeartbeatAck", from |-> r, ballot |-> m.ballot, sentAt |-> m.sentAt]}
  /\ UNCHANGED <<clock, ticks, votes, acked, latest, seen, read, stale, members, crashes>>

HandleHeartbeatAck(r, m) ==
  /\ m.type = "HeartbeatAck"
  /\ leading[r] = m.ballot
  /\ acked[r][m.from] < CountedFrom(r, m)
  /\ acked' = [acked EXCEPT ![r][m.from] = CountedFrom(r, m)]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, msgs, latest, seen, read, stale, members, crashes>>

(* r promises b, to others or to itself; whoever led in a lower ballot leads no more. Who asks has promised itself, and all whom it asked may  *)
(* answer: late, too, when it leads already or has given up.                                                                               *)
GivePromise(r, b) ==
  LET prepare == [type |-> "Prepare", ballot |-> b] IN
  /\ promised[r] < b
  /\ r = Owner(b) \/ prepare \in msgs
  /\ ~Forbids(r, Owner(b))
  /\ promised' = [promised EXCEPT ![r] = b]
  /\ votes' = votes \union {<<r, b>>}
  /\ leading' = [leading EXCEPT ![r] = 0]
  /\ msgs' = msgs \union {prepare}
  /\ UNCHANGED <<clock, ticks, grant, acked, latest, seen, read, stale, members, crashes>>

(* A candidate may have found the newest configuration among votes only, and does not know that it is chosen. *)
KnownToCandidate == {newest.version} \union (IF newest.version > 1 THEN {newest.version - 1} ELSE {})

Lead(r, b) ==
  /\ r = Owner(b)
  /\ promised[r] = b
  /\ <<r, b>> \in votes
  /\ IsQuorum({q \in Replicas : <<q, b>> \in votes}, newest.version)
  /\ \E known \in KnownToCandidate :
       /\ IsQuorum({q \in Replicas : <<q, b>> \in votes}, known)
       /\ counts' = [counts EXCEPT ![r] = known]
  /\ leading' = [leading EXCEPT ![r] = b]
  /\ votes' = votes \ {<<r, b>>}   \* it leads once in a ballot
  /\ acked' = [acked EXCEPT ![r] = [q \in Replicas |-> 0]]
  /\ seen' = [seen EXCEPT ![r] = latest]
  /\ UNCHANGED <<clock, ticks, promised, grant, msgs, latest, read, stale, newest, crashes>>

(* The log of leader r goes on by a quorum of those that it counts by, of whom nobody has promised more. *)
MayGrow(r) ==
  /\ leading[r] /= 0
  /\ counts[r] = newest.version
  /\ IsQuorum({q \in Replicas : promised[q] <= leading[r]}, newest.version)

(* The next configuration is chosen; the next but one is not proposed before the leader counts by it. *)
Change(r) ==
  /\ MayGrow(r)
  /\ newest.version < Len(Configurations)
  /\ newest' = [version |-> newest.version + 1, ballots |-> {leading[r]}]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, msgs, acked, latest, seen, read, stale, counts, crashes>>

(* Whoever has found it among votes has it chosen again, by the configuration that it knows. *)
ChangeAgain(r) ==
  /\ leading[r] /= 0
  /\ counts[r] = newest.version - 1
  /\ IsQuorum({q \in Replicas : promised[q] <= leading[r]}, counts[r])
  /\ newest' = [newest EXCEPT !.ballots = @ \union {leading[r]}]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, msgs, acked, latest, seen, read, stale, counts, crashes>>

Learn(r) ==
  /\ leading[r] /= 0
  /\ counts[r] < newest.version
  /\ MayGoOn(r)
  /\ counts' = [counts EXCEPT ![r] = newest.version]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, msgs, acked, latest, seen, read, stale, newest, crashes>>

Write(r) ==
  /\ MayGrow(r)
  /\ latest < MaxWrites
  /\ latest' = latest + 1
  /\ seen' = [seen EXCEPT ![r] = latest + 1]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, msgs, acked, read, stale, members, crashes>>

AskRead(r) ==
  /\ read[r].phase = "none"
  /\ read' = [read EXCEPT ![r] = [NoRead EXCEPT !.phase = "asked", !.needed = latest]]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, msgs, acked, latest, seen, stale, members, crashes>>

RunRead(r) ==
  /\ read[r].phase = "asked"
  /\ MayRun(r)
  /\ read' = [read EXCEPT ![r].phase = "ran", ![r].result = seen[r], ![r].ballot = leading[r]]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, msgs, acked, latest, seen, stale, members, crashes>>

AnswerRead(r) ==
  /\ read[r].phase = "ran"
  /\ MayAnswer(r)
  /\ stale' = (read[r].result < read[r].needed)
  /\ read' = [read EXCEPT ![r] = NoRead]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, msgs, acked, latest, seen, members, crashes>>

(* A leader gives up of itself: it hears no quorum, its database or its log fails, it learns of another's change, or it hands over.  Its lease     *)
(* ends with its office, and it may promise like anyone.  It may say so, since it answers nothing in that ballot any more.                      *)
Resign(r) ==
  /\ leading[r] /= 0
  /\ leading' = [leading EXCEPT ![r] = LeadsAfterResigning(r)]
  /\ msgs' = msgs \union {[type |-> "Resigned", ballot |-> leading[r]]}
  /\ UNCHANGED <<clock, ticks, promised, votes, grant, acked, latest, seen, read, stale, members, crashes>>

(* Whoever gave its word to a leader that has given up need not keep it: nobody rests on it any more.  It may come late, or twice. *)
HandleResigned(r, m) ==
  /\ m.type = "Resigned"
  /\ Owner(m.ballot) /= r
  /\ EndsWord(r, m)
  /\ grant' = [grant EXCEPT ![r] = [until |-> clock[r], to |-> Owner(m.ballot)]]
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, msgs, acked, latest, seen, read, stale, members, crashes>>

(* Crash and restart in one: a replica that is down does nothing. Its word is forgotten, its promise is not. *)
Restart(r) ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ leading' = [leading EXCEPT ![r] = 0]
  /\ grant' = [grant EXCEPT ![r] = [until |-> clock[r] + WaitAfterRestart, to |-> 0]]
  /\ read' = [read EXCEPT ![r] = NoRead]
  /\ UNCHANGED <<clock, ticks, promised, votes, msgs, acked, latest, seen, stale, members>>

(* The owner of the first ballot has just been elected by all. *)
Init ==
  /\ clock = [r \in Replicas |-> 1]
  /\ ticks = 0
  /\ promised = [r \in Replicas |-> 1]
  /\ votes = {}
  /\ leading = [r \in Replicas |-> IF r = Owner(1) THEN 1 ELSE 0]
  /\ grant = [r \in Replicas |-> [until |-> 0, to |-> 0]]
  /\ msgs = {}
  /\ acked = [r \in Replicas |-> [q \in Replicas |-> 0]]
  /\ latest = 0
  /\ seen = [r \in Replicas |-> 0]
  /\ read = [r \in Replicas |-> NoRead]
  /\ stale = FALSE
  /\ newest = [version |-> 1, ballots |-> {}]
  /\ counts = [r \in Replicas |-> 1]
  /\ crashes = 0

Next ==
  \/ Tick
  \/ \E r \in Replicas :
       \/ Heartbeat(r) \/ Write(r) \/ Change(r) \/ ChangeAgain(r) \/ Learn(r) \/ AskRead(r) \/ RunRead(r) \/ AnswerRead(r) \/ Resign(r) \/ Restart(r)
       \/ \E m \in msgs : HandleHeartbeat(r, m) \/ HandleHeartbeatAck(r, m) \/ HandleResigned(r, m)
       \/ \E b \in Ballots : GivePromise(r, b) \/ Lead(r, b)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
  /\ \A m \in msgs : m.ballot \in Ballots
  /\ \A r \in Replicas : promised[r] \in Ballots /\ leading[r] \in {0, promised[r]} /\ seen[r] <= latest /\ counts[r] <= newest.version

(* Every answer has all writes that were acknowledged before its read was asked for: reads are linearizable. *)
NoStaleAnswer == ~stale

(* At most one replica holds the lease, and it leads in the highest ballot in which anyone leads. *)
LeaseExcludes ==
  \A r, q \in Replicas : LeaseHeld(r) /\ leading[q] /= 0 => leading[q] <= leading[r]

(* Whoever holds the lease leads on, whoever stands against it: only a crash, or giving up, ends its leadership. *)
LeaseKeepsOffice ==
  [][\A r \in Replicas : LeaseHeld(r) => leading'[r] = leading[r] \/ crashes' /= crashes \/ promised' = promised]_vars

(* Nobody promises before it is asked: whoever asks has promised itself first. *)
VotesWereAskedFor == \A vote \in votes : promised[Owner(vote[2])] >= vote[2]

(* Whoever begins to lead in a ballot has not led in it before: nobody has a message of that leadership. *)
LeadsOnce ==
  [][\A r \in Replicas : leading'[r] \notin {0, leading[r]} =>
       \A m \in msgs : m.type = "Heartbeat" => m.ballot /= leading'[r]]_vars

(* Where nobody gives up of itself, only a higher ballot or a crash ends a leadership: not the leader's own messages. *)
OnlyHigherBallotsDepose ==
  [][\A r \in Replicas : leading[r] /= 0 /\ leading'[r] /= leading[r] => promised'[r] > promised[r] \/ crashes' /= crashes]_vars

(* A replica that comes back, and has given its word to nobody in particular, does not lead, and has no read under way. *)
CrashForgets ==
  [][\A r \in Replicas : grant'[r] /= grant[r] /\ grant'[r].to = 0 => leading'[r] = 0 /\ read'[r] = NoRead]_vars

(* A read is asked for, runs once, and must see the same until it is answered or lost. *)
ReadsRunOnce ==
  [][\A r \in Replicas : read'[r] \notin {read[r], NoRead} =>
       \/ read[r] = NoRead /\ read'[r].phase = "asked"
       \/ read[r].phase = "asked" /\ read'[r].phase = "ran" /\ read'[r].needed = read[r].needed]_vars
=============================================================================
