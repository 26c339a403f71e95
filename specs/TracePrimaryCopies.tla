------------------------ MODULE TracePrimaryCopies ------------------------
(*****************************************************************************)
(* Is a recorded run one that PrimaryCopies allows?                           *)
(*                                                                           *)
(* Every step of a run is an action of PrimaryCopies itself, with what the    *)
(* event tells, and the state after it is compared with what the event tells  *)
(* of it.  A group of records that became durable together is a step for each *)
(* of them; so is each that survived a crash unseen.                          *)
(*                                                                           *)
(*   a, r: the action and the replica;  e: epoch, as a number;  s, t: slots;   *)
(*   l level, w whom it waited for;  b: the log is large;                      *)
(*   c: what is compared afterwards, or nothing: [n last slot, f its epoch,    *)
(*      m matched, k must be copied, d executed, o state]                      *)
(*                                                                           *)
(* Weaker than PrimaryCopies: a promise that was written before a crash may be *)
(* on the disk though nobody was asked for it (MayFind), and what a database   *)
(* was given and has not executed is lost in a crash (Crash, with s).           *)
(*****************************************************************************)
EXTENDS PrimaryCopies, TLC

CONSTANT Runs

VARIABLES run, at
traceVars == <<vars, run, at>>

TheRun == Runs[run]
Step == TheRun[at]

FindAnything(r, e) == TRUE
ZeroIsNobody == 0
IsToldLarge(r) == Step.b
AllThatReplicate == {"async", "majority", "semi", "sync"}

Act(r, e) ==
  \/ Step.a = "SuspectPrimary" /\ SuspectPrimary(r, e)
  \/ Step.a = "GiveWord" /\ GiveWord(r, e)
  \/ Step.a = "TakeOver" /\ TakeOver(r, e) /\ Step.s = Len(log'[r])
  \/ Step.a = "LogOperation" /\ LogOperation(r) /\ Step.s = Len(log'[r]) /\ e = Promised(r)
  \/ Step.a = "ReceiveOperations" /\ Step.t <= Len(ledger[e]) /\ ReceiveOperations(r, e, Step.s, Step.t)
  \/ Step.a = "Fsync" /\ Fsync(r)
  \/ Step.a = "PushToDatabase" /\ PushToDatabase(r) /\ Step.s = Len(db'[r])
  \/ Step.a = "TellReceived" /\ e = promised[r] /\ TellReceived(r, Step.s, Step.t)
  \/ Step.a = "Acknowledge" /\ e = Promised(r) /\ Acknowledge(r, Step.s, Step.l, Step.w)
  \/ Step.a = "StepBack" /\ StepBack(r)
  \/ Step.a = "RejoinAsStandby" /\ e = Promised(r) /\ RejoinAsStandby(r)
  \/ Step.a = "AdvanceSettled" /\ e = Promised(r) /\ AdvanceSettled(r, Step.s)
  \/ Step.a = "Purge" /\ Purge(r, Step.s)
  \/ Step.a = "PausePrimary" /\ PausePrimary(r) /\ Step.s = Len(db[r])
  \/ Step.a = "TransferState" /\ \E copy \in copies : copy.epoch = e /\ copy.executed = Step.s /\ TransferState(r, copy)
  \/ Step.a = "BeginAnew" /\ BeginAnew(r)
  \/ Step.a = "Crash" /\ Crash(r, e, Step.s)
  \/ Step.a = "Restart" /\ e = promised[r] /\ Restart(r)

IsAsTold(r) ==
  IF Step.c = <<>> THEN TRUE ELSE
  LET c == Step.c[1] IN
     /\ Len(log'[r]) = c.n /\ LastEpoch(log'[r]) = c.f
     /\ matched'[r] = c.m /\ mustCopy'[r] = c.k /\ Len(db'[r]) = c.d /\ state'[r] = c.o

TraceInit == Init /\ run \in 1..Len(Runs) /\ at = 1
TraceNext ==
  /\ at <= Len(TheRun)
  /\ Act(Step.r, Step.e)
  /\ IsAsTold(Step.r)
  /\ at' = at + 1 /\ run' = run
TraceSpec == TraceInit /\ [][TraceNext]_traceVars
TraceView == <<run, at>>

(* How far a run got: what the judge prints. *)
Reached == PrintT(<<"reached", run, at>>)
=============================================================================
