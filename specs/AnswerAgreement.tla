--------------------------- MODULE AnswerAgreement ---------------------------
(*****************************************************************************)
(* What a majority has answered alike stays, whoever executes it anew.       *)
(*                                                                           *)
(* Each replica executes a statement in a database of its own, and tells the *)
(* others what it answered. Where a majority answered alike, whoever         *)
(* answered otherwise is wrong, and takes a copy. A database that ends       *)
(* abruptly loses what it executed last, and executes it anew; a statement   *)
(* that slipped through the rules may then answer otherwise, at one of the   *)
(* very majority. Words are told once, and memory ends with the process. So  *)
(* a replica that answered as a majority did writes that answer down (it     *)
(* "holds" it). If it executes the statement anew and answers otherwise, it  *)
(* "stands": it serves nobody, and nobody takes a copy of it. It also stands *)
(* if a holder tells it so, for it may have been killed before it learned of *)
(* the majority. Whoever stands takes a copy of one that does not, or, if    *)
(* there is none, claims its own database (StatementAdoption).               *)
(*                                                                           *)
(* One statement is enough: each is compared by itself, and behind one at    *)
(* which all differ nobody holds anything. Here everybody can be heard; who  *)
(* is away for longer than the code waits is as one whose disk is lost.      *)
(*                                                                           *)
(* A client is told an answer when a majority has answered so, or when the   *)
(* group goes on from that database.                                         *)
(*                                                                           *)
(* Shown: whoever has lost what it held does not serve; no adoption goes     *)
(* back behind an answer that somebody holds; what a majority has            *)
(* written down stays with whoever has it, as long as one database has       *)
(* ended; and as long as none has, clients of all replicas are told one and  *)
(* the same answer. Where two have, two majorities may have answered, one    *)
(* after the other, and the one of which more is left stays.                 *)
(*****************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS Replica, Value, None, MaxCrashes

VARIABLES
  value,    \* of each replica: what its database answered; None: it has not executed the statement
  word,     \* of each process: what it heard last of each other replica
  held,     \* of each process: what each other replica said that it holds
  holds,    \* durable: what this replica answered as a majority did
  stands,   \* durable: this replica's database has lost what it held
  wrong,    \* durable: a majority answered otherwise
  adopted,  \* the replica whose database the group goes on from; None: no adoption
  told,     \* what clients were told; nobody looks at it
  wrote,    \* what each replica has ever written down of the database that it has; nobody looks at it
  crashes

vars == <<value, word, held, holds, stands, wrong, adopted, told, wrote, crashes>>

IsMajority(s) == 2 * Cardinality(s) > Cardinality(Replica)

(* What q knows of p. *)
Word(q, p) == IF p = q THEN value[q] ELSE word[q][p]

IsWhole(r) == value[r] # None /\ ~stands[r] /\ ~wrong[r]
IsHolder(r) == IsWhole(r) /\ holds[r] = value[r]

-----------------------------------------------------------------------------
Init ==
  /\ value = [r \in Replica |-> None]
  /\ word = [q \in Replica |-> [p \in Replica |-> None]]
  /\ held = [q \in Replica |-> [p \in Replica |-> None]]
  /\ holds = [r \in Replica |-> None]
  /\ stands = [r \in Replica |-> FALSE]
  /\ wrong = [r \in Replica |-> FALSE]
  /\ adopted = None
  /\ told = {}
  /\ wrote = [r \in Replica |-> None]
  /\ crashes = 0

(* Another answer than the one that it has written down: it has lost that. *)
StandsAfter(r, v) == holds[r] # None /\ holds[r] # v

Execute(r) ==
  /\ value[r] = None /\ adopted = None
  /\ \E v \in Value :
       /\ value' = [value EXCEPT ![r] = v]
       /\ stands' = [stands EXCEPT ![r] = @ \/ StandsAfter(r, v)]
  /\ UNCHANGED <<word, held, holds, wrong, adopted, told, wrote, crashes>>

(* Of q, which knows the words `known`: what it answered itself is what a majority answered, or is not. One that holds its answer is not judged by words: they may be of databases that have lost theirs since. *)
IsJudged(q) == IsWhole(q) /\ ~IsHolder(q)
Judge(q, known) ==
  LET agreed == {v \in Value : IsMajority({p \in Replica : known[p] = v})} IN
    IF ~IsJudged(q) \/ agreed = {} THEN UNCHANGED <<holds, wrong>>
    ELSE IF value[q] \in agreed THEN holds' = [holds EXCEPT ![q] = value[q]] /\ UNCHANGED wrong
    ELSE wrong' = [wrong EXCEPT ![q] = TRUE] /\ UNCHANGED holds

(* q hears what r answered. *)
Tell(r, q) ==
  /\ r # q /\ IsWhole(r) /\ adopted = None
  /\ word' = [word EXCEPT ![q][r] = value[r]]
  /\ Judge(q, [p \in Replica |-> IF p = r THEN value[r] ELSE Word(q, p)])
  /\ wrote' = [wrote EXCEPT ![q] = IF holds'[q] = None THEN @ ELSE holds'[q]]
  /\ UNCHANGED <<value, stands, held, adopted, told, crashes>>

(* The client of r hears the answer: a majority has answered so, this replica among them, or the group goes on from such a database. *)
IsAgreed(r) == IsMajority({p \in Replica : Word(r, p) = value[r]})

Answer(r) ==
  /\ IsWhole(r) /\ value[r] \notin told
  /\ IF adopted = None THEN IsAgreed(r) ELSE value[r] = value[adopted]
  /\ crashes = 0 \* Behind a crash nothing is claimed of it.
  /\ told' = told \cup {value[r]}
  /\ UNCHANGED <<value, word, held, holds, stands, wrong, adopted, wrote, crashes>>

(* A holder has heard another answer, and says what it holds. Whoever holds another one believes no single holder, but a majority of them. *)
MayCorrect(q, r) == IsHolder(q) /\ word[q][r] # None /\ word[q][r] # holds[q]

Outvoted(r, by) == \E v \in Value \ {value[r]} : IsMajority({p \in Replica : by[p] = v})

Correct(q, r) ==
  /\ r # q /\ MayCorrect(q, r) /\ adopted = None
  /\ IsWhole(r) /\ value[r] # holds[q]
  /\ held' = [held EXCEPT ![r][q] = holds[q]]
  /\ IF IsHolder(r)
     THEN wrong' = [wrong EXCEPT ![r] = Outvoted(r, held'[r])] /\ UNCHANGED stands
     ELSE stands' = [stands EXCEPT ![r] = TRUE] /\ UNCHANGED wrong
  /\ UNCHANGED <<value, word, holds, adopted, told, wrote, crashes>>

