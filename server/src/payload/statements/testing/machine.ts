/** One replica's executor on a PostgreSQL of its own that tests stop and start again. */
import { pino } from 'pino';
import { openStatementDatabase } from '../../../adapters/postgres/statements/own-database.ts';
import { systemClock } from '../../../adapters/system-clock.ts';
import type { Slot } from '../../../multipaxos/types/names.ts';
import { type BarePostgres, makeBarePostgres } from '../../../wal/record/testing/bare-postgres.ts';
import type { OperationResult, StartOutcome } from '../executor.ts';
import { DiskRoom } from '../disk-room.ts';
import { MachineErrors, type OthersWord } from '../machine-errors.ts';
import type { Operation } from '../operation.ts';
import { statementSettings } from '../statement-settings.ts';
import { SerialExecutor } from '../serial-executor.ts';
import { answerBytesMax, secret } from './statement-replica.ts';

export interface Machine {
  readonly postgres: BarePostgres;
  executor: SerialExecutor;
  started: StartOutcome;
  readonly results: Map<number, OperationResult>;
  /** What sessions were told that is no answer: of which kind, where, and by which process. */
  readonly told: [string, number, number][];
  /** What others answered to each slot; to be changed. Kept when PostgreSQL is started again. */
  readonly others: { word: OthersWord };
  readonly machineErrors: MachineErrors;
  /** What the file system has free; to be changed. Kept, too. */
  readonly disk: { freeBytes: number };
  readonly room: DiskRoom;
  /** At each. */
  onFinished: (slot: number) => void;
  onRest: () => Promise<void>;
}

export async function begin(
  postgres: BarePostgres,
  isAfterCrash: boolean,
  before: Pick<Machine, 'others' | 'machineErrors' | 'disk' | 'room'> | null = null,
): Promise<Machine> {
  const others = before?.others ?? { word: null };
  const machineErrors =
    before?.machineErrors ??
    new MachineErrors({ others: () => others.word, logger: pino({ level: 'silent' }) });
  const disk = before?.disk ?? { freeBytes: 1e9 };
  const room =
    before?.room ??
    new DiskRoom({
      look: () => Promise.resolve({ ...disk, sizeBytes: 1e9 }),
      timers: systemClock,
      logger: pino({ level: 'silent' }),
    });
  const results = new Map<number, OperationResult>();
  const told: [string, number, number][] = [];
  const database = await openStatementDatabase({
    socketDir: postgres.socketDir,
    secret,
    messageBytesMax: answerBytesMax,
    isAfterCrash,
  });
  const hooks = { onFinished: (_slot: number): void => undefined, onRest: () => Promise.resolve() };
  const executor = new SerialExecutor({
    database,
    timers: systemClock,
    answerBytesMax,
    machineErrors,
    room,
    sessionsMax: 10,
    listener: {
      finished: (slot, _operation, result) => {
        results.set(slot, result);
        hooks.onFinished(slot);
      },
      atRest: () => hooks.onRest(),
      notified: (_session, message, at) =>
        void told.push([String.fromCharCode(message[0]!), at, message.readInt32BE(5)]),
    },
  });
  return Object.assign(hooks, {
    postgres,
    executor,
    started: await executor.start(),
    results,
    told,
    others,
    machineErrors,
    disk,
    room,
  });
}

export async function make(): Promise<Machine> {
  const postgres = await makeBarePostgres({
    settings: { ...statementSettings, wal_writer_delay: '200ms' },
  });
  await postgres.start();
  const operator = await postgres.connect();
  await operator.query('CREATE ROLE barista LOGIN');
  await operator.query('CREATE DATABASE barista OWNER barista');
  return begin(postgres, false);
}

export async function execute(machine: Machine, log: readonly Operation[]): Promise<void> {
  for (let slot = machine.executor.pointer + 1; slot <= log.length; slot += 1)
    await machine.executor.execute(slot as Slot, log[slot - 1]!);
}
