/**
 * Judging mutants of the core: by the unit tests, the simulator and the replay of the spec's behaviours, the cheapest first.
 *
 * Responsible for: the judging process, a bound on the time that each judge takes, and what becomes of a mutant that never ends or
 * takes the process with it: both are kills, told apart. Another process takes the place of one that was ended.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { JudgeTimes } from './judge-times.ts';

export type JudgeName = 'unit' | 'simulator' | 'replay';

/** To the process: judge this text of a module of the core. */
export interface JudgeOrder {
  readonly file: string;
  readonly text: string;
  readonly judges: readonly JudgeName[];
}

/** The first test that failed. */
export interface Noticed {
  readonly judge: JudgeName;
  readonly test: string;
}

/** From the process. */
export type JudgeWord =
  | { readonly kind: 'ready' }
  | { readonly kind: 'began'; readonly judge: JudgeName }
  | { readonly kind: 'judged'; readonly noticed: Noticed | null }
  | { readonly kind: 'failed'; readonly message: string };

/** `timeOut`: it did not end; `crash`: it took the process with it, as one does that fills the memory. */
export type Verdict =
  | { readonly kind: 'survived' }
  | {
      readonly kind: 'killed';
      readonly by: JudgeName;
      readonly how: 'test' | 'timeOut' | 'crash';
      readonly test: string;
    };

const heapMbMax = 1500;
const judgeProgram = fileURLToPath(new URL('judge-process.ts', import.meta.url));

export class MutantJudge {
  private readonly behavioursFile: string;
  private readonly times: JudgeTimes;
  private child: ChildProcess | null = null;

  constructor(behavioursFile: string, times: JudgeTimes) {
    this.behavioursFile = behavioursFile;
    this.times = times;
  }

  /** @throws Error if the harness failed, which is no verdict */
  async judge(order: JudgeOrder): Promise<Verdict> {
    const child = this.child ?? (await this.begin());
    const { times } = this;
    let at: JudgeName = order.judges[0]!;
    let atMs = performance.now();
    return new Promise<Verdict>((resolve, reject) => {
      let timer: NodeJS.Timeout;
      const end = (verdict: Verdict | Error): void => {
        clearTimeout(timer);
        child.removeAllListeners();
        if (verdict instanceof Error) reject(verdict);
        else resolve(verdict);
      };
      const wait = (): NodeJS.Timeout =>
        setTimeout(() => {
          this.stop();
          end({ kind: 'killed', by: at, how: 'timeOut', test: '' });
        }, times.limitMs(at));
      timer = wait();
      child.on('message', (word: JudgeWord) => {
        const hasPassed =
          word.kind === 'began' ? word.judge !== at : word.kind === 'judged' && word.noticed === null;
        if (hasPassed) times.passed(at, performance.now() - atMs);
        if (word.kind === 'began') {
          at = word.judge;
          atMs = performance.now();
          clearTimeout(timer);
          timer = wait();
        }
        if (word.kind === 'failed') end(new Error(word.message));
        if (word.kind === 'judged') {
          const { noticed } = word;
          if (noticed === null) end({ kind: 'survived' });
          else end({ kind: 'killed', by: noticed.judge, how: 'test', test: noticed.test });
        }
      });
      child.once('exit', () => {
        this.child = null;
        end({ kind: 'killed', by: at, how: 'crash', test: '' });
      });
      child.send(order);
    });
  }

  stop(): void {
    this.child?.removeAllListeners();
    this.child?.kill('SIGKILL');
    this.child = null;
  }

  private async begin(): Promise<ChildProcess> {
    const child = fork(judgeProgram, [this.behavioursFile], {
      execArgv: ['--import', 'tsx', `--max-old-space-size=${heapMbMax}`],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [word] = (await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [null])])) as [
      JudgeWord | null,
    ];
    if (word?.kind !== 'ready') throw new Error('the judging process did not begin');
    child.removeAllListeners();
    this.child = child;
    return child;
  }
}
