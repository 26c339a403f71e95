--------------------------- MODULE TraceMultiPaxos ---------------------------
(***************************************************************************)
(* Is a recorded run of the server a behaviour of MultiPaxos?               *)
(*                                                                         *)
(* The runner (harness/conformance) turns the events of all replicas into   *)
(* steps, one action of MultiPaxos each, and cuts them into segments, so    *)
(* that TLC's states stay small.  It writes a module that extends this one  *)
(* and another that holds the segments as a literal, with the founders and  *)
(* the slots of each: they may be of different groups.  A segment starts in *)
(* a state and must end in the state that the next one starts in.           *)
(*                                                                         *)
(* What a step asserts, by its fields:                                      *)
(*   a, r, and the action's parameters    the action is enabled with them    *)
(*   q   whose message it acts on: the ballot's owner, where it is a leader's *)
(*       or a candidate's; for HandleCatchUpReply one that has it on its disk *)
(*   p   <<role, promised, durable promise, commit point, last slot,          *)
(*       serving, version of the newest configuration known to be chosen,     *)
(*       ballot>> of r after it, as the code recorded them; for Crash what is *)
(*       on the disk                                                         *)
(*   v   <<slot, ballot, entry>>: the log records that the code wrote or,     *)
(*       for Fsync, made durable: these and no others; for Restart what it    *)
(*       found: all that there is above the commit point, and below it what   *)
(*       comes next to that                                                  *)
(*   s   <<to, message>>: the messages that the code sent: all of them may be *)
(*       sent now, and all that must leave now are among them                *)
(*   o   the base that it wrote or, for Fsync, the last one that it made       *)
(*       durable; 0: none                                                    *)
(*   u   the flush that a crash let through: nobody heard of it              *)
(*   t   <<version, slot, voters, entry>>: what it says of configurations,    *)
(*       one that is known to be chosen, or, with its entry, one that is not  *)
(*   k   which event it came from                                            *)
(* Steps without p, v and s come from no event of their own: the flush that  *)
(* a crash let through and the crash itself, before the event Restart; what   *)
(* follows from the leader's earlier word, behind a catch-up; and the last    *)
(* moments of a killed process, whose events never reached the disk.  They    *)
(* are ordinary actions of MultiPaxos all the same.                          *)
(*                                                                         *)
(* Where this is weaker than equality, and why:                             *)
(*   - HandleAccepted, HandlePrepare that tell nothing new change nothing:    *)
(*     MultiPaxos leaves such steps out, the code records them.              *)
(*   - A commit point that an Accept or Heartbeat acts on may be one that its *)
(*     sender told in another message of its ballot: the code remembers it.  *)
(*   - Retell: a leader that learns of chosen slots by catch-up tells its     *)
(*     higher commit point.  It says something true whoever tells it.         *)
(*   - A Reject that answers a question before the Prepare is a StepDown.     *)
(*   - Slots that no step of a segment looks at, and that every replica has   *)
(*     settled, are left out.  A run of slots that only some have settled is  *)
(*     one slot.                                                             *)
(*   - The lease, PreVote and CatchUpRequest are not in MultiPaxos.           *)
(***************************************************************************)
EXTENDS MultiPaxos, Integers, TLC

VARIABLES
  segment,  \* which segment this behaviour is of
  at        \* its next step

traceVars == <<vars, segment, at>>

TraceView == <<segment, at>>

(* Values for the configuration. *)
NoBallots == {}
(* A change may concern a learner only: a replica that is expected, joins without having voted, or goes before it did. *)
AtMostOneVoterApart(voters, old) == Cardinality((voters \ old) \union (old \ voters)) <= 1
AnyVoters == SUBSET Replicas
(* TLC goes through a set of numbers in ascending order. *)
FastMax(S) == -(CHOOSE x \in {-y : y \in S} : TRUE)

-----------------------------------------------------------------------------
(* Reading the literals *)

(* An entry: <<>> nothing, <<0>> a no-op, <<n>> a command, <<round, replica>> a leader's start, *)
(* <<version, <<round, replica>>, voters>> a configuration, voters as a set. *)
EntryOf(e) ==
  IF e = <<>> THEN Nothing
  ELSE IF Len(e) = 2 THEN LeaderStart(e)
  ELSE IF Len(e) = 3 THEN ConfigurationEntry(e[2], e[1], e[3])
  ELSE IF e[1] = 0 THEN Noop
  ELSE [kind |-> "command", ballot |-> NoBallot, id |-> e[1]]

LogOf(q) == [s \in Slots |-> IF s <= Len(q) THEN [ballot |-> q[s][1], entry |-> EntryOf(q[s][2])] ELSE Empty]

VotesOf(q) == {[slot |-> q[i][1], ballot |-> q[i][2], entry |-> EntryOf(q[i][3])] : i \in 1..Len(q)}

RecordOf(x) == [kind |-> x[1], slot |-> x[2], ballot |-> x[3], entry |-> EntryOf(x[4])]

(* A configuration that is known to be chosen: <<version, slot, voters>>; <<>> the founding one. *)
ConfigOf(k) == IF k = <<>> THEN Founding ELSE [version |-> k[1], slot |-> k[2], voters |-> k[3]]
(* The i-th part of a message, where the founding configuration and its voters are left out. *)
ConfigIn(m, i) == IF Len(m) < i THEN Founding ELSE ConfigOf(m[i])
VotersIn(m, i) == IF Len(m) < i THEN Founders ELSE m[i]

MsgOf(m) ==
  CASE m[1] = "Prepare" -> PrepareMsg(m[2], m[3])
    [] m[1] = "Promise" -> PromiseMsg(m[2], m[3], m[4], ConfigIn(m, 6), VotesOf(m[5]))
    [] m[1] = "Accept" -> AcceptMsg(m[2], m[3], EntryOf(m[4]), VotersIn(m, 5))
    [] m[1] = "Accepted" -> AcceptedMsg(m[2], m[3], m[4])
    [] m[1] = "Heartbeat" -> HeartbeatMsg(m[2], m[3], ConfigIn(m, 4))
    [] m[1] = "CatchUpReply" -> CatchUpMsg(m[2], EntryOf(m[3]))

MsgsOf(q) == {MsgOf(q[i]) : i \in 1..Len(q)}

BufferOf(q) == [i \in 1..Len(q) |-> [record |-> RecordOf(q[i][1]), replies |-> MsgsOf(q[i][2])]]

(* What a leader may not propose yet: <<slot, entry>> each. *)
BacklogOf(state) ==
  IF "backlog" \notin DOMAIN state THEN <<>>
  ELSE [i \in 1..Len(state.backlog) |-> [slot |-> state.backlog[i][1], entry |-> EntryOf(state.backlog[i][2])]]

AcksOf(q) == [s \in Slots |-> {q[i][2] : i \in {j \in 1..Len(q) : q[j][1] = s}}]

-----------------------------------------------------------------------------
(* Where a segment starts, and where it must end; R[r] is the state of replica r *)

TraceInit(Segments) ==
  /\ segment \in 1..Len(Segments)
  /\ at = 1
  /\ LET R == Segments[segment].init
     IN /\ msgs = MsgsOf(Segments[segment].msgs)
        /\ durable = [r \in DOMAIN R |-> [promised |-> R[r].durablePromised, log |-> LogOf(R[r].durableLog)]]
        /\ buffer = [r \in DOMAIN R |-> BufferOf(R[r].buffer)]
        /\ promised = [r \in DOMAIN R |-> R[r].promised]
        /\ log = [r \in DOMAIN R |-> LogOf(R[r].log)]
        /\ config = [r \in DOMAIN R |-> IF "config" \in DOMAIN R[r] THEN ConfigOf(R[r].config) ELSE Founding]
        /\ commitPoint = [r \in DOMAIN R |-> R[r].commitPoint]
        /\ role = [r \in DOMAIN R |-> R[r].role]
        /\ promises = [r \in DOMAIN R |-> MsgsOf(R[r].promises)]
        /\ acks = [r \in DOMAIN R |-> AcksOf(R[r].acks)]
        /\ startSlot = [r \in DOMAIN R |-> R[r].startSlot]
        /\ backlog = [r \in DOMAIN R |-> BacklogOf(R[r])]
        /\ serving = [r \in DOMAIN R |-> R[r].serving]
  /\ crashes = [r \in Replicas |-> 0]
  /\ act = [name |-> "Init", params |-> [replica |-> 0]]

(* Operators of primed variables, so that they can be asserted of the next state. *)
EndsAs(R, exports) ==
  /\ MsgsOf(exports) \subseteq msgs'
  /\ \A r \in DOMAIN R :
       /\ durable'[r] = [promised |-> R[r].durablePromised, log |-> LogOf(R[r].durableLog)]
       /\ buffer'[r] = BufferOf(R[r].buffer)
       /\ promised'[r] = R[r].promised
       /\ log'[r] = LogOf(R[r].log)
       /\ config'[r] = (IF "config" \in DOMAIN R[r] THEN ConfigOf(R[r].config) ELSE Founding)
       /\ commitPoint'[r] = R[r].commitPoint
       /\ role'[r] = R[r].role
       /\ promises'[r] = MsgsOf(R[r].promises)
       /\ acks'[r] = AcksOf(R[r].acks)
       /\ startSlot'[r] = R[r].startSlot
       /\ backlog'[r] = BacklogOf(R[r])
       /\ serving'[r] = R[r].serving

-----------------------------------------------------------------------------
(* What the code recorded *)

RecordedState(r, p) ==
  /\ role'[r] = p[1]
  /\ promised'[r] = p[2]
  /\ durable'[r].promised = p[3]
  /\ commitPoint'[r] = p[4]
  /\ FastMax({commitPoint'[r]} \union {s \in Slots : log'[r][s].entry /= Nothing}) = p[5]
  /\ serving'[r] = p[6]
  /\ config'[r].version = p[7]
  /\ promised'[r] = p[8]

RecordedDisk(r, p) ==
  /\ p[1] = "follower"
  /\ p[2] = durable[r].promised
  /\ p[3] = p[2]
  /\ p[8] = p[2]
  /\ commitPoint'[r] = p[4]
  /\ FastMax({p[4]} \union {x \in Slots : durable[r].log[x].entry /= Nothing}) = p[5]
  /\ ~p[6]
  /\ config'[r].version = p[7]

(* What a restart found, v, says all that the disk has above the commit point c, and all between its first slot and c. *)
RecordedLog(r, v, c) ==
  LET told == {v[i][1] : i \in 1..Len(v)}
  IN /\ \A i \in 1..Len(v) : log'[r][v[i][1]] = [ballot |-> v[i][2], entry |-> EntryOf(v[i][3])]
     /\ {x \in Slots : x > c /\ log'[r][x].entry /= Nothing} \subseteq told
     /\ \A x \in told : (x + 1)..c \subseteq told

IsEntryRecord(item) == item.record.kind \in {"vote", "chosen"}
EntryRecords(items) == SelectSeq(items, IsEntryRecord)
SameRecords(items, v) ==
  /\ Len(items) = Len(v)
  /\ \A i \in 1..Len(v) : /\ items[i].record.slot = v[i][1]
                          /\ items[i].record.ballot = v[i][2]
                          /\ items[i].record.entry = EntryOf(v[i][3])

(* The records that an action appended; Fsync: those that it made durable. *)
RecordedVotes(e) ==
  IF e.a = "Fsync" THEN SameRecords(EntryRecords(SubSeq(buffer[e.r], 1, e.n)), e.v)
  ELSE IF e.a = "Restart" THEN RecordedLog(e.r, e.v, commitPoint'[e.r])
  ELSE IF e.a = "Crash" THEN e.v = <<>>
  ELSE SameRecords(EntryRecords(SubSeq(buffer'[e.r], Len(buffer[e.r]) + 1, Len(buffer'[e.r]))), e.v)

IsBaseRecord(item) == item.record.kind = "base"
LastBase(items) ==
  LET bases == SelectSeq(items, IsBaseRecord) IN IF bases = <<>> THEN 0 ELSE bases[Len(bases)].record.slot

RecordedBase(e) ==
  e.o = IF e.a = "Fsync" THEN LastBase(SubSeq(buffer[e.r], 1, e.n))
        ELSE IF e.a = "Crash" THEN 0
        ELSE LastBase(SubSeq(buffer'[e.r], Len(buffer[e.r]) + 1, Len(buffer'[e.r])))

(* Whoever decides the slot. *)
ProposedNow(b, s, e) == \E n \in msgs' : n.type = "Accept" /\ n.ballot = b /\ n.slot = s /\ n.entry = e

MaySend(r, to, m) ==
  /\ to /= r
  /\ m[1] \in {"Promise", "Accepted", "Reject"} => to = Owner(IF m[1] = "Promise" THEN m[3] ELSE m[2])
  /\ CASE m[1] = "Accept" -> /\ \A i \in 1..Len(m[4]) : ProposedNow(m[2], m[3] + i - 1, EntryOf(m[4][i]))
                             /\ Owner(m[2]) = r
                             /\ m[5] = commitPoint'[r]
       [] m[1] = "Heartbeat" -> Owner(m[2]) = r /\ m[3] = commitPoint'[r] /\ MsgOf(m) \in msgs'
       [] m[1] = "Accepted" -> m[5] <= commitPoint'[r] /\ \A s \in m[3]..m[4] : AcceptedMsg(r, m[2], s) \in msgs'
       [] m[1] = "Reject" -> AtMost(m[3], durable'[r].promised)
       [] OTHER -> MsgOf(m) \in msgs'

(* What leaves now for the first time, and for somebody else: a candidate's questions, once its own promise is durable, if there is anybody *)
(* else to ask; promises and votes; a leader's proposals, if there is anybody else to vote. *)
MustLeave(r, m) ==
  CASE m.type = "Prepare" -> role[r] = "candidate" /\ m.ballot = promised[r] /\ config[r].voters /= {r}
    [] m.type = "Promise" -> Owner(m.ballot) /= r
    [] m.type = "Accepted" -> Owner(m.ballot) /= r
    [] m.type = "Accept" -> config[r].voters /= {r}
    [] OTHER -> FALSE

IsIn(m, x) ==
  /\ x[1] = m.type
  /\ CASE x[1] = "Prepare" -> x[2] = m.ballot
       [] x[1] = "Accepted" -> x[2] = m.ballot /\ m.slot \in x[3]..x[4]
       [] x[1] = "Accept" -> x[2] = m.ballot /\ m.slot \in x[3]..(x[3] + Len(x[4]) - 1)
       [] OTHER -> MsgOf(x) = m

(* A candidate that learns something asks again when it next repeats its questions, and asks what it knows then. *)
RecordedSends(e) ==
  /\ \A i \in 1..Len(e.s) : MaySend(e.r, e.s[i][1], e.s[i][2])
  /\ "u" \in DOMAIN e \/ e.a \in {"HandleCatchUpReply", "Restored"}
     \/ \A m \in msgs' \ msgs : MustLeave(e.r, m) => \E i \in 1..Len(e.s) : IsIn(m, e.s[i][2])

RecordedConfiguration(e, t) ==
  IF Len(t) = 3
  THEN \/ config'[e.r] = ConfigOf(t)
       \/ e.a = "HandlePromise" /\ MsgOf(e.m).configuration = ConfigOf(t)
  ELSE LET n == EntryOf(t[4]) IN IsConfiguration(n) /\ n.id = t[1] /\ n.voters = t[3]

-----------------------------------------------------------------------------
(* Steps *)

Quiet == UNCHANGED vars

(* Answered before: the answer is sent, or waits for the disk. *)
AnsweredAlready(r, b, c) ==
  LET reply == PromiseMsg(r, b, commitPoint[r], config[r], VotesAbove(log[r], Larger(commitPoint[r], c)))
  IN /\ Up(r)
     /\ PrepareMsg(b, c) \in msgs
     /\ AnswersAgain(r, b)
     /\ reply \in msgs \/ \E i \in 1..Len(buffer[r]) : reply \in buffer[r][i].replies
     /\ Quiet

CountedAlready(r, q, first, last) ==
  /\ role[r] = "leader"
  /\ \A s \in first..last : AcceptedMsg(q, promised[r], s) \in msgs
  /\ \A s \in first..last : s <= commitPoint[r] \/ q \in acks[r][s]
  /\ Quiet

HasAsked(r) == \E m \in Sent("Prepare") : m.ballot = promised[r]

Retell(r) ==
  /\ role[r] = "leader"
  /\ msgs' = msgs \union {HeartbeatMsg(promised[r], commitPoint[r], config[r])}
  /\ UNCHANGED <<durable, buffer, promised, log, config, commitPoint, role, promises, acks, startSlot, backlog, serving, crashes, act>>

(* The entries in the message are those that the leader proposed. *)
CarriesProposals(e) == \A i \in 1..Len(e.e) : EntryOf(e.e[i]) \in Proposals(e.b, e.f + i - 1)

Learnt(e) == \A i \in 1..Len(e.e) :
  /\ CatchUpMsg(e.f + i - 1, EntryOf(e.e[i])) \in msgs
  /\ "q" \in DOMAIN e => e.q /= e.r /\ durable[e.q].log[e.f + i - 1].entry = EntryOf(e.e[i])

Do(e) ==
  \/ e.a = "StartElection" /\ StartElection(e.r, e.b)
  \/ e.a = "HandlePrepare" /\ e.q = Owner(e.b) /\ (HandlePrepare(e.r, e.b, e.c) \/ AnsweredAlready(e.r, e.b, e.c))
  \/ e.a = "HandlePromise" /\ LET m == MsgOf(e.m) IN m \in msgs /\ HandlePromise(e.r, m)
  \/ e.a = "BecomeLeader" /\ BecomeLeader(e.r)
  \/ e.a = "Propose" /\ Propose(e.r, [i \in 1..Len(e.e) |-> EntryOf(e.e[i])])
  \/ e.a = "HandleAccept" /\ e.q = Owner(e.b) /\ CarriesProposals(e) /\ e.c \in ToldCommitPoints(e.b) /\ HandleAccept(e.r, e.b, e.f, e.l, e.c)
  \/ e.a = "HandleAccepted" /\ e.b = promised[e.r]
       /\ (HandleAccepted(e.r, e.q, e.f, e.l) \/ CountedAlready(e.r, e.q, e.f, e.l))
  \/ e.a = "AdvanceCommitPoint" /\ AdvanceCommitPoint(e.r)
  \/ e.a = "Serve" /\ Serve(e.r)
  \/ e.a = "HandleHeartbeat" /\ e.q = Owner(e.b) /\ \E k \in ToldConfigurations : HandleHeartbeat(e.r, e.b, e.c, k)
  \/ e.a = "HandleCatchUpReply" /\ Learnt(e) /\ HandleCatchUpReply(e.r, e.l)
  \/ e.a = "HandleReject" /\ e.b = promised[e.r] /\ AtMost(e.p2, durable[e.q].promised)
       /\ (HandleReject(e.r, e.q) \/ (Less(e.b, e.p2) /\ ~HasAsked(e.r) /\ StepDown(e.r)))
  \/ e.a = "StepDown" /\ StepDown(e.r)
  \/ e.a = "Fsync" /\ IF e.n = 0 THEN Quiet ELSE Fsync(e.r, e.n)
  \/ e.a = "Reconfigure" /\ LET n == EntryOf(e.e[1])
       IN Reconfigure(e.r, n)
  \/ e.a = "LearnConfiguration" /\ LearnConfiguration(e.r, ConfigOf(e.g))
  \/ e.a = "Restored" /\ Restored(e.r, e.c)
  \/ e.a = "Crash" /\ Crash(e.r, e.c, IF "g" \in DOMAIN e THEN ConfigOf(e.g) ELSE config[e.r])
  \/ e.a = "Restart" /\ Restart(e.r)
  \/ e.a = "Retell" /\ Retell(e.r)

AsRecorded(e) ==
  /\ "p" \in DOMAIN e => IF e.a = "Crash" THEN RecordedDisk(e.r, e.p) ELSE RecordedState(e.r, e.p)
  /\ "v" \in DOMAIN e => RecordedVotes(e)
  /\ "o" \in DOMAIN e => RecordedBase(e)
  /\ "s" \in DOMAIN e => RecordedSends(e)
  /\ "t" \in DOMAIN e => \A i \in 1..Len(e.t) : RecordedConfiguration(e, e.t[i])

(* As a value: in a step TLC would take each witness of each \E for a step of its own, and go through all their combinations. *)
AsValue(claim) == IF claim THEN TRUE ELSE FALSE

TraceNext(Segments) ==
  LET this == Segments[segment]
      e == this.steps[at]
  IN /\ at <= Len(this.steps)
     /\ Do(e)
     /\ AsValue(AsRecorded(e))
     /\ AsValue(at = Len(this.steps) /\ this.end /= <<>> => EndsAs(this.end, this.exports))
     /\ at' = at + 1
     /\ UNCHANGED segment

(* Printed once for each segment that is matched to its end. *)
Progress(Segments) == at > Len(Segments[segment].steps) => PrintT(<<"matched", segment>>)

(* Printed for each step: how far a segment got that is not. *)
EachStep == PrintT(<<"reached", segment, at>>)

(* What TLC has of the replicas, to show beside what was recorded. *)
ShowState(Segments) ==
  at > Len(Segments[segment].steps) =>
    LET r == Segments[segment].steps[Len(Segments[segment].steps)].r
    IN PrintT(<<"state", [role |-> role[r], promised |-> promised[r], durablePromised |-> durable[r].promised,
                          commitPoint |-> commitPoint[r], lastSlot |-> LastSlot(r), serving |-> serving[r]]>>)
=============================================================================
