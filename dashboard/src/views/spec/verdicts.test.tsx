import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import type { LayerVerdict } from '../../spec/check-protocol.ts';
import { Verdicts } from './verdicts.tsx';

const refused: LayerVerdict = {
  module: 'Paxos',
  accepted: 0,
  notJudged: null,
  refusal: { action: 'Fsync', replica: 'r2', reason: 'the log had nothing to flush', number: 0, event: null },
};
const accepted: LayerVerdict = { module: 'Lease', accepted: 7, refusal: null, notJudged: null };

it('a refusal says why, where it belongs to no event of its own as well', () => {
  const shown = renderToStaticMarkup(
    <Verdicts verdict={{ layers: [refused, accepted], leftOut: null }} onJump={() => undefined} />,
  );
  expect(shown).toContain('the log had nothing to flush');
  expect(shown).toContain('Fsync r2');
  expect(shown).not.toContain('data-testid="jump"');
  expect(shown).toContain('each of 7 events');
});
