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
(* Shown: a replica that executes has what executing the log up to its       *)
(* pointer makes of nothing; each request is executed once; a copy that is   *)
(* taken at a pause always helps, and so does one that a replica keeps of    *)
(* its own database, made at a moment when nothing was open there.           *)
(*****************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Replica, Session, MaxSlot, MaxCrashes

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

Kinds == {"auto", "begin", "write", "commit", "rollback"}
Pause == [kind |-> "pause", session |-> "nobody", seq |-> 0]

Nothing ==
  [rows |-> <<>>,
   seqs |-> [s \in Session |-> 0],
   inBlock |-> [s \in Session |-> FALSE],
   pending |-> [s \in Session |-> <<>>]]

-----------------------------------------------------------------------------
(* What an operation does. *)

(* A request that was executed before is answered, not executed. *)
IsNew(state, op) == op.seq > state.seqs[op.session]

Written(state, op) == <<op.session, op.seq, Len(state.rows)>>

Run(state, op) ==
  LET s == op.session
      told == [state EXCEPT !.seqs[s] = op.seq]
      ended == [told EXCEPT !.inBlock[s] = FALSE, !.pending[s] = <<>>]
  IN CASE op.kind = "auto" /\ ~state.inBlock[s] -> [told EXCEPT !.rows = Append(@, Written(state, op))]
       [] op.kind = "begin" /\ ~state.inBlock[s] -> [told EXCEPT !.inBlock[s] = TRUE]
       [] op.kind = "write" /\ state.inBlock[s] -> [told EXCEPT !.pending[s] = Append(@, Written(state, op))]
       [] op.kind = "commit" /\ state.inBlock[s] -> [ended EXCEPT !.rows = @ \o state.pending[s]]
       [] op.kind = "rollback" /\ state.inBlock[s] -> ended
       [] OTHER -> told

(* What is open is rolled back, and nothing is begun until the copy is taken. *)
AtPause(state) == [state EXCEPT !.inBlock = Nothing.inBlock, !.pending = Nothing.pending]

Step(state, op) == IF op.kind = "pause" THEN AtPause(state) ELSE IF IsNew(state, op) THEN Run(state, op) ELSE state

After(slot) == states[slot + 1]

OpenIn(state) == Cardinality({s \in Session : state.inBlock[s]})
Image(state, pointer) == [rows |-> state.rows, seqs |-> state.seqs, pointer |-> pointer, open |-> OpenIn(state)]
Newest(r) == db[r][Len(db[r])]
NoCopy == [rows |-> <<>>, seqs |-> Nothing.seqs, pointer |-> 0, open |-> 0]

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

(* A client that got no answer submits its request again; somebody asks for a pause where a replica is lost. *)
Choose(op) ==
  /\ Len(log) < MaxSlot
  /\ log' = Append(log, op)
  /\ states' = Append(states, Step(After(Len(log)), op))
  /\ UNCHANGED <<memory, done, db, mode, kept, copied, crashes>>

Fits(op, state) == IF op.kind \in {"auto", "begin"} THEN ~state.inBlock[op.session] ELSE state.inBlock[op.session]

ChooseRequest ==
  \E s \in Session, kind \in Kinds :
    LET op == [kind |-> kind, session |-> s, seq |-> After(Len(log)).seqs[s] + 1]
    IN Fits(op, After(Len(log))) /\ Choose(op)

ChooseAgain == \E slot \in DOMAIN log : log[slot].kind # "pause" /\ Choose(log[slot])

ChoosePause == (\E r \in Replica : mode[r] = "lost") /\ Choose(Pause)

(* The pointer is in the transaction that writes. *)
CommitImages(state, after, pointer) == IF after.rows # state.rows THEN <<Image(after, pointer)>> ELSE <<>>

Execute(r) ==
  /\ mode[r] = "executes"
  /\ done[r] < Len(log)
  /\ LET slot == done[r] + 1
         after == Step(memory[r], log[slot])
     IN /\ memory' = [memory EXCEPT ![r] = after]
        /\ done' = [done EXCEPT ![r] = slot]
        /\ db' = [db EXCEPT ![r] = @ \o CommitImages(memory[r], after, slot)]
  /\ UNCHANGED <<log, states, mode, kept, copied, crashes>>

(* Where nothing is open the pointer is advanced by itself, so that the log may be purged; and at a pause. *)
MakeDurable(r) ==
  /\ mode[r] = "executes"
  /\ OpenIn(memory[r]) = 0
  /\ db' = [db EXCEPT ![r] = <<Image(memory[r], done[r])>>]
  /\ db' # db
  /\ UNCHANGED <<log, states, memory, done, mode, kept, copied, crashes>>

(* What was open at the pointer has seen older rows than it would see when it is executed again. *)
IsExact(image) == image.open = 0

Restarted(image) == [Nothing EXCEPT !.rows = image.rows, !.seqs = image.seqs]

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

(* The source stands still at the pause, and its pointer is there. *)
MayCopy(from) == /\ done[from] > 0 /\ log[done[from]].kind = "pause"
                 /\ Newest(from).pointer = done[from]

Copy(r, from) ==
  /\ mode[r] = "lost"
  /\ mode[from] = "executes"
  /\ MayCopy(from)
  /\ StartFrom(r, Newest(from))
  /\ copied' = [copied EXCEPT ![r] = IF IsExact(Newest(from)) THEN "helped" ELSE "useless"]
  /\ UNCHANGED <<log, states, kept, crashes>>

(* A moment at which nothing is open here: no agreement is needed. *)
MayKeep(r) == OpenIn(memory[r]) = 0

(* The copy's WAL is cut at that moment: nothing that is executed later is in it. *)
Keep(r) ==
  /\ mode[r] = "executes"
  /\ MayKeep(r)
  /\ kept' = [kept EXCEPT ![r] = Image(memory[r], done[r])]
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
  \/ ChooseRequest \/ ChooseAgain \/ ChoosePause
  \/ \E r \in Replica : Execute(r) \/ MakeDurable(r) \/ Crash(r) \/ Keep(r)
  \/ \E r, from \in Replica : Copy(r, from) \/ GoOnFromKept(r, from)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* A replica that executes is where the log up to its pointer leads. *)
SameAsLog == \A r \in Replica : mode[r] = "executes" => memory[r] = After(done[r])

(* So is whatever a crash may leave, as far as it is committed. *)
ImagesAreOfLog ==
  \A r \in Replica : mode[r] = "executes" =>
    \A index \in DOMAIN db[r] :
      LET image == db[r][index] IN
      /\ image.pointer <= done[r]
      /\ image.rows = After(image.pointer).rows
      /\ image.seqs = After(image.pointer).seqs

(* So is a copy that is kept, and nothing was open in it. *)
KeptAreOfLog ==
  \A r \in Replica :
    LET image == kept[r] IN
    /\ image.rows = After(image.pointer).rows
    /\ image.seqs = After(image.pointer).seqs
    /\ image.open = 0

(* Each request wrote once. *)
ExecutedOnce ==
  \A r \in Replica : \A i, j \in DOMAIN memory[r].rows :
    (memory[r].rows[i][1] = memory[r].rows[j][1] /\ memory[r].rows[i][2] = memory[r].rows[j][2]) => i = j

CopiesHelp == \A r \in Replica : copied[r] # "useless"
=============================================================================
