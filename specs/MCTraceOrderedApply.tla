----------------------- MODULE MCTraceOrderedApply -----------------------
(* Does TraceOrderedApply tell a good run from a bad one?  One run that it must accept, and mutants, each of which it must reject   *)
(* at the very step that makes it wrong.  Generated runs are checked in the same way by the runner.                                *)
EXTENDS TraceOrderedApply

Good == <<
     [a |-> "Choose", s |-> 1, l |-> "start:1"],
     [a |-> "DatabaseUp", r |-> "r1", to |-> 0, above |-> <<>>, prepared |-> <<>>],
     [a |-> "DatabaseUp", r |-> "r2", to |-> 0, above |-> <<>>, prepared |-> <<>>],
     [a |-> "ApplyBatch", r |-> "r1", from |-> 1, to |-> 1, applied |-> <<>>],
     [a |-> "Harvest", r |-> "r1", l |-> "c/1"],
     [a |-> "Harvest", r |-> "r1", l |-> "c/2"],
     [a |-> "Harvest", r |-> "r1", l |-> "c/3"],
     [a |-> "Choose", s |-> 3, l |-> "c/2"],
     [a |-> "CommitChosen", r |-> "r1", s |-> 3, l |-> "c/2"],
     [a |-> "Choose", s |-> 2, l |-> "c/1"],
     [a |-> "ApplyBatch", r |-> "r2", from |-> 1, to |-> 3, applied |-> <<<<2, "c/1">>, <<3, "c/2">>>>],
     [a |-> "FlushDatabase", r |-> "r2", to |-> 3],
     [a |-> "CommitChosen", r |-> "r1", s |-> 2, l |-> "c/1"],
     [a |-> "MovePointer", r |-> "r1", to |-> 3],
     [a |-> "FlushDatabase", r |-> "r1", to |-> 3],
     [a |-> "Harvest", r |-> "r1", l |-> "c/4"],
     [a |-> "Choose", s |-> 5, l |-> "c/4"],
     [a |-> "CommitChosen", r |-> "r1", s |-> 5, l |-> "c/4"],
     [a |-> "DatabaseDown", r |-> "r1"],
     [a |-> "DatabaseUp", r |-> "r1", to |-> 3, above |-> <<5>>, prepared |-> <<>>],
     [a |-> "Choose", s |-> 4, l |-> "c/3"],
     [a |-> "Choose", s |-> 6, l |-> "start:2"],
     [a |-> "ApplyBatch", r |-> "r1", from |-> 4, to |-> 6, applied |-> <<<<4, "c/3">>>>],
     [a |-> "ApplyBatch", r |-> "r2", from |-> 4, to |-> 6, applied |-> <<<<4, "c/3">>, <<5, "c/4">>>>],
     [a |-> "DatabaseDown", r |-> "r2"],
     [a |-> "DatabaseUp", r |-> "r2", to |-> 3, above |-> <<>>, prepared |-> <<>>],
     [a |-> "ApplyBatch", r |-> "r2", from |-> 4, to |-> 6, applied |-> <<<<4, "c/3">>, <<5, "c/4">>>>],
     [a |-> "AbortTransaction", r |-> "r1", l |-> "c/5"]>>

(* The good run up to step n, then other steps, then the good run again from step m. *)
Instead(n, steps, m) == SubSeq(Good, 1, n) \o steps \o SubSeq(Good, m, Len(Good))

