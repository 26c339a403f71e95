/** Each row of the table "when the leader goes, the client sees", with upstreams that only say what they heard. */
import { afterEach, describe, expect, it } from 'vitest';
import { commandComplete, errorResponse, readyForQuery } from '../../../pgwire/backend-messages.ts';
import { doubtFrame } from '../codec/doubt-frame.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { backendEnded, handingOver, notCommitted, outcomeUnknown, terminated } from '../errors.ts';
import { FakeUpstream } from '../testing/fake-upstream.ts';
import { frame } from '../testing/frames.ts';
import { keptClient, type KeptFixture, type KeptFixtureOptions, settle } from '../testing/kept.ts';
import { Turns } from './turns.ts';

const { query, sync, flush } = send;
const doubt = doubtFrame({
  kind: 'transaction',
  transaction: { leadership: { round: 1, replica: 'r1' as ReplicaId }, xid: 7n },
});

function run(sql: string, statement = ''): Buffer {
  return Buffer.concat([send.parse(statement, sql), send.bind({ portal: '', statement }), send.execute('')]);
}

let fixture: KeptFixture;
async function open(options: KeptFixtureOptions = {}): Promise<KeptFixture> {
  fixture = await keptClient(options);
  return fixture;
}
afterEach(() => {
  fixture.client.destroy();
});

/** The client has begun a block. */
async function inBlock(options: KeptFixtureOptions = {}): Promise<KeptFixture> {
  await open(options);
  await fixture.send(query('BEGIN'));
  expect(fixture.told()).toEqual(['C BEGIN', 'Z T']);
  return fixture;
}

/** Sends what is not answered, and the leader dies. */
async function interrupted(...messages: readonly Buffer[]): Promise<void> {
  fixture.upstreams.at(-1)!.hangs = true;
  await fixture.send(...messages);
  await fixture.fail();
}

describe('a change of a client whose leader has told of its leadership', () => {
  const change = query('INSERT INTO t VALUES (1)');
  const leads = {
    upstream: (pid: number) => new FakeUpstream({ pid, parameters: ['barista.leadership=1 r1'] }),
  };

  it('is committed when its id has come', async () => {
    await open(leads);
    await fixture.send(change);
    expect(fixture.upstreams[0]!.heard).not.toContain('Q COMMIT');
  });

  it('does not wait for it if the client does not read, and is not read for: it would hold its locks', async () => {
    await open(leads);
    fixture.client.pause();
    fixture.upstreams[0]!.say(frame('N', 'x'.repeat(1_000_000)));
    await settle();
    await fixture.send(change);
    expect(fixture.upstreams[0]!.heard).toContain('Q COMMIT');
  });

  it('nor if the client stops to read behind it', async () => {
    await open(leads);
    fixture.client.pause();
    await fixture.send(change);
    expect(fixture.upstreams[0]!.heard).not.toContain('Q COMMIT');
    fixture.upstreams[0]!.say(frame('A', 'x'.repeat(1_000_000)));
    await settle();
    expect(fixture.upstreams[0]!.heard).toContain('Q COMMIT');
  });
});

describe('a client that was let in before', () => {
  const late = { isProven: true, upstream: () => new FakeUpstream({ pid: 1, isLate: true }) };
  const letIn = frame('R', '\0\0\0\0');
  const setting = frame('S', 'a\0b\0');

  it('is placed anew if its leader goes before it is logged in, and hears nothing of that', async () => {
    await open(late);
    fixture.upstreams[0]!.say(Buffer.concat([letIn, setting]));
    await settle();
    await fixture.fail();
    expect([fixture.told(), fixture.isUnheard(), fixture.isClosed()]).toEqual([[], true, false]);
  });

  it('is placed anew if its leader was gone before it came', async () => {
    const gone = (): FakeUpstream => {
      const upstream = new FakeUpstream({ pid: 1, isLate: true });
      upstream.near.destroy();
      return upstream;
    };
    await open({ isProven: true, upstream: gone });
    expect([fixture.told(), fixture.isUnheard()]).toEqual([[], true]);
  });

  it('hears all of its login at once, and why it failed', async () => {
    await open(late);
    fixture.upstreams[0]!.say(Buffer.concat([letIn, setting]));
    await settle();
    expect(fixture.told()).toEqual([]);
    fixture.upstreams[0]!.say(readyForQuery('I'));
    await settle();
    expect(fixture.told().map((line) => line[0])).toEqual(['R', 'S', 'Z']);
    await open(late);
    fixture.upstreams[0]!.say(
      Buffer.concat([letIn, errorResponse('FATAL', { sqlState: '3D000', message: '' })]),
    );
    await settle();
    expect(fixture.told().map((line) => line[0])).toEqual(['R', 'E']);
    expect(fixture.isUnheard()).toBe(false);
  });

  it('ends if it has said something', async () => {
    await open(late);
    await interrupted(query('SELECT 1'));
    expect([fixture.isUnheard(), fixture.told()]).toEqual([false, ['E FATAL C=08007']]);
  });
});

