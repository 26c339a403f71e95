/**
 * Alterations of what groups of the seeds from 1 on record of their cores that may be accepted, each with why: what it says can have happened. The command tells when one of them is rejected after all, or is not
 * made any more. By class, of which one is judged.
 */
export const explanations: ReadonlyMap<string, string> = new Map([
  ['HandleAccepted dropped', 'a message may be lost, and this vote was for what was chosen already'],
  [
    'HandleAccepted twice',
    'a message may come twice, and a vote that was counted is not counted again: the second event is what the core tells of that',
  ],
  [
    'HandleCatchUpReply message.commitPoint one more',
    'its sender came so far a moment later, and nobody heard of the receiver in between: it may have come then',
  ],
  [
    'HandleHeartbeat dropped',
    'a message may be lost, and the next Accept moves the commit point as far before it votes',
  ],
  ['HandlePrepare dropped', 'the same question had come right before, and an answer may be given again'],
  [
    'HandleReject dropped',
    'the next that this leader hears of is a candidate of a higher ballot, which ends a leadership as well, and no event in between tells the role',
  ],
  [
    'HandleReject message.promised.round one more',
    'its sender promised that a moment later, and nobody heard of the receiver in between: it may have come then',
  ],
  [
    'LearnConfiguration from another',
    "the other is the replica itself: a copy of another's database may have told it the version, and where the log holds all that is in the copy no base moves",
  ],
  [
    'StepDown dropped',
    'the next that this leader hears of is another one of a higher ballot, which ends a leadership as well, and no event in between tells the role',
  ],
]);
