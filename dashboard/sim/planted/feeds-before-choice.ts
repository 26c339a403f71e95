/** The simulator's Worker with one rule taken out: a follower takes what it is asked to vote for as chosen, and feeds its PostgreSQL with it. */
import '../worker.ts';
