--------------------------- MODULE BugOrderedApply ---------------------------
(* OrderedApply with one rule dropped: each cfg puts one of these operators in the place of the rule that it is named after.  TLC *)
(* must refute every one of them, or the rule, or the invariant, would be idle.                                                   *)
EXTENDS MCOrderedApply

Always0 == TRUE
Always1(a) == TRUE
Always2(a, b) == TRUE

(* WalToFeed: ranges are sent to the standby as soon as they are voted for.                                                       *)
FedWhenProposed(r) ==
  LET p == Fold(node[r].at)
      voted == {q.entry : q \in {x \in proposals : x.slot = Top + 1 /\ x.entry.kind = "range"}}
      next1 == {e \in voted : RangeHasEffect(p, e)}
  IN  IF node[r].at = Top /\ next1 # {} THEN p.wal \o (CHOOSE e \in next1 : TRUE).data ELSE p.wal

(* HasReplayed, ForkToTake: a new leader's timeline begins wherever its standby happens to be.                                    *)
ForkWhereReplayed(r, p) == pg[r].applied

(* HasOwnStart: everything that the log held is chosen, and the leader's own first entry is not yet.                              *)
AllFoundIsChosen(r, p) == node[r].at >= start[node[r].leads] - 1

(* TimelineToTake, IsNextTimeline: the number after the newest that the own database has seen, as PostgreSQL does it by itself.   *)
TimelineTakenLocally(r, p) == 1 + MaxOf({1} \cup {pg[r].wal[i].timeline : i \in 1..Len(pg[r].wal)})

(* ForkToTake, HasReplayed: where the chosen WAL ends, be it inside a record.                                                     *)
ForkAtTheEnd(r, p) == Len(p.wal)
HasReceived(r, p) == Len(pg[r].wal) = Len(p.wal)

(* MayForkAt: nothing above what is chosen.                                                                                       *)
WithinChosen(p, e) == e.fork <= Len(p.wal)

(* ForkToTake: the end of the last record, be it a switch.                                                                        *)
ForkBehindSwitch(r, p) == WholeEnd(p.wal)

(* NeededOf: the last unit is passed over, be it empty or not; or the switch with its rest.                                       *)
WithoutLast(w) == Prefix(w, Max(Len(w) - 1, 0))
WithoutSwitch(w) == LET n == FilledEnd(w) IN Prefix(w, IF n > 0 /\ IsSwitch(w[n]) THEN n - 1 ELSE n)

(* RoleWhenBegun: the directory goes on saying what it said.                                                                      *)
NotMarked(r, e) == dir[r].role

(* RoleWhenBegun: a founder's directory is marked only by the leadership under way.                                               *)
OnlyOwnMarks(r, e) ==
  IF node[r].leads # e.leadership THEN dir[r].role
  ELSE IF dir[r].role = "founder" \/ e.resumes THEN "primary" ELSE "promoting"

(* MayResume, ResumesRightly: a directory that was a primary's leads on, whoever led in between.                                  *)
ResumesWhoeverLed(r, p) == dir[r].role \in {"promoting", "primary"}

(* NodeAfterDatabaseDown, MayResumeIn: a leader starts its PostgreSQL again, in the same leadership.                              *)
LeadsOn(r) == IF node[r].stage = "open" THEN [node[r] EXCEPT !.stage = "begun", !.held = 0, !.answers = {}] ELSE Following(node[r])
InAnyStage(stage) == stage \in {"elected", "begun"}

(* FounderBase: all that the founder has written.                                                                                *)
AllOfItsWal(r) == pg[r].wal

(* ShippableEnd: all that the primary has written is shipped.                                                                     *)
AllWritten(r) == Len(pg[r].wal)

(* PositionToReport: what the primary has flushed by itself.                                                                      *)
FlushedLocally(r, p) == pg[r].flushed

(* HeldUntil: nothing is held.                                                                                                    *)
NothingHeld(r) == 0

(* MayStartStandby: a directory that is half another's, too.                                                                      *)
StandbyOrCopying(r) == dir[r].role \in {"standby", "copying"}

(* WalOfCopy: the WAL that was there when the copy began.                                                                         *)
WalAtTheBeginning(r, n) == Prefix(pg[copy[r].source].wal, copy[r].from)

(* RangeHasEffect, LeadershipBegins: without regard to leaders that have begun in between.                                        *)
StaleRangeHasEffect(p, e) == e.leadership = p.leadership /\ e.timeline = p.timeline /\ GoesOn(p, e)
StaleLeadershipBegins(p, e) ==
  /\ e.leadership > p.leadership
  /\ p.timeline = 0 \/ IF e.resumes THEN ResumesRightly(p, e) ELSE IsNextTimeline(p, e) /\ MayForkAt(p, e)

(* IsSettled: as soon as a newer leadership has begun.                                                                            *)
SettledByAnyLeadership(r, p, d) == pg[r].mode = "standby" /\ \E i \in LaterThan(p, d) : pg[r].applied >= p.begun[i].fork
SettledBeforeReplayed(r, p, d) == pg[r].mode = "standby" /\ \E i \in LaterThan(p, d) : ~p.begun[i].resumes

(* IsAnothers: never, or by the next or the newest leadership alone.                                                                          *)
NeverAnothers(p, d) == FALSE
AnothersByTheNext(p, d) ==
  LET later == LaterThan(p, d) IN later # {} /\ d.xid >= p.begun[MinOf(later)].nextXid
AnothersByTheNewest(p, d) == d.xid >= p.begun[Len(p.begun)].nextXid
(* ... or never.                                                                                                                  *)
NeverSettled(r, p, d) == FALSE

(* HasUndone: it has not committed it, be it open or not.  IsShownByStandby: or the standby, which has not replayed all of its     *)
(* leadership.  LeaderShows: whether or not the leader shows it.                                                                  *)
HasNotCommitted(r, d) == ~\E t \in Commits(pg[r].wal) : t.xid = d.xid
NotYetReplayed(r, p, d) == pg[r].mode = "standby" /\ p.leadership = d.leadership

(* IsSettledByLeader, IsShownByStandby: nothing is told before another leadership begins.                                          *)
NeverByLeader(r, d) == FALSE
NeverByStandby(r, p, d) == FALSE

(* HasReplayed, CopyIsChosen: something more is waited for that need not come.                                                    *)
NeverReplayed(r, p) == FALSE
NeverWhole(q, n) == FALSE

(* IsParted: nobody looks.                                                                                                        *)
NeverParted(r) == FALSE

-----------------------------------------------------------------------------
(* Fewer behaviours, for bugs that lie deep: whatever goes wrong in these goes wrong under Next. *)

IsRange(e) == e.kind = "range"
RangeIsChosen == \E s \in 1..Top : IsRange(Entry(s))
Grows(r) == Len(pg'[r].wal) > Len(pg[r].wal)

(* Nobody learns that it was replaced, and only leaders look at their log; all is written before the first election. *)
OnlyLeadersAct ==
  \A r \in Replica :
    /\ pg'[r].mode = pg[r].mode
    /\ node'[r].at # node[r].at => node[r].leads > 1
    /\ Grows(r) => ballot = 1

(* Something without WAL and then a range of the first leader; what the second has in the slots behind its start; a third that    *)
(* looks at all.                                                                                                                  *)
StaleRangeScope ==
  /\ OnlyLeadersAct
  /\ ballot' # ballot => \E p \in proposals : p.slot = ballot + 3
  /\ ballot' > 1 => start'[2] = 3
  /\ ballot' > 2 => start'[3] = 6

(* The second and the third leader have something without WAL before their leadership entries; a fourth looks at all. *)
StaleLeadershipScope ==
  /\ OnlyLeadersAct
  /\ ballot' # ballot /\ ballot > 1 => \E p \in proposals : p.slot = ballot + 3
  /\ ballot' > 1 => start'[2] = 3
  /\ ballot' > 2 => start'[3] = 4
  /\ ballot' > 3 => start'[4] = 7

(* The first two leaders write once each.  Only the second ships, and the third comes when that is chosen. *)
OnlyTheSecondShips ==
  /\ \A p \in proposals' : IsRange(p.entry) => p.entry.leadership = 2
  /\ Cardinality(executed') <= ballot'
  /\ ballot' # ballot => executed # {}
  /\ ballot' = 3 => RangeIsChosen
  /\ told' # told => ballot = 3

(* The same; the third is the first once more. *)
TheFirstComesBack == OnlyTheSecondShips /\ owner'[3] \in {Nobody, First}

(* The first leader ships only after the crash, and is replaced when that is chosen. *)
CrashBeforeShipping ==
  /\ crashes = 0 => proposals' = proposals /\ Cardinality(executed') < 2
  /\ crashes' = 1 => executed # {}
  /\ ballot' = 2 => RangeIsChosen

(* The first leader writes once, crashes and resumes; neither ships, and the third leader is another. *)
ResumedInVain ==
  /\ \A p \in proposals' : IsRange(p.entry) => p.entry.leadership = 3
  /\ ballot' = 1 => Cardinality(executed') < 2
  /\ ballot' > 1 => crashes = 1 /\ owner'[2] = First /\ executed # {}
  /\ ballot' = 3 => owner'[3] # First /\ Newest.leadership > 1
  /\ told' # told => RangeIsChosen

(* The first leader writes nothing, and the third comes when the second has written. *)
FirstWritesNothing ==
  /\ \A r \in Replica : Grows(r) => node[r].leads # 1
  /\ ballot' = 3 => executed # {}

(* The first leader writes once and ships nothing; it copies. *)
FirstShipsNothing ==
  /\ \A p \in proposals' : IsRange(p.entry) => p.entry.leadership # 1
  /\ Cardinality(executed') <= ballot'
  /\ ballot' = 2 => executed # {}
=============================================================================
