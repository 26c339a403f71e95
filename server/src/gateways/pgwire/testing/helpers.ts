/** What tests of outcomes share: a statement that must fail, and an agreement that decides when it is told to. */
import type { TransactionPayload } from '../../../apply/effects.ts';
import type { AgreementOutcome } from '../../../ports/agreement.ts';
import type { MemoryAgreement } from './memory-agreement.ts';

export interface SqlFailure {
  readonly code?: string;
  readonly message: string;
  readonly detail?: string;
  readonly where?: string;
}

/** Resolves with the error that `work` fails with. */
export const failure = async (work: Promise<unknown>): Promise<SqlFailure> => {
  try {
    await work;
  } catch (error) {
    return error as SqlFailure;
  }
  throw new Error('it did not fail');
};

export interface Held {
  /** Resolves when the next transaction is proposed. */
  readonly decided: Promise<void>;
  readonly decide: (outcome: AgreementOutcome | 'choose') => void;
}

/** The next transaction is decided by the test. */
export const hold = (agreement: MemoryAgreement): Held => {
  let reached = (): void => {};
  let answer: (outcome: AgreementOutcome) => void = () => {};
  let proposed: readonly TransactionPayload[] = [];
  const decided = new Promise<void>((resolve) => {
    reached = resolve;
  });
  agreement.decide = (parts) => {
    proposed = parts;
    reached();
    return new Promise((resolve) => {
      answer = resolve;
    });
  };
  return {
    decided,
    decide: (outcome) => answer(outcome === 'choose' ? agreement.choose(proposed) : outcome),
  };
};
