-------------------------- MODULE TraceOrderedApply --------------------------
(***************************************************************************)
(* Is a recorded run of ordered apply one that OrderedApply allows?         *)
(*                                                                          *)
(* A recorded run has thousands of slots and no row values, so this module  *)
(* keeps of OrderedApply's state what the events tell, per replica: the     *)
(* pointer, the set above it, and how far it is durable.  The runner        *)
(* turns events of layer "apply" into steps, in the order of their times,   *)
(* and writes a module that holds them as a literal: a sequence of runs,    *)
(* each a sequence of records.                                              *)
(*                                                                          *)
(*   a, and further fields            from                                  *)
(*   "Choose"            s, l         the first consensus event that shows  *)
(*                                    slot s chosen (commit point at or     *)
(*                                    above it, or a quorum of votes), with *)
(*                                    its label; before all uses of s       *)
(*   "Harvest"           r, l         the event of that name                *)
(*   "CommitChosen"      r, s, l      the event of that name                *)
(*   "MovePointer"       r, to        applicationPointer                    *)
(*   "ApplyBatch"        r, from, to, fromSlot, toSlot; applied as a        *)
(*                       applied      sequence of <<slot, label>>           *)
(*   "FlushDatabase"     r, to        durableApplicationPointer             *)
(*   "AbortTransaction"  r, l         the event of that name                *)
(*   "DatabaseDown"      r            the event, and also before the first  *)
(*                                    event of every run of a process but   *)
(*                                    the first: killed, it recorded none   *)
(*   "DatabaseLost"      r            the event RecoveryPhase with phase    *)
(*                                    "copying": nothing of it is used any  *)
(*                                    more; another replica's copy comes up *)
(*   "DatabaseUp"        r, to,       applicationPointer; above as a        *)
(*                       above,       sequence of slots; prepared: slots    *)
(*                       prepared     that are in as transactions only      *)
(*                                                                          *)
(* Slots are numbers, from 1; labels strings; replicas strings.             *)
(*                                                                          *)
(* Where this is weaker than equality, and why:                             *)
(*   - After a crash the database holds at least what was durable and at    *)
(*     most what was chosen, rather than a prefix of its commits: two       *)
(*     sessions' events need not be in the order of their commit records,   *)
(*     and a killed process leaves its last commits unrecorded.             *)
(*   - A flush vouches for the pointer only, not for the set above it:       *)
(*     commits may have come between the flush and its event.  A pointer     *)
(*     may be flushed before the event of its move is recorded.              *)
(*   - A slot that nobody commits or applies has no effect (a no-op, a      *)
(*     leader's start, a part, a stale or repeated proposal).  The first    *)
(*     replica to pass over it decides that, and all others must agree.     *)
(*   - Row locks, sequences, purging: the events do not tell.               *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

VARIABLES
  run,        \* which run of the literal this behaviour is of
  at,         \* its next step
  label,      \* label[s]: the entry chosen in slot s
  effective,  \* slots that some replica has committed or applied
  idle,       \* slots that some replica has passed over
  pointer, above, durable, up,  \* by replica
  aborted     \* [replica, label]: rolled back

traceVars == <<run, at, label, effective, idle, pointer, above, durable, up, aborted>>

Replicas(steps) == {steps[i].r : i \in {j \in 1..Len(steps) : "r" \in DOMAIN steps[j]}}

TraceInit(Runs) ==
  /\ run \in 1..Len(Runs)
  /\ at = 1
  /\ label = <<>>
  /\ effective = {}
  /\ idle = {}
  /\ aborted = {}
  /\ LET R == Replicas(Runs[run])
     IN  /\ pointer = [r \in R |-> 0]
         /\ above = [r \in R |-> {}]
         /\ durable = [r \in R |-> 0]
         /\ up = [r \in R |-> TRUE]

IsChosen(s) == s \in DOMAIN label
IsIn(r, s) == s <= pointer[r] \/ s \in above[r]

(* Slot s takes effect: it is chosen, no replica has passed over it, and no other slot has had the same effect. *)
TakesEffect(s, l) ==
  /\ IsChosen(s)
  /\ label[s] = l
  /\ s \notin idle
  /\ s \in effective \/ \A u \in effective : label[u] # l

(* Those of the slots that are not in `done`, nor in the database already, have no effect. *)
PassesOver(r, slots, done) ==
  LET passed == {s \in slots : s \notin done /\ ~IsIn(r, s)}
  IN  /\ \A s \in passed : IsChosen(s) /\ s \notin effective
      /\ idle' = idle \cup passed

Choose(e) ==
  /\ ~IsChosen(e.s)
  /\ label' = (e.s :> e.l) @@ label
  /\ UNCHANGED <<effective, idle, pointer, above, durable, up, aborted>>

Harvest(e) ==
  /\ up[e.r]
  /\ [r |-> e.r, l |-> e.l] \notin aborted
  /\ UNCHANGED <<label, effective, idle, pointer, above, durable, up, aborted>>

AbortTransaction(e) ==
  /\ aborted' = aborted \cup {[r |-> e.r, l |-> e.l]}
  /\ UNCHANGED <<label, effective, idle, pointer, above, durable, up>>

CommitChosen(e) ==
  /\ up[e.r]
  /\ ~IsIn(e.r, e.s)
  /\ TakesEffect(e.s, e.l)
  /\ [r |-> e.r, l |-> e.l] \notin aborted
  /\ effective' = effective \cup {e.s}
  /\ above' = [above EXCEPT ![e.r] = @ \cup {e.s}]
  /\ UNCHANGED <<label, idle, pointer, durable, up, aborted>>

ForgetBelow(r, to) ==
  /\ pointer' = [pointer EXCEPT ![r] = to]
  /\ above' = [above EXCEPT ![r] = {s \in @ : s > to}]

MovePointer(e) ==
  /\ up[e.r]
  /\ e.to > pointer[e.r]
  /\ PassesOver(e.r, (pointer[e.r] + 1)..e.to, {})
  /\ ForgetBelow(e.r, e.to)
  /\ UNCHANGED <<label, effective, durable, up, aborted>>

ApplyBatch(e) ==
  LET done == {e.applied[i][1] : i \in 1..Len(e.applied)}
  IN  /\ up[e.r]
      /\ e.from = pointer[e.r] + 1
      /\ e.to >= e.from
      /\ done \subseteq e.from..e.to
      /\ \A i \in 1..Len(e.applied) :
           /\ i > 1 => e.applied[i][1] > e.applied[i - 1][1]
           /\ ~IsIn(e.r, e.applied[i][1])
           /\ TakesEffect(e.applied[i][1], e.applied[i][2])
           /\ \A j \in 1..(i - 1) : e.applied[j][2] # e.applied[i][2]
      /\ PassesOver(e.r, e.from..e.to, done)
      /\ effective' = effective \cup done
      /\ ForgetBelow(e.r, e.to)
      /\ UNCHANGED <<label, durable, up, aborted>>

FlushDatabase(e) ==
  /\ up[e.r]
  /\ durable[e.r] <= e.to
  /\ \A s \in (pointer[e.r] + 1)..e.to : IsChosen(s) /\ (s \in effective => IsIn(e.r, s))
  /\ durable' = [durable EXCEPT ![e.r] = e.to]
  /\ UNCHANGED <<label, effective, idle, pointer, above, up, aborted>>

DatabaseDown(e) ==
  /\ up' = [up EXCEPT ![e.r] = FALSE]
  /\ UNCHANGED <<label, effective, idle, pointer, above, durable, aborted>>

DatabaseLost(e) ==
  /\ up' = [up EXCEPT ![e.r] = FALSE]
  /\ pointer' = [pointer EXCEPT ![e.r] = 0]
  /\ above' = [above EXCEPT ![e.r] = {}]
  /\ durable' = [durable EXCEPT ![e.r] = 0]
  /\ UNCHANGED <<label, effective, idle, aborted>>

(* Without a DatabaseDown before it nothing may be missing: the replica only asked again (it is no longer leader, perhaps). *)
DatabaseUp(e) ==
  LET r == e.r
      extra == {e.above[i] : i \in 1..Len(e.above)} \cup {e.prepared[i] : i \in 1..Len(e.prepared)}
      least == IF up[r] THEN pointer[r] ELSE durable[r]
  IN  /\ \A s \in (e.to + 1)..least : s \in extra
      /\ ~up[r] \/ \A s \in above[r] : s <= e.to \/ s \in extra
      /\ \A s \in (pointer[r] + 1)..e.to : IsChosen(s)
      /\ \A s \in extra : s > e.to /\ IsChosen(s) /\ s \notin idle
      /\ effective' = effective \cup extra
      /\ pointer' = [pointer EXCEPT ![r] = e.to]
      /\ above' = [above EXCEPT ![r] = extra]
      /\ up' = [up EXCEPT ![r] = TRUE]
      /\ UNCHANGED <<label, idle, durable, aborted>>

Do(e) ==
  \/ e.a = "Choose" /\ Choose(e)
  \/ e.a = "Harvest" /\ Harvest(e)
  \/ e.a = "CommitChosen" /\ CommitChosen(e)
  \/ e.a = "MovePointer" /\ MovePointer(e)
  \/ e.a = "ApplyBatch" /\ ApplyBatch(e)
  \/ e.a = "FlushDatabase" /\ FlushDatabase(e)
  \/ e.a = "AbortTransaction" /\ AbortTransaction(e)
  \/ e.a = "DatabaseDown" /\ DatabaseDown(e)
  \/ e.a = "DatabaseLost" /\ DatabaseLost(e)
  \/ e.a = "DatabaseUp" /\ DatabaseUp(e)

TraceNext(Runs) ==
  /\ at <= Len(Runs[run])
  /\ Do(Runs[run][at])
  /\ at' = at + 1
  /\ UNCHANGED run

(* Printed once for each run that is matched to its end. *)
Progress(Runs) == at > Len(Runs[run]) => PrintT(<<"matched", run>>)

(* Printed for each step: how far a run got that is not. *)
EachStep == PrintT(<<"reached", run, at>>)
=============================================================================
