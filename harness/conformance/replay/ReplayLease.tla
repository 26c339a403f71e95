---------------------------- MODULE ReplayLease ----------------------------
(***************************************************************************)
(* Behaviours of Lease that the core of the server can be led through, step  *)
(* by step (see lease/replay-lease.ts).  It takes away choices that the core   *)
(* does not have, and nothing else:                                         *)
(*   - Who was elected leads only if it has not crashed since it stood: what    *)
(*     a candidate was promised is forgotten with its process.                *)
(*   - A candidate's ballot is the next one that is its own.                  *)
(* Nobody writes or reads, and the members stay: what is read, and what         *)
(* changes, is held to the spec by traces.                                   *)
(* Rarely makes some steps less likely, so that behaviours get somewhere.      *)
(***************************************************************************)
EXTENDS Lease, TLC

VARIABLES
  act,      \* the step that was taken last
  stands,   \* stands[r]: the ballot in which r stands; 0 if in none
  forbids,  \* forbids[r]: those to whom r must promise nothing now
  holds     \* holds[r]: r leads, and holds its lease

replayed == <<act, stands, forbids, holds>>

Rarely(k) == RandomElement(1..k) = 1
AllAlways == <<Replicas>>
(* Of all the ways in which clocks can move one, or time would pass in most steps. *)
AnyStep == {RandomElement([Replicas -> Slow..Fast])}

Takes(name, r, m) == act' = [name |-> name, replica |-> r, from |-> m.from, ballot |-> m.ballot, sentAt |-> m.sentAt]
Nobodys(b) == [from |-> 0, ballot |-> b, sentAt |-> 0]
Of(m) == [from |-> IF m.type = "HeartbeatAck" THEN m.from ELSE Owner(m.ballot), ballot |-> m.ballot, sentAt |-> m.sentAt]
Stands(r, b) == stands' = [stands EXCEPT ![r] = b]
NextOwn(r) == CHOOSE b \in promised[r]+1..promised[r]+Cardinality(Replicas) : Owner(b) = r

(* Late ones are heard, too, but seldom. *)
IsRecent(m) == clock[Owner(m.ballot)] < m.sentAt + LeaseLength

Begins(r) == LET b == NextOwn(r) IN
  b <= LastBallot /\ GivePromise(r, b) /\ Stands(r, b) /\ Takes("GivePromise", r, Nobodys(b))
Promises(r) == \E m \in msgs :
  /\ m.type = "Prepare" /\ Owner(m.ballot) /= r
  /\ GivePromise(r, m.ballot) /\ Stands(r, 0) /\ Takes("GivePromise", r, Nobodys(m.ballot))
Leads(r) == Lead(r, stands[r]) /\ Stands(r, 0) /\ Takes("Lead", r, Nobodys(stands[r]))
Hears(r) == \E m \in msgs :
  /\ m.type = "Heartbeat" /\ (IsRecent(m) \/ Rarely(8))
  /\ HandleHeartbeat(r, m) /\ Takes("HandleHeartbeat", r, Of(m))
  /\ Stands(r, IF m.ballot > stands[r] THEN 0 ELSE stands[r])
Counts(r) == \E m \in msgs :
  /\ m.type = "HeartbeatAck" /\ (IsRecent(m) \/ Rarely(8))
  /\ HandleHeartbeatAck(r, m) /\ Takes("HandleHeartbeatAck", r, Of(m)) /\ UNCHANGED stands

(* What is said of a word that is over is heard, too. *)
HearsEnd(r) == \E m \in msgs :
  /\ m.type = "Resigned" /\ Rarely(3)
  /\ HandleResigned(r, m) /\ Takes("HandleResigned", r, [from |-> Owner(m.ballot), ballot |-> m.ballot, sentAt |-> 0]) /\ UNCHANGED stands

Inputs(r) ==
  \/ Rarely(6) /\ Begins(r)
  \/ Promises(r) \/ Leads(r) \/ Hears(r) \/ Counts(r) \/ HearsEnd(r)
  \/ Heartbeat(r) /\ Takes("Heartbeat", r, [from |-> 0, ballot |-> leading[r], sentAt |-> clock[r]]) /\ UNCHANGED stands
  \/ Rarely(20) /\ Resign(r) /\ Takes("Resign", r, Nobodys(leading[r])) /\ UNCHANGED stands
  \/ Rarely(20) /\ Restart(r) /\ Takes("Restart", r, Nobodys(0)) /\ Stands(r, 0)

ReplayInit ==
  /\ Init
  /\ act = [name |-> "Init", replica |-> 0, from |-> 0, ballot |-> 0, sentAt |-> 0]
  /\ stands = [r \in Replicas |-> 0]
  /\ forbids = [r \in Replicas |-> {}]
  /\ holds = [r \in Replicas |-> FALSE]

ReplayNext ==
  /\ \/ Tick /\ Takes("Tick", 0, Nobodys(0)) /\ UNCHANGED stands
     \/ \E r \in Replicas : Inputs(r)
  /\ forbids' = [r \in Replicas |-> {q \in Replicas : Forbids(r, q)'}]
  /\ holds' = [r \in Replicas |-> LeaseHeld(r)']

ReplaySpec == ReplayInit /\ [][ReplayNext]_<<vars, replayed>>
=============================================================================
