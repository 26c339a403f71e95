/** Alterations of what is told of leases in the runs of groups of seed 1 that may be accepted, each with why: as explained.ts. */
export const leaseExplanations: ReadonlyMap<string, string> = new Map([
  [
    'AnswerRead dropped',
    'of answers that leave one after the other one is told, and the lease is told by others',
  ],
  ['AnswerRead ranMs one less', 'it was read earlier in the same generation, which is as good'],
  [
    'HandleHeartbeat sentAtMs one more',
    'its leader may have sent something then: nobody tells what leaders send, and nobody counted the acknowledgement of this one',
  ],
  ['HandleHeartbeat twice', 'a message may come twice, and the word is given for as long'],
  [
    'HandleHeartbeatAck dropped',
    'few of them are told: what was acknowledged is in what the lease rests on next',
  ],
  ['RefuseAnswer dropped', 'nobody need ask for an answer'],
]);
