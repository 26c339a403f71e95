---------------------------- MODULE FollowerReads ----------------------------
(***************************************************************************)
(* Why a follower's standby may answer reads: ReadIndex, and bounds of       *)
(* staleness that rest on it.                                               *)
(*                                                                         *)
(* A linearizable read at a follower has the leader asked for a read index:    *)
(* how far the log is chosen, as a leader that serves knows under its lease.    *)
(* The read runs when the follower's own standby has replayed that.  One        *)
(* question is for all reads that were asked for before it was sent.           *)
(* A standby that has replayed an index has everything that any client knew      *)
(* when it was asked for.  So a bounded read looks at how long ago that was, on   *)
(* the follower's own clock; no clocks are compared.  A snapshot read takes what   *)
(* the standby has; within one session nothing goes back.                        *)
(*                                                                         *)
(* A standby shows a COMMIT as soon as it has replayed it, the leader's database    *)
(* when the session that has waited for its choice has come to that: perhaps later. *)
(* So what a linearizable read has found is held back until the leader says, under   *)
(* its lease, that its own database shows all that the standby had.  Whoever leads   *)
(* next shows everything that was chosen before.                                  *)
(*                                                                         *)
(* That a lease's holder leads in the highest ballot is Lease's business           *)
(* (LeaseExcludes), that a leader which serves knows what was chosen before is      *)
(* MultiPaxos's (ServingSeesChosen), and that a standby is fed what is chosen and    *)
(* nothing else is OrderedApply's (StandbyIsChosen).                                *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Replicas,      \* positive numbers
  Followers,     \* those whose standbys are read, while they do not lead
  LastBallot,    \* ballots are 1..LastBallot
  MaxWrites,
  MaxQuestions,  \* how many read indexes a follower asks for
  MaxTicks,
  MaxCopies,     \* how often a standby is replaced, or restarted
  MaxStaleness   \* of a bounded read, in ticks

VARIABLES
  now,           \* the time
  chosen,        \* how many writes are chosen
  ballot,        \* the highest in which anyone was elected
  leads,         \* leads[r]: the ballot in which r believes to lead; 0 if none
  start,         \* start[r]: how many writes were chosen when r was elected: it serves when it knows them
  knows,         \* knows[r]: how many writes r knows to be chosen
  clients,       \* how many writes any client knows of: acknowledged, or read
  linearized,    \* the same, but for what bounded and snapshot reads have shown
  released,      \* released[r]: how many r has acknowledged as a leader
  was,           \* was[t]: what clients knew when it became t
  received,      \* received[f]: how many writes f's standby has in its own WAL
  replayed,      \* replayed[f]: ... and shows
  asked,         \* asked[f]: how many questions f has sent
  msgs,          \* questions, and their answers: all that were ever sent
  taken,         \* taken[f]: the answers that f has got, and when
  current,       \* current[f]: the newest question whose index f's standby has replayed, and from when its age counts
  covered,       \* covered[f]: how many writes f knows to be shown by whoever leads
  read,          \* read[f]: the read that the client of the session at f has asked for
  found,         \* found[f]: what it has found, and its client is not told yet; empty if that is nothing
  shown,         \* shown[f]: what that session has been shown
  wrong,         \* what answers have broken
  copies

log == <<chosen, ballot, leads, start, knows>>
known == <<clients, linearized, released>>
standby == <<received, replayed>>
questions == <<asked, msgs, taken>>
session == <<read, found, shown, wrong>>
vars == <<now, log, known, was, standby, questions, current, covered, session, copies>>

Ballots == 1..LastBallot
Modes == {"linearizable", "bounded", "snapshot"}
Max(a, b) == IF a > b THEN a ELSE b

NoRead == [mode |-> "none", needed |-> 0, since |-> 0]
NeverCurrent == [number |-> 0, from |-> 0]

-----------------------------------------------------------------------------
(* Rules that a bug model overrides *)

(* A leader answers under its lease, *)
HoldsLease(r) == leads[r] = ballot
(* and only when it serves: it knows everything that was chosen when it was elected. *)
Serves(r) == knows[r] >= start[r]

(* A question that was sent before the read was asked for says nothing of what was written in between. *)
CountsFor(number, since) == number > since

(* What a standby has replayed it shows; what it has received it does not show yet. *)
Has(f) == replayed[f]

(* A database that was promoted shows all that was chosen before; of what is chosen under it what it has acknowledged. *)
LeaderShows(r) == Max(released[r], start[r])
(* Its snapshot has everything that a standby had: what a leader that was replaced has run since, and is not chosen, may have the ids of what others have written. *)
HasAll(r, n) == LeaderShows(r) >= n \/ leads[r] < ballot
(* It says so under its lease. *)
MayConfirm(r) == HoldsLease(r)
(* What a read has found is told when the leader is known to show it. *)
MayTell(f) == \A result \in found[f] : result <= covered[f]

(* An index is as old as its question, however late the answer came. *)
AgeFrom(answer) == answer.sentAt

(* What a standby had is not what the one has that takes its place, nor this one itself when it is started again. *)
CurrentOfCopy(f) == NeverCurrent
(* A session ends with the life of the standby that it reads. *)
SessionEnds == TRUE

-----------------------------------------------------------------------------
Init ==
  /\ now = 0
  /\ chosen = 0 /\ ballot = 1
  /\ leads = [r \in Replicas |-> IF r = 1 THEN 1 ELSE 0]
  /\ start = [r \in Replicas |-> 0]
  /\ knows = [r \in Replicas |-> 0]
  /\ clients = 0 /\ linearized = 0
  /\ released = [r \in Replicas |-> 0]
  /\ was = [t \in 0..MaxTicks |-> 0]
  /\ received = [f \in Followers |-> 0]
  /\ replayed = [f \in Followers |-> 0]
  /\ asked = [f \in Followers |-> 0]
  /\ msgs = {}
  /\ taken = [f \in Followers |-> {}]
  /\ current = [f \in Followers |-> NeverCurrent]
  /\ covered = [f \in Followers |-> 0]
  /\ found = [f \in Followers |-> {}]
  /\ read = [f \in Followers |-> NoRead]
  /\ shown = [f \in Followers |-> 0]
  /\ wrong = {}
  /\ copies = 0

Tick ==
  /\ now < MaxTicks
  /\ now' = now + 1
  /\ was' = [was EXCEPT ![now + 1] = clients]
  /\ UNCHANGED <<log, known, standby, questions, current, covered, session, copies>>

(* A majority has what leader r proposed. Whoever has promised a higher ballot votes for nobody else. *)
Choose(r) ==
  /\ leads[r] = ballot
  /\ Serves(r)
  /\ chosen < MaxWrites
  /\ chosen' = chosen + 1
  /\ UNCHANGED <<now, ballot, leads, start, knows, known, was, standby, questions, current, covered, session, copies>>

(* Leader r gets to know it; one that was replaced no more than what was chosen before that, for it leads no more when it hears of the rest. *)
Learn(r) ==
  /\ leads[r] # 0
  /\ knows[r] < chosen
  /\ \A q \in Replicas : leads[q] > leads[r] => knows[r] < start[q]
  /\ knows' = [knows EXCEPT ![r] = @ + 1]
  /\ UNCHANGED <<now, chosen, ballot, leads, start, known, was, standby, questions, current, covered, session, copies>>

(* The leader's database shows a write, and its client is told that it is done: by a leader that has lost its lease, too, for nothing    *)
(* rests on that here.                                                                                                          *)
Acknowledge(r) ==
  /\ leads[r] # 0
  /\ LeaderShows(r) < knows[r]
  /\ released' = [released EXCEPT ![r] = LeaderShows(r) + 1]
  /\ clients' = Max(clients, LeaderShows(r) + 1)
  /\ linearized' = Max(linearized, LeaderShows(r) + 1)
  /\ UNCHANGED <<now, log, was, standby, questions, current, covered, session, copies>>

(* Somebody reads at the leader, begun and answered now. *)
ReadLeader(r) ==
  /\ leads[r] # 0
  /\ HoldsLease(r)
  /\ Serves(r)
  /\ clients' = Max(clients, LeaderShows(r))
  /\ linearized' = Max(linearized, LeaderShows(r))
  /\ wrong' = wrong \cup (IF LeaderShows(r) < linearized THEN {"behind"} ELSE {})
  /\ UNCHANGED <<now, log, released, was, standby, questions, current, covered, read, found, shown, copies>>

(* r is elected. It knows what it knew as a follower, and finds the rest. The session at it ends, for its standby is to be a primary. *)
Elect(r) ==
  /\ ballot < LastBallot
  /\ leads[r] = 0
  /\ ballot' = ballot + 1
  /\ leads' = [leads EXCEPT ![r] = ballot + 1]
  /\ start' = [start EXCEPT ![r] = chosen]
  /\ read' = [f \in Followers |-> IF f = r THEN NoRead ELSE read[f]]
  /\ found' = [f \in Followers |-> IF f = r THEN {} ELSE found[f]]
  /\ UNCHANGED <<now, chosen, knows, known, was, standby, questions, current, covered, shown, wrong, copies>>

IsStandby(f) == leads[f] = 0

(* A leader tells f how far the log is chosen; f has its standby fed up to there. *)
Feed(f) ==
  /\ IsStandby(f)
  /\ \E r \in Replicas : leads[r] # 0 /\ knows[r] > received[f]
  /\ received' = [received EXCEPT ![f] = @ + 1]
  /\ knows' = [knows EXCEPT ![f] = Max(@, received[f] + 1)]
  /\ UNCHANGED <<now, chosen, ballot, leads, start, known, was, replayed, questions, current, covered, session, copies>>

Replay(f) ==
  /\ IsStandby(f)
  /\ replayed[f] < received[f]
  /\ replayed' = [replayed EXCEPT ![f] = @ + 1]
  /\ UNCHANGED <<now, log, known, was, received, questions, current, covered, session, copies>>

(* The standby is started again, which may show less than before, or a copy that is older takes its place. *)
Replace(f, n) ==
  /\ IsStandby(f)
  /\ copies < MaxCopies
  /\ n < replayed[f]
  /\ copies' = copies + 1
  /\ received' = [received EXCEPT ![f] = n]
  /\ replayed' = [replayed EXCEPT ![f] = n]
  /\ current' = [current EXCEPT ![f] = CurrentOfCopy(f)]
  /\ read' = [read EXCEPT ![f] = IF SessionEnds THEN NoRead ELSE @]
  /\ found' = [found EXCEPT ![f] = IF SessionEnds THEN {} ELSE @]
  /\ shown' = [shown EXCEPT ![f] = IF SessionEnds THEN 0 ELSE @]
  /\ UNCHANGED <<now, log, known, was, questions, covered, wrong>>

(* The client of the session at f asks: what it is answered must have all that any client knows now. *)
BeginRead(f, mode) ==
  /\ IsStandby(f)
  /\ read[f] = NoRead
  /\ read' = [read EXCEPT ![f] = [mode |-> mode, needed |-> clients, since |-> asked[f]]]
  /\ UNCHANGED <<now, log, known, was, standby, questions, current, covered, found, shown, wrong, copies>>

AskReadIndex(f) ==
  /\ read[f].mode \in {"linearizable", "bounded"}
  /\ found[f] = {}
  /\ asked[f] < MaxQuestions
  /\ asked' = [asked EXCEPT ![f] = @ + 1]
  /\ msgs' = msgs \cup {[type |-> "ReadIndexQuestion", from |-> f, number |-> asked[f] + 1, sentAt |-> now]}
  /\ UNCHANGED <<now, log, known, was, standby, taken, current, covered, session, copies>>

AnswerReadIndex(r, m) ==
  /\ m.type = "ReadIndexQuestion"
  /\ leads[r] # 0
  /\ HoldsLease(r)
  /\ Serves(r)
  /\ msgs' = msgs \cup {[type |-> "ReadIndexAnswer", to |-> m.from, number |-> m.number, sentAt |-> m.sentAt, index |-> knows[r]]}
  /\ UNCHANGED <<now, log, known, was, standby, asked, taken, current, covered, session, copies>>

HandleReadIndex(f, m) ==
  /\ m.type = "ReadIndexAnswer"
  /\ m.to = f
  /\ \A a \in taken[f] : a.number # m.number
  /\ taken' = [taken EXCEPT ![f] = @ \cup {[number |-> m.number, sentAt |-> m.sentAt, index |-> m.index, takenAt |-> now]}]
  /\ UNCHANGED <<now, log, known, was, standby, asked, msgs, current, covered, session, copies>>

(* The standby has come to an index that f has been told. *)
ReachReadIndex(f, answer) ==
  /\ IsStandby(f)
  /\ Has(f) >= answer.index
  /\ answer.number > current[f].number
  /\ current' = [current EXCEPT ![f] = [number |-> answer.number, from |-> AgeFrom(answer)]]
  /\ UNCHANGED <<now, log, known, was, standby, questions, covered, session, copies>>

MayRead(f) ==
  CASE read[f].mode = "linearizable" -> current[f].number # 0 /\ CountsFor(current[f].number, read[f].since)
    [] read[f].mode = "bounded" -> current[f].number # 0 /\ now - current[f].from <= MaxStaleness
    [] OTHER -> read[f].mode = "snapshot"

(* The client of the session at f is told what its read has found. *)
Tell(f, result) ==
  LET mode == read[f].mode
      isLinearizable == mode = "linearizable"
  IN  /\ shown' = [shown EXCEPT ![f] = result]
      /\ clients' = Max(clients, result)
      /\ linearized' = IF isLinearizable THEN Max(linearized, result) ELSE linearized
      /\ wrong' = wrong \cup (IF isLinearizable /\ result < read[f].needed THEN {"stale"} ELSE {})
                        \cup (IF mode = "bounded" /\ now >= MaxStaleness /\ result < was[now - MaxStaleness] THEN {"too old"} ELSE {})
                        \cup (IF result < shown[f] THEN {"went back"} ELSE {})
      /\ read' = [read EXCEPT ![f] = NoRead]
      /\ found' = [found EXCEPT ![f] = {}]

(* The statement's snapshot is taken, and it is answered; what a linearizable read has found is held back. *)
ReadStandby(f) ==
  /\ IsStandby(f)
  /\ found[f] = {}
  /\ MayRead(f)
  /\ IF read[f].mode = "linearizable"
     THEN /\ found' = [found EXCEPT ![f] = {replayed[f]}]
          /\ UNCHANGED <<clients, linearized, read, shown, wrong>>
     ELSE Tell(f, replayed[f])
  /\ UNCHANGED <<now, log, released, was, standby, questions, current, covered, copies>>

(* f asks whether the leader shows all that the standby has now, *)
AskShown(f) ==
  /\ ~MayTell(f)
  /\ msgs' = msgs \cup {[type |-> "ShownQuestion", from |-> f, shows |-> replayed[f]]}
  /\ UNCHANGED <<now, log, known, was, standby, asked, taken, current, covered, session, copies>>

(* which the leader says when it does. *)
AnswerShown(r, m) ==
  /\ m.type = "ShownQuestion"
  /\ leads[r] # 0
  /\ Serves(r)
  /\ HasAll(r, m.shows)
  /\ MayConfirm(r)
  /\ msgs' = msgs \cup {[type |-> "ShownAnswer", to |-> m.from, shows |-> m.shows]}
  /\ UNCHANGED <<now, log, known, was, standby, asked, taken, current, covered, session, copies>>

HandleShown(f, m) ==
  /\ m.type = "ShownAnswer"
  /\ m.to = f
  /\ m.shows > covered[f]
  /\ covered' = [covered EXCEPT ![f] = m.shows]
  /\ UNCHANGED <<now, log, known, was, standby, questions, current, session, copies>>

TellFound(f) ==
  /\ found[f] # {}
  /\ MayTell(f)
  /\ \E result \in found[f] : Tell(f, result)
  /\ UNCHANGED <<now, log, released, was, standby, questions, current, covered, copies>>

Next ==
  \/ Tick
  \/ \E r \in Replicas :
       \/ Choose(r) \/ Learn(r) \/ Acknowledge(r) \/ ReadLeader(r) \/ Elect(r)
       \/ \E m \in msgs : AnswerReadIndex(r, m) \/ AnswerShown(r, m)
  \/ \E f \in Followers :
       \/ Feed(f) \/ Replay(f) \/ AskReadIndex(f) \/ ReadStandby(f) \/ AskShown(f) \/ TellFound(f)
       \/ \E n \in 0..MaxWrites : Replace(f, n)
       \/ \E mode \in Modes : BeginRead(f, mode)
       \/ \E m \in msgs : HandleReadIndex(f, m) \/ HandleShown(f, m)
       \/ \E answer \in taken[f] : ReachReadIndex(f, answer)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
  /\ linearized <= clients /\ clients <= chosen
  /\ \A r \in Replicas : leads[r] <= ballot /\ knows[r] <= chosen /\ released[r] <= linearized
  /\ \A f \in Followers :
       /\ replayed[f] <= received[f] /\ received[f] <= knows[f]
       /\ current[f].number <= asked[f]
       /\ covered[f] <= chosen
       /\ read[f].mode \in Modes \cup {"none"}
       /\ found[f] # {} => read[f].mode = "linearizable"

(* A linearizable read has everything that any client knew when it was asked for. *)
LinearizableReadsAreCurrent == "stale" \notin wrong

(* A read at the leader has everything that was acknowledged, or shown by a read at a leader or a linearizable one at a follower, when it was asked for. *)
LeaderReadsAreCurrent == "behind" \notin wrong

(* A bounded read has everything that any client knew so long ago. *)
BoundIsKept == "too old" \notin wrong

(* What a session has been shown it is shown again. *)
SessionsNeverGoBack == "went back" \notin wrong

(* An index that the lease's holder gives has everything that any client knows. *)
IndexHasWhatClientsKnow == \A r \in Replicas : leads[r] # 0 /\ HoldsLease(r) /\ Serves(r) => knows[r] >= clients

(* What a standby is said to have replayed it has. *)
CurrentIsReplayed ==
  \A f \in Followers : IsStandby(f) /\ current[f].number # 0 =>
    \E a \in taken[f] : a.number = current[f].number /\ a.index <= replayed[f]

(* Whoever is kept waiting for the leader can ask it. *)
WhoWaitsMayAsk == \A f \in Followers : ~MayTell(f) => ENABLED AskShown(f)

(* Nobody reads at what is to be a primary. *)
SessionsAreAtStandbys == \A f \in Followers : leads[f] # 0 => read[f] = NoRead /\ found[f] = {}

(* Who leads has no standby that is fed, replays or is replaced, and is not elected again. *)
LeadersHaveNoStandby ==
  [][\A f \in Followers : leads[f] # 0 =>
       /\ leads'[f] = leads[f]
       /\ received'[f] = received[f] /\ replayed'[f] = replayed[f] /\ current'[f] = current[f]]_vars
=============================================================================
