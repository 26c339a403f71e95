/** What happened last, large, in the place of the page's head. */
import { useMoment, useRun } from '../../components/run.tsx';
import { Button } from '../../components/button.tsx';
import { usePresenting } from '../../components/use-presenter.ts';
import { type Caption, captionAt } from '../../present/caption.ts';
import './present.css';

/** Of the run. */
export function CaptionLine() {
  const store = useRun();
  const momentMs = useMoment(200);
  const record = store.record();
  const { state } = store.get();
  const caption = captionAt(
    { tracks: record.tracks, events: state.trace.events, msAt: (us) => record.clock.msAt(us) },
    momentMs,
  );
  return <PresentHead text={caption?.text ?? 'All is well.'} tone={caption?.tone ?? 'plain'} />;
}

export function PresentHead({ text, tone }: Pick<Caption, 'text' | 'tone'>) {
  const { leave } = usePresenting();
  return (
    <header className="present-head">
      <h1 className="visually-hidden">Barista</h1>
      <p className="present-caption" data-tone={tone} aria-live="polite" data-testid="caption">
        {text}
      </p>
      <Button
        tone="plain"
        icon="close"
        aria-label="Leave presenter mode"
        data-testid="present-leave"
        onClick={leave}
      />
    </header>
  );
}
