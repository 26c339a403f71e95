/**
 * Alterations of the simulated run of seed 1 that may be accepted, each with why: what it says can have happened. The command tells when one of them is rejected after all, or is not
 * made any more. By class, of which one is judged.
 */
export const explanations: ReadonlyMap<string, string> = new Map([
  [
    'Crash dropped',
    'it is the only crash of the run, and a trace without any may be of processes: one that is killed tells nothing, and this one never came back with its disk',
  ],
  [
    'Crash state.commitPoint one more',
    'the commit point on a disk lies between the one that was written last and the one that was reached, up to which the log may have been purged; this disk was lost before anybody read it',
  ],
  [
    'HandleAccepted twice',
    'a message may come twice, and a vote that was counted is not counted again: the second event is what the core tells of that',
  ],
  [
    'HandleAccepted message.lastSlot one more',
    'the sender has voted for the next slot, too, and tells both votes when both are asked for again, which leaves no event: the leader may hear that first',
  ],
  [
    'HandleCatchUpReply from another',
    'the other was once in the state that the answer tells, and has the entry on its disk: it may have handed it out, which leaves no event',
  ],
  [
    'LearnConfiguration from another',
    "the other is the replica itself: a copy of another's database may have told it the version, and where the log holds all that is in the copy no base moves",
  ],
  [
    'Serve dropped',
    'a leader serves when its database has come so far, which is not recorded, and nothing that this one did until it gave up needs that it served',
  ],
  [
    'StepDown dropped',
    'a crash came next, which ends a leadership as well, and no event in between tells the role',
  ],
]);
