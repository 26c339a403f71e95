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

CONSTANTS Stories  \* by name, each a sequence of steps

VARIABLES
  story,  \* the name of the one that is told
  left    \* its steps that are still to come

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

(* The first leader's second range is found without the first: it goes on nowhere.                                                *)
Gap == <<
  <<"Write", 1, "t1">>,
  <<"LocalFlush", 1, 1>>,
  <<"Ship", 1>>,
  <<"Write", 1, "t3">>,
  <<"LocalFlush", 1, 2>>,
  <<"Ship", 1>>,
  <<"Elect", 2, 4>>,
  <<"Choose", "noop", 0>>,
  <<"Choose", "range", 1>>,
  <<"Skip", 3>>,
  <<"Skip", 3>>
>>

(* Half a record is chosen, and left behind by the next timeline.  A standby that has it on its disk has nothing of that timeline,   *)
(* though as much of that one is chosen, and was sent to it.                                                                   *)
LeftHalf == <<
  <<"Write", 1, "t2">>,
  <<"LocalFlush", 1, 1>>,
  <<"Ship", 1>>,
  <<"Choose", "range", 1>>,
  <<"Feed", 2>>,
  <<"Replay", 2, <<1, 0>> >>,
  <<"Feed", 3>>,
  <<"Replay", 3, <<1, 0>> >>,
  <<"Elect", 3, 3>>,
  <<"Choose", "leaderStart", 2>>,
  <<"Skip", 3>>,
  <<"Choose", "leadership", 2>>,
  <<"BeginLeadership", 3>>,
  <<"Promote", 3>>,
  <<"Skip", 2>>,
  <<"BeginLeadership", 2>>,
  <<"Write", 3, "t4">>,
  <<"LocalFlush", 3, 1>>,
  <<"Ship", 3>>,
  <<"Choose", "range", 2>>,
  <<"Feed", 2>>,
  <<"FlushStandby", 2, 5>>,
  <<"Replay", 2, <<1, 0>> >>,
  <<"FlushStandby", 2, 6>>
>>

(* While a replica is down the log lets go of what it lacks: it is given a copy, and is not started before.                       *)
LeftBehind == <<
  <<"CrashBoth", 2, 0>>,
  <<"Write", 1, "t1">>,
  <<"LocalFlush", 1, 1>>,
  <<"Ship", 1>>,
  <<"Choose", "range", 1>>,
  <<"Release", 1, 3>>,
  <<"FlushStandby", 1, 3>>,
  <<"Feed", 3>>,
  <<"Replay", 3, <<1, 1>> >>,
  <<"FlushStandby", 3, 3>>,
  <<"RelievePressure", 3>>,
  <<"Restart", 2, 0>>,
  <<"BeginCopy", 2, 3>>,
  <<"EndCopy", 2, 1>>,
  <<"DatabaseUp", 2, 1>>
>>

(* What no specification allows: nobody has proposed what is chosen.  Whoever tells this is to be told so.                         *)
Impossible == [impossible |-> << <<"WriteOwn", 1>>, <<"Choose", "range", 1>> >>]

All == [staleRange |-> StaleRange, gap |-> Gap, leftHalf |-> LeftHalf, leftBehind |-> LeftBehind]

GuidedInit == ReplayInit /\ Led /\ story \in DOMAIN Stories /\ left = Stories[story]
GuidedNext ==
  /\ ReplayNext
  /\ IF \E r \in Replica : Pending(r) THEN left' = left
     ELSE left # <<>> /\ IsTaken(left[1]) /\ left' = Tail(left)
  /\ UNCHANGED story
GuidedSpec == GuidedInit /\ [][GuidedNext]_<<vars, replay, story, left>>
=============================================================================
