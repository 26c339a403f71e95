------------------------------- MODULE Paxos -------------------------------
(*******************************************************************************)
(* Single-decree Paxos for each slot of a replicated log, without a leader, as *)
(* server/src/paxos implements it (barista.txt, sections 2.1, 2.3 to 2.5).     *)
(* It refines Consensus.  The README has the table spec action / function.     *)
(*                                                                             *)
(* The protocol                                                                *)
(*   - Any replica proposes: it takes the lowest slot that it does not know to *)
(*     be decided and that is not its own already, and runs prepare, accept,   *)
(*     learn there.  A proposal that has lost its slot to another one moves to *)
(*     another slot, and does so only then: it is chosen at most once.         *)
(*   - The paper's N_P is `promised`, N_A and V_A are the ballot and the entry *)
(*     of `log`, Decided is `decided`: four values for each replica and slot.  *)
(*   - A hole (a slot below one that is in use) is filled: who runs a ballot   *)
(*     there without a proposal of its own proposes a no-op, unless it finds   *)
(*     votes.                                                                  *)
(*   - Done and Min: `done` is how much of the log a replica's database has,   *)
(*     durably; it tells that with its messages.  What all are known to have   *)
(*     done is forgotten.  Who asks for a forgotten slot is told so, gets no   *)
(*     promise and no vote, and goes on from its database, or a copy.          *)
(*   - Members are fixed, and a log is never lost: a replica without its log   *)
(*     takes no part (see WipedAcceptors for why).                             *)
(*                                                                             *)
(* How it is modelled                                                          *)
(*   - As in MultiPaxos, `durable`, `buffer` and memory are apart, and `msgs`  *)
(*     only grows: loss, repetition and reordering for free.                   *)
(*   - A proposer counts answers by looking at `msgs`: an acceptor gives one   *)
(*     promise in a ballot, and one vote.                                      *)
(*   - Rejects are not here: whoever got one was asked in a ballot below       *)
(*     another one that was begun, and that is what HandleReject looks at.     *)
(*   - What a message tells of `done` is true since before it was sent.        *)
(*******************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Replicas,      \* positive numbers: ballots are ordered by them
  Ballots,       \* the ballots that may be used in each slot: a finite set of <<round, replica>>
  MaxSlot,       \* the log's length
  MaxRequests,   \* how many proposals clients bring to each replica
  WindowSlots,   \* how many proposals of its own a replica has in flight
  MaxCrashes,    \* how many crashes there are in all
  MaxLosses      \* how many databases are lost in all

VARIABLES
  msgs,          \* every message ever sent
  durable,       \* durable[r]: [promised, log, base] on r's disk
  buffer,        \* buffer[r]: records appended and not yet durable, each with the messages that wait for it
  promised,      \* promised[r][s]: the highest ballot that r promised, or voted in, in slot s
  log,           \* log[r][s]: r's last vote in slot s, or the decided entry that it learnt
  decided,       \* decided[r]: the slots of which r knows that what its log holds is chosen; of a replica that is down: what its disk says
  purged,        \* purged[r]: slots at or below are forgotten
  own,           \* own[r][s]: the proposal that r has placed in slot s
  waiting,       \* waiting[r]: proposals of r that lost their slots
  open,          \* open[r][s]: the ballot that r runs in slot s, and its phase
  done,          \* done[r]: r's database has all up to here, durably
  known,         \* known[r][q]: what r knows of done[q]
  asked,         \* asked[r]: how many proposals clients have brought to r
  up,            \* up[r]: r's process lives
  crashes,       \* crashes[r]: how often r has crashed
  lost,          \* lost[r]: how often r has lost its database
  act            \* the last action and its parameters; not part of the state (see View)

vars == <<msgs, durable, buffer, promised, log, decided, purged, own, waiting, open, done, known, asked, up, crashes, lost, act>>

View == <<msgs, durable, buffer, promised, log, decided, purged, own, waiting, open, done, known, asked, up, crashes, lost>>

-----------------------------------------------------------------------------
(* Ballots, entries, records *)

Slots == 1..MaxSlot

NoBallot == <<0, 0>>
Owner(b) == b[2]
Less(a, b) == a[1] < b[1] \/ (a[1] = b[1] /\ a[2] < b[2])
AtMost(a, b) == a = b \/ Less(a, b)
Higher(a, b) == IF Less(a, b) THEN b ELSE a

Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Least(S) == CHOOSE x \in S : \A y \in S : x <= y
Larger(a, b) == IF a < b THEN b ELSE a

Nothing == [kind |-> "nothing", replica |-> 0, id |-> 0]
Noop == [kind |-> "noop", replica |-> 0, id |-> 0]
(* A client's proposal: named by the replica that it was brought to, and counted there. *)
Command(r, n) == [kind |-> "command", replica |-> r, id |-> n]
EntrySet == {Noop} \union {Command(r, n) : r \in Replicas, n \in 1..MaxRequests}

(* What the log holds for a slot. Learnt as chosen without a vote: no ballot. *)
Empty == [ballot |-> NoBallot, entry |-> Nothing]
IsVote(v) == v.ballot /= NoBallot
IsLearnt(v) == v.ballot = NoBallot /\ v.entry /= Nothing
EmptyLog == [s \in Slots |-> Empty]
NoPromises == [s \in Slots |-> NoBallot]

Closed == [phase |-> "none", ballot |-> NoBallot]

PromiseRecord(s, b) == [kind |-> "promise", slot |-> s, ballot |-> b, entry |-> Nothing]
VoteRecord(s, b, e) == [kind |-> "vote", slot |-> s, ballot |-> b, entry |-> e]
ChosenRecord(s, e) == [kind |-> "chosen", slot |-> s, ballot |-> NoBallot, entry |-> e]
(* Everything up to slot s is in the database, and forgotten here. *)
BaseRecord(s) == [kind |-> "base", slot |-> s, ballot |-> NoBallot, entry |-> Nothing]

Without(l, c, nothing) == [s \in Slots |-> IF s <= c THEN nothing ELSE l[s]]

(* A record takes effect on what is on disk. A vote implies the promise of its ballot in its slot. *)
Written(d, record) ==
  IF record.kind = "base"
  THEN [promised |-> Without(d.promised, record.slot, NoBallot), log |-> Without(d.log, record.slot, Empty), base |-> Larger(d.base, record.slot)]
  ELSE IF record.slot <= d.base THEN d
  ELSE [promised |-> [d.promised EXCEPT ![record.slot] = Higher(@, record.ballot)],
        log |-> IF record.kind = "promise" THEN d.log
                ELSE [d.log EXCEPT ![record.slot] = [ballot |-> record.ballot, entry |-> record.entry]],
        base |-> d.base]

RECURSIVE WrittenAll(_, _)
WrittenAll(d, records) ==
  IF records = <<>> THEN d ELSE WrittenAll(Written(d, Head(records).record), Tail(records))

-----------------------------------------------------------------------------
(* Messages *)

PrepareMsg(s, b) == [type |-> "Prepare", slot |-> s, ballot |-> b]
PromiseMsg(r, s, b, v) == [type |-> "Promise", from |-> r, slot |-> s, ballot |-> b, vote |-> v]
AcceptMsg(s, b, e) == [type |-> "Accept", slot |-> s, ballot |-> b, entry |-> e]
AcceptedMsg(r, s, b) == [type |-> "Accepted", from |-> r, slot |-> s, ballot |-> b]
(* What ballot b proposed in slot s is chosen: whoever voted for that has it. *)
LearnMsg(s, b) == [type |-> "Learn", slot |-> s, ballot |-> b]
CatchUpMsg(s, e) == [type |-> "CatchUpReply", slot |-> s, entry |-> e]

Sent(type) == {m \in msgs : m.type = type}
Proposals(b, s) == {m.entry : m \in {n \in Sent("Accept") : n.ballot = b /\ n.slot = s}}
Learnable(s) == {m.entry : m \in {n \in Sent("CatchUpReply") : n.slot = s}}

-----------------------------------------------------------------------------
(* Rules that a bug model overrides, one at a time *)

IsQuorum(S) == 2 * Cardinality(S) > Cardinality(Replicas)

(* A ballot is one replica's. *)
MayUse(r, b) == Owner(b) = r

(* A message that reveals a promise or a vote waits until that is durable. *)
MustWait(m) == TRUE

(* A proposer asks for votes only when its own promise is durable: a ballot that it has asked for votes in it never uses again. *)
OwnPromiseNeeded(r, Q) == r \in Q

(* An acceptor votes in no ballot below its promise. *)
MayVote(r, s, b) == AtMost(promised[r][s], b)

(* It neither promises nor votes where it knows what is chosen: it tells that instead. *)
IsSettled(r, s) == s \in decided[r]

(* What is forgotten is not empty: nobody gets a promise or a vote there. *)
IsForgotten(r, s) == s <= purged[r]

(* What a proposer proposes where it found votes, and where it found none. *)
Pick(votes) == (CHOOSE v \in votes : \A w \in votes : AtMost(w.ballot, v.ballot)).entry
Free(r, s) == IF own[r][s] /= Nothing THEN own[r][s] ELSE Noop
PickOrFree(r, s, votes) == IF votes = {} THEN Free(r, s) ELSE Pick(votes)

(* Ballot b has chosen in slot s when a majority has voted. *)
IsChosenBy(S) == IsQuorum(S)

(* From a Learn a replica knows that its own vote is for what is chosen only if it voted in that very ballot. *)
KnowsChosen(v, b) == v.ballot = b

(* A proposal moves to another slot when its own is known to be decided otherwise. *)
MayMove(r, s) == FALSE

(* What all are known to have done. *)
MinDone(r) == Least({IF q = r THEN done[r] ELSE known[r][q] : q \in Replicas})

(* A slot that is not decided is finished, or filled, by anybody who knows it, or one above it, to be in use. So is one that a database has already. *)
IsInUse(r, s) == \E t \in s..MaxSlot : log[r][t].entry /= Nothing \/ promised[r][t] /= NoBallot
MayFill(r, s) == IsInUse(r, s) \/ s <= done[r]

(* One that runs a ballot hears that a higher one was begun. *)
IsRejected(r, s) == \E m \in Sent("Prepare") : m.slot = s /\ Less(open[r][s].ballot, m.ballot)

(* What a restarted replica has in memory. *)
RecoveredPromises(d) == d.promised
RecoveredLog(d) == d.log

(* A proposal that lost its slot is not given up. *)
Keeps(r, e) == TRUE

(* Models leave it out where it does not matter. *)
MayAsk(r) == TRUE
MayExecute(r) == TRUE
MayForget(r) == TRUE

(* A replica whose database lacks what it has forgotten takes a copy. *)
MayCopy(r) == TRUE

-----------------------------------------------------------------------------
(* Writing and sending *)

(* Appends a record, and lets `replies` leave when it is durable; `now` leaves at once. *)
WriteThenSend(r, record, replies, now) ==
  LET held == {m \in replies : MustWait(m)}
  IN /\ buffer' = [buffer EXCEPT ![r] = Append(@, [record |-> record, replies |-> held])]
     /\ msgs' = msgs \union now \union (replies \ held)

(* Everything up to here is known to be decided. *)
PrefixOf(from, S) == Max({from} \union {s \in S : \A t \in (from + 1)..s : t \in S})
CommitPoint(r) == PrefixOf(purged[r], decided[r])

(* r has come to know that e is chosen in slot s: what it ran there is over, and a proposal of its own that lost waits for another slot. *)
Settle(r, s, e) ==
  /\ decided' = [decided EXCEPT ![r] = @ \union {s}]
  /\ own' = [own EXCEPT ![r][s] = Nothing]
  /\ waiting' = [waiting EXCEPT ![r] = @ \union (IF own[r][s] \in {Nothing, e} \/ ~Keeps(r, own[r][s]) THEN {} ELSE {own[r][s]})]
  /\ open' = [open EXCEPT ![r][s] = Closed]

-----------------------------------------------------------------------------
(* The proposer *)

InFlight(r) == {s \in Slots : own[r][s] /= Nothing}

(* A slot that r does not know to be decided and in which it has no proposal yet. It takes the lowest; a proposal that has lost more than *)
(* once goes beyond those in which others are at work. *)
IsFree(r, s) == s > purged[r] /\ s \notin decided[r] /\ own[r][s] = Nothing

(* r takes a proposal, new or one that lost its slot, and places it. *)
Propose(r, s, e) ==
  /\ up[r]
  /\ Cardinality(InFlight(r)) < WindowSlots
  /\ IsFree(r, s)
  /\ \/ e \in waiting[r]
     \/ MayAsk(r) /\ waiting[r] = {} /\ asked[r] < MaxRequests /\ e = Command(r, asked[r] + 1)
  /\ own' = [own EXCEPT ![r][s] = e]
  /\ waiting' = [waiting EXCEPT ![r] = @ \ {e}]
  /\ asked' = [asked EXCEPT ![r] = IF e \in waiting[r] THEN @ ELSE @ + 1]
  /\ act' = [name |-> "Propose", params |-> [replica |-> r, slot |-> s, entry |-> e]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, decided, purged, open, done, known, up, crashes, lost>>

(* Phase 1: r asks for promises at once; its own counts when it is durable. *)
StartBallot(r, s, b) ==
  /\ up[r]
  /\ s > purged[r]
  /\ ~IsSettled(r, s)
  /\ MayUse(r, b)
  /\ Less(promised[r][s], b)
  /\ open[r][s].phase = "none"
  /\ own[r][s] /= Nothing \/ MayFill(r, s)
  /\ promised' = [promised EXCEPT ![r][s] = b]
  /\ open' = [open EXCEPT ![r][s] = [phase |-> "prepare", ballot |-> b]]
  /\ WriteThenSend(r, PromiseRecord(s, b), {PromiseMsg(r, s, b, log[r][s])}, {PrepareMsg(s, b)})
  /\ act' = [name |-> "StartBallot", params |-> [replica |-> r, slot |-> s, ballot |-> b]]
  /\ UNCHANGED <<durable, log, decided, purged, own, waiting, done, known, asked, up, crashes, lost>>

(* The promises that a proposer may have heard in a ballot. *)
Promisers(s, b) == {m.from : m \in {n \in Sent("Promise") : n.slot = s /\ n.ballot = b}}

(* Phase 2: a majority has promised, Q. What r proposes is what it must. It votes for that itself. *)
StartAccept(r, s, Q) ==
  /\ up[r]
  /\ open[r][s].phase = "prepare"
  /\ LET b == open[r][s].ballot
         votes == {v \in {m.vote : m \in {n \in Sent("Promise") : n.slot = s /\ n.ballot = b /\ n.from \in Q}} : v.entry /= Nothing}
         e == PickOrFree(r, s, votes)
     IN /\ Q \subseteq Promisers(s, b)
        /\ IsQuorum(Q)
        /\ OwnPromiseNeeded(r, Q)
        /\ promised[r][s] = b
        /\ log' = [log EXCEPT ![r][s] = [ballot |-> b, entry |-> e]]
        /\ open' = [open EXCEPT ![r][s].phase = "accept"]
        /\ WriteThenSend(r, VoteRecord(s, b, e), {AcceptedMsg(r, s, b)}, {AcceptMsg(s, b, e)})
        /\ act' = [name |-> "StartAccept", params |-> [replica |-> r, slot |-> s, ballot |-> b, entry |-> e, promisers |-> Q]]
  /\ UNCHANGED <<durable, promised, decided, purged, own, waiting, done, known, asked, up, crashes, lost>>

VotersOf(s, b) == {m.from : m \in {n \in Sent("Accepted") : n.slot = s /\ n.ballot = b}}

(* r knows from a majority's votes that its ballot has chosen, and tells. *)
Decide(r, s) ==
  /\ up[r]
  /\ open[r][s].phase = "accept"
  /\ LET b == open[r][s].ballot
         e == log[r][s].entry
     IN /\ IsChosenBy(VotersOf(s, b))
        /\ Settle(r, s, e)
        /\ msgs' = msgs \union {LearnMsg(s, b), CatchUpMsg(s, e)}
        /\ act' = [name |-> "Decide", params |-> [replica |-> r, slot |-> s, ballot |-> b]]
  /\ UNCHANGED <<durable, buffer, promised, log, purged, done, known, asked, up, crashes, lost>>

(* A higher ballot was begun: r gives up its own, and tries again above. With MayMove (a bug) its proposal goes elsewhere. *)
HandleReject(r, s) ==
  /\ up[r]
  /\ open[r][s].phase /= "none"
  /\ IsRejected(r, s)
  /\ open' = [open EXCEPT ![r][s] = Closed]
  /\ IF MayMove(r, s) /\ own[r][s] /= Nothing
     THEN waiting' = [waiting EXCEPT ![r] = @ \union {own[r][s]}] /\ own' = [own EXCEPT ![r][s] = Nothing]
     ELSE UNCHANGED <<waiting, own>>
  /\ act' = [name |-> "HandleReject", params |-> [replica |-> r, slot |-> s]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, decided, purged, done, known, asked, up, crashes, lost>>

-----------------------------------------------------------------------------
(* The acceptor *)

HandlePrepare(r, s, b) ==
  /\ up[r]
  /\ r /= Owner(b)
  /\ PrepareMsg(s, b) \in msgs
  /\ ~IsForgotten(r, s)
  /\ ~IsSettled(r, s)
  /\ Less(promised[r][s], b)
  /\ promised' = [promised EXCEPT ![r][s] = b]
  /\ open' = [open EXCEPT ![r][s] = Closed]
  /\ WriteThenSend(r, PromiseRecord(s, b), {PromiseMsg(r, s, b, log[r][s])}, {})
  /\ act' = [name |-> "HandlePrepare", params |-> [replica |-> r, slot |-> s, ballot |-> b]]
  /\ UNCHANGED <<durable, log, decided, purged, own, waiting, done, known, asked, up, crashes, lost>>

HandleAccept(r, s, b) ==
  /\ up[r]
  /\ r /= Owner(b)
  /\ ~IsForgotten(r, s)
  /\ ~IsSettled(r, s)
  /\ MayVote(r, s, b)
  /\ log[r][s].ballot /= b
  /\ \E e \in Proposals(b, s) :
       /\ log' = [log EXCEPT ![r][s] = [ballot |-> b, entry |-> e]]
       /\ WriteThenSend(r, VoteRecord(s, b, e), {AcceptedMsg(r, s, b)}, {})
       /\ act' = [name |-> "HandleAccept", params |-> [replica |-> r, slot |-> s, ballot |-> b, entry |-> e]]
  /\ promised' = [promised EXCEPT ![r][s] = Higher(@, b)]
  /\ open' = [open EXCEPT ![r][s] = Closed]
  /\ UNCHANGED <<durable, decided, purged, own, waiting, done, known, asked, up, crashes, lost>>

-----------------------------------------------------------------------------
(* The learner *)

(* Who voted in the ballot that has chosen knows what is. *)
HandleLearn(r, s, b) ==
  /\ up[r]
  /\ LearnMsg(s, b) \in msgs
  /\ s > purged[r] /\ s \notin decided[r]
  /\ log[r][s].entry /= Nothing
  /\ KnowsChosen(log[r][s], b)
  /\ Settle(r, s, log[r][s].entry)
  /\ act' = [name |-> "HandleLearn", params |-> [replica |-> r, slot |-> s, ballot |-> b]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, purged, done, known, asked, up, crashes, lost>>

(* Whoever has missed it is told the entry. A vote for it is as good a record. *)
HandleCatchUpReply(r, s) ==
  /\ up[r]
  /\ s > purged[r] /\ s \notin decided[r]
  /\ \E e \in Learnable(s) :
       /\ IF log[r][s].entry = e THEN UNCHANGED <<msgs, buffer, log>>
          ELSE /\ log' = [log EXCEPT ![r][s] = [ballot |-> NoBallot, entry |-> e]]
               /\ WriteThenSend(r, ChosenRecord(s, e), {}, {})
       /\ Settle(r, s, e)
       /\ act' = [name |-> "HandleCatchUpReply", params |-> [replica |-> r, slot |-> s, entry |-> e]]
  /\ UNCHANGED <<durable, promised, purged, done, known, asked, up, crashes, lost>>

-----------------------------------------------------------------------------
(* Done and Min *)

(* r's database executes the next slot, durably. What the log has forgotten it cannot. *)
Apply(r) ==
  /\ up[r]
  /\ MayExecute(r)
  /\ done[r] >= purged[r]
  /\ done[r] < CommitPoint(r)
  /\ done' = [done EXCEPT ![r] = @ + 1]
  /\ act' = [name |-> "Apply", params |-> [replica |-> r, slot |-> done[r] + 1]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, decided, purged, own, waiting, open, known, asked, up, crashes, lost>>

(* What a message may tell of what q has done: a message that is late tells less, which is as if it had come before. *)
ToldDone(q) == {done[q]}

(* A message tells r how much q has done. *)
HandleDone(r, q, n) ==
  /\ up[r] /\ r /= q
  /\ MayForget(r)
  /\ n \in ToldDone(q)
  /\ known[r][q] < n
  /\ known' = [known EXCEPT ![r][q] = n]
  /\ act' = [name |-> "HandleDone", params |-> [replica |-> r, from |-> q, done |-> n]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, decided, purged, own, waiting, open, done, asked, up, crashes, lost>>

(* Slots up to c are forgotten: their promises, votes and entries. *)
Forget(r, c) ==
  /\ promised' = [promised EXCEPT ![r] = Without(@, c, NoBallot)]
  /\ log' = [log EXCEPT ![r] = Without(@, c, Empty)]
  /\ decided' = [decided EXCEPT ![r] = {s \in @ : s > c}]
  /\ own' = [own EXCEPT ![r] = Without(@, c, Nothing)]
  /\ open' = [open EXCEPT ![r] = Without(@, c, Closed)]
  /\ purged' = [purged EXCEPT ![r] = c]
  /\ WriteThenSend(r, BaseRecord(c), {}, {})

(* Up to Min, or less. *)
Purge(r, c) ==
  /\ up[r]
  /\ MayForget(r)
  /\ c > purged[r]
  /\ c <= MinDone(r)
  /\ c <= CommitPoint(r)
  /\ Forget(r, c)
  /\ act' = [name |-> "Purge", params |-> [replica |-> r, slot |-> c]]
  /\ UNCHANGED <<durable, waiting, done, known, asked, up, crashes, lost>>

(***************************************************************************)
(* r's database came up with everything up to c in it: its own, which may   *)
(* have more than the log is known to have decided, or a copy of another's. *)
(* What the log lacks of that is forgotten, unless it can come to know it;  *)
(* a proposal of its own down there is not moved, since nobody can tell     *)
(* whether it was chosen.                                                   *)
(***************************************************************************)
Restored(r, c) ==
  /\ up[r]
  /\ c = done[r] \/ (MayCopy(r) /\ c > done[r] /\ \E q \in Replicas \ {r} : done[q] = c)
  /\ done' = [done EXCEPT ![r] = c]
  /\ \/ c > CommitPoint(r) /\ Forget(r, c)
     \/ c /= done[r] /\ UNCHANGED <<msgs, buffer, promised, log, decided, own, open, purged>>
  /\ act' = [name |-> "Restored", params |-> [replica |-> r, slot |-> c]]
  /\ UNCHANGED <<durable, waiting, known, asked, up, crashes, lost>>

RECURSIVE SumOf(_, _)
SumOf(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE y \in S : TRUE IN f[x] + SumOf(f, S \ {x})

(* r's database is gone, its log is not. *)
LoseDatabase(r) ==
  /\ up[r]
  /\ done[r] > 0
  /\ SumOf(lost, Replicas) < MaxLosses
  /\ done' = [done EXCEPT ![r] = 0]
  /\ lost' = [lost EXCEPT ![r] = @ + 1]
  /\ act' = [name |-> "LoseDatabase", params |-> [replica |-> r]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, decided, purged, own, waiting, open, known, asked, up, crashes>>

-----------------------------------------------------------------------------
(* Disk, crash, restart *)

(* The next n records of r's buffer become durable, and what waited for them leaves. *)
Fsync(r, n) ==
  /\ up[r]
  /\ n \in 1..Len(buffer[r])
  /\ LET flushed == SubSeq(buffer[r], 1, n)
     IN /\ durable' = [durable EXCEPT ![r] = WrittenAll(@, flushed)]
        /\ msgs' = msgs \union UNION {flushed[i].replies : i \in 1..n}
  /\ buffer' = [buffer EXCEPT ![r] = SubSeq(@, n + 1, Len(@))]
  /\ act' = [name |-> "Fsync", params |-> [replica |-> r, records |-> n]]
  /\ UNCHANGED <<promised, log, decided, purged, own, waiting, open, done, known, asked, up, crashes, lost>>

(* The commit points that r's disk may hold: one is written now and then, behind the entries that it speaks of. *)
IsOnDisk(r, s) == durable[r].log[s].entry \in Learnable(s)
Hints(r) == {c \in durable[r].base..CommitPoint(r) : \A s \in (durable[r].base + 1)..c : IsOnDisk(r, s)}

(* The process or the machine of r dies: memory and what was not flushed are lost. *)
Crash(r, hint) ==
  /\ up[r]
  /\ SumOf(crashes, Replicas) < MaxCrashes
  /\ hint \in Hints(r)
  /\ crashes' = [crashes EXCEPT ![r] = @ + 1]
  /\ up' = [up EXCEPT ![r] = FALSE]
  /\ buffer' = [buffer EXCEPT ![r] = <<>>]
  /\ promised' = [promised EXCEPT ![r] = NoPromises]
  /\ log' = [log EXCEPT ![r] = EmptyLog]
  /\ decided' = [decided EXCEPT ![r] = (durable[r].base + 1)..hint]
  /\ purged' = [purged EXCEPT ![r] = durable[r].base]
  /\ own' = [own EXCEPT ![r] = [s \in Slots |-> Nothing]]
  /\ waiting' = [waiting EXCEPT ![r] = {}]
  /\ open' = [open EXCEPT ![r] = [s \in Slots |-> Closed]]
  /\ known' = [known EXCEPT ![r] = [q \in Replicas |-> 0]]
  /\ act' = [name |-> "Crash", params |-> [replica |-> r, commitPoint |-> hint]]
  /\ UNCHANGED <<msgs, durable, done, asked, lost>>

Restart(r) ==
  /\ ~up[r]
  /\ up' = [up EXCEPT ![r] = TRUE]
  /\ promised' = [promised EXCEPT ![r] = RecoveredPromises(durable[r])]
  /\ log' = [log EXCEPT ![r] = RecoveredLog(durable[r])]
  /\ decided' = [decided EXCEPT ![r] = @ \union {s \in Slots : IsLearnt(durable[r].log[s])}]
  /\ act' = [name |-> "Restart", params |-> [replica |-> r]]
  /\ UNCHANGED <<msgs, durable, buffer, purged, own, waiting, open, done, known, asked, crashes, lost>>

-----------------------------------------------------------------------------
Init ==
  /\ msgs = {}
  /\ durable = [r \in Replicas |-> [promised |-> NoPromises, log |-> EmptyLog, base |-> 0]]
  /\ buffer = [r \in Replicas |-> <<>>]
  /\ promised = [r \in Replicas |-> NoPromises]
  /\ log = [r \in Replicas |-> EmptyLog]
  /\ decided = [r \in Replicas |-> {}]
  /\ purged = [r \in Replicas |-> 0]
  /\ own = [r \in Replicas |-> [s \in Slots |-> Nothing]]
  /\ waiting = [r \in Replicas |-> {}]
  /\ open = [r \in Replicas |-> [s \in Slots |-> Closed]]
  /\ done = [r \in Replicas |-> 0]
  /\ known = [r \in Replicas |-> [q \in Replicas |-> 0]]
  /\ asked = [r \in Replicas |-> 0]
  /\ up = [r \in Replicas |-> TRUE]
  /\ crashes = [r \in Replicas |-> 0]
  /\ lost = [r \in Replicas |-> 0]
  /\ act = [name |-> "Init", params |-> [replica |-> 0]]

Proposing(r) ==
  \/ \E s \in Slots, n \in 1..MaxRequests, q \in Replicas : Propose(r, s, Command(q, n))
  \/ \E s \in Slots, b \in Ballots : StartBallot(r, s, b)
  \/ \E s \in Slots : \E Q \in SUBSET Promisers(s, open[r][s].ballot) : StartAccept(r, s, Q)
  \/ \E s \in Slots : Decide(r, s)
  \/ \E s \in Slots : HandleReject(r, s)
Accepting(r) ==
  \/ \E m \in Sent("Prepare") : HandlePrepare(r, m.slot, m.ballot)
  \/ \E m \in Sent("Accept") : HandleAccept(r, m.slot, m.ballot)
Learning(r) ==
  \/ \E m \in Sent("Learn") : HandleLearn(r, m.slot, m.ballot)
  \/ \E s \in Slots : HandleCatchUpReply(r, s)
Purging(r) ==
  \/ Apply(r)
  \/ \E q \in Replicas : \E n \in ToldDone(q) : HandleDone(r, q, n)
  \/ \E c \in Slots : Purge(r, c)
  \/ \E c \in Slots : Restored(r, c)
  \/ LoseDatabase(r)
Disk(r) ==
  \/ \E n \in 1..Len(buffer[r]) : Fsync(r, n)
  \/ \E hint \in Hints(r) : Crash(r, hint)
  \/ Restart(r)

Next == \E r \in Replicas : Proposing(r) \/ Accepting(r) \/ Learning(r) \/ Purging(r) \/ Disk(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What goes on by itself *)

(* Those who are well for good. The others may be silent from any time on. Models put fewer in their place. *)
Lasting == Replicas

(******************************************************************************)
(* Fair back-off: whoever gave up waits, a random and growing time, so that    *)
(* in the end somebody begins a ballot that nobody rivals.  That is an         *)
(* assumption here (models let the highest ballot of a slot alone).  Messages  *)
(* of those who are well arrive in the end, since they are sent again.         *)
(******************************************************************************)
IsAlone(r, s) == \A q \in Lasting \ {r} : open[q][s].phase = "none"
FairAt(r) ==
  /\ WF_View(\E s \in Slots, n \in 1..MaxRequests : Propose(r, s, Command(r, n)))
  /\ \A s \in Slots :
       /\ WF_View(IsAlone(r, s) /\ \E b \in Ballots : StartBallot(r, s, b))
       /\ WF_View(\E Q \in SUBSET Lasting : StartAccept(r, s, Q))
       /\ WF_View(Decide(r, s))
       /\ WF_View(HandleReject(r, s))
       /\ WF_View(\E b \in Ballots : Owner(b) \in Lasting /\ HandlePrepare(r, s, b))
       /\ WF_View(\E b \in Ballots : Owner(b) \in Lasting /\ HandleAccept(r, s, b))
       /\ WF_View((\E q \in Lasting : s \in decided[q]) /\ HandleCatchUpReply(r, s))
  /\ WF_View(Apply(r))
  /\ WF_View(\E q \in Lasting : HandleDone(r, q, done[q]))
  /\ WF_View(Purge(r, MinDone(r)))
  /\ WF_View(\E q \in Lasting : done[q] >= purged[r] /\ done[r] < purged[r] /\ Restored(r, done[q]))
  /\ WF_View(\E q \in Lasting : purged[q] > CommitPoint(r) /\ \E p \in Lasting : done[p] >= purged[q] /\ Restored(r, done[p]))
  /\ WF_View(Fsync(r, Len(buffer[r])))
  /\ WF_View(Restart(r))

Fairness == \A r \in Lasting : FairAt(r)

-----------------------------------------------------------------------------
(* What must hold *)

VoteSet == [ballot : Ballots \union {NoBallot}, entry : EntrySet]

TypeOK ==
  /\ durable \in [Replicas -> [promised : [Slots -> Ballots \union {NoBallot}], log : [Slots -> VoteSet \union {Empty}], base : 0..MaxSlot]]
  /\ promised \in [Replicas -> [Slots -> Ballots \union {NoBallot}]]
  /\ log \in [Replicas -> [Slots -> VoteSet \union {Empty}]]
  /\ decided \in [Replicas -> SUBSET Slots]
  /\ purged \in [Replicas -> 0..MaxSlot]
  /\ own \in [Replicas -> [Slots -> EntrySet \union {Nothing}]]
  /\ done \in [Replicas -> 0..MaxSlot]
  /\ known \in [Replicas -> [Replicas -> 0..MaxSlot]]
  /\ \A r \in Replicas, s \in Slots :
       /\ open[r][s].phase \in {"none", "prepare", "accept"}
       /\ open[r][s].phase /= "none" => open[r][s].ballot = promised[r][s] /\ s \notin decided[r] /\ s > purged[r]
       /\ open[r][s].phase = "accept" => log[r][s].ballot = open[r][s].ballot
       /\ own[r][s] /= Nothing => s \notin decided[r] /\ s > purged[r]

(* Chosen: proposed in a ballot in which a majority has revealed its votes. *)
IsMajority(S) == 2 * Cardinality(S) > Cardinality(Replicas)
ChosenIn(b, s) == IF IsMajority(VotersOf(s, b)) THEN Proposals(b, s) ELSE {}
Chosen(s) == UNION {ChosenIn(b, s) : b \in Ballots}

(* No two entries are chosen in one slot. *)
Agreement == \A s \in Slots : Cardinality(Chosen(s)) <= 1

(* No proposal is chosen in two slots. *)
ChosenOnce == \A s, t \in Slots : s /= t => \A e \in Chosen(s) \intersect Chosen(t) : e = Noop

(* Only what clients brought is chosen, or nothing. *)
NothingInvented == \A s \in Slots : \A e \in Chosen(s) : e = Noop \/ (e.id > 0 /\ e.id <= asked[e.replica])

OneValuePerBallot == \A b \in Ballots, s \in Slots : Cardinality(Proposals(b, s)) <= 1

(* What a replica revealed it still has on disk, whatever crashed: its promises, unless all have done with the slot ... *)
PromiseDurable ==
  \A m \in Sent("Promise") : m.slot <= durable[m.from].base \/ AtMost(m.ballot, durable[m.from].promised[m.slot])

(* ... and its votes, unless a vote in a higher ballot or the chosen entry took their place. *)
VoteDurable ==
  \A m \in Sent("Accepted") :
    LET d == durable[m.from]
    IN \/ m.slot <= d.base
       \/ /\ AtMost(m.ballot, d.promised[m.slot])
          /\ IsLearnt(d.log[m.slot]) \/ AtMost(m.ballot, d.log[m.slot].ballot)

(* Of what a replica knows to be decided it has the chosen entry. *)
DecidedIsChosen == \A r \in Replicas : up[r] => \A s \in decided[r] : log[r][s].entry \in Chosen(s)

(* What a database has done is chosen, and so is all that is forgotten. *)
DoneIsChosen == \A r \in Replicas : \A s \in 1..Larger(done[r], purged[r]) : Chosen(s) /= {}

(* What is forgotten by anybody some database has, or some log. *)
NothingLost ==
  \A r \in Replicas : \A s \in 1..purged[r] :
    \E q \in Replicas : s <= done[q] \/ durable[q].log[s].entry \in Chosen(s)

(* A proposal of a replica is in one place. *)
PlacedOnce ==
  \A r \in Replicas :
    /\ \A s, t \in Slots : s /= t /\ own[r][s] /= Nothing => own[r][s] /= own[r][t]
    /\ \A s \in Slots : own[r][s] \notin waiting[r]

(* A replica's memory is its disk and what it has appended. *)
MemoryIsDiskAndBuffer ==
  \A r \in Replicas : up[r] => WrittenAll(durable[r], buffer[r]) = [promised |-> promised[r], log |-> log[r], base |-> purged[r]]

(* On disk a promise never sinks, and a vote gives way to higher votes and to chosen entries only, until the slot is forgotten. *)
DurableMonotone ==
  [][\A r \in Replicas :
       /\ durable[r].base <= durable'[r].base
       /\ \A s \in Slots :
            \/ s <= durable'[r].base
            \/ /\ AtMost(durable[r].promised[s], durable'[r].promised[s])
               /\ \/ IsLearnt(durable'[r].log[s])
                  \/ AtMost(durable[r].log[s].ballot, durable'[r].log[s].ballot)]_vars

(* What a replica knows to be decided it knows as long as it is up, or has forgotten it. *)
DecidedStays ==
  [][\A r \in Replicas : up[r] /\ up'[r] => \A s \in decided[r] : (s \in decided'[r] /\ log'[r][s].entry = log[r][s].entry) \/ s <= purged'[r]]_vars

(* Purging leaves nobody behind whose database is well. *)
PurgeLeavesNobody ==
  [][act'.name = "Purge" => \A q \in Replicas : lost[q] = 0 => purged'[act'.params.replica] <= done[q]]_vars

(* In the end all that clients brought to those who are well, and whom nothing has befallen, is chosen; and those have done all that is. *)
AllIsChosen ==
  \A r \in Lasting :
    /\ waiting[r] = {}
    /\ crashes[r] = 0 => \A n \in 1..asked[r] : \E s \in Slots : Command(r, n) \in Chosen(s)
AllIsDone == AllIsChosen /\ \A r \in Lasting, s \in Slots : Chosen(s) /= {} => done[r] >= s
EverythingIsChosen == <>[]AllIsChosen
EverythingIsDone == <>[]AllIsDone

ChosenLog == [s \in Slots |-> Chosen(s)]
Abstract == INSTANCE Consensus WITH chosen <- ChosenLog, Entries <- EntrySet
StepsRefine == [][msgs' = msgs \/ Abstract!Next]_ChosenLog
Refinement == Abstract!Init /\ StepsRefine
=============================================================================
