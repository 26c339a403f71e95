------------------------- MODULE ReplayOrderedApply -------------------------
(***************************************************************************)
(* Behaviours of OrderedApply that the payload of the server can be led     *)
(* through, step by step (see replay-payload.ts).  It takes away choices     *)
(* that the code does not have, and nothing else:                           *)
(*   - What the code does of its own accord, it does at once (OwnAccord).     *)
(*   - A Node that folds its log anew comes at once to what it knew (Refold).  *)
(*   - A directory is noted whenever the code notes it (Save), as far as it is. *)
(*   - All that is chosen is reported; a standby throws nothing away that goes  *)
(*     on as it is fed.                                                     *)
(*   - A replica stands only when its database may lead, and gives up when it   *)
(*     cannot; what it gives up with its PostgreSQL down loses no more WAL.     *)
(*   - A copy is asked for by those whose code finds that it needs one; what    *)
(*     others purge they do not lack while they are being judged.              *)
(* Rarely makes some things less likely, so that behaviours get somewhere.   *)
(***************************************************************************)
EXTENDS MCOrderedApply

VARIABLES
  act,    \* which action led here: [name, params]
  heard,  \* heard[r]: up to where the Node of r has folded the log in its life
  owes,   \* owes[r]: what the code of r does at once: "save", "stepDown"
  pending \* somebody's code is about to do something at once: it is compared when all of that is done

replay == <<act, heard, owes, pending>>

Rarely(k) == RandomElement(1..k) = 1
Did(name, params) == act' = [name |-> name, params |-> params]

-----------------------------------------------------------------------------
(* What the code knows, and what it makes of it *)

Here(r) == Fold(node[r].at)
Settled(r) == node[r].up /\ node[r].at = heard[r]

