/** The simulator's Worker with one rule taken out: a replica that has lost its log comes back under its old name, and votes at once. */
import '../worker.ts';