describe('a client whose functions are others at the next leader', () => {
  const others = {
    upstream: (pid: number) => {
      const upstream = new FakeUpstream({ pid });
      if (pid > 1) upstream.functions = 'others';
      return upstream;
    },
  };
  const lost = 'E ERROR C=55000';

  it('is told once that what they did may be lost', async () => {
    await open(others);
    await fixture.send(query('SELECT 1'));
    fixture.told();
    await fixture.fail();
    await fixture.send(query('SELECT 2'));
    expect(fixture.told()).toEqual([lost, 'Z I']);
    await fixture.send(query('SELECT 3'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });

  it('is told so behind what its request has come to', async () => {
    await open(others);
    await fixture.send(query('SELECT 1'));
    fixture.told();
    await interrupted(query('INSERT INTO t VALUES (1)'));
    expect(fixture.told()).toEqual(['E ERROR C=08007', 'Z I']);
    await fixture.send(query('SELECT 2'));
    expect(fixture.told()).toEqual([lost, 'Z I']);
  });

  it('is told so with the loss of its block', async () => {
    await inBlock(others);
    await fixture.fail();
    await fixture.send(query('SELECT 2'));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z E']);
    await fixture.send(query('ROLLBACK'));
    await fixture.send(query('SELECT 3'));
    expect(fixture.told()).toEqual(['C ROLLBACK', 'Z I', 'C SELECT', 'Z I']);
  });

  it('hears nothing if nothing of it was answered', async () => {
    await open(others);
    await fixture.fail();
    await fixture.send(query('SELECT 2'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });
});

describe('a client that is idle when its leader goes', () => {
  it('hears nothing, and its next request is answered by the next leader', async () => {
    await open();
    await fixture.fail();
    expect(fixture.told()).toEqual([]);
    expect(fixture.upstreams).toHaveLength(2);
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    expect(fixture.upstreams[1]?.heard).toEqual(['Q SELECT 1']);
  });

  it('survives one leader after another', async () => {
    await open();
    for (let times = 0; times < 5; times += 1) {
      await fixture.fail();
      await fixture.send(run('SELECT 1'), sync);
      expect(fixture.told()).toEqual(['1', '2', 'C SELECT', 'Z I'].map((line) => line.padEnd(2)));
    }
  });

  it('is told settings that the next leader tells otherwise', async () => {
    await open({
      upstream: (number) =>
        new FakeUpstream({ pid: number, parameters: ['a=1', `in_hot_standby=${number}`] }),
    });
    await fixture.fail();
    expect(fixture.told()).toEqual(['S in_hot_standby2']);
  });

  it('has its prepared statements, and not those that it closed or that failed', async () => {
    await open();
    await fixture.send(send.parse('a', 'SELECT 1'), send.parse('b', 'SELECT 2'), sync);
    await fixture.send(
      send.closeStatement('b'),
      send.bind({ portal: '', statement: 'none' }),
      send.parse('c', 'x'),
      sync,
    );
    fixture.told();
    await fixture.fail();
    await fixture.send(send.bind({ portal: '', statement: 'a' }), send.execute(''), sync);
    expect(fixture.told().at(-1)).toBe('Z I');
    expect([...fixture.upstreams[1]!.statements]).toEqual([['a', 'SELECT 1']]);
  });

  it('ends as before where the next leader asks for a password', async () => {
    await open({ upstream: (number) => new FakeUpstream({ pid: number, asksPassword: number > 1 }) });
    await fixture.fail();
    expect(fixture.told()).toEqual(['E FATAL C=57P01']);
    expect(fixture.isClosed()).toBe(true);
  });

  it('ends as before where no leader is found in time', async () => {
    await open({ limits: { keepWaitMs: 20 } });
    fixture.service.setService({ kind: 'nowhere', reason: 'an election' });
    await fixture.fail();
    await expect.poll(() => fixture.told()).toEqual(['E FATAL C=57P01']);
  });

  it.each(['57P03', '53300', '53200', '08001'])(
    'is tried again where the next leader says %s',
    async (sqlState) => {
      await open({ upstream: (number) => new FakeUpstream({ pid: number, isLate: number === 2 }) });
      await fixture.fail();
      fixture.upstreams[1]!.say(errorResponse('FATAL', { sqlState, message: 'not now' }));
      await settle();
      await expect.poll(() => fixture.upstreams.length).toBe(3);
      await fixture.send(query('SELECT 1'));
      expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    },
  );

  it('is tried again where there is no memory for what the session has', async () => {
    const upstream = (pid: number): FakeUpstream => {
      const one = new FakeUpstream({ pid });
      one.hangs = pid === 2;
      return one;
    };
    await open({ upstream });
    await fixture.send(send.parse('s', 'SELECT 1'), sync);
    await fixture.fail();
    fixture.upstreams[1]!.say(errorResponse('ERROR', { sqlState: '53200', message: 'out of memory' }));
    await expect.poll(() => fixture.upstreams.length).toBe(3);
    await settle();
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['1 ', 'Z I', 'C SELECT', 'Z I']);
  });

  it('waits for a leader, and what it sends meanwhile is not read', async () => {
    await open();
    fixture.service.setService({ kind: 'nowhere', reason: 'an election' });
    await fixture.fail();
    const big = query(`SELECT '${'x'.repeat(100_000)}'`);
    let written = 0;
    while (fixture.client.write(big) && written < 1_000) written += 1;
    await settle();
    expect(written).toBeLessThan(10);
    expect(fixture.client.writableLength).toBeGreaterThan(0);
    fixture.service.setService({ kind: 'at', leader: 'r2' as ReplicaId, host: 'h', port: 2 });
    await expect.poll(() => fixture.told().filter((line) => line === 'Z I').length).toBe(written + 1);
  });

  it('is moved at once when another leads, though the old leader says nothing', async () => {
    await open();
    fixture.service.setService({ kind: 'at', leader: 'r2' as ReplicaId, host: 'h', port: 2 });
    await expect.poll(() => fixture.upstreams.length).toBe(2);
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });

  it('hears nothing of a hand-over', async () => {
    await open();
    fixture.upstreams[0]!.say(errorResponse('FATAL', handingOver));
    await settle();
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });

  it('ends when an operator ends its session', async () => {
    await open();
    const message = 'terminating connection due to administrator command';
    fixture.upstreams[0]!.say(errorResponse('FATAL', { sqlState: '57P01', message }));
    fixture.upstreams[0]!.near.destroy();
    await settle();
    expect(fixture.told()).toEqual(['E FATAL C=57P01']);
    expect(fixture.upstreams).toHaveLength(1);
  });

  it('does so in its turn: a new leader is not flooded', async () => {
    // Half of them are one role's.
    const turns = new Turns(10);
    const upstream = (number: number): FakeUpstream => new FakeUpstream({ pid: number, isLate: number > 1 });
    const all = await Promise.all(Array.from({ length: 50 }, () => keptClient({ turns, upstream })));
    fixture = all[0]!;
    for (const one of all) one.upstreams[0]!.die();
    let moved = 0;
    while (moved < 50) {
      await settle();
      const waiting = all.filter(({ upstreams }) => upstreams.length === 2).slice(moved);
      expect(waiting).toHaveLength(5);
      for (const one of waiting) one.upstreams[1]!.welcome();
      moved += 5;
    }
    await settle();
    for (const one of all) {
      await one.send(query('SELECT 1'));
      expect(one.told()).toEqual(['C SELECT', 'Z I']);
      one.client.destroy();
    }
  });
});

describe('a client that is in a transaction when its leader goes', () => {
  it('hears 40001 once, then PostgreSQL refuses until it rolls back, and the connection stays', async () => {
    await inBlock();
    await fixture.fail();
    expect(fixture.told()).toEqual([]);
    await fixture.send(query('INSERT'));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z E']);
    await fixture.send(query('INSERT'));
    expect(fixture.told()).toEqual(['E ERROR C=25P02', 'Z E']);
    await fixture.send(query('ROLLBACK'));
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C ROLLBACK', 'Z I', 'C SELECT', 'Z I']);
  });

  it('hears 40001 to a COMMIT, and is out of the block', async () => {
    await inBlock();
    await fixture.fail();
    await fixture.send(query('COMMIT'));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z I']);
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });

  it('hears it to a COMMIT of the extended protocol', async () => {
    await inBlock();
    await fixture.fail();
    await fixture.send(run('COMMIT'), sync);
    expect(fixture.told()).toEqual(['1 ', '2 ', 'E ERROR C=40001', 'Z I']);
    await fixture.send(run('SELECT 1'), sync);
    expect(fixture.told()).toEqual(['1 ', '2 ', 'C SELECT', 'Z I']);
  });

  it('hears it to a COMMIT among other statements, none of which is executed', async () => {
    await inBlock();
    await fixture.fail();
    await fixture.send(query('COMMIT; INSERT'));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z I']);
    expect(fixture.upstreams[1]?.heard.join()).not.toContain('INSERT');
  });

  it.each(['ROLLBACK AND CHAIN', 'COMMIT AND CHAIN', "PREPARE TRANSACTION 'x'"])(
    'hears it to what PostgreSQL would not refuse, and is out of the block: %s',
    async (sql) => {
      for (const [message, before] of [
        [query(sql), []],
        [Buffer.concat([run(sql), sync]), ['1 ', '2 ']],
      ] as const) {
        await inBlock();
        await fixture.fail();
        await fixture.send(message);
        const told = fixture.told();
        expect(told.slice(told[0]?.startsWith('E') === true ? 0 : before.length)).toEqual([
          'E ERROR C=40001',
          'Z I',
        ]);
        fixture.client.destroy();
      }
    },
  );

  it('hears ROLLBACK to the COMMIT of a block that had failed', async () => {
    await inBlock();
    await fixture.send(query('fail'));
    fixture.told();
    await interrupted(query('COMMIT'));
    expect(fixture.told()).toEqual(['C ROLLBACK', 'Z I']);
  });

  it('hears nothing of it if it rolls back, by a message or by messages', async () => {
    for (const rollback of [query('ROLLBACK'), Buffer.concat([run('ROLLBACK'), sync])]) {
      await inBlock();
      await fixture.fail();
      await fixture.send(rollback);
      expect(fixture.told().filter((line) => !/^[12]/.test(line))).toEqual(['C ROLLBACK', 'Z I']);
      await fixture.send(query('SELECT 1'));
      expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
      fixture.client.destroy();
    }
  });

  it('hears it to what was under way', async () => {
    await inBlock();
    await interrupted(query('INSERT'));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z E']);
    await fixture.send(query('ROLLBACK'));
    expect(fixture.told()).toEqual(['C ROLLBACK', 'Z I']);
  });

  it('hears it once to a pipeline that ends with COMMIT', async () => {
    await inBlock();
    await interrupted(query('INSERT'), query('INSERT'));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z E', 'E ERROR C=25P02', 'Z E']);
    await fixture.send(query('COMMIT'), query('BEGIN'), query('INSERT'), query('COMMIT'));
    expect(fixture.told()).toEqual([
      'C ROLLBACK',
      'Z I',
      'C BEGIN',
      'Z T',
      'C INSERT',
      'Z T',
      'C COMMIT',
      'Z I',
    ]);
  });

  it('hears it between Parse and Bind, and behind a Flush, up to its Sync', async () => {
    await inBlock();
    await fixture.send(send.parse('', 'INSERT'), flush);
    expect(fixture.told()).toEqual(['1 ']);
    await fixture.fail();
    await fixture.send(send.bind({ portal: '', statement: '' }), send.execute(''));
    expect(fixture.told()).toEqual(['E ERROR C=40001']);
    await fixture.send(sync);
    expect(fixture.told()).toEqual(['Z E']);
  });

  it('and that had failed is refused as before', async () => {
    await inBlock();
    await fixture.send(query('fail'));
    fixture.told();
    await fixture.fail();
    await fixture.send(query('SELECT 1'));
    await fixture.send(query('COMMIT'));
    expect(fixture.told()).toEqual(['E ERROR C=25P02', 'Z E', 'C ROLLBACK', 'Z I']);
  });
});

describe('a client whose COMMIT is under way when its leader goes', () => {
  async function commit(
    outcome: 'committed' | 'notCommitted' | 'unknown',
    isKnown = true,
  ): Promise<string[]> {
    await inBlock();
    fixture.service.outcome = outcome;
    if (isKnown) fixture.upstreams[0]!.say(doubt);
    await settle();
    await interrupted(query('COMMIT'));
    return fixture.told();
  }

  it('hears that it took effect', async () => {
    expect(await commit('committed')).toEqual(['C COMMIT', 'Z I']);
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });

  it('hears that it did not', async () => {
    expect(await commit('notCommitted')).toEqual(['E ERROR C=40001', 'Z I']);
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });

  it.each([true, false])(
    'hears that nobody knows, and the connection stays (its id is known: %s)',
    async (isKnown) => {
      expect(await commit('unknown', isKnown)).toEqual(['E ERROR C=08007', 'Z I']);
      await fixture.send(query('SELECT 1'));
      expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    },
  );

  it('hears what the old leader itself says', async () => {
    await inBlock();
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('COMMIT'));
    fixture.upstreams[0]!.say(errorResponse('FATAL', notCommitted));
    await settle();
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z I']);
    expect(fixture.service.asked).toEqual([]);
  });

  it('hears what became of it though no leader takes it any more', async () => {
    await inBlock({ limits: { keepWaitMs: 20 } });
    fixture.service.outcome = 'committed';
    fixture.upstreams[0]!.say(doubt);
    await settle();
    fixture.service.setService({ kind: 'nowhere', reason: 'an election' });
    await interrupted(query('COMMIT'));
    await expect.poll(() => fixture.isClosed()).toBe(true);
    expect(fixture.told()).toEqual(['C COMMIT', 'Z I', 'E FATAL C=57P01']);
  });
});

describe('a client whose statement by itself is under way when its leader goes', () => {
  async function statement(
    outcome: 'committed' | 'notCommitted' | 'unknown',
    ...messages: Buffer[]
  ): Promise<string[]> {
    await open();
    fixture.service.outcome = outcome;
    fixture.upstreams[0]!.say(doubt);
    await settle();
    await interrupted(...messages);
    return fixture.told();
  }

  it('has it executed again if it was not committed', async () => {
    expect(await statement('notCommitted', query('INSERT'))).toEqual(['C INSERT', 'Z I']);
    expect(fixture.upstreams[1]?.heard).toEqual(['Q INSERT']);
  });

  it('has it executed again behind a setting, too', async () => {
    await open();
    fixture.service.outcome = 'notCommitted';
    await fixture.send(query('SET a = 1'));
    fixture.told();
    fixture.upstreams[0]!.say(doubt);
    await settle();
    await interrupted(query('INSERT'));
    expect(fixture.told()).toEqual(['C INSERT', 'Z I']);
  });

  it('has it executed again in the extended protocol', async () => {
    expect(await statement('notCommitted', run('INSERT'), sync)).toEqual(['1 ', '2 ', 'C INSERT', 'Z I']);
  });

  it('hears that its answer is lost if it was committed', async () => {
    expect(await statement('committed', query('INSERT'))).toEqual(['E ERROR C=RQ001', 'Z I']);
  });

  it('hears that nobody knows', async () => {
    expect(await statement('unknown', query('INSERT'))).toEqual(['E ERROR C=08007', 'Z I']);
  });

  it('has a setting, a BEGIN, and a batch without its Sync executed again, for they commit nothing', async () => {
    for (const [messages, answer] of [
      [[query('SHOW a')], ['C SHOW', 'Z I']],
      [[query('BEGIN')], ['C BEGIN', 'Z T']],
      [[run('INSERT')], ['1 ', '2 ', 'C INSERT']],
    ] as const) {
      expect(await statement('unknown', ...messages)).toEqual(answer);
      expect(fixture.service.asked).toEqual([]);
      fixture.client.destroy();
    }
  });

  it('has it executed again if only part of the message was sent', async () => {
    const whole = query(`INSERT ${'x'.repeat(1_000)}`);
    await open();
    await fixture.send(whole.subarray(0, 100));
    await fixture.fail();
    await fixture.send(whole.subarray(100));
    expect(fixture.told()).toEqual(['C INSERT', 'Z I']);
  });

  it('hears 40001 if part of its answer was told', async () => {
    await open();
    fixture.service.outcome = 'notCommitted';
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('SELECT 1'));
    fixture.upstreams[0]!.say(doubt, frame('T', '\0\0'), frame('D', '\0\0'));
    await settle();
    await fixture.fail();
    expect(fixture.told()).toEqual(
      ['T \\0\\0', 'D \\0\\0', 'E ERROR C=40001', 'Z I'].map((line) => line.replaceAll('\\0', '')),
    );
    expect(fixture.upstreams[1]?.heard).toEqual([]);
  });

  it('hears nothing of a message that was broken off', async () => {
    await open();
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('SHOW a'));
    fixture.upstreams[0]!.say(frame('N', 'x'.repeat(500)).subarray(0, 200));
    await settle();
    await fixture.fail();
    expect(fixture.told()).toEqual(['C SHOW', 'Z I']);
  });

  it('ends where the next message has come in part, and the answer to this one is lost', async () => {
    await open();
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('SELECT 1'), query('SELECT 2').subarray(0, 8));
    await fixture.fail();
    expect(fixture.told()).toEqual(['E FATAL C=08007']);
    expect(fixture.isClosed()).toBe(true);
  });

  it('ends where a long message was broken off', async () => {
    await open();
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('SHOW a'));
    fixture.upstreams[0]!.say(frame('D', 'x'.repeat(100_000)).subarray(0, 50_000));
    await settle();
    await fixture.fail();
    expect(fixture.isClosed()).toBe(true);
    expect(fixture.told()).toEqual([]);
  });

  it('hears that nobody knows, of a pipeline of several', async () => {
    const answers = await statement('committed', query('INSERT'), query('INSERT'), query('INSERT'));
    expect(answers).toEqual(Array.from({ length: 3 }, () => ['E ERROR C=08007', 'Z I']).flat());
  });

  it('has the rest of a pipeline executed of which the beginning was answered, where nothing of it commits', async () => {
    await open();
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('SHOW a'), query('SHOW b'), query('SHOW c'));
    fixture.upstreams[0]!.say(commandComplete('SHOW'), readyForQuery('I'));
    await settle();
    await fixture.fail();
    expect(fixture.upstreams[1]?.heard).toEqual(['Q SHOW b', 'Q SHOW c']);
    expect(fixture.told()).toEqual(['C SHOW', 'Z I', 'C SHOW', 'Z I', 'C SHOW', 'Z I']);
  });

  it('is not kept beyond a bound: then it hears 40001', async () => {
    await open({ limits: { keptBytesMax: 1_000 } });
    fixture.service.outcome = 'notCommitted';
    fixture.upstreams[0]!.say(doubt);
    await settle();
    await interrupted(query(`INSERT ${'x'.repeat(2_000)}`));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z I']);
  });
});

