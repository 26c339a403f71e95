/**
 * Many connections of an attacker to one port, who says nothing, or one byte at a time and never the last one.
 *
 * Responsible for: opening them, and counting which of them the server has ended. Ends none by itself before `close`: what the server has ended stays half open on this side.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Fewer than a listening socket lets wait. */
const openedAtOnce = 250;
const host = '127.0.0.1';

export interface CrowdOptions {
  readonly port: number;
  readonly size: number;
  /** Said at once. */
  readonly beginning?: Buffer;
  /** Said after that, one byte a second, again and again. */
  readonly drips?: string;
}

export class Crowd {
  readonly size: number;
  /** Connections that the server has ended. */
  ended = 0;
  /** When the last one was ended, since all were opened. */
  lastEndMs = 0;
  private readonly sockets: Socket[] = [];
  private readonly timer: NodeJS.Timeout | null;
  private openedAt = performance.now();

  private constructor({ size, drips }: CrowdOptions) {
    this.size = size;
    let at = 0;
    const drip = (): void => {
      for (const socket of this.sockets) if (socket.writable) socket.write(drips![at % drips!.length]!);
      at += 1;
    };
    this.timer = drips === undefined ? null : setInterval(drip, 1000);
  }

  /** All of them are connected, as far as this side can know, when it resolves. */
  static async open(options: CrowdOptions): Promise<Crowd> {
    const crowd = new Crowd(options);
    while (crowd.sockets.length < options.size) {
      const next = Math.min(openedAtOnce, options.size - crowd.sockets.length);
      await Promise.all(Array.from({ length: next }, () => crowd.add(options)));
    }
    crowd.openedAt = performance.now();
    return crowd;
  }

  private async add({ port, beginning }: CrowdOptions): Promise<void> {
    const socket = connect({ port, host, allowHalfOpen: true });
    this.sockets.push(socket);
    let isEnded = false;
    const end = (): void => {
      if (isEnded) return;
      isEnded = true;
      this.ended += 1;
      this.lastEndMs = performance.now() - this.openedAt;
    };
    socket.on('error', end).on('end', end).on('close', end).resume();
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
    if (beginning !== undefined && socket.writable) socket.write(beginning);
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer);
    for (const socket of this.sockets) socket.destroy();
  }
}

interface Report {
  readonly userLimits: { readonly open_files: { readonly soft: number | string } };
}

/** `wanted`, or as many as this process may open besides its other files. */
export function connectionsToBeHad(wanted: number): number {
  const { open_files: files } = (process.report.getReport() as unknown as Report).userLimits;
  return typeof files.soft === 'number' ? Math.min(wanted, files.soft - 1000) : wanted;
}
