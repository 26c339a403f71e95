----------------------------- MODULE BugProgress -----------------------------
(* MCProgress with one rule dropped without which nothing bad happens, and nothing good either. *)
EXTENDS MCProgress

(* IsQuorum: everybody is waited for. *)
Unanimous(S, voters) == voters \subseteq S

(* MayCatchUp: a leader does not fetch what others know to be chosen. *)
LeadersDoNot(r) == role[r] \in {"follower", "candidate"}

(* MayCatchUp: nobody does. *)
NobodyDoes(r) == FALSE

(* MayStand: whoever has promised somebody something stands no more. *)
StandsOnce(r) == r \in config[r].voters /\ promised[r] = NoBallot

(* IsRejected: nobody listens ... *)
NeverRejected(r, q) == FALSE
(* ... or gives up because of what was promised to itself. *)
RejectedByOwn(r, q) == AtMost(promised[r], durable[q].promised)

(* CountsOwnVote: a leader counts the votes of others only. *)
OthersOnly(r, s) == FALSE

(* MayVote: an acceptor votes only in ballots above what it has promised. *)
OnlyAbove(r, b) == Less(promised[r], b)

(* Undecided: who has a configuration in its log proposes nothing more. *)
ForEver(r) == \E s \in Slots : IsConfiguration(log[r][s].entry)

(* IsPassed: a leader waits on for its turn to propose what others have chosen. *)
NeverPassed(r) == FALSE
=============================================================================
