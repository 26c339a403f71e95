----------------------------- MODULE MCRecovery -----------------------------
(*****************************************************************************)
(* Recovery in finite sizes, rules dropped one at a time, and witnesses.     *)
(*****************************************************************************)
EXTENDS Recovery, TLC

Everyone == Permutations(Replica)

-----------------------------------------------------------------------------
(* From here on: one has just lost its log, and its database has the first of two slots, not durably yet; the databases of the others have both. *)
Loser == CHOOSE r \in Replica : TRUE

LogLost ==
  /\ chosen = 2
  /\ member = [r \in Replica |-> [life |-> 1, role |-> "voter"]]
  /\ life = [r \in Replica |-> IF r = Loser THEN 0 ELSE 1]
  /\ log = [r \in Replica |-> IF r = Loser THEN {} ELSE {1, 2}]
  /\ purged = [r \in Replica |-> 0]
  /\ db = [r \in Replica |-> IF r = Loser THEN <<EmptyImage, [rows |-> {1}, pointer |-> 1]>> ELSE <<[rows |-> {1, 2}, pointer |-> 2]>>]
  /\ told = [r \in Replica |-> 0]
  /\ copy = [r \in Replica |-> <<>>]
  /\ wipes = 1
  /\ crashes = 0

LogLostSpec == LogLost /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* From here on: of three one has lost both its disks, one was away while the others chose two slots, and the third has purged the first of them. *)
Third == CHOOSE r \in Replica \ {Loser} : TRUE
Away == CHOOSE r \in Replica \ {Loser, Third} : TRUE

FarBehind ==
  /\ chosen = 2
  /\ member = [r \in Replica |-> [life |-> 1, role |-> "voter"]]
  /\ life = [r \in Replica |-> IF r = Loser THEN 0 ELSE 1]
  /\ log = [r \in Replica |-> IF r = Third THEN {2} ELSE {}]
  /\ purged = [r \in Replica |-> IF r = Third THEN 1 ELSE 0]
  /\ db = [r \in Replica |-> IF r = Loser THEN <<>> ELSE IF r = Away THEN <<EmptyImage>> ELSE <<[rows |-> {1, 2}, pointer |-> 2]>>]
  /\ told = [r \in Replica |-> 0]
  /\ copy = [r \in Replica |-> <<>>]
  /\ wipes = 1
  /\ crashes = 0

(* Clients go on. *)
FarBehindSpec == FarBehind /\ [][Next]_vars /\ Fairness /\ WF_vars(\E Q \in SUBSET Able : Choose(Q))

-----------------------------------------------------------------------------
(* From here on: of five, three have the only slot that is chosen, and two of these have just lost their logs. Databases rest. *)
TwoLost ==
  /\ chosen = 1
  /\ member = [r \in Replica |-> [life |-> 1, role |-> "voter"]]
  /\ life = [r \in Replica |-> IF r \in {Loser, Third} THEN 0 ELSE 1]
  /\ log = [r \in Replica |-> IF r = Away THEN {1} ELSE {}]
  /\ purged = [r \in Replica |-> 0]
  /\ db = [r \in Replica |-> <<EmptyImage>>]
  /\ told = [r \in Replica |-> 0]
  /\ copy = [r \in Replica |-> <<>>]
  /\ wipes = 2
  /\ crashes = 0

TwoLostSpec == TwoLost /\ [][Next]_vars
DatabasesRest == db' = db /\ told' = told /\ copy' = copy

-----------------------------------------------------------------------------
(* From here on: one lost its log when its database had the first slot, not durably yet. Its next life has voted for the second, and its log lacks the first. *)
(* The databases of the others have both, and rest. Its own may be lost, too. *)
Hole ==
  /\ chosen = 2
  /\ member = [r \in Replica |-> [life |-> IF r = Loser THEN 2 ELSE 1, role |-> "voter"]]
  /\ life = [r \in Replica |-> IF r = Loser THEN 2 ELSE 1]
  /\ log = [r \in Replica |-> IF r = Loser THEN {2} ELSE {1, 2}]
  /\ purged = [r \in Replica |-> 0]
  /\ db = [r \in Replica |-> IF r = Loser THEN <<EmptyImage, [rows |-> {1}, pointer |-> 1]>> ELSE <<[rows |-> {1, 2}, pointer |-> 2]>>]
  /\ told = [r \in Replica |-> 0]
  /\ copy = [r \in Replica |-> <<>>]
  /\ wipes = 1
  /\ crashes = 0

