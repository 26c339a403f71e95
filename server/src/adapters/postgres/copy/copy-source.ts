/**
 * Gives copies of a healthy replica's database to peers that need one, while it goes on as a standby or as the serving primary.
 *
 * Responsible for: the source's side of the conversation (messages.ts) from Hello to Complete. Which files there are, how they are compared and how WAL is cut are modules of their own.
 * Invariants: WAL that is not chosen never leaves: of pg_wal only what is below the durable position; a copy counts as complete only when the WAL that its pages need is chosen (the pages of a
 * primary may hold the effects of WAL that is not); a promotion, a loss of leadership and a PostgreSQL that dies make the copy void; the other side is told why there is none.
 */
import { join } from 'node:path';
import { open } from '../account-files.ts';
import type { Client } from 'pg';
import { timelineFile } from '../../../wal/timeline-file.ts';
import { CopyError, type CopyErrorCode, type CopySource } from '../../../ports/copy.ts';
import { damageIn, sqlStateOf } from '../database-error.ts';
import { encodeDirectoryState } from '../directory-state.ts';
import { type BackupSession, startBackup, type StoppedBackup } from './backup-session.ts';
import { ControlFileError } from './control-file.ts';
import { type Chosen, type DurablePosition, untilChosen } from './chosen.ts';
import { Conversation } from './conversation.ts';
import { classOf, walDirectory, walSubdirectories } from './file-class.ts';
import { FileSender } from './file-sender.ts';
import type { Installation } from './installation.ts';
import { copyProtocol } from './messages.ts';
import { createPacer } from './pacer.ts';
import { openAll, readControl } from './source-files.ts';
import { listDatabase } from './source-listing.ts';
import { bytesToCopy, keepChosen, walFilesFrom } from './wal-files.ts';

/** Whose data a copy is: nobody else may have it. */
export interface CopyOwner {
  readonly group: string;
  /** The name by which a cluster is told from every other. */
  readonly cluster: string;
}

export interface CopySourceOptions extends Chosen {
  readonly dataDir: string;
  /** A session of the superuser with this replica's PostgreSQL. */
  readonly connect: () => Promise<Client>;
  readonly owner: CopyOwner;
  readonly installation: Installation;
  /** Asked again and again while a copy is made; null: as fast as it goes. */
  readonly bytesPerSecondMax: () => number | null;
}

/** Each reads the whole database. */
const copiesMax = 2;

export function createCopySource(options: CopySourceOptions): CopySource {
  let copies = 0;
  return {
    async serve(channel) {
      const conversation = new Conversation(channel);
      const gone = new AbortController();
      channel.once('close', () => gone.abort());
      try {
        if (copies >= copiesMax)
          throw new CopyError('sourceBusy', `${copies} copies of this database are being made already`);
        copies += 1;
        await new Copying(options, conversation, gone.signal).run().finally(() => {
          copies -= 1;
        });
        conversation.end();
      } catch (error) {
        conversation.fail(toCopyError(error));
      }
      await conversation.ended();
      conversation.close();
    },
  };
}

/** One copy. */
class Copying {
  private readonly options: CopySourceOptions;
  private readonly conversation: Conversation;
  private readonly gone: AbortSignal;

  constructor(options: CopySourceOptions, conversation: Conversation, gone: AbortSignal) {
    this.options = options;
    this.conversation = conversation;
    this.gone = gone;
  }

  async run(): Promise<void> {
    const { conversation, options } = this;
    await this.agree();
    const client = await options.connect();
    // What PostgreSQL is doing has no end, perhaps.
    const quit = (): void => void client.end().catch(() => undefined);
    this.gone.addEventListener('abort', quit, { once: true });
    if (this.gone.aborted) quit();
    let backup: BackupSession | null = null;
    let sender: FileSender | null = null;
    try {
      backup = await startBackup(client);
      await conversation.send({ kind: 'started', database: backup.kind, bytesToCompare: backup.bytesTotal });
      sender = this.senderFor(backup);
      await this.sendDatabase(sender);
      const control = await readControl(options.dataDir);
      const stopped = await backup.stop();
      const durable = await untilChosen(stopped.stop, options, this.gone);
      await this.sendWal(sender, stopped, durable);
      await backup.assertWalKept();
      await conversation.send({
        kind: 'complete',
        state: encodeDirectoryState({ ...durable, role: { kind: 'standby' } }),
        label: stopped.label,
        control: control.bytes.toString('base64'),
        files: sender.files,
        blocks: sender.blocks,
        bytesTotal: conversation.compared,
      });
    } finally {
      this.gone.removeEventListener('abort', quit);
      await sender?.close();
      if (backup === null) void client.end().catch(() => undefined);
      else backup.close();
    }
  }

