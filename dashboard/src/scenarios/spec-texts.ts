/** The specifications' own texts, as they were when the page was built. A part of the page by itself, loaded when a scenario is looked at. */
import lease from '../../../specs/Lease.tla?raw';
import multiPaxos from '../../../specs/MultiPaxos.tla?raw';
import orderedApply from '../../../specs/OrderedApply.tla?raw';
import recovery from '../../../specs/Recovery.tla?raw';
import type { SpecTexts } from './rules.ts';

export const specTexts: SpecTexts = {
  Lease: lease,
  MultiPaxos: multiPaxos,
  OrderedApply: orderedApply,
  Recovery: recovery,
};
