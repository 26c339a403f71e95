------------------------- MODULE MCRequestOutcomes -------------------------
(* RequestOutcomes in finite sizes, rules dropped one at a time, and witnesses. *)
EXTENDS RequestOutcomes, TLC

(* Nothing that takes these is looked at further. *)
NeverCommittedAgain == ~(executions = 2 /\ told[attempt] = "committed" /\ made[attempt]["here"] = 1)
NeverUnknownThoughCommitted == ~(told[0] = "unknown" /\ 0 \in chosen)

-----------------------------------------------------------------------------
(* Sights: what must have been seen in some state of a model, so that the invariant that each is named after says something there. *)

ASSUME \A i \in 1..6 : TLCSet(i, FALSE)

See(i, name, isSeen) == isSeen /\ ~TLCGet(i) => PrintT(<<"seen", name>>) /\ TLCSet(i, TRUE)

Sights ==
  /\ See(1, "CommittedIsTrue: told behind a loss, of rows and an effect elsewhere",
         losses > 0 /\ told[0] = "committed" /\ request.effects = Place)
  /\ See(2, "NotCommittedIsTrue: told of what commits, which was sent and has rows",
         told[0] = "notCommitted" /\ isSent /\ attempt = 0 /\ Has("here"))
  /\ See(3, "EffectsAtMostOnce: an effect elsewhere comes late, behind the client's word",
         told[0] = "unknown" /\ strays # {})
  /\ See(4, "EffectsAtMostOnce: a name is found", request.isNamed /\ attempt > 0 /\ executions = 0 /\ told[attempt] = "committed")
  /\ See(5, "ExecutedAtMostTwice: lost in its second execution", executions = 2 /\ session = "lost")
  /\ See(6, "NotAgainAfterOwnEnd: not committed, and not executed again", endedAt # 0 /\ told[attempt] = "notCommitted")

-----------------------------------------------------------------------------
(* Rules dropped. *)
MissingIdIsNothing == "notCommitted"
NotHereIsNowhere == TRUE
NeverSpent == endedAt # 0
SpentByCountOnly == executions >= 2
FinishesUnchosen == TRUE
NamesAreNotRecorded == FALSE
SettledAtOnce == session = "lost"
=============================================================================
