/**
 * Errors of one replica's machine: a full disk, a file that cannot be read, no memory. They are not the outcome of a request: the replica gives up this life of its PostgreSQL and executes the request again from its pointer, as after a crash.
 *
 * Responsible for: telling such errors from those that a client raises, and when one is the answer after all: another replica answered the same, or it comes again and again and nobody answered otherwise.
 * Invariant: an error of a request that another replica answered otherwise is never taken for the answer.
 */
import type { Logger } from 'pino';
import { readErrorFields } from '../../pgwire/backend-messages.ts';
import { isSamePlace, type Place } from './run-name.ts';

/** RAISE can have any SQLSTATE, and is always this file's. */
const raised = 'pl_exec.c';
const anyFile = { has: (file: string) => file !== raised && !file.startsWith('verify_') };
const storageFiles: ReadonlySet<string> = new Set(
  (
    'fd.c md.c smgr.c bulk_write.c storage.c bufmgr.c localbuf.c buffile.c bufpage.c read_stream.c aio.c aio_io.c slru.c clog.c multixact.c ' +
    'xlog.c xloginsert.c xlogutils.c relmapper.c copydir.c file_utils.c logtape.c dsm_impl.c freespace.c visibilitymap.c hio.c sync.c'
  ).split(' '),
);
/** Of malloc. A full table of locks has the same SQLSTATE, and is the same at all replicas. */
const memoryFiles: ReadonlySet<string> = new Set(
  'mcxt.c aset.c generation.c slab.c bump.c fd.c guc.c dsm_impl.c'.split(' '),
);
/** By SQLSTATE, the files of PostgreSQL's source whose errors tell of the machine. */
const ofMachine: ReadonlyMap<string, Pick<ReadonlySet<string>, 'has'>> = new Map([
  // A file system that became read-only.
  ['42501', storageFiles],
  ['53000', storageFiles],
  ['53100', anyFile],
  ['53200', memoryFiles],
  ['58000', storageFiles],
  ['58030', anyFile],
  ['58P01', storageFiles],
  ['58P02', storageFiles],
  ['XX000', storageFiles],
  // Not XX002: an index over a client's function that is not as immutable as it says is the same at all replicas.
  ['XX001', anyFile],
]);

/** `message`: an ErrorResponse of PostgreSQL. Its file comes from PostgreSQL's own code, and no client can set it. */
export function tellsOfMachine(message: Buffer): boolean {
  const fields = readErrorFields(message);
  const file = fields.get('F');
  return file !== undefined && (ofMachine.get(fields.get('C') ?? '')?.has(file) ?? false);
}

/** The executor begins again, with a database that is started anew, after `pauseMs`. `isDamage`: other replicas executed the request, and this one fails each time. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
  readonly pauseMs: number;
  readonly isDamage: boolean;

  constructor(message: string, pauseMs: number, isDamage: boolean) {
    super(message);
    this.pauseMs = pauseMs;
    this.isDamage = isDamage;
  }
}

/** What the other replicas answered. Null: not known. */
export type OthersWord = 'same' | 'otherwise' | null;

export interface MachineErrorsOptions {
  /** `slot`: the operation's own. */
  readonly others: (slot: number, digest: string) => OthersWord;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
}

/** So often an error of the machine is tried again where nobody answered otherwise. */
const triesMax = 3;
const pauseMsMin = 1_000;
const pauseMsMax = 30_000;
/** Another copy of the database does not help against these. */
const notOfFiles: ReadonlySet<string> = new Set(['42501', '53000', '53100', '53200']);

export class MachineErrors {
  private readonly options: MachineErrorsOptions;
  /** How often the request at this place has failed in a row. */
  private failed: { readonly at: Place; readonly times: number } | null = null;

  constructor(options: MachineErrorsOptions) {
    this.options = options;
  }

  /** `message`: what PostgreSQL said while it executed the operation. Returns where that is the answer. @throws MachineError: it is not */
  judge(at: Place, slot: number, digest: string | null, message: Buffer): void {
    const { others, logger } = this.options;
    const fields = readErrorFields(message);
    const sqlState = fields.get('C') ?? '';
    const said = Buffer.from(fields.get('M') ?? '', 'latin1').toString('utf8');
    const word = others(slot, digest ?? 'none');
    const times = this.failed !== null && isSamePlace(this.failed.at, at) ? this.failed.times + 1 : 1;
    const isLast = times > triesMax;
    if (word === 'same' || (word === null && isLast)) {
      this.failed = null;
      logger.warn({ slot, sqlState, said, times }, 'an error of this machine is returned as the answer');
      return;
    }
    this.failed = { at, times };
    const pauseMs = Math.min(pauseMsMax, pauseMsMin * 2 ** (times - 1));
    const isDamage = isLast && times % (triesMax + 1) === 0 && !notOfFiles.has(sqlState);
    logger.error(
      { slot, sqlState, said, times },
      'PostgreSQL failed because of this machine: look at its disk space, disk and memory. The request is executed again',
    );
    throw new MachineError(
      `this machine failed at slot ${slot} (${sqlState}: ${said}): the request is executed again`,
      pauseMs,
      isDamage,
    );
  }
}
