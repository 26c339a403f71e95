---------------------------- MODULE PrimaryCopies ----------------------------
(*****************************************************************************)
(* A primary orders operations, and copies follow it.  Who is primary is     *)
(* told by an epoch: a replica that suspects the primary stands in a higher  *)
(* one, and takes over when enough others have given it their word.  The     *)
(* level of an acknowledgement says what a client knows when it is answered. *)
(*                                                                           *)
(* A log is a sequence of epochs: the entry at i is the operation that the   *)
(* primary of epoch log[i] put there, and there is but one such.  ledger[e]  *)
(* is all that the primary of epoch e has ever sent: messages that are late, *)
(* lost, doubled or out of order are a copy that takes any part of it at any *)
(* time or never.                                                            *)
(*****************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Replica,
  MaxEpoch,      \* epochs are 1..MaxEpoch
  MaxLength,     \* of a log
  MaxCrashes,    \* who can crash no more flushes at once
  Levels,        \* those that clients ask for: some of async, semi, sync, majority; or none alone
  DropsSilent,   \* copies may be dropped from those that semi and sync wait for
  PromotesAlone  \* the paper's rule for two: a standby that suspects the primary takes over by itself

VARIABLES
  state,      \* "down", "recovering", "standby" or "primary"
  promised,   \* on disk: the highest epoch that it has given its word to, or followed
  disk,       \* on disk: its log
  pending,    \* what is handed to the disk and not flushed: the oldest first
  log,        \* in memory: its log with all that is pending
  matched,    \* in memory: up to here the log is known to be the ledger's of the epoch that it follows
  base,       \* on disk: what lies below is purged, or did not come with a copy of a database
  db,         \* what its database has executed
  mustCopy,   \* on disk: its database has executed what its log has not
  again,      \* up to here its database had executed its log, which it executes again from the beginning on
  owner,      \* who stood in an epoch, or nobody
  asked,      \* its log when it did
  words,      \* who gave its word to it
  ledger,
  told,       \* what a copy has told the primary of an epoch: received (on disk) and executed up to there
  settled,    \* what the primary of an epoch knows to stay
  copies,     \* of databases, made while a primary paused: they may come at any time or never
  acknowledged,
  crashes

vars == <<state, promised, disk, pending, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

Nobody == "nobody"
Epochs == 1..MaxEpoch
Majority == Cardinality(Replica) \div 2 + 1
(* With so many logs an operation meets every majority. *)
Floor == Cardinality(Replica) + 1 - Majority
Replicates == "none" \notin Levels

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b
IsPrefix(s, t) == Len(s) <= Len(t) /\ SubSeq(t, 1, Len(s)) = s
Agree(s, t, n) == Len(s) >= n /\ Len(t) >= n /\ SubSeq(s, 1, n) = SubSeq(t, 1, n)
Has(s, entry) == Len(s) >= entry.seq /\ s[entry.seq] = entry.epoch
LastEpoch(s) == IF s = <<>> THEN 0 ELSE s[Len(s)]

(* The epoch that it has promised in memory. *)
Promised(r) == IF pending[r] = <<>> THEN promised[r] ELSE pending[r][Len(pending[r])].epoch

(* Up to here its log is on its disk. *)
OnDisk(r) ==
  LET ends == {Len(disk[r])} \union {pending[r][i].keep : i \in 1..Len(pending[r])} IN
  CHOOSE n \in ends : \A m \in ends : n <= m

(* Where the epoch's own entries begin. *)
Begins(e) == IF \E i \in 1..Len(ledger[e]) : ledger[e][i] = e
             THEN CHOOSE i \in 1..Len(ledger[e]) : ledger[e][i] = e /\ (i = 1 \/ ledger[e][i - 1] # e)
             ELSE 0
HasBegun(e) == e > 0 /\ ledger[e] # <<>>

Init ==
  /\ state = [r \in Replica |-> "recovering"]
  /\ promised = [r \in Replica |-> 0]
  /\ disk = [r \in Replica |-> <<>>]
  /\ pending = [r \in Replica |-> <<>>]
  /\ log = [r \in Replica |-> <<>>]
  /\ matched = [r \in Replica |-> 0]
  /\ base = [r \in Replica |-> 0]
  /\ db = [r \in Replica |-> <<>>]
  /\ mustCopy = [r \in Replica |-> FALSE]
  /\ again = [r \in Replica |-> 0]
  /\ owner = [e \in Epochs |-> Nobody]
  /\ asked = [e \in Epochs |-> <<>>]
  /\ words = [e \in Epochs |-> {}]
  /\ ledger = [e \in Epochs |-> <<>>]
  /\ told = [e \in Epochs |-> [r \in Replica |-> [received |-> 0, executed |-> 0]]]
  /\ settled = [e \in Epochs |-> 0]
  /\ copies = {}
  /\ acknowledged = {}
  /\ crashes = 0

-----------------------------------------------------------------------------
(* Rules.  A model that drops one puts another in its place. *)

(* Nothing is sent in a group that does not replicate, and nobody takes its primary's place once it has begun. *)
MayStand(r) == Replicates \/ \A e \in Epochs : owner[e] \in {Nobody, r}

(* A replica gives its word to who has all that it has. *)
MayGiveWord(r, e) ==
  \/ LastEpoch(asked[e]) > LastEpoch(log[r])
  \/ LastEpoch(asked[e]) = LastEpoch(log[r]) /\ Len(asked[e]) >= Len(log[r])

(* The order check: a copy takes what comes behind n only where its own log has the same entry at n.  What its base covers is settled. *)
IsInOrder(c, e, n) == IF n <= base[c] THEN TRUE ELSE n <= Len(log[c]) /\ log[c][n] = ledger[e][n]

(* A copy follows no epoch below its promise. *)
MayFollow(c, e) == e >= Promised(c)

(* What a copy says that it has received is on its disk, and the primary's. *)
Received(c) == Min(matched[c], OnDisk(c))

(* Only what a primary has confirmed in the present epoch is executed. *)
MayExecute(r, n) == n <= matched[r]

(* Who had to drop what its database has executed needs another database. *)
IsTainted(r, kept) == kept < Len(db[r])

(* By the paper's rule it takes over by itself who was a standby to its last moment, and nobody who is recovering. *)
MayTakeOverAlone(r) == PromotesAlone /\ state[r] = "standby"

(* Behind which of its entries a primary sends what comes up to m. *)
OfferedBehind(c, e, m) == 0..m

(* What was written last before a crash may be on the disk, and told to nobody. *)
MayFind(r, e) == owner[e] # Nobody /\ pending[r] = <<>>

(* How much of what it has executed a database has after a crash: what is missing is executed again. *)
KeptByCrash(r) == {Len(db[r])}

(* A primary may give up at any time. *)
MayStepBack(p) == TRUE

(* The failure detector: any suspicion, right or wrong. *)
MaySuspect(r) == TRUE

(* Whom semi and sync wait for: all copies; where silent ones may be dropped, so many at least that no majority lacks the operation. *)
MayWaitFor(p, W) == W = Replica \ {p} \/ (DropsSilent /\ Cardinality(W) + 1 >= Floor)

(* The primary's own log counts when it is on its disk. *)
HasItself(p, n) == n <= OnDisk(p)

(* A primary acknowledges what it has ordered itself, behind its first entry. *)
MayAcknowledge(e, n) == n > Begins(e)

(* A recovering replica is a standby when it has all that the primary began with. *)
IsUpToDate(r, e) == matched[r] >= Begins(e)

(* Models may leave out that logs are purged. *)
MayPurge(r) == TRUE

(* So many of the last entries are kept for copies that lag. *)
KeepSlots == 1

(* The log has more bytes than it should. (In models that look at it an entry is a byte.) *)
IsLarge(r) == FALSE

(* What is purged nobody may want; where the log is large, only its last entry is kept. *)
MayLetGo(r, n) == n + (IF IsLarge(r) THEN 1 ELSE KeepSlots) <= Len(log[r])

(* A primary pauses at any time. *)
MayPause(p) == TRUE

(* A database that has executed nothing is the beginning of every log from which nothing is purged. *)
MayBeginAnew(r) == base[r] = 0
BegunAnew(r) == <<>>

(* A log that has what the copied database has executed last is kept: it may have told of what lies behind. *)
GoesOnFromOwnLog(c, e, n) == Len(log[c]) >= n /\ log[c][n] = ledger[e][n]

(* What is in so many logs, with the epoch's first entry, is in that of every later primary. *)
IsSettled(p, e, n) ==
  /\ n >= Begins(e) /\ HasItself(p, n)
  /\ Cardinality({c \in Replica \ {p} : told[e][c].received >= n}) + 1 >= Floor

-----------------------------------------------------------------------------
(* Gives it to the disk. *)
Write(r, group) ==
  IF crashes < MaxCrashes
  THEN pending' = [pending EXCEPT ![r] = Append(@, group)] /\ UNCHANGED <<disk, promised>>
  ELSE /\ disk' = [disk EXCEPT ![r] = SubSeq(log[r], 1, group.keep) \o group.entries]
       /\ promised' = [promised EXCEPT ![r] = group.epoch]
       /\ pending' = [pending EXCEPT ![r] = <<>>]

(* Algorithm 2, line 1, and the tie-break when all start: it suspects the primary, and stands in a new epoch.  Its promise is on its disk, and so is its log. *)
SuspectPrimary(r, e) ==
  /\ state[r] \in {"recovering", "standby"} /\ MaySuspect(r) /\ MayStand(r)
  /\ owner[e] = Nobody /\ e > promised[r] /\ pending[r] = <<>>
  /\ promised' = [promised EXCEPT ![r] = e]
  /\ matched' = [matched EXCEPT ![r] = 0]
  /\ owner' = [owner EXCEPT ![e] = r]
  /\ asked' = [asked EXCEPT ![e] = log[r]]
  /\ words' = [words EXCEPT ![e] = {r}]
  /\ UNCHANGED <<state, disk, pending, log, base, db, mustCopy, again, ledger, told, settled, copies, acknowledged, crashes>>

(* Another gives it its word: it follows no lower epoch from now on, and is nobody's standby until a primary says so. *)
GiveWord(r, e) ==
  /\ state[r] \in {"recovering", "standby"} /\ pending[r] = <<>>
  /\ owner[e] \notin {Nobody, r} /\ e >= promised[r]
  /\ MayGiveWord(r, e)
  /\ promised' = [promised EXCEPT ![r] = e]
  /\ matched' = [matched EXCEPT ![r] = IF e > promised[r] THEN 0 ELSE @]
  /\ words' = [words EXCEPT ![e] = @ \union {r}]
  /\ state' = [state EXCEPT ![r] = IF e > promised[r] THEN "recovering" ELSE @]
  /\ UNCHANGED <<disk, pending, log, base, db, mustCopy, again, owner, asked, ledger, told, settled, copies, acknowledged, crashes>>

(* Algorithm 2, line 2: it takes over.  Its first entry marks its epoch in every log that follows it. *)
TakeOver(r, e) ==
  /\ state[r] \in {"recovering", "standby"} /\ owner[e] = r /\ Promised(r) = e /\ ~HasBegun(e)
  /\ (Cardinality(words[e]) >= Majority \/ MayTakeOverAlone(r) \/ ~Replicates)
  /\ Len(log[r]) < MaxLength /\ ~mustCopy[r]
  /\ state' = [state EXCEPT ![r] = "primary"]
  /\ log' = [log EXCEPT ![r] = Append(@, e)]
  /\ ledger' = [ledger EXCEPT ![e] = log'[r]]
  /\ matched' = [matched EXCEPT ![r] = Len(log'[r])]
  /\ Write(r, [epoch |-> e, keep |-> Len(log[r]), entries |-> <<e>>])
  /\ UNCHANGED <<base, db, mustCopy, again, owner, asked, words, told, settled, copies, acknowledged, crashes>>

(* Algorithm 1, line 3: an operation is logged and sent. *)
LogOperation(p) ==
  LET e == Promised(p) IN
  /\ state[p] = "primary" /\ Len(log[p]) < MaxLength
  /\ log' = [log EXCEPT ![p] = Append(@, e)]
  /\ ledger' = [ledger EXCEPT ![e] = log'[p]]
  /\ matched' = [matched EXCEPT ![p] = Len(log'[p])]
  /\ Write(p, [epoch |-> e, keep |-> Len(log[p]), entries |-> <<e>>])
  /\ UNCHANGED <<state, base, db, mustCopy, again, owner, asked, words, told, settled, copies, acknowledged, crashes>>

(* A copy takes what comes behind the entry at n, up to m: what it has is kept, what differs is dropped with all that is behind it. *)
ReceiveOperations(c, e, n, m) ==
  LET isKept(k) == k <= Len(log[c]) /\ (log[c][k] = ledger[e][k] \/ k <= base[c])
      keep == IF \A k \in n+1..m : isKept(k) THEN m ELSE (CHOOSE k \in n+1..m : ~isKept(k) /\ \A j \in n+1..k-1 : isKept(j)) - 1
      entries == SubSeq(ledger[e], keep + 1, m)
  IN
  /\ state[c] \in {"recovering", "standby"} /\ Replicates
  /\ HasBegun(e) /\ owner[e] # c /\ MayFollow(c, e)
  /\ m <= Len(ledger[e]) /\ IsInOrder(c, e, n)
  /\ (entries # <<>> \/ e > Promised(c) \/ m > matched[c])
  /\ log' = [log EXCEPT ![c] = IF entries = <<>> THEN @ ELSE SubSeq(@, 1, keep) \o entries]
  /\ matched' = [matched EXCEPT ![c] = IF e > Promised(c) THEN m ELSE Max(@, m)]
  /\ mustCopy' = [mustCopy EXCEPT ![c] = @ \/ (entries # <<>> /\ IsTainted(c, keep))]
  /\ IF entries # <<>> \/ e > Promised(c)
     THEN Write(c, [epoch |-> e, keep |-> IF entries = <<>> THEN Len(log[c]) ELSE keep, entries |-> entries])
     ELSE UNCHANGED <<pending, disk, promised>>
  /\ state' = [state EXCEPT ![c] = IF e > Promised(c) \/ mustCopy'[c] \/ matched'[c] < Begins(e) THEN "recovering" ELSE @]
  /\ UNCHANGED <<base, db, again, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

(* The oldest of what is pending is on disk. *)
Fsync(r) ==
  /\ pending[r] # <<>>
  /\ LET group == Head(pending[r]) IN
     /\ disk' = [disk EXCEPT ![r] = SubSeq(@, 1, group.keep) \o group.entries]
     /\ promised' = [promised EXCEPT ![r] = group.epoch]
  /\ pending' = [pending EXCEPT ![r] = Tail(@)]
  /\ UNCHANGED <<state, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

(* Algorithm 1, line 4: the next operation is given to the database. *)
HasToPush(r) == LET n == Len(db[r]) + 1 IN state[r] # "down" /\ ~mustCopy[r] /\ MayExecute(r, n) /\ n <= OnDisk(r)
PushToDatabase(r) ==
  /\ HasToPush(r)
  /\ db' = [db EXCEPT ![r] = Append(@, log[r][Len(@) + 1])]
  /\ again' = [again EXCEPT ![r] = IF Len(db'[r]) >= @ THEN 0 ELSE @]
  /\ UNCHANGED <<state, promised, disk, pending, log, matched, base, mustCopy, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

(* A copy tells the primary what it has: n is on its disk, x is executed. *)
CanTell(c) ==
  /\ state[c] \in {"recovering", "standby"}
  /\ HasBegun(promised[c]) /\ promised[c] = Promised(c) /\ owner[promised[c]] # c
Executed(c) == IF mustCopy[c] THEN 0 ELSE Len(db[c])
TellReceived(c, n, x) ==
  LET known == told[promised[c]][c] IN
  /\ CanTell(c)
  /\ n <= Received(c) /\ x <= Executed(c) /\ x <= n
  /\ told' = [told EXCEPT ![promised[c]][c] = [received |-> Max(known.received, n), executed |-> Max(known.executed, x)]]
  /\ UNCHANGED <<state, promised, disk, pending, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, settled, copies, acknowledged, crashes>>

(* Algorithm 1, line 5: a client is answered.  W: whom a semi or sync waits for. *)
Acknowledge(p, n, level, W) ==
  LET e == Promised(p)
      have == {c \in Replica \ {p} : told[e][c].received >= n}
  IN
  /\ state[p] = "primary" /\ n <= Len(ledger[e]) /\ MayAcknowledge(e, n)
  /\ \A a \in acknowledged : ~(a.epoch = ledger[e][n] /\ a.seq = n)
  /\ HasItself(p, n)
  /\ level = "majority" => Cardinality(have) + 1 >= Majority
  /\ level \in {"semi", "sync"} => MayWaitFor(p, W) /\ W \subseteq have
  /\ level \notin {"semi", "sync"} => W = {}
  /\ level = "sync" => \A c \in W : told[e][c].executed >= n
  /\ acknowledged' = acknowledged \union {[epoch |-> ledger[e][n], seq |-> n, level |-> level, by |-> p, in |-> e, waited |-> W]}
  /\ UNCHANGED <<state, promised, disk, pending, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, told, settled, copies, crashes>>

(* A primary that hears of a higher epoch, or gives up, is one no more.  What of its log is to stay the next epoch says. *)
StepBack(p) ==
  /\ state[p] = "primary" /\ MayStepBack(p)
  /\ state' = [state EXCEPT ![p] = "recovering"]
  /\ UNCHANGED <<promised, disk, pending, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

(* Algorithm 4: who is recovering has all that it lacked, and is a standby. *)
RejoinAsStandby(r) ==
  LET e == Promised(r) IN
  /\ state[r] = "recovering" /\ ~mustCopy[r]
  /\ e > 0 /\ HasBegun(e) /\ owner[e] # r /\ IsUpToDate(r, e)
  /\ state' = [state EXCEPT ![r] = "standby"]
  /\ UNCHANGED <<promised, disk, pending, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

(* The primary knows that n stays. *)
AdvanceSettled(p, n) ==
  LET e == Promised(p) IN
  /\ state[p] = "primary" /\ MayPurge(p)
  /\ n > settled[e] /\ n <= Len(ledger[e]) /\ IsSettled(p, e, n)
  /\ settled' = [settled EXCEPT ![e] = n]
  /\ UNCHANGED <<state, promised, disk, pending, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, told, copies, acknowledged, crashes>>

(* What is settled and executed, and kept for nobody, is purged below n. *)
Purge(r, n) ==
  /\ state[r] # "down" /\ ~mustCopy[r] /\ MayPurge(r)
  /\ n > base[r] /\ n <= Len(db[r]) /\ n <= matched[r] /\ MayLetGo(r, n)
  /\ \E e \in 1..Promised(r) : n <= settled[e]
  /\ base' = [base EXCEPT ![r] = n]
  /\ UNCHANGED <<state, promised, disk, pending, log, matched, db, mustCopy, again, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

(* Algorithm 3: the primary pauses until all that it ordered is executed, and its database is copied. The log that comes with it begins with what is settled: the rest can *)
(* be told from what another primary has there. *)
PausePrimary(p) ==
  LET copy == [epoch |-> Promised(p), executed |-> Len(db[p]), base |-> base[p]] IN
  /\ state[p] = "primary" /\ Len(db[p]) = Len(log[p]) /\ MayPause(p)
  /\ copies' = copies \union {copy}
  /\ UNCHANGED <<state, promised, disk, pending, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, told, settled, acknowledged, crashes>>

(* The copy comes to one that needs it, and its log goes on from there. *)
TransferState(c, copy) ==
  LET e == copy.epoch
      n == copy.executed
  IN
  /\ state[c] \in {"recovering", "standby"} /\ pending[c] = <<>> /\ promised[c] <= e /\ owner[e] # c
  /\ mustCopy[c] \/ n > Len(log[c])
  /\ db' = [db EXCEPT ![c] = SubSeq(ledger[e], 1, n)]
  /\ mustCopy' = [mustCopy EXCEPT ![c] = FALSE]
  /\ again' = [again EXCEPT ![c] = 0]
  /\ IF GoesOnFromOwnLog(c, e, n)
     THEN UNCHANGED <<log, disk, base>>
     ELSE /\ log' = [log EXCEPT ![c] = SubSeq(ledger[e], 1, n)]
          /\ disk' = [disk EXCEPT ![c] = log'[c]]
          /\ base' = [base EXCEPT ![c] = copy.base]
  /\ promised' = [promised EXCEPT ![c] = e]
  /\ matched' = [matched EXCEPT ![c] = IF e > promised[c] THEN n ELSE Max(@, n)]
  /\ state' = [state EXCEPT ![c] = "recovering"]
  /\ UNCHANGED <<pending, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

(* Its database is replaced by an empty one, and executes the log from the beginning: so it needs no copy, where nothing is purged. *)
BeginAnew(r) ==
  /\ state[r] # "down" /\ MayBeginAnew(r) /\ (mustCopy[r] \/ db[r] # <<>>)
  /\ db' = [db EXCEPT ![r] = BegunAnew(r)]
  /\ mustCopy' = [mustCopy EXCEPT ![r] = FALSE]
  /\ again' = [again EXCEPT ![r] = Max(@, Len(db[r]))]
  /\ UNCHANGED <<state, promised, disk, pending, log, matched, base, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

(* What is pending is lost.  A promise that was to be given may be on the disk, and told to nobody. *)
Crash(r, e, kept) ==
  /\ state[r] # "down" /\ crashes < MaxCrashes
  /\ (e = promised[r] \/ (e > promised[r] /\ MayFind(r, e)))
  /\ state' = [state EXCEPT ![r] = "down"]
  /\ promised' = [promised EXCEPT ![r] = e]
  /\ log' = [log EXCEPT ![r] = disk[r]]
  /\ pending' = [pending EXCEPT ![r] = <<>>]
  /\ matched' = [matched EXCEPT ![r] = 0]
  /\ db' = [db EXCEPT ![r] = SubSeq(@, 1, kept)]
  /\ crashes' = crashes + 1
  /\ UNCHANGED <<disk, base, mustCopy, again, owner, asked, words, ledger, told, settled, copies, acknowledged>>

Restart(r) ==
  /\ state[r] = "down"
  /\ state' = [state EXCEPT ![r] = "recovering"]
  /\ UNCHANGED <<promised, disk, pending, log, matched, base, db, mustCopy, again, owner, asked, words, ledger, told, settled, copies, acknowledged, crashes>>

Next ==
  \E r \in Replica :
    \/ Fsync(r) \/ PushToDatabase(r) \/ LogOperation(r) \/ StepBack(r) \/ RejoinAsStandby(r) \/ BeginAnew(r) \/ Restart(r)
    \/ \E n, x \in 0..Len(log[r]) : TellReceived(r, n, x)
    \/ \E e \in Epochs : SuspectPrimary(r, e) \/ GiveWord(r, e) \/ TakeOver(r, e)
    \/ \E e \in Epochs \union {0}, kept \in KeptByCrash(r) : Crash(r, e, kept)
    \/ \E e \in Epochs : \E m \in 0..Len(ledger[e]) : \E n \in OfferedBehind(r, e, m) : ReceiveOperations(r, e, n, m)
    \/ \E n \in 1..Len(log[r]), level \in Levels, W \in SUBSET (Replica \ {r}) : Acknowledge(r, n, level, W)
    \/ PausePrimary(r)
    \/ \E n \in 1..Len(log[r]) : AdvanceSettled(r, n) \/ Purge(r, n)
    \/ \E copy \in copies : TransferState(r, copy)

Spec == Init /\ [][Next]_vars

(* Who lives writes, executes and tells; a primary that lives sends and answers. *)
Fairness == \A r \in Replica :
  /\ WF_vars(Fsync(r)) /\ WF_vars(PushToDatabase(r)) /\ WF_vars(\E n, x \in 0..Len(log[r]) : TellReceived(r, n, x))
  /\ WF_vars(\E e \in Epochs : \E m \in 0..Len(ledger[e]) : \E n \in OfferedBehind(r, e, m) : ReceiveOperations(r, e, n, m))
FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* What always holds. *)

