/** The process of collect-apart.ts: collects, tells its parent, and is ended by it. */
import { collectFacts } from './collect-facts.ts';

process.send?.(await collectFacts(process.argv[2] ?? ''));