(* rejectedAt: the step that must not be possible. *)
Mutants == <<
  (* 1. r1 commits a slot before it is chosen *)
  [rejectedAt |-> 8, steps |-> Instead(7, <<[a |-> "CommitChosen", r |-> "r1", s |-> 3, l |-> "c/2"]>>, 8)],
  (* 2. r1 commits under another slot's label *)
  [rejectedAt |-> 9, steps |-> Instead(8, <<[a |-> "CommitChosen", r |-> "r1", s |-> 3, l |-> "c/1"]>>, 10)],
  (* 3. r1 passes over a slot that r2 has applied *)
  [rejectedAt |-> 13, steps |-> Instead(12, <<>>, 14)],
  (* 4. r2 leaves out what r1 has committed *)
  [rejectedAt |-> 11, steps |-> Instead(10, <<[a |-> "ApplyBatch", r |-> "r2", from |-> 1, to |-> 3, applied |-> <<<<2, "c/1">>>>]>>, 12)],
  (* 5. r2 applies in another order *)
  [rejectedAt |-> 11, steps |-> Instead(10, <<[a |-> "ApplyBatch", r |-> "r2", from |-> 1, to |-> 3, applied |-> <<<<3, "c/2">>, <<2, "c/1">>>>]>>, 12)],
  (* 6. r2 skips a slot between batches *)
  [rejectedAt |-> 24, steps |-> Instead(23, <<[a |-> "ApplyBatch", r |-> "r2", from |-> 5, to |-> 6, applied |-> <<<<5, "c/4">>>>]>>, 25)],
  (* 7. r1 applies what is in already *)
  [rejectedAt |-> 23, steps |-> Instead(22, <<[a |-> "ApplyBatch", r |-> "r1", from |-> 4, to |-> 6, applied |-> <<<<4, "c/3">>, <<5, "c/4">>>>]>>, 24)],
  (* 8. r1 comes back below what was durable *)
  [rejectedAt |-> 20, steps |-> Instead(19, <<[a |-> "DatabaseUp", r |-> "r1", to |-> 2, above |-> <<>>, prepared |-> <<>>]>>, 21)],
  (* 9. r1 comes back with a slot that was never chosen *)
  [rejectedAt |-> 20, steps |-> Instead(19, <<[a |-> "DatabaseUp", r |-> "r1", to |-> 3, above |-> <<4>>, prepared |-> <<>>]>>, 21)],
  (* 10. r1 loses a commit though its PostgreSQL did not go down *)
  [rejectedAt |-> 19, steps |-> Instead(18, <<[a |-> "DatabaseUp", r |-> "r1", to |-> 3, above |-> <<>>, prepared |-> <<>>]>>, 21)],
  (* 11. r2 applies while its PostgreSQL is down *)
  [rejectedAt |-> 26, steps |-> Instead(25, <<>>, 27)],
  (* 12. r1 commits what it has rolled back *)
  [rejectedAt |-> 10, steps |-> Instead(8, <<[a |-> "AbortTransaction", r |-> "r1", l |-> "c/2"]>>, 9)],
  (* 13. r1 moves its pointer over a slot that is not chosen *)
  [rejectedAt |-> 14, steps |-> Instead(13, <<[a |-> "MovePointer", r |-> "r1", to |-> 4]>>, 15)],
  (* 14. slot 4 is chosen twice *)
  [rejectedAt |-> 22, steps |-> Instead(21, <<[a |-> "Choose", s |-> 4, l |-> "c/9"]>>, 22)],
  (* 15. one transaction takes effect in two slots *)
  [rejectedAt |-> 23, steps |-> Instead(21, <<[a |-> "Choose", s |-> 6, l |-> "c/3"], [a |-> "ApplyBatch", r |-> "r1", from |-> 4, to |-> 6, applied |-> <<<<4, "c/3">>, <<6, "c/3">>>>]>>, 29)],
  (* 16. r1 calls durable what it has not committed *)
  [rejectedAt |-> 15, steps |-> Instead(14, <<[a |-> "FlushDatabase", r |-> "r1", to |-> 5]>>, 16)]>>

MutantRuns == [i \in 1..Len(Mutants) |-> Mutants[i].steps]

GoodSpec == TraceInit(<<Good>>) /\ [][TraceNext(<<Good>>)]_traceVars
MutantSpec == TraceInit(MutantRuns) /\ [][TraceNext(MutantRuns)]_traceVars

(* Witness: TLC must refute that the good run is not matched to its end. *)
GoodIsRejected == at <= Len(Good)

(* No mutant gets past the step that makes it wrong; that every one gets there is in the number of states. *)
MutantIsRejected == at <= Mutants[run].rejectedAt

(* Every kind of step is in the good run. *)
ASSUME {Good[i].a : i \in 1..Len(Good)} =
  {"Choose", "Harvest", "CommitChosen", "MovePointer", "ApplyBatch", "FlushDatabase", "AbortTransaction", "DatabaseDown", "DatabaseUp"}
=============================================================================
