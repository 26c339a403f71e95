/** Alterations of what is told of the databases in the runs of groups of seed 1 that may be accepted, each with why: as explained.ts. */
export const applyExplanations: ReadonlyMap<string, string> = new Map([
  [
    'Barrier dropped',
    'it opened nothing: it was asked for because it was not known whether all commits wait, and which answers waited for it nobody tells',
  ],
  [
    'CheckPrefix dropped',
    'it found its directory undecided, which changes nothing: what was found when more was chosen is told',
  ],
  [
    'FlushStandby dropped',
    'it is the last of its process, and says what nobody looks at any more: where its directory stood then',
  ],
  [
    'Purge slot one less',
    'it is the last of its process: a log may be dropped less far than everybody has it, and the next would have told from where it went on',
  ],
  [
    'Purge why pressure for everybody',
    'what goes is in the directory of whoever drops it, and a log may be dropped so far when it nears its bound, which is not in traces',
  ],
  [
    'Replay dropped',
    'the next one tells more: PostgreSQL says now and then how far it is, and what it does not say it may have done',
  ],
  [
    'TellOutcome outcome unknown for committed',
    'whoever is asked may not find out in time what everybody else knows, and says so',
  ],
]);