(* The directory of a primary, by the log as far as this Node knows it: a timeline that was left ends where it was.              *)
Written(r) == Settled(r) /\ MayBeChecked(r)
IsPrefixHere(r) == IsChosenWal(Whole(pg[r].wal), Here(r))
IsPartedHere(r) == Written(r) /\ ~IsPrefixHere(r) /\ (Here(r).timeline # pg[r].timeline \/ owner[Here(r).leadership] # r)
(* A founder whose group was begun by another.                                                                                 *)
IsLost(r) ==
  /\ node[r].up /\ pg[r].mode = "down"
  /\ \/ dir[r].role = "copying"
     \/ IsPartedHere(r)
     \/ dir[r].role = "standby" /\ dir[r].durable < purged

SaveTo(r) == MaxOf({s \in 1..node[r].at : CountsAsThere(r, Fold(s).wal)})
LeadsHere(r) == node[r].leads # 0 /\ Settled(r) /\ node[r].at >= start[node[r].leads]
HasRoom(r) == next[node[r].leads] \in Slot

-----------------------------------------------------------------------------
(* At once *)

StepsDown(r) == "stepDown" \in owes[r] \/ (node[r].leads # 0 /\ IsPartedHere(r))
Refolds(r) == node[r].up /\ node[r].at < heard[r] /\ dir[r].role # "copying"
Saves(r) == "save" \in owes[r]
Judges(r) == Written(r) /\ IsPrefixHere(r)
Resumes(r) ==
  /\ LeadsHere(r) /\ Written(r) /\ ~IsPrefixHere(r) /\ ~IsPartedHere(r)
  /\ MayResume(r, Here(r))
Proposes(r) ==
  /\ LeadsHere(r) /\ node[r].stage = "elected" /\ HasRoom(r)
  /\ pg[r].mode = "standby" => dir[r].role = "standby" /\ HasReplayed(r, Here(r)) /\ pg[r].flushed >= Len(Here(r).wal)
  /\ pg[r].mode # "down"
Opens(r) == node[r].stage = "begun" /\ pg[r].mode = "primary" /\ AllRecoveredChosen(r, Here(r))
PassesBarrier(r) == node[r].stage = "open" /\ node[r].held # 0 /\ Len(Here(r).wal) >= node[r].held
Pending(r) == StepsDown(r) \/ Refolds(r) \/ Saves(r) \/ Judges(r) \/ Resumes(r) \/ Proposes(r) \/ Opens(r) \/ PassesBarrier(r)

Fold1(r) ==
  \/ BeginLeadership(r) /\ Did("BeginLeadership", <<r>>)
  \/ Feed(r) /\ Did("Feed", <<r>>)
  \/ Skip(r) /\ Did("Skip", <<r>>)
  \/ node[r].at < Top /\ Release(r, node[r].at + 1, Len(Fold(node[r].at + 1).wal)) /\ Did("Release", <<r, node[r].at + 1, Len(Fold(node[r].at + 1).wal)>>)

OwnAccord(r) ==
  IF Refolds(r) THEN Fold1(r)
  ELSE IF Saves(r) THEN FlushStandby(r, SaveTo(r)) /\ Did("FlushStandby", <<r, SaveTo(r), TRUE>>)
  ELSE IF StepsDown(r) THEN Depose(r, Len(pg[r].wal)) /\ Did("Depose", <<r, Len(pg[r].wal), TRUE>>)
  ELSE IF Judges(r) THEN LET s == MaxOf({s \in SlotsIn(Whole(pg[r].wal)) \cup SlotWithPiece(r) : s <= heard[r]}) IN CheckPrefix(r, s) /\ Did("CheckPrefix", <<r, s>>)
  ELSE IF Resumes(r) THEN Resume(r) /\ Did("Resume", <<r>>)
  ELSE IF Proposes(r) THEN LET x == NextXid(Prefix(pg[r].wal, pg[r].applied)) IN ProposeLeadership(r, x) /\ Did("ProposeLeadership", <<r, x>>)
  ELSE IF Opens(r) THEN Open(r) /\ Did("Open", <<r>>)
  ELSE PassesBarrier(r) /\ Barrier(r) /\ Did("Barrier", <<r>>)

-----------------------------------------------------------------------------
(* What comes from outside *)

MayLead(r) ==
  /\ Settled(r) /\ ~IsLost(r)
  /\ \/ pg[r].mode = "standby" /\ dir[r].role = "standby"
     \/ pg[r].mode = "down" /\ (dir[r].role = "founder" \/ Written(r))
Folds(r) == Settled(r) /\ ~IsLost(r) /\ Fold1(r)
SomeSurvive(r) == {pg[r].flushed, RandomElement(Survivals(r))}
MaySave(r) == Settled(r) /\ ((pg[r].mode = "standby" /\ node[r].stage = "none") \/ (pg[r].mode = "primary" /\ node[r].stage \in {"begun", "open"}))
MayDrop(r) ==
  \A q \in Replica \ {r} : dir[q].durable >= dir[r].durable \/ dir[q].role = "copying" \/ (dir[q].role = "standby" /\ (~node[q].up \/ pg[q].mode # "down"))
IsOver(r) == node[r].leads < ballot \/ CannotBegin(r)

Inputs ==
  \/ \E r \in Replica, top \in 0..MaxSlot : (NobodyLeads \/ Rarely(25)) /\ MayLead(r) /\ Elect(r, top) /\ Did("Elect", <<r, top>>)
  \/ \E e \in Candidates(Top + 1) : Choose(e) /\ Did("Choose", <<e>>)
  \/ Purge /\ Did("Purge", <<purged'>>)
  \/ \E r \in Replica :
       \/ Rarely(3) /\ ProposeOther(r) /\ HasRoom(r) /\ Did("ProposeOther", <<r>>)
       \/ Folds(r)
       \/ Promote(r) /\ Did("Promote", <<r>>)
       \/ (IsOver(r) \/ Rarely(30)) /\ \E k \in SomeSurvive(r) : (pg[r].mode = "down" => k = Len(pg[r].wal)) /\ Depose(r, k) /\ Did("Depose", <<r, k, FALSE>>)
       \/ \E q \in Request : Write(r, q) /\ Did("Write", <<r, q>>)
       \/ Rarely(3) /\ WriteOwn(r) /\ Did("WriteOwn", <<r>>)
       \/ \E n \in 1..Len(pg[r].wal) : LocalFlush(r, n) /\ Did("LocalFlush", <<r, n>>)
       \/ node[r].leads # 0 /\ HasRoom(r) /\ Ship(r) /\ Did("Ship", <<r>>)
       \/ \E t \in pg[r].waiting : EndWait(r, t) /\ Did("EndWait", <<r, t>>)
       \/ \E t \in pg[r].waiting : EndSession(r, t) /\ Did("EndSession", <<r, t>>)
       \/ \E t \in node[r].answers : AnswerCommit(r, t) /\ Did("AnswerCommit", <<r, t>>)
       \/ Rarely(4) /\ RunRead(r) /\ Did("RunRead", <<r>>)
       \/ AnswerRead(r) /\ Did("AnswerRead", <<r>>)
       \/ ReadStandby(r) /\ Did("ReadStandby", <<r>>)
       \/ \E d \in doubt : TellOutcome(r, d) /\ Did("TellOutcome", <<r, d>>)
       \/ FoldAnew(r) /\ node[r].leads = 0 /\ dir[r].role = "standby" /\ ~IsLost(r) /\ Did("FoldAnew", <<r>>)
       \/ \E to \in AllOrNothing(r) \cup {RandomElement(ReplayTo(r))} :
            /\ Replay(r, to[1], to[2]) /\ Did("Replay", <<r, to>>)
            /\ IsPrefix(pg[r].wal, WalToFeed(r)) => Len(pg'[r].wal) >= Len(pg[r].wal)
       \/ MaySave(r) /\ FlushStandby(r, SaveTo(r)) /\ Did("FlushStandby", <<r, SaveTo(r), FALSE>>)
       \/ Rarely(15) /\ \E k \in SomeSurvive(r) :
            \/ CrashPostgres(r, k) /\ Did("CrashPostgres", <<r, k>>)
            \/ CrashBoth(r, k) /\ Did("CrashBoth", <<r, k>>)
       \/ Rarely(15) /\ CrashNode(r) /\ Did("CrashNode", <<r>>)
       \/ \E k \in SomeSurvive(r) : Restart(r, k) /\ Did("Restart", <<r, k>>)
       \/ \E a \in {IF dir[r].role = "founder" THEN Len(pg[r].wal) ELSE WholeEnd(pg[r].wal), RandomElement(0..Len(pg[r].wal))} :
            /\ dir[r].role = "founder" => LeadsHere(r)
            /\ Settled(r) /\ ~IsLost(r)
            /\ DatabaseUp(r, a) /\ Did("DatabaseUp", <<r, a>>)
       \/ \E q \in Replica : IsLost(r) /\ BeginCopy(r, q) /\ Did("BeginCopy", <<r, q>>)
       \/ \E n \in CopyEnds(r) : LET s == MaxOf({s \in SlotsIn(WalOfCopy(r, n)) : s <= node[copy[r].source].at}) IN
            EndCopy(r, n, s) /\ Did("EndCopy", <<r, n, s>>)
       \/ Rarely(6) /\ GiveUpCopy(r) /\ Did("GiveUpCopy", <<r>>)
       \/ Rarely(4) /\ MayDrop(r) /\ RelievePressure(r) /\ Did("RelievePressure", <<r>>)

-----------------------------------------------------------------------------
Did1(r, names) == act'.name \in names /\ act'.params[1] = r

SavesNow(r) ==
  \/ Did1(r, {"BeginLeadership"}) /\ ((node'[r].stage = "begun" /\ node[r].stage # "begun") \/ dir[r].role = "founder")
  \/ Did1(r, {"Resume"})
  \/ Did1(r, {"Depose"}) /\ pg[r].mode = "primary" /\ node[r].stage \in {"begun", "open"}
  \/ Did1(r, {"CrashPostgres"}) /\ pg[r].mode = "primary" /\ node[r].stage \in {"begun", "open"}
  \/ Did1(r, {"CrashPostgres"}) /\ pg[r].mode = "standby" /\ node[r].stage # "begun"

Bookkeeping ==
  /\ heard' = [r \in Replica |->
       IF ~node'[r].up THEN 0 ELSE IF ~node[r].up THEN node'[r].at ELSE Max(heard[r], node'[r].at)]
  /\ owes' = [r \in Replica |->
       IF ~node'[r].up THEN {}
       ELSE {x \in {"save", "stepDown"} :
              CASE x = "save" -> (SavesNow(r) /\ SaveTo(r)' > dir'[r].durable) \/ (x \in owes[r] /\ ~Did1(r, {"FlushStandby"}))
                [] x = "stepDown" -> (Did1(r, {"CrashPostgres"}) /\ node'[r].leads # 0) \/ (x \in owes[r] /\ ~Did1(r, {"Depose"}))}]

ReplayInit == (Init \/ Led) /\ act = [name |-> "Init", params |-> <<>>] /\ pending = FALSE /\ heard = [r \in Replica |-> node[r].at] /\ owes = [r \in Replica |-> {}]
ReplayNext ==
  /\ IF \E r \in Replica : Pending(r) THEN \E r \in Replica : Pending(r) /\ OwnAccord(r) ELSE Inputs
  /\ Bookkeeping
  /\ pending' = (\E r \in Replica : Pending(r)')
ReplaySpec == ReplayInit /\ [][ReplayNext]_<<vars, replay>>
=============================================================================
