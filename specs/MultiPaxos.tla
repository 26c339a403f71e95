----------------------------- MODULE MultiPaxos -----------------------------
(*******************************************************************************)
(* The consensus core of one group of replicas: Multi-Paxos with a             *)
(* designated leader, as server/src/multipaxos implements it.  It refines      *)
(* Consensus.  The README has the table spec action / function / event.        *)
(*                                                                             *)
(* What is modelled with care                                                  *)
(*   - What a replica has on disk (`durable`), what it has appended to its     *)
(*     log and not yet flushed (`buffer`), and what it has in memory (the      *)
(*     other variables) are apart.  Fsync makes the next records of the        *)
(*     buffer durable, in order, and lets go the messages that wait for        *)
(*     them.  Crash takes buffer and memory.                                   *)
(*   - The commit point (every slot at or below it is chosen) of each          *)
(*     replica, how it travels, and how a replica that lags catches up.        *)
(*                                                                             *)
(* Who votes                                                                   *)
(*   - A configuration is a log entry: the voters of the slots above its own.  *)
(*     A leader proposes it when everything below is chosen, and nothing above *)
(*     it until it is chosen itself; so does a new leader that finds one.      *)
(*     Neighbours differ by one voter, so their majorities meet.               *)
(*   - An incarnation is a replica.  One that lost its log is a replica that   *)
(*     is never heard again; its next life is another replica, which starts    *)
(*     empty and is in no configuration until a change makes it a voter.       *)
(*   - A candidate needs a majority of the newest configuration that it knows  *)
(*     to be chosen, and of each that it finds in votes.                       *)
(*   - Promise, Heartbeat, CatchUpReply and PreVoteReply tell the newest       *)
(*     configuration that their sender knows.  To learn of it is a step of its *)
(*     own (LearnConfiguration), before what the message means otherwise.      *)
(*                                                                             *)
(* How messages are modelled                                                   *)
(*   - `msgs` only grows.  A message may be taken any number of times, late,   *)
(*     in any order or never: loss, duplication and reordering for free.       *)
(*   - An Accept of many slots is kept slot by slot, and so is an Accepted.    *)
(*     HandleAccept takes any run of consecutive slots proposed in one         *)
(*     ballot together with any commit point told in that ballot: that is      *)
(*     every Accept that the leader can send, retransmissions included.        *)
(*   - A Heartbeat exists from the moment when the leader could send it.       *)
(*   - A CatchUpReply carries a run of chosen entries.  A slot's entry can be  *)
(*     in a reply from the moment when the first replica knows it as chosen.   *)
(*   - A Reject carries nothing but a higher promise that its sender has made  *)
(*     durable; HandleReject looks at that promise.                            *)
(*   - PreVote, HeartbeatAck and CatchUpRequest are not here: no safety rests  *)
(*     on them.  Clocks and the lease are in Lease.                            *)
(*******************************************************************************)
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
  config,        \* config[r]: the newest configuration that r knows to be chosen
  commitPoint,   \* commitPoint[r]; of a replica that is down: the hint that its disk holds
  role,          \* role[r]: "follower", "candidate", "leader" or "down"
  promises,      \* promises[r]: the promises of others that candidate r has counted
  acks,          \* acks[r][s]: the others whose votes for its proposal in slot s leader r has counted
  startSlot,     \* startSlot[r]: the slot of leader r's own `leaderStart` entry; 0 if it leads not
  backlog,       \* backlog[r]: what leader r found, as <<[slot, entry], ...>>, and may not propose yet: it lies above a configuration
  serving,       \* serving[r]: leader r serves clients
  crashes,       \* crashes[r]: how often r has crashed
  act            \* the last action and its parameters, for replaying a behaviour; not part of the state (see View)

vars == <<msgs, durable, buffer, promised, log, config, commitPoint, role, promises, acks, startSlot, backlog, serving, crashes, act>>

View == <<msgs, durable, buffer, promised, log, config, commitPoint, role, promises, acks, startSlot, backlog, serving, crashes>>

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

(* Who votes in the slots above. Its version and the leader that made it name it. *)
ConfigurationEntry(b, version, voters) == [kind |-> "configuration", ballot |-> b, id |-> version, voters |-> voters]
IsConfiguration(e) == e.kind = "configuration"

(* The voters at the founding, and the sets of voters that a leader may propose. Models put others in their place. *)
Founders == Replicas
Proposable == {}

EntrySet ==
  {Noop} \union {LeaderStart(b) : b \in Ballots}
         \union {Command(b, s, run) : b \in Ballots, s \in Slots, run \in 0..MaxCrashes}
         \union {ConfigurationEntry(b, version, V) : b \in Ballots, version \in 2..(MaxSlot + 1), V \in Proposable}

(* A configuration that is known to be chosen, and where. *)
Founding == [version |-> 1, slot |-> 0, voters |-> Founders]
ConfigurationAt(s, e) == [version |-> e.id, slot |-> s, voters |-> e.voters]
Newer(k, h) == IF h.version > k.version THEN h ELSE k

(* What the log holds for a slot. Learnt as chosen without a vote: no ballot. *)
Empty == [ballot |-> NoBallot, entry |-> Nothing]
IsVote(v) == v.ballot /= NoBallot
IsLearnt(v) == v.ballot = NoBallot /\ v.entry /= Nothing
EmptyLog == [s \in Slots |-> Empty]

PromiseRecord(b) == [kind |-> "promise", slot |-> 0, ballot |-> b, entry |-> Nothing]
VoteRecord(s, b, e) == [kind |-> "vote", slot |-> s, ballot |-> b, entry |-> e]
ChosenRecord(s, e) == [kind |-> "chosen", slot |-> s, ballot |-> NoBallot, entry |-> e]
(* Everything up to slot s is chosen, and in the database, which had `entries` applied. *)
BaseRecord(s, entries) == [kind |-> "base", slot |-> s, ballot |-> NoBallot, entry |-> Nothing, entries |-> entries]

(* A record takes effect on what is on disk. A vote implies the promise of its ballot. *)
Written(d, record) ==
  [promised |-> Higher(d.promised, record.ballot),
   log |-> IF record.kind = "promise" THEN d.log
           ELSE IF record.kind = "base"
           THEN [s \in Slots |-> IF s <= record.slot THEN [ballot |-> NoBallot, entry |-> record.entries[s]] ELSE d.log[s]]
           ELSE [d.log EXCEPT ![record.slot] = [ballot |-> record.ballot, entry |-> record.entry]]]

RECURSIVE WrittenAll(_, _)
WrittenAll(d, records) ==
  IF records = <<>> THEN d ELSE WrittenAll(Written(d, Head(records).record), Tail(records))

-----------------------------------------------------------------------------
(* Messages *)

PrepareMsg(b, c) == [type |-> "Prepare", ballot |-> b, commitPoint |-> c]
PromiseMsg(r, b, c, k, votes) ==
  [type |-> "Promise", from |-> r, ballot |-> b, commitPoint |-> c, configuration |-> k, votes |-> votes]
(* `voters` is not on the wire: those who decide the slot, as its leader knows when it proposes. *)
AcceptMsg(b, s, e, voters) == [type |-> "Accept", ballot |-> b, slot |-> s, entry |-> e, voters |-> voters]
AcceptedMsg(r, b, s) == [type |-> "Accepted", from |-> r, ballot |-> b, slot |-> s]
HeartbeatMsg(b, c, k) == [type |-> "Heartbeat", ballot |-> b, commitPoint |-> c, configuration |-> k]
CatchUpMsg(s, e) == [type |-> "CatchUpReply", slot |-> s, entry |-> e]

Sent(type) == {m \in msgs : m.type = type}

(* What a leader of ballot b has proposed in slot s; at most one entry (OneValuePerBallot). *)
Proposals(b, s) == {m.entry : m \in {n \in Sent("Accept") : n.ballot = b /\ n.slot = s}}
Deciders(b, s) == UNION {m.voters : m \in {n \in Sent("Accept") : n.ballot = b /\ n.slot = s}}
Proposed(b, s) == CHOOSE e \in Proposals(b, s) : TRUE
Learnable(s) == {m.entry : m \in {n \in Sent("CatchUpReply") : n.slot = s}}

Up(r) == role[r] /= "down"

-----------------------------------------------------------------------------
(* Rules that a bug model overrides, one at a time *)

(* Only voters count. *)
IsQuorum(S, voters) == 2 * Cardinality(S \intersect voters) > Cardinality(voters)

(* A candidate needs a majority of each configuration that it finds in votes, too. *)
AsksAlso(found) == found

(* A change adds one voter or removes one. *)
MayFollow(voters, old) == Cardinality((voters \ old) \union (old \ voters)) = 1

(* Changes are made one at a time, and nothing is proposed above a configuration until it is chosen. Whoever voted for one in an earlier *)
(* ballot knew all below it to be chosen: when it leads it proposes that at once, or what it found in its place, or must fetch it first. *)
Undecided(r) == \E s \in Slots : s > commitPoint[r] /\ IsConfiguration(log[r][s].entry)

(* A configuration is voted for only by one that knows everything below it to be chosen, up to slot `reached`, and records that. *)
MayVoteForConfiguration(s, reached) == s = reached + 1

(* A message that reveals a promise or a vote waits until that is durable. *)
MustWait(m) == TRUE

(* A leader counts its own vote once it is durable. *)
CountsOwnVote(r, s) == AcceptedMsg(r, promised[r], s) \in msgs

(* Voters stand, as often as it takes. *)
MayStand(r) == r \in config[r].voters

(* One that asked something of q gives up when q has promised a higher ballot. *)
IsRejected(r, q) == Less(promised[r], durable[q].promised)

(* Whatever its role, a replica learns what others know to be chosen. *)
MayCatchUp(r) == Up(r)

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
      queued == Len(buffer[r])
  IN IF size > 0
     THEN /\ buffer' = [buffer EXCEPT ![r] = @ \o
                [i \in 1..size |-> [record |-> records[i], replies |-> IF i = size THEN waiting ELSE {}]]]
          /\ msgs' = msgs \union atOnce
     ELSE IF queued > 0
     THEN /\ buffer' = [buffer EXCEPT ![r][queued].replies = @ \union waiting]
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
  /\ backlog' = [backlog EXCEPT ![r] = <<>>]
  /\ serving' = [serving EXCEPT ![r] = FALSE]