HoleSpec == Hole /\ [][Next]_vars
OthersRest == life' = life /\ told' = told /\ \A r \in Replica \ {Loser} : db'[r] = db[r] /\ copy'[r] = copy[r]

-----------------------------------------------------------------------------
Near == 1
Far == 2

(* What is applied is flushed at once. Nobody is copied, and nobody hears how far the others are. *)
NobodyIsCopied ==
  /\ copy' = copy /\ told' = told
  /\ \A r \in Replica : Len(db[r]) > 1 => db'[r] # db[r]

(* MayTakeCopy: its pages hold what is written last, and are whole when that is chosen. *)
TakeCopyOfChosen(r) == PointerOfCopy(r) >= purged[r] /\ chosen = MaxSlot

-----------------------------------------------------------------------------
(* PointerOfCopy: read when the copy has arrived, not with its rows: the snapshot without its application pointer. *)
PointerOfItsOwnMoment(r) ==
  LET source == copy[r][1].source IN IF HasDatabase(source) THEN Visible(source).pointer ELSE copy[r][1].pointer

(* PointerForPurging: the volatile one. *)
VolatilePointer(r) == Visible(r).pointer

(* MayVoteForChange: anybody. *)
VoteUnknowing(r) == TRUE

(* MayTakeCopy: any. *)
TakeAnyCopy(r) == TRUE

(* MayMoveBase: never. *)
NeverMoveBase(r, slot) == FALSE

(* MayLeaveBehind: never; whatever others have purged. *)
NeverLeaveBehind(r, slot) == FALSE
LeaveAnything(r, slot) == TRUE

-----------------------------------------------------------------------------
(* Sights: what must have been seen in some state of a model, so that the invariant that each is named after says something there. *)

ASSUME \A i \in 1..10 : TLCSet(i, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  /\ See(1, "DatabaseIsPrefix: a database has more than a crash leaves it", \E r \in Replica : Len(db[r]) > 1)
  /\ See(2, "NothingLost: a slot is chosen, and a disk is lost", chosen > 0 /\ \E r \in Replica : ~HasLog(r) \/ ~HasDatabase(r))
  /\ See(3, "EveryMajorityKnows: a voter does not know what is chosen", \E r \in Able : \E s \in 1..chosen : ~Knows(r, s))
  /\ See(4, "LogMeetsDatabase: a log is purged", \E r \in Replica : HasLog(r) /\ HasDatabase(r) /\ purged[r] > 0)
  /\ See(5, "OnlyNewestLifeVotes: the next life of a lost log has a log", \E r \in Replica : life[r] > 1)
  /\ See(6, "OthersKnowWhatIsLeft: a log has left something behind", \E r \in Replica : ~HasDatabase(r) /\ purged[r] > 0)
  /\ See(7, "a database is lost, and its log is not", wipes > 0 /\ \E r \in Replica : life[r] = 1 /\ ~HasDatabase(r))
  /\ See(9, "CopiesAreNeeded: one that has a database is copied to", \E r \in Replica : copy[r] # <<>> /\ HasDatabase(r))
  /\ See(8, "a log is lost, and its database is not", \E r \in Replica : ~HasLog(r) /\ HasDatabase(r))
  /\ See(10, "a lost database begins empty, and others have more",
       \E r \in Replica : db[r] = <<EmptyImage>> /\ \A q \in Replica \ {r} : HasDatabase(q) /\ Visible(q).pointer > 0)

-----------------------------------------------------------------------------
(* Witnesses: claims that something worth checking never happens. *)

NewLifeNeverDecides == ~ \E r \in Able : life[r] > 1 /\ chosen \in log[r] /\ chosen > purged[r] /\ ~IsMajority({q \in Able : chosen \in log[q]} \ {r})

(* A copy is taken by a replica that has a database, only because the log that it needs is purged everywhere. *)
CopyNeverBecausePurged == ~ \E r \in Replica : copy[r] # <<>> /\ HasDatabase(r)

NeverTwoLostInTurn == ~ (wipes = 2 /\ chosen = MaxSlot /\ \A r \in Replica : IsWhole(r) /\ Durable(r).pointer = chosen)
=============================================================================
