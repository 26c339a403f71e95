------------------------------- MODULE MCLease -------------------------------
(***************************************************************************)
(* Lease in finite sizes, without each of its rules, and its witnesses.      *)
(* Only replica 1, the first leader, has a client that reads; only replica 2  *)
(* stands against it, and only replica 3 crashes.  A read that is asked for   *)
(* before the first write cannot be stale, so none is.                        *)
(***************************************************************************)
EXTENDS Lease

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

(* The first leader's clock against the two others': the worst case. *)
AgainstLeader == {[r \in Replicas |-> IF r = 1 THEN Slow ELSE Fast], [r \in Replicas |-> IF r = 1 THEN Fast ELSE Slow]}

MCSpec == Init /\ [][MCNext]_vars

(* LeaderLength: no margin for drift. *)
NoMargin == LeaseLength
(* CountedFrom: from when the acknowledgement came. *)
FromReceipt(r, m) == clock[r]
(* WaitAfterRestart: none. *)
NoWait == 0
(* MayAnswer: the lease was checked when the session began, and is not again. *)
CheckedOnce(r) == leading[r] /= 0

(* MayRun, MayAnswer: the lease is checked after the read was asked for, before it runs. *)
CheckedBefore(r) == LeaseHeld(r)
Unchecked(r) == TRUE

(* Witness: the second leader never writes. TLC must refute it. *)
SecondLeaderNeverWrites == latest = 0
(* Witness: the first leader never holds its lease after a tick. *)
NeverHeldForATick == ~(ticks > 0 /\ LeaseHeld(1))
=============================================================================
