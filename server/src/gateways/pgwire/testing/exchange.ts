/** Scripts of the protocol: what is sent, and up to which answer is waited. Played direct and through a gateway, they must be answered in the same bytes. For tests. */
import { expect } from 'vitest';
import * as send from '../../../pgwire/frontend-messages.ts';
import { frame } from './frames.ts';
import type { TestGateway } from './gateway.ts';
import { sleep } from './helpers.ts';
import { connectWire, exactFrame } from './wire-client.ts';

/** What is sent, then waiting for the `count`th frame of type `until` (ReadyForQuery unless told otherwise). */
export interface Exchange {
  readonly send: readonly Buffer[];
  readonly until?: string;
  readonly count?: number;
  /** So long nothing is sent. */
  readonly afterMs?: number;
}

export function ask(...messages: readonly Buffer[]): Exchange {
  return { send: messages };
}

export function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  return frame(type, Buffer.concat(parts.map((part) => Buffer.from(part))));
}

export function bind(portal: string, statement: string, ...parameters: string[]): Buffer {
  return send.bind({ portal, statement, parameters });
}

export function executeRows(portal: string, rows: number): Buffer {
  return message('E', `${portal}\0`, Buffer.from([0, 0, 0, rows]));
}

export function describeStatement(name: string): Buffer {
  return message('D', 'S', `${name}\0`);
}

export function copyData(text: string): Buffer {
  return message('d', text);
}

export const copyDone = message('c');

const schema = 'odd';

/** In a session and a schema of its own, in which `setUp` was run. Returns every frame of the answers; a connection that is closed ends the script. */
export async function play(
  config: TestGateway['connection'],
  setUp: string,
  script: readonly Exchange[],
): Promise<string[]> {
  const wire = await connectWire(config);
  const seen: string[] = [];
  try {
    wire.send(send.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
    await wire.until('Z');
    wire.send(send.query(`CREATE SCHEMA ${schema}; SET search_path = ${schema}; ${setUp}`));
    const prepared = await wire.until('Z');
    expect(prepared.filter((one) => one.type === 'E').map(exactFrame)).toEqual([]);
    for (const exchange of script) {
      if (exchange.afterMs !== undefined) await sleep(exchange.afterMs);
      wire.send(...exchange.send);
      const frames = await wire.until(exchange.until ?? 'Z', exchange.count ?? 1);
      seen.push(...frames.map(exactFrame), '--');
    }
  } finally {
    wire.close();
  }
  return seen;
}
