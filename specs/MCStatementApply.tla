-------------------------- MODULE MCStatementApply --------------------------
(* StatementApply in finite sizes, rules dropped one at a time, and witnesses. *)
EXTENDS StatementApply, TLC

Everyone == Permutations(Replica) \cup Permutations(Session)

(* Nothing that takes these is looked at further. *)
NeverLost == \A r \in Replica : mode[r] # "lost"
NeverFromKept == \A r \in Replica : ~(copied[r] = "helped" /\ kept[r].pointer > 0 /\ db[r] = <<kept[r]>>)

-----------------------------------------------------------------------------
(* Sights: what must have been seen in some state of a model, so that the invariant that each is named after says something there. *)

ASSUME \A i \in 1..6 : TLCSet(i, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  /\ See(1, "SameAsLog: one that has crashed executes again",
         crashes > 0 /\ \E r \in Replica : mode[r] = "executes" /\ done[r] > Newest(r).pointer /\ Newest(r).pointer > 0)
  /\ See(2, "ImagesAreOfLog: a crash may take back what is committed", \E r \in Replica : Len(db[r]) > 1)
  /\ See(3, "ExecutedOnce: a request that wrote is chosen twice",
         \E i, j \in DOMAIN log : i < j /\ log[i] = log[j] /\ log[i].kind = "auto" /\ \E r \in Replica : done[r] >= j)
  /\ See(4, "CopiesHelp: one has taken a copy", \E r \in Replica : copied[r] = "helped")
  /\ See(5, "KeptAreOfLog: one keeps a copy, and is ahead of it",
         \E r \in Replica : kept[r].pointer > 0 /\ kept[r].rows # <<>> /\ memory[r].rows # kept[r].rows)
  /\ See(6, "KeptAreOfLog: what was held back is in a copy", \E r \in Replica : kept[r].held # <<>>)

-----------------------------------------------------------------------------
(* Rules dropped. *)
IsAlwaysNew(state, op) == TRUE
IsAlwaysExact(image) == TRUE
(* The pointer is advanced ahead of the transaction, in one of its own. *)
PointerAhead(state, after, pointer) ==
  IF after.rows # state.rows THEN <<Image(state, pointer), Image(after, pointer)>> ELSE <<>>
(* Or behind it. *)
PointerBehind(state, after, pointer) ==
  IF after.rows # state.rows THEN <<Image(after, pointer - 1), Image(after, pointer)>> ELSE <<>>
MayKeepAnytime(r) == TRUE
HeldDoNotCount(state) == 0
HeldAreNotWritten(state) == <<>>
=============================================================================