Entries == [epoch : Epochs, seq : 1..MaxLength]
IsLog(s) == Len(s) <= MaxLength /\ \A i \in 1..Len(s) : s[i] \in Epochs

TypeOK ==
  /\ state \in [Replica -> {"down", "recovering", "standby", "primary"}]
  /\ promised \in [Replica -> {0} \union Epochs]
  /\ \A r \in Replica :
       /\ IsLog(disk[r]) /\ IsLog(log[r]) /\ IsLog(db[r])
       /\ matched[r] <= Len(log[r]) /\ base[r] <= Len(log[r])
       /\ mustCopy[r] \in BOOLEAN /\ again[r] \in 0..MaxLength
       /\ Agree(disk[r], log[r], OnDisk(r))
       /\ state[r] = "down" => pending[r] = <<>>
       /\ pending[r] = <<>> => log[r] = disk[r]
  /\ \A e \in Epochs : owner[e] \in Replica \union {Nobody} /\ words[e] \subseteq Replica /\ IsLog(ledger[e])
  /\ crashes \in 0..MaxCrashes

(* Epochs never go back along a log. *)
EpochsAscend == \A r \in Replica : \A i \in 1..Len(log[r])-1 : log[r][i] <= log[r][i + 1]

(* Two logs with one entry in common have all before it in common. *)
LogsMatch ==
  LET logs == {log[r] : r \in Replica} \union {disk[r] : r \in Replica} \union {ledger[e] : e \in Epochs} IN
  \A s, t \in logs : \A i \in 1..Min(Len(s), Len(t)) : s[i] = t[i] => SubSeq(s, 1, i) = SubSeq(t, 1, i)

