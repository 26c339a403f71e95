/** What the replica says of itself, and how its members are reached. */
import type { ReplicaCondition, ReplicaStatus } from '../../../api/status.ts';
import type { DoctorFacts, Finding, Rule, Severity } from '../facts.ts';
import { ageText, error, GIB, notice, sizeText, warning, when } from './words.ts';

const preparedLongMs = 5 * 60_000;
/** What a client asks for last, such as COMMIT, takes a moment. */
const leftLongMs = 10_000;

const withStatus =
  (judge: (status: ReplicaStatus, facts: DoctorFacts) => readonly Finding[]): Rule =>
  (facts) =>
    facts.status?.ok === true ? judge(facts.status.value, facts) : [];

const noAnswer: Rule = ({ status, configFile }) =>
  status === null || status.ok
    ? []
    : [
        error(
          `The replica does not answer: ${status.reason}.`,
          `If it does not run, start it ("barista serve --config ${configFile}"), and look at what it logs; if it does, is http.port of the configuration the one that it was started with?`,
        ),
      ];

const severities: Readonly<Record<ReplicaCondition, Severity | null>> = {
  serving: null,
  starting: 'notice',
  recovering: 'notice',
  restoring: 'warning',
  joining: 'warning',
  noLeader: 'error',
  databaseDown: 'error',
  logFull: 'error',
  logCorrupt: 'error',
  diverged: 'error',
  removed: 'error',
  down: 'error',
};

const notServing = withStatus(({ state, message, id }) => {
  const severity = severities[state];
  if (severity === null) return [];
  const why = message === null ? '.' : `: ${message.replace(/\.$/, '')}.`;
  const todo = `docs/operations.md, "What state means, and what to do", has ${state}.`;
  return [{ severity, what: `${id} is ${state}${why}`, todo }];
});

const told = withStatus(({ state, message, id }) =>
  when(state === 'serving' && message !== null, () =>
    warning(`${id} says: ${message ?? ''}`, 'docs/operations.md has what it means.'),
  ),
);

const copyFails = withStatus(({ recovery }) => {
  const failure = recovery?.lastFailure ?? null;
  if (failure === null) return [];
  const from = failure.source === null ? '' : `, from ${failure.source}`;
  return [
    warning(
      `The last attempt to get a copy of a database failed${from}: ${failure.reason.replace(/\.$/, '')}.`,
      'It is tried again by itself; docs/operations.md, "A copy that fails", has what to do about each reason.',
    ),
  ];
});

const membersAway = withStatus(({ peers, membership, id }) => {
  const away = peers.filter(({ connected }) => !connected).map((peer) => peer.id);
  if (away.length === 0) return [];
  const voters = membership.members.filter(({ role }) => role === 'voter').map(({ replica }) => replica);
  const there = voters.filter((voter) => voter === id || !away.includes(voter)).length;
  const who = `${id} is not connected to ${away.join(' and ')}`;
  if (there * 2 <= voters.length)
    return [
      error(
        `${who}: it reaches ${there} of ${voters.length} voters, including itself, which is not a majority.`,
        'Start those that are down, and mend the network between them.',
      ),
    ];
  const left = there - Math.floor(voters.length / 2) - 1;
  return [
    warning(
      `${who}. ${left === 0 ? 'If one more voter fails, nothing can be written.' : `${left} more may fail.`}`,
      'Start the replicas that are down. If a disk was lost, only replace it.',
    ),
  ];
});

const notVoting = withStatus(({ membership: { members } }) => {
  const learners = members.filter(({ role }) => role === 'learner');
  const expected = learners.filter(({ incarnation }) => incarnation === 0).map(({ replica }) => replica);
  const behind = learners.filter(({ incarnation }) => incarnation > 0).map(({ replica }) => replica);
  return [
    ...when(expected.length > 0, () =>
      warning(
        `${expected.join(' and ')} never joined the group.`,
        'Start it with an empty data directory, or take it away: "barista members remove".',
      ),
    ),
    ...when(behind.length > 0, () =>
      warning(
        `${behind.join(' and ')} cannot vote yet.`,
        'Wait until it has caught up; its own doctor says if it does not.',
      ),
    ),
  ];
});

const logGrows = withStatus(({ log, peers }, { config }) => {
  if (!config.ok) return [];
  const { logBytesMax } = config.value.bounds;
  const away = peers.filter(({ connected }) => !connected).map(({ id }) => id);
  const who = away.length === 0 ? 'a member that is behind, or of open transactions' : away.join(' and ');
  return when(log.bytes > 0.7 * logBytesMax, () =>
    warning(
      `The log has ${sizeText(log.bytes)} of bounds.logBytesMax, ${sizeText(logBytesMax)}, for the sake of ${who}.`,
      'From 80 % on it drops entries that this member lacks, which then needs a copy of a database. Bring it back before that, or accept the copy.',
    ),
  );
});

