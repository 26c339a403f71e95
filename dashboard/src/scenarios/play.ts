/**
 * A scenario that is being played: which chapter, what was seen, and what has been said of it. Pure: what is seen comes with the calls, and acts go out as data.
 *
 * Invariants: a chapter has come about only when its condition holds of what was seen; what was said of a moment does not change later; there is no end to a chapter but that, its bound, or that the reader leaves.
 */
import type { FaultRequest } from '../../../server/src/api/status.ts';
import type { Marked } from '../stage/draw-marks.ts';
import type { Answer, Chapter, Question, Scenario, Told } from './scenario.ts';
import type { Rule } from './rules.ts';
import type { Seen } from './seen.ts';
import { spellGroup } from './words.ts';

/** What was said when a chapter had come about. */
export interface SaidChapter {
  readonly title: string;
  readonly caption: string;
  readonly rule: Rule;
  /** On the run's clock. */
  readonly atMs: number;
}

export type Stage =
  /** `sinceMs`: when its acts were sent; `untilMs`: its bound. */
  | { readonly kind: 'waiting'; readonly sinceMs: number; readonly untilMs: number }
  /** It has come about, and the reader has not gone on. */
  | { readonly kind: 'told' }
  | { readonly kind: 'missed'; readonly saw: string; readonly todo: string }
  /** What a chapter asked for was not done: there is nothing to wait for. */
  | { readonly kind: 'refused'; readonly why: string; readonly todo: string }
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** The run that it was played on is there no more, or cannot be asked. */
  | { readonly kind: 'gone'; readonly why: string };

export interface Play {
  readonly scenario: Scenario;
  readonly question: Question;
  /** Of a choice. */
  readonly guess: string;
  readonly told: Told;
  /** The one that is played, or was told last. */
  readonly chapter: number;
  readonly stage: Stage;
  readonly said: readonly SaidChapter[];
  readonly marks: Marked;
}

export interface Played {
  readonly play: Play;
  readonly acts: readonly FaultRequest[];
}

/** `start`: before anything is done. The first chapter begins. */
export function beginPlay(scenario: Scenario, guess: string, start: Seen): Played {
  const told: Told = { start, begins: [], ends: [], now: start };
  const play: Play = {
    scenario,
    question: scenario.question(start),
    guess,
    told,
    chapter: 0,
    stage: { kind: 'told' },
    said: [],
    marks: { replicas: [] },
  };
  return beginChapter(play, 0);
}

export function chapterOf({ scenario, chapter }: Play): Chapter {
  return scenario.chapters[chapter]!;
}

/** What is so now. */
export function watchPlay(play: Play, now: Seen): Play {
  const told = { ...play.told, now };
  if (play.stage.kind !== 'waiting') return play.stage.kind === 'answered' ? play : { ...play, told };
  const chapter = chapterOf(play);
  if (chapter.hasComeAbout(told)) {
    const { title, rule } = chapter;
    return {
      ...play,
      told: { ...told, ends: [...told.ends, now] },
      stage: { kind: 'told' },
      said: [...play.said, { title, caption: chapter.caption(told), rule, atMs: now.atMs }],
      marks: chapter.marks(told),
    };
  }
  if (now.atMs <= play.stage.untilMs) return { ...play, told };
  const saw = `It did not come about that ${chapter.awaits(told)}. Seen instead: ${spellGroup(now)}.`;
  return { ...play, told, stage: { kind: 'missed', saw, todo: chapter.ifMissed } };
}

/** The reader goes on: to the next chapter, or to the answer. Nothing where there is nothing to go on from. */
export function goOn(play: Play): Played {
  if (play.stage.kind !== 'told') return { play, acts: [] };
  const next = play.chapter + 1;
  if (next < play.scenario.chapters.length) return beginChapter(play, next);
  const answer = play.scenario.answer(play.told);
  return { play: { ...play, stage: { kind: 'answered', answer }, marks: { replicas: [] } }, acts: [] };
}

/** As long again for what did not come about. `nowMs`: where the run's clock is. */
export function waitLonger(play: Play, nowMs: number): Play {
  if (play.stage.kind !== 'missed') return play;
  const atMs = Math.max(nowMs, play.told.now.atMs);
  return {
    ...play,
    stage: { kind: 'waiting', sinceMs: atMs, untilMs: atMs + chapterOf(play).withinMs },
  };
}

/** What the chapter that is waited for asked of the group was refused. Nothing if it is not waited for any more. */
export function refusedPlay(play: Play, message: string): Play {
  if (play.stage.kind !== 'waiting') return play;
  const why = `The group has refused what was asked of it: ${message}`;
  const todo = 'Make everything whole, and begin it again.';
  return { ...play, stage: { kind: 'refused', why, todo }, marks: { replicas: [] } };
}

/** Nothing is told of the run any more: what is waited for cannot be seen. */
export function unseenPlay(play: Play): Play {
  if (play.stage.kind !== 'waiting') return play;
  const saw = `The server does not answer, so it cannot be seen whether ${chapterOf(play).awaits(play.told)}.`;
  const todo = 'The page asks again by itself: when the server is back, wait longer.';
  return { ...play, stage: { kind: 'missed', saw, todo } };
}

export function gonePlay(play: Play, why: string): Play {
  return { ...play, stage: { kind: 'gone', why }, marks: { replicas: [] } };
}

function beginChapter(play: Play, index: number): Played {
  const chapter = play.scenario.chapters[index]!;
  const told: Told = { ...play.told, begins: [...play.told.begins, play.told.now] };
  const sinceMs = told.now.atMs;
  return {
    play: {
      ...play,
      told,
      chapter: index,
      stage: { kind: 'waiting', sinceMs, untilMs: sinceMs + chapter.withinMs },
      marks: chapter.marks(told),
    },
    acts: chapter.acts(told),
  };
}
