----------------------------- MODULE TraceLease -----------------------------
(***************************************************************************)
(* Is a recorded run one that Lease allows?                                 *)
(*                                                                         *)
(* Every step of a run is an action of Lease itself, with the parameters    *)
(* that the event tells, and the state after it is compared with what the   *)
(* event tells of it.  The runner turns events of layer "lease" into steps, *)
(* puts in those that nobody records (Tick, Heartbeat, acknowledgements     *)
(* that no event of their own tells, Change, AskRead), and writes a module  *)
(* that holds `RecordedRuns` as a literal.  What it puts in is judged like  *)
(* the rest: a mistake of the runner can reject a good run, but not accept  *)
(* a bad one.  Fields, and how times become numbers: specs/lease.md.        *)
(*                                                                         *)
(*   a, r: the action and the replica;  c: its clock;  t: true time;        *)
(*   b ballot, s when a message was sent, u until when, q another replica,  *)
(*   p promise, l lease: [b, v, u, k], v version, k what each replica has   *)
(*   acknowledged                                                          *)
(*                                                                         *)
(* Weaker than Lease, and why:                                              *)
(*   - Writes are no events: an answer is held to MayAnswer, and to nobody  *)
(*     else's leading in a higher ballot when it leaves.                    *)
(*   - A clock moves when its replica is looked at, and not before: no      *)
(*     action looks at another's clock.  How far it may, TraceTick says.    *)
(*   - A promise that was not durable is forgotten in a crash (Forget), if   *)
(*     nothing shows that others have counted it (kept).  Whoever lost its   *)
(*     log comes back under another name.                                    *)
(*   - A tick is a tenth of a millisecond.  An answer may be two ticks late,  *)
(*     and what was sent in one tick may be acknowledged more than once.      *)
(***************************************************************************)
EXTENDS Lease, TLC

CONSTANT Runs

VARIABLES
  run,    \* which run this behaviour is of
  at,     \* its next step
  anchor, \* anchor[r]: clock and true time from which r's clock is measured
  kept    \* kept[r]: the highest promise of r of which others knew, so that it was durable

traceVars == <<vars, run, at, anchor, kept>>

(* TLC would evaluate all of `Runs` whenever a step is looked at: it is done once.                                             *)
ASSUME TLCSet(1, Runs)
TheRun == TLCGet(1)[run]
Step == TheRun.steps[at]
LastStep == Len(TheRun.steps)

-----------------------------------------------------------------------------
(* In place of operators of Lease, by the configuration of the run. *)

TraceOwner(b) == TheRun.owners[b]

(* No replica leads in the first state. *)
TraceIsQuorum(S, version) == LET voters == TheRun.voters[version] IN 2 * Cardinality(S \intersect voters) > Cardinality(voters)
AsManyAsThereAre == [i \in 1..10000 |-> {}]

(* What is sent and acknowledged is rounded down to ticks, and so is the clock of an answer that leaves just in time. *)
CodeLength == TLCGet(2)
ASSUME TLCSet(2, TLCGet(1)[1].length)
ASSUME CodeLength * Fast <= LeaseLength * Slow
TraceLeaderLength == CodeLength + 1

Slack == LeaseLength \div 100

-----------------------------------------------------------------------------
(* Clocks of different rates show the same true time: each is between the slowest and the fastest of Slow..Fast around it, over every  *)
(* stretch that is at least as long as a lease.                                                                                *)
IsTrue(clocks, time) ==
  /\ (clocks + Slack) * (Slow + Fast) >= 2 * Slow * time
  /\ (clocks - Slack) * (Slow + Fast) <= 2 * Fast * time

TraceTick ==
  LET r == Step.r
      elapsed == Step.t - anchor[r].t
  IN
  /\ Step.c >= clock[r]
  /\ Step.new \/ IsTrue(Step.c - anchor[r].c, elapsed)
  /\ ticks' = ticks + 1
  /\ clock' = [clock EXCEPT ![r] = Step.c]
  /\ anchor' = IF Step.new \/ elapsed >= LeaseLength THEN [anchor EXCEPT ![r] = [c |-> Step.c, t |-> Step.t]] ELSE anchor
  /\ UNCHANGED <<promised, votes, leading, grant, msgs, acked, latest, seen, read, stale, members, crashes>>

(* What the lease of r rests on, and until when it is held, is as the event tells it.  u: 0 if never. *)
Forever == 2147483647
Reaches(r, ack, version, length, u) == TraceIsQuorum({r} \union {q \in Replicas \ {r} : ack[q] /= 0 /\ ack[q] + length >= u}, version)

IsAsTold(r, lead, count, ack) ==
  LET l == Step.l
      voters == TheRun.voters[l.v]
  IN
  /\ lead[r] = l.b
  /\ count[r] = l.v
  /\ \A q \in Replicas : ack[r][q] = l.k[q] \/ (l.k[q] = 0 /\ q \notin voters)
  /\ CASE l.u = Forever -> TraceIsQuorum({r}, l.v)
       [] l.u = 0 -> ~TraceIsQuorum({r} \union {q \in Replicas : l.k[q] /= 0}, l.v)
       [] OTHER -> Reaches(r, l.k, l.v, CodeLength + 1, l.u) /\ ~Reaches(r, l.k, l.v, CodeLength - 1, l.u + 1)

IsAsToldOrNone(r) == IF Step.l.b = 0 THEN leading[r] = 0 ELSE IsAsTold(r, leading, counts, acked)

Granted(r, g) == g[r] = [until |-> Step.u, to |-> Step.q]

-----------------------------------------------------------------------------
TraceHeartbeat == leading[Step.r] = Step.b /\ clock[Step.r] = Step.s /\ Heartbeat(Step.r)

(* `u`: 0 where a killed process did it, of which no event was kept. *)
TraceHandleHeartbeat ==
  LET m == [type |-> "Heartbeat", ballot |-> Step.b, sentAt |-> Step.s] IN
  /\ m \in msgs
  /\ HandleHeartbeat(Step.r, m)
  /\ Step.u = 0 \/ Granted(Step.r, grant')

(* Of two messages that were sent within one tick the second one counts for no longer.                                                  *)
TraceHandleHeartbeatAck ==
  LET m == [type |-> "HeartbeatAck", from |-> Step.q, ballot |-> Step.b, sentAt |-> Step.s] IN
  /\ m \in msgs
  /\ IF acked[Step.r][Step.q] = Step.s THEN leading[Step.r] = Step.b /\ UNCHANGED vars ELSE HandleHeartbeatAck(Step.r, m)
  /\ "l" \in DOMAIN Step => IsAsTold(Step.r, leading', counts', acked')

TraceGivePromise ==
  /\ GivePromise(Step.r, Step.b)
  /\ Granted(Step.r, grant)
  /\ IsAsToldOrNone(Step.r)

TraceLead == Lead(Step.r, Step.b) /\ IsAsTold(Step.r, leading', counts', acked')

TraceLearn == Learn(Step.r) /\ IsAsTold(Step.r, leading', counts', acked')

TraceResign == leading[Step.r] = Step.b /\ Resign(Step.r)

TraceHandleResigned ==
  LET m == [type |-> "Resigned", ballot |-> Step.b] IN
  /\ m \in msgs
  /\ HandleResigned(Step.r, m)
  /\ Granted(Step.r, grant')

(* A generation of the service begins: all that its sessions read is read in this leadership. *)
TraceBegin == leading[Step.r] = Step.b /\ UNCHANGED vars

(* `b`: the leadership of the generation.  Nobody leads in a higher ballot. *)
TraceAnswerRead ==
  /\ IsAsToldOrNone(Step.r)
  /\ read[Step.r].ballot = Step.b
  /\ AnswerRead(Step.r)
  /\ \A q \in Replicas : leading[q] <= leading[Step.r]

TraceRefuseAnswer ==
  LET r == Step.r IN
  /\ IsAsToldOrNone(r)
  /\ leading[r] = 0 \/ ~Reaches(r, acked[r], counts[r], CodeLength - 1, clock[r] + 1)
  /\ UNCHANGED vars

(* A replica restarts: what it promised last was not durable, and what it would have asked for that it has asked of nobody. *)
TraceForget ==
  /\ promised' = [promised EXCEPT ![Step.r] = Step.p]
  /\ Step.p < promised[Step.r]
  /\ kept[Step.r] <= Step.p
  /\ leading[Step.r] <= Step.p
  /\ votes' = {v \in votes : v[1] = Step.r => v[2] <= Step.p}
  /\ msgs' = {m \in msgs : m.type = "Prepare" /\ Owner(m.ballot) = Step.r => m.ballot <= Step.p}
  /\ UNCHANGED <<clock, ticks, leading, grant, acked, latest, seen, read, stale, members, crashes>>

(* Without the promise of q no majority would have elected whoever leads from now on. *)
IsNeeded(q) == q = Step.r \/ ~TraceIsQuorum({p \in Replicas : <<p, Step.b>> \in votes} \ {q}, newest.version)

(* A candidate asks when its own promise is durable; others answer, and acknowledge, when theirs are. *)
KeptThen ==
  CASE Step.a = "HandleHeartbeatAck" -> [kept EXCEPT ![Step.q] = Max(@, Step.b)]
    [] Step.a = "GivePromise" -> IF Owner(Step.b) = Step.r THEN kept ELSE [kept EXCEPT ![Owner(Step.b)] = Max(@, Step.b)]
    [] Step.a = "Lead" -> [q \in Replicas |-> IF IsNeeded(q) THEN Max(kept[q], Step.b) ELSE kept[q]]
    [] OTHER -> kept

TraceRestart ==
  /\ Restart(Step.r)
  /\ Granted(Step.r, grant')
  /\ promised[Step.r] = Step.p

(* Messages that nobody takes any more: fewer of them allow less. *)
TraceLose ==
  /\ msgs' = {m \in msgs : m.type \in {"Prepare", "Resigned"} \/ m.sentAt >= Step.f[m.ballot]}
  /\ UNCHANGED <<clock, ticks, promised, votes, leading, grant, acked, latest, seen, read, stale, members, crashes>>

-----------------------------------------------------------------------------
(* Nobody has promised anything, and nobody leads. *)
TraceInit ==
  /\ run \in 1..Len(Runs)
  /\ at = 1
  /\ anchor = [r \in Replicas |-> [c |-> 0, t |-> 0]]
  /\ kept = [r \in Replicas |-> 0]
  /\ clock = [r \in Replicas |-> 0]
  /\ ticks = 0
  /\ promised = [r \in Replicas |-> 0]
  /\ votes = {}
  /\ leading = [r \in Replicas |-> 0]
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

Do ==
  \/ Step.a = "Heartbeat" /\ TraceHeartbeat
  \/ Step.a = "HandleHeartbeat" /\ TraceHandleHeartbeat
  \/ Step.a = "HandleHeartbeatAck" /\ TraceHandleHeartbeatAck
  \/ Step.a = "GivePromise" /\ TraceGivePromise
  \/ Step.a = "Lead" /\ TraceLead
  \/ Step.a = "Change" /\ leading[Step.r] = Step.b /\ Change(Step.r)
  \/ Step.a = "ChangeAgain" /\ leading[Step.r] = Step.b /\ ChangeAgain(Step.r)
  \/ Step.a = "Learn" /\ TraceLearn
  \/ Step.a = "Resign" /\ TraceResign
  \/ Step.a = "HandleResigned" /\ TraceHandleResigned
  \/ Step.a = "Begin" /\ TraceBegin
  \/ Step.a = "AskRead" /\ AskRead(Step.r)
  \/ Step.a = "RunRead" /\ RunRead(Step.r)
  \/ Step.a = "AnswerRead" /\ TraceAnswerRead
  \/ Step.a = "RefuseAnswer" /\ TraceRefuseAnswer
  \/ Step.a = "Forget" /\ TraceForget
  \/ Step.a = "Restart" /\ TraceRestart
  \/ Step.a = "Lose" /\ TraceLose

TraceNext ==
  /\ at <= LastStep
  /\ IF Step.a = "Tick" THEN TraceTick ELSE Do /\ UNCHANGED anchor
  /\ kept' = KeptThen
  /\ at' = at + 1
  /\ UNCHANGED run

TraceSpec == TraceInit /\ [][TraceNext]_traceVars

TraceView == <<run, at>>

(* Printed for each step: how far a run got.  A run is accepted if it got beyond its last step. *)
Reached == PrintT(<<"reached", run, at>>)
=============================================================================
