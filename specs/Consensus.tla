------------------------------ MODULE Consensus ------------------------------
(***************************************************************************)
(* What a replicated log is for: every slot gets at most one entry, and     *)
(* keeps it.  Nothing is said about how; MultiPaxos refines this module.    *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS Slots,    \* the positions of the log
          Entries   \* what a slot may hold

VARIABLE chosen     \* chosen[s]: the set of entries chosen in slot s

TypeOK == chosen \in [Slots -> SUBSET Entries]

Init == chosen = [s \in Slots |-> {}]

(***************************************************************************)
(* Slots are chosen in any order, and several may become chosen in one      *)
(* step: one acceptor's message can complete the quorum of many slots.      *)
(***************************************************************************)
Next ==
  /\ chosen' \in [Slots -> SUBSET Entries]
  /\ \A s \in Slots :
       \/ chosen'[s] = chosen[s]
       \/ chosen[s] = {} /\ \E e \in chosen'[s] : chosen'[s] = {e}

Spec == Init /\ [][Next]_chosen

-----------------------------------------------------------------------------
AtMostOne == \A s \in Slots : \A e, f \in chosen[s] : e = f

(* Chosen is for ever. *)
Stable == [][\A s \in Slots : chosen[s] \subseteq chosen'[s]]_chosen

THEOREM Spec => []AtMostOne /\ Stable
=============================================================================