describe('what a client sends ahead of the end of its login', () => {
  const late = { upstream: (pid: number) => new FakeUpstream({ pid, isLate: pid === 1 }) };

  it('is not executed again: who has logged in was not asked yet', async () => {
    await open(late);
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(frame('p', 'password\0'), query('SHOW a'), query('BEGIN'));
    fixture.upstreams[0]!.welcome();
    await settle();
    fixture.told();
    await fixture.fail();
    expect(fixture.upstreams).toHaveLength(1);
    expect(fixture.told()).toEqual(['E FATAL C=57P01']);
  });

  it('has its settings asked for', async () => {
    await open(late);
    await fixture.send(query('SET a = 1'));
    fixture.upstreams[0]!.welcome();
    await settle();
    expect(fixture.upstreams[0]?.heard).toContain('P barista_session_state');
  });
});

describe('the defaults of a login', () => {
  const line = (name: string, value: string, usual: string): string =>
    [name, value, usual].map((text) => Buffer.from(text).toString('hex')).join(':') + ':given';
  const defaults = (...lines: string[]): string => [line('role', 'none', 'none'), ...lines].join();
  const withDefaults = (...told: readonly (string | null)[]): KeptFixtureOptions => ({
    upstream(number) {
      const upstream = new FakeUpstream({ pid: number, isLate: true });
      upstream.defaults = told[number - 1] ?? null;
      upstream.welcome();
      return upstream;
    },
  });

  it('are those that its next session logs in with, where that one has others', async () => {
    await open(
      withDefaults(
        defaults(line('a', '1', '0'), line('b', '1', '0')),
        defaults(line('b', '2', '0'), line('c', '3', '0')),
        defaults(),
        defaults(),
      ),
    );
    await fixture.fail();
    const settings = ['a=1', 'b=1', 'c=0'];
    expect(fixture.logInSettings).toEqual([[], settings]);
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    expect(fixture.upstreams[2]?.heard).toEqual(['Q SELECT 1']);
  });

  it('are not asked for again where PostgreSQL did not tell them', async () => {
    await open(withDefaults(null, defaults(line('a', '1', '0'))));
    await fixture.fail();
    expect(fixture.logInSettings).toEqual([[]]);
  });

  it('are not awaited when the leader goes: who it is that has logged in is not known, and nobody else takes its place', async () => {
    await open({
      upstream(number) {
        const upstream = new FakeUpstream({ pid: number, isLate: true });
        upstream.hangs = number === 1;
        upstream.welcome();
        return upstream;
      },
    });
    await fixture.fail();
    expect(fixture.told()).toEqual(['E FATAL C=57P01']);
    expect(fixture.logInSettings).toEqual([]);
  });
});

