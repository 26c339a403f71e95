------------------------- MODULE GuidedOrderedApply -------------------------
(***************************************************************************)
(* Behaviours of ReplayOrderedApply that chance seldom makes up.  Each is a  *)
(* story, which names what comes from outside, one step after another; what  *)
(* the code does of its own accord comes between, unnamed.                  *)
(*                                                                         *)
(* A step that is not possible where the story has it ends the behaviour,   *)
(* and `left` says what was still to come: nobody may take that for a story  *)
(* that was told.                                                          *)
(***************************************************************************)
EXTENDS ReplayOrderedApply

CONSTANTS Story  \* a sequence of steps

VARIABLES left   \* those still to come

(* A step is the name of an action and its first parameters; of an entry that is chosen its kind and its leadership.              *)
IsTaken(step) ==
  /\ act'.name = step[1]
  /\ IF step[1] = "Choose"
     THEN act'.params[1].kind = step[2] /\ act'.params[1].leadership = step[3]
     ELSE IsPrefix(Tail(step), act'.params)

(* What is rare is taken where the story has it.                                                                               *)
Always(k) == TRUE

(* The first leader's range lands above the start of the second, as the third finds it there: it is nobody's.                     *)
StaleRange == <<
  <<"ProposeOther", 1>>,
  <<"Write", 1, "t1">>,
  <<"LocalFlush", 1, 1>>,
  <<"Ship", 1>>,
  <<"Elect", 2, 2>>,
  <<"Choose", "leaderStart", 2>>,
  <<"Elect", 3, 4>>,
  <<"Choose", "range", 1>>,
  <<"Choose", "leaderStart", 3>>,
  <<"Skip", 3>>,
  <<"Skip", 3>>,
  <<"Skip", 3>>,
  <<"Choose", "leadership", 3>>,
  <<"BeginLeadership", 3>>,
  <<"Promote", 3>>,
  <<"Depose", 2>>,
  <<"Skip", 2>>,
  <<"Skip", 2>>,
  <<"Skip", 2>>,
  <<"BeginLeadership", 2>>
>>

(* What no specification allows: nobody has proposed what is chosen.  Whoever tells this is to be told so.                         *)
Impossible == << <<"WriteOwn", 1>>, <<"Choose", "range", 1>> >>

GuidedInit == ReplayInit /\ Led /\ left = Story
GuidedNext ==
  /\ ReplayNext
  /\ IF \E r \in Replica : Pending(r) THEN left' = left
     ELSE left # <<>> /\ IsTaken(left[1]) /\ left' = Tail(left)
GuidedSpec == GuidedInit /\ [][GuidedNext]_<<vars, replay, left>>
=============================================================================
