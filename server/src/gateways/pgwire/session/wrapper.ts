/** The commands that the gateway weaves into a session, as steps. */
import type { SessionContext } from './context.ts';
import type { Harvest } from './harvest.ts';
import { ownCommand, type Step } from './step.ts';

/** PostgreSQL's warning for a BEGIN inside a block: the client's BEGIN is right if the block is only our wrapper. */
export const alreadyInBlock = '25001';

export const beginSteps = (context: SessionContext, mode: 'ro' | 'rw', keepUnnamed: boolean): Step[] =>
  ownCommand(mode === 'ro' ? 'BEGIN READ ONLY, NOT DEFERRABLE' : 'BEGIN', {
    keepUnnamed,
    onComplete: () => {
      context.block = 'wrapped';
    },
  });

/** Deferred constraints first, for after agreement nothing may fail. Their errors and notices are the client's. */
export const harvestSteps = (context: SessionContext, harvest: Harvest, keepUnnamed: boolean): Step[] => [
  ...ownCommand('SET CONSTRAINTS ALL IMMEDIATE', { keepUnnamed, speaks: true }),
  ...ownCommand(context.sessionSql.harvest, {
    keepUnnamed,
    parameters: [context.sessionSql.secret],
    onRow: harvest.onRow,
  }),
];

export const endSteps = (options: {
  readonly command: 'COMMIT' | 'ROLLBACK';
  readonly chain: boolean;
  readonly keepUnnamed: boolean;
  /** The client sent it: the answer is the client's. */
  readonly answersClient: boolean;
}): Step[] =>
  ownCommand(options.chain ? `${options.command} AND CHAIN` : options.command, {
    keepUnnamed: options.keepUnnamed,
    answersClient: options.answersClient,
    speaks: true,
  });