describe('a session whose role or database is another one at the next leader, with the same name', () => {
  it.each(['16385:5', '16384:6', null])('ends there: %s', async (identity) => {
    await open({
      upstream(number) {
        const upstream = new FakeUpstream({ pid: number, isLate: true });
        if (number > 1) upstream.identity = identity;
        upstream.welcome();
        return upstream;
      },
    });
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    await fixture.fail();
    expect(fixture.told()).toEqual(['E FATAL C=57P01']);
    expect(fixture.upstreams[1]!.near.destroyed).toBe(true);
  });
});

describe('a request that was executed again, and whose next leader goes, too', () => {
  const hanging = { upstream: (pid: number) => hangingUpstream(pid) };
  function hangingUpstream(pid: number): FakeUpstream {
    const upstream = new FakeUpstream({ pid });
    upstream.hangsAt = 'work';
    return upstream;
  }

  it.each([
    ['a read', query('SELECT work()'), 'E FATAL C=08007'],
    ['a change that was not committed', query('BEGIN; INSERT INTO work VALUES (1)'), 'E FATAL C=57P01'],
  ])('is not executed a third time, and its client hears so: %s', async (_, request, words) => {
    await open(hanging);
    await fixture.send(request);
    await fixture.fail();
    expect(fixture.upstreams.at(-1)!.heard.some((line) => line.includes('work'))).toBe(true);
    expect(fixture.upstreams).toHaveLength(2);
    await fixture.fail();
    expect(fixture.told()).toEqual([words]);
    expect(fixture.isClosed()).toBe(true);
    expect(fixture.upstreams).toHaveLength(2);
  });

  it('is a bound of that request alone: the next one is executed again', async () => {
    await open();
    for (let leaders = 0; leaders < 5; leaders += 1) {
      fixture.upstreams.at(-1)!.hangs = true;
      await fixture.send(query('SELECT 1'));
      await fixture.fail();
      expect(fixture.told().at(-1)).toBe('Z I');
    }
  });
});

