------------------------------- MODULE Quorums -------------------------------
(***************************************************************************)
(* Why ballots, the barrier behind a change of the voters, and majorities   *)
(* of neighbouring configurations leave at most one entry in each slot: the *)
(* core of MultiPaxos without disks, messages and the things that only make *)
(* it live or fast, and with an invariant that is inductive.                *)
(*                                                                         *)
(* What is left of MultiPaxos                                              *)
(*   - Ballots are numbers, each with one leader. A promise is not a        *)
(*     message: who is asked later tells the same votes of lower ballots.   *)
(*   - Lead: a candidate knows a run of slots to be chosen, and perhaps the *)
(*     change in the next one. A majority of the newest voters that it      *)
(*     knows has promised, and one of each change that it finds in votes.   *)
(*   - A leader may come to know more of what is chosen, at any time, from   *)
(*     anybody. Above a change of its own it goes on when that is chosen.   *)
(*   - A change adds one voter or removes one. It is proposed when           *)
(*     everything below is chosen, and voted for by those who know that.    *)
(*                                                                         *)
(* MultiPaxos has been explored from its first state on, a dozen steps deep.*)
(* An invariant that is inductive needs no reachable states: Init satisfies  *)
(* it, and no step leads from a state that satisfies it to one that does    *)
(* not, however many steps came before.  MCQuorums looks for such a step.   *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Acceptors,
  Founders,    \* who votes at the beginning
  Proposable,  \* the sets of voters that a change may name
  MaxBallot,
  MaxSlot

VARIABLES
  promised,    \* promised[a]: a votes in no lower ballot
  votes,       \* votes[b][s]: who has voted for what ballot b proposes in slot s
  plan,        \* plan[b]: what the leader of b began with; NoPlan if nobody leads in b
  proposals    \* proposals[b][s]: its entry, and who decides

vars == <<promised, votes, plan, proposals>>

Ballots == 1..MaxBallot
Slots == 1..MaxSlot

Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Min(S) == CHOOSE x \in S : \A y \in S : x <= y

(* An entry: the ballot in which it was made, and, if it is a change, the voters of the slots above. *)
Nothing == [by |-> 0, voters |-> {}]
Command(b) == [by |-> b, voters |-> {}]
Change(b, V) == [by |-> b, voters |-> V]
IsChange(e) == e.voters /= {}

NoProposal == [entry |-> Nothing, deciders |-> {}]
IsProposed(b, s) == proposals[b][s] /= NoProposal
Entry(b, s) == proposals[b][s].entry
Deciders(b, s) == proposals[b][s].deciders

(* `first`: everything below was known to be chosen. `base`: the newest voters that were known. `found[s]`: what must be proposed in s. *)
NoPlan == [first |-> 0, base |-> {}, found |-> [s \in Slots |-> Nothing]]
Leads(b) == plan[b] /= NoPlan
LastFound(b) == Max({plan[b].first - 1} \union {s \in Slots : plan[b].found[s] /= Nothing})

IsMajority(S, V) == 2 * Cardinality(S \intersect V) > Cardinality(V)

IsChosenIn(b, s) == IsProposed(b, s) /\ IsMajority(votes[b][s], Deciders(b, s))
Chosen(s) == {Entry(b, s) : b \in {c \in Ballots : IsChosenIn(c, s)}}
AllChosen(c) == \A s \in 1..c : Chosen(s) /= {}

(* Who decides the slot above c, if everything up to c is chosen. *)
ChangesUpTo(c) == {s \in 1..c : \E e \in Chosen(s) : IsChange(e)}
VotersOf(s) == (CHOOSE e \in Chosen(s) : IsChange(e)).voters
InForce(c) == IF ChangesUpTo(c) = {} THEN Founders ELSE VotersOf(Max(ChangesUpTo(c)))

-----------------------------------------------------------------------------
(* Rules that a bug model overrides, one at a time *)

AreNeighbours(V, W) == Cardinality((V \ W) \union (W \ V)) = 1

(* A change adds one voter or removes one. *)
MayFollow(V, old) == AreNeighbours(V, old)

(* A candidate needs a majority of each change that it finds in votes, too. *)
AsksAlso(found) == found

(* Who has voted for a change in slot s knew everything below to be chosen, and tells it: k is what the candidate has heard. *)
Tells(k, s) == k >= s - 1

(* Above a change of its own a leader proposes nothing until that is known to be chosen. *)
MayGoOn(b, c) == \A s \in Slots : IsProposed(b, s) /\ IsChange(Entry(b, s)) => s <= c

(* A change is proposed when everything below is chosen, ... *)
MayChange(c, s) == c = s - 1

(* ... and what the leader found, and its own first entry, are chosen. *)
Serves(b, c) == c > LastFound(b)

(* Nobody votes below its promise. *)
MayVote(a, b) == promised[a] <= b

-----------------------------------------------------------------------------
Promise(a, b) ==
  /\ promised[a] < b
  /\ promised' = [promised EXCEPT ![a] = b]
  /\ UNCHANGED <<votes, plan, proposals>>

(* The ballots below b in which somebody of Q has voted in slot s, and the entry of the highest. *)
VotedIn(Q, b, s) == {c \in 1..(b - 1) : votes[c][s] \intersect Q /= {}}
Found(Q, b, k) ==
  [s \in Slots |-> IF s <= k \/ VotedIn(Q, b, s) = {} THEN Nothing ELSE Entry(Max(VotedIn(Q, b, s)), s)]

(* Those in Q have promised b. Everything up to k is known to be chosen, and, if `ahead`, the change in the next slot, too. *)
Lead(b, Q, k, ahead) ==
  /\ ~Leads(b)
  /\ \A a \in Q : promised[a] >= b
  /\ AllChosen(k)
  /\ ahead => k < MaxSlot /\ k + 1 \in ChangesUpTo(k + 1)
  /\ \A s \in Slots : (\E c \in VotedIn(Q, b, s) : IsChange(Entry(c, s))) => Tells(k, s)
  /\ LET known == IF ahead THEN k + 1 ELSE k
         base == InForce(known)
         found == Found(Q, b, k)
     IN /\ IsMajority(Q, base)
        /\ \A e \in AsksAlso({found[s] : s \in {t \in Slots : t > known /\ IsChange(found[t])}}) : IsMajority(Q, e.voters)
        /\ ahead => found[k + 1] \in Chosen(k + 1)
        /\ plan' = [plan EXCEPT ![b] = [first |-> k + 1, base |-> base, found |-> found]]
  /\ UNCHANGED <<promised, votes, proposals>>

(* The leader of b, who knows everything up to c to be chosen, proposes in its next slot: what it found, or its own; V: a change. *)
Propose(b, c, V) ==
  /\ Leads(b)
  /\ c >= plan[b].first - 1
  /\ AllChosen(c)
  /\ MayGoOn(b, c)
  /\ LET s == Max({c, plan[b].first - 1} \union {t \in Slots : IsProposed(b, t)}) + 1
         voters == IF c < plan[b].first THEN plan[b].base ELSE InForce(c)
         found == IF s > MaxSlot THEN Nothing ELSE plan[b].found[s]
         entry == IF V /= {} THEN Change(b, V) ELSE IF found /= Nothing THEN found ELSE Command(b)
     IN /\ s <= MaxSlot
        /\ V /= {} => found = Nothing /\ Serves(b, c) /\ MayFollow(V, voters)
        /\ IsChange(entry) => MayChange(c, s)
        /\ proposals' = [proposals EXCEPT ![b][s] = [entry |-> entry, deciders |-> voters]]
  /\ UNCHANGED <<promised, votes, plan>>

Vote(a, b, s) ==
  /\ IsProposed(b, s)
  /\ a \notin votes[b][s]
  /\ MayVote(a, b)
  /\ IsChange(Entry(b, s)) => AllChosen(s - 1)
  /\ promised' = [promised EXCEPT ![a] = IF @ < b THEN b ELSE @]
  /\ votes' = [votes EXCEPT ![b][s] = @ \union {a}]
  /\ UNCHANGED <<plan, proposals>>

Init ==
  /\ promised = [a \in Acceptors |-> 0]
  /\ votes = [b \in Ballots |-> [s \in Slots |-> {}]]
  /\ plan = [b \in Ballots |-> NoPlan]
  /\ proposals = [b \in Ballots |-> [s \in Slots |-> NoProposal]]

Next ==
  \/ \E a \in Acceptors, b \in Ballots : Promise(a, b)
  \/ \E b \in Ballots, Q \in SUBSET Acceptors, k \in 0..MaxSlot, ahead \in BOOLEAN : Lead(b, Q, k, ahead)
  \/ \E b \in Ballots, c \in 0..MaxSlot, V \in Proposable \union {{}} : Propose(b, c, V)
  \/ \E a \in Acceptors, b \in Ballots, s \in Slots : Vote(a, b, s)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The invariant *)

