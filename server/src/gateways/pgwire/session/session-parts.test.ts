/** Parts of a session that need no PostgreSQL: the client's output, cutting a transaction into parts, cancels. */
import { createServer, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Effect } from '../../../apply/effects.ts';
import { createCancelGuard } from './cancel-guard.ts';
import { createClientOutput, type ClientOutput } from './client-output.ts';
import { createPartBuilder, RowTooLarge } from './part-builder.ts';

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const one of cleanUp.splice(0)) one();
});

const socketPair = async (): Promise<{ near: Socket; far: Socket }> => {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { port: number };
  const accepted = new Promise<Socket>((resolve) => {
    server.once('connection', resolve);
  });
  const far = connect(port, '127.0.0.1');
  const near = await accepted;
  cleanUp.push(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return { near, far };
};

describe('client output', () => {
  const start = async (): Promise<{
    output: ClientOutput;
    received: () => Promise<string>;
    log: string[];
    setLease: (held: boolean) => void;
    end: () => void;
  }> => {
    const { near, far } = await socketPair();
    const log: string[] = [];
    let held = true;
    let answer: (held: boolean) => void = () => {};
    let text = '';
    far.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const output = createClientOutput({
      socket: near,
      gate: {
        held: () => held,
        awaitHeld: () =>
          new Promise((resolve) => {
            answer = resolve;
          }),
      },
      pause: (reason) => log.push(`pause ${reason}`),
      resume: (reason) => log.push(`resume ${reason}`),
      onLeaseLost: () => log.push('lease lost'),
    });
    return {
      output,
      log,
      async received() {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return text;
      },
      setLease(value) {
        held = value;
        if (value) answer(true);
      },
      end: () => answer(false),
    };
  };
  const bytes = (text: string): Buffer => Buffer.from(text);

  it('what is held goes out on release, in order, and not before', async () => {
    const { output, received } = await start();
    output.answer(bytes('a'));
    output.hold();
    output.answer(bytes('b'));
    output.aside(bytes('c'));
    output.flush();
    expect(await received()).toBe('a');
    output.release();
    output.answer(bytes('d'));
    output.flush();
    expect(await received()).toBe('abcd');
  });

  it('what is discarded never goes out, but notifications do', async () => {
    const { output, received } = await start();
    output.hold();
    output.answer(bytes('answer'));
    output.aside(bytes('notification'));
    output.discard();
    output.flush();
    expect(await received()).toBe('notification');
  });

  it('nothing leaves without the lease, and PostgreSQL is stopped until it is held again', async () => {
    const { output, received, setLease, log } = await start();
    setLease(false);
    output.answer(bytes('a'));
    output.flush();
    output.answer(bytes('b'));
    output.flush();
    expect(await received()).toBe('');
    expect(log).toEqual(['pause lease']);
    setLease(true);
    expect(await received()).toBe('ab');
    expect(log).toEqual(['pause lease', 'resume lease']);
  });

  it('when leadership ends what waited for the lease is not sent', async () => {
    const { output, received, setLease, end, log } = await start();
    setLease(false);
    output.answer(bytes('stale'));
    output.flush();
    end();
    expect(await received()).toBe('');
    output.end(bytes('fatal'));
    expect(await received()).toBe('fatal');
    expect(log).toContain('lease lost');
  });

  it('what tells of a chosen transaction goes without the lease; what follows does not', async () => {
    const { output, received, setLease } = await start();
    setLease(false);
    output.hold();
    output.answer(bytes('committed'));
    output.markChosen();
    output.ready(bytes(' ready'));
    expect(await received()).toBe('committed ready');
    output.answer(bytes(' read'));
    output.ready(bytes(' ready'));
    expect(await received()).toBe('committed ready');
  });

  it('a reader that does not read stops PostgreSQL, and starts it again', async () => {
    const { near, far } = await socketPair();
    far.pause();
    const log: string[] = [];
    const output = createClientOutput({
      socket: near,
      gate: { held: () => true, awaitHeld: () => Promise.resolve(true) },
      pause: (reason) => log.push(`pause ${reason}`),
      resume: (reason) => log.push(`resume ${reason}`),
      onLeaseLost: () => {},
    });
    while (log.length === 0) {
      output.answer(Buffer.alloc(1_000_000));
      output.flush();
    }
    expect(log).toEqual(['pause client']);
    far.resume();
    await expect.poll(() => log).toEqual(['pause client', 'resume client']);
  });
});

describe('parts of a transaction', () => {
  const insert = (...rows: string[]): Effect => ({ kind: 'insert', relation: '"s"."t"', rows });
  const build = (effects: readonly Effect[], partBytesMax: number) => {
    const builder = createPartBuilder({ transaction: 'x', partBytesMax });
    const parts = effects.flatMap((effect) => builder.add(effect));
    return [...parts, builder.finish()];
  };

  it('a small transaction is one part, which is the last', () => {
    expect(build([insert('(1)'), insert('(2)')], 100_000)).toEqual([
      {
        transaction: 'x',
        part: 0,
        last: true,
        partSlots: [],
        sql: [],
        effects: [insert('(1)'), insert('(2)')],
      },
    ]);
  });

  it('parts keep the order of effects and rows, and none is above the limit', () => {
    const rows = Array.from({ length: 500 }, (_, n) => `(${n},${'x'.repeat(n)})`);
    const after = rows.map((row) => row.toUpperCase());
    const parts = build(
      [
        insert(...rows),
        { kind: 'truncate', relation: 't' },
        { kind: 'update', relation: 't', before: rows, after },
      ],
      40_000,
    );
    const effects = parts.flatMap((part) => part.effects);
    expect(effects.flatMap((effect) => (effect.kind === 'insert' ? effect.rows : []))).toEqual(rows);
    expect(effects.flatMap((effect) => (effect.kind === 'update' ? effect.after : []))).toEqual(after);
    expect(effects.findIndex((effect) => effect.kind === 'truncate')).toBe(
      effects.findLastIndex((effect) => effect.kind === 'insert') + 1,
    );
    for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(40_000);
    expect(parts.map(({ part, last }) => [part, last])).toEqual(
      parts.map((_, n) => [n, n === parts.length - 1]),
    );
  });

  it('a large row has a part of its own, between the others', () => {
    const builder = createPartBuilder({ transaction: 'x', partBytesMax: 40_000 });
    const large = 'x'.repeat(60_000);
    const full = [insert('a'), insert(large), insert('b')].flatMap((effect) => builder.add(effect));
    const rows = [...full, builder.finish()].map(({ effects }) =>
      effects.flatMap((effect) => (effect.kind === 'insert' ? effect.rows : [])),
    );
    expect(rows).toEqual([['a'], [large], ['b']]);
  });

  it('a row that is too large even for that is refused', () => {
    const builder = createPartBuilder({ transaction: 'x', partBytesMax: 40_000 });
    expect(() => builder.add(insert('x'.repeat(40_000 * 24)))).toThrow(RowTooLarge);
  });

  it('the SQL for people is shortened and bounded', () => {
    const builder = createPartBuilder({ transaction: 'x', partBytesMax: 100_000 });
    for (let n = 0; n < 100; n += 1) builder.addSql(`${n}${'x'.repeat(1_000)}`);
    const { sql } = builder.finish();
    expect(sql).toHaveLength(16);
    expect(sql[0]).toHaveLength(400);
  });
});

describe('cancel guard', () => {
  it('lets none through once closed, and waits for those under way', async () => {
    const guard = createCancelGuard();
    const log: string[] = [];
    let arrive = (): void => {};
    const first = guard.request(
      () =>
        new Promise((resolve) => {
          arrive = () => {
            log.push('delivered');
            resolve();
          };
        }),
    );
    const closed = guard.close().then((sent) => log.push(`closed, one was sent: ${sent}`));
    await guard.request(async () => void log.push('never'));
    arrive();
    await Promise.all([first, closed]);
    expect(log).toEqual(['delivered', 'closed, one was sent: true']);
    guard.open();
    expect(await guard.close()).toBe(false);
  });
});
