/** A small specification with every way in which an action says what comes next, for tests: both must print the same states. */

export const actionsModule = `---- MODULE Actions ----
EXTENDS Integers, Sequences, TLC
VARIABLES a, b, c, d
parts == <<c, d>>
all == <<a, b, parts>>
Limit == 3
IsSmall(x) == x + a < Limit
Held == a <= b

Raise(x) == a' = a + x
Plain ==
  /\\ a < Limit
  /\\ Raise(1)
  /\\ b' \\in {b, a' + 1}
  /\\ UNCHANGED parts
Listed ==
  \\/ /\\ c = <<>>
     /\\ \\E x \\in {7, 8} : c' = Append(c, x)
     /\\ UNCHANGED <<a, b, d>>
  \\/ /\\ Len(c) = 1
     /\\ d.left < 2
     /\\ IF c[1] = 7 THEN d' = [d EXCEPT !.left = @ + 1] ELSE d' = [d EXCEPT !.right = a]
     /\\ c' = Tail(c)
     /\\ UNCHANGED <<a, b>>
(* The second equation is a condition, and so is what is primed as a whole. *)
Guarded ==
  LET next == b + 2
  IN /\\ b' = next
     /\\ b' = b + 2
     /\\ a' = a
     /\\ Held'
     /\\ b' < 9
     /\\ UNCHANGED parts
Cases ==
  /\\ d.left > 0
  /\\ CASE IsSmall(1) -> d' = [left |-> 0, right |-> a] [] OTHER -> d' = [left |-> 0, right |-> -1]
  /\\ UNCHANGED <<a, b, c>>
Stands == b > 100 /\\ UNCHANGED all

Init == a \\in 0..1 /\\ b = a + 1 /\\ c = <<>> /\\ d = [left |-> 0, right |-> 0]
Next == Plain \\/ Listed \\/ Guarded \\/ Cases \\/ Stands
Spec == Init /\\ [][Next]_all
Shown == PrintT(<<"state", a, b, c, d.left, d.right>>)
Looked == <<a, b, c, d>>
====
`;

export const actionsConfig = `SPECIFICATION Spec
INVARIANT Shown
VIEW Looked
CHECK_DEADLOCK FALSE
`;
