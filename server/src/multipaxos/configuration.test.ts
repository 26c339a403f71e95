import { describe, expect, it } from 'vitest';
import { compareBallots } from './ballot.ts';
import {
  incarnationOf,
  memberName,
  membersAfter,
  nameOf,
  replicaOf,
  votersDiffering,
} from './configuration.ts';
import { replicasMax } from './quorum.ts';
import { address, ballot, configuration, member, r1, r2, r3 } from './testing/one-core.ts';
import type { Configuration, ConfigurationChange, Member } from './types/members.ts';
import type { ReplicaId } from './types/names.ts';

const r4 = 'r4' as ReplicaId;
const join = (replica: ReplicaId, nonce: string): ConfigurationChange => ({
  kind: 'join',
  replica,
  nonce,
  address,
});

function changed(before: Configuration, change: ConfigurationChange): Configuration {
  const members = membersAfter(before, change);
  if (typeof members === 'string') throw new Error(members);
  return { ...before, version: before.version + 1, members };
}

const names = ({ members }: Pick<Configuration, 'members'>): string[] =>
  members.map((one) => `${nameOf(one)} ${one.role}`);

describe('an incarnation', () => {
  it('has a name of its own, and the first has that of its replica', () => {
    expect([0, 1, 2].map((incarnation) => memberName(r2, incarnation))).toEqual(['r2.0', 'r2', 'r2.2']);
    for (const incarnation of [0, 1, 2, 17]) {
      const name = memberName(r2, incarnation);
      expect([replicaOf(name), incarnationOf(name)]).toEqual([r2, incarnation]);
    }
  });

  it('never owns a ballot of another one', () => {
    expect(compareBallots(ballot(3, r2), ballot(3, memberName(r2, 2)))).not.toBe(0);
  });
});

describe('a change of the members', () => {
  const three = configuration([r1, r2, r3]);

  it('lets a replica that lost its log join as another incarnation that does not vote', () => {
    expect(names(changed(three, join(r2, 'n')))).toEqual(['r1 voter', 'r2.2 learner', 'r3 voter']);
  });

  it('takes the same life of a replica for joined already', () => {
    const after = changed(three, join(r2, 'n'));
    expect(membersAfter(after, join(r2, 'n'))).toBe('done');
    expect(names(changed(after, join(r2, 'other')))).toContain('r2.3 learner');
  });

  it('lets one join that is expected, the first time from the founding on, whatever its nonce', () => {
    const founded = configuration([r1, r2], { learners: ['r3.0' as ReplicaId] });
    expect(names(changed(founded, join(r3, '')))).toContain('r3 learner');
    const added = changed(three, { kind: 'add', replica: r4, address });
    expect(names(changed(added, join(r4, '2')))).toContain('r4.2 learner');
    expect(membersAfter(added, { kind: 'promote', replica: r4, incarnation: 0 })).toBe('unknownReplica');
  });

  it('makes the incarnation that it names a voter, and no other', () => {
    const after = changed(three, join(r2, 'n'));
    expect(membersAfter(after, { kind: 'promote', replica: r2, incarnation: 1 })).toBe('unknownReplica');
    const promoted = changed(after, { kind: 'promote', replica: r2, incarnation: 2 });
    expect(names(promoted)).toContain('r2.2 voter');
    expect(membersAfter(promoted, { kind: 'promote', replica: r2, incarnation: 2 })).toBe('done');
  });

  it('expects a replica that is added, and forgets one that is removed', () => {
    const added = changed(three, { kind: 'add', replica: r4, address });
    expect(names(added)).toContain('r4.0 learner');
    expect(names(changed(added, { kind: 'remove', replica: r1 }))).toEqual([
      'r2 voter',
      'r3 voter',
      'r4.0 learner',
    ]);
  });

  it('never gives a name twice, not even to a replica that is removed and added again', () => {
    let now = three;
    const given = new Set<string>(now.members.map(nameOf));
    for (let round = 0; round < 20; round += 1) {
      now = changed(now, { kind: 'remove', replica: r2 });
      now = changed(now, { kind: 'add', replica: r2, address });
      for (const life of ['a', 'b', 'c'].slice(0, 1 + (round % 3))) {
        now = changed(now, join(r2, `${round}${life}`));
        const name = nameOf(now.members.find(({ replica }) => replica === r2)!);
        expect(given).not.toContain(name);
        given.add(name);
      }
    }
  });

  it('changes one voter at most', () => {
    const changes: ConfigurationChange[] = [
      join(r2, 'n'),
      { kind: 'add', replica: r4, address },
      { kind: 'remove', replica: r3 },
    ];
    for (const change of changes) {
      expect(votersDiffering(three.members, changed(three, change).members)).toBeLessThanOrEqual(1);
    }
  });

  it('is refused for a member that is there, one that is not, and one too many', () => {
    expect(membersAfter(three, { kind: 'add', replica: r2, address })).toBe('exists');
    for (const kind of ['join', 'remove'] as const) {
      expect(membersAfter(three, { kind, replica: r4, nonce: 'n', address })).toBe('unknownReplica');
    }
    const many: Member[] = Array.from({ length: replicasMax }, (_, index) =>
      member(`m${index}` as ReplicaId),
    );
    expect(membersAfter({ ...three, members: many }, { kind: 'add', replica: r4, address })).toBe('tooMany');
  });
});
