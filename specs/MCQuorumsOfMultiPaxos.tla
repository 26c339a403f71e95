------------------------ MODULE MCQuorumsOfMultiPaxos ------------------------
(******************************************************************************)
(* The invariant of Quorums holds of MultiPaxos: its states, with a history   *)
(* variable for what each leader began with, are looked at as states of       *)
(* Quorums.  What is known of Quorums for any number of steps is so tied to    *)
(* the module that the code is held to.                                       *)
(*                                                                            *)
(* This is no refinement step by step: a flush makes many votes at once, and   *)
(* a new leader proposes in many slots at once, each of which Quorums does     *)
(* one after the other.                                                       *)
(******************************************************************************)
EXTENDS MCMembership

VARIABLES
  plans,    \* plans[n]: what the leader of the n-th ballot began with, as Quorums tells it
  abstract  \* the other variables of Quorums, which are a function of those here: TLC would count them anew wherever they are named

(* Ballots are numbers there: how many are no higher. *)
Rank(b) == Cardinality({c \in Ballots : AtMost(c, b)})
Ranks == 1..Cardinality(Ballots)
BallotOf(n) == CHOOSE b \in Ballots : Rank(b) = n

NothingFound == [s \in Slots |-> [by |-> 0, voters |-> {}]]
NobodyLeads == [first |-> 0, base |-> {}, found |-> NothingFound]

(* An entry is there who made it, and, if it is a change, whom it names. What fills a hole is made by whoever fills it first. *)
Abstracted(b, s, e) ==
  IF e.kind = "noop"
  THEN IF plans[Rank(b)].found[s].by > 0 THEN plans[Rank(b)].found[s] ELSE [by |-> Rank(b), voters |-> {}]
  ELSE [by |-> Rank(e.ballot), voters |-> IF IsConfiguration(e) THEN e.voters ELSE {}]

AbstractProposal(b, s) ==
  IF Proposals(b, s) = {} THEN [entry |-> [by |-> 0, voters |-> {}], deciders |-> {}]
  ELSE [entry |-> Abstracted(b, s, Proposed(b, s)), deciders |-> Deciders(b, s)]

(* What r finds: of each slot above what it has heard of the vote of the highest ballot. *)
PlanOf(r) ==
  LET p == FirstProposals(r)
      votes(s) == {v \in VotesHeard(r) : v.slot = s /\ IsVote(v)}
      highest(s) == CHOOSE v \in votes(s) : \A w \in votes(s) : AtMost(w.ballot, v.ballot)
  IN [first |-> p.first,
      base |-> config[r].voters,
      found |-> [s \in Slots |-> IF s < p.first \/ votes(s) = {} THEN [by |-> 0, voters |-> {}]
                                 ELSE Abstracted(highest(s).ballot, s, highest(s).entry)]]

Begun ==
  plans' = IF act'.name = "BecomeLeader"
           THEN LET r == act'.params.replica IN [plans EXCEPT ![Rank(promised[r])] = PlanOf(r)]
           ELSE plans

Abstraction ==
  [promised |-> [r \in Replicas |-> Rank(durable[r].promised)],
   votes |-> [n \in Ranks |-> [s \in Slots |-> Voters(BallotOf(n), s)]],
   proposals |-> [n \in Ranks |-> [s \in Slots |-> AbstractProposal(BallotOf(n), s)]]]

AbstractQuorums == INSTANCE Quorums WITH
  Acceptors <- Replicas,
  MaxBallot <- Cardinality(Ballots),
  promised <- abstract.promised,
  votes <- abstract.votes,
  plan <- plans,
  proposals <- abstract.proposals

QuorumsHold == AbstractQuorums!Inductive

FirstPlan == [n \in Ranks |-> IF n = Rank(FirstBallot) THEN [first |-> 1, base |-> Founders, found |-> NothingFound] ELSE NobodyLeads]

SteadyAbstracted ==
  /\ SteadyInit /\ plans = FirstPlan /\ abstract = Abstraction
  /\ [][EagerNext /\ Begun /\ abstract' = Abstraction']_<<vars, plans, abstract>>

AbstractView == <<View, plans>>

SightsOfQuorums ==
  /\ See(17, "QuorumsHold: a leader began with what another ballot proposed", \E n \in Ranks, s \in Slots : plans[n].found[s].by > 0)
  /\ See(18, "QuorumsHold: a change is chosen", \E b \in Ballots, s \in Slots : \E e \in ChosenIn(b, s) : IsConfiguration(e))

-----------------------------------------------------------------------------
(* Dropped: a majority of the voters of each change that is found in votes. *)
AsksNobodyElse(found) == {}
=============================================================================
