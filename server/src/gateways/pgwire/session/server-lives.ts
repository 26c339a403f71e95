/** Whether PostgreSQL as a whole outlives a session's process that has ended without a word. */
import { connect } from 'node:net';
import { sslRequest } from '../codec/startup.ts';

const timeoutMs = 1_000;
const againMs = 10;

/** Never rejects. True if that is not found out in a second: a request that may crash PostgreSQL is not executed again on a guess. */
export async function serverLives(socketPath: string): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await look(socketPath);
    if (found !== 'unclear' || performance.now() > deadline) return found !== 'refused';
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}

/** PostgreSQL answers a request for TLS also while it recovers. `unclear`: the process that was to answer ended, too, as all do when another one crashes. */
function look(socketPath: string): Promise<'answered' | 'refused' | 'unclear'> {
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => socket.write(sslRequest));
    socket.setTimeout(timeoutMs, () => socket.destroy());
    let found: 'answered' | 'refused' | 'unclear' = 'unclear';
    socket.on('data', () => {
      found = 'answered';
      socket.destroy();
    });
    socket.on('end', () => socket.destroy());
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' || code === 'ENOENT') found = 'refused';
    });
    socket.on('close', () => resolve(found));
  });
}
