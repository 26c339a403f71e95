------------------------- MODULE MCAnswerAgreement -------------------------
(* AnswerAgreement in finite sizes, rules dropped one at a time, and witnesses. *)
EXTENDS AnswerAgreement, TLC

Everyone == Permutations(Replica) \cup Permutations(Value)

(* Nothing that takes this is looked at further. *)
NeverCorrected == \A r \in Replica : ~(stands[r] /\ holds[r] = None)

ASSUME TLCSet(1, FALSE) /\ TLCSet(2, FALSE) /\ TLCSet(3, FALSE) /\ TLCSet(4, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  /\ See(1, "SettledStays: an answer is settled, and another replica of those who had it stands", \E q, r \in Replica :
         IsHolder(q) /\ IsSettled(value[q]) /\ holds[r] = value[q] /\ stands[r])
  /\ See(2, "AdoptsNoOther: a database is adopted, and another replica had held an answer", adopted # None
         /\ \E r \in Replica : r # adopted /\ wrote[r] # None)
  /\ See(3, "LostIsKnown: somebody serves with what it has written down, and another stands", \E q, r \in Replica :
         IsHolder(q) /\ stands[r] /\ wrote[r] # None)
  /\ See(4, "OneWord: an answer is told, and another replica answers otherwise", adopted = None
         /\ \E q, r \in Replica : value[q] \in told /\ IsWhole(r) /\ value[r] # value[q])

-----------------------------------------------------------------------------
(* Rules dropped. *)
NoticesNothing(r, v) == FALSE
ForgetsHeld(r) == None
ForgetsStanding(r) == FALSE
JudgedAsAll(q) == IsWhole(q)
BelievesOne(r, by) == \E p \in Replica : by[p] \notin {None, value[r]}
ClaimsAtOnce(r) == TRUE
HearsAnother(q, r) == FALSE
AnswersAtOnce(r) == TRUE
=============================================================================
