------------------------------ MODULE BugPaxos ------------------------------
(***************************************************************************)
(* Paxos with one rule dropped. Each BugPaxos-*.cfg puts one of these in     *)
(* the place of the rule that it names, and TLC must refute it.              *)
(***************************************************************************)
EXTENDS MCPaxos

(* MustWait: a promise is revealed before it is durable ... *)
PromiseBeforeFsync(m) == m.type /= "Promise"
(* ... a vote is. *)
VoteBeforeFsync(m) == m.type /= "Accepted"

(* OwnPromiseNeeded: a proposer asks for votes when others have promised, whether or not its own promise is durable. *)
OthersSuffice(r, Q) == TRUE

(* MayUse: two proposers use one ballot. *)
AnyBallot(r, b) == TRUE

(* MayVote: an acceptor votes in any ballot. *)
VoteBelowPromise(r, s, b) == TRUE

(* IsSettled: an acceptor votes where it knows what is chosen. *)
NeverSettled(r, s) == FALSE

(* IsForgotten: what is forgotten counts as empty. *)
ForgottenIsEmpty(r, s) == FALSE

(* PickOrFree: the proposer's own proposal in spite of votes ... *)
OwnInSpiteOfVotes(r, s, votes) == Free(r, s)
(* ... a hole is filled with a no-op in spite of votes ... *)
NoopInSpiteOfVotes(r, s, votes) == IF own[r][s] = Nothing \/ votes = {} THEN Free(r, s) ELSE Pick(votes)
(* ... or Pick: the lowest vote is taken. *)
LowestVote(votes) == (CHOOSE v \in votes : \A w \in votes : AtMost(v.ballot, w.ballot)).entry

(* IsQuorum: one replica is enough. *)
Minority(S) == Cardinality(S) >= 1

(* IsChosenBy: a slot is said to be decided before a majority has voted. *)
OneVote(S) == S /= {}

(* KnowsChosen: any vote is taken for what is chosen. *)
AnyVote(v, b) == TRUE

(* MayMove: a proposal that was rejected is proposed in another slot at once. *)
MovesWhenRejected(r, s) == TRUE

(* IsLowest (of the model): it takes any slot. *)
AnySlot(r, s) == TRUE

(* MinDone: what oneself has done is forgotten ... *)
OwnDone(r) == done[r]
(* ... or what a majority has. *)
MajorityDone(r) ==
  Max({c \in 0..MaxSlot : IsMajority({q \in Replicas : c <= (IF q = r THEN done[r] ELSE known[r][q])})})

(* RecoveredPromises: a replica restarts without its promises. *)
ForgetPromises(d) == NoPromises

(* RecoveredLog: a replica restarts without its votes. *)
ForgetVotes(d) == [s \in Slots |-> IF IsVote(d.log[s]) THEN Empty ELSE d.log[s]]

(* IsOnDisk: the commit point is written ahead of the entries that it speaks of. *)
HintAhead(r, s) == durable[r].log[s].entry /= Nothing

-----------------------------------------------------------------------------
(* Without these nothing bad happens, and nothing good either. *)

(* IsRejected: whoever is rejected goes on asking. *)
NeverRejected(r, s) == FALSE

(* Keeps: a proposal that lost its slot is given up. *)
GivesUp(r, e) == FALSE

(* MayFill: nobody fills holes. *)
NeverFills(r, s) == FALSE

(* MayCopy: who lacks what is forgotten gets no copy. *)
NeverCopied(r) == FALSE

-----------------------------------------------------------------------------
(* Witnesses *)

NeverTwoBallots == ~ \E s \in Slots : \E a, b \in Ballots : a /= b /\ ChosenIn(a, s) /= {} /\ ChosenIn(b, s) /= {}
NeverMoves == \A r \in Replicas : waiting[r] = {}
NeverForgotten == \A r \in Replicas : purged[r] = 0
=============================================================================
