/**
 * What a scenario is: a question that is asked before anything is done, acts on a group, what is waited for, what is then said of it, and the answer that the run itself gives. Types alone.
 *
 * Everything of it is a pure function of what was seen of the run: names, ballots and the answer are this run's, whoever leads in it.
 */
import type { FaultRequest } from '../../../server/src/api/status.ts';
import type { Marked } from '../stage/draw-marks.ts';
import type { Seen } from './seen.ts';
import type { Rule } from './rules.ts';

export interface Choice {
  readonly id: string;
  readonly text: string;
}

export interface Question {
  readonly text: string;
  readonly choices: readonly Choice[];
}

/** What a play has seen so far. */
export interface Told {
  /** Before anything was done. */
  readonly start: Seen;
  /** When each chapter began, in order: what its acts found. */
  readonly begins: readonly Seen[];
  /** When each chapter had come about, in order. */
  readonly ends: readonly Seen[];
  readonly now: Seen;
}

export interface Chapter {
  readonly title: string;
  /** The same requests that a click makes. None: it is only looked on. */
  readonly acts: (told: Told) => readonly FaultRequest[];
  /** What is waited for, in words that follow "Waiting until". */
  readonly awaits: (told: Told) => string;
  readonly hasComeAbout: (told: Told) => boolean;
  /** On the run's clock; after that it is said that it has not come about. */
  readonly withinMs: number;
  /** Of the moment at which it has come about. */
  readonly caption: (told: Told) => string;
  /** What can be done if it has not. */
  readonly ifMissed: string;
  readonly rule: Rule;
  /** What on the stage is spoken of. */
  readonly marks: (told: Told) => Marked;
}

/** `choice` null: the run has borne out none of them. */
export interface Answer {
  readonly choice: string | null;
  readonly happened: string;
  readonly why: string;
  readonly rule: Rule;
}

export interface Scenario {
  /** In the address. */
  readonly id: string;
  readonly name: string;
  /** One sentence: what will be seen. */
  readonly promise: string;
  /** `live`: also on a real group; `simulated`: only on one in simulated time. */
  readonly plays: 'live' | 'simulated';
  readonly replicas: { readonly least: number; readonly most: number };
  /** It is about what clients write. */
  readonly needsWrites: boolean;
  readonly question: (start: Seen) => Question;
  readonly chapters: readonly Chapter[];
  readonly answer: (told: Told) => Answer;
}
