----------------------------- MODULE MCConsensus -----------------------------
(* Consensus with a few slots and entries: the abstract spec is consistent with itself. *)
EXTENDS Consensus


(* Witness: claims that no slot is ever chosen. TLC must refute it. *)
NothingChosen == \A s \in Slots : chosen[s] = {}
=============================================================================
