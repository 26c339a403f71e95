--------------------------- MODULE SIMOrderedApply ---------------------------
(* Random behaviours of OrderedApply in worlds too large to exhaust.  `act` says which action led to a state and with what        *)
(* parameters, because TLC's simulation files do not; no action looks at it.                                                       *)
EXTENDS MCOrderedApply

VARIABLE act

Did(name, params) == act' = [name |-> name, params |-> params]

SimInit == Init /\ act = [name |-> "Init", params |-> <<>>]

SimNext ==
  \/ \E r \in Replica, top \in 0..MaxSlot : Elect(r, top) /\ Did("Elect", <<r, top>>)
  \/ ballot # 0 /\ \E s \in Slot : \E e \in Candidates(s) : Choose(s, e) /\ Did("Choose", <<s, e>>)
  \/ Purge /\ Did("Purge", <<purged'>>)
  \/ \E r \in Replica :
       \/ Depose(r) /\ Did("Depose", <<r>>)
       \/ \E req \in Request :
            \/ Execute(r, req) /\ Did("Execute", <<r, req>>)
            \/ Acknowledge(r, req) /\ Did("Acknowledge", <<r, req>>)
       \/ \E t \in sessions[r] :
            \/ Harvest(r, t) /\ Did("Harvest", <<r, t.request>>)
            \/ Propose(r, t) /\ Did("Propose", <<r, t.request>>)
            \/ ProposeAgain(r, t) /\ Did("ProposeAgain", <<r, t.request>>)
            \/ AbortTransaction(r, t) /\ Did("AbortTransaction", <<r, t.request>>)
            \/ \E s \in Slot : CommitChosen(r, t, s) /\ Did("CommitChosen", <<r, t.request, s>>)
       \/ \E to \in Slot :
            \/ MovePointer(r, to) /\ Did("MovePointer", <<r, to>>)
            \/ ApplyBatch(r, to) /\ Did("ApplyBatch", <<r, to>>)
       \/ FlushDatabase(r) /\ Did("FlushDatabase", <<r>>)
       \/ \E k \in 1..MaxTail : DatabaseDown(r, k) /\ Did("DatabaseDown", <<r, k>>)
       \/ DatabaseUp(r) /\ Did("DatabaseUp", <<r>>)

SimSpec == SimInit /\ [][SimNext]_<<vars, act>>

SimView == vars
=============================================================================
