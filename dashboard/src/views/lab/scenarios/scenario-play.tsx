/** A scenario that is played: what has been said so far, what is waited for, and in the end what was guessed beside what happened. */
import type { ReactNode } from 'react';
import { Button } from '../../../components/button.tsx';
import { useMoment, useRun } from '../../../components/run.tsx';
import { Terms } from '../../../components/term.tsx';
import type { Acts } from '../../../components/use-acts.ts';
import { chapterOf, type Play, type SaidChapter } from '../../../scenarios/play.ts';
import type { Answer } from '../../../scenarios/scenario.ts';
import type { ScenarioPlayer } from '../../../scenarios/scenario-player.ts';
import { seconds } from '../../../scenarios/words.ts';
import { wholeRequests } from '../../../stage/acts.ts';
import { RuleText } from './rule-text.tsx';

interface ScenarioPlayProps {
  readonly play: Play;
  readonly player: ScenarioPlayer;
  readonly acts: Acts;
  readonly speed: number;
  readonly onAgain: () => void;
  readonly onOther: () => void;
}

export function ScenarioPlay({ play, player, acts, speed, onAgain, onOther }: ScenarioPlayProps) {
  const { scenario, stage, said, chapter } = play;
  const isOver = stage.kind === 'answered' || stage.kind === 'refused' || stage.kind === 'gone';
  const current = stage.kind === 'told' ? said.at(-1) : undefined;
  const before = current === undefined ? said : said.slice(0, -1);
  return (
    <>
      <div
        role="region"
        aria-label="What is said"
        // It is scrolled by the keyboard where it is long.
        tabIndex={0}
        className="scenarios-body"
        data-testid="scenario-play"
        data-stage={stage.kind}
        data-chapter={chapter}
      >
        <p className="scenario-guess quiet">
          You said: <strong>{textOf(play, play.guess)}</strong>
        </p>
        <ol className="scenario-chapters">
          {before.map((one) => (
            <Said key={one.title} said={one} />
          ))}
          {isOver ? null : (
            <li key={`chapter ${chapter}`} ref={bringIntoView} className="scenario-now" aria-current="step">
              <h3>
                <span className="num">
                  {chapter + 1} of {scenario.chapters.length}
                </span>
                {chapterOf(play).title}
              </h3>
              <div aria-live="polite">
                {stage.kind === 'waiting' ? (
                  <Waiting play={play} sinceMs={stage.sinceMs} untilMs={stage.untilMs} />
                ) : null}
                {current === undefined ? null : (
                  <p className="scenario-caption" data-testid="scenario-caption">
                    <Terms text={current.caption} />
                  </p>
                )}
                {stage.kind === 'missed' ? <Missed saw={stage.saw} todo={stage.todo} kind="missed" /> : null}
              </div>
              <RuleText rule={chapterOf(play).rule} />
            </li>
          )}
        </ol>
        <div aria-live="polite">
          {stage.kind === 'answered' ? <Answered play={play} answer={stage.answer} /> : null}
          {stage.kind === 'refused' ? <Missed saw={stage.why} todo={stage.todo} kind="refused" /> : null}
          {stage.kind === 'gone' ? (
            <p className="scenario-missed" data-testid="scenario-gone">
              {stage.why}
            </p>
          ) : null}
        </div>
      </div>
      <footer className="scenarios-foot">
        {isOver ? (
          <>
            <Button tone="primary" data-testid="scenario-other" onClick={onOther}>
              Other scenarios
            </Button>
            <Button data-testid="scenario-again" onClick={onAgain}>
              Again
            </Button>
            <MakeWhole acts={acts} />
          </>
        ) : stage.kind === 'missed' ? (
          <>
            <Button tone="primary" data-testid="scenario-wait" onClick={() => player.waitLonger(speed)}>
              Wait longer
            </Button>
            <MakeWhole acts={acts} />
          </>
        ) : (
          <Button
            tone="primary"
            icon="play"
            disabled={stage.kind === 'waiting'}
            data-testid="scenario-go-on"
            onClick={() => player.goOn(speed)}
          >
            {chapter + 1 < scenario.chapters.length ? 'Go on' : 'The answer'}
          </Button>
        )}
      </footer>
    </>
  );
}

/** What is spoken of now, from its head on. */
function bringIntoView(element: HTMLElement | null): void {
  element?.closest('.scenarios-body')?.scrollTo({ top: element.offsetTop - 14 });
}

function textOf({ question }: Play, choice: string | null): string {
  return question.choices.find(({ id }) => id === choice)?.text ?? 'none of these';
}

/** Told already: its moment can be looked at again. */
function Said({ said: { title, caption, atMs } }: { readonly said: SaidChapter }): ReactNode {
  const store = useRun();
  return (
    <li>
      <details>
        <summary>{title}</summary>
        <p>
          <Terms text={caption} />
        </p>
        <Button tone="plain" icon="history" data-testid="scenario-look" onClick={() => store.standAt(atMs)}>
          Look at that moment
        </Button>
      </details>
    </li>
  );
}

function Waiting({
  play,
  sinceMs,
  untilMs,
}: {
  readonly play: Play;
  readonly sinceMs: number;
  readonly untilMs: number;
}) {
  const { source } = useRun();
  useMoment(200);
  const now = source.nowMs();
  const isStanding = source.world?.pace().mode === 'standing';
  return (
    <p className="scenario-waiting">
      <span className="scenario-wait-bar" aria-hidden="true">
        <span
          style={{ width: `${Math.min(100, (100 * Math.max(0, now - sinceMs)) / (untilMs - sinceMs))}%` }}
        />
      </span>
      {isStanding ? 'The world stands. Let it go on; waiting' : 'Waiting'} until{' '}
      {chapterOf(play).awaits(play.told)}
      <span aria-hidden="true" className="num quiet scenario-clock">
        {' '}
        · {seconds(Math.max(0, now - sinceMs))}
      </span>
    </p>
  );
}

function Missed({
  saw,
  todo,
  kind,
}: {
  readonly saw: string;
  readonly todo: string;
  readonly kind: 'missed' | 'refused';
}) {
  return (
    <div className="scenario-missed" data-testid={`scenario-${kind}`}>
      <p>{saw}</p>
      <p>{todo}</p>
    </div>
  );
}

function Answered({ play, answer }: { readonly play: Play; readonly answer: Answer }) {
  const isRight = answer.choice === play.guess;
  return (
    <section
      ref={bringIntoView}
      className="scenario-answer"
      data-testid="scenario-answer"
      data-right={isRight}
      data-choice={answer.choice ?? ''}
    >
      <p className="scenario-verdict">{isRight ? 'As you said' : 'Not as you said'}</p>
      <h3>{textOf(play, answer.choice)}</h3>
      <p>
        <strong>{answer.happened}</strong> <Terms text={answer.why} />
      </p>
      <RuleText rule={answer.rule} />
    </section>
  );
}

function MakeWhole({ acts }: { readonly acts: Acts }) {
  const store = useRun();
  const { cluster } = store.get().state;
  const whole = cluster === null ? [] : wholeRequests(cluster);
  if (whole.length === 0) return null;
  return (
    <Button
      icon="heal"
      asksServer
      data-testid="scenario-whole"
      onClick={() => acts.act('Everything is whole', whole)}
    >
      Make everything whole
    </Button>
  );
}