describe('what is done again for a client', () => {
  it('has a bound in number: moves between which nothing of it was answered', async () => {
    await open({ limits: { movesUnansweredMax: 3 } });
    for (let leaders = 0; leaders < 4; leaders += 1) await fixture.fail();
    expect(fixture.told()).toEqual(['E FATAL C=57P01']);
    expect(fixture.upstreams).toHaveLength(4);
  });

  it('has a bound in number: log-ins that break', async () => {
    const breaking = (pid: number): FakeUpstream => {
      const upstream = new FakeUpstream({ pid, isLate: pid > 1 });
      if (pid > 1) setImmediate(() => upstream.die());
      return upstream;
    };
    await open({ upstream: breaking, limits: { brokenLogInsMax: 3 } });
    await fixture.fail();
    await expect.poll(() => fixture.isClosed()).toBe(true);
    expect(fixture.told()).toEqual(['E FATAL C=57P01']);
    expect(fixture.upstreams).toHaveLength(4);
  });
});

describe('a log-in at the next leader whose own process ends without a word, as all do when another one crashes', () => {
  const words = errorResponse('FATAL', backendEnded);
  function ending(pid: number, upTo: number): FakeUpstream {
    const upstream = new FakeUpstream({ pid, isLate: pid > 1 && pid <= upTo });
    if (pid > 1 && pid <= upTo) upstream.say(words);
    return upstream;
  }

  it('is tried again, and a read that was under way is executed again', async () => {
    await open({ upstream: (pid) => ending(pid, 2) });
    await interrupted(query('SELECT 1'));
    await expect.poll(() => fixture.isClosed() || fixture.upstreams.length === 3).toBe(true);
    await settle();
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    expect(fixture.isClosed()).toBe(false);
  });

  it('is told that nobody knows where PostgreSQL does not find that it can only have read', async () => {
    const plan = (pid: number): FakeUpstream => Object.assign(new FakeUpstream({ pid }), { plan: 'Result' });
    await open({ upstream: plan });
    await interrupted(query('SELECT writes()'));
    expect(fixture.told()).toEqual(['E ERROR C=08007', 'Z I']);
    expect(fixture.upstreams.at(-1)!.heard.join()).not.toContain('writes');
  });

  it('has a bound in number: it may be what ends the process', async () => {
    await open({ upstream: (pid) => ending(pid, Infinity), limits: { brokenLogInsMax: 3 } });
    await interrupted(query('SELECT 1'));
    await expect.poll(() => fixture.isClosed()).toBe(true);
    expect(fixture.told()).toEqual(['E FATAL C=08007']);
    expect(fixture.upstreams).toHaveLength(4);
  });

  it('is not tried again where the session was being restored', async () => {
    const restoring = (pid: number): FakeUpstream => {
      const upstream = new FakeUpstream({ pid });
      if (pid === 2) upstream.say(words);
      return upstream;
    };
    await open({ upstream: restoring });
    await interrupted(query('SELECT 1'));
    expect(fixture.told()).toEqual(['E FATAL C=08007']);
    expect(fixture.upstreams).toHaveLength(2);
  });
});

