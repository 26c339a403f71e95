---------------------------- MODULE RequestOutcomes ----------------------------
(*****************************************************************************)
(* What a gateway tells a client whose leader died: ADR 26 and ADR 38.       *)
(*                                                                           *)
(* One request of a client, which is a transaction or the COMMIT of one. The *)
(* gateway outlives leaders. It asks for the transaction's id ahead of       *)
(* COMMIT, but PostgreSQL may give the id before COMMIT, inside it or never. *)
(* The effects are local rows, something elsewhere (another database), both, *)
(* or none. An effect elsewhere comes before the local commit record.        *)
(*                                                                           *)
(* The leader or the session's own backend may die at any moment. A leader   *)
(* that the gateway has lost may go on until the next one is elected. Its    *)
(* effects elsewhere may come even later. The next leadership has every      *)
(* commit record that was chosen, and perhaps one that was only written.     *)
(*                                                                           *)
(* The gateway tells "committed", "notCommitted" (40001) or "unknown"        *)
(* (08007), or executes the request once more. The client may repeat the     *)
(* request itself, under its name if it has one (barista.request_id).        *)
(*                                                                           *)
(* Assumed: a session that has effects elsewhere is known to be able to      *)
(* (`acts`). Left out: effects elsewhere that come before COMMIT is sent,    *)
(* several transactions in one request, and parts of an answer.              *)
(*****************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS MaxLosses, MaxRepeats

VARIABLES
  request,     \* what the client asks for; it never changes
  attempt,     \* how often the client has repeated the request itself
  executions,  \* how often this attempt was sent to a leader
  at,          \* "idle", "runs", "commits", "recorded" (written), "done" (may be answered), "over"
  hasId,       \* this execution's transaction has an id
  known,       \* what the gateway was told of the id: "unasked", "none" or "id"
  isSent,      \* what commits was sent
  isReading,   \* this execution runs between BEGIN READ ONLY and COMMIT
  hasActed,    \* this execution has had its effect elsewhere
  session,     \* "serves", "lost" or "closed"
  chosen,      \* attempts whose commit record is chosen
  endedAt,     \* executions when the session's own backend ended; 0: it has not
  strays,      \* attempts whose effect elsewhere may still come, from an execution that is over
  made,        \* how often each effect of each attempt took place
  told,        \* what the client heard of each attempt
  losses

vars == <<request, attempt, executions, at, hasId, known, isSent, isReading, hasActed, session, chosen, endedAt,
          strays, made, told, losses>>

Place == {"here", "elsewhere"}
Attempt == 0..MaxRepeats

(* Rows need an id. A name is a row. A request that only reads has no name. *)
Request ==
  {q \in [effects : SUBSET Place, id : {"before", "inside", "never"}, acts : BOOLEAN, isNamed : BOOLEAN, reads : BOOLEAN] :
     /\ "here" \in q.effects => q.id # "never"
     /\ "elsewhere" \in q.effects => q.acts
     /\ q.isNamed => q.id = "before" /\ ~q.reads}

Has(place) == place \in request.effects

-----------------------------------------------------------------------------
(* The rules. *)

(* Of a COMMIT that has no id: PostgreSQL may have given it one since. *)
MissingId == "unknown"

(* "Not committed here" counts only where the session cannot act elsewhere. *)
TrustsAbsence == ~request.acts

IsSpent == executions >= 2 \/ endedAt # 0

(* The record that is waited for is chosen. Nothing waits for one without rows. *)
MayFinish == attempt \in chosen \/ (~Has("here") /\ ~request.isNamed)

IsRecordedName == request.isNamed /\ chosen # {}

IsSettled == session = "lost" /\ (at = "over" \/ (endedAt # 0 /\ at = "done"))

Outcome ==
  IF isReading THEN "unknown"
  ELSE IF ~isSent THEN "notCommitted"
  ELSE IF request.isNamed \/ known = "id" THEN
    IF attempt \in chosen THEN "committed" ELSE IF TrustsAbsence THEN "notCommitted" ELSE "unknown"
  ELSE IF known = "none" THEN MissingId
  ELSE "unknown"

-----------------------------------------------------------------------------
Init ==
  /\ request \in Request
  /\ attempt = 0
  /\ executions = 0
  /\ at = "idle"
  /\ hasId = FALSE
  /\ known = "unasked"
  /\ isSent = FALSE
  /\ isReading = FALSE
  /\ hasActed = FALSE
  /\ session = "serves"
  /\ chosen = {}
  /\ endedAt = 0
  /\ strays = {}
  /\ made = [a \in Attempt |-> [place \in Place |-> 0]]
  /\ told = [a \in Attempt |-> "nothing"]
  /\ losses = 0

Start(reading) ==
  /\ executions' = executions + 1
  /\ at' = "runs"
  /\ hasId' = (request.id = "before" /\ ~(reading /\ Has("here")))
  /\ known' = "unasked"
  /\ isSent' = FALSE
  /\ isReading' = reading
  /\ hasActed' = FALSE
  /\ session' = "serves"
  /\ UNCHANGED <<request, attempt, chosen, endedAt, strays, made, told, losses>>

Close(word) ==
  /\ told' = [told EXCEPT ![attempt] = word]
  /\ session' = "closed"

(* The client's request goes to the leader. *)
Execute == at = "idle" /\ session = "serves" /\ ~IsRecordedName /\ Start(FALSE)

(* The name is taken: nothing is executed. *)
FindName ==
  /\ at = "idle" /\ session = "serves" /\ IsRecordedName
  /\ Close("committed")
  /\ at' = "over"
  /\ UNCHANGED <<request, attempt, executions, hasId, known, isSent, isReading, hasActed, chosen, endedAt, strays, made,
                 losses>>

(* PostgreSQL answers the question for the id. Where the session may act elsewhere, the question forces one. *)
TellId ==
  /\ at = "runs" /\ session = "serves" /\ known = "unasked" /\ ~isReading
  /\ hasId' = (hasId \/ request.acts)
  /\ known' = IF hasId' THEN "id" ELSE "none"
  /\ UNCHANGED <<request, attempt, executions, at, isSent, isReading, hasActed, session, chosen, endedAt, strays, made,
                 told, losses>>

(* It need not wait for the id: the client may have sent more. *)
SendCommit ==
  /\ at = "runs" /\ session = "serves" /\ ~(isReading /\ Has("here"))
  /\ isSent' = TRUE
  /\ at' = "commits"
  /\ UNCHANGED <<request, attempt, executions, hasId, known, isReading, hasActed, session, chosen, endedAt, strays, made,
                 told, losses>>

AssignInCommit ==
  /\ at = "commits" /\ ~hasId /\ request.id = "inside"
  /\ hasId' = TRUE
  /\ UNCHANGED <<request, attempt, executions, at, known, isSent, isReading, hasActed, session, chosen, endedAt, strays,
                 made, told, losses>>

ActElsewhere ==
  /\ at = "commits" /\ Has("elsewhere") /\ ~hasActed
  /\ hasActed' = TRUE
  /\ made' = [made EXCEPT ![attempt]["elsewhere"] = @ + 1]
  /\ UNCHANGED <<request, attempt, executions, at, hasId, known, isSent, isReading, session, chosen, endedAt, strays, told,
                 losses>>

(* Long after its leader was replaced, or its backend ended. *)
ActLate ==
  /\ \E a \in strays :
       /\ strays' = strays \ {a}
       /\ made' = [made EXCEPT ![a]["elsewhere"] = @ + 1]
  /\ UNCHANGED <<request, attempt, executions, at, hasId, known, isSent, isReading, hasActed, session, chosen, endedAt,
                 told, losses>>

EffectsElsewhereAreMade == Has("elsewhere") => hasActed

WriteRecord ==
  /\ at = "commits" /\ EffectsElsewhereAreMade
  /\ hasId \/ request.id = "never"
  /\ at' = IF hasId THEN "recorded" ELSE "done"
  /\ UNCHANGED <<request, attempt, executions, hasId, known, isSent, isReading, hasActed, session, chosen, endedAt, strays,
                 made, told, losses>>

WithChosen == [made EXCEPT ![attempt]["here"] = IF Has("here") THEN @ + 1 ELSE @]

ChooseRecord ==
  /\ at = "recorded" /\ attempt \notin chosen
  /\ chosen' = chosen \cup {attempt}
  /\ made' = WithChosen
  /\ UNCHANGED <<request, attempt, executions, at, hasId, known, isSent, isReading, hasActed, session, endedAt, strays,
                 told, losses>>

Finish ==
  /\ at = "recorded" /\ MayFinish
  /\ at' = "done"
  /\ UNCHANGED <<request, attempt, executions, hasId, known, isSent, isReading, hasActed, session, chosen, endedAt, strays,
                 made, told, losses>>

Answer ==
  /\ at = "done" /\ session = "serves"
  /\ Close("committed")
  /\ UNCHANGED <<request, attempt, executions, at, hasId, known, isSent, isReading, hasActed, chosen, endedAt, strays, made,
                 losses>>

(* PostgreSQL refuses what writes: of the first execution nobody knows. *)
RefuseWrite ==
  /\ at = "runs" /\ session = "serves" /\ isReading /\ Has("here")
  /\ Close("unknown")
  /\ at' = "over"
  /\ UNCHANGED <<request, attempt, executions, hasId, known, isSent, isReading, hasActed, chosen, endedAt, strays, made,
                 losses>>

-----------------------------------------------------------------------------
(* Losses. *)

MayActLate == IF at = "commits" /\ Has("elsewhere") /\ ~hasActed THEN {attempt} ELSE {}

LoseLeader ==
  /\ session = "serves" /\ at \notin {"idle", "over"} /\ losses < MaxLosses
  /\ session' = "lost"
  /\ losses' = losses + 1
  /\ UNCHANGED <<request, attempt, executions, at, hasId, known, isSent, isReading, hasActed, chosen, endedAt, strays, made,
                 told>>

(* Only the session's own: the leader lives, and a record that is written is chosen in the end. *)
EndBackend ==
  /\ session = "serves" /\ at \notin {"idle", "over"} /\ losses < MaxLosses
  /\ session' = "lost"
  /\ losses' = losses + 1
  /\ endedAt' = executions
  /\ strays' = strays \cup MayActLate
  /\ at' = IF at \in {"runs", "commits"} THEN "over" ELSE at
  /\ UNCHANGED <<request, attempt, executions, hasId, known, isSent, isReading, hasActed, chosen, made, told>>

(* The next leadership has what was chosen, and perhaps a record that was only written. *)
Elect ==
  /\ session \in {"lost", "closed"} /\ at \notin {"idle", "over"}
  /\ \E survives \in BOOLEAN :
       /\ survives => at \in {"recorded", "done"} /\ hasId /\ attempt \notin chosen
       /\ chosen' = IF survives THEN chosen \cup {attempt} ELSE chosen
       /\ made' = IF survives THEN WithChosen ELSE made
  /\ strays' = strays \cup MayActLate
  /\ at' = "over"
  /\ UNCHANGED <<request, attempt, executions, hasId, known, isSent, isReading, hasActed, session, endedAt, told, losses>>

-----------------------------------------------------------------------------
(* What the gateway makes of it. *)

ExecuteAgain == IsSettled /\ Outcome = "notCommitted" /\ ~IsSpent /\ Start(FALSE)

(* Says that it only reads, and nothing is known of it. *)
ExecuteReading ==
  /\ IsSettled /\ isSent /\ known # "id" /\ request.reads /\ TrustsAbsence /\ ~IsSpent
  /\ Start(TRUE)

Told(word) ==
  /\ Close(word)
  /\ UNCHANGED <<request, attempt, executions, at, hasId, known, isSent, isReading, hasActed, chosen, endedAt, strays, made,
                 losses>>

TellCommitted == IsSettled /\ Outcome = "committed" /\ Told("committed")
TellNotCommitted == IsSettled /\ Outcome = "notCommitted" /\ Told("notCommitted")

(* At any time: the next leader may come too late. *)
TellUnknown == session = "lost" /\ Told("unknown")

(* Only when the last execution is over. A name waits for that, too. *)
RepeatItself ==
  /\ session = "closed" /\ at = "over" /\ told[attempt] \in {"notCommitted", "unknown"} /\ attempt < MaxRepeats
  /\ attempt' = attempt + 1
  /\ executions' = 0
  /\ endedAt' = 0
  /\ at' = "idle"
  /\ session' = "serves"
  /\ UNCHANGED <<request, hasId, known, isSent, isReading, hasActed, chosen, strays, made, told, losses>>

Next ==
  \/ Execute \/ FindName \/ TellId \/ SendCommit
  \/ AssignInCommit \/ ActElsewhere \/ ActLate \/ WriteRecord \/ ChooseRecord \/ Finish \/ Answer \/ RefuseWrite
  \/ LoseLeader \/ EndBackend \/ Elect
  \/ ExecuteAgain \/ ExecuteReading \/ TellCommitted \/ TellNotCommitted \/ TellUnknown
  \/ RepeatItself

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Of the attempts that count as this one. *)
SameRequest(a) == IF request.isNamed THEN 0..a ELSE {a}

CommittedIsTrue ==
  \A a \in Attempt : told[a] = "committed" =>
    \A place \in request.effects : \E b \in SameRequest(a) : made[b][place] > 0

NotCommittedIsTrue ==
  \A a \in Attempt : told[a] = "notCommitted" =>
    /\ \A place \in Place : made[a][place] = 0
    /\ \A b \in SameRequest(a) : made[b]["here"] = 0

(* Unless the client itself repeats. Under a name its rows are written once even then. *)
EffectsAtMostOnce ==
  /\ \A a \in Attempt, place \in Place : made[a][place] <= 1
  /\ request.isNamed => Cardinality({a \in Attempt : made[a]["here"] > 0}) <= 1

ExecutedAtMostTwice == executions <= 2

NotAgainAfterOwnEnd == endedAt # 0 => executions = endedAt
=============================================================================
