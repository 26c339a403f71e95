-------------------------- MODULE MCStatementApply --------------------------
(* StatementApply in finite sizes, rules dropped one at a time, and witnesses. *)
EXTENDS StatementApply, TLC

Everyone == Permutations(Replica) \cup Permutations(Session)

(* Nothing that takes these is looked at further. *)
NeverLost == \A r \in Replica : mode[r] # "lost"
NeverHelped == \A r \in Replica : copied[r] # "helped"

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
MayCopyAnytime(from) == TRUE
=============================================================================
