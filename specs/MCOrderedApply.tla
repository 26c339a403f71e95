--------------------------- MODULE MCOrderedApply ---------------------------
(* Small worlds for OrderedApply, and witnesses: claims that an interesting thing never happens, which TLC must refute. *)
EXTENDS OrderedApply, TLC

CONSTANTS x, y, t1, t2, t3

(* t1 and t2 write one row each, independent of each other; t3 writes the same row as t2. *)
SinglePart == (t1 :> <<{x}>>) @@ (t2 :> <<{y}>>) @@ (t3 :> <<{y}>>)

(* The same, but t2 comes in two parts. *)
TwoParts == (t1 :> <<{x}>>) @@ (t2 :> <<{y}, {y}>>) @@ (t3 :> <<{y}>>)

-----------------------------------------------------------------------------
(* Three leaders and five or six slots, cut down to the behaviours in which the third finds what the second missed: the first     *)
(* proposes, the second has a conflicting transaction chosen, the third looks at all there is.  These are fewer behaviours, not     *)
(* more: whatever goes wrong here goes wrong under Next.                                                                          *)
AllIsProposed ==
  \A r \in Replica : \A t \in sessions[r] : AllProposed(t) /\ (t.request \in Repeated => t.copy # 0)

HighestProposed == MaxOf({p.slot : p \in proposals})

StaleNext ==
  \/ AllIsProposed /\ \E r \in Replica : Elect(r, IF ballot = 2 THEN HighestProposed ELSE ChosenPrefix)
  \/ ballot # 0 /\ \E s \in Slot : \E e \in Candidates(s) :
       (IF ballot = 1 /\ e.kind = "command" THEN ~e.last ELSE TRUE) /\ Choose(s, e)
  \/ \E r \in Replica :
       /\ leads[r] = ballot
       /\ \/ \E req \in Request : (req = t3) = (leads[r] = 2) /\ Execute(r, req)
          \/ \E t \in sessions[r] : Harvest(r, t) \/ Propose(r, t) \/ ProposeAgain(r, t)
          \/ ApplyBatch(r, ChosenPrefix)

StaleSpec == Init /\ [][StaleNext]_vars
-----------------------------------------------------------------------------
(* Witnesses *)

(* A transaction proposed by one leader is chosen under the next, and its own leader must not have committed it. *)
NothingAdopted == \A s \in Slot : TakesEffect(s) => Entry(s).ballot = chosen[s].ballot

(* A proposal of the first leader is chosen beyond the first entry of the second. *)
NoStaleProposalChosen == \A s \in Slot : IsChosen(s) /\ Entry(s).kind = "command" => ~Superseded(s)

(* A replica comes back from a crash with a slot above its pointer. *)
NeverAboveAfterCrash == \A r \in Replica : ~up[r] => Now(r).above = {}

(* A crash takes back what its client was told is done. *)
NeverTakenBack ==
  \A r \in Replica : ~up[r] /\ ballot = 1 /\ start[1] = 1 => acknowledged \subseteq Now(r).done

(* The same transaction is in two slots, and has been applied past both. *)
NeverTwiceInLog ==
  \A s, u \in 1..MinOf({Now(r).pointer : r \in Replica}) :
    s # u /\ TakesEffect(s) /\ TakesEffect(u) => Entry(s).request # Entry(u).request

(* A prepared transaction is there after a restart, although it is chosen already. *)
NeverPreparedOverCrash ==
  \A r \in Replica : up[r] /\ leads[r] = 0 /\ downs > 0 =>
    \A t \in sessions[r] : ~(AllProposed(t) /\ Agreed(r, t, Last(t.slots)))

(* The first part of a transaction is purged after the last one is durable everywhere. *)
NeverPurgedParts == \A s \in 1..purged : ~(Entry(s).kind = "command" /\ ~Entry(s).last)

(* A request executes a second time, under a new leader, because the first time came to nothing. *)
NeverRetried ==
  \A s \in Slot : TakesEffect(s) /\ chosen[s].ballot = 2 /\ Entry(s).ballot = 2 =>
    ~\E r \in Replica : \E t \in sessions[r] : t.request = Entry(s).request /\ t.ballot = 1 /\ AllProposed(t)

(* A value is drawn, lost with its transaction, and drawn again by one that is acknowledged. *)
NeverValueLost ==
  \A s \in Slot : TakesEffect(s) /\ Entry(s).request \in acknowledged => \A r \in Replica : position[r] <= Entry(s).value

Symmetry == Permutations(Replica)
=============================================================================