(* A primary's log is what it has sent. *)
PrimaryKeepsItsLedger == \A p \in Replica : state[p] = "primary" => log[p] = ledger[Promised(p)]

(* A database has executed the beginning of its log, or is to be replaced. *)
ExecutedIsPrefix == \A r \in Replica : mustCopy[r] \/ IsPrefix(db[r], log[r])

(* What a database lacks its log has. *)
CanGoOn == \A r \in Replica : mustCopy[r] \/ base[r] <= Len(db[r])

(* A copy that lags by no more than what is kept goes on from the log. (Of logs that were never large.) *)
KeepsForCopies ==
  \A p, c \in Replica : state[p] = "primary" /\ Len(log[c]) + KeepSlots >= Len(log[p]) => Len(log[c]) >= base[p]

(* Who follows one primary has executed the same. *)
NoDivergence ==
  \A r \in Replica : LET e == Promised(r) IN
    state[r] \in {"standby", "primary"} /\ HasBegun(e) /\ matched[r] >= Begins(e) => IsPrefix(db[r], ledger[e])

-----------------------------------------------------------------------------
(* What a level promises, the weakest first. *)

LaterPrimaries(a) == {e \in Epochs : e > a.in /\ HasBegun(e)}
KeptByLater(a) == \A e \in LaterPrimaries(a) : Has(ledger[e], a)

(* All levels: it is on the disk of the primary that answered, until another takes over that lacks it. *)
IsOnPrimarysDisk == \A a \in acknowledged : Has(disk[a.by], a) \/ ~KeptByLater(a)

(* All levels: what is lost is the end of what an epoch has acknowledged, and no piece in the middle. *)
LostIsTheEnd ==
  \A a, b \in acknowledged : a.epoch = b.epoch /\ a.seq < b.seq =>
    \A e \in LaterPrimaries(a) \intersect LaterPrimaries(b) : Has(ledger[e], b) => Has(ledger[e], a)

(* majority, semi and sync: whoever is primary later has it. *)
IsKept(levels) == \A a \in acknowledged : a.level \in levels => KeptByLater(a)
MajorityIsKept == IsKept({"majority"})
SemiIsKept == IsKept({"semi"})
SyncIsKept == IsKept({"sync"})

(* semi and sync: it is on the disk of every copy that was waited for, too. *)
IsReceived(levels) == \A a \in acknowledged : a.level \in levels => \A c \in a.waited : Has(disk[c], a)
SemiIsReceived == IsReceived({"semi", "sync"})

(* sync: and executed there, or executed again: its log has it.  (So it is where a crash takes it back.) *)
ExecutesAgain(c, a) == a.seq <= again[c] /\ Has(disk[c], a)
SyncIsExecuted == \A a \in acknowledged : a.level = "sync" => \A c \in a.waited : Has(db[c], a) \/ ExecutesAgain(c, a)

(* async: what is acknowledged reaches every copy while its primary lives. *)
ReachesCopies ==
  \A n \in 1..MaxLength : (\E a \in acknowledged : a.seq = n) ~> (\A c \in Replica : Len(disk[c]) >= n)

(* A log does not stay large: copies that lag wait for nothing that costs more than that. *)
LargeLogsShrink == \A r \in Replica : IsLarge(r) ~> ~IsLarge(r)
=============================================================================
