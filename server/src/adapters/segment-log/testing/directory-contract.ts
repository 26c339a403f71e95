/** What the segment log relies on in every SegmentDirectory, as one suite that the real file system and the simulated disks run against themselves. */
import { afterEach, describe, expect, it } from 'vitest';
import type { SegmentDirectory, SegmentFile } from '../segment-directory.ts';

export interface DirectoryFixture {
  readonly directory: SegmentDirectory;
  readonly dispose: () => Promise<void>;
}

async function contents(file: SegmentFile, from = 0, bytesMax = 4096): Promise<string> {
  const into = Buffer.alloc(bytesMax);
  return into.subarray(0, await file.read(into, from)).toString('latin1');
}

export function describeSegmentDirectory(name: string, open: () => Promise<DirectoryFixture>): void {
  describe(`the contract of directories of segments: ${name}`, () => {
    const opened: DirectoryFixture[] = [];
    afterEach(async () => {
      for (const { dispose } of opened.splice(0)) await dispose();
    });
    async function setUp(): Promise<SegmentDirectory> {
      const fixture = await open();
      opened.push(fixture);
      return fixture.directory;
    }

    it('a new file is empty and is listed; a second one of its name takes its place', async () => {
      const directory = await setUp();
      const file = await directory.create('one');
      expect([await file.size(), await contents(file), await directory.list()]).toEqual([0, '', ['one']]);
      await file.write(Buffer.from('text'), 0);
      await file.close();
      const again = await directory.create('one');
      expect([await again.size(), await directory.list()]).toEqual([0, ['one']]);
      await again.close();
    });

    it('what was written is read, from anywhere, and no more than there is', async () => {
      const directory = await setUp();
      const file = await directory.create('one');
      await file.write(Buffer.from('0123456789'), 0);
      await file.write(Buffer.from('ab'), 3);
      expect(await contents(file)).toBe('012ab56789');
      expect([await contents(file, 4, 3), await contents(file, 8), await contents(file, 20)]).toEqual([
        'b56',
        '89',
        '',
      ]);
      await file.close();
    });

    it('what is skipped by a write is zeros', async () => {
      const directory = await setUp();
      const file = await directory.create('one');
      await file.write(Buffer.from('z'), 5);
      expect([await file.size(), await contents(file)]).toEqual([6, '\0\0\0\0\0z']);
      await file.close();
    });

    it('the caller may use its buffer again when a write has ended', async () => {
      const directory = await setUp();
      const file = await directory.create('one');
      const bytes = Buffer.from('first');
      await file.write(bytes, 0);
      bytes.write('other');
      await file.write(bytes, 5);
      await file.sync();
      expect(await contents(file)).toBe('firstother');
      await file.close();
    });

    it('a name is given to another file, which takes the place of what had it', async () => {
      const directory = await setUp();
      for (const name of ['one', 'two']) {
        const file = await directory.create(name);
        await file.write(Buffer.from(name), 0);
        await file.close();
      }
      await directory.rename('one', 'two');
      await directory.sync();
      const found = await directory.open('two');
      expect([await directory.list(), await contents(found)]).toEqual([['two'], 'one']);
      await found.close();
    });

    it('a file that is open is there for who has it when its name is gone', async () => {
      const directory = await setUp();
      const file = await directory.create('one');
      await file.write(Buffer.from('text'), 0);
      await directory.remove('one');
      await directory.sync();
      expect([await directory.list(), await contents(file)]).toEqual([[], 'text']);
      await file.close();
    });

    it('what is not there is not opened, renamed or removed', async () => {
      const directory = await setUp();
      const missing = { code: 'ENOENT' };
      await expect(directory.open('none')).rejects.toMatchObject(missing);
      await expect(directory.rename('none', 'one')).rejects.toMatchObject(missing);
      await expect(directory.remove('none')).rejects.toMatchObject(missing);
    });
  });
}
