----------------------------- MODULE MultiPaxos -----------------------------
(***************************************************************************)
(* The consensus core of one group of replicas: Multi-Paxos with a          *)
(* designated leader, as server/src/multipaxos implements it.  It refines   *)
(* Consensus.  The README has the table spec action / function / event.     *)
(*                                                                         *)
(* What is modelled with care                                              *)
(*   - What a replica has on disk (`durable`), what it has appended to its   *)
(*     log and not yet flushed (`buffer`), and what it has in memory (the    *)
(*     other variables) are apart.  Fsync makes the next records of the      *)
(*     buffer durable, in order, and lets go the messages that wait for      *)
(*     them.  Crash takes buffer and memory.                                 *)
(*   - The commit point (every slot at or below it is chosen) of each        *)
(*     replica, how it travels, and how a replica that lags catches up.      *)
(*                                                                         *)
(* How messages are modelled                                               *)
(*   - `msgs` only grows.  A message may be taken any number of times, late,  *)
(*     in any order or never: loss, duplication and reordering for free.     *)
(*   - An Accept of many slots is kept slot by slot, and so is an Accepted.   *)
(*     HandleAccept takes any run of consecutive slots proposed in one        *)
(*     ballot together with any commit point told in that ballot: that is     *)
(*     every Accept that the leader can send, retransmissions included.       *)
(*   - A Heartbeat exists from the moment when the leader could send it.      *)
(*   - A CatchUpReply carries a run of chosen entries.  A slot's entry can be  *)
(*     in a reply from the moment when the first replica knows it as chosen.  *)
(*   - A Reject carries nothing but a higher promise that its sender has made  *)
(*     durable; HandleReject looks at that promise.                           *)
(*   - PreVote, HeartbeatAck and CatchUpRequest are not here: no safety rests  *)
(*     on them.  Clocks and the lease are in Lease.                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Replicas,      \* positive numbers: ballots are ordered by them
  Ballots,       \* the ballots that may be used: a finite set of <<round, replica>>
  MaxSlot,       \* the log's length
  MaxBatch,      \* how many slots one message may cover
  WindowSlots,   \* how many slots a leader may have proposed above its commit point
  MaxCrashes     \* how many crashes there are in all

VARIABLES
  msgs,          \* every message ever sent
  durable,       \* durable[r]: [promised, log] on r's disk
  buffer,        \* buffer[r]: records appended and not yet durable, each with the messages that wait for it
  promised,      \* promised[r]: the highest ballot that r promised or voted in
  log,           \* log[r][s]: r's last vote in slot s, or the chosen entry that it learnt
  commitPoint,   \* commitPoint[r]; of a replica that is down: the hint that its disk holds
  role,          \* role[r]: "follower", "candidate", "leader" or "down"
  promises,      \* promises[r]: the promises of others that candidate r has counted
  acks,          \* acks[r][s]: the others whose votes for its proposal in slot s leader r has counted
  startSlot,     \* startSlot[r]: the slot of leader r's own `leaderStart` entry; 0 if it leads not
  serving,       \* serving[r]: leader r serves clients
  crashes,       \* crashes[r]: how often r has crashed
  act            \* the last action and its parameters, for replaying a behaviour; not part of the state (see View)

vars == <<msgs, durable, buffer, promised, log, commitPoint, role, promises, acks, startSlot, serving, crashes, act>>

View == <<msgs, durable, buffer, promised, log, commitPoint, role, promises, acks, startSlot, serving, crashes>>

-----------------------------------------------------------------------------
(* Ballots, entries, records *)

Slots == 1..MaxSlot

NoBallot == <<0, 0>>
Owner(b) == b[2]
Less(a, b) == a[1] < b[1] \/ (a[1] = b[1] /\ a[2] < b[2])
AtMost(a, b) == a = b \/ Less(a, b)
Higher(a, b) == IF Less(a, b) THEN b ELSE a

Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Larger(a, b) == IF a < b THEN b ELSE a
Smaller(a, b) == IF a < b THEN a ELSE b
(* The i-th smallest of a set of numbers. *)
Nth(S, i) == CHOOSE x \in S : Cardinality({y \in S : y <= x}) = i

Nothing == [kind |-> "nothing", ballot |-> NoBallot, id |-> 0]
Noop == [kind |-> "noop", ballot |-> NoBallot, id |-> 0]
LeaderStart(b) == [kind |-> "leaderStart", ballot |-> b, id |-> 0]
(* Each proposal is unique to its slot and to the run of the replica that made it: the worst case for agreement. *)
Command(b, s, run) == [kind |-> "command", ballot |-> b, id |-> s + run * MaxSlot]

EntrySet ==
  {Noop} \union {LeaderStart(b) : b \in Ballots}
         \union {Command(b, s, run) : b \in Ballots, s \in Slots, run \in 0..MaxCrashes}

(* What the log holds for a slot. Learnt as chosen without a vote: no ballot. *)
Empty == [ballot |-> NoBallot, entry |-> Nothing]
IsVote(v) == v.ballot /= NoBallot
IsLearnt(v) == v.ballot = NoBallot /\ v.entry /= Nothing
EmptyLog == [s \in Slots |-> Empty]

PromiseRecord(b) == [kind |-> "promise", slot |-> 0, ballot |-> b, entry |-> Nothing]
VoteRecord(s, b, e) == [kind |-> "vote", slot |-> s, ballot |-> b, entry |-> e]
ChosenRecord(s, e) == [kind |-> "chosen", slot |-> s, ballot |-> NoBallot, entry |-> e]

(* A record takes effect on what is on disk. A vote implies the promise of its ballot. *)
Written(d, record) ==
  [promised |-> Higher(d.promised, record.ballot),
   log |-> IF record.kind = "promise" THEN d.log
           ELSE [d.log EXCEPT ![record.slot] = [ballot |-> record.ballot, entry |-> record.entry]]]

RECURSIVE WrittenAll(_, _)
WrittenAll(d, records) ==
  IF records = <<>> THEN d ELSE WrittenAll(Written(d, Head(records).record), Tail(records))

-----------------------------------------------------------------------------
(* Messages *)

PrepareMsg(b, c) == [type |-> "Prepare", ballot |-> b, commitPoint |-> c]
PromiseMsg(r, b, c, votes) == [type |-> "Promise", from |-> r, ballot |-> b, commitPoint |-> c, votes |-> votes]
AcceptMsg(b, s, e) == [type |-> "Accept", ballot |-> b, slot |-> s, entry |-> e]
AcceptedMsg(r, b, s) == [type |-> "Accepted", from |-> r, ballot |-> b, slot |-> s]
HeartbeatMsg(b, c) == [type |-> "Heartbeat", ballot |-> b, commitPoint |-> c]
CatchUpMsg(s, e) == [type |-> "CatchUpReply", slot |-> s, entry |-> e]

Sent(type) == {m \in msgs : m.type = type}

(* What a leader of ballot b has proposed in slot s; at most one entry (OneValuePerBallot). *)
Proposals(b, s) == {m.entry : m \in {n \in Sent("Accept") : n.ballot = b /\ n.slot = s}}
Proposed(b, s) == CHOOSE e \in Proposals(b, s) : TRUE
Learnable(s) == {m.entry : m \in {n \in Sent("CatchUpReply") : n.slot = s}}

-----------------------------------------------------------------------------
(* Rules that a bug model overrides, one at a time *)

IsQuorum(S) == 2 * Cardinality(S) > Cardinality(Replicas)

(* A message that reveals a promise or a vote waits until that is durable. *)
MustWait(m) == TRUE

(* A leader counts its own vote once it is durable. *)
CountsOwnVote(r, s) == AcceptedMsg(r, promised[r], s) \in msgs

(* An acceptor votes in no ballot below its promise. *)
MayVote(r, b) == AtMost(promised[r], b)

(* An acceptor does not vote again in a slot that it knows to be chosen. *)
MayVoteIn(r, s) == s > commitPoint[r]

(* A leader serves once everything up to its own first entry is chosen. *)
MayServe(r) == commitPoint[r] >= startSlot[r]

(* A leader takes commands when it serves. *)
MayPropose(r) == serving[r]

(* From the leader's commit point a follower knows that a slot is chosen only with the leader's own proposal in it. *)
KnowsChosen(v, b) == v.ballot = b

(* What a new leader proposes where it found votes, and where it found none. *)
Pick(votes) == (CHOOSE v \in votes : \A w \in votes : AtMost(w.ballot, v.ballot)).entry

(* A Prepare that comes again is answered again, from what its receiver has now. *)
AnswersAgain(r, b) == promised[r] = b

(* Slots up to here are chosen already: a new leader fetches them and never proposes there. *)
HeardCommitPoint(r, counted) == Max({commitPoint[r]} \union {m.commitPoint : m \in counted})

(* How far a leader's commit point may move: no further than the first slot that is not known to be chosen. *)
ChosenPrefix(r, known) ==
  Max({commitPoint[r]} \union {s \in known : \A t \in (commitPoint[r] + 1)..s : t \in known})

(* What a restarted replica has in memory. Not the paper's Procedure 2 done early: it keeps what is above the commit point. *)
RecoveredPromise(d) == d.promised
RecoveredLog(d, c) == d.log
(* A `chosen` record was written when the commit point had reached its slot, so it counts as a commit point itself. *)
RecoveredCommitPoint(d, hint) == Max({hint} \union {s \in Slots : IsLearnt(d.log[s])})

-----------------------------------------------------------------------------
(* Writing and sending *)

(* Appends records, and lets `replies` leave when they are all durable; `now` leaves at once. *)
WriteThenSend(r, records, replies, now) ==
  LET waiting == {m \in replies : MustWait(m)}
      atOnce == now \union (replies \ waiting)
      size == Len(records)
      backlog == Len(buffer[r])
  IN IF size > 0
     THEN /\ buffer' = [buffer EXCEPT ![r] = @ \o
                [i \in 1..size |-> [record |-> records[i], replies |-> IF i = size THEN waiting ELSE {}]]]
          /\ msgs' = msgs \union atOnce
     ELSE IF backlog > 0
     THEN /\ buffer' = [buffer EXCEPT ![r][backlog].replies = @ \union waiting]
          /\ msgs' = msgs \union atOnce
     ELSE /\ buffer' = buffer
          /\ msgs' = msgs \union atOnce \union waiting

(* Votes: each waits for its own record, so an Accepted can leave for the part of a batch that is durable. *)
VoteThenSend(r, records, b, now) ==
  LET reply(i) == AcceptedMsg(r, b, records[i].slot)
      appended == [i \in 1..Len(records) |-> [record |-> records[i], replies |-> {m \in {reply(i)} : MustWait(m)}]]
  IN /\ buffer' = [buffer EXCEPT ![r] = @ \o appended]
     /\ msgs' = msgs \union now \union {m \in {reply(i) : i \in 1..Len(records)} : ~MustWait(m)}

(* r neither stands for election nor leads. *)
BecomeFollower(r) ==
  /\ role' = [role EXCEPT ![r] = "follower"]
  /\ promises' = [promises EXCEPT ![r] = {}]
  /\ acks' = [acks EXCEPT ![r] = [s \in Slots |-> {}]]
  /\ startSlot' = [startSlot EXCEPT ![r] = 0]
  /\ serving' = [serving EXCEPT ![r] = FALSE]

Up(r) == role[r] /= "down"

Waiting(r) == UNION {buffer[r][i].replies : i \in 1..Len(buffer[r])}

LastSlot(r) == Max({commitPoint[r], startSlot[r]} \union {s \in Slots : log[r][s].entry /= Nothing})

(* How far a follower's commit point moves when the leader of b says that c is its own. *)
Followed(l, from, b, c) ==
  Max({from} \union {s \in (from + 1)..c : \A t \in (from + 1)..s : KnowsChosen(l[t], b)})

-----------------------------------------------------------------------------
(* Phase 1 *)

VotesAbove(l, c) ==
  {[slot |-> s, ballot |-> l[s].ballot, entry |-> l[s].entry] : s \in {t \in Slots : t > c /\ l[t].entry /= Nothing}}

(* r stands for election in a ballot of its own above its promise. The Prepare and its own promise wait for the disk. *)
StartElection(r, b) ==
  /\ role[r] \in {"follower", "candidate"}
  /\ Owner(b) = r
  /\ Less(promised[r], b)
  /\ promised' = [promised EXCEPT ![r] = b]
  /\ role' = [role EXCEPT ![r] = "candidate"]
  /\ promises' = [promises EXCEPT ![r] = {}]
  /\ WriteThenSend(r, <<PromiseRecord(b)>>,
       {PrepareMsg(b, commitPoint[r]), PromiseMsg(r, b, commitPoint[r], VotesAbove(log[r], commitPoint[r]))}, {})
  /\ act' = [name |-> "StartElection", params |-> [replica |-> r, ballot |-> b]]
  /\ UNCHANGED <<durable, log, commitPoint, acks, startSlot, serving, crashes>>

(* r promises to vote in no lower ballot, and tells its votes above what both know to be chosen. *)
HandlePrepare(r, b, c) ==
  /\ Up(r)
  /\ r /= Owner(b)
  /\ PrepareMsg(b, c) \in msgs
  /\ AtMost(promised[r], b)
  /\ LET reply == PromiseMsg(r, b, commitPoint[r], VotesAbove(log[r], Larger(commitPoint[r], c)))
     IN /\ \/ Less(promised[r], b)
           \/ /\ AnswersAgain(r, b)
              /\ reply \notin msgs
              /\ reply \notin Waiting(r)
        /\ WriteThenSend(r, IF Less(promised[r], b) THEN <<PromiseRecord(b)>> ELSE <<>>, {reply}, {})
  /\ promised' = [promised EXCEPT ![r] = b]
  /\ BecomeFollower(r)
  /\ act' = [name |-> "HandlePrepare", params |-> [replica |-> r, from |-> Owner(b), ballot |-> b, commitPoint |-> c]]
  /\ UNCHANGED <<durable, log, commitPoint, crashes>>

(* Candidate r counts a promise; the first of each sender. *)
HandlePromise(r, m) ==
  /\ role[r] = "candidate"
  /\ m.type = "Promise"
  /\ m.ballot = promised[r]
  /\ m.from /= r
  /\ \A p \in promises[r] : p.from /= m.from
  /\ promises' = [promises EXCEPT ![r] = @ \union {m}]
  /\ act' = [name |-> "HandlePromise",
             params |-> [replica |-> r, from |-> m.from, ballot |-> m.ballot, commitPoint |-> m.commitPoint,
                         votes |-> m.votes]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, commitPoint, role, acks, startSlot, serving, crashes>>

(* The promises that count for candidate r; its own is there as soon as it is durable. *)
Counted(r) ==
  promises[r] \union {m \in Sent("Promise") : m.from = r /\ m.ballot = promised[r]}

(* What r proposes first: the slots that it fills again, and then its own entry (which may lie beyond the model's log). *)
FirstProposals(r) ==
  LET counted == Counted(r)
      votes == UNION {m.votes : m \in counted}
      heard == HeardCommitPoint(r, counted)
      last == Max({heard} \union {v.slot : v \in votes})
      at(s) == {v \in votes : v.slot = s}
      found(s) == IF at(s) = {} THEN Noop ELSE Pick(at(s))
      end == Smaller(last + 1, MaxSlot)
  IN [first |-> heard + 1,
      last |-> end,
      start |-> last + 1,
      entry |-> [s \in (heard + 1)..end |-> IF s > last THEN LeaderStart(promised[r]) ELSE found(s)]]

CanBecomeLeader(r) ==
  /\ role[r] = "candidate"
  /\ r \in {m.from : m \in Counted(r)}
  /\ IsQuorum({m.from : m \in Counted(r)})

Voted(l, first, last, b, entry) ==
  [s \in Slots |-> IF s \in first..last THEN [ballot |-> b, entry |-> entry[s]] ELSE l[s]]

VoteRecords(first, last, b, entry) == [i \in 1..(last + 1 - first) |-> VoteRecord(first + i - 1, b, entry[first + i - 1])]

BecomeLeader(r) ==
  /\ CanBecomeLeader(r)
  /\ LET p == FirstProposals(r)
         b == promised[r]
     IN /\ log' = [log EXCEPT ![r] = Voted(@, p.first, p.last, b, p.entry)]
        /\ startSlot' = [startSlot EXCEPT ![r] = p.start]
        /\ VoteThenSend(r, VoteRecords(p.first, p.last, b, p.entry), b,
             {AcceptMsg(b, s, p.entry[s]) : s \in p.first..p.last} \union {HeartbeatMsg(b, commitPoint[r])})
        /\ act' = [name |-> "BecomeLeader",
                   params |-> [replica |-> r, ballot |-> b, firstSlot |-> p.first,
                               entries |-> [i \in 1..(p.last + 1 - p.first) |-> p.entry[p.first + i - 1]]]]
  /\ role' = [role EXCEPT ![r] = "leader"]
  /\ promises' = [promises EXCEPT ![r] = {}]
  /\ UNCHANGED <<durable, promised, commitPoint, acks, serving, crashes>>

-----------------------------------------------------------------------------
(* Phase 2 *)

(* Leader r proposes commands in the next slots, and votes for them itself. *)
Propose(r, entries) ==
  /\ role[r] = "leader"
  /\ MayPropose(r)
  /\ Len(entries) > 0
  /\ LET b == promised[r]
         first == LastSlot(r) + 1
         last == LastSlot(r) + Len(entries)
         entry == [s \in first..last |-> entries[s + 1 - first]]
     IN /\ last <= MaxSlot
        /\ last <= commitPoint[r] + WindowSlots
        /\ log' = [log EXCEPT ![r] = Voted(@, first, last, b, entry)]
        /\ VoteThenSend(r, VoteRecords(first, last, b, entry), b,
             {AcceptMsg(b, s, entry[s]) : s \in first..last})
        /\ act' = [name |-> "Propose",
                   params |-> [replica |-> r, ballot |-> b, firstSlot |-> first, entries |-> entries]]
  /\ UNCHANGED <<durable, promised, commitPoint, role, promises, acks, startSlot, serving, crashes>>

(***************************************************************************)
(* r votes for the slots first..last as the leader of b proposed them, but   *)
(* for those at or below its own commit point: what they hold is settled, and *)
(* r may have learnt it from a later ballot without a promise, so that b may   *)
(* be stale.  The leader's commit point c, told now or before, may tell more.   *)
(***************************************************************************)
HandleAccept(r, b, first, last, c) ==
  /\ Up(r)
  /\ r /= Owner(b)
  /\ \A s \in first..last : Proposals(b, s) /= {}
  /\ MayVote(r, b)
  /\ LET entry == [s \in first..last |-> Proposed(b, s)]
         fresh == {s \in first..last : MayVoteIn(r, s) /\ log[r][s].ballot /= b}
         newLog == [s \in Slots |-> IF s \in fresh THEN [ballot |-> b, entry |-> entry[s]] ELSE log[r][s]]
         newCommitPoint == Followed(newLog, commitPoint[r], b, c)
     IN /\ fresh /= {} \/ newCommitPoint > commitPoint[r]
        /\ log' = [log EXCEPT ![r] = newLog]
        /\ commitPoint' = [commitPoint EXCEPT ![r] = newCommitPoint]
        /\ VoteThenSend(r, [i \in 1..Cardinality(fresh) |-> VoteRecord(Nth(fresh, i), b, entry[Nth(fresh, i)])], b, {})
        /\ act' = [name |-> "HandleAccept",
                   params |-> [replica |-> r, from |-> Owner(b), ballot |-> b, firstSlot |-> first,
                               entries |-> [i \in 1..(last + 1 - first) |-> entry[first + i - 1]], commitPoint |-> c]]
  /\ promised' = [promised EXCEPT ![r] = Higher(@, b)]
  /\ BecomeFollower(r)
  /\ UNCHANGED <<durable, crashes>>

(* Leader r counts q's votes for slots first..last of its ballot. *)
HandleAccepted(r, q, first, last) ==
  /\ role[r] = "leader"
  /\ q /= r
  /\ \A s \in first..last : AcceptedMsg(q, promised[r], s) \in msgs
  /\ \E s \in first..last : s > commitPoint[r] /\ q \notin acks[r][s]
  /\ acks' = [acks EXCEPT ![r] = [s \in Slots |-> IF s \in first..last /\ s > commitPoint[r] THEN @[s] \union {q} ELSE @[s]]]
  /\ act' = [name |-> "HandleAccepted",
             params |-> [replica |-> r, from |-> q, ballot |-> promised[r], firstSlot |-> first, lastSlot |-> last]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, commitPoint, role, promises, startSlot, serving, crashes>>

(* The slots that leader r knows to be chosen by the votes that it counted. *)
KnownByVotes(r) ==
  {s \in Slots : /\ log[r][s].ballot = promised[r]
                 /\ IsQuorum(acks[r][s] \union (IF CountsOwnVote(r, s) THEN {r} ELSE {}))}

CanAdvanceCommitPoint(r) == role[r] = "leader" /\ ChosenPrefix(r, KnownByVotes(r)) > commitPoint[r]

AdvanceCommitPoint(r) ==
  /\ CanAdvanceCommitPoint(r)
  /\ LET c == ChosenPrefix(r, KnownByVotes(r))
     IN /\ commitPoint' = [commitPoint EXCEPT ![r] = c]
        /\ acks' = [acks EXCEPT ![r] = [s \in Slots |-> IF s <= c THEN {} ELSE @[s]]]
        /\ msgs' = msgs \union {HeartbeatMsg(promised[r], c)}
                        \union {CatchUpMsg(s, log[r][s].entry) : s \in (commitPoint[r] + 1)..c}
        /\ act' = [name |-> "AdvanceCommitPoint", params |-> [replica |-> r, commitPoint |-> c]]
  /\ UNCHANGED <<durable, buffer, promised, log, role, promises, startSlot, serving, crashes>>

(* Leader r begins to serve. *)
CanServe(r) == role[r] = "leader" /\ ~serving[r] /\ MayServe(r)

Serve(r) ==
  /\ CanServe(r)
  /\ serving' = [serving EXCEPT ![r] = TRUE]
  /\ act' = [name |-> "Serve", params |-> [replica |-> r, commitPoint |-> commitPoint[r]]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, commitPoint, role, promises, acks, startSlot, crashes>>

-----------------------------------------------------------------------------
(* Followers, and those who lag or have been deposed *)

(* The leader of b shows that it is there, and says how far the log is chosen. Following it is a promise to it. *)
HandleHeartbeat(r, b, c) ==
  /\ Up(r)
  /\ r /= Owner(b)
  /\ HeartbeatMsg(b, c) \in msgs
  /\ AtMost(promised[r], b)
  /\ LET newCommitPoint == Followed(log[r], commitPoint[r], b, c)
     IN /\ Less(promised[r], b) \/ newCommitPoint > commitPoint[r]
        /\ commitPoint' = [commitPoint EXCEPT ![r] = newCommitPoint]
  /\ WriteThenSend(r, IF Less(promised[r], b) THEN <<PromiseRecord(b)>> ELSE <<>>, {}, {})
  /\ promised' = [promised EXCEPT ![r] = b]
  /\ BecomeFollower(r)
  /\ act' = [name |-> "HandleHeartbeat", params |-> [replica |-> r, from |-> Owner(b), ballot |-> b, commitPoint |-> c]]
  /\ UNCHANGED <<durable, log, crashes>>

(* A candidate that learns something sends its Prepare again; before its own promise is durable, the first one waits on. *)
Reprepare(r, c) ==
  LET asking == {m \in msgs \union Waiting(r) : m.type = "Prepare" /\ m.ballot = promised[r]}
      again == {PrepareMsg(m.ballot, c) : m \in asking}
      Held(item) == IF item.replies \intersect asking = {} THEN item
                    ELSE [item EXCEPT !.replies = @ \union again]
  IN [held |-> [i \in 1..Len(buffer[r]) |-> Held(buffer[r][i])],
      sent |-> IF asking \intersect msgs = {} THEN {} ELSE again]

(* Whatever its role, r learns the chosen entries next to its commit point, up to slot `last`. *)
HandleCatchUpReply(r, last) ==
  /\ Up(r)
  /\ last > commitPoint[r]
  /\ \A s \in (commitPoint[r] + 1)..last : Learnable(s) /= {}
  /\ LET first == commitPoint[r] + 1
         entry == [s \in first..last |-> CHOOSE e \in Learnable(s) : TRUE]
         appended == [i \in 1..(last + 1 - first) |->
                        [record |-> ChosenRecord(first + i - 1, entry[first + i - 1]), replies |-> {}]]
         prepares == Reprepare(r, last)
     IN /\ log' = [log EXCEPT ![r] = Voted(@, first, last, NoBallot, entry)]
        /\ IF role[r] = "candidate"
           THEN /\ buffer' = [buffer EXCEPT ![r] = prepares.held \o appended]
                /\ msgs' = msgs \union prepares.sent
           ELSE /\ buffer' = [buffer EXCEPT ![r] = @ \o appended]
                /\ msgs' = msgs
        /\ act' = [name |-> "HandleCatchUpReply",
                   params |-> [replica |-> r, firstSlot |-> first,
                               entries |-> [i \in 1..(last + 1 - first) |-> entry[first + i - 1]]]]
  /\ commitPoint' = [commitPoint EXCEPT ![r] = last]
  /\ acks' = [acks EXCEPT ![r] = [s \in Slots |-> IF s <= last THEN {} ELSE @[s]]]
  /\ UNCHANGED <<durable, promised, role, promises, startSlot, serving, crashes>>

(* q has promised a higher ballot, and r, which asked something of q in a lower one, gives up. *)
HandleReject(r, q) ==
  /\ role[r] \in {"candidate", "leader"}
  /\ q /= r
  /\ Less(promised[r], durable[q].promised)
  /\ \E m \in Sent("Prepare") : m.ballot = promised[r]
  /\ BecomeFollower(r)
  /\ act' = [name |-> "HandleReject",
             params |-> [replica |-> r, from |-> q, ballot |-> promised[r], promised |-> durable[q].promised]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, commitPoint, crashes>>

(* r gives up of itself: its database failed, it lost touch with the majority, or it was asked to. *)
StepDown(r) ==
  /\ role[r] \in {"candidate", "leader"}
  /\ BecomeFollower(r)
  /\ act' = [name |-> "StepDown", params |-> [replica |-> r]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, commitPoint, crashes>>

-----------------------------------------------------------------------------
(* Disk, crash, restart *)

(* The next n records of r's buffer become durable, and what waited for them leaves. *)
Fsync(r, n) ==
  /\ Up(r)
  /\ n \in 1..Len(buffer[r])
  /\ LET flushed == SubSeq(buffer[r], 1, n)
     IN /\ durable' = [durable EXCEPT ![r] = WrittenAll(@, flushed)]
        /\ msgs' = msgs \union UNION {flushed[i].replies : i \in 1..n}
  /\ buffer' = [buffer EXCEPT ![r] = SubSeq(@, n + 1, Len(@))]
  /\ act' = [name |-> "Fsync", params |-> [replica |-> r, records |-> n]]
  /\ UNCHANGED <<promised, log, commitPoint, role, promises, acks, startSlot, serving, crashes>>

(* The commit points that r's disk may hold: one is written now and then, behind the entries that it speaks of. *)
Hints(r) ==
  {c \in 0..commitPoint[r] : \A s \in 1..c : durable[r].log[s] = log[r][s]}

RECURSIVE SumOf(_, _)
SumOf(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE y \in S : TRUE IN f[x] + SumOf(f, S \ {x})

(* The process or the machine of r dies: memory and what was not flushed are lost. *)
Crash(r, hint) ==
  /\ Up(r)
  /\ SumOf(crashes, Replicas) < MaxCrashes
  /\ hint \in Hints(r)
  /\ crashes' = [crashes EXCEPT ![r] = @ + 1]
  /\ buffer' = [buffer EXCEPT ![r] = <<>>]
  /\ promised' = [promised EXCEPT ![r] = NoBallot]
  /\ log' = [log EXCEPT ![r] = EmptyLog]
  /\ commitPoint' = [commitPoint EXCEPT ![r] = hint]
  /\ role' = [role EXCEPT ![r] = "down"]
  /\ promises' = [promises EXCEPT ![r] = {}]
  /\ acks' = [acks EXCEPT ![r] = [s \in Slots |-> {}]]
  /\ startSlot' = [startSlot EXCEPT ![r] = 0]
  /\ serving' = [serving EXCEPT ![r] = FALSE]
  /\ act' = [name |-> "Crash", params |-> [replica |-> r, commitPoint |-> hint]]
  /\ UNCHANGED <<msgs, durable>>

Restart(r) ==
  /\ role[r] = "down"
  /\ LET d == durable[r]
         c == RecoveredCommitPoint(d, commitPoint[r])
     IN /\ promised' = [promised EXCEPT ![r] = RecoveredPromise(d)]
        /\ log' = [log EXCEPT ![r] = RecoveredLog(d, c)]
        /\ commitPoint' = [commitPoint EXCEPT ![r] = c]
        /\ act' = [name |-> "Restart", params |-> [replica |-> r, commitPoint |-> c]]
  /\ role' = [role EXCEPT ![r] = "follower"]
  /\ UNCHANGED <<msgs, durable, buffer, promises, acks, startSlot, serving, crashes>>

-----------------------------------------------------------------------------
Init ==
  /\ msgs = {}
  /\ durable = [r \in Replicas |-> [promised |-> NoBallot, log |-> EmptyLog]]
  /\ buffer = [r \in Replicas |-> <<>>]
  /\ promised = [r \in Replicas |-> NoBallot]
  /\ log = [r \in Replicas |-> EmptyLog]
  /\ commitPoint = [r \in Replicas |-> 0]
  /\ role = [r \in Replicas |-> "follower"]
  /\ promises = [r \in Replicas |-> {}]
  /\ acks = [r \in Replicas |-> [s \in Slots |-> {}]]
  /\ startSlot = [r \in Replicas |-> 0]
  /\ serving = [r \in Replicas |-> FALSE]
  /\ crashes = [r \in Replicas |-> 0]
  /\ act = [name |-> "Init", params |-> [replica |-> 0]]

(* The runs of slots that one message may cover. *)
Runs == {<<i, j>> \in Slots \X Slots : i <= j /\ j < i + MaxBatch}

(* The commit points that an Accept of ballot b may carry. *)
ToldCommitPoints(b) == {m.commitPoint : m \in {n \in Sent("Heartbeat") : n.ballot = b}}

NewCommands(r, n) == [i \in 1..n |-> Command(promised[r], LastSlot(r) + i, crashes[r])]

Elections(r) == \E b \in Ballots : StartElection(r, b)
Phase1(r) ==
  \/ \E m \in Sent("Prepare") : HandlePrepare(r, m.ballot, m.commitPoint)
  \/ \E m \in Sent("Promise") : HandlePromise(r, m)
  \/ BecomeLeader(r)
Phase2(r) ==
  \/ \E n \in 1..MaxBatch : Propose(r, NewCommands(r, n))
  \/ \E b \in Ballots : \E run \in Runs : \E c \in ToldCommitPoints(b) : HandleAccept(r, b, run[1], run[2], c)
  \/ \E q \in Replicas : \E run \in Runs : HandleAccepted(r, q, run[1], run[2])
  \/ AdvanceCommitPoint(r)
  \/ Serve(r)
Following(r) ==
  \/ \E m \in Sent("Heartbeat") : HandleHeartbeat(r, m.ballot, m.commitPoint)
  \/ \E last \in Slots : last <= commitPoint[r] + MaxBatch /\ HandleCatchUpReply(r, last)
  \/ \E q \in Replicas : HandleReject(r, q)
  \/ StepDown(r)
Disk(r) ==
  \/ \E n \in 1..Len(buffer[r]) : Fsync(r, n)
  \/ \E hint \in Hints(r) : Crash(r, hint)
  \/ Restart(r)

Next == \E r \in Replicas : Elections(r) \/ Phase1(r) \/ Phase2(r) \/ Following(r) \/ Disk(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What must hold *)

VoteSet == [ballot : Ballots \union {NoBallot}, entry : EntrySet]

TypeOK ==
  /\ durable \in [Replicas -> [promised : Ballots \union {NoBallot}, log : [Slots -> VoteSet \union {Empty}]]]
  /\ promised \in [Replicas -> Ballots \union {NoBallot}]
  /\ log \in [Replicas -> [Slots -> VoteSet \union {Empty}]]
  /\ commitPoint \in [Replicas -> 0..MaxSlot]
  /\ role \in [Replicas -> {"follower", "candidate", "leader", "down"}]
  /\ acks \in [Replicas -> [Slots -> SUBSET Replicas]]
  /\ startSlot \in [Replicas -> 0..(MaxSlot + 1)]
  /\ serving \in [Replicas -> BOOLEAN]
  /\ \A r \in Replicas :
       /\ serving[r] => role[r] = "leader"
       /\ (role[r] = "leader") = (startSlot[r] > 0)
       /\ role[r] \in {"candidate", "leader"} => Owner(promised[r]) = r
       /\ promises[r] \subseteq Sent("Promise")

(* Chosen: proposed in a ballot in which a majority has revealed its votes. *)
IsMajority(S) == 2 * Cardinality(S) > Cardinality(Replicas)
Voters(b, s) == {m.from : m \in {n \in Sent("Accepted") : n.ballot = b /\ n.slot = s}}
ChosenIn(b, s) == IF IsMajority(Voters(b, s)) THEN Proposals(b, s) ELSE {}
Chosen(s) == UNION {ChosenIn(b, s) : b \in Ballots}

(* No two entries are chosen in one slot. *)
Agreement == \A s \in Slots : Cardinality(Chosen(s)) <= 1

OneValuePerBallot == \A b \in Ballots, s \in Slots : Cardinality(Proposals(b, s)) <= 1

(* What a replica revealed it still has on disk, whatever crashed: its promises ... *)
PromiseDurable ==
  /\ \A m \in Sent("Promise") : AtMost(m.ballot, durable[m.from].promised)
  /\ \A m \in Sent("Prepare") : AtMost(m.ballot, durable[Owner(m.ballot)].promised)

(* ... and its votes, unless a vote in a higher ballot or the chosen entry took their place. *)
VoteDurable ==
  \A m \in Sent("Accepted") :
    LET d == durable[m.from]
    IN /\ AtMost(m.ballot, d.promised)
       /\ \/ IsLearnt(d.log[m.slot])
          \/ AtMost(m.ballot, d.log[m.slot].ballot)

(* Everything at or below a commit point is chosen, and the replica has the chosen entry. *)
CommitPointChosen ==
  \A r \in Replicas : Up(r) => \A s \in 1..commitPoint[r] : log[r][s].entry \in Chosen(s)

(* So nothing that a Promise may have to tell is known without its ballot. *)
LearntBelowCommitPoint ==
  \A r \in Replicas : Up(r) => \A s \in Slots : IsLearnt(log[r][s]) => s <= commitPoint[r]

(* What was ever chosen before its ballot lies below the commit point of a leader that serves: with the lease, which keeps *)
(* higher ballots away while it answers, its reads see everything that was ever acknowledged. *)
ServingSeesChosen ==
  \A r \in Replicas : serving[r] =>
    \A b \in Ballots, s \in Slots :
      Less(b, promised[r]) /\ ChosenIn(b, s) /= {} => s <= commitPoint[r] /\ log[r][s].entry \in ChosenIn(b, s)

(* A replica's memory is its disk and what it has appended. *)
MemoryIsDiskAndBuffer ==
  \A r \in Replicas : Up(r) => WrittenAll(durable[r], buffer[r]) = [promised |-> promised[r], log |-> log[r]]

(* On disk a promise never sinks, and a vote gives way to higher votes and to chosen entries only. *)
DurableMonotone ==
  [][\A r \in Replicas :
       /\ AtMost(durable[r].promised, durable'[r].promised)
       /\ \A s \in Slots : \/ IsLearnt(durable'[r].log[s])
                           \/ IsLearnt(durable[r].log[s]) /\ durable'[r].log[s].entry = durable[r].log[s].entry
                           \/ AtMost(durable[r].log[s].ballot, durable'[r].log[s].ballot)]_vars

(* A commit point never goes back while its replica is up. *)
CommitPointMonotone ==
  [][\A r \in Replicas : Up(r) /\ Up(r)' => commitPoint[r] <= commitPoint'[r]]_vars

Abstract == INSTANCE Consensus WITH chosen <- [s \in Slots |-> Chosen(s)], Entries <- EntrySet
Refinement == Abstract!Spec
=============================================================================
