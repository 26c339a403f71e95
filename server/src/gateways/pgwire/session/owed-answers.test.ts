import { describe, expect, it } from 'vitest';
import * as send from '../../../pgwire/frontend-messages.ts';
import { frame } from '../testing/frames.ts';
import { inPieces, run, sends, started } from '../testing/tracked.ts';
import { RequestTracker } from './request-tracker.ts';

const { sync, flush, query } = send;
const copyDone = frame('c');

describe('what a client is owed', () => {
  it('start-up, Query, Sync and FunctionCall each owe one ReadyForQuery', () => {
    const tracker = new RequestTracker();
    tracker.startedUp();
    expect([tracker.outstanding, tracker.due]).toEqual([true, 1]);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
    sends(tracker, query('SELECT 1'), run('SELECT 2'), sync, frame('F', 'x'));
    expect(tracker.due).toBe(3);
    tracker.told(2, 'I');
    expect([tracker.outstanding, tracker.due]).toEqual([true, 1]);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('messages behind the last Sync are outstanding, too', () => {
    const tracker = started();
    sends(tracker, run('SELECT 1'), flush);
    expect([tracker.outstanding, tracker.due]).toEqual([true, 0]);
    sends(tracker, sync);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('is counted the same however the stream is cut', () => {
    for (const tracker of inPieces(
      query('SELECT 1'),
      run("SELECT 'x'"),
      sync,
      frame('d', 'COMMIT'),
      frame('F', 'x'),
    )) {
      expect([tracker.due, tracker.open, tracker.request, tracker.terminated]).toEqual([3, false, 1, false]);
    }
    for (const tracker of inPieces(run('SELECT 1'), send.terminate)) {
      expect([tracker.due, tracker.open, tracker.terminated]).toEqual([0, true, true]);
    }
  });

  it('a message that is not complete is not owed', () => {
    const tracker = started();
    sends(tracker, query('SELECT 1').subarray(0, 8));
    expect(tracker.due).toBe(0);
  });

  it('counts requests: a new one begins when nothing was owed', () => {
    const tracker = started();
    const before = tracker.request;
    sends(tracker, query('SELECT 1'), query('SELECT 2'));
    expect(tracker.request).toBe(before + 1);
    tracker.told(2, 'I');
    sends(tracker, sync);
    expect(tracker.request).toBe(before + 2);
  });

  it('a Sync that PostgreSQL ignores because COPY data is due owes nothing', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync);
    expect(tracker.due).toBe(1);
    tracker.copyBegan();
    expect([tracker.due, tracker.outstanding]).toEqual([0, true]);
    sends(tracker, sync, frame('d', 'x'), copyDone, sync);
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('a COPY by Query owes one, and so does what follows it', () => {
    const tracker = started();
    sends(tracker, query('COPY t FROM STDIN'));
    tracker.copyBegan();
    sends(tracker, frame('d', 'x'), copyDone);
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    sends(tracker, run('SELECT 1'), sync);
    expect(tracker.due).toBe(1);
  });

  it('a COPY whose data was sent ahead of time owes one', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync, frame('d', 'x'), copyDone, sync);
    tracker.copyBegan();
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('a COPY that fails does not make the next Sync count for nothing', () => {
    const tracker = started();
    sends(tracker, query('COPY t FROM STDIN'));
    tracker.copyBegan();
    tracker.told(1, 'I');
    sends(tracker, run('SELECT 1'), sync);
    expect(tracker.due).toBe(1);
  });
});

describe('what a client is owed around a COPY that it did not wait for', () => {
  const copyData = frame('d', '1\n');

  it('what was sent behind the end of the data is owed as well', () => {
    const tracker = started();
    sends(tracker, query('COPY t FROM STDIN'), copyData, copyDone, run('INSERT INTO t VALUES (2)'), sync);
    tracker.copyBegan();
    expect(tracker.due).toBe(2);
    tracker.told(1, 'I');
    expect([tracker.due, tracker.outstanding]).toEqual([1, true]);
    expect(tracker.verdict).not.toBe('nothing');
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('only a Sync ahead of the end of the data is ignored', () => {
    const tracker = started();
    const copy = [run('COPY t FROM STDIN'), sync, copyData, copyDone, sync];
    sends(tracker, ...copy, query('INSERT INTO t VALUES (2)'), ...copy);
    tracker.copyBegan();
    expect(tracker.due).toBe(4);
    tracker.told(1, 'I');
    tracker.told(1, 'I');
    tracker.copyBegan();
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('what waits for the answers ahead of it does not wait for that of a Sync that is ignored', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync, copyData, copyDone, sync);
    tracker.owed.awaitUpTo(tracker.owed.position);
    expect(tracker.owed.dueAhead).toBe(2);
    tracker.copyBegan();
    expect(tracker.owed.dueAhead).toBe(1);
  });

  it('a COPY behind another request is not taken for that one', () => {
    const tracker = started();
    sends(tracker, run('SELECT 1'), sync, run('COPY t FROM STDIN'), sync, copyData, copyDone, sync);
    // PostgreSQL has answered the first one, which the client has not been told yet.
    tracker.copyBegan(1);
    expect(tracker.due).toBe(2);
    tracker.told(1, 'I');
    expect([tracker.due, tracker.outstanding]).toEqual([1, true]);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('the answer to an earlier request does not end the COPY', () => {
    const tracker = started();
    sends(tracker, query('SELECT 1'), query('COPY t FROM STDIN'));
    tracker.copyBegan(1);
    tracker.told(1, 'I');
    sends(tracker, sync, copyData, copyDone);
    expect(tracker.due).toBe(1);
  });

  it('two in one batch are told apart', () => {
    const tracker = started();
    const copy = [run('COPY t FROM STDIN'), copyData, copyDone];
    sends(tracker, ...copy, ...copy, sync);
    tracker.copyBegan();
    tracker.copyBegan();
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('the statements ahead of it in its batch are not taken for it', () => {
    const tracker = started();
    sends(tracker, run('INSERT INTO t VALUES (2)'), run('COPY t FROM STDIN'), sync);
    tracker.copyBegan();
    expect([tracker.due, tracker.outstanding]).toEqual([0, true]);
    sends(tracker, copyData, copyDone, sync);
    expect(tracker.due).toBe(1);
  });

  it('one that fails before it has read what was sent with it has not ignored the Sync', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync);
    tracker.copyBegan();
    tracker.failed();
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('an error ends it: the Sync behind that is answered', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), flush);
    tracker.copyBegan();
    sends(tracker, frame('d', 'wrong\n'));
    tracker.failed();
    sends(tracker, sync, query('INSERT INTO t VALUES (2)'));
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(true);
    expect(tracker.verdict).not.toBe('nothing');
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('an error that was told behind the end of the data takes nothing away', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync);
    tracker.copyBegan();
    sends(tracker, frame('d', 'wrong\n'), copyDone, sync);
    tracker.failed();
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  describe('that failed, and may have ignored a Sync or not', () => {
    const insert = query('INSERT INTO t VALUES (2)');
    const copy = [run('COPY t FROM STDIN'), sync, copyData, copyDone, sync];

    /** ReadyForQuery, with an answer before it or `bare`. */
    function ready(tracker: RequestTracker, kind: 'answer' | 'bare'): void {
      tracker.ready(kind === 'bare');
      tracker.told(1, 'I');
    }

    function failedCopy(...messages: readonly Buffer[]): RequestTracker {
      const tracker = started();
      sends(tracker, ...messages);
      tracker.copyBegan();
      tracker.failed();
      return tracker;
    }

    it.each([0, 1])('what was sent behind it is told apart from %i Syncs', (surplus) => {
      const at = failedCopy(...copy, insert);
      ready(at, 'answer');
      for (let n = 0; n < surplus; n += 1) ready(at, 'bare');
      expect([at.due, at.verdict]).toEqual([1, 'several']);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
    });

    it.each([0, 1, 2])('so is what is sent when the error is told, and later: %i Syncs', (surplus) => {
      const at = failedCopy(query('COPY t FROM STDIN'), sync, sync);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
      if (surplus === 2) ready(at, 'bare');
      sends(at, insert);
      for (let n = 0; n < Math.min(surplus, 1); n += 1) ready(at, 'bare');
      expect([at.due, at.verdict]).toEqual([1, 'one']);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
      sends(at, sync, insert);
      ready(at, 'bare');
      expect(at.outstanding).toBe(true);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
    });

    it.each([0, 1])('so are a Sync of its own and what is sent behind it: %i Syncs', (surplus) => {
      const at = failedCopy(run('COPY t FROM STDIN'), sync);
      sends(at, sync, insert);
      ready(at, 'answer');
      for (let n = 0; n < surplus; n += 1) ready(at, 'bare');
      expect(at.outstanding).toBe(true);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
    });

    it.each([0, 1])(
      'the first of them ends the batch, and %i more are told apart from what is sent then',
      (more) => {
        const at = failedCopy(run('COPY t FROM STDIN'), sync, sync);
        expect(at.outstanding).toBe(true);
        ready(at, 'answer');
        expect(at.outstanding).toBe(false);
        sends(at, insert);
        for (let n = 0; n < more; n += 1) ready(at, 'bare');
        expect([at.due, at.verdict]).toEqual([1, 'one']);
        ready(at, 'answer');
        expect(at.outstanding).toBe(false);
      },
    );

    it.each([0, 1])('what waits for the answers of both waits for theirs, too: %i Syncs', (surplus) => {
      const at = started();
      sends(at, ...copy, insert);
      at.owed.awaitUpTo(at.owed.position);
      at.copyBegan();
      at.failed();
      ready(at, 'answer');
      for (let n = 0; n < surplus; n += 1) ready(at, 'bare');
      expect(at.owed.dueAhead).toBe(1);
      ready(at, 'answer');
      expect(at.owed.dueAhead).toBe(0);
    });

    it('an error of the next request is not taken for its own, though its end is not told yet', () => {
      const at = started();
      sends(at, ...copy, insert);
      at.copyBegan();
      at.failed(1);
      expect(at.mayHaveSurplus).toBe(false);
      at.told(2, 'I');
      expect(at.outstanding).toBe(false);
    });

    it('what is told of a later COPY is not taken for it', () => {
      const at = failedCopy(...copy, ...copy);
      ready(at, 'answer');
      ready(at, 'bare');
      at.copyBegan();
      expect(at.due).toBe(1);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
    });
  });

  it.each([
    ['at once', true],
    ['when they are asked for', false],
  ])('Syncs among the data of several COPYs of one Query are ignored: sent %s', (_, atOnce) => {
    const tracker = started();
    const copies = query('COPY t FROM STDIN; COPY t FROM STDIN');
    const data = [sync, copyData, sync, copyDone];
    if (atOnce) sends(tracker, copies, ...data, ...data);
    else sends(tracker, copies);
    tracker.copyBegan();
    if (!atOnce) sends(tracker, ...data);
    tracker.copyBegan();
    if (!atOnce) sends(tracker, ...data);
    expect(tracker.due).toBe(1);
    sends(tracker, sync);
    expect(tracker.due).toBe(2);
    tracker.told(2, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('of very many requests that are sent at once none is taken for answered', () => {
    const tracker = started();
    const copy = [run('COPY t FROM STDIN'), sync, copyData, copyDone, sync];
    for (let n = 0; n < 5_000; n += 1) sends(tracker, ...copy);
    tracker.copyBegan(9_998);
    expect(tracker.due).toBe(10_000);
  });
});
