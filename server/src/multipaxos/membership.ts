/**
 * Knowing the members: which configuration is the newest that is chosen, and who may be listened to.
 *
 * Responsible for: taking on a configuration that a message tells, recording and telling it. Those that the commit point passes come by chain.ts;
 * does not propose any (reconfigure.ts).
 *
 * Invariant: the record of a configuration precedes that of any commit point at or above its slot (run.ts).
 */
import { violated } from './invariants.ts';
import { noteCommitPoint } from './learner.ts';
import { traceResignation } from './lease-trace.ts';
import { resign } from './resign.ts';
import { renewRoster } from './roster.ts';
import { persist, send, type Run } from './run.ts';
import { traceAction } from './trace.ts';
import type { Configuration } from './types/members.ts';
import type { Message } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';

/**
 * A message or the database tells a newer one. Whoever knows it knows that all up to its slot is chosen. A leader hears of one that it has not
 * chosen itself only if another leads; a candidate goes on, if it is still a voter, with the newer one's majority.
 */
export function learnConfiguration(run: Run, from: ReplicaId, configuration: Configuration): void {
  const { state } = run;
  if (configuration.version <= state.configuration.version) return;
  if (state.leadership !== null) {
    const { pending, ballot } = state.leadership;
    if (pending !== null && configuration.slot < pending.slot)
      violated(
        'OneChangeAtATime',
        `version ${configuration.version} was chosen below the change of ${ballot.round}`,
      );
  }
  state.configuration = configuration;
  renewRoster(state);
  if (from !== state.config.id) noteCommitPoint(state, from, configuration.slot);
  traceAction(run, 'LearnConfiguration', { from });
  if (state.role === 'leader' || (state.role === 'candidate' && !state.roster.isVoter)) {
    const reason = state.roster.isVoter ? 'higherBallot' : 'removed';
    traceResignation(run, reason);
    resign(run, reason);
    traceAction(run, 'StepDown', { reason });
  }
}

/**
 * Takes the configuration of a message; returns whether the rest of it may be heard. Strangers, such as one who was removed or a candidate that
 * was added while this replica slept, are answered enough for either side to learn of the newer configuration, and no more.
 */
export function admits(run: Run, from: ReplicaId, message: Message): boolean {
  const { state } = run;
  if ('configuration' in message) {
    const { version } = message.configuration;
    if (version > state.configuration.version) learnConfiguration(run, from, message.configuration);
    else if (version < state.configuration.version) tellNewer(run, from, message);
  }
  if (state.roster.bits.has(from)) return true;
  return message.kind === 'PreVote' || message.kind === 'CatchUpRequest';
}

function tellNewer(run: Run, to: ReplicaId, message: Message): void {
  const { group, ballot } = message;
  const { configuration } = run.state;
  send(run, to, { kind: 'PreVoteReply', group, ballot, granted: false, configuration });
}

/** A configuration that became known in this step goes to the log without waiting for something else to write. */
export function recordConfiguration(run: Run): void {
  const { state } = run;
  if (state.configuration.version > state.recordedConfiguration) persist(run, []);
}

/** Tells the shell whom it must reach, when that has changed. */
export function tellConfiguration(run: Run): void {
  const { state } = run;
  const { configuration } = state;
  const pending = state.leadership?.pending?.members ?? null;
  const { toldConfiguration: told } = state;
  if (configuration.version === told.version && pending === told.pending) return;
  state.toldConfiguration = { version: configuration.version, pending };
  run.effects.push({ kind: 'configuration', configuration, pending });
}
