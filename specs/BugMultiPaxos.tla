---------------------------- MODULE BugMultiPaxos ----------------------------
(***************************************************************************)
(* MultiPaxos with one rule dropped. Each BugMultiPaxos-*.cfg puts one of    *)
(* these in the place of the rule that it names, and TLC must refute it.     *)
(***************************************************************************)
EXTENDS MCMultiPaxos

(* MustWait: a vote is revealed before it is durable ... *)
ReplyBeforeFsync(m) == ~(m.type = "Accepted" /\ m.from /= Owner(m.ballot))
(* ... a promise is ... *)
PromiseBeforeFsync(m) == ~(m.type = "Promise" /\ m.from /= Owner(m.ballot))
(* ... a candidate asks for promises, and counts its own, before its own is durable. *)
ElectionBeforeFsync(m) == ~(m.type = "Prepare" \/ (m.type = "Promise" /\ m.from = Owner(m.ballot)))

(* CountsOwnVote: the leader's own vote counts as soon as it is cast. *)
OwnVoteBeforeFsync(r, s) == TRUE

(* IsQuorum: one replica is enough. *)
Minority(S, voters) == Cardinality(S) >= 1

(* MayVote: an acceptor votes in any ballot. *)
VoteBelowPromise(r, b) == TRUE

(* MayVoteIn: an acceptor votes again in a slot that it knows to be chosen. *)
VoteInSettledSlot(r, s) == TRUE

(* Pick: a new leader ignores the votes that it found ... *)
IgnoreVotes(votes) == Noop
(* ... or takes the vote of the lowest ballot. *)
LowestVote(votes) == (CHOOSE v \in votes : \A w \in votes : AtMost(v.ballot, w.ballot)).entry

(* HeardCommitPoint: a new leader fills the slots above its own commit point, not above the highest that it heard. *)
OwnCommitPoint(r, counted) == commitPoint[r]

(* ChosenPrefix: the commit point jumps over slots that are not chosen. *)
OverHoles(r, known) == Max({commitPoint[r]} \union known)

(* MayServe: a leader serves as soon as it leads. *)
ServeAtOnce(r) == TRUE

(* ... or never serves at all. *)
NeverServes(r) == FALSE

(* WithinWindow: a leader proposes as far as there are slots. *)
NoWindow(r, last) == TRUE

(* KnowsChosen: a follower takes any vote of its own at or below the leader's commit point as chosen. *)
AnyVote(v, b) == v.entry /= Nothing

(* RecoveredPromise, RecoveredLog, RecoveredCommitPoint: what a restart loses. *)
ForgetPromise(d) == NoBallot
DiscardTail(d, c) == [s \in Slots |-> IF s <= c THEN d.log[s] ELSE Empty]
HintOnly(d, hint) == hint

-----------------------------------------------------------------------------
(* Witnesses: claims that something worth checking never happens. TLC must refute them. *)

NeverChosenAfterCrash ==
  ~ \E r \in Replicas, b \in Ballots, s \in Slots : crashes[r] > 0 /\ b /= <<1, 1>> /\ ChosenIn(b, s) /= {}

NeverReproposed == ~ \E m \in Sent("Accept") : m.entry.kind = "leaderStart" /\ m.entry.ballot /= m.ballot

NeverFillsHole == ~ \E m \in Sent("Accept") : m.entry = Noop

(* A leader that must fetch what others know to be chosen. *)
NeverLeadsBehind == ~ \E r \in Replicas : role[r] = "leader" /\ commitPoint[r] < MaxSlot /\ log[r][commitPoint[r] + 1].ballot /= promised[r]

NeverServesTwice == ~ \E m, n \in Sent("CatchUpReply") : m.entry.kind = "leaderStart" /\ n.entry.kind = "leaderStart" /\ m.slot < n.slot

(* A replica that lost its vote in a crash, and one whose commit point the disk did not keep. *)
NeverLosesVote ==
  ~ \E r \in Replicas : Up(r) /\ crashes[r] > 0 /\ \E m \in Sent("Accept") : Owner(m.ballot) = r /\ log[r][m.slot].ballot /= m.ballot /\ promised[r] = m.ballot
=============================================================================
