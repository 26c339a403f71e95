--------------------------- MODULE StatementApply ---------------------------
(*****************************************************************************)
(* Statements over a replicated log: each replica executes the operations of *)
(* clients in slot order in a database of its own, goes on after a crash     *)
(* from its application pointer, or takes a copy.                            *)
(*                                                                           *)
(* The log is chosen and does not change (Consensus). What a statement       *)
(* writes depends on what it sees: here, how many rows are committed.        *)
(* Whoever executes it at another place of the log writes something else.    *)
(* Commits of a database are durable in their order, some time later: a      *)
(* crash leaves one of the images since the last flush. An image has the     *)
(* pointer, for that is advanced in the transaction that writes the rows,    *)
(* and how many transactions were open behind it.                            *)
(*                                                                           *)
(* A pause that is agreed on brings a moment of rest, at which nothing is    *)
(* open: what would begin a transaction is held back until then, or until    *)
(* it is agreed that nobody waits any longer.                                *)
(*                                                                           *)
(* Shown: a replica that executes has what executing the log up to its       *)
(* pointer makes of nothing; each request is executed once; a copy that a    *)
(* replica keeps of its own database, made at a moment of rest, always helps *)
(* it, and others.                                                           *)
(*****************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Replica, Session, Kinds, MaxSlot, MaxCrashes

VARIABLES
  log,      \* chosen operations
  states,   \* what executing them makes of nothing: after none, after the first, ... (follows from the log)
  memory,   \* what each replica's sessions and database are now
  done,     \* its pointer, in memory
  db,       \* images of the database that a crash may leave, the newest last
  mode,     \* "executes", or "lost": only a copy helps
  kept,     \* the copy that each replica keeps of its own database: an image, or NoCopy
  copied,   \* "none", "helped", "useless": what the last copy came to
  crashes

vars == <<log, states, memory, done, db, mode, kept, copied, crashes>>

(* "whole" begins a transaction, writes and commits. *)
AllKinds == {"auto", "begin", "write", "commit", "rollback", "whole"}
ASSUME Kinds \subseteq AllKinds

OfNobody(kind) == [kind |-> kind, session |-> "nobody", seq |-> 0]
Pause == OfNobody("pause")
Resume == OfNobody("resume")

(* seqs: of requests that have come; those that are held back have not been executed. *)
Nothing ==
  [rows |-> <<>>,
   seqs |-> [s \in Session |-> 0],
   inBlock |-> [s \in Session |-> FALSE],
   pending |-> [s \in Session |-> <<>>],
   pausing |-> FALSE,
   held |-> <<>>]

-----------------------------------------------------------------------------
(* What an operation does. *)

(* A request that was executed before is answered, not executed. *)
IsNew(state, op) == op.seq > state.seqs[op.session]

Written(state, op) == <<op.session, op.seq, Len(state.rows)>>

Run(state, op) ==
  LET s == op.session
      told == [state EXCEPT !.seqs[s] = op.seq]
      ended == [told EXCEPT !.inBlock[s] = FALSE, !.pending[s] = <<>>]
  IN CASE op.kind \in {"auto", "whole"} /\ ~state.inBlock[s] -> [told EXCEPT !.rows = Append(@, Written(state, op))]
       [] op.kind = "begin" /\ ~state.inBlock[s] -> [told EXCEPT !.inBlock[s] = TRUE]
       [] op.kind = "write" /\ state.inBlock[s] -> [told EXCEPT !.pending[s] = Append(@, Written(state, op))]
       [] op.kind = "commit" /\ state.inBlock[s] -> [ended EXCEPT !.rows = @ \o state.pending[s]]
       [] op.kind = "rollback" /\ state.inBlock[s] -> ended
       [] OTHER -> told

OpenIn(state) == Cardinality({s \in Session : state.inBlock[s]})

IsHeldBack(state, op) == state.pausing /\ op.kind \in {"begin", "whole"} /\ ~state.inBlock[op.session]

HoldBack(state, op) == [state EXCEPT !.seqs[op.session] = op.seq, !.held = Append(@, op)]

Step(state, op) ==
  CASE op.kind = "pause" -> [state EXCEPT !.pausing = TRUE]
    [] op.kind = "resume" -> [state EXCEPT !.pausing = FALSE]
    [] OTHER -> IF ~IsNew(state, op) THEN state
                ELSE IF IsHeldBack(state, op) THEN HoldBack(state, op)
                ELSE Run(state, op)

(* The moment that a pause is for; behind it what was held back goes on, in slot order, before the next slot. *)
IsAtRest(state) == state.pausing /\ OpenIn(state) = 0
IsGoingOn(state) == ~state.pausing /\ state.held # <<>>
EndOfPause(state) == [state EXCEPT !.pausing = FALSE]
RunHeld(state) == Run([state EXCEPT !.held = Tail(@)], Head(state.held))

RECURSIVE Settled(_)
Settled(state) == IF IsAtRest(state) THEN Settled(EndOfPause(state))
                  ELSE IF IsGoingOn(state) THEN Settled(RunHeld(state))
                  ELSE state

After(slot) == states[slot + 1]

-----------------------------------------------------------------------------
(* What of it is in the database. *)

IsWaiting(state, s) == \E index \in DOMAIN state.held : state.held[index].session = s

(* The seq of a request travels with what it has done. *)
SeqsDone(state) == [s \in Session |-> IF IsWaiting(state, s) THEN state.seqs[s] - 1 ELSE state.seqs[s]]

(* What is held back has begun for its client: a crash would lose it. *)
HeldCount(state) == Len(state.held)

Image(state, pointer) ==
  [rows |-> state.rows, seqs |-> SeqsDone(state), pointer |-> pointer, open |-> OpenIn(state) + HeldCount(state), held |-> <<>>]

(* At rest what is held back is written down. *)
HeldAtRest(state) == state.held

ImageAtRest(state, pointer) ==
  [rows |-> state.rows, seqs |-> SeqsDone(state), pointer |-> pointer, open |-> OpenIn(state), held |-> HeldAtRest(state)]

Newest(r) == db[r][Len(db[r])]
NoCopy == [rows |-> <<>>, seqs |-> Nothing.seqs, pointer |-> 0, open |-> 0, held |-> <<>>]

-----------------------------------------------------------------------------
Init ==
  /\ log = <<>>
  /\ states = <<Nothing>>
  /\ memory = [r \in Replica |-> Nothing]
  /\ done = [r \in Replica |-> 0]
  /\ db = [r \in Replica |-> <<Image(Nothing, 0)>>]
  /\ mode = [r \in Replica |-> "executes"]
  /\ kept = [r \in Replica |-> NoCopy]
  /\ copied = [r \in Replica |-> "none"]
  /\ crashes = 0

(* A client that got no answer submits its request again. *)
Choose(op) ==
  /\ Len(log) < MaxSlot
  /\ log' = Append(log, op)
  /\ states' = Append(states, Settled(Step(After(Len(log)), op)))
  /\ UNCHANGED <<memory, done, db, mode, kept, copied, crashes>>

Fits(op, state) == IF op.kind \in {"auto", "begin", "whole"} THEN ~state.inBlock[op.session] ELSE state.inBlock[op.session]

ChooseRequest ==
  \E s \in Session, kind \in Kinds :
    LET op == [kind |-> kind, session |-> s, seq |-> After(Len(log)).seqs[s] + 1]
    IN Fits(op, After(Len(log))) /\ ~IsWaiting(After(Len(log)), s) /\ Choose(op)

ChooseAgain == \E slot \in DOMAIN log : log[slot].session # "nobody" /\ Choose(log[slot])

(* Some replica has waited for a moment of rest for long; or all have been held up for long. *)
ChoosePause == ~After(Len(log)).pausing /\ Choose(Pause)
ChooseResume == After(Len(log)).pausing /\ Choose(Resume)

(* The pointer is in the transaction that writes. *)
CommitImages(state, after, pointer) == IF after.rows # state.rows THEN <<Image(after, pointer)>> ELSE <<>>

IsBetweenSlots(state) == ~IsAtRest(state) /\ ~IsGoingOn(state)

Execute(r) ==
  /\ mode[r] = "executes"
  /\ IsBetweenSlots(memory[r])
  /\ done[r] < Len(log)
  /\ LET slot == done[r] + 1
         after == Step(memory[r], log[slot])
     IN /\ memory' = [memory EXCEPT ![r] = after]
        /\ done' = [done EXCEPT ![r] = slot]
        /\ db' = [db EXCEPT ![r] = @ \o CommitImages(memory[r], after, slot)]
  /\ UNCHANGED <<log, states, mode, kept, copied, crashes>>

EndPause(r) ==
  /\ mode[r] = "executes"
  /\ IsAtRest(memory[r])
  /\ memory' = [memory EXCEPT ![r] = EndOfPause(@)]
  /\ UNCHANGED <<log, states, done, db, mode, kept, copied, crashes>>

(* One that was held back, still in the slot that ended the pause. *)
GoOn(r) ==
  /\ mode[r] = "executes"
  /\ IsGoingOn(memory[r])
  /\ LET after == RunHeld(memory[r])
     IN /\ memory' = [memory EXCEPT ![r] = after]
        /\ db' = [db EXCEPT ![r] = @ \o CommitImages(memory[r], after, done[r])]
  /\ UNCHANGED <<log, states, done, mode, kept, copied, crashes>>

(* Nothing is open, and nothing is held back but by a pause that has come to its end. *)
MayRest(state) == OpenIn(state) = 0 /\ (state.held = <<>> \/ IsAtRest(state))

(* The pointer is advanced by itself, so that the log may be purged; and what is held back goes with it. *)
MakeDurable(r) ==
  /\ mode[r] = "executes"
  /\ MayRest(memory[r])
  /\ db' = [db EXCEPT ![r] = <<ImageAtRest(memory[r], done[r])>>]
  /\ db' # db
  /\ UNCHANGED <<log, states, memory, done, mode, kept, copied, crashes>>

(* What was open at the pointer has seen older rows than it would see when it is executed again. *)
IsExact(image) == image.open = 0

(* What was held back is so again, if it was not executed since: then it goes on. *)
Restarted(image) ==
  LET IsLeft(op) == op.seq > image.seqs[op.session]
      left == SelectSeq(image.held, IsLeft)
      Came(s) == {left[index].seq : index \in {i \in DOMAIN left : left[i].session = s}}
  IN [Nothing EXCEPT !.rows = image.rows, !.held = left,
                     !.seqs = [s \in Session |-> IF Came(s) = {} THEN image.seqs[s] ELSE CHOOSE seq \in Came(s) : TRUE]]

StartFrom(r, image) ==
  /\ db' = [db EXCEPT ![r] = <<image>>]
  /\ done' = [done EXCEPT ![r] = image.pointer]
  /\ memory' = [memory EXCEPT ![r] = Restarted(image)]
  /\ mode' = [mode EXCEPT ![r] = IF IsExact(image) THEN "executes" ELSE "lost"]

Crash(r) ==
  /\ mode[r] = "executes"
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ \E index \in DOMAIN db[r] : StartFrom(r, db[r][index])
  /\ copied' = [copied EXCEPT ![r] = "none"]
  /\ UNCHANGED <<log, states, kept>>

(* A moment at which nothing is open here: no agreement is needed. *)
MayKeep(r) == MayRest(memory[r])

(* The copy's WAL is cut at that moment: nothing that is executed later is in it. *)
Keep(r) ==
  /\ mode[r] = "executes"
  /\ MayKeep(r)
  /\ kept' = [kept EXCEPT ![r] = ImageAtRest(memory[r], done[r])]
  /\ kept' # kept
  /\ UNCHANGED <<log, states, memory, done, db, mode, copied, crashes>>

(* Its own, or the one that another replica keeps; without any, from the beginning of the log. *)
GoOnFromKept(r, from) ==
  /\ mode[r] = "lost"
  /\ StartFrom(r, kept[from])
  /\ kept' = [kept EXCEPT ![r] = kept[from]]
  /\ copied' = [copied EXCEPT ![r] = IF IsExact(kept[from]) THEN "helped" ELSE "useless"]
  /\ UNCHANGED <<log, states, crashes>>

Next ==
  \/ ChooseRequest \/ ChooseAgain \/ ChoosePause \/ ChooseResume
  \/ \E r \in Replica : Execute(r) \/ EndPause(r) \/ GoOn(r) \/ MakeDurable(r) \/ Crash(r) \/ Keep(r)
  \/ \E r, from \in Replica : GoOnFromKept(r, from)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* A replica that executes is where the log up to its pointer leads. *)
SameAsLog == \A r \in Replica : mode[r] = "executes" => Settled(memory[r]) = After(done[r])

IsPrefix(some, all) == Len(some) <= Len(all) /\ some = SubSeq(all, 1, Len(some))

(* From what a crash may leave, or a copy that is kept, it goes on there, if nothing was open; and nothing is committed that the log does not say. *)
IsOfLog(image) ==
  LET after == After(image.pointer) IN
  /\ IsPrefix(image.rows, after.rows)
  /\ IsExact(image) => LET restarted == Settled(Restarted(image)) IN restarted.rows = after.rows /\ restarted.seqs = after.seqs

ImagesAreOfLog ==
  \A r \in Replica : mode[r] = "executes" =>
    \A index \in DOMAIN db[r] : db[r][index].pointer <= done[r] /\ IsOfLog(db[r][index])

KeptAreOfLog == \A r \in Replica : IsOfLog(kept[r]) /\ kept[r].open = 0

(* Each request wrote once. *)
ExecutedOnce ==
  \A r \in Replica : \A i, j \in DOMAIN memory[r].rows :
    (memory[r].rows[i][1] = memory[r].rows[j][1] /\ memory[r].rows[i][2] = memory[r].rows[j][2]) => i = j

CopiesHelp == \A r \in Replica : copied[r] # "useless"
=============================================================================
