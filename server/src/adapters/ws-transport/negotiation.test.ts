/** Replicas that speak different versions of the peers' protocol, and those who would have them speak an older one than they can. */
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import type { Message } from '../../multipaxos/types/messages.ts';
import type { ControlMessage } from '../../ports/control.ts';
import { eventually } from '../../ports/testing/eventually.ts';
import { freePort } from '../testing/ports.ts';
import {
  type Answer,
  answerChallenge,
  checkAnswer,
  readAnswer,
  readChallenge,
  welcome,
} from './handshake.ts';
import { encodeMessage } from './message-codec.ts';
import goldens from './goldens/handshake-6.json' with { type: 'json' };
import { sendRaw, stranger } from './testing/stranger.ts';
import {
  ballot,
  connectedPair,
  endAll,
  group,
  heartbeat,
  onEnd,
  pair,
  pause,
  points,
  r1,
  r2,
  secret,
  start,
} from './testing/transports.ts';

afterEach(endAll);

const versions = (oldest: number, newest: number) => ({ versions: { oldest, newest } });
const resigned: Message = { kind: 'Resigned', group, ballot, successor: r2 };
const question: ControlMessage = { kind: 'LeadQuestion', run: 'r1 1', number: 1 };
const asked = { to: r1, purpose: 'messages' } as const;

describe('two replicas', () => {
  it('speak the greatest version that both do, and tell it', async () => {
    const { one, two } = await connectedPair(versions(5, 7), versions(6, 9));
    expect([one.versionOf(r2), two.versionOf(r1)]).toEqual([7, 7]);
    one.send(r2, resigned);
    await eventually(() => expect(two.received).toEqual([[r1, resigned]]));
  });

  it('say nothing to each other that one of them does not know', async () => {
    const { one, two } = await connectedPair(versions(5, 6), versions(5, 5));
    const heard: ControlMessage[] = [];
    two.onControl((_from, message) => heard.push(message));
    expect([one.versionOf(r2), two.versionOf(r1)]).toEqual([5, 5]);
    one.send(r2, resigned);
    one.sendControl(r2, question);
    one.send(r2, heartbeat(1));
    await eventually(() => expect(two.received).toEqual([[r1, heartbeat(1)]]));
    expect(heard).toEqual([]);
    expect(one.counters()).toMatchObject({ sent: 1, dropped: 2 });
    expect(two.connected()).toEqual([r1]);
  });

  it('a message that a fault holds back does not reach one who came back with an older version', async () => {
    const { one, two, ports } = await connectedPair(versions(5, 6), versions(5, 6));
    one.setFault({ from: r1, to: r2, cut: false, delayMs: 1500, drop: 0, duplicate: 0 });
    one.send(r2, resigned);
    await two.close();
    const again = await start(r2, ports, versions(5, 5));
    await eventually(() => expect(one.versionOf(r2)).toBe(5));
    await eventually(() => expect(one.counters().dropped).toBe(1));
    expect(again.received).toEqual([]);
    expect(again.connected()).toEqual([r1]);
  });

  it('that have no version in common do not connect, and each says both ranges and which to upgrade', async () => {
    const reasons: [string[], string[]] = [[], []];
    const tell = (to: string[]) => (_peer: unknown, _up: boolean, why: string) => void to.push(why);
    const { one, two } = await pair(
      { ...versions(5, 5), onPeerChange: tell(reasons[0]) },
      { ...versions(6, 7), onPeerChange: tell(reasons[1]) },
    );
    await eventually(() => {
      expect(reasons[0].at(-1)).toBe(
        "speaks versions 6 to 7 of the peers' protocol, this replica version 5: upgrade this one first",
      );
      expect(reasons[1].at(-1)).toBe(
        "speaks version 5 of the peers' protocol, this replica versions 6 to 7: upgrade it first",
      );
    });
    expect([one.connected(), two.connected(), one.versionOf(r2)]).toEqual([[], [], null]);
  });
});

/** As builds did it that knew one version, and no ranges. */
function plainAnswer(nonce: string): string {
  return JSON.stringify(
    answerChallenge(
      { group, id: r2, secret, cluster: null, versions: { oldest: 6, newest: 6 } },
      asked,
      { version: 6, nonce },
      6,
    ),
  );
}

