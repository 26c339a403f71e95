------------------------------ MODULE Recovery ------------------------------
(*******************************************************************************)
(* Lost disks: which replica has what, and from where it gets it back.         *)
(*                                                                             *)
(* This module stands on two others and does not repeat them.  MultiPaxos      *)
(* (with MCMembership and WipedAcceptors) says that a slot, once chosen,       *)
(* keeps its entry although members change and logs are lost; here the         *)
(* chosen prefix is a number.  OrderedApply says that a database is a          *)
(* function of the prefix at its pointer, as long as rows and pointer are      *)
(* written together; here an image is the set of slots that are in it.         *)
(*                                                                             *)
(* What is left is where the bytes are: logs that are purged, databases        *)
(* whose newest commits a crash takes back, copies of databases on their way,  *)
(* replicas without log, without database or without both.  recovery.md says   *)
(* which step here is which action there and which function of the server.     *)
(*                                                                             *)
(* A replica's member is its newest incarnation: [life, role].  The log on its *)
(* disk belongs to one life; 0: there is none.  Only the log of the member's   *)
(* own life takes part.                                                        *)
(*******************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Replica, MaxSlot, MaxWipes, MaxCrashes, MaxTail

VARIABLES
  chosen,    \* slots 1..chosen are chosen, and may have been acknowledged
  member,    \* member[r]: [life, role]: the configuration in force
  life,      \* life[r]: to which incarnation the log on r's disk belongs; 0: lost
  log,       \* log[r]: the slots that it holds, durably
  purged,    \* purged[r]: its base: everything at or below is gone from it, and was chosen
  db,        \* db[r]: images, the durable one first and the visible one last; <<>>: lost
  told,      \* told[r]: the application pointer that the leader has heard from r
  copy,      \* copy[r]: a copy of another database that r is receiving, or <<>>
  wipes, crashes

vars == <<chosen, member, life, log, purged, db, told, copy, wipes, crashes>>

Slot == 1..MaxSlot
MinOf(S) == CHOOSE m \in S : \A x \in S : m <= x
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

EmptyImage == [rows |-> {}, pointer |-> 0]
HasDatabase(r) == db[r] # <<>>
Durable(r) == db[r][1]
Visible(r) == db[r][Len(db[r])]
HasLog(r) == life[r] # 0

Voters == {r \in Replica : member[r].role = "voter"}
(* Those that can vote: the log of their newest life is there. *)
Able == {r \in Voters : life[r] = member[r].life}
IsMajority(S) == 2 * Cardinality(S) > Cardinality(Voters)

(* What r's log makes known to be chosen. A log that is lost holds nothing, and has no base (TypeOK). *)
Knows(r, s) == s \in log[r] \/ s <= purged[r]

-----------------------------------------------------------------------------
(* Rules *)

(* A copy's rows and its pointer are of one moment: the pointer is a row of the database that is copied. *)
PointerOfCopy(r) == copy[r][1].pointer

(* What a replica counts as applied for the sake of purging: what a crash cannot take back. *)
PointerForPurging(r) == Durable(r).pointer

(* Only those vote for a change of the members who know everything that was chosen before it (MayVoteForConfiguration in MultiPaxos). *)
(* They are a majority of the old voters, and any majority of the new ones meets it. So when a learner is promoted matters to how *)
(* soon it is of use, and not to what is lost. *)
MayVoteForChange(r) == \A s \in 1..chosen : Knows(r, s)

(* How far above what it knows a voter votes: two windows. Everywhere, unless a model puts a smaller number in its place. *)
Reach == MaxSlot

(* Whoever votes for a slot knows everything that lies so far below (`hasRoom` in the server), so that what it has to tell a candidate is bounded. *)
MayVote(r, s) == \A t \in Slot : t + Reach <= s => Knows(r, t)

(* What stays of a log that nears its bound, below all that is chosen: nothing, unless a model puts Reach in its place. A log that has no room for that keeps nothing. *)
KeptUnderPressure == 0

(* A replica that has given up its database, and waits for a copy, goes on above what nobody has as a log any more. Those who chose the newest slot did so *)
(* without it, and know all that it leaves: they are a majority, and need not be told by it. *)
MayLeaveBehind(r, slot) == slot + Reach <= chosen /\ chosen \notin log[r]

(* A copy replaces the database only if the replica's log goes on from there. *)
MayTakeCopy(r) == PointerOfCopy(r) >= purged[r]

(* Where the log lacks a slot that others have purged, it goes on from the own database, if the slot is durable there. *)
MayMoveBase(r, slot) == slot <= Durable(r).pointer

(* A replica that lost its log is admitted as another incarnation, and first learns. *)
RoleOfNewLife == "learner"

-----------------------------------------------------------------------------
Init ==
  /\ chosen = 0
  /\ member = [r \in Replica |-> [life |-> 1, role |-> "voter"]]
  /\ life = [r \in Replica |-> 1]
  /\ log = [r \in Replica |-> {}]
  /\ purged = [r \in Replica |-> 0]
  /\ db = [r \in Replica |-> <<EmptyImage>>]
  /\ told = [r \in Replica |-> 0]
  /\ copy = [r \in Replica |-> <<>>]
  /\ wipes = 0
  /\ crashes = 0

-----------------------------------------------------------------------------
(* The log *)

(* A bare majority of the voters has the next slot durably; the others get it by Fetch. *)
Choose(Q) ==
  /\ chosen < MaxSlot
  /\ Q \subseteq Able
  /\ IsMajority(Q)
  /\ \A r \in Q : ~IsMajority(Q \ {r})
  /\ \A r \in Q : MayVote(r, chosen + 1)
  /\ chosen' = chosen + 1
  /\ log' = [r \in Replica |-> IF r \in Q THEN log[r] \cup {chosen + 1} ELSE log[r]]
  /\ UNCHANGED <<member, life, purged, db, told, copy, wipes, crashes>>

Missing(r) == {s \in (purged[r] + 1)..chosen : s \notin log[r]}

(* The lowest slot that r's log lacks, from one that has it; learners too. *)
Fetch(r) ==
  /\ HasLog(r)
  /\ Missing(r) # {}
  /\ LET s == MinOf(Missing(r))
     IN /\ \E q \in Replica : s \in log[q]
        /\ log' = [log EXCEPT ![r] = @ \cup {s}]
  /\ UNCHANGED <<chosen, member, life, purged, db, told, copy, wipes, crashes>>

(* Whoever is asked for the lowest slot that r's log lacks has purged it: only as a log it cannot be had any more. What r's database has is chosen, so its log goes *)
(* on from there. Others may still have the slot; nobody waits for them. *)
MoveBase(r) ==
  /\ HasLog(r) /\ HasDatabase(r)
  /\ Missing(r) # {}
  /\ LET s == MinOf(Missing(r))
     IN /\ \E q \in Replica : s <= purged[q]
        /\ MayMoveBase(r, s)
  /\ purged' = [purged EXCEPT ![r] = Durable(r).pointer]
  /\ log' = [log EXCEPT ![r] = {s \in @ : s > Durable(r).pointer}]
  /\ UNCHANGED <<chosen, member, life, db, told, copy, wipes, crashes>>

DropTo(r, slot) ==
  /\ slot \in log[r]
  /\ \A s \in (purged[r] + 1)..slot : s \in log[r]
  /\ log' = [log EXCEPT ![r] = {s \in @ : s > slot}]
  /\ purged' = [purged EXCEPT ![r] = slot]
  /\ UNCHANGED <<chosen, member, life, db, told, copy, wipes, crashes>>

(* What every member has applied durably goes. *)
Purge(r) ==
  /\ HasDatabase(r)
  /\ DropTo(r, Min(PointerForPurging(r), MinOf({told[q] : q \in Replica})))

(* The log has outgrown its bound: what r itself has applied durably goes, whoever still wants it. A database that differs from the others' is none *)
(* here, as if it were wiped: on its word nothing goes, and the log grows until a copy has taken its place. *)
RelievePressure(r) ==
  /\ HasDatabase(r)
  /\ DropTo(r, Min(PointerForPurging(r), chosen - KeptUnderPressure))

(* The leader hears how far r's database is. It may be a little late, and r may have lost that database by then, or its log, which matters to nothing: *)
(* its next one begins where that database is. *)
Tell(r) ==
  /\ HasDatabase(r)
  /\ told[r] # PointerForPurging(r)
  /\ told' = [told EXCEPT ![r] = PointerForPurging(r)]
  /\ UNCHANGED <<chosen, member, life, log, purged, db, copy, wipes, crashes>>

-----------------------------------------------------------------------------
(* The database *)

Apply(r) ==
  /\ HasLog(r) /\ HasDatabase(r)
  /\ Len(db[r]) < MaxTail
  /\ LET s == Visible(r).pointer + 1
     IN /\ s \in log[r]
        /\ db' = [db EXCEPT ![r] = Append(@, [rows |-> Visible(r).rows \cup {s}, pointer |-> s])]
  /\ UNCHANGED <<chosen, member, life, log, purged, told, copy, wipes, crashes>>

Flush(r) ==
  /\ Len(db[r]) > 1
  /\ db' = [db EXCEPT ![r] = <<Visible(r)>>]
  /\ UNCHANGED <<chosen, member, life, log, purged, told, copy, wipes, crashes>>

(* PostgreSQL goes down and comes up with any of its images. A copy that is being received goes on. *)
CrashDatabase(r, k) ==
  /\ crashes < MaxCrashes
  /\ k \in 1..(Len(db[r]) - 1)
  /\ crashes' = crashes + 1
  /\ db' = [db EXCEPT ![r] = SubSeq(@, 1, k)]
  /\ UNCHANGED <<chosen, member, life, log, purged, told, copy, wipes>>

-----------------------------------------------------------------------------
(* Lost disks: as long as no more than a minority is lost at once *)

IsWhole(r) == r \in Able /\ HasDatabase(r)
MayLose(r) == wipes < MaxWipes /\ IsWhole(r) /\ 2 * Cardinality({q \in Replica : ~IsWhole(q)} \cup {r}) < Cardinality(Replica)

Wipe(r, losesLog, losesDatabase) ==
  /\ MayLose(r)
  /\ losesLog \/ losesDatabase
  /\ wipes' = wipes + 1
  /\ life' = IF losesLog THEN [life EXCEPT ![r] = 0] ELSE life
  /\ log' = IF losesLog THEN [log EXCEPT ![r] = {}] ELSE log
  /\ purged' = IF losesLog THEN [purged EXCEPT ![r] = 0] ELSE purged
  /\ db' = IF losesDatabase THEN [db EXCEPT ![r] = <<>>] ELSE db
  /\ copy' = [copy EXCEPT ![r] = <<>>]
  /\ UNCHANGED <<chosen, member, told, crashes>>

(* It finds no log and asks to join: the lost incarnation goes, the next one comes. Its new log begins where its database is, if it has one. *)
Join(r) ==
  /\ ~HasLog(r)
  /\ IsMajority({q \in Able : MayVoteForChange(q)})
  /\ LET next == member[r].life + 1
     IN /\ member' = [member EXCEPT ![r] = [life |-> next, role |-> RoleOfNewLife]]
        /\ life' = [life EXCEPT ![r] = next]
  /\ purged' = [purged EXCEPT ![r] = IF HasDatabase(r) THEN Durable(r).pointer ELSE 0]
  /\ told' = [told EXCEPT ![r] = 0]
  /\ UNCHANGED <<chosen, log, db, copy, wipes, crashes>>

(* A learner's log is its newest life's (TypeOK): one that lost it would be admitted again first, as another. *)
Promote(r) ==
  /\ member[r].role = "learner"
  /\ IsMajority({q \in Able : MayVoteForChange(q)})
  /\ member' = [member EXCEPT ![r].role = "voter"]
  /\ UNCHANGED <<chosen, life, log, purged, db, told, copy, wipes, crashes>>

(* What r's database needs next is in no log; or it has none. *)
NeedsCopy(r) ==
  HasDatabase(r) =>
    /\ Visible(r).pointer < chosen
    /\ \A q \in Replica : Visible(r).pointer + 1 \notin log[q]

StartCopy(r, q) ==
  /\ HasLog(r)
  /\ NeedsCopy(r)
  /\ copy[r] = <<>>
  /\ q # r
  /\ HasDatabase(q)
  /\ copy' = [copy EXCEPT ![r] = <<[rows |-> Visible(q).rows, pointer |-> Visible(q).pointer, source |-> q]>>]
  /\ UNCHANGED <<chosen, member, life, log, purged, db, told, wipes, crashes>>

(* What r's log lacks is purged at whoever has an own database of it, and r's own database is given up for a copy: the log goes on from what is left there, and r votes *)
(* before the copy has come. Copies wait until all that is in them is chosen. *)
LeaveBehind(r) ==
  /\ HasLog(r)
  /\ NeedsCopy(r)
  /\ Missing(r) # {}
  /\ \E q \in Replica :
       /\ MinOf(Missing(r)) <= purged[q]
       /\ MayLeaveBehind(r, purged[q])
       /\ purged' = [purged EXCEPT ![r] = purged[q]]
       /\ log' = [log EXCEPT ![r] = {s \in @ : s > purged[q]}]
  /\ db' = [db EXCEPT ![r] = <<>>]
  /\ UNCHANGED <<chosen, member, life, told, copy, wipes, crashes>>

(* It is started when it is there whole, whatever has become of its source since. Where the log does not reach its pointer, the log goes on from there. *)
TakeCopy(r) ==
  /\ copy[r] # <<>>
  /\ LET pointer == PointerOfCopy(r)
     IN /\ MayTakeCopy(r)
        /\ db' = [db EXCEPT ![r] = <<[rows |-> copy[r][1].rows, pointer |-> pointer]>>]
        /\ IF \E s \in (purged[r] + 1)..pointer : s \notin log[r]
           THEN /\ purged' = [purged EXCEPT ![r] = pointer]
                /\ log' = [log EXCEPT ![r] = {s \in @ : s > pointer}]
           ELSE UNCHANGED <<purged, log>>
  /\ copy' = [copy EXCEPT ![r] = <<>>]
  /\ UNCHANGED <<chosen, member, life, told, wipes, crashes>>

(* The source is gone before all was sent, or what it sent is too old: once more, from another. *)
GiveUpCopy(r) ==
  /\ copy[r] # <<>>
  /\ HasDatabase(copy[r][1].source) => ~MayTakeCopy(r)
  /\ copy' = [copy EXCEPT ![r] = <<>>]
  /\ UNCHANGED <<chosen, member, life, log, purged, db, told, wipes, crashes>>

(* Nothing is purged anywhere, so an empty database will do. *)
BeginEmpty(r) ==
  /\ HasLog(r)
  /\ ~HasDatabase(r)
  /\ \A q \in Replica : purged[q] = 0
  /\ db' = [db EXCEPT ![r] = <<EmptyImage>>]
  /\ copy' = [copy EXCEPT ![r] = <<>>]
  /\ UNCHANGED <<chosen, member, life, log, purged, told, wipes, crashes>>

-----------------------------------------------------------------------------
Next ==
  \/ \E Q \in SUBSET Able : Choose(Q)
  \/ \E r \in Replica :
       \/ Fetch(r)
       \/ MoveBase(r)
       \/ Purge(r)
       \/ RelievePressure(r)
       \/ Tell(r)
       \/ Apply(r)
       \/ Flush(r)
       \/ \E k \in 1..MaxTail : CrashDatabase(r, k)
       \/ \E losesLog, losesDatabase \in BOOLEAN : Wipe(r, losesLog, losesDatabase)
       \/ Join(r)
       \/ Promote(r)
       \/ \E q \in Replica : StartCopy(r, q)
       \/ LeaveBehind(r)
       \/ TakeCopy(r)
       \/ GiveUpCopy(r)
       \/ BeginEmpty(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What must hold *)

TypeOK ==
  /\ chosen \in 0..MaxSlot
  /\ member \in [Replica -> [life : 1..(MaxWipes + 1), role : {"voter", "learner"}]]
  /\ life \in [Replica -> 0..(MaxWipes + 1)]
  /\ log \in [Replica -> SUBSET (1..chosen)]
  /\ purged \in [Replica -> 0..chosen]
  /\ told \in [Replica -> 0..chosen]
  /\ \A r \in Replica : Len(db[r]) <= MaxTail /\ Len(copy[r]) <= 1
  /\ \A r \in Replica : \A s \in log[r] : s > purged[r]
  /\ \A r \in Replica : ~HasLog(r) => log[r] = {} /\ purged[r] = 0 /\ copy[r] = <<>>
  /\ \A r \in Replica : member[r].role = "learner" => life[r] = member[r].life
  /\ \A r \in Replica : copy[r] = <<>> \/ copy[r][1] \in [rows : SUBSET (1..chosen), pointer : 0..chosen, source : Replica \ {r}]

(* Every state that a database has, or can fall back to, is the chosen prefix at its pointer. *)
DatabaseIsPrefix ==
  \A r \in Replica : \A i \in 1..Len(db[r]) : db[r][i].rows = 1..db[r][i].pointer /\ db[r][i].pointer <= chosen

(* Nothing that was chosen is ever lost, not even if every PostgreSQL crashes now: it is in a log or durable in a database. *)
NothingLost ==
  \A s \in 1..chosen : \E r \in Replica :
    \/ HasLog(r) /\ s \in log[r]
    \/ HasDatabase(r) /\ Durable(r).pointer >= s

(* Whoever is elected learns of everything that was chosen: no majority is without it. *)
EveryMajorityKnows ==
  \A s \in 1..chosen : ~IsMajority({r \in Able : ~Knows(r, s)})

(* An entry comes into a log when it is chosen, or from another log. *)
EntriesComeFromLogs ==
  [][\A r \in Replica : log'[r] \subseteq log[r] \union (IF chosen' # chosen THEN {chosen'} ELSE UNION {log[q] : q \in Replica})]_vars

(* The base of a log only rises, until the log is lost. *)
BaseOnlyRises == [][\A r \in Replica : purged'[r] >= purged[r] \/ life'[r] # life[r]]_vars

(* What a database has durably it has until it is lost, or a copy takes its place. *)
DurableOnlyRises ==
  [][\A r \in Replica : HasDatabase(r) /\ db'[r] # <<>> => db'[r][1].pointer >= Durable(r).pointer \/ copy'[r] # copy[r]]_vars

(* A log goes on above what it lacks only where somebody's log has let go of that, or where a copy has come that has it. *)
LeavesOnlyWhatIsGone ==
  [][\A r \in Replica :
       /\ HasLog(r) /\ Missing(r) # {}
       /\ MinOf(Missing(r)) <= purged'[r]
       => copy'[r] # copy[r] \/ \E q \in Replica : MinOf(Missing(r)) <= purged[q]]_vars

(* Whoever has a slot in its log knows what lies two windows below: so it may leave nothing of that behind. *)
KnowsWhatLiesFarBelow ==
  \A r \in Replica : \A s \in log[r], t \in Slot : t + Reach <= s => Knows(r, t)

(* A replica's own log goes on where its database would stand after a crash. *)
LogMeetsDatabase ==
  \A r \in Replica : HasLog(r) /\ HasDatabase(r) => purged[r] <= Durable(r).pointer

(* What a log has left behind for a copy that has not come is known to a majority without it (as long as no disk is lost). *)
OthersKnowWhatIsLeft ==
  \A r \in Replica :
    ~HasDatabase(r) /\ purged[r] > 0 => IsMajority({q \in Voters \ {r} : \A s \in 1..purged[r] : Knows(q, s)})

(* Whoever is copied to lacks something until the copy is there, for what no log has comes into none: a whole database gives way to no copy. *)
CopiesAreNeeded == \A r \in Replica : copy[r] # <<>> /\ HasDatabase(r) => Visible(r).pointer < chosen

(* No lost incarnation votes. *)
OnlyNewestLifeVotes == \A r \in Replica : life[r] \in {0, member[r].life}

(* When nothing is lost any more, everybody gets everything back. *)
Fairness ==
  \A r \in Replica :
    /\ WF_vars(Fetch(r)) /\ WF_vars(MoveBase(r)) /\ WF_vars(Apply(r)) /\ WF_vars(Flush(r))
    /\ WF_vars(Join(r)) /\ WF_vars(Promote(r))
    /\ WF_vars(TakeCopy(r)) /\ WF_vars(GiveUpCopy(r)) /\ WF_vars(BeginEmpty(r)) /\ WF_vars(LeaveBehind(r))
    /\ \A q \in Replica \ {r} : SF_vars(StartCopy(r, q))
FairSpec == Spec /\ Fairness
EverybodyComesBack == <>[](\A r \in Replica : IsWhole(r) /\ Durable(r).pointer = chosen)
=============================================================================
