/** Which stage of a transaction's way a function of the server belongs to, by the folder that it is written in. */

export const stages = {
  gateway: 'gateway: the client and its session',
  wal: 'WAL from PostgreSQL, reports to it',
  ship: 'ranges of WAL shipped and folded',
  consensus: 'consensus',
  peers: 'messages to and from peers',
  log: 'log: written and flushed',
  feed: 'feed of the own standby',
  answers: 'answers: gate and outcomes',
  other: 'else of ours',
  garbage: 'garbage collection',
  system: 'Node.js and the system',
} as const;

export type Stage = keyof typeof stages;

/** The first that fits counts. Paths below the server's root. */
export const folders: readonly (readonly [prefix: string, stage: Stage])[] = [
  ['gateways/pgwire/', 'gateway'],
  ['adapters/postgres/replication/standby-feed', 'feed'],
  ['adapters/postgres/replication/feed-connection', 'feed'],
  ['adapters/postgres/replication/', 'wal'],
  ['payload/', 'ship'],
  ['wal/', 'ship'],
  ['multipaxos/', 'consensus'],
  ['replica/consensus/', 'consensus'],
  ['adapters/ws-transport/', 'peers'],
  ['adapters/segment-log/', 'log'],
  ['adapters/zookeeper-log/', 'log'],
  ['replica/serving/', 'answers'],
];

const root = /\/server\/(?:dist|src)\/(.*)$/;

/** Of one frame; null: it is not ours, and works for whoever called it. */
export function stageOfFrame(url: string, functionName: string): Stage | null {
  if (functionName === '(garbage collector)') return 'garbage';
  const path = root.exec(url)?.[1];
  if (path === undefined) return null;
  return folders.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'other';
}