describe('a build from before versions were negotiated', () => {
  it('is understood: its proof, which was recorded, is taken, and it is given the one that it computes itself', () => {
    const { challenge, answer, welcomed } = goldens;
    const self = { group, id: r1, secret, cluster: 'c0ffee', versions: { oldest: 6, newest: 9 } };
    const said = readAnswer(JSON.stringify(answer)) as Answer;
    expect(said).toEqual(answer);
    expect(checkAnswer(self, new Set(['r2']), challenge.nonce, said)).toMatchObject({
      code: 'ok',
      version: 6,
    });
    expect(welcome(self, challenge.nonce, said)).toEqual(welcomed);
  });

  it('finds its own version in the challenge of one that speaks later ones, too', async () => {
    const one = await start(r1, { r1: await freePort(), r2: 0 }, versions(6, 8));
    const told = await stranger(one.port, (socket, text) => {
      const challenge = readChallenge(text);
      if (challenge !== null) socket.send(plainAnswer(challenge.nonce));
      else sendRaw(socket, 'r2', 'r1', encodeMessage(heartbeat(3)));
      if (challenge === null) setTimeout(() => socket.close(), 50);
    });
    expect(readChallenge(told.texts[0] ?? '')?.version).toBe(6);
    expect(points(one.received)).toEqual([3]);
  });

  it('is dialled as it wants to be', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    onEnd(() => server.close());
    await once(server, 'listening');
    const answers: Answer[] = [];
    server.on('connection', (socket) => {
      socket.on('message', (data, isBinary) => {
        const answer = isBinary ? null : readAnswer((data as Buffer).toString());
        if (answer === null) return;
        answers.push(answer);
        const self = { group, id: r2, secret, cluster: null, versions: { oldest: 6, newest: 6 } };
        socket.send(JSON.stringify(welcome(self, 'abcd', answer)));
      });
      socket.send(JSON.stringify({ version: 6, nonce: 'abcd' }));
    });
    const ports = { r1: 0, r2: (server.address() as { port: number }).port };
    const one = await start(r1, ports, versions(6, 8));
    await eventually(() => expect(one.versionOf(r2)).toBe(6));
    expect(answers[0]?.version).toBe(6);
  });
});

describe('nobody has two replicas speak an older version than they can', () => {
  const listening = async () => start(r1, { r1: await freePort(), r2: 0 }, versions(5, 6));
  const identity = { group, id: r2, secret, cluster: null, versions: { oldest: 5, newest: 6 } };

  it('who takes the range out of the challenge on its way makes the proof a wrong one', async () => {
    const one = await listening();
    const { reason } = await stranger(one.port, (socket, text) => {
      const challenge = readChallenge(text);
      if (challenge === null) return;
      const nonce = challenge.nonce.slice(challenge.nonce.indexOf(':') + 1);
      socket.send(JSON.stringify(answerChallenge(identity, asked, { version: 5, nonce }, 5)));
    });
    expect(reason).toBe('does not know the cluster secret');
  });

  it('so does who takes it out of the answer', async () => {
    const one = await listening();
    const { reason } = await stranger(one.port, (socket, text) => {
      const challenge = readChallenge(text);
      if (challenge === null) return;
      const answer = answerChallenge(identity, asked, challenge, 5);
      const nonce = answer.nonce.slice(answer.nonce.indexOf(':') + 1);
      socket.send(JSON.stringify({ ...answer, nonce }));
    });
    expect(reason).toBe('does not know the cluster secret');
  });

  it('a peer that chooses it itself is refused', async () => {
    const one = await listening();
    const { reason } = await stranger(one.port, (socket, text) => {
      const challenge = readChallenge(text);
      if (challenge !== null) socket.send(JSON.stringify(answerChallenge(identity, asked, challenge, 5)));
    });
    expect(reason).toBe("chose version 5 of the peers' protocol, though both speak 6");
  });

  it('an answer that was overheard is of no use on another connection', async () => {
    const one = await listening();
    let overheard = '';
    const answer = (socket: { send(text: string): void; close(): void }, text: string): void => {
      const challenge = readChallenge(text);
      if (challenge === null) return socket.close();
      overheard ||= JSON.stringify(answerChallenge(identity, asked, challenge, 6));
      socket.send(overheard);
    };
    const first = await stranger(one.port, answer);
    expect(first.texts).toHaveLength(2);
    const second = await stranger(one.port, answer);
    expect(second.reason).toBe('does not know the cluster secret');
    await pause(10);
    expect(one.received).toEqual([]);
  });
});
