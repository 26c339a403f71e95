/** The part of the contract in client-program.ts that programs in TypeScript share: which transfers there are, who makes them, and what is told. */

export interface Transfer {
  readonly id: string;
  readonly debit: number;
  readonly credit: number;
  readonly amount: number;
}

const count = 100;
const workers = 4;
const attemptsMax = 100;
const pauseMs = 100;

export const transfers: readonly Transfer[] = Array.from({ length: count }, (_, n) => ({
  id: String(n),
  debit: 1 + (n % 10),
  credit: 1 + ((n * 7 + 3) % 10),
  amount: 1 + (n % 5),
}));

/** In the order in which every worker locks them: no two wait for each other. */
export function changes({ debit, credit, amount }: Transfer): readonly (readonly [id: number, by: number])[] {
  return [[debit, -amount] as const, [credit, amount] as const].toSorted(([a], [b]) => a - b);
}

/** `make` may be called again for the same transfer, whatever became of it before. */
export async function makeAll(make: (transfer: Transfer) => Promise<void>): Promise<void> {
  let retries = 0;
  let done = 0;
  async function insist(transfer: Transfer): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await make(transfer);
        return;
      } catch (error) {
        if (attempt === attemptsMax) throw error;
        retries += 1;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
  async function work(worker: number): Promise<void> {
    for (const transfer of transfers.filter((_, n) => n % workers === worker)) {
      await insist(transfer);
      done += 1;
      if (done === count / 2) console.log('half');
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  tell(done, retries);
}

export function tell(done: number, retries: number): void {
  console.log(JSON.stringify({ transfers: done, retries }));
}
