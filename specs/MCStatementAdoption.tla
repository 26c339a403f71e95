------------------------ MODULE MCStatementAdoption ------------------------
(* StatementAdoption in finite sizes, rules dropped one at a time, and witnesses. *)
EXTENDS StatementAdoption, TLC

Everyone == Permutations(Replica)

(* Nothing that takes these is looked at further. *)
NeverAdopted == ~(Last > 0 /\ \A r \in Replica : database[r].at >= Last)
NeverAgain == ~(claims > 1 /\ \A r \in Replica : IsBeyond(r) /\ \E i \in 1..(Last - 1) : IsAdopt(i))

ASSUME TLCSet(1, FALSE) /\ TLCSet(2, FALSE) /\ TLCSet(3, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  /\ See(1, "Agreement: two are beyond an adoption, and somebody has crashed", \E r, q \in Replica :
         r # q /\ IsBeyond(r) /\ IsBeyond(q) /\ crashes > 0)
  /\ See(2, "Agreement: two are beyond the second adoption", \E r, q \in Replica :
         r # q /\ IsBeyond(r) /\ IsBeyond(q) /\ \E i \in 1..(Last - 1) : IsAdopt(i))
  /\ See(3, "ToldStays: something was acknowledged, and its replica has crashed", told # <<>> /\ crashes > 0
         /\ \E r \in Replica : IsBeyond(r))

-----------------------------------------------------------------------------
(* Rules dropped. *)
CopiesClaim(r) == database[r].claim
ClaimOutlivesCrash(r, back) == database[r].claim
PassesOverAny(i) == TRUE
TellsAtOnce(r) == TRUE
HearsNobody(r) == TRUE
=============================================================================