describe('a client whose leader ends its session while the gateway has asked something of its own', () => {
  it('hears so, and is not given another session', async () => {
    await open();
    fixture.upstreams[0]!.hangsAt = 'barista_session_state';
    await fixture.send(query("SET work_mem = '7MB'"));
    fixture.upstreams[0]!.say(
      errorResponse('FATAL', {
        sqlState: '57P01',
        message: 'terminating connection due to administrator command',
      }),
    );
    await settle();
    await fixture.fail();
    expect(fixture.told()).toEqual(['C SET', 'E FATAL C=57P01']);
    expect(fixture.upstreams).toHaveLength(1);
  });
});

describe('a client that copies when its leader goes', () => {
  it('in, hears 40001, and what it sends yet of the data is passed over', async () => {
    await open();
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('COPY t FROM STDIN'));
    fixture.upstreams[0]!.say(frame('G', '\0\0\0'));
    await settle();
    const data = frame('d', 'x'.repeat(1_000));
    await fixture.send(data, data.subarray(0, 300));
    await fixture.fail();
    expect(fixture.told().slice(1)).toEqual(['E ERROR C=40001', 'Z I']);
    await fixture.send(data.subarray(300), data, frame('c'), query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    expect(fixture.upstreams[1]?.heard.map((line) => line[0])).toEqual(['d', 'c', 'Q']);
    await fixture.fail();
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });

  it('in by the extended protocol, hears it, and is ready at its Sync', async () => {
    await open();
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(run('COPY t FROM STDIN'), sync);
    fixture.upstreams[0]!.say(frame('1'), frame('2'), frame('G', '\0\0\0'));
    await settle();
    await fixture.send(frame('d', 'x'));
    await fixture.fail();
    expect(fixture.told().slice(3)).toEqual(['E ERROR C=40001']);
    await fixture.send(frame('d', 'x'), frame('c'), sync);
    expect(fixture.told()).toEqual(['Z I']);
  });

  it('out, hears that part of it is all', async () => {
    await open();
    fixture.service.outcome = 'notCommitted';
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('COPY t TO STDOUT'));
    fixture.upstreams[0]!.say(doubt, frame('H', '\0\0\0'), frame('d', 'row'));
    await settle();
    await fixture.fail();
    expect(fixture.told().slice(2)).toEqual(['E ERROR C=40001', 'Z I']);
  });
});

