---------------------------- MODULE StatementEnds ----------------------------
(*****************************************************************************)
(* A statement that lasts too long fails at all replicas or at none.         *)
(*                                                                           *)
(* One statement of StatementApply's log, which each replica executes in its *)
(* turn. It may last, at one replica and not at another, and it may have no  *)
(* end at all. Whoever finishes it goes on and answers clients: that cannot  *)
(* be undone. So it fails only where nobody has finished it and nobody will: *)
(* a replica gives it up (a durable promise), says "hold" in the log, and    *)
(* waits there for what the log says: that it fails, once all replicas hold  *)
(* it, or "go on", which who has finished it says, and anybody who is tired  *)
(* of waiting. Whichever comes first in the log counts.                      *)
(*                                                                           *)
(* A crash may take back what a replica has finished and answered for: from  *)
(* then on it may not give the statement up, unless it has written down that *)
(* it lasts, and had not finished it.                                        *)
(*                                                                           *)
(* Shown: no two replicas, and no replica in two lives, answer differently.  *)
(*****************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Replica, MaxCrashes

VARIABLES
  log,       \* what is said of the statement, behind it in the log
  at,        \* "runs", "finished", "failed", or "held": it waits for the log
  promised,  \* durable: it does not finish the statement without a word
  lasts,     \* durable: the statement lasts here, and is not finished
  mayHave,   \* it may have finished the statement in an earlier life
  told,      \* outcomes that clients of each replica have ever heard
  crashes

vars == <<log, at, promised, lasts, mayHave, told, crashes>>

Hold(r) == <<"hold", r>>
GoOnWord == <<"goOn">>

IsSaid(word) == \E i \in DOMAIN log : log[i] = word

(* How many of the first words of the log it takes until all hold it, or one says to go on. *)
HoldsIn(length) == {r \in Replica : \E i \in 1..length : log[i] = Hold(r)}
Suffices(holding) == holding = Replica
FailsAt(length) == Suffices(HoldsIn(length))
GoesOnAt(length) == \E i \in 1..length : log[i] = GoOnWord
Verdict ==
  IF \E n \in 0..Len(log) : FailsAt(n) /\ ~GoesOnAt(n) THEN "fails"
  ELSE IF GoesOnAt(Len(log)) THEN "goesOn" ELSE "open"

-----------------------------------------------------------------------------
Init ==
  /\ log = <<>>
  /\ at = [r \in Replica |-> "runs"]
  /\ promised = [r \in Replica |-> FALSE]
  /\ lasts = [r \in Replica |-> FALSE]
  /\ mayHave = [r \in Replica |-> FALSE]
  /\ told = [r \in Replica |-> {}]
  /\ crashes = 0

(* Who was told to go on runs it again; a promise without a word keeps it from here (a restart leads to "held"). *)
Finish(r) ==
  /\ at[r] = "runs"
  /\ at' = [at EXCEPT ![r] = "finished"]
  /\ lasts' = [lasts EXCEPT ![r] = FALSE]
  /\ told' = [told EXCEPT ![r] = @ \cup {"finished"}]
  /\ UNCHANGED <<log, promised, mayHave, crashes>>

Last(r) ==
  /\ at[r] = "runs" /\ ~mayHave[r] /\ ~lasts[r]
  /\ lasts' = [lasts EXCEPT ![r] = TRUE]
  /\ UNCHANGED <<log, at, promised, mayHave, told, crashes>>

GiveUp(r) ==
  /\ at[r] = "runs" /\ ~mayHave[r] /\ ~promised[r]
  /\ promised' = [promised EXCEPT ![r] = TRUE]
  /\ at' = [at EXCEPT ![r] = "held"]
  /\ UNCHANGED <<log, lasts, mayHave, told, crashes>>

Say(word) == ~IsSaid(word) /\ log' = Append(log, word) /\ UNCHANGED <<at, promised, lasts, mayHave, told, crashes>>

(* Some time later, perhaps in another life. *)
SayHold(r) == promised[r] /\ Say(Hold(r))

SayGoOn(r) == at[r] \in {"finished", "held"} /\ (\E q \in Replica : IsSaid(Hold(q))) /\ Say(GoOnWord)

Decide(r) ==
  /\ at[r] = "held"
  /\ Verdict # "open"
  /\ at' = [at EXCEPT ![r] = IF Verdict = "fails" THEN "failed" ELSE "runs"]
  /\ told' = [told EXCEPT ![r] = IF Verdict = "fails" THEN @ \cup {"failed"} ELSE @]
  /\ UNCHANGED <<log, promised, lasts, mayHave, crashes>>

KeepsPromise(r) == promised[r]
MayHaveFinished(r) == ~lasts[r]

(* It comes back to the statement. *)
Crash(r) ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ promised' = [promised EXCEPT ![r] = KeepsPromise(r)]
  /\ mayHave' = [mayHave EXCEPT ![r] = MayHaveFinished(r)]
  /\ at' = [at EXCEPT ![r] = IF KeepsPromise(r) THEN "held" ELSE "runs"]
  /\ UNCHANGED <<log, lasts, told>>

Next == \E r \in Replica : Finish(r) \/ Last(r) \/ GiveUp(r) \/ SayHold(r) \/ SayGoOn(r) \/ Decide(r) \/ Crash(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
Agreement == Cardinality(UNION {told[r] : r \in Replica}) < 2
=============================================================================