Agreement == \A s \in Slots : Cardinality(Chosen(s)) <= 1

Configurations == Proposable \union {Founders}
Entries == {Command(b) : b \in Ballots} \union {Change(b, V) : b \in Ballots, V \in Proposable}

TypeOK ==
  /\ promised \in [Acceptors -> 0..MaxBallot]
  /\ \A b \in Ballots, s \in Slots :
       /\ votes[b][s] \subseteq Acceptors
       /\ IsProposed(b, s) => Entry(b, s) \in Entries /\ Deciders(b, s) \in Configurations
  /\ \A b \in Ballots : Leads(b) =>
       /\ plan[b].first \in 1..(MaxSlot + 1)
       /\ plan[b].base \in Configurations
       /\ \A s \in Slots : plan[b].found[s] \in Entries \union {Nothing}

(* Who may still vote in ballot b. *)
Open(b) == {a \in Acceptors : promised[a] <= b}
(* What ballot b proposes in slot s is chosen, or may still be. *)
MayBeChosen(b, s) == IsProposed(b, s) /\ IsMajority(votes[b][s] \union Open(b), Deciders(b, s))

HavePromised(b) == {a \in Acceptors : promised[a] >= b}

VotesAreHeard ==
  \A b \in Ballots, s \in Slots : votes[b][s] /= {} =>
    /\ IsProposed(b, s)
    /\ votes[b][s] \subseteq HavePromised(b)
    /\ IsChange(Entry(b, s)) => AllChosen(s - 1)

