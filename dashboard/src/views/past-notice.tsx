/** Says unmistakably that what is shown is not now: how long ago, whether it stands or plays, and the way back. */
import { Button } from '../components/button.tsx';
import { useNow } from '../components/hooks.ts';
import { useMoment, useRun, useSelected } from '../components/run.tsx';
import { spellAge } from '../stage/draw-stage.ts';
import './past-notice.css';

export function PastNotice() {
  const store = useRun();
  const { playhead } = useSelected(
    store,
    (view) => view,
    (one, other) => one.playhead.mode === other.playhead.mode,
  );
  if (playhead.mode === 'following') return null;
  return <Past isPlaying={playhead.mode === 'playing'} />;
}

function Past({ isPlaying }: { readonly isPlaying: boolean }) {
  const store = useRun();
  const momentMs = useMoment(100);
  // Where the view stands, its age still grows.
  useNow(100);
  const now = store.source.kind === 'live' ? 'live' : 'now';
  return (
    <div className="past" role="status" data-testid="past">
      <span className="past-mark" aria-hidden="true" />
      <strong className="num" data-testid="past-age">
        {spellAge(Math.max(0, store.source.nowMs() - momentMs))} ago
      </strong>
      <span>{isPlaying ? 'playing' : 'paused'}</span>
      <Button tone="primary" icon="follow" data-testid="back-to-live" onClick={store.follow}>
        Back to {now}
      </Button>
    </div>
  );
}
