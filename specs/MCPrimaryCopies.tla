--------------------------- MODULE MCPrimaryCopies ---------------------------
(*****************************************************************************)
(* PrimaryCopies in finite sizes, rules dropped one at a time, and witnesses. *)
(*****************************************************************************)
EXTENDS PrimaryCopies, TLC

Everyone == Permutations(Replica)

(* From here on: one leads in epoch 1, and all have its first entry, executed. *)
First == CHOOSE r \in Replica : TRUE

FirstLeads ==
  /\ state = [r \in Replica |-> IF r = First THEN "primary" ELSE "standby"]
  /\ promised = [r \in Replica |-> 1]
  /\ disk = [r \in Replica |-> <<1>>]
  /\ pending = [r \in Replica |-> <<>>]
  /\ log = [r \in Replica |-> <<1>>]
  /\ matched = [r \in Replica |-> 1]
  /\ base = [r \in Replica |-> 0]
  /\ db = [r \in Replica |-> <<1>>]
  /\ mustCopy = [r \in Replica |-> FALSE]
  /\ again = [r \in Replica |-> 0]
  /\ owner = [e \in Epochs |-> IF e = 1 THEN First ELSE Nobody]
  /\ asked = [e \in Epochs |-> <<>>]
  /\ words = [e \in Epochs |-> IF e = 1 THEN Replica ELSE {}]
  /\ ledger = [e \in Epochs |-> IF e = 1 THEN <<1>> ELSE <<>>]
  /\ told = [e \in Epochs |-> [r \in Replica |-> IF e = 1 /\ r # First THEN [received |-> 1, executed |-> 1] ELSE [received |-> 0, executed |-> 0]]]
  /\ settled = [e \in Epochs |-> 0]
  /\ copies = {}
  /\ acknowledged = {}
  /\ crashes = 0

LedSpec == FirstLeads /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Less to choose, and the same to see. *)

(* PushesLater: where databases take their time. *)
AtAnyTime(r) == TRUE

(* A copy tells what it has at once: the primary may acknowledge it at any time or never. Who can be a standby is, and who is down is up again. *)
PushesLater(r) == FALSE
TellAll(r) == TellReceived(r, Received(r), Min(Executed(r), Received(r)))
HasToTell(r) == CanTell(r) /\ LET known == told[promised[r]][r] IN known.received < Received(r) \/ known.executed < Min(Executed(r), Received(r))
Hurries(r) == HasToTell(r) \/ state[r] = "down" \/ (HasToPush(r) /\ ~PushesLater(r))

(* Next, where each action tells its name when it is taken first. *)
TellActions == FALSE
AsTheyAreTaken == TRUE
ASSUME \A i \in 101..120 : TLCSet(i, FALSE)
Took(i, name) == IF ~TellActions \/ TLCGet(i) THEN TRUE ELSE PrintT(<<"taken", name>>) /\ TLCSet(i, TRUE)

Hurried ==
  \E r \in Replica :
    \/ TellAll(r) /\ Took(101, "TellReceived")
    \/ Restart(r) /\ Took(102, "Restart")
    \/ ~PushesLater(r) /\ PushToDatabase(r) /\ Took(103, "PushToDatabase")

Unhurried ==
  \E r \in Replica :
    \/ PushesLater(r) /\ PushToDatabase(r) /\ Took(103, "PushToDatabase")
    \/ Fsync(r) /\ Took(104, "Fsync")
    \/ LogOperation(r) /\ Took(105, "LogOperation")
    \/ StepBack(r) /\ Took(106, "StepBack")
    \/ RejoinAsStandby(r) /\ Took(107, "RejoinAsStandby")
    \/ \E e \in Epochs :
         \/ SuspectPrimary(r, e) /\ Took(108, "SuspectPrimary")
         \/ GiveWord(r, e) /\ Took(109, "GiveWord")
         \/ TakeOver(r, e) /\ Took(110, "TakeOver")
         \/ \E m \in 0..Len(ledger[e]) : \E n \in OfferedBehind(r, e, m) : ReceiveOperations(r, e, n, m) /\ Took(111, "ReceiveOperations")
    \/ \E e \in Epochs \union {0}, kept \in KeptByCrash(r) : Crash(r, e, kept) /\ Took(112, "Crash")
    \/ \E n \in 1..Len(log[r]), level \in Levels, W \in SUBSET (Replica \ {r}) : Acknowledge(r, n, level, W) /\ Took(113, "Acknowledge")
    \/ PausePrimary(r) /\ Took(114, "PausePrimary")
    \/ \E n \in 1..Len(log[r]) : AdvanceSettled(r, n) /\ Took(115, "AdvanceSettled")
    \/ \E n \in 1..Len(log[r]) : Purge(r, n) /\ Took(116, "Purge")
    \/ \E copy \in copies : TransferState(r, copy) /\ Took(117, "TransferState")
    \/ BeginAnew(r) /\ Took(118, "BeginAnew")

EagerNext == IF \E r \in Replica : Hurries(r) THEN Hurried ELSE Unhurried
EagerSpec == Init /\ [][EagerNext]_vars
LedEagerSpec == FirstLeads /\ [][EagerNext]_vars
LedFairSpec == LedEagerSpec /\ Fairness

(* ... and what is settled is purged. *)
PurgingSpec ==
  /\ LedFairSpec
  /\ \A r \in Replica : WF_vars(\E n \in 1..Len(log[r]) : AdvanceSettled(r, n)) /\ WF_vars(\E n \in 1..Len(log[r]) : Purge(r, n))

(* All from the last entry on that is in order: those before are equal anyway. *)
BehindTheLast(c, e, m) == LET inOrder == {n \in 0..m : IsInOrder(c, e, n)} IN IF inOrder = {} THEN {} ELSE {CHOOSE n \in inOrder : \A k \in inOrder : k <= n}

(* MayPurge: nobody. *)
NobodyPurges(r) == FALSE

(* KeepSlots, and IsLarge: an entry is a byte. *)
TwoSlots == 2
ThreeSlots == 3
HasMoreThanTwo(r) == Len(log[r]) - base[r] > 2

(* MayBeginAnew: nobody; who would need a copy, and has all of its log. *)
NobodyBeginsAnew(r) == FALSE
WhoNeedsACopy(r) == base[r] = 0 /\ mustCopy[r]

(* MayPause: when somebody needs a copy. *)
WhenOneNeedsIt(p) == \E c \in Replica : mustCopy[c]

(* ... or lacks what is purged. *)
WhenOneIsLeftBehind(p) == \E c \in Replica : Len(log[c]) < base[p]

(* KeptByCrash: any part. *)
AnyPart(r) == 0..Len(db[r])

(* ... of one that leads; the others do not crash. *)
OnlyFirstCrashes(r) == IF r = First THEN {Len(db[r])} ELSE {}

(* HasToPush: nothing is executed. *)
NobodyPushes(r) == FALSE

(* MaySuspect: one of those that do not lead. *)
OneStands(r) == r = CHOOSE q \in Replica \ {First} : TRUE

(* A primary gives up when it hears of another epoch. *)
WhenAnotherStands(p) == \E e \in Epochs : e > Promised(p) /\ owner[e] # Nobody

-----------------------------------------------------------------------------
(* The paper's failure detector, "eventually perfect", at its best: nobody is suspected who lives, and nobody is left out who is a standby. *)
OnlyTheDead(r) == \A q \in Replica \ {r} : state[q] # "primary"
NoStandbyIsLeftOut(p, W) == \A c \in Replica \ {p} : state[c] = "standby" => c \in W
(* Who comes back has all that the primary has acknowledged, and is waited for from then on. *)
HasAllNow(r, e) == matched[r] = Len(ledger[e])

-----------------------------------------------------------------------------
(* Sights: what must have been seen in some state of a model, so that the invariant that each is named after says something there. *)

ASSUME \A i \in 1..15 : TLCSet(i, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)
IsLost(a) == ~KeptByLater(a)
Answered(level) == \E a \in acknowledged : a.level = level /\ LaterPrimaries(a) # {}

Sights ==
  /\ See(1, "EpochsAscend: a log has entries of two epochs", \E r \in Replica : \E i, j \in 1..Len(log[r]) : log[r][i] # log[r][j])
  /\ See(2, "LogsMatch: two logs differ in one place", \E r, q \in Replica : \E i \in 1..Min(Len(log[r]), Len(log[q])) : log[r][i] # log[q][i])
  /\ See(3, "PrimaryKeepsItsLedger: a second leads", \E e \in Epochs : e > 1 /\ HasBegun(e))
  /\ See(4, "ExecutedIsPrefix: what was executed is dropped from a log", \E r \in Replica : mustCopy[r])
  /\ See(5, "NoDivergence: a standby follows a second primary", \E r \in Replica : state[r] = "standby" /\ Promised(r) > 1 /\ HasBegun(Promised(r)))
  /\ See(6, "IsOnPrimarysDisk: an acknowledged operation is lost with its primary", \E a \in acknowledged : IsLost(a))
  /\ See(7, "LostIsTheEnd: of two that are acknowledged one is lost",
       \E a, b \in acknowledged : a.epoch = b.epoch /\ ~IsLost(a) /\ LaterPrimaries(a) # {} /\ IsLost(b))
  /\ See(8, "MajorityIsKept: another leads behind what a majority has", Answered("majority"))
  /\ See(9, "SemiIsKept: another leads behind what every copy has", Answered("semi"))
  /\ See(10, "SyncIsKept: another leads behind what every copy has executed", Answered("sync"))
  /\ See(11, "SemiIsReceived: one that was waited for has crashed", \E a \in acknowledged : \E c \in a.waited : state[c] = "down")
  /\ See(12, "SyncIsExecuted: one that was waited for leads", \E a \in acknowledged : a.level = "sync" /\ \E c \in a.waited : state[c] = "primary")
  /\ See(14, "SyncIsExecuted: what sync acknowledged is executed again", \E a \in acknowledged : a.level = "sync" /\ \E c \in a.waited : ~Has(db[c], a))
  /\ See(15, "KeepsForCopies: a primary has purged, and a copy lags", \E p, c \in Replica : state[p] = "primary" /\ base[p] > 0 /\ Len(log[c]) < Len(log[p]))
  /\ See(13, "a log begins with what came with a copy", \E r \in Replica : base[r] > 0 /\ state[r] = "recovering")

-----------------------------------------------------------------------------
(* What the next weaker level does not promise.  Each is refuted. *)

(* none promises less than async: PROPERTY ReachesCopies. *)
AsyncIsKept == IsKept({"async"})
MajorityIsReceivedByAll == \A a \in acknowledged : a.level = "majority" => \A c \in Replica : state[c] # "down" => Has(disk[c], a) \/ ~KeptByLater(a)
SemiIsExecuted == \A a \in acknowledged : a.level = "semi" => \A c \in a.waited : Has(db[c], a)

(* Claims that something worth checking never happens. *)
NobodyTakesOver == \A e \in Epochs : e > 1 => ~HasBegun(e)
NeverBackAsStandby == ~ \E r \in Replica : r = First /\ state[r] = "standby" /\ HasBegun(Promised(r)) /\ acknowledged # {}

-----------------------------------------------------------------------------
(* Rules dropped. *)

(* Received: what is in memory; what is in the log, whether the primary has confirmed it or not. *)
ReceivedInMemory(c) == matched[c]
ReceivedUnconfirmed(c) == Len(disk[c])

(* MayGiveWord: to anybody. *)
WordToAnybody(r, e) == TRUE

(* MayFollow: whoever sends. *)
FollowAnybody(c, e) == TRUE

(* IsInOrder: whatever comes. *)
AnyOrder(c, e, n) == n <= Len(log[c])

(* IsTainted: nobody minds. *)
NeverTainted(r, kept) == FALSE


(* MayTakeOverAlone: who is recovering, too. *)
AnybodyAlone(r) == PromotesAlone

(* MayWaitFor: for nobody. *)
WaitForAnybody(p, W) == TRUE

(* HasItself: what is in memory. *)
HasInMemory(p, n) == TRUE


(* IsUpToDate: at once. *)
UpToDateAtOnce(r, e) == TRUE

(* GoesOnFromOwnLog: only what the primary has confirmed since the last restart. *)
GoesOnFromConfirmed(c, e, n) == matched[c] >= n

(* IsSettled: what the primary has executed. *)
SettledAtOnce(p, e, n) == HasItself(p, n)

(* MayLetGo: whatever is settled and executed; no more where the log is large. *)
LetsGoAtOnce(r, n) == n < Len(log[r])
KeepsRegardless(r, n) == n + KeepSlots <= Len(log[r])

(* MayBeginAnew: where the log does not reach back, too.  BegunAnew: the database that is there. *)
AnewWithoutLog(r) == mustCopy[r]
KeepsDatabase(r) == db[r]
=============================================================================
