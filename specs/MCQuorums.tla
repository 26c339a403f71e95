------------------------------ MODULE MCQuorums ------------------------------
(***************************************************************************)
(* Looks for a step of Quorums that leads out of its invariant.             *)
(*                                                                         *)
(* A walk goes from state to state of those that satisfy the invariant,     *)
(* reachable or not: by steps of Quorums, and by altering one thing in one  *)
(* place (an Edit), where what comes of it satisfies the invariant. So only *)
(* a step can lead out of it, and TLC tells that as a violation. Random     *)
(* walks (`-simulate`) go far; the smallest model is walked exhaustively.   *)
(***************************************************************************)
EXTENDS Quorums, TLC

VARIABLE drawn  \* what a random walk may alter next, or with which parameters it may take a step; NotDrawn: it has used them

allVars == <<vars, drawn>>

EditPromise(a, n) == promised' = [promised EXCEPT ![a] = n] /\ UNCHANGED <<votes, plan, proposals>>

EditVote(a, b, s) ==
  /\ votes' = [votes EXCEPT ![b][s] = IF a \in @ THEN @ \ {a} ELSE @ \union {a}]
  /\ UNCHANGED <<promised, plan, proposals>>

EditProposal(b, s, p) == proposals' = [proposals EXCEPT ![b][s] = p] /\ UNCHANGED <<promised, votes, plan>>

EditPlan(b, f, V) ==
  /\ plan' = [plan EXCEPT ![b] = [first |-> f, base |-> V, found |-> @.found]]
  /\ UNCHANGED <<promised, votes, proposals>>

EditFound(b, s, e) ==
  /\ Leads(b)
  /\ plan' = [plan EXCEPT ![b].found[s] = e]
  /\ UNCHANGED <<promised, votes, proposals>>

EditAway(b) == plan' = [plan EXCEPT ![b] = NoPlan] /\ UNCHANGED <<promised, votes, proposals>>

Proposals == {NoProposal} \union {[entry |-> e, deciders |-> V] : e \in Entries, V \in Configurations}

(* A random walk draws parameters in one step and uses them in the next: where TLC takes a disjunction apart it would draw once for all. *)
NotDrawn == <<>>

Draw ==
  /\ drawn = NotDrawn
  /\ drawn' = [a |-> RandomElement(Acceptors), b |-> RandomElement(Ballots), s |-> RandomElement(Slots),
               n |-> RandomElement(0..MaxBallot), p |-> RandomElement(Proposals), e |-> RandomElement(Entries \union {Nothing}),
               f |-> RandomElement(1..(MaxSlot + 1)), V |-> RandomElement(Configurations),
               Q |-> RandomElement(SUBSET Acceptors), c |-> RandomElement(0..MaxSlot)]
  /\ UNCHANGED vars

DrawnEdit ==
  LET d == drawn
  IN \/ EditPromise(d.a, d.n)
     \/ EditVote(d.a, d.b, d.s)
     \/ EditProposal(d.b, d.s, d.p)
     \/ EditPlan(d.b, d.f, d.V)
     \/ EditFound(d.b, d.s, d.e)
     \/ EditAway(d.b)

DrawnStep ==
  LET d == drawn
  IN \/ \E b \in Ballots : Promise(d.a, b) \/ Vote(d.a, b, d.s)
     \/ \E b \in Ballots, ahead \in BOOLEAN : Lead(b, d.Q, d.c, ahead)
     \/ \E b \in Ballots, V \in Proposable \union {{}} : Propose(b, d.c, V)

Use ==
  /\ drawn /= NotDrawn
  /\ drawn' = NotDrawn
  /\ (DrawnEdit /\ Inductive') \/ DrawnStep \/ UNCHANGED vars

RandomWalk == Init /\ drawn = NotDrawn /\ [][Draw \/ Use]_allVars

AnyEdit ==
  \/ \E a \in Acceptors, n \in 0..MaxBallot : EditPromise(a, n)
  \/ \E a \in Acceptors, b \in Ballots, s \in Slots : EditVote(a, b, s)
  \/ \E b \in Ballots, s \in Slots, p \in Proposals : EditProposal(b, s, p)
  \/ \E b \in Ballots, f \in 1..(MaxSlot + 1), V \in Configurations : EditPlan(b, f, V)
  \/ \E b \in Ballots, s \in Slots, e \in Entries \union {Nothing} : EditFound(b, s, e)
  \/ \E b \in Ballots : EditAway(b)

WholeWalk ==
  /\ Init /\ drawn = NotDrawn
  /\ [][((AnyEdit /\ Inductive') \/ Next) /\ UNCHANGED drawn]_allVars

-----------------------------------------------------------------------------
(* Values for the configurations *)
TwoFounders == {1, 2}
ThreeFounders == {1, 2, 3}
None == {}
ThirdComes == {{1, 2, 3}, {1, 2}}
ThreeOrFour == {{1, 2, 3}, {1, 2, 3, 4}, {1, 2}, {1, 2, 4}}

(* Rules dropped *)
AnyChange(V, old) == V /= old
AsksNoneAlso(found) == {}
TellsNothing(k, s) == TRUE
GoesOn(b, c) == TRUE
ChangesAnytime(c, s) == TRUE
ServesAtOnce(b, c) == TRUE
VotesBelow(a, b) == TRUE
=============================================================================