  /** Until the target wants the copy. */
  private async agree(): Promise<void> {
    const { conversation, options } = this;
    const { owner, installation, dataDir } = options;
    const hello = await conversation.expect('hello');
    if (hello.protocol !== copyProtocol) {
      throw new CopyError(
        'unlike',
        `copies are made by protocol ${copyProtocol} here, not ${hello.protocol}`,
      );
    }
    if (hello.group !== owner.group || hello.cluster !== owner.cluster) {
      throw new CopyError('unlike', `this is the data of cluster ${owner.cluster} (group ${owner.group})`);
    }
    const durable = options.position();
    if (durable.position.timeline === 0) {
      throw new CopyError('sourceUnavailable', 'nobody has led this group yet');
    }
    const control = await readControl(dataDir);
    const state = encodeDirectoryState({ ...durable, role: { kind: 'standby' } });
    await conversation.send({ kind: 'begin', installation, control: control.facts, state });
    await conversation.expect('go');
  }

  private senderFor(backup: BackupSession): FileSender {
    const { conversation, options } = this;
    const mayLeave = async (): Promise<void> => {
      if (backup.kind === 'primary' || (await backup.isStillStandby())) return;
      throw new CopyError('transferFailed', 'the source was promoted while it was copied');
    };
    const pacer = createPacer(options.bytesPerSecondMax);
    return new FileSender({ conversation, pacer, redo: backup.redo, mayLeave });
  }

  private async sendDatabase(sender: FileSender): Promise<void> {
    const { dataDir } = this.options;
    for await (const { path, directories, files } of listDatabase(dataDir)) {
      await sender.beginDirectory(path, directories);
      for await (const { name, ...file } of openAll(join(dataDir, path), files)) {
        const full = path === '' ? name : `${path}/${name}`;
        await sender.add({ path: full, name, class: classOf(full), ...file });
      }
      await sender.endDirectory();
    }
    await sender.finish();
  }

  private async sendWal(
    sender: FileSender,
    { redo, timeline }: StoppedBackup,
    { position }: DurablePosition,
  ): Promise<void> {
    await sender.beginDirectory(walDirectory, walSubdirectories);
    for (const file of walFilesFrom(redo, position)) {
      const path = `${walDirectory}/${file.name}`;
      const handle = await open(join(this.options.dataDir, path), 'r');
      await sender.add({
        path,
        name: file.name,
        class: classOf(path),
        handle,
        bytes: bytesToCopy(file),
        prepare: keepChosen(file),
      });
    }
    await sender.endDirectory();
    await sender.finish();
    for (const fork of position.forks) {
      if (fork.timeline < timeline) continue;
      await this.conversation.send({
        kind: 'history',
        timeline: fork.timeline,
        text: timelineFile(position, fork.timeline),
      });
    }
    for (const path of walSubdirectories) {
      await sender.beginDirectory(`${walDirectory}/${path}`, []);
      await sender.endDirectory();
    }
  }
}

function toCopyError(error: unknown): CopyError {
  if (error instanceof CopyError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const isDamage = error instanceof ControlFileError || (error as NodeJS.ErrnoException).code === 'EIO';
  const damage = damageIn(error) ?? (isDamage ? message : null);
  if (damage !== null)
    return new CopyError('sourceDamaged', `the source is damaged: ${damage}`, { cause: error });
  const isBusy = sqlStateOf(error)?.startsWith('53') ?? false;
  const code: CopyErrorCode = isBusy ? 'sourceBusy' : 'sourceUnavailable';
  return new CopyError(code, message, { cause: error });
}