describe('a client that has set something', () => {
  const asked = 'P barista_session_state';

  it('is ready when PostgreSQL has said what its session has', async () => {
    await open();
    await fixture.send(query('SET a = 1'));
    expect(fixture.told()).toEqual(['C SET', 'Z I']);
    expect(fixture.upstreams[0]?.heard.slice(0, 2)).toEqual(['Q SET a = 1', asked]);
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    expect(fixture.upstreams[0]?.heard.filter((line) => line === asked)).toHaveLength(1);
  });

  it('is asked about when its transaction has ended, and when a pipeline has', async () => {
    await inBlock();
    await fixture.send(query('SET a = 1'));
    expect(fixture.upstreams[0]?.heard).not.toContain(asked);
    await fixture.send(query('COMMIT'));
    expect(fixture.upstreams[0]?.heard).toContain(asked);
    fixture.told();
    await fixture.send(query('SET a = 2'), query('SELECT 1'), query('SELECT 2'));
    expect(fixture.told()).toEqual(['C SET', 'Z I', 'C SELECT', 'Z I', 'C SELECT', 'Z I']);
    expect(fixture.upstreams[0]?.heard.filter((line) => line === asked)).toHaveLength(2);
  });

  it('hears that it is lost if it was told of it in a pipeline, of which the rest was not answered', async () => {
    await open();
    fixture.upstreams[0]!.hangsAt = 'BEGIN';
    await fixture.send(query('SET a = 1'), query('BEGIN'));
    expect(fixture.told()).toEqual(['C SET', 'Z I']);
    await fixture.fail();
    expect(fixture.told()).toEqual(['E ERROR C=55000', 'Z I']);
  });

  it('is asked when it is idle, once a minute at most, and not within a transaction', async () => {
    await open();
    const questions = async (nowMs: number): Promise<number> => {
      fixture.kept.lookIdle(nowMs);
      fixture.kept.lookIdle(nowMs + 1_000);
      await settle();
      return fixture.upstreams[0]!.heard.filter((line) => line === asked).length;
    };
    await fixture.send(query('SELECT 1'));
    expect(await questions(0)).toBe(1);
    expect(await questions(100_000)).toBe(1);
    await fixture.send(query('SELECT 1'));
    expect(await questions(30_000)).toBe(1);
    await fixture.send(query('BEGIN'));
    expect(await questions(200_000)).toBe(1);
    await fixture.send(query('ROLLBACK'));
    expect(await questions(300_000)).toBe(2);
    fixture.told();
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
  });

  it('hears once that it is lost if the leader goes before it could be asked', async () => {
    await open();
    fixture.upstreams[0]!.hangsAt = asked;
    await fixture.send(query('SET a = 1'));
    expect(fixture.told()).toEqual(['C SET']);
    await fixture.fail();
    expect(fixture.told()).toEqual(['Z I']);
    await fixture.send(run('INSERT'), sync);
    expect(fixture.told()).toEqual(['E ERROR C=55000', 'Z I']);
    expect(fixture.upstreams[1]?.heard.join()).not.toContain('INSERT');
    await fixture.send(query('INSERT'));
    expect(fixture.told()).toEqual(['C INSERT', 'Z I']);
  });

  it('hears of it behind the end of a transaction that it rolls back, and though another leader goes', async () => {
    await open();
    await fixture.send(query('BEGIN'));
    await fixture.send(query('SET a = 1'));
    fixture.upstreams[0]!.hangsAt = asked;
    await fixture.send(query('COMMIT'));
    fixture.told();
    await fixture.fail();
    await fixture.fail();
    await fixture.send(query('BEGIN'));
    expect(fixture.told()).toEqual(['Z I', 'E ERROR C=55000', 'Z I']);
    await fixture.send(query('BEGIN'));
    expect(fixture.told()).toEqual(['C BEGIN', 'Z T']);
  });

  it('is not asked about in the middle of a message that it sends', async () => {
    await open();
    const next = query('SELECT 1');
    await fixture.send(query('SET a = 1'), next.subarray(0, 4));
    expect(fixture.told()).toEqual(['C SET', 'Z I']);
    await fixture.send(next.subarray(4));
    expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
    expect(fixture.upstreams[0]?.heard).toContain(asked);
  });
});

