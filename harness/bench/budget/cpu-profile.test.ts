import { describe, expect, it } from 'vitest';
import { summarize, type CpuProfile } from './cpu-profile.ts';
import { flameGraph } from './flame-graph.ts';

const dist = 'file:///somewhere/server/dist';

function node(id: number, functionName: string, url: string, children: readonly number[] = []) {
  return { id, callFrame: { functionName, url, lineNumber: 1 }, children };
}

/** Samples stand for the time until the next one. */
const profile: CpuProfile = {
  nodes: [
    node(1, '(root)', '', [2, 3, 4, 8]),
    node(2, '(idle)', ''),
    node(3, '(garbage collector)', ''),
    node(4, 'onStreamRead', 'node:internal/stream_base_commons', [5]),
    node(5, 'onData', `${dist}/adapters/ws-transport/peer-listener.js`, [6]),
    node(6, 'handle', `${dist}/multipaxos/step.js`, [7]),
    node(7, 'writev', 'node:internal/net'),
    node(8, '', `${dist}/gateways/pgwire/session/session.js`),
  ],
  samples: [2, 5, 7, 6, 4, 3, 8, 2],
  timeDeltas: [0, 1000, 10, 20, 40, 80, 160, 320],
};

describe('a profile', () => {
  const { busyUs, stagesUs, root } = summarize(profile);

  it('is divided by the folders of our functions, and what these call counts with them', () => {
    expect(Object.fromEntries(stagesUs)).toEqual({
      peers: 10,
      consensus: 20 + 40,
      system: 80,
      garbage: 160,
      gateway: 320,
    });
  });

  it('leaves out the time in which nothing was done', () => {
    expect(busyUs).toBe(630);
  });

  it('adds up stacks', () => {
    const read = root.callees.get('system onStreamRead');
    expect(read).toMatchObject({ us: 150 });
    expect(read?.callees.get('peers onData')?.callees.get('consensus handle')).toMatchObject({ us: 60 });
  });

  it('is drawn with each bar as wide as its time, and without what could break the picture', () => {
    const svg = flameGraph('<a> & "b"', root);
    expect(svg).toContain('&lt;a&gt; &amp; &quot;b&quot;');
    expect(svg).toContain('<title>(anonymous): 50.8 % (gateway: the client and its session)</title>');
    expect(svg).toContain(`width="${((320 / 630) * 1200).toFixed(1)}"`);
    expect(svg).not.toContain('(idle)');
  });
});
