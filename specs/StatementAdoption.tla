-------------------------- MODULE StatementAdoption --------------------------
(*****************************************************************************)
(* What goes on where every replica has answered a statement otherwise.      *)
(*                                                                           *)
(* Each replica executes StatementApply's log in a database of its own. A    *)
(* statement whose effect no rule made the same everywhere leaves databases  *)
(* of which no two are equal, so that no majority says which is right. Then  *)
(* any of them is right, if only all have the same from there on: a replica  *)
(* claims its database (a durable name, kept in that database's directory    *)
(* and nowhere else) and has the name put into the log ("adopt"). Whoever    *)
(* comes to that entry with a database that does not hold the name stands    *)
(* still ahead of it, until there is a copy of a database that is behind it. *)
(*                                                                           *)
(* The database that was claimed may be lost before anybody has a copy. So   *)
(* the last entry of the kind is what counts: whoever knows of a later one   *)
(* passes over an earlier one, and any replica may claim its own again.      *)
(* A replica that cannot execute a statement as others did, for it lost the  *)
(* session, stands still ahead of that statement in the same way.            *)
(*                                                                           *)
(* What is executed behind an adoption may depend on what was drawn ahead of *)
(* it. So nothing is acknowledged there before the replica keeps a copy of   *)
(* behind the adoption ("told"), and nobody adopts another database who      *)
(* could hear of one that is beyond.                                         *)
(*                                                                           *)
(* Shown: all that have come beyond the last adoption have executed the same *)
(* up to there, whatever each statement draws each time that it is executed, *)
(* and whatever databases were lost or went back to a copy; and it is what   *)
(* acknowledged answers rest on, unless the disk was lost that held it.      *)
(*****************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Replica, MaxStatements, MaxClaims, MaxCrashes

VARIABLES
  log,       \* entries: a statement, or the name of an adopted claim
  database,  \* of each replica: what its statements drew, how far it is, its claim, and the first adoption that it passed over
  kept,      \* the copy that each replica keeps of its database, or an empty one
  drawn,     \* how often anything was drawn: no two draws are the same
  claims,    \* how many names were given
  told,      \* what was drawn ahead of the last adoption behind which something was acknowledged
  crashes

vars == <<log, database, kept, drawn, claims, told, crashes>>

Statement == 0
NoClaim == 0
Empty == [values |-> <<>>, at |-> 0, claim |-> NoClaim, passed |-> 0]

IsAdopt(i) == log[i] # Statement
Ahead(r) == database[r].at + 1
IsLate(r) == Ahead(r) \in DOMAIN log
LaterAdopt(i) == \E j \in DOMAIN log : j > i /\ IsAdopt(j)
Last == IF \E i \in DOMAIN log : IsAdopt(i)
        THEN CHOOSE i \in DOMAIN log : IsAdopt(i) /\ ~LaterAdopt(i)
        ELSE 0
StatementsUpTo(i) == Cardinality({j \in 1..i : ~IsAdopt(j)})

-----------------------------------------------------------------------------
Init ==
  /\ log = <<>>
  /\ database = [r \in Replica |-> Empty]
  /\ kept = [r \in Replica |-> Empty]
  /\ drawn = 0 /\ claims = 0 /\ told = <<>> /\ crashes = 0

Submit ==
  /\ StatementsUpTo(Len(log)) < MaxStatements
  /\ log' = Append(log, Statement)
  /\ UNCHANGED <<database, kept, drawn, claims, told, crashes>>

Execute(r) ==
  /\ IsLate(r) /\ ~IsAdopt(Ahead(r))
  /\ drawn' = drawn + 1
  /\ database' = [database EXCEPT ![r].values = Append(@, drawn + 1), ![r].at = @ + 1]
  /\ UNCHANGED <<log, kept, claims, told, crashes>>

(* Whoever finds that all differ, or stands ahead of an adoption and hears of nobody who is behind it. Whether that is so does not matter here. *)
Claim(r) ==
  /\ claims < MaxClaims
  /\ claims' = claims + 1
  /\ database' = [database EXCEPT ![r].claim = claims + 1]
  /\ UNCHANGED <<log, kept, drawn, told, crashes>>

(* Who went on from adoption i has passed over none up to there. *)
WentOn(d, i) == d.at >= i /\ (d.passed = 0 \/ d.passed > i)
(* Somebody that did answers, also by the copy that it keeps while its database is not up. *)
IsHeardBeyond(r, i) == WentOn(database[r], i) \/ WentOn(kept[r], i)
(* The first adoption that this replica did not go on from: others may have acknowledged something behind it. *)
AdoptsAhead(r) == {i \in DOMAIN log : IsAdopt(i) /\ i > database[r].at}
Owes(r) == IF database[r].passed > 0 THEN database[r].passed
           ELSE IF AdoptsAhead(r) = {} THEN 0
           ELSE CHOOSE i \in AdoptsAhead(r) : \A j \in AdoptsAhead(r) : i <= j
MayAdopt(r) == Owes(r) = 0 \/ \A q \in Replica : ~IsHeardBeyond(q, Owes(r))

SayAdopt(r) ==
  /\ database[r].claim # NoClaim
  /\ \A i \in DOMAIN log : log[i] # database[r].claim
  /\ MayAdopt(r)
  /\ log' = Append(log, database[r].claim)
  /\ UNCHANGED <<database, kept, drawn, claims, told, crashes>>

MayPassOver(i) == LaterAdopt(i)

Adopt(r) ==
  /\ IsLate(r) /\ IsAdopt(Ahead(r))
  /\ database[r].claim = log[Ahead(r)] \/ MayPassOver(Ahead(r))
  /\ database' = [database EXCEPT ![r].at = @ + 1,
       ![r].passed = IF database[r].claim = log[Ahead(r)] THEN 0 ELSE IF @ = 0 THEN Ahead(r) ELSE @]
  /\ UNCHANGED <<log, kept, drawn, claims, told, crashes>>

(* Something is acknowledged behind the last adoption. *)
MayTell(r) == kept[r].at >= Last

Tell(r) ==
  /\ Last > 0 /\ database[r].at >= Last
  /\ MayTell(r)
  /\ told' = SubSeq(database[r].values, 1, StatementsUpTo(Last))
  /\ UNCHANGED <<log, database, kept, drawn, claims, crashes>>

(* A claim is of the very directory that it lies in: no copy has it, and what takes the place of a directory has its own or none. *)
ClaimInCopy(r) == NoClaim
ClaimAfterCrash(r, back) == back.claim

Keep(r) ==
  /\ kept' = [kept EXCEPT ![r] = [database[r] EXCEPT !.claim = ClaimInCopy(r)]]
  /\ UNCHANGED <<log, database, drawn, claims, told, crashes>>

(* Another replica's copy, of behind the adoption that this one stands ahead of. *)
Take(r, q) ==
  /\ IsLate(r) /\ IsAdopt(Ahead(r)) /\ database[r].claim # log[Ahead(r)]
  /\ kept[q].at >= Ahead(r)
  /\ database' = [database EXCEPT ![r] = kept[q]]
  /\ kept' = [kept EXCEPT ![r] = kept[q]]
  /\ UNCHANGED <<log, drawn, claims, told, crashes>>

(* It goes back to the copy that it keeps, or, where its disk is lost, to nothing, and executes again what follows in the log. *)
Crash(r) ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ \E isLost \in BOOLEAN :
       LET back == IF isLost THEN Empty ELSE kept[r] IN
       /\ database' = [database EXCEPT ![r] = [back EXCEPT !.claim = ClaimAfterCrash(r, back)]]
       /\ kept' = [kept EXCEPT ![r] = back]
       /\ told' = IF isLost THEN <<>> ELSE told
  /\ UNCHANGED <<log, drawn, claims>>

(* PostgreSQL ends, and what it had executed last was not durable; what a copy was made of is. The directory is the same. *)
LoseTail(r) ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ \E at \in kept[r].at..database[r].at :
       database' = [database EXCEPT ![r].at = at, ![r].values = SubSeq(@, 1, StatementsUpTo(at))]
  /\ UNCHANGED <<log, kept, drawn, claims, told>>

Next ==
  \/ Submit
  \/ \E r \in Replica : Execute(r) \/ Claim(r) \/ SayAdopt(r) \/ Adopt(r) \/ Tell(r) \/ Keep(r) \/ Crash(r) \/ LoseTail(r)
  \/ \E r, q \in Replica : Take(r, q)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
IsBeyond(r) == Last > 0 /\ database[r].at >= Last
UpToLast(r) == SubSeq(database[r].values, 1, StatementsUpTo(Last))

Agreement == \A r, q \in Replica : IsBeyond(r) /\ IsBeyond(q) => UpToLast(r) = UpToLast(q)

(* Whoever serves has what acknowledged answers rest on. *)
ToldStays == \A r \in Replica : IsBeyond(r) => SubSeq(database[r].values, 1, Len(told)) = told
=============================================================================
