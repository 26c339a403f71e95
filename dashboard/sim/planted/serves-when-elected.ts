/** The simulator's Worker with one rule taken out: a new leader makes a primary of its standby as soon as it is elected, and serves what that has, whatever earlier leaders had chosen. */
import '../worker.ts';