const locksNearlyFull = withStatus(({ held }) => {
  if (held == null || held.locks.held < 0.8 * held.locks.max) return [];
  const { locks } = held;
  const [most] = locks.holders;
  const who =
    most === undefined || most.pid === null
      ? 'prepared transactions'
      : `session ${most.pid}${most.role === undefined ? '' : ` (role ${most.role}, database ${most.database}, from ${most.address})`}`;
  return [
    warning(
      `Transactions hold ${locks.held} of ${locks.max} locks; ${most?.locks ?? 0} of them belong to ${who}. When all are taken nobody can log in.`,
      most?.pid == null
        ? 'End them: COMMIT PREPARED, or ROLLBACK PREPARED.'
        : `End it: "barista sessions end ${most.pid}". If the application needs them, raise max_locks_per_transaction in postgres.settings of all replicas.`,
    ),
  ];
});

const preparedLong = withStatus(({ held }) => {
  const oldest = held?.prepared.oldest ?? null;
  if (held == null || oldest === null) return [];
  const { count, max } = held.prepared;
  if (oldest.ageMs < preparedLongMs && count < 0.8 * max) return [];
  return [
    warning(
      `${count} of ${max} transactions that can be prepared are; the oldest, '${oldest.gid}', for ${ageText(oldest.ageMs)}. It keeps its locks, and VACUUM from what ${oldest.xids} transaction ids left behind.`,
      "Where its transaction manager has forgotten it, end it: ROLLBACK PREPARED 'name', or COMMIT PREPARED, in its database.",
    ),
  ];
});

const leftLong = withStatus(({ left }) => {
  const longest = (left?.longest ?? []).filter(({ leftMs }) => leftMs >= leftLongMs);
  const [first] = longest;
  if (left === undefined || first === undefined) return [];
  const words = longest.map(
    ({ pid, role, database, address, leftMs, waitsFor }) =>
      `${pid} (role ${role}, database ${database}, from ${address}) for ${Math.round(leftMs / 1000)} s, ${waitsFor === null ? 'waits for nothing' : `waits for ${waitsFor}`}`,
  );
  const others = left.count - longest.length;
  return [
    warning(
      `PostgreSQL still executes requests of disconnected clients: ${words.join('; ')}${others > 0 ? `; and ${others} more` : ''}. They count as clients until they end.`,
      `If it is not needed, end it: "barista sessions end ${first.pid}". A statement_timeout of the role keeps it from happening again.`,
    ),
  ];
});

const clientsMany = withStatus(({ clients }, { config }) =>
  when(config.ok && clients >= 0.9 * config.value.bounds.clientsMax, () =>
    warning(
      `${clients} clients are connected, and bounds.clientsMax is ${config.ok ? config.value.bounds.clientsMax : 0}: the next ones are told 53300.`,
      'Use a pool of connections, or raise the bound (and restart, one replica at a time).',
    ),
  ),
);

/** The default of max_slot_wal_keep_size is 8 GB. */
const walWaits = withStatus(({ wal }) => {
  const bytes = wal?.unchosenBytes ?? 0;
  if (bytes < GIB) return [];
  const what = `${sizeText(bytes)} of this leader's WAL are not chosen yet.`;
  const todo =
    'There is no majority, or the network is slower than the writes. Beyond max_slot_wal_keep_size the leader must stop.';
  return [bytes > 4 * GIB ? error(what, todo) : warning(what, todo)];
});

const lagSlots = 1000;

const lags = withStatus(({ commitPoint, applicationPointer, id }) =>
  when(commitPoint - applicationPointer > lagSlots, () =>
    warning(
      `PostgreSQL of ${id} is ${commitPoint - applicationPointer} slots behind what is chosen.`,
      'Look again in a minute. If it does not come nearer: a slow disk, or a query over its socket that replay waits for (docs/operations.md, "A follower that falls behind").',
    ),
  ),
);

const faultsSet = withStatus(({ faults }) =>
  when(faults.length > 0, () =>
    warning(
      `Link faults are active: ${faults.map(({ from, to }) => `${from} to ${to}`).join(', ')}.`,
      'Heal them: POST /api/faults with { "heal": true }.',
    ),
  ),
);

const unreachable: Rule = ({ members }) =>
  members.flatMap(({ id, peer, pgwire }) => {
    const refused = (what: string, reason: string, todo: string): Finding =>
      warning(`The ${what} of ${id} cannot be reached from here: ${reason}.`, todo);
    return [
      ...(peer.ok
        ? []
        : [
            refused(
              'port for peers',
              peer.reason,
              'Is it up, does its name resolve here, and does a firewall let this through?',
            ),
          ]),
      ...(pgwire.ok || !peer.ok
        ? []
        : [
            refused(
              'port for SQL clients',
              pgwire.reason,
              'Clients that connect here are not served while it leads.',
            ),
          ]),
    ];
  });

const slowNetworkMs = 100;

const farAway: Rule = ({ members }) =>
  members.flatMap(({ id, peer }) =>
    when(peer.ok && peer.value > slowNetworkMs, () =>
      notice(
        `A connection to ${id} took ${Math.round(peer.ok ? peer.value : 0)} ms.`,
        'Each commit waits for a majority. timings.electionTimeoutMinMs should be several times that.',
      ),
    ),
  );

export const statusRules = {
  noAnswer,
  notServing,
  told,
  copyFails,
  membersAway,
  notVoting,
  logGrows,
  clientsMany,
  locksNearlyFull,
  preparedLong,
  leftLong,
  walWaits,
  lags,
  faultsSet,
  unreachable,
  farAway,
};