Waiting(r) == UNION {buffer[r][i].replies : i \in 1..Len(buffer[r])}

LastSlot(r) == Max({commitPoint[r], startSlot[r]} \union {s \in Slots : log[r][s].entry /= Nothing})

(* The newest configuration known to one that knew k and has settled log l up to slot c. *)
KnownAt(k, l, c) ==
  LET S == {s \in Slots : k.slot < s /\ s <= c /\ IsConfiguration(l[s].entry)}
  IN IF S = {} THEN k ELSE LET s == Max(S) IN ConfigurationAt(s, l[s].entry)

(* How far a follower's commit point moves when the leader of b says that c is its own. *)
Followed(l, from, b, c) ==
  Max({from} \union {s \in (from + 1)..c : \A t \in (from + 1)..s : KnowsChosen(l[t], b)})

-----------------------------------------------------------------------------
(* Phase 1 *)

VotesAbove(l, c) ==
  {[slot |-> s, ballot |-> l[s].ballot, entry |-> l[s].entry] : s \in {t \in Slots : t > c /\ l[t].entry /= Nothing}}

(* Voter r stands for election in a ballot of its own above its promise. The Prepare and its own promise wait for the disk. *)
StartElection(r, b) ==
  /\ role[r] \in {"follower", "candidate"}
  /\ Owner(b) = r
  /\ MayStand(r)
  /\ Less(promised[r], b)
  /\ promised' = [promised EXCEPT ![r] = b]
  /\ role' = [role EXCEPT ![r] = "candidate"]
  /\ promises' = [promises EXCEPT ![r] = {}]
  /\ WriteThenSend(r, <<PromiseRecord(b)>>,
       {PrepareMsg(b, commitPoint[r]), PromiseMsg(r, b, commitPoint[r], config[r], VotesAbove(log[r], commitPoint[r]))}, {})
  /\ act' = [name |-> "StartElection", params |-> [replica |-> r, ballot |-> b]]
  /\ UNCHANGED <<durable, log, config, commitPoint, acks, startSlot, backlog, serving, crashes>>

(* r promises to vote in no lower ballot, and tells its votes above what both know to be chosen. *)
HandlePrepare(r, b, c) ==
  /\ Up(r)
  /\ r /= Owner(b)
  /\ PrepareMsg(b, c) \in msgs
  /\ AtMost(promised[r], b)
  /\ LET reply == PromiseMsg(r, b, commitPoint[r], config[r], VotesAbove(log[r], Larger(commitPoint[r], c)))
     IN /\ \/ Less(promised[r], b)
           \/ /\ AnswersAgain(r, b)
              /\ reply \notin msgs
              /\ reply \notin Waiting(r)
        /\ WriteThenSend(r, IF Less(promised[r], b) THEN <<PromiseRecord(b)>> ELSE <<>>, {reply}, {})
  /\ promised' = [promised EXCEPT ![r] = b]
  /\ BecomeFollower(r)
  /\ act' = [name |-> "HandlePrepare", params |-> [replica |-> r, from |-> Owner(b), ballot |-> b, commitPoint |-> c]]
  /\ UNCHANGED <<durable, log, config, commitPoint, crashes>>

(* Candidate r counts a promise; the first of each sender. *)
HandlePromise(r, m) ==
  /\ role[r] = "candidate"
  /\ m.type = "Promise"
  /\ m.ballot = promised[r]
  /\ m.from /= r
  /\ m.configuration.version <= config[r].version
  /\ \A p \in promises[r] : p.from /= m.from
  /\ promises' = [promises EXCEPT ![r] = @ \union {m}]
  /\ act' = [name |-> "HandlePromise",
             params |-> [replica |-> r, from |-> m.from, ballot |-> m.ballot, commitPoint |-> m.commitPoint,
                         configuration |-> m.configuration, votes |-> m.votes]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, config, commitPoint, role, acks, startSlot, backlog, serving, crashes>>

(* The promises that count for candidate r; its own is there as soon as it is durable. *)
Counted(r) ==
  promises[r] \union {m \in Sent("Promise") : m.from = r /\ m.ballot = promised[r]}

VotesHeard(r) == UNION {m.votes : m \in Counted(r)}

(* What r proposes first: the slots that it fills again, and then its own entry (which may lie beyond the model's log). *)
FirstProposals(r) ==
  LET votes == VotesHeard(r)
      heard == HeardCommitPoint(r, Counted(r))
      last == Max({heard} \union {v.slot : v \in votes})
      at(s) == {v \in votes : v.slot = s}
      found(s) == IF at(s) = {} THEN Noop ELSE Pick(at(s))
      end == Smaller(last + 1, MaxSlot)
  IN [first |-> heard + 1,
      last |-> end,
      start |-> last + 1,
      entry |-> [s \in (heard + 1)..end |-> IF s > last THEN LeaderStart(promised[r]) ELSE found(s)]]

(* The configurations that it found, newer than what it knows: each may be chosen, and slots above it decided by its voters. *)
FoundConfigurations(r) ==
  LET p == FirstProposals(r)
  IN {e \in {p.entry[s] : s \in p.first..p.last} : IsConfiguration(e) /\ e.id > config[r].version}

(* It has heard that everything below the newest configuration is chosen: a majority of that one voted when they knew so. If it has not *)
(* heard, their promises are older than their votes, a higher ballot has led since, and there are slots that it must not fill. *)
ReachesConfiguration(r) ==
  LET heard == HeardCommitPoint(r, Counted(r))
      s == config[r].slot
      p == FirstProposals(r)
  IN \/ heard >= s
     \/ heard = s - 1 /\ p.last >= s /\ IsConfiguration(p.entry[s]) /\ p.entry[s].id = config[r].version

CanBecomeLeader(r) ==
  /\ role[r] = "candidate"
  /\ LET promisers == {m.from : m \in Counted(r)}
     IN /\ r \in promisers
        /\ IsQuorum(promisers, config[r].voters)
        /\ \A e \in AsksAlso(FoundConfigurations(r)) : IsQuorum(promisers, e.voters)
  /\ ReachesConfiguration(r)

Voted(l, first, last, b, entry) ==
  [s \in Slots |-> IF s \in first..last THEN [ballot |-> b, entry |-> entry[s]] ELSE l[s]]

VoteRecords(first, last, b, entry) == [i \in 1..(last + 1 - first) |-> VoteRecord(first + i - 1, b, entry[first + i - 1])]

(*****************************************************************************)
(* How far the slots first..last may be proposed at once: up to the next     *)
(* configuration, or that alone, if everything below it is chosen.           *)
(*****************************************************************************)
Stage(r, first, last, entry) ==
  LET at == {s \in first..last : IsConfiguration(entry[s])}
  IN IF at = {} THEN last
     ELSE LET s == CHOOSE x \in at : \A y \in at : x <= y
          IN IF s > first THEN s - 1
             ELSE IF commitPoint[r] = first - 1 THEN first
             ELSE first - 1

AcceptMsgs(r, first, last, entry) == {AcceptMsg(promised[r], s, entry[s], config[r].voters) : s \in first..last}

BecomeLeader(r) ==
  /\ CanBecomeLeader(r)
  /\ LET p == FirstProposals(r)
         b == promised[r]
         last == Stage(r, p.first, p.last, p.entry)
     IN /\ log' = [log EXCEPT ![r] = Voted(@, p.first, last, b, p.entry)]
        /\ startSlot' = [startSlot EXCEPT ![r] = p.start]
        /\ backlog' = [backlog EXCEPT ![r] = [i \in 1..(p.last - last) |-> [slot |-> last + i, entry |-> p.entry[last + i]]]]
        /\ VoteThenSend(r, VoteRecords(p.first, last, b, p.entry), b,
             AcceptMsgs(r, p.first, last, p.entry) \union {HeartbeatMsg(b, commitPoint[r], config[r])})
        /\ act' = [name |-> "BecomeLeader",
                   params |-> [replica |-> r, ballot |-> b, firstSlot |-> p.first,
                               entries |-> [i \in 1..(last + 1 - p.first) |-> p.entry[p.first + i - 1]]]]
  /\ role' = [role EXCEPT ![r] = "leader"]
  /\ promises' = [promises EXCEPT ![r] = {}]
  /\ UNCHANGED <<durable, promised, config, commitPoint, acks, serving, crashes>>

-----------------------------------------------------------------------------
(* Phase 2 *)

(* The next stage of what leader r found, at the head of its backlog: configurations alone, all else together. *)
NextStage(r) ==
  LET waiting == backlog[r]
      at == {i \in 1..Len(waiting) : IsConfiguration(waiting[i].entry)}
      count == IF at = {} THEN Len(waiting)
               ELSE LET i == CHOOSE x \in at : \A y \in at : x <= y IN IF i = 1 THEN 1 ELSE i - 1
  IN [i \in 1..count |-> waiting[i].entry]

(* A leader's own commands do not run far ahead of what is chosen. *)
WithinWindow(r, last) == last <= commitPoint[r] + WindowSlots

(* Leader r proposes commands in the next slots, or what waited behind a configuration, and votes for it itself. *)
Propose(r, entries) ==
  /\ role[r] = "leader"
  /\ IF backlog[r] = <<>> THEN MayPropose(r) ELSE entries = NextStage(r) /\ ~IsConfiguration(entries[1])
  /\ ~Undecided(r)
  /\ Len(entries) > 0
  /\ LET b == promised[r]
         first == IF backlog[r] = <<>> THEN LastSlot(r) + 1 ELSE backlog[r][1].slot
         last == first + Len(entries) - 1
         entry == [s \in first..last |-> entries[s + 1 - first]]
     IN /\ last <= MaxSlot
        /\ backlog[r] = <<>> => WithinWindow(r, last)
        /\ backlog' = [backlog EXCEPT ![r] = SubSeq(@, Len(entries) + 1, Len(@))]
        /\ log' = [log EXCEPT ![r] = Voted(@, first, last, b, entry)]
        /\ VoteThenSend(r, VoteRecords(first, last, b, entry), b,
             AcceptMsgs(r, first, last, entry))
        /\ act' = [name |-> "Propose",
                   params |-> [replica |-> r, ballot |-> b, firstSlot |-> first, entries |-> entries]]
  /\ UNCHANGED <<durable, promised, config, commitPoint, role, promises, acks, startSlot, serving, crashes>>

(* Leader r proposes who votes from then on: the configuration that it found, or a change. A leader that serves knows every *)
(* configuration that was chosen before it. *)
Reconfigure(r, e) ==
  /\ role[r] = "leader"
  /\ ~Undecided(r)
  /\ LET b == promised[r]
         s == IF backlog[r] = <<>> THEN LastSlot(r) + 1 ELSE backlog[r][1].slot
     IN /\ s <= MaxSlot
        /\ commitPoint[r] = s - 1
        /\ IF backlog[r] /= <<>> THEN e = backlog[r][1].entry
           ELSE /\ serving[r]
                /\ e.ballot = b
                /\ e.id = config[r].version + 1
                /\ e.voters \in Proposable
                /\ MayFollow(e.voters, config[r].voters)
        /\ IsConfiguration(e)
        /\ backlog' = [backlog EXCEPT ![r] = IF @ = <<>> THEN @ ELSE Tail(@)]
        /\ log' = [log EXCEPT ![r][s] = [ballot |-> b, entry |-> e]]
        /\ VoteThenSend(r, <<VoteRecord(s, b, e)>>, b, {AcceptMsg(b, s, e, config[r].voters)})
        /\ act' = [name |-> "Reconfigure", params |-> [replica |-> r, ballot |-> b, firstSlot |-> s, entries |-> <<e>>]]
  /\ UNCHANGED <<durable, promised, config, commitPoint, role, promises, acks, startSlot, serving, crashes>>

(******************************************************************************)
(* r votes for the slots first..last as the leader of b proposed them, but    *)
(* for those at or below its own commit point: what they hold is settled, and *)
(* r may have learnt it from a later ballot without a promise, so that b may  *)
(* be stale; and for those from a configuration on whose turn has not come.   *)
(* The leader's commit point c, told now or before, may tell more.            *)
(******************************************************************************)
HandleAccept(r, b, first, last, c) ==
  /\ Up(r)
  /\ r /= Owner(b)
  /\ \A s \in first..last : Proposals(b, s) /= {}
  /\ MayVote(r, b)
  /\ LET entry == [s \in first..last |-> Proposed(b, s)]
         reached == Followed(log[r], commitPoint[r], b, c)
         tooEarly == {s \in first..last : /\ IsConfiguration(entry[s])
                                          /\ log[r][s].ballot /= b
                                          /\ ~MayVoteForConfiguration(s, reached)}
         fresh == {s \in first..last : /\ MayVoteIn(r, s)
                                       /\ log[r][s].ballot /= b
                                       /\ \A t \in tooEarly : s < t}
         newLog == [s \in Slots |-> IF s \in fresh THEN [ballot |-> b, entry |-> entry[s]] ELSE log[r][s]]
         newCommitPoint == Followed(newLog, commitPoint[r], b, c)
     IN /\ fresh /= {} \/ newCommitPoint > commitPoint[r]
        /\ log' = [log EXCEPT ![r] = newLog]
        /\ commitPoint' = [commitPoint EXCEPT ![r] = newCommitPoint]
        /\ config' = [config EXCEPT ![r] = KnownAt(@, newLog, newCommitPoint)]
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
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, config, commitPoint, role, promises, startSlot, backlog, serving, crashes>>

(* The slots that leader r knows to be chosen by the votes that it counted. *)
KnownByVotes(r) ==
  {s \in Slots : /\ log[r][s].ballot = promised[r]
                 /\ IsQuorum(acks[r][s] \union (IF CountsOwnVote(r, s) THEN {r} ELSE {}), Deciders(promised[r], s))}

CanAdvanceCommitPoint(r) == role[r] = "leader" /\ ChosenPrefix(r, KnownByVotes(r)) > commitPoint[r]

AdvanceCommitPoint(r) ==
  /\ CanAdvanceCommitPoint(r)
  /\ LET c == ChosenPrefix(r, KnownByVotes(r))
         k == KnownAt(config[r], log[r], c)
     IN /\ commitPoint' = [commitPoint EXCEPT ![r] = c]
        /\ config' = [config EXCEPT ![r] = k]
        /\ acks' = [acks EXCEPT ![r] = [s \in Slots |-> IF s <= c THEN {} ELSE @[s]]]
        /\ msgs' = msgs \union {HeartbeatMsg(promised[r], c, k)}
                        \union {CatchUpMsg(s, log[r][s].entry) : s \in (commitPoint[r] + 1)..c}
        /\ act' = [name |-> "AdvanceCommitPoint", params |-> [replica |-> r, commitPoint |-> c]]
  /\ UNCHANGED <<durable, buffer, promised, log, role, promises, startSlot, backlog, serving, crashes>>

(* Leader r begins to serve. *)
CanServe(r) == role[r] = "leader" /\ ~serving[r] /\ MayServe(r)

Serve(r) ==
  /\ CanServe(r)
  /\ serving' = [serving EXCEPT ![r] = TRUE]
  /\ act' = [name |-> "Serve", params |-> [replica |-> r, commitPoint |-> commitPoint[r]]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, config, commitPoint, role, promises, acks, startSlot, backlog, crashes>>

-----------------------------------------------------------------------------
(* Followers, and those who lag or have been deposed *)

(* Each configuration that anybody knows to be chosen was told in a Heartbeat at once. *)
ToldConfigurations == {m.configuration : m \in Sent("Heartbeat")}

(* Whatever its role, r comes to know a configuration that a message tells, whatever it is otherwise, or that its database holds. A *)
(* leader then knows that another leads, and a candidate that is left out that it cannot win: they give up at once, in StepDown. *)
LearnConfiguration(r, k) ==
  /\ Up(r)
  /\ k \in ToldConfigurations
  /\ k.version > config[r].version
  /\ config' = [config EXCEPT ![r] = k]
  /\ act' = [name |-> "LearnConfiguration", params |-> [replica |-> r, configuration |-> k]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, commitPoint, role, promises, acks, startSlot, backlog, serving, crashes>>

(* An Accept that brings r nothing to vote for tells as much as a Heartbeat, but no configuration. *)
IsToldWithout(b) == \E m \in Sent("Accept") : m.ballot = b

(* The leader of b shows that it is there, and says how far the log is chosen. Following it is a promise to it. *)
HandleHeartbeat(r, b, c, k) ==
  /\ Up(r)
  /\ r /= Owner(b)
  /\ HeartbeatMsg(b, c, k) \in msgs
  /\ k.version <= config[r].version \/ IsToldWithout(b)
  /\ AtMost(promised[r], b)
  /\ LET newCommitPoint == Followed(log[r], commitPoint[r], b, c)
     IN /\ Less(promised[r], b) \/ newCommitPoint > commitPoint[r]
        /\ commitPoint' = [commitPoint EXCEPT ![r] = newCommitPoint]
        /\ config' = [config EXCEPT ![r] = KnownAt(@, log[r], newCommitPoint)]
  /\ WriteThenSend(r, IF Less(promised[r], b) THEN <<PromiseRecord(b)>> ELSE <<>>, {}, {})
  /\ promised' = [promised EXCEPT ![r] = b]
  /\ BecomeFollower(r)
  /\ act' = [name |-> "HandleHeartbeat",
             params |-> [replica |-> r, from |-> Owner(b), ballot |-> b, commitPoint |-> c, configuration |-> k]]
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
  /\ MayCatchUp(r)
  /\ last > commitPoint[r]
  /\ \A s \in (commitPoint[r] + 1)..last : Learnable(s) /= {}
  /\ LET first == commitPoint[r] + 1
         entry == [s \in first..last |-> CHOOSE e \in Learnable(s) : TRUE]
         appended == [i \in 1..(last + 1 - first) |->
                        [record |-> ChosenRecord(first + i - 1, entry[first + i - 1]), replies |-> {}]]
         prepares == Reprepare(r, last)
         learnt == Voted(log[r], first, last, NoBallot, entry)
     IN /\ log' = [log EXCEPT ![r] = learnt]
        /\ config' = [config EXCEPT ![r] = KnownAt(@, learnt, last)]
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
  /\ UNCHANGED <<durable, promised, role, promises, startSlot, backlog, serving, crashes>>

(* q has promised a higher ballot, and r, which asked something of q in a lower one, gives up. *)
HandleReject(r, q) ==
  /\ role[r] \in {"candidate", "leader"}
  /\ q /= r
  /\ IsRejected(r, q)
  /\ \E m \in Sent("Prepare") : m.ballot = promised[r]
  /\ BecomeFollower(r)
  /\ act' = [name |-> "HandleReject",
             params |-> [replica |-> r, from |-> q, ballot |-> promised[r], promised |-> durable[q].promised]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, config, commitPoint, crashes>>

(* r gives up of itself: its database failed, it lost touch with the majority, or it was asked to. *)
StepDown(r) ==
  /\ role[r] \in {"candidate", "leader"}
  /\ BecomeFollower(r)
  /\ act' = [name |-> "StepDown", params |-> [replica |-> r]]
  /\ UNCHANGED <<msgs, durable, buffer, promised, log, config, commitPoint, crashes>>

(* r's database came up with everything up to slot c in it, copied from a replica that had applied so much; or such a copy is to come, and nobody *)
(* who is asked has the log up to c (LeaveBehind in Recovery). The log lacks it, and need never get it: one record says that all is chosen up to there. A leader has been deposed; a candidate goes on, as it does when it *)
(* learns the entries themselves. *)
Restored(r, c) ==
  /\ Up(r)
  /\ c > commitPoint[r]
  /\ \A s \in 1..c : Learnable(s) /= {}
  /\ LET entry == [s \in 1..c |-> CHOOSE e \in Learnable(s) : TRUE]
         restored == Voted(log[r], 1, c, NoBallot, entry)
         k == Newer(config[r], KnownAt(Founding, restored, c))
         prepares == Reprepare(r, c)
     IN /\ log' = [log EXCEPT ![r] = restored]
        /\ config' = [config EXCEPT ![r] = k]
        /\ IF role[r] = "candidate"
           THEN /\ buffer' = [buffer EXCEPT ![r] = Append(prepares.held, [record |-> BaseRecord(c, entry), replies |-> {}])]
                /\ msgs' = msgs \union prepares.sent
                /\ UNCHANGED <<role, promises, acks, startSlot, backlog, serving>>
           ELSE /\ WriteThenSend(r, <<BaseRecord(c, entry)>>, {}, {})
                /\ BecomeFollower(r)
        /\ act' = [name |-> "Restored", params |-> [replica |-> r, commitPoint |-> c, configuration |-> k]]
  /\ commitPoint' = [commitPoint EXCEPT ![r] = c]
  /\ UNCHANGED <<durable, promised, crashes>>

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
  /\ UNCHANGED <<promised, log, config, commitPoint, role, promises, acks, startSlot, backlog, serving, crashes>>

(* The commit points that r's disk may hold: one is written now and then, behind the entries that it speaks of, and *)
(* before each vote for a configuration. What it speaks of may be known anew from elsewhere since, and that not be durable yet. *)
Hints(r) ==
  {c \in 0..commitPoint[r] :
     /\ \A s \in 1..c : durable[r].log[s].entry = log[r][s].entry
     /\ \A s \in Slots : IsConfiguration(durable[r].log[s].entry) /\ ~IsLearnt(durable[r].log[s]) => c >= s - 1}

(* The configurations that it may hold beside commit point `hint`: one that it knew, by its log or because it was told, and no older *)
(* than that of the commit point. *)
KeptConfigurations(r, hint) ==
  {k \in {Founding, config[r]} \union {KnownAt(Founding, log[r], c) : c \in hint..commitPoint[r]} \union ToldConfigurations :
     KnownAt(Founding, log[r], hint).version <= k.version /\ k.version <= config[r].version}

RECURSIVE SumOf(_, _)
SumOf(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE y \in S : TRUE IN f[x] + SumOf(f, S \ {x})

(* The process or the machine of r dies: memory and what was not flushed are lost. *)
Crash(r, hint, kept) ==
  /\ Up(r)
  /\ SumOf(crashes, Replicas) < MaxCrashes
  /\ hint \in Hints(r)
  /\ kept \in KeptConfigurations(r, hint)
  /\ crashes' = [crashes EXCEPT ![r] = @ + 1]
  /\ buffer' = [buffer EXCEPT ![r] = <<>>]
  /\ promised' = [promised EXCEPT ![r] = NoBallot]
  /\ log' = [log EXCEPT ![r] = EmptyLog]
  /\ commitPoint' = [commitPoint EXCEPT ![r] = hint]
  /\ config' = [config EXCEPT ![r] = kept]
  /\ role' = [role EXCEPT ![r] = "down"]
  /\ promises' = [promises EXCEPT ![r] = {}]
  /\ acks' = [acks EXCEPT ![r] = [s \in Slots |-> {}]]
  /\ startSlot' = [startSlot EXCEPT ![r] = 0]
  /\ backlog' = [backlog EXCEPT ![r] = <<>>]
  /\ serving' = [serving EXCEPT ![r] = FALSE]
  /\ act' = [name |-> "Crash", params |-> [replica |-> r, commitPoint |-> hint, configuration |-> kept]]
  /\ UNCHANGED <<msgs, durable>>

Restart(r) ==
  /\ role[r] = "down"
  /\ LET d == durable[r]
         c == RecoveredCommitPoint(d, commitPoint[r])
     IN /\ promised' = [promised EXCEPT ![r] = RecoveredPromise(d)]
        /\ log' = [log EXCEPT ![r] = RecoveredLog(d, c)]
        /\ commitPoint' = [commitPoint EXCEPT ![r] = c]
        /\ config' = [config EXCEPT ![r] = Newer(@, KnownAt(Founding, d.log, c))]
        /\ act' = [name |-> "Restart", params |-> [replica |-> r, commitPoint |-> c]]
  /\ role' = [role EXCEPT ![r] = "follower"]
  /\ UNCHANGED <<msgs, durable, buffer, promises, acks, startSlot, backlog, serving, crashes>>

-----------------------------------------------------------------------------
Init ==
  /\ msgs = {}
  /\ durable = [r \in Replicas |-> [promised |-> NoBallot, log |-> EmptyLog]]
  /\ buffer = [r \in Replicas |-> <<>>]
  /\ promised = [r \in Replicas |-> NoBallot]
  /\ log = [r \in Replicas |-> EmptyLog]
  /\ config = [r \in Replicas |-> Founding]
  /\ commitPoint = [r \in Replicas |-> 0]
  /\ role = [r \in Replicas |-> "follower"]
  /\ promises = [r \in Replicas |-> {}]
  /\ acks = [r \in Replicas |-> [s \in Slots |-> {}]]
  /\ startSlot = [r \in Replicas |-> 0]
  /\ backlog = [r \in Replicas |-> <<>>]
  /\ serving = [r \in Replicas |-> FALSE]
  /\ crashes = [r \in Replicas |-> 0]
  /\ act = [name |-> "Init", params |-> [replica |-> 0]]

(* The runs of slots that one message may cover. *)
Runs == {<<i, j>> \in Slots \X Slots : i <= j /\ j < i + MaxBatch}

(* The commit points that an Accept of ballot b may carry. *)
ToldCommitPoints(b) == {m.commitPoint : m \in {n \in Sent("Heartbeat") : n.ballot = b}}

NewCommands(r, n) == [i \in 1..n |-> Command(promised[r], LastSlot(r) + i, crashes[r])]

Configurations(r) ==
  IF backlog[r] /= <<>> THEN {backlog[r][1].entry}
  ELSE {ConfigurationEntry(promised[r], config[r].version + 1, V) : V \in Proposable}

Elections(r) == \E b \in Ballots : StartElection(r, b)
Phase1(r) ==
  \/ \E m \in Sent("Prepare") : HandlePrepare(r, m.ballot, m.commitPoint)
  \/ \E m \in Sent("Promise") : HandlePromise(r, m)
  \/ BecomeLeader(r)
Phase2(r) ==
  \/ \E n \in 1..MaxBatch : Propose(r, NewCommands(r, n))
  \/ backlog[r] /= <<>> /\ Propose(r, NextStage(r))
  \/ \E e \in Configurations(r) : Reconfigure(r, e)
  \/ \E b \in Ballots : \E run \in Runs : \E c \in ToldCommitPoints(b) : HandleAccept(r, b, run[1], run[2], c)
  \/ \E q \in Replicas : \E run \in Runs : HandleAccepted(r, q, run[1], run[2])
  \/ AdvanceCommitPoint(r)
  \/ Serve(r)
Following(r) ==
  \/ \E m \in Sent("Heartbeat") : HandleHeartbeat(r, m.ballot, m.commitPoint, m.configuration)
  \/ \E last \in Slots : last <= commitPoint[r] + MaxBatch /\ HandleCatchUpReply(r, last)
  \/ \E k \in ToldConfigurations : LearnConfiguration(r, k)
  \/ \E c \in Slots : Restored(r, c)
  \/ \E q \in Replicas : HandleReject(r, q)
  \/ StepDown(r)
Disk(r) ==
  \/ \E n \in 1..Len(buffer[r]) : Fsync(r, n)
  \/ \E hint \in Hints(r) : \E kept \in KeptConfigurations(r, hint) : Crash(r, hint, kept)
  \/ Restart(r)

Next == \E r \in Replicas : Elections(r) \/ Phase1(r) \/ Phase2(r) \/ Following(r) \/ Disk(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What goes on by itself *)

(* Those who are well for good. The others may be silent from any time on. Models put fewer in their place. *)
Lasting == Replicas

Leads(r, b) == role[r] = "leader" /\ promised[r] = b
Stands(r, b) == role[r] = "candidate" /\ promised[r] = b
NobodyStands == \A r \in Lasting : role[r] \notin {"candidate", "leader"}

(* What r has found and not proposed yet is chosen already: it cannot go on from there, and gives up. *)
IsPassed(r) == backlog[r] /= <<>> /\ backlog[r][1].slot <= commitPoint[r]

(******************************************************************************)
(* A message must arrive only while somebody who is well sends it again:      *)
(* Prepare while its candidate stands, Accept while its leader leads, answers *)
(* while they are asked for. What a Heartbeat tells comes by catching up, too,*)
(* and nobody need ask for a change.                                          *)
(******************************************************************************)
FairAt(r) ==
  /\ WF_View(\E m \in Sent("Prepare") :
               Owner(m.ballot) \in Lasting /\ Stands(Owner(m.ballot), m.ballot) /\ HandlePrepare(r, m.ballot, m.commitPoint))
  /\ WF_View(\E m \in Sent("Promise") : m.from \in Lasting /\ HandlePromise(r, m))
  /\ WF_View(BecomeLeader(r))
  /\ WF_View(Propose(r, IF backlog[r] = <<>> THEN NewCommands(r, 1) ELSE NextStage(r)))
  /\ WF_View(backlog[r] /= <<>> /\ Reconfigure(r, backlog[r][1].entry))
  /\ WF_View(\E b \in Ballots, s \in Slots : Owner(b) \in Lasting /\ Leads(Owner(b), b) /\ HandleAccept(r, b, s, s, commitPoint[Owner(b)]))
  /\ WF_View(\E q \in Lasting, s \in Slots : HandleAccepted(r, q, s, s))
  /\ WF_View(AdvanceCommitPoint(r))
  /\ WF_View(Serve(r))
  /\ WF_View((\E q \in Lasting : commitPoint[q] > commitPoint[r]) /\ HandleCatchUpReply(r, commitPoint[r] + 1))
  /\ WF_View(\E q \in Lasting : LearnConfiguration(r, config[q]))
  /\ WF_View(\E q \in Lasting : HandleReject(r, q))
  /\ WF_View(IsPassed(r) /\ StepDown(r))
  /\ WF_View(Fsync(r, Len(buffer[r])))
  /\ WF_View(Restart(r))

Fairness ==
  /\ \A r \in Lasting : FairAt(r)
  /\ WF_View(NobodyStands /\ \E r \in Lasting : Elections(r))

-----------------------------------------------------------------------------
(* What must hold *)

VoteSet == [ballot : Ballots \union {NoBallot}, entry : EntrySet]

TypeOK ==
  /\ durable \in [Replicas -> [promised : Ballots \union {NoBallot}, log : [Slots -> VoteSet \union {Empty}]]]
  /\ promised \in [Replicas -> Ballots \union {NoBallot}]
  /\ log \in [Replicas -> [Slots -> VoteSet \union {Empty}]]
  /\ commitPoint \in [Replicas -> 0..MaxSlot]
  /\ config \in [Replicas -> [version : 1..(MaxSlot + 1), slot : 0..MaxSlot, voters : Proposable \union {Founders}]]
  /\ role \in [Replicas -> {"follower", "candidate", "leader", "down"}]
  /\ acks \in [Replicas -> [Slots -> SUBSET Replicas]]
  /\ startSlot \in [Replicas -> 0..(MaxSlot + 1)]
  /\ serving \in [Replicas -> BOOLEAN]
  /\ \A r \in Replicas :
       /\ serving[r] => role[r] = "leader"
       /\ (role[r] = "leader") = (startSlot[r] > 0)
       /\ role[r] \in {"candidate", "leader"} => Owner(promised[r]) = r
       /\ promises[r] \subseteq Sent("Promise")
       /\ promises[r] /= {} => role[r] = "candidate"
       /\ \A s \in Slots : acks[r][s] /= {} => role[r] = "leader" /\ s > commitPoint[r]
       /\ backlog[r] /= <<>> => role[r] = "leader"

(* Chosen: proposed in a ballot in which a majority of those who decide the slot has revealed its votes. *)
IsMajority(S, voters) == 2 * Cardinality(S \intersect voters) > Cardinality(voters)
Voters(b, s) == {m.from : m \in {n \in msgs : n.type = "Accepted" /\ n.slot = s /\ n.ballot = b}}
ChosenIn(b, s) == IF IsMajority(Voters(b, s), Deciders(b, s)) THEN Proposals(b, s) ELSE {}
Chosen(s) == {m.entry : m \in {n \in msgs : n.type = "Accept" /\ n.slot = s /\ IsMajority(Voters(n.ballot, s), Deciders(n.ballot, s))}}

(* No two entries are chosen in one slot. *)
Agreement == \A s \in Slots : Cardinality(Chosen(s)) <= 1

(* Who decides a slot is settled by what is chosen below it. A configuration that is chosen already may be proposed once more by one *)
(* who knows that it is, but not all that lies below: then those whom it names vote on it again. *)
DecidedByThoseInForce ==
  \A b \in Ballots, s \in Slots : ChosenIn(b, s) /= {} /\ (\A t \in 1..(s - 1) : Chosen(t) /= {}) =>
    LET below == {t \in 1..(s - 1) : \E e \in Chosen(t) : IsConfiguration(e)}
        inForce == IF below = {} THEN Founders ELSE (CHOOSE e \in Chosen(Max(below)) : IsConfiguration(e)).voters
    IN \/ Deciders(b, s) = inForce
       \/ \E c \in Ballots : /\ Less(c, b)
                             /\ Deciders(c, s) = inForce
                             /\ \E e \in ChosenIn(c, s) \intersect ChosenIn(b, s) : IsConfiguration(e) /\ Deciders(b, s) = e.voters

(* Configurations follow one another, each one voter away from the one before. *)
ConfigurationsFormAChain ==
  LET at == {s \in Slots : \E e \in Chosen(s) : IsConfiguration(e)}
      entry(s) == CHOOSE e \in Chosen(s) : IsConfiguration(e)
      before(s) == IF {t \in at : t < s} = {} THEN Founding
                   ELSE LET t == Max({u \in at : u < s}) IN ConfigurationAt(t, entry(t))
  IN \A s \in at :
       /\ entry(s).id = before(s).version + 1
       /\ Cardinality((entry(s).voters \ before(s).voters) \union (before(s).voters \ entry(s).voters)) = 1

(* Those whom a leader asks are the voters of a configuration that is chosen below the slot, or of the very one that it proposes once more. *)
VotersComeFromBelow ==
  \A m \in Sent("Accept") :
    \/ m.voters = Founders
    \/ \E s \in 1..(m.slot - 1) : \E e \in Chosen(s) : IsConfiguration(e) /\ e.voters = m.voters
    \/ IsConfiguration(m.entry) /\ m.entry.voters = m.voters

(* Of what a leader has found it keeps back a change, or what lies behind one, and that all together. *)
OnlyChangesHoldBack ==
  \A r \in Replicas : backlog[r] /= <<>> =>
    IsConfiguration(backlog[r][1].entry) \/ IsConfiguration(log[r][backlog[r][1].slot - 1].entry)

(* The configuration that a replica knows is chosen with everything below, and is that of its commit point at least. *)
KnownConfigurationChosen ==
  \A r \in Replicas : Up(r) =>
    /\ config[r].slot = 0 => config[r] = Founding
    /\ config[r].slot > 0 =>
         \E e \in Chosen(config[r].slot) : IsConfiguration(e) /\ ConfigurationAt(config[r].slot, e) = config[r]
    /\ \A s \in 1..config[r].slot : Chosen(s) /= {}
    /\ KnownAt(config[r], log[r], commitPoint[r]) = config[r]

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

(* A leader's commands lie no further above its commit point than its window reaches. *)
WindowKept ==
  \A r \in Replicas : role[r] = "leader" =>
    \A m \in Sent("Accept") :
      m.ballot = promised[r] /\ m.entry.kind = "command" /\ m.entry.ballot = m.ballot => m.slot <= commitPoint[r] + WindowSlots

(* A candidate has asked from its commit point on: nobody tells it votes in slots that it knows to be chosen already. *)
AsksFromCommitPoint ==
  \A r \in Replicas : role[r] = "candidate" => PrepareMsg(promised[r], commitPoint[r]) \in msgs \union Waiting(r)

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

(* In a ballot of its own a replica votes only while it leads in it: one that crashed has forgotten what it proposed there. *)
OwnVotesAreALeaders ==
  [][\A r \in Replicas, s \in Slots :
       Up(r) /\ log'[r][s] /= log[r][s] /\ IsVote(log'[r][s]) /\ Owner(log'[r][s].ballot) = r
         => role'[r] = "leader" /\ promised'[r] = log'[r][s].ballot]_vars

(* A commit point never goes back while its replica is up. *)
CommitPointMonotone ==
  [][\A r \in Replicas : Up(r) /\ Up(r)' => commitPoint[r] <= commitPoint'[r]]_vars

(* In the end one of those who are well serves, and they know the whole log to be chosen (the leader's own entry may lie beyond it). *)
AllIsServed ==
  /\ \E r \in Lasting : role[r] = "leader" /\ (serving[r] \/ startSlot[r] > MaxSlot)
  /\ \A r \in Lasting : commitPoint[r] = MaxSlot
EverythingIsServed == <>[]AllIsServed

ChosenLog == [s \in Slots |-> Chosen(s)]
Abstract == INSTANCE Consensus WITH chosen <- ChosenLog, Entries <- EntrySet
(* Messages tell what is chosen, so a step that sends none chooses nothing. It is said first since TLC sees it at once. *)
StepsRefine == [][msgs' = msgs \/ Abstract!Next]_ChosenLog
Refinement == Abstract!Init /\ StepsRefine
=============================================================================
