--------------------------- MODULE MCOrderedApply ---------------------------
(* Small worlds for OrderedApply, and witnesses: claims that an interesting thing never happens, which TLC must refute. *)
EXTENDS OrderedApply, TLC

CONSTANTS x, y, t1, t2, t3

(* t1 and t2 write one row each, independent of each other; t3 writes the same row as t2. *)
SinglePart == (t1 :> <<{x}>>) @@ (t2 :> <<{y}>>) @@ (t3 :> <<{y}>>)

(* The same, but t2 comes in two parts. *)
TwoParts == (t1 :> <<{x}>>) @@ (t2 :> <<{y}, {y}>>) @@ (t3 :> <<{y}>>)

Symmetry == Permutations(Replica)
=============================================================================