(* The barrier: what is proposed above a change was proposed when that was chosen, and a change when everything below was. *)
ProposalsFollowThePlan ==
  \A b \in Ballots, s \in Slots : IsProposed(b, s) =>
    LET e == Entry(b, s)
    IN /\ Leads(b) /\ s >= plan[b].first
       /\ IF plan[b].found[s] /= Nothing THEN e = plan[b].found[s] ELSE e.by = b
       /\ IsChange(e) => AllChosen(s - 1)
       /\ IsChange(e) /\ plan[b].found[s] = Nothing =>
            /\ s > LastFound(b) + 1
            /\ Chosen(LastFound(b) + 1) /= {}
            /\ AreNeighbours(e.voters, Deciders(b, s))
       /\ \A t \in 1..(s - 1) : IsProposed(b, t) /\ IsChange(Entry(b, t)) => Chosen(t) /= {}

(* A leader has a majority of the newest voters that it knew, and of those that it found. *)
PlansHaveMajorities ==
  \A b \in Ballots : Leads(b) =>
    LET p == plan[b]
        isAhead == p.first <= MaxSlot /\ p.first \in ChangesUpTo(p.first) /\ p.base = VotersOf(p.first) /\ p.found[p.first] \in Chosen(p.first)
    IN /\ IsMajority(HavePromised(b), p.base)
       /\ AllChosen(p.first - 1)
       /\ p.base = InForce(p.first - 1) \/ isAhead
       /\ \A s \in Slots : p.found[s] /= Nothing =>
            LET e == p.found[s]
            IN /\ s >= p.first
               /\ e.by < b /\ IsProposed(e.by, s) /\ Entry(e.by, s) = e
               /\ IsChange(e) =>
                    /\ s = p.first  \* everything below was known to be chosen
                    /\ (isAhead /\ e.voters = p.base) \/ IsMajority(HavePromised(b), e.voters)

(* Of what lower ballots proposed, only what a leader found may still be chosen where it proposes. *)
LowerBallotsAreSettled ==
  \A b \in Ballots : Leads(b) =>
    \A c \in 1..(b - 1), s \in plan[b].first..MaxSlot : MayBeChosen(c, s) => plan[b].found[s] = Entry(c, s)

DecidersWereInForce ==
  \A b \in Ballots, s \in Slots : IsProposed(b, s) =>
    /\ \/ Deciders(b, s) = plan[b].base
       \/ \E c \in plan[b].first..(s - 1) : AllChosen(c) /\ Deciders(b, s) = InForce(c)
    \* Where it matters they are in force; or they decide once more on the change that names them.
    /\ (MayBeChosen(b, s) /\ AllChosen(s - 1)) =>
         \/ Deciders(b, s) = InForce(s - 1)
         \/ Entry(b, s) \in Chosen(s) /\ IsChange(Entry(b, s)) /\ Deciders(b, s) = Entry(b, s).voters

(* Neighbouring majorities: each change is one voter away from those before, of whom a majority has left all ballots below. *)
ChangesFormAChain ==
  \A s \in ChangesUpTo(MaxSlot) :
    /\ AllChosen(s - 1)
    /\ AreNeighbours(VotersOf(s), InForce(s - 1))
    /\ IsMajority(HavePromised(Min({b \in Ballots : IsChosenIn(b, s)})), InForce(s - 1))

Inductive ==
  /\ TypeOK
  /\ Agreement
  /\ VotesAreHeard
  /\ ProposalsFollowThePlan
  /\ PlansHaveMajorities
  /\ LowerBallotsAreSettled
  /\ DecidersWereInForce
  /\ ChangesFormAChain
=============================================================================