(* Of one that was not corrected. *)
MayCopy(q) == IsWhole(q)

Copy(r, q) ==
  /\ r # q
  /\ IF adopted = None THEN stands[r] \/ wrong[r] ELSE r # adopted /\ value[r] # value[adopted]
  /\ MayCopy(q) /\ (adopted # None => q = adopted)
  /\ value' = [value EXCEPT ![r] = value[q]]
  /\ stands' = [stands EXCEPT ![r] = FALSE]
  /\ wrong' = [wrong EXCEPT ![r] = FALSE]
  /\ holds' = [holds EXCEPT ![r] = None]
  /\ wrote' = [wrote EXCEPT ![r] = None]
  /\ UNCHANGED <<word, held, adopted, told, crashes>>

(* All have told, and no two the same. *)
AllDiffer(r) == \A p, q \in Replica : Word(r, p) # None /\ (p # q => Word(r, p) # Word(r, q))

(* It tells its answer again, and waits whether a holder corrects it; one that stands asks who does not. *)
IsUnopposed(r) == \A q \in Replica \ {r} : IF stands[r] THEN ~IsWhole(q) ELSE ~IsHolder(q)

Adopt(r) ==
  /\ adopted = None /\ value[r] # None /\ ~wrong[r]
  /\ stands[r] \/ AllDiffer(r)
  /\ IsUnopposed(r)
  /\ adopted' = r
  /\ stands' = [stands EXCEPT ![r] = FALSE]
  /\ holds' = [holds EXCEPT ![r] = None]
  /\ wrote' = [wrote EXCEPT ![r] = None]
  /\ UNCHANGED <<value, word, held, wrong, told, crashes>>

(* The process ends, and its database may lose what it executed last; files do not. *)
HoldsAfterCrash(r) == holds[r]
StandsAfterCrash(r) == stands[r]

Crash(r) ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ told' = {}
  /\ word' = [word EXCEPT ![r] = [p \in Replica |-> None]]
  /\ held' = [held EXCEPT ![r] = [p \in Replica |-> None]]
  /\ holds' = [holds EXCEPT ![r] = HoldsAfterCrash(r)]
  /\ stands' = [stands EXCEPT ![r] = StandsAfterCrash(r)]
  /\ \E isLost \in BOOLEAN :
       value' = IF isLost /\ adopted = None THEN [value EXCEPT ![r] = None] ELSE value
  /\ UNCHANGED <<wrong, adopted, wrote>>

Next ==
  \/ \E r \in Replica : Execute(r) \/ Answer(r) \/ Adopt(r) \/ Crash(r)
  \/ \E r, q \in Replica : Tell(r, q) \/ Correct(q, r) \/ Copy(r, q)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
IsSettled(v) == IsMajority({r \in Replica : wrote[r] = v})

(* Whoever holds what a majority has written down keeps it, unless its own database ends. *)
SettledStays ==
  [][ \A q \in Replica : IsHolder(q) /\ IsSettled(value[q]) /\ crashes' = crashes
        => value'[q] = value[q] /\ ~wrong'[q] /\ ~stands'[q] ]_vars

(* No adoption goes back behind what anybody holds. *)
AdoptsNoOther ==
  [][ adopted = None /\ adopted' # None => \A q \in Replica : IsHolder(q) => value[q] = value[adopted'] ]_vars

(* Whoever has lost what it held does not serve. *)
LostIsKnown == \A r \in Replica : IsWhole(r) /\ wrote[r] # None => value[r] = wrote[r]

(* Nobody was told what another client was not, as long as no database has ended. *)
OneWord == Cardinality(told) <= 1
=============================================================================
