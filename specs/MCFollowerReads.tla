--------------------------- MODULE MCFollowerReads ---------------------------
(***************************************************************************)
(* FollowerReads in finite sizes, without each of its rules, and witnesses.   *)
(* Replica 1 leads first, replica 2 (in one model 3) may follow it in the lead,   *)
(* replica 3 is read.  A read that is begun before anything is written cannot be stale, and   *)
(* a question that nobody can have a use for is not asked, so neither is done.   *)
(***************************************************************************)
EXTENDS FollowerReads, TLC

CONSTANTS
  ReadModes,
  Electable  \* who may be elected

MCNext ==
  \/ (read[3].mode = "bounded" \/ current[3].number # 0) /\ Tick
  \/ \E r \in {1, 2} :
       \/ Choose(r) \/ Learn(r) \/ Acknowledge(r) \/ ReadLeader(r)
       \/ \E m \in msgs : AnswerReadIndex(r, m) \/ AnswerShown(r, m)
  \/ \E r \in Electable : Elect(r)
  \/ Feed(3) \/ Replay(3) \/ AskReadIndex(3) \/ ReadStandby(3) \/ AskShown(3) \/ TellFound(3)
  \/ \E n \in 0..MaxWrites : Replace(3, n)
  \/ \E mode \in ReadModes : BeginRead(3, mode)
  \/ \E m \in msgs : HandleReadIndex(3, m) \/ HandleShown(3, m)
  \/ \E answer \in taken[3] : ReachReadIndex(3, answer)

MCSpec == Init /\ [][MCNext]_vars

OnlyLinearizable == {"linearizable"}
OnlyBounded == {"bounded"}
OnlySnapshot == {"snapshot"}
AllModes == Modes

(* HoldsLease: a leader answers for as long as it believes to lead. *)
Believes(r) == leads[r] # 0
(* Serves: a leader answers as soon as it is elected. *)
AtOnce(r) == TRUE
(* CountsFor: any index that has been replayed will do. *)
AnyIndex(number, since) == TRUE
(* Has: the wait is for what the standby has received. *)
Received(f) == received[f]
(* MayTell: what was found is told at once, *)
ToldAtOnce(f) == TRUE
(* or when anything was confirmed. *)
AnythingConfirmed(f) == found[f] = {} \/ covered[f] > 0
(* HasAll: what the leader knows to be chosen it is taken to show. *)
IsChosen(r, n) == knows[r] >= n

(* AgeFrom: from when the answer came. *)
FromReceipt(answer) == answer.takenAt
(* CurrentOfCopy: what the standby before had replayed. *)
Kept(f) == current[f]

ASSUME \A i \in 1..9 : TLCSet(i, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  /\ See(1, "LinearizableReadsAreCurrent: a read may run that must have what was written", read[3].mode = "linearizable" /\ MayRead(3) /\ read[3].needed > 0)
  /\ See(2, "BoundIsKept: a bounded read may run that must have what was written",
         read[3].mode = "bounded" /\ MayRead(3) /\ now >= MaxStaleness /\ was[now - MaxStaleness] > 0)
  /\ See(3, "SessionsNeverGoBack: a session that was shown something reads again", read[3].mode # "none" /\ shown[3] > 0)
  /\ See(4, "IndexHasWhatClientsKnow: a second leader serves, and clients know something",
         leads[2] # 0 /\ HoldsLease(2) /\ Serves(2) /\ clients > 0)
  /\ See(5, "CurrentIsReplayed: a standby has replayed an index above nothing",
         current[3].number # 0 /\ \E a \in taken[3] : a.number = current[3].number /\ a.index > 0)
  /\ See(6, "LeaderReadsAreCurrent: a second leader may be read at, behind a read of what it has written",
         leads[2] # 0 /\ HoldsLease(2) /\ Serves(2) /\ shown[3] > start[2])
  /\ See(7, "SessionsAreAtStandbys: a follower leads that was read at", leads[3] # 0 /\ asked[3] > 0)
  /\ See(8, "LeaderReadsAreCurrent: a leader has confirmed that it shows what a follower has found", covered[3] > 0)
  /\ See(9, "WhoWaitsMayAsk: what a read has found waits for the leader", ~MayTell(3))

(* Witness: no linearizable read is answered by an index of the second leader. *)
SecondLeaderNeverAnswers == ~\E m \in msgs : m.type = "ReadIndexAnswer" /\ leads[2] # 0 /\ m.index > start[2]
(* Witness: a bounded read that was refused for its age never becomes possible again. *)
NeverCurrentAgain == ~(read[3].mode = "bounded" /\ current[3].number > 1 /\ MayRead(3) /\ now > MaxStaleness)
(* Witness: nobody at a follower is shown what the leader's own readers are not shown yet. *)
NeverAheadOfLeader == \A r \in Replicas : leads[r] # 0 /\ HoldsLease(r) => clients <= LeaderShows(r)
(* Witness: what a read has found waits for nobody. *)
NothingIsHeld == MayTell(3)
=============================================================================
