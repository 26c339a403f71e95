----------------------------- MODULE TracePaxos -----------------------------
(***************************************************************************)
(* Is a recorded run of a group of single-decree Paxos a behaviour of Paxos? *)
(*                                                                         *)
(* harness/paxos turns the events of a simulated group into `events`: each   *)
(* is the action that the core says it took, with its parameters, and what   *)
(* the replica knew afterwards.  A run is accepted if each event is a step   *)
(* of Paxos, in the order of the recording, and leads to what was recorded.  *)
(*                                                                         *)
(* What is not compared: what a core has dropped from memory (it is decided  *)
(* and the log has it), timers, and messages: that a message was sent must   *)
(* follow from the steps before.  A crash leaves what the recording says was *)
(* flushed.  What a message tells of `done` may be old, or be what a         *)
(* database had that was lost since: it is held to what was ever done.       *)
(***************************************************************************)
EXTENDS Paxos, TLC

VARIABLES
  step,   \* the event that comes next
  most    \* most[r]: the most that r's database ever had

traceVars == <<vars, step, most>>

TraceInit == Init /\ step = 1 /\ most = [r \in Replicas |-> 0]

(* Put in the place of ToldDone. *)
EverDone(q) == 1..most[q]

Take(e) ==
  \/ e.name = "Propose" /\ Propose(e.replica, e.slot, e.entry)
  \/ e.name = "StartBallot" /\ StartBallot(e.replica, e.slot, e.ballot)
  \/ e.name = "StartAccept" /\ StartAccept(e.replica, e.slot, e.promisers)
  \/ e.name = "Decide" /\ Decide(e.replica, e.slot)
  \/ e.name = "HandleReject" /\ HandleReject(e.replica, e.slot)
  \/ e.name = "HandlePrepare" /\ HandlePrepare(e.replica, e.slot, e.ballot)
  \/ e.name = "HandleAccept" /\ HandleAccept(e.replica, e.slot, e.ballot)
  \/ e.name = "HandleLearn" /\ HandleLearn(e.replica, e.slot, e.ballot)
  \/ e.name = "HandleCatchUpReply" /\ HandleCatchUpReply(e.replica, e.slot)
  \/ e.name = "Apply" /\ Apply(e.replica)
  \/ e.name = "HandleDone" /\ HandleDone(e.replica, e.from, e.upTo)
  \/ e.name = "Purge" /\ Purge(e.replica, e.upTo)
  \/ e.name = "Restored" /\ Restored(e.replica, e.upTo)
  \/ e.name = "LoseDatabase" /\ LoseDatabase(e.replica)
  \/ e.name = "Fsync" /\ Fsync(e.replica, e.records)
  \/ e.name = "Crash" /\ Crash(e.replica, e.upTo)
  \/ e.name = "Restart" /\ Restart(e.replica)

(* What the replica says that a slot holds. *)
Holds(r, x) ==
  /\ promised'[r][x.slot] = x.promised
  /\ log'[r][x.slot] = [ballot |-> x.ballot, entry |-> x.entry]
  /\ (x.slot \in decided'[r]) = x.decided
  /\ own'[r][x.slot] = x.own
  /\ open'[r][x.slot].phase = x.phase

(* Slots that it does not speak of, above its commit point, hold nothing. *)
Agrees(e) ==
  LET r == e.replica
      told == {e.slots[i].slot : i \in 1..Len(e.slots)}
  IN /\ purged'[r] = e.purged
     /\ PrefixOf(purged'[r], decided'[r]) = e.commitPoint
     /\ \A i \in 1..Len(e.slots) : Holds(r, e.slots[i])
     /\ \A s \in (e.commitPoint + 1)..MaxSlot : s \in told \/ (promised'[r][s] = NoBallot /\ log'[r][s] = Empty)

TraceNext(events) ==
  /\ step <= Len(events)
  /\ LET e == events[step]
     IN /\ Take(e)
        /\ e.says => Agrees(e)
  /\ step' = step + 1
  /\ most' = [r \in Replicas |-> IF done'[r] > most[r] THEN done'[r] ELSE most[r]]

(* Prints how far the run was followed. *)
Progress == PrintT(step)
=============================================================================
