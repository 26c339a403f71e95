-------------------------- MODULE MCStatementEnds --------------------------
(* StatementEnds in finite sizes, rules dropped one at a time, and witnesses. *)
EXTENDS StatementEnds, TLC

Everyone == Permutations(Replica)

(* Nothing that takes these is looked at further. *)
NeverFails == \A r \in Replica : at[r] # "failed"
NeverInVain == \A r \in Replica : ~(promised[r] /\ at[r] = "finished")

ASSUME TLCSet(1, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  See(1, "Agreement: two have answered, and one of them has crashed",
      crashes > 0 /\ Cardinality({r \in Replica : told[r] # {}}) > 1)

-----------------------------------------------------------------------------
(* Rules dropped. *)
MajoritySuffices(holding) == 2 * Cardinality(holding) > Cardinality(Replica)
ForgetsPromise(r) == FALSE
ForgetsFinished(r) == FALSE
(* Whatever comes first. *)
FailsFirst ==
  IF FailsAt(Len(log)) THEN "fails" ELSE IF GoesOnAt(Len(log)) THEN "goesOn" ELSE "open"
=============================================================================
