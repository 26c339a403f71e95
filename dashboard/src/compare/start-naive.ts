/** The simulator in a Worker, built with one rule taken out. */
import { portOf } from '../run/start-simulator.ts';
import type { SimulatorPort } from '../run/simulated-source.ts';
import type { VariantId } from './variants.ts';

/** The bundler knows a Worker by its address alone, so each has one of its own. */
export function startNaive(id: VariantId): SimulatorPort {
  switch (id) {
    case 'wiped':
      return portOf(
        new Worker(new URL('../../sim/planted/wiped-votes-unasked.ts', import.meta.url), { type: 'module' }),
      );
    case 'unchosen':
      return portOf(
        new Worker(new URL('../../sim/planted/feeds-before-choice.ts', import.meta.url), { type: 'module' }),
      );
    case 'barrier':
      return portOf(
        new Worker(new URL('../../sim/planted/serves-when-elected.ts', import.meta.url), { type: 'module' }),
      );
    default:
      return id satisfies never;
  }
}