describe('a client whose block had failed before its leader went, or knows that it was lost', () => {
  const refused = ['E ERROR C=40001', 'Z I'];
  const failed = ['E ERROR C=25P02', 'Z E'];

  async function inFailedBlock(): Promise<void> {
    await inBlock();
    await fixture.send(query('fail'));
    expect(fixture.told()).toEqual(['E ERROR C=22012', 'Z E']);
    await fixture.fail();
  }

  it.each(['ROLLBACK AND CHAIN', 'COMMIT AND CHAIN'])(
    'has no other one begun that is not like it: %s',
    async (sql) => {
      for (const messages of [[query(sql)], [run(sql), sync]]) {
        await inFailedBlock();
        await fixture.send(...messages);
        expect(fixture.told().slice(-2)).toEqual(refused);
        await fixture.send(query('SELECT 1'));
        expect(fixture.told()).toEqual(['C SELECT', 'Z I']);
      }
    },
  );

  it('nor when it has heard of the loss', async () => {
    await inBlock();
    await fixture.fail();
    await fixture.send(query('SELECT 1'));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z E']);
    await fixture.send(query('ROLLBACK AND CHAIN'));
    expect(fixture.told()).toEqual(refused);
  });

  it('nor behind other requests that were not answered', async () => {
    await inFailedBlock();
    await fixture.send(query('SELECT 1'), run('SELECT 1'), sync, query('ROLLBACK AND CHAIN'));
    expect(fixture.told()).toEqual([...failed, ...failed, ...refused]);
  });

  it('nor if it had asked for it before', async () => {
    await inBlock();
    await fixture.send(query('fail'));
    fixture.told();
    await interrupted(query('SELECT 1'), query('ROLLBACK AND CHAIN'));
    expect(fixture.told()).toEqual([...failed, ...refused]);
  });

  it.each(['ROLLBACK', 'COMMIT'])('is out of it as before: %s', async (sql) => {
    await inFailedBlock();
    await fixture.send(query(sql));
    expect(fixture.told()).toEqual(['C ROLLBACK', 'Z I']);
    await fixture.send(query('BEGIN'));
    await fixture.send(query('fail'));
    fixture.told();
    await fixture.send(query('ROLLBACK AND CHAIN'));
    expect(fixture.told()[0]).toBe('C ROLLBACK');
  });
});

describe('a client whose session may act elsewhere', () => {
  const acting = {
    upstream: (pid: number) => {
      const upstream = new FakeUpstream({ pid });
      upstream.actsElsewhere = true;
      return upstream;
    },
  };

  it.each([
    ['a change whose id did not commit', 'INSERT', true],
    ['a read', 'SELECT 1', false],
  ])('is told that the outcome is unknown, and nothing is executed again: %s', async (_, sql, isKnown) => {
    await open(acting);
    fixture.service.outcome = 'notCommitted';
    if (isKnown) fixture.upstreams[0]!.say(doubt);
    await interrupted(query(sql));
    expect(fixture.told()).toEqual(['E ERROR C=08007', 'Z I']);
    expect(fixture.upstreams.at(-1)!.heard).toEqual([]);
    await fixture.send(query('SHOW a'));
    expect(fixture.told()).toEqual(['C SHOW', 'Z I']);
  });

  it('is told so of the COMMIT of a block', async () => {
    await inBlock(acting);
    fixture.service.outcome = 'notCommitted';
    fixture.upstreams[0]!.say(doubt);
    await interrupted(query('COMMIT'));
    expect(fixture.told()).toEqual(['E ERROR C=08007', 'Z I']);
  });

  it('hears 40001 of a block that had not come to its COMMIT', async () => {
    await inBlock(acting);
    await interrupted(query('INSERT'));
    expect(fixture.told()).toEqual(['E ERROR C=40001', 'Z E']);
  });

  it('is told so where its own words say so, and its database does not', async () => {
    await open();
    await fixture.send(query('CREATE EXTENSION dblink'));
    fixture.told();
    fixture.service.outcome = 'notCommitted';
    fixture.upstreams[0]!.say(doubt);
    await interrupted(query('INSERT'));
    expect(fixture.told()).toEqual(['E ERROR C=08007', 'Z I']);
  });

  it('that notifies by a SELECT does not do so again', async () => {
    await open();
    await interrupted(query("SELECT pg_notify('a', 'b')"));
    expect(fixture.told()).toEqual(['E ERROR C=08007', 'Z I']);
  });
});

describe("a client whose session somebody has ended in the wait of its COMMIT, as the leader's gateway says", () => {
  const words = errorResponse('FATAL', outcomeUnknown(terminated.message));

  it.each([
    ['committed', ['C COMMIT', 'Z I', 'E FATAL C=57P01']],
    ['notCommitted', ['E FATAL C=57P01']],
    ['unknown', ['E FATAL C=08007']],
  ] as const)('hears what is true if that is %s, and is not given another one', async (outcome, hears) => {
    await inBlock();
    fixture.upstreams[0]!.hangs = true;
    fixture.service.outcome = outcome;
    await fixture.send(query('COMMIT'));
    fixture.upstreams[0]!.say(doubt, words);
    await settle();
    await expect.poll(() => fixture.isClosed()).toBe(true);
    expect(fixture.told()).toEqual(hears);
    expect(fixture.upstreams).toHaveLength(1);
  });

  it('hears so where nothing more is known of it', async () => {
    await inBlock();
    fixture.upstreams[0]!.hangs = true;
    await fixture.send(query('COMMIT'));
    fixture.upstreams[0]!.say(words);
    await settle();
    await fixture.fail();
    expect(fixture.told()).toEqual(['E FATAL C=08007']);
    expect(fixture.upstreams).toHaveLength(1);
  });
});

describe('a client whose session somebody ends while it is given back what it had', () => {
  it('is not given another one', async () => {
    const words = errorResponse('FATAL', terminated);
    const restoring = (pid: number): FakeUpstream => {
      const upstream = new FakeUpstream({ pid });
      if (pid === 2) upstream.say(words);
      return upstream;
    };
    await open({ upstream: restoring });
    await interrupted(query('SELECT 1'));
    await expect.poll(() => fixture.isClosed()).toBe(true);
    expect(fixture.told()).toEqual(['E FATAL C=08007']);
    expect(fixture.upstreams).toHaveLength(2);
  });
});
